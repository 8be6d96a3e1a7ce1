/*
 * Storage of CUDA's 16-bit floating point type: its bits and nothing else. Arithmetic on it is the
 * library's business, not this header's.
 */
#ifndef __CUDA_FP16_H__
#define __CUDA_FP16_H__

/* NVIDIA's header brings this along, and programs count on it. */
#include <string.h>

/** One IEEE binary16 value as bits. */
typedef struct __attribute__((aligned(2))) {
  unsigned short x;
} __half_raw;

/** Two of them side by side. */
typedef struct __attribute__((aligned(4))) {
  unsigned short x;
  unsigned short y;
} __half2_raw;

#ifdef __cplusplus

struct __attribute__((aligned(2))) __half {
  unsigned short __x;
  __half() = default;
  constexpr __half(const __half_raw& raw) : __x(raw.x) {}
  __half& operator=(const __half_raw& raw) {
    __x = raw.x;
    return *this;
  }
  constexpr operator __half_raw() const { return __half_raw{__x}; }
};
typedef __half half;

struct __attribute__((aligned(4))) __half2 {
  __half x;
  __half y;
};
typedef __half2 half2;

#endif

#endif
