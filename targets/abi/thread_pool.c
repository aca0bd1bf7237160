/* Thread pool: runs the regions of kernels (parallel.h), by as many threads as pay.
 *
 * Follows abi.h, parallel.h and pool_system.c in one translation unit. One region at a time owns the pool. Whoever finds it owned,
 * or runs in a worker or in the owner, runs the whole range itself; nobody waits for the pool. The owner opens the region,
 * and it and the workers claim chunks: each first those of its own stretch of the range, in ascending order, then what is
 * left of the others' (`run_chunks`). The owner waits only for workers that have entered; one that comes late finds the
 * region closed. A claimed chunk is always run to its end.
 *
 * A worker that took part spins for a moment, so that the next region finds it awake, and then sleeps: nothing runs between
 * calls. `choose_threads` decides how many threads pay, and learns from what regions took.
 */
#define LOAD(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define STORE(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)
#define PEEK(place) __atomic_load_n(place, __ATOMIC_RELAXED)            /* for values that only tune, such as the times */
#define POKE(place, value) __atomic_store_n(place, value, __ATOMIC_RELAXED)
#define COUNT(place) POKE(place, PEEK(place) + 1)       /* by its only writer */
#define ADD(place, value) __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST)     /* gives the old value */
#define OWN_LINE _Alignas(128)                          /* a cache line, or a pair that is fetched together */

enum { MOST_THREADS = 1024, MOST_STRETCHES = 64, REPLAY = 16 };     /* REPLAY: of status_bits.STATUS */
enum { OPEN = 1 << 30, AWAITED = 1 << 29, INSIDE = 0xffff };    /* bits of the low half of `gate` */
enum { NOT_IN_REGION, OWNER, WORKER };
enum { ABSENT, RUNNING, ENDED };                        /* states of a worker's place in `staff` */

/* Nanoseconds. */
#define SPIN 50000.0            /* that a worker spins after a region */
#define PATIENCE 20000.0        /* that the owner spins for workers, before it sleeps */
#define PREEMPTED 300000.0      /* if a spinning worker reads the clock so long after the last time, another thread ran on its CPU */
#define CROWDED 20e6            /* for which nobody spins after that */
#define CERTAIN 6000.0          /* work that is certainly too small */
#define MORE_AWAKE 4000.0       /* what a thread must save; the t-th one saves work/(t-1) - work/t, which is work/(t*(t-1)) */
#define MORE_ASLEEP 6000.0      /* the same where the workers must be woken */
#define TWO_PASSES 1.5          /* the time of a chunk that counts first (`counts_first`), divided by that of one pass */
#define LEAST_CHUNK 2500.0
#define USUAL_CHUNK 15000.0     /* work of a chunk, about; LEAST_CHUNK: at least */
#define SAMPLED 1e6             /* work up to which the first two runs of a region are serial ones, to be compared with */
#define EARNED 25               /* a region longer than SAMPLED gets its first serial run once parallel runs have taken so many times its work */
#define EARNED_AGAIN 100        /* each region gets another one once parallel runs since the last one have taken so many times its work */
#define DEBT 200e3              /* once parallel runs have lost so much against serial ones, all regions run serially for a pause */
#define LONG_PAUSE 200e6        /* a pause is 50 to 800 times as long as what was lost; if that is longer than this, at most 40 times */
#define FREQUENT 4              /* regions in quick succession, after which workers are woken for the next ones */
/* A region may wake workers so that the next regions find them awake (`is_wake`). That is in vain if each parallel region for longer
 * than WOKEN still had to wake some. `pool.streak` is then set to RARELY, so that about 2000 regions in quick succession do not try
 * it again. */
#define WOKEN 1e6
#define RARELY (-2000)          /* a number of regions, below 0 */
#define COUNT_EVERY 50e6        /* between two counts of the CPUs that other processes use (`free_cpus`) */
#define SHARED 20e6             /* work from which a part of a busy CPU helps, too */
#define RETRY 1e9               /* after which a thread is started again where that failed */
#define LATE 1e9                /* by which a worker that sleeps or spins may come to its end late, if the CPUs are busy */

/* The pool. A moment is a number of ticks (see Clock below). */
static struct {
    /* What workers read while they wait for a region. */
    OWN_LINE uint64_t gate;     /* high half: the number of the region; low half: OPEN, AWAITED, the number of workers inside */
    int32_t parked;             /* the number of workers that sleep, or are about to */
    int32_t is_leaving;         /* the workers must end */
    /* The region that is open, or was last. */
    OWN_LINE tp_region *region;
    int64_t chunks;             /* how many chunks there are */
    int64_t length;             /* iterations of a chunk; the last one may have fewer */
    int64_t stretches;          /* into how many the chunks are divided */
    int32_t is_over;            /* no further chunk need be claimed */
    uint64_t control;           /* the owner's floating-point control bits, which workers take over */
    int64_t status;             /* of the workers, ORed: that of the kernel */
    uint64_t flags;             /* of the workers, ORed: the floating-point flags that they raised */
    int32_t seats;              /* the number of workers that may run chunks */
    int32_t helpers;            /* the number of workers that have run chunks */
    int32_t is_stopped;         /* a signal handler stopped the owner */
    int32_t cpu;                /* the number of the CPU on which the owner runs; -1: unknown */
    int32_t is_displaced;       /* some worker was there, too */
    int32_t are_apart;          /* some workers are kept off the CPU `apart_from` */
    int32_t apart_from;         /* the number of that CPU; -1: none, for now */
    /* Who may open a region. */
    OWN_LINE int32_t is_owned;  /* some thread has the pool */
    int32_t limit;              /* setting: threads of a region at most, with the owner */
    int32_t cpus;               /* setting: CPUs that the process may use; looked up again each second */
    int32_t may_spin;           /* setting: a worker may spin before it sleeps */
    int32_t is_forced;          /* setting: threads are used even where that does not pay (for tests) */
    int32_t alive;              /* the number of workers */
    int32_t is_shut;            /* no more workers may start */
    int64_t crowded;            /* the moment until which nobody spins, since there are more threads than CPUs */
    int64_t contended;          /* the moment when a caller last found the pool owned */
    int64_t hire_after;         /* the moment from which threads may be started, after that has failed */
    int64_t looked;             /* the moment when `cpus` was looked up */
    /* What `choose_threads` knows of all regions together. */
    int64_t ended;              /* the moment when the last region ended */
    int64_t streak;             /* regions in quick succession, each less than SPIN after the one before; below 0 after RARELY */
    int32_t is_wake;            /* the region wakes workers that the next ones are to find awake */
    int32_t were_awake;         /* some worker was awake when the region came, or regions come in quick succession */
    int64_t woken;              /* the moment since which each parallel region `is_wake`; 0: the last one is not */
    double debt;                /* nanoseconds that parallel runs have lost against serial ones, less those that they saved */
    double pause;               /* the length of the next pause, divided by the debt that it is for */
    int64_t paused;             /* the moment until which all regions run serially: the end of the pause */
    double busy;                /* CPUs that other threads use, an average */
    int64_t counted;            /* the moment when these were counted */
    int32_t online;             /* CPUs of the machine */
    double tick;                /* nanoseconds of a tick */
    int64_t counts[5];          /* regions in parallel, serially and timed, pool owned; threads started, failed to start */
} pool = {.limit = 1, .cpus = 1, .tick = 1, .pause = 50};

