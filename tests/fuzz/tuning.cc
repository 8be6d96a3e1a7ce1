// Tables of measured times, and the texts of NCCL_ALGO and NCCL_PROTO: read or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "tune/measured.h"
#include "tune/request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ripieno::tune;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const MeasuredTable table = MeasuredTable::parse(text, "fuzz");
    for (const MeasuredTable::Series& series : table.series()) {
      for (std::uint64_t bytes = 1; bytes != 0; bytes <<= 1) {
        (void)table.time_us(series.function, series.ranks, series.algorithm, series.protocol,
                            bytes);
      }
    }
  } catch (const ripieno::Error&) {
    // Refused with a sentence: as it should be.
  }
  try {
    (void)Request::parse(text, text);
  } catch (const ripieno::Error&) {
    // The same.
  }
  return 0;
}
