/* log, log2, log10, log1p, asinh, acosh and atanh; a template as vmath.h says. */

//: log needs log_core patched

//: addln2@fused.f32 needs base
/* y + k ln2, for k in units of 2**-23. */
#define addln2_F(k, y) fma_F(k, all_F(0x1.62e43p-24), y)

//: addln2@unfused.f32 needs base
#define addln2_F(k, y) ((k) * all_F(0x1.62e4p-24) + ((k) * all_F(0x1.7f7d1cp-43) + (y)))

//: split@f32 needs base
/* x = 2**k (1 + f), 1 + f from 2/3 to 4/3: f, and k << 23. */
TP_INLINE F split_F(F x, I *e)
{
    *e = ((I)x - 0x3f2aaaab) & -0x00800000;
    return (F)((I)x - *e) - all_F(1);
}

//: logpoly@f32 needs base
/* (log(1 + f) - f)/f**2. */
TP_INLINE F logpoly_F(F f)
{
    return horner_F(f, -0.124898084, 0.140604481, -0.122732662, 0.139897004, -0.166744515, 0.20011434, -0.249999195,
                    0.333331972, -0.5);
}

//: log_core@f32 needs abnormal addln2 split logpoly
#define log_rare_F abnormal_F
TP_INLINE F log_core_F(F x)
{
    I e;
    F f = split_F(x, &e);
    return addln2_F(__builtin_convertvector(e, F), fma_F(f * f, logpoly_F(f), f));
}

//: split@f64 needs base
/* x = 2**k m: k, and m from about sqrt(1/2) up to twice that. */
TP_INLINE F split_F(F x, F *m)
{
    U t = (U)x + (0x3ff0000000000000u - 0x3fe6a09e00000000u);
    *m = (F)((t & 0x000fffffffffffffu) + 0x3fe6a09e00000000u);
    return (F)(t >> 52 | 0x4330000000000000u) - all_F(0x1p52 + 1023);  /* no ISA but AVX-512 converts 64-bit integers */
}

//: logpoly@f64 needs base
/* log(1 + f) = f - h + s (h + z p(z)) for s = f/(2 + f), z = s**2, h = f**2/2. */
TP_INLINE F logpoly_F(F z)
{
    return horner_F(z, 0.1479825585827762, 0.15313832328838661, 0.18183572352169203, 0.22222198428987111,
                    0.28571428743686567, 0.39999999999409352, 0.66666666666667351);
}

//: log_core@f64 needs abnormal split logpoly
#define log_rare_F abnormal_F
TP_INLINE F log_core_F(F x)
{
    F m, k = split_F(x, &m), f = m - all_F(1), s = f / (all_F(2) + f), z = s * s, h = all_F(0.5) * f * f;
    F c = fma_F(s, fma_F(z, logpoly_F(z), h), k * all_F(0x1.cf79abc9e3b3ap-40));
    return fma_F(k, all_F(0x1.62e42fefap-1), f - (h - c));
}

//: split16@fused.f64 needs pairs
/* x = 2**k m with m near c, one of 16: gives m/c - 1, k in units of 1/UNIT_F, log c, and q = 1/(2**k c). The pairs of the table
   are 1/c, chosen so that 43 bits hold log c, whose sum with k times the upper part of log 2 is then exact, and log c. */
#define UNIT_F 1
TP_INLINE F split16_F(F x, const double *table, F *k, F *log, F *q)
{
    U t = (U)x + (0x3ff0000000000000u - 0x3fe6800000000000u);
    F inverse;
    pairs_F(table, t >> 44 & 0xf0, &inverse, log);
    *k = (F)(t >> 52 | 0x4330000000000000u) - all_F(0x1p52 + 1023);  /* no ISA but AVX-512 converts 64-bit integers */
    *q = (F)((U)inverse - ((t & 0xfff0000000000000u) - 0x3ff0000000000000u));
    return fma_F((F)((t & 0x000fffffffffffffu) + 0x3fe6800000000000u), inverse, all_F(-1));
}

//: split16@avx512.512.f64 needs pairs
#define UNIT_F 0x1p-52
TP_INLINE F split16_F(F x, const double *table, F *k, F *log, F *q)
{
    U t = (U)x - 0x3fe6800000000000u, e = t & 0xfff0000000000000u;
    F inverse;
    pairs_F(table, t >> 48, &inverse, log);
    *k = __builtin_convertvector((I)e, F);
    *q = (F)((U)inverse - e);
    return fma_F((F)((U)x - e), inverse, all_F(-1));
}

