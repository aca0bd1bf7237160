/* A whole call in C: binds the arguments, checks names, derives values, runs the kernel, builds the result, counts.
 *
 * `tp_whole` is the builtin. A call that it cannot perform is passed to the Python function `python`, before the kernel has
 * run. After a non-zero status the Python function `on_status` decides whether the result is valid. Follows items.c in one
 * translation unit.
 */
/* The value that `p`, which is not CHECKED, derives from `from`; NULL where Python must do it. */
static object *derive_value(const derived_value *p, object *from)
{
    object *found, *given[] = {from};
    if (p->kind == ATTRIBUTE) return capi.attribute(from, p->of);
    if (p->kind == ITEM) {
        if ((found = capi.item(from, p->number))) capi.hold(found);
        return found;
    }
    if (p->kind == KEYED) {
        if (from->type == capi.dict && (found = capi.get(from, p->of))) return capi.hold(found), found;
        return 0;
    }
    found = take(p->of, given, 1);
    if (found != capi.none) return found;
    return capi.drop(found), (object *)0;
}

/* Computes captured values, derived values and allocated arrays into `given`, after the arguments. Returns how many objects
 * the caller must drop; -1, with none, where Python must compute one. */
HOT static int compute_values(const call_spec *w, object **given)
{
    object **values = given + w->parameters.count;
    int at = 0, fits = 1;
    for (int i = 0; fits && i < w->captured_count; i++) {
        object *known = w->captured_values ? w->captured_values[i] : 0;
        if (known) capi.hold(known);
        values[at] = w->captured_values ? known : lookup(w, &w->captured[i]);
        if ((fits = values[at] != 0)) at++;
    }
    for (const derived_value *p = w->derived; fits && p < w->derived + w->derived_count; p++) {
        object *from = given[p->place];
        if (p->kind == CHECKED) fits = (object *)from->type == p->of && (p->number < 0 || lists.length(from) == p->number);
        else if ((fits = (values[at] = derive_value(p, from)) != 0)) at++;
    }
    for (int i = 0; fits && i < w->allocated_count; i++) {
        values[at] = allocate(w, &w->program[w->allocated[i]], given);
        if ((fits = values[at] != 0)) at++;
    }
    if (fits) return at;
    while (at--) capi.drop(values[at]);
    return -1;
}

/* Whether no list that is stored back was passed twice. */
HOT static int lists_are_distinct(const call_spec *w, object **given)
{
    const derived_value *end = w->derived + w->derived_count;
    for (const derived_value *p = w->derived; w->stores_lists && p < end; p++)
        for (const derived_value *q = p + 1; p->kind == ITEMS && q < end; q++)
            if (q->kind == ITEMS && given[q->place] == given[p->place]) return 0;
    return 1;
}

/* After a kernel whose result is valid: stores the items that it has changed back into the lists they came from. `perform` calls it.
 *
 *     def f(v): v[0] = 1.0      v was converted to an array before the kernel (`compute_values`), whose items are now put into v
 *
 * Returns 0 with an exception, else 1. Does nothing if the kernel writes no list (`stores_lists`). For each list that it
 * writes there is a derived value of kind ITEMS with `number` 1: the value number `place` is the list, the derived value the array.
 * Derived values stand in `given` after the arguments and the captured values, without those of kind CHECKED, which add no value. */
static int store_lists(const call_spec *w, object **given)
{
    object **next_value = given + w->parameters.count + w->captured_count;
    for (const derived_value *p = w->derived; w->stores_lists && p < w->derived + w->derived_count; p++) {
        if (p->kind == CHECKED) continue;
        object *list_and_array[] = {given[p->place], *next_value++}, *none;
        int is_written = p->kind == ITEMS && p->number;
        if (!is_written) continue;
        if (!(none = put(p->of, list_and_array, 2))) return 0;
        capi.drop(none);
    }
    return 1;
}

/* After a non-zero status of the kernel: 1 if its result is valid all the same. Else 0; `out` is then the result of the function
 * that served the call instead, or NULL with an exception. That function is given the arguments as the caller wrote them, since it
 * takes keyword-only parameters by name. In this order:
 *
 * - a signal handler has raised, and so stopped the kernel: not valid, its exception is set;
 * - there are only floating-point conditions that have no effect in the quiet state, which holds now: valid. Python need not be
 *   asked, which would take a microsecond: `VerdictCache` (float_errors.py) has noted the bits in `silent`;
 * - else the Python function `on_status` (`Variant.attach`) judges the status. It gives None if the result is valid; if not, it has put
 *   back what the kernel has overwritten, and gives the function to call, mostly the original (a replay). */
