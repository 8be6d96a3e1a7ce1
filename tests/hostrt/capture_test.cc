// Stream capture: fork and join, what makes it invalid and with which code, capture modes.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "hostrt/support.h"

namespace ripieno::hostrt {
namespace {

class Captured : public testing::Test {
 protected:
  void begin(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    ASSERT_CUDA(cuda::cudaStreamBeginCapture(stream, mode));
  }
  /// Ends and throws the graph away.
  static cudaError_t end(cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    const cudaError_t code = cuda::cudaStreamEndCapture(stream, &graph);
    EXPECT_EQ(code == cudaSuccess, graph != nullptr);
    if (graph != nullptr) {
      EXPECT_CUDA(cuda::cudaGraphDestroy(graph));
    }
    return code;
  }
  static cudaStreamCaptureStatus status(cudaStream_t stream) {
    cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
    EXPECT_CUDA(cuda::cudaStreamIsCapturing(stream, &state));
    return state;
  }

  OwnedStream stream_;
  OwnedStream other_;
  OwnedEvent event_{cudaEventDisableTiming};
};

TEST_F(Captured, NothingRunsMeanwhile) {
  Diary diary;
  begin(stream_);
  EXPECT_TRUE(is_capturing(stream_));
  submit(stream_, make_task({.act = [&] { diary.write(1); },
                             .enqueued = [&] { diary.write(0); },
                             .budget = kInline}));
  EXPECT_TRUE(diary.entries().empty());
  EXPECT_CUDA(end(stream_));
  EXPECT_FALSE(is_capturing(stream_));
  EXPECT_TRUE(diary.entries().empty());
}

TEST_F(Captured, TellsItsState) {
  EXPECT_EQ(status(stream_), cudaStreamCaptureStatusNone);
  begin(stream_);
  submit(stream_, make_task({}));
  cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  std::size_t count = 0;
  EXPECT_CUDA(
      cuda::cudaStreamGetCaptureInfo(stream_, &state, &id, &graph, &dependencies, nullptr, &count));
  EXPECT_EQ(state, cudaStreamCaptureStatusActive);
  EXPECT_NE(id, 0U);
  ASSERT_EQ(count, 1U);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  EXPECT_CUDA(cuda::cudaGraphNodeGetType(dependencies[0], &type));
  EXPECT_EQ(type, cudaGraphNodeTypeKernel);
  cudaGraph_t captured = nullptr;
  EXPECT_CUDA(cuda::cudaStreamEndCapture(stream_, &captured));
  EXPECT_EQ(captured, graph);
  EXPECT_CUDA(cuda::cudaGraphDestroy(captured));
}

TEST_F(Captured, ForkAndJoin) {
  begin(stream_);
  submit(stream_, make_task({}));
  ASSERT_CUDA(cuda::cudaEventRecord(event_, stream_));
  ASSERT_CUDA(cuda::cudaStreamWaitEvent(other_, event_, 0));
  EXPECT_TRUE(is_capturing(other_));
  submit(other_, make_task({}));
  submit(stream_, make_task({}));
  ASSERT_CUDA(cuda::cudaEventRecord(event_, other_));
  ASSERT_CUDA(cuda::cudaStreamWaitEvent(stream_, event_, 0));
  submit(stream_, make_task({}));
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cuda::cudaStreamEndCapture(stream_, &graph));
  EXPECT_FALSE(is_capturing(other_));
  std::size_t nodes = 0;
  std::size_t edges = 0;
  EXPECT_CUDA(cuda::cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_CUDA(cuda::cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(nodes, 4U);
  EXPECT_EQ(edges, 4U);
  EXPECT_CUDA(cuda::cudaGraphDestroy(graph));
}

TEST_F(Captured, UnjoinedStreamIsAnError) {
  begin(stream_);
  ASSERT_CUDA(cuda::cudaEventRecord(event_, stream_));
  ASSERT_CUDA(cuda::cudaStreamWaitEvent(other_, event_, 0));
  submit(other_, make_task({}));
  EXPECT_EQ(cudaErrorStreamCaptureUnjoined, end(stream_));
  EXPECT_FALSE(is_capturing(other_));
}

TEST_F(Captured, EndsWhereItBegan) {
  begin(stream_);
  ASSERT_CUDA(cuda::cudaEventRecord(event_, stream_));
  ASSERT_CUDA(cuda::cudaStreamWaitEvent(other_, event_, 0));
  EXPECT_EQ(cudaErrorStreamCaptureUnmatched, end(other_));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));
  EXPECT_EQ(cudaErrorIllegalState, end(stream_));
}

TEST_F(Captured, EndsInTheThreadThatBeganIt) {
  begin(stream_);
  std::thread([&] { EXPECT_EQ(cudaErrorStreamCaptureWrongThread, end(stream_)); }).join();
  EXPECT_CUDA(end(stream_));
  begin(stream_, cudaStreamCaptureModeRelaxed);
  std::thread([&] { EXPECT_CUDA(end(stream_)); }).join();
}

TEST_F(Captured, IsNotBegunTwiceNorOnTheLegacyStream) {
  begin(stream_);
  EXPECT_EQ(cudaErrorIllegalState,
            cuda::cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  EXPECT_CUDA(end(stream_));
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported,
            cuda::cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
}

TEST_F(Captured, WaitingForTheStreamMakesItInvalid) {
  begin(stream_);
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported, cuda::cudaStreamSynchronize(stream_));
  EXPECT_EQ(status(stream_), cudaStreamCaptureStatusInvalidated);
  EXPECT_THROW(submit(stream_, make_task({})), RuntimeError);
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, cuda::cudaStreamQuery(stream_));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));
  EXPECT_CUDA(cuda::cudaStreamSynchronize(stream_));
}

