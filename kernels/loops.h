/* Loops over registers: maps, folds in the order of the generated code, counts of bools. Stands behind isa.h. */

/* One value of a register's lanes, by halving; `op` takes two registers. */
#define ADD(a, b) ((a) + (b))
#define SWAPPED(v, h) TP_SHUFFLE(I, v, v, EACH_LANE(PARTNER, h))
#if LANES <= 2
#define LANES_FOLDED(op, v) ({ V f_ = (v); f_ = op(f_, SWAPPED(f_, 1)); f_[0]; })
#elif LANES == 4
#define LANES_FOLDED(op, v) ({ V f_ = (v); f_ = op(f_, SWAPPED(f_, 2)); f_ = op(f_, SWAPPED(f_, 1)); f_[0]; })
#elif LANES == 8
#define LANES_FOLDED(op, v) ({ V f_ = (v); f_ = op(f_, SWAPPED(f_, 4)); f_ = op(f_, SWAPPED(f_, 2)); f_ = op(f_, SWAPPED(f_, 1)); f_[0]; })
#else
#define LANES_FOLDED(op, v) ({ V f_ = (v); f_ = op(f_, SWAPPED(f_, 8)); f_ = op(f_, SWAPPED(f_, 4)); f_ = op(f_, SWAPPED(f_, 2)); f_ = op(f_, SWAPPED(f_, 1)); f_[0]; })
#endif

/* The elements at the loop's i_: in the macros below, where what is left of n_ elements may be less than a register. */
#define GET(p) (part_ ? N(load_part)((p) + i_, n_ - i_) : N(load)((p) + i_))

/* out[i] = value for all i < n. Stores are aligned; they go past the caches where `fresh`, nobody reads the old elements,
 * and the result does not fit. */
#define MAP(n, out, fresh, value) do { \
    int64_t i_ = 0, n_ = N(peel)(out, n), all_ = (n); \
    { enum { part_ = 1 }; if (n_) N(store_part)(out, value, n_); } \
    i_ = n_; n_ = all_; \
    { enum { part_ = 0 }; \
      if (fresh && N(streams)((out) + i_, n_ - i_)) { \
          for (; n_ - i_ >= LANES; i_ += LANES) N(stream)((out) + i_, value); \
          N(streamed)(); \
      } \
      for (; n_ - i_ >= 4 * LANES; i_ += LANES) { \
          N(store)((out) + i_, value); i_ += LANES; N(store)((out) + i_, value); i_ += LANES; \
          N(store)((out) + i_, value); i_ += LANES; N(store)((out) + i_, value); \
      } \
      for (; n_ - i_ >= LANES; i_ += LANES) N(store)((out) + i_, value); } \
    { enum { part_ = 1 }; if (i_ < n_) N(store_part)((out) + i_, value, n_ - i_); } \
} while (0)

/* The elements before the first aligned one, where there are many after them; fewer than LANES. */
static inline int64_t N(peel)(const C *p, int64_t n)
{
    int64_t bytes = -(intptr_t)p & (V_BYTES - 1);
    return n < 16 * LANES || bytes % T_BYTES ? 0 : bytes / T_BYTES;
}
#if defined __SSE2__
static inline int N(streams)(const C *p, int64_t n) { return n * T_BYTES >= STREAMED && (intptr_t)p % V_BYTES == 0; }
static inline void N(stream)(C *p, V v)
{
#if V_BYTES == 64
    _mm512_stream_si512((void *)p, (__m512i)v);
#elif V_BYTES == 32
    _mm256_stream_si256((void *)p, (__m256i)v);
#else
    _mm_stream_si128((void *)p, (__m128i)v);
#endif
}
static inline void N(streamed)(void) { _mm_sfence(); }
#else
static inline int N(streams)(const C *p, int64_t n) { return 0; }
static inline void N(stream)(C *p, V v) { N(store)(p, v); }
static inline void N(streamed)(void) {}
#endif

/* F(k, op, value) for the number k of each register of a group; and the registers folded into the first, by halving. */
#if REGISTERS == 4
#define EACH_REGISTER(F, op, value) F(0, op, value) F(1, op, value) F(2, op, value) F(3, op, value)
#define REGISTERS_FOLDED(op) HALF4(op)
#elif REGISTERS == 8
#define EACH_REGISTER(F, op, value) \
    F(0, op, value) F(1, op, value) F(2, op, value) F(3, op, value) F(4, op, value) F(5, op, value) F(6, op, value) F(7, op, value)
#define REGISTERS_FOLDED(op) HALF8(op) HALF4(op)
#else
#define EACH_REGISTER(F, op, value) \
    F(0, op, value) F(1, op, value) F(2, op, value) F(3, op, value) F(4, op, value) F(5, op, value) F(6, op, value) F(7, op, value) \
    F(8, op, value) F(9, op, value) F(10, op, value) F(11, op, value) F(12, op, value) F(13, op, value) F(14, op, value) F(15, op, value)
#define REGISTERS_FOLDED(op) \
    r0_ = op(r0_, r8_); r1_ = op(r1_, r9_); r2_ = op(r2_, r10_); r3_ = op(r3_, r11_); \
    r4_ = op(r4_, r12_); r5_ = op(r5_, r13_); r6_ = op(r6_, r14_); r7_ = op(r7_, r15_); HALF8(op) HALF4(op)
