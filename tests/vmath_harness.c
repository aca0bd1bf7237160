/* Runs one vector math function over the vectors on stdin; for each writes the results, then a byte of float flags.
 *
 * Included after the functions under test and FUNCTIONS, a list of X(op, dtype, lanes, arity). The name "libm" instead of
 * lanes runs the C library's scalar function. With two arguments, each vector x is followed by its vector y.
 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef void run(const char *in, char *out);

#define CALL_1(f, x, y) f(x)
#define CALL_2(f, x, y) f(x, y)
#define X(op, dtype, lanes, arity)                                                    \
    static __attribute__((noinline)) void run_##op##_##dtype##x##lanes(const char *in, char *out) { \
        dtype##x##lanes x, y, z;                                                      \
        memcpy(&x, in, sizeof x);                                                     \
        memcpy(&y, in + (arity - 1) * sizeof x, sizeof y);                            \
        z = CALL_##arity(tp_##op##_##dtype##x##lanes, x, y);                          \
        memcpy(out, &z, sizeof z);                                                    \
    }
FUNCTIONS
#undef X

#define LIBM(op, f, type, dtype, arity)                                               \
    static __attribute__((noinline)) void libm_##op##_##dtype(const char *in, char *out) { \
        type x, y, z;                                                                 \
        memcpy(&x, in, sizeof x);                                                     \
        memcpy(&y, in + (arity - 1) * sizeof x, sizeof y);                            \
        z = CALL_##arity(op##f, x, y);                                                \
        memcpy(out, &z, sizeof z);                                                    \
    }
#define BOTH(op, arity) LIBM(op, f, float, f32, arity) LIBM(op, , double, f64, arity)
BOTH(exp, 1) BOTH(log, 1) BOTH(sin, 1) BOTH(cos, 1) BOTH(tan, 1) BOTH(tanh, 1) BOTH(pow, 2)

static const struct { const char *name; run *f; int bytes, arity; } table[] = {
#define X(op, dtype, lanes, arity) {#op "_" #dtype "x" #lanes, run_##op##_##dtype##x##lanes, sizeof(dtype##x##lanes), arity},
FUNCTIONS
#define SCALAR(op, arity) {#op "_f32", libm_##op##_f32, 4, arity}, {#op "_f64", libm_##op##_f64, 8, arity},
SCALAR(exp, 1) SCALAR(log, 1) SCALAR(sin, 1) SCALAR(cos, 1) SCALAR(tan, 1) SCALAR(tanh, 1) SCALAR(pow, 2)
};

int main(int argc, char **argv) {
    char in[128], out[65];
    for (unsigned i = 0; argc == 2 && i < sizeof table / sizeof *table; i++) {
        if (strcmp(argv[1], table[i].name)) continue;
        while (fread(in, table[i].bytes, table[i].arity, stdin) == (size_t)table[i].arity) {
            feclearexcept(FE_ALL_EXCEPT);
            table[i].f(in, out);
            int e = fetestexcept(FE_ALL_EXCEPT);
            out[table[i].bytes] = !!(e & FE_DIVBYZERO) | !!(e & FE_OVERFLOW) << 1 | !!(e & FE_UNDERFLOW) << 2 | !!(e & FE_INVALID) << 3;
            fwrite(out, table[i].bytes + 1, 1, stdout);
        }
        return 0;
    }
    fprintf(stderr, "no function %s\n", argc > 1 ? argv[1] : "");
    return 1;
}
