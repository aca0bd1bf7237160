/* Division of vectors with Python's signs, and overflow of products; tokens as in vector.h.
 *
 * Integers are divided as floats that are wide enough: a quotient of two n-bit integers that is no integer differs from
 * every integer by at least 2^-n, relatively, so that rounding it to n + 2 or more bits does not give an integer, and its
 * floor is exact. Targets without a fused multiply-add have no 64-bit comparison either; scalar division is faster there.
 */

/* iuf: the lower half of the lanes */
static inline H tp_low_V(V a)
{
#if defined __clang__ || __GNUC__ >= 12
    return __builtin_shufflevector(a, a, HALF(k));
#else
    union { V whole; H half[2]; } x = {a};
    return x.half[0];
#endif
}
/* iuf: the upper half of the lanes */
static inline H tp_high_V(V a)
{
#if defined __clang__ || __GNUC__ >= 12
    return __builtin_shufflevector(a, a, HALF(k + L / 2));
#else
    union { V whole; H half[2]; } x = {a};
    return x.half[1];
#endif
}
/* iuf: the vector of two halves */
static inline V tp_join_V(H a, H b)
{
#if defined __clang__ || __GNUC__ >= 12
    return __builtin_shufflevector(a, b, EACH(k));
#else
    union { H half[2]; V whole; } x = {{a, b}};
    return x.whole;
#endif
}

/* iu split fused: half by half */
static inline V tp_floordiv_V(V a, V b)
{
    return tp_join_V(tp_floordiv_H(tp_low_V(a), tp_low_V(b)), tp_floordiv_H(tp_high_V(a), tp_high_V(b)));
}
/* iu split fused */
static inline V tp_mod_V(V a, V b)
{
    return tp_join_V(tp_mod_H(tp_low_V(a), tp_low_V(b)), tp_mod_H(tp_high_V(a), tp_high_V(b)));
}

/* iu: b, or 1 where it is 0 */
static inline V tp_divisor_V(V b) { return b - (V)(b == 0); }

/* i8 i16 u8 u16 fits fused */
static inline V tp_floordiv_V(V a, V b)
{
    Q q = tp_floor_Q(tp_cast_D_Q(a) / tp_cast_D_Q(tp_divisor_V(b)));
    return tp_cast_QT_V(q) & (V)(b != 0);
}
/* i32 u32 fits fused: the low bits of q + 1.5 * 2^52 are those of the integer q, also for -2^31 / -1 */
static inline V tp_floordiv_V(V a, V b)
{
    Q q = tp_floor_Q(tp_cast_D_Q(a) / tp_cast_D_Q(tp_divisor_V(b)));
    return tp_cast_X_V((W)(q + 0x1.8p52)) & (V)(b != 0);
}
/* i8 i16 u8 u16 i32 u32 fits fused */
static inline V tp_mod_V(V a, V b) { return (a - tp_floordiv_V(a, b) * b) & (V)(b != 0); }

/* iu power: by a constant */
static inline V tp_floordivbyNUMBER_V(V a) { return a >> SHIFT; }
/* u16 u32 wide: compilers multiply by the inverse of a constant */
static inline V tp_floordivbyNUMBER_V(V a) { return a / (V){EACH(NUMBERU)}; }
/* u8 wide: as two vectors of u16, which have a product */
static inline V tp_floordivbyNUMBER_V(V a)
{
    PAIRS low = (PAIRS)a & 255, high = (PAIRS)a >> 8;
    return (V)(low / (PAIRS){HALF(NUMBERU)} | high / (PAIRS){HALF(NUMBERU)} << 8);
}
/* i8 i16 i32 wide: rounds down: for a < 0 it is the complement of ~a / NUMBER */
static inline V tp_floordivbyNUMBER_V(V a)
{
    V below = (V)(a < 0);
    return (V)tp_floordivbyNUMBER_U((U)(a ^ below)) ^ below;
}
/* iu */
static inline V tp_floordivbyNUMBER_V(V a) { return tp_floordiv_V(a, tp_splat_V(NUMBER)); }
/* iu power */
static inline V tp_modbyNUMBER_V(V a) { return a & (V){EACH(NUMBERU - 1)}; }
/* i8 i16 i32 u8 u16 u32 wide */
static inline V tp_modbyNUMBER_V(V a) { return a - tp_floordivbyNUMBER_V(a) * (V){EACH(NUMBER)}; }
/* iu */
static inline V tp_modbyNUMBER_V(V a) { return tp_mod_V(a, tp_splat_V(NUMBER)); }

/* i64: an integer of 51 bits and a sign as a double: the low bits of 1.5 * 2^52 + a are those of a */
static inline Q tp_fraction_V(V a) { return (Q)(a + 0x4338000000000000) - 0x1.8p52; }
/* u64 */
static inline Q tp_fraction_V(V a) { return tp_fraction_I((I)a); }
/* i64 u64: the inverse of tp_fraction */
static inline V tp_whole_V(Q a) { return (V)(a + 0x1.8p52) - 0x4338000000000000; }
/* i64: the lanes with more bits than tp_fraction takes */
static inline M tp_long_V(V a) { return tp_ne_U((U)(a + 0x8000000000000) >> 52, (U){0}); }
/* u64 */
static inline M tp_long_V(V a) { return tp_ne_V(a >> 51, (V){0}); }

