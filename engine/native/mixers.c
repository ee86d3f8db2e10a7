/* The token mixers: the recurrent part of Gated DeltaNet, and gated attention around its cache. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "pool.h"
#include "table.h"

enum {
    CHANNELS = 256,  /* of the convolution in a chunk */
    TOGETHER = 4,    /* tokens whose attention reads the keys and values once */
    MOST_TAPS = 16,
};

typedef struct {
    const DeltaNet *w;
    const float *mixed, *z, *a, *b, *conv_in, *state_in;
    float *convolved, *y, *conv_out, *state_out;
    int rows;
} Delta;

static int channels(const DeltaNet *w)
{
    return 2 * w->key_heads * w->key_dim + w->value_heads * w->value_dim;
}

/* What the convolution saw `back` tokens after the oldest that the state holds. */
static const float *input_row(const Delta *d, int row)
{
    const size_t width = (size_t)channels(d->w);
    const int kept = d->w->taps - 1;
    return row < kept ? d->conv_in + (size_t)row * width : d->mixed + (size_t)(row - kept) * width;
}

static void convolve_chunk(const void *job, int chunk, float *scratch)
{
    const Delta *d = job;
    const int total = channels(d->w), taps = d->w->taps, first = chunk * CHANNELS;
    const int count = least(CHANNELS, total - first);
    for (int c = 0; c < count; c++)
        for (int w = 0; w < taps; w++)
            scratch[w * count + c] = d->w->conv[(size_t)(first + c) * (size_t)taps + (size_t)w];
    for (int row = 0; row < d->rows; row++) {
        const float *inputs[MOST_TAPS];
        for (int w = 0; w < taps; w++)
            inputs[w] = input_row(d, row + w) + first;
        kernels->convolve(inputs, scratch, taps, count,
                          d->convolved + (size_t)row * (size_t)total + first);
    }
    for (int w = 0; w < taps - 1; w++)
        memcpy(d->conv_out + (size_t)w * (size_t)total + first, input_row(d, d->rows + w) + first,
               (size_t)count * sizeof(float));
}

static float softplus(float x)
{
    return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x));
}

static void head_chunk(const void *job, int head, float *scratch)
{
    const Delta *d = job;
    const DeltaNet *w = d->w;
    const int dk = w->key_dim, dv = w->value_dim, keys = w->key_heads * dk;
    const int key = head / (w->value_heads / w->key_heads);
    const float root = 1 / sqrtf((float)dk), rate = -expf(w->a_log[head]);
    const size_t size = (size_t)dv * (size_t)dk;
    float *state = d->state_out + (size_t)head * size, *q = scratch, *k = scratch + dk;
    memcpy(state, d->state_in + (size_t)head * size, size * sizeof *state);
    for (int row = 0; row < d->rows; row++) {
        const float *x = d->convolved + (size_t)row * (size_t)channels(w);
        const size_t gate = (size_t)row * (size_t)w->value_heads + (size_t)head;
        const float decay = expf(rate * softplus(d->a[gate] + w->dt_bias[head]));
        const float beta = 1 / (1 + expf(-d->b[gate]));
        float *y = d->y + gate * (size_t)dv;
        kernels->unit(x + key * dk, root * root, dk, q);
        kernels->unit(x + keys + key * dk, root, dk, k);
        kernels->delta_rule(state, q, k, x + 2 * keys + head * dv, decay, beta, dv, dk, y);
        kernels->gated_norm(y, w->norm, w->eps, d->z + gate * (size_t)dv, dv);
    }
}

int martlet_delta_net(const DeltaNet *w, const DeltaArrays *arrays, int rows)
{
    if (w->taps > MOST_TAPS)
        return EINVAL;
    const size_t floats = (size_t)rows * (size_t)channels(w);
    Delta d = {w, arrays->mixed, arrays->z, arrays->a, arrays->b, arrays->conv_in,
               arrays->state_in, malloc(floats * sizeof(float)), arrays->y, arrays->conv_out,
               arrays->state_out, rows};
    if (!d.convolved)
        return ENOMEM;
    int error = pool_run(convolve_chunk, &d, parts(channels(w), CHANNELS),
                         (size_t)CHANNELS * (size_t)w->taps);
    error = error ? error : pool_run(head_chunk, &d, w->value_heads, 2 * (size_t)w->key_dim);
    free(d.convolved);
    return error;
}

