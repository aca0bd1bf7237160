/* transpose: squares of a register's lanes, turned in registers by halving.

def transpose(x: T[:, ::1], y: mut(T[:, ::1])):
    guard(y.shape[0] >= x.shape[1], "GUARD_BOUNDS")
    guard(y.shape[1] >= x.shape[0], "GUARD_BOUNDS")
    disjoint(x, y)
    for i in loop(0, x.shape[0]):
        for j in loop(0, x.shape[1]):
            y[j, i] = x[i, j]

T: f32 f64 i32 i64 */
#include "registers.h"

#define UPPER(h, k) ((k) & h ? LANES + ((k) ^ h) : (k))
#define LOWER(h, k) ((k) & h ? LANES + (k) : (k) ^ h)
#define TURNED(h) \
    _Pragma("GCC unroll 16") for (int k = 0; k < LANES; k++) \
        if (!(k & h)) { \
            V a = r[k], b = r[k + h]; \
            r[k] = TP_SHUFFLE(I, a, b, EACH_LANE(UPPER, h)); \
            r[k + h] = TP_SHUFFLE(I, a, b, EACH_LANE(LOWER, h)); \
        }

static inline void N(turn)(const tp_array *arrays, int64_t i, int64_t j)
{
    V r[LANES];
    _Pragma("GCC unroll 16") for (int k = 0; k < LANES; k++) r[k] = N(load)(ROW(0, i + k) + j);
#if LANES == 16
    TURNED(8)
#endif
#if LANES >= 8
    TURNED(4)
#endif
#if LANES >= 4
    TURNED(2)
#endif
    TURNED(1)
    _Pragma("GCC unroll 16") for (int k = 0; k < LANES; k++) N(store)(ROW(1, j + k) + i, r[k]);
}

KERNEL(transpose)
{
    int64_t rows = DIM(0, 0), columns = DIM(0, 1), i = 0, j = 0;
    for (; rows - i >= LANES; i += LANES) {
        for (j = 0; columns - j >= LANES; j += LANES) N(turn)(arrays, i, j);
        for (; j < columns; j++)
            for (int k = 0; k < LANES; k++) ROW(1, j)[i + k] = ROW(0, i + k)[j];
    }
    for (; i < rows; i++)
        for (j = 0; j < columns; j++) ROW(1, j)[i] = ROW(0, i)[j];
    return 0;
}
#undef TURNED
