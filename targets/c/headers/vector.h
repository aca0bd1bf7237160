/* Vector operations that are neither operators of C nor instruction rows of a target; valid on every target.
 *
 * A template file, read by vector_ops.py: a kernel contains the sections that it uses. The comment above a section is its heading:
 * dtypes (f32) or kinds of them (iuf; `m`: a mask of bits), one of which the lanes must have; then conditions, all of which must
 * hold; prose follows a colon. Of several sections for one function the first that fits is taken. The conditions:
 * `lanes`, `bits`: the target's masks are lanes of 0 or -1, or bits. `narrow`, `wide`: vectors below 128 bits, or not below.
 * `fused`: the target has a fused multiply-add. `fits`, `split`: a Q fits a register, or does not. `permutes`: the target
 * permutes the bytes of a register. `power`: NUMBER is a power of two. 32, 64, 128, 256, 512: the bits of the vector.
 *
 * Tokens. V: the vector type; T: the C type of its lanes; D: their dtype; L: their number; M: the mask type.
 * I, U: signed and unsigned integers of the same shape; H: a vector of half as many lanes; EACH(x): x for k = 0 … L-1;
 * HALF(x): x for k = 0 … L/2-1. Vectors of as many lanes: BYTES, WORDS: uint8_t, uint32_t; HALVES, SINGLES, DOUBLES: floats of
 * 16, 32, 64 bits; W: lanes of 64 bits, X their dtype; Q: floats that can hold a quotient of integers, QT their dtype;
 * TWICE: integers twice as wide, TT their dtype. PAIRS: u16, as many bits as V. NUMBER: a constant operand; SHIFT: its
 * logarithm. N, NI: V and I as x86 builtins take them; SUFFIX, LETTER, SIZE, WIDTH, SIGN: parts of the names of those builtins.
 * TI: the signed dtype of TT. ARRANGED: L and SUFFIX, as in the names of AArch64's registers.
 */

/* iuf: x in every lane */
static inline V tp_splat_V(T x) { return (V){EACH(x)}; }

/* i lanes: a mask: true in all lanes, or in none */
static inline V tp_fill_V(uint8_t x) { return tp_splat_V((T)-(T)x); }
/* m */
static inline M tp_fill_M(uint8_t x) { return (M)-(int64_t)x; }

/* i lanes: the mask of the first n lanes */
static inline V tp_first_V(int64_t n) { return (V){EACH(k)} < tp_splat_V((T)n); }
/* m */
static inline M tp_first_M(int64_t n) { return n < L ? (M)(((uint64_t)1 << n) - 1) : (M)-1; }

/* i lanes: whether any lane is active */
static inline uint8_t tp_any_V(V a) { return tp_bits_V(a) != 0; }
/* m */
static inline uint8_t tp_any_M(M a) { return a != 0; }

/* i lanes: lane k in bit k */
static inline uint64_t tp_bits_V(V a)
{
    uint64_t r = 0;
    for (int k = 0; k < L; k++) r |= (uint64_t)(a[k] & 1) << k;
    return r;
}
/* m */
static inline uint64_t tp_bits_M(M a) { return a; }

/* i8 lanes permutes: the mask with bit k in lane k */
static inline V tp_frombits_V(uint64_t x)
{
    typedef uint64_t words __attribute__((vector_size(sizeof(V))));
    V a = (V)((words){0} + x), b = TP_SHUFFLE(I, a, a, EACH((k / 8) | (k & 16)));
    return (b & (V){EACH((T)(1 << (k & 7)))}) != 0;
}
/* i8 lanes: by a copy of each byte in eight lanes */
static inline V tp_frombits_V(uint64_t x)
{
    typedef uint64_t words __attribute__((vector_size(sizeof(V))));
    words w = {0};
    for (int k = 0; k < (int)sizeof(V) / 8; k++) w[k] = (x >> 8 * k & 255) * 0x101010101010101;
    return ((V)w & (V){EACH((T)(1 << (k & 7)))}) != 0;
}
/* i lanes */
static inline V tp_frombits_V(uint64_t x) { return (tp_splat_V((T)x) & (V){EACH((T)(1 << k))}) != 0; }
/* m */
static inline M tp_frombits_M(uint64_t x) { return (M)x; }

