// Gives a rank what its operations run on, where that is not the host itself.
#pragma once

#include <chrono>

#include "bootstrap/bootstrap.h"
#include "connect/host_links.h"
#include "plan/sequencer.h"

namespace ripieno::connect {

/// Makes the rank's executor if the backend is one of GPUs; nothing otherwise. Collective over all
/// ranks of `gathering`. Throws Error.
void attach_executor(bootstrap::Gathering& gathering, const HostLinks& links,
                     plan::Sequencer& sequencer, int device, std::chrono::milliseconds timeout);

}  // namespace ripieno::connect
