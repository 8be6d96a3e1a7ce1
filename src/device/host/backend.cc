// The host backend: a list of virtual devices, and the arena they share.
#include "device/host/backend.h"

#include <deque>

#include "device/host/device.h"
#include "device/host/errors.h"
#include "device/host/peer_memory.h"

namespace ripieno::device::host {
namespace {

class HostBackend final : public Backend {
 public:
  HostBackend() {
    for (int ordinal = 0; ordinal < hostrt::device_count(); ++ordinal)
      devices_.emplace_back(ordinal);
  }

  [[nodiscard]] std::string name() const override { return "host"; }
  [[nodiscard]] int device_count() const override { return static_cast<int>(devices_.size()); }
  [[nodiscard]] int current_device() const override { return hostrt::current_device(); }

  void set_current_device(int ordinal) override {
    guarded("selecting a device", [&] { hostrt::set_current_device(ordinal); });
  }

  [[nodiscard]] Device& device(int ordinal) override {
    if (ordinal < 0 || ordinal >= device_count()) {
      throw Error(
          ncclUnhandledCudaError,
          "device {} does not exist: this process has devices 0 to {} (RIPIENO_HOST_DEVICES)",
          ordinal, device_count() - 1);
    }
    return devices_[static_cast<std::size_t>(ordinal)];
  }

  [[nodiscard]] std::optional<std::uint64_t> share_offset(
      const void* pointer) const noexcept override {
    return hostrt::arena_offset(pointer);
  }

  [[nodiscard]] MemoryTicket memory_ticket() override {
    return guarded("sharing device memory", [] { return MemoryTicket{hostrt::arena_ticket()}; });
  }

  [[nodiscard]] std::shared_ptr<PeerMemory> import_memory(
      const MemoryTicket& ticket, std::chrono::milliseconds timeout) override {
    return import_arena(ticket, timeout);
  }

  void submit(std::span<Submission> submissions) override {
    guarded("submitting work to a stream", [&] { hostrt::submit(submissions); });
  }

  [[nodiscard]] bool is_capturing(cudaStream_t stream) override {
    return guarded("asking a stream whether it is captured",
                   [&] { return hostrt::is_capturing(stream); });
  }

 private:
  std::deque<HostDevice> devices_;
};

}  // namespace

std::unique_ptr<Backend> make_backend() {
  return std::make_unique<HostBackend>();
}

}  // namespace ripieno::device::host
