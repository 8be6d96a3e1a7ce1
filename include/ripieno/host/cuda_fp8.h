/*
 * Storage of CUDA's two 8-bit floating point types: their bits and nothing else. Arithmetic on them
 * is the library's business, not this header's.
 */
#ifndef __CUDA_FP8_H__
#define __CUDA_FP8_H__

/* NVIDIA's header brings this along, and programs count on it. */
#include <string.h>

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;

#ifdef __cplusplus

/** One sign, four exponent and three mantissa bits; no infinities. */
struct __nv_fp8_e4m3 {
  __nv_fp8_storage_t __x;
};

/** One sign, five exponent and two mantissa bits; a binary16 cut short. */
struct __nv_fp8_e5m2 {
  __nv_fp8_storage_t __x;
};

#endif

#endif