/* Of the open region: the chunks of each stretch that are not claimed, and whether a thread has begun with it. */
static struct { OWN_LINE int64_t next, end; int32_t is_taken; } stretches[MOST_STRETCHES];
static struct {
    system_thread thread;
    int32_t state;              /* ABSENT, RUNNING or ENDED */
    int32_t is_displaced;       /* it was on the owner's CPU */
    int32_t is_apart;           /* it is kept off the CPU `pool.apart_from` */
} staff[MOST_THREADS];          /* the workers */
static system_lock staffing = LOCK_FREE;                /* for `staff` */
static __thread int role;                               /* of this thread: NOT_IN_REGION, OWNER or WORKER */
static __thread int64_t context_limit;                  /* of transpile.threads(n) in this thread's context; 0: none */

/* -- Clock: ticks, and their length `pool.tick`. */

static inline int64_t ticks(void)
{
#if defined __x86_64__
    return (int64_t)__builtin_ia32_rdtsc();
#elif defined __aarch64__
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return (int64_t)now;
#else
    return (int64_t)nanoseconds();
#endif
}

static void measure_tick(void)
{
#if defined __x86_64__ || defined __aarch64__
    double begin = nanoseconds(), now;
    int64_t first = ticks();
    while ((now = nanoseconds()) < begin + 200e3);
    pool.tick = (now - begin) / (double)(ticks() - first);
#endif
}

static double since(int64_t moment) { return (double)(ticks() - moment) * pool.tick; }
static int64_t after(double time) { return ticks() + (int64_t)(time / pool.tick); }

static inline void relax(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

/* -- Floating-point state. */

#if defined __x86_64__
static uint64_t float_control(void) { return __builtin_ia32_stmxcsr() & ~0x3fu; }
static void set_float_control(uint64_t control) { __builtin_ia32_ldmxcsr((unsigned)control); }
static uint64_t float_flags(void) { return __builtin_ia32_stmxcsr() & 0x3f; }
static void raise_float_flags(uint64_t flags) { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | (unsigned)flags); }
#elif defined __aarch64__
static uint64_t float_control(void) { uint64_t word; __asm__ volatile("mrs %0, fpcr" : "=r"(word)); return word; }
static void set_float_control(uint64_t control)         /* and clears the flags */
{
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, xzr" : : "r"(control) : "memory");
}
static uint64_t float_flags(void) { uint64_t word; __asm__ volatile("mrs %0, fpsr" : "=r"(word) : : "memory"); return word & 0x9f; }
static void raise_float_flags(uint64_t flags)
{
    uint64_t word;
    __asm__ volatile("mrs %0, fpsr" : "=r"(word) : : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(word | flags) : "memory");
}
#else
static uint64_t float_control(void) { return (uint64_t)fegetround(); }
static void set_float_control(uint64_t control) { fesetround((int)control), feclearexcept(FE_ALL_EXCEPT); }
static uint64_t float_flags(void) { return (uint64_t)fetestexcept(FE_ALL_EXCEPT); }
static void raise_float_flags(uint64_t flags) { feraiseexcept((int)flags); }
#endif

/* -- The halves of `gate`, which threads sleep on. */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { LOW, HIGH };
#else
enum { HIGH, LOW };
#endif
#define HALF(half) ((uint32_t *)&pool.gate + (half))

/* -- Workers. */

/* Whether the owner may go on: no signal handler raised. `clock` is a tp_clock of stop.h. */
static int goes_on(tp_region *r, int64_t *clock)
{
    if (!r->goes_on || r->goes_on(clock, r->raised)) return 1;
    STORE(&pool.is_stopped, 1);
    STORE(&pool.is_over, 1);
    return 0;
}

/* Runs a part of the range. Gives the status. */
static inline int64_t run_range(const tp_region *r, int64_t first, int64_t last)
{
    return r->loop->run(r->arrays, r->scalars, r->captured, first, last);
}

/* The number of a chunk that this thread has claimed from that stretch; -1 if none is left there, or the region is over. A worker
 * that is to leave claims no more. */
static int64_t claim(int64_t stretch, int is_worker)
{
    int64_t *next = &stretches[stretch].next, end = stretches[stretch].end;
    if (PEEK(&pool.is_over) || (is_worker && LOAD(&pool.is_leaving)) || PEEK(next) >= end) return -1;
    int64_t k = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    return k < end ? k : -1;
}

