/*
 * Storage of CUDA's bfloat16 type: its bits and nothing else. Arithmetic on it is the library's
 * business, not this header's.
 */
#ifndef __CUDA_BF16_H__
#define __CUDA_BF16_H__

/* NVIDIA's header brings this along, and programs count on it. */
#include <string.h>

/** One bfloat16 value, the upper half of a binary32, as bits. */
typedef struct __attribute__((aligned(2))) {
  unsigned short x;
} __nv_bfloat16_raw;

/** Two of them side by side. */
typedef struct __attribute__((aligned(4))) {
  unsigned short x;
  unsigned short y;
} __nv_bfloat162_raw;

#ifdef __cplusplus

struct __attribute__((aligned(2))) __nv_bfloat16 {
  unsigned short __x;
  __nv_bfloat16() = default;
  constexpr __nv_bfloat16(const __nv_bfloat16_raw& raw) : __x(raw.x) {}
  __nv_bfloat16& operator=(const __nv_bfloat16_raw& raw) {
    __x = raw.x;
    return *this;
  }
  constexpr operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{__x}; }
};
typedef __nv_bfloat16 nv_bfloat16;

struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x;
  __nv_bfloat16 y;
};
typedef __nv_bfloat162 nv_bfloat162;

#endif

#endif
