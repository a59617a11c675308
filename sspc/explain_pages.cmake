# Writes OUT: for each file of PAGES the entry {"SSPnnnn", R"page(text)page"},
set(text "")
foreach(page ${PAGES})
  get_filename_component(code ${page} NAME_WE)
  file(READ ${page} body)
  string(APPEND text "{\"${code}\", R\"page(${body})page\"},\n")
endforeach()
file(WRITE ${OUT} "${text}")
