/* The parts of a whole call that are not its kernel: looks up names, allocates arrays, and builds the result.
 *
 * The structs are filled in by native_entry.py, which writes their fields as int64 words in this order; `CallSpec` there
 * describes them. Rows of `program` are interpreted by `evaluate_length`, `allocate` and `build_object`. An object that
 * a function returns is owned by the caller, unless the comment says borrowed. Follows entry.c in one translation unit,
 * before items.c.
 */
enum { MAX_GIVEN = 64 };
enum { LITERAL, GIVEN, PYTHON, SCALAR, CHOSEN, TUPLE, LIST, CALLED, LISTED, MIXED, SHRUNK, ZIPPED };       /* rows of results */
enum { EMPTY, ZEROS, LIKE };                            /* rows of arrays; LIKE: with the shape and order of another */
enum { NUMBER, INTEGER, EXTENT, ADD, SUB, MUL, LEAST, MOST, DIV, STORED, SIZE };       /* rows of lengths */
enum { CHECKED, ATTRIBUTE, ITEM, ITEMS, KEYED };        /* kinds of a `derived_value` */
enum { SLOT = -1 };                                     /* a parameter that points to a result slot */

enum { MEMBER, ENTRY, HAS, CLASS, CODE, GLOBALS, DEFAULTS, NAMED_DEFAULTS, AT };        /* kinds of a `name_step` */

/* A step from one object to another: attribute `key` of a module; item `key` of a dict, or whether it has one; the class of an
 * object; the code, the globals or the defaults of a function; the item of a tuple whose index is in the place of the key. */
typedef struct { int64_t kind; object *key; } name_step;
/* A name (in a closure cell if `cell` is set; `fixed` in place of a name, if it is set), and steps from the object that it is
 * bound to; the object to which these must lead, or NULL. */
typedef struct { object *cell, *root, *fixed; int64_t step_count; const name_step *steps; object *expected; } name_binding;
/* The versions of the dicts in which names were looked up, in the order in which one leads to the next; `count` 0: none are known. */
enum { MAX_STAMPS = 6 };
typedef struct { int64_t count; struct { object *dict; int64_t version; } of[MAX_STAMPS]; } dict_stamps;
typedef struct { int64_t place; object *expected; } constant;           /* an argument that must be this object (`is_object`) */
/* A value derived from that of number `place`. CHECKED: no new value; the other one must be of class `of`, and have `number`
 * items unless that is -1. ATTRIBUTE `of`, ITEM `number` of a tuple, KEYED: the item of a dict with the key `of`; or ITEMS: an
 * array of the items of a list, which are stored back after the call if `number` is 1. */
typedef struct { int64_t kind, place; object *of; int64_t number; } derived_value;
typedef union {
    double f64; float f32; int64_t i64; int32_t i32; int16_t i16; int8_t i8; uint32_t u32; uint16_t u16; uint8_t u8;
} slot;
/* Preallocated memory for a snapshot. `busy`: in use; `calm`: calls that were copied for, since one in which something was raised. */
typedef struct { char *data; int64_t bytes, busy, calm; } copy_buffer;
typedef struct { object head; intptr_t count; object **items; } list;
typedef struct { const int64_t *dims; int rank; } shape;             /* NumPy's PyArray_Dims */
typedef struct { const char *name; void *call; intptr_t flags; const char *doc; } definition;
/* The arguments of a call: `count` positional ones, then those with the `names`, a tuple or NULL. */
typedef struct { object *const *args; intptr_t count; object *names; } arguments;
/* Parameters of `function` in order, the first `positional` of `count` not keyword-only. Their names are NULL where positional
 * only, their defaults where there is none; those of positional ones are from the tuple `last`, or NULL. `takes_further`: calls
 * may have further keywords, which are not bound; `takes_rest`: further positional arguments, which `bind_arguments` does not
 * bind either. */
typedef struct {
    object *const *defaults, *const *keywords;
    int64_t count, positional, takes_further, takes_rest;
    object *function, *last;
} parameter_list;