//: logsum@fused.f64 needs split16
/* log x = y + l + r**2 p(r). */
#define LOGS_F(X) \
    X(0x1.642f276e5904ep+0, -0x1.523271c9a18p-2) X(0x1.55554b95cfbb4p+0, -0x1.269603d4bc8p-2) \
    X(0x1.47b67e1659ad0p+0, -0x1.f9c65a2a27p-3) X(0x1.3b1937349f97fp+0, -0x1.a962ba4e2dp-3) \
    X(0x1.2f67f13315906p+0, -0x1.5bf1a2cdbap-3) X(0x1.248da7c5e5a43p+0, -0x1.11587e4a1cp-3) \
    X(0x1.1a7ed6447ff6dp+0, -0x1.9365087166p-4) X(0x1.110ac9ddc3b16p+0, -0x1.07fb5e4334p-4) \
    X(0x1.0849f425e90fdp+0, -0x1.050a658f3p-5) X(1, 0) \
    X(0x1.e1e55a008efebp-1, 0x1.f068122dfp-5) X(0x1.c71125222b6a8p-1, 0x1.e2d629f25cp-4) \
    X(0x1.af2ce5d460cf8p-1, 0x1.5fddc375fp-3) X(0x1.998de28188702p-1, 0x1.c93a10c876p-3) \
    X(0x1.861426e38682ap-1, 0x1.1680e4b4e1p-2) X(0x1.7461a0e5dab9cp-1, 0x1.460c41bd23p-2)
TABLE_OF_PAIRS_F(logs_F, LOGS_F);
TP_INLINE F logsum_F(F x, F *r, F *l, F *q)
{
    F k, c, f = split16_F(x, logs_F, &k, &c, q), h = fma_F(k, all_F(0x1.62e42fefa38p-1 * UNIT_F), c), y = h + f;
    *l = fma_F(k, all_F(0x1.ef35793c7673p-45 * UNIT_F), h - y + f);
    *r = f;
    return y;
}
TP_INLINE F logpoly_F(F r)
{
    return horner_F(r, 0.11133425412204501, -0.12522432351507939, 0.14285695315677452, -0.1666664991185606,
                    0.20000000006425991, -0.25000000004630984, 0.33333333333332638, -0.49999999999999656);
}

//: log_core@fused.f64 needs abnormal logsum
#define log_rare_F abnormal_F
TP_INLINE F log_core_F(F x)
{
    F r, l, q, y = logsum_F(x, &r, &l, &q);
    return y + fma_F(r * r, logpoly_F(r), l);
}

//: log2 needs log2_core patched

//: log10 needs log10_core patched

//: log2_core@f32 needs abnormal split
#define log2_rare_F abnormal_F
TP_INLINE F log2_core_F(F x)
{
    I e;
    F f = split_F(x, &e), k = __builtin_convertvector(e, F) * all_F(0x1p-23f);
    F p = horner_F(f, -0.191342115, 0.204263881, -0.174355641, 0.20144482, -0.24077867, 0.288739145, -0.360666215,
                   0.480895191, -0.72134757, 0.442695051);
    return fma_F(f, p, k + f);
}

//: log10two@fused.f32
/* The logarithm of 2, in units of 2**-23, in two parts. */
#define LOG10TWO_F 0x1.344136p-25f
#define LOG10TWOLOW_F -0x1.ec10cp-50f

//: log10two@unfused.f32
#define LOG10TWO_F 0x1.344p-25f
#define LOG10TWOLOW_F 0x1.3509f8p-41f

//: log10_core@f32 needs abnormal split log10two
#define log10_rare_F abnormal_F
TP_INLINE F log10_core_F(F x)
{
    I e;
    F f = split_F(x, &e), k = __builtin_convertvector(e, F);
    F p = horner_F(f, -0.056948524, 0.0608114004, -0.0526803769, 0.0608087778, -0.0724615678, 0.0869053826, -0.108572163,
                   0.144764289, -0.217147246, -1.01030501e-08);
    F y = fma_F(f, all_F(0x1.bcb7b2p-2f), fma_F(k, all_F(LOG10TWOLOW_F), f * p));
    return fma_F(k, all_F(LOG10TWO_F), y);
}

