/* Signal checks of kernels (stop.h): whether a signal handler of Python raised. Follows entry.c in one translation unit. */
/* The clock of a loop that polls. `read`: the ticks at its last poll, 0 before the first; `asked`: those when Python was asked last;
 * `turns`: how many iterations the loop makes before its next poll. */
typedef struct { int64_t read, asked, turns; } tp_clock;
enum { MOST_TURNS = 1024 };

/* Functions of Python's C API, whose addresses `tp_bind_signals` stores. */
static struct {
    int (*ensure)(void); void (*release)(int);              /* PyGILState_… */
    int (*signals)(void);                                   /* PyErr_CheckSignals */
    void (*fetch)(void **, void **, void **);               /* PyErr_Fetch */
} signals;

/* Whether this thread may ask Python: 0: it may; 1: not, it is a worker of the pool (thread_pool.c: `tp_pool_state`); 2: a worker that
 * must stop. `stopped` is 0 to ask only, and 1 to tell the pool that a signal handler has stopped this thread. NULL: no pool. */
static int64_t (*pool_state)(int64_t stopped);

void tp_bind_pool(int64_t (*state)(int64_t)) { __atomic_store_n(&pool_state, state, __ATOMIC_RELEASE); }

/* Ticks, of which 2,500,000 are taken for a millisecond: those of the time-stamp counter have a rate from 1 to 5 GHz. */
#ifdef __x86_64__
#define GENERAL __attribute__((target("general-regs-only")))
static int has_xsave(void)
{
    uint32_t a = 1, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return c >> 27 & 1;
}
GENERAL static int64_t ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (int64_t)((uint64_t)high << 32 | low);
}
#else
#define GENERAL
static int has_xsave(void) { return 0; }
static int64_t ticks(void) { return coarse_nanoseconds() * 5 / 2; }
#endif
#define TICKS(milliseconds) ((milliseconds) * 2500000LL)
/* Whether x87, SSE, AVX and AVX-512 state (0xe7) can be saved by xsave; else fxsave does. */
int tp_has_xsave __attribute__((visibility("hidden"), used));

void tp_bind_signals(const uintptr_t *addresses)
{
    tp_has_xsave = has_xsave();
    for (unsigned i = 0; i < sizeof signals / sizeof *addresses; i++) ((uintptr_t *)&signals)[i] = addresses[i];
}

/* When each thread has last asked Python, or polled first after a long time. Threads with the same slot overwrite each other's time. */
static struct { int64_t thread, asked; } recent[16];
#define PEEK(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define POKE(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)

/* A number of this thread; 0: unknown. */
GENERAL static int64_t this_thread(void)
{
    int64_t number = 0;
#if defined(__x86_64__) && defined(__linux__)
    __asm__("movq %%fs:0, %0" : "=r"(number));
#elif defined(__x86_64__) && defined(_WIN32)
    __asm__("movq %%gs:0x30, %0" : "=r"(number));
#elif defined(__x86_64__) && defined(__APPLE__)
    __asm__("movq %%gs:0, %0" : "=r"(number));
#elif defined(__aarch64__) && defined(__linux__)
    __asm__("mrs %0, tpidr_el0" : "=r"(number));
#elif defined(__aarch64__) && defined(_WIN32)
    __asm__("mov %0, x18" : "=r"(number));
#elif defined(__aarch64__) && defined(__APPLE__)
    __asm__("mrs %0, tpidrro_el0" : "=r"(number));
#endif
    return number;
}

/* Notes in `c` when Python was asked last: now; but at the first poll of a clock (`is_first`) the time of the thread, unless that is
 * long ago, since each run of a loop has a new clock: a short loop that is run again and again would never ask. */
GENERAL static void set_asked(tp_clock *c, int64_t now, int is_first)
{
    int64_t thread = this_thread(), slot = thread >> 12 & 15;
    int is_recent = is_first && thread && PEEK(&recent[slot].thread) == thread && now - PEEK(&recent[slot].asked) < TICKS(200);
    c->asked = is_recent ? PEEK(&recent[slot].asked) : now;
    POKE(&recent[slot].thread, thread), POKE(&recent[slot].asked, c->asked);
}

/* Whether Python need not be asked now: to ask takes the GIL, so it is done at most every 50 ms. A loop calls this (by `tp_goes_on`)
 * at each poll, after `turns` of its iterations. Polls should come every 4 to 16 ms, so this sets `turns` anew: eight times as many
 * if the last ones took less than a quarter of a millisecond, twice as many if less than 4 ms, half as many if more than 16 ms, a
 * sixteenth if more than 160 ms. */
