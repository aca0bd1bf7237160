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
