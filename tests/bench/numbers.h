/* The loops that real elements and integers share. Each loop that is timed takes the arrays among the
 * case's arguments, elements T, and n; it gives what the loop in Python gives. One that makes an array
 * takes it last, and gives how many elements it has.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

double sum(const T *x, size_t n)
{
    T s = 0;
    for (size_t i = 0; i < n; i++) s += x[i];
    return s;
}

double prefix_sums(const T *x, T *y, size_t n)
{
    T s = 0;
    for (size_t i = 0; i < n; i++) y[i] = s += x[i];
    return 0;
}

double copy(const T *x, T *out, size_t n) /* no memcpy */
{
    for (size_t i = 0; i < n; i++) out[i] = x[i] + 1;
    return 0;
}
