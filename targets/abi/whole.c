/* A whole call in C: arguments, what names mean, the kernel, its results as objects, the count.
 *
 * Follows items.c in one translation unit. Whatever is unusual goes to a function written in Python that does all of it,
 * before anything was done here; a status that is not zero goes to another, after.
 */
static object *part_of(const part *p, object *from)
{
    object *found, *given[] = {from};
    if (p->what == ATTRIBUTE) return more.attribute(from, p->of);
    if (p->what == ITEM) {
        if ((found = more.item(from, p->number))) more.hold(found);
        return found;
    }
    found = take(p->of, given, 1);
    if (found != more.none) return found;
    return more.drop(found), (object *)0;
}

/* The number of values now held, each in its place after the arguments; -1: Python must see to one. */
static int take_values(const whole *w, object **given)
{
    object **values = given + w->arguments;
    int at = 0, fits = 1;
    for (int i = 0; fits && i < w->taken; i++) {
        values[at] = value_of(w, w->captured[i].root, w->captured[i].cell);
        if ((fits = values[at] != 0)) at++;
    }
    for (const part *p = w->part; fits && p < w->part + w->parts; p++) {
        object *from = given[p->place];
        if (p->what == CHECKED) fits = (object *)from->type == p->of && (p->number < 0 || lists.length(from) == p->number);
        else if ((fits = (values[at] = part_of(p, from)) != 0)) at++;
    }
    for (int i = 0; fits && i < w->made; i++) {
        values[at] = array_of(w, &w->program[w->fresh[i]], given);
        if ((fits = values[at] != 0)) at++;
    }
    if (fits) return at;
    while (at--) more.drop(values[at]);
    return -1;
}

/* Whether the lists that are put back, and all others, are different ones. */
static int apart(const whole *w, object **given)
{
    const part *end = w->part + w->parts;
    for (const part *p = w->part; w->puts && p < end; p++)
        for (const part *q = p + 1; p->what == ITEMS && q < end; q++)
            if (q->what == ITEMS && given[q->place] == given[p->place]) return 0;
    return 1;
}

/* Puts items back; 0 with an exception. */
static int put_back(const whole *w, object **given)
{
    object **values = given + w->arguments + w->taken, *back[2], *none;
    for (const part *p = w->part; w->puts && p < w->part + w->parts; p++) {
        if (p->what == CHECKED) continue;
        back[0] = given[p->place], back[1] = *values++;
        if (p->what != ITEMS || !p->number) continue;
        if (!(none = put(p->of, back, 2))) return 0;
        more.drop(none);
    }
    return 1;
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
static int stands(const whole *w, int64_t status, object *saved, object **given, object **out)
{
    object *values[MAX_GIVEN + 2];
    if (w->raised && status & REPLAY && w->raised[0]) {
        more.restore(w->raised[0], w->raised[1], w->raised[2]);
        w->raised[0] = w->raised[1] = w->raised[2] = 0;
        return 0;
    }
    values[0] = py.from_int(status), values[1] = saved ? saved : more.none;
    int64_t count = w->arguments + w->values;
    for (int i = 0; i < count; i++) values[i + 2] = given[i];
    object *other = call_with(w->ended, count + 2, values);
    more.drop(values[0]);
    if (!other) return 0;
    int good = other == more.none;
    if (!good) *out = call_with(other, w->arguments, given);
    more.drop(other);
    return good;
}

/* The array `i` of those that the kernel overwrites, and the bytes of its items. */
static const ndarray *overwritten(const whole *w, object **given, int i, int64_t *bytes)
{
    const ndarray *a = (const ndarray *)given[w->sources[w->writes[i]]];
    *bytes = w->params[w->writes[i]].bytes;
    for (int axis = 0; axis < a->rank; axis++) *bytes *= a->dims[axis];
    return a;
}

/* Whether what the kernel overwrites now lies on the shelf, array by array. */
static int shelved(const whole *w, object **given)
{
    enum { ONE_BLOCK = 3 };                             /* NumPy's flags of either order */
    int64_t at = 0, size;
    if (w->shelf->busy) return 0;
    for (int i = 0; i < w->written; i++) {
        const ndarray *a = overwritten(w, given, i, &size);
        if (!(a->flags & ONE_BLOCK) || size > w->shelf->bytes - at) return 0;
        if (size) __builtin_memcpy(w->shelf->data + at, a->data, (uint64_t)size);
        at += size;
    }
    return w->shelf->busy = 1;
}

/* 1; copies of what the kernel overwrites in `saved` where Python may need it; 0 where there are none to be had. */
static int copied(const whole *w, object **given, object **saved)
{
    int wanted = w->saves && !w->pairs;
    int64_t size, all = 0;
    for (int i = 0; w->saves && i < w->pairs; i++) {
        const ndarray *a = (const ndarray *)given[w->shared[2 * i]], *b = (const ndarray *)given[w->shared[2 * i + 1]];
        wanted |= a->data == b->data;                   /* or nothing is shared: the kernel sees to that */
    }
    for (int i = 0; wanted && i < w->written; i++) overwritten(w, given, i, &size), all += size;
    *saved = 0;
    if (!wanted || all > w->most) return 1;
    if (shelved(w, given)) more.hold(*saved = py.truth);
    else *saved = call_with(w->saves, w->arguments + w->values, given);
    return *saved != 0;
}

/* 1, and the answer or NULL for an exception in `out`; 0 where Python must do it all. */
static int answered(const whole *w, object **given, object **out)
{
    tp_array arrays[MAX_PARAMS], *array = arrays;
    tp_scalar scalars[MAX_PARAMS], *scalar = scalars;
    slot slots[MAX_PARAMS];
    int64_t extent = 0, fits = 1;
    int held = meant(w) ? take_values(w, given) : -1;
    if (held < 0) return more.forget(), 0;
    for (int i = 0; i < w->constant; i++) fits &= given[w->constants[i].place] == w->constants[i].wanted;
    fits &= apart(w, given);
    for (int i = 0; fits && i < w->count; i++) {
        const param *p = &w->params[i];
        int is_array = p->kind == ARRAY || p->kind == COMPLEX;
        object *from = w->sources[i] == SLOT ? 0 : given[w->sources[i]];
        if (!from) (array++)->data = (char *)&slots[i];
        else if (is_array) fits = take_array(p, from, array++, &extent);
        else fits = take_scalar(p, from, scalar++, &extent);
    }
    if (fits && w->wary && !is_calm()) more.forget(), fits = 0;
    object *saved = 0;
    if (fits && !copied(w, given, &saved)) more.forget(), fits = 0;
    if (fits) {
        void *thread = extent > LARGE ? py.release() : 0;
        int64_t status = w->kernel(arrays, scalars);
        if (thread) py.acquire(thread);
        *out = 0;
        if (!status || stands(w, status, saved, given, out)) {
            ++*w->calls;
            if (put_back(w, given)) *out = result(w, w->program, given, slots);
        }
    }
    if (saved == py.truth) w->shelf->busy = 0;
    if (saved) more.drop(saved);
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