//: basis@f64.log2 needs base
/* 1/log of the base, its upper 25 bits and the rest; k times the logarithm of 2. */
#define SCALE_${op}_F 0x1.71547652b82fep+0
#define HIGH_${op}_F 0x1.715476p+0
#define LOW_${op}_F 0x1.4ae0bf85ddf44p-26
#define two_${op}_F(k) (k)
#define twolow_${op}_F(k, y) (y)

//: basis@f64.log10 needs base
#define SCALE_${op}_F 0x1.bcb7b1526e50ep-2
#define HIGH_${op}_F 0x1.bcb7b1p-2
#define LOW_${op}_F 0x1.49b9438ca9aaep-28
#define two_${op}_F(k) ((k) * all_F(0x1.34413509f8p-2))
#define twolow_${op}_F(k, y) fma_F(k, all_F(-0x1.80433b83b532ap-44), y)

//: log2_core@f64 needs based

//: log10_core@f64 needs based

//: based@f64 needs abnormal split logpoly basis
#define ${op}_rare_F abnormal_F
TP_INLINE F ${op}_core_F(F x)
{
    F m, k = split_F(x, &m), f = m - all_F(1), s = f / (all_F(2) + f), z = s * s, h = all_F(0.5) * f * f;
    F hi = (F)((I)(f - h) & -0x10000000), lo = fma_F(s, fma_F(z, logpoly_F(z), h), f - hi - h);  /* of log m */
    F y = hi * all_F(HIGH_${op}_F), t = two_${op}_F(k), w = t + y;
    F l = fma_F(hi, all_F(LOW_${op}_F), lo * all_F(SCALE_${op}_F));
    return w + (t - w + y + twolow_${op}_F(k, l));
}

//: basis@fused.f64.log2 needs base
/* Inverses of 16 numbers, and their logarithms. */
#define LOGS_${op}_F(X) \
    X(0x1.642c85e25d2c7p+0, -0x1.e7df6137f6p-2) X(0x1.555555779e641p+0, -0x1.a8ff97ac748p-2) \
    X(0x1.47ae14df08b9fp+0, -0x1.6cb0f849e6p-2) X(0x1.3b13b14c66e55p+0, -0x1.32bfee884a8p-2) \
    X(0x1.2f684bfa7393cp+0, -0x1.f5fd8bcbbp-3) X(0x1.2492497e7f9a4p+0, -0x1.8a89843825p-3) \
    X(0x1.1a7b964522009p+0, -0x1.22dade4522p-3) X(0x1.11111193952d8p+0, -0x1.7d60547568p-4) \
    X(0x1.084210b11ca1cp+0, -0x1.773954796p-5) X(1, 0) \
    X(0x1.e1e1e2179aac1p-1, 0x1.663f6d19c8p-4) X(0x1.c71c71f7278e9p-1, 0x1.5c01a267d6p-3) \
    X(0x1.af286c14db484p-1, 0x1.fbc1698fe5p-3) X(0x1.999999b9f1717p-1, 0x1.49a784482a8p-2) \
    X(0x1.861861962d436p-1, 0x1.91bba8550a8p-2) X(0x1.745d175c03a7dp-1, 0x1.d6753dab1fp-2)
TABLE_OF_PAIRS_F(logs_${op}_F, LOGS_${op}_F);
#define SCALE_${op}_F 0x1.71547652b82fep+0
#define LOW_${op}_F 0x1.777d0ffda0d24p-56
#define TWO_${op}_F UNIT_F
#define twolow_${op}_F(k, y) (y)
#define basedpoly_${op}_F(r) \
    horner_F(r, 0.15948113355930904, -0.1806360536813307, 0.20610081935438124, -0.24044896672770372, 0.28853900742500266, \
             -0.36067376027497067, 0.48089834696308853, -0.7213475204444781)

