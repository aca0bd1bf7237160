/* count: how many bools are true.

def count(x: T[::1], total: mut(i64[()])):
    disjoint(x, total)
    for i in loop(0, x.shape[0], k=0):
        k = step(k + select(x[i], 1, 0))
    total[()] = k

T: bool */
#include "loops.h"

KERNEL(count)
{
    const C *x = ARRAY(0);
    *(int64_t *)arrays[1].data = BYTES_TRUE(0, DIM(0, 0), GET(x));
    return 0;
}
