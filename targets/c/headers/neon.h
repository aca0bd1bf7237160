/* NEON operations; tokens as in vector.h. */

/* f: a * b + c, rounded once */
static inline V tp_fma_V(V a, V b, V c)
{
    __asm__("fmla %0.ARRANGED, %1.ARRANGED, %2.ARRANGED" : "+w"(c) : "w"(a), "w"(b));
    return c;
}

/* f: c - a * b, rounded once */
static inline V tp_fnma_V(V a, V b, V c)
{
    __asm__("fmls %0.ARRANGED, %1.ARRANGED, %2.ARRANGED" : "+w"(c) : "w"(a), "w"(b));
    return c;
}

/* u8 128 */
static inline int64_t tp_total_V(V a)
{
    u16x8 sum;
    __asm__("uaddlv %h0, %1.16b" : "=w"(sum) : "w"(a));
    return sum[0];
}
