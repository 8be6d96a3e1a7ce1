// Names of functions and operators, for log lines and errors.
#include "coll/operation.h"

namespace ripieno::coll {

const char* function_name(Function function) noexcept {
  switch (function) {
    case Function::kBroadcast:
      return "Broadcast";
    case Function::kReduce:
      return "Reduce";
    case Function::kAllGather:
      return "AllGather";
    case Function::kReduceScatter:
      return "ReduceScatter";
    case Function::kAllReduce:
      return "AllReduce";
    case Function::kSend:
      return "Send";
    case Function::kRecv:
      return "Recv";
    case Function::kAlltoAll:
      return "AlltoAll";
    case Function::kScatter:
      return "Scatter";
    case Function::kGather:
      return "Gather";
  }
  return "unknown function";
}

const char* reduce_name(ReduceKind kind) noexcept {
  switch (kind) {
    case ReduceKind::kSum:
      return "sum";
    case ReduceKind::kProd:
      return "prod";
    case ReduceKind::kMax:
      return "max";
    case ReduceKind::kMin:
      return "min";
    case ReduceKind::kAverage:
      return "avg";
    case ReduceKind::kPreMulSum:
      return "premulsum";
  }
  return "unknown operator";
}

}  // namespace ripieno::coll
