// Events: query, wait, order across streams and devices, time.
#include <gtest/gtest.h>

#include <thread>

#include "hostrt/support.h"

namespace ripieno::hostrt {
namespace {

TEST(Event, IsCompleteBeforeItsFirstRecord) {
  OwnedEvent event;
  OwnedStream stream;
  EXPECT_CUDA(cuda::cudaEventQuery(event));
  EXPECT_CUDA(cuda::cudaEventSynchronize(event));
  EXPECT_CUDA(cuda::cudaStreamWaitEvent(stream, event, 0));
  EXPECT_CUDA(cuda::cudaStreamQuery(stream));
}

class EventFlags : public testing::TestWithParam<unsigned> {};

TEST_P(EventFlags, FollowsTheStream) {
  OwnedEvent event(GetParam());
  OwnedStream stream;
  Gate gate;
  submit(stream, gate_task(gate));
  EXPECT_CUDA(cuda::cudaEventRecord(event, stream));
  Gate later;
  submit(stream, gate_task(later));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaEventQuery(event));
  gate.open();
  EXPECT_CUDA(cuda::cudaEventSynchronize(event));
  EXPECT_CUDA(cuda::cudaEventQuery(event));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaStreamQuery(stream));
  later.open();
  stream.synchronize();
}

TEST_P(EventFlags, OrdersStreamsOfTwoDevices) {
  OwnedStream first;
  ASSERT_CUDA(cuda::cudaSetDevice(1));
  OwnedStream second;
  ASSERT_CUDA(cuda::cudaSetDevice(0));
  OwnedEvent event(GetParam());
  Gate gate;
  Diary diary;
  submit(first, gate_task(gate));
  submit(first, write_task(diary, 1));
  EXPECT_CUDA(cuda::cudaEventRecord(event, first));
  EXPECT_CUDA(cuda::cudaStreamWaitEvent(second, event, 0));
  submit(second, write_task(diary, 2));
  gate.open();
  second.synchronize();
  EXPECT_EQ(diary.entries(), (std::vector<int>{1, 2}));
}

TEST_P(EventFlags, WaitMeansTheRecordAtTheTimeOfTheCall) {
  OwnedStream first;
  OwnedStream second;
  OwnedEvent event(GetParam());
  Gate gate;
  Gate later;
  submit(first, gate_task(gate));
  EXPECT_CUDA(cuda::cudaEventRecord(event, first));
  EXPECT_CUDA(cuda::cudaStreamWaitEvent(second, event, 0));
  submit(first, gate_task(later));
  EXPECT_CUDA(cuda::cudaEventRecord(event, first));
  gate.open();
  second.synchronize();
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaEventQuery(event));
  later.open();
  first.synchronize();
}

INSTANTIATE_TEST_SUITE_P(Flags, EventFlags,
                         testing::Values(cudaEventDefault, cudaEventDisableTiming,
                                         cudaEventDisableTiming | cudaEventInterprocess));

TEST(Event, OutlivesItsStreamAndItself) {
  Gate gate;
  OwnedStream waiting;
  Diary diary;
  {
    OwnedEvent event(cudaEventDisableTiming);
    OwnedStream stream;
    submit(stream, gate_task(gate));
    EXPECT_CUDA(cuda::cudaEventRecord(event, stream));
    EXPECT_CUDA(cuda::cudaStreamWaitEvent(waiting, event, 0));
    submit(waiting, write_task(diary, 1));
  }
  EXPECT_TRUE(diary.entries().empty());
  gate.open();
  waiting.synchronize();
  EXPECT_EQ(diary.entries().size(), 1U);
}

TEST(Event, MeasuresTime) {
  OwnedEvent start;
  OwnedEvent end;
  OwnedStream stream;
  float milliseconds = -1;
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_CUDA(cuda::cudaEventRecord(start, stream));
  submit(stream,
         make_task({.act = [] { std::this_thread::sleep_for(std::chrono::milliseconds{20}); }}));
  EXPECT_CUDA(cuda::cudaEventRecord(end, stream));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_CUDA(cuda::cudaEventSynchronize(end));
  EXPECT_CUDA(cuda::cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 20.0F);
  OwnedEvent timeless(cudaEventDisableTiming);
  EXPECT_CUDA(cuda::cudaEventRecord(timeless, stream));
  EXPECT_EQ(cudaErrorInvalidResourceHandle,
            cuda::cudaEventElapsedTime(&milliseconds, start, timeless));
}

TEST(Event, ChecksHandlesAndFlags) {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaEventCreateWithFlags(&event, 0x80));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  ASSERT_CUDA(cuda::cudaEventCreate(&event));
  ASSERT_CUDA(cuda::cudaEventDestroy(event));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaEventDestroy(event));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaEventRecord(event, nullptr));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaEventQuery(nullptr));
  OwnedEvent of_first_device;
  ASSERT_CUDA(cuda::cudaSetDevice(1));
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaEventRecord(of_first_device, nullptr));
  ASSERT_CUDA(cuda::cudaSetDevice(0));
}

TEST(Event, InLegacyStreamCoversBlockingStreams) {
  OwnedStream bound(cudaStreamDefault);
  OwnedEvent event(cudaEventDisableTiming);
  Gate gate;
  submit(bound, gate_task(gate));
  EXPECT_CUDA(cuda::cudaEventRecord(event, nullptr));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaEventQuery(event));
  gate.open();
  EXPECT_CUDA(cuda::cudaEventSynchronize(event));
  EXPECT_CUDA(cuda::cudaStreamQuery(bound));
}

TEST(Event, LongChainsOfWaitsDoNotExhaustTheStack) {
  // Two streams that wait for each other in turn ten thousand times; whoever waits for the end
  // follows the chain.
  OwnedStream first;
  OwnedStream second;
  OwnedEvent event(cudaEventDisableTiming);
  Gate gate;
  submit(first, gate_task(gate));
  for (int link = 0; link < 10'000; ++link) {
    EXPECT_CUDA(cuda::cudaEventRecord(event, link % 2 == 0 ? first : second));
    EXPECT_CUDA(cuda::cudaStreamWaitEvent(link % 2 == 0 ? second : first, event, 0));
    submit(link % 2 == 0 ? second : first, make_task({}));
  }
  gate.open();
  first.synchronize();
  second.synchronize();
}

}  // namespace
}  // namespace ripieno::hostrt
