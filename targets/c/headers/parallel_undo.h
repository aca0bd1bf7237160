/* Undo of a parallel loop that may stop. A chunk saves the elements that it is going to store, as long as a chunk before it has not
 * ended. Once all chunks before it have ended it saves none: a loop that runs in order would have stored the same until then. So a few
 * chunks need memory at a time, which stays in the cache; see c_regions.py. While one chunk takes very long, the others save
 * TP_MOST_SAVED bytes at most. */
#ifndef TP_MOST_SAVED
#define TP_MOST_SAVED ((int64_t)1 << 27)
#endif
#define TP_NO_ROOM ((int64_t)1 << 61)       /* status: no memory to save elements in, or it would be more than TP_MOST_SAVED */
typedef struct tp_saved {                   /* of the chunk first … last - 1; behind it `bytes` for elements, aligned to 16 bytes */
    struct tp_saved *next; int64_t first, last, bytes, has_ended;
    int64_t saved;                          /* the elements of iterations first … saved - 1 are saved */
} tp_saved;
typedef struct {
    tp_saved *begun, *spare;                /* of the chunks that may have to be put back, in ascending order; free for reuse */
    int64_t ended;                          /* all chunks before this iteration have ended */
    int64_t bytes;                          /* allocated in both lists */
    int32_t lock;
} tp_undo;
static inline void tp_lock(int32_t *lock) { while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)); }
static inline void tp_unlock(int32_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }
/* Called before the chunk first … last - 1 runs. `room` becomes the memory in which it saves the elements that it is going to store,
 * which take `bytes`; NULL if all chunks before it have ended, since then it is never put back. Returns 1; 0 if there is no memory, or
 * more than TP_MOST_SAVED would be in use. If memory must be allocated, the loop has a second round: the lock is not held meanwhile. */
static __attribute__((noinline)) int tp_begin_chunk(tp_undo *u, int64_t first, int64_t last, int64_t bytes, tp_saved **room)
{
    for (*room = 0;; (*room)->bytes = bytes) {
        tp_lock(&u->lock);
        if (!*room && u->spare && u->spare->bytes >= bytes) *room = u->spare, u->spare = u->spare->next;
        if (*room && u->ended == first) (*room)->next = u->spare, u->spare = *room, *room = 0;  /* not needed */
        int is_known = *room || u->ended == first, is_full = !is_known && (u->bytes += bytes) > TP_MOST_SAVED;
        if (*room) {                            /* inserted into `begun`, in ascending order */
            tp_saved **place = &u->begun;
            while (*place && (*place)->first < first) place = &(*place)->next;
            (*room)->next = *place, (*room)->first = first, (*room)->last = last, (*room)->has_ended = 0,
                (*room)->saved = first, *place = *room;
        }
        tp_unlock(&u->lock);
        if (is_known) return 1;
        if (is_full || !(*room = __builtin_malloc(sizeof **room + bytes))) return 0;
    }
}
/* Called before each block of iterations of a chunk: whether the chunk must save the elements of the block. Once all chunks before it
 * have ended it need not, and what it has saved so far is dropped. */
static inline int tp_must_save(const tp_undo *u, tp_saved *room)
{
    if (!room || __atomic_load_n(&u->ended, __ATOMIC_ACQUIRE) != room->first) return room != 0;
    room->saved = room->first;
    return 0;
}
/* Called after the chunk that ends at `last`, unless it was stopped. If all chunks before it have ended, `ended` advances over it and
 * over the chunks behind it that have ended already: none of these is put back any more, and their memory goes to `spare`. A chunk
 * without a `room` always was the first one that had not ended. */
static __attribute__((noinline)) void tp_end_chunk(tp_undo *u, tp_saved *room, int64_t last)
{
    tp_lock(&u->lock);
    if (room) room->has_ended = 1;
    else __atomic_store_n(&u->ended, last, __ATOMIC_RELEASE);
    for (tp_saved *lowest; (lowest = u->begun) && lowest->has_ended && lowest->first == u->ended;) {
        __atomic_store_n(&u->ended, lowest->last, __ATOMIC_RELEASE), u->begun = lowest->next;
        lowest->next = u->spare, u->spare = lowest;
    }
    tp_unlock(&u->lock);
}
static inline void tp_free_saved(tp_saved *saved)
{
    for (tp_saved *next; saved; saved = next) next = saved->next, __builtin_free(saved);
}
