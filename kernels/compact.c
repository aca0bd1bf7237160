/* compaction: the elements whose flag is set.

def compact(keep: bool[::1], x: T[::1], kept: mut(T[::1]), count: mut(i64[()])):
    guard(keep.shape[0] <= x.shape[0], "GUARD_BOUNDS")
    guard(keep.shape[0] + 64 <= kept.shape[0], "GUARD_BOUNDS")
    disjoint(keep, kept)
    disjoint(keep, count)
    disjoint(x, kept)
    disjoint(x, count)
    disjoint(kept, count)
    for i in loop(0, keep.shape[0], k=0):
        append(kept, k, where(keep[i], x[i]))
    count[()] = k

T: f32 f64 i32 i64 */
#include "loops.h"

/* LANES bytes of 0 and 1 as a mask. */
static inline M N(flags)(const uint8_t *p)
{
#if defined __AVX512F__ && LANES == 16
    return _mm_test_epi8_mask(_mm_loadu_si128((const void *)p), _mm_set1_epi8(1));
#elif defined __AVX512F__
    return _mm_test_epi8_mask(_mm_loadl_epi64((const void *)p), _mm_set1_epi8(1));
#elif defined __AVX2__ && LANES == 8
    return -(M)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
#elif defined __AVX2__
    return -(M)_mm256_cvtepu8_epi64(_mm_loadu_si32(p));
#else
    M m;
    for (int k = 0; k < LANES; k++) m[k] = -p[k];
    return m;
#endif
}

KERNEL(compact)
{
    const uint8_t *keep = (const uint8_t *)arrays[0].data;
    const C *x = ARRAY(1);
    C *kept = ARRAY(2);
    int64_t n = DIM(0, 0), i = 0, k = 0;
    for (; n - i >= LANES; i += LANES) k += N(append)(kept + k, N(load)(x + i), N(flags)(keep + i));
    for (; i < n; i++)
        if (keep[i]) kept[k++] = x[i];
    *(int64_t *)arrays[3].data = k;
    return 0;
}
