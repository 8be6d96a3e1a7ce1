// One-shot collectives of float64.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclFloat64>();
}  // namespace ripieno::coll::gpu
