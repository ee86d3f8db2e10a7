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
    void (*row)(const Matrix *w, size_t index, float *out, float *scratch);
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
} Kernels;

extern const Kernels kernels_plain, kernels_avx2, kernels_avx512;

/* The best that this machine can run, chosen once at load. */
extern const Kernels *kernels;

#endif
