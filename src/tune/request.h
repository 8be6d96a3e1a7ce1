// NCCL_ALGO and NCCL_PROTO: what users allow.
//
//     list                 for all functions             NCCL_ALGO=ring,tree
//     ^list                all but these                 NCCL_PROTO=^LL128
//     list;function:list   something else for one        NCCL_ALGO="ring;allreduce:tree,direct"
//
// Names are read in any case; whoever writes one that does not exist is told which do.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tune/algorithm.h"

namespace ripieno::tune {

class Request {
 public:
  /// Everything is allowed.
  Request();
  /// Throws Error (ncclInvalidUsage) naming the variable, its value, where it was set, and the word
  /// at fault.
  [[nodiscard]] static Request from_parameters();
  [[nodiscard]] static Request parse(std::string_view algorithms, std::string_view protocols);

  [[nodiscard]] bool allows(coll::Function function, Algorithm algorithm,
                            Protocol protocol) const noexcept;
  /// Whether anything is ruled out for the function.
  [[nodiscard]] bool restricts(coll::Function function) const noexcept;
  [[nodiscard]] bool restricts() const noexcept;
  /// A number that is equal where requests are equal: ranks compare it.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept;

 private:
  using Mask = std::uint32_t;
  std::array<Mask, kFunctions> algorithms_;
  std::array<Mask, kFunctions> protocols_;
};

}  // namespace ripieno::tune
