/* How products are cut into chunks for the pool. */
#ifndef MARTLET_CHUNKS_H
#define MARTLET_CHUNKS_H

#include "martlet.h"

enum {
    CHUNK_CODES = 1 << 17,   /* weights in a chunk that one row of x passes: some 10 us of work */
    TILE_FLOATS = 1 << 15,   /* of dequantized weights in a chunk that many rows pass: 128 KiB */
    SMALL_PRODUCT = 1 << 15, /* multiplications below which waking a thread costs more */
};

static inline int least(int a, int b)
{
    return a < b ? a : b;
}

static inline int parts(int whole, int part)
{
    return (whole + part - 1) / part;
}

/* Rows of W in a chunk; a multiple of 4, as the inner loops take them. */
static inline int chunk_rows(const Matrix *w, int rows)
{
    int n = (rows == 1 ? CHUNK_CODES : TILE_FLOATS) / w->in & ~3;
    int small = (double)w->out * w->in * rows < SMALL_PRODUCT;
    return small ? w->out : least(n < 4 ? 4 : n, w->out);
}

/* Floats of scratch for a chunk of n rows of W: the rows, or one row of x; scales and biases. */
static inline size_t product_scratch(const Matrix *w, int n)
{
    size_t groups = w->bits ? (size_t)(w->in / w->group) : 0;
    return (size_t)n * ((size_t)w->in + 16) + 9 * groups;
}

#endif