typedef struct {
    definition definition;
    int64_t (*kernel)(const tp_array *, const tp_scalar *);
    object **raised;                                    /* the exception of a signal handler that stopped the kernel */
    int64_t *calls;
    const int64_t *silent;                              /* status bits without effect in the quiet state of this number */
    object *python, *on_status, *names, *builtins;
    parameter_list parameters;
    int64_t constant_count, guarded_count, captured_count, derived_count;
    int64_t allocated_count, value_count, param_count, needs_quiet, stores_lists;
    const constant *constants;
    const name_binding *guarded_names, *captured;
    int64_t in_dicts;                                   /* how many of the first guarded names are found in dicts alone */
    dict_stamps *stamps;                                /* of these dicts, when the names were looked up last */
    object **captured_values;                           /* what the captured names were bound to then; NULL: not by dicts alone */
    const derived_value *derived;
    const param *params;
    const int64_t *allocated, *sources, *program;
    object *saves;                                      /* a Python function that copies the written arrays; or NULL */
    copy_buffer *copy_buffer;
    int64_t max_copied, max_copied_calm;                /* bytes of a snapshot, at first and for a calm kernel (`take_snapshot`) */
    int64_t write_count, pair_count;
    const int64_t *writes, *shared;                     /* pairs: copied only where the arrays of a pair are the same */
} call_spec;

static struct {
    object *module, *function, *dict, *untruth, *none, *tuples, *lists, *errors, *repeatable, *strings, *dtype_classes;
    object *call_name;                                  /* the str ``__call__`` */
    object *recursion;                                  /* RecursionError */
    object *(*get)(object *, const object *);                 /* of a dict; borrowed */
    object *(*contents)(object *);                      /* of a cell; owned */
    object *(*attributes)(object *);                    /* of a module; borrowed */
    object *(*attribute)(object *, object *);
    int (*variable)(object *, object *, object **);
    int (*equal)(object *, object *, int);
    object *(*call)(object *, object *, object *);          /* with a tuple and a dict, or NULL */
    object *(*forward)(object *, object *const *, uintptr_t, object *);     /* PyObject_Vectorcall; NULL in Python 3.10 */
    object *(*float_)(double);
    object *(*tuple)(intptr_t);
    int (*set_item)(object *, intptr_t, object *);
    object *(*list)(intptr_t);
    int (*set_element)(object *, intptr_t, object *);
    object *(*item)(object *, intptr_t);
    intptr_t (*length)(object *);                       /* of a tuple */
    object *(*new_dict)(void);
    int (*set_entry)(object *, object *, object *);         /* PyDict_SetItem */
    int (*next)(object *, intptr_t *, object **, object **);        /* PyDict_Next */
    void (*hold)(object *), (*drop)(object *);
    void (*restore)(object *, object *, object *), (*forget)(void);
    object *(*raised)(void);                            /* PyErr_Occurred */
    void (*fetch)(object **, object **, object **), (*normalize)(object **, object **, object **);
    int (*set_trace)(object *, object *), (*matches)(object *);     /* PyException_SetTraceback, PyErr_ExceptionMatches */
    object *(*defaults)(object *), *(*named_defaults)(object *);    /* PyFunction_GetDefaults, PyFunction_GetKwDefaults */
    object *(*code)(object *), *(*globals)(object *);   /* of a function; borrowed */
    object *(*method)(object *, object *);              /* PyMethod_New */
    void (*raise)(object *, const char *);              /* PyErr_SetString */
    object *(*scalar)(void *, object *, object *);      /* PyArray_Scalar */
    object *(*zeros)(int, const int64_t *, object *, int), *(*empty)(int, const int64_t *, object *, int);
    object *(*resize)(object *, const shape *, int, int), *(*new_like)(const ndarray *, int, object *, int);
    intptr_t version_offset;                            /* of the version of a dict, which each change replaces; 0: it has none */
} capi;

/* The result of a Python function called with these objects. */
static object *call_with(object *function, int64_t count, object *const *given)
{
    object *args = capi.tuple(count), *answer;
    if (!args) return 0;
    for (int i = 0; i < count; i++) capi.hold(given[i]), capi.set_item(args, i, given[i]);
    answer = capi.call(function, args, 0);
    capi.drop(args);
    return answer;
}

#ifdef __linux__
/* pthread.h, without the time to read it; a pthread_attr_t has at most 64 bytes. */
typedef struct { int64_t words[16]; } thread_attributes;
uintptr_t pthread_self(void);
int pthread_getattr_np(uintptr_t, thread_attributes *), pthread_attr_destroy(thread_attributes *);
int pthread_attr_getstack(const thread_attributes *, void **, uintptr_t *);

