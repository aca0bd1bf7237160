/* Regions for tests of thread_pool.c, without the compiler: one function that runs a region of a kind. Follows abi.h and
 * parallel.h; with -DHARNESS_MAIN and thread_pool.c in the same translation unit it is a program that runs all of them. */
#include <pthread.h>
#include <unistd.h>
#include <sys/syscall.h>

enum { SUM, FLAGS, CONTROL, UNEVEN, NESTED, STOP, STACK, SLEEP, POLL, SATURATE, DELAYED };
enum { KIND, LENGTH, GRAIN, STOPS_AT, IS_UNEVEN, MOST, PLACE };      /* words of `given` */

typedef struct { tp_loop loop; tp_region region; const int64_t *given; double *x, *y, *sums; int64_t *threads; } harness;

static float harness_rates[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};    /* of each kind */
int64_t (*harness_goes_on)(void *, void **);
void *harness_raised[3];

static void work_on(harness *h, int64_t i)
{
    volatile double big = 1e300, tiny = 1e-300, zero = 0;
    switch (h->given[KIND]) {
    case FLAGS:                             /* each flag in one place: divide, over, under, invalid */
        if (i == 1) h->y[i] = 1 / zero;
        if (i == h->given[LENGTH] / 3) h->y[i] = big * big;
        if (i == h->given[LENGTH] / 2) h->y[i] = tiny * tiny;
        if (i == h->given[LENGTH] - 1) h->y[i] = zero / zero;
        return;
    case CONTROL:                           /* 1/3 by the rounding mode */
        h->y[i] = (zero + 1) / 3;
        return;
    case UNEVEN:
        for (int64_t k = i; k > 1; k = k & 1 ? 3 * k + 1 : k / 2) h->y[i] += 1;
        return;
    case SLEEP:
        usleep(200);
        h->y[i] = 1;
        return;
    case SATURATE: {                        /* as memory that two threads use up: the more threads, the longer it takes */
        static int active;
        int now = __atomic_add_fetch(&active, 1, __ATOMIC_SEQ_CST);
        usleep(now > 2 ? 300 * now : 600);
        __atomic_sub_fetch(&active, 1, __ATOMIC_SEQ_CST);
        return;
    }
    case DELAYED: {                         /* its first run waits */
        static int runs;
        if (i == 0 && !runs++) usleep(3000);
    }   /* fall through */
    default:
        h->y[i] = 2 * h->x[i] + 1;
    }
}

static int64_t run(const tp_array *arrays, const tp_scalar *scalars, void *captured, int64_t first, int64_t last)
{
    harness *h = captured;
    const int64_t *given = h->given, grain = given[GRAIN];
    int64_t status = 0;
    if (given[KIND] == STACK) {
        volatile char locals[64 << 10];
        for (int64_t k = 0; k < (int64_t)sizeof locals; k += 512) locals[k] = (char)first;
    }
    if (given[KIND] == NESTED) {
        int64_t inner[] = {SUM, last - first, grain, 0, 0, 0, 0};
        harness within = *h;
        within.given = inner, within.x += first, within.y += first, within.threads = 0, within.sums = 0;
        within.region.first = 0, within.region.last = last - first, within.region.captured = &within;
        status |= tp_run_region ? tp_run_region(&within.region) : run(arrays, scalars, &within, 0, last - first);
    }
    int64_t clock[5] = {0, 0, 1, 1, 0};
    for (int64_t block = first; block < last; block += grain) {
        int64_t end = last - block > grain ? block + grain : last, number = (block - h->region.first) / grain;
        if (h->threads) h->threads[number] = syscall(SYS_gettid);
        if (given[KIND] != NESTED) for (int64_t i = block; i < end; i++) work_on(h, i);
        double sum = 0;
        for (int64_t i = block; i < end; i++) sum += h->y[i];
        if (h->sums) h->sums[number] = sum;
        if (given[KIND] == STOP && block <= given[PLACE] && given[PLACE] < end) status |= 32;
        if (given[KIND] == POLL) {
            usleep(1000);
            if (harness_goes_on && !harness_goes_on(clock, harness_raised)) return status | 16;
        }
    }
    return status;
}

/* Runs the region; gives its status, and the float flags that it left in the bits 32 and up. `units`: its work. */
int64_t tp_harness(const int64_t *given, double units, double *x, double *y, double *sums, int64_t *threads)
{
    harness h = {
        {
            .run = run, .rate = &harness_rates[given[KIND]], .stops_at = given[STOPS_AT], .is_uneven = (int32_t)given[IS_UNEVEN],
            .is_ordered = given[STOPS_AT] != 0, .most_threads = (int32_t)given[MOST],
        },
        {
            .last = given[LENGTH], .grain = given[GRAIN], .units = units,
            .goes_on = given[KIND] == POLL ? harness_goes_on : 0, .raised = harness_raised,
        },
        given, x, y, sums, threads,
    };
    h.region.loop = &h.loop, h.region.captured = &h;
    tp_flags_clear();
    int64_t status = tp_run_region ? tp_run_region(&h.region) : run(0, 0, &h, 0, given[LENGTH]);
    return status | tp_flags() << 32;
}

