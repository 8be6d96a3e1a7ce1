// Reductions of uint32.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclUint32>();
}  // namespace ripieno::coll::gpu
