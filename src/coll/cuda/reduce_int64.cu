// Reductions of int64.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclInt64>();
}  // namespace ripieno::coll::gpu
