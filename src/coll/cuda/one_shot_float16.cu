// One-shot collectives of float16.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclFloat16>();
}  // namespace ripieno::coll::gpu
