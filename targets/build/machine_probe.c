/* Machine probe: how many bytes a nanosecond one thread moves, at each level of the caches and in memory.
 *
 * machine_probe.py prepends TP_BYTES, those of a vector register, and TP_STREAM, the instruction of a non-temporal store, if
 * the target has one, and TP_REGISTER, the constraint of its operand.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef int64_t V __attribute__((vector_size(TP_BYTES), may_alias));
typedef double work(char *memory, int64_t bytes, int64_t rows);

static double read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Nanoseconds; and of this thread alone, without those in which others had its CPU, for budgets. */
static double wall_time(void) { return read_clock(CLOCK_MONOTONIC); }
static double own_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

/* Read `rows` stretches of the memory abreast. */
static double reading(char *memory, int64_t bytes, int64_t rows)
{
    int64_t stretch = bytes / rows / (4 * TP_BYTES) * (4 * TP_BYTES);
    V a = {0}, b = {0}, c = {0}, d = {0};
    for (int64_t i = 0; i < stretch; i += 4 * TP_BYTES)
        for (int64_t r = 0; r < rows; r++) {
            const V *p = (const V *)(memory + r * stretch + i);
            a ^= p[0], b ^= p[1], c ^= p[2], d ^= p[3];
        }
    a ^= b ^ c ^ d;
    __asm__ volatile("" : : "m"(a));
    return (double)(stretch * rows);
}

static double writing(char *memory, int64_t bytes, int64_t rows)
{
    V v = {rows};
    for (int64_t i = 0; i < bytes; i += TP_BYTES) {
        *(V *)(memory + i) = v;
        __asm__ volatile("" : : : "memory");
    }
    return (double)bytes;
}

static double streaming(char *memory, int64_t bytes, int64_t rows)
{
#ifdef TP_STREAM
    V v = {rows};
    for (int64_t i = 0; i < bytes; i += TP_BYTES)
        __asm__ volatile(TP_STREAM " %1, %0" : "=m"(*(V *)(memory + i)) : TP_REGISTER(v));
    __asm__ volatile("sfence" : : : "memory");
    return (double)bytes;
#else
    return (void)memory, (void)bytes, (void)rows, 0.0;
#endif
}

enum { CHUNK = 1 << 21 };

/* Bytes a nanosecond in one run over `bytes`, repeated where that is too short for the clock. */
static double rate(work *run, char *memory, int64_t bytes, int64_t rows)
{
    double before = wall_time(), moved = 0.0;
    for (int64_t done = 0; done < CHUNK / 8; done += bytes) moved += run(memory, bytes, rows);
    return moved / (wall_time() - before + 1.0);
}

/* The best rate over `bytes` in `budget` nanoseconds. The first run brings into the caches what they can hold. */
static double best_rate(work *run, char *memory, int64_t bytes, int64_t rows, double budget)
{
    double best = 0.0, start = own_time();
    run(memory, bytes, rows);
    do {
        double now = rate(run, memory, bytes, rows);
        if (now > best) best = now;
    } while (own_time() - start < budget);
    return best;
}

/* The same over one chunk after the other, from `*at` on: each was used so long ago that no cache has it. */
static double best_cold_rate(work *run, char *memory, int64_t bytes, int64_t *at, double budget)
{
    double best = 0.0, start = own_time();
    do {
        double now = rate(run, memory + *at, CHUNK, 1);
        if (now > best) best = now;
        *at = (*at + CHUNK) % bytes;
    } while (own_time() - start < budget);
    return best;
}

/* Gives in `rates` those of reading from L1, L2, L3 and memory, of writing to memory, the same past the caches (0: it cannot),
 * and of reading 4 and 16 rows abreast from L3. `sizes` are the bytes of L1, L2 and L3; `buffer` those of the memory to use, a
 * multiple of CHUNK, none less than a size; `budget`: the nanoseconds for each rate.
 * Returns the nanoseconds that all took this thread; a negative number without memory. */
__attribute__((visibility("default"))) double tp_probe(
    const int64_t *sizes, int64_t buffer, double budget, double *rates)
{
    double start = own_time();
    int64_t at = 0;
    char *memory = aligned_alloc(CHUNK, (size_t)buffer);
    if (memory == NULL) return -1.0;
#ifdef MADV_HUGEPAGE
    madvise(memory, (size_t)buffer, MADV_HUGEPAGE);     /* to have small pages from the system would take most of the time */
#endif
    memset(memory, 1, (size_t)buffer);
    rates[3] = best_cold_rate(reading, memory, buffer, &at, budget);
    rates[4] = best_cold_rate(writing, memory, buffer, &at, budget);
    rates[5] = best_cold_rate(streaming, memory, buffer, &at, budget);
    for (int k = 0; k < 2; k++) rates[k] = best_rate(reading, memory, sizes[k] / 2, 1, budget);
    int64_t shared = sizes[2] / 4;      /* others use the last level, too */
    rates[2] = best_rate(reading, memory, shared, 1, budget);
    rates[6] = best_rate(reading, memory, shared, 4, budget);
    rates[7] = best_rate(reading, memory, shared, 16, budget);
    free(memory);
    return own_time() - start;
}
