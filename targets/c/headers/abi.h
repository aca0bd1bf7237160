/* Types, macros and functions that every kernel begins with; the caller shares tp_array and tp_scalar. */
#if defined __MINGW32__ && !defined __clang__ && defined __AVX__
#error "GCC for Windows keeps vectors of AVX on a stack that is not aligned for them (GCC bug 54412): use clang, or ziglang"
#endif
#if defined __GNUC__ && !defined __clang__
/* gcc 12 turns a fill in a loop into a memset after the loop, which overwrites what the loop has stored since. Clang refuses the flag. */
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif
#include <stdint.h>
#ifdef __clang__
#pragma STDC FENV_ROUND FE_TONEAREST
#pragma clang fp exceptions(maytrap)
#ifndef TP_CONTRACT
#pragma clang fp contract(off)
#endif
#endif

/* A kernel's arguments: int64_t tp_kernel(const tp_array *, const tp_scalar *) gets its arrays and its scalars, in their order.
 * An array: its first element; for each axis its length in elements, and its stride in bytes. A scalar: the member of its dtype. */
typedef struct { char *data; int64_t dims[5], strides[5]; } tp_array;
typedef union {
    double f64; float f32;
    int64_t i64; int32_t i32; int16_t i16; int8_t i8;
    uint64_t u64; uint32_t u32; uint16_t u16, f16; uint8_t u8;
} tp_scalar;

/* The asm constraint for a register of floats or vectors. */
#if defined __x86_64__
#define TP_FLOATS "v"
#elif defined __aarch64__
#define TP_FLOATS "w"
#else
#define TP_FLOATS "m"
#endif

/* Keeps the computation of an unused value, which may raise a flag. _V: for values in vector registers. */
#define TP_COMPUTED(value) __asm__ volatile("" : : "g"(value))
#define TP_COMPUTED_V(value) __asm__ volatile("" : : TP_FLOATS(value))

/* A condition that is computed as a whole, without a branch for each of its terms: one on data is often mispredicted. */
#define TP_AT_ONCE(value) __extension__({ uint8_t once_ = (value); __asm__("" : "+r"(once_)); once_; })

/* Sets bits of the status, in a branch: not by instructions that each iteration runs. */
#define TP_RAISED(bits) { status |= (bits); __asm__ volatile(""); }

/* Keeps the stores to an array that is not read. */
#define TP_STORED(array) __asm__ volatile("" : : "r"(array) : "memory")

/* Hides from gcc that a float is the result of a choice: it would move a conversion of the result into both sides, which may raise a flag. */
#define TP_CHOSEN(value) __extension__({ __auto_type one_ = (value); __asm__("" : "+" TP_FLOATS(one_)); one_; })

/* Hides one of two compared floats from gcc: it may hoist a loop-invariant choice as a minimum or a comparison that raises `invalid` on a quiet NaN. */
#if defined __x86_64__ && !defined __clang__
#define TP_QUIET(a, b) do { if (!__builtin_constant_p(a)) __asm__("" : "+v"(a)); else __asm__("" : "+v"(b)); } while (0)
#else
#define TP_QUIET(a, b) (void)0
#endif

/* b = a if `test`, a comparison of x and y, is true; `cc` is its condition code as an x86 instruction's suffix. */
#if defined __x86_64__
#define TP_CMOV(cc, test, x, y, a, b) __asm__("cmp %3, %2\n\tcmov" cc " %1, %0" : "+r"(b) : "r"(a), "r"(x), "r"(y) : "cc")
#ifdef __AVX__
#define TP_UCOMISD "vucomisd"
#else
#define TP_UCOMISD "ucomisd"
#endif
#define TP_CMOV_OF_FLOATS(cc, test, x, y, a, b) __asm__(TP_UCOMISD " %2, %3\n\tcmov" cc " %1, %0" : "+r"(b) : "r"(a), "x"(x), "x"(y) : "cc")
#else
#define TP_CMOV(cc, test, x, y, a, b) b = (test) ? a : b
#define TP_CMOV_OF_FLOATS TP_CMOV
#endif

/* Before a loop: four iterations at a time. */
#ifdef __clang__
#define TP_UNROLL _Pragma("unroll 4")
#else
#define TP_UNROLL _Pragma("GCC unroll 4")
#endif

/* A permutation of the lanes of two vectors; `indices` is the vector type of the lane numbers. */
#ifdef __clang__
#define TP_SHUFFLE(indices, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TP_SHUFFLE(indices, a, b, ...) __builtin_shuffle(a, b, (indices){__VA_ARGS__})
#endif

/* A condition or an integer (ASKED), or a float or a vector (EVERYWHERE), that is computed even where its value is not needed. */
#define TP_ASKED(value) __extension__({ __auto_type asked_ = (value); TP_COMPUTED(asked_); asked_; })
#define TP_EVERYWHERE(value) __extension__({ __auto_type all_ = (value); TP_COMPUTED_V(all_); all_; })

