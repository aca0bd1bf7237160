/* Running totals of a parallel loop: counts of appends, and integer scans. Each chunk begins with the totals with which a loop that runs
 * in order would come to it: those of all chunks before it, which are computed first. The unit of that is a block of iterations.
 *
 * A chunk computes the totals of its own blocks; of the blocks before it most have been computed by the threads that run them, and it
 * computes the others itself, which gives the same numbers. So no chunk waits for another, and chunks may run in any order.
 *
 * A loop has at most TP_MOST_TOTALS of them, each in the 64 bits of an int64_t; `join` combines those of its dtypes. */
#define TP_BLOCKS 64                        /* the totals of so many blocks are on the stack of the thread that calls */
#define TP_MOST_TOTALS 4
typedef struct {
    int32_t has_own, has_start;             /* whether these are known */
    int64_t own[TP_MOST_TOTALS], start[TP_MOST_TOTALS];    /* what the block adds, and the totals of all before it */
} tp_block;
typedef void (*tp_totalling)(const tp_array *, const tp_scalar *, void *captured, int64_t first, int64_t last, int64_t *own);
typedef struct {
    tp_totalling total;                     /* what these iterations add */
    void (*join)(int64_t *, const int64_t *);              /* adds the second totals to the first */
    int64_t first, last, size;              /* the whole range, and the iterations of a block */
    int32_t number;                         /* how many totals there are */
    tp_block *blocks, few[TP_BLOCKS];       /* each block, and one behind the last, whose start is the totals of all */
} tp_totals;
/* Several threads may store the same numbers at the same time. */
static inline void tp_publish(int64_t *to, const int64_t *from, int32_t number, int32_t *known)
{
    for (int32_t k = 0; k < number; k++) __atomic_store_n(to + k, from[k], __ATOMIC_RELAXED);
    __atomic_store_n(known, 1, __ATOMIC_RELEASE);
}
static inline int tp_read_totals(const int64_t *from, int64_t *to, int32_t number, const int32_t *known)
{
    if (!__atomic_load_n(known, __ATOMIC_ACQUIRE)) return 0;
    for (int32_t k = 0; k < number; k++) to[k] = __atomic_load_n(from + k, __ATOMIC_RELAXED);
    return 1;
}
/* Called before the region; `start`: the totals before the loop. Returns 0 if there is no memory. */
static __attribute__((noinline, cold)) int tp_open_totals(tp_totals *a, tp_totalling total, void (*join)(int64_t *, const int64_t *),
    int64_t first, int64_t last, int64_t size, const int64_t *start, int32_t number)
{
    int64_t all = (last - first + size - 1) / size + 1;
    a->total = total, a->join = join, a->first = first, a->last = last, a->size = size, a->number = number;
    a->blocks = all <= TP_BLOCKS ? a->few : __builtin_malloc(all * sizeof *a->blocks);
    if (!a->blocks) return 0;
    for (int64_t k = 0; k < all; k++) a->blocks[k].has_own = a->blocks[k].has_start = 0;
    tp_publish(a->blocks[0].start, start, number, &a->blocks[0].has_start);
    return 1;
}
static inline void tp_close_totals(tp_totals *a) { if (a->blocks != a->few) __builtin_free(a->blocks); }
/* What block k adds. */
static __attribute__((noinline)) void tp_totals_of(tp_totals *a, const tp_array *arrays, const tp_scalar *scalars, void *captured, int64_t k,
    int64_t *own)
{
    tp_block *b = a->blocks + k;
    int64_t begin = a->first + k * a->size;
    if (tp_read_totals(b->own, own, a->number, &b->has_own)) return;
    a->total(arrays, scalars, captured, begin, a->last - begin > a->size ? begin + a->size : a->last, own);
    tp_publish(b->own, own, a->number, &b->has_own);
}
/* The totals with which block k begins: those of the nearest block before it that is known, and what all from there on add. */
static __attribute__((noinline)) void tp_start_of(tp_totals *a, const tp_array *arrays, const tp_scalar *scalars, void *captured, int64_t k,
    int64_t *start)
{
    int64_t known = k, own[TP_MOST_TOTALS];
    while (!tp_read_totals(a->blocks[known].start, start, a->number, &a->blocks[known].has_start)) known--;
    for (; known < k; known++) {
        tp_totals_of(a, arrays, scalars, captured, known, own);
        a->join(start, own);
        tp_publish(a->blocks[known + 1].start, start, a->number, &a->blocks[known + 1].has_start);
    }
}
