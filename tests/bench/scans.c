/* Plain loops that carry something, as one would write them; compiled at -O3. */
#include <stddef.h>
#include <stdint.h>

#define LOOPS(T) \
    void sums_##T(const T *x, T *y, const int32_t *b, int32_t *h, size_t n) \
    { T s = 0; for (size_t i = 0; i < n; i++) y[i] = s += x[i]; } \
    void peaks_##T(const T *x, T *y, const int32_t *b, int32_t *h, size_t n) \
    { T s = x[0]; for (size_t i = 0; i < n; i++) { if (x[i] > s) s = x[i]; y[i] = s; } } \
    void smooth_##T(const T *x, T *y, const int32_t *b, int32_t *h, size_t n) \
    { T s = x[0]; for (size_t i = 0; i < n; i++) { s = (T)0.125 * x[i] + (T)0.875 * s; y[i] = s; } } \
    void filtered_##T(const T *x, T *y, const int32_t *b, int32_t *h, size_t n) \
    { for (size_t i = 1; i < n; i++) y[i] = x[i] * y[i - 1] + x[i - 1]; } \
    int64_t place_##T(const T *x, T *y, const int32_t *b, int32_t *h, size_t n) \
    { T s = x[0]; int64_t k = 0; for (size_t i = 1; i < n; i++) if (x[i] < s) { s = x[i]; k = i; } return k; } \
    void bins_##T(const T *x, T *y, const int32_t *b, int32_t *h, size_t n) \
    { for (size_t i = 0; i < n; i++) h[b[i]]++; } \
    void weights_##T(const T *x, T *y, const int32_t *b, int32_t *h, size_t n) \
    { for (size_t i = 0; i < n; i++) y[b[i]] += x[i]; } \
    void copy_##T(const T *x, T *restrict y, const int32_t *b, int32_t *h, size_t n) \
    { for (size_t i = 0; i < n; i++) y[i] = x[i]; }

LOOPS(float)
LOOPS(double)
