/* Inner loops of the token mixers. Included through kernels.h. */

INLINE void open_gates_part(float *y, const float *gate, int silu, int count)
{
    const vf g = load_part(gate, count), s = sigmoid(g);
    store_part(y, load_part(y, count) * (silu ? g * s : s), count);
}

/* y[i] = y[i] * sigmoid(gate[i]), times gate[i] itself where `silu`. */
INLINE void open_gates(float *y, const float *gate, int silu, int count)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        open_gates_part(y + i, gate + i, silu, LANES);
    if (i < count)
        open_gates_part(y + i, gate + i, silu, count - i);
}

INLINE void convolve_part(const float *const *inputs, const float *taps, int width, int channels,
                          int i, int count, float *y)
{
    vf sum = {0};
    for (int w = 0; w < width; w++)
        sum += load_part(inputs[w] + i, count) * load_part(taps + w * channels + i, count);
    store_part(y + i, sum * sigmoid(sum), count);
}

/* Channels [0, count) of one token: y = silu(sum of taps[w] * inputs[w]), oldest first. */
TARGET static void convolve(const float *const *inputs, const float *taps, int width, int count,
                            float *y)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        convolve_part(inputs, taps, width, count, i, LANES, y);
    if (i < count)
        convolve_part(inputs, taps, width, count, i, count - i, y);
}

/* The gated delta rule for one token of one head; S (dv, dk) is updated:
   S = decay S; d = beta (v - S k); S = S + d k'; y = S q. */
TARGET static void delta_rule(float *state, const float *q, const float *k, const float *v,
                              float decay, float beta, int dv, int dk, float *y)
{
    for (int i = 0; i < dv; i++) {
        float *row = state + (size_t)i * (size_t)dk;
        vf sum[HALVES] = {{0}};
        float rest = 0;
        int j = 0;
        for (; j + STEP <= dk; j += STEP)
            for (int h = 0; h < HALVES; h++)
                sum[h] += load(row + j + h * LANES) * load(k + j + h * LANES);
        for (int r = j; r < dk; r++)
            rest += row[r] * k[r];
        const float change = beta * (v[i] - decay * (total(sum) + rest));
        memset(sum, 0, sizeof sum);
        rest = 0;
        for (j = 0; j + STEP <= dk; j += STEP)
            for (int h = 0; h < HALVES; h++) {
                vf s = load(row + j + h * LANES) * decay + load(k + j + h * LANES) * change;
                store(row + j + h * LANES, s);
                sum[h] += s * load(q + j + h * LANES);
            }
        for (; j < dk; j++) {
            row[j] = row[j] * decay + k[j] * change;
            rest += row[j] * q[j];
        }
        y[i] = total(sum) + rest;
    }
}

/* q and k of a head to unit length, q also over sqrt(dk). */
TARGET static void unit(const float *x, float factor, int count, float *y)
{
    normalize(x, NULL, 1e-6f / (float)count, factor, count, y);
}

/* y = rms_norm(y) * weight * silu(gate). */
TARGET static void gated_norm(float *y, const float *weight, float eps, const float *gate,
                              int count)
{
    normalize(y, weight, eps, 1, count, y);
    open_gates(y, gate, 1, count);
}

/* y = y * sigmoid(gate). */
TARGET static void gate_row(float *y, const float *gate, int count)
{
    open_gates(y, gate, 0, count);
}

/* scores[r][l] = q[r] . keys[l] * scale for n rows of q and `count` keys. */
INLINE void score_rows(const float *q, int n, const float *keys, int count, int d, float scale,
                       float *scores, size_t ld)
{
    for (int l = 0; l < count; l++) {
        const float *key = keys + (size_t)l * (size_t)d;
        vf sum[4][HALVES] = {{{0}}};
        for (int j = 0; j + STEP <= d; j += STEP)
            for (int h = 0; h < HALVES; h++) {
                vf x = load(key + j + h * LANES);
                for (int r = 0; r < n; r++)
                    sum[r][h] += x * load(q + r * d + j + h * LANES);
            }
        for (int r = 0; r < n; r++) {
            float rest = 0;
            for (int j = d & ~(STEP - 1); j < d; j++)
                rest += key[j] * q[r * d + j];
            scores[(size_t)r * ld + (size_t)l] = (total(sum[r]) + rest) * scale;
        }
    }
}

TARGET static void score(const float *q, int n, const float *keys, int count, int d, float scale,
                         float *scores, size_t ld)
{
    if (n == 4)
        score_rows(q, 4, keys, count, d, scale, scores, ld);
    else
        for (int r = 0; r < n; r++)
            score_rows(q + r * d, 1, keys, count, d, scale, scores + (size_t)r * ld, ld);
}

/* y[r][j] = the sum of chances[r][l] * values[l][j] for j in [first, first + width). */
INLINE void weigh_columns(const float *chances, size_t ld, int n, const float *values, int count,
                          int d, int first, int width, float *y)
{
    vf sum[8] = {{0}};
    const int vectors = width / LANES;
    for (int l = 0; l < count; l++)
        for (int i = 0; i < vectors; i++) {
            vf x = load(values + (size_t)l * (size_t)d + first + i * LANES);
            for (int r = 0; r < n; r++)
                sum[r * vectors + i] += x * chances[(size_t)r * ld + (size_t)l];
        }
    for (int r = 0; r < n; r++)
        for (int i = 0; i < vectors; i++)
            store(y + r * d + first + i * LANES, sum[r * vectors + i]);
}

TARGET static void weigh(const float *chances, size_t ld, int n, const float *values, int count,
                         int d, float *y)
{
    int j = 0;
    for (; n == 4 && j + STEP <= d; j += STEP)
        weigh_columns(chances, ld, 4, values, count, d, j, STEP, y);
    for (int r = 0; n != 4 && r < n; r++)
        for (j = 0; j + STEP <= d; j += STEP)
            weigh_columns(chances + (size_t)r * ld, ld, 1, values, count, d, j, STEP, y + r * d);
    for (; j < d; j++)
        for (int r = 0; r < n; r++) {
            float sum = 0;
            for (int l = 0; l < count; l++)
                sum += chances[(size_t)r * ld + (size_t)l] * values[(size_t)l * (size_t)d + j];
            y[r * d + j] = sum;
        }
}
