/* Pieces that work on rows of floats. Included through kernels.h. */

/* gate[i] = silu(gate[i]) * up[i]. */
TARGET static void gated(float *gate, const float *up, int count)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        vf g = load(gate + i);
        store(gate + i, g * sigmoid(g) * load(up + i));
    }
    if (i < count) {
        vf g = load_part(gate + i, count - i);
        store_part(gate + i, g * sigmoid(g) * load_part(up + i, count - i), count - i);
    }
}

/* y = x / sqrt(mean(x^2) + eps) * weight; weight may be NULL. */
INLINE void normalize(const float *x, const float *weight, float eps, float factor, int count,
                      float *y)
{
    vf sum[HALVES] = {{0}};
    int i = 0;
    for (; i + STEP <= count; i += STEP)
        for (int h = 0; h < HALVES; h++) {
            vf v = load(x + i + h * LANES);
            sum[h] += v * v;
        }
    float rest = 0;
    for (int j = i; j < count; j++)
        rest += x[j] * x[j];
    const float scale = factor / sqrtf((total(sum) + rest) / (float)count + eps);
    for (i = 0; i < count; i++)
        y[i] = x[i] * scale * (weight ? weight[i] : 1);
}

TARGET static void norm(const float *x, const float *weight, float eps, int count, float *y)
{
    normalize(x, weight, eps, 1, count, y);
}

/* x[i] = e^(x[i] - most): the sum. `most` is the greatest x. */
INLINE float exponentials(float *x, float most, int count)
{
    vf sum[HALVES] = {{0}};
    int i = 0;
    for (; i + STEP <= count; i += STEP)
        for (int h = 0; h < HALVES; h++) {
            vf e = exponential(load(x + i + h * LANES) - most);
            store(x + i + h * LANES, e);
            sum[h] += e;
        }
    float rest = 0;
    for (; i < count; i++) {
        x[i] = exponential(splat(x[i] - most))[0];
        rest += x[i];
    }
    return total(sum) + rest;
}

TARGET static void softmax(float *x, int count)
{
    float most = x[0];
    for (int i = 1; i < count; i++)
        most = x[i] > most ? x[i] : most;
    const float sum = exponentials(x, most, count);
    for (int i = 0; i < count; i++)
        x[i] /= sum;
}

INLINE void combine_part(const float *pairs, const float *scores, int k, const float *shared,
                         const float *residual, int width, float *y, int i, int count)
{
    vf sum = {0};
    for (int j = 0; j < k; j++)
        sum += load_part(pairs + (size_t)j * (size_t)width + i, count) * scores[j];
    sum = load_part(residual + i, count) + (sum + load_part(shared + i, count));
    store_part(y + i, sum, count);
}

/* y = residual + shared + the sum of scores[j] * pairs[j] over k rows. */
TARGET static void combine(const float *pairs, const float *scores, int k, const float *shared,
                           const float *residual, int width, float *y)
{
    int i = 0;
    for (; i + LANES <= width; i += LANES)
        combine_part(pairs, scores, k, shared, residual, width, y, i, LANES);
    if (i < width)
        combine_part(pairs, scores, k, shared, residual, width, y, i, width - i);
}

/* x = x * sigmoid(gate). */
TARGET static void open_gate(float *x, float gate, int count)
{
    const float s = sigmoid(splat(gate))[0];
    for (int i = 0; i < count; i++)
        x[i] *= s;
}
