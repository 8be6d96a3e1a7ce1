// Reductions of bfloat16.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclBfloat16>();
}  // namespace ripieno::coll::gpu
