/* A kernel as a Python builtin (METH_FASTCALL): arguments are checked and unpacked here, in about 20 ns.
 *
 * Built once a machine, without Python's or NumPy's headers: what it needs of their objects is declared below, and
 * layout.py proves it on live objects before the first use. The builtin's `self` is an int64 array that holds a `spec`.
 * Returns the kernel's status, or -1 where an argument is not what the kernel was compiled for; then nothing was done.
 */
#include <stdint.h>

enum { ARRAY, FLOAT, INT, BOOL, NUMPY, COMPLEX };       /* what a parameter is given as; COMPLEX: an array, of pairs */
enum { MAX_PARAMS = 256, MAX_RANK = 5, LARGE = 64 };
enum { WRITEABLE = 0x400 };                             /* NumPy's flag */

typedef struct object { intptr_t references; struct object *type; } object;
typedef struct { object head; object *scalar; char kind, letter, byteorder, flags; int number; } descr;
typedef struct {
    object head; char *data; int rank; intptr_t *dims, *strides; object *base; descr *dtype; int flags;
} ndarray;

typedef struct { char *data; int64_t dims[MAX_RANK], strides[MAX_RANK]; } tp_array;
typedef union { double f64; int64_t i64; uint8_t u8; } tp_scalar;
typedef struct { object head; tp_scalar value; } numpy_scalar;

typedef struct { int64_t kind; void *type; int64_t rank, strided, bytes, flags, steps[MAX_RANK]; } param;
typedef struct { int64_t (*kernel)(const tp_array *, const tp_scalar *); int64_t count, alone; param params[]; } spec;

static struct {
    object *ndarray, *floats, *ints, *bools, *truth;
    object *(*from_int)(long long);
    long long (*as_int)(object *, int *);
    double (*as_float)(object *);
    void *(*release)(void);
    void (*acquire)(void *);
} py;

void tp_bind(const uintptr_t *lent)
{
    for (unsigned i = 0; i < sizeof py / sizeof *lent; i++) ((uintptr_t *)&py)[i] = lent[i];
}

static int is_dtype(const descr *given, const descr *wanted)    /* an unpickled array has a descr of its own */
{
    return given == wanted || (given->number == wanted->number && given->byteorder == wanted->byteorder);
}

static int overlaps_itself(const ndarray *a, int64_t bytes)     /* or may: an axis reaches into what lies along another */
{
    enum { C_ORDER = 1, F_ORDER = 2 };
    if (a->flags & (C_ORDER | F_ORDER)) return 0;
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

static int astray(const ndarray *a, int unit)           /* axes that do not follow the first, or the last, in order */
{
    int64_t last = 0;
    if (a->rank == 1 || (0 < unit && unit < a->rank - 1)) return 0;
    for (int k = 0; k < a->rank; k++) {
        int64_t step = a->strides[k] < 0 ? -a->strides[k] : a->strides[k];
        if (a->dims[k] <= 1) continue;
        if (!step || (last && (unit ? step > last : step < last))) return 1;
        last = step;
    }
    return 0;
}

static int take_array(const param *p, const object *given, tp_array *out, int64_t *extent)
{
    const ndarray *a = (const ndarray *)given;
    if (given->type != py.ndarray || !is_dtype(a->dtype, p->type) || a->rank != p->rank) return 0;
    if ((a->flags & p->flags) != p->flags) return 0;
    out->data = a->data;
    int empty = 0, misfit = 0, unit = -1, dense = -1;       /* where there is no element, strides mean nothing */
    for (int axis = 0; axis < p->rank; axis++) {
        int64_t dim = out->dims[axis] = a->dims[axis];
        int64_t stride = out->strides[axis] = a->strides[axis];
        int far = p->steps[axis] && stride != p->steps[axis];
        empty |= dim == 0;
        misfit |= dim > 1 && far;
        if (p->steps[axis] == p->bytes) unit = axis;
        if (dim > 1 && stride == p->bytes) dense = axis;
        if (dim > *extent) *extent = dim;
    }
    if (p->kind == COMPLEX) out->dims[p->rank] = 2, out->strides[p->rank] = p->bytes / 2;
    if (unit >= 0) misfit |= astray(a, unit);
    if (p->strided && dense >= 0) misfit |= !astray(a, dense);
    return empty || !(misfit || (p->flags & WRITEABLE && overlaps_itself(a, p->bytes)));
}

static int take_scalar(const param *p, object *given, tp_scalar *out, int64_t *extent)
{
    int over = 0;
    if (given->type != p->type) return 0;
    switch (p->kind) {
    case FLOAT: out->f64 = py.as_float(given); return 1;
    case BOOL: out->i64 = given == py.truth; return 1;
    case INT:
        out->i64 = py.as_int(given, &over);
        if (out->i64 > *extent) *extent = out->i64;
        return !over;
    default:
        *out = ((const numpy_scalar *)given)->value;
        if (p->flags && out->i64 > *extent) *extent = out->i64;
        return 1;
    }
}

static object *call(object *self, object *const *args, intptr_t count)
{
    const spec *s = (const spec *)((const ndarray *)self)->data;
    tp_array arrays[MAX_PARAMS], *array = arrays;
    tp_scalar scalars[MAX_PARAMS], *scalar = scalars;
    int64_t extent = 0;
    if (count != s->count) return py.from_int(-1);
    for (int i = 0; i < count; i++) {
        const param *p = &s->params[i];
        int is_array = p->kind == ARRAY || p->kind == COMPLEX;
        int fits = is_array ? take_array(p, args[i], array++, &extent) : take_scalar(p, args[i], scalar++, &extent);
        if (!fits) return py.from_int(-1);
    }
    if (extent <= LARGE || s->alone) return py.from_int(s->kernel(arrays, scalars));
    void *thread = py.release();                        /* other Python threads run meanwhile */
    int64_t status = s->kernel(arrays, scalars);
    py.acquire(thread);
    return py.from_int(status);
}

typedef struct { const char *name; object *(*call)(object *, object *const *, intptr_t); int flags; const char *doc; } method;
method tp_method = {"kernel", call, 0x0080, 0};
