/* Signals in loops that may not terminate: they regularly check whether Python has a pending signal, such as Ctrl-C. */
static struct {
    int (*ensure)(void); void (*release)(int);          /* PyGILState_… */
    int (*signals)(void);                               /* PyErr_CheckSignals */
    void (*fetch)(void **, void **, void **);           /* PyErr_Fetch */
} tp_python;
void *tp_raised[3];                                     /* the exception of a signal handler: type, value, traceback */

/* Sets the functions of the C API that tp_stopped calls. */
void tp_lend(const uintptr_t *lent)
{
    for (unsigned i = 0; i < sizeof tp_python / sizeof *lent; i++) ((uintptr_t *)&tp_python)[i] = lent[i];
}

extern int clock_gettime(int, void *);

/* Whether a signal handler raised. Python is asked at most twenty times a second, as that takes the GIL. */
static __attribute__((noinline)) int tp_stopped(void)
{
    static _Thread_local int64_t last;
    int64_t now[2];
    if (!tp_python.signals || clock_gettime(1, now)) return 0;
    int64_t tick = now[0] * 20 + now[1] / 50000000;
    if (tick == last) return 0;
    last = tick;
    int held = tp_python.ensure(), stop = tp_python.signals() < 0;
    if (stop) tp_python.fetch(&tp_raised[0], &tp_raised[1], &tp_raised[2]);
    tp_python.release(held);
    return stop;
}
