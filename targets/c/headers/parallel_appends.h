/* Appends of a parallel loop. Each chunk stores its elements at the place where a loop that runs in order would: behind those of all
 * chunks before it, whose number is known once these have been counted. The unit of counting is a block of iterations.
 *
 * A chunk counts its own blocks; of the blocks before it most have been counted by the threads that run them, and it counts the others
 * itself, which gives the same numbers. So no chunk waits for another, and chunks may run in any order. */
#define TP_BLOCKS 64                        /* counts of so many blocks are on the stack of the thread that calls */
typedef struct { int64_t count, place; } tp_block;     /* how many elements it appends, and how many those before it; -1: not known yet */
typedef int64_t (*tp_counting)(const tp_array *, const tp_scalar *, void *captured, int64_t first, int64_t last);
typedef struct {
    tp_counting count;                      /* how many elements these iterations append */
    int64_t first, last, size;              /* the whole range, and the iterations of a block */
    tp_block *blocks, few[TP_BLOCKS];       /* of each block, and one behind the last, whose place is the number of all elements */
} tp_appends;
/* Called before the region; `place`: the number of elements that there are. Returns 0 if there is no memory. */
static __attribute__((noinline)) int tp_open_appends(tp_appends *a, tp_counting count, int64_t first, int64_t last, int64_t size,
    int64_t place)
{
    int64_t all = (last - first + size - 1) / size + 1;
    a->count = count, a->first = first, a->last = last, a->size = size;
    a->blocks = all <= TP_BLOCKS ? a->few : __builtin_malloc(all * sizeof *a->blocks);
    if (!a->blocks) return 0;
    for (int64_t k = 0; k < all; k++) a->blocks[k].count = a->blocks[k].place = -1;
    a->blocks[0].place = place;
    return 1;
}
static inline void tp_close_appends(tp_appends *a) { if (a->blocks != a->few) __builtin_free(a->blocks); }
/* How many elements block k appends. */
static __attribute__((noinline)) int64_t tp_count_of(tp_appends *a, const tp_array *arrays, const tp_scalar *scalars, void *captured, int64_t k)
{
    int64_t count = __atomic_load_n(&a->blocks[k].count, __ATOMIC_RELAXED), begin = a->first + k * a->size;
    if (count >= 0) return count;
    count = a->count(arrays, scalars, captured, begin, a->last - begin > a->size ? begin + a->size : a->last);
    __atomic_store_n(&a->blocks[k].count, count, __ATOMIC_RELAXED);
    return count;
}
/* Where block k begins to store: the place of the nearest block before it that is known, and the counts from there on. */
static __attribute__((noinline)) int64_t tp_place_of(tp_appends *a, const tp_array *arrays, const tp_scalar *scalars, void *captured, int64_t k)
{
    int64_t known = k, place;
    while ((place = __atomic_load_n(&a->blocks[known].place, __ATOMIC_RELAXED)) < 0) known--;
    for (; known < k; known++) {
        place += tp_count_of(a, arrays, scalars, captured, known);
        __atomic_store_n(&a->blocks[known + 1].place, place, __ATOMIC_RELAXED);
    }
    return place;
}
