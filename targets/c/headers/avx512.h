/* AVX-512 operations of several instructions, or whose builtins differ between compilers; tokens as in vector.h. */

/* iuf wide */
static inline V tp_select_V(M m, V a, V b)
{
#ifdef __clang__
    return (V)__builtin_ia32_selectSUFFIX_WIDTH(m, (N)a, (N)b);
#else
    return (V)__builtin_ia32_blendmSUFFIX_WIDTH_mask((N)b, (N)a, m);
#endif
}

/* iuf wide */
static inline V tp_loadpart_V(const T *p, int64_t n)
{
    return (V)__builtin_ia32_loaddquSIZEWIDTH_mask((const void *)p, (NI)tp_splat_V(*p), tp_first_M(n));
}
/* iuf wide: a register that ends at p */
static inline V tp_loaddown_V(const T *p, int64_t n)
{
    M last = (M)(tp_first_M(n) << (n < L ? L - n : 0));
    return tp_reverse_V((V)__builtin_ia32_loaddquSIZEWIDTH_mask((const void *)(p + 1 - L), (NI)tp_splat_V(*p), last));
}
/* iuf wide */
static inline void tp_storemask_V(T *p, V v, M m) { __builtin_ia32_storedquSIZEWIDTH_mask((void *)p, (NI)v, m); }

