// Devices and the streams that belong to them; see device.h.
#include "hostrt/device.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "hostrt/process.h"
#include "hostrt/runtime.h"

namespace ripieno::hostrt {
namespace {

constexpr int kDefaultDevices = 8;
constexpr int kMostDevices = 256;

int configured_devices() {
  const char* text = std::getenv("RIPIENO_HOST_DEVICES");
  if (text == nullptr || *text == '\0') return kDefaultDevices;
  char* end = nullptr;
  const long wanted = std::strtol(text, &end, 10);
  if (*end != '\0') return kDefaultDevices;
  return static_cast<int>(std::clamp<long>(wanted, 0, kMostDevices));
}

/// All devices. Never destroyed: workers may run until the process is gone.
std::vector<std::unique_ptr<VirtualDevice>>& devices() {
  static auto* const all = [] {
    auto* made = new std::vector<std::unique_ptr<VirtualDevice>>;
    for (int ordinal = 0; ordinal < device_count(); ++ordinal) {
      made->push_back(std::make_unique<VirtualDevice>(ordinal));
    }
    return made;
  }();
  return *all;
}

/// The default streams of one thread, by device.
struct ThreadStreams {
  std::vector<Stream*> by_device;
  ~ThreadStreams() {
    if (forked()) return;
    for (Stream* stream : by_device) {
      if (stream != nullptr) device(stream->device()).destroy_stream(*stream);
    }
  }
};

}  // namespace

ThreadState& thread_state() noexcept {
  __attribute__((tls_model("initial-exec"))) constinit static thread_local ThreadState state;
  return state;
}

VirtualDevice::VirtualDevice(int ordinal)
    : ordinal_(ordinal),
      legacy_(Stream::Pool::create(ordinal, StreamKind::kLegacy, 0)),
      streams_{legacy_},
      peers_(static_cast<std::size_t>(device_count()), false) {}

Stream& VirtualDevice::thread_stream() {
  thread_local ThreadStreams mine;
  mine.by_device.resize(static_cast<std::size_t>(device_count()), nullptr);
  Stream*& stream = mine.by_device[static_cast<std::size_t>(ordinal_)];
  if (stream == nullptr) stream = &create_stream(StreamKind::kBlocking, 0);
  return *stream;
}

Stream& VirtualDevice::create_stream(StreamKind kind, int priority) {
  Stream& stream = *Stream::Pool::create(ordinal_, kind, priority);
  const std::lock_guard guard(mutex_);
  streams_.push_back(&stream);
  if (kind == StreamKind::kBlocking) blocking_count_.fetch_add(1);
  return stream;
}

void VirtualDevice::destroy_stream(Stream& stream) {
  if (!Stream::Pool::retire(&stream)) return;
  {
    const std::lock_guard guard(mutex_);
    std::erase(streams_, &stream);
    if (stream.kind() == StreamKind::kBlocking) blocking_count_.fetch_sub(1);
  }
  stream.close();
}

std::vector<StreamRef> VirtualDevice::streams() const {
  const std::lock_guard guard(mutex_);
  std::vector<StreamRef> references;
  for (Stream* stream : streams_) references.emplace_back(*stream);
  return references;
}

std::vector<StreamRef> VirtualDevice::blocking_streams() const {
  std::vector<StreamRef> references;
  if (blocking_count_.load(std::memory_order_acquire) == 0) return references;
  const std::lock_guard guard(mutex_);
  for (Stream* stream : streams_) {
    if (stream->kind() == StreamKind::kBlocking) references.emplace_back(*stream);
  }
  return references;
}

void VirtualDevice::synchronize() {
  struct Pending {
    StreamRef stream;
    Position position;
  };
  std::vector<Pending> pending;
  for (StreamRef& stream : streams()) {
    if (const Position newest = stream->submitted(); !stream->reached(newest))
      pending.push_back({stream, newest});
  }
  for (const Pending& one : pending) one.stream->wait_for(one.position);
}

bool VirtualDevice::enable_peer(int peer) {
  const std::lock_guard guard(mutex_);
  auto enabled = peers_.at(static_cast<std::size_t>(peer));
  if (enabled) return false;
  enabled = true;
  return true;
}

bool VirtualDevice::disable_peer(int peer) {
  const std::lock_guard guard(mutex_);
  auto enabled = peers_.at(static_cast<std::size_t>(peer));
  if (!enabled) return false;
  enabled = false;
  return true;
}

void VirtualDevice::disable_all_peers() {
  const std::lock_guard guard(mutex_);
  peers_.assign(peers_.size(), false);
}

// ---- Look-up ----

VirtualDevice& device(int ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) {
    throw RuntimeError(device_count() == 0 ? cudaErrorNoDevice : cudaErrorInvalidDevice,
                       "device " + std::to_string(ordinal) + " does not exist; there are " +
                           std::to_string(device_count()) + " (RIPIENO_HOST_DEVICES)");
  }
  return *devices()[static_cast<std::size_t>(ordinal)];
}

VirtualDevice& current_virtual_device() {
  return device(thread_state().device);
}

Stream& resolve_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy)
    return current_virtual_device().legacy_stream();
  if (handle == cudaStreamPerThread) return current_virtual_device().thread_stream();
  Stream* stream = Stream::Pool::find(handle);
  if (stream == nullptr) {
    throw RuntimeError(cudaErrorInvalidResourceHandle,
                       "the stream does not exist (destroyed, or never created)");
  }
  return *stream;
}

// ---- The C++ face ----

int device_count() noexcept {
  static const int count = configured_devices();
  return count;
}

int current_device() noexcept {
  return thread_state().device;
}

void set_current_device(int ordinal) {
  device(ordinal);
  thread_state().device = ordinal;
}

cudaStream_t explicit_stream(cudaStream_t stream, int ordinal) {
  check_process();
  if (stream == nullptr || stream == cudaStreamLegacy) {
    return Stream::Pool::handle_of(&device(ordinal).legacy_stream());
  }
  if (stream == cudaStreamPerThread)
    return Stream::Pool::handle_of(&device(ordinal).thread_stream());
  return Stream::Pool::handle_of(&resolve_stream(stream));
}

int stream_device(cudaStream_t stream) {
  return resolve_stream(stream).device();
}

}  // namespace ripieno::hostrt