enum { STACK_MARGIN = 256 * 1024 };                     /* bytes of the stack that are left for what does not come here */

/* The stack of this thread: its lowest address, and the one down to which `forward` calls. */
typedef struct { char *end, *floor; } stack_bounds;
static __thread stack_bounds stack_of_thread;

/* Finds the stack of this thread. */
static void find_stack(stack_bounds *out)
{
    thread_attributes attributes;
    uintptr_t size = 0;
    void *end = 0;
    if (!pthread_getattr_np(pthread_self(), &attributes)) {
        pthread_attr_getstack(&attributes, &end, &size);
        pthread_attr_destroy(&attributes);
    }
    out->end = end;
    out->floor = out->end + (size / 4 < STACK_MARGIN ? size / 4 : STACK_MARGIN) + !end;
}

/* Whether hardly any stack is left. Python 3.11 counts calls alone: those of Python functions by one another need no stack there, so
 * its limit may be higher than the stack allows for calls through C. */
HOT static int is_stack_short(void)
{
    char here;
    stack_bounds *stack = &stack_of_thread;
    __asm__("" : "+r"(stack));                          /* else gcc asks for the address of the thread's variables twice */
    if (!stack->floor) find_stack(stack);
    return stack->end < &here && &here < stack->floor;  /* not on a stack that another library has made */
}
#else
static int is_stack_short(void) { return 0; }
#endif

/* `forward` in Python 3.10. */
static object *forward_in_tuple(object *function, object *const *args, intptr_t count, object *names)
{
    object *positional = capi.tuple(count), *named = names ? capi.new_dict() : 0, *answer = 0;
    int64_t further = names ? capi.length(names) : 0, k = 0;
    if (positional && (named || !names)) {
        for (; k < count; k++) capi.hold(args[k]), capi.set_item(positional, k, args[k]);
        for (k = 0; k < further && capi.set_entry(named, capi.item(names, k), args[count + k]) >= 0; k++) continue;
        if (k == further) answer = capi.call(function, positional, named);
    }
    if (positional) capi.drop(positional);
    if (named) capi.drop(named);
    return answer;
}

/* The result of a call of `function` with the arguments of a builtin with keywords (METH_FASTCALL): `count` positional ones, then
 * those with the `names`, a tuple or NULL. NULL with an exception; RecursionError if hardly any stack is left. */
HOT static object *forward(object *function, object *const *args, intptr_t count, object *names)
{
    if (is_stack_short()) return capi.raise(capi.recursion, "maximum recursion depth exceeded"), (object *)0;
    if (capi.forward) return capi.forward(function, args, (uintptr_t)count, names);
    return forward_in_tuple(function, args, count, names);
}

/* Whether Python must do what has failed: there is no exception, or one that is forgotten, since Python will raise it again, or
 * succeed, as where there is no memory for copies. Else it stays: a signal handler has raised, such as that of Ctrl-C, which is called
 * once. The Python function `repeatable` decides. */
static int may_repeat(void)
{
    object *class, *error, *trace;
    if (!capi.raised()) return 1;
    capi.fetch(&class, &error, &trace);
    capi.normalize(&class, &error, &trace);
    if (trace) capi.set_trace(error, trace);
    object *answer = call_with(capi.repeatable, 1, &error);
    int may = answer ? answer == py.truth : capi.matches(capi.errors);     /* no answer: there is no stack for it, or Ctrl-C */
    if (answer && !may) return capi.drop(answer), capi.restore(class, error, trace), 0;
    if (answer) capi.drop(answer);
    else if (may) capi.forget();
    capi.drop(class), capi.drop(error);
    if (trace) capi.drop(trace);
    return may;
}

/* Whether `given` is the object `wanted`, or an equal one that is a str, an int or a dtype: to compare these runs no code of the user. */
HOT static int is_object(object *given, object *wanted)
{
    if (given == wanted) return 1;
    if (given->type != wanted->type) return 0;
    object *type = (object *)given->type;
    if (type != capi.strings && type != py.ints && (object *)type->type != capi.dtype_classes) return 0;
    int same = capi.equal(given, wanted, 2);
    return same < 0 ? (capi.forget(), 0) : same;
}

/* The version of a dict, if dicts have one. */
HOT static int64_t version_of(object *dict) { return *(int64_t *)((char *)dict + capi.version_offset); }

