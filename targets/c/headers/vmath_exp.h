/* exp, exp2, expm1, sinh, cosh, tanh and sigmoid; a template as vmath.h says. */

//: ln2@f32
/* ln2 as a sum of two parts. The first has so few bits that its product with each k that occurs is exact. */
#define LOG2E_F 0x1.715476p+0f
#define LN2_F 0x1.62e4p-1f
#define LN2LOW_F 0x1.7f7d1cp-20f

//: ln2@f64
#define LOG2E_F 0x1.71547652b82fep+0
#define LN2_F 0x1.62e42fefap-1
#define LN2LOW_F 0x1.cf79abc9e3b3ap-40

//: expreduce needs base ln2
/* x = n ln2/steps + r: gives r, and n in the low bits of an integer. */
TP_INLINE F expreduce_F(F x, $s steps, U *n)
{
    F t = fma_F(x, all_F(LOG2E_F * steps), all_F($shift)), k = t - $shift;
    *n = (U)t;
    return fma_F(k, all_F(-LN2LOW_F / steps), fma_F(k, all_F(-LN2_F / steps), x));
}
/* The same as r + l, with an exact r. */
TP_INLINE F expreduce2_F(F x, $s steps, U *n, F *l)
{
    F t = fma_F(x, all_F(LOG2E_F * steps), all_F($shift)), k = t - $shift;
    *n = (U)t;
    *l = k * all_F(-LN2LOW_F / steps);
    return fma_F(k, all_F(-LN2_F / steps), x);
}

//: root16@fused.f64 needs table
/* 2**(n/16): the low four bits j of n choose the entry 2**(j/16) of a table. From its bits j << 48 was subtracted, so that adding
 * n << 48 leaves the fraction, and adds the rest of n to the exponent. */
static const double roots16_F[16] TP_ALIGNED = {
    0x1p+0, 0x1.fb5586cf9890fp-1, 0x1.f72b83c7d517bp-1, 0x1.f387a6e756238p-1,
    0x1.f06fe0a31b715p-1, 0x1.edea64c123422p-1, 0x1.ebfdad5362a27p-1, 0x1.eab07dd485429p-1,
    0x1.ea09e667f3bcdp-1, 0x1.ea11473eb0187p-1, 0x1.eace5422aa0dbp-1, 0x1.ec49182a3f090p-1,
    0x1.ee89f995ad3adp-1, 0x1.f199bdd85529cp-1, 0x1.f5818dcfba487p-1, 0x1.fa4afa2a490dap-1};
TP_INLINE F root16_F(U n)
{
    return (F)((U)table_F(roots16_F, n) + (n << 48));
}

//: expsum@fused needs base
/* 1 + r + r**2 p. */
#define expsum_F(r, p) fma_F(fma_F(p, r, all_F(1)), r, all_F(1))

//: expsum@unfused needs base
#define expsum_F(r, p) ((r) * (r) * (p) + (r) + all_F(1))

//: expscale@f32
#define expscale_F(p, n) ((F)((U)(p) + ((n) << 23)))
#define STEPS_F 1

//: expscale@f64
#define expscale_F(p, n) ((F)((U)(p) + ((n) << 52)))
#define STEPS_F 1

//: expscale@fused.f64 needs root16
TP_INLINE F expscale_F(F p, U n)
{
    F s = root16_F(n);
    return fma_F(s, p, s);
}
#define STEPS_F 16

//: exppoly@f32 needs expreduce expsum expscale
/* exp(x) = exp(n ln2/STEPS + r) = expscale(exppoly(r), n), for the n and the r that expreduce makes of x: r is small, at most half of
 * ln2/STEPS. This polynomial is exp(r), and expscale multiplies it by 2**n. That of AVX-512 is exp(r) - 1: its expscale multiplies
 * by s = 2**(n/16), and adds s. */
TP_INLINE F exppoly_F(F r)
{
    F p = horner_F(r, 0.00138470368, 0.00836998969, 0.041668009, 0.166665092, 0.49999994);
    return expsum_F(r, p);
}

//: exppoly@f64 needs expreduce expsum expscale
TP_INLINE F exppoly_F(F r)
{
    F p = horner_F(r, 2.4983434103846146e-08, 2.7630996343028627e-07, 2.7557638988461136e-06, 2.4801491184928392e-05,
                   0.00019841269447867059, 0.0013888888945270111, 0.0083333333335212922, 0.041666666666524882,
                   0.16666666666666372, 0.50000000000000111);
    return expsum_F(r, p);
}

//: exppoly@fused.f64 needs expreduce expscale
TP_INLINE F exppoly_F(F r)
{
    F p = horner_F(r, 0.0013888589906848416, 0.0083334722013001794, 0.041666666693533382, 0.16666666664408855,
                   0.499999999999996);
    return fma_F(r * r, p, r);
}

//: exp2poly@f32 needs expscale base
/* expscale(exp2poly(r), n) is 2**(n/STEPS + r). */
TP_INLINE F exp2poly_F(F r)
{
    F p = horner_F(r, 0.000153282308, 0.00133909762, 0.00961850211, 0.0555035956, 0.240226477, 0.693147182);
    return fma_F(r, p, all_F(1));
}

