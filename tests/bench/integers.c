/* The loops over integers and bools, as one would write them, for the compiler's own vectoriser. */
#include "numbers.h"

double divide(const T *x, const T *y, T *out, size_t n) /* rounds down, as Python does */
{
    for (size_t i = 0; i < n; i++) {
        T q = x[i] / y[i], r = x[i] % y[i];
        out[i] = q - (r != 0 && (r < 0) != (y[i] < 0));
    }
    return 0;
}

double divide_7(const T *x, T *out, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = x[i] / 7 - (x[i] % 7 < 0);
    return 0;
}

double histogram(const T *x, int64_t *counts, size_t n)
{
    for (size_t i = 0; i < n; i++) counts[x[i]]++;
    return 0;
}

double popcount(const T *x, const T *y, size_t n)
{
    int64_t k = 0;
    for (size_t i = 0; i < n; i++) k += sizeof(T) > 4 ? __builtin_popcountll(x[i] & y[i]) : __builtin_popcount(x[i] & y[i]);
    return k;
}

double both(const T *x, const T *y, size_t n)
{
    int64_t k = 0;
    for (size_t i = 0; i < n; i++) k += x[i] & y[i];
    return k;
}
