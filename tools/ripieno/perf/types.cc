// The tables of types and operators.
#include "perf/types.h"

#include <algorithm>
#include <array>

#include "command.h"
#include "words.h"

namespace ripieno::tool::perf {
namespace {

constexpr std::array<DataType, 12> kTypes = {{
    {"int8", ncclInt8, 1},
    {"uint8", ncclUint8, 1},
    {"int32", ncclInt32, 4},
    {"uint32", ncclUint32, 4},
    {"int64", ncclInt64, 8},
    {"uint64", ncclUint64, 8},
    {"half", ncclFloat16, 2},
    {"float", ncclFloat32, 4},
    {"double", ncclFloat64, 8},
    {"bfloat16", ncclBfloat16, 2},
    {"f8e4m3", ncclFloat8e4m3, 1},
    {"f8e5m2", ncclFloat8e5m2, 1},
}};

constexpr std::array<NamedOperator, 6> kOperators = {{
    {"sum", Operator::kSum},
    {"prod", Operator::kProd},
    {"min", Operator::kMin},
    {"max", Operator::kMax},
    {"avg", Operator::kAvg},
    {"mulsum", Operator::kMulSum},
}};

template <typename Row>
std::vector<Row> select(std::string_view kind, std::string_view name, std::span<const Row> rows) {
  if (name == "all") return {rows.begin(), rows.end()};
  const auto found = std::ranges::find(rows, name, &Row::name);
  if (found != rows.end()) return {*found};
  std::vector<std::string_view> names;
  for (const Row& row : rows) names.push_back(row.name);
  names.emplace_back("all");
  throw UsageError(unknown_word(kind, name, names));
}

}  // namespace

std::span<const DataType> data_types() {
  return kTypes;
}
std::span<const NamedOperator> operators() {
  return kOperators;
}

std::string_view name_of(Operator op) {
  return std::ranges::find(kOperators, op, &NamedOperator::op)->name;
}

std::vector<DataType> select_types(std::string_view name) {
  return select<DataType>("data type", name, kTypes);
}

std::vector<Operator> select_operators(std::string_view name) {
  std::vector<Operator> selected;
  for (const NamedOperator& row : select<NamedOperator>("operator", name, kOperators)) {
    selected.push_back(row.op);
  }
  return selected;
}

}  // namespace ripieno::tool::perf
