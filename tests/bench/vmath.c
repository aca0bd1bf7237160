/* Times each vector math function over 4096 elements in L1, in turn with libmvec's; included after FUNCTIONS, a list of
 * X(op, dtype, lanes, arity, libmvec's name, low, high). Prints ns an element, ours and theirs, and the ratio.
 */
#include <stdio.h>
#include <time.h>

enum { N = 4096, ROUNDS = 60, REPEAT = 6 };

typedef void run(const void *x, const void *y, void *z);
static _Alignas(64) char x[8 * N], y[8 * N], z[8 * N];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static double once(run *f)
{
    double start = now();
    for (int k = 0; k < REPEAT; k++) f(x, y, z);
    return (now() - start) / REPEAT / N;
}

static void compare(const char *name, run *ours, run *theirs)
{
    double a = 1e9, b = 1e9, t;
    for (int k = 0; k < ROUNDS; k++) {
        if ((t = once(ours)) < a) a = t;
        if ((t = once(theirs)) < b) b = t;
    }
    printf("%-14s %6.3f %6.3f %5.2f\n", name, a, b, a / b);
}

#define CALL_1(f, x, y) f(x)
#define CALL_2(f, x, y) f(x, y)
#define LOOP(name, f, vec, lanes, arity)                                           \
    static __attribute__((noinline)) void name(const void *x, const void *y, void *z)  \
    {                                                                              \
        const vec *a = x, *b = y;                                                  \
        for (int i = 0; i < N / lanes; i++) ((vec *)z)[i] = CALL_##arity(f, a[i], b[i]); \
    }
#define X(op, dtype, lanes, arity, mvec, low, high)                                          \
    LOOP(ours_##op##_##dtype, tp_##op##_##dtype##x##lanes, dtype##x##lanes, lanes, arity)    \
    LOOP(theirs_##op##_##dtype, mvec, dtype##x##lanes, lanes, arity)
FUNCTIONS
#undef X

#define fill(type, p, low, high) \
    for (unsigned k = 0; k < N; k++) ((type *)p)[k] = low + (high - low) * (k * 2654435761u % 65536 / 65536.0)

int main(void)
{
    printf("ns an element    ours   mvec ratio\n");
#define X(op, dtype, lanes, arity, mvec, low, high) \
    fill(dtype, x, low, high);                      \
    fill(dtype, y, -8, 8);                          \
    compare(#op "_" #dtype "x" #lanes, ours_##op##_##dtype, theirs_##op##_##dtype);
    FUNCTIONS
}