/* i64 u64 fused */
static inline V tp_floordiv_V(V a, V b)
{
    if (tp_any_M(tp_long_V(a) | tp_long_V(b))) return tp_each_floordiv_V(a, b);
    return tp_whole_V(tp_floor_Q(tp_fraction_V(a) / tp_fraction_V(tp_divisor_V(b)))) & (V)(b != 0);
}
/* i64 u64 fused */
static inline V tp_mod_V(V a, V b)
{
    if (tp_any_M(tp_long_V(a) | tp_long_V(b))) return tp_each_mod_V(a, b);
    Q x = tp_fraction_V(a), y = tp_fraction_V(tp_divisor_V(b));
    return tp_whole_V(x - tp_floor_Q(x / y) * y) & (V)(b != 0);
}

/* iu split bits fused */
static inline M tp_mul_over_V(V a, V b)
{
    return (M)tp_mul_over_H(tp_high_V(a), tp_high_V(b)) << L / 2 | tp_mul_over_H(tp_low_V(a), tp_low_V(b));
}
/* iu split lanes fused */
static inline M tp_mul_over_V(V a, V b)
{
    return tp_join_M(tp_mul_over_H(tp_low_V(a), tp_low_V(b)), tp_mul_over_H(tp_high_V(a), tp_high_V(b)));
}
/* i8 i16 u8 u16 i32 u32 fits lanes fused: whether the product differs from its lower half */
static inline M tp_mul_over_V(V a, V b)
{
    TWICE p = tp_cast_D_TWICE(a) * tp_cast_D_TWICE(b);
    return tp_cast_TI_M(tp_ne_TWICE(p, tp_cast_D_TWICE(tp_cast_TT_V(p))));
}
/* i8 i16 u8 u16 i32 u32 fits bits fused */
static inline M tp_mul_over_V(V a, V b)
{
    TWICE p = tp_cast_D_TWICE(a) * tp_cast_D_TWICE(b);
    return tp_ne_TWICE(p, tp_cast_D_TWICE(tp_cast_TT_V(p)));
}
/* i64 fused: products of two 32-bit integers fit; others are computed lane by lane */
static inline M tp_mul_over_V(V a, V b)
{
    M rare = tp_ne_U(((U)(a + 0x80000000) | (U)(b + 0x80000000)) >> 32, (U){0});
    return tp_any_M(rare) ? tp_each_mul_over_V(a, b) : (M){0};
}
/* u64 fused */
static inline M tp_mul_over_V(V a, V b)
{
    M rare = tp_ne_V((a | b) >> 32, (V){0});
    return tp_any_M(rare) ? tp_each_mul_over_V(a, b) : (M){0};
}

/* f fused: lanes whose exponents are too far from each other, or too extreme, for tp_cut to be exact and quiet */
static inline M tp_undivided_V(V a, V b)
{
    int digits = sizeof(T) == 8 ? 52 : 23, top = sizeof(T) == 8 ? 2047 : 255;
    I x = (I)(((U)a << 1) >> (digits + 1)), y = (I)(((U)b << 1) >> (digits + 1)), none = (I)(((U)a << 1) == 0);
    I far = (x - y >= digits - 1) | (x == top) | (y == top) | (y == 0) | (((x - y < 4 - top / 2) | (x == 0)) & ~none);
    return tp_ne_I(far, (I){0});
}
/* f fused: a / b cut to an integer, and the exact remainder; corrected where rounding gave one too many */
static inline V tp_cut_V(V a, V b, V *rest)
{
    V q = tp_trunc_V(a / b), r = tp_fnma_V(q, b, a);
    M beyond = tp_ne_V(r, (V){0}) & tp_lt_I((I)r ^ (I)a, (I){0});
    *rest = tp_select_V(beyond, r + tp_copysign_V(b, a), r);
    return tp_select_V(beyond, q - tp_copysign_V(tp_splat_V(1), q), q);
}
/* f fused */
static inline V tp_mod_V(V a, V b)
{
    if (tp_any_M(tp_undivided_V(a, b))) return tp_each_mod_V(a, b);
    V r;
    tp_cut_V(a, b, &r);
    M other = tp_lt_I((I)r ^ (I)b, (I){0});
    return tp_select_V(tp_ne_V(r, (V){0}), tp_select_V(other, r + b, r), tp_copysign_V(r, b));
}
/* f fused */
static inline V tp_floordiv_V(V a, V b)
{
    if (tp_any_M(tp_undivided_V(a, b))) return tp_each_floordiv_V(a, b);
    V r, q = tp_cut_V(a, b, &r);
    M other = tp_ne_V(r, (V){0}) & tp_lt_I((I)r ^ (I)b, (I){0});
    V down = tp_select_V(other, q - tp_splat_V(1), q);
    V zero = (V)(((I)a ^ (I)b) & (I)tp_splat_V(-0.0F));
    return tp_select_V(tp_ne_V(down, (V){0}), down, zero);
}
