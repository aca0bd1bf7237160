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
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define START(k) s##k = a * k
#define STEP(k) s##k = s##k * a + b;
#define TOTAL(k) + s##k
#define PEAK(T) \
    typedef T wide_##T __attribute__((vector_size(64))); \
    T peak_##T(size_t n) { /* n multiply-adds on each lane of 16 vectors, in registers */ \
        wide_##T a = {(T)0.5}, b = {(T)n}; \
        wide_##T START(0), START(1), START(2), START(3), START(4), START(5), START(6), START(7), \
            START(8), START(9), START(10), START(11), START(12), START(13), START(14), START(15); \
        for (size_t i = 0; i < n; i++) { CHAINS(STEP) } \
        b += CHAINS(TOTAL); \
        return b[0]; }
PEAK(float)
PEAK(double)
KERNELS(float, sqrtf)
KERNELS(double, sqrt)
