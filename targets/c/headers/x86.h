/* Operations that SSE2 and AVX2 lack and AVX-512 has as instructions; tokens as in vector.h. */

/* f64 wide: the halves as fractions beside 2^84 and 2^52; one addition rounds */
static inline V tp_cast_i64_V(I a)
{
    V high = (V)(((U)a >> 32) ^ 0x4530000080000000), low = (V)(((U)a & 0xffffffff) | 0x4330000000000000);
    return (high - 0x1.00000801p84) + low;
}
/* f64 wide */
static inline V tp_cast_u64_V(U a)
{
    V high = (V)((a >> 32) | 0x4530000000000000), low = (V)((a & 0xffffffff) | 0x4330000000000000);
    return (high - 0x1.00000001p84) + low;
}
/* f64 wide */
static inline V tp_cast_u32_V(WORDS a) { return (V)(tp_cast_u32_U(a) | 0x4330000000000000) - 0x1p52; }

/* i32 128: masks, packed */
static inline BYTES tp_tobytes_V(V a)
{
    i16x8 half = (i16x8)__builtin_ia32_packssdw128(a, a);
    return (BYTES)((i32x4)__builtin_ia32_packsswb128(half, half))[0] & 1;
}
/* i64 256: the lower words of all lanes first */
static inline BYTES tp_tobytes_V(V a)
{
    union { V whole; i32x4 half[2]; } x = {a};
    return tp_tobytes_i32x4(TP_SHUFFLE(i32x4, x.half[0], x.half[1], 0, 2, 4, 6));
}
