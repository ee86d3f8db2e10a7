// What the shaders use of the Metal Shading Language, on the processor. The lanes are in lanes.h.
//
// `bfloat16_t` takes a float only where the source says so, as Metal's type does.

#pragma once

#include <cstdint>  // and nothing larger: this is parsed for every kernel

using size_t = decltype(sizeof 0);
using uint = uint32_t;
using ushort = uint16_t;
using ulong = uint64_t;
struct uint3 { uint x, y, z; };
struct packed_uint2 { uint x, y; };
struct packed_uint4 { uint x, y, z, w; };

typedef _Float16 half;
typedef _Float16 float16_t;

struct bfloat16_t {
  uint16_t bits;
  bfloat16_t() = default;
  explicit bfloat16_t(float value) {
    uint32_t word;
    __builtin_memcpy(&word, &value, 4);
    if (value != value) word |= 0x400000;  // a NaN stays one
    else word += 0x7fff + ((word >> 16) & 1);  // to nearest, ties to even
    bits = uint16_t(word >> 16);
  }
  operator float() const {
    uint32_t word = uint32_t(bits) << 16;
    float value;
    __builtin_memcpy(&value, &word, 4);
    return value;
  }
};

template <typename To, typename From>
inline To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

#ifndef INFINITY
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif

namespace metal {

inline float exp(float x) { return __builtin_expf(x); }
inline float log(float x) { return __builtin_logf(x); }
inline float cos(float x) { return __builtin_cosf(x); }
inline float sin(float x) { return __builtin_sinf(x); }
inline float rsqrt(float x) { return 1 / __builtin_sqrtf(x); }
inline float abs(float x) { return __builtin_fabsf(x); }
inline bool isnan(float x) { return __builtin_isnan(x); }

template <typename V>
inline V max(V a, V b) {
  return a < b ? b : a;
}
template <typename V>
inline V min(V a, V b) {
  return b < a ? b : a;
}
// The number, where the other is none.
inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
inline float min(float a, float b) { return __builtin_fminf(a, b); }

}  // namespace metal

namespace lanes {

constexpr int SIMD_WIDTH = 32;

using Values = uint64_t[SIMD_WIDTH];  // what the lanes of a simdgroup hand in, as bits

// Hands in `value`; once all lanes have, `meet` runs once over their values, and each gets its own
// back. `operation` names the place they meet at.
uint64_t exchange(const char* operation, uint64_t value, void (*meet)(Values&));
void barrier();

}  // namespace lanes

enum class mem_flags { mem_none, mem_device, mem_threadgroup };

inline void threadgroup_barrier(mem_flags) { lanes::barrier(); }

template <typename V>
inline V from_bits(uint64_t bits) {
  V value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename V>
inline uint64_t to_bits(V value) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}

// The tree of 16, 8, 4, 2 and 1 lanes apart; every lane gets its root.
template <typename V, V (*join)(V, V)>
inline void reduce(lanes::Values& values) {
  for (int step = lanes::SIMD_WIDTH / 2; step > 0; step /= 2) {
    for (int lane = 0; lane < step; lane++) {
      V joined = join(from_bits<V>(values[lane]), from_bits<V>(values[lane + step]));
      values[lane] = to_bits(joined);
    }
  }
  for (int lane = 1; lane < lanes::SIMD_WIDTH; lane++) values[lane] = values[0];
}

template <typename V>
inline V add(V a, V b) {
  return V(a + b);
}

template <typename V>
inline V simd_sum(V value) {
  return from_bits<V>(lanes::exchange("simd_sum", to_bits(value), reduce<V, add<V>>));
}

template <typename V>
inline V simd_max(V value) {
  return from_bits<V>(lanes::exchange("simd_max", to_bits(value), reduce<V, metal::max>));
}

template <typename V>
inline V simd_min(V value) {
  return from_bits<V>(lanes::exchange("simd_min", to_bits(value), reduce<V, metal::min>));
}

// Where a lane stands, by the names of Metal's attributes.
struct Place {
  uint3 threadgroup_position_in_grid;
  uint3 threadgroups_per_grid;
  uint simdgroup_index_in_threadgroup;
  uint thread_index_in_simdgroup;
  uint thread_index_in_threadgroup;
  uint3 thread_position_in_grid;
};

#define device
#define constant
#define thread
#define threadgroup static
