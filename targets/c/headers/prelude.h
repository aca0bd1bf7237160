/* Scalar operations that C has no operator for, with NumPy's values and NumPy's floating-point flags.
 *
 * A template file, read by vector_ops.py: a kernel contains the sections that it uses. A comment that begins with dtype
 * kinds is the heading of a section for those kinds; prose follows a colon. Tokens: D: the dtype's name; T: its C type;
 * F, before a parenthesis: libm's suffix; SUFFIX: that of x86's instructions.
 * Integers wrap (-fwrapv). Comparisons do not raise `invalid` on a quiet NaN.
 */

/* biu */
static inline uint8_t tp_lt_D(T a, T b) { return a < b; }
/* f */
static inline uint8_t tp_lt_D(T a, T b) { TP_QUIET(a, b); return __builtin_isless(a, b); }

/* biu */
static inline uint8_t tp_le_D(T a, T b) { return a <= b; }
/* f */
static inline uint8_t tp_le_D(T a, T b) { TP_QUIET(a, b); return __builtin_islessequal(a, b); }

/* i: the smallest integer is its own absolute value */
static inline T tp_abs_D(T a) { return (T)(a < 0 ? -a : a); }
/* u */
static inline T tp_abs_D(T a) { return a; }
/* f */
static inline T tp_abs_D(T a) { return __builtin_fabsF(a); }

/* u64: the first n bytes from p on, at most 8, and zeros; 0 if n <= 0. Reads no byte behind them */
static inline T tp_firstbytes_D(const void *p, int64_t n)
{
    const char *from = p;
    T all;
    uint32_t a, b;
    if (n >= 8) {
        __builtin_memcpy(&all, from, 8);
        return all;
    }
    if (n >= 4) {
        __builtin_memcpy(&a, from, 4), __builtin_memcpy(&b, from + n - 4, 4);
        return a | (T)b << 8 * (n - 4);
    }
    if (n <= 0) return 0;
    const uint8_t *at = p;
    return at[0] | (T)at[n >> 1] << 8 * (n >> 1) | (T)at[n - 1] << 8 * (n - 1);
}

/* f: a if a < b, else b. Without AVX-512, minsd would raise `invalid` on a NaN, so the comparison is a quiet one; of AVX with a blend, since GCC moves the result of a branch through the general registers */
static inline T tp_lesser_D(T a, T b)
{
#if defined __AVX512F__
    T r;
    __asm__("vminsSUFFIX %{sae%}, %2, %1, %0" : "=v"(r) : "v"(a), "v"(b));
    return r;
#elif defined __AVX__
    T r;
    __asm__("vcmpsSUFFIX $17, %2, %1, %0\n\tvblendvpSUFFIX %0, %1, %2, %0" : "=&x"(r) : "x"(a), "x"(b));
    return r;
#else
    T c = a, d = b;
    TP_QUIET(c, d);
    return __builtin_isless(c, d) ? a : b;
#endif
}
/* f: a if a > b, else b */
static inline T tp_greater_D(T a, T b)
{
#if defined __AVX512F__
    T r;
    __asm__("vmaxsSUFFIX %{sae%}, %2, %1, %0" : "=v"(r) : "v"(a), "v"(b));
    return r;
#elif defined __AVX__
    T r;
    __asm__("vcmpsSUFFIX $30, %2, %1, %0\n\tvblendvpSUFFIX %0, %1, %2, %0" : "=&x"(r) : "x"(a), "x"(b));
    return r;
#else
    T c = a, d = b;
    TP_QUIET(c, d);
    return __builtin_isgreater(c, d) ? a : b;
#endif
}
/* iu */
static inline T tp_lesser_D(T a, T b) { return a < b ? a : b; }
/* iu */
static inline T tp_greater_D(T a, T b) { return a > b ? a : b; }

/* iuf: Python's min: the first, unless the second is strictly less */
static inline T tp_min_D(T a, T b) { return tp_lesser_D(b, a); }
/* iuf */
static inline T tp_max_D(T a, T b) { return tp_greater_D(b, a); }

