// One-shot collectives of float8e4m3.
#include "coll/cuda/one_shot.cuh"

namespace ripieno::coll::gpu {
template const void* one_shot_function<ncclFloat8e4m3>();
}  // namespace ripieno::coll::gpu
