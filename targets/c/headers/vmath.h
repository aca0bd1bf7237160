/* Vector math: each algorithm once, for any size of vector and any ISA. This file has what depends on the ISA, and what all functions
 * share; the functions are in vmath_exp.h, _log.h, _trig.h, _arc.h, _root.h, _erf.h, _pow.h and _complex.h.
 *
 * Templates. vector_math.py takes the sections that a function needs and replaces tokens in them. A section starts with
 * "//: name needs …"; of several forms "name@tag.tag" the one with the most specific tags (function, dtype, bits, target) is taken.
 * The tokens:
 *     F, I, U      the vector of floats, and of signed and unsigned integers as wide    f32x16, i32x16, u32x16
 *     H, D         in pow's f32 form: half of F, and its lanes as doubles               f32x8, f64x8
 *     name_F       the macro or function for that vector                                fma_f32x16
 *     $name        a word of the dtype, the size or the function: the tables of vector_math.py
 *     horner_F(x, c, b, a)    c x**2 + b x + a, by Horner's rule.
 *
 * Ordinary lanes go through a polynomial and raise nothing but inexact (and underflow, near zero). Rare lanes are found by
 * integer compares, which are quiet; the polynomial gets 1 in their place, and libm, out of line, gives their results and
 * their flags. So a lane's bits never depend on its neighbours. Polynomials are minimax fits of our own (Remez exchange, or
 * least squares reweighted until the errors are level; coefficients rounded from the lowest up, the rest refitted each time).
 *
 * tests/tools/ulp.py measures errors: op by op they stay below `ulps` of the op table. All targets with an fma give the same bits
 * for ordinary lanes, at every size; for rare ones, where they have the same libm. Without fma (sse2) the last bits differ.
 */

//: mask
/* Masks are lanes of 0 or -1. */
#define mask_F I
#define gt_F(a, b) ((I)((a) > (b)))

//: mask@sse2.f64
/* No 64-bit compare: the upper halves decide, and every bound is chosen so that they can. */
typedef int tv_halves __attribute__((vector_size(16)));
#define tv_upper(v) TP_SHUFFLE(tv_halves, v, v, 1, 1, 3, 3)
#define mask_F I
#define gt_F(a, b) ((I)tv_upper((tv_halves)(a) > (tv_halves)((I){} + (b))))

//: mask@avx512
/* Masks are bits of an integer. */
typedef $int tv_I __attribute__((vector_size($bytes)));
#define mask_F unsigned
#define gt_F(a, b) ((unsigned)__builtin_ia32_cmp$q${bits}_mask((tv_I)(a), (tv_I)((I){} + (b)), 6, -1))

//: select
#define select_F(m, a, b) ((F)(((I)(a) & (m)) | ((I)(b) & ~(m))))

//: select@avx2
#ifdef __clang__
#define select_F(m, a, b) ((F)(((I)(a) & (m)) | ((I)(b) & ~(m))))
#else
#define select_F(m, a, b) __builtin_ia32_blendv$ps$v256((F)(b), (F)(a), (F)(m))
#endif

//: select@avx512
#ifdef __clang__
#define select_F(m, a, b) ((F)__builtin_ia32_select${ps}_$bits(m, (F)(a), (F)(b)))
#else
#define select_F(m, a, b) ((F)__builtin_ia32_blendm${ps}_${bits}_mask((F)(b), (F)(a), m))
#endif

//: bits@x86_64
/* Lane k of a mask in bit k; and whether there is one. */
#define bits_F(m) __builtin_ia32_movmsk$ps$v256((F)(m))
#define any_F(m) bits_F(m)

//: bits@x86_64.avx512
#define bits_F(m) (m)
#define any_F(m) (m)

//: bits@aarch64 needs any
#define bits_F(m) ((m)[0] & 1 | (m)[1] & 2)

//: bits@aarch64.f32 needs any
#define bits_F(m) ((m)[0] & 1 | (m)[1] & 2 | (m)[2] & 4 | (m)[3] & 8)

//: any@aarch64
typedef __UINT64_TYPE__ tv_words __attribute__((vector_size(16)));
#define any_F(m) ((((tv_words)(m))[0] | ((tv_words)(m))[1]) != 0)

//: fma
/* a b + c, rounded twice. */
#define fma_F(a, b, c) ((a) * (b) + (c))

//: fma@fused needs gccfma
#if defined __clang__ && __has_builtin(__builtin_elementwise_fma)
#define fma_F(a, b, c) __builtin_elementwise_fma(a, b, c)
#elif defined __clang__
static inline __attribute__((always_inline)) F fma_F(F a, F b, F c)
{
#pragma STDC FP_CONTRACT ON
    return a * b + c;
}
#else
#define fma_F(a, b, c) gccfma_F(a, b, c)
#endif

