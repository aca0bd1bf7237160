/* Converts lists, tuples, bytes and bytearrays to arrays, and stores arrays back into lists, in one pass each. The arrays of
 * memoryviews and array.arrays, which share their memory, are made by a Python function.
 *
 * `SequenceSpec` in sequence_conversion.py does the same in Python. A builtin's `self` is an int64 array whose data is an
 * `items`. Follows values.c in one translation unit, before whole.c.
 */
enum { NESTED = 2 };                                    /* levels of lists */

/* `item`: dtype and kind of an item; `rank`: levels of lists; `kinds`: the class at each level; `descr`: the dtype of the array;
 * `share`: the Python function that makes the array of a memoryview or an array.array, NULL for other classes. */
typedef struct { param item; int64_t rank; object *kinds[NESTED], *descr, *share; } items;

/* Classes and functions of Python's C API, whose addresses `tp_bind_items` stores. */
static struct {
    intptr_t (*length)(object *);                       /* PyObject_Size */
    object *(*at)(object *, intptr_t);                  /* of a list; borrowed */
    object *bytes, *bytearrays;                         /* the classes, and functions that give the data */
    char *(*in_bytes)(object *), *(*in_bytearray)(object *);
    object *views, *arrays, *strs;                      /* the classes memoryview, array.array and str */
    intptr_t in_tuple;                                  /* where the items of a tuple begin, in bytes; 0: unknown */
} lists;

void tp_bind_items(const uintptr_t *addresses)
{
    for (unsigned i = 0; i < sizeof lists / sizeof *addresses; i++) ((uintptr_t *)&lists)[i] = addresses[i];
}

/* Item `k` of a list or tuple; borrowed. */
static object *item_of(object *of, intptr_t k)
{
    return of->type == capi.lists ? lists.at(of, k) : capi.item(of, k);
}

/* All items of a list or tuple; NULL where it is not known where a tuple has them. No Python code may run while they are read. */
static object *const *items_of(object *of)
{
    if (of->type == capi.lists) return ((const list *)of)->items;
    return lists.in_tuple ? (object *const *)((const char *)of + lists.in_tuple) : 0;
}

/* The data of a bytes object or a bytearray; NULL for other objects. */
static char *bytes_of(object *of)
{
    if (of->type == lists.bytes) return lists.in_bytes(of);
    return of->type == lists.bytearrays ? lists.in_bytearray(of) : 0;
}

/* Whether `row` is of the type `kind` and has `count` items of the right type; then they are stored at `out`. */
static int take_row(const items *s, object *row, object *kind, int64_t count, char *out)
{
    tp_scalar value;
    int64_t extent = 0;
    if (row->type != kind || ((const list *)row)->count != count) return 0;
    const char *bytes = bytes_of(row);
    if (bytes) return __builtin_memcpy(out, bytes, (uint64_t)count), 1;
    object *const *from = items_of(row);
    if (from && s->item.kind == FLOAT) {
        for (int64_t k = 0; k < count; k++) {
            if (from[k]->type != py.floats) return 0;
            ((double *)out)[k] = ((const number *)from[k])->value;
        }
        return 1;
    }
    if (from && s->item.kind == INT) {
        int over = 0;
        for (int64_t k = 0; k < count && !over; k++) {
            if (from[k]->type != py.ints) return 0;
            ((int64_t *)out)[k] = int_of(from[k], &over);
        }
        return !over;
    }
    for (int64_t k = 0; k < count; k++, out += s->item.bytes) {
        object *item = from ? from[k] : item_of(row, k);
        if (!item || !take_scalar(&s->item, item, &value, &extent)) return 0;
        if (s->item.bytes == sizeof value) *(int64_t *)out = value.i64;
        else if (s->item.bytes == 1) *(uint8_t *)out = value.u8;
        else __builtin_memcpy(out, &value, (uint64_t)s->item.bytes);
    }
    return 1;
}

/* take(value): a new array of the items of the list, or of the lists in it (two axes). For a list of floats:
 *
 *     [1.0, 2.0]    →    an array of float64;      [1.0, 2]    →    None
 *
 * None where the list does not fit, so that Python must serve the call: `value` or a row is of another class, an item of another
 * type, or a row of another length than the first. NULL without memory. `SequenceSpec.take` (sequence_conversion.py) does the same in
 * Python; `derive_value` (whole.c) calls this. */
