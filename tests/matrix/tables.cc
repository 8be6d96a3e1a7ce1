// Tables are made on first use and kept; the threads of a process share them.
#include "matrix/tables.h"

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "base/reduce_oracle.h"

namespace ripieno::test {
namespace {

std::uint64_t hash(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Integers: any bits. Floating types: either sign, magnitudes from 1/2 to 2, so that neither a sum
/// nor a product of the matrix's ranks leaves the range of the smallest type, and nearly every sum
/// has to be rounded.
std::uint64_t input_bits(ncclDataType_t type, int rank, std::size_t index) {
  const std::uint64_t noise = hash((static_cast<std::uint64_t>(rank) << 32) + index + 1);
  if (!oracle::is_float(type)) {
    return noise;
  }
  const double fraction = static_cast<double>(noise >> 12) / static_cast<double>(1ULL << 52);
  const double magnitude = std::exp2(2 * fraction - 1);
  const double value = (noise & 1) != 0 ? -magnitude : magnitude;
  if (type == ncclFloat32) {
    return oracle::bits_of(static_cast<float>(value));
  }
  if (type == ncclFloat64) {
    return oracle::bits_of(value);
  }
  return oracle::small_format(type).nearest(value);
}

Table make_table(ncclDataType_t type, auto bits_at) {
  const std::size_t size = type_size(type);
  Table table(kPeriod * size);
  for (std::size_t index = 0; index < kPeriod; ++index) {
    const std::uint64_t bits = bits_at(index);
    std::memcpy(table.data() + index * size, &bits, size);
  }
  return table;
}

std::uint64_t bits_at(const Table& table, std::size_t size, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, table.data() + index * size, size);
  return bits;
}

ReduceKind kind_of(ncclRedOp_t operation) {
  switch (operation) {
    case ncclProd:
      return ReduceKind::kProd;
    case ncclMax:
      return ReduceKind::kMax;
    case ncclMin:
      return ReduceKind::kMin;
    case ncclAvg:
      return ReduceKind::kAverage;
    default:
      return ReduceKind::kSum;
  }
}

template <typename Key>
class Cache {
 public:
  const Table& get(const Key& key, auto make) {
    const std::lock_guard lock(mutex_);
    const auto found = tables_.find(key);
    return found != tables_.end() ? found->second : tables_.emplace(key, make()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, Table> tables_;
};

}  // namespace

const Table& input_table(ncclDataType_t type, int rank) {
  static Cache<std::tuple<int, int>> cache;
  return cache.get({type, rank}, [&] {
    return make_table(type, [&](std::size_t index) { return input_bits(type, rank, index); });
  });
}

const Table& reduced_table(ncclDataType_t type, ncclRedOp_t operation, int ranks) {
  static Cache<std::tuple<int, int, int>> cache;
  return cache.get({type, operation, ranks}, [&] {
    const Reduction reduction{
        .type = type, .kind = kind_of(operation), .ranks = ranks, .scalar = 0};
    return make_table(type, [&](std::size_t index) {
      std::vector<std::uint64_t> inputs;
      for (int rank = 0; rank < ranks; ++rank) {
        inputs.push_back(bits_at(input_table(type, rank), type_size(type), index));
      }
      return oracle::reduce(reduction, inputs);
    });
  });
}

void fill_from(const Table& table, std::size_t element_bytes, std::size_t begin,
               std::span<std::byte> to) {
  std::size_t from = begin % kPeriod * element_bytes;
  while (!to.empty()) {
    const std::size_t now = std::min(table.size() - from, to.size());
    std::memcpy(to.data(), table.data() + from, now);
    to = to.subspan(now);
    from = 0;
  }
}

}  // namespace ripieno::test
