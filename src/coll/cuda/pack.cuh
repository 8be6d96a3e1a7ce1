// Elements that lie together in one access.
#pragma once

namespace ripieno::coll::gpu {

template <typename Raw, int kLanes>
struct alignas(sizeof(Raw) * kLanes) Pack {
  Raw lane[kLanes];
};

}  // namespace ripieno::coll::gpu