/* i lanes: the mask from the bytes of a bool array */
static inline V tp_frombytes_V(BYTES a) { return tp_cast_u8_V(a) != 0; }
/* m */
static inline M tp_frombytes_M(BYTES a) { return tp_ne_BYTES(a, (BYTES){0}); }
/* i lanes: the bytes of a bool array from a mask */
static inline BYTES tp_tobytes_V(V a) { return tp_cast_D_BYTES(a) & 1; }
/* m */
static inline BYTES tp_tobytes_M(M a) { return tp_select_BYTES(a, tp_splat_BYTES(1), (BYTES){0}); }

/* i8 u8 i16 u16 128 lanes: as below, in words */
static inline V tp_loadpart_V(const T *p, int64_t n)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    int64_t size = n * (int64_t)sizeof(T);
    words w = {tp_firstbytes_u64(p, size), tp_firstbytes_u64((const char *)p + 8, size - 8)};
    return tp_select_V(tp_first_I(n), (V)w, tp_splat_V(*p));
}
/* i8 u8 i16 u16 256 lanes: the same */
static inline V tp_loadpart_V(const T *p, int64_t n)
{
    typedef uint64_t words __attribute__((vector_size(32)));
    int64_t size = n * (int64_t)sizeof(T);
    const char *at = (const char *)p;
    uint64_t a = tp_firstbytes_u64(at, size), b = tp_firstbytes_u64(at + 8, size - 8), c = 0, d = 0;
    if (size > 16) c = tp_firstbytes_u64(at + 16, size - 16), d = tp_firstbytes_u64(at + 24, size - 24);
    return tp_select_V(tp_first_I(n), (V)(words){a, b, c, d}, tp_splat_V(*p));
}
/* iuf: the first n elements; inactive lanes have copies of element 0, so that they raise no other flags */
static inline V tp_loadpart_V(const T *p, int64_t n)
{
    V r;
    for (int k = 0; k < L; k++) r[k] = p[k < n ? k : 0];
    return r;
}

/* iuf: as tp_loadpart, for elements at p, p - 1, … */
static inline V tp_loaddown_V(const T *p, int64_t n)
{
    V r;
    for (int k = 0; k < L; k++) r[k] = p[k < n ? -k : 0];
    return r;
}

/* iuf: how many elements of s bytes come before p is aligned; 0 if there are few elements or p never is */
static inline int64_t tp_peel_V(const T *p, int64_t n, int64_t s)
{
    int64_t bytes = -(intptr_t)p & (int64_t)(sizeof(V) - 1);
    return n < 16 * L || bytes % s ? 0 : bytes / s;
}

/* iuf: elements 0, 2, 4, …; reads nothing after the last of them */
static inline V tp_every2_V(const T *p)
{
    V a = *(const V_u *)p, b = *(const V_u *)(p + L - 1);
    return TP_SHUFFLE(I, a, b, EACH(k < L / 2 ? 2 * k : 2 * k + 1));
}
/* iuf: elements 0, 3, 6, … */
static inline V tp_every3_V(const T *p)
{
    V a = *(const V_u *)p, b = *(const V_u *)(p + L), c = *(const V_u *)(p + 2 * L - 2);
    V ab = TP_SHUFFLE(I, a, b, EACH(3 * k < 2 * L ? 3 * k : k));
    return TP_SHUFFLE(I, ab, c, EACH(3 * k < 2 * L ? k : 3 * k - L + 2));
}
/* iuf: elements 0, 4, 8, … */
static inline V tp_every4_V(const T *p)
{
    V a = *(const V_u *)p, b = *(const V_u *)(p + L), c = *(const V_u *)(p + 2 * L), d = *(const V_u *)(p + 3 * L - 3);
    V ab = TP_SHUFFLE(I, a, b, EACH(4 * k % (2 * L)));
    V cd = TP_SHUFFLE(I, c, d, EACH(4 * k % (2 * L) < L ? 4 * k % L : 4 * k % (2 * L) + 3));
    return TP_SHUFFLE(I, ab, cd, EACH(k < L / 2 ? k : k + L));
}