TEST_F(Captured, WaitingForTheDeviceMakesItInvalid) {
  begin(stream_, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported, cuda::cudaDeviceSynchronize());
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));
}

TEST_F(Captured, EventsFromOutsideAndInsideDoNotMix) {
  ASSERT_CUDA(cuda::cudaEventRecord(event_, other_));
  begin(stream_);
  EXPECT_EQ(cudaErrorStreamCaptureIsolation, cuda::cudaStreamWaitEvent(stream_, event_, 0));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));

  begin(stream_, cudaStreamCaptureModeRelaxed);
  ASSERT_CUDA(cuda::cudaEventRecord(event_, stream_));
  EXPECT_EQ(cudaErrorCapturedEvent, cuda::cudaEventQuery(event_));
  EXPECT_EQ(cudaErrorCapturedEvent, cuda::cudaEventSynchronize(event_));
  EXPECT_CUDA(end(stream_));
  EXPECT_EQ(cudaErrorCapturedEvent, cuda::cudaStreamWaitEvent(other_, event_, 0));
}

TEST_F(Captured, TwoCapturesDoNotMerge) {
  begin(stream_);
  begin(other_);
  ASSERT_CUDA(cuda::cudaEventRecord(event_, stream_));
  EXPECT_EQ(cudaErrorStreamCaptureMerge, cuda::cudaStreamWaitEvent(other_, event_, 0));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(other_));
}

TEST_F(Captured, LegacyStreamWouldDependOnIt) {
  OwnedStream bound(cudaStreamDefault);
  begin(bound, cudaStreamCaptureModeRelaxed);
  EXPECT_THROW(submit(nullptr, make_task({})), RuntimeError);
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(bound));
  // A non-blocking stream has no such tie.
  begin(stream_, cudaStreamCaptureModeRelaxed);
  EXPECT_NO_THROW(submit(nullptr, make_task({})));
  EXPECT_CUDA(end(stream_));
  EXPECT_CUDA(cuda::cudaStreamSynchronize(nullptr));
}

