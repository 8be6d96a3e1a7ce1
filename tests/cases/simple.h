// Small operations for tests that are about something else: an all-reduce of a vector, "this
// communicator works", waiting for a non-blocking call, and reading a process's log.
#pragma once

#include <gtest/gtest.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "support/buffer.h"
#include "support/party.h"

namespace ripieno::test {

template <typename T>
inline constexpr ncclDataType_t kTypeOf = ncclNumTypes;
template <>
inline constexpr ncclDataType_t kTypeOf<std::int8_t> = ncclInt8;
template <>
inline constexpr ncclDataType_t kTypeOf<std::uint8_t> = ncclUint8;
template <>
inline constexpr ncclDataType_t kTypeOf<std::int32_t> = ncclInt32;
template <>
inline constexpr ncclDataType_t kTypeOf<std::int64_t> = ncclInt64;
template <>
inline constexpr ncclDataType_t kTypeOf<float> = ncclFloat32;
template <>
inline constexpr ncclDataType_t kTypeOf<double> = ncclFloat64;

/// All-reduces `values`, out of place, and returns what arrives. For parties of one rank.
template <typename T>
std::vector<T> all_reduce(Party& party, const std::vector<T>& values, ncclRedOp_t operation,
                          ncclDataType_t type = kTypeOf<T>, MemoryKind kind = MemoryKind::kDevice) {
  Rank& rank = party.rank();
  const Buffer send = buffer_of(values, rank.stream, kind);
  const Buffer receive(kind, send.size(), rank.stream);
  check(ncclAllReduce(send.data(), receive.data(), values.size(), type, operation, rank.comm,
                      rank.stream));
  party.synchronize();
  receive.expect_guards_intact("the result of an all-reduce");
  return receive.download_as<T>();
}

/// An all-reduce over all ranks gives the right sum on each of mine.
inline void expect_working(Party& party, std::size_t count = 1000) {
  std::vector<Buffer> buffers;
  party.each([&](Rank& rank) {
    buffers.push_back(buffer_of(std::vector<std::int32_t>(count, rank.number + 1), rank.stream));
  });
  std::size_t next = 0;
  party.launch([&](Rank& rank) {
    std::byte* const data = buffers[next++].data();
    check(ncclAllReduce(data, data, count, ncclInt32, ncclSum, rank.comm, rank.stream));
  });
  const std::int32_t sum = party.ranks() * (party.ranks() + 1) / 2;
  for (const Buffer& buffer : buffers) {
    EXPECT_EQ(buffer.download_as<std::int32_t>(), std::vector<std::int32_t>(count, sum));
  }
}

inline ncclResult_t async_error(ncclComm_t comm) {
  ncclResult_t error = ncclInternalError;
  check(ncclCommGetAsyncError(comm, &error));
  return error;
}

/// What a non-blocking call on `comm` came to.
inline ncclResult_t outcome(ncclComm_t comm) {
  wait_until([comm] { return async_error(comm) != ncclInProgress; }, "a non-blocking call");
  return async_error(comm);
}

/// Waits until `comm` has met an error, and returns it.
inline ncclResult_t wait_for_failure(ncclComm_t comm) {
  wait_until([comm] { return async_error(comm) != ncclSuccess; }, "a failure to be noticed");
  return async_error(comm);
}

/// A log of warnings for every process of a run.
class LogFiles {
 public:
  explicit LogFiles(const std::string& name)
      : prefix_(testing::TempDir() + "ripieno_" + name + "_" + std::to_string(getpid()) + ".") {}

  [[nodiscard]] std::vector<std::string> environment() const {
    return {"NCCL_DEBUG=WARN", "NCCL_DEBUG_FILE=" + prefix_ + "%p", "RIPIENO_TEST_LOG=" + prefix_};
  }
  /// In a process of the run: whether its log holds all `parts` in one line.
  [[nodiscard]] static bool has_line(std::initializer_list<std::string_view> parts) {
    std::ifstream file(own_file());
    for (std::string line; std::getline(file, line);) {
      bool all = true;
      for (const std::string_view part : parts) {
        all = all && line.find(part) != std::string::npos;
      }
      if (all) {
        return true;
      }
    }
    return false;
  }
  static std::string own_text() {
    std::ifstream file(own_file());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static void remove_own() { unlink(own_file().c_str()); }

 private:
  static std::string own_file() {
    const char* const prefix = std::getenv("RIPIENO_TEST_LOG");
    return (prefix != nullptr ? prefix : "") + std::to_string(getpid());
  }

  std::string prefix_;
};

}  // namespace ripieno::test
