// Handles that can be told from stale ones: objects live in slots that are reused for objects of
// the same type but never given back to the system, so looking at the slot of a destroyed handle is
// always safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "hostrt/spin_lock.h"

namespace ripieno::hostrt {

/// Slots for objects of type T behind the opaque pointer type Handle. T says `static constexpr
/// std::uint64_t kHandleMark`, a number of its own.
template <class T, class Handle>
class HandlePool {
 public:
  template <class... Args>
  static T* create(Args&&... args) {
    Slot* slot = take();
    T* object;
    try {
      object = new (slot->storage) T(std::forward<Args>(args)...);
    } catch (...) {
      give_back(slot);
      throw;
    }
    slot->mark.store(T::kHandleMark, std::memory_order_release);
    return object;
  }

  /// From here on find() does not know the object any more; it lives on until destroy(). False if
  /// that had happened.
  static bool retire(T* object) noexcept {
    std::uint64_t live = T::kHandleMark;
    return slot_of(object)->mark.compare_exchange_strong(live, 0);
  }

  static void destroy(T* object) noexcept {
    retire(object);
    object->~T();
    give_back(slot_of(object));
  }

  /// The object behind a handle, null if there is none (any more).
  static T* find(Handle handle) noexcept {
    auto* slot = reinterpret_cast<Slot*>(handle);
    if (slot == nullptr || reinterpret_cast<std::uintptr_t>(slot) % alignof(Slot) != 0)
      return nullptr;
    if (slot->mark.load(std::memory_order_acquire) != T::kHandleMark) return nullptr;
    return std::launder(reinterpret_cast<T*>(slot->storage));
  }

  static Handle handle_of(const T* object) noexcept {
    return reinterpret_cast<Handle>(slot_of(object));
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> mark{0};
    Slot* next = nullptr;
    alignas(T) std::byte storage[sizeof(T)];
  };

  static Slot* slot_of(const T* object) noexcept {
    auto* bytes = reinterpret_cast<std::byte*>(const_cast<T*>(object));
    return reinterpret_cast<Slot*>(bytes - offsetof(Slot, storage));
  }

  static Slot* take() {
    lock_.lock();
    Slot* slot = free_;
    if (slot != nullptr) free_ = slot->next;
    lock_.unlock();
    return slot != nullptr ? slot : new Slot;
  }

  static void give_back(Slot* slot) noexcept {
    lock_.lock();
    slot->next = free_;
    free_ = slot;
    lock_.unlock();
  }

  static inline SpinLock lock_;
  static inline Slot* free_ = nullptr;
};

}  // namespace ripieno::hostrt
