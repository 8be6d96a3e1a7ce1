// Submitting on behalf of the calling thread: default-stream order, then inline attempts. An
// InlineDriver collects the tasks whose streams were idle and polls them all in turn, since they
// may need each other to finish.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "hostrt/stream.h"

namespace ripieno::hostrt {

/// Makes `stream` wait for what the default-stream rule puts before its next task: the legacy
/// stream for a blocking stream, all blocking streams for the legacy one. Nothing where they are
/// idle. Throws RuntimeError(cudaErrorStreamCaptureImplicit) where the legacy stream would have to
/// wait for a capture.
void order_default_streams(Stream& stream);

/// Appends `task` in default-stream order without an inline attempt.
Position push_ordered(Stream& stream, std::unique_ptr<Task> task);

class InlineDriver {
 public:
  InlineDriver() noexcept {
  }  // leaves the array alone: only the first `count_` entries are ever looked at
  InlineDriver(const InlineDriver&) = delete;
  InlineDriver& operator=(const InlineDriver&) = delete;
  /// Leaves to the workers what drive() has not finished.
  ~InlineDriver() { hand_over(); }

  /// Appends `task` to `stream`; keeps it for drive() if it has a budget and the stream is idle.
  Position add(Stream& stream, std::unique_ptr<Task> task);
  /// Polls what add() kept until all is finished or the longest budget has passed without a task
  /// finishing.
  void drive();

 private:
  struct Active {
    Stream* stream;
    Task* task;
    Position last;  ///< Newest position this driver has appended to the stream.
  };
  static constexpr std::size_t kMost = 64;

  bool poll_round();
  void hand_over();

  std::size_t count_ = 0;
  std::chrono::nanoseconds budget_{0};
  Active active_[kMost];
};

}  // namespace ripieno::hostrt
