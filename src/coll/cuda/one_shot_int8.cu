// One-shot collectives of int8.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclInt8>();
}  // namespace ripieno::coll::gpu
