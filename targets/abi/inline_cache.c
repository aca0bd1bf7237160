/* A polymorphic inline cache: forwards a call to the target of the first row that fits the types and the size of the
 * arguments, in about 20 ns. A call that no row fits goes to the Python function `miss`.
 *
 * A row is only a guess which target is the best: each target gives the right answer for any arguments. The `self` of
 * the builtin is an int64 array whose data is an `inline_cache`, filled in by inline_cache.py. Follows whole.c in one
 * translation unit.
 */
enum { SIZE_LIMIT = 1 << 30 };                          /* the largest size that is told from larger ones */
enum { CALLS_PER_TIME = 16 };                           /* one in so many calls of a row with a `limit` is timed */
enum { LEAST_LIMIT = 32, NANOSECONDS_PER_ITEM = 32 }; /* see `cache_row.limit` */
enum { MOST_LEVELS = 64 };                              /* of sequences in sequences that `is_plain` looks at */
enum { LAYOUT = 0x503 };                                /* NumPy's flags of C order, Fortran order, aligned, writeable */
#define EMPTY_SEQUENCE ((object *)-1)                   /* the type of the first item of an empty list or tuple */

/* What an argument must be. `value`: this object, or an equal str, int or dtype (`is_object`); `item`, `inner`: the type of the first item of a list or tuple, and
 * of the first item of that; `number`, `rank`, `flags`, `byteorder`: of an array, whose dtype is the object `item`; `code`: of
 * a Python function; `items`: the types of the `length` items of a tuple. Each is NULL, or -1, where any is fine. `sized`: the
 * names of attributes that are part of the size of a call, and NULL; NULL if there are none. */
typedef struct {
    object *type, *value, *item, *inner, *code, **items, **sized;
    int64_t length, number, rank, flags, byteorder;
} argument_key;

/* `counters`: calls forwarded so far, and how many more to forward before the next miss (negative: all). `low`, `high`: the
 * sizes of calls that the row is for. `keys`: one for each parameter; NULL fits any arguments. `part`: a bit for each argument
 * of some, which together must have a size from `part_low` to `part_high`; 0 if the row does not ask for that. `shortest`: the
 * nanoseconds of the shortest call so far, of a row whose calls are timed; NULL for others. `asks_plain`: whether all arguments
 * must be plain (`is_plain`), which at most `*limit` items may tell. That follows the time of calls, of which to look at them may
 * take a thirtieth; also of rows that share it and do not ask. NULL where none does. */
typedef struct {
    object *target;
    int64_t *counters, low, high;
    const argument_key *keys;
    int64_t part, part_low, part_high, *shortest, asks_plain, *limit;
} cache_row;

typedef struct {
    definition definition, test;                        /* of tp_inline_cache and tp_is_for_original */
    object *miss, *original;
    parameter_list parameters;
    int64_t code_offset;                                /* of the field with the code in a Python function */
    int64_t row_count;
    const cache_row *rows;
} inline_cache;

/* The number of items of a list or tuple, which is in the same field of both. */
HOT static int64_t count_of(const object *sequence) { return ((const list *)sequence)->count; }

/* The type of the first item of a list or tuple; NULL for other objects. `first`: the item, or NULL. */
HOT static object *type_of_first(object *of, object **first)
{
    *first = 0;
    if ((object *)of->type == capi.lists) {
        if (!((list *)of)->count) return EMPTY_SEQUENCE;
        return (object *)(*first = ((list *)of)->items[0])->type;
    }
    if ((object *)of->type != capi.tuples) return 0;
    if (!count_of(of)) return EMPTY_SEQUENCE;
    *first = capi.item(of, 0);
    return (object *)(*first)->type;
}

/* Whether the argument `value` has the key `k`. */
HOT static int fits_key(const inline_cache *c, const argument_key *k, object *value)
{
    object *first, *second;
    if ((object *)value->type != k->type || (k->value && !is_object(value, k->value))) return 0;
    if (k->number >= 0) {
        const ndarray *a = (const ndarray *)value;
        if (k->item && !is_object((object *)a->dtype, k->item)) return 0;
        return a->dtype->number == k->number && a->rank == k->rank && (a->flags & LAYOUT) == k->flags
            && a->dtype->byteorder == k->byteorder;
    }
    if (k->code) return *(object **)((char *)value + c->code_offset) == k->code;
    if (!k->item) return 1;
    if (type_of_first(value, &first) != k->item) return 0;
    if (k->length >= 0 && count_of(value) != k->length) return 0;
    for (int64_t i = 1; i < k->length; i++) if ((object *)capi.item(value, i)->type != k->items[i]) return 0;
    return !k->inner || type_of_first(first, &second) == k->inner;
}

