/* AVX-512 operations whose builtins differ between compilers, or that take several; tokens as in vector.h. */

/* iuf wide */
static inline V tp_select_V(M m, V a, V b)
{
#ifdef __clang__
    return (V)__builtin_ia32_selectSUFFIX_WIDTH(m, (N)a, (N)b);
#else
    return (V)__builtin_ia32_blendmSUFFIX_WIDTH_mask((N)b, (N)a, m);
#endif
}

/* iuf wide */
static inline V tp_loadpart_V(const T *p, int64_t n)
{
    return (V)__builtin_ia32_loaddquSIZEWIDTH_mask((const void *)p, (NI)tp_splat_V(*p), tp_first_M(n));
}
/* iuf wide */
static inline void tp_storemask_V(T *p, V v, M m) { __builtin_ia32_storedquSIZEWIDTH_mask((void *)p, (NI)v, m); }

/* f32 i32 u32 f64 i64 u64 512: half of the lanes move apart, then the other half */
static inline void tp_everyother_V(T *p, V v)
{
    M even = (M)0x5555;
    V high = (V)__builtin_shuffle((I)v, (I){EACH((k + L / 2) % L)});
    __builtin_ia32_storedquSIZEWIDTH_mask((void *)p, (NI)__builtin_ia32_expandSIZEWIDTH_mask((NI)v, (NI){0}, even), even);
    __builtin_ia32_storedquSIZEWIDTH_mask((void *)(p + L), (NI)__builtin_ia32_expandSIZEWIDTH_mask((NI)high, (NI){0}, even), even);
}

/* f32 i32 u32 f64 i64 u64 wide: compressed in a register; storing that masked is slow on some machines */
static inline int64_t tp_append_V(T *p, V v, M m)
{
    *(V_u *)p = (V)__builtin_ia32_compressSIZEWIDTH_mask((NI)v, (NI){0}, m);
    return __builtin_popcountll(m);
}

/* f wide: c - a * b, rounded once */
static inline V tp_fnma_V(V a, V b, V c)
{
    __asm__("vfnmadd231SUFFIX %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
}
