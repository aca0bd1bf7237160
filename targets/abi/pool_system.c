/* What thread_pool.c needs of the system: a clock, threads, a lock, sleep on a word, CPUs. For Linux, Windows, and others with POSIX
 * threads, as macOS. What a system cannot tell has a neutral answer, which is given with each function.
 *
 * TP_SIMULATED: for tests, with as many CPUs as `tp_pool_configure` says. TP_ALONE: no other process uses the CPUs. TP_NO_FUTEX: as
 * on a system without one. */
#ifndef TP_STACK
#define TP_STACK (256 * 1024)                           /* bytes of the stack of a worker */
#endif

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0602                             /* Windows 8, for WaitOnAddress */
#include <stdlib.h>
#include <string.h>
#include <windows.h>

typedef HANDLE system_thread;
typedef SRWLOCK system_lock;
#define LOCK_FREE SRWLOCK_INIT

static double nanoseconds(void)
{
    LARGE_INTEGER now, each;
    QueryPerformanceCounter(&now), QueryPerformanceFrequency(&each);
    return (double)now.QuadPart * (1e9 / (double)each.QuadPart);
}

static void lock(system_lock *of) { AcquireSRWLockExclusive(of); }
static int try_lock(system_lock *of) { return TryAcquireSRWLockExclusive(of); }
static void unlock(system_lock *of) { ReleaseSRWLockExclusive(of); }

static void sleep_while(uint32_t *word, uint32_t value, int64_t most)
{
    WaitOnAddress(word, &value, sizeof value, most < 0 ? INFINITE : (DWORD)((most + 999999) / 1000000));
}
static void wake(uint32_t *word, int count) { if (count == 1) WakeByAddressSingle(word); else WakeByAddressAll(word); }
static void reset_sleepers(void) {}
static void pause_thread(int64_t time) { if (time) Sleep(1); else SwitchToThread(); }

static void (*thread_work)(int32_t);
static DWORD WINAPI enter(void *number) { thread_work((int32_t)(intptr_t)number); return 0; }

static int start_thread(system_thread *thread, void (*work)(int32_t), int32_t number)
{
    thread_work = work;
    *thread = CreateThread(0, TP_STACK, enter, (void *)(intptr_t)number, STACK_SIZE_PARAM_IS_A_RESERVATION, 0);
    return *thread != 0;
}
static void join_thread(system_thread thread) { WaitForSingleObject(thread, INFINITE), CloseHandle(thread); }
static void register_fork(void (*before)(void), void (*in_child)(void)) { (void)before, (void)in_child; }

static int usable_cpus(void)                            /* of more than 64 CPUs, each thread has a group: unknown */
{
    DWORD_PTR mask, all;
    if (GetActiveProcessorGroupCount() != 1 || !GetProcessAffinityMask(GetCurrentProcess(), &mask, &all)) return 0;
    return __builtin_popcountll(mask);
}
#else

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

typedef pthread_t system_thread;
typedef pthread_mutex_t system_lock;
#define LOCK_FREE PTHREAD_MUTEX_INITIALIZER

/* Of the monotonic clock. */
static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void lock(system_lock *of) { pthread_mutex_lock(of); }
static int try_lock(system_lock *of) { return !pthread_mutex_trylock(of); }
static void unlock(system_lock *of) { pthread_mutex_unlock(of); }

/* `sleep_while` sleeps as long as the word has that value, at most so many nanoseconds, or without end if `most` is negative; it may
 * return early. `wake` wakes at least `count` of the threads that sleep on the word, and all others may wake, too. */
#if defined __linux__ && !defined TP_NO_FUTEX
static void sleep_while(uint32_t *word, uint32_t value, int64_t most)
{
    struct timespec time = {most / 1000000000, most % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, most < 0 ? 0 : &time, 0, 0);
}
static void wake(uint32_t *word, int count) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0); }
static void reset_sleepers(void) {}
#else
static pthread_mutex_t sleeping = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void sleep_while(uint32_t *word, uint32_t value, int64_t most)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    if (most >= 0) end.tv_sec += (end.tv_nsec + most) / 1000000000, end.tv_nsec = (end.tv_nsec + most) % 1000000000;
    pthread_mutex_lock(&sleeping);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) != value);
    else if (most >= 0) pthread_cond_timedwait(&changed, &sleeping, &end);
    else pthread_cond_wait(&changed, &sleeping);
    pthread_mutex_unlock(&sleeping);
}
static void wake(uint32_t *word, int count)             /* all of them: they share one condition variable */
{
    (void)word, (void)count;
    pthread_mutex_lock(&sleeping);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&sleeping);
}
static void reset_sleepers(void)                        /* in the child of a fork */
{
    sleeping = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}
