/* filter >> fold: the sum of the elements above a threshold.

def filter_sum(low: T, x: T[::1], total: mut(T[()])):
    disjoint(x, total)
    for i in loop(0, x.shape[0], s=T(0)):
        v = x[i]
        s = step(select(v > low, s + v, s))
    total[()] = s

T: f32 f64 i32 i64 */
#include "loops.h"

static inline V N(or_nothing)(V v, V low)
{
    return N(select)(N(gt)(v, low), v, N(splat)((C)-0.0));
}

KERNEL(filter_sum)
{
    const C *x = ARRAY(0);
    const V low = N(splat)(SCALAR(0));
    *ARRAY(1) = SUM_ALONE(0, DIM(0, 0), N(or_nothing)(GET(x), low));
    return 0;
}
