/* saxpy, avx512 */
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

typedef float f32x16 __attribute__((vector_size(64)));
typedef uint16_t m16;
typedef int32_t i32x16 __attribute__((vector_size(64)));
typedef float f32x16_u __attribute__((vector_size(64), may_alias, aligned(4)));
static inline int64_t tp_peel_f32x16(const float *p, int64_t n, int64_t s)
{
    int64_t bytes = -(intptr_t)p & (int64_t)(sizeof(f32x16) - 1);
    return n < 16 * 16 || bytes % s ? 0 : bytes / s;
}
static inline m16 tp_first_m16(int64_t n) { return n < 16 ? (m16)(((uint64_t)1 << n) - 1) : (m16)-1; }
static inline void tp_storemask_f32x16(float *p, f32x16 v, m16 m) { __builtin_ia32_storedqusi512_mask((void *)p, (i32x16)v, m); }
static inline f32x16 tp_splat_f32x16(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
static inline f32x16 tp_loadpart_f32x16(const float *p, int64_t n)
{
    return (f32x16)__builtin_ia32_loaddqusi512_mask((const void *)p, (i32x16)tp_splat_f32x16(*p), tp_first_m16(n));
}

static __attribute__((noinline)) int64_t tp_body(const tp_array *arrays, const tp_scalar *scalars)
{
    float *const x = (float *)arrays[0].data;
    const int64_t x_n0 = arrays[0].dims[0];
    float *const y = (float *)arrays[1].data;
    const float a = scalars[0].f32;
    int64_t status = 0;
    tp_clock tp_clock_ = {0, 0, 64};
    {
        int64_t i = (int64_t)0;
        const int64_t i_end = x_n0;
        int64_t stop = i + tp_peel_f32x16(y + i, i_end - i, 4);
        for (;;) {
            for (; i < stop; i += 16) {
                const int64_t count = stop - i;
                const m16 live = tp_first_m16(count);
                tp_storemask_f32x16(y + i, ((tp_splat_f32x16(a) * tp_loadpart_f32x16(x + i, count)) + tp_loadpart_f32x16(y + i, count)), live);
            }
            if (stop == i_end) break;
            i = stop;
            for (; i_end - i >= 64;) {
                const int64_t i_stop = (uint64_t)i_end - (uint64_t)i > 32768 ? i + 32768 : i_end;
                for (; i_stop - i >= 64; i += 64) {
                    *(f32x16_u *)(y + i) = (tp_splat_f32x16(a) * *(const f32x16_u *)(x + i)) + *(const f32x16_u *)(y + i);
                    {
                        const int64_t i_v1 = i + 16;
                        *(f32x16_u *)(y + i_v1) = (tp_splat_f32x16(a) * *(const f32x16_u *)(x + i_v1)) + *(const f32x16_u *)(y + i_v1);
                    }
                    {
                        const int64_t i_v1 = i + 32;
                        *(f32x16_u *)(y + i_v1) = (tp_splat_f32x16(a) * *(const f32x16_u *)(x + i_v1)) + *(const f32x16_u *)(y + i_v1);
                    }
                    {
                        const int64_t i_v1 = i + 48;
                        *(f32x16_u *)(y + i_v1) = (tp_splat_f32x16(a) * *(const f32x16_u *)(x + i_v1)) + *(const f32x16_u *)(y + i_v1);
                    }
                }
                if (i_end - i >= 64 && tp_stopped(&tp_clock_)) return status | 16;
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
