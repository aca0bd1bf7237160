/* A kernel as a Python builtin (METH_FASTCALL): checks and unpacks the arguments, in about 20 ns.
 *
 * Built once a machine, without the headers of Python and NumPy: the fields of their objects that it reads are declared
 * below, and object_layout.py compares them with live objects before the first use. The builtin's `self` is an int64
 * array whose data is a `spec`. The builtin returns the kernel's status, or -1 where an argument does not match its
 * `param`; then the kernel has not run.
 */
#include <stdint.h>

/* A function that each call of a kernel runs: optimised as at -O2. All others are compiled at -Og, which takes a third of the time. */
#if defined __GNUC__ && !defined __clang__
#define HOT __attribute__((optimize("O2", "no-strict-aliasing")))
#else
#define HOT
#endif

enum { ARRAY, FLOAT, INT, BOOL, NUMPY, COMPLEX };       /* kinds of parameters; COMPLEX: an array of pairs */
enum { MAX_PARAMS = 256, MAX_RANK = 5 };
/* The GIL is released in calls with an argument of a greater extent (the length of an axis, or the value of an int): other Python
 * threads can then run. Below, the kernel takes less time than releasing and acquiring the GIL, some 50 ns. */
enum { MAX_EXTENT_WITH_GIL = 64 };
enum { C_CONTIGUOUS = 1, ONE_BLOCK = 3, WRITEABLE = 0x400 };    /* NumPy's flags; ONE_BLOCK: of C or Fortran order */
enum { REPLAY = 16 };                                   /* the bit of a status on which Python replays the call */

typedef struct object { intptr_t references; struct object *type; } object;
typedef struct { object head; object *scalar; char kind, letter, byteorder, flags; int number; } descr;
typedef struct {
    object head; char *data; int rank; intptr_t *dims, *strides; object *base; descr *dtype; int flags;
} ndarray;

typedef struct { char *data; int64_t dims[MAX_RANK], strides[MAX_RANK]; } tp_array;
typedef union { double f64; int64_t i64; uint8_t u8; } tp_scalar;
typedef struct { object head; tp_scalar value; } numpy_scalar;
typedef struct { object head; double value; } number;                   /* a float */
typedef struct { object head; intptr_t tag; uint32_t digit; } whole_number;       /* an int below 2**30, see `int_of` */
enum { SIGNED_COUNT = 1, SIGN_BITS };                   /* what an int's tag is: `int_layout` in object_layout.py */

/* One parameter: `ParameterSpec` of parameter_specs.py has a description of each field. */
typedef struct { int64_t kind; void *type; int64_t rank, strided, bytes, flags, order, steps[MAX_RANK]; } param;
/* A kernel with its parameters; `keeps_gil`: the GIL is held during the call, however large the arrays are; `raised`: where it
 * stores the exception of a signal handler that stopped it (stop.h), or NULL. */
typedef struct {
    int64_t (*kernel)(const tp_array *, const tp_scalar *); int64_t count, keeps_gil; object **raised; param params[];
} spec;

/* Types, objects and functions of Python's C API, whose addresses `tp_bind` stores. */
static struct {
    object *ndarray, *floats, *ints, *bools, *truth;
    object *(*from_int)(long long);
    object *(*from_word)(unsigned long long);
    long long (*as_int)(object *, int *);
    void *(*release)(void);
    void (*acquire)(void *);
    void (*restore)(object *, object *, object *);
    intptr_t int_layout;                                /* 0: unknown */
} py;

void tp_bind(const uintptr_t *addresses)
{
    for (unsigned i = 0; i < sizeof py / sizeof *addresses; i++) ((uintptr_t *)&py)[i] = addresses[i];
}

/* Whether two dtypes are equal: they may be different objects, after unpickling. */
HOT static int is_dtype(const descr *given, const descr *wanted)
{
    return given == wanted || (given->number == wanted->number && given->byteorder == wanted->byteorder);
}

