// What the shaders use of the Metal Shading Language, on an NVIDIA GPU. A simdgroup is a warp.

#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

// Spelled out, because `device` will be a word of Metal's below.
#undef __device__
#define ON_GPU __attribute__((__device__))

typedef __half float16_t;
typedef __nv_bfloat16 bfloat16_t;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef uint64_t ulong;

// As wide as they are, so that a warp loads them at once: cudaMalloc aligns every buffer.
struct alignas(8) packed_uint2 {
  uint x, y;
};
struct alignas(16) packed_uint4 {
  uint x, y, z, w;
};

template <typename To, typename From>
ON_GPU inline To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

namespace metal {

ON_GPU inline float exp(float x) { return ::expf(x); }
ON_GPU inline float log(float x) { return ::logf(x); }
ON_GPU inline float cos(float x) { return ::cosf(x); }
ON_GPU inline float sin(float x) { return ::sinf(x); }
ON_GPU inline float rsqrt(float x) { return ::rsqrtf(x); }
ON_GPU inline float abs(float x) { return ::fabsf(x); }
ON_GPU inline bool isnan(float x) { return x != x; }

template <typename V>
ON_GPU inline V max(V a, V b) {
  return a < b ? b : a;
}
template <typename V>
ON_GPU inline V min(V a, V b) {
  return b < a ? b : a;
}
ON_GPU inline float max(float a, float b) { return ::fmaxf(a, b); }
ON_GPU inline float min(float a, float b) { return ::fminf(a, b); }

}  // namespace metal

enum class mem_flags { mem_none, mem_device, mem_threadgroup };

ON_GPU inline void threadgroup_barrier(mem_flags) { __syncthreads(); }

template <typename V, typename Join>
ON_GPU inline V simd_reduce(V value, Join join) {
  for (int step = 16; step > 0; step /= 2) {
    value = join(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  return value;
}

struct Sum {
  template <typename V>
  ON_GPU V operator()(V a, V b) const {
    return a + b;
  }
};
struct Most {
  template <typename V>
  ON_GPU V operator()(V a, V b) const {
    return metal::max(a, b);
  }
};
struct Least {
  template <typename V>
  ON_GPU V operator()(V a, V b) const {
    return metal::min(a, b);
  }
};

template <typename V>
ON_GPU inline V simd_sum(V value) {
  return simd_reduce(value, Sum());
}
template <typename V>
ON_GPU inline V simd_max(V value) {
  return simd_reduce(value, Most());
}
template <typename V>
ON_GPU inline V simd_min(V value) {
  return simd_reduce(value, Least());
}

struct Place {
  uint3 threadgroup_position_in_grid;
  uint3 threadgroups_per_grid;
  uint3 thread_position_in_grid;
  uint simdgroup_index_in_threadgroup;
  uint thread_index_in_simdgroup;
  uint thread_index_in_threadgroup;
};

ON_GPU inline Place place_here() {
  uint lane = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  return {
      blockIdx,
      uint3{gridDim.x, gridDim.y, gridDim.z},
      uint3{
          blockIdx.x * blockDim.x + threadIdx.x,
          blockIdx.y * blockDim.y + threadIdx.y,
          blockIdx.z * blockDim.z + threadIdx.z},
      lane / 32,
      lane % 32,
      lane};
}

#define device
#define constant
#define thread
#define threadgroup __shared__
#define inline ON_GPU inline
