/* A whole call in C: arguments, what names mean, the kernel, its results as objects, the count.
 *
 * Follows entry.c in one translation unit. Whatever is unusual goes to a function written in Python that does all of it,
 * before anything was done here; a status that is not zero goes to another, after.
 */
enum { MAX_GIVEN = 64 };
enum { LITERAL, GIVEN, PYTHON, SCALAR, CHOSEN, TUPLE, LIST };       /* what a result is */
enum { SLOT = -1 };                                     /* in place of the object that a parameter is given */
enum { REPLAY = 16 };                                   /* the bit of a status by which Python must answer */

/* What a name must mean, by identity; without that, its value is given to the kernel. */
typedef struct { object *cell, *root, *attribute, *wanted; } meaning;
typedef union {
    double f64; float f32; int64_t i64; int32_t i32; int16_t i16; int8_t i8; uint32_t u32; uint16_t u16; uint8_t u8;
} slot;
typedef struct { const char *name; void *call; intptr_t flags; const char *doc; } definition;

typedef struct {
    definition definition;
    int64_t (*kernel)(const tp_array *, const tp_scalar *);
    object **raised;                                    /* the exception that stopped the kernel */
    int64_t *calls;
    object *python, *ended, *names, *builtins;
    object **defaults, **keywords;
    int64_t arguments, meant, count, wary;
    const meaning *meanings;
    const param *params;
    const int64_t *sources, *results;
} whole;

static struct {
    object *module, *untruth, *none;
    object *(*get)(object *, object *);                 /* of a dict; borrowed */
    object *(*contents)(object *);                      /* of a cell; owned */
    object *(*attributes)(object *);                    /* of a module; borrowed */
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
} more;

/* The error state and the warnings' filters under which nothing can raise in mid-loop, and where they stand now. */
static object *calm[5];

void tp_bind_whole(const uintptr_t *lent)
{
    for (unsigned i = 0; i < sizeof more / sizeof *lent; i++) ((uintptr_t *)&more)[i] = lent[i];
}

void tp_calm(object *variable, object *names, object *filters, object *state, object *known)
{
    object *now[] = {variable, names, filters, state, known}, *before;
    for (int i = 0; i < 5; i++) {
        more.hold(now[i]);
        before = calm[i], calm[i] = now[i];
        if (before) more.drop(before);
    }
}

static int is_calm(void)
{
    object *state = 0, *filters;
    if (!calm[4] || more.variable(calm[0], 0, &state) < 0 || !state) return 0;
    more.drop(state);                                   /* its identity is all that is asked */
    filters = state == calm[3] ? more.get(calm[1], calm[2]) : 0;
    return filters && more.equal(filters, calm[4], 2) == 1;
}

/* What a name means now, owned; NULL where only Python can tell. */
static object *value_of(const whole *w, const meaning *m)
{
    object *found;
    if (m->cell) {
        found = more.contents(m->cell);
    } else {
        found = more.get(w->names, m->root);
        if (!found) found = more.get(w->builtins, m->root);
        if (found) more.hold(found);
    }
    if (!found || !m->attribute) return found;
    object *inside = found->type == more.module ? more.get(more.attributes(found), m->attribute) : 0;
    if (inside) more.hold(inside);
    more.drop(found);
    return inside;
}

/* The number of values now held, each in its place after the arguments; -1: a name means something else. */
static int take_names(const whole *w, object **values)
{
    for (int i = 0; i < w->meant; i++) {
        const meaning *m = &w->meanings[i];
        values[i] = value_of(w, m);
        if (values[i] && (!m->wanted || values[i] == m->wanted)) continue;
        for (int k = 0; k <= i; k++) if (values[k]) more.drop(values[k]);
        more.forget();
        return -1;
    }
    return (int)w->meant;
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
        narrow = (float)slots[r[2]].f64;
        return more.scalar(r[3] ? (void *)&narrow : (void *)&slots[r[2]], (object *)r[1], 0);
    case CHOSEN: return result(w, &w->results[slots[r[1]].u8 ? r[2] : r[3]], given, slots);
    default:
        made = r[0] == TUPLE ? more.tuple(r[1]) : more.list(r[1]);
        for (int k = 0; made && k < r[1]; k++) {
            object *item = result(w, &w->results[r[2 + k]], given, slots);
            if (!item) return more.drop(made), (object *)0;
            (r[0] == TUPLE ? more.set_item : more.set_element)(made, k, item);
        }
        return made;
    }
}

