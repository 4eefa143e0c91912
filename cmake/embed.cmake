# Files of other languages as C++ string literals. One file, two uses: included, it defines
# snug_embed(); run as a script (cmake -D INPUT=... -D OUTPUT=... -P), it writes one literal.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" text)
  string(FIND "${text}" ")embedded\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${INPUT} contains the mark that ends its literal, )embedded\"")
  endif()
  file(WRITE "${OUTPUT}" "R\"embedded(${text})embedded\"\n")
  return()
endif()

set(SNUG_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

# snug_embed(target files...): for each file of src/ a literal that sources of the target include as
# "<path below src>.inc". It is written anew when the file changes.
function(snug_embed target)
  set(folder ${CMAKE_BINARY_DIR}/embedded)
  foreach(file IN LISTS ARGN)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/src ${file})
    set(literal ${folder}/${name}.inc)
    add_custom_command(
      OUTPUT ${literal}
      COMMAND ${CMAKE_COMMAND} -D INPUT=${file} -D OUTPUT=${literal} -P ${SNUG_EMBED_SCRIPT}
      DEPENDS ${file} ${SNUG_EMBED_SCRIPT}
      VERBATIM)
    target_sources(${target} PRIVATE ${literal})
  endforeach()
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
