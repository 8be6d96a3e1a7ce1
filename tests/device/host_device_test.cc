// The device seam over the host runtime: memory, streams, events, graphs, and the library's own
// tasks.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/device.h"

namespace ripieno::device {
namespace {

/// A stream and what it needs to be destroyed.
class Stream {
 public:
  explicit Stream(Device& device) : device_(device), handle_(device.create_stream()) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { device_.destroy_stream(handle_); }
  operator cudaStream_t() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  Device& device_;
  cudaStream_t handle_;
};

/// Device memory that is released with the object.
class Memory {
 public:
  Memory(Device& device, std::size_t bytes) : device_(device), data_(device.allocate(bytes)) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { device_.release(data_); }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  Device& device_;
  void* data_;
};

/// Adds one to a counter.
class CountingTask final : public Task {
 public:
  explicit CountingTask(std::atomic<int>& counter) : counter_(counter) {}
  bool poll() noexcept override {
    run();
    return true;
  }
  void run() noexcept override { counter_.fetch_add(1); }
  [[nodiscard]] std::unique_ptr<Task> clone() const override {
    return std::make_unique<CountingTask>(counter_);
  }

 private:
  std::atomic<int>& counter_;
};

void submit_one(cudaStream_t stream, std::atomic<int>& counter) {
  std::vector<Submission> submissions;
  submissions.push_back({stream, std::make_unique<CountingTask>(counter)});
  backend().submit(submissions);
}

TEST(HostBackend, IsTheOneOfThisBuild) {
  EXPECT_EQ(backend().name(), "host");
  EXPECT_EQ(backend().device_count(), 8);
  EXPECT_EQ(&backend(), &backend());
}

TEST(HostBackend, RefusesDevicesThatDoNotExist) {
  for (const int ordinal : {-1, 8}) {
    try {
      static_cast<void>(backend().device(ordinal));
      FAIL() << ordinal;
    } catch (const Error& error) {
      EXPECT_EQ(error.result(), ncclUnhandledCudaError);
      EXPECT_NE(std::string(error.what()).find("does not exist"), std::string::npos)
          << error.what();
    }
    EXPECT_THROW(backend().set_current_device(ordinal), Error);
  }
}

TEST(HostBackend, TheCurrentDeviceBelongsToTheThread) {
  backend().set_current_device(3);
  int seen = -1;
  std::thread([&] { seen = backend().current_device(); }).join();
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(backend().current_device(), 3);
  backend().set_current_device(0);
}

TEST(HostDevice, HasANameAndABusIdOfItsOwn) {
  EXPECT_FALSE(backend().device(0).name().empty());
  EXPECT_NE(backend().device(0).bus_id(), backend().device(1).bus_id());
  EXPECT_EQ(backend().device(5).ordinal(), 5);
}

TEST(HostDevice, OnlyDeviceMemoryHasAShareOffset) {
  Device& device = backend().device(1);
  const Memory memory(device, 1000);
  const auto offset = backend().share_offset(memory.data());
  ASSERT_TRUE(offset.has_value());
  EXPECT_EQ(backend().share_offset(memory.data() + 10), *offset + 10);
  const std::vector<int> plain(10);
  EXPECT_FALSE(backend().share_offset(plain.data()).has_value());
}

TEST(HostDevice, TellsThatMemoryIsExhausted) {
  try {
    static_cast<void>(backend().device(0).allocate(std::size_t{1} << 62));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.result(), ncclUnhandledCudaError);
    EXPECT_TRUE(std::string(error.what()).starts_with("allocating device memory: "))
        << error.what();
  }
}

TEST(HostDevice, CopiesAndFillsInStreamOrder) {
  Device& device = backend().device(2);
  const Stream stream(device);
  const Memory memory(device, 4096);
  std::vector<std::byte> result(4096);
  device.fill(memory.data(), std::byte{7}, 4096, stream);
  device.fill(memory.data() + 1, std::byte{9}, 2, stream);
  device.copy(result.data(), memory.data(), 4096, stream);
  device.synchronize(stream);
  EXPECT_EQ(result[0], std::byte{7});
  EXPECT_EQ(result[2], std::byte{9});
  EXPECT_EQ(result[3], std::byte{7});
  EXPECT_EQ(backend().current_device(), 0);
}

TEST(HostDevice, EventsMeasureTime) {
  Device& device = backend().device(0);
  const Stream stream(device);
  cudaEvent_t before = device.create_event();
  cudaEvent_t after = device.create_event();
  device.record(before, stream);
  device.record(after, stream);
  device.synchronize(stream);
  EXPECT_GE(device.elapsed(before, after).count(), 0);
  device.destroy_event(before);
  device.destroy_event(after);
}

TEST(HostDevice, RunsTasksInOrderWithItsOwnOperations) {
  Device& device = backend().device(0);
  const Stream stream(device);
  std::atomic<int> counter = 0;
  submit_one(stream, counter);
  submit_one(stream, counter);
  device.synchronize(stream);
  EXPECT_EQ(counter, 2);
}

TEST(HostDevice, AGraphRepeatsWhatWasCaptured) {
  Device& device = backend().device(0);
  const Stream stream(device);
  std::atomic<int> counter = 0;
  EXPECT_FALSE(backend().is_capturing(stream));
  device.begin_capture(stream);
  EXPECT_TRUE(backend().is_capturing(stream));
  submit_one(stream, counter);
  cudaGraphExec_t graph = device.end_capture(stream);
  EXPECT_FALSE(backend().is_capturing(stream));
  EXPECT_EQ(counter, 0);
  device.launch_graph(graph, stream);
  device.launch_graph(graph, stream);
  device.synchronize(stream);
  EXPECT_EQ(counter, 2);
  device.destroy_graph(graph);
}

TEST(HostDevice, MisuseOfTheRuntimeIsNamed) {
  Device& device = backend().device(0);
  const Stream stream(device);
  try {
    static_cast<void>(device.end_capture(stream));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.result(), ncclUnhandledCudaError);
    EXPECT_TRUE(std::string(error.what()).starts_with("ending the capture of a stream failed: "))
        << error.what();
  }
}

}  // namespace
}  // namespace ripieno::device