//: gccfma@x86_64
#define gccfma_F(a, b, c) __builtin_ia32_vfmadd$ps$v256(a, b, c)

//: gccfma@x86_64.512
#define gccfma_F(a, b, c) __builtin_ia32_vfmadd${ps}512_mask(a, b, c, -1, 4)

//: gccfma@aarch64
#define gccfma_F(a, b, c) __builtin_aarch64_fmav${lanes}$sf(a, b, c)

//: base needs mask select bits fma
#define TP_INLINE static inline __attribute__((always_inline))
#define TP_ALIGNED __attribute__((aligned(64)))
#define all_F(c) ((F){} + ($s)(c))
#define rarely_F(m) __builtin_expect(any_F(m), 0)

//: types
typedef $s F __attribute__((vector_size($bytes)));
typedef __INT${width}_TYPE__ I __attribute__((vector_size($bytes)));
typedef __UINT${width}_TYPE__ U __attribute__((vector_size($bytes)));

//: lane
/* One lane, by libm. */
extern $s $op$f($s);
#define lane_${op}_F $op$f

//: lane@sigmoid
extern $s exp$f($s);
static inline $s lane_sigmoid_F($s x) { return 1 / (1 + exp$f(-x)); }

//: idle
/* The argument of the polynomial in rare lanes, in place of x. */
#define idle_${op}_F 1

//: idle@atanh
#define idle_${op}_F 0

//: patched needs base patch lane idle
/* A function with rare lanes: the polynomial for all lanes, then libm for the rare ones. */
TP_INLINE F tp_${op}_F(F x)
{
    mask_F m = ${op}_rare_F(x);
    F c = x;
    if (rarely_F(m)) c = select_F(m, all_F(idle_${op}_F), x);
    F y = ${op}_core_F(c);
    return rarely_F(m) ? patch_F(x, y, bits_F(m), lane_${op}_F) : y;
}

//: patch
/* y with the lanes of `bits` from libm. */
static __attribute__((noinline, cold)) F patch_F(F x, F y, unsigned bits, $s (*f)($s))
{
    for (; bits; bits &= bits - 1) {
        int k = __builtin_ctz(bits);
        y[k] = f(x[k]);
    }
    return y;
}

//: patched2 needs base patch2
TP_INLINE F tp_${op}_F(F x, F y)
{
    mask_F m = ${op}_rare_F(x, y);
    F c = x, d = y;
    if (rarely_F(m)) c = select_F(m, all_F(1), x), d = select_F(m, all_F(1), y);
    F z = ${op}_core_F(c, d);
    return rarely_F(m) ? patch2_${op}_F(x, y, z, bits_F(m)) : z;
}

//: lane2
extern $s $op$f($s, $s);
#define lane2_${op}_F $op$f

//: patch2 needs lane2
static __attribute__((noinline, cold)) F patch2_${op}_F(F x, F y, F z, unsigned bits)
{
    for (; bits; bits &= bits - 1) {
        int k = __builtin_ctz(bits);
        z[k] = lane2_${op}_F(x[k], y[k]);
    }
    return z;
}

//: larger needs base
/* The larger of |x| and |y|, by the sign of the difference of their bits: a sign can be tested on SSE2, too (see mask@sse2.f64). */
TP_INLINE F larger_F(F x, F y)
{
    F a = (F)((I)x & $abs), b = (F)((I)y & $abs);
    return select_F(gt_F((I){}, (I)b - (I)a), a, b);
}

//: larger@avx512.512 needs base
/* The same, without a flag for a NaN; of a NaN and a number it gives the number if that is y. */
TP_INLINE F larger_F(F x, F y)
{
    F a = (F)((I)x & $abs), b = (F)((I)y & $abs);
#ifdef __clang__
    return __builtin_ia32_max${ps}512(a, b, 8);
#else
    return __builtin_ia32_max${ps}512_mask(a, b, a, -1, 8);
#endif
}

//: abnormal needs base
/* Lanes that are not positive, normal and finite: bits outside [least normal, inf), moved so that one signed compare tells. */
#define abnormal_F(x) gt_F((I)((U)(x) + $inf), -2 * $normal - 1)

//: extreme needs base
/* Lanes whose magnitude is below 32 times the least normal number, so that small parts of it lose bits, or so large that a sum of two
 * may overflow. */
#define extreme_F(a) gt_F((I)((U)(a) + ($sign - 32 * $normal)), $inf - 34 * $normal - 1 - $abs - 1)

//: clamp needs base
/* The smaller of a and c, both positive; NaN stays. */
#define clamp_F(a, c) select_F(gt_F((I)(a), (I)all_F(c)) ^ gt_F((I)(a), $inf), all_F(c), a)

//: clamp@sse2.f64 needs base
/* The same; a NaN whose upper half is that of inf is told by a quiet compare of floats. */
#define clamp_F(a, c) select_F(gt_F((I)(a), (I)all_F(c)) & (I)((a) == (a)), all_F(c), a)

