// Reductions of float8e4m3.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclFloat8e4m3>();
}  // namespace ripieno::coll::gpu
