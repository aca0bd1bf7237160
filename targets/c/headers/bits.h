/* Bit arrays: bit k of a byte is the k-th of eight bools. Tokens as in prelude.h; indices count bits. */

/* b: bit i */
static inline uint8_t tp_getbit_D(const T *p, int64_t i) { return (uint8_t)(p[i >> 3] >> (i & 7) & 1); }
/* b: set bit i to x */
static inline void tp_putbit_D(T *p, int64_t i, uint8_t x)
{
    p[i >> 3] = (T)((p[i >> 3] & ~(1u << (i & 7))) | (uint32_t)x << (i & 7));
}
/* b: n bits from bit i on; higher bits of the result are undefined. The array has at least 128 bytes */
static inline uint64_t tp_getbits_D(const T *p, int64_t i, int n)
{
    uint64_t x;
    int s = (int)(i & 7);
    __builtin_memcpy(&x, p + (i >> 3), 8);
    x >>= s;
    return n > 56 && s ? x | (uint64_t)p[(i >> 3) + 8] << (64 - s) : x;
}
/* b: as tp_getbits for the first `count` of n bits; the other bits of the result are copies of bit i */
static inline uint64_t tp_partbits_D(const T *p, int64_t i, int n, int64_t count)
{
    uint64_t x = tp_getbits_D(p, i, n), live = count < 64 ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0;
    return (x & live) | (-(x & 1) & ~live);
}
/* b: n bits with stride s, of which the first `count` exist; the others are copies of bit i */
static inline uint64_t tp_gatherbits_D(const T *p, int64_t i, int64_t s, int n, int64_t count)
{
    uint64_t x = 0;
    for (int k = 0; k < n; k++) x |= (uint64_t)tp_getbit_D(p, k < count ? i + k * s : i) << k;
    return x;
}
/* b: store those of n bits of x, with stride s, that are set in `on` */
static inline void tp_spreadbits_D(T *p, int64_t i, int64_t s, uint64_t x, uint64_t on, int n)
{
    for (int k = 0; k < n; k++) if (on >> k & 1) tp_putbit_D(p, i + k * s, x >> k & 1);
}
/* b: store those of n bits of x, from bit i on, that are set in `on` */
static inline void tp_maskbits_D(T *p, int64_t i, uint64_t x, uint64_t on, int n)
{
    T *at = p + (i >> 3);
    int s = (int)(i & 7);
    if (s + n <= 8) {
        *at = (T)((*at & ~(on << s)) | (x & on) << s);
        return;
    }
    uint64_t old;
    __builtin_memcpy(&old, at, 8);
    old = (old & ~(on << s)) | (x & on) << s;
    __builtin_memcpy(at, &old, 8);
    if (n > 56 && s) at[8] = (T)((at[8] & ~(on >> (64 - s))) | (x & on) >> (64 - s));
}
/* b: how many of n bits, from bit i on, come before the next byte boundary */
static inline int64_t tp_peelbits_D(int64_t i, int64_t n) { return n < (-i & 7) ? n : -i & 7; }
/* b: store n bits of x from bit i on */
static inline void tp_putbits_D(T *p, int64_t i, uint64_t x, int n)
{
    if (n >= 8 && (i & 7) == 0) __builtin_memcpy(p + (i >> 3), &x, n / 8);
    else tp_maskbits_D(p, i, x, ~(uint64_t)0 >> (64 - n), n);
}
