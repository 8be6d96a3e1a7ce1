// Streams: order, inline attempts, stealing by waiters, default streams, destruction with work
// pending.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "hostrt/support.h"

namespace ripieno::hostrt {
namespace {

std::vector<int> counting(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(Stream, RunsTasksInOrderWhateverTheirBudget) {
  OwnedStream stream;
  Diary diary;
  for (int entry = 0; entry < 300; ++entry) {
    submit(stream, write_task(diary, entry,
                              entry % 3 == 0 ? kNotInline : std::chrono::nanoseconds{kInline}));
  }
  stream.synchronize();
  EXPECT_EQ(diary.entries(), counting(300));
}

TEST(Stream, RunsInlineTaskOfIdleStreamInTheSubmittingThread) {
  OwnedStream stream;
  std::thread::id where;
  submit(stream,
         make_task({.act = [&] { where = std::this_thread::get_id(); }, .budget = kInline}));
  EXPECT_EQ(where, std::this_thread::get_id());
  EXPECT_CUDA(cuda::cudaStreamQuery(stream));
}

TEST(Stream, LeavesTaskWithoutBudgetToAnotherThread) {
  OwnedStream stream;
  Gate done;
  std::thread::id where;
  submit(stream, make_task({.act = [&] {
           where = std::this_thread::get_id();
           done.open();
         }}));
  EXPECT_TRUE(eventually([&] { return done.is_open(); }));
  EXPECT_NE(where, std::this_thread::get_id());
  stream.synchronize();
}

TEST(Stream, SubmitReturnsThoughTheTaskWaits) {
  OwnedStream stream;
  Gate gate;
  submit(stream, gate_task(gate, kInline));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaStreamQuery(stream));
  gate.open();
  stream.synchronize();
  EXPECT_CUDA(cuda::cudaStreamQuery(stream));
}

TEST(Stream, NotReadyIsNoError) {
  static_cast<void>(cuda::cudaGetLastError());
  OwnedStream stream;
  Gate gate;
  submit(stream, gate_task(gate));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaStreamQuery(stream));
  EXPECT_CUDA(cuda::cudaPeekAtLastError());
  gate.open();
  stream.synchronize();
}

TEST(Stream, OneSubmitDrivesTasksThatNeedEachOther) {
  // Each task is ready only once all others have been polled, as ranks of a collective are.
  constexpr std::size_t kRanks = 8;
  std::vector<std::unique_ptr<OwnedStream>> streams;
  std::vector<Submission> group;
  std::atomic<std::size_t> arrived{0};
  std::vector<bool> seen(kRanks, false);
  std::vector<std::thread::id> where(kRanks);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    streams.push_back(std::make_unique<OwnedStream>());
    auto ready = [&, rank] {
      if (!seen[rank]) {
        seen[rank] = true;
        arrived.fetch_add(1);
      }
      return arrived.load() == kRanks;
    };
    group.push_back(
        {*streams[rank], make_task({.ready = ready,
                                    .act = [&, rank] { where[rank] = std::this_thread::get_id(); },
                                    .budget = std::chrono::seconds{5}})});
  }
  submit(group);
  for (const auto& id : where) EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(Stream, OneSubmitMayNameAStreamTwice) {
  OwnedStream stream;
  Diary diary;
  std::vector<Submission> group;
  for (int entry = 0; entry < 5; ++entry)
    group.push_back({stream, write_task(diary, entry, kInline)});
  submit(group);
  EXPECT_EQ(diary.entries(), counting(5));
  EXPECT_CUDA(cuda::cudaStreamQuery(stream));
}

TEST(Stream, CallsEnqueuedInSubmissionOrderBeforeTheTask) {
  OwnedStream stream;
  Gate gate;
  Diary enqueued;
  Diary executed;
  submit(stream, gate_task(gate));
  for (int entry = 0; entry < 10; ++entry) {
    submit(stream, make_task({.act = [&executed, entry] { executed.write(entry); },
                              .enqueued = [&enqueued, entry] { enqueued.write(entry); },
                              .budget = kInline}));
  }
  EXPECT_EQ(enqueued.entries(), counting(10));
  EXPECT_TRUE(executed.entries().empty());
  gate.open();
  stream.synchronize();
  EXPECT_EQ(executed.entries(), counting(10));
}

TEST(Stream, EnqueuedOrderIsExecutionOrderWithSeveralSubmitters) {
  OwnedStream stream;
  Diary enqueued;
  Diary executed;
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int count = 0; count < kEach; ++count) {
        const int entry = thread * kEach + count;
        submit(stream, make_task({.act = [&executed, entry] { executed.write(entry); },
                                  .enqueued = [&enqueued, entry] { enqueued.write(entry); },
                                  .budget = count % 2 == 0 ? std::chrono::nanoseconds{kInline}
                                                           : kNotInline}));
        if (count % 50 == 0) stream.synchronize();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stream.synchronize();
  EXPECT_EQ(executed.entries().size(), static_cast<std::size_t>(kThreads * kEach));
  EXPECT_EQ(enqueued.entries(), executed.entries());
}

TEST(Stream, DestroyCompletesPendingWork) {
  Gate gate;
  Gate done;
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cuda::cudaStreamCreate(&stream));
  submit(stream, gate_task(gate));
  submit(stream, make_task({.act = [&] { done.open(); }}));
  EXPECT_CUDA(cuda::cudaStreamDestroy(stream));
  EXPECT_FALSE(done.is_open());
  gate.open();
  EXPECT_TRUE(eventually([&] { return done.is_open(); }));
}