/* Claims and runs chunks of the open region, until none is left. Gives the ORed status.
 *
 * A thread begins with the stretch that has its `number` (0: the owner), or the next one with which no other has begun, and goes
 * on with those that follow. If two threads run chunks 0 … 7, the stretches are 0 … 3 and 4 … 7: the owner begins with chunk 0, the
 * worker with 4, and the one that is done first takes what is left of the other's.
 *
 * So the thread that ran a part of the range in one call runs it in the next one, and finds the elements in the cache of its core:
 * those that another core has written come from there much more slowly. A region whose chunks must be claimed in ascending order has
 * one stretch.
 *
 * The owner, which alone has a `clock`, polls for signals between chunks, since the clocks of the kernel's own loops begin anew in
 * each. */
static int64_t run_chunks(int64_t number, int64_t *clock, int64_t *iterations)
{
    tp_region *r = pool.region;
    int64_t status = 0, length = pool.length, last = r->last, all = pool.stretches, home = number % all, k;
    for (int64_t i = 0; number && i < all && __atomic_exchange_n(&stretches[home].is_taken, 1, __ATOMIC_RELAXED); i++)
        home = (home + 1) % all;
    for (int64_t turn = 0; turn < all; turn++) {
        while ((k = claim((home + turn) % all, !clock)) >= 0) {
            int64_t begin = r->first + k * length, end = last - begin > length ? begin + length : last;
            status |= run_range(r, begin, end);
            *iterations += end - begin;
            if (status & r->loop->stops_at) STORE(&pool.is_over, 1);
            if (clock && !goes_on(r, clock)) return status;
        }
    }
    return status;
}

/* Whether the worker is on the owner's CPU, so that only one of them runs at a time: it was woken there, or waited there until the
 * region had ended. Notes that for the owner (`keep_apart`). */
static int displaces_owner(int64_t number)
{
    int32_t cpu = PEEK(&pool.cpu);
    if (PEEK(&pool.is_forced) || PEEK(&pool.cpus) < 2 || cpu < 0 || current_cpu() != cpu) return 0;
    POKE(&staff[number - 1].is_displaced, 1);
    POKE(&pool.is_displaced, 1);
    return 1;
}

/* What worker `number` does when it sees a new region: runs chunks of it, if the region is still open, a seat is free (`seats`: as many
 * workers as `choose_threads` wants), and the worker is not on the owner's CPU. It counts itself among those INSIDE first, so that
 * the owner waits for it; the last one to leave wakes the owner, if that sleeps (AWAITED). */
static void take_part(int64_t number)
{
    uint64_t old = ADD(&pool.gate, 1);
    if (!displaces_owner(number) && old & OPEN && (int32_t)(old & INSIDE) < pool.seats) {
        int64_t iterations = 0;
        set_float_control(pool.control);
        int64_t status = run_chunks(number, 0, &iterations);
        uint64_t flags = float_flags();
        if (iterations) ADD(&pool.helpers, 1);
        if (status) __atomic_fetch_or(&pool.status, status, __ATOMIC_RELAXED);
        if (flags) __atomic_fetch_or(&pool.flags, flags, __ATOMIC_RELAXED);
    }
    old = ADD(&pool.gate, -1);
    if (old & AWAITED && (old & INSIDE) == 1) wake(HALF(LOW), 1);
}

/* The moment until which a worker that has just taken part in a region spins, SPIN from now. 0: it sleeps at once, if
 *
 * - `may_spin` is off;
 * - or there were more threads than CPUs a moment ago (`crowded`);
 * - or a caller has found the pool owned in the last millisecond (`contended`). */
static int64_t end_of_spin(void)
{
    int64_t now = ticks();
    int is_busy = now < PEEK(&pool.crowded) || (double)(now - PEEK(&pool.contended)) * pool.tick < 1e6;
    return PEEK(&pool.may_spin) && !is_busy ? now + (int64_t)(SPIN / pool.tick) : 0;
}

/* What a worker does: takes part in each region that it sees opened; then spins until the moment that `end_of_spin` gave; then
 * sleeps until the next region, or the end of the pool. If it finds, while it spins, that another thread ran on its CPU (PREEMPTED),
 * it sleeps at once, and nobody spins for CROWDED. `place`: its index in `staff`. */
static void work(int32_t place)
{
    int64_t number = place + 1;
    role = WORKER;
    uint32_t seen = (uint32_t)(LOAD(&pool.gate) >> 32) - 1;     /* the region that is open now is new */
    int64_t end = 0, then = 0;
    while (!LOAD(&pool.is_leaving)) {
        uint32_t now_open = (uint32_t)(LOAD(&pool.gate) >> 32);
        if (now_open != seen) {
            seen = now_open;
            take_part(number);
            end = end_of_spin(), then = ticks();
            continue;
        }
        int64_t now = ticks();
        if (end && (double)(now - then) * pool.tick > PREEMPTED) {
            POKE(&pool.crowded, now + (int64_t)(CROWDED / pool.tick));
            end = 0;
        }
        then = now;
        if (now < end) {
            relax();
            continue;
        }
        ADD(&pool.parked, 1);
        if (!LOAD(&pool.is_leaving)) sleep_while(HALF(HIGH), seen, -1);
        ADD(&pool.parked, -1);
        then = ticks(), end = 0;
    }
    STORE(&staff[number - 1].state, ENDED);
    ADD(&pool.alive, -1);
}

/* Starts one worker; returns whether that worked. */
static int start_worker(int place)
{
    STORE(&staff[place].state, RUNNING);
    ADD(&pool.alive, 1);
    POKE(&staff[place].is_displaced, 0), staff[place].is_apart = 0;
    if (start_thread(&staff[place].thread, work, place)) return COUNT(&pool.counts[3]), 1;
    STORE(&staff[place].state, ABSENT);
    ADD(&pool.alive, -1);
    return 0;
}

