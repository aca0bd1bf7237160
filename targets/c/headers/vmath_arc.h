/* asin, acos, atan and atan2; a template as vmath.h says. */

//: quarter@f32
/* pi/4 in two parts. */
#define QUARTER_F 0x1.921fb6p-1f
#define QUARTERLOW_F -0x1.777a5cp-26f

//: quarter@f64
#define QUARTER_F 0x1.921fb54442d18p-1
#define QUARTERLOW_F 0x1.1a62633145c07p-55

//: asinpoly@f32
/* (asin r - r)/r**3 for z = r**2, r up to 1/2. */
#define asinpoly_F(z) horner_F(z, 0.0422094017, 0.0241537411, 0.0454756953, 0.0749525428, 0.166667536)

//: asinpoly@f64 needs base
TP_INLINE F asinpoly_F(F z)
{
    return horner_F(z, 0.03196742276137965, -0.016305783610457744, 0.01958099693132505, 0.0065083820167373945,
                    0.012173828705273051, 0.013884516832464736, 0.01735977937137515, 0.02237175295389663,
                    0.030381959357353498, 0.04464285682273049, 0.07500000000344245, 0.16666666666665375);
}

//: arc needs base asinpoly quarter
/* The reduced argument r of asin and acos, and z = r**2: r = a for a in [0, 1/2]; for a greater a (`far`) r = sqrt((1 - a)/2), since
 * asin a = pi/2 - 2 asin r. */
#define unit_F(x) gt_F((I)(x) & $abs, $one)
TP_INLINE F arc_F(F a, mask_F far, F *z)
{
    *z = select_F(far, fma_F(a, all_F(-0.5), all_F(0.5)), a * a);
    return select_F(far, tp_sqrt_F(*z), a);
}

//: asin needs asin_core patched

//: asin_core needs arc
#define asin_rare_F unit_F
TP_INLINE F asin_core_F(F x)
{
    F a = (F)((I)x & $abs), z;
    mask_F far = gt_F((I)a, $one - $normal);
    F r = arc_F(a, far, &z), p = r * z * asinpoly_F(z);
    F y = all_F(QUARTER_F) + (all_F(QUARTER_F) - (r + r) - fma_F(p, all_F(2), all_F(-2 * QUARTERLOW_F)));
    return (F)((U)select_F(far, y, r + p) | ((U)x & $sign));
}

//: acos needs acos_core patched

//: acos_core needs arc
/* acos x = 2 asin r for x > 1/2, pi - 2 asin r for x < -1/2, else pi/2 - asin x; k is the multiple of pi/4. */
#define acos_rare_F unit_F
TP_INLINE F acos_core_F(F x)
{
    F a = (F)((I)x & $abs), z;
    U sign = (U)x & $sign;
    mask_F far = gt_F((I)a, $one - $normal);
    F r = arc_F(a, far, &z), v = (F)((U)select_F(far, r + r, -r) ^ sign);
    F k = select_F(far, select_F(gt_F((I){}, (I)x), all_F(4), all_F(0)), all_F(2));
    return fma_F(k, all_F(QUARTER_F), v + fma_F(v * z, asinpoly_F(z), k * all_F(QUARTERLOW_F)));
}

//: atanpoly@f32
/* (atan t - t)/t**3 for z = t**2, t up to tan(pi/8). */
#define atanpoly_F(z) horner_F(z, -0.0609130189, 0.105997011, -0.142444625, 0.19998531, -0.333333164)

//: atanpoly@f64 needs base
TP_INLINE F atanpoly_F(F z)
{
    return horner_F(z, -0.017905400767533435, 0.03806325262792735, -0.050392676426156136, 0.058478845050521235,
                    -0.06663103894642944, 0.07692060249533834, -0.09090897762710926, 0.1111111078375801,
                    -0.1428571428020571, 0.19999999999953724, -0.333333333333332);
}

//: atanratio needs base atanpoly quarter
/* atan(a/b) = k pi/4 + atan t, where t is a/b, (a - b)/(a + b) or -b/a, whichever is small. `atanratio` gives k and t; `atansum` adds
 * k pi/4 + t and the small rest. */
TP_INLINE F atanratio_F(F a, F b, F *k)
{
    mask_F some = gt_F((I)a, (I)(b * all_F(0.41421356))), much = gt_F((I)(a * all_F(0.41421356)), (I)b);
    F n = select_F(some, a - b, a), d = select_F(some, a + b, b);
    *k = select_F(much, all_F(2), select_F(some, all_F(1), all_F(0)));
    return select_F(much, -b, n) / select_F(much, a, d);
}
TP_INLINE F atansum_F(F k, F t)
{
    F z = t * t;
    return fma_F(k, all_F(QUARTER_F), t) + fma_F(t * z, atanpoly_F(z), k * all_F(QUARTERLOW_F));
}

//: atan needs atanratio
/* No lane is rare. */
TP_INLINE F tp_atan_F(F x)
{
    F k, t = atanratio_F((F)((I)x & $abs), all_F(1), &k);
    return (F)((U)atansum_F(k, t) | ((U)x & $sign));
}

//: atan2 needs atan2_core patched2

//: atan2_core needs atanratio larger extreme
#define atan2_rare_F(y, x) extreme_F(larger_F(y, x))
TP_INLINE F atan2_core_F(F y, F x)
{
    F k, t = atanratio_F((F)((I)y & $abs), (F)((I)x & $abs), &k);
    mask_F left = gt_F((I){}, (I)x);
    k = select_F(left, all_F(4) - k, k);
    return (F)((U)atansum_F(k, (F)((U)t ^ ((U)x & $sign))) | ((U)y & $sign));
}