/* Whether elements of the array share bytes, or might: an axis may reach into the elements along another. */
static int has_internal_overlap(const ndarray *a, int64_t bytes)
{
    for (int k = 0; k < a->rank; k++) {
        int64_t step = a->strides[k] < 0 ? -a->strides[k] : a->strides[k], inside = bytes;
        for (int j = 0; j < a->rank; j++) {
            int64_t other = a->strides[j] < 0 ? -a->strides[j] : a->strides[j];
            if (other < step || (other == step && j < k)) inside += (a->dims[j] - 1) * other;
        }
        if (a->dims[k] > 1 && step < inside) return 1;
    }
    return 0;
}

enum { ANY_ORDER, C_ORDER, F_ORDER, C_OR_EQUAL };       /* the first three as _ORDERS of parameter_specs.py */

/* Whether the strides of `a` become smaller from axis to axis (C_ORDER), or not larger (C_OR_EQUAL), or larger (F_ORDER), and none is
 * 0; strides of axes of length 1 count for C_ORDER alone: fits_order of parameter_specs.py, which says why. */
static int fits_order(const ndarray *a, int64_t order)
{
    int64_t last = 0, before = INT64_MAX;               /* strides of earlier axes; `last`: of one with several elements */
    if (order != F_ORDER && a->flags & C_CONTIGUOUS) return 1;
    for (int k = 0; k < a->rank; k++) {
        int64_t step = a->strides[k] < 0 ? -a->strides[k] : a->strides[k];
        if (order == C_ORDER && step > before) return 0;
        before = step;
        if (a->dims[k] <= 1) continue;
        if (!step || (last && (order == F_ORDER ? step <= last : order == C_ORDER ? step >= last : step > last))) return 0;
        last = step;
    }
    return 1;
}

/* has_order_of_unit_axis of parameter_specs.py. */
static int has_order_of_unit_axis(const ndarray *a, int unit)
{
    if (a->rank == 1 || (0 < unit && unit < a->rank - 1)) return 1;
    return fits_order(a, unit ? C_OR_EQUAL : F_ORDER);
}

/* Whether the object `given` is an array as the parameter `p` wants it; then `out` describes it to the kernel. `extent`: the
 * largest length so far. Used by `call` and `perform` (whole.c). In this order:
 *
 * - the class, dtype and rank, and NumPy's flags (`flags`): aligned, except for a kernel of arrays that are not; writeable if the
 *   kernel writes it;
 * - the strides for which the kernel was compiled, in bytes (0: any). The stride of an axis of length 1 is never used;
 * - if the kernel was compiled for a memory order of the axes: they have this order. NumPy keeps any other order in its results,
 *   which the kernel does not;
 * - if it was compiled for an array without an axis of unit stride (`strided`): there is none, or the other axes do not have its
 *   order. Else the array has another type, for which there is a faster kernel;
 * - if the kernel writes it: no two elements share bytes, since a store would change both.
 *
 * The last four are about strides, and strides of an empty array do not matter. */
HOT static int take_array(const param *p, const object *given, tp_array *out, int64_t *extent)
{
    const ndarray *a = (const ndarray *)given;
    if (given->type != py.ndarray || !is_dtype(a->dtype, p->type) || a->rank != p->rank) return 0;
    if ((a->flags & p->flags) != p->flags) return 0;
    out->data = a->data;
    int is_empty = 0, misfits = 0, unit = -1;                     /* `unit`: an axis of unit stride */
    for (int axis = 0; axis < p->rank; axis++) {
        int64_t dim = out->dims[axis] = a->dims[axis];
        int64_t stride = out->strides[axis] = a->strides[axis];
        is_empty |= dim == 0;
        misfits |= dim > 1 && p->steps[axis] && stride != p->steps[axis];
        if (dim > 1 && stride == p->bytes) unit = axis;
        if (dim > *extent) *extent = dim;
    }
    if (p->kind == COMPLEX) out->dims[p->rank] = 2, out->strides[p->rank] = p->bytes / 2;    /* an axis of the two parts */
    if (p->order) misfits |= !fits_order(a, p->order);
    if (p->strided && unit >= 0) misfits |= has_order_of_unit_axis(a, unit);
    if (p->flags & WRITEABLE && !(a->flags & ONE_BLOCK)) misfits |= has_internal_overlap(a, p->bytes);
    return is_empty || !misfits;
}

