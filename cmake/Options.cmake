# Compiler flags that every target shares: warnings, sanitizers, and a compiler cache where one is installed.

find_program(RIPIENO_CCACHE ccache)
if(RIPIENO_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RIPIENO_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${RIPIENO_CCACHE})
endif()

add_library(ripieno_options INTERFACE)
target_compile_options(ripieno_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wshadow -Wundef>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wno-interference-size
    -Wno-missing-field-initializers>)

if(RIPIENO_SANITIZE)
  # Stack traces need line tables only, and this compiles in half the time of -O2 -g.
  set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
endif()
if(RIPIENO_SANITIZE STREQUAL "address")
  # Not enum: callers in C may pass any number, and the library checks it. Not vptr: its check opens a pipe, so it misfires
  # in tests that run out of descriptors.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=enum,vptr -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(RIPIENO_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(RIPIENO_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=enum,vptr -fno-sanitize-recover=undefined
    -O1 -fno-omit-frame-pointer -Wno-unknown-warning-option)
  add_link_options(-fsanitize=address,undefined)
elseif(NOT RIPIENO_SANITIZE STREQUAL "")
  message(FATAL_ERROR "RIPIENO_SANITIZE is '${RIPIENO_SANITIZE}'; use address, thread or leave it empty")
endif()

# Statically linked dependencies bring code that nothing calls: drop it, the library wants to be small.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffunction-sections> $<$<COMPILE_LANGUAGE:C,CXX>:-fdata-sections>)
add_link_options(-Wl,--gc-sections)
