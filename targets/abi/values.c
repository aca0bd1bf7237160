/* What a whole call needs besides its kernel: what names mean, arrays that are made for it, its results as objects.
 *
 * Follows entry.c in one translation unit, and goes before items.c.
 */
enum { MAX_GIVEN = 64 };
enum { LITERAL, GIVEN, PYTHON, SCALAR, CHOSEN, TUPLE, LIST, CALLED };   /* what a result is */
enum { EMPTY, ZEROS, LIKE };                            /* how an array is made */
enum { NUMBER, INTEGER, EXTENT, ADD, SUB, MUL, LEAST, MOST };       /* what a length is computed from */
enum { CHECKED, ATTRIBUTE, ITEM, ITEMS };               /* what comes of a value */
enum { SLOT = -1 };                                     /* in place of the object that a parameter is given */
enum { REPLAY = 16 };                                   /* the bit of a status by which Python must answer */

/* A name, of a cell or not, or an attribute of that module; what it must mean, by identity, if anything. */
typedef struct { object *cell, *root, *attribute, *wanted; } meaning;
typedef struct { int64_t place; object *wanted; } constant;             /* a value that must be this very object */
/* CHECKED: of that class, and of so many items unless that is -1. Else another value: an attribute, an item of a tuple,
 * or an array of the items, which are put back if `number` says so. */
typedef struct { int64_t what, place; object *of; int64_t number; } part;
typedef union {
    double f64; float f32; int64_t i64; int32_t i32; int16_t i16; int8_t i8; uint32_t u32; uint16_t u16; uint8_t u8;
} slot;
typedef struct { char *data; int64_t bytes, busy; } shelf;     /* room for copies */
typedef struct { const char *name; void *call; intptr_t flags; const char *doc; } definition;

typedef struct {
    definition definition;
    int64_t (*kernel)(const tp_array *, const tp_scalar *);
    object **raised;                                    /* the exception that stopped the kernel */
    int64_t *calls;
    object *python, *ended, *names, *builtins;
    object **defaults, **keywords;
    int64_t arguments, constant, meant, taken, parts, made, values, count, wary, puts;
    const constant *constants;
    const meaning *meanings, *captured;
    const part *part;
    const param *params;
    const int64_t *fresh, *sources, *program;
    object *saves;                                      /* copies what the kernel overwrites; or NULL */
    shelf *shelf;
    int64_t most, written, pairs;
    const int64_t *writes, *shared;                     /* where there are pairs: where one has one memory */
} whole;

static struct {
    object *module, *untruth, *none;
    object *(*get)(object *, const object *);                 /* of a dict; borrowed */
    object *(*contents)(object *);                      /* of a cell; owned */
    object *(*attributes)(object *);                    /* of a module; borrowed */
    object *(*attribute)(object *, object *);
    int (*variable)(object *, object *, object **);
    int (*equal)(object *, object *, int);
    object *(*call)(object *, object *, object *);
    object *(*float_)(double);
    object *(*tuple)(intptr_t);
    int (*set_item)(object *, intptr_t, object *);
    object *(*list)(intptr_t);
    int (*set_element)(object *, intptr_t, object *);
    object *(*item)(object *, intptr_t);
    intptr_t (*length)(object *), (*keys)(object *);
    void (*hold)(object *), (*drop)(object *);
    void (*restore)(object *, object *, object *), (*forget)(void);
    object *(*scalar)(void *, object *, object *);      /* PyArray_Scalar */
    object *(*zeros)(int, const int64_t *, object *, int), *(*empty)(int, const int64_t *, object *, int);
} more;

/* The error state and the warnings' filters under which nothing can raise in mid-loop, and where they stand now. */
static object *calm[5];

void tp_bind_whole(const uintptr_t *lent)
{
    for (unsigned i = 0; i < sizeof more / sizeof *lent; i++) ((uintptr_t *)&more)[i] = lent[i];
}

void tp_calm(object *variable, object *names, object *filters, object *state, object *known)
{
    object *now[] = {variable, names, filters, state, known}, *before[5];
    for (int i = 0; i < 5; i++) more.hold(now[i]), before[i] = calm[i], calm[i] = now[i];
    for (int i = 0; i < 5; i++) if (before[i]) more.drop(before[i]);
}

static int is_calm(void)
{
    object *state = 0, *filters, *known = calm[4];
    if (!known || more.variable(calm[0], 0, &state) < 0 || !state) return 0;
    more.drop(state);                                   /* its identity is all that is asked */
    filters = state == calm[3] ? more.get(calm[1], calm[2]) : 0;
    if (!filters) return 0;
    more.hold(filters), more.hold(known);               /* comparing may run anything */
    int same = more.equal(filters, known, 2) == 1;
    more.drop(filters), more.drop(known);
    return same;
}

