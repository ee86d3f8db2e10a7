/* The inner loops that exist once for every instruction set. */
#ifndef MARTLET_TABLE_H
#define MARTLET_TABLE_H

#include "martlet.h"

typedef struct {
    const char *name;
    /* y[m][first..last) = x[m] W^T for `rows` rows m; scratch: product_scratch() floats. */
    void (*product)(const Matrix *w, int first, int last, const float *const *x, float *const *y,
                    int rows, float *scratch);
    /* out = row `index` of W as float32; scratch: 2 * groups floats. */
    void (*row)(const Matrix *w, int index, float *out, float *scratch);
    /* gate[i] = silu(gate[i]) * up[i]. */
    void (*gated)(float *gate, const float *up, int count);
    /* y = x / sqrt(mean(x^2) + eps) * weight. */
    void (*norm)(const float *x, const float *weight, float eps, int count, float *y);
    void (*softmax)(float *x, int count);
    /* y = residual + shared + the sum of scores[j] * pairs[j], k rows of `count`. */
    void (*combine)(const float *pairs, const float *scores, int k, const float *shared,
                    const float *residual, int count, float *y);
    /* x = x * sigmoid(gate). */
    void (*open_gate)(float *x, float gate, int count);
    /* y = silu(sum of taps[w] * inputs[w]): taps (width, count), oldest first. */
    void (*convolve)(const float *const *inputs, const float *taps, int width, int count, float *y);
    /* y = x / |x| * factor * sqrt(count). */
    void (*unit)(const float *x, float factor, int count, float *y);
    /* One token of one head of the gated delta rule; state (dv, dk) is updated. */
    void (*delta_rule)(float *state, const float *q, const float *k, const float *v, float decay,
                       float beta, int dv, int dk, float *y);
    /* y = rms_norm(y) * weight * silu(gate). */
    void (*gated_norm)(float *y, const float *weight, float eps, const float *gate, int count);
    /* y = y * sigmoid(gate). */
    void (*gate_row)(float *y, const float *gate, int count);
    /* scores[r * ld + l] = q[r] . keys[l] * scale: n <= 4 rows of q, `count` keys of d floats. */
    void (*score)(const float *q, int n, const float *keys, int count, int d, float scale,
                  float *scores, size_t ld);
    /* y[r] = the sum over l of chances[r * ld + l] * values[l]. */
    void (*weigh)(const float *chances, size_t ld, int n, const float *values, int count, int d,
                  float *y);
} Kernels;

extern const Kernels kernels_plain, kernels_avx2, kernels_avx512;

/* The best that this machine can run, chosen once at load. */
extern const Kernels *kernels;

#endif
