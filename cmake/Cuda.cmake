# The CUDA backend is built where RIPIENO_CUDA asks for it and nvcc is found; no GPU is needed. The runtime is linked
# statically, the driver is found at run time. With sanitizers AUTO means OFF: they know nothing of the driver.

set(RIPIENO_HAS_CUDA OFF)
if(RIPIENO_CUDA STREQUAL "ON" OR (RIPIENO_CUDA STREQUAL "AUTO" AND RIPIENO_SANITIZE STREQUAL ""))
  include(CheckLanguage)
  find_program(RIPIENO_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(RIPIENO_NVCC AND NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${RIPIENO_NVCC})
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(RIPIENO_HAS_CUDA ON)
  elseif(RIPIENO_CUDA STREQUAL "ON")
    message(FATAL_ERROR "RIPIENO_CUDA is ON, but no nvcc was found: put it on the PATH or use OFF")
  endif()
endif()

if(RIPIENO_HAS_CUDA)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Machine code for both, and PTX of the newer one for what comes after.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  endif()
  enable_language(CUDA)
  # Older CMakes do not know this flag of nvcc.
  foreach(form STANDARD EXTENSION)
    if(NOT CMAKE_CUDA20_${form}_COMPILE_OPTION)
      set(CMAKE_CUDA20_${form}_COMPILE_OPTION -std=c++20)
    endif()
  endforeach()
  find_package(CUDAToolkit 12.0 REQUIRED)
  if(RIPIENO_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${RIPIENO_CCACHE})
  endif()
endif()

# ripieno_cuda_part(ROOM ROOMS rooms... SOURCES files...)
#
# The part of a room that only exists with CUDA: files that see the toolkit's headers instead of our stand-ins. It becomes
# a part of the room's library for whoever links that; ROOMS lists the rooms whose headers it includes.
function(ripieno_cuda_part ROOM)
  if(NOT RIPIENO_HAS_CUDA)
    return()
  endif()
  cmake_parse_arguments(PART "" "" "ROOMS;SOURCES" ${ARGN})
  set(part room_${ROOM}_cuda)
  add_library(${part} STATIC ${PART_SOURCES})
  set_target_properties(${part} PROPERTIES CUDA_VISIBILITY_PRESET hidden)
  target_include_directories(${part} PRIVATE
    ${CMAKE_BINARY_DIR}/rooms/${ROOM} ${PROJECT_SOURCE_DIR}/include)
  foreach(other IN LISTS PART_ROOMS)
    target_include_directories(${part} PRIVATE ${CMAKE_BINARY_DIR}/rooms/${other})
  endforeach()
  target_include_directories(${part} SYSTEM PRIVATE
    ${CUDAToolkit_INCLUDE_DIRS}
    $<TARGET_PROPERTY:ripieno_fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_options(${part} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wno-missing-field-initializers -Wno-interference-size>
    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false --expt-relaxed-constexpr>)
  # The parts and their rooms need each other; static libraries may be named in a circle.
  target_link_libraries(${part} INTERFACE room_${ROOM} CUDA::cudart_static)
  target_link_libraries(room_${ROOM} PUBLIC ${part})
  target_compile_definitions(room_${ROOM} PUBLIC RIPIENO_HAS_CUDA=1)
endfunction()