/* iuf: NumPy's minimum: a NaN if one is a NaN; of equal values the second */
static inline T tp_minimum_D(T a, T b) { return a != a ? a : tp_lesser_D(a, b); }
/* iuf */
static inline T tp_maximum_D(T a, T b) { return a != a ? a : tp_greater_D(a, b); }

/* f: the minimum of IEEE 754-2019: a NaN if one is a NaN, and -0.0 is less than 0.0 */
static inline T tp_ieee_minimum_D(T a, T b) { return a == b ? (__builtin_copysignF(1, a) < 0 ? a : b) : tp_minimum_D(a, b); }
/* f */
static inline T tp_ieee_maximum_D(T a, T b) { return a == b ? (__builtin_copysignF(1, a) < 0 ? b : a) : tp_maximum_D(a, b); }

/* iu: the power by repeated squaring; 1 for a negative exponent */
static inline T tp_ipow_D(T a, T b)
{
    T power = 1;
    for (; b > 0; b = (T)(b >> 1), a = (T)(a * a)) if (b & 1) power = (T)(power * a);
    return power;
}

/* i: rounded down; 0 for b = 0. Constant divisors have forms that gcc compiles to shorter code. A division of 32 bits is faster than one of 64 */
static inline T tp_floordiv_D(T a, T b)
{
    if (__builtin_constant_p(b) && b > 0 && !(b & (b - 1))) return (T)(a >> __builtin_ctzll((uint64_t)b));
    if (__builtin_constant_p(b) && b > 0) return (T)(a / b - (a % b < 0));
    if (b == 0) return 0;
    if (sizeof(T) == 8 && !((uint64_t)(a | b) >> 32)) return (T)((uint32_t)a / (uint32_t)b);
    if (b == -1) return (T)-a;
    T q = (T)(a / b);
    return (T)(q - (q * b != a && (a ^ b) < 0));
}
/* u */
static inline T tp_floordiv_D(T a, T b) { return b ? a / b : 0; }
/* f: whether y overflowed, or the product underflowed; as tp_astray in vector.h */
static inline uint8_t tp_astray_D(T y, T product)
{
    T least = sizeof(T) == 8 ? (T)0x1p-1022 : (T)0x1p-126;
    return !__builtin_isfinite(y) || !__builtin_isgreaterequal(__builtin_fabsF(product), least);
}

/* f: as NumPy's npy_floor_divide: computed from the remainder, not by rounding a / b down */
static inline T tp_floordiv_D(T a, T b)
{
    if (b == 0) return a / b;
    T r = __builtin_fmodF(a, b);
    T q = (a - r) / b;
    if (r != 0 && __builtin_isless(b, 0) != __builtin_isless(r, 0)) q -= 1;
    if (q == 0) return __builtin_copysignF(0, a / b);
    T whole = __builtin_floorF(q);
    return __builtin_isgreater(q - whole, (T)0.5) ? whole + 1 : whole;
}

/* i: the remainder with the sign of b; 0 for b = 0 */
static inline T tp_mod_D(T a, T b)
{
    if (__builtin_constant_p(b) && b > 0 && !(b & (b - 1))) return (T)(a & (b - 1));
    if (b == 0 || b == -1) return 0;
    if (sizeof(T) == 8 && !__builtin_constant_p(b) && !((uint64_t)(a | b) >> 32)) return (T)((uint32_t)a % (uint32_t)b);
    T r = (T)(a % b);
    if (__builtin_constant_p(b) && b > 0) return (T)(r < 0 ? r + b : r);
    return (T)(r != 0 && (r ^ b) < 0 ? r + b : r);
}
/* u */
static inline T tp_mod_D(T a, T b) { return b ? a % b : 0; }
/* f */
static inline T tp_mod_D(T a, T b)
{
    T r = __builtin_fmodF(a, b);
    if (b == 0) return r;
    if (r == 0) return __builtin_copysignF(0, b);
    return __builtin_isless(b, 0) != __builtin_isless(r, 0) ? r + b : r;
}

