/* A loop whose iterations may run in any order, in chunks, by several threads; see thread_pool.c. */
typedef struct {
    /* iterations first … last - 1; gives the status; `captured`: the kernel's own struct */
    int64_t (*run)(const tp_array *, const tp_scalar *, void *captured, int64_t first, int64_t last);
    float *rate;                      /* nanoseconds a unit: an estimate at first, corrected by what calls took; shared by all calls, relaxed accesses */
    int64_t longest;                  /* iterations of a chunk at most, a multiple of the grain; 0: no bound */
    int64_t stops_at;                 /* status bits after which no further chunk need run; 0: all must run */
    int32_t is_uneven, is_ordered;    /* iterations of very different length; chunks must be claimed in ascending order */
    int32_t most_threads;             /* the function's bound, 0: none */
    int32_t counts_first;             /* a chunk goes over its iterations twice, which one thread that runs the whole range does not */
} tp_loop;
typedef struct tp_region {            /* one run of such a loop */
    const tp_loop *loop; const tp_array *arrays; const tp_scalar *scalars; void *captured;
    int64_t first, last, grain;       /* the range; chunks begin at first + k * grain */
    double units;                     /* estimated work of the whole range */
    int64_t (*goes_on)(void *, void **); void **raised;   /* the kernel's tp_goes_on and tp_raised (stop.h); NULL: it has no polls */
} tp_region;
static inline float tp_rate(const float *rate) { float now; __atomic_load(rate, &now, __ATOMIC_RELAXED); return now; }
int64_t (*tp_run_region)(tp_region *);      /* the pool's function: the whole range, gives the ORed status. NULL without a pool */
#ifdef TP_STOPPED
#define TP_POLLS (int64_t (*)(void *, void **))tp_goes_on, tp_raised
#else
#define TP_POLLS 0, 0
#endif
/* cold: the code of calls with little work lies together, without that of a call by threads between it (10 ns of a call) */
static __attribute__((noinline, cold, unused)) int64_t tp_run_loop(const tp_loop *loop, const tp_array *arrays, const tp_scalar *scalars,
    void *captured, int64_t first, int64_t last, int64_t grain, double units)
{
    tp_region region = {loop, arrays, scalars, captured, first, last, grain, units, TP_POLLS};
    return tp_run_region(&region);
}