/* The value of an int; `over` becomes true where it does not fit 64 bits. */
HOT static int64_t int_of(object *given, int *over)
{
    const whole_number *n = (const whole_number *)given;
    if (py.int_layout == SIGNED_COUNT && -1 <= n->tag && n->tag <= 1) return n->tag ? n->tag * (int64_t)n->digit : 0;
    if (py.int_layout == SIGN_BITS && n->tag < 16) return (1 - (n->tag & 3)) * (int64_t)n->digit;
    return py.as_int(given, over);
}

/* Whether the object `given` is a scalar of exactly the class that the parameter `p` wants (no subclass, no conversion); then `out`
 * is its value. An int that does not fit 64 bits matches no kernel. `extent`: the largest extent so far; an int of 64 bits is one,
 * too, as it may be a trip count. `p->flags` of a NumPy scalar: whether it is such an int. */
HOT static int take_scalar(const param *p, object *given, tp_scalar *out, int64_t *extent)
{
    int over = 0;
    if (given->type != p->type) return 0;
    switch (p->kind) {
    case FLOAT: out->f64 = ((const number *)given)->value; return 1;
    case BOOL: out->i64 = given == py.truth; return 1;
    case INT:
        out->i64 = int_of(given, &over);
        if (out->i64 > *extent) *extent = out->i64;
        return !over;
    default:                                            /* NUMPY: the bits as they are, of any dtype */
        *out = ((const numpy_scalar *)given)->value;
        if (p->flags && out->i64 > *extent) *extent = out->i64;
        return 1;
    }
}

/* Whether a signal handler stopped the kernel: its exception is set. */
static int has_raised(object **raised, int64_t status)
{
    if (!raised || status <= 0 || !(status & REPLAY) || !raised[0]) return 0;
    py.restore(raised[0], raised[1], raised[2]);
    raised[0] = raised[1] = raised[2] = 0;
    return 1;
}

/* Of thread_pool.c: tells it how many threads the context of this Python thread allows; NULL until a context has such a bound. */
static void (*take_context)(void);
void tp_bind_context(void (*take)(void)) { take_context = take; }

static int is_gil_kept;                                 /* whether a call runs during which no other Python thread may */

/* The builtin: `self` has the `spec`, `args` are the kernel's arguments. Checks and unpacks them, decides whether the GIL is
 * released meanwhile, runs the kernel, and returns its status: -1 where an argument does not match, and the kernel has not run;
 * NULL where a signal handler has raised, whose exception is set. */
static object *call(object *self, object *const *args, intptr_t count)
{
    const spec *s = (const spec *)((const ndarray *)self)->data;
    if (count != s->count) return py.from_int(-1);
    tp_array arrays[count + 1], *array = arrays;        /* no more than needed: a thread may have a stack of 32 KiB */
    tp_scalar scalars[count + 1], *scalar = scalars;
    int64_t extent = 0;
    for (int i = 0; i < count; i++) {
        const param *p = &s->params[i];
        int is_array = p->kind == ARRAY || p->kind == COMPLEX;
        int fits = is_array ? take_array(p, args[i], array++, &extent) : take_scalar(p, args[i], scalar++, &extent);
        if (!fits) return py.from_int(-1);
    }
    if (take_context) take_context();
    int releases_gil = extent > MAX_EXTENT_WITH_GIL && !s->keeps_gil;   /* then other Python threads may run during the call */
    void *thread = releases_gil ? py.release() : 0;
    if (s->keeps_gil) is_gil_kept = 1;
    int64_t status = s->kernel(arrays, scalars);
    if (s->keeps_gil) is_gil_kept = 0;
    if (thread) py.acquire(thread);
    return has_raised(s->raised, status) ? 0 : py.from_int(status);
}

typedef struct { const char *name; object *(*call)(object *, object *const *, intptr_t); int flags; const char *doc; } method;
method tp_method = {"kernel", call, 0x0080, 0};
