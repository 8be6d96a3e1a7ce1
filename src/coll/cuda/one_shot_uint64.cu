// One-shot collectives of uint64.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclUint64>();
}  // namespace ripieno::coll::gpu
