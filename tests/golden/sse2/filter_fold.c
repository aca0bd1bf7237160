/* filter_fold, sse2 */
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

typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4_u __attribute__((vector_size(16), may_alias, aligned(4)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
static inline f32x4 tp_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
static inline i32x4 tp_lt_f32x4(f32x4 a, f32x4 b)
{
    i32x4 o = (i32x4)__builtin_ia32_cmpordps(a, b);
    return (i32x4)__builtin_ia32_cmpltps((f32x4)((i32x4)a & o), (f32x4)((i32x4)b & o));
}
static inline i32x4 tp_gt_f32x4(f32x4 a, f32x4 b) { return tp_lt_f32x4(b, a); }
static inline f32x4 tp_select_f32x4(i32x4 m, f32x4 a, f32x4 b) { return (f32x4)((m & (i32x4)a) | (~m & (i32x4)b)); }
static inline i32x4 tp_splat_i32x4(int32_t x) { return (i32x4){x, x, x, x}; }
static inline i32x4 tp_first_i32x4(int64_t n) { return (i32x4){0, 1, 2, 3} < tp_splat_i32x4((int32_t)n); }
static inline f32x4 tp_loadpart_f32x4(const float *p, int64_t n)
{
    f32x4 r;
    for (int k = 0; k < 4; k++) r[k] = p[k < n ? k : 0];
    return r;
}
static inline f32x4 tp_swap2_f32x4(f32x4 a)
{
    return TP_SHUFFLE(i32x4, a, a, 2, 3, 0, 1);
}
static inline f32x4 tp_swap1_f32x4(f32x4 a)
{
    return TP_SHUFFLE(i32x4, a, a, 1, 0, 3, 2);
}
static inline float tp_fold_add_16_f32x4(const f32x4 *p)
{
    f32x4 r0 = p[0], r1 = p[1], r2 = p[2], r3 = p[3], r4 = p[4], r5 = p[5], r6 = p[6], r7 = p[7], r8 = p[8], r9 = p[9], r10 = p[10], r11 = p[11], r12 = p[12], r13 = p[13], r14 = p[14], r15 = p[15];
    r0 = (r0 + r8);
    r1 = (r1 + r9);
    r2 = (r2 + r10);
    r3 = (r3 + r11);
    r4 = (r4 + r12);
    r5 = (r5 + r13);
    r6 = (r6 + r14);
    r7 = (r7 + r15);
    r0 = (r0 + r4);
    r1 = (r1 + r5);
    r2 = (r2 + r6);
    r3 = (r3 + r7);
    r0 = (r0 + r2);
    r1 = (r1 + r3);
    r0 = (r0 + r1);
    r0 = (r0 + tp_swap2_f32x4(r0));
    r0 = (r0 + tp_swap1_f32x4(r0));
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
    f32x4 s_0 = tp_splat_f32x4(0.0f), s_1 = s_0, s_2 = s_0, s_3 = s_0, s_4 = s_0, s_5 = s_0, s_6 = s_0, s_7 = s_0, s_8 = s_0, s_9 = s_0, s_10 = s_0, s_11 = s_0, s_12 = s_0, s_13 = s_0, s_14 = s_0, s_15 = s_0;
    {
        int64_t i = (int64_t)0;
        const int64_t i_end = x_n0;
        if (i_end - i >= 64) for (;;) {
            int64_t i_stop = (uint64_t)i_end - (uint64_t)i > (uint64_t)(65536 * 64) ? i + 65536 * 64 : i + (int64_t)(((uint64_t)i_end - (uint64_t)i) / 64 * 64);
            while (i_stop - i >= 128) {
                const int64_t i_part = i_stop - i > 1024 ? i + 1024 : i_stop;
                for (int64_t i_v1 = i; i_part - i_v1 >= 64; i_v1 += 64) {
                    {
                        const int64_t i_v2 = i_v1;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_0 = tp_select_f32x4(on, (s_0 + x_i), s_0);
                    }
                    {
                        const int64_t i_v2 = i_v1 + 4;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_1 = tp_select_f32x4(on, (s_1 + x_i), s_1);
                    }
                    {
                        const int64_t i_v2 = i_v1 + 8;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_2 = tp_select_f32x4(on, (s_2 + x_i), s_2);
                    }
                    {
                        const int64_t i_v2 = i_v1 + 12;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_3 = tp_select_f32x4(on, (s_3 + x_i), s_3);
                    }
                    {
                        const int64_t i_v2 = i_v1 + 16;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_4 = tp_select_f32x4(on, (s_4 + x_i), s_4);
                    }
                    {
                        const int64_t i_v2 = i_v1 + 20;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_5 = tp_select_f32x4(on, (s_5 + x_i), s_5);
                    }
                    {
                        const int64_t i_v2 = i_v1 + 24;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_6 = tp_select_f32x4(on, (s_6 + x_i), s_6);
                    }
                    {
                        const int64_t i_v2 = i_v1 + 28;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_7 = tp_select_f32x4(on, (s_7 + x_i), s_7);
                    }
                }
                for (; i_part - i >= 64; i += 64) {
                    {
                        const int64_t i_v2 = i + 32;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_8 = tp_select_f32x4(on, (s_8 + x_i), s_8);
                    }
                    {
                        const int64_t i_v2 = i + 36;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_9 = tp_select_f32x4(on, (s_9 + x_i), s_9);
                    }
                    {
                        const int64_t i_v2 = i + 40;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_10 = tp_select_f32x4(on, (s_10 + x_i), s_10);
                    }
                    {
                        const int64_t i_v2 = i + 44;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_11 = tp_select_f32x4(on, (s_11 + x_i), s_11);
                    }
                    {
                        const int64_t i_v2 = i + 48;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_12 = tp_select_f32x4(on, (s_12 + x_i), s_12);
                    }
                    {
                        const int64_t i_v2 = i + 52;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_13 = tp_select_f32x4(on, (s_13 + x_i), s_13);
                    }
                    {
                        const int64_t i_v2 = i + 56;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_14 = tp_select_f32x4(on, (s_14 + x_i), s_14);
                    }
                    {
                        const int64_t i_v2 = i + 60;
                        f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                        __asm__("" : "+x"(x_i));
                        const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                        s_15 = tp_select_f32x4(on, (s_15 + x_i), s_15);
                    }
                }
            }
            for (; i_stop - i >= 64; i += 64) {
                {
                    f32x4 x_i = *(const f32x4_u *)(x + i);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_0 = tp_select_f32x4(on, (s_0 + x_i), s_0);
                }
                {
                    const int64_t i_v2 = i + 4;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_1 = tp_select_f32x4(on, (s_1 + x_i), s_1);
                }
                {
                    const int64_t i_v2 = i + 8;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_2 = tp_select_f32x4(on, (s_2 + x_i), s_2);
                }
                {
                    const int64_t i_v2 = i + 12;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_3 = tp_select_f32x4(on, (s_3 + x_i), s_3);
                }
                {
                    const int64_t i_v2 = i + 16;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_4 = tp_select_f32x4(on, (s_4 + x_i), s_4);
                }
                {
                    const int64_t i_v2 = i + 20;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_5 = tp_select_f32x4(on, (s_5 + x_i), s_5);
                }
                {
                    const int64_t i_v2 = i + 24;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_6 = tp_select_f32x4(on, (s_6 + x_i), s_6);
                }
                {
                    const int64_t i_v2 = i + 28;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_7 = tp_select_f32x4(on, (s_7 + x_i), s_7);
                }
                {
                    const int64_t i_v2 = i + 32;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_8 = tp_select_f32x4(on, (s_8 + x_i), s_8);
                }
                {
                    const int64_t i_v2 = i + 36;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_9 = tp_select_f32x4(on, (s_9 + x_i), s_9);
                }
                {
                    const int64_t i_v2 = i + 40;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_10 = tp_select_f32x4(on, (s_10 + x_i), s_10);
                }
                {
                    const int64_t i_v2 = i + 44;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_11 = tp_select_f32x4(on, (s_11 + x_i), s_11);
                }
                {
                    const int64_t i_v2 = i + 48;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_12 = tp_select_f32x4(on, (s_12 + x_i), s_12);
                }
                {
                    const int64_t i_v2 = i + 52;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_13 = tp_select_f32x4(on, (s_13 + x_i), s_13);
                }
                {
                    const int64_t i_v2 = i + 56;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_14 = tp_select_f32x4(on, (s_14 + x_i), s_14);
                }
                {
                    const int64_t i_v2 = i + 60;
                    f32x4 x_i = *(const f32x4_u *)(x + i_v2);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_15 = tp_select_f32x4(on, (s_15 + x_i), s_15);
                }
            }
            if (__builtin_expect(!(i_end - i >= 64), 1)) break;
            if (status & 16 || TP_STOPPED(&tp_clock_0)) return status | 16;
        }
        if (i < i_end) {
            int64_t r_v1 = 0;
            f32x4 s_all[16] = {s_0, s_1, s_2, s_3, s_4, s_5, s_6, s_7, s_8, s_9, s_10, s_11, s_12, s_13, s_14, s_15};
            for (; i_end - i >= 4; i += 4, r_v1++) {
                {
                    f32x4 x_i = *(const f32x4_u *)(x + i);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t));
                    s_all[r_v1] = tp_select_f32x4(on, (s_all[r_v1] + x_i), s_all[r_v1]);
                }
            }
            if (i < i_end) {
                const int64_t count = i_end - i;
                const i32x4 live = tp_first_i32x4(count);
                {
                    f32x4 x_i = tp_loadpart_f32x4(x + i, count);
                    __asm__("" : "+x"(x_i));
                    const i32x4 on = tp_gt_f32x4(x_i, tp_splat_f32x4(t)) & live;
                    s_all[r_v1] = tp_select_f32x4(on, (s_all[r_v1] + x_i), s_all[r_v1]);
                }
            }
            s_0 = s_all[0]; s_1 = s_all[1]; s_2 = s_all[2]; s_3 = s_all[3]; s_4 = s_all[4]; s_5 = s_all[5]; s_6 = s_all[6]; s_7 = s_all[7]; s_8 = s_all[8]; s_9 = s_all[9]; s_10 = s_all[10]; s_11 = s_all[11]; s_12 = s_all[12]; s_13 = s_all[13]; s_14 = s_all[14]; s_15 = s_all[15];
        }
    }
    *(r) = tp_fold_add_16_f32x4((f32x4[]){s_0, s_1, s_2, s_3, s_4, s_5, s_6, s_7, s_8, s_9, s_10, s_11, s_12, s_13, s_14, s_15});
    return status;
}

int64_t tp_kernel(const tp_array *arrays, const tp_scalar *scalars)
{
    tp_flags_clear();
    int64_t status = tp_body(arrays, scalars);
    return status | tp_flags();
}
