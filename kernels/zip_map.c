/* zip >> map: the squared difference of two arrays.

def zip_map(x: T[::1], y: T[::1], z: mut(T[::1])):
    guard(x.shape[0] <= y.shape[0], "GUARD_BOUNDS")
    guard(x.shape[0] <= z.shape[0], "GUARD_BOUNDS")
    disjoint_or_same(x, z)
    disjoint_or_same(y, z)
    for i in loop(0, x.shape[0]):
        d = x[i] - y[i]
        z[i] = d * d

T: f32 f64 i32 i64 */
#include "loops.h"

static inline V N(squared)(V d) { return d * d; }

KERNEL(zip_map)
{
    const C *x = ARRAY(0), *y = ARRAY(1);
    C *z = ARRAY(2);
    MAP(DIM(0, 0), z, 1, N(squared)(GET(x) - GET(y)));
    return 0;
}