#ifdef PAYS_AWAKE                           /* with the pool in this text */
/* Whether a region whose serial runs take `serial` is no longer run in parallel after parallel runs that have taken `times`. */
int64_t tp_harness_learn(const double *times, int64_t runs, double serial)
{
    static float rate;
    tp_loop loop = {.run = run, .rate = &rate};
    tp_region region = {.loop = &loop, .last = 100, .grain = 1, .units = 1};
    history h = {.rate = &rate, .serial = serial, .serial_runs = 2};
    for (int64_t k = 0; k < runs; k++) learn_parallel(&region, &h, 2, times[k], serial);
    return h.parallel[pool.were_awake].skip;
}
#endif

/* Nanoseconds a call, the best and the median of `calls`: of a region of `length` elements that each take a few steps, after
 * `idle` microseconds in which the caller does nothing. */
static int64_t spin_run(const tp_array *arrays, const tp_scalar *scalars, void *captured, int64_t first, int64_t last)
{
    harness *h = captured;
    (void)arrays, (void)scalars;
    for (int64_t i = first; i < last; i++) {
        double value = (double)i;
        for (int k = 0; k < 16; k++) value = value * 0.999 + 1;
        h->y[i] = value;
    }
    return 0;
}

static double harness_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void tp_harness_time(int64_t length, int64_t calls, int64_t idle, double *y, double *times)
{
    static float rates[64];
    int slot = 0;
    for (int64_t n = length; n > 1; n /= 2) slot++;
    if (!rates[slot]) rates[slot] = 20;
    harness h = {{.run = spin_run, .rate = &rates[slot]}, {.last = length, .grain = 8, .units = (double)length}, 0, 0, y, 0, 0};
    h.region.loop = &h.loop, h.region.captured = &h;
    for (int64_t k = 0; k < calls; k++) {
        if (idle) usleep((unsigned)idle);
        double begin = harness_now();
        if (tp_run_region) tp_run_region(&h.region);
        else spin_run(0, 0, &h, 0, length);
        times[k] = harness_now() - begin;
    }
}

#ifdef _OPENMP
/* The same by OpenMP: `threads` equal chunks. */
void tp_harness_time_openmp(int64_t length, int64_t calls, int64_t idle, double *y, double *times, int64_t threads)
{
    harness h = {.y = y};
    for (int64_t k = 0; k < calls; k++) {
        if (idle) usleep((unsigned)idle);
        double begin = harness_now();
#pragma omp parallel for num_threads((int)threads) schedule(static)
        for (int64_t t = 0; t < threads; t++) spin_run(0, 0, &h, length * t / threads, length * (t + 1) / threads);
        times[k] = harness_now() - begin;
    }
}
#endif

#ifdef HARNESS_MAIN
#include <stdio.h>
#include <stdlib.h>

enum { N = 20000 };

static void *call_all(void *seed)
{
    static const int64_t kinds[] = {SUM, FLAGS, UNEVEN, NESTED, STOP, STACK};
    double *x = calloc(N, sizeof *x), *y = calloc(N, sizeof *y), *sums = calloc(N, sizeof *sums);
    int64_t *threads = calloc(N, sizeof *threads), wrong = 0;
    for (int turn = 0; turn < 300; turn++) {
        int64_t kind = kinds[(turn + (int64_t)seed) % 6], length = 1 + (turn * 7919) % N, grain = 1 + turn % 50;
        int64_t given[] = {kind, length, grain, kind == STOP ? 32 : 0, kind == UNEVEN, turn % 5, length / 2};
        for (int64_t i = 0; i < length; i++) x[i] = (double)i, y[i] = 0;
        int64_t status = tp_harness(given, (double)length, x, y, sums, threads);
        int64_t whole = kind == STOP ? length / 2 : length;
        if (kind == SUM || kind == NESTED || kind == STACK || kind == STOP)
            for (int64_t i = 0; i < whole; i++) wrong += y[i] != 2 * x[i] + 1;
        if (kind == STOP) wrong += (status & 32) == 0;
        if (kind == FLAGS && length > 10) wrong += status >> 32 != 15;
    }
    free(x), free(y), free(sums), free(threads);
    return (void *)wrong;
}

int main(void)
{
    pthread_t callers[3];
    int64_t wrong = 0;
    tp_pool_configure(4, 4, 1, 1);
    tp_run_region = tp_pool_run;
    for (int64_t turn = 0; turn < 4; turn++) {
        for (int64_t k = 0; k < 3; k++) pthread_create(&callers[k], 0, call_all, (void *)(k + turn));
        if (turn == 2) tp_pool_join(5);
        if (turn == 3) tp_pool_configure(3, 4, 0, 0);
        for (int64_t k = 0; k < 3; k++) {
            void *answer;
            pthread_join(callers[k], &answer);
            wrong += (int64_t)answer;
        }
        if (tp_pool_join(1000)) wrong++;
    }
    int64_t counts[7];
    tp_pool_counts(counts);
    printf("wrong %ld, in parallel %ld\n", (long)wrong, (long)counts[2]);
    return wrong != 0;
}
#endif
