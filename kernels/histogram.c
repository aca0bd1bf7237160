/* histogram: how often each number occurs; four tables, so that equal neighbours do not wait for each other.

def histogram(x: T[::1], counts: mut(i64[::1])):
    disjoint(x, counts)
    for i in loop(0, x.shape[0]):
        j = i64(x[i])
        counts[j] = counts[j] + 1

T: i32 i64 */
#include "registers.h"

#define MOST_BINS 1024

KERNEL(histogram)
{
    const C *x = ARRAY(0);
    int64_t *counts = (int64_t *)arrays[1].data, n = DIM(0, 0), bins = DIM(1, 0), i = 0;
    if (bins <= MOST_BINS && n >= 8 * bins) {
        static __thread int64_t more[3][MOST_BINS];
        for (int k = 0; k < 3; k++) __builtin_memset(more[k], 0, bins * sizeof **more);
        for (; n - i >= 4; i += 4) {
            counts[x[i]]++;
            more[0][x[i + 1]]++;
            more[1][x[i + 2]]++;
            more[2][x[i + 3]]++;
        }
        for (int64_t k = 0; k < bins; k++) counts[k] += more[0][k] + more[1][k] + more[2][k];
    }
    for (; i < n; i++) counts[x[i]]++;
    return 0;
}
