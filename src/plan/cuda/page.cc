// Creating, mapping, pinning and laying out the page.
#include "plan/cuda/page.h"

#include <cuda_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "device/cuda/errors.h"

namespace ripieno::plan::gpu {
namespace {

constexpr std::size_t kPageBytes = 4096;

struct Layout {
  explicit Layout(int ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    slots = 64;
    flags = slots + n * sizeof(coll::gpu::Slot);
    mail = flags + n * sizeof(RankFlags);
    requests = (mail + n * n * kMailDepth * sizeof(Mail) + 63) / 64 * 64;
    bytes = (requests + n * n * sizeof(MapRequest) + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  std::size_t slots;
  std::size_t flags;
  std::size_t mail;
  std::size_t requests;
  std::size_t bytes;
};
static_assert(sizeof(coll::gpu::Fault) <= 64);

UniqueFd create_file(std::size_t bytes) {
  UniqueFd fd(memfd_create("ripieno-gpu", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    throw Error::system("cannot create the page that GPUs meet in (memfd)", errno);
  }
  return fd;
}

}  // namespace

Page::Page(int ranks, UniqueFd fd)
    : ranks_(ranks), fd_(std::move(fd)), bytes_(Layout(ranks).bytes) {
  if (!fd_) fd_ = create_file(bytes_);
  void* const address = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (address == MAP_FAILED) {
    throw Error::system("cannot map the page that GPUs meet in", errno);
  }
  base_ = static_cast<std::byte*>(address);
  void* on_gpu = nullptr;
  cudaError_t code =
      cudaHostRegister(address, bytes_, cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (code == cudaSuccess) code = cudaHostGetDevicePointer(&on_gpu, address, 0);
  if (code != cudaSuccess) {
    munmap(address, bytes_);
    device::cuda::check(code, "pinning the page that GPUs meet in (cudaHostRegister)");
  }
  device_base_ = static_cast<std::byte*>(on_gpu);
  const Layout layout(ranks);
  fault_ = reinterpret_cast<coll::gpu::Fault*>(base_);
  slots_ = reinterpret_cast<coll::gpu::Slot*>(base_ + layout.slots);
  flags_ = reinterpret_cast<RankFlags*>(base_ + layout.flags);
  mail_ = reinterpret_cast<Mail*>(base_ + layout.mail);
  requests_ = reinterpret_cast<MapRequest*>(base_ + layout.requests);
}

Page::~Page() {
  cudaHostUnregister(base_);
  munmap(base_, bytes_);
}

}  // namespace ripieno::plan::gpu
