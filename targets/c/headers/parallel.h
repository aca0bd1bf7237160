/* A loop whose iterations may run in any order, in chunks, by several threads; see thread_pool.c. */
typedef struct tp_region {
    void (*run)(struct tp_region *, int64_t first, int64_t last, int64_t *status);  /* iterations first … last - 1; ORs bits into *status */
    const tp_array *arrays; const tp_scalar *scalars;     /* the kernel's; other captured values follow this struct in the kernel's own one */
    int64_t first, last, grain;       /* the range; chunks begin at first + k * grain */
    double units;                     /* estimated work of the whole range */
    float *rate;                      /* nanoseconds a unit: an estimate at first, corrected by what calls took; shared by all calls, relaxed accesses */
    int64_t stops_at;                 /* status bits after which no further chunk need run; 0: all must run */
    int32_t is_uneven, is_ordered;    /* iterations of very different length; chunks must be claimed in ascending order */
    int32_t most_threads;             /* the function's bound, 0: none */
    int64_t (*goes_on)(void *, void **); void **raised;   /* the kernel's tp_goes_on and tp_raised (stop.h); NULL: it has no polls */
} tp_region;
static inline float tp_rate(const float *rate) { float now; __atomic_load(rate, &now, __ATOMIC_RELAXED); return now; }
int64_t (*tp_run_region)(tp_region *);      /* the pool's function: the whole range, gives the ORed status. NULL without a pool */
/* A search: its region stops when a part has found something, the lowest of which all parts share. Parts with lower numbers go on. */
#define TP_FOUND ((int64_t)1 << 62)         /* status: some part did */
#define TP_PEEK(place) __atomic_load_n(place, __ATOMIC_RELAXED)
static inline void tp_note_hit(int64_t *place, int64_t iteration)
{
    int64_t old = TP_PEEK(place);
    while (iteration < old && !__atomic_compare_exchange_n(place, &old, iteration, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
/* A loop that may stop: its chunks save what they are going to store, in a list that all threads share; see c_regions.py. */
#define TP_NO_ROOM ((int64_t)1 << 61)       /* status: there was no memory for that */
typedef struct tp_saved { struct tp_saved *next; int64_t first, last, unused; } tp_saved;    /* the elements follow, aligned to 16 bytes */
static inline tp_saved *tp_room(int64_t first, int64_t last, int64_t bytes)
{
    tp_saved *saved = __builtin_malloc(sizeof *saved + bytes);
    if (saved) *saved = (tp_saved){0, first, last, 0};
    return saved;
}
static inline void tp_note_saved(tp_saved **all, tp_saved *saved)
{
    saved->next = TP_PEEK(all);
    while (!__atomic_compare_exchange_n(all, &saved->next, saved, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}
#ifdef TP_STOPPED
#define TP_POLLS (int64_t (*)(void *, void **))tp_goes_on, tp_raised
#else
#define TP_POLLS 0, 0
#endif
