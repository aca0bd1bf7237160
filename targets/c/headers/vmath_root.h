/* hypot and cbrt; a template as vmath.h says. */

//: root needs base
/* sqrt of 0 or of numbers that are far from the least one. */
#define root_F tp_sqrt_F

//: hypot needs hypot_core patched2

//: hypot_core needs larger root
/* Rare: the larger is so small or large that squares may lose bits; but not where both are 0. */
#define hypot_rare_F(x, y) hypotrare_F(larger_F(x, y))
TP_INLINE mask_F hypotrare_F(F a)
{
    return (gt_F((I)all_F($smallsquare), (I)a) & gt_F((I){}, -(I)a)) | gt_F((I)a, (I)all_F($square));
}
#define hypot_core_F(x, y) root_F((x) * (x) + (y) * (y))

//: cbrt needs cbrt_core patched

//: cubed@fused needs base
/* a - c**3, where they are close. */
TP_INLINE F cubed_F(F a, F c)
{
    F s = c * c;
    return fma_F(-s, c, a) - fma_F(c, c, -s) * c;
}

//: cubed@unfused needs base
#define cubed_F(a, c) ((a) - (c) * (c) * (c))

//: thirdguess@f32 needs base
/* a**(-1/3) from its bits, as a logarithm, so that 1 - a y**3 is at most 0.1022; (1 - e)**(-1/3). */
TP_INLINE F thirdguess_F(F a)
{
    F t = fma_F(__builtin_convertvector((I)a, F), all_F(-0x1.555556p-2f), all_F(1419900529));
    return (F)__builtin_convertvector(t, I);
}
#define thirdpoly_F(e) horner_F(e, 0.174760118, 0.223737612, 0.333326817, 0.999998033)

//: thirdguess@f64 needs base
TP_INLINE F thirdguess_F(F a)
{
    F h = (F)((U)a >> 32 | 0x4330000000000000u) - all_F(0x1p52);
    return (F)((U)fma_F(h, all_F(-0x1.5555555555555p-2), all_F(0x1p52 + 1430186360.8)) << 32);
}
#define thirdpoly_F(e) \
    horner_F(e, 0.11312150663437531, 0.1266878978410654, 0.14401675559891278, 0.17282974180448935, 0.22222226248003762, \
             0.33333334612827975, 0.9999999999828053)

//: cbrt_core needs abnormal thirdguess cubed
/* c = a y**2 for y near a**(-1/3), and a step of Newton's. */
#define cbrt_rare_F(x) (abnormal_F((I)(x) & $abs) & gt_F((I){}, -((I)(x) & $abs)))
TP_INLINE F cbrt_core_F(F x)
{
    F a = (F)((I)x & $abs), g = thirdguess_F(a), y = g * thirdpoly_F(fma_F(a * g, -(g * g), all_F(1))), c = a * y * y;
    return (F)((U)fma_F(cubed_F(a, c), y * y * all_F(0.33333333333333333), c) | ((U)x & $sign));
}
