/* The plain loops of nests.py, for the compiler's own vectoriser. n: the length of each axis. */
#include <math.h>
#include <stddef.h>
#define KERNELS(T, ROOT) \
    void matmul_##T(T *c, const T *a, const T *b, size_t n) { \
        for (size_t i = 0; i < n; i++) for (size_t j = 0; j < n; j++) { \
            T s = 0; \
            for (size_t k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j]; \
            c[i * n + j] = s; } } \
    void matvec_##T(T *y, const T *a, const T *x, size_t n) { \
        for (size_t i = 0; i < n; i++) { \
            T s = 0; \
            for (size_t k = 0; k < n; k++) s += a[i * n + k] * x[k]; \
            y[i] = s; } } \
    void jacobi_##T(T *b, const T *a, const T *unused, size_t n) { \
        (void)unused; \
        for (size_t i = 1; i + 1 < n; i++) for (size_t j = 1; j + 1 < n; j++) \
            b[i * n + j] = (T)0.2 * (a[i * n + j] + a[(i - 1) * n + j] + a[(i + 1) * n + j] \
                                     + a[i * n + j - 1] + a[i * n + j + 1]); } \
    void conv_##T(T *b, const T *a, const T *w, size_t n) { \
        for (size_t i = 0; i + 2 < n; i++) for (size_t j = 0; j + 2 < n; j++) { \
            T s = 0; \
            for (size_t p = 0; p < 3; p++) for (size_t q = 0; q < 3; q++) \
                s += a[(i + p) * n + j + q] * w[p * 3 + q]; \
            b[i * n + j] = s; } } \
    void transpose_##T(T *b, const T *a, const T *unused, size_t n) { \
        (void)unused; \
        for (size_t i = 0; i < n; i++) for (size_t j = 0; j < n; j++) b[j * n + i] = a[i * n + j]; } \
    void distances_##T(T *d, const T *x, const T *unused, size_t n) { \
        (void)unused; \
        for (size_t i = 0; i < n; i++) for (size_t j = 0; j < n; j++) { \
            T s = 0; \
            for (size_t k = 0; k < 8; k++) { T t = x[i * 8 + k] - x[j * 8 + k]; s += t * t; } \
            d[i * n + j] = ROOT(s); } }
KERNELS(float, sqrtf)
KERNELS(double, sqrt)