/* i8 u8 i16 u16 permutes 512: lanes from elements s bytes apart; in two halves, whose permutations stay in registers */
static inline V tp_gather_V(const char *p, int64_t s) { return tp_join_V(tp_gather_H(p, s), tp_gather_H(p + L / 2 * s, s)); }
/* i8 u8 i16 u16 permutes 256 */
static inline V tp_gather_V(const char *p, int64_t s) { return tp_join_V(tp_gather_H(p, s), tp_gather_H(p + L / 2 * s, s)); }
/* i8 u8 i16 u16 permutes 128: small strides, as of complex numbers or pixels, by permutation of contiguous loads */
static inline V tp_gather_V(const char *p, int64_t s)
{
    if (s == 2 * sizeof(T)) return tp_every2_V((const T *)p);
    if (s == 3 * sizeof(T)) return tp_every3_V((const T *)p);
    if (s == 4 * sizeof(T)) return tp_every4_V((const T *)p);
    return (V){EACH(*(const T *)(p + k * s))};
}
/* f64 i64 u64 256: four loads are as fast as permutations, except for a stride of two elements */
static inline V tp_gather_V(const char *p, int64_t s)
{
    if (s == 2 * sizeof(T)) return tp_every2_V((const T *)p);
    return (V){EACH(*(const T *)(p + k * s))};
}
/* f64 i64 u64 128 */
static inline V tp_gather_V(const char *p, int64_t s) { return (V){EACH(*(const T *)(p + k * s))}; }
/* f32 i32 u32 f64 i64 u64 wide */
static inline V tp_gather_V(const char *p, int64_t s)
{
    if (s == 2 * sizeof(T)) return tp_every2_V((const T *)p);
    if (s == 3 * sizeof(T)) return tp_every3_V((const T *)p);
    if (s == 4 * sizeof(T)) return tp_every4_V((const T *)p);
    return (V){EACH(*(const T *)(p + k * s))};
}
/* iuf: a scalar load for each lane; neither this nor the other sections use gather instructions */
static inline V tp_gather_V(const char *p, int64_t s) { return (V){EACH(*(const T *)(p + k * s))}; }
/* i8 u8 i16 u16 permutes wide: the first n elements; small strides from a copy with padding. Long, thus not inlined */
__attribute__((noinline)) static V tp_gatherpart_V(const char *p, int64_t s, int64_t n)
{
    V r;
    if (s > (int64_t)sizeof(T) && s <= 4 * (int64_t)sizeof(T)) {
        T near[4 * L];
        __builtin_memcpy(near, p, ((n < L ? n : L) - 1) * s + sizeof(T));
        return tp_select_V(tp_first_M(n), tp_gather_V((const char *)near, s), tp_splat_V(*(const T *)p));
    }
    for (int k = 0; k < L; k++) r[k] = *(const T *)(p + (k < n ? k : 0) * s);
    return r;
}
/* iuf */
static inline V tp_gatherpart_V(const char *p, int64_t s, int64_t n)
{
    V r;
    for (int k = 0; k < L; k++) r[k] = *(const T *)(p + (k < n ? k : 0) * s);
    return r;
}

