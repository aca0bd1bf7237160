/* Which of the targets this CPU and this system run, as bits in the order of the table `targets` in fat_library.py. The system must
 * save the registers: without that, a CPU with AVX-512 has not got it (XGETBV). */
#include <stdint.h>
#if defined(__x86_64__)
#include <cpuid.h>

enum { AVX_STATE = 0x6, AVX512_STATE = 0xe6 };
enum { FMA = 1u << 12, POPCNT = 1u << 23, XSAVE = 1u << 27, F16C = 1u << 29 };          /* leaf 1, ECX */
enum { BMI1 = 1u << 3, AVX2 = 1u << 5, BMI2 = 1u << 8 };                                /* leaf 7, EBX */
#define AVX512 (1u << 16 | 1u << 17 | 1u << 30 | 1u << 31)                              /* F, DQ, BW, VL */
enum { LZCNT = 1u << 5 };                                                               /* leaf 0x80000001, ECX */

int64_t tp_cpu_targets(void)
{
    uint32_t a, b, c, d, level1, level7, extended, state = 0, high;
    if (!__get_cpuid(1, &a, &b, &level1, &d)) return 1;
    if (!__get_cpuid_count(7, 0, &a, &level7, &c, &d)) return 1;
    if (!__get_cpuid(0x80000001, &a, &b, &extended, &d)) return 1;
    if (level1 & XSAVE) __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(state), "=d"(high) : "c"(0));
    uint32_t first = FMA | POPCNT | F16C, second = BMI1 | AVX2 | BMI2;
    int has_avx2 = (level1 & first) == first && (level7 & second) == second && extended & LZCNT && (state & AVX_STATE) == AVX_STATE;
    int has_avx512 = has_avx2 && (level7 & AVX512) == AVX512 && (state & AVX512_STATE) == AVX512_STATE;
    return 1 | has_avx2 << 1 | has_avx512 << 2;
}
#else
int64_t tp_cpu_targets(void) { return 1; }
#endif