/* The quiet state (see float_errors.py): the context variable of the error state, the dict and name of the warning filters,
 * and the values of both under which no floating-point condition can raise in the middle of a loop. */
static object *quiet[5];
static int64_t quiet_number;                            /* counts quiet states */

void tp_bind_whole(const uintptr_t *addresses)
{
    for (unsigned i = 0; i < sizeof capi / sizeof *addresses; i++) ((uintptr_t *)&capi)[i] = addresses[i];
}

void tp_set_quiet_state(object *variable, object *names, object *filters, object *state, object *known, int64_t number)
{
    quiet_number = number;
    object *now[] = {variable, names, filters, state, known}, *before[5];
    for (int i = 0; i < 5; i++) capi.hold(now[i]), before[i] = quiet[i], quiet[i] = now[i];
    for (int i = 0; i < 5; i++) if (before[i]) capi.drop(before[i]);
}

/* Whether the objects are lists of the same items. */
HOT static int have_same_items(const object *a, const object *b)
{
    const list *x = (const list *)a, *y = (const list *)b;
    if (a->type != capi.lists || b->type != capi.lists || x->count != y->count) return 0;
    int64_t k = 0;
    while (k < x->count && x->items[k] == y->items[k]) k++;
    return k == x->count;
}

/* The warning filters; borrowed. They are looked up again only after their dict has changed. */
HOT static object *present_filters(void)
{
    static object *found;
    static int64_t version;
    if (found && capi.version_offset && version == version_of(quiet[1])) return found;
    if (capi.version_offset) version = version_of(quiet[1]);
    return found = capi.get(quiet[1], quiet[2]);
}

/* Whether the quiet state holds now. */
HOT static int is_quiet(void)
{
    object *state = 0, *filters, *known = quiet[4];
    if (!known || capi.variable(quiet[0], 0, &state) < 0 || !state) return 0;
    capi.drop(state);                                   /* only its address is compared */
    filters = state == quiet[3] ? present_filters() : 0;
    if (!filters) return 0;
    if (have_same_items(filters, known)) return 1;
    capi.hold(filters), capi.hold(known);               /* the comparison may run arbitrary code */
    int same = capi.equal(filters, known, 2) == 1;
    capi.drop(filters), capi.drop(known);
    return same;
}

/* The object that the root of `m` is bound to; NULL if it is unbound. */
static object *root_of(const call_spec *w, const name_binding *m)
{
    if (m->cell) return capi.contents(m->cell);
    object *found = m->fixed ? m->fixed : capi.get(w->names, m->root);
    if (!found) found = capi.get(w->builtins, m->root);
    if (found) capi.hold(found);
    return found;
}

/* Notes the version of a dict before a name is looked up in it; `seen` may be NULL. */
static void add_stamp(dict_stamps *seen, object *dict)
{
    if (!seen || !capi.version_offset || seen->count < 0) return;
    for (int64_t k = 0; k < seen->count; k++) if (seen->of[k].dict == dict) return;
    if (seen->count == MAX_STAMPS) seen->count = -1;
    else seen->of[seen->count].dict = dict, seen->of[seen->count++].version = version_of(dict);
}

/* Whether there are stamps, and no dict has changed since. A dict is alive, and may be asked, if those before it have not changed:
 * the first two belong to the function, and one of the others leads to the object that the next one belongs to. */
HOT static int stamps_hold(const dict_stamps *s)
{
    int64_t k = 0;
    while (k < s->count && version_of(s->of[k].dict) == s->of[k].version) k++;
    return k && k == s->count;
}

/* The object to which the steps of `m` lead from its root; borrowed, NULL if there is none. `seen`: see `add_stamp`. */
static object *follow(object *x, const name_binding *m, dict_stamps *seen)
{
    for (const name_step *step = m->steps; x && step < m->steps + m->step_count; step++) {
        int is_function = x->type == capi.function, is_dict = x->type == capi.dict;
        if (is_dict) add_stamp(seen, x);
        switch (step->kind) {
        case MEMBER:
            if (x->type == capi.module) add_stamp(seen, capi.attributes(x)), x = capi.get(capi.attributes(x), step->key);
            else x = 0;
            break;
        case ENTRY: x = is_dict ? capi.get(x, step->key) : 0; break;
        case HAS: x = !is_dict ? 0 : capi.get(x, step->key) ? py.truth : capi.untruth; break;
        case CLASS: x = (object *)x->type; break;
        case CODE: x = is_function ? capi.code(x) : 0; break;
        case GLOBALS: x = is_function ? capi.globals(x) : 0; break;
        case DEFAULTS: x = is_function ? capi.defaults(x) : 0; break;
        case NAMED_DEFAULTS: x = is_function ? capi.named_defaults(x) : 0; break;
        default: x = x->type == capi.tuples && (intptr_t)step->key < capi.length(x) ? capi.item(x, (intptr_t)step->key) : 0;
        }
    }
    return x;
}

