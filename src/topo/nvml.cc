#include "topo/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/log.h"
#include "topo/read_system.h"

namespace ripieno::topo {
namespace {

// The part of the library's binary interface that is used here.
constexpr int kSuccess = 0;
constexpr unsigned kMostLinks = 36;
constexpr unsigned kFieldC2cCount = 170;
constexpr unsigned kFieldC2cBandwidth = 172;
constexpr int kRemoteGpu = 0;
constexpr int kRemoteSwitch = 2;
constexpr unsigned char kFabricCompleted = 3;

using Device = void*;

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int value_type, result;
  union {
    double real;
    unsigned small;
    unsigned long long large;
  } value;
};
struct FabricInfo {
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
};

struct Closer {
  void operator()(void* library) const { ::dlclose(library); }
};

class Nvml {
 public:
  Nvml() : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) return;
    load(init_, "nvmlInit_v2");
    load(shutdown_, "nvmlShutdown");
    load(count_, "nvmlDeviceGetCount_v2");
    load(handle_, "nvmlDeviceGetHandleByIndex_v2");
    load(pci_, "nvmlDeviceGetPciInfo_v3");
    load(capability_, "nvmlDeviceGetCudaComputeCapability");
    load(link_state_, "nvmlDeviceGetNvLinkState");
    load(link_remote_, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    load(link_remote_kind_, "nvmlDeviceGetNvLinkRemoteDeviceType");
    load(fields_, "nvmlDeviceGetFieldValues");
    load(fabric_, "nvmlDeviceGetGpuFabricInfo");
    ready_ = init_ != nullptr && shutdown_ != nullptr && count_ != nullptr && handle_ != nullptr &&
             pci_ != nullptr && init_() == kSuccess;
  }
  ~Nvml() {
    if (ready_) shutdown_();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::vector<NvmlGpu> gpus() const {
    std::vector<NvmlGpu> found;
    unsigned count = 0;
    if (!ready_ || count_(&count) != kSuccess) return found;
    for (unsigned index = 0; index < count; ++index) {
      Device device = nullptr;
      PciInfo pci{};
      if (handle_(index, &device) != kSuccess || pci_(device, &pci) != kSuccess) continue;
      NvmlGpu gpu{.bus_id = bus_id_of(pci)};
      int major = 0;
      int minor = 0;
      if (capability_ != nullptr && capability_(device, &major, &minor) == kSuccess) {
        gpu.compute_capability = 10 * major + minor;
      }
      read_links(device, gpu);
      read_c2c(device, gpu);
      read_fabric(device, gpu);
      found.push_back(std::move(gpu));
    }
    return found;
  }

 private:
  template <typename Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_.get(), name));
  }

  static std::string bus_id_of(const PciInfo& pci) {
    return canonical_bus_id(std::string_view(pci.bus_id, ::strnlen(pci.bus_id, sizeof pci.bus_id)));
  }

  void read_links(Device device, NvmlGpu& gpu) const {
    if (link_state_ == nullptr || link_remote_ == nullptr) return;
    for (unsigned link = 0; link < kMostLinks; ++link) {
      int active = 0;
      PciInfo remote{};
      if (link_state_(device, link, &active) != kSuccess || active == 0) continue;
      if (link_remote_(device, link, &remote) != kSuccess) continue;
      int kind = -1;
      if (link_remote_kind_ != nullptr) link_remote_kind_(device, link, &kind);
      NvmlLink end{.target = bus_id_of(remote),
                   .kind = kind == kRemoteGpu      ? "0x030200"
                           : kind == kRemoteSwitch ? "0x068000"
                                                   : "0x068001",
                   .count = 1};
      // Which of the switches it is does not matter, and virtual machines do not say.
      if (kind == kRemoteSwitch) end.target = "fffffff:ffff:ff";
      const auto same = std::find_if(gpu.links.begin(), gpu.links.end(), [&](const NvmlLink& at) {
        return at.target == end.target && at.kind == end.kind;
      });
      if (same != gpu.links.end()) {
        ++same->count;
      } else {
        gpu.links.push_back(std::move(end));
      }
    }
  }

  void read_c2c(Device device, NvmlGpu& gpu) const {
    if (fields_ == nullptr) return;
    FieldValue count{};
    count.field = kFieldC2cCount;
    if (fields_(device, 1, &count) != kSuccess || count.result != kSuccess) return;
    FieldValue bandwidth{};
    bandwidth.field = kFieldC2cBandwidth;
    if (fields_(device, 1, &bandwidth) != kSuccess || bandwidth.result != kSuccess) return;
    gpu.c2c_links = static_cast<int>(count.value.small);
    gpu.c2c_mbps = static_cast<int>(bandwidth.value.small);
  }

  void read_fabric(Device device, NvmlGpu& gpu) const {
    FabricInfo info{};
    if (fabric_ == nullptr || fabric_(device, &info) != kSuccess) return;
    if (info.state != kFabricCompleted || info.status != kSuccess) return;
    std::copy(std::begin(info.cluster), std::end(info.cluster), gpu.domain.begin());
    gpu.clique = static_cast<int>(info.clique);
  }

  std::unique_ptr<void, Closer> library_;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, Device*) = nullptr;
  int (*pci_)(Device, PciInfo*) = nullptr;
  int (*capability_)(Device, int*, int*) = nullptr;
  int (*link_state_)(Device, unsigned, int*) = nullptr;
  int (*link_remote_)(Device, unsigned, PciInfo*) = nullptr;
  int (*link_remote_kind_)(Device, unsigned, int*) = nullptr;
  int (*fields_)(Device, int, FieldValue*) = nullptr;
  int (*fabric_)(Device, FabricInfo*) = nullptr;
};

}  // namespace

std::vector<NvmlGpu> nvml_gpus() {
  const Nvml nvml;
  std::vector<NvmlGpu> gpus = nvml.gpus();
  log_info(log_subsystem::kGraph, "NVML shows {} GPUs", gpus.size());
  return gpus;
}

}  // namespace ripieno::topo
