/* saxpy, avx512 */
/* What a kernel and its caller share; stands at the head of every kernel. */
#include <stdint.h>
#ifdef __clang__
#pragma clang fp exceptions(maytrap)
#ifndef TP_CONTRACT
#pragma clang fp contract(off)
#endif
#endif

typedef struct { char *data; int64_t dims[3], strides[3]; } tp_array;      /* strides in bytes */
typedef union {
    double f64; float f32;
    int64_t i64; int32_t i32; int16_t i16; int8_t i8;
    uint64_t u64; uint32_t u32; uint16_t u16; uint8_t u8;
} tp_scalar;

/* The hardware's floating-point flags, in ops.STATUS's order: divide 1, over 2, under 4, invalid 8. */
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

/* Whether two arrays share no byte, by the range of addresses that each spans; or, with `same`, are one array. */
static inline int tp_apart(const tp_array *a, int a_rank, int64_t a_size, const tp_array *b, int b_rank, int64_t b_size, int same)
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
    return (same && equal) || a->data + a_hi <= b->data + b_lo || b->data + b_hi <= a->data + a_lo;
}

typedef float f32x16 __attribute__((vector_size(64)));
typedef uint16_t m16;
typedef int32_t i32x16 __attribute__((vector_size(64)));
typedef float f32x16_u __attribute__((vector_size(64), may_alias, aligned(4)));
static inline int64_t tp_peel_f32x16(const float *p, int64_t n)
{
    int64_t bytes = -(intptr_t)p & (int64_t)(sizeof(f32x16) - 1);
    return n < 16 * 16 || bytes % (int64_t)sizeof(float) ? 0 : bytes / (int64_t)sizeof(float);
}
static inline m16 tp_first_m16(int64_t n) { return n < 16 ? (m16)(((uint64_t)1 << n) - 1) : (m16)-1; }
static inline void tp_storemask_f32x16(float *p, f32x16 v, m16 m) { __builtin_ia32_storedqusi512_mask((void *)p, (i32x16)v, m); }
static inline f32x16 tp_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
static inline f32x16 tp_loadpart_f32x16(const float *p, int64_t n)
{
    return (f32x16)__builtin_ia32_loaddqusi512_mask((const void *)p, (i32x16)tp_splat_f32x16(*p), tp_first_m16(n));
}

static __attribute__((noinline)) int64_t tp_body(const tp_array *arrays, const tp_scalar *scalars)
{
    float *const x = (float *)arrays[0].data;
    const int64_t x_n0 = arrays[0].dims[0];
    float *const y = (float *)arrays[1].data;
    const float a = scalars[0].f32;
    int64_t status = 0;
    {
        int64_t i = (int64_t)0;
        const int64_t i_end = x_n0;
        int64_t stop = i + tp_peel_f32x16(y + i, i_end - i);
        for (;;) {
            for (; i < stop; i += 16) {
                const int64_t count = stop - i;
                const m16 live = tp_first_m16(count);
                tp_storemask_f32x16(y + i, ((tp_splat_f32x16(a) * tp_loadpart_f32x16(x + i, count)) + tp_loadpart_f32x16(y + i, count)), live);
            }
            if (stop == i_end) break;
            i = stop;
            for (; i_end - i >= 64; i += 64) {
                *(f32x16_u *)(y + i) = (tp_splat_f32x16(a) * *(const f32x16_u *)(x + i)) + *(const f32x16_u *)(y + i);
                {
                    const int64_t i_v1 = i + 16;
                    *(f32x16_u *)(y + i_v1) = (tp_splat_f32x16(a) * *(const f32x16_u *)(x + i_v1)) + *(const f32x16_u *)(y + i_v1);
                }
                {
                    const int64_t i_v1 = i + 32;
                    *(f32x16_u *)(y + i_v1) = (tp_splat_f32x16(a) * *(const f32x16_u *)(x + i_v1)) + *(const f32x16_u *)(y + i_v1);
                }
                {
                    const int64_t i_v1 = i + 48;
                    *(f32x16_u *)(y + i_v1) = (tp_splat_f32x16(a) * *(const f32x16_u *)(x + i_v1)) + *(const f32x16_u *)(y + i_v1);
                }
            }
            stop = i_end;
        }
    }
    return status;
}

int64_t tp_kernel(const tp_array *arrays, const tp_scalar *scalars)
{
    tp_flags_clear();
    int64_t status = tp_body(arrays, scalars);
    return status | tp_flags();
}
