// Reductions of uint8.
#include "coll/cuda/reduce.cuh"

namespace ripieno::coll::gpu {
template const void* reduce_function<ncclUint8>();
}  // namespace ripieno::coll::gpu