/* The object that a name, with its steps, is bound to; NULL if it is unbound. */
static object *lookup(const call_spec *w, const name_binding *m)
{
    object *root = root_of(w, m), *found = root ? follow(root, m, 0) : 0;
    if (found) capi.hold(found);
    if (root) capi.drop(root);
    return found;
}

/* As `lookup` for a name that is found in dicts alone; borrowed. `seen`: see `add_stamp`. */
static object *lookup_in_dicts(const call_spec *w, const name_binding *m, dict_stamps *seen)
{
    add_stamp(seen, w->names), add_stamp(seen, w->builtins);
    object *root = root_of(w, m), *found = root ? follow(root, m, seen) : 0;
    if (root) capi.drop(root);                          /* a dict keeps it */
    return found;
}

/* Whether each of the names from `m` on is bound to what it has to be; `seen`: see `add_stamp`. */
static int names_hold(const call_spec *w, const name_binding *m, const name_binding *end, dict_stamps *seen)
{
    object *root = 0;                                   /* owned */
    for (const name_binding *last = 0; m < end; last = m++) {
        if (!last || m->root != last->root || m->fixed != last->fixed) {
            if (root) capi.drop(root);
            add_stamp(seen, w->names), add_stamp(seen, w->builtins);
            root = root_of(w, m);
        }
        if (!root || follow(root, m, seen) != m->expected) break;
    }
    if (root) capi.drop(root);
    return m == end;
}

/* The binding guards of a call: whether every name that was inlined or expanded is still bound to the object for which the kernel
 * was compiled. Only addresses are compared, and dicts of modules read, so that no code of the user's runs:
 *
 *     np.sqrt    →    root: the global name `np`; one step MEMBER "sqrt"; expected: the function sqrt of NumPy
 *
 * Names with one root are adjacent, so that the root is looked up once. `perform` (whole.c) calls this first: where it gives 0, the
 * Python wrapper serves the call. `with_binding_guards` (transpile/lower/binding_guards.py) says which names there are.
 *
 * Names that are found in dicts alone, such as globals and members of modules, come first. They, and the captured names if all are such,
 * are looked up again only after one of these dicts has changed: up to version 3.13 CPython gives a dict another version at each change
 * (`dict_version_offset` in object_layout.py). */
HOT static int guarded_names_hold(const call_spec *w)
{
    const name_binding *first = w->guarded_names, *other = first + w->in_dicts;
    if (!stamps_hold(w->stamps)) {
        dict_stamps seen = {0};
        if (!names_hold(w, first, other, &seen)) return 0;
        for (int i = 0; w->captured_values && i < w->captured_count; i++)
            w->captured_values[i] = lookup_in_dicts(w, &w->captured[i], &seen);
        *w->stamps = seen;
    }
    return w->in_dicts == w->guarded_count || names_hold(w, other, first + w->guarded_count, 0);
}

/* The length that the row at `at` describes goes to `out`; gives 1, or 0 where the Python wrapper has to serve the call instead: a
 * value is no int or array of the expected kind, or a result does not fit. */
