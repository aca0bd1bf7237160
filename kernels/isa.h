/* What every kernel here is written in: one register of the instruction set that the compiler was told, for elements T.
 *
 * Read once a dtype, with T, T_BYTES and T_FLOAT defined; each name ends in the dtype: N(load) is load_f32. V: a register
 * of LANES elements; M: a mask of them (bits on AVX-512, lanes of 0 and -1 elsewhere); I, U: integers of V's shape.
 *
 * A kernel is KERNEL(name): it gets arrays (data, lengths, strides in bytes) and scalars in the order of its meaning's
 * parameters, may rely on its guards and on unit strides where the meaning has ::1, and returns the status 0. Float folds
 * have the order of the generated code, so its bits: GROUP lanes of which element k takes number k % GROUP, blocks of BLOCK
 * elements, blocks of BLOCKS blocks. */

#define N_(name, t) tk_##name##_##t
#define N__(name, t) N_(name, t)
#define N(name) N__(name, T)
#define KERNEL(name) static int64_t N(name)(const tp_array *arrays, const tp_scalar *scalars)
#define ARRAY(k) ((T *)arrays[k].data)
#define ROW(k, i) ((T *)(arrays[k].data + (i) * arrays[k].strides[0]))
#define DIM(k, axis) arrays[k].dims[axis]
#define SCALAR(k) ((C)scalars[k].T)

#if defined __AVX512F__
#define V_BYTES 64
#elif defined __AVX2__
#define V_BYTES 32
#else
#define V_BYTES 16
#endif
#define LANES (V_BYTES / T_BYTES)
#define GROUP (256 / T_BYTES)
#define REGISTERS (256 / V_BYTES)
#define BLOCK 4096
#define BLOCKS 64
#define STREAMED (16 << 20)

#define C N(element)
#define V N(V)
#define I N(I)
#define M N(M)
typedef T C;
typedef T V __attribute__((vector_size(V_BYTES)));
typedef T N(loose) __attribute__((vector_size(V_BYTES), may_alias, aligned(1)));
#if T_BYTES == 8
typedef int64_t I __attribute__((vector_size(V_BYTES)));
#elif T_BYTES == 4
typedef int32_t I __attribute__((vector_size(V_BYTES)));
#else
typedef int8_t I __attribute__((vector_size(V_BYTES)));
#endif
#if defined __AVX512F__ && T_BYTES == 8
typedef uint8_t M;
#elif defined __AVX512F__ && T_BYTES == 4
typedef uint16_t M;
#elif defined __AVX512F__
typedef uint64_t M;
#else
typedef I M;
#endif

/* x once a lane; F(h, k) for the number k of each lane. */
#define TWICE(x) x, x
#define FOUR(x) TWICE(x), TWICE(x)
#define EIGHT(x) FOUR(x), FOUR(x)
#define SIXTEEN(x) EIGHT(x), EIGHT(x)
#define FROM4(F, h, k) F(h, k), F(h, (k + 1)), F(h, (k + 2)), F(h, (k + 3))
#define FROM16(F, h, k) FROM4(F, h, k), FROM4(F, h, k + 4), FROM4(F, h, k + 8), FROM4(F, h, k + 12)
#if LANES == 2
#define EVERY(x) TWICE(x)
#define EACH_LANE(F, h) F(h, 0), F(h, 1)
#elif LANES == 4
#define EVERY(x) FOUR(x)
#define EACH_LANE(F, h) FROM4(F, h, 0)
#elif LANES == 8
#define EVERY(x) EIGHT(x)
#define EACH_LANE(F, h) FROM4(F, h, 0), FROM4(F, h, 4)
#elif LANES == 16
#define EVERY(x) SIXTEEN(x)
#define EACH_LANE(F, h) FROM16(F, h, 0)
#elif LANES == 32
#define EVERY(x) SIXTEEN(x), SIXTEEN(x)
#define EACH_LANE(F, h) FROM16(F, h, 0), FROM16(F, h, 16)
#else
#define EVERY(x) SIXTEEN(x), SIXTEEN(x), SIXTEEN(x), SIXTEEN(x)
#define EACH_LANE(F, h) FROM16(F, h, 0), FROM16(F, h, 16), FROM16(F, h, 32), FROM16(F, h, 48)
#endif
#define LANE(h, k) (k)
#define PARTNER(h, k) ((k) ^ h)

static inline V N(load)(const C *p) { return *(const N(loose) *)p; }
static inline void N(store)(C *p, V v) { *(N(loose) *)p = v; }
static inline V N(splat)(C x) { return (V){EVERY(x)}; }