/* Starts workers until there are `wanted`, unless that failed a moment ago. */
static void hire(int wanted)
{
    if (LOAD(&pool.alive) >= wanted || PEEK(&pool.is_shut) || LOAD(&pool.is_leaving)) return;
    if (ticks() < pool.hire_after || !try_lock(&staffing)) return;
    for (int i = 0; i < wanted; i++) {
        if (LOAD(&staff[i].state) != ABSENT || LOAD(&pool.is_leaving)) continue;
        if (!start_worker(i)) {
            COUNT(&pool.counts[4]), pool.hire_after = after(RETRY);
            break;
        }
    }
    unlock(&staffing);
}

/* Keeps workers off the CPU on which the owner runs, if they were found there (`displaces_owner`): Linux may wake a worker on the CPU
 * of the thread that wakes it, though others are free, and then it waits there until the region has ended. `run_parallel` calls this
 * before each region.
 *
 *     owner on CPU 2, worker 1 found there        →    worker 1 may run on all CPUs of the owner but 2
 *     the owner is on CPU 5 at the next region    →    on all but 5
 *     other processes use the CPUs, too           →    on all CPUs of the owner; and nobody spins for CROWDED */
static void keep_apart(void)
{
    int is_displaced = PEEK(&pool.is_displaced), is_busy = pool.busy >= 0.5, apart_from = is_busy ? -1 : pool.cpu;
    if (!is_displaced && (!pool.are_apart || pool.apart_from == apart_from)) return;
    POKE(&pool.is_displaced, 0);
    if (is_displaced && is_busy) POKE(&pool.crowded, after(CROWDED));
#ifdef CAN_KEEP_OFF
    system_cpus cpus;
    if (!cpus_without(apart_from, &cpus) || !try_lock(&staffing)) return;
    for (int i = 0; i < MOST_THREADS && LOAD(&staff[i].state) != ABSENT; i++) {
        staff[i].is_apart |= __atomic_exchange_n(&staff[i].is_displaced, 0, __ATOMIC_RELAXED);
        if (staff[i].is_apart && LOAD(&staff[i].state) == RUNNING) run_on(staff[i].thread, &cpus);
    }
    pool.are_apart = 1, pool.apart_from = apart_from;
    unlock(&staffing);
#endif
}

/* Ends all workers and joins their threads; returns how many were still at work when the time was over. These keep running. Called
 *
 *  - before each fork (`_open` of thread_pool.py): the child has only the thread that forks, and a lock that a worker held would
 *    stay locked there. The parent starts new workers at its next parallel loop (`hire`);
 *  - before a fork by a signal handler in the middle of this thread's own region (`end_workers_of_owner`);
 *  - at the end of the interpreter (`tp_pool_shut`).
 *
 *     of 4 workers 3 sleep, one runs a chunk of 80 ms:    tp_pool_join(50) joins 3, returns 1;    tp_pool_join(100) joins 4, returns 0
 *
 * It sets `is_leaving` and wakes all: a worker finishes the chunk that it runs, sees `is_leaving`, and ends; `hire` starts no other
 * meanwhile. The wait for workers inside a region is at most `milliseconds`, since the region of another thread may have long chunks.
 * It has no limit if this thread owns the region: the child goes on with that region, and could not finish the chunks of workers that
 * it does not have. Workers outside need but a moment of a CPU, for which they may have to wait where others use them: up to LATE. */
int64_t tp_pool_join(int64_t milliseconds)
{
    double end = nanoseconds() + (double)milliseconds * 1e6;
    int32_t alive;
    lock(&staffing);
    STORE(&pool.is_leaving, 1);
    ADD(&pool.gate, (uint64_t)1 << 32);                     /* as for a new region, for whose number sleeping workers wait */
    wake(HALF(HIGH), MOST_THREADS);
    for (int turn = 0; (alive = LOAD(&pool.alive)); turn++) {
        double late = nanoseconds() - end;
        if (role != OWNER && late >= (alive > (int32_t)(LOAD(&pool.gate) & INSIDE) ? LATE : 0)) break;
        pause_thread(turn < 20 ? 0 : 50000);         /* no sleep at first: most workers end at once */
    }
    int left = 0;
    for (int i = 0; i < MOST_THREADS; i++) {
        int32_t state = LOAD(&staff[i].state);
        if (state == ENDED) join_thread(staff[i].thread), STORE(&staff[i].state, ABSENT);
        left += state == RUNNING;
    }
    STORE(&pool.is_leaving, 0);
    unlock(&staffing);
    return left;
}

/* For the end of the interpreter: no more workers from now on. */
int64_t tp_pool_shut(int64_t milliseconds)
{
    STORE(&pool.is_shut, 1);
    return tp_pool_join(milliseconds);
}

/* A signal handler in the middle of this thread's region forks: first the workers finish their chunks, and end. The child could not
 * finish them, nor run them again, since they may have been run in part. The region goes on, in both processes. */
static void end_workers_of_owner(void)
{
    if (role == OWNER) tp_pool_join(0);
}

/* In the child of a fork: it has no workers, and a region that another thread had opened is over. */
static void reset_in_child(void)
{
    if (role != OWNER) pool.is_owned = 0, pool.gate &= ~(uint64_t)OPEN;
    pool.gate &= ~(uint64_t)(AWAITED | INSIDE);
    pool.parked = pool.alive = pool.is_leaving = pool.is_displaced = pool.are_apart = 0;
    for (int i = 0; i < MOST_THREADS; i++) staff[i].state = ABSENT;
    staffing = (system_lock)LOCK_FREE;
    reset_sleepers();
}

/* -- How many threads. */

/* What is known of parallel runs of a region, in which workers were awake, or had to be woken. */
typedef struct {
    double time;                            /* nanoseconds a unit; 0: not measured */
    double before;                          /* `time` with twice as many threads, while fewer are tried */
    int32_t runs;                           /* of which `time` is the average */
    int32_t level;                          /* how often threads were no faster: each time `skip` is twice as many */
    int32_t skip;                           /* calls left that stay serial for that reason */
    int32_t most;                           /* threads beyond which it gets no faster; 0: not known */
    int32_t is_settled;                     /* fewer threads have been tried: `most` is final (`settle`) */
} experience;