/* Whether `value` is a number of Python's, a str or None. */
HOT static inline int is_plain_item(const object *value)
{
    const object *type = (object *)value->type;
    return value == capi.none || type == py.floats || type == py.ints || type == capi.strings || type == py.bools;
}

/* Whether operators of `value` run no code of the user: it is plain, as `is_plain_item`, or a list, tuple or dict of such values. Takes the
 * number of items that it looks at from `left`; not plain if there are more. The last item of a sequence needs no further level:
 * linked lists may be long. */
HOT static int is_plain(object *value, int64_t *left, int levels)
{
    while (!is_plain_item(value)) {
        object *type = (object *)value->type, *key, *item;
        if (!levels) return 0;
        if (type == capi.dict) {
            intptr_t at = 0;
            while (capi.next(value, &at, &key, &item))
                if ((*left -= 2) < 0 || !is_plain(key, left, levels - 1) || !is_plain(item, left, levels - 1)) return 0;
            return 1;
        }
        if (type != capi.lists && type != capi.tuples) return 0;
        int64_t last = count_of(value) - 1;
        object *const *items = items_of(value);
        if (last < 0) return 1;
        if (!items || (*left -= last + 1) < 0) return 0;
        for (int64_t k = 0; k < last; k++) if (!is_plain_item(items[k]) && !is_plain(items[k], left, levels - 1)) return 0;
        value = items[last];
    }
    return 1;
}

/* Whether all arguments are plain, as `row` asks. */
HOT static int are_plain(const cache_row *row, object *const *given, int64_t count)
{
    int64_t left = *row->limit, k = 0;
    while (k < count && is_plain(given[k], &left, MOST_LEVELS)) k++;
    return k == count;
}

/* A size, or SIZE_LIMIT if it is larger, so that sums and products of sizes do not overflow. */
HOT static int64_t limited(int64_t size) { return size < SIZE_LIMIT ? size : SIZE_LIMIT; }

/* The part of an argument in `size_of_call`; 0 for objects that have none. */
HOT static int64_t size_of_argument(object *value)
{
    object *first, *second;
    int64_t size = 1;
    if ((object *)value->type == py.ndarray) {
        const ndarray *a = (const ndarray *)value;
        for (int k = 0; k < a->rank; k++) size = limited(size * limited(a->dims[k]));
        return size;
    }
    if ((object *)value->type == py.ints) {
        int over = 0;
        size = py.as_int(value, &over);
        return over ? SIZE_LIMIT : limited(size < 0 ? -(size + 1) : size);
    }
    object *type = (object *)value->type;
    if (type == lists.bytes || type == lists.bytearrays || type == lists.views || type == lists.arrays || type == lists.strs) {
        size = lists.length(value);                     /* of a memoryview that was released it raises */
        return size < 0 ? (capi.forget(), 0) : limited(size);
    }
    if (!type_of_first(value, &first)) return 0;
    size = limited(count_of(value));
    return first && type_of_first(first, &second) ? limited(size * limited(count_of(first))) : size;
}

/* The sizes of the attributes of `value` that are part of the size of a call. */
static int64_t size_of_attributes(object *value, object *const *name)
{
    int64_t size = 0;
    for (; *name && size < SIZE_LIMIT; name++) {
        object *member = capi.attribute(value, *name);
        if (member) size += size_of_argument(member), capi.drop(member);
        else capi.forget();
    }
    return size;
}

/* A measure of the work of a call: the elements of its arrays and sequences, and the magnitudes of its ints; of the arguments whose
 * bits are set in `part`. `keys`: what the arguments fit, or NULL. */
HOT static int64_t size_of_call(int64_t count, object *const *given, const argument_key *keys, uint64_t part)
{
    int64_t size = 0;
    for (int i = 0; i < count && size < SIZE_LIMIT; i++) {
        if (!(part >> i & 1)) continue;
        size += size_of_argument(given[i]);
        if (keys && keys[i].sized) size += size_of_attributes(given[i], keys[i].sized);
    }
    return limited(size);
}

/* Whether the row is for these arguments: each fits its key, and the size of the call is in the range of the row, and that of the
 * arguments in `part`, if it asks for these. `size`: that of the call for the keys of the row `last`, NULL if it is not known. */
