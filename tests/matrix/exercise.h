// One collective of the matrix: prepares every rank's buffers, runs it, and checks results, guard
// words, inputs and what must stay untouched.
#pragma once

#include <nccl.h>

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "support/buffer.h"
#include "support/party.h"

namespace ripieno::test {

enum class Collective {
  kAllReduce,
  kReduce,
  kBroadcast,
  kBcast,
  kAllGather,
  kReduceScatter,
  kAlltoAll,
  kGather,
  kScatter,
};

inline constexpr std::array kCollectives = {
    Collective::kAllReduce, Collective::kReduce,    Collective::kBroadcast,
    Collective::kBcast,     Collective::kAllGather, Collective::kReduceScatter,
    Collective::kAlltoAll,  Collective::kGather,    Collective::kScatter};

/// Which memory the ranks bring.
enum class MemoryMix { kDevice, kHeap, kNccl, kOneRankHeap };

struct Exercise {
  Collective collective;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t operation = ncclSum;
  std::size_t count = 0;
  int root = 0;
  bool in_place = false;
  MemoryMix memory = MemoryMix::kDevice;
  std::size_t shift = 0;  ///< Elements past an aligned address.
  std::size_t salt = 0;   ///< Where in the tables inputs start.
};

[[nodiscard]] bool reduces(Collective collective);
[[nodiscard]] std::string to_string(const Exercise& exercise);

/// Buffers of a party's ranks, made once for the largest exercise and reused.
class Bench {
 public:
  explicit Bench(Party& party) : party_(party) {}

  /// Runs `exercise` on my ranks; every party of the communicator does the same.
  void run(const Exercise& exercise);

 private:
  struct Work;

  [[nodiscard]] Work prepare(const Exercise& exercise, const Rank& rank);
  void verify(const Exercise& exercise, Work& work) const;

  Party& party_;
};

}  // namespace ripieno::test
