// One-shot collectives of float8e5m2.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclFloat8e5m2>();
}  // namespace ripieno::coll::gpu
