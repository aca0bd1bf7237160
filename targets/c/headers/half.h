/* float16, held as a uint16_t: conversions to float32 and back, rounded once, with NumPy's flags. D: the dtype. */

/* f32: by scaling of a float32 with the same fraction bits */
static inline float tp_cast_f16_D(uint16_t h)
{
#if defined __F16C__ && defined __clang__
    union { uint16_t bits; _Float16 value; } half = {h};        /* Clang has no builtin for it from 20 on */
    return (float)half.value;
#elif defined __F16C__
    i32x4 bits = {h};
    return __builtin_ia32_vcvtph2ps((i16x8)bits)[0];
#else
    union { uint32_t bits; float value; } r = {(uint32_t)(h & 0x7fff) << 13};
    r.value *= 0x1p112F;
    if ((h & 0x7c00) == 0x7c00) r.bits |= 0x7f800000;
    r.bits |= (uint32_t)(h & 0x8000) << 16;
    return r.value;
#endif
}

/* f16: rounds by adding a number whose last bit is the last bit to keep, and subtracting it again */
static inline uint16_t tp_cast_f32_D(float x)
{
#ifdef __F16C__
    f32x4 given = {x};
    return (uint16_t)__builtin_ia32_vcvtps2ph(given, 4)[0];
#else
    union { float value; uint32_t bits; } a = {x}, r;
    uint32_t sign = a.bits >> 16 & 0x8000;
    a.bits &= 0x7fffffff;
    if (a.bits > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (a.bits >> 13 & 0x3ff));
    if (a.bits == 0x7f800000) return (uint16_t)(sign | 0x7c00);
    uint32_t tiny = a.bits < 0x38800000;
    r.bits = (tiny ? 0x38800000 : a.bits & 0x7f800000) + 0x06800000;
    if (a.bits < 0x47800000) r.value = (a.value + r.value) - r.value;
    if (a.bits >= 0x47800000 || r.value >= 0x1p16F) {
        volatile float huge = 0x1p127F;
        huge *= huge;
        return (uint16_t)(sign | 0x7c00);
    }
    if (tiny && r.value != a.value) {
        volatile float least = 0x1p-126F;
        least *= least;
    }
    r.value *= 0x1p-112F;
    return (uint16_t)(sign | r.bits >> 13);
#endif
}

/* f16: through a float32 whose last bit is set if lower bits were cut off (rounding to odd) */
static inline uint16_t tp_cast_f64_D(double x)
{
    union { double value; uint64_t bits; } a = {x};
    uint64_t low = a.bits & 0x1fffffff;
    a.bits = (a.bits - low) | ((low + 0x1fffffff) & 0x20000000);
    return tp_cast_f32_D((float)a.value);
}
