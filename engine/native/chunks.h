/* How products are cut into chunks for the pool. */
#ifndef MARTLET_CHUNKS_H
#define MARTLET_CHUNKS_H

#include "martlet.h"

enum {
    CHUNK_CODES = 1 << 17,   /* weights in a chunk that few rows of x pass: 10 us of work for one */
    TILE_FLOATS = 1 << 15,   /* of dequantized weights that many rows pass: 128 KiB */
    FEW_ROWS = 48,           /* of x: they stay in the L2 cache while all of W passes */
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

/* Rows of W that are widened before x passes them: few, so that they are in the nearest caches,
   unless x is so large that it had better pass seldom. */
static inline int tile_rows(const Matrix *w, int rows)
{
    int n = TILE_FLOATS / w->in & ~3;
    return rows <= FEW_ROWS || n < 4 ? 4 : n;
}

/* What lies between two of them: not a power of two, or their columns would share cache sets. */
static inline int widened_stride(int in)
{
    return in + 16;
}

/* Rows of W in a chunk; a multiple of 4, as the inner loops take them. */
static inline int chunk_rows(const Matrix *w, int rows)
{
    int n = (rows <= FEW_ROWS ? CHUNK_CODES : TILE_FLOATS) / w->in & ~3;
    int small = (double)w->out * w->in * rows < SMALL_PRODUCT;
    return small ? w->out : least(n < 4 ? 4 : n, w->out);
}

/* Floats of scratch for a chunk of n rows of W: those widened together, or one row of x; scales and
   biases. */
static inline size_t product_scratch(const Matrix *w, int n)
{
    size_t groups = w->bits ? (size_t)(w->in / w->group) : 0;
    size_t rows = (size_t)least(n, tile_rows(w, FEW_ROWS + 1));
    return rows * (size_t)widened_stride(w->in) + 9 * groups;
}

#endif
