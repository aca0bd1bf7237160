/* Vector exp, log, sin, cos, tan, tanh and pow: each algorithm once, for any size of vector and any ISA.
 *
 * A template. vmath.py takes the sections that a function needs ("//: name needs …" starts one; "name@variant" is its
 * form for one dtype or ISA) and replaces
 *     F, I, U     the vector of floats, and of signed and unsigned integers as wide    f32x16, i32x16, u32x16
 *     H, D        in pow's f32 form: half of F, and its lanes as doubles               f32x8, f64x8
 *     name_F      the macro or function for that vector                                fma_f32x16
 *     $name       a word of the dtype, the size or the function: vmath.py's tables.
 *
 * Ordinary lanes go through a polynomial and raise nothing but inexact (and underflow, near zero). Rare lanes are found by
 * integer compares, which are quiet; the polynomial gets a harmless argument in their place, and `patch`, out of line, asks
 * libm for them, which also sets the flags right. Polynomials are minimax fits of
 * our own (Remez exchange, coefficients rounded from the lowest up, the rest refitted each time).
 */

//: mask@avx512
/* Masks are bits of an integer. */
typedef $int tv_I __attribute__((vector_size($bytes)));
#define mask_F unsigned
#define gt_F(a, b) ((unsigned)__builtin_ia32_cmp$q${bits}_mask((tv_I)(a), (tv_I)((I){} + (b)), 6, -1))
#define any_F(m) (m)
#define bits_F(m) (m)
#ifdef __clang__
#define select_F(m, a, b) ((F)__builtin_ia32_select${ps}_$bits(m, (F)(a), (F)(b)))
#else
#define select_F(m, a, b) ((F)__builtin_ia32_blendm${ps}_${bits}_mask((F)(b), (F)(a), m))
#endif

//: mask@avx2
#define mask_F I
#define gt_F(a, b) ((I)((a) > (b)))
#define any_F(m) bits_F(m)
#define bits_F(m) __builtin_ia32_movmsk$ps$v256((F)(m))
#ifdef __clang__
#define select_F(m, a, b) ((F)(((I)(a) & (m)) | ((I)(b) & ~(m))))
#else
#define select_F(m, a, b) __builtin_ia32_blendv$ps$v256((F)(b), (F)(a), (F)(m))
#endif

//: mask@sse2.f32
#define mask_F I
#define gt_F(a, b) ((I)((a) > (b)))
#define any_F(m) bits_F(m)
#define bits_F(m) __builtin_ia32_movmskps((F)(m))
#define select_F(m, a, b) ((F)(((I)(a) & (m)) | ((I)(b) & ~(m))))

//: mask@sse2.f64
/* No 64-bit compare: the upper halves decide, and every bound is chosen so that they can. */
typedef int tv_halves __attribute__((vector_size(16)));
#ifdef __clang__
#define tv_upper(v) __builtin_shufflevector(v, v, 1, 1, 3, 3)
#else
#define tv_upper(v) __builtin_shuffle(v, (tv_halves){1, 1, 3, 3})
#endif
#define mask_F I
#define gt_F(a, b) ((I)tv_upper((tv_halves)(a) > (tv_halves)((I){} + (b))))
#define any_F(m) bits_F(m)
#define bits_F(m) __builtin_ia32_movmskpd((F)(m))
#define select_F(m, a, b) ((F)(((I)(a) & (m)) | ((I)(b) & ~(m))))

//: mask@neon needs bits
typedef __UINT64_TYPE__ tv_words __attribute__((vector_size(16)));
#define mask_F I
#define gt_F(a, b) ((I)((a) > (b)))
#define any_F(m) ((((tv_words)(m))[0] | ((tv_words)(m))[1]) != 0)
#define select_F(m, a, b) ((F)(((I)(a) & (m)) | ((I)(b) & ~(m))))

//: bits@f32
#define bits_F(m) ((m)[0] & 1 | (m)[1] & 2 | (m)[2] & 4 | (m)[3] & 8)

//: bits@f64
#define bits_F(m) ((m)[0] & 1 | (m)[1] & 2)

//: fma@sse2
#define fma_F(a, b, c) ((a) * (b) + (c))

//: gccfma@avx2
#define gccfma_F(a, b, c) __builtin_ia32_vfmadd$ps$v256(a, b, c)

//: gccfma@avx512
#define gccfma_F(a, b, c) __builtin_ia32_vfmadd$ps$v256(a, b, c)

//: gccfma@avx512.512
#define gccfma_F(a, b, c) __builtin_ia32_vfmadd${ps}512_mask(a, b, c, -1, 4)

//: gccfma@neon.f32
#define gccfma_F(a, b, c) __builtin_aarch64_fmav${lanes}sf(a, b, c)

//: gccfma@neon.f64
#define gccfma_F(a, b, c) __builtin_aarch64_fmav${lanes}df(a, b, c)

