/* erf; a template as vmath.h says. */

//: erfpoly@f32 needs base
/* erf(x)/x - 1 for z = x**2, x up to 1; and log(1 - erf a) for a from 1 up to ERF_END, where erf a rounds to 1. */
#define ERF_END_F 3.95f
TP_INLINE F erfpoly_F(F z)
{
    return horner_F(z, 7.91921921e-05, -0.000803051633, 0.00519071706, -0.0268551223, 0.112836182, -0.376126289, 0.128379166);
}
TP_INLINE F logerfc_F(F a)
{
    return horner_F(a, 0.00018578126, -0.00294163707, 0.0218134504, -0.103054434, -0.638205886, -1.12705207, -0.000350721763);
}

//: erfpoly@f64 needs base
#define ERF_END_F 5.95
TP_INLINE F erfpoly_F(F z)
{
    return horner_F(z, -7.778378644341101e-10, 1.3710099419892854e-08, -1.6206018663652612e-07, 1.644707697792918e-06,
                    -1.4924706097713288e-05, 0.00012055293124374537, -0.0008548325907927644, 0.005223977605474943,
                    -0.026866170642993976, 0.11283791670943001, -0.37612638903183465, 0.12837916709551256);
}
TP_INLINE F logerfc_F(F a)
{
    return horner_F(a, 1.7474836764923108e-11, -6.436123451204897e-10, 1.076804119261965e-08, -1.0685427204094244e-07,
                    6.782921699098149e-07, -2.6254146448596974e-06, 3.4312490795476637e-06, 2.851805128363521e-05,
                    -0.00023181352148108893, 0.0009219762455961488, -0.002101526781201183, 0.0005869245976866168,
                    0.018863145374672024, -0.10263637446009775, -0.6366680773533548, -1.1283685926647136,
                    -1.0768358746080273e-06);
}

//: erf needs exppoly erfpoly clamp
/* No lane is rare. */
TP_INLINE F tp_erf_F(F x)
{
    U n;
    F a = clamp_F((F)((I)x & $abs), ERF_END_F), small = fma_F(a, erfpoly_F(a * a), a);
    F p = exppoly_F(expreduce_F(logerfc_F(a), STEPS_F, &n));
    mask_F far = gt_F((I)a, $one) ^ gt_F((I)a, $inf - 1);  /* not NaN, of which expscale may make a number; a is not inf */
    return (F)((U)select_F(far, all_F(1) - expscale_F(p, n), small) | ((U)x & $sign));
}
