// The collectives and messages of the C interface: arguments are checked here, everything behind is
// the library's.
#include <cstdint>
#include <limits>

#include "api/border.h"
#include "api/buffer_checks.h"
#include "api/declare.h"
#include "api/group.h"
#include "base/reduce.h"
#include "comm/registry.h"
#include "device/device.h"
#include "plan/executor.h"

namespace ripieno::api {
namespace {

using coll::Function;
using coll::Operation;
using coll::Shape;

/// What a user hands to any of the calls.
struct Call {
  const char* name;
  Function function;
  const void* send;
  void* receive;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t operation;
  int root;
  ncclComm_t comm;
  cudaStream_t stream;
};

void check_root(const Call& call, int ranks) {
  const bool message = coll::is_message(call.function);
  if ((message || coll::has_root(call.function)) && (call.root < 0 || call.root >= ranks)) {
    throw Error(ncclInvalidArgument, "{} is {}; valid values are 0 to {}",
                message ? "peer" : "root", call.root, ranks - 1);
  }
}

void check_type(const Call& call) {
  const int type = static_cast<int>(call.type);
  if (type < 0 || type >= ncclNumTypes) {
    throw Error(ncclInvalidArgument, "datatype is {}; valid values are 0 to {}", type,
                ncclNumTypes - 1);
  }
}

void check_count(const Call& call, int ranks) {
  const std::size_t bytes = type_size(call.type) * static_cast<std::size_t>(ranks);
  const auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) / bytes;
  if (call.count > most) {
    throw Error(ncclInvalidArgument, "count is {}; at most {} elements of {} fit into memory",
                call.count, most, type_name(call.type));
  }
}

/// Which of the buffers this rank must bring.
void check_buffers(const Call& call, int rank) {
  if (call.count == 0) {
    return;
  }
  const bool message = coll::is_message(call.function);
  const Shape shape = coll::shape_of(call.function);
  const bool sends = message ? call.function == Function::kSend : shape.is_source(rank, call.root);
  const bool receives = message ? call.function == Function::kRecv : shape.is_sink(rank, call.root);
  if (sends && call.send == nullptr) {
    throw Error(ncclInvalidArgument, "sendbuff is NULL on rank {} although count is {}", rank,
                call.count);
  }
  if (receives && call.receive == nullptr) {
    throw Error(ncclInvalidArgument, "recvbuff is NULL on rank {} although count is {}", rank,
                call.count);
  }
}

/// Translates the operator; a user's own brings its factor along.
void set_operator(Operation& operation, const Call& call, comm::Communicator& communicator) {
  switch (call.operation) {
    case ncclSum:
      operation.reduce = ReduceKind::kSum;
      return;
    case ncclProd:
      operation.reduce = ReduceKind::kProd;
      return;
    case ncclMax:
      operation.reduce = ReduceKind::kMax;
      return;
    case ncclMin:
      operation.reduce = ReduceKind::kMin;
      return;
    case ncclAvg:
      operation.reduce = ReduceKind::kAverage;
      return;
    default:
      break;
  }
  const comm::PreMulSum definition = communicator.operators().find(call.operation);
  if (definition.type != call.type) {
    throw Error(ncclInvalidArgument, "the operator was created for {} and cannot reduce {}",
                type_name(definition.type), type_name(call.type));
  }
  operation.reduce = ReduceKind::kPreMulSum;
  operation.scalar = definition.scalar;
  operation.device_scalar = definition.device_scalar;
}

Operation make_operation(const Call& call, comm::Communicator& communicator) {
  check_type(call);
  check_root(call, communicator.ranks());
  check_count(call, communicator.ranks());
  check_buffers(call, communicator.rank());
  Operation operation;
  operation.function = call.function;
  operation.type = call.type;
  operation.root = call.root;
  operation.count = call.count;
  operation.send = static_cast<const std::byte*>(call.send);
  operation.receive = static_cast<std::byte*>(call.receive);
  if (!coll::is_message(call.function) && coll::shape_of(call.function).reduces) {
    set_operator(operation, call, communicator);
  }
  check_overlap(operation, communicator.rank(), communicator.ranks());
  return operation;
}

ncclResult_t start_now(const Call& call, comm::Communicator& communicator,
                       const Operation& operation) {
  const cudaStream_t stream =
      device::backend().device(communicator.device()).explicit_stream(call.stream);
  plan::StreamBatch batch{
      .stream = stream,
      .batch = {.sequencer = communicator.sequencer(), .operations = {operation}}};
  plan::start({&batch, 1});
  // What went wrong on the spot need not wait for the next call to be told.
  if (const ncclResult_t failure = communicator.sequencer()->failure(); failure != ncclSuccess) {
    throw Error(failure, "{}", communicator.sequencer()->failure_text());
  }
  return ncclSuccess;
}

ncclResult_t start(const Call& call) {
  return guard(call.name, [&] {
    Group& group = Group::current();
    try {
      std::shared_ptr<comm::Communicator> communicator = comm::find_handle(call.comm);
      communicator->require(comm::Call::kOperation);
      const Operation operation = make_operation(call, *communicator);
      if (!group.is_open()) {
        return start_now(call, *communicator, operation);
      }
      group.add_operation(std::move(communicator), call.stream, operation);
      return ncclSuccess;
    } catch (const Error& error) {
      group.remember_failure(error);
      throw;
    }
  });
}

}  // namespace
}  // namespace ripieno::api

