// Memory that a rank has told its communicator of: buffers, which are a hint, and windows, which
// all ranks register together. Each is counted: the same memory may be registered many times.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

/// What stands behind an ncclWindow_t: the name is the interface's.
struct ncclWindow_vidmem {
  /// A rank's part of the window, in its shareable memory.
  struct Part {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  void* user_pointer;
  int flags;
  std::vector<Part> parts;  ///< Of all ranks.
};

namespace ripieno::comm {

class Communicator;
class Derivation;

/// Thread-safe.
class Registrations {
 public:
  /// The handle of a buffer: the same for the same memory.
  [[nodiscard]] void* add_buffer(void* address, std::size_t bytes);
  /// Throws Error (ncclInvalidUsage) where `handle` is none of this communicator.
  void remove_buffer(void* handle);

  /// Adds a window, or counts the one that this memory has.
  [[nodiscard]] ncclWindow_t add_window(void* address, std::size_t bytes, int flags,
                                        std::vector<ncclWindow_vidmem::Part> parts);
  void remove_window(ncclWindow_t window);
  [[nodiscard]] void* user_pointer(ncclWindow_t window) const;

 private:
  using Key = std::tuple<void*, std::size_t, int>;
  template <typename Thing>
  struct Counted {
    std::unique_ptr<Thing> thing;
    Key key;
    std::size_t references = 0;
  };
  struct Buffer {};
  /// By memory, and by handle.
  template <typename Thing>
  struct Table {
    std::map<Key, Thing*> by_key;
    std::unordered_map<const void*, Counted<Thing>> by_handle;

    Thing& add(const Key& key);
    void remove(const void* handle, const char* what);
  };

  mutable std::mutex mutex_;
  Table<Buffer> buffers_;
  Table<ncclWindow_vidmem> windows_;
};

/// This rank's part in a collective registration, begun with `derivation`. nullptr: some rank's
/// memory cannot be reached by the others.
[[nodiscard]] ncclWindow_t register_window(Derivation& derivation, void* address, std::size_t bytes,
                                           int flags);

}  // namespace ripieno::comm
