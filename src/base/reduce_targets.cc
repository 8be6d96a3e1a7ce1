// Chooses the kernels for the processor at hand, once, at the first reduction. Every target's table
// starts as the portable one and has the kernels replaced that its vectors do better.
#include "base/reduce_targets.h"

#include <algorithm>
#include <atomic>

#include "base/reduce_kernel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ripieno::reduction {
namespace {

struct Tables {
  std::array<Target, 3> targets{Target::kPortable};
  std::array<KernelTable, 3> kernels{portable_kernels()};
  std::size_t count = 1;

  Tables() noexcept;
  void add(Target target, void (*fill_floats)(KernelTable&) noexcept,
           void (*fill_integers)(KernelTable&) noexcept) noexcept {
    targets[count] = target;
    kernels[count] = portable_kernels();
    fill_floats(kernels[count]);
    fill_integers(kernels[count]);
    ++count;
  }
};

#if defined(__x86_64__)
/// Asked of the processor itself: __builtin_cpu_supports has no name for it before clang 19.
bool converts_halves() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

Tables::Tables() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && converts_halves()) {
    add(Target::kAvx2, N_AVX2::fill_float_kernels, N_AVX2::fill_integer_kernels);
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0) {
      add(Target::kAvx512, N_AVX3::fill_float_kernels, N_AVX3::fill_integer_kernels);
    }
  }
#elif defined(__aarch64__)
  add(Target::kNeon, N_NEON::fill_float_kernels, N_NEON::fill_integer_kernels);
  if ((getauxval(AT_HWCAP) & HWCAP_SVE) != 0) {
    add(Target::kSve, N_SVE::fill_float_kernels, N_SVE::fill_integer_kernels);
  }
#endif
}

const Tables& tables() noexcept {
  static const Tables all;
  return all;
}

/// The table in use. Set to the best at first; relaxed is enough, since the tables themselves never
/// change.
std::atomic<const KernelTable*>& current() noexcept {
  static std::atomic<const KernelTable*> table{&tables().kernels[tables().count - 1]};
  return table;
}

}  // namespace

std::string_view target_name(Target target) noexcept {
  switch (target) {
    case Target::kPortable:
      return "portable";
    case Target::kNeon:
      return "neon";
    case Target::kSve:
      return "sve";
    case Target::kAvx2:
      return "avx2";
    case Target::kAvx512:
      return "avx512";
  }
  return "unknown";
}

std::span<const Target> available_targets() noexcept {
  return std::span(tables().targets).first(tables().count);
}

void use_target(Target target) noexcept {
  const auto targets = available_targets();
  const auto found = std::find(targets.begin(), targets.end(), target);
  if (found == targets.end()) return;
  const auto index = static_cast<std::size_t>(found - targets.begin());
  current().store(&tables().kernels[index], std::memory_order_relaxed);
}

Target current_target() noexcept {
  const auto index = &current_kernels() - tables().kernels.data();
  return tables().targets[static_cast<std::size_t>(index)];
}

const KernelTable& current_kernels() noexcept {
  return *current().load(std::memory_order_relaxed);
}

}  // namespace ripieno::reduction
