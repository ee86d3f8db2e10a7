/* Pieces of a layer that take each token by itself: norms, routing, the shared expert, the sum. */
#include <errno.h>
#include <stdlib.h>

#include "chunks.h"
#include "pool.h"
#include "table.h"

enum { FLOATS_TOGETHER = 1 << 14 }; /* in a chunk: a thread is not woken for less */

static int rows_together(int width)
{
    return width < FLOATS_TOGETHER ? FLOATS_TOGETHER / width : 1;
}

typedef struct {
    const float *x, *more; /* more: to be added first, where there is any */
    const float *weight;
    float eps, *sum, *y;
    int rows, width;
} Norm;

static void norm_chunk(const void *job, int chunk, float *scratch)
{
    const Norm *n = job;
    const int together = rows_together(n->width), end = least((chunk + 1) * together, n->rows);
    (void)scratch;
    for (int row = chunk * together; row < end; row++) {
        const size_t at = (size_t)row * (size_t)n->width;
        const float *x = n->x + at;
        if (n->more) {
            for (int i = 0; i < n->width; i++)
                n->sum[at + (size_t)i] = x[i] + n->more[at + (size_t)i];
            x = n->sum + at;
        }
        kernels->norm(x, n->weight, n->eps, n->width, n->y + at);
    }
}

int martlet_rms_norm(const float *x, const float *weight, float eps, float *y, int rows, int width)
{
    Norm n = {x, NULL, weight, eps, NULL, y, rows, width};
    return pool_run(norm_chunk, &n, parts(rows, rows_together(width)), 0);
}

int martlet_add_norm(const float *x, const float *more, const float *weight, float eps, float *sum,
                     float *y, int rows, int width)
{
    Norm n = {x, more, weight, eps, sum, y, rows, width};
    return pool_run(norm_chunk, &n, parts(rows, rows_together(width)), 0);
}

typedef struct {
    float *logits; /* (rows, experts) */
    int rows, experts, k, renormalize;
    uint32_t *ids;
    float *scores;
} Routes;

static void take_best(float *chances, int experts, int k, uint32_t *ids, float *scores)
{
    for (int i = 0; i < k; i++) {
        int best = -1;
        for (int e = 0; e < experts; e++)
            if (chances[e] >= 0 && (best < 0 || chances[e] > chances[best]))
                best = e;
        ids[i] = (uint32_t)(best < 0 ? i : best); /* nothing is best where all is NaN */
        scores[i] = chances[ids[i]];
        chances[ids[i]] = -1; /* taken */
    }
}

static void route_row(const Routes *r, int row)
{
    float *chances = r->logits + (size_t)row * (size_t)r->experts;
    float *scores = r->scores + (size_t)row * (size_t)r->k, sum = 0;
    kernels->softmax(chances, r->experts);
    take_best(chances, r->experts, r->k, r->ids + (size_t)row * (size_t)r->k, scores);
    for (int i = 0; i < r->k; i++)
        sum += scores[i];
    for (int i = 0; r->renormalize && i < r->k; i++)
        scores[i] /= sum;
}

static void route_chunk(const void *job, int chunk, float *scratch)
{
    const Routes *r = job;
    const int together = rows_together(r->experts * r->k);
    (void)scratch;
    for (int row = chunk * together; row < least((chunk + 1) * together, r->rows); row++)
        route_row(r, row);
}

int martlet_route(const Matrix *gate, const float *x, int rows, int k, int renormalize,
                  uint32_t *ids, float *scores)
{
    float *logits = malloc((size_t)rows * (size_t)gate->out * sizeof *logits);
    if (!logits)
        return ENOMEM;
    Routes r = {logits, rows, gate->out, k, renormalize, ids, scores};
    int error = martlet_linear(gate, x, logits, rows);
    if (!error)
        error = pool_run(route_chunk, &r, parts(rows, rows_together(gate->out * k)), 0);
    free(logits);
    return error;
}

typedef struct {
    float *hidden, *up, *y, *opening; /* (rows, hidden), same, (rows, out), (rows, 1) */
    int width, out;
} SharedRows;

static void hidden_chunk(const void *job, int row, float *scratch)
{
    const SharedRows *s = job;
    const size_t at = (size_t)row * (size_t)s->width;
    (void)scratch;
    kernels->gated(s->hidden + at, s->up + at, s->width);
}

static void opening_chunk(const void *job, int row, float *scratch)
{
    const SharedRows *s = job;
    (void)scratch;
    kernels->open_gate(s->y + (size_t)row * (size_t)s->out, s->opening[row], s->out);
}

int martlet_shared(const Shared *s, const float *x, float *y, int rows)
{
    const size_t floats = (size_t)rows * (size_t)s->gate.out;
    float *hidden = malloc((2 * floats + (size_t)rows) * sizeof *hidden);
    if (!hidden)
        return ENOMEM;
    SharedRows r = {hidden, hidden + floats, y, hidden + 2 * floats, s->gate.out, s->down.out};
    int error = martlet_linear(&s->gate, x, r.hidden, rows);
    error = error ? error : martlet_linear(&s->up, x, r.up, rows);
    error = error ? error : martlet_linear(&s->opening, x, r.opening, rows);
    error = error ? error : pool_run(hidden_chunk, &r, rows, 0);
    error = error ? error : martlet_linear(&s->down, r.hidden, y, rows);
    error = error ? error : pool_run(opening_chunk, &r, rows, 0);
    free(hidden);
    return error;
}

typedef struct {
    const float *pairs, *scores, *shared, *residual;
    float *y;
    int rows, k, width;
} Sums;

static void combine_chunk(const void *job, int chunk, float *scratch)
{
    const Sums *s = job;
    const int together = rows_together(s->k * s->width);
    (void)scratch;
    for (int row = chunk * together; row < least((chunk + 1) * together, s->rows); row++) {
        const size_t at = (size_t)row * (size_t)s->width, k = (size_t)s->k;
        kernels->combine(s->pairs + at * k, s->scores + (size_t)row * k, s->k, s->shared + at,
                         s->residual + at, s->width, s->y + at);
    }
}

int martlet_combine(const float *pairs, const float *scores, const float *shared,
                    const float *residual, float *y, int rows, int k, int width)
{
    Sums s = {pairs, scores, shared, residual, y, rows, k, width};
    return pool_run(combine_chunk, &s, parts(rows, rows_together(k * width)), 0);
}
