// One rank of the measurement: its communicator, stream and buffers, and what is done with them one
// operation at a time.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <memory>
#include <optional>
#include <vector>

#include "perf/buffer.h"
#include "perf/collective.h"
#include "perf/oracle.h"
#include "perf/settings.h"

namespace ripieno::tool::perf {

/// What is measured in one row of the table.
struct Case {
  DataType type;
  std::optional<Operator> op;
  int root;  ///< -1: the collective has none.
  std::uint64_t bytes;
  Counts counts;
};

class Rank {
 public:
  Rank(const Settings& settings, int rank, int ranks, device::Device& device);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank();

  [[nodiscard]] device::Device& device() const noexcept { return device_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }

  /// Joins the communicator. Inside a group where a thread has several ranks.
  void join(const ncclUniqueId& id);
  /// Allocates and registers the buffers; after join() has ended.
  void prepare(std::uint64_t largest_bytes);
  /// Ends the use of the communicator, in good order.
  void leave();

  /// The operators, oracles and places of the following calls.
  void begin(const Case& measured, bool in_place);
  void end();

  /// Writes this rank's input, made from `seed`, and poisons what the collective writes.
  void fill(std::uint64_t seed);
  void launch();
  /// The smallest collective: nobody leaves before everybody has come.
  void launch_barrier();
  /// Waits for the stream. Throws Failure if the communicator has failed.
  void wait();
  /// Wrong elements and damaged guard bytes after the first launch() since fill(). Waits.
  [[nodiscard]] std::uint64_t count_wrong();

 private:
  [[nodiscard]] std::byte* send_place() const;
  [[nodiscard]] std::byte* receive_place() const;
  /// Calls body(staging, first, count) for runs of `elements` that fit the staging memory.
  template <typename Body>
  void in_chunks(std::uint64_t elements, Body&& body);
  void create_operator();

  const Settings& settings_;
  int rank_;
  int ranks_;
  device::Device& device_;
  cudaStream_t stream_ = nullptr;
  ncclComm_t comm_ = nullptr;
  std::unique_ptr<Buffer> send_;
  std::unique_ptr<Buffer> receive_;
  std::unique_ptr<Buffer> pulse_;  ///< For launch_barrier().
  std::vector<void*> registrations_;
  std::vector<ncclWindow_t> windows_;
  std::vector<std::byte> staging_;

  Case case_{};
  bool in_place_ = false;
  ncclRedOp_t op_ = ncclSum;
  bool own_op_ = false;
  std::unique_ptr<Oracle> oracle_;
};

}  // namespace ripieno::tool::perf
