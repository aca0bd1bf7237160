/* filter >> map: twice the elements above a threshold. A whole register is written at the end.

def filter_map(low: T, x: T[::1], kept: mut(T[::1]), count: mut(i64[()])):
    guard(x.shape[0] + 64 <= kept.shape[0], "GUARD_BOUNDS")
    disjoint(x, kept)
    disjoint(x, count)
    disjoint(kept, count)
    for i in loop(0, x.shape[0], k=0):
        v = x[i]
        append(kept, k, where(v > low, v + v))
    count[()] = k

T: f32 f64 i32 i64 */
#include "loops.h"

KERNEL(filter_map)
{
    const C *x = ARRAY(0);
    C *kept = ARRAY(1);
    const V above = N(splat)(SCALAR(0));
    int64_t n = DIM(0, 0), i = 0, k = 0;
    for (; n - i >= LANES; i += LANES) {
        V v = N(load)(x + i);
        k += N(append)(kept + k, v + v, N(gt)(v, above));
    }
    if (i < n) {
        V v = N(load_part)(x + i, n - i);
        k += N(append)(kept + k, v + v, N(both)(N(first)(n - i), N(gt)(v, above)));
    }
    *(int64_t *)arrays[2].data = k;
    return 0;
}
