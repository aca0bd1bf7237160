/* Runs one vector math function: over the vectors on stdin, or over many arguments to find its largest error.
 *
 * Included after the functions under test; FUNCTIONS, a list of X(op, dtype, lanes, arity); SCALARS, one of S(op, arity).
 * "sin_f32x4" names a function under test, "sin_f32" the C library's.
 *   NAME                for each vector on stdin (each x followed by its y) the results, then a byte of float flags
 *   NAME all TWIN       the largest error in ULP over all float32 values, judged by TWIN, the same on half as many doubles
 *   NAME N low high …   over N arguments in each range (of two arguments: a range each), half of them evenly spread and half
 *                       evenly in their bits, judged by the C library one size up
 * The last two print the error, and where it is.
 */
#include <complex.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void run(const char *in, char *out);
typedef long double wide(long double x, long double y);

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

static float sigmoidf(float x) { return 1 / (1 + expf(-x)); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }
#define PARTS(f, type)                                                                                       \
    static type cexp_re##f(type x, type y) { return creal##f(cexp##f(__builtin_complex(x, y))); } \
    static type cexp_im##f(type x, type y) { return cimag##f(cexp##f(__builtin_complex(x, y))); }
PARTS(f, float) PARTS(, double) PARTS(l, long double)
#define S(op, arity)                                                                                     \
    RUN(libm_##op##_f32, float, op##f, arity) RUN(libm_##op##_f64, double, op, arity)                    \
    static long double wide_##op##_f32(long double x, long double y) { return CALL_##arity(op, (double)x, (double)y); } \
    static long double wide_##op##_f64(long double x, long double y) { return CALL_##arity(op##l, x, y); }
SCALARS
#undef S

static const struct row { const char *name; run *f; int bytes, size, arity; wide *exact; } table[] = {
#define X(op, dtype, lanes, arity) \
    {#op "_" #dtype "x" #lanes, run_##op##_##dtype##x##lanes, sizeof(dtype##x##lanes), sizeof(dtype##x##lanes) / lanes, arity, wide_##op##_##dtype},
FUNCTIONS
#define S(op, arity) \
    {#op "_f32", libm_##op##_f32, 4, 4, arity, wide_##op##_f32}, {#op "_f64", libm_##op##_f64, 8, 8, arity, wide_##op##_f64},
SCALARS
};

static const struct row *row(const char *name)
{
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) if (!strcmp(name, table[i].name)) return table + i;
    fprintf(stderr, "no function %s\n", name);
    exit(1);
}

static void stream(const struct row *r)
{
    char in[128], out[65];
    while (fread(in, r->bytes, r->arity, stdin) == (size_t)r->arity) {
        feclearexcept(FE_ALL_EXCEPT);
        r->f(in, out);
        int e = fetestexcept(FE_ALL_EXCEPT);
        out[r->bytes] = !!(e & FE_DIVBYZERO) | !!(e & FE_OVERFLOW) << 1 | !!(e & FE_UNDERFLOW) << 2 | !!(e & FE_INVALID) << 3;
        fwrite(out, r->bytes + 1, 1, stdout);
    }
}

/* In units of the last place of a float or double; what is not finite must agree. */
static double ulps(long double got, long double want, int size)
{
    long double rounded = size == 4 ? (float)want : (double)want;
    if (rounded != rounded || got != got) return rounded != rounded && got != got ? 0 : INFINITY;
    if (isinf(rounded) || isinf(got)) return rounded == got ? 0 : INFINITY;
    int e = rounded == 0 ? -9999 : ilogbl(rounded), least = size == 4 ? -126 : -1022;
    return fabsl(got - want) / ldexpl(1, (e < least ? least : e) - (size == 4 ? 23 : 52));
}

/* Whether the error of each of n floats is surely not above `worst`. */
static int good(const float *y, const double *exact, int n, double worst)
{
    int bad = 0;
    for (int k = 0; k < n; k++) {
        int64_t e, field = (int64_t)0x7ff << 52;
        memcpy(&e, exact + k, 8);
        e = ((e & field) < (int64_t)897 << 52 ? (int64_t)897 << 52 : e & field) - ((int64_t)23 << 52);
        double place;
        memcpy(&place, &e, 8);
        bad |= !(fabs(y[k] - exact[k]) <= worst * place);
    }
    return !bad;
}

static void all(const struct row *r, const struct row *twin)
{
    double worst = 0, wide[16];
    float x[16], y[16], where = 0;
    int n = r->bytes / 4;
    for (uint64_t i = 0; i < 1ull << 32; i += n) {
        for (int k = 0; k < n; k++) memcpy(x + k, &(uint32_t){(uint32_t)i + k}, 4);
        r->f((char *)x, (char *)y);
        for (int k = 0; k < n; k++) wide[k] = x[k];
        for (int k = 0; k < n; k += n / 2) twin->f((char *)(wide + k), (char *)(wide + k));
        if (good(y, wide, n, worst)) continue;
        for (int k = 0; k < n; k++) {
            double e = ulps(y[k], wide[k], 4);
            if (e > worst) worst = e, where = x[k];
        }
    }
    printf("%.4f %.9g\n", worst, where);
}

static uint64_t next(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15;
    state ^= state << 13, state ^= state >> 7;
    return state ^= state << 17;
}

/* A number between two of like sign, evenly in their bits. */
static double between(double low, double high)
{
    int64_t a, b;
    memcpy(&a, &low, 8), memcpy(&b, &high, 8);
    int64_t c = a < b ? a : b, d = c + (int64_t)(next() % (uint64_t)((a < b ? b - a : a - b) + 1));
    memcpy(&low, &d, 8);
    return low;
}

static double draw(double low, double high, int by_bits)
{
    if (!by_bits) return low + (high - low) * (next() >> 11) * 0x1p-53;
    if (low < 0 && high > 0) return next() & 1 ? between(0, high) : between(-0.0, low);
    return between(low == 0 && high < 0 ? -0.0 : low, high == 0 && low < 0 ? -0.0 : high);
}

static void dense(const struct row *r, long n, const double *range)
{
    static double worst, where[2];
    union { float f32[32]; double f64[16]; } in, out;
    int lanes = r->bytes / r->size;
    for (long i = 0; i < n; i += lanes) {
        for (int k = 0; k < lanes * r->arity; k++) {
            const double *bounds = range + 2 * (k / lanes);
            double v = draw(bounds[0], bounds[1], i / lanes & 1);
            if (r->size == 4) in.f32[k] = (float)v; else in.f64[k] = v;
        }
        r->f((char *)&in, (char *)&out);
        for (int k = 0; k < lanes; k++) {
            int j = k + lanes * (r->arity - 1);
            double x = r->size == 4 ? in.f32[k] : in.f64[k], y = r->size == 4 ? in.f32[j] : in.f64[j];
            double e = ulps(r->size == 4 ? out.f32[k] : out.f64[k], r->exact(x, y), r->size);
            if (e > worst) worst = e, where[0] = x, where[1] = y;
        }
    }
    printf("%.4f %.17g %.17g\n", worst, where[0], where[1]);
}

int main(int argc, char **argv)
{
    const struct row *r = row(argc > 1 ? argv[1] : "");
    if (argc < 3) return stream(r), 0;
    if (!strcmp(argv[2], "all")) return all(r, row(argv[3])), 0;
    for (int i = 3; i + 2 * r->arity <= argc; i += 2 * r->arity) {
        double range[4];
        for (int k = 0; k < 2 * r->arity; k++) range[k] = atof(argv[i + k]);
        dense(r, atol(argv[2]), range);
    }
    return 0;
}
