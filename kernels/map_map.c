/* map >> map: two functions, one after the other, in one pass.

def map_map(a: T, low: T, x: T[::1], y: mut(T[::1])):
    guard(x.shape[0] <= y.shape[0], "GUARD_BOUNDS")
    disjoint_or_same(x, y)
    for i in loop(0, x.shape[0]):
        t = x[i] * a
        y[i] = select(t > low, t, low)

T: f32 f64 i32 i64 */
#include "loops.h"

static inline V N(map_map_of)(V x, V a, V low)
{
    V t = x * a;
    return N(select)(N(gt)(t, low), t, low);
}

KERNEL(map_map)
{
    const C *x = ARRAY(0);
    C *y = ARRAY(1);
    const V a = N(splat)(SCALAR(0)), low = N(splat)(SCALAR(1));
    MAP(DIM(0, 0), y, 1, N(map_map_of)(GET(x), a, low));
    return 0;
}