HOT static int evaluate_length(const call_spec *w, int64_t at, object *const *given, int64_t *out)
{
    const int64_t *r = &w->program[at];
    int64_t a, b;
    int over = 0;
    switch (r[0]) {
    case NUMBER: *out = r[1]; return 1;
    case SIZE: {
        const ndarray *array = (const ndarray *)given[r[1]];
        if (array->head.type != py.ndarray) return 0;
        *out = 1;
        for (int k = 0; k < array->rank; k++) over |= __builtin_mul_overflow(*out, array->dims[k], out);
        return !over;
    }
    case STORED: *out = *(const int64_t *)r[1]; return 1;
    case INTEGER:
        if (given[r[1]]->type != (object *)r[2]) return 0;
        *out = py.as_int(given[r[1]], &over);
        return !over;
    case EXTENT: {
        const ndarray *array = (const ndarray *)given[r[1]];
        if (array->head.type != py.ndarray || array->rank <= r[2]) return 0;
        *out = array->dims[r[2]];
        return 1;
    }
    default:
        if (!evaluate_length(w, r[1], given, &a) || !evaluate_length(w, r[2], given, &b)) return 0;
        switch (r[0]) {
        case ADD: return !__builtin_add_overflow(a, b, out);
        case SUB: return !__builtin_sub_overflow(a, b, out);
        case MUL: return !__builtin_mul_overflow(a, b, out);
        case LEAST: *out = b < a ? b : a; return 1;
        case DIV: return b > 0 && (*out = a / b - (a % b < 0), 1);      /* rounded down */
        default: *out = b > a ? b : a; return 1;
        }
    }
}

/* A new array by the row `r`: kind, dtype (0: that of another array), number of that array, rank, and rows of lengths; of LIKE, in place
 * of lengths, the bytes of an item if it is to be zeroed (else 0), and the dtype that the array must get. NULL where the Python wrapper
 * has to serve the call instead (`evaluate_length`: or the other array is of another signature), or with an exception. */
HOT static object *allocate(const call_spec *w, const int64_t *r, object *const *given)
{
    int64_t dims[MAX_RANK];
    object *descr = (object *)r[1];
    const ndarray *like = descr && r[0] != LIKE ? 0 : (const ndarray *)given[r[2]];
    if (like && (like->head.type != py.ndarray || (r[0] == LIKE && like->rank != r[3]))) return 0;
    if (r[0] == LIKE) {
        enum { KEEP_ORDER = 2 };                        /* NPY_KEEPORDER, as np.empty_like has it */
        if (!descr && !is_dtype(like->dtype, (const void *)r[5])) return 0;
        if (descr) capi.hold(descr);
        ndarray *made = (ndarray *)capi.new_like(like, KEEP_ORDER, descr, 0);
        int64_t bytes = r[4];                           /* of an item, if it is np.zeros_like; its items adjoin */
        for (int k = 0; made && k < made->rank; k++) bytes *= made->dims[k];
        if (made && bytes) __builtin_memset(made->data, 0, bytes);
        return (object *)made;
    }
    if (!descr) descr = (object *)like->dtype;
    for (int k = 0; k < r[3]; k++) if (!evaluate_length(w, r[4 + k], given, &dims[k]) || dims[k] < 0) return 0;
    capi.hold(descr);
    return (r[0] == ZEROS ? capi.zeros : capi.empty)((int)r[3], dims, descr, 0);
}

/* The value of a slot as an integer; `letter` is the format letter of its dtype. */
static long long slot_as_integer(const slot *s, int64_t letter)
{
    switch (letter) {
    case 'd': return (long long)s->f64;
    case 'f': return (long long)s->f32;
    case 'b': return s->i8;
    case 'h': return s->i16;
    case 'i': return s->i32;
    case 'B': case '?': return s->u8;
    case 'H': return s->u16;
    case 'I': return s->u32;
    default: return s->i64;
    }
}

/* The value of a slot as a double. */
static double slot_as_double(const slot *s, int64_t letter)
{
    if (letter == 'Q') return (double)(uint64_t)s->i64;
    return letter == 'd' ? s->f64 : letter == 'f' ? s->f32 : (double)slot_as_integer(s, letter);
}

/* The format letter of a dtype that `python_number` can read: float64, float32, bool and the integers ("l" and "L", C's long, as the
 * letter of that size). 0 for others: float16, complex numbers. */
static int element_letter(const descr *d)
{
    int letter = d->letter == 'l' ? (sizeof(long) == 8 ? 'q' : 'i') : d->letter == 'L' ? (sizeof(long) == 8 ? 'Q' : 'I') : d->letter;
    if (letter) for (const char *known = "dfqihbQIHB?"; *known; known++) if (letter == *known) return letter;
    return 0;
}

/* The Python number of a kind, 'd' float, 'q' int or '?' bool, from a slot or an element whose dtype has this format letter; NULL with
 * an exception. */
