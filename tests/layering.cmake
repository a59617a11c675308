# Who may include whom: greps the `#include "…"` lines and fails on an edge that the table does not have.
# Run as a test: cmake -DROOT=<source tree> -P tests/layering.cmake

# Folder and what it may include beside itself, in layer order.
set(ir_values ir/support ir/graph ir/mesh ir/plan ir/collective ir/program)
set(rules
  "ir/support:"
  "ir/graph:ir/support"
  "ir/mesh:ir/support,ir/graph"
  "ir/plan:ir/support,ir/graph,ir/mesh"
  "ir/collective:ir/support,ir/graph,ir/mesh,ir/plan"
  "ir/program:ir/support,ir/graph,ir/mesh,ir/plan,ir/collective"
  "ir/passes:ir/support,ir/graph,ir/mesh,ir/plan,ir/collective,ir/program"
  "ir/check:ir/support,ir/graph,ir/mesh,ir/plan,ir/collective,ir/program"
  "ir/interpret:ir/support,ir/graph,ir/mesh,ir/plan,ir/collective,ir/program"
  "frontend:ir"
  "backend:ir"
  "sspc:ir,frontend,backend"
  "stdlib:")

set(wrong "")
set(seen 0)
foreach(rule ${rules})
  string(REGEX MATCH "^([^:]*):(.*)$" _ "${rule}")
  set(folder ${CMAKE_MATCH_1})
  string(REPLACE "," ";" allowed "${CMAKE_MATCH_2}")
  list(APPEND allowed ${folder})
  file(GLOB_RECURSE files RELATIVE ${ROOT}
    ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.cu)
  foreach(file ${files})
    file(STRINGS ${ROOT}/${file} includes REGEX "^ *# *include +\"")
    foreach(line ${includes})
      string(REGEX REPLACE "^ *# *include +\"([^\"]*)\".*$" "\\1" included "${line}")
      # Only what lies in one of the repository's folders: generated and sibling headers have no such prefix.
      if(NOT included MATCHES "^(ir|frontend|backend|sspc|stdlib|grammar|tests)/")
        continue()
      endif()
      math(EXPR seen "${seen} + 1")
      set(good FALSE)
      foreach(prefix ${allowed})
        string(FIND "${included}" "${prefix}/" at)
        if(at EQUAL 0)
          set(good TRUE)
        endif()
      endforeach()
      if(NOT good)
        string(APPEND wrong "  ${file} includes ${included}\n")
      endif()
    endforeach()
  endforeach()
endforeach()
if(wrong)
  message(FATAL_ERROR "edges that the layers do not have:\n${wrong}")
endif()
if(seen LESS 20)
  message(FATAL_ERROR "only ${seen} includes seen: is ROOT right?")
endif()
message(STATUS "${seen} includes, all downwards")
