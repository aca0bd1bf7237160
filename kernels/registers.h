/* What every kernel here is written in: one register of the instruction set that the compiler was told, for elements T.
 *
 * Read once a dtype, with T, T_BYTES, T_FLOAT and STREAMED (the bytes of a result that goes past the caches) defined; each name
 * ends in the dtype: N(load) is load_f32. V: a register of LANES elements; M: a mask of them (bits on AVX-512, lanes of 0 and -1
 * elsewhere); I, U: integers of V's shape.
 *
 * A kernel is KERNEL(name): it gets arrays (data, lengths, strides in bytes) and scalars in the order of its meaning's
 * parameters, may rely on its guards and on unit strides where the meaning has ::1, and returns the status 0. Float folds
 * have the order of the generated code, so its bits: GROUP lanes of which element k takes number k % GROUP, blocks of BLOCK
 * elements, blocks of BLOCKS blocks. */

#define N_(name, t) tk_##name##_##t
#define N__(name, t) N_(name, t)
#define N(name) N__(name, T)
#define KERNEL(name) static int64_t N(name)(const tp_array *arrays, const tp_scalar *scalars)
#define ARRAY(k) ((T *)arrays[k].data)
#define ROW(k, i) ((T *)(arrays[k].data + (i) * arrays[k].strides[0]))
#define DIM(k, axis) arrays[k].dims[axis]
#define SCALAR(k) ((C)scalars[k].T)

#if defined __AVX512F__
#define V_BYTES 64
#elif defined __AVX2__
#define V_BYTES 32
#else
#define V_BYTES 16
#endif
#define LANES (V_BYTES / T_BYTES)
#define GROUP (256 / T_BYTES)
#define REGISTERS (256 / V_BYTES)
#define BLOCK 4096
#define BLOCKS 64

#define C N(element)
#define V N(V)
#define I N(I)
#define M N(M)
typedef T C;
typedef T V __attribute__((vector_size(V_BYTES)));
typedef T N(loose) __attribute__((vector_size(V_BYTES), may_alias, aligned(1)));
#if T_BYTES == 8
typedef int64_t I __attribute__((vector_size(V_BYTES)));
#elif T_BYTES == 4
typedef int32_t I __attribute__((vector_size(V_BYTES)));
#else
typedef int8_t I __attribute__((vector_size(V_BYTES)));
#endif
#if defined __AVX512F__ && T_BYTES == 8
typedef uint8_t M;
#elif defined __AVX512F__ && T_BYTES == 4
typedef uint16_t M;
#elif defined __AVX512F__
typedef uint64_t M;
#else
typedef I M;
#endif

/* x once a lane; F(h, k) for the number k of each lane. */
#define TWICE(x) x, x
#define FOUR(x) TWICE(x), TWICE(x)
#define EIGHT(x) FOUR(x), FOUR(x)
#define SIXTEEN(x) EIGHT(x), EIGHT(x)
#define FROM4(F, h, k) F(h, k), F(h, (k + 1)), F(h, (k + 2)), F(h, (k + 3))
#define FROM16(F, h, k) FROM4(F, h, k), FROM4(F, h, k + 4), FROM4(F, h, k + 8), FROM4(F, h, k + 12)
#if LANES == 2
#define EVERY(x) TWICE(x)
#define EACH_LANE(F, h) F(h, 0), F(h, 1)
#elif LANES == 4
#define EVERY(x) FOUR(x)
#define EACH_LANE(F, h) FROM4(F, h, 0)
#elif LANES == 8
#define EVERY(x) EIGHT(x)
#define EACH_LANE(F, h) FROM4(F, h, 0), FROM4(F, h, 4)
#elif LANES == 16
#define EVERY(x) SIXTEEN(x)
#define EACH_LANE(F, h) FROM16(F, h, 0)
#elif LANES == 32
#define EVERY(x) SIXTEEN(x), SIXTEEN(x)
#define EACH_LANE(F, h) FROM16(F, h, 0), FROM16(F, h, 16)
#else
#define EVERY(x) SIXTEEN(x), SIXTEEN(x), SIXTEEN(x), SIXTEEN(x)
#define EACH_LANE(F, h) FROM16(F, h, 0), FROM16(F, h, 16), FROM16(F, h, 32), FROM16(F, h, 48)
#endif
#define LANE(h, k) (k)
#define PARTNER(h, k) ((k) ^ h)

static inline V N(load)(const C *p) { return *(const N(loose) *)p; }
static inline void N(store)(C *p, V v) { *(N(loose) *)p = v; }
static inline V N(splat)(C x) { return (V){EVERY(x)}; }