#endif

/* Lets other threads run; for about so many nanoseconds, if it is not 0. */
static void pause_thread(int64_t time)
{
    const struct timespec moment = {0, time};
    if (time) nanosleep(&moment, 0); else sched_yield();
}

static void (*thread_work)(int32_t);                    /* what all threads do */
static void *enter(void *number)
{
#ifdef __linux__
    prctl(PR_SET_NAME, "transpile");
#endif
    __atomic_load_n(&thread_work, __ATOMIC_RELAXED)((int32_t)(intptr_t)number);     /* others are being started */
    return 0;
}

/* Starts a thread that calls `work` with that number; returns whether that worked. Signals are blocked in it, but for those of its own
 * faults. */
static int start_thread(system_thread *thread, void (*work)(int32_t), int32_t number)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    pthread_attr_t attributes;
    sigset_t none, old;
    sigfillset(&none);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&none, faults[i]);
    if (pthread_attr_init(&attributes)) return 0;
    __atomic_store_n(&thread_work, work, __ATOMIC_RELAXED);
    pthread_attr_setstacksize(&attributes, TP_STACK);
    pthread_sigmask(SIG_SETMASK, &none, &old);
    int failed = pthread_create(thread, &attributes, enter, (void *)(intptr_t)number);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    pthread_attr_destroy(&attributes);
    return !failed;
}
static void join_thread(system_thread thread) { pthread_join(thread, 0); }

/* From now on, `before` is called before each fork of this process, and `in_child` in the child. */
static void register_fork(void (*before)(void), void (*in_child)(void)) { pthread_atfork(before, 0, in_child); }

/* How many CPUs this thread may use; 0: unknown. */
static int usable_cpus(void)
{
#if defined __linux__ && defined CPU_COUNT
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
#endif
    return 0;
}
#endif

/* The number of the CPU on which this thread runs; -1: unknown, or of no use, as threads cannot be kept off it. */
static int32_t current_cpu(void)
{
#if defined __linux__ && !defined TP_SIMULATED
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Which CPUs a thread may use (`run_on`): those of this thread, without that one if it is not -1 (`cpus_without`, whose answer is
 * whether any are left). */
#if defined __linux__ && defined CPU_COUNT && !defined TP_SIMULATED
#define CAN_KEEP_OFF
typedef cpu_set_t system_cpus;
static int cpus_without(int32_t cpu, system_cpus *cpus)
{
    if (sched_getaffinity(0, sizeof *cpus, cpus)) return 0;
    if (cpu >= 0) CPU_CLR(cpu, cpus);
    return CPU_COUNT(cpus) > 0;
}
static void run_on(system_thread thread, const system_cpus *cpus) { pthread_setaffinity_np(thread, sizeof *cpus, cpus); }
#endif

/* How many threads of all processes run or wait for a CPU, and the CPUs of the machine; -1: unknown. */
static int running_threads(void)
{
#if defined __linux__ && !defined TP_SIMULATED && !defined TP_ALONE
    char text[64], *place;
    int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[size > 0 ? size : 0] = 0;
    if (!(place = strchr(text, '/'))) return -1;
    while (place > text && place[-1] != ' ') place--;
    int count = 0;                                      /* as in "0.20 0.18 0.12 3/80 11206": 3 */
    while ('0' <= *place && *place <= '9') count = 10 * count + *place++ - '0';
    return count;       /* not by `atoi`: the headers of glibc from 2.38 on make that one of a function that older ones lack */
#else
    return -1;
#endif
}
static int online_cpus(void)
{
#ifdef __linux__
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
#else
    return -1;
#endif
}