static object *python_number(const slot *s, int64_t kind, int64_t letter)
{
    if (kind == 'd') return capi.float_(slot_as_double(s, letter));
    if (kind == 'q') return letter == 'Q' ? py.from_word((unsigned long long)s->i64) : py.from_int(slot_as_integer(s, letter));
    object *made = slot_as_double(s, letter) != 0 ? py.truth : capi.untruth;
    return capi.hold(made), made;
}

/* The scalar of NumPy of the dtype `descr`, whose format letter is `as`, for the number in a slot of the dtype with the format letter
 * `letter`; `as` 0: the slot has the dtype itself. NULL with an exception. Another conversion than that to `as` is not made: it may raise a
 * flag, which the next call would have to clear. */
static object *scalar_of_slot(const slot *s, object *descr, int64_t letter, int64_t as)
{
    slot made;
    switch (as) {
    case 0: made = *s; break;
    case 'd': made.f64 = slot_as_double(s, letter); break;
    case 'f': made.f32 = (float)slot_as_double(s, letter); break;
    case '?': made.u8 = slot_as_double(s, letter) != 0; break;
    case 'q': case 'Q': made.i64 = slot_as_integer(s, letter); break;
    case 'i': made.i32 = (int32_t)slot_as_integer(s, letter); break;
    case 'h': made.i16 = (int16_t)slot_as_integer(s, letter); break;
    case 'b': made.i8 = (int8_t)slot_as_integer(s, letter); break;
    case 'I': made.u32 = (uint32_t)slot_as_integer(s, letter); break;
    case 'H': made.u16 = (uint16_t)slot_as_integer(s, letter); break;
    default: made.u8 = (uint8_t)slot_as_integer(s, letter);
    }
    return capi.scalar(&made, descr, 0);
}

/* The part of an array that begins at `from` and has the axes from number `axis` on, as a list of `count` items along that axis; with
 * further axes a list of lists. The elements are Python numbers of the kind `kind` (`python_number`), or NumPy's scalars if that is 0.
 * `flags`: NULL, or the corresponding part of a bool array of the same shape, whose strides are `flag_strides`: where that is true, the
 * element is a Python number of the kind `flagged`. NULL with an exception. */
static object *list_of_elements(
    const ndarray *a, int axis, const char *from, int64_t count, int64_t kind, const char *flags, const intptr_t *flag_strides,
    int64_t flagged)
{
    int letter = element_letter(a->dtype);
    object *made = capi.list(count), *item;
    for (int64_t k = 0; made && k < count; k++, from += a->strides[axis]) {
        int64_t as = flags && *flags ? flagged : kind;
        if (axis + 1 < a->rank)
            item = list_of_elements(a, axis + 1, from, a->dims[axis + 1], kind, flags, flag_strides, flagged);
        else item = as ? python_number((const slot *)from, as, letter) : capi.scalar((void *)from, (object *)a->dtype, 0);
        if (!item) return capi.drop(made), (object *)0;
        ((list *)made)->items[k] = item;
        if (flags) flags += flag_strides[axis];
    }
    return made;
}

/* An array that the call has allocated, cut to its first `count` rows, or NULL with an exception. As np.array makes an array of a
 * list: without elements it is a new one, whose dtype is `descr`. */
static object *shrink(ndarray *a, int64_t count, object *descr)
{
    int64_t dims[MAX_RANK], size = 1;
    for (int k = 0; k < a->rank; k++) size *= dims[k] = k ? a->dims[k] : count;
    if (!size) return capi.hold(descr), capi.empty(a->rank, dims, descr, 0);
    if (count != a->dims[0]) {
        object *none = capi.resize((object *)a, &(shape){dims, a->rank}, 0, 0);
        if (!none) return 0;
        capi.drop(none);
    }
    return capi.hold((object *)a), (object *)a;
}

/* The list of the tuples that Python's ``zip`` makes of `count` lists, which are the items of the tuple `lists`; NULL with an
 * exception. Items are moved, not copied: nothing but the tuple may refer to the lists, which are left with NULL for items. */
static object *zip_lists(object *lists, int64_t count)
{
    int64_t length = ((list *)capi.item(lists, 0))->count;
    for (int64_t j = 1; j < count; j++) {
        int64_t other = ((list *)capi.item(lists, j))->count;
        if (other < length) length = other;
    }
    object *made = capi.list(length);
    for (int64_t k = 0; made && k < length; k++) {
        object *row = capi.tuple(count);
        if (!row) return capi.drop(made), (object *)0;
        for (int64_t j = 0; j < count; j++) {
            object **from = &((list *)capi.item(lists, j))->items[k];
            capi.set_item(row, j, *from);
            *from = 0;
        }
        ((list *)made)->items[k] = row;
    }
    return made;
}

