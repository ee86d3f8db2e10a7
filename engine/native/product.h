/* y = x W^T, for the codes as MLX packs them and for plain matrices. Included through kernels.h.

   A row is one little-endian stream of codes: weight = scale * code + bias. Many rows of x meet the
   widened weights. One row of x is bound by the reading of W: where codes fill words evenly, they
   are multiplied as they lie, each word's codes in the word's lane, and scales and biases once a
   group. Either way an output has one order of summation, whatever its neighbours are. */

enum {
    UNIT = 32,     /* codes that fill whole 32-bit words at any width */
    ROWS = 4,      /* of W that meet one row of x together */
    TILE_ROWS = 4 / HALVES, /* of W and */
    TILE_X = 3,             /* of x, whose sums fill the registers */
};

INLINE uint32_t word_at(const uint8_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Codes [LANES * part, LANES * (part + 1)) of a unit. Lanes that lie together in a 32-bit word
   take theirs from it; no word reaches beyond the unit. `bits` and `part` are constants, and so is
   all arithmetic on them. */
INLINE vf codes(const uint8_t *unit, int bits, int part)
{
    vu words = {0}, shifts = {0};
    const int together = LANES * bits <= 32 ? LANES : 4;
    for (int first = 0; first < LANES; first += together) {
        int bit = (LANES * part + first) * bits;
        int byte = bit / 8 < 4 * bits - 4 ? bit / 8 : 4 * bits - 4;
        vu mine = {0};
        for (int lane = first; lane < first + together; lane++) {
            mine[lane] = UINT32_MAX;
            shifts[lane] = (uint32_t)(bit - 8 * byte + (lane - first) * bits);
        }
        words |= (word_at(unit + byte) + (vu){0}) & mine;
    }
    vu values = (words >> shifts) & ((1u << bits) - 1);
    return __builtin_convertvector((vi)values, vf);
}

INLINE size_t row_bytes(const Matrix *w)
{
    return (size_t)w->in / 8 * (size_t)w->bits;
}

INLINE void widen_all(const void *data, size_t index, int count, int type, float *out)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        store(out + i, widen(data, index + (size_t)i, LANES, type));
    if (i < count)
        store_part(out + i, widen(data, index + (size_t)i, count - i, type), count - i);
}

/* y[0..n) = the products of rows [first, first + n) with one row of x, for any width. */
INLINE void stream_rows(const Matrix *w, int bits, int n, int first, const float *x, float *y,
                        float *scratch)
{
    const int groups = w->in / w->group, units = w->group / UNIT;
    const uint8_t *row = (const uint8_t *)w->weight + (size_t)first * row_bytes(w);
    float *scales = scratch, *biases = scratch + n * groups;
    widen_all(w->scales, (size_t)first * (size_t)groups, n * groups, w->type, scales);
    widen_all(w->biases, (size_t)first * (size_t)groups, n * groups, w->type, biases);
    vf sum[ROWS][HALVES] = {{{0}}};
    for (int group = 0; group < groups; group++)
        for (int unit = group * units; unit < (group + 1) * units; unit++) {
            const uint8_t *at = row + (size_t)unit * 4 * (size_t)bits;
#pragma GCC unroll 4
            for (int part = 0; part < UNIT / LANES; part++) {
                const vf v = load(x + unit * UNIT + part * LANES);
                for (int r = 0; r < n; r++) {
                    const vf q = codes(at + (size_t)r * row_bytes(w), bits, part);
                    sum[r][part % HALVES] +=
                        (q * scales[r * groups + group] + biases[r * groups + group]) * v;
                }
            }
        }
    for (int r = 0; r < n; r++)
        y[r] = total(sum[r]);
}

/* x as words meet it: vector i of a run of LANES words holds what meets their i-th codes, which
   are 2^(bits * i) too large where they lie. `in` is a multiple of a run. */
INLINE void arrange(const float *x, int in, int bits, float *out)
{
    const int per_word = 32 / bits, run = LANES * per_word;
    for (int start = 0; start < in; start += run) {
        vf a[32 / 2], b[32 / 2];
        for (int i = 0; i < per_word; i++)
            a[i] = load(x + start + i * LANES);
        for (int pass = 1; pass < per_word; pass *= 2) {
            for (int i = 0; i < per_word / 2; i++) {
                b[i] = EVERY_SECOND(a[2 * i], a[2 * i + 1], 0);
                b[per_word / 2 + i] = EVERY_SECOND(a[2 * i], a[2 * i + 1], 1);
            }
            memcpy(a, b, sizeof a);
        }
        for (int i = 0; i < per_word; i++) {
            const float shrink = i == per_word - 1 ? 1 : 1 / (float)(1ull << (bits * i));
            store(out + start + i * LANES, a[i] * shrink);
        }
    }
}

INLINE void sum_groups(const float *x, int in, int group, float *sums)
{
    for (int i = 0; i < in; i += group) {
        vf sum[HALVES] = {{0}};
        for (int j = 0; j < group; j += STEP)
            for (int h = 0; h < HALVES; h++)
                sum[h] += load(x + i + j + h * LANES);
        *sums++ = total(sum);
    }
}

