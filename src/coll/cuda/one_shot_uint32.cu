// One-shot collectives of uint32.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclUint32>();
}  // namespace ripieno::coll::gpu
