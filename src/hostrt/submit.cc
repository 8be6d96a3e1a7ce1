// Inline execution by the submitting thread and the order of default streams; see submit.h.
#include "hostrt/submit.h"

#include <algorithm>
#include <utility>

#include "hostrt/capture.h"
#include "hostrt/device.h"
#include "hostrt/process.h"
#include "hostrt/runtime.h"
#include "hostrt/spinning.h"

namespace ripieno::hostrt {
namespace {

using Clock = std::chrono::steady_clock;

/// A budget that went by while others had the core is no reason to give up: the peers that are
/// waited for may have had no core either, and a worker would fare no better.
constexpr int kLeastYields = 32;

}  // namespace

void order_default_streams(Stream& stream) {
  if (stream.kind() == StreamKind::kNonBlocking) return;
  VirtualDevice& owner = device(stream.device());
  if (stream.kind() == StreamKind::kBlocking) {
    Stream& legacy = owner.legacy_stream();
    const Position newest = legacy.submitted();
    if (legacy.reached(newest) ||
        stream.ordered_after_legacy.load(std::memory_order_relaxed) >= newest)
      return;
    stream.ordered_after_legacy.store(newest, std::memory_order_relaxed);
    stream.push(std::make_unique<WaitTask>(legacy, newest));
    return;
  }
  refuse_implicit_dependency(owner);
  for (StreamRef& other : owner.blocking_streams()) {
    const Position newest = other->submitted();
    if (!other->reached(newest)) stream.push(std::make_unique<WaitTask>(*other, newest));
  }
}

Position push_ordered(Stream& stream, std::unique_ptr<Task> task) {
  order_default_streams(stream);
  return stream.push(std::move(task));
}

Position InlineDriver::add(Stream& stream, std::unique_ptr<Task> task) {
  const std::chrono::nanoseconds budget = task->inline_budget();
  const Stream::Added added = stream.add(task, budget.count() > 0 && count_ < kMost);
  if (added.role) {
    active_[count_++] = {&stream, task.release(), added.position};
    budget_ = std::max(budget_, budget);
    return added.position;
  }
  for (std::size_t index = 0; index < count_; ++index) {
    if (active_[index].stream == &stream) active_[index].last = added.position;
  }
  return added.position;
}

bool InlineDriver::poll_round() {
  bool finished_any = false;
  for (std::size_t index = 0; index < count_;) {
    Active& one = active_[index];
    if (!one.task->poll()) {
      ++index;
      continue;
    }
    finished_any = true;
    delete one.task;
    if (std::unique_ptr<Task> next = one.stream->finish(one.last)) {
      budget_ = std::max(budget_, next->inline_budget());
      one.task = next.release();
    } else {
      one = active_[--count_];
    }
  }
  return finished_any;
}

void InlineDriver::drive() {
  // The common case needs no clock: everything is there and finishes in the first rounds.
  constexpr int kFreeRounds = 4;
  for (int round = 0; round < kFreeRounds; ++round) {
    if (count_ == 0) return;
    poll_round();
  }
  Clock::time_point now = Clock::now();
  Clock::time_point deadline = now + budget_;
  Spinning spinning;
  while (count_ > 0) {
    const bool progress = poll_round();
    now = Clock::now();
    if (progress) {
      deadline = now + budget_;
    } else if (now >= deadline && spinning.yields() >= kLeastYields) {
      break;
    } else {
      spinning.pause(now);
    }
  }
  hand_over();
}

void InlineDriver::hand_over() {
  while (count_ > 0) {
    const Active& one = active_[--count_];
    one.stream->give_up(std::unique_ptr<Task>(one.task));
  }
}

// ---- The C++ face ----

void submit(std::span<Submission> submissions) {
  check_process();
  InlineDriver driver;
  for (Submission& submission : submissions) {
    Stream& stream = resolve_stream(submission.stream);
    if (is_captured(stream)) {
      capture_task(stream, std::move(submission.task), cudaGraphNodeTypeKernel);
      continue;
    }
    order_default_streams(stream);
    driver.add(stream, std::move(submission.task));
  }
  driver.drive();
}

void submit(cudaStream_t stream, std::unique_ptr<Task> task) {
  Submission one{stream, std::move(task)};
  submit(std::span<Submission>(&one, 1));
}

bool is_capturing(cudaStream_t stream) {
  return is_captured(resolve_stream(stream));
}

}  // namespace ripieno::hostrt
