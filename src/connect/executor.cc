// The host needs no executor; GPUs have one where they are built in.
#include "connect/executor.h"

#include "connect/cuda/gpu_team.h"
#include "device/device.h"
#include "plan/executor.h"

namespace ripieno::connect {

void attach_executor([[maybe_unused]] bootstrap::Gathering& gathering,
                     [[maybe_unused]] const HostLinks& links,
                     [[maybe_unused]] plan::Sequencer& sequencer, [[maybe_unused]] int device,
                     [[maybe_unused]] std::chrono::milliseconds timeout) {
  if (device::backend().name() != "cuda") {
    return;
  }
#ifdef RIPIENO_HAS_CUDA
  sequencer.set_executor(make_gpu_executor(gathering, links, sequencer, device, timeout));
#endif
}

}  // namespace ripieno::connect