static object *take(object *self, object *const *args, intptr_t count)
{
    const items *s = (const items *)((const ndarray *)self)->data;
    object *value = args[0], *row, *made;
    int64_t dims[NESTED] = {0, 0}, fits = 1;
    if (count != 1 || value->type != s->kinds[0]) return capi.hold(capi.none), capi.none;
    if (s->share) return (made = call_with(s->share, 1, &value)) || !may_repeat() ? made : (capi.hold(capi.none), capi.none);
    dims[0] = lists.length(value);
    row = s->rank > 1 && dims[0] ? item_of(value, 0) : 0;
    if (row && row->type == s->kinds[1]) dims[1] = lists.length(row);
    capi.hold(s->descr);
    if (!(made = capi.empty((int)s->rank, dims, s->descr, 0))) return 0;
    char *out = ((const ndarray *)made)->data;
    if (s->rank == 1) fits = take_row(s, value, s->kinds[0], dims[0], out);
    for (int64_t k = 0; s->rank > 1 && fits && k < dims[0]; k++, out += dims[1] * s->item.bytes)
        fits = (row = item_of(value, k)) && take_row(s, row, s->kinds[1], dims[1], out);
    if (fits) return made;
    capi.forget(), capi.drop(made), capi.hold(capi.none);
    return capi.none;
}

/* The object for the item stored at `from`. */
static object *item_from(const items *s, const char *from)
{
    tp_scalar value;
    __builtin_memcpy(&value, from, (uint64_t)s->item.bytes);
    switch (s->item.kind) {
    case FLOAT: return capi.float_(value.f64);
    case INT: return py.from_int(value.i64);
    case BOOL: return capi.hold(value.u8 ? py.truth : capi.untruth), value.u8 ? py.truth : capi.untruth;
    default: return capi.scalar(&value, s->descr, 0);
    }
}

/* Stores the items that have changed into the list `row`; 0 with an exception. Items that have not changed stay the same objects,
 * as in Python; bits are compared, so that -0.0 is not 0.0. A float object that only the list refers to is overwritten in place,
 * which nobody can see. */
static int put_row(const items *s, object *row, int64_t count, const char *from)
{
    tp_scalar old;
    int64_t extent = 0;
    char *bytes = bytes_of(row);
    if (bytes) {                                        /* another thread may have shortened it */
        if (count > lists.length(row)) count = lists.length(row);
        return __builtin_memcpy(bytes, from, (uint64_t)count), 1;
    }
    for (int64_t k = 0; k < count; k++, from += s->item.bytes) {
        object *item = lists.at(row, k);
        if (!item) return 0;                            /* another thread has shortened it */
        if (item->type == py.floats && item->references == 1) {
            __builtin_memcpy(&((number *)item)->value, from, sizeof(double));
            continue;
        }
        if (take_scalar(&s->item, item, &old, &extent) && !__builtin_memcmp(&old, from, (uint64_t)s->item.bytes)) continue;
        if (!(item = item_from(s, from)) || capi.set_element(row, k, item) < 0) return 0;
    }
    return 1;
}

/* put(value, array): stores the elements of the array, which `take` has made of the list and the kernel has changed, back into the
 * list, or the lists in it (`put_row`). Returns None; NULL with an exception. `store_lists` (whole.c) calls this. */
static object *put(object *self, object *const *args, intptr_t count)
{
    const items *s = (const items *)((const ndarray *)self)->data;
    const ndarray *array = (const ndarray *)args[count - 1];
    const char *from = array->data;
    int fits = 1;
    if (s->rank == 1) fits = put_row(s, args[0], array->dims[0], from);
    for (int64_t k = 0; s->rank > 1 && fits && k < array->dims[0]; k++, from += array->dims[1] * s->item.bytes) {
        object *row = item_of(args[0], k);
        fits = row && row->type == capi.lists && put_row(s, row, array->dims[1], from);
    }
    if (!fits) return 0;
    capi.hold(capi.none);
    return capi.none;
}

method tp_take = {"take", take, 0x0080, 0}, tp_put = {"put", put, 0x0080, 0};