HOT static int fits_row(const inline_cache *c, const cache_row *row, object *const *given, int64_t *size, const cache_row **last)
{
    int64_t count = c->parameters.count + c->parameters.takes_rest;
    for (int i = 0; row->keys && i < count; i++) if (!fits_key(c, &row->keys[i], given[i])) return 0;
    if (row->part) {
        int64_t part = size_of_call(count, given, row->keys, row->part);
        if (part < row->part_low || row->part_high < part) return 0;
    }
    if (row->low || row->high != SIZE_LIMIT) {
        if (!*last || (*last)->keys != row->keys) *size = size_of_call(count, given, row->keys, -1), *last = row;
        if (*size < row->low || row->high < *size) return 0;
    }
    return !row->asks_plain || are_plain(row, given, count);
}

/* The first row that fits these arguments (`fits_row`), if it may serve another call; else NULL. */
HOT static const cache_row *row_for(const inline_cache *c, object *const *given)
{
    int64_t size = 0;
    const cache_row *last = 0;
    for (const cache_row *row = c->rows; row < c->rows + c->row_count; row++)
        if (fits_row(c, row, given, &size, &last)) return row->counters[1] ? row : 0;
    return 0;
}

/* Counts a call that the row serves. */
HOT static void count_call(const cache_row *row)
{
    if (row->counters[1] > 0) --row->counters[1];       /* negative: for all calls */
    ++row->counters[0];
}

/* Whether the call that the row serves, which has been counted, is timed. */
HOT static int is_timed(const cache_row *row)
{
    return row->shortest || (row->limit && row->counters[0] % CALLS_PER_TIME == 1);
}

/* The result of a call that the row serves, or `miss` if it is NULL; NULL with an exception. The time of a call goes to `limit`, and to
 * `shortest` if it is the shortest, and has not raised. */
HOT static object *call_row(object *self, const cache_row *row, object *const *args, intptr_t count, object *names)
{
    const inline_cache *c = (const inline_cache *)((const ndarray *)self)->data;
    if (!row || !is_timed(row)) return forward(row ? row->target : c->miss, args, count, names);
    capi.hold(self);                                    /* with the row: the call may replace this cache */
    int64_t start = nanoseconds();
    object *answer = forward(row->target, args, count, names);
    int64_t taken = nanoseconds() - start;
    if (row->shortest && answer && taken < *row->shortest) *row->shortest = taken;
    if (row->limit) *row->limit = taken / NANOSECONDS_PER_ITEM + LEAST_LIMIT;
    capi.drop(self);
    return answer;
}

/* The positional arguments from number `first` on, as a function has them in ``*args``; NULL with an exception. */
static object *rest_of(const arguments *call, int64_t first)
{
    int64_t count = call->count < first ? 0 : call->count - first;
    object *rest = capi.tuple(count);
    for (int64_t i = 0; rest && i < count; i++) capi.hold(call->args[first + i]), capi.set_item(rest, i, call->args[first + i]);
    return rest;
}

enum { MOST_BORROWED = 12 };

/* A tuple on the stack, which holds none of its items: for functions that look at them, and keep neither. Where items begin is
 * `lists.in_tuple`. */
typedef struct { object head; int64_t count; object *words[MOST_BORROWED + 1]; } borrowed_tuple;

/* As `rest_of`, in `out`; NULL for more than MOST_BORROWED arguments, and where it is not known where a tuple has its items. */
HOT static object *borrowed_rest(const arguments *call, int64_t first, borrowed_tuple *out)
{
    int64_t count = call->count < first ? 0 : call->count - first, end = lists.in_tuple + count * (int64_t)sizeof(object *);
    if (!lists.in_tuple || count > MOST_BORROWED || end > (int64_t)sizeof *out) return 0;
    out->head.references = 2;                           /* so that it is never freed */
    out->head.type = capi.tuples;
    out->count = count;
    object **items = (object **)((char *)out + lists.in_tuple);
    for (int64_t i = 0; i < count; i++) items[i] = call->args[first + i];
    return &out->head;
}

/* The first row that fits the arguments of a call, which then counts as served; NULL if the call must go to `miss`. A function of its
 * own, so that its frame is gone from the stack when the call goes on: recursions come through here at each level. */
