// One-shot collectives of float32.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclFloat32>();
}  // namespace ripieno::coll::gpu
