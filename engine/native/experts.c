/* The routed experts: pairs of a slot and a row of x. Pairs of one slot are taken together, so that
   its weights are read once; a pair's result does not depend on which others there are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "pool.h"
#include "table.h"

/* Pairs in the order of their slots. D = gate.in = down.out, I = gate.out = down.in. */
typedef struct {
    const Experts *e;
    int groups;
    int *first;            /* (groups + 1): group g has pairs [first[g], first[g + 1]) */
    uint32_t *slot;        /* (groups) */
    const float **x;       /* (pairs) -> (D) */
    float **gate, **up;    /* (pairs) -> (I); gate becomes the hidden row */
    float **y;             /* (pairs) -> (D) */
    int hidden_n, output_n; /* rows of a matrix in a chunk */
} Job;

static Matrix in_slot(const Matrix *w, uint32_t slot)
{
    static const size_t size[] = {[TYPE_F32] = 4, [TYPE_F16] = 2, [TYPE_BF16] = 2};
    const size_t numbers = slot * (size_t)w->out * (size_t)w->in;
    Matrix m = *w;
    if (!w->bits) {
        m.weight = (const char *)w->weight + numbers * size[w->type];
        return m;
    }
    m.weight = (const char *)w->weight + numbers / 8 * (size_t)w->bits;
    m.scales = (const char *)w->scales + numbers / (size_t)w->group * size[w->type];
    m.biases = (const char *)w->biases + numbers / (size_t)w->group * size[w->type];
    return m;
}

static void hidden_chunk(const void *job, int chunk, float *scratch)
{
    const Job *j = job;
    const int blocks = parts(j->e->gate.out, j->hidden_n), group = chunk / blocks;
    const int start = chunk % blocks * j->hidden_n;
    const int end = least(start + j->hidden_n, j->e->gate.out);
    const int first = j->first[group], rows = j->first[group + 1] - first;
    const Matrix gate = in_slot(&j->e->gate, j->slot[group]);
    const Matrix up = in_slot(&j->e->up, j->slot[group]);
    kernels->product(&gate, start, end, j->x + first, j->gate + first, rows, scratch);
    kernels->product(&up, start, end, j->x + first, j->up + first, rows, scratch);
    for (int i = first; i < first + rows; i++)
        kernels->gated(j->gate[i] + start, j->up[i] + start, end - start);
}

static void output_chunk(const void *job, int chunk, float *scratch)
{
    const Job *j = job;
    const int blocks = parts(j->e->down.out, j->output_n), group = chunk / blocks;
    const int start = chunk % blocks * j->output_n;
    const int end = least(start + j->output_n, j->e->down.out);
    const int first = j->first[group], rows = j->first[group + 1] - first;
    const Matrix down = in_slot(&j->e->down, j->slot[group]);
    kernels->product(&down, start, end, (const float *const *)j->gate + first, j->y + first, rows,
                     scratch);
}

/* Sorts the pairs by slot (a counting sort) and points each at its rows. `ends` is zeroed. */
static void group_pairs(Job *j, const float *x, const uint32_t *slots, const uint32_t *rows,
                        const uint32_t *places, float *y, float *hidden, int pairs, int *ends)
{
    const size_t in = (size_t)j->e->gate.in, out = (size_t)j->e->gate.out;
    for (int i = 0; i < pairs; i++)
        ends[slots[i]]++;
    for (int slot = 0, total = 0; slot < j->e->count; slot++) {
        if (ends[slot]) {
            j->slot[j->groups] = (uint32_t)slot;
            j->first[j->groups++] = total;
        }
        total += ends[slot];
        ends[slot] = total;
    }
    j->first[j->groups] = pairs;
    for (int i = pairs; i-- > 0;) {
        const int at = --ends[slots[i]];
        j->x[at] = x + rows[i] * in;
        j->gate[at] = hidden + 2 * (size_t)at * out;
        j->up[at] = j->gate[at] + out;
        j->y[at] = y + (places ? places[i] : (size_t)i) * in;
    }
}

static int run_groups(Job *j, int pairs)
{
    const Experts *e = j->e;
    const int rows = parts(pairs, j->groups);
    j->hidden_n = chunk_rows(&e->gate, rows);
    j->output_n = chunk_rows(&e->down, rows);
    size_t scratch = product_scratch(&e->gate, j->hidden_n);
    if (product_scratch(&e->up, j->hidden_n) > scratch)
        scratch = product_scratch(&e->up, j->hidden_n);
    int error = pool_run(hidden_chunk, j, j->groups * parts(e->gate.out, j->hidden_n), scratch);
    if (error)
        return error;
    return pool_run(output_chunk, j, j->groups * parts(e->down.out, j->output_n),
                    product_scratch(&e->down, j->output_n));
}

int martlet_experts(const Experts *e, const float *x, const uint32_t *slots, const uint32_t *rows,
                    const uint32_t *places, float *y, int pairs)
{
    for (int i = 0; i < pairs; i++)
        if (slots[i] >= (uint32_t)e->count)
            return EINVAL;
    const size_t n = (size_t)pairs;
    void **pointers = malloc(4 * n * sizeof *pointers);
    uint32_t *slot = malloc(n * sizeof *slot);
    int *first = malloc((n + 1) * sizeof *first), *ends = calloc((size_t)e->count, sizeof *ends);
    float *hidden = malloc(2 * n * (size_t)e->gate.out * sizeof *hidden);
    int error = ENOMEM;
    if (pointers && slot && first && ends && hidden) {
        Job j = {.e = e, .first = first, .slot = slot};
        j.x = (const float **)pointers;
        j.gate = (float **)pointers + n;
        j.up = j.gate + n;
        j.y = j.up + n;
        group_pairs(&j, x, slots, rows, places, y, hidden, pairs, ends);
        error = pairs ? run_groups(&j, pairs) : 0;
    }
    free(pointers);
    free(slot);
    free(first);
    free(ends);
    free(hidden);
    return error;
}