HOT __attribute__((noinline)) static const cache_row *row_of_call(
    const inline_cache *c, object *const *args, intptr_t count, object *names
)
{
    const arguments call = {args, count, names};
    const parameter_list *p = &c->parameters;
    object *given[MAX_GIVEN], *rest = 0;
    borrowed_tuple borrowed;
    int bound = bind_arguments(p, &call, given);
    if (bound && p->takes_rest && !(given[p->count] = borrowed_rest(&call, p->positional, &borrowed))) {
        rest = given[p->count] = rest_of(&call, p->positional);
        if (!rest) bound = 0, capi.forget();
    }
    const cache_row *row = bound ? row_for(c, given) : 0;
    if (rest) capi.drop(rest);
    if (row) count_call(row);
    return row;
}

/* The builtin: forwards the call to the target of the first row that fits it (`fits_row`). For a function with two rows:
 *
 *     f(x)      x: float64, 1000 elements    row 1: float64, from size 64 on       →    the compiled variant
 *     f(x)      x: float64, 10 elements      row 2: float64, sizes up to 63        →    the Python function, which is faster there
 *     f(y)      y: float32                   no row                                →    `miss`
 *
 * `miss` asks the dispatcher, which then adds a row. It is also called if the arguments cannot be bound here, as with a wrong
 * keyword, and if the row has served as many calls as it may (`counters`), so that the dispatcher decides again. */
HOT object *tp_inline_cache(object *self, object *const *args, intptr_t count, object *names)
{
    const inline_cache *c = (const inline_cache *)((const ndarray *)self)->data;
    return call_row(self, row_of_call(c, args, count, names), args, count, names);
}

/* The test (METH_FASTCALL): whether the first row that fits the arguments has the target `original`; then the call counts as served,
 * and the caller runs the statements of that function in place of the call. Arguments are positional only. */
object *tp_is_for_original(object *self, object *const *args, intptr_t count)
{
    const inline_cache *c = (const inline_cache *)((const ndarray *)self)->data;
    const cache_row *row = count == c->parameters.count && !c->parameters.takes_rest ? row_for(c, args) : 0;
    int is_for_original = row && row->target == c->original && !row->shortest;      /* a call that is timed is made */
    if (is_for_original) count_call(row);
    object *answer = is_for_original ? py.truth : capi.untruth;
    return capi.hold(answer), answer;
}

/* The method ``__get__(instance, owner)`` of fused functions (METH_FASTCALL), which binds one as a method; the function itself if the
 * instance is None. */
static object *bind_method(object *function, object *const *args, intptr_t count)
{
    if (!count || args[0] == capi.none) return capi.hold(function), function;
    return capi.method(function, args[0]);
}

method tp_get = {"__get__", bind_method, 0x0080, 0};

/* Where an object of `Vectorcall` (vectorcall.py) has the array whose data begins with the definition of its builtin, in bytes. */
enum { SPEC_OFFSET = sizeof(object) + sizeof(void *) };

/* The vectorcall function of fused functions: calls the builtin that is attached to the object `callable`, or ``__call__`` of its class
 * where none is. The bit of `count` that lets the callee overwrite the word before the arguments is not used.
 *
 * Where a row of an inline cache sends the call to a Python function, it jumps there, since that holds itself while it runs: each
 * level of a recursion that stays Python's then has no frame of ours on the stack. */
HOT object *tp_vectorcall(object *callable, object *const *args, uintptr_t count, object *names)
{
    object *self = *(object **)((char *)callable + SPEC_OFFSET), *answer;
    count &= INTPTR_MAX;
    if (!self) {
        if (!(self = capi.attribute((object *)callable->type, capi.call_name))) return 0;
        answer = forward(self, args, (intptr_t)count, names);
        return capi.drop(self), answer;
    }
    const definition *builtin = (const definition *)((const ndarray *)self)->data;
    int is_cache = builtin->call == (void *)tp_inline_cache;
    self->references++;                                 /* the call may attach another one */
    const cache_row *row = is_cache ? row_of_call((const inline_cache *)builtin, args, (intptr_t)count, names) : 0;
    if (row && !is_timed(row) && (object *)row->target->type == capi.function && (uint32_t)self->references > 1) {
        self->references--;
        return forward(row->target, args, (intptr_t)count, names);
    }
    if (is_cache) answer = call_row(self, row, args, (intptr_t)count, names);
    else answer = ((object *(*)(object *, object *const *, intptr_t, object *))builtin->call)(self, args, (intptr_t)count, names);
    if ((uint32_t)self->references == 1) capi.drop(self);
    else self->references--;
    return answer;
}
