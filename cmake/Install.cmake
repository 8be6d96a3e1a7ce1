# What an installation holds: the libraries under both names, the host backend's CUDA runtime apart in ripieno/host so
# that no loader finds it by accident, the command, headers, and descriptions for pkg-config and CMake. Everything finds
# everything else by relative paths: the tree can be moved as a whole.
include(CMakePackageConfigHelpers)

set(RIPIENO_HOST_LIBDIR ${CMAKE_INSTALL_LIBDIR}/ripieno/host)
set(ripieno_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Ripieno)

# ripieno_install(TARGET DESTINATION folder EXPORT_NAME name [INCLUDES folders...])
function(ripieno_install TARGET)
  if(NOT TARGET ${TARGET})
    return()
  endif()
  cmake_parse_arguments(INSTALL "" "DESTINATION;EXPORT_NAME" "INCLUDES" ${ARGN})
  file(RELATIVE_PATH to_libraries
    ${CMAKE_INSTALL_PREFIX}/${INSTALL_DESTINATION} ${CMAKE_INSTALL_FULL_LIBDIR})
  string(REGEX REPLACE "/$" "" run_path "$ORIGIN/${to_libraries}")
  set_target_properties(${TARGET} PROPERTIES
    INSTALL_RPATH ${run_path} EXPORT_NAME ${INSTALL_EXPORT_NAME})
  install(TARGETS ${TARGET} EXPORT RipienoTargets
    LIBRARY DESTINATION ${INSTALL_DESTINATION}
    RUNTIME DESTINATION ${INSTALL_DESTINATION}
    INCLUDES DESTINATION ${INSTALL_INCLUDES})
endfunction()

ripieno_install(ripieno DESTINATION ${CMAKE_INSTALL_LIBDIR} EXPORT_NAME ripieno
  INCLUDES ${CMAKE_INSTALL_INCLUDEDIR})
ripieno_install(nccl DESTINATION ${CMAKE_INSTALL_LIBDIR} EXPORT_NAME nccl
  INCLUDES ${CMAKE_INSTALL_INCLUDEDIR})
ripieno_install(ripieno_hostrt DESTINATION ${CMAKE_INSTALL_LIBDIR} EXPORT_NAME hostrt)
ripieno_install(ripieno_host_cudart DESTINATION ${RIPIENO_HOST_LIBDIR} EXPORT_NAME host_cudart
  INCLUDES ${CMAKE_INSTALL_INCLUDEDIR}/ripieno/host)
ripieno_install(ripieno_command DESTINATION ${CMAKE_INSTALL_BINDIR} EXPORT_NAME command)

install(FILES ${PROJECT_SOURCE_DIR}/include/nccl.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ripieno DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# ---- pkg-config ----

file(READ ${PROJECT_SOURCE_DIR}/include/nccl.h nccl_header)
foreach(part MAJOR MINOR PATCH)
  string(REGEX MATCH "NCCL_${part} ([0-9]+)" ignored "${nccl_header}")
  set(nccl_${part} ${CMAKE_MATCH_1})
endforeach()
set(NCCL_API_VERSION ${nccl_MAJOR}.${nccl_MINOR}.${nccl_PATCH})
file(RELATIVE_PATH PREFIX_FROM_PKGCONFIG
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PREFIX_FROM_PKGCONFIG ${PREFIX_FROM_PKGCONFIG})
foreach(module ripieno nccl ripieno-host)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# ---- find_package(Ripieno) ----

if(TARGET nccl)
  install(EXPORT RipienoTargets NAMESPACE Ripieno:: DESTINATION ${ripieno_package_dir})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/RipienoConfig.cmake.in
    ${PROJECT_BINARY_DIR}/RipienoConfig.cmake INSTALL_DESTINATION ${ripieno_package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/RipienoConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/RipienoConfig.cmake
    ${PROJECT_BINARY_DIR}/RipienoConfigVersion.cmake DESTINATION ${ripieno_package_dir})
endif()