//: fma@fused needs gccfma
#if defined __clang__ && __has_builtin(__builtin_elementwise_fma)
#define fma_F(a, b, c) __builtin_elementwise_fma(a, b, c)
#elif defined __clang__
static inline __attribute__((always_inline)) F fma_F(F a, F b, F c) {
#pragma STDC FP_CONTRACT ON
    return a * b + c;
}
#else
#define fma_F(a, b, c) gccfma_F(a, b, c)
#endif

//: base needs mask fma
#define TP_INLINE static inline __attribute__((always_inline))
#define all_F(c) ((F){} + ($s)(c))
#define rarely_F(m) __builtin_expect(any_F(m), 0)
#define step_F(p, x, c) fma_F(p, x, all_F(c))  /* of Horner's rule */

//: types
typedef $s F __attribute__((vector_size($bytes)));
typedef __INT${width}_TYPE__ I __attribute__((vector_size($bytes)));
typedef __UINT${width}_TYPE__ U __attribute__((vector_size($bytes)));

//: patch needs base
/* y with the lanes of `bits` from libm. */
static __attribute__((noinline, cold)) F patch_F(F x, F y, unsigned bits, $s (*f)($s)) {
    for (; bits; bits &= bits - 1) {
        int k = __builtin_ctz(bits);
        y[k] = f(x[k]);
    }
    return y;
}

//: libm
extern $s $op$f($s);

//: ln2@f32
#define LOG2E_F 0x1.715476p+0f
#define LN2_F 0x1.62e4p-1f
#define LN2LOW_F 0x1.7f7d1cp-20f

//: ln2@f64
#define LOG2E_F 0x1.71547652b82fep+0
#define LN2_F 0x1.62e42fefap-1
#define LN2LOW_F 0x1.cf79abc9e3b3ap-40

//: expreduce needs base ln2
/* x = n ln2/steps + r + l: gives r, and n in the low bits of an integer. The product with LN2 is exact, and so is r. */
TP_INLINE F expreduce2_F(F x, $s steps, U *n, F *l) {
    F t = fma_F(x, all_F(LOG2E_F * steps), all_F($shift)), k = t - $shift;
    *n = (U)t;
    *l = k * all_F(-LN2LOW_F / steps);
    return fma_F(k, all_F(-LN2_F / steps), x);
}
/* The same with l in r. */
TP_INLINE F expreduce_F(F x, $s steps, U *n) {
    F t = fma_F(x, all_F(LOG2E_F * steps), all_F($shift)), k = t - $shift;
    *n = (U)t;
    return fma_F(k, all_F(-LN2LOW_F / steps), fma_F(k, all_F(-LN2_F / steps), x));
}

//: patch2 needs base
extern $s pow$f($s, $s);
static __attribute__((noinline, cold)) F patch2_F(F x, F y, F z, unsigned bits, $s (*f)($s, $s)) {
    for (; bits; bits &= bits - 1) {
        int k = __builtin_ctz(bits);
        z[k] = f(x[k], y[k]);
    }
    return z;
}

//: expsum@fused needs base
/* 1 + r + r**2 p. */
#define expsum_F(r, p) step_F(step_F(p, r, 1), r, 1)

//: expsum@sse2 needs base
#define expsum_F(r, p) ((r) * (r) * (p) + (r) + all_F(1))

//: exppoly@f32 needs expreduce expsum
TP_INLINE F exppoly_F(F r) {
    F p = all_F(0.00138470368);
    p = step_F(p, r, 0.00836998969);
    p = step_F(p, r, 0.041668009);
    p = step_F(p, r, 0.166665092);
    p = step_F(p, r, 0.49999994);
    return expsum_F(r, p);
}
#define expscale_F(p, n) ((F)((U)(p) + ((n) << 23)))
#define STEPS_F 1

//: exppoly@f64 needs expreduce expsum
TP_INLINE F exppoly_F(F r) {
    F p = all_F(2.4983434103846146e-08);
    p = step_F(p, r, 2.7630996343028627e-07);
    p = step_F(p, r, 2.7557638988461136e-06);
    p = step_F(p, r, 2.4801491184928392e-05);
    p = step_F(p, r, 0.00019841269447867059);
    p = step_F(p, r, 0.0013888888945270111);
    p = step_F(p, r, 0.0083333333335212922);
    p = step_F(p, r, 0.041666666666524882);
    p = step_F(p, r, 0.16666666666666372);
    p = step_F(p, r, 0.50000000000000111);
    return expsum_F(r, p);
}
#define expscale_F(p, n) ((F)((U)(p) + ((n) << 52)))
#define STEPS_F 1

//: table@avx512.512.f64 needs base
#ifdef __clang__
#define table_F(lo, hi, i) __builtin_ia32_vpermi2varpd512(lo, (tv_I)(i), hi)
#else
#define table_F(lo, hi, i) __builtin_shuffle(lo, hi, (I)(i))
#endif

