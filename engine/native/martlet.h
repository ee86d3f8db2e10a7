/* The C API of the native core: quantized products, the decode pieces and the expert reader.

   Arrays are row-major and contiguous, activations float32. Functions that compute return 0 or
   ENOMEM, and run on all threads of the pool; the results do not depend on their number. */
#ifndef MARTLET_H
#define MARTLET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__GNUC__)
#define MARTLET_API __attribute__((visibility("default")))
#endif

enum { TYPE_F32, TYPE_F16, TYPE_BF16 };

/* W (out, in), quantized as MLX's affine form or plain. Quantized: a row is a little-endian stream
   of `bits`-bit codes; weight = scale * code + bias with one scale and bias a group of codes. */
typedef struct {
    const void *weight;
    const void *scales; /* (out, in / group); NULL where plain, as are bits and group 0 */
    const void *biases;
    int32_t out, in;
    int32_t bits;  /* 2, 3, 4, 5, 6, 8 */
    int32_t group; /* 32, 64, 128 */
    int32_t type;  /* of scales and biases; of the weight where plain */
} Matrix;

/* The instruction set in use: the best that runs here, or the one that a test asked for.
   ENOTSUP where it does not run here. */
MARTLET_API const char *martlet_instruction_set(void);
MARTLET_API int martlet_use_instruction_set(const char *name);

/* How many threads compute, the calling one included. */
MARTLET_API void martlet_set_threads(int threads);

/* y (rows, out) = x (rows, in) W^T. */
MARTLET_API int martlet_linear(const Matrix *w, const float *x, float *y, int rows);

/* The same for several W and one x. */
MARTLET_API int martlet_linears(const Matrix *const *w, int count, const float *x, float *const *y,
                                int rows);

/* y[i] = row ids[i] of W, dequantized: (rows, in). */
MARTLET_API int martlet_embed(const Matrix *w, const uint32_t *ids, float *y, int rows);

/* One projection each, slot after slot: pair i multiplies row rows[i] of x (., in) with slot
   slots[i]: y[places[i]] = down (silu(gate x) * up x), or y[i] where places is NULL. The order of
   the pairs is free. */
typedef struct {
    Matrix gate, up, down; /* of slot 0 */
    int32_t count;         /* of slots */
} Experts;

MARTLET_API int martlet_experts(const Experts *e, const float *x, const uint32_t *slots,
                                const uint32_t *rows, const uint32_t *places, float *y,
                                int pairs);

/* Of each row of x (rows, width). */
MARTLET_API int martlet_rms_norm(const float *x, const float *weight, float eps, float *y, int rows,
                                 int width);

/* sum = x + more, and y of each row of it. */
MARTLET_API int martlet_add_norm(const float *x, const float *more, const float *weight, float eps,
                                 float *sum, float *y, int rows, int width);

/* The k most probable of gate.out experts for each row of x: ids and scores (rows, k), best first,
   the lower id first among equals. `renormalize`: the scores of a row add up to 1. */
MARTLET_API int martlet_route(const Matrix *gate, const float *x, int rows, int k, int renormalize,
                              uint32_t *ids, float *scores);

/* y = sigmoid(opening x) * down (silu(gate x) * up x); opening has one row. */
typedef struct {
    Matrix gate, up, down, opening;
} Shared;

MARTLET_API int martlet_shared(const Shared *s, const float *x, float *y, int rows);

/* y = residual + shared + the sum over a row's k pairs of score * pair; pairs (rows * k, width). */
MARTLET_API int martlet_combine(const float *pairs, const float *scores, const float *shared,
                                const float *residual, float *y, int rows, int k, int width);

/* The recurrent part of a Gated DeltaNet layer. Channels C: queries, keys (key_heads * key_dim each)
   and values (value_heads * value_dim) side by side. */
typedef struct {
    const float *conv;    /* (C, taps), oldest first */
    const float *a_log, *dt_bias; /* (value_heads) */
    const float *norm;    /* (value_dim) */
    int32_t key_heads, value_heads, key_dim, value_dim, taps;
    float eps;
} DeltaNet;

typedef struct {
    const float *mixed;    /* (rows, C), before the convolution */
    const float *z;        /* (rows, value_heads * value_dim) */
    const float *a, *b;    /* (rows, value_heads) */
    const float *conv_in;  /* (taps - 1, C) */
    const float *state_in; /* (value_heads, value_dim, key_dim) */
    float *y;              /* as z */
    float *conv_out, *state_out;
} DeltaArrays;

MARTLET_API int martlet_delta_net(const DeltaNet *w, const DeltaArrays *arrays, int rows);

/* Gated attention around its cache. The new rows of keys and values are written at `past`. */
typedef struct {
    const float *q_norm, *k_norm; /* (head_dim) */
    int32_t heads, kv_heads, head_dim, rotary;
    float theta, eps;
} Attention;

typedef struct {
    const float *q_gate;  /* (rows, heads, 2, head_dim): query, then gate */
    const float *k, *v;   /* (rows, kv_heads, head_dim) */
    float *keys, *values; /* (kv_heads, room, head_dim) */
    float *y;             /* (rows, heads, head_dim) */
    int32_t past, room;
} AttentionArrays;

MARTLET_API int martlet_attention(const Attention *w, const AttentionArrays *arrays, int rows);

/* The expert reader. A request fills `places` memory regions, one after the other, with what the
   open file holds from `offset` on. Requests come in batches; every one gets one answer: 0, an
   errno (ECANCELED where it was dropped), or -1 - n where the file ends at byte n. */
typedef struct Reader Reader;
typedef struct Batch Batch;

typedef struct {
    int64_t offset;
    int32_t file, places;
} ReadRequest;

struct iovec;
typedef ssize_t (*Preadv)(int file, const struct iovec *places, int count, off_t offset);

/* `read` stands for preadv in tests, else NULL. NULL where there is no memory or no thread. */
MARTLET_API Reader *martlet_reader_open(int threads, Preadv read);

/* Drops what is queued, finishes what is begun, ends the threads. Batches can still be waited for;
   what is submitted afterwards is dropped. `free` only after this, and after its batches. */
MARTLET_API void martlet_reader_close(Reader *reader);
MARTLET_API void martlet_reader_free(Reader *reader);

/* `places` are those of all requests in order; they are copied. Lookahead is read when no demand is
   queued. NULL where memory is short. */
MARTLET_API Batch *martlet_submit(Reader *reader, const ReadRequest *requests, int count,
                                  const struct iovec *places, int lookahead);

/* Blocks until every request is answered. */
MARTLET_API void martlet_wait(Batch *batch, int64_t *answers);

/* Drops the requests that no thread has begun: how many, and their positions. */
MARTLET_API int martlet_cancel(Batch *batch, int32_t *dropped);

/* Only when all requests have been answered. */
MARTLET_API void martlet_batch_free(Batch *batch);

#endif
