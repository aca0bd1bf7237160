/* and + count: how many bools are true in both arrays.

def and_count(x: T[::1], y: T[::1], total: mut(i64[()])):
    guard(x.shape[0] <= y.shape[0], "GUARD_BOUNDS")
    disjoint(x, total)
    disjoint(y, total)
    for i in loop(0, x.shape[0], k=0):
        k = step(k + select(x[i] & y[i], 1, 0))
    total[()] = k

T: bool */
#include "loops.h"

KERNEL(and_count)
{
    const C *x = ARRAY(0), *y = ARRAY(1);
    *(int64_t *)arrays[2].data = BYTES_TRUE(0, DIM(0, 0), GET(x) & GET(y));
    return 0;
}