/* iuf wide: the even elements, and the odd ones */
static inline void tp_both_V(const T *p, V *even, V *odd)
{
    V a = *(const V_u *)p, b = *(const V_u *)(p + L);
    *even = TP_SHUFFLE(I, a, b, EACH(2 * k));
    *odd = TP_SHUFFLE(I, a, b, EACH(2 * k + 1));
}
/* iuf */
static inline void tp_both_V(const T *p, V *even, V *odd)
{
    *even = tp_gather_V((const char *)p, 2 * sizeof(T));
    *odd = tp_gather_V((const char *)(p + 1), 2 * sizeof(T));
}
/* f32 i32 u32 f64 i64 u64 bits wide: as tp_both, for the first n pairs */
static inline void tp_bothpart_V(const T *p, int64_t n, V *even, V *odd)
{
    V a = tp_loadpart_V(p, 2 * n), b = a;
    if (2 * n > L) b = tp_loadpart_V(p + L, 2 * n - L);
    *even = tp_select_V(tp_first_M(n), TP_SHUFFLE(I, a, b, EACH(2 * k)), tp_splat_V(p[0]));
    *odd = tp_select_V(tp_first_M(n), TP_SHUFFLE(I, a, b, EACH(2 * k + 1)), tp_splat_V(p[1]));
}
/* iuf */
static inline void tp_bothpart_V(const T *p, int64_t n, V *even, V *odd)
{
    *even = tp_gatherpart_V((const char *)p, 2 * sizeof(T), n);
    *odd = tp_gatherpart_V((const char *)(p + 1), 2 * sizeof(T), n);
}

/* iuf: store all lanes with a stride of s bytes */
static inline void tp_spread_V(char *p, int64_t s, V v) { EACH(*(T *)(p + k * s) = v[k]); }
/* iuf: store all lanes with a stride of two elements */
static inline void tp_everyother_V(T *p, V v) { tp_spread_V((char *)p, 2 * sizeof(T), v); }

/* iuf wide: store pairs of a lane of a and one of b, with a stride of s bytes */
static inline void tp_spread2_V(char *p, int64_t s, V a, V b)
{
    if (s != 2 * sizeof(T)) {
        tp_spread_V(p, s, a);
        tp_spread_V(p + sizeof(T), s, b);
        return;
    }
    *(V_u *)p = TP_SHUFFLE(I, a, b, EACH(k / 2 + k % 2 * L));
    *(V_u *)(p + sizeof(V)) = TP_SHUFFLE(I, a, b, EACH((k + L) / 2 + k % 2 * L));
}
/* iuf */
static inline void tp_spread2_V(char *p, int64_t s, V a, V b)
{
    tp_spread_V(p, s, a);
    tp_spread_V(p + sizeof(T), s, b);
}

/* iuf: store the active lanes with a stride of s bytes; inactive ones into a dummy, without branches */
static inline void tp_scatter_V(char *p, int64_t s, V v, uint64_t on)
{
    T nowhere;
    for (int k = 0; k < L; k++) {
        T *to = on >> k & 1 ? (T *)(p + k * s) : &nowhere;
        __asm__("" : "+r"(to));
        *to = v[k];
    }
}

/* i8 u8 i16 u16: store the first n lanes, one or more, in two pieces that may overlap */
static inline void tp_storepart_V(T *p, V v, int64_t n)
{
    const char *from = (const char *)&v;
    char *to = (char *)p;
    int64_t size = n * (int64_t)sizeof(T);
#define TP_ENDS(piece) __builtin_memcpy(to, from, piece), __builtin_memcpy(to + size - piece, from + size - piece, piece)
    if (sizeof(V) > 16 && size >= 16) TP_ENDS(16);
    else if (sizeof(V) > 8 && size >= 8) TP_ENDS(8);
    else if (sizeof(V) > 4 && size >= 4) TP_ENDS(4);
    else if (size >= 2) TP_ENDS(2);
    else *to = *from;
#undef TP_ENDS
}

/* iuf */
static inline void tp_scatter2_V(char *p, int64_t s, V a, V b, uint64_t on)
{
    tp_scatter_V(p, s, a, on);
    tp_scatter_V(p + sizeof(T), s, b, on);
}

/* iuf */
static inline void tp_storemask_V(T *p, V v, M m) { tp_scatter_V((char *)p, sizeof(T), v, tp_bits_M(m)); }

