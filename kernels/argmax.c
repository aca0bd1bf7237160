/* argmax: where the first of the greatest elements is, found by blocks.

def argmax(x: T[::1], at: mut(i64[()])):
    guard(x.shape[0] >= 1, "GUARD_EMPTY")
    disjoint(x, at)
    for i in loop(1, x.shape[0], best=x[0], k=0):
        if x[i] > best:
            value = give(x[i])
            place = give(i)
        else:
            value = give(best)
            place = give(k)
        best = step(value)
        k = step(place)
    at[()] = k

T: f32 f64 i32 i64 */
#include "loops.h"

#define TAKEN(m, x) N(greater)(x, m)

KERNEL(argmax)
{
    const C *x = ARRAY(0);
    C best = x[0];
    int64_t n = DIM(0, 0), from = 0;
    for (int64_t block = 0; block < n; block += 1024) {
        C m = GROUP_FOLD(block, block + 1024 < n ? block + 1024 : n, best, TAKEN, GET(x));
        if (m > best) best = m, from = block;
    }
    if (best == best)  /* else the first is a NaN, and less than none */
        while (x[from] != best) from++;
    *(int64_t *)arrays[1].data = from;
    return 0;
}
#undef TAKEN