//: root16@avx512.512.f64 needs table
/* 2**(n/16): the four low bits j of n choose 2**(j/16), kept less j << 48, so that adding n << 48 adds the exponent. */
TP_INLINE F root16_F(U n) {
    const U lo = {0x3ff0000000000000u, 0x3fefb5586cf9890fu, 0x3fef72b83c7d517bu, 0x3fef387a6e756238u,
                  0x3fef06fe0a31b715u, 0x3feedea64c123422u, 0x3feebfdad5362a27u, 0x3feeab07dd485429u};
    const U hi = {0x3feea09e667f3bcdu, 0x3feea11473eb0187u, 0x3feeace5422aa0dbu, 0x3feec49182a3f090u,
                  0x3feee89f995ad3adu, 0x3fef199bdd85529cu, 0x3fef5818dcfba487u, 0x3fefa4afa2a490dau};
    return (F)((U)table_F((F)lo, (F)hi, n) + (n << 48));
}

//: exppoly@avx512.512.f64 needs expreduce root16
TP_INLINE F exppoly_F(F r) {
    F p = all_F(0.0013888589906848416);
    p = step_F(p, r, 0.0083334722013001794);
    p = step_F(p, r, 0.041666666693533382);
    p = step_F(p, r, 0.16666666664408855);
    p = step_F(p, r, 0.499999999999996);
    return fma_F(r * r, p, r);
}
TP_INLINE F expscale_F(F p, U n) {
    F s = root16_F(n);
    return fma_F(s, p, s);
}
#define STEPS_F 16

//: exp needs exppoly
/* No libm: in rare lanes the factor 2**n comes in two, and the second rounds and raises. */
TP_INLINE F tp_exp_F(F x) {
    mask_F rare = gt_F((I)x & $abs, (I)all_F($expnear)), special = rare, down = rare;
    F c = x;
    if (rarely_F(rare)) {
        special = gt_F((I)x & $abs, $inf - 1), down = gt_F((I){}, (I)x);
        c = select_F(gt_F((I)x & $abs, (I)all_F($expfar)), select_F(down, all_F(-$expfar), all_F($expfar)), x);
        c = select_F(special, all_F(0), c);
    }
    U n;
    F p = exppoly_F(expreduce_F(c, STEPS_F, &n));
    if (rarely_F(rare)) {
        U half = (U)select_F(down, (F)((I){} - $exphalf * STEPS_F), (F)((I){} + $exphalf * STEPS_F));
        F y = expscale_F(p, n - half) * select_F(down, all_F(0x1p-$exphalf$f), all_F(0x1p$exphalf$f));
        F limit = select_F(gt_F((I){} + $minus_nan, (I)x), all_F(0), x);
        return select_F(special, limit, y);
    }
    return expscale_F(p, n);
}

//: abnormal needs base
/* Lanes that are not positive, normal and finite: bits outside [least normal, inf), moved so that one signed compare tells. */
#define abnormal_F(x) gt_F((I)((U)(x) + $inf), -2 * $normal - 1)

//: addln2@fused.f32 needs base
/* y + k ln2, for k in units of 2**-23. */
#define addln2_F(k, y) fma_F(k, all_F(0x1.62e43p-24), y)

//: addln2@sse2.f32 needs base
#define addln2_F(k, y) ((k) * all_F(0x1.62e4p-24) + ((k) * all_F(0x1.7f7d1cp-43) + (y)))

//: logcore@f32 needs abnormal addln2
TP_INLINE F log_core_F(F x) {
    I e = ((I)x - 0x3f2aaaab) & -0x00800000;  /* x = 2**k (1 + f), 1 + f from 2/3 to 4/3 */
    F f = (F)((I)x - e) - all_F(1), k = __builtin_convertvector(e, F);  /* k: in units of 2**-23 */
    F p = all_F(-0.124898084);
    p = step_F(p, f, 0.140604481);
    p = step_F(p, f, -0.122732662);
    p = step_F(p, f, 0.139897004);
    p = step_F(p, f, -0.166744515);
    p = step_F(p, f, 0.20011434);
    p = step_F(p, f, -0.249999195);
    p = step_F(p, f, 0.333331972);
    p = step_F(p, f, -0.5);
    return addln2_F(k, fma_F(f * f, p, f));
}

//: split@f64 needs base
/* x = 2**k m: k as a double, m from about sqrt(1/2) up to twice that. */
TP_INLINE F split_F(F x, F *m) {
    U t = (U)x + (0x3ff0000000000000u - 0x3fe6a09e00000000u);
    *m = (F)((t & 0x000fffffffffffffu) + 0x3fe6a09e00000000u);
    return (F)(t >> 52 | 0x4330000000000000u) - all_F(0x1p52 + 1023);
}

//: logcore@f64 needs abnormal split
TP_INLINE F log_core_F(F x) {
    F m, k = split_F(x, &m), f = m - all_F(1);
    F s = f / (all_F(2) + f), z = s * s, h = all_F(0.5) * f * f;  /* log(1 + f) = f - h + s (h + z p(z)) */
    F p = all_F(2 * 0.073991279291388101);
    p = step_F(p, z, 2 * 0.076569161644193307);
    p = step_F(p, z, 2 * 0.090917861760846014);
    p = step_F(p, z, 2 * 0.11111099214493556);
    p = step_F(p, z, 2 * 0.14285714371843283);
    p = step_F(p, z, 2 * 0.19999999999704676);
    p = step_F(p, z, 2 * 0.33333333333333676);
    F c = fma_F(s, fma_F(z, p, h), k * all_F(0x1.cf79abc9e3b3ap-40));
    return fma_F(k, all_F(0x1.62e42fefap-1), f - (h - c));
}