/* The first n elements, fewer than LANES; every other lane holds a copy of the first, so that it raises no flag of its own. */
static inline V N(load_part)(const C *p, int64_t n);
static inline void N(store_part)(C *p, V v, int64_t n);
/* The lanes whose lane of `m` is on, one after the other, and how many; all of a register may be written. */
static inline int64_t N(append)(C *p, V v, M m);

#if defined __AVX512F__

static inline M N(first)(int64_t n) { return (M)(((uint64_t)1 << n) - 1); }
static inline int64_t N(popcount)(M m) { return __builtin_popcountll(m); }
static inline M N(both)(M a, M b) { return a & b; }
#if T_FLOAT && T_BYTES == 4
static inline M N(gt)(V a, V b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ); }
static inline M N(eq)(V a, V b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ); }
static inline V N(lesser)(V a, V b) { return (V)_mm512_min_ps((__m512)a, (__m512)b); }
static inline V N(greater)(V a, V b) { return (V)_mm512_max_ps((__m512)a, (__m512)b); }
#elif T_FLOAT
static inline M N(gt)(V a, V b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ); }
static inline M N(eq)(V a, V b) { return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ); }
static inline V N(lesser)(V a, V b) { return (V)_mm512_min_pd((__m512d)a, (__m512d)b); }
static inline V N(greater)(V a, V b) { return (V)_mm512_max_pd((__m512d)a, (__m512d)b); }
#elif T_BYTES == 4
static inline M N(gt)(V a, V b) { return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b); }
static inline M N(eq)(V a, V b) { return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b); }
static inline V N(lesser)(V a, V b) { return (V)_mm512_min_epi32((__m512i)a, (__m512i)b); }
static inline V N(greater)(V a, V b) { return (V)_mm512_max_epi32((__m512i)a, (__m512i)b); }
#elif T_BYTES == 8
static inline M N(gt)(V a, V b) { return _mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b); }
static inline M N(eq)(V a, V b) { return _mm512_cmpeq_epi64_mask((__m512i)a, (__m512i)b); }
static inline V N(lesser)(V a, V b) { return (V)_mm512_min_epi64((__m512i)a, (__m512i)b); }
static inline V N(greater)(V a, V b) { return (V)_mm512_max_epi64((__m512i)a, (__m512i)b); }
#endif
#if T_BYTES == 4
static inline V N(select)(M m, V a, V b) { return (V)_mm512_mask_blend_epi32(m, (__m512i)b, (__m512i)a); }
static inline V N(load_part)(const C *p, int64_t n) { return (V)_mm512_mask_loadu_epi32((__m512i)N(splat)(*p), N(first)(n), p); }
static inline void N(store_part)(C *p, V v, int64_t n) { _mm512_mask_storeu_epi32(p, N(first)(n), (__m512i)v); }
static inline int64_t N(append)(C *p, V v, M m)
{
    N(store)(p, (V)_mm512_maskz_compress_epi32(m, (__m512i)v));
    return N(popcount)(m);
}
#elif T_BYTES == 8
static inline V N(select)(M m, V a, V b) { return (V)_mm512_mask_blend_epi64(m, (__m512i)b, (__m512i)a); }
static inline V N(load_part)(const C *p, int64_t n) { return (V)_mm512_mask_loadu_epi64((__m512i)N(splat)(*p), N(first)(n), p); }
static inline void N(store_part)(C *p, V v, int64_t n) { _mm512_mask_storeu_epi64(p, N(first)(n), (__m512i)v); }
static inline int64_t N(append)(C *p, V v, M m)
{
    N(store)(p, (V)_mm512_maskz_compress_epi64(m, (__m512i)v));
    return N(popcount)(m);
}
#else
static inline V N(load_part)(const C *p, int64_t n) { return (V)_mm512_mask_loadu_epi8((__m512i)N(splat)(*p), N(first)(n), p); }
static inline void N(store_part)(C *p, V v, int64_t n) { _mm512_mask_storeu_epi8(p, N(first)(n), (__m512i)v); }
#endif

#else  /* masks are lanes */

