/* The loops over real elements as one would write them, for the compiler's own vectoriser. */
#include "numbers.h"
#include <tgmath.h>

enum { TURNS = 200, DEPTH = 8 };

#define MAP_1(f) double f##_map(const T *x, const T *y, T *out, size_t n) \
    { (void)y; for (size_t i = 0; i < n; i++) out[i] = f(x[i]); return 0; }
#define MAP_2(f) double f##_map(const T *x, const T *y, T *out, size_t n) \
    { for (size_t i = 0; i < n; i++) out[i] = f(x[i], y[i]); return 0; }
#define sigmoid(x) (1 / (1 + exp(-(x))))
MAP_1(exp) MAP_1(exp2) MAP_1(expm1) MAP_1(log) MAP_1(log2) MAP_1(log10) MAP_1(log1p) MAP_1(sin)
MAP_1(cos) MAP_1(tan) MAP_1(asin) MAP_1(acos) MAP_1(atan) MAP_1(sinh) MAP_1(cosh) MAP_1(tanh)
MAP_1(asinh) MAP_1(acosh) MAP_1(atanh) MAP_1(cbrt) MAP_1(erf) MAP_1(sigmoid) MAP_2(pow)
MAP_2(atan2) MAP_2(hypot)

double axpy(const T *x, T *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] += 2 * x[i];
    return 0;
}

double three(const T *x, const T *y, T *out, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = (x[i] + y[i]) * x[i] - (T)0.5;
    return 0;
}

double normalise(const T *x, T *out, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = x[i] / 3;
    for (size_t i = 0; i < n; i++) out[i] = out[i] > (T)0.1 ? out[i] : 0;
    return 0;
}

double dot(const T *x, const T *y, size_t n)
{
    T s = 0;
    for (size_t i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

double range(const T *x, size_t n)
{
    T low = x[0], high = x[0];
    for (size_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return high - low;
}

double filter_map(const T *x, T *kept, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] > (T)0.5) kept[k++] = x[i] * 2;
    return k;
}

double filter_sum(const T *x, size_t n)
{
    T s = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] > (T)0.5) s += x[i];
    return s;
}

double matmul(const T *a, const T *b, T *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            T s = 0;
            for (size_t k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
    return 0;
}

double matmul_ikj(const T *a, const T *b, T *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) c[i * n + j] = 0;
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
    return 0;
}

double matvec(const T *a, const T *x, T *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        T s = 0;
        for (size_t k = 0; k < n; k++) s += a[i * n + k] * x[k];
        y[i] = s;
    }
    return 0;
}

double jacobi(const T *x, T *y, size_t n)
{
    for (size_t i = 1; i + 1 < n; i++)
        for (size_t j = 1; j + 1 < n; j++)
            y[i * n + j] = (x[i * n + j] + x[(i - 1) * n + j] + x[(i + 1) * n + j]
                            + x[i * n + j - 1] + x[i * n + j + 1]) * (T)0.2;
    return 0;
}

double conv(const T *x, const T *w, T *y, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++)
        for (size_t j = 0; j + 2 < n; j++) {
            T s = 0;
            for (size_t p = 0; p < 3; p++)
                for (size_t q = 0; q < 3; q++) s += x[(i + p) * n + j + q] * w[p * 3 + q];
            y[i * n + j] = s;
        }
    return 0;
}

double transpose(const T *x, T *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) y[j * n + i] = x[i * n + j];
    return 0;
}

double distances(const T *x, T *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            T s = 0;
            for (size_t k = 0; k < DEPTH; k++) {
                T t = x[i * DEPTH + k] - x[j * DEPTH + k];
                s += t * t;
            }
            d[i * n + j] = sqrt(s);
        }
    return 0;
}

double peaks(const T *x, T *y, size_t n)
{
    T s = x[0];
    for (size_t i = 0; i < n; i++) {
        if (x[i] > s) s = x[i];
        y[i] = s;
    }
    return 0;
}

double smooth(const T *x, T *y, size_t n)
{
    T s = x[0];
    for (size_t i = 0; i < n; i++) y[i] = s = (T)0.125 * x[i] + (T)0.875 * s;
    return 0;
}

double recurrence(const T *x, T *y, size_t n)
{
    for (size_t i = 1; i < n; i++) y[i] = x[i] * y[i - 1] + x[i - 1];
    return 0;
}

double argmin(const T *x, size_t n)
{
    T best = x[0];
    size_t k = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] < best) {
            best = x[i];
            k = i;
        }
    return k;
}

double weights(const int32_t *b, const T *x, T *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[b[i]] += x[i];
    return 0;
}

double escape(const T *re, const T *im, int32_t *out, size_t n)
{
    for (size_t i = 0; i < n * n; i++) {
        T a = re[i], b = im[i], x = a, y = b;
        int count = 0;
        while (count < TURNS && x * x + y * y <= 4) {
            T next = x * x - y * y + a;
            y = 2 * x * y + b;
            x = next;
            count++;
        }
        out[i] = count;
    }
    return 0;
}

typedef T wide __attribute__((vector_size(64)));
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define START(k) wide s##k = a * k;
#define STEP(k) s##k = s##k * a + b;
#define TOTAL(k) + s##k

double peak(size_t n) /* n multiply-adds on each lane of 16 vectors, in registers */
{
    wide a = {(T)0.5}, b = {(T)n};
    CHAINS(START)
    for (size_t i = 0; i < n; i++) { CHAINS(STEP) }
    b += CHAINS(TOTAL);
    return b[0];
}