/* What is known of a region whose work has a certain order of magnitude. */
typedef struct {
    const float *rate;                      /* key: the region, which has its own rate … */
    int32_t size;                           /* … and the binary exponent of its units */
    double serial;                          /* nanoseconds a unit, without threads; 0: not measured */
    int32_t serial_runs;                    /* serial runs that were measured; 2: `serial` can be relied on */
    uint32_t calls;                         /* how many were too small for threads (`tp_pool_run`) */
    experience parallel[2];                 /* with workers that had to be woken, and that were awake */
    double spent;                           /* nanoseconds in parallel runs since a serial run */
} history;

static history histories[256];              /* only the owner uses it */

/* The history of the region; a new one takes the place of another that has the same hash. */
static history *history_of(const tp_region *r)
{
    union { double real; uint64_t bits; } units = {r->units};
    int32_t size = (int32_t)(units.bits >> 52);
    uint64_t hash = ((uint64_t)(uintptr_t)r->loop->rate / 4 + (uint64_t)size * 40503) * 0x9e3779b97f4a7c15u;
    history *h = &histories[hash >> 56];
    if (h->rate != r->loop->rate || h->size != size) *h = (history){.rate = r->loop->rate, .size = size};
    return h;
}

/* The average of `runs` values, of which `old` is that of all but the last one, `new`; of more than 8, `new` becomes an eighth. A
 * much larger `new` counts as four times `old`. */
static double average(double old, double new, int32_t runs)
{
    return runs < 2 ? new : old + (new < 4 * old ? new - old : 3 * old) / (runs < 8 ? runs : 8);
}

/* Corrects the rate that all calls of the region share by one measurement: by a quarter, or wholly if it is far off. */
static void learn_rate(float *rate, double time, double units)
{
    float old, new = (float)(time / units);
    __atomic_load(rate, &old, __ATOMIC_RELAXED);
    if (!(new > 0)) return;
    if (old / 2 < new && new < 2 * old) new = old + (new - old) / 4;
    __atomic_store(rate, &new, __ATOMIC_RELAXED);
}

/* The work that is expected of the region, in nanoseconds. A single serial run may have waited for a CPU or for memory: until there
 * is another one, what parallel runs have taught (`learn_rate`) counts, if it is less. */
static double expected_time(const tp_region *r, const history *h)
{
    float rate;
    __atomic_load(r->loop->rate, &rate, __ATOMIC_RELAXED);
    return r->units * (h->serial && (h->serial_runs == 2 || h->serial < (double)rate) ? h->serial : (double)rate);
}

/* The most threads t, up to `most`, for which `time` is at least t (t - 1) times `step`. */
static int threads_for(double time, double step, int most)
{
    int t = 1;
    while (t < most && time >= step * t * (t + 1)) t++;
    return t;
}

/* The most threads that the limits of the pool, the context and the function allow, and the CPUs of the process. */
static int32_t limit_now(const tp_region *r)
{
    int64_t limit = PEEK(&pool.limit);
#ifndef TP_SIMULATED
    if (!PEEK(&pool.is_forced) && since(pool.looked) > 1e9) {  /* the process may have been moved to fewer CPUs */
        int cpus = usable_cpus();
        pool.looked = ticks();
        if (cpus) POKE(&pool.cpus, cpus);
    }
    if (!PEEK(&pool.is_forced) && PEEK(&pool.cpus) < limit) limit = PEEK(&pool.cpus);
#endif
    if (context_limit && context_limit < limit) limit = context_limit;
    if (r->loop->most_threads && r->loop->most_threads < limit) limit = r->loop->most_threads;
    return (int32_t)limit;
}

/* How many CPUs no other process keeps busy, with the one that this thread has. `awake`: how many workers do not sleep. */
static int free_cpus(int awake)
{
    if (since(pool.counted) > COUNT_EVERY) {
        int running = running_threads(), others = running - 1 - awake;
        pool.counted = ticks();
        pool.online = running < 0 ? MOST_THREADS : online_cpus();
        pool.busy = (pool.busy + (others > 0 ? others : 0)) / 2;
    }
    int rest = pool.online - (int)(pool.busy + 0.3);        /* a process that was there at one count alone takes no CPU */
    return rest > 1 ? rest : 1;
}

/* How many threads the region gets, whose work takes `time` nanoseconds without threads; 1: it runs serially, and is timed. `h`: what
 * is known of the region. `tp_pool_run` asks, once this thread owns the pool; not for a region known to be too small (CERTAIN).
 *
 * t threads need t (t - 1) times MORE_AWAKE of work if the workers spin, MORE_ASLEEP if they must be woken. With a limit of 8:
 *
 *     work      7 workers spin     all sleep
 *      20 us    2                  1: less than PAYS_ASLEEP
 *     100 us    5                  4
 *       1 ms    8                  8
 *
 * Fewer, or 1, for each of the reasons below. PAYS_AWAKE and PAYS_ASLEEP are from `targets/region_costs.py`; a loop whose chunks count
 * first needs COUNTING_FIRST times as much.
 *
 * Sets `pool.were_awake`: whether some worker is awake, or regions come in quick succession. Sets `pool.is_wake`: whether regions
 * come in quick succession, and this one wakes workers so that the next ones find them awake. It then gets as many threads as pay
 * if all workers are awake (MORE_AWAKE), which is more than are awake now. */
