/* The monotonic clock, in nanoseconds, without the headers of the system. Follows entry.c in one translation unit. */
#ifdef _WIN32
extern int QueryPerformanceCounter(int64_t *), QueryPerformanceFrequency(int64_t *);
extern uint64_t GetTickCount64(void);                       /* milliseconds */
static int64_t nanoseconds(void)
{
    int64_t now, each;
    QueryPerformanceCounter(&now), QueryPerformanceFrequency(&each);
    return (int64_t)((double)now * (1e9 / (double)each));
}
__attribute__((unused)) static int64_t coarse_nanoseconds(void) { return (int64_t)GetTickCount64() * 1000000; }
#else
extern int clock_gettime(int, void *);
#ifdef __APPLE__
enum { MONOTONIC = 6, COARSE = 6 };
#else
enum { MONOTONIC = 1, COARSE = 6 };
#endif
static int64_t read_clock(int number)
{
    int64_t now[2];
    return clock_gettime(number, now) ? 0 : now[0] * 1000000000 + now[1];
}
static int64_t nanoseconds(void) { return read_clock(MONOTONIC); }
/* Of a clock that takes less time to read, and ticks every 1 to 16 ms. */
__attribute__((unused)) static int64_t coarse_nanoseconds(void) { return read_clock(COARSE); }
#endif
