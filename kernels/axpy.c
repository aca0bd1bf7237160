/* axpy: a multiple of one array is added to another.

def axpy(a: T, x: T[::1], y: mut(T[::1])):
    guard(x.shape[0] <= y.shape[0], "GUARD_BOUNDS")
    disjoint_or_same(x, y)
    for i in loop(0, x.shape[0]):
        y[i] = y[i] + a * x[i]

T: f32 f64 i32 i64 */
#include "loops.h"

KERNEL(axpy)
{
    const C *x = ARRAY(0);
    C *y = ARRAY(1);
    const V a = N(splat)(SCALAR(0));
    MAP(DIM(0, 0), y, 0, GET(y) + a * GET(x));
    return 0;
}