GENERAL __attribute__((used)) static int64_t is_early(tp_clock *c, void **raised) __asm__("tp_is_early");
GENERAL static int64_t is_early(tp_clock *c, void **raised)
{
    int64_t now = ticks(), since = c->read ? now - c->read : 0;
    if (!c->read) set_asked(c, now, 1);
    c->read = now;
    if (since && since < TICKS(4) && c->turns < MOST_TURNS) c->turns *= since < TICKS(1) / 4 && c->turns < MOST_TURNS / 8 ? 8 : 2;
    if (since > TICKS(16) && c->turns > 1) c->turns = since > TICKS(160) && c->turns > 16 ? c->turns / 16 : c->turns / 2;
    if (now - c->asked < TICKS(50)) return 1;
    set_asked(c, now, 0);
    return 0;
}

/* Whether the kernel goes on: 1, or 0 if it must stop, since a signal handler has raised, such as that of Ctrl-C. `raised` then has
 * the exception (its class, value and traceback), which entry.c sets after the kernel. `tp_goes_on` calls this, at most every 50 ms.
 *
 * - A worker of the thread pool does not ask Python: only the main thread runs signal handlers. It goes on until the thread that
 *   started the parallel loop has been stopped.
 * - Any other thread acquires the GIL, if the call has released it, and lets Python run the signal handlers that are due.
 * - If the call has kept the GIL, since its arguments are small (MAX_EXTENT_WITH_GIL), but takes so long all the same, the GIL is
 *   released for a moment, so that other threads run; not if none may during the call (`is_gil_kept`). */
__attribute__((used)) static int64_t ask(tp_clock *c, void **raised) __asm__("tp_ask");
static int64_t ask(tp_clock *c, void **raised)
{
    enum { WORKER_GOES_ON = 1, LOCKED = 0 };                /* LOCKED: PyGILState_LOCKED, this thread had the GIL already */
    int64_t (*state)(int64_t) = __atomic_load_n(&pool_state, __ATOMIC_ACQUIRE), in_worker = state ? state(0) : 0;
    if (in_worker) return in_worker == WORKER_GOES_ON;
    int before = signals.ensure(), has_raised_now = signals.signals() < 0;
    if (has_raised_now && state) state(1);                  /* tells the pool, so that the workers stop */
    if (has_raised_now) signals.fetch(&raised[0], &raised[1], &raised[2]);
    signals.release(before);
    if (before == LOCKED && !is_gil_kept) py.acquire(py.release());
    return !has_raised_now;
}

/* Kernels call `tp_goes_on`, which keeps all registers but that of the result where stop.h says so: the general ones on the stack, and
 * those of vectors only before Python is asked (`ask`), since `is_early` uses none of them. */
#if defined(__x86_64__) && defined(__ELF__)
#ifdef TP_ONE_LIBRARY                                       /* kernels find it by a table of addresses: transpile/ahead/fat_library.py */
#define VISIBILITY ".hidden tp_goes_on\n"
#else
#define VISIBILITY ""
#endif
__asm__(".pushsection .text\n.globl tp_goes_on\n" VISIBILITY ".type tp_goes_on, @function\ntp_goes_on:\n"
    "pushq %rbp\nmovq %rsp, %rbp\n"
    "pushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\npushq %r9\npushq %r10\npushq %r11\n" /* to -64(%rbp) */
    "pushq $0\nandq $-64, %rsp\ncld\n"                      /* -72(%rbp): for the answer of `ask` */
    "movq %rdi, -64(%rsp)\nmovq %rsi, -56(%rsp)\nsubq $64, %rsp\n"              /* c and raised, for `ask` */
    "call tp_is_early\n"
    "testl %eax, %eax\njne 3f\n"                            /* 1: it goes on */
    "movq (%rsp), %rdi\nmovq 8(%rsp), %rsi\nsubq $4096, %rsp\n"
    "cmpl $0, tp_has_xsave(%rip)\nje 1f\n"                  /* (%rsp): 4096 bytes, aligned to 64, for the state; their header is 0: */
    "movq %rax, 512(%rsp)\nmovq %rax, 520(%rsp)\nmovq %rax, 528(%rsp)\nmovq %rax, 536(%rsp)\n"
    "movq %rax, 544(%rsp)\nmovq %rax, 552(%rsp)\nmovq %rax, 560(%rsp)\nmovq %rax, 568(%rsp)\n"
    "movl $0xe7, %eax\nxorl %edx, %edx\nxsave64 (%rsp)\ncall tp_ask\nmovq %rax, -72(%rbp)\n"
    "movl $0xe7, %eax\nxorl %edx, %edx\nxrstor64 (%rsp)\njmp 2f\n"
    "1: fxsave64 (%rsp)\ncall tp_ask\nmovq %rax, -72(%rbp)\nfxrstor64 (%rsp)\n"           /* a CPU without xsave */
    "2: movq -72(%rbp), %rax\n"
    "3: leaq -64(%rbp), %rsp\n"
    "popq %r11\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rdx\npopq %rcx\npopq %rbp\nret\n"
    ".size tp_goes_on, .-tp_goes_on\n.popsection\n");
#else
int64_t tp_goes_on(tp_clock *c, void **raised) { return is_early(c, raised) || ask(c, raised); }
#endif