typedef struct {
    const Attention *w;
    const AttentionArrays *in;
    float *turns; /* (rows, rotary): cosines, then sines */
    int rows;
} Attend;

static void rotate(float *x, const float *turns, int rotary)
{
    const int half = rotary / 2;
    for (int j = 0; j < half; j++) {
        const float a = x[j], b = x[j + half], cosine = turns[j], sine = turns[half + j];
        x[j] = a * cosine - b * sine;
        x[j + half] = b * cosine + a * sine;
    }
}

static void turn_rows(const Attend *t)
{
    const int half = t->w->rotary / 2;
    for (int j = 0; j < half; j++) {
        const float frequency = (float)pow(t->w->theta, -(double)j / half);
        for (int row = 0; row < t->rows; row++) {
            const float angle = (float)(t->in->past + row) * frequency;
            t->turns[row * t->w->rotary + j] = cosf(angle);
            t->turns[row * t->w->rotary + half + j] = sinf(angle);
        }
    }
}

/* The new rows of one key/value head go into the cache. */
static void cache_chunk(const void *job, int head, float *scratch)
{
    const Attend *t = job;
    const int d = t->w->head_dim;
    (void)scratch;
    for (int row = 0; row < t->rows; row++) {
        const size_t from = ((size_t)row * (size_t)t->w->kv_heads + (size_t)head) * (size_t)d;
        const size_t to = ((size_t)head * (size_t)t->in->room + (size_t)(t->in->past + row));
        float *key = t->in->keys + to * (size_t)d;
        kernels->norm(t->in->k + from, t->w->k_norm, t->w->eps, d, key);
        rotate(key, t->turns + row * t->w->rotary, t->w->rotary);
        memcpy(t->in->values + to * (size_t)d, t->in->v + from, (size_t)d * sizeof(float));
    }
}

/* Up to TOGETHER tokens of one head. */
static void attend_chunk(const void *job, int chunk, float *scratch)
{
    const Attend *t = job;
    const int d = t->w->head_dim, heads = t->w->heads, head = chunk % heads;
    const int first = chunk / heads * TOGETHER, n = least(TOGETHER, t->rows - first);
    const int count = t->in->past + first + n; /* keys that the last of them sees */
    const size_t cached = (size_t)(head / (heads / t->w->kv_heads)) * (size_t)t->in->room;
    float *q = scratch, *y = q + TOGETHER * d, *scores = y + TOGETHER * d;
    for (int r = 0; r < n; r++) {
        const size_t at = ((size_t)(first + r) * (size_t)heads + (size_t)head) * 2 * (size_t)d;
        kernels->norm(t->in->q_gate + at, t->w->q_norm, t->w->eps, d, q + r * d);
        rotate(q + r * d, t->turns + (first + r) * t->w->rotary, t->w->rotary);
    }
    const size_t ld = (size_t)count;
    kernels->score(q, n, t->in->keys + cached * (size_t)d, count, d, 1 / sqrtf((float)d), scores,
                   ld);
    for (int r = 0; r < n; r++) {
        const int seen = t->in->past + first + r + 1;
        kernels->softmax(scores + (size_t)r * ld, seen);
        memset(scores + (size_t)r * ld + seen, 0, (size_t)(count - seen) * sizeof *scores);
    }
    kernels->weigh(scores, ld, n, t->in->values + cached * (size_t)d, count, d, y);
    for (int r = 0; r < n; r++) {
        const size_t at = (size_t)(first + r) * (size_t)heads + (size_t)head;
        kernels->gate_row(y + r * d, t->in->q_gate + at * 2 * (size_t)d + d, d);
        memcpy(t->in->y + at * (size_t)d, y + r * d, (size_t)d * sizeof *y);
    }
}

int martlet_attention(const Attention *w, const AttentionArrays *arrays, int rows)
{
    Attend t = {w, arrays, malloc((size_t)rows * (size_t)w->rotary * sizeof(float)), rows};
    if (!t.turns)
        return ENOMEM;
    turn_rows(&t);
    const size_t scratch = (size_t)TOGETHER * (2 * (size_t)w->head_dim +
                                               (size_t)(arrays->past + rows));
    int error = pool_run(cache_chunk, &t, w->kv_heads, 0);
    error = error ? error : pool_run(attend_chunk, &t, parts(rows, TOGETHER) * w->heads, scratch);
    free(t.turns);
    return error;
}
