// Reductions of uint64.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclUint64>();
}  // namespace ripieno::coll::gpu
