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
