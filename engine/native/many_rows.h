/* Products with many rows of x. Rows of W are widened and stay in the cache; tiles of 4 of
   them and 3 rows of x keep their sums in registers. Included through kernels.h. */

enum { TILE_W = 4, TILE_X = 3 };

/* y[c][r] for rows w[r] and x[c], c < m. The last columns, if any, join after the vectors. */
INLINE void tile(const float *const *w, const float *const *x, int m, int in,
                 float y[TILE_X][TILE_W])
{
    vf sum[TILE_W][TILE_X] = {{{0}}};
    int i = 0;
    for (; i + LANES <= in; i += LANES) {
        vf v[TILE_X];
#pragma GCC unroll 3
        for (int c = 0; c < m; c++)
            v[c] = load(x[c] + i);
#pragma GCC unroll 4
        for (int r = 0; r < TILE_W; r++) {
            const vf weight = load(w[r] + i);
#pragma GCC unroll 3
            for (int c = 0; c < m; c++)
                sum[r][c] += weight * v[c];
        }
    }
#pragma GCC unroll 3
    for (int c = 0; c < m; c++) {
        const vf column[] = {sum[0][c], sum[1][c], sum[2][c], sum[3][c]};
        four_totals(column, y[c]);
    }
    for (; i < in; i++)
        for (int c = 0; c < m; c++)
            for (int r = 0; r < TILE_W; r++)
                y[c][r] += w[r][i] * x[c][i];
}

/* m rows of x with n rows of W, widened and `stride` apart: y[c][0..n). */
INLINE void tiles(const float *w, int stride, int n, const float *const *x, int m, int in,
                  float *const *y, int at)
{
    for (int first = 0; first < n; first += TILE_W) {
        const int count = n - first < TILE_W ? n - first : TILE_W;
        const float *rows[TILE_W];
        float products[TILE_X][TILE_W];
        for (int r = 0; r < TILE_W; r++)
            rows[r] = w + (first + (r < count ? r : count - 1)) * stride;
        tile(rows, x, m, in, products);
        for (int c = 0; c < m; c++)
            if (count == TILE_W) /* a copy of unknown length is a call */
                memcpy(y[c] + at + first, products[c], sizeof products[c]);
            else
                memcpy(y[c] + at + first, products[c], (size_t)count * sizeof **products);
    }
}

/* w: the rows [first, last) of W, widened. */
INLINE void many_rows(const float *w, int in, int first, int last, const float *const *x,
                      float *const *y, int rows)
{
    const int n = last - first, stride = widened_stride(in);
    int c = 0;
    for (; rows - c >= TILE_X && rows - c != 4; c += TILE_X)
        tiles(w, stride, n, x + c, TILE_X, in, y + c, first);
    for (; rows - c >= 2; c += 2) /* two take no longer than one */
        tiles(w, stride, n, x + c, 2, in, y + c, first);
    if (c < rows)
        tiles(w, stride, n, x + c, 1, in, y + c, first);
}
