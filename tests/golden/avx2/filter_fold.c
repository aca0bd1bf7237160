/* filter_fold, avx2 */
/* Polls: a loop that takes long regularly asks whether a signal handler of Python has raised, such as that of Ctrl-C. */
typedef struct { int64_t read, asked, turns; } tp_clock;    /* of one loop in one call; read: 0 before the first poll; see signals.c */
/* A poll: 1 if no signal handler raised. Sets `turns`, the iterations before the next poll. NULL without Python. */
int64_t (*tp_goes_on)(tp_clock *, void **);
void *tp_raised[3];                                         /* the exception of a signal handler: type, value, traceback */
/* Whether the kernel must stop, by a call that changes no register: else the compiler would keep the values of a loop in memory, and
 * load them in each iteration. The address of the clock is on the stack, below the red zone; the answer is in the carry flag. */
#if defined(__x86_64__) && defined(__ELF__)
#define TP_TEXT_(name) #name
#define TP_TEXT(name) TP_TEXT_(name)                        /* the name as text, after it was replaced if it is a macro */
__asm__(".pushsection .text\n.type tp_poll, @function\ntp_poll:\n\tpushq %rax\n\tmovq " TP_TEXT(tp_goes_on) "@GOTPCREL(%rip), %rax\n"
    "\tmovq (%rax), %rax\n\ttestq %rax, %rax\n\tje 1f\n\tpushq %rdi\n\tpushq %rsi\n\tmovq 32(%rsp), %rdi\n"
    "\tmovq " TP_TEXT(tp_raised) "@GOTPCREL(%rip), %rsi\n"
    "\tcall *%rax\n\tpopq %rsi\n\tpopq %rdi\n\tcmpq $1, %rax\n1:\tpopq %rax\n\tret\n.size tp_poll, .-tp_poll\n.popsection");
#define TP_STOPPED(clock) __extension__ ({ int tp_answer; __asm__ volatile(                                              \
    "leaq -128(%%rsp), %%rsp\n\tpushq %2\n\tcall tp_poll\n\tleaq 136(%%rsp), %%rsp"                                   \
    : "=@ccc"(tp_answer), "+m"(*(clock)) : "r"(clock) : ); tp_answer; })
#else
#define TP_STOPPED(clock) (tp_goes_on && !tp_goes_on(clock, tp_raised))
#endif
/* Whether a poll is due: `sum`, the work of long runs of inner loops (in clock.turns), takes about a millisecond. Then it begins anew. */
#define TP_IS_DUE(sum, clock) (__builtin_expect((sum) > 1 << 18, 0) && ((clock).turns = 1024))

typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8_u __attribute__((vector_size(32), may_alias, aligned(4)));
typedef int32_t i32x8 __attribute__((vector_size(32)));
static inline f32x8 tp_splat_f32x8(float x) { return (f32x8){x, x, x, x, x, x, x, x}; }
static inline i32x8 tp_lt_f32x8(f32x8 a, f32x8 b) { return (i32x8)__builtin_ia32_cmpps256(a, b, 17); }
static inline i32x8 tp_gt_f32x8(f32x8 a, f32x8 b) { return tp_lt_f32x8(b, a); }
static inline i32x8 tp_splat_i32x8(int32_t x) { return (i32x8){x, x, x, x, x, x, x, x}; }
static inline i32x8 tp_first_i32x8(int64_t n) { return (i32x8){0, 1, 2, 3, 4, 5, 6, 7} < tp_splat_i32x8((int32_t)n); }
static inline f32x8 tp_select_f32x8(i32x8 a, f32x8 b, f32x8 c) { return __builtin_ia32_blendvps256(c, b, (f32x8)a); }
static inline f32x8 tp_loadpart_f32x8(const float *p, int64_t n)
{
    i32x8 m = tp_first_i32x8(n);
    return tp_select_f32x8(m, (f32x8)__builtin_ia32_maskloadd256((const void *)p, (i32x8)m), tp_splat_f32x8(*p));
}
static inline f32x8 tp_swap4_f32x8(f32x8 a)
{
    return TP_SHUFFLE(i32x8, a, a, 4, 5, 6, 7, 0, 1, 2, 3);
}
static inline f32x8 tp_swap2_f32x8(f32x8 a)
{
    return TP_SHUFFLE(i32x8, a, a, 2, 3, 0, 1, 6, 7, 4, 5);
}
static inline f32x8 tp_swap1_f32x8(f32x8 a)
{
    return TP_SHUFFLE(i32x8, a, a, 1, 0, 3, 2, 5, 4, 7, 6);
}
static inline float tp_fold_add_8_f32x8(const f32x8 *p)
{
    f32x8 r0 = p[0], r1 = p[1], r2 = p[2], r3 = p[3], r4 = p[4], r5 = p[5], r6 = p[6], r7 = p[7];
    r0 = (r0 + r4);
    r1 = (r1 + r5);
    r2 = (r2 + r6);
    r3 = (r3 + r7);
    r0 = (r0 + r2);
    r1 = (r1 + r3);
    r0 = (r0 + r1);
    r0 = (r0 + tp_swap4_f32x8(r0));
    r0 = (r0 + tp_swap2_f32x8(r0));
    r0 = (r0 + tp_swap1_f32x8(r0));
    return r0[0];
}

