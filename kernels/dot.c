/* map >> fold: the dot product.

def dot(x: T[::1], y: T[::1], total: mut(T[()])):
    guard(x.shape[0] <= y.shape[0], "GUARD_BOUNDS")
    disjoint(x, total)
    disjoint(y, total)
    for i in loop(0, x.shape[0], s=T(0)):
        s = step(s + x[i] * y[i])
    total[()] = s

T: f32 f64 i32 i64 */
#include "loops.h"

KERNEL(dot)
{
    const C *x = ARRAY(0), *y = ARRAY(1);
    *ARRAY(2) = SUM_ALONE(0, DIM(0, 0), GET(x) * GET(y));
    return 0;
}
