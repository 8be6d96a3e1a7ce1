// Copies, fills and small tasks, and how they enter a stream; see operations.h.
#include "hostrt/operations.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "hostrt/arena.h"
#include "hostrt/capture.h"
#include "hostrt/device.h"
#include "hostrt/host_memory.h"
#include "hostrt/import.h"
#include "hostrt/runtime.h"
#include "hostrt/submit.h"

namespace ripieno::hostrt {
namespace {

/// A task that is one call of a copyable function object.
template <class Function>
class CallTask final : public Task {
 public:
  CallTask(Function function, std::chrono::nanoseconds budget)
      : function_(std::move(function)), budget_(budget) {}
  bool poll() noexcept override {
    function_();
    return true;
  }
  void run() noexcept override { function_(); }
  [[nodiscard]] std::chrono::nanoseconds inline_budget() const noexcept override { return budget_; }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<CallTask>(function_, budget_);
  }

 private:
  Function function_;
  std::chrono::nanoseconds budget_;
};

/// With a budget the task may also run inline (in a graph launch); host functions never do, since
/// the thread that submits may hold a lock that the function wants.
template <class Function>
std::unique_ptr<Task> make_call_task(Function function, bool may_inline) {
  return std::make_unique<CallTask<Function>>(std::move(function),
                                              std::chrono::microseconds{may_inline ? 20 : 0});
}

template <class Element>
void fill_rows(const FillShape& shape) noexcept {
  for (std::size_t row = 0; row < shape.height; ++row) {
    auto* begin = reinterpret_cast<Element*>(shape.to + row * shape.pitch);
    std::fill(begin, begin + shape.width, static_cast<Element>(shape.value));
  }
}

/// Calls back with the mark set that makes calls of the runtime an error.
template <class Function>
void call_host(Function function) {
  ThreadState& thread = thread_state();
  const bool before = std::exchange(thread.in_host_function, true);
  function();
  thread.in_host_function = before;
}

bool is_pageable(const void* pointer) {
  return !arena_offset(pointer) && !HostMemory::instance().find(pointer) &&
         !imported_device(pointer);
}

}  // namespace

void perform(const CopyShape& shape) noexcept {
  for (std::size_t layer = 0; layer < shape.depth; ++layer) {
    std::byte* to = shape.to + layer * shape.to_slice;
    const std::byte* from = shape.from + layer * shape.from_slice;
    for (std::size_t row = 0; row < shape.height; ++row) {
      std::memmove(to + row * shape.to_pitch, from + row * shape.from_pitch, shape.width);
    }
  }
}

void perform(const FillShape& shape) noexcept {
  switch (shape.element_bytes) {
    case 1:
      for (std::size_t row = 0; row < shape.height; ++row) {
        std::memset(shape.to + row * shape.pitch, static_cast<int>(shape.value & 0xff),
                    shape.width);
      }
      break;
    case 2:
      fill_rows<std::uint16_t>(shape);
      break;
    default:
      fill_rows<std::uint32_t>(shape);
  }
}

std::unique_ptr<Task> make_copy_task(const CopyShape& shape) {
  return make_call_task([shape] { perform(shape); }, shape.bytes() <= kImmediateBytes);
}

std::unique_ptr<Task> make_snapshot_copy_task(const CopyShape& shape) {
  std::vector<std::byte> snapshot(shape.from, shape.from + shape.width);
  return make_call_task(
      [to = shape.to, snapshot = std::move(snapshot)] {
        std::memcpy(to, snapshot.data(), snapshot.size());
      },
      true);
}

std::unique_ptr<Task> make_fill_task(const FillShape& shape) {
  return make_call_task([shape] { perform(shape); }, shape.bytes() <= kImmediateBytes);
}

std::unique_ptr<Task> make_host_function_task(cudaHostFn_t function, void* data) {
  return make_call_task([=] { call_host([=] { function(data); }); }, false);
}

std::unique_ptr<Task> make_callback_task(cudaStream_t stream, cudaStreamCallback_t callback,
                                         void* data) {
  return make_call_task([=] { call_host([=] { callback(stream, cudaSuccess, data); }); }, false);
}

std::unique_ptr<Task> make_free_task(void* pointer) {
  return make_call_task(
      [pointer] {
        try {
          Arena::instance().release(pointer);
        } catch (const RuntimeError&) {
          return;  // freed twice: the first one counted, and a stream has no caller to tell
        }
      },
      true);
}

std::unique_ptr<Task> make_empty_task() {
  return make_call_task([] {}, true);
}

std::unique_ptr<Task> make_keep_alive_task(std::shared_ptr<const void> object) {
  return make_call_task([object = std::move(object)] {}, true);
}

// ---- Into a stream ----

void enqueue_task(Stream& stream, std::unique_ptr<Task> task, cudaGraphNodeType type) {
  if (is_captured(stream)) {
    capture_task(stream, std::move(task), type);
  } else {
    push_ordered(stream, std::move(task));
  }
}

void enqueue_fill(Stream& stream, const FillShape& shape) {
  if (shape.bytes() == 0) return;
  if (is_captured(stream)) {
    capture_task(stream, make_fill_task(shape), cudaGraphNodeTypeMemset);
    return;
  }
  order_default_streams(stream);
  if (shape.bytes() <= kImmediateBytes && stream.run_if_idle([&] { perform(shape); })) return;
  stream.push(make_fill_task(shape));
}

void enqueue_copy(Stream& stream, const CopyShape& shape) {
  if (shape.bytes() == 0) return;
  if (is_captured(stream)) {
    capture_task(stream, make_copy_task(shape), cudaGraphNodeTypeMemcpy);
    return;
  }
  order_default_streams(stream);
  const bool small = shape.bytes() <= kImmediateBytes;
  if (small && stream.run_if_idle([&] { perform(shape); })) return;
  const bool from_pageable = is_pageable(shape.from);
  const bool to_pageable = is_pageable(shape.to);
  if (from_pageable && !to_pageable && small && shape.height * shape.depth == 1) {
    stream.push(make_snapshot_copy_task(shape));
    return;
  }
  const bool wait = from_pageable || to_pageable;
  if (wait && stream.run_if_idle([&] { perform(shape); })) return;
  const Position position = stream.push(make_copy_task(shape));
  if (wait) stream.wait_for(position);
}

}  // namespace ripieno::hostrt