/* The scale of each of LANES words from `word` on; 2^shift of them form a group. */
INLINE vf scales_of(const float *scales, int word, int shift)
{
    if (1 << shift >= LANES)
        return splat(scales[word >> shift]);
    float lanes[2 * LANES];
    for (int i = 0; i < LANES; i += 1 << shift)
        store(lanes + i, splat(scales[(word + i) >> shift]));
    return load(lanes);
}

/* The same for 2, 4 and 8 bits, where the row is whole runs: x as `arrange` left it, and the sums
   of its groups. */
INLINE void word_rows(const Matrix *w, int bits, int n, int first, const float *x,
                      const float *sums, float *y, float *scales)
{
    const int groups = w->in / w->group, words = w->in / 32 * bits, per_word = 32 / bits;
    const int shift = __builtin_ctz((unsigned)(w->group / per_word));
    const size_t stride = row_bytes(w);
    const uint8_t *row = (const uint8_t *)w->weight + (size_t)first * stride;
    float *biases = scales + n * groups;
    widen_all(w->scales, (size_t)first * (size_t)groups, n * groups, w->type, scales);
    widen_all(w->biases, (size_t)first * (size_t)groups, n * groups, w->type, biases);
    vf sum[ROWS] = {{0}};
    for (int word = 0; word < words; word += LANES) {
        vu q[ROWS];
        vf part[ROWS] = {{0}};
#pragma GCC unroll 4
        for (int r = 0; r < n; r++) {
            const uint8_t *at = row + (size_t)r * stride + (size_t)word * 4;
            __builtin_prefetch(at + (size_t)n * stride); /* of the next rows */
            q[r] = *(const unaligned_vu *)at;
        }
#pragma GCC unroll 16
        for (int i = 0; i < per_word; i++) {
            const vf v = load(x + word * per_word + i * LANES);
            for (int r = 0; r < n; r++) {
                const uint32_t mask = ((1u << bits) - 1) << (bits * i);
                const vu code = i == per_word - 1 ? q[r] >> (bits * i) : q[r] & mask;
                part[r] += __builtin_convertvector((vi)code, vf) * v;
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < n; r++)
            sum[r] += part[r] * scales_of(scales + r * groups, word, shift);
    }
    for (int r = 0; r < n; r++) {
        float rest = 0;
        for (int group = 0; group < groups; group++)
            rest += biases[r * groups + group] * sums[group];
        y[r] = lanes_total(sum[r]) + rest;
    }
}

INLINE void plain_part(const Matrix *w, int type, int n, size_t start, const float *x, size_t at,
                       int count, vf *sum)
{
    const vf v = load_part(x + at, count);
    for (size_t r = 0; r < (size_t)n; r++)
        sum[r] += widen(w->weight, start + r * (size_t)w->in + at, count, type) * v;
}

INLINE void plain_rows(const Matrix *w, int type, int n, int first, const float *x, float *y)
{
    const size_t in = (size_t)w->in, start = (size_t)first * in;
    vf sum[ROWS] = {{0}};
    size_t at = 0;
    for (; at + LANES <= in; at += LANES)
        plain_part(w, type, n, start, x, at, LANES, sum);
    if (at < in)
        plain_part(w, type, n, start, x, at, (int)(in - at), sum);
    for (int r = 0; r < n; r++)
        y[r] = lanes_total(sum[r]);
}

/* Row `index` as float32. `scratch` holds 2 * groups floats. */
INLINE void dequantize_row(const Matrix *w, int bits, size_t index, float *out, float *scratch)
{
    const int groups = w->in / w->group, units = w->group / UNIT;
    const uint8_t *row = (const uint8_t *)w->weight + index * row_bytes(w);
    float *scales = scratch, *biases = scratch + groups;
    widen_all(w->scales, index * (size_t)groups, groups, w->type, scales);
    widen_all(w->biases, index * (size_t)groups, groups, w->type, biases);
    for (int group = 0; group < groups; group++) {
        const vf scale = splat(scales[group]), bias = splat(biases[group]);
        for (int unit = group * units; unit < (group + 1) * units; unit++) {
            const uint8_t *at = row + (size_t)unit * 4 * (size_t)bits;
#pragma GCC unroll 4
            for (int part = 0; part < UNIT / LANES; part++) {
                vf q = codes(at, bits, part);
                store(out + unit * UNIT + part * LANES, q * scale + bias);
            }
        }
    }
}

/* The products of n rows of W, already float32 and `stride` apart, with m rows of x. */
INLINE void tile(const float *w, int stride, int in, int n, const float *const *x, int m,
                 float *const *y, int at)
{
    vf sum[TILE_ROWS][TILE_X][HALVES] = {{{{0}}}};
    int i = 0;
    for (; i + STEP <= in; i += STEP)
        for (int h = 0; h < HALVES; h++) {
            vf v[TILE_X];
            for (int c = 0; c < m; c++)
                v[c] = load(x[c] + i + h * LANES);
            for (int r = 0; r < n; r++) {
                vf weight = load(w + r * stride + i + h * LANES);
                for (int c = 0; c < m; c++)
                    sum[r][c][h] += weight * v[c];
            }
        }
    for (int h = 0; i + h * LANES < in; h++) {
        const int start = i + h * LANES, count = in - start < LANES ? in - start : LANES;
        for (int r = 0; r < n; r++)
            for (int c = 0; c < m; c++)
                sum[r][c][h] += load_part(w + r * stride + start, count) *
                                load_part(x[c] + start, count);
    }
    for (int c = 0; c < m; c++)
        for (int r = 0; r < n; r++)
            y[c][at + r] = total(sum[r][c]);
}

INLINE void tiles(const float *w, int stride, int in, int n, const float *const *x, int m,
                  float *const *y, int at)
{
    int r = 0;
    for (; r + TILE_ROWS <= n; r += TILE_ROWS)
        tile(w + r * stride, stride, in, TILE_ROWS, x, m, y, at + r);
    for (; r < n; r++)
        tile(w + r * stride, stride, in, 1, x, m, y, at + r);
}

INLINE void widened_row(const Matrix *w, int bits, int type, size_t index, float *out,
                        float *scratch)
{
    if (bits)
        dequantize_row(w, bits, index, out, scratch);
    else
        widen_all(w->weight, index * (size_t)w->in, w->in, type, out);
}

/* Whether word_rows can take the matrix: at least one run of whole words, and no rest. */
INLINE int whole_runs(const Matrix *w, int bits)
{
    return bits && 32 % bits == 0 && w->in % (LANES * 32 / bits) == 0;
}

INLINE void some_rows(const Matrix *w, int bits, int type, int n, int first, const float *x,
                      float *y, float *scratch)
{
    if (!bits)
        plain_rows(w, type, n, first, x, y);
    else if (whole_runs(w, bits))
        word_rows(w, bits, n, first, scratch, scratch + w->in, y,
                  scratch + w->in + w->in / w->group);
    else
        stream_rows(w, bits, n, first, x, y, scratch);
}

INLINE void rows_of(const Matrix *w, int bits, int type, int first, int last, const float *x,
                    float *y, float *scratch)
{
    if (whole_runs(w, bits)) {
        arrange(x, w->in, bits, scratch);
        sum_groups(x, w->in, w->group, scratch + w->in);
    }
    int r = first;
    for (; r + ROWS <= last; r += ROWS)
        some_rows(w, bits, type, ROWS, r, x, y + r, scratch);
    for (; r < last; r++)
        some_rows(w, bits, type, 1, r, x, y + r, scratch);
}

/* Calls `f` with the constants of a matrix's kind, so that each kind has its own loops. */
#define FOR_KIND(w, f, ...)                                                                        \
    switch ((w)->bits ? (w)->bits : 16 + (w)->type) {                                              \
    case 2: f(w, 2, 0, __VA_ARGS__); break;                                                        \
    case 3: f(w, 3, 0, __VA_ARGS__); break;                                                        \
    case 4: f(w, 4, 0, __VA_ARGS__); break;                                                        \
    case 5: f(w, 5, 0, __VA_ARGS__); break;                                                        \
    case 6: f(w, 6, 0, __VA_ARGS__); break;                                                        \
    case 8: f(w, 8, 0, __VA_ARGS__); break;                                                        \
    case 16 + TYPE_F32: f(w, 0, TYPE_F32, __VA_ARGS__); break;                                     \
    case 16 + TYPE_F16: f(w, 0, TYPE_F16, __VA_ARGS__); break;                                     \
    case 16 + TYPE_BF16: f(w, 0, TYPE_BF16, __VA_ARGS__); break;                                   \
    }

TARGET static void row(const Matrix *w, size_t index, float *out, float *scratch)
{
    FOR_KIND(w, widened_row, index, out, scratch)
}

/* Many rows of x: the rows of W are widened once, and stay in the cache. */
INLINE void product_of_many(const Matrix *w, int first, int last, const float *const *x,
                            float *const *y, int rows, float *scratch)
{
    const int n = last - first, in = w->in, stride = (in + LANES - 1) / LANES * LANES;
    for (int r = 0; r < n; r++)
        row(w, (size_t)(first + r), scratch + r * stride, scratch + n * stride);
    int m = 0;
    for (; m + TILE_X <= rows; m += TILE_X)
        tiles(scratch, stride, in, n, x + m, TILE_X, y + m, first);
    if (rows - m == 2)
        tiles(scratch, stride, in, n, x + m, 2, y + m, first);
    else if (rows - m == 1)
        tiles(scratch, stride, in, n, x + m, 1, y + m, first);
}

TARGET static void product(const Matrix *w, int first, int last, const float *const *x,
                           float *const *y, int rows, float *scratch)
{
    if (rows == 1)
        FOR_KIND(w, rows_of, first, last, x[0], y[0], scratch)
    else
        product_of_many(w, first, last, x, y, rows, scratch);
}
