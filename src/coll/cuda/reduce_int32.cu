// Reductions of int32.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclInt32>();
}  // namespace ripieno::coll::gpu
