// One-shot collectives of uint8.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclUint8>();
}  // namespace ripieno::coll::gpu
