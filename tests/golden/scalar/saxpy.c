/* saxpy, scalar */
/* Signals in loops that take long: they regularly check whether Python has a pending signal, such as Ctrl-C. */
typedef struct { int64_t read, asked, turns; } tp_clock;    /* of one call; see signals.c */
/* Whether a signal handler raised, and how many turns to make before the next look, 0 if one raised; NULL without Python. */
struct { int (*stopped)(tp_clock *, void **); int64_t (*next_turns)(tp_clock *, void **); } tp_polls;
void *tp_raised[3];                                         /* the exception of a signal handler: type, value, traceback */
static __attribute__((noinline, cold)) int tp_poll(tp_clock *clock)
{
    return tp_polls.stopped && tp_polls.stopped(clock, tp_raised);
}
static __attribute__((noinline, cold)) int64_t tp_poll_turns(tp_clock *clock)
{
    return tp_polls.next_turns ? tp_polls.next_turns(clock, tp_raised) : 1LL << 40;
}



static __attribute__((noinline)) int64_t tp_body(const tp_array *arrays, const tp_scalar *scalars)
{
    float *const x = (float *)arrays[0].data;
    const int64_t x_n0 = arrays[0].dims[0];
    float *const y = (float *)arrays[1].data;
    const float a = scalars[0].f32;
    int64_t status = 0;
    tp_clock tp_polling = {0, 0, 64};
    {
        int64_t i = (int64_t)0;
        const int64_t i_end = x_n0;
        for (; i_end - i >= 1;) {
            const int64_t i_stop = (uint64_t)i_end - (uint64_t)i > 32768 ? i + 32768 : i_end;
            for (; i_stop - i >= 1; i += 1) {
                y[i] = (float)((float)(a * x[i]) + y[i]);
            }
            if (i_end - i >= 1 && tp_poll(&tp_polling)) return status | 16;
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