static inline M N(first)(int64_t n)
{
    const M numbers = {EACH_LANE(LANE, 0)};
    return (M)(numbers < (M){EVERY(n)});
}
static inline M N(both)(M a, M b) { return a & b; }
static inline V N(select)(M m, V a, V b) { return (V)((m & (I)a) | (~m & (I)b)); }
#if T_FLOAT && defined __AVX2__ && T_BYTES == 4
static inline M N(gt)(V a, V b) { return (M)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ); }
static inline M N(eq)(V a, V b) { return (M)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ); }
#elif T_FLOAT && defined __AVX2__
static inline M N(gt)(V a, V b) { return (M)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_GT_OQ); }
static inline M N(eq)(V a, V b) { return (M)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_EQ_OQ); }
#elif T_FLOAT  /* > signals on a NaN, == does not: both sides are 0 where one is a NaN */
static inline M N(eq)(V a, V b) { return (M)(a == b); }
static inline M N(gt)(V a, V b)
{
    M o = N(eq)(a, a) & N(eq)(b, b);
    return (M)((V)((I)a & o) > (V)((I)b & o));
}
#else
static inline M N(gt)(V a, V b) { return (M)(a > b); }
static inline M N(eq)(V a, V b) { return (M)(a == b); }
#endif
#if T_FLOAT && defined __AVX2__ && T_BYTES == 4
static inline V N(lesser)(V a, V b) { return (V)_mm256_min_ps((__m256)a, (__m256)b); }
static inline V N(greater)(V a, V b) { return (V)_mm256_max_ps((__m256)a, (__m256)b); }
#elif T_FLOAT && defined __AVX2__
static inline V N(lesser)(V a, V b) { return (V)_mm256_min_pd((__m256d)a, (__m256d)b); }
static inline V N(greater)(V a, V b) { return (V)_mm256_max_pd((__m256d)a, (__m256d)b); }
#elif T_FLOAT && defined __SSE2__ && T_BYTES == 4
static inline V N(lesser)(V a, V b) { return (V)_mm_min_ps((__m128)a, (__m128)b); }
static inline V N(greater)(V a, V b) { return (V)_mm_max_ps((__m128)a, (__m128)b); }
#elif T_FLOAT && defined __SSE2__
static inline V N(lesser)(V a, V b) { return (V)_mm_min_pd((__m128d)a, (__m128d)b); }
static inline V N(greater)(V a, V b) { return (V)_mm_max_pd((__m128d)a, (__m128d)b); }
#elif defined __AVX2__ && T_BYTES == 4
static inline V N(lesser)(V a, V b) { return (V)_mm256_min_epi32((__m256i)a, (__m256i)b); }
static inline V N(greater)(V a, V b) { return (V)_mm256_max_epi32((__m256i)a, (__m256i)b); }
#else
static inline V N(lesser)(V a, V b) { return N(select)(N(gt)(b, a), a, b); }
static inline V N(greater)(V a, V b) { return N(select)(N(gt)(a, b), a, b); }
#endif
static inline V N(load_part)(const C *p, int64_t n)
{
#if defined __AVX2__ && T_BYTES == 4
    return N(select)(N(first)(n), (V)_mm256_maskload_epi32((const int *)p, (__m256i)N(first)(n)), N(splat)(*p));
#elif defined __AVX2__ && T_BYTES == 8
    return N(select)(N(first)(n), (V)_mm256_maskload_epi64((const long long *)p, (__m256i)N(first)(n)), N(splat)(*p));
#else
    V v = N(splat)(*p);
    for (int64_t k = 1; k < n; k++) v[k] = p[k];
    return v;
#endif
}
static inline void N(store_part)(C *p, V v, int64_t n)
{
#if defined __AVX2__ && T_BYTES == 4
    _mm256_maskstore_epi32((int *)p, (__m256i)N(first)(n), (__m256i)v);
#elif defined __AVX2__ && T_BYTES == 8
    _mm256_maskstore_epi64((long long *)p, (__m256i)N(first)(n), (__m256i)v);
#else
    for (int64_t k = 0; k < n; k++) p[k] = v[k];
#endif
}
/* Lane k of a mask in bit k. */
static inline unsigned N(bits)(M m)
{
#if defined __AVX2__ && T_BYTES == 4
    return _mm256_movemask_ps((__m256)m);
#elif defined __AVX2__ && T_BYTES == 8
    return _mm256_movemask_pd((__m256d)m);
#elif defined __SSE2__ && T_BYTES == 4
    return _mm_movemask_ps((__m128)m);
#elif defined __SSE2__ && T_BYTES == 8
    return _mm_movemask_pd((__m128d)m);
#else
    unsigned r = 0;
    for (int k = 0; k < LANES; k++) r |= (unsigned)(m[k] & 1) << k % 32;
    return r;
#endif
}
static inline int64_t N(append)(C *p, V v, M m)
{
#if defined __AVX2__ && T_BYTES >= 4  /* eight 3-bit lane numbers of 32 bits steer one permutation */
    unsigned on = _mm256_movemask_ps((__m256)m);
    uint64_t from = _pext_u64(0x0706050403020100, _pdep_u64(on, 0x0101010101010101) * 255);
    __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)from));
    N(store)(p, (V)_mm256_permutevar8x32_epi32((__m256i)v, order));
    return __builtin_popcount(on) * 4 / T_BYTES;
#else
    unsigned on = N(bits)(m);
    int64_t n = 0;
    for (int k = 0; k < LANES; k++) {
        p[n] = v[k];
        n += on >> k & 1;
    }
    return n;
#endif
}

#endif