static int choose_threads(const tp_region *r, history *h, double time)
{
    int most = limit_now(r), awake = PEEK(&pool.alive) - PEEK(&pool.parked);
    int in_succession = PEEK(&pool.may_spin) && pool.streak > FREQUENT && ticks() > PEEK(&pool.crowded);
    int64_t blocks = (r->last - r->first + r->grain - 1) / r->grain;
    pool.is_wake = 0, pool.were_awake = awake > 0 || in_succession;
    experience *e = &h->parallel[pool.were_awake];
    if (blocks < most) most = (int)blocks;                  /* each has one grain, at least */
    if (most < 2 || PEEK(&pool.is_forced)) return most;
    /* Threads were no faster: in this region, with workers awake or asleep as they are now, or in all regions together. */
    if (e->skip || ticks() < pool.paused) {
        if (e->skip) e->skip--;
        return 1;
    }
    /* Serial runs, whose time parallel ones are compared with: the first two of a short region (SAMPLED), and one more whenever its
     * parallel runs have taken long enough (EARNED). With that one, what is known of parallel runs is forgotten, and learnt again. */
    if (h->serial_runs < 2 && time < SAMPLED) return 1;
    if (h->spent > time * (h->serial_runs < 2 ? EARNED : EARNED_AGAIN)) {
        *h = (history){.rate = h->rate, .size = h->size, .serial = h->serial, .serial_runs = 1};
        return 1;
    }
    if (e->most && e->most < most) most = e->most;          /* more were no faster (`settle`) */
    /* No more threads than free CPUs. These are not counted below PAYS_AWAKE, where the result is 1 anyway, nor from SHARED on: to so
     * much work a CPU that another process keeps busy for a part of the time is still a help. */
    int available = time < PAYS_AWAKE || time >= SHARED ? most : free_cpus(awake);
    if (available < most) most = available;
    if (most < 2) return 1;
    /* Workers that spin are those that are awake; in quick succession all, although some must be woken first. */
    int ready = in_succession ? most : awake + 1 < most ? awake + 1 : most;
    double passes = r->loop->counts_first ? COUNTING_FIRST : 1;
    int spinning = time < PAYS_AWAKE * passes ? 1 : threads_for(time, MORE_AWAKE, ready);
    int asleep = time < PAYS_ASLEEP * passes ? 1 : threads_for(time, MORE_ASLEEP, most);
    pool.is_wake = in_succession && spinning > awake + 1;
    return spinning > asleep ? spinning : asleep;
}

/* Finds out whether half of the t threads of a region do as well, as where memory is the limit. `learn_parallel` calls it after each 8
 * parallel runs, until the answer is final. The first that applies, with the speed-up serial / e->time:
 *
 * - the threads were halved the last time, which made the region more than 5 % slower: 2 t again, which is final;
 * - the speed-up is less than t / 2: t / 2 threads for the next runs, then this decides again;
 * - else t is final. */
static void settle(experience *e, int t, double serial)
{
    if (e->before && e->time > 1.05 * e->before) e->most = 2 * t, e->is_settled = 1;
    else if (t > 2 && serial < 0.5 * t * e->time) e->before = e->time, e->most = t / 2, e->runs = 0, e->time = 0;
    else e->is_settled = 1;
}

/* Learns from a parallel run of `time` by t threads, which was expected to take `serial` without threads:
 *
 * - of the pool: once parallel runs have lost DEBT in all, it pauses (`pool.paused`), for 50 times as long, and for twice as long
 *   each further time, up to 800; for 50 times again after as much was saved. A pause longer than LONG_PAUSE is at most 40 times
 *   as long: where another process has taken a CPU for a moment, threads are used again soon after;
 * - of workers that are woken for the next regions, which should then find them awake: if all regions in the last millisecond
 *   (WOKEN) had to wake some, workers do not stay awake, and none are woken for later regions for a while (RARELY);
 * - of the region, unless workers were woken for the next ones: its time with threads. Where that is no less than 0.95 of the
 *   serial time, it runs serially for 8 calls, twice as many each further time, 1024 at most (`skip`). Else, once after 8
 *   runs, fewer threads are tried (`settle`). */
static void learn_parallel(const tp_region *r, history *h, int t, double time, double serial)
{
    double lost = time - serial;
    h->spent += time;
    pool.debt += lost;
    if (pool.debt < -DEBT) pool.debt = -DEBT, pool.pause = 50;
    if (pool.debt > DEBT) {                  /* such as workers that wait for a CPU in the middle of a chunk */
        double most = pool.debt * 40 > LONG_PAUSE ? pool.debt * 40 : LONG_PAUSE, wanted = pool.debt * pool.pause;
        pool.paused = after(wanted < most ? wanted : most);
        pool.debt = 0;
        if (pool.pause < 800) pool.pause *= 2;
    }
    if (!pool.is_wake) pool.woken = 0;
    else if (!pool.woken) pool.woken = ticks();
    else if (since(pool.woken) > WOKEN) pool.woken = 0, pool.streak = RARELY;
    if (pool.is_wake) return;                /* it was for the next ones, and says nothing about this one */
    experience *e = &h->parallel[pool.were_awake];
    e->runs++;
    e->time = average(e->time, time / r->units, e->runs);
    int is_clear = e->runs >= 3 || e->time > 3 * h->serial;
    if (h->serial && is_clear && e->time > 0.95 * h->serial) {
        e->skip = 8 << e->level, e->level += e->level < 7, e->runs = 0, e->time = 0;
        h->spent = 0;
    } else if (h->serial_runs == 2 && e->runs >= 8 && !e->is_settled) settle(e, t, h->serial);
}

/* -- Regions. */

/* For TRANSPILE_DEBUG=time: the runs of a region that were timed, in parallel and by one thread; of the last one, the number of
 * threads that ran chunks, the number of chunks, and the nanoseconds that were expected without threads and that it took. */
static struct { const float *rate; double values[6]; } traces[512];
static int32_t is_traced;

/* Where the region with that rate is noted, else a free place, else NULL. */
static double *trace_of(const float *rate, int is_new)
{
    unsigned most = sizeof traces / sizeof *traces, first = (unsigned)((uintptr_t)rate / 4 % most);
    for (unsigned i = 0; i < most; i++) {
        unsigned k = (first + i) % most;
        if (!traces[k].rate && is_new) traces[k].rate = rate;
        if (traces[k].rate == rate) return traces[k].values;
        if (!traces[k].rate) break;
    }
    return 0;
}