static int is_result_valid(
    const call_spec *w, int64_t status, object *saved, object **given, const arguments *call, object **out)
{
    object *values[MAX_GIVEN + 2];
    if (has_raised(w->raised, status)) return 0;
    int is_without_effect = !(status & ~w->silent[0]) && w->silent[1] == quiet_number;
    if (is_without_effect && is_quiet()) return 1;
    if (w->saves) w->copy_buffer->calm = -1;            /* this call is counted, too, if it was copied for */
    values[0] = py.from_int(status), values[1] = saved ? saved : capi.none;
    int64_t count = w->parameters.count + w->value_count;
    for (int i = 0; i < count; i++) values[i + 2] = given[i];
    object *replacement = call_with(w->on_status, count + 2, values);
    capi.drop(values[0]);
    if (!replacement) return 0;
    int is_valid = replacement == capi.none;
    if (!is_valid) *out = forward(replacement, call->args, call->count, call->names);
    capi.drop(replacement);
    return is_valid;
}

/* The array number `i` of those that the kernel writes, and the bytes of all its elements. */
HOT static const ndarray *written_array(const call_spec *w, object **given, int i, int64_t *bytes)
{
    const ndarray *a = (const ndarray *)given[w->sources[w->writes[i]]];
    *bytes = w->params[w->writes[i]].bytes;
    for (int axis = 0; axis < a->rank; axis++) *bytes *= a->dims[axis];
    return a;
}

/* Copies the elements of the array, of `bytes` each, from `axis` on, the first of which is at `from`, in C order; returns where they
 * end. */
static char *gather(const ndarray *a, int axis, const char *from, char *to, int64_t bytes)
{
    if (axis == a->rank) return __builtin_memcpy(to, from, (uint64_t)bytes), to + bytes;
    for (intptr_t k = 0; k < a->dims[axis]; k++, from += a->strides[axis]) to = gather(a, axis + 1, from, to, bytes);
    return to;
}

/* Copies a block of memory. Where `to` is up to 31 bytes behind `from` modulo 4096, some CPUs (AMD Zen) take ten times as long for the
 * instruction by which the C library copies (`rep movsb`), so that the block is copied in pieces there. */
HOT static void copy_block(char *to, const char *from, uint64_t bytes)
{
    enum { PIECE = 64 };
    if (((uint64_t)(to - from) & 4095) - 1 < 31)
        for (; bytes >= PIECE; to += PIECE, from += PIECE, bytes -= PIECE) {
            __builtin_memcpy(to, from, PIECE);
            __asm__ volatile("" ::: "memory");          /* no loop that the compiler makes a call of `memcpy` */
        }
    if (bytes) __builtin_memcpy(to, from, bytes);
}

/* Copies the written arrays into the preallocated buffer, one after the other; 0 if it is in use or too small, or an array is
 * neither contiguous nor so small that NumPy takes longer to be called than `gather` to copy it. */
static int copy_to_buffer(const call_spec *w, object **given)
{
    enum { ONE_BLOCK = 3, MAX_GATHERED = 2048 };        /* NumPy's flags of C and Fortran order; bytes */
    int64_t at = 0, size;
    if (w->copy_buffer->busy) return 0;
    for (int i = 0; i < w->write_count; i++) {
        const ndarray *a = written_array(w, given, i, &size);
        int is_block = a->flags & ONE_BLOCK;
        if ((!is_block && size > MAX_GATHERED) || size > w->copy_buffer->bytes - at) return 0;
        if (!is_block) gather(a, 0, a->data, w->copy_buffer->data + at, w->params[w->writes[i]].bytes);
        else copy_block(w->copy_buffer->data + at, a->data, (uint64_t)size);
        at += size;
    }
    return w->copy_buffer->busy = 1;
}

