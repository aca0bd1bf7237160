/* gemv: a matrix times a vector, a dot product a row.

def gemv(a: T[:, ::1], x: T[::1], y: mut(T[::1])):
    guard(x.shape[0] >= a.shape[1], "GUARD_BOUNDS")
    guard(y.shape[0] >= a.shape[0], "GUARD_BOUNDS")
    disjoint(a, y)
    disjoint(x, y)
    for i in loop(0, a.shape[0]):
        for j in loop(0, a.shape[1], s=T(0)):
            s = step(s + a[i, j] * x[j])
        y[i] = s

T: f32 f64 i32 i64 */
#include "loops.h"

KERNEL(gemv)
{
    const C *x = ARRAY(1);
    C *y = ARRAY(2);
    for (int64_t i = 0; i < DIM(0, 0); i++) {
        const C *row = ROW(0, i);
        y[i] = SUM(0, DIM(0, 1), GET(row) * GET(x));
    }
    return 0;
}
