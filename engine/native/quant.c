/* Products with whole matrices and with experts: how the work is cut into chunks. The arithmetic
   is in product.h. Every output belongs to one chunk. */
#include <errno.h>
#include <stdlib.h>

#include "chunks.h"
#include "pool.h"
#include "table.h"

enum { ROWS_TOGETHER = 96 }; /* of x in a chunk, where the outputs alone are too few chunks */

typedef struct {
    const Matrix *w;
    const float *const *x;
    float *const *y;
    int rows, n, blocks, rows_together;
} Product;

static void product_chunk(const void *job, int chunk, float *scratch)
{
    const Product *p = job;
    int first = chunk % p->blocks * p->n, row = chunk / p->blocks * p->rows_together;
    kernels->product(p->w, first, least(first + p->n, p->w->out), p->x + row, p->y + row,
                     least(p->rows_together, p->rows - row), scratch);
}

static int run_product(const Matrix *w, const float *const *x, float *const *y, int rows)
{
    Product p = {w, x, y, rows, chunk_rows(w, rows), 0, rows};
    p.blocks = parts(w->out, p.n);
    if (p.blocks < 8)
        p.rows_together = least(rows, ROWS_TOGETHER);
    int chunks = p.blocks * parts(rows, p.rows_together);
    return pool_run(product_chunk, &p, chunks, product_scratch(w, p.n));
}

/* Pointers to the rows of x and y, side by side; NULL where memory is short. */
static const float **row_pointers(const float *x, size_t in, float *y, size_t out, int rows)
{
    const float **at = malloc(2 * (size_t)rows * sizeof *at);
    for (int i = 0; at && i < rows; i++) {
        at[i] = x + (size_t)i * in;
        at[rows + i] = y + (size_t)i * out;
    }
    return at;
}

int martlet_linear(const Matrix *w, const float *x, float *y, int rows)
{
    if (rows == 1)
        return run_product(w, &x, &y, 1);
    const float **at = row_pointers(x, (size_t)w->in, y, (size_t)w->out, rows);
    if (!at)
        return ENOMEM;
    int error = run_product(w, at, (float *const *)(at + rows), rows);
    free(at);
    return error;
}

int martlet_linears(const Matrix *const *w, int count, const float *x, float *const *y, int rows)
{
    int error = 0;
    for (int i = 0; i < count && !error; i++)
        error = martlet_linear(w[i], x, y[i], rows);
    return error;
}

typedef struct {
    const Matrix *w;
    const uint32_t *ids;
    float *y;
} Embedding;

static void embed_chunk(const void *job, int chunk, float *scratch)
{
    const Embedding *e = job;
    kernels->row(e->w, (int)e->ids[chunk], e->y + (size_t)chunk * (size_t)e->w->in, scratch);
}

int martlet_embed(const Matrix *w, const uint32_t *ids, float *y, int rows)
{
    Embedding e = {w, ids, y};
    return pool_run(embed_chunk, &e, rows, product_scratch(w, 1));
}