/* Before the kernel: copies the arrays that it writes, if Python may have to replay the call on what they were. `perform` calls it.
 * Returns 0 with an exception, else 1. `saved` is then True if the copies are in the preallocated buffer, the copies themselves if
 * the Python function `saves` made them, or NULL if there are none.
 *
 *     f(x, out), which reads x and writes out     no copies: a replay reads x, and writes out anew
 *     f(x, x)                                     a copy of x: the kernel overwrites what a replay would read
 *
 * There are no copies in these cases, tested in this order:
 *
 * - no call of this kernel needs them (`saves` is NULL): see the table in transpile/lower/assemble_plan.py;
 * - only calls need them that pass one array for both parameters of a pair in `shared`, as above, and this call passes no such pair.
 *   Arrays that overlap in part are excluded by guards of the kernel;
 * - they would have more than `max_copied` bytes, so that copying takes longer than it can save; or more than `max_copied_calm`, and
 *   CALM calls in a row have raised nothing. */
HOT static int take_snapshot(const call_spec *w, object **given, object **saved)
{
    enum { CALM = 64 };
    int is_needed = w->saves && !w->pair_count;
    int64_t size, bytes = 0;
    for (int i = 0; w->saves && i < w->pair_count; i++) {
        const ndarray *a = (const ndarray *)given[w->shared[2 * i]], *b = (const ndarray *)given[w->shared[2 * i + 1]];
        is_needed |= a->data == b->data;
    }
    for (int i = 0; is_needed && i < w->write_count; i++) written_array(w, given, i, &size), bytes += size;
    *saved = 0;
    if (!is_needed || bytes > (w->copy_buffer->calm < CALM ? w->max_copied : w->max_copied_calm)) return 1;
    if (copy_to_buffer(w, given)) capi.hold(*saved = py.truth);
    else *saved = call_with(w->saves, w->parameters.count + w->value_count, given);
    return *saved != 0;
}

/* `build_object` for the result of a call; the usual ones first: an object that is there, such as None, and a float. */
HOT static object *build_result(const call_spec *w, object *const *given, slot *slots)
{
    const int64_t *r = w->program;
    if (r[0] == PYTHON && r[1] == 'd' && r[3] == 'd') return capi.float_(slots[r[2]].f64);
    if (r[0] != LITERAL && r[0] != GIVEN) return build_object(w, r, given, slots);
    object *found = r[0] == LITERAL ? (object *)r[1] : given[r[1]];
    return capi.hold(found), found;
}

/* Performs one call: `given` are its arguments, bound to the parameters; `out` gets the result. For a function that returns a new
 * array as long as `x`:
 *
 *     scale(x, 2.0)    →    allocate the result; unpack x, 2.0 and the result as the kernel's parameters; run it; return the result
 *
 * Returns 1 if the call is over: `out` is the result, or NULL with an exception. Returns 0 if it cannot be performed here: the
 * kernel has not run, nothing was changed, and `tp_whole` passes the call to the Python wrapper. These steps precede the kernel,
 * and where one fails, the answer is 0:
 *
 * 1. each global name that the compiler relied on is still bound to the same object (`guarded_names_hold`);
 * 2. the values that are no arguments are made: globals that the kernel reads, members of objects, arrays of the items of lists, and
 *    arrays for the result (`compute_values`);
 * 3. each argument whose value was compiled in, such as axis=0, is that object; and no list into which items are stored back was
 *    passed twice, as the second would undo the changes of the first;
 * 4. each value has the type and the layout of the kernel's parameter, and is unpacked (`take_array`, `take_scalar`);
 * 5. if a replay would need a snapshot outside of the quiet state (`needs_quiet`): the quiet state holds, so none is needed;
 * 6. the arrays that the kernel overwrites are copied, if a replay may need them all the same (`take_snapshot`).
 *
 * There is one exception: if a signal handler, as of Ctrl-C, has raised in one of these steps, the answer is 1 with its exception
 * (`may_repeat`). After the kernel its status is judged (`is_result_valid`): only if the result is valid, changed items are stored
 * back into lists, and the result is built. */
