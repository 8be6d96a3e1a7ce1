// Reductions of float8e5m2.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclFloat8e5m2>();
}  // namespace ripieno::coll::gpu
