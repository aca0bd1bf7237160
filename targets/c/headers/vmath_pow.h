/* pow; a template as vmath.h says. Powers that are floats themselves come out exact. */

//: pow@f32 needs patch2 abnormal D:powexp2 D:powlog2
/* 2**(y log2 x) in doubles, half a vector at a time. Ordinary: x positive and normal, y finite, the result normal. */
typedef float H __attribute__((vector_size($bytes / 2)));
TP_INLINE F pow_join_F(D a, D b)
{
    union { H half[2]; F whole; } u = {{__builtin_convertvector(a, H), __builtin_convertvector(b, H)}};
    return u.whole;
}
TP_INLINE D pow_log_F(F x, F y, int k)
{
    union { F whole; H half[2]; } u = {x}, v = {y};
    return __builtin_convertvector(v.half[k], D) * powlog2_D(__builtin_convertvector(u.half[k], D));
}
static inline F tp_pow_F(F x, F y)
{
    mask_F m = gt_F((I)y & $abs, $inf - 1) | abnormal_F(x);
    F c = x, d = y;
    if (rarely_F(m)) c = select_F(m, all_F(1), x), d = select_F(m, all_F(1), y);
    D a = pow_log_F(c, d, 0), b = pow_log_F(c, d, 1);
    mask_D ma = powexp2_rare_D(a), mb = powexp2_rare_D(b);
    if (rarely_D(ma | mb)) a = select_D(ma, all_D(0), a), b = select_D(mb, all_D(0), b);
    F z = pow_join_F(powexp2_D(a), powexp2_D(b));
    unsigned bits = bits_F(m) | bits_D(ma) | bits_D(mb) << $lanes / 2;
    return __builtin_expect(bits, 0) ? patch2_${op}_F(x, y, z, bits) : z;
}

//: powexp2_rare@f64 needs types base
#define powexp2_rare_F(x) gt_F((I)(x) & $abs, (I)all_F(126))

//: powexp2@f64 needs powexp2_rare
TP_INLINE F powexp2_F(F x)
{
    F t = x + $shift, r = x - (t - $shift);
    F p = horner_F(r, 0.00015345809276196156, 0.0013399931083695154, 0.0096184889667276108, 0.055503287773736469,
                   0.24022646890560803, 0.69314720573699284, 1.0000000005541645);
    return (F)((U)p + ((U)t << 52));
}

//: powexp2@fused.f64 needs powexp2_rare root16
TP_INLINE F powexp2_F(F x)
{
    F t = x + all_F(0x1.8p48), r = x - (t - all_F(0x1.8p48));
    return root16_F((U)t) * horner_F(r, 0.055502806593806617, 0.24023589934394612, 0.69314718230831007, 0.99999999885362956);
}

//: powlog2@f64 needs types split
/* log2 x to 33 bits. */
TP_INLINE F powlog2_F(F x)
{
    F m, k = split_F(x, &m), f = m - all_F(1);
    F p = horner_F(f, -0.086346451573768412, 0.15485774498594196, -0.15698214150290404, 0.15900144132528876,
                   -0.17904696435470896, 0.20609626130288092, -0.2405041735452465, 0.28854064337681418,
                   -0.36067280055949663, 0.48089832073170052, -0.72134752521312784, 1.442695040939342);
    return fma_F(p, f, k);
}

//: powlog2@fused.f64 needs types split16
#define LOG2S_F(X) \
    X(0x1.642f276e5904ep+0, -0x1.e7ea4ae17fe16p-2) X(0x1.55554b95cfbb4p+0, -0x1.a8ff6ce73b469p-2) \
    X(0x1.47b67e1659ad0p+0, -0x1.6cd6e3689984ap-2) X(0x1.3b1937349f97fp+0, -0x1.32d9d3c663090p-2) \
    X(0x1.2f67f13315906p+0, -0x1.f5fa17c5c362cp-3) X(0x1.248da7c5e5a43p+0, -0x1.8a5abd695fe68p-3) \
    X(0x1.1a7ed6447ff6dp+0, -0x1.22fcdc6291dc4p-3) X(0x1.110ac9ddc3b16p+0, -0x1.7cd86b5cf5e64p-4) \
    X(0x1.0849f425e90fdp+0, -0x1.789a1c73db209p-5) X(1, 0) \
    X(0x1.e1e55a008efebp-1, 0x1.6614e4e54670bp-4) X(0x1.c71125222b6a8p-1, 0x1.5c4afff36abadp-3) \
    X(0x1.af2ce5d460cf8p-1, 0x1.fba2be230becfp-3) X(0x1.998de28188702p-1, 0x1.49d1c6497a94ep-2) \
    X(0x1.861426e38682ap-1, 0x1.91cbacad2ac03p-2) X(0x1.7461a0e5dab9cp-1, 0x1.d6633d7a32528p-2)