/* iuf: as tp_storemask, lane k at p[-k] */
static inline void tp_storemaskdown_V(T *p, V v, M m) { tp_scatter_V((char *)p, -(int64_t)sizeof(T), v, tp_bits_M(m)); }

/* iuf: store the active lanes contiguously, and return their number; may write L elements */
static inline int64_t tp_append_V(T *p, V v, M m)
{
    uint64_t on = tp_bits_M(m);
    int64_t n = 0;
    for (int k = 0; k < L; k++) {
        p[n] = v[k];
        n += on >> k & 1;
    }
    return n;
}

/* iuf: as tp_append, but writes no more than the active lanes */
static inline int64_t tp_appendonly_V(T *p, V v, M m)
{
    V kept = {0};
    int64_t n = tp_append_V((T *)&kept, v, m);
    tp_storemask_V(p, kept, tp_first_M(n));
    return n;
}

/* iuf: as tp_append into an array of which `left` elements are left; writes none behind its end */
static inline int64_t tp_appendwithin_V(T *p, V v, M m, int64_t left)
{
    return __builtin_expect(left >= L, 1) ? tp_append_V(p, v, m) : tp_appendonly_V(p, v, m);
}

/* iuf: the last lane in every lane */
static inline V tp_last_V(V a) { return TP_SHUFFLE(I, a, a, EACH(L - 1)); }
/* iuf: the last lane of a, followed by all lanes of b but the last */
static inline V tp_shiftin_V(V a, V b) { return TP_SHUFFLE(I, a, b, EACH(L - 1 + k)); }
/* f: whether a lane of y overflowed, or one of the product underflowed: the scan may differ from the loop */
static inline uint8_t tp_astray_V(V y, V product)
{
    I step = tp_splat_I(sizeof(T) == 8 ? 0x10000000000000 : 0x800000);
    return tp_any_M(tp_lt_I(((I)tp_abs_V(y) + step) | ((I)tp_abs_V(product) - step), (I){0}));
}
/* f: the recurrence lane by lane, from the first lane on that went astray */
__attribute__((noinline)) static V tp_inorder_V(V y, V product, V a, V b, V last, uint8_t *astray)
{
    T now = last[L - 1];
    for (int k = 0; k < L; k++) {
        *astray |= tp_astray_D(y[k], product[k]);
        if (*astray) y[k] = now * a[k] + b[k];
        now = y[k];
    }
    return y;
}
/* i8 u8 32: four bytes are a word, which x86 and AArch64 reverse */
static inline V tp_reverse_V(V a) { return (V)__builtin_bswap32((uint32_t)a); }
/* i8 u8 64 */
static inline V tp_reverse_V(V a) { return (V)__builtin_bswap64((uint64_t)a); }
/* iuf */
static inline V tp_reverse_V(V a)
{
    return TP_SHUFFLE(I, a, a, EACH(L - 1 - k));
}

/* f: where hypot may differ from c by the rounding of squares, which scalar code decides */
static inline M tp_close_V(V s, V square)
{
    T some = sizeof(T) == 8 ? 0x1p-46 : 0x1p-18;
    return (M)(tp_le_V(square * (1 - some), s) & tp_le_V(s, square * (1 + some)));
}
/* f: where c is negative, or so small or large that its square may have lost bits */
static inline M tp_far_V(V c)
{
    T least = sizeof(T) == 8 ? 0x1p-400 : 0x1p-45;
    return (M)(tp_lt_V(c, tp_splat_V(least)) | tp_lt_V(tp_splat_V(1 / least), c));
}
/* f: whether hypot(x, y) <= c */
static inline M tp_hypot_le_V(V x, V y, V c)
{
    if (__builtin_expect(tp_any_M(tp_far_V(c)), 0)) return tp_le_V(tp_hypot_V(x, y), c);
    V s = x * x + y * y, square = c * c;
    if (__builtin_expect(tp_any_M(tp_close_V(s, square)), 0)) return tp_le_V(tp_each_hypot_V(x, y), c);
    return tp_lt_V(s, square);
}
/* f: whether hypot(x, y) > c: of an infinity and a NaN it is infinite */
static inline M tp_hypot_gt_V(V x, V y, V c)
{
    V s = x * x + y * y, square = c * c;
    M odd = (M)(tp_far_V(c) | tp_ne_V(s, s));
    if (__builtin_expect(tp_any_M(odd), 0)) return tp_lt_V(c, tp_hypot_V(x, y));
    if (__builtin_expect(tp_any_M(tp_close_V(s, square)), 0)) return tp_lt_V(c, tp_each_hypot_V(x, y));
    return tp_lt_V(square, s);
}

