/* fold: the least element, or `start`; NaNs are passed over, and of equal zeros the first stays.

def min(start: T, x: T[::1], found: mut(T[()])):
    disjoint(x, found)
    for i in loop(0, x.shape[0], m=start):
        m = step(min(m, x[i]))
    found[()] = m

T: f32 f64 i32 i64 */
#include "loops.h"

#define TAKEN(m, x) N(lesser)(x, m)

KERNEL(min)
{
    const C *x = ARRAY(0), start = SCALAR(0);
    int64_t n = DIM(0, 0);
    C m = GROUP_FOLD(0, n, start, TAKEN, GET(x));
#if T_FLOAT
    if (start != start) m = start;
    else if (m == 0 && start == 0) m = start;
    else if (m == 0)
        for (int64_t i = 0; i < n; i++)
            if (x[i] == 0) {
                m = x[i];
                break;
            }
#endif
    *ARRAY(1) = m;
    return 0;
}
#undef TAKEN