TEST_F(Captured, ModesSayWhoMayAllocate) {
  void* pointer = nullptr;
  const auto allocate_elsewhere = [&] {
    cudaError_t code = cudaSuccess;
    std::thread([&] {
      code = cuda::cudaMalloc(&pointer, 100);
      if (code == cudaSuccess) {
        EXPECT_CUDA(cuda::cudaFree(pointer));
      }
    }).join();
    return code;
  };
  begin(stream_, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported, allocate_elsewhere());
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));

  begin(stream_, cudaStreamCaptureModeThreadLocal);
  EXPECT_CUDA(allocate_elsewhere());
  EXPECT_CUDA(end(stream_));

  begin(stream_, cudaStreamCaptureModeThreadLocal);
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported, cuda::cudaMalloc(&pointer, 100));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));

  begin(stream_, cudaStreamCaptureModeGlobal);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_CUDA(cuda::cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  EXPECT_CUDA(cuda::cudaMalloc(&pointer, 100));
  EXPECT_CUDA(cuda::cudaFree(pointer));
  EXPECT_CUDA(cuda::cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  EXPECT_CUDA(end(stream_));
  // The C++ face is for libraries that know what they do.
  begin(stream_, cudaStreamCaptureModeGlobal);
  release(allocate(0, 100));
  EXPECT_CUDA(end(stream_));
}

TEST_F(Captured, AllocationsAndCallbacksAreNotCaptured) {
  void* pointer = nullptr;
  begin(stream_, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported, cuda::cudaMallocAsync(&pointer, 100, stream_));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));
  begin(stream_);
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported,
            cuda::cudaStreamAddCallback(
                stream_, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));
}

TEST_F(Captured, DestroyingAStreamMakesItInvalid) {
  cudaStream_t doomed = nullptr;
  ASSERT_CUDA(cuda::cudaStreamCreateWithFlags(&doomed, cudaStreamNonBlocking));
  begin(stream_);
  ASSERT_CUDA(cuda::cudaEventRecord(event_, stream_));
  ASSERT_CUDA(cuda::cudaStreamWaitEvent(doomed, event_, 0));
  submit(doomed, make_task({}));
  EXPECT_CUDA(cuda::cudaStreamDestroy(doomed));
  EXPECT_EQ(cudaErrorStreamCaptureInvalidated, end(stream_));

  ASSERT_CUDA(cuda::cudaStreamCreateWithFlags(&doomed, cudaStreamNonBlocking));
  begin(doomed);
  submit(doomed, make_task({}));
  ASSERT_CUDA(cuda::cudaEventRecord(event_, doomed));
  ASSERT_CUDA(cuda::cudaStreamWaitEvent(other_, event_, 0));
  EXPECT_CUDA(cuda::cudaStreamDestroy(doomed));
  EXPECT_FALSE(is_capturing(other_));
}

TEST_F(Captured, IntoAGraphThatExists) {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t first = nullptr;
  ASSERT_CUDA(cuda::cudaGraphCreate(&graph, 0));
  ASSERT_CUDA(cuda::cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
  ASSERT_CUDA(cuda::cudaStreamBeginCaptureToGraph(stream_, graph, &first, nullptr, 1,
                                                  cudaStreamCaptureModeGlobal));
  submit(stream_, make_task({}));
  cudaGraph_t ended = nullptr;
  EXPECT_CUDA(cuda::cudaStreamEndCapture(stream_, &ended));
  EXPECT_EQ(ended, graph);
  std::size_t edges = 0;
  EXPECT_CUDA(cuda::cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 1U);
  EXPECT_CUDA(cuda::cudaGraphDestroy(graph));
}

TEST_F(Captured, DependenciesCanBeReplaced) {
  begin(stream_);
  submit(stream_, make_task({}));
  submit(stream_, make_task({}));
  EXPECT_CUDA(cuda::cudaStreamUpdateCaptureDependencies(stream_, nullptr, nullptr, 0,
                                                        cudaStreamSetCaptureDependencies));
  submit(stream_, make_task({}));
  // The first two are joined by nobody now.
  EXPECT_EQ(cudaErrorStreamCaptureUnjoined, end(stream_));
}

TEST_F(Captured, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] {
      for (int round = 0; round < 40; ++round) {
        OwnedStream mine;
        ASSERT_CUDA(cuda::cudaStreamBeginCapture(mine, cudaStreamCaptureModeThreadLocal));
        for (int node = 0; node < 5; ++node) submit(mine, make_task({}));
        EXPECT_CUDA(end(mine));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ripieno::hostrt
