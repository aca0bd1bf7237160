/* Runs one vector math function over the vectors on stdin; for each it writes the results, then a byte of float flags.
 *
 * Included after the functions under test and FUNCTIONS, a list of X(op, dtype, lanes, arity). "sin_f32x4" names a function
 * under test, "sin_f32" the C library's. With two arguments, each vector x is followed by its vector y. A second argument,
 * "all", asks instead for the largest error in ULP over all float32 values, and where it is.
 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef void run(const char *in, char *out);
typedef double wide(double);

#define CALL_1(f, x, y) f(x)
#define CALL_2(f, x, y) f(x, y)
#define RUN(name, type, f, arity)                                          \
    static __attribute__((noinline)) void name(const char *in, char *out)  \
    {                                                                      \
        type x, y, z;                                                      \
        memcpy(&x, in, sizeof x);                                          \
        memcpy(&y, in + (arity - 1) * sizeof x, sizeof y);                 \
        z = CALL_##arity(f, x, y);                                         \
        memcpy(out, &z, sizeof z);                                         \
    }
#define X(op, dtype, lanes, arity) RUN(run_##op##_##dtype##x##lanes, dtype##x##lanes, tp_##op##_##dtype##x##lanes, arity)
FUNCTIONS
#undef X

#define SCALARS S(exp, 1) S(log, 1) S(sin, 1) S(cos, 1) S(tan, 1) S(tanh, 1) S(pow, 2)
#define S(op, arity) RUN(libm_##op##_f32, float, op##f, arity) RUN(libm_##op##_f64, double, op, arity)
SCALARS
#undef S

static const struct { const char *name; run *f; int bytes, arity; wide *exact; } table[] = {
#define X(op, dtype, lanes, arity) \
    {#op "_" #dtype "x" #lanes, run_##op##_##dtype##x##lanes, sizeof(dtype##x##lanes), arity, (wide *)op},
FUNCTIONS
#define S(op, arity) {#op "_f32", libm_##op##_f32, 4, arity, 0}, {#op "_f64", libm_##op##_f64, 8, arity, 0},
SCALARS
};

static int stream(run *f, int bytes, int arity)
{
    char in[128], out[65];
    while (fread(in, bytes, arity, stdin) == (size_t)arity) {
        feclearexcept(FE_ALL_EXCEPT);
        f(in, out);
        int e = fetestexcept(FE_ALL_EXCEPT);
        out[bytes] = !!(e & FE_DIVBYZERO) | !!(e & FE_OVERFLOW) << 1 | !!(e & FE_UNDERFLOW) << 2 | !!(e & FE_INVALID) << 3;
        fwrite(out, bytes + 1, 1, stdout);
    }
    return 0;
}

static double ulps(float got, double want)
{
    float rounded = (float)want;
    if (rounded != rounded || got != got) return rounded != rounded && got != got ? 0 : INFINITY;
    if (isinf(rounded) || isinf(got)) return rounded == got ? 0 : INFINITY;
    int e = ilogb(rounded);
    return fabs(got - want) / ldexp(1, (rounded == 0 || e < -126 ? -126 : e) - 23);
}

static int scan(run *f, int bytes, wide *exact)
{
    double worst = -1;
    float x[16], y[16], where = 0;
    for (uint64_t i = 0; i < 1ull << 32; i += bytes / 4) {
        for (int k = 0; k < bytes / 4; k++) memcpy(x + k, &(uint32_t){(uint32_t)i + k}, 4);
        f((char *)x, (char *)y);
        for (int k = 0; k < bytes / 4; k++) {
            double e = ulps(y[k], exact(x[k]));
            if (e > worst) worst = e, where = x[k];
        }
    }
    return printf("%.4f %.9g\n", worst, where) < 0;
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; argc > 1 && i < sizeof table / sizeof *table; i++)
        if (!strcmp(argv[1], table[i].name))
            return argc > 2 ? scan(table[i].f, table[i].bytes, table[i].exact) : stream(table[i].f, table[i].bytes, table[i].arity);
    fprintf(stderr, "no function %s\n", argc > 1 ? argv[1] : "");
    return 1;
}