/* iu: as NumPy: 0 if the count is negative, or not less than the number of bits */
static inline T tp_shl_D(T a, T b) { return (uint64_t)b < 8 * sizeof(T) ? (T)((uint64_t)a << b) : 0; }
/* iu: as NumPy: only sign bits are left if the count is negative, or not less than the number of bits */
static inline T tp_shr_D(T a, T b) { return (uint64_t)b < 8 * sizeof(T) ? (T)(a >> b) : (T)-(a < 0); }

/* iu: rotation to the left; the count is taken modulo the number of bits */
static inline T tp_rotl_D(T a, T b)
{
    int by = (int)((uint64_t)b % (8 * sizeof(T)));
    uint64_t x = (uint64_t)a & ~(uint64_t)0 >> (64 - 8 * sizeof(T));
    return by ? (T)(x << by | x >> (8 * sizeof(T) - by)) : a;
}
/* iu */
static inline T tp_rotr_D(T a, T b) { return tp_rotl_D(a, (T)-b); }
/* iu: the lower half of the carry-less product */
static inline T tp_clmul_D(T a, T b)
{
    uint64_t product = 0;
    for (int k = 0; k < 8 * (int)sizeof(T); k++) if ((uint64_t)b >> k & 1) product ^= (uint64_t)a << k;
    return (T)product;
}
/* i: the upper half of the product of twice as many bits */
static inline T tp_mul_high_D(T a, T b) { return (T)((__int128)a * b >> 8 * sizeof(T)); }
/* u */
static inline T tp_mul_high_D(T a, T b) { return (T)((unsigned __int128)a * b >> 8 * sizeof(T)); }
/* i64: the product of the low halves */
static inline T tp_short_mul_D(T a, T b) { return (T)(int32_t)a * (int32_t)b; }
/* u64 */
static inline T tp_short_mul_D(T a, T b) { return (T)(uint32_t)a * (uint32_t)b; }
/* iu */
static inline T tp_popcount_D(T a)
{
    return (T)__builtin_popcountll((uint64_t)a & ~(uint64_t)0 >> (64 - 8 * sizeof(T)));
}
/* iu: the position of the lowest set bit; -1 for 0 */
static inline T tp_first_set_D(T a) { return (T)(a ? __builtin_ctzll((uint64_t)a) : -1); }

/* i: the smallest integer if `low`, else the largest */
static inline T tp_bound_D(int low)
{
    T high = (T)(~(uint64_t)0 >> (65 - 8 * sizeof(T)));
    return low ? (T)(-high - 1) : high;
}
/* u */
static inline T tp_bound_D(int low) { return low ? 0 : (T)-1; }
/* iu: the sum, or the bound that it would pass */
static inline T tp_saturating_add_D(T a, T b)
{
    T r;
    return __builtin_add_overflow(a, b, &r) ? tp_bound_D(a < 0) : r;
}
/* i */
static inline T tp_saturating_sub_D(T a, T b)
{
    T r;
    return __builtin_sub_overflow(a, b, &r) ? tp_bound_D(a < 0) : r;
}
/* u */
static inline T tp_saturating_sub_D(T a, T b) { return a > b ? a - b : 0; }
/* iu */
static inline T tp_saturating_mul_D(T a, T b)
{
    T r;
    return __builtin_mul_overflow(a, b, &r) ? tp_bound_D((a < 0) != (b < 0)) : r;
}

/* iu */
static inline T tp_signum_D(T a) { return (T)((a > 0) - (a < 0)); }
/* f */
static inline T tp_signum_D(T a)
{
    return a != a ? a : (T)(__builtin_isgreater(a, 0) - __builtin_isless(a, 0));
}

/* iu: whether the sum overflows */
static inline uint8_t tp_add_over_D(T a, T b) { T r; return __builtin_add_overflow(a, b, &r); }
/* iu: whether the difference overflows */
static inline uint8_t tp_sub_over_D(T a, T b) { T r; return __builtin_sub_overflow(a, b, &r); }
/* iu: whether the product overflows */
static inline uint8_t tp_mul_over_D(T a, T b) { T r; return __builtin_mul_overflow(a, b, &r); }

