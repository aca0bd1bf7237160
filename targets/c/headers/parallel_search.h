/* A search: its region stops when a part has found something. All parts share the lowest iteration with a hit; those before it go on. */
#define TP_FOUND ((int64_t)1 << 62)         /* status: some part has found something */
#define TP_PEEK(place) __atomic_load_n(place, __ATOMIC_RELAXED)
static inline void tp_note_hit(int64_t *place, int64_t iteration)
{
    int64_t old = TP_PEEK(place);
    while (iteration < old && !__atomic_compare_exchange_n(place, &old, iteration, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
