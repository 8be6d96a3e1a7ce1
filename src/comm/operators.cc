// Slots that are used again.
#include "comm/operators.h"

#include <algorithm>

#include "base/error.h"

namespace ripieno::comm {

ncclRedOp_t Operators::add(const PreMulSum& definition) {
  const std::lock_guard lock(mutex_);
  auto slot = std::find(operators_.begin(), operators_.end(), std::nullopt);
  const auto index = static_cast<std::size_t>(slot - operators_.begin());
  if (index + ncclNumOps > 0xffff) {
    throw Error(ncclInvalidUsage,
                "this communicator already has {} operators; destroy some with ncclRedOpDestroy()",
                operators_.size());
  }
  if (slot == operators_.end()) {
    operators_.emplace_back(definition);
  } else {
    *slot = definition;
  }
  return static_cast<ncclRedOp_t>((key_ << 16) | static_cast<int>(index + ncclNumOps));
}

std::size_t Operators::index_of(ncclRedOp_t handle) const {
  const int value = static_cast<int>(handle);
  const int low = value & 0xffff;
  if (value >= 0 && value < ncclNumOps) {
    throw Error(ncclInvalidArgument, "operator {} is built in", value);
  }
  const auto index = static_cast<std::size_t>(low) - ncclNumOps;
  if ((value >> 16) != key_ || low < ncclNumOps || index >= operators_.size() ||
      !operators_[index]) {
    throw Error(ncclInvalidArgument,
                "operator {:#x} is unknown here: it is neither one of 0 to {} nor one that this "
                "communicator "
                "created and has not destroyed",
                value, ncclNumOps - 1);
  }
  return index;
}

void Operators::remove(ncclRedOp_t handle) {
  const std::lock_guard lock(mutex_);
  operators_[index_of(handle)].reset();
}

PreMulSum Operators::find(ncclRedOp_t handle) const {
  const std::lock_guard lock(mutex_);
  return *operators_[index_of(handle)];
}

}  // namespace ripieno::comm