RIPIENO_API(ncclAllReduce, all_reduce);
ncclResult_t ripieno::api::all_reduce(const void* send, void* receive, std::size_t count,
                                      ncclDataType_t type, ncclRedOp_t operation, ncclComm_t comm,
                                      cudaStream_t stream) {
  return start({.name = "ncclAllReduce",
                .function = Function::kAllReduce,
                .send = send,
                .receive = receive,
                .count = count,
                .type = type,
                .operation = operation,
                .root = 0,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclReduce, reduce_to_root);
ncclResult_t ripieno::api::reduce_to_root(const void* send, void* receive, std::size_t count,
                                          ncclDataType_t type, ncclRedOp_t operation, int root,
                                          ncclComm_t comm, cudaStream_t stream) {
  return start({.name = "ncclReduce",
                .function = Function::kReduce,
                .send = send,
                .receive = receive,
                .count = count,
                .type = type,
                .operation = operation,
                .root = root,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclBroadcast, broadcast);
ncclResult_t ripieno::api::broadcast(const void* send, void* receive, std::size_t count,
                                     ncclDataType_t type, int root, ncclComm_t comm,
                                     cudaStream_t stream) {
  return start({.name = "ncclBroadcast",
                .function = Function::kBroadcast,
                .send = send,
                .receive = receive,
                .count = count,
                .type = type,
                .operation = ncclSum,
                .root = root,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclBcast, broadcast_in_place);
ncclResult_t ripieno::api::broadcast_in_place(void* buffer, std::size_t count, ncclDataType_t type,
                                              int root, ncclComm_t comm, cudaStream_t stream) {
  return start({.name = "ncclBcast",
                .function = Function::kBroadcast,
                .send = buffer,
                .receive = buffer,
                .count = count,
                .type = type,
                .operation = ncclSum,
                .root = root,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclAllGather, all_gather);
ncclResult_t ripieno::api::all_gather(const void* send, void* receive, std::size_t count,
                                      ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return start({.name = "ncclAllGather",
                .function = Function::kAllGather,
                .send = send,
                .receive = receive,
                .count = count,
                .type = type,
                .operation = ncclSum,
                .root = 0,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclReduceScatter, reduce_scatter);
ncclResult_t ripieno::api::reduce_scatter(const void* send, void* receive, std::size_t count,
                                          ncclDataType_t type, ncclRedOp_t operation,
                                          ncclComm_t comm, cudaStream_t stream) {
  return start({.name = "ncclReduceScatter",
                .function = Function::kReduceScatter,
                .send = send,
                .receive = receive,
                .count = count,
                .type = type,
                .operation = operation,
                .root = 0,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclAlltoAll, all_to_all);
ncclResult_t ripieno::api::all_to_all(const void* send, void* receive, std::size_t count,
                                      ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return start({.name = "ncclAlltoAll",
                .function = Function::kAlltoAll,
                .send = send,
                .receive = receive,
                .count = count,
                .type = type,
                .operation = ncclSum,
                .root = 0,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclGather, gather);
ncclResult_t ripieno::api::gather(const void* send, void* receive, std::size_t count,
                                  ncclDataType_t type, int root, ncclComm_t comm,
                                  cudaStream_t stream) {
  return start({.name = "ncclGather",
                .function = Function::kGather,
                .send = send,
                .receive = receive,
                .count = count,
                .type = type,
                .operation = ncclSum,
                .root = root,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclScatter, scatter);
ncclResult_t ripieno::api::scatter(const void* send, void* receive, std::size_t count,
                                   ncclDataType_t type, int root, ncclComm_t comm,
                                   cudaStream_t stream) {
  return start({.name = "ncclScatter",
                .function = Function::kScatter,
                .send = send,
                .receive = receive,
                .count = count,
                .type = type,
                .operation = ncclSum,
                .root = root,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclSend, send);
ncclResult_t ripieno::api::send(const void* buffer, std::size_t count, ncclDataType_t type,
                                int peer, ncclComm_t comm, cudaStream_t stream) {
  return start({.name = "ncclSend",
                .function = Function::kSend,
                .send = buffer,
                .receive = nullptr,
                .count = count,
                .type = type,
                .operation = ncclSum,
                .root = peer,
                .comm = comm,
                .stream = stream});
}

RIPIENO_API(ncclRecv, receive);
ncclResult_t ripieno::api::receive(void* buffer, std::size_t count, ncclDataType_t type, int peer,
                                   ncclComm_t comm, cudaStream_t stream) {
  return start({.name = "ncclRecv",
                .function = Function::kRecv,
                .send = nullptr,
                .receive = buffer,
                .count = count,
                .type = type,
                .operation = ncclSum,
                .root = peer,
                .comm = comm,
                .stream = stream});
}
