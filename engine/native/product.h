/* y = x W^T. An output has one order of summation for one row of x and one for many, whatever its
   neighbours are. Included through kernels.h. */
#include "chunks.h"

#include "weights.h"

#include "many_rows.h"
#include "one_row.h"

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

TARGET static void row(const Matrix *w, int index, float *out, float *scratch)
{
    FOR_KIND(w, widened_rows, index, 1, out, scratch)
}

/* The rows [first, last) of W, widened: four at a time, as scratch has room for their scales. */
TARGET static void widen_rows(const Matrix *w, int first, int last, float *out, float *scratch)
{
    for (; first < last; first += TILE_W, out += TILE_W * widened_stride(w->in)) {
        const int n = least(TILE_W, last - first);
        FOR_KIND(w, widened_rows, first, n, out, scratch)
    }
}

TARGET static void product(const Matrix *w, int first, int last, const float *const *x,
                           float *const *y, int rows, float *scratch)
{
    if (rows == 1) {
        FOR_KIND(w, one_row, first, last, x[0], y[0], scratch)
        return;
    }
    const int together = least(tile_rows(w, rows), last - first);
    float *scales = scratch + together * widened_stride(w->in);
    for (int end; first < last; first = end) {
        end = least(first + together, last);
        widen_rows(w, first, end, scratch, scales);
        if (w->bits && end < last)
            fetch_first(w, end); /* meanwhile */
        many_rows(scratch, w->in, first, end, x, y, rows);
    }
}