//: split16@avx512.512.f64 needs table
/* x = 2**k m with m near c, one of 16: m/c - 1, k in units of 2**-52, and the number of c. Each 1/c was chosen so that 43
   bits hold log c, whose sum with k times the upper part of ln2 is then exact. */
TP_INLINE F split16_F(F x, F *k, U *i) {
    const F lo = {0x1.642f276e5904ep+0, 0x1.55554b95cfbb4p+0, 0x1.47b67e1659ad0p+0, 0x1.3b1937349f97fp+0,
                  0x1.2f67f13315906p+0, 0x1.248da7c5e5a43p+0, 0x1.1a7ed6447ff6dp+0, 0x1.110ac9ddc3b16p+0};
    const F hi = {0x1.0849f425e90fdp+0, 1, 0x1.e1e55a008efebp-1, 0x1.c71125222b6a8p-1,
                  0x1.af2ce5d460cf8p-1, 0x1.998de28188702p-1, 0x1.861426e38682ap-1, 0x1.7461a0e5dab9cp-1};
    U t = (U)x - 0x3fe6800000000000u, e = t & 0xfff0000000000000u;
    *k = __builtin_convertvector((I)e, F);
    *i = t >> 48;
    return fma_F((F)((U)x - e), table_F(lo, hi, *i), all_F(-1));
}

//: logcore@avx512.512.f64 needs abnormal split16
TP_INLINE F log_core_F(F x) {
    const F log0 = {-0x1.523271c9a18p-2, -0x1.269603d4bc8p-2, -0x1.f9c65a2a27p-3, -0x1.a962ba4e2dp-3,
                    -0x1.5bf1a2cdbap-3, -0x1.11587e4a1cp-3, -0x1.9365087166p-4, -0x1.07fb5e4334p-4};
    const F log1 = {-0x1.050a658f3p-5, 0, 0x1.f068122dfp-5, 0x1.e2d629f25cp-4,
                    0x1.5fddc375fp-3, 0x1.c93a10c876p-3, 0x1.1680e4b4e1p-2, 0x1.460c41bd23p-2};
    U i;
    F k, r = split16_F(x, &k, &i), p = all_F(0.11133425412204501);
    F hi = fma_F(k, all_F(0x1.62e42fefa38p-53), table_F(log0, log1, i)), y = hi + r;
    F lo = fma_F(k, all_F(0x1.ef35793c7673p-97), hi - y + r);
    p = step_F(p, r, -0.12522432351507939);
    p = step_F(p, r, 0.14285695315677452);
    p = step_F(p, r, -0.1666664991185606);
    p = step_F(p, r, 0.20000000006425991);
    p = step_F(p, r, -0.25000000004630984);
    p = step_F(p, r, 0.33333333333332638);
    p = step_F(p, r, -0.49999999999999656);
    return y + fma_F(r * r, p, lo);
}

//: log needs libm patch logcore
TP_INLINE F tp_log_F(F x) {
    mask_F m = abnormal_F(x);
    F c = x;
    if (rarely_F(m)) c = select_F(m, all_F(1), x);
    F y = log_core_F(c);
    return rarely_F(m) ? patch_F(x, y, bits_F(m), log$f) : y;
}

//: reduce@f32 needs base
/* x - n pi, for n a multiple of 1/2. */
#define REACH_F 131072
#define reduce_F(x, n) \
    fma_F(n, all_F(0x1.ee59dap-49), fma_F(n, all_F(0x1.777a5cp-24), fma_F(n, all_F(-0x1.921fb6p+1), x)))

//: reduce@sse2.f32 needs base
/* x - n pi, for n a multiple of 1/2; the products with the first three parts of pi are exact. */
#define REACH_F 8192
#define reduce_F(x, n) \
    ((((x) - (n) * all_F(0x1.92p+1)) - (n) * all_F(0x1.fb4p-11)) - (n) * all_F(0x1.444p-23) - (n) * all_F(0x1.68c234p-38))

//: reduce@f64 needs base
#define REACH_F 0x1p28
#define reduce_F(x, n) \
    fma_F(n, all_F(0x1.f1976b7ed8fbcp-109), fma_F(n, all_F(-0x1.1a62633145c07p-53), fma_F(n, all_F(-0x1.921fb54442d18p+1), x)))

//: reduce@sse2.f64 needs base
#define REACH_F 0x1p25
#define reduce_F(x, n) \
    ((((x) - (n) * all_F(0x1.921fb54p+1)) - (n) * all_F(0x1.10b4612p-29)) + (n) * all_F(0x1.676733ap-59) \
     + (n) * all_F(0x1.d1fc8f8cbb5bfp-88))

