// Data types and operators by the names that users of NCCL's benchmarks know.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ripieno::tool::perf {

struct DataType {
  std::string_view name;
  ncclDataType_t type;
  std::size_t size;  ///< Bytes of one element.
};

enum class Operator { kSum, kProd, kMin, kMax, kAvg, kMulSum };

struct NamedOperator {
  std::string_view name;
  Operator op;
};

[[nodiscard]] std::span<const DataType> data_types();
[[nodiscard]] std::span<const NamedOperator> operators();
[[nodiscard]] std::string_view name_of(Operator op);

/// One type or operator by name, or every one for "all". Throws UsageError with the nearest name.
[[nodiscard]] std::vector<DataType> select_types(std::string_view name);
[[nodiscard]] std::vector<Operator> select_operators(std::string_view name);

}  // namespace ripieno::tool::perf
