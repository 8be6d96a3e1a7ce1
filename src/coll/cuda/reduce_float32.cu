// Reductions of float32.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclFloat32>();
}  // namespace ripieno::coll::gpu
