// One-shot collectives of bfloat16.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclBfloat16>();
}  // namespace ripieno::coll::gpu
