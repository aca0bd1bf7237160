/* Signal checks of kernels (stop.h): whether a signal handler of Python raised. Follows entry.c in one translation unit. */
typedef struct { int64_t read, asked, turns; } tp_clock;    /* milliseconds at which the clock was read and Python asked last */

/* Functions of Python's C API, whose addresses `tp_bind_signals` stores. */
static struct {
    int (*ensure)(void); void (*release)(int);              /* PyGILState_… */
    int (*signals)(void);                                   /* PyErr_CheckSignals */
    void (*fetch)(void **, void **, void **);               /* PyErr_Fetch */
} signals;

void tp_bind_signals(const uintptr_t *addresses)
{
    for (unsigned i = 0; i < sizeof signals / sizeof *addresses; i++) ((uintptr_t *)&signals)[i] = addresses[i];
}

extern int clock_gettime(int, void *);

/* The milliseconds of a clock that is cheap to read: CLOCK_MONOTONIC_COARSE of Linux, CLOCK_MONOTONIC of macOS. */
static int64_t milliseconds(void)
{
    int64_t now[2];
    return clock_gettime(6, now) ? 0 : now[0] * 1000 + now[1] / 1000000;
}

/* Whether a signal handler raised; `raised` then has its exception. Python is asked at most twenty times a second, as that
 * takes the GIL. */
static int ask(tp_clock *c, int64_t now, void **raised)
{
    if (!c->asked) c->asked = now;
    if (now - c->asked < 50) return 0;
    c->asked = now;
    int held = signals.ensure(), stop = signals.signals() < 0;
    if (stop) signals.fetch(&raised[0], &raised[1], &raised[2]);
    signals.release(held);
    return stop;
}

int tp_stopped(tp_clock *c, void **raised) { return ask(c, milliseconds(), raised); }

/* How many turns to make before the clock is read again, after some milliseconds; 0 if a signal handler raised. */
int64_t tp_next_turns(tp_clock *c, void **raised)
{
    int64_t now = milliseconds(), since = c->read ? now - c->read : 0;
    c->read = now;
    if (ask(c, now, raised)) return 0;
    if (since < 4 && c->turns < 1LL << 40) c->turns *= 2;
    if (since > 16 && c->turns > 1) c->turns = since > 160 && c->turns > 16 ? c->turns / 16 : c->turns / 2;
    return c->turns;
}