TEST(Stream, StaleHandleIsAnError) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cuda::cudaStreamCreate(&stream));
  ASSERT_CUDA(cuda::cudaStreamDestroy(stream));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaStreamDestroy(stream));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaStreamSynchronize(stream));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaStreamDestroy(nullptr));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaGetLastError());
  EXPECT_THROW(submit(stream, make_task({})), RuntimeError);
}

TEST(Stream, TellsWhatItWasCreatedWith) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cuda::cudaSetDevice(1));
  ASSERT_CUDA(cuda::cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -3));
  ASSERT_CUDA(cuda::cudaSetDevice(0));
  int priority = 0;
  unsigned flags = 0;
  int device = -1;
  unsigned long long id = 0;
  unsigned long long other_id = 0;
  EXPECT_CUDA(cuda::cudaStreamGetPriority(stream, &priority));
  EXPECT_CUDA(cuda::cudaStreamGetFlags(stream, &flags));
  EXPECT_CUDA(cuda::cudaStreamGetDevice(stream, &device));
  EXPECT_CUDA(cuda::cudaStreamGetId(stream, &id));
  EXPECT_CUDA(cuda::cudaStreamGetId(nullptr, &other_id));
  EXPECT_EQ(priority, -3);
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  EXPECT_EQ(device, 1);
  EXPECT_EQ(stream_device(stream), 1);
  EXPECT_NE(id, other_id);
  EXPECT_CUDA(cuda::cudaStreamDestroy(stream));
}

TEST(HostFunction, RunsInOrderOnAnotherThreadAndMayNotCallTheRuntime) {
  OwnedStream stream;
  struct Seen {
    Diary diary;
    cudaError_t answer = cudaSuccess;
  } seen;
  submit(stream, write_task(seen.diary, 0));
  EXPECT_CUDA(cuda::cudaLaunchHostFunc(
      stream,
      [](void* data) {
        auto& noted = *static_cast<Seen*>(data);
        noted.diary.write(1);
        noted.answer = cuda::cudaDeviceSynchronize();
      },
      &seen));
  EXPECT_CUDA(cuda::cudaStreamAddCallback(
      stream,
      [](cudaStream_t, cudaError_t status, void* data) {
        static_cast<Seen*>(data)->diary.write(status == cudaSuccess ? 2 : -1);
      },
      &seen, 0));
  stream.synchronize();
  EXPECT_EQ(seen.diary.entries(), counting(3));
  EXPECT_EQ(seen.answer, cudaErrorNotPermitted);
}

// ---- Default streams ----

TEST(DefaultStream, LegacyWaitsForBlockingStreamsAndTheyForIt) {
  OwnedStream first(cudaStreamDefault);
  OwnedStream second(cudaStreamDefault);
  Gate gate;
  Diary diary;
  submit(first, gate_task(gate));
  submit(first, write_task(diary, 0));
  submit(nullptr, write_task(diary, 1));
  submit(second, write_task(diary, 2));
  std::this_thread::sleep_for(std::chrono::milliseconds{5});
  EXPECT_TRUE(diary.entries().empty());
  gate.open();
  second.synchronize();
  EXPECT_EQ(diary.entries(), counting(3));
}

TEST(DefaultStream, NonBlockingStreamGoesItsOwnWay) {
  OwnedStream free(cudaStreamNonBlocking);
  OwnedStream bound(cudaStreamDefault);
  Gate gate;
  Diary diary;
  submit(cudaStreamLegacy, gate_task(gate));
  submit(free, write_task(diary, 0));
  free.synchronize();
  EXPECT_EQ(diary.entries(), counting(1));
  submit(bound, write_task(diary, 1));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaStreamQuery(bound));
  gate.open();
  bound.synchronize();
  EXPECT_EQ(diary.entries(), counting(2));
}

TEST(DefaultStream, SynchronizingLegacyWaitsForBlockingStreams) {
  OwnedStream bound(cudaStreamDefault);
  Gate gate;
  submit(bound, gate_task(gate));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaStreamQuery(nullptr));
  std::thread opener([&] { gate.open(); });
  EXPECT_CUDA(cuda::cudaStreamSynchronize(nullptr));
  EXPECT_CUDA(cuda::cudaStreamQuery(bound));
  opener.join();
}

