/* AVX2 operations of several instructions; tokens as in vector.h. */

/* f32 i32 u32 f64 i64 u64 256 */
static inline V tp_loadpart_V(const T *p, int64_t n)
{
    I m = tp_first_I(n);
    return tp_select_V(m, (V)__builtin_ia32_maskloadLETTER256((const void *)p, (NI)m), tp_splat_V(*p));
}
/* f32 i32 u32 f64 i64 u64 256 */
static inline V tp_loaddown_V(const T *p, int64_t n)
{
    I m = tp_first_I(n), last = tp_reverse_I(m);
    V r = (V)__builtin_ia32_maskloadLETTER256((const void *)(p + 1 - L), (NI)last);
    return tp_select_V(m, tp_reverse_V(r), tp_splat_V(*p));
}
/* f32 i32 u32 f64 i64 u64 128 */
static inline V tp_loadpart_V(const T *p, int64_t n)
{
    I m = tp_first_I(n);
    return tp_select_V(m, (V)__builtin_ia32_maskloadLETTER((const void *)p, (NI)m), tp_splat_V(*p));
}
/* f32 i32 u32 f64 i64 u64 128 */
static inline V tp_loaddown_V(const T *p, int64_t n)
{
    I m = tp_first_I(n), last = tp_reverse_I(m);
    V r = (V)__builtin_ia32_maskloadLETTER((const void *)(p + 1 - L), (NI)last);
    return tp_select_V(m, tp_reverse_V(r), tp_splat_V(*p));
}
/* f32 i32 u32 f64 i64 u64 256: AVX2 has masked stores of these lanes only; smaller ones are stored lane by lane (vector.h) */
static inline void tp_storemask_V(T *p, V v, I m) { __builtin_ia32_maskstoreLETTER256((void *)p, (NI)m, (NI)v); }
/* f32 i32 u32 f64 i64 u64 128 */
static inline void tp_storemask_V(T *p, V v, I m) { __builtin_ia32_maskstoreLETTER((void *)p, (NI)m, (NI)v); }
/* f32 i32 u32 f64 i64 u64 256 */
static inline void tp_storemaskdown_V(T *p, V v, I m)
{
    __builtin_ia32_maskstoreLETTER256((void *)(p + 1 - L), (NI)tp_reverse_I(m), (NI)tp_reverse_V(v));
}
/* f32 i32 u32 f64 i64 u64 128 */
static inline void tp_storemaskdown_V(T *p, V v, I m)
{
    __builtin_ia32_maskstoreLETTER((void *)(p + 1 - L), (NI)tp_reverse_I(m), (NI)tp_reverse_V(v));
}

/* f32 128 */
static inline V tp_cast_f16_V(HALVES h)
{
#ifdef __clang__
    typedef _Float16 halves __attribute__((vector_size(8)));
    union { HALVES bits; halves values; } half = {h};           /* Clang has no builtin for it from 20 on */
    return __builtin_convertvector(half.values, V);
#else
    q64x2 bits = {(long long)h};
    return __builtin_ia32_vcvtph2ps((i16x8)bits);
#endif
}
/* f16 narrow */
static inline V tp_cast_f32_V(SINGLES a) { return (V)((q64x2)__builtin_ia32_vcvtps2ph(a, 4))[0]; }

/* f32 i32 u32 256: eight 3-bit lane numbers, picked by the mask's bits, steer one permutation */
static inline int64_t tp_append_V(T *p, V v, I m)
{
    uint64_t on = tp_bits_I(m);
    uint64_t bytes = __builtin_ia32_pdep_di(on, 0x0101010101010101) * 255;
    uint64_t from = __builtin_ia32_pext_di(0x0706050403020100, bytes);
    i32x8 order = tp_cast_u8_i32x8((u8x8)from);
    *(V_u *)p = (V)__builtin_ia32_permvarsi256((i32x8)v, order);
    return __builtin_popcountll(on);
}
/* f64 i64 u64 256 */
static inline int64_t tp_append_V(T *p, V v, I m)
{
    return tp_append_i32x8((int32_t *)p, (i32x8)v, (i32x8)m) / 2;    /* a lane is two */
}

/* f wide: a * b + c, rounded once */
static inline V tp_fma_V(V a, V b, V c)
{
    __asm__("vfmadd231SUFFIX %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    return c;
}

/* f wide: c - a * b, rounded once */
static inline V tp_fnma_V(V a, V b, V c)
{
    __asm__("vfnmadd231SUFFIX %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    return c;
}

/* f32 128: by way of double, which is exact for the integers that are not long */
static inline V tp_cast_i64_V(W a)
{
    if (tp_any_W(tp_long_W(a))) return __builtin_convertvector(a, V);
    return __builtin_convertvector(tp_cast_i64_Q(a), V);
}

/* u8 256: the instruction sums groups of eight bytes */
static inline int64_t tp_total_V(V a)
{
    i64x4 sums = (i64x4)__builtin_ia32_psadbw256((c8x32)a, (c8x32){0});
    return tp_fold_add_1_i64x4(&sums);
}

/* f 256 */
static inline I tp_unordered_V(V a, V b) { return (I)__builtin_ia32_cmpSUFFIX256(a, b, 3); }
/* f 128 */
static inline I tp_unordered_V(V a, V b) { return (I)__builtin_ia32_cmpSUFFIX(a, b, 3); }