/* f32: by scaling of a float32 with the same fraction bits */
static inline V tp_cast_f16_V(HALVES h)
{
    U bits = tp_cast_u16_U(h), special = (U)((bits & 0x7c00) == 0x7c00) & 0x7f800000;
    V size = (V)((bits & 0x7fff) << 13) * 0x1p112F;
    return (V)((U)size | special | (bits & 0x8000) << 16);
}
/* f16 */
static inline V tp_cast_f32_V(SINGLES a)
{
    V r;
    for (int k = 0; k < L; k++) r[k] = tp_cast_f32_D(a[k]);
    return r;
}
/* f16: through a float32 whose last bit is set if lower bits were cut off (rounding to odd) */
static inline V tp_cast_f64_V(DOUBLES a)
{
    W low = (W)a & 0x1fffffff;
    W kept = ((W)a - low) | ((low + 0x1fffffff) & 0x20000000);
    return tp_cast_f32_V(tp_cast_f64_SINGLES((DOUBLES)kept));
}

/* u: the sum of all lanes, in 64 bits */
static inline int64_t tp_total_V(V a)
{
    int64_t r = 0;
    for (int k = 0; k < L; k++) r += a[k];
    return r;
}

/* iuf lanes */
static inline V tp_select_V(I m, V a, V b) { return (V)((m & (I)a) | (~m & (I)b)); }
/* iu narrow bits */
static inline V tp_select_V(M m, V a, V b)
{
    return tp_cast_X_V(tp_select_W(m, tp_cast_D_W(a), tp_cast_D_W(b)));
}

/* f lanes: raises nothing on a quiet NaN: both operands are replaced by 0 where one is a NaN */
static inline I tp_lt_V(V a, V b)
{
    I o = (a == a) & (b == b);
    return (V)((I)a & o) < (V)((I)b & o);
}
/* f lanes */
static inline I tp_le_V(V a, V b)
{
    I o = (a == a) & (b == b);
    return o & ((V)((I)a & o) <= (V)((I)b & o));
}
/* iu narrow bits */
static inline M tp_lt_V(V a, V b) { return tp_lt_W(tp_cast_D_W(a), tp_cast_D_W(b)); }
/* iu narrow bits */
static inline M tp_le_V(V a, V b) { return tp_le_W(tp_cast_D_W(a), tp_cast_D_W(b)); }
/* iu narrow bits */
static inline M tp_eq_V(V a, V b) { return tp_eq_W(tp_cast_D_W(a), tp_cast_D_W(b)); }
/* iu narrow bits */
static inline M tp_ne_V(V a, V b) { return tp_ne_W(tp_cast_D_W(a), tp_cast_D_W(b)); }
/* iuf */
static inline M tp_gt_V(V a, V b) { return tp_lt_V(b, a); }
/* iuf */
static inline M tp_ge_V(V a, V b) { return tp_le_V(b, a); }
/* f */
static inline M tp_isnan_V(V a) { return tp_ne_V(a, a); }

