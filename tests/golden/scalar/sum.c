/* sum, scalar */
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
    float *const r = (float *)arrays[1].data;
    int64_t status = 0;
    tp_clock tp_clock_ = {0, 0, 64};
    float s[64];
    for (int k = 0; k < 64; k++) s[k] = 0.0f;
    {
        int64_t i = (int64_t)0;
        const int64_t i_end = x_n0;
        for (; i_end - i >= 64;) {
            const int64_t i_stop = (uint64_t)i_end - (uint64_t)i > 32768 ? i + 32768 : i_end;
            for (; i_stop - i >= 64; i += 64) {
                for (int64_t r_v1 = 0; r_v1 < 64; r_v1++) {
                    {
                        const int64_t i_v1 = i + r_v1 * 1;
                        s[r_v1] = (float)(s[r_v1] + x[i_v1]);
                    }
                }
            }
            if (i_end - i >= 64 && tp_stopped(&tp_clock_)) return status | 16;
        }
        if (i < i_end) {
            int64_t r_v1 = 0;
            for (; i_end - i >= 1; i += 1, r_v1++) {
                s[r_v1] = (float)(s[r_v1] + x[i]);
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
