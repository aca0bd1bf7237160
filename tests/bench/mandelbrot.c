/* Plain escape loops, as one would write them; compiled at -O3. */
#include <stddef.h>
#include <stdint.h>

#define ESCAPE(T) \
    void escape_##T(const T *re, const T *im, int32_t *out, int64_t m, size_t n) \
    { \
        for (size_t i = 0; i < n; i++) { \
            T a = re[i], b = im[i], x = a, y = b; \
            int64_t count = 0; \
            while (count < m && x * x + y * y <= 4) { \
                T next = x * x - y * y + a; \
                y = 2 * x * y + b; \
                x = next; \
                count++; \
            } \
            out[i] = (int32_t)count; \
        } \
    }

ESCAPE(float)
ESCAPE(double)
