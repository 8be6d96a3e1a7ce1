// A communicator's own operators, and their handles.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace ripieno::comm {

/// A user's operator: each rank's input is multiplied by a factor before the sum.
struct PreMulSum {
  ncclDataType_t type;
  std::uint64_t scalar;
  const std::byte* device_scalar;  ///< Read when an operation runs; nullptr: `scalar` counts.
};

/// Thread-safe. A handle holds the communicator's key in its high half and, in the low half, an
/// index past the built-in operators.
class Operators {
 public:
  /// Sets the key; before any handle is given out.
  void belong_to(std::uint64_t communicator_hash) noexcept {
    key_ = static_cast<int>(communicator_hash % 0x7ffe) + 1;
  }
  /// Throws Error (ncclInvalidUsage) when there are too many.
  [[nodiscard]] ncclRedOp_t add(const PreMulSum& definition);
  /// Throws Error (ncclInvalidArgument) for a built-in operator, one of another communicator, or an
  /// unknown one.
  void remove(ncclRedOp_t handle);
  [[nodiscard]] PreMulSum find(ncclRedOp_t handle) const;

 private:
  [[nodiscard]] std::size_t index_of(ncclRedOp_t handle) const;

  mutable std::mutex mutex_;
  std::vector<std::optional<PreMulSum>> operators_;
  int key_ = 0;
};

}  // namespace ripieno::comm