/* biu: c ? a : b, where both are computed in any case: they may raise flags */
static inline T tp_choose_D(uint8_t c, T a, T b)
{
    TP_COMPUTED(a);
    TP_COMPUTED(b);
    return c ? a : b;
}
/* f */
static inline T tp_choose_D(uint8_t c, T a, T b)
{
    TP_COMPUTED_V(a);
    TP_COMPUTED_V(b);
    return c ? a : b;
}

/* iu: c ? a : b as a conditional move; GCC may compile a plain choice to a branch */
static inline T tp_blend_D(uint8_t c, T a, T b)
{
    if (sizeof(T) < 4) return c ? a : b;
    TP_CMOV("ne", c, (int)c, 0, a, b);
    return b;
}
/* f: c ? a : b without a branch */
static inline T tp_blend_D(uint8_t c, T a, T b)
{
    union { int64_t bits; T value; } mask = {-(int64_t)c};
#if defined __AVX__
    __asm__("vblendvpSUFFIX %2, %1, %0, %0" : "+x"(b) : "x"(a), "x"(mask.value));
    return b;
#elif defined __SSE2__
    __asm__("andpSUFFIX %1, %0" : "+x"(a) : "x"(mask.value));
    __asm__("andnpSUFFIX %1, %0" : "+x"(mask.value) : "x"(b));
    __asm__("orpSUFFIX %1, %0" : "+x"(a) : "x"(mask.value));
    return a;
#else
    return tp_choose_D(c, a, b);
#endif
}
/* iu: x < y ? a : b as a comparison and a conditional move, without a condition in a register */
static inline T tp_blend_lt_D(T x, T y, T a, T b)
{
    if (sizeof(T) < 4) return x < y ? a : b;
    if ((T)-1 < (T)0) TP_CMOV("l", x < y, x, y, a, b);
    else TP_CMOV("b", x < y, x, y, a, b);
    return b;
}
/* iu */
static inline T tp_blend_le_D(T x, T y, T a, T b) { return tp_blend_lt_D(y, x, b, a); }
/* iu */
static inline T tp_blend_eq_D(T x, T y, T a, T b)
{
    if (sizeof(T) < 4) return x == y ? a : b;
    TP_CMOV("e", x == y, x, y, a, b);
    return b;
}
/* iu */
static inline T tp_blend_ne_D(T x, T y, T a, T b) { return tp_blend_eq_D(x, y, b, a); }
/* iu: as tp_blend_lt, with a comparison of floats */
static inline T tp_blend_ltf_D(double x, double y, T a, T b)
{
    if (sizeof(T) < 4) return __builtin_isless(x, y) ? a : b;
    TP_CMOV_OF_FLOATS("a", __builtin_isless(x, y), x, y, a, b);
    return b;
}
/* iu */
static inline T tp_blend_lef_D(double x, double y, T a, T b)
{
    if (sizeof(T) < 4) return __builtin_islessequal(x, y) ? a : b;
    TP_CMOV_OF_FLOATS("ae", __builtin_islessequal(x, y), x, y, a, b);
    return b;
}
/* f */
static inline T tp_blend_lt_D(T x, T y, T a, T b)
{
#if defined __AVX__
    T mask;
    __asm__("vcmpsSUFFIX $17, %2, %1, %0" : "=x"(mask) : "x"(x), "x"(y));
    __asm__("vblendvpSUFFIX %2, %1, %0, %0" : "+x"(b) : "x"(a), "x"(mask));
    return b;
#else
    return tp_blend_D(tp_lt_D(x, y), a, b);
#endif
}
/* f */
static inline T tp_blend_le_D(T x, T y, T a, T b)
{
#if defined __AVX__
    T mask;
    __asm__("vcmpsSUFFIX $18, %2, %1, %0" : "=x"(mask) : "x"(x), "x"(y));
    __asm__("vblendvpSUFFIX %2, %1, %0, %0" : "+x"(b) : "x"(a), "x"(mask));
    return b;
#else
    return tp_blend_D(tp_le_D(x, y), a, b);
#endif
}