//: basis@fused.f64.log10 needs base
#define LOGS_${op}_F(X) \
    X(0x1.642c85b5ccf3ap+0, -0x1.25ba827258p-3) X(0x1.55555562914cap+0, -0x1.ffbfc300cp-4) \
    X(0x1.47ae14da28ef1p+0, -0x1.b721cf1c54p-4) X(0x1.3b13b1c985f73p+0, -0x1.715d1007a2p-4) \
    X(0x1.2f684c2605a66p+0, -0x1.2e3a75c8cp-4) X(0x1.24924974308b1p+0, -0x1.db11f13e98p-5) \
    X(0x1.1a7b9696477cep+0, -0x1.5e396d3e4p-5) X(0x1.111111a02f575p+0, -0x1.cb390b5eep-6) \
    X(0x1.084211058a3ddp+0, -0x1.c3d09eb0ap-7) X(1, 0) \
    X(0x1.e1e1e271b7a15p-1, 0x1.af5f8a643p-6) X(0x1.c71c71eb5dc7dp-1, 0x1.a30a9c4534p-5) \
    X(0x1.af286c11beeeep-1, 0x1.31b30434b4p-4) X(0x1.999999f5461fbp-1, 0x1.8cf181fa42p-4) \
    X(0x1.861861d8cc3d6p-1, 0x1.e3bc1937cp-4) X(0x1.745d1760e3628p-1, 0x1.1b3e71abecp-3)
TABLE_OF_PAIRS_F(logs_${op}_F, LOGS_${op}_F);
#define SCALE_${op}_F 0x1.bcb7b1526e50ep-2
#define LOW_${op}_F 0x1.95355baaafad3p-57
#define TWO_${op}_F (0x1.34413509f78p-2 * UNIT_F)
#define twolow_${op}_F(k, y) fma_F(k, all_F(0x1.fef311f12b358p-46 * UNIT_F), y)
#define basedpoly_${op}_F(r) \
    horner_F(r, 0.04800705558019194, -0.054376784959390786, 0.062042531480990704, -0.07238235156195987, 0.08685889615251238, \
             -0.10857362049160584, 0.14476482730111453, -0.21714724095162485)

//: based@fused.f64 needs abnormal split16 basis
#define ${op}_rare_F abnormal_F
TP_INLINE F ${op}_core_F(F x)
{
    F k, c, q, r = split16_F(x, logs_${op}_F, &k, &c, &q);
    F h = fma_F(k, all_F(TWO_${op}_F), c), a = r * all_F(SCALE_${op}_F), y = h + a;
    F l = fma_F(r, all_F(LOW_${op}_F), fma_F(r, all_F(SCALE_${op}_F), -a));  /* what a lacks */
    return y + fma_F(r * r, basedpoly_${op}_F(r), twolow_${op}_F(k, h - y + a + l));
}

//: logtwo@f32 needs addln2 split logpoly
/* log(u + c) for c within an ULP of u, which is from 2**-24 up to 2**127; for u = 1 it is c. */
TP_INLINE F logtwo_F(F u, F c)
{
    I e;
    F f = split_F(u, &e), g = c * (F)($one - e) * fma_F(f, f - all_F(1), all_F(1));  /* c/u, nearly */
    return addln2_F(__builtin_convertvector(e, F), f + fma_F(f * f, logpoly_F(f), g));
}

//: logtwo@f64 needs split logpoly
TP_INLINE F logtwo_F(F u, F c)
{
    F m, k = split_F(u, &m), f = m - all_F(1), s = f / (all_F(2) + f), z = s * s, h = all_F(0.5) * f * f;
    F power = (F)($one - ((U)(k + all_F($shift)) << 52));
    F g = c * power * fma_F(s + s, s - all_F(1), all_F(1));  /* c/u, nearly */
    F t = fma_F(s, fma_F(z, logpoly_F(z), h), fma_F(k, all_F(0x1.cf79abc9e3b3ap-40), g));
    return fma_F(k, all_F(0x1.62e42fefap-1), f - (h - t));
}

//: logtwo@fused.f64 needs logsum
TP_INLINE F logtwo_F(F u, F c)
{
    F r, l, q, y = logsum_F(u, &r, &l, &q);
    return y + fma_F(r * r, logpoly_F(r), fma_F(c * q, all_F(1) - r, l));
}

//: log1p needs log1p_core patched

//: log1p_core needs logtwo
/* Rare: x up to -1, where 1 + x is no positive number, and where it is 2**127 (2**1023) or more. */
#define log1p_rare_F(x) gt_F((I)((U)((x) + all_F(1)) + $inf), -3 * $normal - 1)
TP_INLINE F log1p_core_F(F x)
{
    F u = x + all_F(1);
    return (F)((U)logtwo_F(u, x - (u - all_F(1))) | ((U)x & $sign));
}

