/* gemm: the product of two matrices. Each sum in Python's order; tiles of 4 rows and 2 registers.

def gemm(a: T[:, ::1], b: T[:, ::1], c: mut(T[:, ::1])):
    guard(b.shape[0] >= a.shape[1], "GUARD_BOUNDS")
    guard(c.shape[0] >= a.shape[0], "GUARD_BOUNDS")
    guard(c.shape[1] >= b.shape[1], "GUARD_BOUNDS")
    disjoint(a, c)
    disjoint(b, c)
    for i in loop(0, a.shape[0]):
        for j in loop(0, b.shape[1]):
            for k in loop(0, a.shape[1], s=T(0)):
                s = step(s + a[i, k] * b[k, j])
            c[i, j] = s

T: f32 f64 i32 i64 */
#include "loops.h"

#define GEMM_ROWS 4
#define GEMM_DEPTH 256

/* Rows of c from its row i, `rows` of them, and two registers from column j: what k0 <= k < k1 add to them. */
static inline __attribute__((always_inline)) void N(gemm_tile)(
    const tp_array *arrays, int64_t i, int64_t j, int64_t k0, int64_t k1, int rows, int registers, int64_t left)
{
    V s[GEMM_ROWS][2];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < registers; v++) {
            const C *c = ROW(2, i + r) + j + v * LANES;
            s[r][v] = k0 == 0 ? N(splat)(0) : left ? N(load_part)(c, left) : N(load)(c);
        }
    for (int64_t k = k0; k < k1; k++) {
        V b[2];
        for (int v = 0; v < registers; v++) {
            const C *p = ROW(1, k) + j + v * LANES;
            b[v] = left ? N(load_part)(p, left) : N(load)(p);
        }
        for (int r = 0; r < rows; r++) {
            const V a = N(splat)(ROW(0, i + r)[k]);
            for (int v = 0; v < registers; v++) s[r][v] = s[r][v] + a * b[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < registers; v++) {
            C *c = ROW(2, i + r) + j + v * LANES;
            if (left) N(store_part)(c, s[r][v], left);
            else N(store)(c, s[r][v]);
        }
}

static inline __attribute__((always_inline)) void N(gemm_rows)(const tp_array *arrays, int64_t i, int64_t k0, int64_t k1, int rows)
{
    int64_t n = DIM(1, 1), j = 0;
    for (; n - j >= 2 * LANES; j += 2 * LANES) N(gemm_tile)(arrays, i, j, k0, k1, rows, 2, 0);
    for (; n - j >= LANES; j += LANES) N(gemm_tile)(arrays, i, j, k0, k1, rows, 1, 0);
    if (j < n) N(gemm_tile)(arrays, i, j, k0, k1, rows, 1, n - j);
}

KERNEL(gemm)
{
    int64_t depth = DIM(0, 1), k0 = 0;
    do {
        int64_t k1 = depth - k0 < GEMM_DEPTH ? depth : k0 + GEMM_DEPTH, i = 0;
        for (; DIM(0, 0) - i >= GEMM_ROWS; i += GEMM_ROWS) N(gemm_rows)(arrays, i, k0, k1, GEMM_ROWS);
        for (; i < DIM(0, 0); i++) N(gemm_rows)(arrays, i, k0, k1, 1);
        k0 = k1;
    } while (k0 < depth);
    return 0;
}
