/* Masks, parts of registers, comparisons and compaction, by each instruction set's own functions. Stands behind registers.h. */

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
