/* SSE2 operations of several instructions, which gcc would compile lane by lane; tokens as in vector.h. */

/* f 128: raises nothing on a quiet NaN: both operands are replaced by 0 where one is a NaN */
static inline I tp_lt_V(V a, V b)
{
    I o = (I)__builtin_ia32_cmpordSUFFIX(a, b);
    return (I)__builtin_ia32_cmpltSUFFIX((V)((I)a & o), (V)((I)b & o));
}
/* f 128 */
static inline I tp_le_V(V a, V b)
{
    I o = (I)__builtin_ia32_cmpordSUFFIX(a, b);
    return o & (I)__builtin_ia32_cmpleSUFFIX((V)((I)a & o), (V)((I)b & o));
}

/* i64 u64 128: both 32-bit halves are equal */
static inline I tp_eq_V(V a, V b)
{
    i32x4 same = (i32x4)a == (i32x4)b;
    return (I)(same & tp_swap1_i32x4(same));
}
/* i64 u64 128 */
static inline I tp_ne_V(V a, V b) { return ~tp_eq_V(a, b); }
/* i64 128: the sign of a - b, or that of a where the signs differ */
static inline I tp_lt_V(V a, V b) { return tp_signs_I((a & ~b) | (~(a ^ b) & (a - b))); }
/* u64 128 */
static inline I tp_lt_V(V a, V b) { return tp_signs_I((I)((~a & b) | (~(a ^ b) & (a - b)))); }
/* i64 u64 128 */
static inline I tp_le_V(V a, V b) { return ~tp_lt_V(b, a); }
/* i64 128: -1 in negative lanes, else 0 */
static inline V tp_signs_V(V a)
{
    i32x4 high = (i32x4)((U)((i32x4)a >> 31) & 0xffffffff00000000);
    return (V)(high | tp_swap1_i32x4(high));
}

/* i64 128: the bytes of a bool array from a mask */
static inline BYTES tp_tobytes_V(V a)
{
    unsigned on = __builtin_ia32_movmskpd((f64x2)a);
    return (BYTES)(uint16_t)((on & 1) | (on & 2) << 7);
}

/* u8 128: the instruction sums groups of eight bytes */
static inline int64_t tp_total_V(V a)
{
    i64x2 sums = (i64x2)__builtin_ia32_psadbw128((c8x16)a, (c8x16){0});
    return tp_fold_add_1_i64x2(&sums);
}

/* f wide */
static inline I tp_unordered_V(V a, V b) { return (I)__builtin_ia32_cmpunordSUFFIX(a, b); }