//: sinpoly@f32 needs base
/* sin r for |r| up to pi/2. */
TP_INLINE F sinpoly_F(F r) {
    F z = r * r, p = all_F(2.60609568e-06);
    p = step_F(p, z, -0.000198097769);
    p = step_F(p, z, 0.00833306927);
    p = step_F(p, z, -0.166666597);
    return fma_F(r * z, p, r);
}

//: sinpoly@f64 needs base
TP_INLINE F sinpoly_F(F r) {
    F z = r * r, p = all_F(2.7214196560521851e-15);
    p = step_F(p, z, -7.6430193751691499e-13);
    p = step_F(p, z, 1.6058941002338573e-10);
    p = step_F(p, z, -2.5052106904422989e-08);
    p = step_F(p, z, 2.7557319211569482e-06);
    p = step_F(p, z, -0.00019841269841212479);
    p = step_F(p, z, 0.0083333333333332066);
    p = step_F(p, z, -0.16666666666666666);
    return fma_F(r * z, p, r);
}

//: far needs reduce
#define far_F(x) gt_F((I)(x) & $abs, (I)all_F(REACH_F))

//: sin needs libm patch far sinpoly
TP_INLINE F sin_core_F(F x) {
    F a = (F)((I)x & $abs), t = fma_F(a, all_F(0.31830988618379069), all_F($shift)), n = t - $shift;
    F y = sinpoly_F(reduce_F(a, n));
    return (F)((U)y ^ (U)t << $top ^ ((U)x & $sign));
}
TP_INLINE F tp_sin_F(F x) {
    mask_F m = far_F(x);
    F c = x;
    if (rarely_F(m)) c = select_F(m, all_F(0), x);
    F y = sin_core_F(c);
    return rarely_F(m) ? patch_F(x, y, bits_F(m), sin$f) : y;
}

//: cos needs libm patch far sinpoly
TP_INLINE F cos_core_F(F x) {
    F t = fma_F(x, all_F(0.31830988618379069), all_F(-0.5)) + $shift, n = t - $shift + all_F(0.5);
    F y = sinpoly_F(reduce_F(x, n));  /* cos(n pi + r) for n = k + 1/2 is sin(r), negative for even k */
    return (F)((U)y ^ ~(U)t << $top);
}
TP_INLINE F tp_cos_F(F x) {
    mask_F m = far_F(x);
    F c = x;
    if (rarely_F(m)) c = select_F(m, all_F(0), x);
    F y = cos_core_F(c);
    return rarely_F(m) ? patch_F(x, y, bits_F(m), cos$f) : y;
}

//: reduce2@fused.f32 needs reduce
/* x - n pi = r + l. */
TP_INLINE F reduce2_F(F x, F n, F *l) {
    F c = all_F(0x1.777a5cp-24), s = fma_F(n, all_F(-0x1.921fb6p+1), x), t = n * c, r = s + t;
    *l = fma_F(n, all_F(0x1.ee59dap-49), ((s - r) + t) + fma_F(n, c, -t));
    return r;
}

//: reduce2@fused.f64 needs reduce
TP_INLINE F reduce2_F(F x, F n, F *l) {
    F c = all_F(-0x1.1a62633145c07p-53), s = fma_F(n, all_F(-0x1.921fb54442d18p+1), x), t = n * c, r = s + t;
    *l = fma_F(n, all_F(0x1.f1976b7ed8fbcp-109), ((s - r) + t) + fma_F(n, c, -t));
    return r;
}

//: reduce2@sse2.f32 needs reduce
TP_INLINE F reduce2_F(F x, F n, F *l) {
    F s = (x - n * all_F(0x1.92p+1)) - n * all_F(0x1.fb4p-11), t = n * all_F(0x1.444p-23), r = s - t;
    *l = ((s - r) - t) - n * all_F(0x1.68c234p-38);
    return r;
}

//: reduce2@sse2.f64 needs reduce
TP_INLINE F reduce2_F(F x, F n, F *l) {
    F s = (x - n * all_F(0x1.921fb54p+1)) - n * all_F(0x1.10b4612p-29), t = n * all_F(0x1.676733ap-59), r = s + t;
    *l = ((s - r) + t) + n * all_F(0x1.d1fc8f8cbb5bfp-88);
    return r;
}

//: tanpoly@f32 needs base
/* tan r = (r + r z p)/q for |r| up to pi/4. */
TP_INLINE F tanpoly_F(F z, F *q) {
    *q = step_F(fma_F(all_F(0.00970926508), z, all_F(-0.429114491)), z, 1);
    return all_F(-0.0957806706);
}

//: tanpoly@f64 needs base
TP_INLINE F tanpoly_F(F z, F *q) {
    F p = all_F(-1.7860813824042537e-05), d = all_F(4.9815141830470518e-07);
    p = step_F(p, z, 0.0034248345583879377);
    d = step_F(d, z, -0.00031180642239154094);
    d = step_F(d, z, 0.025663632745637249);
    d = step_F(d, z, -0.46671639456174774);
    *q = step_F(d, z, 1);
    return step_F(p, z, -0.13338306122841442);
}

