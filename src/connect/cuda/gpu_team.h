// Ranks on GPUs, connected.
#pragma once

#include <chrono>
#include <memory>

#include "bootstrap/bootstrap.h"
#include "connect/host_links.h"
#include "plan/executor.h"
#include "plan/sequencer.h"

namespace ripieno::connect {

/// Collective over all ranks of `gathering`. Throws Error.
[[nodiscard]] std::unique_ptr<plan::Executor> make_gpu_executor(bootstrap::Gathering& gathering,
                                                                const HostLinks& links,
                                                                plan::Sequencer& sequencer,
                                                                int device,
                                                                std::chrono::milliseconds timeout);

}  // namespace ripieno::connect