TABLE_OF_PAIRS_F(log2s_F, LOG2S_F);
TP_INLINE F powlog2_F(F x)
{
    F k, c, q, r = split16_F(x, log2s_F, &k, &c, &q);
    F p = horner_F(r, -0.24077121037845281, 0.2888610064838858, -0.36067359784635789, 0.48089822127405912,
                   -0.7213475204644707, 1.4426950408962307);
    return fma_F(p, r, fma_F(k, all_F(UNIT_F), c));
}

//: exp_2@f64 needs expm1poly
/* exp(h + l) to nearly half an ULP. */
TP_INLINE F exp_2_F(F h, F l)
{
    U n;
    F m, r = expreduce2_F(h, 1, &n, &m), a = all_F(1) + r;
    m += l;
    F p = fma_F(r * r, expm1poly_F(r), m);
    p = a + ((all_F(1) - a + r) + fma_F(r + p, m, p));
    return (F)((U)p + (n << 52));
}

//: exp_2@fused.f64 needs exptable
TP_INLINE F exp_2_F(F h, F l)
{
    F r, p, s = exptable_F(h, l, &r, &p);
    return fma_F(s, r + p, s);
}

//: log_2@f64 needs split product
/* log x = h + l to 63 bits: log m = 2 (s + s (z/3 + z**2 p(z))) for s = (m - 1)/(m + 1), z = s**2, where s, z and z/3 carry
   their rounding errors along. */
static inline F log_2_F(F x, F *low)
{
    F m, k = split_F(x, &m), d = m + all_F(1), inv = all_F(1) / d, f = m - all_F(1);
    F s = f * inv, sl = fma_F(s, d - all_F(1) - m, residual_F(f, s, d)) * inv, z, zl, wh, wl, ph, pl;
    product_F(s, s, z, zl);
    F p = horner_F(z, 0.065989346765958981, 0.066283281380780976, 0.076933820286672311, 0.090908921129827347,
                   0.1111111126073815, 0.14285714285045617, 0.20000000000001136);
    zl = fma_F(s + s, sl, zl);
    product_F(z, all_F(0x1.5555555555555p-2), wh, wl);
    wl = fma_F(zl, all_F(0x1.5555555555555p-2), fma_F(z, all_F(0x1.5555555555555p-56), wl));
    F q = p * z * z, w = wh + q;
    wl += wh - w + q;
    product_F(s, w, ph, pl);
    F t = s + ph, kh = k * all_F(0x1.62e42fefap-1), h = fma_F(all_F(2), t, kh);
    pl = (s - t + ph) + (fma_F(s, wl, fma_F(sl, w, pl)) + sl);
    *low = fma_F(all_F(2), t, kh - h) + fma_F(all_F(2), pl, k * all_F(0x1.cf79abc9e3b3ap-40));
    return h;
}

//: pow@f64 needs patch2 abnormal log_2 exp_2
/* exp(y log x). Ordinary: x positive and normal, |y| < 2**62, the result normal. */
static inline F tp_pow_F(F x, F y)
{
    mask_F m = gt_F((I)y & $abs, (I)all_F(0x1p62)) | abnormal_F(x);
    F c = x, d = y;
    if (rarely_F(m)) c = select_F(m, all_F(1), x), d = select_F(m, all_F(1), y);
    F l, h, e, t = log_2_F(c, &l);
    product_F(d, t, h, e);
    l = fma_F(d, l, e);
    m |= gt_F((I)h & $abs, (I)all_F(708));
    if (rarely_F(m)) h = select_F(m, all_F(0), h), l = select_F(m, all_F(0), l);
    F z = exp_2_F(h, l);
    return rarely_F(m) ? patch2_${op}_F(x, y, z, bits_F(m)) : z;
}
