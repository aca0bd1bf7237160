/* Signals in loops that take long: they regularly check whether Python has a pending signal, such as Ctrl-C. */
typedef struct { int64_t read, asked, turns, most, left; } tp_clock;    /* of one loop in one call; see signals.c */
/* Whether no signal handler raised; it sets how many turns to make before the next look. NULL without Python. */
int64_t (*tp_goes_on)(tp_clock *, void **);
void *tp_raised[3];                                         /* the exception of a signal handler: type, value, traceback */
/* The function keeps all registers there: else a loop would load what it keeps in vector registers in each iteration. */
#if defined(__x86_64__) && defined(__ELF__)
#define TP_POLL(function, clock) __extension__ ({ int64_t tp_answer; __asm__ volatile(                                   \
    "leaq -128(%%rsp), %%rsp\n\tcall *%2\n\tleaq 128(%%rsp), %%rsp" /* below the red zone */                            \
    : "=a"(tp_answer), "+m"(*(clock)) : "r"(function), "D"(clock), "S"(tp_raised) : "cc"); tp_answer; })
#else
#define TP_POLL(function, clock) function(clock, tp_raised)
#endif
#define TP_STOPPED(clock) (tp_goes_on && !TP_POLL(tp_goes_on, clock))