/* iuf wide: lane k at p[-k], so the bits of the mask are reversed */
static inline void tp_storemaskdown_V(T *p, V v, M m)
{
    uint64_t bits = m;
    bits = (bits >> 1 & 0x5555555555555555) | (bits & 0x5555555555555555) << 1;
    bits = (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
    bits = (bits >> 4 & 0x0f0f0f0f0f0f0f0f) | (bits & 0x0f0f0f0f0f0f0f0f) << 4;
    tp_storemask_V(p + 1 - L, tp_reverse_V(v), (M)(__builtin_bswap64(bits) >> (64 - L)));
}

/* i8 u8 narrow: as eight lanes of twice the width, for GCC (12.2) may reload a wider mask from a spilled narrow one */
static inline void tp_storemask_V(T *p, V v, M m)
{
    i8x16 whole = {};
    i16x8 wide;
    __builtin_memcpy(&whole, &v, L);
    __asm__("vpmovzxbw %1, %0" : "=v"(wide) : "v"(whole));
    __builtin_ia32_pmovwb128mem_mask((void *)p, wide, m & ((1 << L) - 1));
}

/* f32 i32 u32 f64 i64 u64 512: half of the lanes move apart, then the other half */
static inline void tp_everyother_V(T *p, V v)
{
    M even = (M)0x5555;
    V high = (V)TP_SHUFFLE(I, (I)v, (I)v, EACH((k + L / 2) % L));
    __builtin_ia32_storedquSIZEWIDTH_mask((void *)p, (NI)__builtin_ia32_expandSIZEWIDTH_mask((NI)v, (NI){0}, even), even);
    __builtin_ia32_storedquSIZEWIDTH_mask((void *)(p + L), (NI)__builtin_ia32_expandSIZEWIDTH_mask((NI)high, (NI){0}, even), even);
}

/* f32 i32 u32 f64 i64 u64 512: all lanes, s bytes apart */
static inline void tp_spread_V(char *p, int64_t s, V v)
{
    if (s == 2 * sizeof(T)) tp_everyother_V((T *)p, v);
    else EACH(*(T *)(p + k * s) = v[k]);
}

/* f32 i32 u32 f64 i64 u64 wide: the lanes whose bit is on, and their neighbours */
static inline void tp_scatter2_V(char *p, int64_t s, V a, V b, uint64_t on)
{
    if (s != 2 * sizeof(T)) {
        tp_scatter_V(p, s, a, on);
        tp_scatter_V(p + sizeof(T), s, b, on);
        return;
    }
    uint64_t both = __builtin_ia32_pdep_di(on, 0x5555555555555555) * 3;
    tp_storemask_V((T *)p, TP_SHUFFLE(I, a, b, EACH(k / 2 + k % 2 * L)), (M)both);
    tp_storemask_V((T *)p + L, TP_SHUFFLE(I, a, b, EACH((k + L) / 2 + k % 2 * L)), (M)(both >> L));
}

/* f32 i32 u32 f64 i64 u64 wide: of the lanes that are elements; every other one by permutation */
__attribute__((noinline)) static V tp_gatherpart_V(const char *p, int64_t s, int64_t n)
{
    if (s == 2 * sizeof(T)) {
        int64_t rest = 2 * n - 1 - L;
        V a = tp_loadpart_V((const T *)p, 2 * n - 1), b = a;
        if (rest > 0) b = tp_loadpart_V((const T *)p + L, rest);
        return tp_select_V(tp_first_M(n), TP_SHUFFLE(I, a, b, EACH(2 * k)), tp_splat_V(a[0]));
    }
    V r;
    for (int k = 0; k < L; k++) r[k] = *(const T *)(p + (k < n ? k : 0) * s);
    return r;
}

/* i8 u8 i16 u16 512: narrow lanes are compressed as wide ones, sixteen at a time */
static inline int64_t tp_append_V(T *p, V v, M m)
{
    int64_t n = tp_append_H(p, tp_low_V(v), m);
    return n + tp_append_H(p + n, tp_high_V(v), m >> L / 2);
}
/* i8 u8 256 */
static inline int64_t tp_append_V(T *p, V v, M m)
{
    int64_t n = tp_append_H(p, tp_low_V(v), m);
    return n + tp_append_H(p + n, tp_high_V(v), m >> L / 2);
}
/* i16 u16 256 */
static inline int64_t tp_append_V(T *p, V v, M m)
{
    i32x16 wide = __builtin_ia32_compresssi512_mask(tp_cast_D_i32x16(v), (i32x16){0}, m);
    *(V_u *)p = tp_cast_i32_V(wide);
    return __builtin_popcountll(m);
}
/* i8 u8 128 */
static inline int64_t tp_append_V(T *p, V v, M m)
{
    i32x16 wide = __builtin_ia32_compresssi512_mask(tp_cast_D_i32x16(v), (i32x16){0}, m);
    *(V_u *)p = tp_cast_i32_V(wide);
    return __builtin_popcountll(m);
}
/* f32 i32 u32 f64 i64 u64 wide: compressed in a register; storing that masked is slow on some machines */
static inline int64_t tp_append_V(T *p, V v, M m)
{
    *(V_u *)p = (V)__builtin_ia32_compressSIZEWIDTH_mask((NI)v, (NI){0}, m);
    return __builtin_popcountll(m);
}

/* i16 wide: a product fits where its upper half is its sign */
static inline M tp_mul_over_V(V a, V b)
{
    V high;
    __asm__("vpmulhw %2, %1, %0" : "=v"(high) : "v"(a), "v"(b));
    return tp_ne_V(high, (a * b) >> 15);
}
/* u16 wide */
static inline M tp_mul_over_V(V a, V b)
{
    V high;
    __asm__("vpmulhuw %2, %1, %0" : "=v"(high) : "v"(a), "v"(b));
    return tp_ne_V(high, (V){0});
}
/* i32 u32 wide: the upper halves of the products of even lanes and of odd ones, side by side */
static inline V tp_mulhigh_V(V a, V b)
{
    V even, odd, x = TP_SHUFFLE(I, a, a, EACH(k | 1)), y = TP_SHUFFLE(I, b, b, EACH(k | 1));
    __asm__("vpmulSIGNdq %2, %1, %0" : "=v"(even) : "v"(a), "v"(b));
    __asm__("vpmulSIGNdq %2, %1, %0" : "=v"(odd) : "v"(x), "v"(y));
    return TP_SHUFFLE(I, even, odd, EACH(k % 2 ? k + L : k + 1));
}
/* i32 wide */
static inline M tp_mul_over_V(V a, V b) { return tp_ne_V(tp_mulhigh_V(a, b), (a * b) >> 31); }
/* u32 wide */
static inline M tp_mul_over_V(V a, V b) { return tp_ne_V(tp_mulhigh_V(a, b), (V){0}); }

/* f wide: a * b + c, rounded once */
static inline V tp_fma_V(V a, V b, V c)
{
    __asm__("vfmadd231SUFFIX %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
}

/* f wide: c - a * b, rounded once */
static inline V tp_fnma_V(V a, V b, V c)
{
    __asm__("vfnmadd231SUFFIX %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
}

/* u8 512: the instruction sums groups of eight bytes */
static inline int64_t tp_total_V(V a)
{
    i64x8 sums;
    __asm__("vpsadbw %2, %1, %0" : "=v"(sums) : "v"(a), "v"((V){0}));
    return tp_fold_add_1_i64x8(&sums);
}

/* f 512 */
static inline M tp_unordered_V(V a, V b) { return (M)__builtin_ia32_cmpSUFFIX512_mask(a, b, 3, -1, 4); }
