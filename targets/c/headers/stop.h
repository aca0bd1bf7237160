/* Signals in loops that take long: they regularly check whether Python has a pending signal, such as Ctrl-C. */
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

/* Of one call: the milliseconds at which the clock was read and Python was asked last, and the turns between two readings. */
typedef struct { int64_t read, asked, turns; } tp_clock;

/* The milliseconds of a clock that is cheap to read: CLOCK_MONOTONIC_COARSE of Linux, CLOCK_MONOTONIC of macOS. */
static int64_t tp_now(void)
{
    int64_t now[2];
    return clock_gettime(6, now) ? 0 : now[0] * 1000 + now[1] / 1000000;
}

/* Whether a signal handler raised. Python is asked at most twenty times a second, as that takes the GIL. */
static __attribute__((noinline, cold)) int tp_stopped(tp_clock *c)
{
    int64_t now = tp_now();
    if (!c->asked) c->asked = now;
    if (!tp_python.signals || now - c->asked < 50) return 0;
    c->asked = now;
    int held = tp_python.ensure(), stop = tp_python.signals() < 0;
    if (stop) tp_python.fetch(&tp_raised[0], &tp_raised[1], &tp_raised[2]);
    tp_python.release(held);
    return stop;
}

/* How many turns to make before the clock is read again, after some milliseconds; 0 if a signal handler raised. */
static __attribute__((noinline, cold)) int64_t tp_next_turns(tp_clock *c)
{
    int64_t now = tp_now(), since = c->read ? now - c->read : 0;
    c->read = now;
    if (tp_stopped(c)) return 0;
    if (since < 4 && c->turns < 1LL << 40) c->turns *= 2;
    if (since > 16 && c->turns > 1) c->turns = since > 160 && c->turns > 16 ? c->turns / 16 : c->turns / 2;
    return c->turns;
}
