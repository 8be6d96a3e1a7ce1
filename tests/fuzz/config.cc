// ncclConfig_t as a program of any version may fill it in: only `size` bytes of it may be read, and
// what comes out is within its ranges.
#include "comm/config.h"

#include <cstdlib>

#include "base/error.h"
#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ripieno;
  // Its own allocation, so that a sanitizer sees a read past the end. Pointers in it are the
  // caller's word; they are set to something that may be read.
  const std::size_t bytes = std::max(size, sizeof(std::size_t));
  auto* const given = static_cast<std::byte*>(std::calloc(1, bytes));
  std::memcpy(given, data, size);
  std::memcpy(given, &bytes, sizeof bytes);
  static const char* const name = "name";
  for (const std::size_t place :
       {offsetof(ncclConfig_t, netName), offsetof(ncclConfig_t, commName)}) {
    if (place + sizeof name <= bytes) {
      std::memcpy(given + place, static_cast<const void*>(&name), sizeof(const char*));
    }
  }
  try {
    const comm::Config config = comm::parse_config(reinterpret_cast<const ncclConfig_t*>(given));
    fuzz::demand(config.min_ctas >= 1 && config.min_ctas <= config.max_ctas);
    fuzz::demand(config.cga_cluster_size >= 0 && config.cga_cluster_size <= 8);
  } catch (const Error& error) {
    fuzz::demand(error.result() == ncclInvalidArgument);
  }
  std::free(given);
  return 0;
}