/* The object that the row `r` of `program` describes, a new reference; NULL with an exception. `ResultProgram`
 * (transpile/runtime/kernel_call/native_result.py) makes the rows. `given`: the objects of the call; `slots`: scalars that the kernel has
 * stored; a part is the index of its row in `program`. The words after the kind of a row:
 *
 *     LITERAL object              this object, such as None
 *     GIVEN k                     the object number k of the call: an argument, or an array that was allocated for the result
 *     PYTHON kind slot letter     a float ('d'), int ('q') or bool of Python, from a slot of the dtype with that letter
 *     SCALAR descr slot letter as a scalar of NumPy, from a slot of the dtype with this letter; as: see `scalar_of_slot`
 *     CHOSEN flag a b             the row a if the slot `flag` is true, else the row b
 *     CALLED function args        the result of a Python function; args: a row that makes a tuple
 *     TUPLE n parts..., LIST n parts...
 *     LISTED k slot letter weak other  a list of the elements of the array number k, as many as the slot says (-1: all), as Python's
 *                                 numbers if `weak`, else NumPy's. With several axes and `weak` a list of lists; without `weak`
 *                                 the items are arrays, which C does not make: the row `other`, a call of Python, which is also
 *                                 for dtypes that `element_letter` does not know, such as float16
 *     MIXED k slot letter weak other flags kind    as LISTED, but the items for which the bool array number `flags` is true are
 *                                 Python's numbers of this kind (`python_number`); of several axes a list of lists in any case
 *     ZIPPED lists                a list of tuples; lists: a row that makes a tuple of the lists of their first, second, … items
 *     SHRUNK k slot letter descr  the array number k, cut to as many rows as the slot says (-1: all); see `shrink`
 */
static object *build_object(const call_spec *w, const int64_t *r, object *const *given, slot *slots)
{
    object *made;
    switch (r[0]) {
    case LITERAL: return capi.hold((object *)r[1]), (object *)r[1];
    case GIVEN: return capi.hold(given[r[1]]), given[r[1]];
    case PYTHON: return python_number(&slots[r[2]], r[1], r[3]);
    case SCALAR: return scalar_of_slot(&slots[r[2]], (object *)r[1], r[3], r[4]);
    case CHOSEN: return build_object(w, &w->program[slots[r[1]].u8 ? r[2] : r[3]], given, slots);
    case CALLED: {
        object *args = build_object(w, &w->program[r[2]], given, slots);
        if (!args) return 0;
        made = capi.call((object *)r[1], args, 0);
        capi.drop(args);
        return made;
    }
    case ZIPPED: {
        object *lists = build_object(w, &w->program[r[1]], given, slots);
        if (!lists) return 0;
        made = zip_lists(lists, w->program[r[1] + 1]);
        capi.drop(lists);
        return made;
    }
    case LISTED: case MIXED: case SHRUNK: {
        ndarray *a = (ndarray *)given[r[1]];
        int64_t count = r[2] < 0 ? a->dims[0] : slot_as_integer(&slots[r[2]], r[3]);
        if (r[0] == SHRUNK) return shrink(a, count, (object *)r[4]);
        int letter = element_letter(a->dtype);
        int64_t kind = !r[4] ? 0 : letter == 'd' || letter == 'f' ? 'd' : letter == '?' ? '?' : 'q';
        if (!letter || (r[0] == LISTED && a->rank > 1 && !kind)) return build_object(w, &w->program[r[5]], given, slots);
        if (r[0] == LISTED) return list_of_elements(a, 0, a->data, count, kind, 0, 0, 0);
        const ndarray *flags = (const ndarray *)given[r[6]];
        return list_of_elements(a, 0, a->data, count, kind, flags->data, flags->strides, r[7]);
    }
    default:
        made = r[0] == TUPLE ? capi.tuple(r[1]) : capi.list(r[1]);
        for (int k = 0; made && k < r[1]; k++) {
            object *item = build_object(w, &w->program[r[2 + k]], given, slots);
            if (!item) return capi.drop(made), (object *)0;
            (r[0] == TUPLE ? capi.set_item : capi.set_element)(made, k, item);
        }
        return made;
    }
}