static void note_run(const tp_region *r, int64_t threads, int64_t chunks, double expected, double time)
{
    double *values = PEEK(&is_traced) ? trace_of(r->loop->rate, 1) : 0;
    if (!values) return;
    values[threads > 1 ? 0 : 1]++;
    values[2] = (double)threads, values[3] = (double)chunks, values[4] = expected, values[5] = time;
}

/* Runs the whole range in this thread. Gives the status. */
static int64_t run_serially(const tp_region *r) { return run_range(r, r->first, r->last); }

/* Counts regions in quick succession: those that begin less than SPIN after the end of the one before. `begin`: the moment when this
 * one began; `counts`: whether it is large enough to count. */
static void note_end(int64_t begin, int counts)
{
    if (counts && (double)(begin - pool.ended) * pool.tick < SPIN) pool.streak++;
    else {
        pool.woken = 0;
        if (pool.streak > 0) pool.streak = 0;
    }
    pool.ended = ticks();
}

/* Runs the region serially, and learns from the time that it took. The pool is free meanwhile; if another thread owns it at the end,
 * nothing is learnt. */
static int64_t run_timed(tp_region *r)
{
    STORE(&pool.is_owned, 0);
    role = NOT_IN_REGION;
    int64_t begin = ticks(), status = run_serially(r);
    double time = since(begin);
    if (status & r->loop->stops_at || __atomic_exchange_n(&pool.is_owned, 1, __ATOMIC_ACQUIRE)) return status;
    history *h = history_of(r);
    note_run(r, 1, 1, expected_time(r, h), time);
    double sample = time / r->units;
    h->serial = h->serial_runs == 1 && sample < h->serial ? sample : average(h->serial, sample, h->serial ? 8 : 1);
    if (h->serial_runs < 2) h->serial_runs++;   /* of the first two, the faster one: the first meets cold caches */
    learn_rate(r->loop->rate, time, r->units);
    note_end(begin, time >= CERTAIN);
    COUNT(&pool.counts[1]);
    STORE(&pool.is_owned, 0);
    return status;
}

/* Divides the range into chunks for t threads, and these into a stretch for each thread (`run_chunks`). Each thread gets 4 to 16
 * chunks of about USUAL_CHUNK, so that the last ones end at nearly the same time; 16 if iterations are of very different length;
 * fewer if a chunk would take less than LEAST_CHUNK; more if it would have more than `tp_loop.longest` iterations. For 4 threads:
 *
 *     1 ms of even work      64 chunks of 16 us, 16 in each stretch
 *     100 us                 16 chunks of 6 us
 *     20 us                  8 chunks of 2.5 us
 */
static void divide(const tp_region *r, int t, double time)
{
    int64_t range = r->last - r->first, blocks = (range + r->grain - 1) / r->grain;
    double usual = time / USUAL_CHUNK / t, each = r->loop->is_uneven ? 16 : usual < 4 ? 4 : usual > 16 ? 16 : usual;
    double count = each * t, most = time / LEAST_CHUNK;
    if (count > most && !PEEK(&pool.is_forced)) count = most < t ? t : most;
    int64_t wanted = (int64_t)count, each_blocks = (blocks + wanted - 1) / wanted;
    if (r->loop->longest && each_blocks * r->grain > r->loop->longest) each_blocks = r->loop->longest / r->grain;
    pool.length = each_blocks * r->grain;
    pool.chunks = (blocks + each_blocks - 1) / each_blocks;
    int64_t number = r->loop->is_ordered ? 1 : t < MOST_STRETCHES ? t : MOST_STRETCHES, begin = 0;
    pool.stretches = number;
    for (int64_t i = 0; i < number; i++) {
        int64_t end = pool.chunks * (i + 1) / number;
        POKE(&stretches[i].next, begin), stretches[i].end = end, stretches[i].is_taken = !i;    /* the owner's */
        begin = end;
    }
}

/* Closes the region for workers that come late, and waits for those inside: it spins for PATIENCE, then sleeps, and polls for signals
 * whenever it wakes. */
static void close_region(tp_region *r, int64_t *clock)
{
    int64_t begin = ticks();
    double patience = PEEK(&pool.limit) > PEEK(&pool.cpus) || begin < PEEK(&pool.crowded) ? 1000.0 : PATIENCE;
    uint64_t gate = __atomic_and_fetch(&pool.gate, ~(uint64_t)OPEN, __ATOMIC_SEQ_CST);
    for (; gate & INSIDE; gate = LOAD(&pool.gate)) {
        if (since(begin) < patience) {
            relax();
            continue;
        }
        gate = __atomic_or_fetch(&pool.gate, (uint64_t)AWAITED, __ATOMIC_SEQ_CST);
        if (gate & INSIDE) sleep_while(HALF(LOW), (uint32_t)gate, 10000000);
        if (!pool.is_stopped) goes_on(r, clock);
    }
    if (gate & AWAITED) __atomic_fetch_and(&pool.gate, ~(uint64_t)AWAITED, __ATOMIC_SEQ_CST);
}

/* Runs the region with t threads: opens it for workers, runs chunks until none is left, waits for the workers inside. Gives the
 * status; REPLAY where a signal handler stopped it. Learns from the time it took, unless it ended early, or started threads.
 * `expected`: nanoseconds without threads. */
