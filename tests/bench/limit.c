/* What the machine can do: the plainest loops over the same bytes, 512-bit where the compiler has them. */
#include <stddef.h>
#define KERNELS(T) \
    void copy_##T(const T *x, const T *y, T *out, size_t n) { \
        (void)y; for (size_t i = 0; i < n; i++) out[i] = x[i] + (T)1; } \
    void triad_##T(const T *x, const T *y, T *out, size_t n) { \
        for (size_t i = 0; i < n; i++) out[i] = x[i] + (T)3 * y[i]; } \
    void sum_##T(const T *x, const T *y, T *out, size_t n) { \
        (void)y; T s = 0; for (size_t i = 0; i < n; i++) s += x[i]; *out = s; } \
    void dot_##T(const T *x, const T *y, T *out, size_t n) { \
        T s = 0; for (size_t i = 0; i < n; i++) s += x[i] * y[i]; *out = s; }
KERNELS(float)
KERNELS(double)