HOT static int perform(const call_spec *w, object **given, const arguments *call, object **out)
{
    tp_array arrays[w->param_count + 1], *array = arrays;
    tp_scalar scalars[w->param_count + 1], *scalar = scalars;
    slot slots[w->param_count + 1];
    int64_t extent = 0, fits = 1;
    int held = guarded_names_hold(w) ? compute_values(w, given) : -1;       /* 1, 2; `held`: objects to be dropped at the end */
    *out = 0;
    if (held < 0) return !may_repeat();
    for (int i = 0; i < w->constant_count; i++) fits &= is_object(given[w->constants[i].place], w->constants[i].expected);    /* 3 */
    fits &= lists_are_distinct(w, given);
    for (int i = 0; fits && i < w->param_count; i++) {                      /* 4 */
        const param *p = &w->params[i];
        int is_array = p->kind == ARRAY || p->kind == COMPLEX;
        object *from = w->sources[i] == SLOT ? 0 : given[w->sources[i]];
        if (!from) (array++)->data = (char *)&slots[i];
        else if (is_array) fits = take_array(p, from, array++, &extent);
        else fits = take_scalar(p, from, scalar++, &extent);
    }
    object *saved = 0;
    int has_failed = 0;                                                     /* with an exception that stays; 5, 6 */
    if (fits && w->needs_quiet && !is_quiet()) has_failed = !may_repeat(), fits = 0;
    if (fits && w->saves && !take_snapshot(w, given, &saved)) has_failed = !may_repeat(), fits = 0;
    if (fits) {
        if (take_context) take_context();
        void *thread = extent > MAX_EXTENT_WITH_GIL ? py.release() : 0;     /* other Python threads run meanwhile */
        int64_t status = w->kernel(arrays, scalars);
        if (thread) py.acquire(thread);
        if (!status || is_result_valid(w, status, saved, given, call, out)) {
            ++*w->calls;
            if (store_lists(w, given)) *out = build_result(w, given, slots);
        }
    }
    if (saved == py.truth) w->copy_buffer->busy = 0;
    if (saved) w->copy_buffer->calm++, capi.drop(saved);
    while (held--) capi.drop(given[w->parameters.count + held]);
    return fits || has_failed;
}

/* Whether the default of parameter `i` is still the same. */
static int is_default_current(const parameter_list *p, int i)
{
    if (i < p->positional) return capi.defaults(p->function) == p->last;
    object *named = capi.named_defaults(p->function);
    return named && capi.get(named, p->keywords[i]) == p->defaults[i];
}

/* The argument with the keyword `wanted`, an interned str; NULL if there is none. Keywords are strs, or of subclasses of str, which are
 * not found: they may have comparisons of their own. */
static object *keyword_argument(const arguments *call, object *wanted)
{
    intptr_t further = capi.length(call->names);
    for (int i = 0; i < further; i++) if (capi.item(call->names, i) == wanted) return call->args[call->count + i];
    for (int i = 0; i < further; i++) if (is_object(capi.item(call->names, i), wanted)) return call->args[call->count + i];
    return 0;
}

/* Binds the arguments of a call, and defaults, to the parameters: `given` has one object for each, borrowed. 0 where the arguments
 * do not fit, as in a call with a wrong keyword, or where a default has been replaced since (`__defaults__` of a function may be
 * assigned): the Python wrapper then binds them, or raises TypeError. Further keywords and positional arguments are not bound, if
 * the function takes any. */
HOT static int bind_arguments(const parameter_list *p, const arguments *call, object **given)
{
    intptr_t count = call->count, known = 0, wanted = call->names ? capi.length(call->names) : 0;
    if (count > p->positional) {
        if (!p->takes_rest) return 0;
        count = p->positional;
    }
    for (int i = 0; i < p->count; i++) {
        given[i] = i < count ? call->args[i] : wanted && p->keywords[i] ? keyword_argument(call, p->keywords[i]) : 0;
        if (given[i]) known++;
        else if (!(given[i] = p->defaults[i]) || !is_default_current(p, i)) return capi.forget(), 0;
    }
    return known == count + wanted || p->takes_further;
}

/* The builtin (METH_FASTCALL, with keywords) that takes the place of a fused function where C can perform the whole call
 * (`Variant.attach`). Performs it (`perform`), or passes it to the Python wrapper: where the arguments cannot be bound here, as in a
 * call with a wrong keyword, or something does not fit. The wrapper makes the same tests, and finds out what to do instead. */
HOT object *tp_whole(object *self, object *const *args, intptr_t count, object *names)
{
    const call_spec *w = (const call_spec *)((const ndarray *)self)->data;
    const arguments call = {args, count, names};
    object *given[MAX_GIVEN], *out;
    if (bind_arguments(&w->parameters, &call, given) && perform(w, given, &call, &out)) return out;
    return forward(w->python, args, count, names);
}