/* What a name means now, owned; NULL where only Python can tell. */
static object *value_of(const whole *w, const object *root, object *cell)
{
    object *found = cell ? more.contents(cell) : more.get(w->names, root);
    if (cell) return found;
    if (!found) found = more.get(w->builtins, root);
    if (found) more.hold(found);
    return found;
}

/* Whether names mean what they did. Those of one module stand together. */
static int meant(const whole *w)
{
    object *value = 0, *inside;
    const meaning *last = 0, *m = w->meanings;
    for (; m < w->meanings + w->meant; last = m++) {
        if (!last || m->root != last->root) {
            if (value) more.drop(value);
            value = value_of(w, m->root, m->cell);
        }
        if (!value) return 0;
        inside = !m->attribute ? value : value->type == more.module ? more.get(more.attributes(value), m->attribute) : 0;
        if (inside != m->wanted) break;
    }
    if (value) more.drop(value);
    return m == w->meanings + w->meant;
}

/* A length, from the row that begins at `at`; 0: Python must compute it. */
static int length_of(const whole *w, int64_t at, object *const *given, int64_t *out)
{
    const int64_t *r = &w->program[at];
    int64_t a, b;
    int over = 0;
    switch (r[0]) {
    case NUMBER: *out = r[1]; return 1;
    case INTEGER:
        if (given[r[1]]->type != py.ints) return 0;
        *out = py.as_int(given[r[1]], &over);
        return !over;
    case EXTENT: {
        const ndarray *array = (const ndarray *)given[r[1]];
        if (array->head.type != py.ndarray || array->rank <= r[2]) return 0;
        *out = array->dims[r[2]];
        return 1;
    }
    default:
        if (!length_of(w, r[1], given, &a) || !length_of(w, r[2], given, &b)) return 0;
        switch (r[0]) {
        case ADD: return !__builtin_add_overflow(a, b, out);
        case SUB: return !__builtin_sub_overflow(a, b, out);
        case MUL: return !__builtin_mul_overflow(a, b, out);
        case LEAST: *out = b < a ? b : a; return 1;
        default: *out = b > a ? b : a; return 1;
        }
    }
}

static object *array_of(const whole *w, const int64_t *r, object *const *given)
{
    int64_t dims[MAX_RANK];
    object *descr = (object *)r[1];
    if (!descr) {
        const ndarray *like = (const ndarray *)given[r[2]];
        if (like->head.type != py.ndarray || (r[0] == LIKE && like->rank != r[3])) return 0;
        descr = (object *)like->dtype;
    }
    for (int k = 0; k < r[3]; k++) if (!length_of(w, r[4 + k], given, &dims[k]) || dims[k] < 0) return 0;
    more.hold(descr);
    return (r[0] == ZEROS ? more.zeros : more.empty)((int)r[3], dims, descr, 0);
}

static long long integer(const slot *s, int64_t letter)
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

static double real(const slot *s, int64_t letter)
{
    return letter == 'd' ? s->f64 : letter == 'f' ? s->f32 : (double)integer(s, letter);
}

static object *result(const whole *w, const int64_t *r, object *const *given, slot *slots)
{
    object *made;
    float narrow;
    switch (r[0]) {
    case LITERAL: return more.hold((object *)r[1]), (object *)r[1];
    case GIVEN: return more.hold(given[r[1]]), given[r[1]];
    case PYTHON:
        if (r[1] == 'd') return more.float_(real(&slots[r[2]], r[3]));
        if (r[1] == 'q') return py.from_int(integer(&slots[r[2]], r[3]));
        made = real(&slots[r[2]], r[3]) != 0 ? py.truth : more.untruth;
        return more.hold(made), made;
    case SCALAR:
        if (!r[3]) return more.scalar(&slots[r[2]], (object *)r[1], 0);
        narrow = (float)slots[r[2]].f64; /* of another number it may raise flags, which the next call would have to clear */
        return more.scalar(&narrow, (object *)r[1], 0);
    case CHOSEN: return result(w, &w->program[slots[r[1]].u8 ? r[2] : r[3]], given, slots);
    case CALLED: {
        object *args = result(w, &w->program[r[2]], given, slots);
        if (!args) return 0;
        made = more.call((object *)r[1], args, 0);
        more.drop(args);
        return made;
    }
    default:
        made = r[0] == TUPLE ? more.tuple(r[1]) : more.list(r[1]);
        for (int k = 0; made && k < r[1]; k++) {
            object *item = result(w, &w->program[r[2 + k]], given, slots);
            if (!item) return more.drop(made), (object *)0;
            (r[0] == TUPLE ? more.set_item : more.set_element)(made, k, item);
        }
        return made;
    }
}

