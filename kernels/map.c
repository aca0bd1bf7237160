/* map: a linear function of every element.

def map(a: T, b: T, x: T[::1], y: mut(T[::1])):
    guard(x.shape[0] <= y.shape[0], "GUARD_BOUNDS")
    disjoint_or_same(x, y)
    for i in loop(0, x.shape[0]):
        y[i] = x[i] * a + b

T: f32 f64 i32 i64 */
#include "loops.h"

KERNEL(map)
{
    const C *x = ARRAY(0);
    C *y = ARRAY(1);
    const V a = N(splat)(SCALAR(0)), b = N(splat)(SCALAR(1));
    MAP(DIM(0, 0), y, 1, GET(x) * a + b);
    return 0;
}