//: exp2poly@f64 needs expscale base
TP_INLINE F exp2poly_F(F r)
{
    F p = horner_F(r, 4.439712446736641e-10, 7.073312708850683e-09, 1.0178154721080236e-07, 1.3215438336168058e-06,
                   1.5252733645580692e-05, 0.00015403530450132383, 0.0013333558146536224, 0.009618129107600635,
                   0.05550410866482175, 0.2402265069591011, 0.6931471805599453);
    return fma_F(r, p, all_F(1));
}

//: exp2poly@fused.f64 needs expscale base
TP_INLINE F exp2poly_F(F r)
{
    return r * horner_F(r, 0.00015403794087861004, 0.0013333818565443556, 0.009618129106014893, 0.05550410865214783,
                        0.240226506959101, 0.6931471805599468);
}

//: exp2reduce needs base
/* x = n/steps + r: gives r, and n in the low bits of an integer. */
TP_INLINE F exp2reduce_F(F x, $s steps, U *n)
{
    F t = x + all_F($shift / steps);
    *n = (U)t;
    return x - (t - all_F($shift / steps));
}

//: exp needs exppoly scaled

//: exp2 needs exp2reduce exp2poly scaled

//: bounds@f32.exp
/* For |x| up to `near` the result is normal (also for doubles a millionth beyond, since SSE2 compares upper halves only); for |x| of
 * `far` or more it is 0 or inf. */
#define near_${op}_F 87.3f
#define far_${op}_F 104.5f

//: bounds@f32.exp2
#define near_${op}_F 126
#define far_${op}_F 152

//: bounds@f64.exp
#define near_${op}_F 708.0
#define far_${op}_F 746.0

//: bounds@f64.exp2
#define near_${op}_F 1021
#define far_${op}_F 1080

//: scaled needs base bounds
/* exp or exp2, without calls of libm. In rare lanes, where the result may be subnormal, 0 or inf, it is multiplied by 2**n in two
 * steps: the second product raises overflow, and underflow if it rounds. The result is inexact even where that product is exact: so
 * underflow is raised wherever x is below -near. */
TP_INLINE F tp_${op}_F(F x)
{
    mask_F rare = gt_F((I)x & $abs, (I)all_F(near_${op}_F)), special = rare, down = rare;
    F c = x;
    if (rarely_F(rare)) {
        special = gt_F((I)x & $abs, $inf - 1), down = gt_F((I){}, (I)x);
        c = select_F(gt_F((I)x & $abs, (I)all_F(far_${op}_F)), select_F(down, all_F(-far_${op}_F), all_F(far_${op}_F)), x);
        c = select_F(special, all_F(0), c);
    }
    U n;
    F p = ${op}poly_F(${op}reduce_F(c, STEPS_F, &n));
    if (rarely_F(rare)) {
        U half = (U)select_F(down, (F)((I){} - $exphalf * STEPS_F), (F)((I){} + $exphalf * STEPS_F));
        F y = expscale_F(p, n - half) * select_F(down, all_F(0x1p-$exphalf$f), all_F(0x1p$exphalf$f));
        F limit = select_F(down, all_F(-1) / select_F(special, x, all_F(1)), x);    /* of -inf 0, of inf inf, of NaN NaN */
        if (any_F(rare & down & ~special)) {
            volatile $s least = 0x1p-$exphalf$f;
            least *= least, least *= least;
        }
        return select_F(special, limit, y);
    }
    return expscale_F(p, n);
}

//: expm1poly@f32 needs expreduce
/* (exp(r) - 1 - r)/r**2. */
#define expm1poly_F(r) horner_F(r, 0.000198459573, 0.00139416521, 0.00833339151, 0.0416663475, 0.166666657, 0.5)

//: expm1poly@f64 needs expreduce
TP_INLINE F expm1poly_F(F r)
{
    return horner_F(r, 2.0898913875030659e-09, 2.5108263735738837e-08, 2.7557301970067954e-07, 2.7557245991333849e-06,
                    2.480158732285225e-05, 0.00019841269885014008, 0.0013888888888871048, 0.0083333333333217123,
                    0.041666666666666699, 0.16666666666666677, 0.5);
}

//: expless1@f32 needs expm1poly
/* exp(x) - 1, for |x| up to $steep; of -0 it is 0. */
TP_INLINE F expless1_F(F x)
{
    U n;
    F r = expreduce_F(x, 1, &n), p = fma_F(r * r, expm1poly_F(r), r), s = (F)((n << 23) + $one);
    return fma_F(s, p, s - all_F(1));
}

//: expless1@f64 needs expm1poly
TP_INLINE F expless1_F(F x)
{
    U n;
    F l, r = expreduce2_F(x, 1, &n, &l), p = fma_F(r * r, expm1poly_F(r), l), s = (F)((n << 52) + $one);
    return fma_F(s, r + fma_F(r + p, l, p), s - all_F(1));
}

