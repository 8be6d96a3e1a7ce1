// One-shot collectives of int64.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclInt64>();
}  // namespace ripieno::coll::gpu
