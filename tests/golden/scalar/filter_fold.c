/* filter_fold, scalar */
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

static inline uint8_t tp_lt_f32(float a, float b) { TP_QUIET(a, b); return __builtin_isless(a, b); }
static inline float tp_fold_add_64_f32(const float *p)
{
    float r[64], r0;
    for (int k = 0; k < 64; k++) r[k] = p[k];
    for (int h = 32; h; h /= 2) for (int k = 0; k < h; k++) r[k] = (float)(r[k] + r[k + h]);
    r0 = r[0];
    return r0;
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
    float s[64];
    for (int k = 0; k < 64; k++) s[k] = 0.0f;
    {
        int64_t i = (int64_t)0;
        const int64_t i_end = x_n0;
        if (i_end - i >= 64) for (;;) {
            int64_t i_stop = (uint64_t)i_end - (uint64_t)i > (uint64_t)(65536 * 64) ? i + 65536 * 64 : i + (int64_t)(((uint64_t)i_end - (uint64_t)i) / 64 * 64);
            for (; i < i_stop; i += 64) {
                for (int64_t r_v1 = 0; r_v1 < 64; r_v1++) {
                    {
                        const int64_t i_v1 = i + r_v1 * 1;
                        if (tp_lt_f32(t, x[i_v1])) {
                            s[r_v1] = (float)(s[r_v1] + x[i_v1]);
                        }
                    }
                }
            }
            if (__builtin_expect(!(i_end - i >= 64), 1)) break;
            if (status & 16 || TP_STOPPED(&tp_clock_0)) return status | 16;
        }
        if (i < i_end) {
            int64_t r_v1 = 0;
            for (; i_end - i >= 1; i += 1, r_v1++) {
                {
                    if (tp_lt_f32(t, x[i])) {
                        s[r_v1] = (float)(s[r_v1] + x[i]);
                    }
                }
            }
        }
    }
    *(r) = tp_fold_add_64_f32(s);
    return status;
}

int64_t tp_kernel(const tp_array *arrays, const tp_scalar *scalars)
{
    tp_flags_clear();
    int64_t status = tp_body(arrays, scalars);
    return status | tp_flags();
}
