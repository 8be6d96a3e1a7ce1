// Counts and byte offsets beyond 2^31 and 2^32. Only words around the edges are written and looked
// at.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "matrix/sizes.h"
#include "support/party.h"

namespace ripieno::test {
namespace {

constexpr std::size_t kTwoGi = std::size_t{1} << 31;
constexpr std::size_t kNeededBytes = std::size_t{12} << 30;

std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kibibytes = 0;
  while (file >> word) {
    if (word == "MemAvailable:") {
      file >> kibibytes;
      return kibibytes << 10;
    }
  }
  return 0;
}

/// Why the test cannot run here; empty when it can.
std::string obstacle() {
  if (!full_matrix()) {
    return "only the full matrix moves gigabytes";
  }
  if (available_bytes() < kNeededBytes) {
    return "needs " + std::to_string(kNeededBytes >> 30) + " GiB of free memory, there are " +
           std::to_string(available_bytes() >> 30);
  }
  return "";
}

/// Memory that is touched only where a test looks.
class Large {
 public:
  Large(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
    check(cudaMalloc(&memory_, bytes));
  }
  ~Large() { cudaFree(memory_); }
  Large(const Large&) = delete;
  Large& operator=(const Large&) = delete;

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_); }
  void mark(std::size_t at, std::uint8_t value) {
    check(cudaMemcpyAsync(data() + at, &value, 1, cudaMemcpyDefault, stream_));
    check(cudaStreamSynchronize(stream_));
  }
  [[nodiscard]] int at(std::size_t place) const {
    std::uint8_t value = 0;
    check(cudaMemcpyAsync(&value, data() + place, 1, cudaMemcpyDefault, stream_));
    check(cudaStreamSynchronize(stream_));
    return value;
  }

 private:
  cudaStream_t stream_;
  void* memory_ = nullptr;
};

TEST(Large, Case083_BroadcastOfMoreThan2GiElements) {
  if (const std::string why = obstacle(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  run_with_communicators(
      in_processes(2),
      [](Party& party) {
        constexpr std::size_t kCount = kTwoGi + 9;
        Rank& rank = party.rank();
        Large buffer(kCount, rank.stream);
        const std::vector<std::size_t> places = {0, kTwoGi - 1, kTwoGi, kTwoGi + 1, kCount - 1};
        for (std::size_t index = 0; index < places.size(); ++index) {
          buffer.mark(places[index],
                      rank.number == 1 ? static_cast<std::uint8_t>(index + 1) : 0xA5);
        }
        check(ncclBcast(buffer.data(), kCount, ncclInt8, 1, rank.comm, rank.stream));
        party.synchronize();
        for (std::size_t index = 0; index < places.size(); ++index) {
          EXPECT_EQ(buffer.at(places[index]), static_cast<int>(index + 1)) << places[index];
        }
      },
      {.limit = std::chrono::seconds{300}});
}

TEST(Large, Case083_AllGatherAcross2And4GiB) {
  if (const std::string why = obstacle(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  run_with_communicators(
      in_processes(2),
      [](Party& party) {
        constexpr std::size_t kCount = kTwoGi + 3;
        Rank& rank = party.rank();
        Large buffer(2 * kCount, rank.stream);
        const std::size_t own = static_cast<std::size_t>(rank.number) * kCount;
        const std::vector<std::size_t> places = {0,          kTwoGi - 4, kTwoGi - 3,
                                                 kTwoGi - 1, kTwoGi,     kCount - 1};
        const auto value = [](int rank_number, std::size_t index) {
          return static_cast<std::uint8_t>(10 * rank_number + static_cast<int>(index) + 1);
        };
        for (std::size_t index = 0; index < places.size(); ++index) {
          buffer.mark(own + places[index], value(rank.number, index));
        }
        check(ncclAllGather(buffer.data() + own, buffer.data(), kCount, ncclInt8, rank.comm,
                            rank.stream));
        party.synchronize();
        for (int from = 0; from < 2; ++from) {
          for (std::size_t index = 0; index < places.size(); ++index) {
            EXPECT_EQ(buffer.at(static_cast<std::size_t>(from) * kCount + places[index]),
                      value(from, index))
                << places[index] << " of rank " << from;
          }
        }
      },
      {.limit = std::chrono::seconds{300}});
}

}  // namespace
}  // namespace ripieno::test
