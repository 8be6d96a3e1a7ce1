// What the 128 bytes of a unique id hold.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <optional>

#include "bootstrap/address.h"
#include "bootstrap/keys.h"

namespace ripieno::bootstrap {

struct UniqueId {
  enum class Kind : std::uint8_t {
    kRendezvous = 1,  ///< A thread of the process that made the id listens at `address`.
    kFixed = 2,       ///< NCCL_COMM_ID: rank 0 will listen at `address`.
  };
  Kind kind = Kind::kRendezvous;
  Address address;
  Key secret{};  ///< Random; for kFixed derived from the text of NCCL_COMM_ID.
};

[[nodiscard]] ncclUniqueId encode(const UniqueId& id);
/// Nothing for bytes that encode() did not make: zeros, damaged ones, another library's.
[[nodiscard]] std::optional<UniqueId> decode(const ncclUniqueId& id);

/// The id that NCCL_COMM_ID stands for, the same in every process. Throws Error
/// (ncclInvalidArgument).
[[nodiscard]] UniqueId fixed_id(std::string_view comm_id, std::optional<Family> family);

}  // namespace ripieno::bootstrap
