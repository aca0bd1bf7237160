/* log; a template as vmath.h says. */

//: log needs log_core patched

//: addln2@fused.f32 needs base
/* y + k ln2, for k in units of 2**-23. */
#define addln2_F(k, y) fma_F(k, all_F(0x1.62e43p-24), y)

//: addln2@unfused.f32 needs base
#define addln2_F(k, y) ((k) * all_F(0x1.62e4p-24) + ((k) * all_F(0x1.7f7d1cp-43) + (y)))

//: log_core@f32 needs abnormal addln2
#define log_rare_F abnormal_F
TP_INLINE F log_core_F(F x)
{
    I e = ((I)x - 0x3f2aaaab) & -0x00800000;  /* x = 2**k (1 + f), 1 + f from 2/3 to 4/3; e is k << 23 */
    F f = (F)((I)x - e) - all_F(1);
    F p = horner_F(f, -0.124898084, 0.140604481, -0.122732662, 0.139897004, -0.166744515, 0.20011434, -0.249999195,
                   0.333331972, -0.5);
    return addln2_F(__builtin_convertvector(e, F), fma_F(f * f, p, f));
}

//: split@f64 needs base
/* x = 2**k m: k, and m from about sqrt(1/2) up to twice that. */
TP_INLINE F split_F(F x, F *m)
{
    U t = (U)x + (0x3ff0000000000000u - 0x3fe6a09e00000000u);
    *m = (F)((t & 0x000fffffffffffffu) + 0x3fe6a09e00000000u);
    return (F)(t >> 52 | 0x4330000000000000u) - all_F(0x1p52 + 1023);  /* no ISA but AVX-512 converts 64-bit integers */
}

//: log_core@f64 needs abnormal split
#define log_rare_F abnormal_F
TP_INLINE F log_core_F(F x)
{
    F m, k = split_F(x, &m), f = m - all_F(1);
    F s = f / (all_F(2) + f), z = s * s, h = all_F(0.5) * f * f;  /* log(1 + f) = f - h + s (h + z p(z)) */
    F p = horner_F(z, 0.1479825585827762, 0.15313832328838661, 0.18183572352169203, 0.22222198428987111,
                   0.28571428743686567, 0.39999999999409352, 0.66666666666667351);
    F c = fma_F(s, fma_F(z, p, h), k * all_F(0x1.cf79abc9e3b3ap-40));
    return fma_F(k, all_F(0x1.62e42fefap-1), f - (h - c));
}

//: split16@avx512.512.f64 needs table
/* x = 2**k m with m near c, one of 16: m/c - 1, k in units of 2**-52, and the number i of c. Each 1/c was chosen so that
   43 bits hold log c, whose sum with k times the upper part of ln2 is then exact. */
TP_INLINE F split16_F(F x, F *k, U *i)
{
    const F lo = {0x1.642f276e5904ep+0, 0x1.55554b95cfbb4p+0, 0x1.47b67e1659ad0p+0, 0x1.3b1937349f97fp+0,
                  0x1.2f67f13315906p+0, 0x1.248da7c5e5a43p+0, 0x1.1a7ed6447ff6dp+0, 0x1.110ac9ddc3b16p+0};
    const F hi = {0x1.0849f425e90fdp+0, 1, 0x1.e1e55a008efebp-1, 0x1.c71125222b6a8p-1,
                  0x1.af2ce5d460cf8p-1, 0x1.998de28188702p-1, 0x1.861426e38682ap-1, 0x1.7461a0e5dab9cp-1};
    U t = (U)x - 0x3fe6800000000000u, e = t & 0xfff0000000000000u;
    *k = __builtin_convertvector((I)e, F);
    *i = t >> 48;
    return fma_F((F)((U)x - e), table_F(lo, hi, *i), all_F(-1));
}

//: log_core@avx512.512.f64 needs abnormal split16
#define log_rare_F abnormal_F
TP_INLINE F log_core_F(F x)
{
    const F lo = {-0x1.523271c9a18p-2, -0x1.269603d4bc8p-2, -0x1.f9c65a2a27p-3, -0x1.a962ba4e2dp-3,
                  -0x1.5bf1a2cdbap-3, -0x1.11587e4a1cp-3, -0x1.9365087166p-4, -0x1.07fb5e4334p-4};
    const F hi = {-0x1.050a658f3p-5, 0, 0x1.f068122dfp-5, 0x1.e2d629f25cp-4,
                  0x1.5fddc375fp-3, 0x1.c93a10c876p-3, 0x1.1680e4b4e1p-2, 0x1.460c41bd23p-2};
    U i;
    F k, r = split16_F(x, &k, &i), h = fma_F(k, all_F(0x1.62e42fefa38p-53), table_F(lo, hi, i)), y = h + r;
    F l = fma_F(k, all_F(0x1.ef35793c7673p-97), h - y + r);
    F p = horner_F(r, 0.11133425412204501, -0.12522432351507939, 0.14285695315677452, -0.1666664991185606,
                   0.20000000006425991, -0.25000000004630984, 0.33333333333332638, -0.49999999999999656);
    return y + fma_F(r * r, p, l);
}
