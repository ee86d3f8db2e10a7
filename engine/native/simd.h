/* Vectors of LANES floats, in the compilers' own vector types: one source for every instruction
   set. Included through kernels.h, with LANES (8 or 16) and TARGET defined.

   Where a sum is long and alone, it is kept in STEP partial sums, in HALVES vectors, so that
   additions need not wait for each other. */
#include <stdint.h>
#include <string.h>

#include "martlet.h"

#define INLINE static inline __attribute__((always_inline)) TARGET

enum { STEP = 16, HALVES = STEP / LANES };

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
typedef uint32_t vu __attribute__((vector_size(4 * LANES)));
typedef uint16_t vh __attribute__((vector_size(2 * LANES)));
typedef float four __attribute__((vector_size(16)));
typedef vf unaligned_vf __attribute__((aligned(4), may_alias));
typedef vu unaligned_vu __attribute__((aligned(4), may_alias));

INLINE vf splat(float x)
{
    return x - (vf){0};
}

INLINE vf load(const float *p)
{
    return *(const unaligned_vf *)p;
}

INLINE void store(float *p, vf v)
{
    *(unaligned_vf *)p = v;
}

/* The first `count` lanes; the others are 0. */
INLINE vf load_part(const float *p, int count)
{
    vf v = {0};
    memcpy(&v, p, (size_t)count * sizeof *p);
    return v;
}

INLINE void store_part(float *p, vf v, int count)
{
    memcpy(p, &v, (size_t)count * sizeof *p);
}

/* Every second lane of a and b, from lane 0 or lane 1 on. */
#if LANES == 16
#define EVERY_SECOND(a, b, from)                                                                   \
    __builtin_shufflevector(a, b, from, 2 + from, 4 + from, 6 + from, 8 + from, 10 + from,         \
                            12 + from, 14 + from, 16 + from, 18 + from, 20 + from, 22 + from,      \
                            24 + from, 26 + from, 28 + from, 30 + from)
#else
#define EVERY_SECOND(a, b, from)                                                                   \
    __builtin_shufflevector(a, b, from, 2 + from, 4 + from, 6 + from, 8 + from, 10 + from,         \
                            12 + from, 14 + from)
#endif

/* Always in the same tree. */
INLINE float total_of(vf sum)
{
    float a[LANES];
    memcpy(a, &sum, sizeof a);
    for (int width = LANES / 2; width; width /= 2)
        for (int i = 0; i < width; i++)
            a[i] += a[i + width];
    return a[0];
}

/* EVERY_SECOND within each four lanes, which moves no lane far: cheaper. */
#define OF_FOUR(at, from) at + from, at + 2 + from, LANES + at + from, LANES + at + 2 + from
#if LANES == 16
#define EVERY_SECOND_OF_FOUR(a, b, from)                                                           \
    __builtin_shufflevector(a, b, OF_FOUR(0, from), OF_FOUR(4, from), OF_FOUR(8, from),            \
                            OF_FOUR(12, from))
#else
#define EVERY_SECOND_OF_FOUR(a, b, from)                                                           \
    __builtin_shufflevector(a, b, OF_FOUR(0, from), OF_FOUR(4, from))
#endif

#define PAIRS(a, b) (EVERY_SECOND_OF_FOUR(a, b, 0) + EVERY_SECOND_OF_FOUR(a, b, 1))

/* Of four sums at once, in another tree. */
INLINE void four_totals(const vf sum[4], float *totals)
{
    const vf pairs = PAIRS(PAIRS(sum[0], sum[1]), PAIRS(sum[2], sum[3]));
    four parts[LANES / 4];
    memcpy(parts, &pairs, sizeof parts);
    for (int width = LANES / 8; width; width /= 2)
        for (int i = 0; i < width; i++)
            parts[i] += parts[i + width];
    memcpy(totals, parts, sizeof *parts);
}

/* Of the STEP partial sums of a long row. */
INLINE float total(const vf sum[HALVES])
{
    vf both = sum[0];
    for (int h = 1; h < HALVES; h++)
        both += sum[h];
    return total_of(both);
}

/* `count` numbers of a TYPE, from `index` on, as float32. float16's exponents are moved by a
   multiplication, which also makes its subnormals right; infinities and NaN keep all ones. */
INLINE vf widen(const void *data, size_t index, int count, int type)
{
    if (type == TYPE_F32)
        return load_part((const float *)data + index, count);
    vh half = {0};
    memcpy(&half, (const uint16_t *)data + index, (size_t)count * sizeof(uint16_t));
    vu bits = __builtin_convertvector(half, vu);
    if (type == TYPE_BF16)
        return (vf)(bits << 16);
    vu magnitude = (vu)((vf)((bits & 0x7fff) << 13) * 0x1p112f);
    vu not_finite = (vu)((bits & 0x7c00) == 0x7c00) & 0x7f800000;
    return (vf)(magnitude | not_finite | (bits & 0x8000) << 16);
}

INLINE vf clamp(vf x, float low, float high)
{
    vi below = x < splat(low), above = x > splat(high);
    x = (vf)(((vi)splat(low) & below) | ((vi)x & ~below));
    return (vf)(((vi)splat(high) & above) | ((vi)x & ~above));
}

/* e^x to 2 units in the last place: 2^n e^r with r in half of a ln 2 around 0, and e^r by its
   Taylor series. Inputs outside of float32's normal range give its ends; NaN stays NaN. */
INLINE vf exponential(vf x)
{
    x = clamp(x, -87.0f, 88.0f);
    const float round = 0x1.8p23f; /* adding it leaves no fraction */
    vf n = (x * 0x1.715476p0f + round) - round;
    vf r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f; /* ln 2, in two parts */
    vf p = splat(1.0f / 5040);
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    vi exponent = __builtin_convertvector(n, vi) + 127;
    return p * (vf)(exponent << 23);
}

INLINE vf sigmoid(vf x)
{
    return 1.0f / (1.0f + exponential(-x));
}
