/* Reading weights as MLX packs them: a row is one little-endian stream of codes, and a weight is
   scale * code + bias, with one scale and bias a group. Included through kernels.h. */

enum { UNIT = 32 }; /* codes that fill whole 32-bit words at any width */

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

INLINE const uint8_t *row_at(const Matrix *w, int row)
{
    return (const uint8_t *)w->weight + (size_t)row * row_bytes(w);
}

INLINE void widen_all(const void *data, size_t index, int count, int type, float *out)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        store(out + i, widen(data, index + (size_t)i, LANES, type));
    for (; i < count; i++) /* rarely more than a few, and a copy of unknown length is a call */
        store_part(out + i, widen(data, index + (size_t)i, 1, type), 1);
}

/* The scales of n rows and then their biases: 2 * n * groups floats. */
INLINE void widen_scales(const Matrix *w, int row, int n, float *out)
{
    const int groups = w->in / w->group;
    const size_t at = (size_t)row * (size_t)groups;
    widen_all(w->scales, at, n * groups, w->type, out);
    widen_all(w->biases, at, n * groups, w->type, out + n * groups);
}

/* n rows as float32. */
INLINE void dequantize_rows(const Matrix *w, int bits, int first, int n, float *out, float *scales)
{
    const int groups = w->in / w->group, units = w->group / UNIT;
    widen_scales(w, first, n, scales);
    for (int r = 0; r < n; r++) {
        const uint8_t *at = row_at(w, first + r);
        float *to = out + r * widened_stride(w->in);
        for (int group = r * groups; group < (r + 1) * groups; group++) {
            const float scale = scales[group], bias = scales[n * groups + group];
            for (int unit = 0; unit < units; unit++, at += 4 * bits, to += UNIT)
#pragma GCC unroll 4
                for (int part = 0; part < UNIT / LANES; part++)
                    store(to + part * LANES, codes(at, bits, part) * scale + bias);
        }
    }
}

/* n <= 4 rows, widened_stride() apart; scratch: 2 * n * groups floats. */
INLINE void widened_rows(const Matrix *w, int bits, int type, int first, int n, float *out,
                         float *scratch)
{
    if (bits)
        dequantize_rows(w, bits, first, n, out, scratch);
    for (int r = 0; !bits && r < n; r++)
        widen_all(w->weight, (size_t)(first + r) * (size_t)w->in, w->in, type,
                  out + r * widened_stride(w->in));
}