//: tan needs libm patch far tanpoly reduce2
TP_INLINE F tan_core_F(F x) {
    F a = (F)((I)x & $abs), t = fma_F(a, all_F(0.31830988618379069), all_F($shift / 2)), n = t - $shift / 2;
    F l, r = reduce2_F(a, n, &l), z = r * r, q, p = tanpoly_F(z, &q);
    p = r + fma_F(r * z, p, l * fma_F(all_F(0.76), z, all_F(1)));  /* nearly what l adds to the numerator */
    mask_F odd = gt_F((I){}, (I)((U)t << $top));  /* n is a multiple of 1/2: odd multiples give -q/p */
    F y = select_F(odd, q, p) / select_F(odd, p, q);
    return (F)((U)y ^ (U)t << $top ^ ((U)x & $sign));
}
TP_INLINE F tp_tan_F(F x) {
    mask_F m = far_F(x);
    F c = x;
    if (rarely_F(m)) c = select_F(m, all_F(0), x);
    F y = tan_core_F(c);
    return rarely_F(m) ? patch_F(x, y, bits_F(m), tan$f) : y;
}

//: expm1poly@f32 needs expreduce
/* (exp(r) - 1 - r)/r**2. */
TP_INLINE F expm1poly_F(F r) {
    F p = all_F(0.00138417468);
    p = step_F(p, r, 0.00836771168);
    p = step_F(p, r, 0.0416677147);
    p = step_F(p, r, 0.166665345);
    return step_F(p, r, 0.49999997);
}

//: expm1poly@f64 needs expreduce
TP_INLINE F expm1poly_F(F r) {
    F p = all_F(2.0898913875030659e-09);
    p = step_F(p, r, 2.5108263735738837e-08);
    p = step_F(p, r, 2.7557301970067954e-07);
    p = step_F(p, r, 2.7557245991333849e-06);
    p = step_F(p, r, 2.480158732285225e-05);
    p = step_F(p, r, 0.00019841269885014008);
    p = step_F(p, r, 0.0013888888888871048);
    p = step_F(p, r, 0.0083333333333217123);
    p = step_F(p, r, 0.041666666666666699);
    p = step_F(p, r, 0.16666666666666677);
    return step_F(p, r, 0.5);
}

//: expm1@f32 needs expm1poly
/* exp(x) - 1 for x from 0 to 40. */
TP_INLINE F expm1_F(F x) {
    U n;
    F r = expreduce_F(x, 1, &n), p = fma_F(r * r, expm1poly_F(r), r), s = (F)((n << 23) + $one);
    return fma_F(s, p, s - all_F(1));
}

//: expm1@f64 needs expm1poly
TP_INLINE F expm1_F(F x) {
    U n;
    F l, r = expreduce2_F(x, 1, &n, &l), s = (F)((n << 52) + $one);
    F p = fma_F(r * r, expm1poly_F(r), l);
    return fma_F(s, r + fma_F(r + p, l, p), s - all_F(1));
}

//: exptable@avx512.512.f64 needs expreduce root16
/* exp(h + l) = s + s (r + p). The second table holds the relative errors of the first. */
TP_INLINE F exptable_F(F h, F l, F *r, F *p) {
    const F lo = {0, 8.1893176381955136e-17, -2.7939114859515733e-17, 7.8265732586360749e-17,
                  3.3484623336251524e-17, 3.7508542013031266e-17, 1.9572585293112036e-17, 5.68648095791174e-17};
    const F hi = {-6.8358086576619232e-17, -2.3591094770850053e-17, 5.1548301170786783e-17, 1.5341410053603723e-17,
                  4.8751605262270611e-17, 1.6854872906289731e-17, 1.7901269076045131e-17, -5.5450656186394274e-17};
    U n;
    F m, x = expreduce2_F(h, 16, &n, &m), q = all_F(0.00019841943227803628);
    m += l + table_F(lo, hi, n);
    q = step_F(q, x, 0.0013889104261950822);
    q = step_F(q, x, 0.0083333333311234031);
    q = step_F(q, x, 0.041666666661312191);
    q = step_F(q, x, 0.16666666666666682);
    q = step_F(q, x, 0.50000000000000033);
    q = fma_F(x * x, q, m);
    *r = x;
    *p = fma_F(x + q, m, q);
    return root16_F(n);
}

//: expm1@avx512.512.f64 needs exptable
TP_INLINE F expm1_F(F x) {
    F r, p, s = exptable_F(x, all_F(-0.0), &r, &p);
    return fma_F(s, r + p, s - all_F(1));
}

//: clamp needs base
/* The smaller of a and c, both positive; NaN stays. */
#define clamp_F(a, c) select_F(gt_F((I)(a), (I)all_F(c)) ^ gt_F((I)(a), $inf), all_F(c), a)

//: clamp@avx512.512 needs base
#ifdef __clang__
#define clamp_F(a, c) __builtin_ia32_min${ps}512(all_F(c), a, 8)
#else
#define clamp_F(a, c) __builtin_ia32_min${ps}512_mask(all_F(c), a, a, -1, 8)
#endif