TEST(DefaultStream, EachThreadHasItsOwn) {
  unsigned long long mine = 0;
  unsigned long long others = 0;
  EXPECT_CUDA(cuda::cudaStreamGetId(cudaStreamPerThread, &mine));
  std::thread([&] { EXPECT_CUDA(cuda::cudaStreamGetId(cudaStreamPerThread, &others)); }).join();
  EXPECT_NE(mine, others);
}

TEST(DefaultStream, IsOnePerDevice) {
  Gate gate;
  submit(nullptr, gate_task(gate));
  ASSERT_CUDA(cuda::cudaSetDevice(1));
  EXPECT_CUDA(cuda::cudaStreamQuery(nullptr));
  ASSERT_CUDA(cuda::cudaSetDevice(0));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaStreamQuery(nullptr));
  gate.open();
  EXPECT_CUDA(cuda::cudaDeviceSynchronize());
  EXPECT_CUDA(cuda::cudaStreamQuery(nullptr));
}

TEST(DefaultStream, HasAnExplicitHandleOnEachDevice) {
  const cudaStream_t second = explicit_stream(nullptr, 1);
  EXPECT_EQ(stream_device(second), 1);
  EXPECT_EQ(stream_device(nullptr), 0);
  EXPECT_EQ(explicit_stream(second, 0), second) << "it is an ordinary handle";
  Gate gate;
  submit(second, gate_task(gate));
  EXPECT_CUDA(cuda::cudaStreamQuery(nullptr));
  ASSERT_CUDA(cuda::cudaSetDevice(1));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaStreamQuery(nullptr));
  gate.open();
  EXPECT_CUDA(cuda::cudaStreamSynchronize(nullptr));
  ASSERT_CUDA(cuda::cudaSetDevice(0));
  EXPECT_NE(explicit_stream(cudaStreamPerThread, 0), explicit_stream(cudaStreamPerThread, 1));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaStreamDestroy(second));
}

// ---- Stress ----

TEST(StreamStress, ManyThreadsManyStreamsWithCrossWaits) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 150;
  std::vector<std::thread> threads;
  std::atomic<int> executed{0};
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      ASSERT_CUDA(cuda::cudaSetDevice(thread % 2));
      OwnedStream first(thread % 2 == 0 ? cudaStreamDefault : cudaStreamNonBlocking);
      OwnedStream second;
      OwnedEvent event(cudaEventDisableTiming);
      int value = 0;
      for (int round = 0; round < kRounds; ++round) {
        // `value` is touched by both streams in turn: a missing wait is a data race.
        submit(first, make_task({.act =
                                     [&] {
                                       value += 1;
                                       executed.fetch_add(1);
                                     },
                                 .budget = round % 2 == 0 ? std::chrono::nanoseconds{kInline}
                                                          : kNotInline}));
        EXPECT_CUDA(cuda::cudaEventRecord(event, first));
        EXPECT_CUDA(cuda::cudaStreamWaitEvent(second, event, 0));
        submit(second, make_task({.act = [&] { value *= 2; }, .budget = kInline}));
        EXPECT_CUDA(cuda::cudaEventRecord(event, second));
        EXPECT_CUDA(cuda::cudaStreamWaitEvent(first, event, 0));
        if (round % 16 == 15) {
          first.synchronize();
          value = 0;
        }
      }
      first.synchronize();
      second.synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(executed.load(), kThreads * kRounds);
}

TEST(StreamStress, CreateUseDestroy) {
  std::vector<std::thread> threads;
  std::atomic<int> executed{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 60; ++round) {
        OwnedStream stream(round % 2 == 0 ? cudaStreamDefault : cudaStreamNonBlocking);
        submit(stream, make_task({.act = [&] { executed.fetch_add(1); }}));
        submit(nullptr, make_task({.act = [&] { executed.fetch_add(1); }, .budget = kInline}));
        if (round % 3 == 0) stream.synchronize();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return executed.load() == 4 * 60 * 2; }));
}

TEST(StreamStress, SeveralWaitersOfOneStream) {
  OwnedStream stream;
  std::atomic<int> executed{0};
  for (int round = 0; round < 50; ++round) {
    for (int count = 0; count < 4; ++count)
      submit(stream, make_task({.act = [&] { executed.fetch_add(1); }}));
    std::vector<std::thread> waiters;
    for (int waiter = 0; waiter < 3; ++waiter) {
      waiters.emplace_back([&, round] {
        EXPECT_CUDA(cuda::cudaStreamSynchronize(stream));
        EXPECT_EQ(executed.load(), 4 * (round + 1));
      });
    }
    for (std::thread& waiter : waiters) waiter.join();
  }
}

}  // namespace
}  // namespace ripieno::hostrt
