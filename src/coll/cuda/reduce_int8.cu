// Reductions of int8.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclInt8>();
}  // namespace ripieno::coll::gpu