/* The hardware's floating-point flags, as the bits of status_bits.STATUS: divide 1, over 2, under 4, invalid 8. */
#if defined __x86_64__
static inline void tp_flags_clear(void)
{
    unsigned word = __builtin_ia32_stmxcsr();
    if (word & 29) __builtin_ia32_ldmxcsr(word & ~29u);
}
static inline int64_t tp_flags(void)
{
    unsigned word = __builtin_ia32_stmxcsr();
    return (word >> 2 & 7) | (word & 1) << 3;
}
#elif defined __aarch64__
static inline void tp_flags_clear(void)
{
    uint64_t word;
    __asm__ volatile("mrs %0, fpsr" : "=r"(word) : : "memory");
    if (word & 15) __asm__ volatile("msr fpsr, %0" : : "r"(word & ~(uint64_t)15) : "memory");
}
static inline int64_t tp_flags(void)
{
    uint64_t word;
    __asm__ volatile("mrs %0, fpsr" : "=r"(word) : : "memory");
    return (int64_t)((word >> 1 & 7) | (word & 1) << 3);
}
#else
#include <fenv.h>
static inline void tp_flags_clear(void) { feclearexcept(FE_ALL_EXCEPT); }
static inline int64_t tp_flags(void)
{
    int set = fetestexcept(FE_ALL_EXCEPT);
    return (set & FE_DIVBYZERO ? 1 : 0) | (set & FE_OVERFLOW ? 2 : 0) | (set & FE_UNDERFLOW ? 4 : 0) | (set & FE_INVALID ? 8 : 0);
}
#endif

/* The length in bytes of an array's contiguous runs; `step` becomes the gcd of itself and the strides between runs. */
static inline int64_t tp_run(const tp_array *a, int rank, int64_t size, int64_t *step)
{
    int k = rank;
    for (; k && (a->dims[k - 1] == 1 || a->strides[k - 1] == size); k--) size *= a->dims[k - 1];
    while (k--)
        for (int64_t rest = a->dims[k] > 1 ? a->strides[k] : 0; rest;) {    /* Euclid */
            int64_t common = rest;
            rest = *step % rest, *step = common < 0 ? -common : common;
        }
    return size;
}

/* Whether two arrays with overlapping address ranges lie in each other's gaps, such as fields of records or alternate elements:
 * all runs of both begin at multiples of `step` from their first ones, so that one step shows whether b's run lies in a's gap. */
static inline int tp_interleaved(const tp_array *a, int a_rank, int64_t a_size, const tp_array *b, int b_rank, int64_t b_size)
{
    int64_t step = 0, a_run = tp_run(a, a_rank, a_size, &step), b_run = tp_run(b, b_rank, b_size, &step);
    int64_t shift = step ? (b->data - a->data) % step : 0;
    if (shift < 0) shift += step;
    return shift >= a_run && shift + b_run <= step;
}

/* Whether two arrays share no byte; or, with `same`, are the same array. The guard `Disjoint` of a kernel calls it before anything is
 * written: where it gives 0, Python runs the call. `a_size`: the bytes of an element. In this order:
 *
 *     x[:0] and x       1: an empty array shares nothing
 *     x and x           `same`: one array, with equal lengths and strides
 *     x[:5] and x[5:]   1: the address ranges do not meet
 *     x[::2], x[1::2]   1: the ranges meet, but each lies in the gaps of the other (`tp_interleaved`)
 *     x[1:] and x[:-1]  0
 */
static inline int tp_disjoint(const tp_array *a, int a_rank, int64_t a_size, const tp_array *b, int b_rank, int64_t b_size, int same)
{
    int64_t a_lo = 0, a_hi = a_size, b_lo = 0, b_hi = b_size, equal = a->data == b->data && a_rank == b_rank && a_size == b_size;
    for (int k = 0; k < a_rank; k++) {
        int64_t reach = (a->dims[k] - 1) * a->strides[k];
        if (a->dims[k] == 0) return 1;
        *(reach < 0 ? &a_lo : &a_hi) += reach;
    }
    for (int k = 0; k < b_rank; k++) {
        int64_t reach = (b->dims[k] - 1) * b->strides[k];
        if (b->dims[k] == 0) return 1;
        *(reach < 0 ? &b_lo : &b_hi) += reach;
    }
    for (int k = 0; equal && k < a_rank; k++) equal = a->dims[k] == b->dims[k] && a->strides[k] == b->strides[k];
    if ((same && equal) || a->data + a_hi <= b->data + b_lo || b->data + b_hi <= a->data + a_lo) return 1;
    return tp_interleaved(a, a_rank, a_size, b, b_rank, b_size);
}

/* The same for one-dimensional arrays without gaps: most kernels have only such ones, and the C compiler takes a fifth less time. */
static inline int tp_disjoint_runs(const tp_array *a, int64_t a_size, const tp_array *b, int64_t b_size, int same)
{
    int64_t a_bytes = a->dims[0] * a_size, b_bytes = b->dims[0] * b_size;
    if (same && a->data == b->data && a_bytes == b_bytes && a_size == b_size) return 1;
    return a->data + a_bytes <= b->data || b->data + b_bytes <= a->data || !a_bytes || !b_bytes;
}