/* iuf */
static inline V tp_min_V(V a, V b) { return tp_select_V(tp_lt_V(b, a), b, a); }
/* iuf */
static inline V tp_max_V(V a, V b) { return tp_select_V(tp_lt_V(a, b), b, a); }
/* iu */
static inline V tp_minimum_V(V a, V b) { return tp_min_V(a, b); }
/* iu */
static inline V tp_maximum_V(V a, V b) { return tp_max_V(a, b); }
/* f: whether a or b is NaN */
static inline M tp_unordered_V(V a, V b) { return tp_ne_V(a, a) | tp_ne_V(b, b); }
/* f: of NumPy's minimum of many, for which NaN is looked for in two vectors at once: of the first one, which is kept in *before */
static inline V tp_minimumfirst_V(V a, V b, V *before) { *before = b; return tp_min_V(a, b); }
/* f: of the second one; *found: the lanes in which there is a NaN */
static inline V tp_minimumsecond_V(V a, V b, V before, M *found) { *found |= tp_unordered_V(before, b); return tp_min_V(a, b); }
/* f: of a test of many for NaN, in two vectors at once */
static inline M tp_nanfirst_V(M found, V x, V *before) { *before = x; return found; }
/* f */
static inline V tp_maximumfirst_V(V a, V b, V *before) { *before = b; return tp_max_V(a, b); }
/* f */
static inline V tp_maximumsecond_V(V a, V b, V before, M *found) { *found |= tp_unordered_V(before, b); return tp_max_V(a, b); }
/* f */
static inline V tp_minimum_V(V a, V b) { return tp_select_V(tp_ne_V(a, a) | tp_lt_V(a, b), a, b); }
/* f */
static inline V tp_maximum_V(V a, V b) { return tp_select_V(tp_ne_V(a, a) | tp_lt_V(b, a), a, b); }

/* f: IEEE 754-2019: a NaN if one is a NaN, and -0.0 is less than 0.0 */
static inline V tp_ieee_maximum_V(V a, V b) { return (V)((U)tp_maximum_V(a, b) & (U)tp_maximum_V(b, a)); }
/* f */
static inline V tp_ieee_minimum_V(V a, V b) { return (V)((U)tp_minimum_V(a, b) | (U)tp_minimum_V(b, a)); }

/* f */
static inline V tp_abs_V(V a) { return (V)((U)a & ~(U)tp_splat_V(-0.0F)); }
/* i */
static inline V tp_abs_V(V a) { return tp_max_V(a, -a); }
/* u */
static inline V tp_abs_V(V a) { return a; }
/* f: the magnitude of a with the sign of b */
static inline V tp_copysign_V(V a, V b)
{
    U sign = (U)tp_splat_V(-0.0F);
    return (V)(((U)a & ~sign) | ((U)b & sign));
}

/* f: adding 2^52 (f32: 2^23) to a smaller number rounds it to an integer; larger ones are integers */
static inline V tp_rint_V(V a)
{
    V size = tp_abs_V(a), big = tp_splat_V(sizeof(T) == 8 ? 0x1p52F : 0x1p23F);
    return tp_select_V(tp_lt_V(size, big), tp_copysign_V((size + big) - big, a), a);
}
/* f */
static inline V tp_floor_V(V a)
{
    V r = tp_rint_V(a), one = tp_splat_V(1);
    return tp_copysign_V(tp_select_V(tp_lt_V(a, r), r - one, r), a);
}
/* f */
static inline V tp_ceil_V(V a)
{
    V r = tp_rint_V(a), one = tp_splat_V(1);
    return tp_copysign_V(tp_select_V(tp_lt_V(r, a), r + one, r), a);
}
/* f */
static inline V tp_trunc_V(V a) { return tp_copysign_V(tp_floor_V(tp_abs_V(a)), a); }

/* i: overflow: the sign of the result differs from that of both operands */
static inline M tp_add_over_V(V a, V b) { V r = a + b; return tp_lt_V((a ^ r) & (b ^ r), (V){0}); }
/* u */
static inline M tp_add_over_V(V a, V b) { return tp_lt_V(a + b, a); }
/* i */
static inline M tp_sub_over_V(V a, V b) { V r = a - b; return tp_lt_V((a ^ b) & (a ^ r), (V){0}); }
/* u */
static inline M tp_sub_over_V(V a, V b) { return tp_lt_V(a, b); }

