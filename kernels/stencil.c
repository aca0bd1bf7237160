/* stencil: an element and its four neighbours, inside the border.

def stencil(f: T, x: T[:, ::1], y: mut(T[:, ::1])):
    guard(y.shape[0] >= x.shape[0], "GUARD_BOUNDS")
    guard(y.shape[1] >= x.shape[1], "GUARD_BOUNDS")
    disjoint(x, y)
    for i in loop(1, x.shape[0] - 1):
        for j in loop(1, x.shape[1] - 1):
            y[i, j] = (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) * f

T: f32 f64 */
#include "loops.h"

KERNEL(stencil)
{
    const V f = N(splat)(SCALAR(0));
    int64_t n = DIM(0, 1) - 2;
    for (int64_t i = 1; i < DIM(0, 0) - 1 && n > 0; i++) {
        const C *up = ROW(0, i - 1) + 1, *here = ROW(0, i) + 1, *down = ROW(0, i + 1) + 1;
        C *out = ROW(1, i) + 1;
        MAP(n, out, 0, (GET(here) + GET(up) + GET(down) + GET(here - 1) + GET(here + 1)) * f);
    }
    return 0;
}
