// Graphs: launches repeat the captured work in order, branches run beside each other, launches of
// one graph do not overlap, resources live as long as they are needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "hostrt/support.h"

namespace ripieno::hostrt {
namespace {

/// A captured and instantiated graph.
class OwnedGraph {
 public:
  explicit OwnedGraph(cudaGraph_t graph) : graph_(graph) {
    EXPECT_CUDA(cuda::cudaGraphInstantiate(&exec_, graph_, 0));
  }
  OwnedGraph(cudaStream_t stream, const std::function<void()>& body) {
    EXPECT_CUDA(cuda::cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    body();
    EXPECT_CUDA(cuda::cudaStreamEndCapture(stream, &graph_));
    EXPECT_CUDA(cuda::cudaGraphInstantiate(&exec_, graph_, 0));
  }
  OwnedGraph(const OwnedGraph&) = delete;
  OwnedGraph& operator=(const OwnedGraph&) = delete;
  ~OwnedGraph() {
    EXPECT_CUDA(cuda::cudaGraphExecDestroy(exec_));
    EXPECT_CUDA(cuda::cudaGraphDestroy(graph_));
  }
  void launch(cudaStream_t stream) const { EXPECT_CUDA(cuda::cudaGraphLaunch(exec_, stream)); }
  [[nodiscard]] cudaGraph_t graph() const { return graph_; }
  [[nodiscard]] cudaGraphExec_t exec() const { return exec_; }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

void fork(cudaStream_t from, cudaStream_t to, cudaEvent_t event) {
  EXPECT_CUDA(cuda::cudaEventRecord(event, from));
  EXPECT_CUDA(cuda::cudaStreamWaitEvent(to, event, 0));
}

TEST(Graph, RepeatsWhatWasCaptured) {
  OwnedStream stream;
  Diary diary;
  Diary enqueued;
  OwnedGraph graph(stream, [&] {
    for (int entry = 0; entry < 3; ++entry) {
      submit(stream,
             make_task({.act = [&diary, entry] { diary.write(entry); },
                        .enqueued = [&enqueued, entry] { enqueued.write(entry); },
                        .budget = entry == 1 ? std::chrono::nanoseconds{kInline} : kNotInline}));
    }
  });
  EXPECT_TRUE(diary.entries().empty());
  graph.launch(stream);
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(diary.entries(), (std::vector<int>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(enqueued.entries(), (std::vector<int>{0, 1, 2, 0, 1, 2}));
}

TEST(Graph, LinearInlineLaunchRunsInTheCaller) {
  OwnedStream stream;
  std::vector<std::thread::id> where;
  OwnedGraph graph(stream, [&] {
    for (int count = 0; count < 4; ++count) {
      submit(stream, make_task({.act = [&] { where.push_back(std::this_thread::get_id()); },
                                .budget = kInline}));
    }
  });
  graph.launch(stream);
  EXPECT_CUDA(cuda::cudaStreamQuery(stream));
  ASSERT_EQ(where.size(), 4U);
  for (const auto& id : where) EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(Graph, LaunchIsOrderedInItsStream) {
  OwnedStream stream;
  Diary diary;
  Gate gate;
  OwnedGraph graph(stream, [&] { submit(stream, write_task(diary, 2, kInline)); });
  submit(stream, gate_task(gate));
  submit(stream, write_task(diary, 1));
  graph.launch(stream);
  submit(stream, write_task(diary, 3));
  gate.open();
  stream.synchronize();
  EXPECT_EQ(diary.entries(), (std::vector<int>{1, 2, 3}));
}

class Branches : public testing::TestWithParam<std::chrono::nanoseconds> {};

TEST_P(Branches, MayNeedEachOther) {
  // Each of the three branches finishes only once all have started, like ranks captured into one
  // graph.
  OwnedStream origin;
  std::vector<std::unique_ptr<OwnedStream>> sides;
  OwnedEvent event(cudaEventDisableTiming);
  std::atomic<int> launch{0};
  std::array<std::atomic<int>, 3> arrived{};
  Diary diary;
  const auto meet = [&](std::size_t branch) {
    return make_task({.ready =
                          [&, branch] {
                            arrived[branch].store(launch.load());
                            return std::all_of(
                                arrived.begin(), arrived.end(),
                                [&](const auto& one) { return one.load() >= launch.load(); });
                          },
                      .budget = GetParam()});
  };
  OwnedGraph graph(origin, [&] {
    submit(origin, write_task(diary, 0, GetParam()));
    for (std::size_t side = 0; side < 2; ++side) {
      sides.push_back(std::make_unique<OwnedStream>());
      fork(origin, *sides[side], event);
    }
    submit(origin, meet(0));
    for (std::size_t side = 0; side < 2; ++side) submit(*sides[side], meet(side + 1));
    for (std::size_t side = 0; side < 2; ++side) fork(*sides[side], origin, event);
    submit(origin, write_task(diary, 1, GetParam()));
  });
  for (int round = 1; round <= 20; ++round) {
    launch.store(round);
    graph.launch(origin);
    origin.synchronize();
    EXPECT_EQ(diary.entries().size(), static_cast<std::size_t>(2 * round));
    EXPECT_EQ(diary.entries().back(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Budgets, Branches,
                         testing::Values(kNotInline, std::chrono::nanoseconds{kInline},
                                         std::chrono::nanoseconds{std::chrono::seconds{2}}));

TEST(Graph, EdgesHoldInRandomGraphs) {
  // Nodes write their number; every edge must be respected, in each of several launches.
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::srand(seed);
    constexpr int kNodes = 40;
    cudaGraph_t graph = nullptr;
    ASSERT_CUDA(cuda::cudaGraphCreate(&graph, 0));
    struct Entry {
      Diary* diary;
      int number;
    };
    Diary diary;
    std::vector<Entry> entries(kNodes);
    std::vector<cudaGraphNode_t> nodes;
    std::vector<std::pair<int, int>> edges;
    for (int number = 0; number < kNodes; ++number) {
      std::vector<cudaGraphNode_t> dependencies;
      for (int before = std::max(0, number - 6); before < number; ++before) {
        if (std::rand() % 4 != 0) continue;
        dependencies.push_back(nodes[static_cast<std::size_t>(before)]);
        edges.emplace_back(before, number);
      }
      Entry& entry = entries[static_cast<std::size_t>(number)] = {&diary, number};
      const cudaHostNodeParams parameters{[](void* data) {
                                            auto& mine = *static_cast<Entry*>(data);
                                            mine.diary->write(mine.number);
                                          },
                                          &entry};
      cudaGraphNode_t node = nullptr;
      ASSERT_CUDA(cuda::cudaGraphAddHostNode(&node, graph, dependencies.data(), dependencies.size(),
                                             &parameters));
      nodes.push_back(node);
    }
    OwnedGraph owned(graph);
    OwnedStream stream;
    for (int launch = 0; launch < 3; ++launch) owned.launch(stream);
    stream.synchronize();
    const auto written = diary.entries();
    ASSERT_EQ(written.size(), static_cast<std::size_t>(3 * kNodes));
    for (int launch = 0; launch < 3; ++launch) {
      std::vector<int> place(kNodes, -1);
      for (int index = 0; index < kNodes; ++index) {
        place[static_cast<std::size_t>(
            written[static_cast<std::size_t>(launch * kNodes + index)])] = index;
      }
      EXPECT_EQ(std::count(place.begin(), place.end(), -1), 0)
          << "launches overlap, or a node ran twice";
      for (const auto& [from, to] : edges) {
        EXPECT_LT(place[static_cast<std::size_t>(from)], place[static_cast<std::size_t>(to)]);
      }
    }
  }
}

TEST(Graph, LaunchesOnTwoStreamsAreSerialised) {
  OwnedStream first;
  OwnedStream second;
  std::atomic<int> inside{0};
  std::atomic<bool> overlap{false};
  OwnedGraph graph(first, [&] {
    submit(first, make_task({.act = [&] {
             if (inside.fetch_add(1) != 0) overlap.store(true);
             std::this_thread::sleep_for(std::chrono::microseconds{200});
             inside.fetch_sub(1);
           }}));
  });
  std::vector<std::thread> threads;
  for (cudaStream_t stream :
       {static_cast<cudaStream_t>(first), static_cast<cudaStream_t>(second)}) {
    threads.emplace_back([&, stream] {
      for (int count = 0; count < 30; ++count) graph.launch(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  first.synchronize();
  second.synchronize();
  EXPECT_FALSE(overlap.load());
}

TEST(Graph, HoldsCopiesAndFills) {
  OwnedStream stream;
  void* memory = nullptr;
  ASSERT_CUDA(cuda::cudaMalloc(&memory, 4096));
  auto* bytes = static_cast<unsigned char*>(memory);
  OwnedGraph graph(stream, [&] {
    EXPECT_CUDA(cuda::cudaMemsetAsync(bytes, 7, 1000, stream));
    EXPECT_CUDA(cuda::cudaMemcpyAsync(bytes + 2000, bytes, 1000, cudaMemcpyDeviceToDevice, stream));
  });
  EXPECT_EQ(bytes[2999], 0);
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(bytes[2999], 7);
  std::size_t count = 2;
  std::array<cudaGraphNode_t, 2> nodes{};
  EXPECT_CUDA(cuda::cudaGraphGetNodes(graph.graph(), nodes.data(), &count));
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  EXPECT_CUDA(cuda::cudaGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, cudaGraphNodeTypeMemset);
  EXPECT_CUDA(cuda::cudaGraphNodeGetType(nodes[1], &type));
  EXPECT_EQ(type, cudaGraphNodeTypeMemcpy);
  EXPECT_CUDA(cuda::cudaFree(memory));
}

TEST(Graph, IsBuiltByHand) {
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cuda::cudaGraphCreate(&graph, 0));
  void* memory = nullptr;
  ASSERT_CUDA(cuda::cudaMalloc(&memory, 64));
  auto* numbers = static_cast<std::uint32_t*>(memory);
  cudaGraphNode_t copy = nullptr;
  cudaGraphNode_t fill = nullptr;
  cudaMemsetParams parameters{};
  parameters.dst = numbers;
  parameters.value = 0xdeadbeef;
  parameters.elementSize = 4;
  parameters.width = 8;
  parameters.height = 1;
  ASSERT_CUDA(cuda::cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, numbers + 8, numbers, 32,
                                             cudaMemcpyDefault));
  ASSERT_CUDA(cuda::cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &parameters));
  // The copy was added first but comes after the fill.
  ASSERT_CUDA(cuda::cudaGraphAddDependencies(graph, &fill, &copy, nullptr, 1));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaGraphAddDependencies(graph, &fill, &copy, nullptr, 1));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaGraphAddDependencies(graph, &fill, &fill, nullptr, 1));
  std::size_t roots = 0;
  EXPECT_CUDA(cuda::cudaGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT_EQ(roots, 1U);
  {
    OwnedStream stream;
    cudaGraph_t clone = nullptr;
    ASSERT_CUDA(cuda::cudaGraphClone(&clone, graph));
    OwnedGraph owned(clone);
    owned.launch(stream);
    stream.synchronize();
    EXPECT_EQ(numbers[15], 0xdeadbeefU);
  }
  ASSERT_CUDA(cuda::cudaGraphAddDependencies(graph, &copy, &fill, nullptr, 1));
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaGraphInstantiate(&exec, graph, 0)) << "a cycle";
  EXPECT_CUDA(cuda::cudaGraphRemoveDependencies(graph, &copy, &fill, nullptr, 1));
  EXPECT_CUDA(cuda::cudaGraphDestroyNode(copy));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaGraphDestroyNode(copy));
  std::size_t nodes = 0;
  EXPECT_CUDA(cuda::cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 1U);
  EXPECT_CUDA(cuda::cudaGraphDestroy(graph));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaGraphDestroy(graph));
  EXPECT_CUDA(cuda::cudaFree(memory));
}

TEST(Graph, OutlivesItsSource) {
  OwnedStream stream;
  Diary diary;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_CUDA(cuda::cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  submit(stream, write_task(diary, 1));
  ASSERT_CUDA(cuda::cudaStreamEndCapture(stream, &graph));
  ASSERT_CUDA(cuda::cudaGraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_CUDA(cuda::cudaGraphDestroy(graph));
  ASSERT_CUDA(cuda::cudaGraphUpload(exec, stream));
  ASSERT_CUDA(cuda::cudaGraphLaunch(exec, stream));
  ASSERT_CUDA(cuda::cudaGraphExecDestroy(exec));  // with a launch under way
  stream.synchronize();
  EXPECT_EQ(diary.entries().size(), 1U);
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaGraphLaunch(exec, stream));
}

TEST(Graph, LaunchedIntoACaptureBecomesAChild) {
  OwnedStream stream;
  Diary diary;
  OwnedGraph inner(stream, [&] {
    submit(stream, write_task(diary, 2));
    submit(stream, write_task(diary, 3));
  });
  OwnedGraph outer(stream, [&] {
    submit(stream, write_task(diary, 1));
    inner.launch(stream);
    submit(stream, write_task(diary, 4));
  });
  EXPECT_TRUE(diary.entries().empty());
  outer.launch(stream);
  stream.synchronize();
  EXPECT_EQ(diary.entries(), (std::vector<int>{1, 2, 3, 4}));
}

TEST(Graph, IsUpdatedToOneOfTheSameShape) {
  OwnedStream stream;
  Diary diary;
  const auto capture = [&](int first, int count) {
    cudaGraph_t graph = nullptr;
    EXPECT_CUDA(cuda::cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int entry = first; entry < first + count; ++entry)
      submit(stream, write_task(diary, entry));
    EXPECT_CUDA(cuda::cudaStreamEndCapture(stream, &graph));
    return graph;
  };
  OwnedGraph graph(capture(0, 2));
  cudaGraph_t same = capture(10, 2);
  cudaGraph_t longer = capture(20, 3);
  cudaGraphExecUpdateResultInfo info{};
  EXPECT_EQ(cudaErrorGraphExecUpdateFailure,
            cuda::cudaGraphExecUpdate(graph.exec(), longer, &info));
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  EXPECT_CUDA(cuda::cudaGraphExecUpdate(graph.exec(), same, &info));
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(diary.entries(), (std::vector<int>{10, 11}));
  EXPECT_CUDA(cuda::cudaGraphDestroy(same));
  EXPECT_CUDA(cuda::cudaGraphDestroy(longer));
}

TEST(Graph, ExternalEventsAreNodes) {
  OwnedStream stream;
  OwnedStream other;
  OwnedEvent start;
  OwnedEvent end;
  OwnedGraph graph(stream, [&] {
    EXPECT_CUDA(cuda::cudaEventRecordWithFlags(start, stream, cudaEventRecordExternal));
    submit(stream,
           make_task({.act = [] { std::this_thread::sleep_for(std::chrono::milliseconds{2}); }}));
    EXPECT_CUDA(cuda::cudaEventRecordWithFlags(end, stream, cudaEventRecordExternal));
  });
  graph.launch(stream);
  stream.synchronize();
  float milliseconds = 0;
  EXPECT_CUDA(cuda::cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 2.0F);

  Gate gate;
  Diary diary;
  OwnedEvent outside(cudaEventDisableTiming);
  OwnedGraph waiting(stream, [&] {
    EXPECT_CUDA(cuda::cudaStreamWaitEvent(stream, outside, cudaEventWaitExternal));
    submit(stream, write_task(diary, 1));
  });
  submit(other, gate_task(gate));
  EXPECT_CUDA(cuda::cudaEventRecord(outside, other));
  waiting.launch(stream);
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaStreamQuery(stream));
  gate.open();
  stream.synchronize();
  EXPECT_EQ(diary.entries().size(), 1U);
}

TEST(Graph, IsDrawn) {
  OwnedStream stream;
  OwnedGraph graph(stream, [&] {
    submit(stream, make_task({}));
    submit(stream, make_task({}));
  });
  const std::string path = testing::TempDir() + "hostrt_graph.dot";
  ASSERT_CUDA(cuda::cudaGraphDebugDotPrint(graph.graph(), path.c_str(), 0));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("n0 -> n1"), std::string::npos);
  std::remove(path.c_str());
}

// ---- User objects ----

class UserObjects : public testing::Test {
 protected:
  static void destroy(void* data) { static_cast<std::atomic<int>*>(data)->fetch_add(1); }
  cudaUserObject_t create(unsigned references) {
    cudaUserObject_t object = nullptr;
    EXPECT_CUDA(cuda::cudaUserObjectCreate(&object, &destroyed_, &destroy, references,
                                           cudaUserObjectNoDestructorSync));
    return object;
  }
  std::atomic<int> destroyed_{0};
};

TEST_F(UserObjects, AreDestroyedWithTheLastReference) {
  cudaUserObject_t object = create(2);
  EXPECT_CUDA(cuda::cudaUserObjectRetain(object, 1));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaUserObjectRelease(object, 4));
  EXPECT_CUDA(cuda::cudaUserObjectRelease(object, 2));
  EXPECT_EQ(destroyed_, 0);
  EXPECT_CUDA(cuda::cudaUserObjectRelease(object, 1));
  EXPECT_EQ(destroyed_, 1);
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaUserObjectRelease(object, 1));
}

TEST_F(UserObjects, LiveAsLongAsGraphsThatHoldThem) {
  OwnedStream stream;
  Gate gate;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_CUDA(cuda::cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  submit(stream, gate_task(gate));
  cudaUserObject_t object = create(1);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ASSERT_CUDA(
      cuda::cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr));
  ASSERT_CUDA(cuda::cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaGraphReleaseUserObject(graph, object, 2));
  ASSERT_CUDA(cuda::cudaStreamEndCapture(stream, &graph));
  ASSERT_CUDA(cuda::cudaGraphInstantiate(&exec, graph, 0));
  ASSERT_CUDA(cuda::cudaGraphDestroy(graph));
  EXPECT_EQ(destroyed_, 0);
  ASSERT_CUDA(cuda::cudaGraphLaunch(exec, stream));
  ASSERT_CUDA(cuda::cudaGraphExecDestroy(exec));
  EXPECT_EQ(destroyed_, 0) << "a launch is under way";
  gate.open();
  stream.synchronize();
  EXPECT_EQ(destroyed_, 1);
}

}  // namespace
}  // namespace ripieno::hostrt
