/* The loops over complex elements T, as one would write them. */
#include <stddef.h>
#include <stdint.h>
#include <tgmath.h>

enum { TURNS = 200 };

double escape_complex(const T *c, int32_t *out, size_t n)
{
    for (size_t i = 0; i < n * n; i++) {
        T z = 0;
        int count = 0;
        while (count < TURNS && fabs(z) <= 2) {
            z = z * z + c[i];
            count++;
        }
        out[i] = count;
    }
    return 0;
}