//: tanh needs expm1 clamp
/* u/(u + 2) for u = exp(2|x|) - 1; no lane is rare: beyond $tanhfar it is 1, NaN passes. */
TP_INLINE F tp_tanh_F(F x) {
    F a = clamp_F((F)((I)x & $abs), $tanhfar), u = expm1_F(a + a), y = u / (u + all_F(2));
    return (F)((U)y | ((U)x & $sign));
}

//: pow@f32 needs patch2 abnormal D:exp2
/* Through doubles: 2**(y log2 x), half a vector at a time. Ordinary: x positive and normal, y finite, the result normal. */
typedef float H __attribute__((vector_size($bytes / 2)));
TP_INLINE F pow_join_F(D a, D b) {
    union { H half[2]; F whole; } u = {{__builtin_convertvector(a, H), __builtin_convertvector(b, H)}};
    return u.whole;
}
TP_INLINE D pow_log_F(F x, F y, int k) {
    union { F whole; H half[2]; } u = {x}, v = {y};
    return __builtin_convertvector(v.half[k], D) * log2_D(__builtin_convertvector(u.half[k], D));
}
static inline F tp_pow_F(F x, F y) {
    mask_F m = gt_F((I)y & $abs, $inf - 1) | abnormal_F(x);
    F c = x, d = y;
    if (rarely_F(m)) c = select_F(m, all_F(1), x), d = select_F(m, all_F(1), y);
    D a = pow_log_F(c, d, 0), b = pow_log_F(c, d, 1), zero = {};
    mask_D ma = beyond_D(a), mb = beyond_D(b);
    if (rarely_D(ma | mb)) a = select_D(ma, zero, a), b = select_D(mb, zero, b);
    F z = pow_join_F(exp2_D(a), exp2_D(b));
    unsigned bits = bits_F(m) | bits_D(ma) | bits_D(mb) << $lanes / 2;
    return __builtin_expect(bits, 0) ? patch2_F(x, y, z, bits, pow$f) : z;
}

//: exp2@f64 needs base log2
#define beyond_F(e) gt_F((I)(e) & $abs, (I)all_F(126))
TP_INLINE F exp2_F(F x) {
    F t = x + $shift, r = x - (t - $shift), p = all_F(0.00015345809276196156);
    p = step_F(p, r, 0.0013399931083695154);
    p = step_F(p, r, 0.0096184889667276108);
    p = step_F(p, r, 0.055503287773736469);
    p = step_F(p, r, 0.24022646890560803);
    p = step_F(p, r, 0.69314720573699284);
    p = step_F(p, r, 1.0000000005541645);
    return (F)((U)p + ((U)t << 52));
}

//: log2@f64 needs types split
/* To 33 bits. */
TP_INLINE F log2_F(F x) {
    F m, k = split_F(x, &m), f = m - all_F(1);
    F p = all_F(-0.086346451573768412);
    p = step_F(p, f, 0.15485774498594196);
    p = step_F(p, f, -0.15698214150290404);
    p = step_F(p, f, 0.15900144132528876);
    p = step_F(p, f, -0.17904696435470896);
    p = step_F(p, f, 0.20609626130288092);
    p = step_F(p, f, -0.2405041735452465);
    p = step_F(p, f, 0.28854064337681418);
    p = step_F(p, f, -0.36067280055949663);
    p = step_F(p, f, 0.48089832073170052);
    p = step_F(p, f, -0.72134752521312784);
    p = step_F(p, f, 1.442695040939342);
    return fma_F(p, f, k);
}

//: exp2@avx512.512.f64 needs types log2 root16
#define beyond_F(e) gt_F((I)(e) & $abs, (I)all_F(126))
TP_INLINE F exp2_F(F x) {
    F t = x + all_F(0x1.8p48), r = x - (t - all_F(0x1.8p48)), p = all_F(0.055502806593806617);
    p = step_F(p, r, 0.24023589934394612);
    p = step_F(p, r, 0.69314718230831007);
    p = step_F(p, r, 0.99999999885362956);
    return root16_F((U)t) * p;
}

//: log2@avx512.512.f64 needs types split16
TP_INLINE F log2_F(F x) {
    const F lo = {-0x1.e7ea4ae17fe16p-2, -0x1.a8ff6ce73b469p-2, -0x1.6cd6e3689984ap-2, -0x1.32d9d3c663090p-2,
                  -0x1.f5fa17c5c362cp-3, -0x1.8a5abd695fe68p-3, -0x1.22fcdc6291dc4p-3, -0x1.7cd86b5cf5e64p-4};
    const F hi = {-0x1.789a1c73db209p-5, 0, 0x1.6614e4e54670bp-4, 0x1.5c4afff36abadp-3,
                  0x1.fba2be230becfp-3, 0x1.49d1c6497a94ep-2, 0x1.91cbacad2ac03p-2, 0x1.d6633d7a32528p-2};
    U i;
    F k, r = split16_F(x, &k, &i), p = all_F(-0.24077121037845281);
    p = step_F(p, r, 0.2888610064838858);
    p = step_F(p, r, -0.36067359784635789);
    p = step_F(p, r, 0.48089822127405912);
    p = step_F(p, r, -0.7213475204644707);
    p = step_F(p, r, 1.4426950408962307);
    return fma_F(p, r, fma_F(k, all_F(0x1p-52), table_F(lo, hi, i)));
}

