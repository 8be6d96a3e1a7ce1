# ripieno_room(NAME DEPENDS rooms... LIBRARIES targets... SOURCES files...)
#
# A room is one folder of src/ and one static library `room_NAME`. Files of a room are included as "NAME/file.h" through
# a private link farm build/rooms/NAME/NAME -> src/NAME, so a room sees itself and the rooms it DEPENDS on and nothing
# else: an include that points up the house does not compile.
function(ripieno_room NAME)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;LIBRARIES;SOURCES" ${ARGN})
  set(link_dir ${CMAKE_BINARY_DIR}/rooms/${NAME})
  file(MAKE_DIRECTORY ${link_dir})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${link_dir}/${NAME} SYMBOLIC)

  if(ROOM_SOURCES)
    add_library(room_${NAME} STATIC ${ROOM_SOURCES})
    set(scope PUBLIC)
  else()
    add_library(room_${NAME} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(room_${NAME} ${scope}
    ${link_dir} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/ripieno/host)
  foreach(other IN LISTS ROOM_DEPENDS)
    target_link_libraries(room_${NAME} ${scope} room_${other})
  endforeach()
  target_link_libraries(room_${NAME} ${scope} ripieno_options ${ROOM_LIBRARIES})
endfunction()
