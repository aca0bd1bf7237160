/* saxpy, sse2 */
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
static inline int64_t tp_peel_f32x4(const float *p, int64_t n, int64_t s)
{
    int64_t bytes = -(intptr_t)p & (int64_t)(sizeof(f32x4) - 1);
    return n < 16 * 4 || bytes % s ? 0 : bytes / s;
}
static inline f32x4 tp_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }
static inline i32x4 tp_splat_i32x4(int32_t x) { return (i32x4){x, x, x, x}; }
static inline i32x4 tp_first_i32x4(int64_t n) { return (i32x4){0, 1, 2, 3} < tp_splat_i32x4((int32_t)n); }
static inline void tp_scatter_f32x4(char *p, int64_t s, f32x4 v, uint64_t on)
{
    float nowhere;
    for (int k = 0; k < 4; k++) {
        float *to = on >> k & 1 ? (float *)(p + k * s) : &nowhere;
        __asm__("" : "+r"(to));
        *to = v[k];
    }
}
static inline uint64_t tp_bits_i32x4(i32x4 a) { return (uint64_t)__builtin_ia32_movmskps((f32x4)a); }
static inline void tp_storemask_f32x4(float *p, f32x4 v, i32x4 m) { tp_scatter_f32x4((char *)p, sizeof(float), v, tp_bits_i32x4(m)); }
static inline f32x4 tp_loadpart_f32x4(const float *p, int64_t n)
{
    f32x4 r;
    for (int k = 0; k < 4; k++) r[k] = p[k < n ? k : 0];
    return r;
}

static __attribute__((noinline)) int64_t tp_body(const tp_array *arrays, const tp_scalar *scalars)
{
    float *const x = (float *)arrays[0].data;
    const int64_t x_n0 = arrays[0].dims[0];
    float *const y = (float *)arrays[1].data;
    const float a = scalars[0].f32;
    int64_t status = 0;
    tp_clock tp_clock_0;
    tp_clock_0.read = 0;
    {
        int64_t i = (int64_t)0;
        const int64_t i_end = x_n0;
        int64_t stop = i + tp_peel_f32x4(y + i, i_end - i, 4);
        for (;;) {
            for (; stop - i >= 4; i += 4) {
                *(f32x4_u *)(y + i) = (tp_splat_f32x4(a) * *(const f32x4_u *)(x + i)) + *(const f32x4_u *)(y + i);
            }
            if (i < stop) {
                const int64_t count = stop - i;
                const i32x4 live = tp_first_i32x4(count);
                tp_storemask_f32x4(y + i, ((tp_splat_f32x4(a) * tp_loadpart_f32x4(x + i, count)) + tp_loadpart_f32x4(y + i, count)), live);
            }
            if (stop == i_end) break;
            i = stop;
            if (i_end - i >= 16) for (;;) {
                int64_t i_stop = (uint64_t)i_end - (uint64_t)i > (uint64_t)(65536 * 16) ? i + 65536 * 16 : i + (int64_t)(((uint64_t)i_end - (uint64_t)i) / 16 * 16);
                for (; i < i_stop; i += 16) {
                    *(f32x4_u *)(y + i) = (tp_splat_f32x4(a) * *(const f32x4_u *)(x + i)) + *(const f32x4_u *)(y + i);
                    {
                        const int64_t i_v1 = i + 4;
                        *(f32x4_u *)(y + i_v1) = (tp_splat_f32x4(a) * *(const f32x4_u *)(x + i_v1)) + *(const f32x4_u *)(y + i_v1);
                    }
                    {
                        const int64_t i_v1 = i + 8;
                        *(f32x4_u *)(y + i_v1) = (tp_splat_f32x4(a) * *(const f32x4_u *)(x + i_v1)) + *(const f32x4_u *)(y + i_v1);
                    }
                    {
                        const int64_t i_v1 = i + 12;
                        *(f32x4_u *)(y + i_v1) = (tp_splat_f32x4(a) * *(const f32x4_u *)(x + i_v1)) + *(const f32x4_u *)(y + i_v1);
                    }
                }
                if (__builtin_expect(!(i_end - i >= 16), 1)) break;
                if (status & 16 || TP_STOPPED(&tp_clock_0)) return status | 16;
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