/* iu: as NumPy: 0 if the count is negative, or not less than the number of bits */
static inline V tp_shl_V(V a, V b)
{
    U last = tp_splat_U(8 * sizeof(T) - 1);
    return (V)((U)a << ((U)b & last) & (U)((U)b <= last));
}
/* i: as NumPy: only sign bits are left if the count is negative, or not less than the number of bits */
static inline V tp_shr_V(V a, V b)
{
    U last = tp_splat_U(8 * sizeof(T) - 1), inside = (U)((U)b <= last);
    return a >> (V)(((U)b & inside) | (last & ~inside));
}
/* u */
static inline V tp_shr_V(V a, V b)
{
    U last = tp_splat_U(8 * sizeof(T) - 1);
    return (V)((U)a >> ((U)b & last) & (U)((U)b <= last));
}
/* iu: rotation to the left; the count is taken modulo the number of bits */
static inline V tp_rotl_V(V a, V b)
{
    U last = tp_splat_U(8 * sizeof(T) - 1);
    return (V)((U)a << ((U)b & last) | (U)a >> (-(U)b & last));
}
/* iu */
static inline V tp_rotr_V(V a, V b) { return tp_rotl_V(a, -b); }

/* i: the sum, or the bound that it would pass */
static inline V tp_saturating_add_V(V a, V b)
{
    U bound = (U)(a >> tp_splat_V(8 * sizeof(T) - 1)) ^ (U)tp_splat_V(tp_bound_D(0));
    return tp_select_V(tp_add_over_V(a, b), (V)bound, a + b);
}
/* u */
static inline V tp_saturating_add_V(V a, V b) { return tp_select_V(tp_lt_V(a + b, a), ~(V){0}, a + b); }
/* i */
static inline V tp_saturating_sub_V(V a, V b)
{
    U bound = (U)(a >> tp_splat_V(8 * sizeof(T) - 1)) ^ (U)tp_splat_V(tp_bound_D(0));
    return tp_select_V(tp_sub_over_V(a, b), (V)bound, a - b);
}
/* u */
static inline V tp_saturating_sub_V(V a, V b) { return tp_max_V(a, b) - b; }

/* iu: the number of bits below the lowest set bit; -1 for 0 */
static inline V tp_first_set_V(V a)
{
    return tp_select_V(tp_eq_V(a, (V){0}), ~(V){0}, tp_popcount_V((a & -a) - tp_splat_V(1)));
}

/* f */
static inline V tp_sign_V(V a)
{
    V one = tp_splat_V(1), sized = tp_select_V(tp_lt_V(a, (V){0}), -one, (V){0});
    return tp_select_V(tp_ne_V(a, a), a, tp_select_V(tp_lt_V((V){0}, a), one, sized));
}
/* iu */
static inline V tp_sign_V(V a)
{
    V negative = tp_select_V(tp_lt_V(a, (V){0}), ~(V){0}, (V){0});
    return tp_select_V(tp_lt_V((V){0}, a), tp_splat_V(1), negative);
}
/* iuf */
static inline V tp_relu_V(V a) { return tp_maximum_V(a, (V){0}); }
/* iuf */
static inline V tp_clamp_V(V a, V low, V high) { return tp_min_V(tp_max_V(a, low), high); }
/* f */
static inline V tp_rsqrt_V(V a) { return tp_splat_V(1) / tp_sqrt_V(a); }

/* iu: sums of pairs of bits, of groups of four, of bytes; a product adds the bytes into the highest */
static inline V tp_popcount_V(V a)
{
    const uint64_t ones = ~(uint64_t)0;
    U twos = (U)tp_splat_V((T)(ones / 5)), x = (U)a;
    x -= x >> 1 & (U)tp_splat_V((T)(ones / 3));
    x = (x & twos) + (x >> 2 & twos);
    x = (x + (x >> 4)) & (U)tp_splat_V((T)(ones / 17));
    return (V)(x * (U)tp_splat_V((T)(ones / 255)) >> (8 * sizeof(T) - 8));
}
