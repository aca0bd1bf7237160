/* fold: the sum of an array.

def sum(x: T[::1], total: mut(T[()])):
    disjoint(x, total)
    for i in loop(0, x.shape[0], s=T(0)):
        s = step(s + x[i])
    total[()] = s

T: f32 f64 i32 i64 */
#include "loops.h"

KERNEL(sum)
{
    const C *x = ARRAY(0);
    *ARRAY(1) = SUM_ALONE(0, DIM(0, 0), GET(x));
    return 0;
}