#endif
#define HALF8(op) r0_ = op(r0_, r4_); r1_ = op(r1_, r5_); r2_ = op(r2_, r6_); r3_ = op(r3_, r7_);
#define HALF4(op) r0_ = op(r0_, r2_); r1_ = op(r1_, r3_); r0_ = op(r0_, r1_);
#define UNIT_REGISTER(k, op, value) V r##k##_ = unit_;
#define FOLD_WHOLE(k, op, value) r##k##_ = op(r##k##_, value); i_ += LANES;
#define FOLD_REST(k, op, value) \
    if (n_ - i_ >= LANES) { enum { part_ = 0 }; r##k##_ = op(r##k##_, value); i_ += LANES; } \
    else if (i_ < n_) { enum { part_ = 1 }; r##k##_ = op(r##k##_, N(select)(N(first)(n_ - i_), value, unit_)); i_ = n_; }

/* op over value for lo <= i < hi, from `unit`, in GROUP lanes. A lane without an element takes the unit once more. */
#define GROUP_FOLD(lo, hi, unit, op, value) ({ \
    int64_t i_ = (lo), n_ = (hi); \
    const V unit_ = N(splat)(unit); \
    EACH_REGISTER(UNIT_REGISTER, op, value) \
    while (n_ - i_ >= GROUP) { \
        enum { part_ = 0 }; \
        EACH_REGISTER(FOLD_WHOLE, op, value) \
    } \
    EACH_REGISTER(FOLD_REST, op, value) \
    REGISTERS_FOLDED(op) \
    LANES_FOLDED(op, r0_); \
})

/* 0 plus value for lo <= i < hi: in blocks where that changes the rounding. */
#if T_FLOAT
#define SUM(lo, hi, value) ({ \
    C sum_ = 0; \
    int64_t end_ = (hi); \
    for (int64_t a_ = (lo); a_ < end_; a_ += BLOCK * BLOCKS) { \
        C part_sum_ = (C)-0.0; \
        for (int64_t b_ = a_; b_ < a_ + BLOCK * BLOCKS && b_ < end_; b_ += BLOCK) \
            part_sum_ += GROUP_FOLD(b_, b_ + BLOCK < end_ ? b_ + BLOCK : end_, (C)-0.0, ADD, value); \
        sum_ += part_sum_; \
    } \
    sum_; \
})
/* As SUM, for a loop that is in no other one: few terms are added in their order. */
#define SHORT_FOLD 32
#define SUM_ALONE(lo, hi, value) ({ \
    int64_t first_ = (lo), last_ = (hi); \
    C alone_ = 0; \
    if (last_ - first_ <= SHORT_FOLD) { \
        int64_t i_ = first_, n_ = last_; \
        for (; n_ - i_ >= LANES; i_ += LANES) { \
            enum { part_ = 0 }; \
            V terms_ = value; \
            for (int k_ = 0; k_ < LANES; k_++) alone_ += terms_[k_]; \
        } \
        if (i_ < n_) { \
            enum { part_ = 1 }; \
            V terms_ = value; \
            for (int k_ = 0; k_ < n_ - i_; k_++) alone_ += terms_[k_]; \
        } \
    } else alone_ = SUM(first_, last_, value); \
    alone_; \
})
#else
#define SUM(lo, hi, value) GROUP_FOLD(lo, hi, 0, ADD, value)
#define SUM_ALONE SUM
#endif

#if T_BYTES == 1
/* The sum of a register's bytes. */
static inline int64_t N(bytes)(V v)
{
    int64_t total = 0;
#if defined __AVX512F__
    total = _mm512_reduce_add_epi64(_mm512_sad_epu8((__m512i)v, _mm512_setzero_si512()));
#elif defined __AVX2__
    __m256i s = _mm256_sad_epu8((__m256i)v, _mm256_setzero_si256());
    for (int k = 0; k < 4; k++) total += ((int64_t __attribute__((vector_size(32))))s)[k];
#elif defined __SSE2__
    __m128i s = _mm_sad_epu8((__m128i)v, _mm_setzero_si128());
    for (int k = 0; k < 2; k++) total += ((int64_t __attribute__((vector_size(16))))s)[k];
#else
    for (int k = 0; k < LANES; k++) total += v[k];
#endif
    return total;
}
/* The sum of bytes of 0 and 1: 255 of them fit a byte. */
#define BYTES_TRUE(lo, hi, value) ({ \
    int64_t i_ = (lo), n_ = (hi), total_ = 0; \
    while (n_ - i_ >= LANES) { \
        enum { part_ = 0 }; \
        V r_[4] = {{0}, {0}, {0}, {0}}; \
        for (int k_ = 0; k_ < 63 && n_ - i_ >= 4 * LANES; k_++) \
            _Pragma("GCC unroll 4") for (int j_ = 0; j_ < 4; j_++, i_ += LANES) r_[j_] += value; \
        for (; n_ - i_ >= LANES && n_ - i_ < 4 * LANES; i_ += LANES) r_[0] += value; \
        total_ += N(bytes)((r_[0] + r_[1]) + (r_[2] + r_[3])); \
    } \
    if (i_ < n_) { enum { part_ = 1 }; total_ += N(bytes)(value & N(some)(n_ - i_)); } \
    total_; \
})
/* Ones in the first n bytes. */
static inline V N(some)(int64_t n)
{
    const I numbers = {EACH_LANE(LANE, 0)};
    return (V)(numbers < (I){EVERY(n)}) & 1;
}
#endif
