// One-shot collectives of int32.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclInt32>();
}  // namespace ripieno::coll::gpu
