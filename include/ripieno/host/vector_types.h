/*
 * The small vector types that appear in the CUDA runtime's interface, and a few that programs take
 * for granted.
 */
#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__

struct uint3 {
  unsigned int x, y, z;
};
typedef struct uint3 uint3;

/** The extent of a grid or a block; what is not given is one. */
struct dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned int width = 1, unsigned int height = 1, unsigned int depth = 1)
      : x(width), y(height), z(depth) {}
  constexpr dim3(uint3 extent) : x(extent.x), y(extent.y), z(extent.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
};
typedef struct dim3 dim3;

struct __attribute__((aligned(8))) int2 {
  int x, y;
};
typedef struct int2 int2;
struct __attribute__((aligned(16))) int4 {
  int x, y, z, w;
};
typedef struct int4 int4;
struct __attribute__((aligned(8))) uint2 {
  unsigned int x, y;
};
typedef struct uint2 uint2;
struct __attribute__((aligned(16))) uint4 {
  unsigned int x, y, z, w;
};
typedef struct uint4 uint4;
struct __attribute__((aligned(8))) float2 {
  float x, y;
};
typedef struct float2 float2;
struct __attribute__((aligned(16))) float4 {
  float x, y, z, w;
};
typedef struct float4 float4;
struct __attribute__((aligned(16))) double2 {
  double x, y;
};
typedef struct double2 double2;

#endif