//: clamp@avx512.512 needs base
#ifdef __clang__
#define clamp_F(a, c) __builtin_ia32_min${ps}512(all_F(c), a, 8)
#else
#define clamp_F(a, c) __builtin_ia32_min${ps}512_mask(all_F(c), a, a, -1, 8)
#endif

//: table@f64 needs base
/* One of 16 numbers of a `static const double name[16]`, by the low four bits of each lane of i. */
#define table_F(t, i) ((F){(t)[(i)[0] & 15], (t)[(i)[1] & 15]})

//: table@f64.256 needs base
#define table_F(t, i) ((F){(t)[(i)[0] & 15], (t)[(i)[1] & 15], (t)[(i)[2] & 15], (t)[(i)[3] & 15]})

//: table@avx512.512.f64 needs base
/* The table is in two registers. */
#ifdef __clang__
#define table_F(t, i) __builtin_ia32_vpermi2varpd512(*(const F *)(t), (tv_I)(i), *(const F *)((t) + 8))
#else
#define table_F(t, i) __builtin_shuffle(*(const F *)(t), *(const F *)((t) + 8), (I)(i))
#endif

//: pairs@f64 needs base
/* A table of 16 pairs, each beside the other, and the pair of each lane, by its offset in bytes. */
#define PAIR_F(a, b) a, b,
#define TABLE_OF_PAIRS_F(name, rows) static const double name[32] TP_ALIGNED = {rows(PAIR_F)}
TP_INLINE void pairs_F(const double *table, U i, F *a, F *b)
{
    const char *t = (const char *)table;
    F u = *(const F *)(t + i[0]), v = *(const F *)(t + i[1]);
    *a = TP_SHUFFLE(I, u, v, 0, 2), *b = TP_SHUFFLE(I, u, v, 1, 3);
}

//: pairs@f64.256 needs base
#define PAIR_F(a, b) a, b,
#define TABLE_OF_PAIRS_F(name, rows) static const double name[32] TP_ALIGNED = {rows(PAIR_F)}
TP_INLINE void pairs_F(const double *table, U i, F *a, F *b)
{
    const char *t = (const char *)table;
#if defined __clang__ || __GNUC__ >= 12
    typedef double row __attribute__((vector_size(16)));
    F u = __builtin_shufflevector(*(const row *)(t + i[0]), *(const row *)(t + i[2]), 0, 1, 2, 3);
    F v = __builtin_shufflevector(*(const row *)(t + i[1]), *(const row *)(t + i[3]), 0, 1, 2, 3);
    *a = __builtin_shufflevector(u, v, 0, 4, 2, 6), *b = __builtin_shufflevector(u, v, 1, 5, 3, 7);
#else
    for (int k = 0; k < 4; k++) (*a)[k] = *(const double *)(t + i[k]), (*b)[k] = *(const double *)(t + i[k] + 8);
#endif
}

//: pairs@avx512.512.f64 needs table
/* The same in four registers, by the low four bits of i: the first numbers of all pairs precede the second ones. */
#define FIRST_F(a, b) a,
#define SECOND_F(a, b) b,
#define TABLE_OF_PAIRS_F(name, rows) static const double name[32] TP_ALIGNED = {rows(FIRST_F) rows(SECOND_F)}
#define pairs_F(t, i, a, b) (*(a) = table_F(t, i), *(b) = table_F((t) + 16, i))

//: product@fused needs base
/* h + l = a b exactly; c - a b where the two are close. */
#define product_F(a, b, h, l) (h = (a) * (b), l = fma_F(a, b, -h))
#define residual_F(c, a, b) fma_F(-(a), b, c)

//: product@unfused needs base
/* The same by Dekker's halves of 26 bits. */
static inline F upper_F(F a)
{
    F c = all_F(134217729) * a;
    return c - (c - a);
}
static inline F product_error_F(F a, F b, F h)
{
    F c = upper_F(a), d = upper_F(b), e = a - c, f = b - d;
    return ((c * d - h) + c * f + e * d) + e * f;
}
#define product_F(a, b, h, l) (h = (a) * (b), l = product_error_F(a, b, h))
#define residual_F(c, a, b) ((c) - (a) * (b) - product_error_F(a, b, (a) * (b)))

//: lanewise needs lane
/* A size that no register has, lane by lane. */
static inline F tp_${op}_F(F x)
{
    for (int k = 0; k < $lanes; k++) x[k] = lane_${op}_F(x[k]);
    return x;
}

//: lanewise2 needs lane2
static inline F tp_${op}_F(F x, F y)
{
    for (int k = 0; k < $lanes; k++) x[k] = lane2_${op}_F(x[k], y[k]);
    return x;
}
