// Reductions of float64.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclFloat64>();
}  // namespace ripieno::coll::gpu