static int64_t run_parallel(tp_region *r, int t, double expected)
{
    int64_t begin = ticks(), iterations = 0, clock[5] = {0, 0, 1, 1, 0};
    double range = (double)(r->last - r->first);
    int64_t hired = pool.counts[3];
    divide(r, t, expected);
    POKE(&pool.cpu, current_cpu()), keep_apart();
    hire(t - 1);
    hired -= pool.counts[3];
    pool.region = r, pool.control = float_control(), pool.status = 0, pool.flags = 0;
    pool.seats = t - 1, pool.helpers = pool.is_stopped = 0;
    POKE(&pool.is_over, 0);
    ADD(&pool.gate, ((uint64_t)1 << 32) + OPEN);
    int sleepers = __atomic_load_n(&pool.parked, __ATOMIC_SEQ_CST), asleep = t - 1 - (PEEK(&pool.alive) - sleepers);
    if (sleepers && asleep > 0) wake(HALF(HIGH), asleep);
    int64_t started = ticks(), status = run_chunks(0, clock, &iterations);
    double own = since(started), time;
    close_region(r, clock);
    status |= PEEK(&pool.status);
    uint64_t flags = PEEK(&pool.flags);
    if (flags) raise_float_flags(flags);
    if (pool.is_stopped) return status | REPLAY;
    if (status & r->loop->stops_at || !iterations || hired) return status;     /* what that took says nothing */
    double share = (double)iterations / range;
    history *h = history_of(r);
    time = since(begin);
    if (r->loop->counts_first) own /= TWO_PASSES;       /* what one thread would have done */
    if (h->serial_runs == 2) learn_parallel(r, h, t, time, h->serial * r->units);
    else learn_parallel(r, h, t, time, r->loop->is_uneven ? time : own / share);      /* the owner's share of an even range is its work */
    if (!r->loop->is_uneven) learn_rate(r->loop->rate, own, r->units * share);
    else if (time * t < expected / 2) learn_rate(r->loop->rate, time * t, r->units);    /* at most so much work */
    return status;
}

/* What kernels call through `tp_run_region`: runs the whole range, and gives the ORed status. The first that applies:
 *
 * - serially, without looking at the pool: in a worker, in the owner, for a limit of 1, one grain, or no work;
 * - serially, if another thread owns the pool: nobody waits for it;
 * - serially, without being timed, if serial runs have shown that the work is too small for threads (CERTAIN). Each 16th of
 *   these goes on, so that a change is noticed;
 * - by as many threads as `choose_threads` says; by one it is timed (`run_timed`), and the pool is free meanwhile. */
int64_t tp_pool_run(tp_region *r)
{
    if (role || r->loop->most_threads == 1 || r->last - r->first <= r->grain || !(r->units > 0)) return run_serially(r);
    if (LOAD(&pool.is_owned) || __atomic_exchange_n(&pool.is_owned, 1, __ATOMIC_ACQUIRE)) {
        POKE(&pool.contended, ticks());
        ADD(&pool.counts[2], 1);
        return run_serially(r);
    }
    role = OWNER;
    history *h = history_of(r);
    double expected = expected_time(r, h);
    if (h->serial_runs == 2 && expected < CERTAIN && ++h->calls % 16 && !PEEK(&pool.is_forced)) {
        role = NOT_IN_REGION;
        STORE(&pool.is_owned, 0);
        return run_serially(r);
    }
    int t = choose_threads(r, h, expected);
    if (t < 2) return run_timed(r);
    int64_t begin = ticks(), status = run_parallel(r, t, expected);
    note_run(r, 1 + PEEK(&pool.helpers), pool.chunks, expected, since(begin));
    note_end(begin, 1);
    COUNT(&pool.counts[0]);
    role = NOT_IN_REGION;
    STORE(&pool.is_owned, 0);
    return status;
}

/* For signals.c: 0 if this thread may ask Python, else 1, or 2 if it must stop. `stopped`: a signal handler stopped it. */
int64_t tp_pool_state(int64_t stopped)
{
    if (role == WORKER) return LOAD(&pool.is_stopped) ? 2 : 1;
    if (role == OWNER && stopped) {
        STORE(&pool.is_stopped, 1);
        STORE(&pool.is_over, 1);
    }
    return 0;
}

/* -- Settings. */

/* Sets the most threads of a region, of which the caller is one, the CPUs that the process may use, whether workers may spin, and
 * whether threads are used even where they do not pay (for tests). The first call also measures the tick, and registers fork hooks. */
void tp_pool_configure(int64_t limit, int64_t cpus, int64_t may_spin, int64_t is_forced)
{
    static int is_set;
    if (!is_set) is_set = 1, measure_tick(), register_fork(end_workers_of_owner, reset_in_child);
    POKE(&pool.limit, limit < MOST_THREADS ? (int32_t)limit : MOST_THREADS);
    POKE(&pool.cpus, (int32_t)cpus);
    POKE(&pool.may_spin, may_spin && limit <= cpus);
    POKE(&pool.is_forced, (int32_t)is_forced);
}

/* Stores the workers that are alive, and that sleep, and `counts`. */
void tp_pool_counts(int64_t *out)
{
    out[0] = LOAD(&pool.alive), out[1] = LOAD(&pool.parked);
    for (int i = 0; i < 5; i++) out[2 + i] = PEEK(&pool.counts[i]);
}

/* From now on notes the runs of regions; copies what is noted of the region with that rate to `out`. Returns whether there is any. */
int64_t tp_pool_trace(const float *rate, double *out)
{
    POKE(&is_traced, 1);
    double *values = rate ? trace_of(rate, 0) : 0;
    if (values) memcpy(out, values, sizeof traces->values);
    return values != 0;
}

/* The context variable of transpile.threads, and what is used of Python's C API. */
static struct {
    void *variable; int (*get)(void *, void *, void **); long long (*as_int)(void *, int *); void (*release)(void *);
} context;

void tp_pool_bind_context(const uintptr_t *addresses)
{
    for (unsigned i = 0; i < sizeof context / sizeof *addresses; i++) ((uintptr_t *)&context)[i] = addresses[i];
}

/* Before a kernel runs, with the GIL: this thread's limit is that of its context. */
void tp_pool_take_context(void)
{
    void *value = 0;
    int over = 0;
    if (context.get(context.variable, 0, &value) || !value) { context_limit = 0; return; }
    context_limit = context.as_int(value, &over);
    context.release(value);
}
