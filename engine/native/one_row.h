/* Products with one row of x, which are bound by the reading of W: ROWS rows of it at a time, whose
   sums are independent. Where only n are left, the last is taken again. Included through
   kernels.h. */

enum {
    ROWS = 4,
    AHEAD = 4096, /* bytes of W that are fetched early, at least; beyond its end, nothing happens */
    LINE = 64,
};

/* Where ROWS rows of codes, scales and biases lie. */
typedef struct {
    const uint8_t *codes[ROWS];
    const float *scales[ROWS], *biases[ROWS];
    int groups;
} Four;

INLINE void fetch(const char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_prefetch(at + i);
}

/* The scales and biases of ROWS rows. */
INLINE void fetch_scales(const Matrix *w, int row)
{
    const size_t row_size = (size_t)(w->in / w->group) * (w->type == TYPE_F32 ? 4 : 2);
    fetch((const char *)w->scales + (size_t)row * row_size, ROWS * row_size);
    fetch((const char *)w->biases + (size_t)row * row_size, ROWS * row_size);
}

/* What the first products of a chunk meet, while x is arranged for them. */
INLINE void fetch_first(const Matrix *w, int row)
{
    fetch((const char *)row_at(w, row), ROWS * row_bytes(w));
    fetch_scales(w, row);
    fetch_scales(w, row + ROWS);
}

INLINE Four four_rows(const Matrix *w, int first, int n, float *scales)
{
    Four f = {.groups = w->in / w->group};
    fetch_scales(w, first + 2 * ROWS);
    widen_scales(w, first, n, scales);
    for (int r = 0; r < ROWS; r++) {
        const int own = r < n ? r : n - 1;
        f.codes[r] = row_at(w, first + own);
        f.scales[r] = scales + own * f.groups;
        f.biases[r] = f.scales[r] + n * f.groups;
    }
    return f;
}

/* For any width, code by code in their order. */
INLINE void stream_rows(const Matrix *w, int bits, int first, int n, const float *x, float *y,
                        float *scales)
{
    const int units = w->group / UNIT;
    const Four f = four_rows(w, first, n, scales);
    vf sum[ROWS] = {{0}};
    for (int unit = 0; unit < f.groups * units; unit++) {
        const int group = unit / units;
#pragma GCC unroll 4
        for (int part = 0; part < UNIT / LANES; part++) {
            const vf v = load(x + unit * UNIT + part * LANES);
#pragma GCC unroll 4
            for (int r = 0; r < ROWS; r++) {
                const vf q = codes(f.codes[r] + (size_t)unit * 4 * (size_t)bits, bits, part);
                sum[r] += (q * f.scales[r][group] + f.biases[r][group]) * v;
            }
        }
    }
    four_totals(sum, y);
}

/* x as words meet it: vector i of a run of LANES words holds what meets their i-th codes, which
   are 2^(bits * i) too large where they lie. x is a multiple of a run. */
INLINE void arrange(const float *x, int count, int bits, float *out)
{
    const int per_word = 32 / bits, run = LANES * per_word;
    for (int start = 0; start < count; start += run) {
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

INLINE void sum_groups(const float *x, int count, int group, float *sums)
{
    for (int i = 0; i < count; i += group) {
        vf sum = {0};
        for (int j = 0; j < group; j += LANES)
            sum += load(x + i + j);
        *sums++ = total_of(sum);
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

/* The biases of four rows times the sums of x in their groups. */
INLINE void add_biases(const Four *f, const float *sums, float *y)
{
    vf sum[ROWS] = {{0}};
    float totals[ROWS];
    int group = 0;
    for (; group + LANES <= f->groups; group += LANES)
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++)
            sum[r] += load(f->biases[r] + group) * load(sums + group);
    four_totals(sum, totals);
    for (int r = 0; r < ROWS; r++) {
        for (int rest = group; rest < f->groups; rest++)
            totals[r] += f->biases[r][rest] * sums[rest];
        y[r] += totals[r];
    }
}

/* The same for 2, 4 and 8 bits, where a row is whole runs. A word's codes are multiplied where they
   lie, in the word's lane; scales and biases join once a group. x as `arrange` left it. */
INLINE void word_rows(const Matrix *w, int bits, int first, int n, const float *x,
                      const float *sums, float *y, float *scales)
{
    const int words = w->in / 32 * bits, per_word = 32 / bits;
    const int shift = __builtin_ctz((unsigned)(w->group / per_word));
    const Four f = four_rows(w, first, n, scales);
    const size_t next = ROWS * row_bytes(w), ahead = next < AHEAD ? AHEAD : next;
    vf sum[ROWS] = {{0}};
    for (int word = 0; word < words; word += LANES) {
        vu q[ROWS];
        vf part[ROWS] = {{0}};
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) {
            q[r] = *(const unaligned_vu *)(f.codes[r] + (size_t)word * 4);
            __builtin_prefetch(f.codes[r] + (size_t)word * 4 + ahead);
        }
#pragma GCC unroll 16
        for (int i = 0; i < per_word; i++) {
            const vf v = load(x + word * per_word + i * LANES);
            const uint32_t mask = ((1u << bits) - 1) << (bits * i);
#pragma GCC unroll 4
            for (int r = 0; r < ROWS; r++) {
                const vu code = i == per_word - 1 ? q[r] >> (bits * i) : q[r] & mask;
                part[r] += __builtin_convertvector((vi)code, vf) * v;
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++)
            sum[r] += part[r] * scales_of(f.scales[r], word, shift);
    }
    four_totals(sum, y);
    add_biases(&f, sums, y);
}

INLINE void plain_part(const Matrix *w, int type, const size_t *rows, const float *x, int at,
                       int count, vf *sum)
{
    const vf v = load_part(x + at, count);
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++)
        sum[r] += widen(w->weight, rows[r] + (size_t)at, count, type) * v;
}

INLINE void plain_rows(const Matrix *w, int type, int first, int n, const float *x, float *y)
{
    size_t rows[ROWS];
    for (int r = 0; r < ROWS; r++)
        rows[r] = (size_t)(first + (r < n ? r : n - 1)) * (size_t)w->in;
    vf sum[ROWS] = {{0}};
    int at = 0;
    for (; at + LANES <= w->in; at += LANES)
        plain_part(w, type, rows, x, at, LANES, sum);
    if (at < w->in)
        plain_part(w, type, rows, x, at, w->in - at, sum);
    four_totals(sum, y);
}

/* Scratch: a row of x, the sums of its groups, and the scales of ROWS rows. */
INLINE void one_row(const Matrix *w, int bits, int type, int first, int last, const float *x,
                    float *y, float *scratch)
{
    const int whole_runs = bits && 32 % bits == 0 && w->in % (LANES * 32 / bits) == 0;
    float *sums = scratch + w->in, *scales = sums + (bits ? w->in / w->group : 0);
    if (whole_runs) {
        fetch_first(w, first);
        arrange(x, w->in, bits, scratch);
        sum_groups(x, w->in, w->group, sums);
    }
    for (int row = first; row < last; row += ROWS) {
        const int n = last - row < ROWS ? last - row : ROWS;
        float products[ROWS];
        if (!bits)
            plain_rows(w, type, row, n, x, products);
        else if (whole_runs)
            word_rows(w, bits, row, n, scratch, sums, products, scales);
        else
            stream_rows(w, bits, row, n, x, products, scales);
        for (int r = 0; r < n; r++)
            y[row + r] = products[r];
    }
}
