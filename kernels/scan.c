/* scan: the running sum, in logarithmic steps within a register.

def scan(x: T[::1], y: mut(T[::1])):
    guard(y.shape[0] >= x.shape[0], "GUARD_BOUNDS")
    disjoint_or_same(x, y)
    for i in loop(0, x.shape[0], s=T(0)):
        t = s + x[i]
        y[i] = t
        s = step(t)

T: i32 i64 */
#include "loops.h"

#define MOVED(h, k) ((k) >= h ? (k) - h : LANES)
#define PLUS_MOVED(v, h) (v + TP_SHUFFLE(I, v, ((V){0}), EACH_LANE(MOVED, h)))
#define LAST(h, k) (LANES - 1)

static inline V N(running)(V v)
{
    v = PLUS_MOVED(v, 1);
#if LANES >= 4
    v = PLUS_MOVED(v, 2);
#endif
#if LANES >= 8
    v = PLUS_MOVED(v, 4);
#endif
#if LANES == 16
    v = PLUS_MOVED(v, 8);
#endif
    return v;
}

KERNEL(scan)
{
    const C *x = ARRAY(0);
    C *y = ARRAY(1);
    int64_t n = DIM(0, 0), i = 0;
    V carry = {0};
    for (; n - i >= LANES; i += LANES) {
        V v = N(running)(N(load)(x + i));
        N(store)(y + i, v + carry);
        carry += TP_SHUFFLE(I, v, v, EACH_LANE(LAST, 0));
    }
    if (i < n) N(store_part)(y + i, N(running)(N(load_part)(x + i, n - i)) + carry, n - i);
    return 0;
}
