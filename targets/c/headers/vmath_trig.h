/* sin, cos and tan; a template as vmath.h says. */

//: sin needs sin_core patched

//: cos needs cos_core patched

//: tan needs tan_core patched

//: pi@fused.f32
/* Parts of pi, and the largest argument that they are good for. */
#define REACH_F 131072
#define PI_F 0x1.921fb6p+1
#define PI2_F -0x1.777a5cp-24
#define PI3_F -0x1.ee59dap-49

//: pi@fused.f64
#define REACH_F 0x1p28
#define PI_F 0x1.921fb54442d18p+1
#define PI2_F 0x1.1a62633145c07p-53
#define PI3_F -0x1.f1976b7ed8fbcp-109

//: pi@unfused.f32
/* The products with the first three parts are exact. */
#define REACH_F 8192
#define PI_F 0x1.92p+1
#define PI2_F 0x1.fb4p-11
#define PI3_F 0x1.444p-23
#define PI4_F 0x1.68c234p-38

//: pi@unfused.f64
#define REACH_F 0x1p25
#define PI_F 0x1.921fb54p+1
#define PI2_F 0x1.10b4612p-29
#define PI3_F -0x1.676733ap-59
#define PI4_F -0x1.d1fc8f8cbb5bfp-88

//: reduce@fused needs base pi
/* x - n pi, for n a multiple of 1/2; and the same as r + l. */
#define reduce_F(x, n) fma_F(n, all_F(-PI3_F), fma_F(n, all_F(-PI2_F), fma_F(n, all_F(-PI_F), x)))
TP_INLINE F reduce2_F(F x, F n, F *l)
{
    F s = fma_F(n, all_F(-PI_F), x), t = n * all_F(-PI2_F), r = s + t;
    *l = fma_F(n, all_F(-PI3_F), s - r + t + fma_F(n, all_F(-PI2_F), -t));
    return r;
}

//: reduce@unfused needs base pi
#define reduce_F(x, n) ((x) - (n) * all_F(PI_F) - (n) * all_F(PI2_F) - (n) * all_F(PI3_F) - (n) * all_F(PI4_F))
TP_INLINE F reduce2_F(F x, F n, F *l)
{
    F s = x - n * all_F(PI_F) - n * all_F(PI2_F), t = n * all_F(-PI3_F), r = s + t;
    *l = s - r + t - n * all_F(PI4_F);
    return r;
}

//: far needs reduce
#define far_F(x) gt_F((I)(x) & $abs, (I)all_F(REACH_F))

//: sinpoly@f32 needs base
/* sin r for |r| up to pi/2. */
TP_INLINE F sinpoly_F(F r)
{
    F z = r * r, p = horner_F(z, 2.60609568e-06, -0.000198097769, 0.00833306927, -0.166666597);
    return fma_F(r * z, p, r);
}

//: sinpoly@f64 needs base
TP_INLINE F sinpoly_F(F r)
{
    F z = r * r;
    F p = horner_F(z, 2.7214196560521851e-15, -7.6430193751691499e-13, 1.6058941002338573e-10, -2.5052106904422989e-08,
                   2.7557319211569482e-06, -0.00019841269841212479, 0.0083333333333332066, -0.16666666666666666);
    return fma_F(r * z, p, r);
}

//: sin_core needs far sinpoly
#define sin_rare_F far_F
TP_INLINE F sin_core_F(F x)
{
    F a = (F)((I)x & $abs), t = fma_F(a, all_F(0.31830988618379069), all_F($shift)), n = t - $shift;
    F y = sinpoly_F(reduce_F(a, n));
    return (F)((U)y ^ (U)t << $top ^ ((U)x & $sign));
}

//: cos_core needs far sinpoly
/* cos(n pi + r) for n = k + 1/2 is sin r, negative for even k. */
#define cos_rare_F far_F
TP_INLINE F cos_core_F(F x)
{
    F t = fma_F(x, all_F(0.31830988618379069), all_F(-0.5)) + $shift, n = t - $shift + all_F(0.5);
    F y = sinpoly_F(reduce_F(x, n));
    return (F)((U)y ^ ~(U)t << $top);
}

//: tanpoly@f32 needs base
/* tan r = (r + r z p)/q for z = r**2, |r| up to pi/4. */
#define tanpoly_F(z) all_F(-0.0957806706)
#define tanpoly2_F(z) horner_F(z, 0.00970926508, -0.429114491, 1)

//: tanpoly@f64 needs base
#define tanpoly_F(z) horner_F(z, -1.7860813824042537e-05, 0.0034248345583879377, -0.13338306122841442)
#define tanpoly2_F(z) \
    horner_F(z, 4.9815141830470518e-07, -0.00031180642239154094, 0.025663632745637249, -0.46671639456174774, 1)

//: tan_core needs far tanpoly
/* For n a multiple of 1/2: an odd multiple gives -q/p. */
#define tan_rare_F far_F
TP_INLINE F tan_core_F(F x)
{
    F a = (F)((I)x & $abs), t = fma_F(a, all_F(0.31830988618379069), all_F($shift / 2)), n = t - $shift / 2;
    F l, r = reduce2_F(a, n, &l), z = r * r, q = tanpoly2_F(z);
    F p = r + fma_F(r * z, tanpoly_F(z), l * fma_F(all_F(0.76), z, all_F(1)));  /* nearly what l adds to the numerator */
    mask_F odd = gt_F((I){}, (I)((U)t << $top));
    F y = select_F(odd, q, p) / select_F(odd, p, q);
    return (F)((U)y ^ (U)t << $top ^ ((U)x & $sign));
}