//: asinh needs asinh_core patched

//: hypotenuse@fused needs base
/* sqrt(1 + a**2) - 1 = h + l; for a above 1 the rounding error of h does not matter. */
TP_INLINE F hypotenuse_F(F a, F *l)
{
    F t = fma_F(a, a, all_F(1)), s = tp_sqrt_F(t), error = fma_F(a, a, all_F(1) - t) + fma_F(-s, s, t);
    *l = select_F(gt_F((I)a, $one), all_F(0), error * fma_F(s, all_F(-0.5), all_F(1)));
    return s - all_F(1);
}

//: hypotenuse@unfused needs base
TP_INLINE F hypotenuse_F(F a, F *l)
{
    *l = all_F(0);
    return a * a / (all_F(1) + tp_sqrt_F(a * a + all_F(1)));
}

//: asinh_core needs logtwo hypotenuse
#define asinh_rare_F(x) gt_F((I)(x) & $abs, (I)all_F($square))
TP_INLINE F asinh_core_F(F x)
{
    F l, a = (F)((I)x & $abs), h = hypotenuse_F(a, &l), w = a + h, u = all_F(1) + w;
    return (F)((U)logtwo_F(u, w - (u - all_F(1)) + (a - w + h + l)) | ((U)x & $sign));
}

//: acosh needs acosh_core patched

//: acosh_core needs logtwo
#define acosh_rare_F(x) (gt_F((I){} + $one, (I)(x)) | gt_F((I)(x), (I)all_F($square)))
TP_INLINE F acosh_core_F(F x)
{
    F t = x - all_F(1), w = t + tp_sqrt_F(fma_F(t, t, t + t)), u = all_F(1) + w;
    return logtwo_F(u, w - (u - all_F(1)));
}

//: atanh needs atanh_core patched

//: atanhpoly@f32 needs base
/* (atanh s - s)/s**3 for z = s**2, s up to 0.26; y + k ln2/2, for k in the upper bits of e. */
#define atanhpoly_F(z) horner_F(z, 0.127296463, 0.141927704, 0.200020596, 0.333333194)
#define addhalfln2_F(e, y, l) fma_F(__builtin_convertvector(e, F), all_F(0x1.62e43p-25), (y) + (l))

//: atanhpoly@f64 needs base
TP_INLINE F atanhpoly_F(F z)
{
    return horner_F(z, 0.07167766662823641, 0.055971874904093694, 0.0668958801844327, 0.07691209706887185,
                    0.09090941333932002, 0.11111110540353034, 0.14285714291431248, 0.19999999999971846, 0.3333333333333338);
}
TP_INLINE F addhalfln2_F(I e, F y, F l)
{
    F k = (F)((U)e >> 52 | 0x4330000000000000u) - all_F(0x1p52);
    return fma_F(k, all_F(0x1.62e42fefap-2), y + fma_F(k, all_F(0x1.cf79abc9e3b3ap-41), l));
}

//: across@fused needs base
/* a + 1 + p (a - 1), and a + 1 - p (a - 1). */
#define across_F(a, p) fma_F(a, all_F(1) + (p), all_F(1) - (p))
#define along_F(a, p) fma_F(a, all_F(1) - (p), all_F(1) + (p))

//: across@unfused needs base
#define across_F(a, p) ((a) * (p) - ((p) - all_F(1)) + (a))
#define along_F(a, p) (all_F(1) + (p) - (a) * (p) + (a))

//: atanh_core needs atanhpoly across
/* (1 + a)/(1 - a) = 2**k (1 + s)/(1 - s): the result is that of s and k ln2/2. For small a, k is 0 and s is a. Up to the
   bound 2**k + 1 is exact. */
#define atanh_rare_F(x) gt_F((I)(x) & $abs, $one - $normal / 0x100000 - 1)
TP_INLINE F atanh_core_F(F x)
{
    F a = (F)((I)x & $abs);
    I e = ((I)(all_F(1) + a) - (I)(all_F(1) - a) + $normal / 4) & -$normal;
    F p = (F)(e + $one), s = across_F(a, p) / along_F(a, p), z = s * s;
    return (F)((U)addhalfln2_F(e, s, s * z * atanhpoly_F(z)) | ((U)x & $sign));
}
