/* Chunks of a loop that may stop: each saves the elements that it is going to store, until all chunks before it have ended, since a
 * run in order would have stored them, too. So the memory is that of a few chunks, and stays in the cache; see c_regions.py. Where
 * one chunk takes very long, the others save TP_MOST_SAVED bytes at most. */
#ifndef TP_MOST_SAVED
#define TP_MOST_SAVED ((int64_t)1 << 27)
#endif
#define TP_NO_ROOM ((int64_t)1 << 61)       /* status: there was no memory for that, or it would be too much */
typedef struct tp_saved {                   /* of iterations first … last - 1; `bytes` for elements follow, aligned to 16 bytes */
    struct tp_saved *next; int64_t first, last, bytes, has_ended;
    int64_t saved;                          /* first … saved - 1 are saved */
} tp_saved;
typedef struct {
    tp_saved *begun, *spare;                /* of chunks that may have to be put back, in ascending order; of none */
    int64_t ended;                          /* all chunks before this iteration have ended */
    int64_t bytes;                          /* of all of these */
    int32_t lock;
} tp_undo;
static inline void tp_lock(int32_t *lock) { while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)); }
static inline void tp_unlock(int32_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }
/* Before the chunk first … last - 1 runs: `room` becomes the memory in which it saves the elements that it is going to store, which
 * take `bytes`; NULL if all chunks before it have ended, since then nobody will put it back. Returns 1; 0 if there is no memory, or
 * more than TP_MOST_SAVED would be in use. The loop goes round twice where memory must be allocated, which is done without the lock. */
static __attribute__((noinline)) int tp_begin_chunk(tp_undo *u, int64_t first, int64_t last, int64_t bytes, tp_saved **room)
{
    for (*room = 0;; (*room)->bytes = bytes) {
        tp_lock(&u->lock);
        if (!*room && u->spare && u->spare->bytes >= bytes) *room = u->spare, u->spare = u->spare->next;
        if (*room && u->ended == first) (*room)->next = u->spare, u->spare = *room, *room = 0;  /* not needed */
        int is_known = *room || u->ended == first, is_full = !is_known && (u->bytes += bytes) > TP_MOST_SAVED;
        if (*room) {                            /* among those that have begun, in ascending order */
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
/* Before a part of it: whether its elements must be saved, too. No, nor those of the parts before, once all chunks before have ended. */
static inline int tp_must_save(const tp_undo *u, tp_saved *room)
{
    if (!room || __atomic_load_n(&u->ended, __ATOMIC_ACQUIRE) != room->first) return room != 0;
    room->saved = room->first;
    return 0;
}
/* After the chunk that ends at `last`, unless it was stopped. `ended` moves on over it, and over those after it that have ended
 * before; nobody undoes them, and their memory is spare. Without a `room` it was the first that had not ended. */
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