//: expsum2@f64 needs expm1poly
/* exp(h + l) to nearly half an ULP: powers that are integers come out exact. */
TP_INLINE F expsum2_F(F h, F l) {
    U n;
    F m, r = expreduce2_F(h, 1, &n, &m);
    m += l;
    F p = fma_F(r * r, expm1poly_F(r), m), a = all_F(1) + r;
    p = a + ((all_F(1) - a + r) + fma_F(r + p, m, p));
    return (F)((U)p + (n << 52));
}

//: expsum2@avx512.512.f64 needs exptable
TP_INLINE F expsum2_F(F h, F l) {
    F r, p, s = exptable_F(h, l, &r, &p);
    return fma_F(s, r + p, s);
}

//: product@fused needs base
/* a b = h + l, and c - a b where they are close. */
#define product_F(a, b, h, l) (h = (a) * (b), l = fma_F(a, b, -h))
#define residual_F(c, a, b) fma_F(-(a), b, c)

//: product@sse2 needs base
/* a b = h + l, by Dekker's halves of 26 bits. */
static inline F upper_F(F a) { F c = all_F(134217729) * a; return c - (c - a); }
static inline F product_error_F(F a, F b, F h) {
    F c = upper_F(a), d = upper_F(b), e = a - c, f = b - d;
    return ((c * d - h) + c * f + e * d) + e * f;
}
#define product_F(a, b, h, l) (h = (a) * (b), l = product_error_F(a, b, h))
#define residual_F(c, a, b) ((c) - (a) * (b) - product_error_F(a, b, (a) * (b)))

//: pow@f64 needs patch2 abnormal split product expsum2
/* exp(y log x) with log x as hi + lo: log m = 2 (s + s (z/3 + z**2 p(z))), s = (m - 1)/(m + 1), z = s**2, where s, z and
   z/3 carry their rounding errors along. Ordinary: x positive and normal, |y| < 2**62, the result normal. */
static inline F pow_log_F(F x, F y, F *low) {
    F m, k = split_F(x, &m), d = m + all_F(1), inv = all_F(1) / d, f = m - all_F(1);
    F s = f * inv, sl = fma_F(s, d - all_F(1) - m, residual_F(f, s, d)) * inv;
    F z, zl, wh, wl, ph, pl, eh, el, p = all_F(0.065989346765958981);
    p = step_F(p, z = s * s, 0.066283281380780976);
    p = step_F(p, z, 0.076933820286672311);
    p = step_F(p, z, 0.090908921129827347);
    p = step_F(p, z, 0.1111111126073815);
    p = step_F(p, z, 0.14285714285045617);
    p = step_F(p, z, 0.20000000000001136) * z * z;
    product_F(s, s, z, zl);
    zl = fma_F(s + s, sl, zl);
    product_F(z, all_F(0x1.5555555555555p-2), wh, wl);
    wl = fma_F(zl, all_F(0x1.5555555555555p-2), fma_F(z, all_F(0x1.5555555555555p-56), wl));
    F w = wh + p;
    wl += wh - w + p;
    product_F(s, w, ph, pl);
    F h = s + ph, kh = k * all_F(0x1.62e42fefap-1), hi = fma_F(all_F(2), h, kh);
    pl = (s - h + ph) + (fma_F(s, wl, fma_F(sl, w, pl)) + sl);
    F lo = fma_F(all_F(2), h, kh - hi) + fma_F(all_F(2), pl, k * all_F(0x1.cf79abc9e3b3ap-40));
    product_F(y, hi, eh, el);
    *low = fma_F(y, lo, el);
    return eh;
}
static inline F tp_pow_F(F x, F y) {
    mask_F m = gt_F((I)y & $abs, (I)all_F(0x1p62)) | abnormal_F(x);
    F c = x, d = y;
    if (rarely_F(m)) c = select_F(m, all_F(1), x), d = select_F(m, all_F(1), y);
    F l, h = pow_log_F(c, d, &l);
    m |= gt_F((I)h & $abs, (I)all_F(708));
    if (rarely_F(m)) h = select_F(m, all_F(0), h), l = select_F(m, all_F(0), l);
    F z = expsum2_F(h, l);
    return rarely_F(m) ? patch2_F(x, y, z, bits_F(m), pow$f) : z;
}

//: lanes
/* A size that no register has. */
extern $s $op$f($s);
static inline F tp_${op}_F(F x) {
    for (int k = 0; k < $lanes; k++) x[k] = $op$f(x[k]);
    return x;
}

//: lanes2
extern $s $op$f($s, $s);
static inline F tp_${op}_F(F x, F y) {
    for (int k = 0; k < $lanes; k++) x[k] = $op$f(x[k], y[k]);
    return x;
}
