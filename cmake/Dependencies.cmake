# Outside libraries (docs/dependencies.md says why each is here). They are linked statically with hidden symbols, so
# that libnccl.so.2 needs nothing but the C and C++ runtime; spdlog and Highway
# are used header-only, and fmt is compiled from its headers in one place (src/base/formatting.cc).

find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)

find_package(PkgConfig REQUIRED)
pkg_check_modules(SODIUM REQUIRED libsodium>=1.0.18)
find_library(SODIUM_ARCHIVE NAMES libsodium.a HINTS ${SODIUM_STATIC_LIBRARY_DIRS} REQUIRED)
find_path(SODIUM_INCLUDE sodium.h HINTS ${SODIUM_INCLUDE_DIRS} REQUIRED)
add_library(ripieno_sodium INTERFACE)
target_include_directories(ripieno_sodium SYSTEM INTERFACE ${SODIUM_INCLUDE})
target_link_libraries(ripieno_sodium INTERFACE ${SODIUM_ARCHIVE})

# Highway is used through its headers alone (static dispatch per target, our own choice at run time): Debian ships no
# archive of its small run-time library.
find_path(HWY_INCLUDE hwy/highway.h REQUIRED)
add_library(ripieno_highway INTERFACE)
target_include_directories(ripieno_highway SYSTEM INTERFACE ${HWY_INCLUDE})

find_library(PUGIXML_ARCHIVE NAMES libpugixml.a REQUIRED)
find_path(PUGIXML_INCLUDE pugixml.hpp REQUIRED)
add_library(ripieno_pugixml INTERFACE)
target_include_directories(ripieno_pugixml SYSTEM INTERFACE ${PUGIXML_INCLUDE})
target_link_libraries(ripieno_pugixml INTERFACE ${PUGIXML_ARCHIVE})

if(RIPIENO_TESTS)
  find_package(GTest 1.12 REQUIRED)
endif()
if(RIPIENO_BENCH)
  find_package(benchmark 1.7 REQUIRED)
endif()