static __attribute__((noinline)) int64_t tp_body(const tp_array *arrays, const tp_scalar *scalars)
{
    float *const x = (float *)arrays[0].data;
    const int64_t x_n0 = arrays[0].dims[0];
    const float t = scalars[0].f32;
    float *const r = (float *)arrays[1].data;
    int64_t status = 0;
    tp_clock tp_clock_0;
    tp_clock_0.read = 0;
    f32x8 s_0 = tp_splat_f32x8(0.0f), s_1 = s_0, s_2 = s_0, s_3 = s_0, s_4 = s_0, s_5 = s_0, s_6 = s_0, s_7 = s_0;
    {
        int64_t i = (int64_t)0;
        const int64_t i_end = x_n0;
        if (i_end - i >= 64) for (;;) {
            int64_t i_stop = (uint64_t)i_end - (uint64_t)i > (uint64_t)(65536 * 64) ? i + 65536 * 64 : i + (int64_t)(((uint64_t)i_end - (uint64_t)i) / 64 * 64);
            for (; i < i_stop; i += 64) {
                {
                    f32x8 x_i = *(const f32x8_u *)(x + i);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t));
                    s_0 = __builtin_ia32_blendvps256(s_0, (s_0 + x_i), (f32x8)on);
                }
                {
                    const int64_t i_v1 = i + 8;
                    f32x8 x_i = *(const f32x8_u *)(x + i_v1);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t));
                    s_1 = __builtin_ia32_blendvps256(s_1, (s_1 + x_i), (f32x8)on);
                }
                {
                    const int64_t i_v1 = i + 16;
                    f32x8 x_i = *(const f32x8_u *)(x + i_v1);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t));
                    s_2 = __builtin_ia32_blendvps256(s_2, (s_2 + x_i), (f32x8)on);
                }
                {
                    const int64_t i_v1 = i + 24;
                    f32x8 x_i = *(const f32x8_u *)(x + i_v1);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t));
                    s_3 = __builtin_ia32_blendvps256(s_3, (s_3 + x_i), (f32x8)on);
                }
                {
                    const int64_t i_v1 = i + 32;
                    f32x8 x_i = *(const f32x8_u *)(x + i_v1);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t));
                    s_4 = __builtin_ia32_blendvps256(s_4, (s_4 + x_i), (f32x8)on);
                }
                {
                    const int64_t i_v1 = i + 40;
                    f32x8 x_i = *(const f32x8_u *)(x + i_v1);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t));
                    s_5 = __builtin_ia32_blendvps256(s_5, (s_5 + x_i), (f32x8)on);
                }
                {
                    const int64_t i_v1 = i + 48;
                    f32x8 x_i = *(const f32x8_u *)(x + i_v1);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t));
                    s_6 = __builtin_ia32_blendvps256(s_6, (s_6 + x_i), (f32x8)on);
                }
                {
                    const int64_t i_v1 = i + 56;
                    f32x8 x_i = *(const f32x8_u *)(x + i_v1);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t));
                    s_7 = __builtin_ia32_blendvps256(s_7, (s_7 + x_i), (f32x8)on);
                }
            }
            if (__builtin_expect(!(i_end - i >= 64), 1)) break;
            if (status & 16 || TP_STOPPED(&tp_clock_0)) return status | 16;
        }
        if (i < i_end) {
            int64_t r_v1 = 0;
            f32x8 s_all[8] = {s_0, s_1, s_2, s_3, s_4, s_5, s_6, s_7};
            for (; i_end - i >= 8; i += 8, r_v1++) {
                {
                    f32x8 x_i = *(const f32x8_u *)(x + i);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t));
                    s_all[r_v1] = __builtin_ia32_blendvps256(s_all[r_v1], (s_all[r_v1] + x_i), (f32x8)on);
                }
            }
            if (i < i_end) {
                const int64_t count = i_end - i;
                const i32x8 live = tp_first_i32x8(count);
                {
                    f32x8 x_i = tp_loadpart_f32x8(x + i, count);
                    __asm__("" : "+x"(x_i));
                    const i32x8 on = tp_gt_f32x8(x_i, tp_splat_f32x8(t)) & live;
                    s_all[r_v1] = __builtin_ia32_blendvps256(s_all[r_v1], (s_all[r_v1] + x_i), (f32x8)on);
                }
            }
            s_0 = s_all[0]; s_1 = s_all[1]; s_2 = s_all[2]; s_3 = s_all[3]; s_4 = s_all[4]; s_5 = s_all[5]; s_6 = s_all[6]; s_7 = s_all[7];
        }
    }
    *(r) = tp_fold_add_8_f32x8((f32x8[]){s_0, s_1, s_2, s_3, s_4, s_5, s_6, s_7});
    return status;
}

int64_t tp_kernel(const tp_array *arrays, const tp_scalar *scalars)
{
    tp_flags_clear();
    int64_t status = tp_body(arrays, scalars);
    return status | tp_flags();
}