//: exptable@fused.f64 needs expreduce root16
/* exp(h + l) = s + s (r + p). The second table holds the relative errors of root16's. */
static const double rooterrors_F[16] TP_ALIGNED = {
    0, 8.1893176381955136e-17, -2.7939114859515733e-17, 7.8265732586360749e-17,
    3.3484623336251524e-17, 3.7508542013031266e-17, 1.9572585293112036e-17, 5.68648095791174e-17,
    -6.8358086576619232e-17, -2.3591094770850053e-17, 5.1548301170786783e-17, 1.5341410053603723e-17,
    4.8751605262270611e-17, 1.6854872906289731e-17, 1.7901269076045131e-17, -5.5450656186394274e-17};
TP_INLINE F exptable_F(F h, F l, F *r, F *p)
{
    U n;
    F m, x = expreduce2_F(h, 16, &n, &m);
    F q = horner_F(x, 0.00019841943227803628, 0.0013889104261950822, 0.0083333333311234031, 0.041666666661312191,
                   0.16666666666666682, 0.50000000000000033);
    m += l + table_F(rooterrors_F, n);
    q = fma_F(x * x, q, m);
    *r = x;
    *p = fma_F(x + q, m, q);
    return root16_F(n);
}

//: expless1@fused.f64 needs exptable
TP_INLINE F expless1_F(F x)
{
    F r, p, s = exptable_F(x, all_F(-0.0), &r, &p);
    return fma_F(s, r + p, s - all_F(1));
}

//: tanh needs expless1 clamp
/* u/(u + 2) for u = exp(2|x|) - 1; no lane is rare: from $tanhfar on it is 1, and NaN passes. */
TP_INLINE F tp_tanh_F(F x)
{
    F a = clamp_F((F)((I)x & $abs), $tanhfar), u = expless1_F(a + a), y = u / (u + all_F(2));
    return (F)((U)y | ((U)x & $sign));
}

//: steep needs base
#define steep_F(x) gt_F((I)(x) & $abs, (I)all_F($steep))

//: expm1 needs expm1_core patched

//: expm1_core needs steep expless1
#define expm1_rare_F steep_F
TP_INLINE F expm1_core_F(F x)
{
    return (F)((U)expless1_F(x) | ((U)x & $sign));
}

//: sinh needs sinh_core patched

//: cosh needs cosh_core patched

//: sinhpoly@f32
/* (sinh r - r)/r**3 and (cosh r - 1)/r**2 for z = r**2, |r| up to ln2/2. */
#define sinhpoly_F(z) horner_F(z, 0.00019970318, 0.00833317917, 0.166666672)
#define coshpoly_F(z) horner_F(z, 0.00139354216, 0.0416664593, 0.5)

//: sinhpoly@f64
TP_INLINE F sinhpoly_F(F z)
{
    return horner_F(z, 1.741958737203842e-10, 2.5047291410793707e-08, 2.755732564462606e-06, 0.00019841269837357135,
                    0.008333333333334383, 0.16666666666666666);
}
TP_INLINE F coshpoly_F(F z)
{
    return horner_F(z, 2.092170642097124e-09, 2.7557251982062204e-07, 2.480158734906892e-05, 0.0013888888888873318,
                    0.041666666666666685, 0.5);
}

//: halves needs steep expreduce sinhpoly
/* x = n ln2 + r: u and v are the exact cosh and sinh of n ln2, s and c are sinh r and cosh r - 1. */
TP_INLINE void halves_F(F x, F *u, F *v, F *s, F *c)
{
    U n;
    F r = expreduce_F(x, 1, &n), z = r * r;
    F p = (F)((n << $mantissa) + ($one - $normal)), q = (F)(($one - $normal) - (n << $mantissa));
    *u = p + q, *v = p - q;
    *s = fma_F(r * z, sinhpoly_F(z), r), *c = z * coshpoly_F(z);
}

//: sinh_core needs halves
#define sinh_rare_F steep_F
TP_INLINE F sinh_core_F(F x)
{
    F u, v, s, c;
    halves_F((F)((I)x & $abs), &u, &v, &s, &c);
    return (F)((U)(v + fma_F(v, c, u * s)) | ((U)x & $sign));
}

//: cosh_core needs halves
#define cosh_rare_F steep_F
TP_INLINE F cosh_core_F(F x)
{
    F u, v, s, c;
    halves_F(x, &u, &v, &s, &c);
    return u + fma_F(u, c, v * s);
}

//: sigmoid needs sigmoid_core patched

//: sigmoid_core needs steep expreduce expm1poly
/* 1/(1 + s + s p) for exp(-x) = s + s p, s a power of two. */
#define sigmoid_rare_F steep_F
TP_INLINE F sigmoid_core_F(F x)
{
    U n;
    F r = expreduce_F(-x, 1, &n), p = fma_F(r * r, expm1poly_F(r), r), s = (F)((n << $mantissa) + $one);
    return all_F(1) / fma_F(s, p, all_F(1) + s);
}
