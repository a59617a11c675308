# Moves on numbers; apart from the interpreters, so that tests of moves need no graph.
add_library(sspc_interpret_moves STATIC moves.cpp)
target_link_libraries(sspc_interpret_moves PUBLIC sspc_collective sspc_mesh)
