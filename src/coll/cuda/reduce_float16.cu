// Reductions of float16.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclFloat16>();
}  // namespace ripieno::coll::gpu
