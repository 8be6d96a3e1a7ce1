// Which Highway targets the vector kernels are compiled for, and the names of their tables.
// Highway's own dispatch needs its run-time library; reduce_targets.cc chooses instead. Must come
// before any Highway header.
#pragma once

#if defined(__x86_64__)
// Static dispatch begins at AVX2: what is older uses the portable kernels, and newer sub-targets
// bring nothing here. The kernels need neither fused multiply-add nor carry-less products, so do
// not ask the processor for them.
#define HWY_DISABLE_BMI2_FMA
#define HWY_DISABLE_PCLMUL_AES
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_SCALAR | HWY_EMU128 | HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#define RIPIENO_VECTOR_REDUCTIONS 1
#elif defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#define RIPIENO_VECTOR_REDUCTIONS 1
#else
#define RIPIENO_VECTOR_REDUCTIONS 0
#endif

#include "base/reduce_kernel.h"

namespace ripieno::reduction {

// Each translation unit of kernels fills its types into the table of every target it was compiled
// for.
#if defined(__x86_64__)
namespace N_AVX2 {
void fill_float_kernels(KernelTable& table) noexcept;
void fill_integer_kernels(KernelTable& table) noexcept;
}  // namespace N_AVX2
namespace N_AVX3 {
void fill_float_kernels(KernelTable& table) noexcept;
void fill_integer_kernels(KernelTable& table) noexcept;
}  // namespace N_AVX3
#elif defined(__aarch64__)
namespace N_NEON {
void fill_float_kernels(KernelTable& table) noexcept;
void fill_integer_kernels(KernelTable& table) noexcept;
}  // namespace N_NEON
namespace N_SVE {
void fill_float_kernels(KernelTable& table) noexcept;
void fill_integer_kernels(KernelTable& table) noexcept;
}  // namespace N_SVE
#endif

}  // namespace ripieno::reduction