static object *call_with(object *function, int64_t count, object *const *given)
{
    object *args = more.tuple(count), *answer;
    if (!args) return 0;
    for (int i = 0; i < count; i++) more.hold(given[i]), more.set_item(args, i, given[i]);
    answer = more.call(function, args, 0);
    more.drop(args);
    return answer;
}

/* After a status that is not zero: 1 where the result stands, else the answer is in `out`. */
static int stands(const whole *w, int64_t status, object **given, object **out)
{
    object *values[MAX_GIVEN + 1];
    if (w->raised && status & REPLAY && w->raised[0]) {
        more.restore(w->raised[0], w->raised[1], w->raised[2]);
        w->raised[0] = w->raised[1] = w->raised[2] = 0;
        return 0;
    }
    values[0] = py.from_int(status);
    for (int i = 0; i < w->arguments + w->meant; i++) values[i + 1] = given[i];
    object *other = call_with(w->ended, w->arguments + w->meant + 1, values);
    more.drop(values[0]);
    if (!other) return 0;
    int good = other == more.none;
    if (!good) *out = call_with(other, w->arguments, given);
    more.drop(other);
    return good;
}

/* 1, and the answer or NULL for an exception in `out`; 0 where Python must do it all. */
static int answered(const whole *w, object **given, object **out)
{
    tp_array arrays[MAX_PARAMS], *array = arrays;
    tp_scalar scalars[MAX_PARAMS], *scalar = scalars;
    slot slots[MAX_PARAMS];
    int64_t extent = 0, fits = 1;
    int held = take_names(w, given + w->arguments);
    if (held < 0) return 0;
    for (int i = 0; fits && i < w->count; i++) {
        const param *p = &w->params[i];
        int is_array = p->kind == ARRAY || p->kind == COMPLEX;
        object *from = w->sources[i] == SLOT ? 0 : given[w->sources[i]];
        if (!from) (array++)->data = (char *)&slots[i];
        else if (is_array) fits = take_array(p, from, array++, &extent);
        else fits = take_scalar(p, from, scalar++, &extent);
    }
    if (fits && w->wary && !is_calm()) more.forget(), fits = 0;
    if (fits) {
        void *thread = extent > LARGE ? py.release() : 0;
        int64_t status = w->kernel(arrays, scalars);
        if (thread) py.acquire(thread);
        *out = 0;
        if (!status || stands(w, status, given, out)) {
            ++*w->calls;
            *out = result(w, w->results, given, slots);
        }
    }
    while (held--) more.drop(given[w->arguments + held]);
    return (int)fits;
}

/* Whether each argument has its place; what Python would turn down is not told here. */
static int arranged(const whole *w, object *args, object *named, object **given)
{
    intptr_t count = more.length(args), known = 0, wanted = named ? more.keys(named) : 0;
    if (count > w->arguments) return 0;
    for (int i = 0; i < w->arguments; i++) {
        given[i] = i < count ? more.item(args, i) : wanted && w->keywords[i] ? more.get(named, w->keywords[i]) : 0;
        if (given[i]) known++;
        else if (!(given[i] = w->defaults[i])) return 0;
        else if (wanted) more.forget();
    }
    return known == count + wanted;
}

object *tp_whole(object *self, object *args, object *named)
{
    const whole *w = (const whole *)((const ndarray *)self)->data;
    object *given[MAX_GIVEN], *out;
    if (arranged(w, args, named, given) && answered(w, given, &out)) return out;
    return more.call(w->python, args, named);
}