/* f */
static inline T tp_pow_D(T a, T b) { return __builtin_powF(a, b); }
/* f */
static inline T tp_exp_D(T a) { return __builtin_expF(a); }
/* f */
static inline T tp_log_D(T a) { return __builtin_logF(a); }
/* f */
static inline T tp_sin_D(T a) { return __builtin_sinF(a); }
/* f */
static inline T tp_cos_D(T a) { return __builtin_cosF(a); }
/* f */
static inline T tp_tan_D(T a) { return __builtin_tanF(a); }
/* f */
static inline T tp_tanh_D(T a) { return __builtin_tanhF(a); }

/* f: both parts of a complex result; `const`, so that one call serves for both */
__attribute__((noinline, const)) static T _Complex tp_cexp_both_D(T a, T b) { return __builtin_cexpF(__builtin_complex(a, b)); }
/* f */
__attribute__((noinline, const)) static T _Complex tp_clog_both_D(T a, T b) { return __builtin_clogF(__builtin_complex(a, b)); }
/* f */
__attribute__((noinline, const)) static T _Complex tp_csqrt_both_D(T a, T b) { return __builtin_csqrtF(__builtin_complex(a, b)); }
/* f */
__attribute__((noinline, const)) static T _Complex tp_csin_both_D(T a, T b) { return __builtin_csinF(__builtin_complex(a, b)); }
/* f */
__attribute__((noinline, const)) static T _Complex tp_ccos_both_D(T a, T b) { return __builtin_ccosF(__builtin_complex(a, b)); }
/* f */
__attribute__((noinline, const)) static T _Complex tp_ctan_both_D(T a, T b) { return __builtin_ctanF(__builtin_complex(a, b)); }
/* f: (a + bi) ** (c + di) as NumPy: products for small whole powers, own rules for zeros; comparisons raise `invalid` on NaN */
__attribute__((noinline, const)) static T _Complex tp_cpow_both_D(T a, T b, T c, T d)
{
    if (c == 0 && d == 0) return __builtin_complex((T)1, (T)0);
    if (a == 0 && b == 0) {
        if (c > 0) return __builtin_complex((T)0, (T)0);
        volatile T nan = __builtin_infF();
        nan -= nan; /* raises `invalid` */
        return __builtin_complex((T)nan, (T)nan);
    }
    if (d == 0 && c > -100 && c < 100 && (T)(int)c == c) {
        int n = (int)c, left = n < 0 ? -n : n;
        T re = 1, im = 0, old;
        if (n == 1) return __builtin_complex(a, b);
        if (n == 2) return __builtin_complex(a * a - b * b, a * b + b * a);
        if (n == 3) {
            re = a * a - b * b, im = a * b + b * a;
            return __builtin_complex(a * re - b * im, a * im + b * re);
        }
        for (;;) {
            if (left & 1) old = re * a - im * b, im = re * b + im * a, re = old;
            if (!(left >>= 1)) break;
            old = a * a - b * b, b = a * b + b * a, a = old;
        }
        if (n > 0) return __builtin_complex(re, im);
        if (__builtin_fabsF(re) >= __builtin_fabsF(im)) {
            if (re == 0 && im == 0) return __builtin_complex(1 / __builtin_fabsF(re), 0 / __builtin_fabsF(re));
            T ratio = im / re, scale = 1 / (re + im * ratio);
            return __builtin_complex((1 + 0 * ratio) * scale, (0 - 1 * ratio) * scale);
        }
        T ratio = re / im, scale = 1 / (im + re * ratio);
        return __builtin_complex((1 * ratio + 0) * scale, (0 * ratio - 1) * scale);
    }
    return __builtin_cpowF(__builtin_complex(a, b), __builtin_complex(c, d));
}
