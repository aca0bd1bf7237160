"""Statements and loops as structured MLIR (``scf``); changed state is what regions yield.

A `break`, a `return` or a check that stops sets a flag, and the rest of the block is put under a
branch on it. Loops are ``scf.for``; ``scf.parallel`` where no iteration depends on another;
``scf.while`` where they may be left early.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable

from loopir import nodes as ir
from loopir.analysis.loop_reductions import Reduction, reduction_of
from loopir.analysis.parallelism import arrays_reduced_by, parallel_obstacle
from loopir.dtypes import DTYPES, INDEX
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import replace
from loopir.nodes import assert_never
from loopir.status_bits import check_status

from .mlir_expressions import MlirBuilder
from .mlir_ops import element_type

__all__ = ["STATE", "emit_block", "parallel_reductions", "state_values"]

STATE, GO, RETURNED = "$status", "$go", "$returned"
"""Names that the builder maps to MLIR values besides those of the kernel: the status; whether the
current block goes on; whether the kernel has returned."""

ON, OFF = ir.Const(True, "bool"), ir.Const(False, "bool")

Values = Callable[[], list[str]]
"""A function that emits code, and returns the names of the MLIR values that it gives."""


def emit_block(w: MlirBuilder, body: tuple[ir.Stmt, ...], done: Values, left: Values) -> list[str]:
    """Emit `body`; returns the MLIR values that the region around it yields: those of ``done()`` if
    `body` runs to its end, those of ``left()`` if it is left early.
    """
    for k, s in enumerate(body):
        if isinstance(s, ir.Return):
            w.names |= {GO: w.constant(OFF), RETURNED: w.constant(ON)}
            return left()
        _emit_statement(w, s)
        if GO in w.names:
            return _emit_rest(w, body[k + 1 :], done, left)
    return done()


def _emit_rest(w: MlirBuilder, rest: tuple[ir.Stmt, ...], done: Values, left: Values) -> list[str]:
    """As `emit_block`, for the statements `rest` after one that may leave the block: they are put
    in a branch on the flag `GO`, which that statement has set.
    """

    def going() -> list[str]:
        """The rest, where the block continues."""
        del w.names[GO]
        return emit_block(w, rest, done, left)

    return w.choose(w.names[GO], going, left)


def _emit_statement(w: MlirBuilder, s: ir.Stmt) -> None:
    """Emit one statement, other than a `Return`. If it may leave the block, it sets `GO`."""
    match s:
        case ir.Assign(name, value):
            w.names[name] = w.value(value)
        case ir.Store():
            _emit_where(w, s.mask, lambda: _emit_store(w, s.array, s.index, s.value), [])
        case ir.Append():
            at = ir.Var(s.count, INDEX)
            more = ir.Call("add", (at, ir.Const(1, INDEX)), INDEX)
            _emit_where(
                w,
                s.mask,
                lambda: [*_emit_store(w, s.array, (at,), s.value), w.value(more)],
                [s.count],
            )
        case ir.Check(cond, code):
            _emit_check(w, w.value(cond), code, check_status(code, s.cause))
        case ir.If():
            _emit_if(w, s)
        case ir.Break(cond):
            w.names[GO] = _negated(w, w.value(cond))
        case ir.Return():
            raise AssertionError("emit_block ends there")
        case ir.Loop():
            _emit_loop(w, s)
        case ir.Zip(var, streams, rng, body, accs):
            at = ir.Var(var, INDEX)
            reads = [ir.Assign(x.name, ir.Load(x.array, (at,), x.dtype)) for x in streams]
            _emit_loop(w, ir.Loop(var, rng, (*reads, *body), accs))
        case ir.Scan(var, rng, op, acc, init, value, array):
            dtype = value.dtype
            new = ir.Var(f"{acc}$new", dtype)
            step = ir.Assign(new.name, ir.Call(op, (ir.Var(acc, dtype), value), dtype))
            kept = ir.Store(array, (ir.Var(var, INDEX),), new)
            _emit_loop(w, ir.Loop(var, rng, (step, kept), (ir.Accum(acc, init, new),)))
        case ir.While():
            _emit_while(w, s)
        case ir.VecLoop() | ir.PredLoop() | ir.Prefix() | ir.Local() | ir.Bits():
            raise AssertionError(f"not scalar: {s!r}")
        case _:
            assert_never(s)


def _emit_where(w: MlirBuilder, mask: ir.Expr | None, act: Values, names: list[str]) -> None:
    """Emit ``act()``, which returns the new values of `names`, in a branch on `mask`; without a
    branch if there is no mask.
    """
    kept = state_values(w, names)
    values = act() if mask is None else w.choose(w.value(mask), act, lambda: kept)
    w.names.update(zip(names, values, strict=True))


def _emit_store(
    w: MlirBuilder, array: str, index: tuple[ir.Expr, ...], value: ir.Expr
) -> list[str]:
    """Emit a store; it gives no values."""
    given = w.value(value)
    at, type_ = w.element(array, index)
    w.lines.append(f"memref.store {given}, {at} : {type_}")
    return []


def _emit_check(w: MlirBuilder, holds: str, code: str, bits: int) -> None:
    """Emit a check: unless `holds`, its `bits` are set in the status, and the kernel may stop."""
    status = w.names[STATE]
    gained = w.call("bitor", (status, w.integer(bits)), INDEX, INDEX)
    w.names[STATE] = w.call("select", (holds, status, gained), INDEX, INDEX)
    if w.kernel.stops and code == "replay":
        w.names |= {GO: holds, RETURNED: _negated(w, holds)}


def _emit_if(w: MlirBuilder, s: ir.If) -> None:
    """Emit a branch, with its yields and the state that either side changes."""
    changed = _changed(w, (*s.then, *s.orelse))

    def side(body: tuple[ir.Stmt, ...], yields: list[ir.Expr]) -> list[str]:
        """The values of `yields` and the changed state at the end of one side."""
        zeros = [ir.Const(0, e.dtype) for e in yields]
        return emit_block(
            w,
            body,
            lambda: [*map(w.value, yields), *state_values(w, changed)],
            lambda: [*map(w.value, zeros), *state_values(w, changed)],
        )

    values = w.choose(
        w.value(s.cond),
        lambda: side(s.then, [y.then for y in s.yields]),
        lambda: side(s.orelse, [y.orelse for y in s.yields]),
    )
    names = [*(y.name for y in s.yields), *changed]
    w.names.update(zip(names, values, strict=True))


def _emit_loop(w: MlirBuilder, s: ir.Loop) -> None:
    """Emit a counted loop: as ``scf.parallel`` (`parallel_reductions`; never in a kernel that
    stops), as ``scf.while`` if it may be left early, else as ``scf.for``.
    """
    outer = [n for n in _changed_outside(w, s) if n != GO]
    folds = parallel_reductions(s, w.kernel, w.reassociate)
    if folds is not None and not w.kernel.stops:
        _emit_parallel(w, s, folds, outer)
    elif s.until is not None or GO in _changed(w, s.body):
        _emit_early_exit_loop(w, s, outer)
    else:
        _emit_for(w, s, outer)


def _emit_for(w: MlirBuilder, s: ir.Loop, outer: list[str]) -> None:
    """``scf.for`` with ``iter_args``."""
    lo, hi, step, element = _bounds(w, s.range)
    names = [*(a.name for a in s.accs), *outer]
    starts = [*(w.value(a.init) for a in s.accs), *state_values(w, outer)]
    with w.region() as inside:
        i = w.name(s.var, "index")
        given = _bind_fresh(w, names, starts)
        w.names[s.var] = element(i)
        ends = emit_block(w, s.body, lambda: [*_steps(w, s.accs), *state_values(w, outer)], list)
        inside += [f"scf.yield {w.typed(ends)}"] if ends else []
    head = f"scf.for {i} = {lo} to {hi} step {step}"
    results = _bind_fresh(w, names, starts)
    if results:
        types = ", ".join(w.types[v] for v in starts)
        head = f"{', '.join(results)} = {head} iter_args({_pairs(given, starts)}) -> ({types})"
    w.lines += [f"{head} {{", *inside, "}"]


def _emit_early_exit_loop(w: MlirBuilder, s: ir.Loop, outer: list[str]) -> None:
    """A counted loop with early exits: ``scf.while`` over the counter and a flag."""
    lo, hi, step, element = _bounds(w, s.range)
    counter = f"${s.var}"

    def more() -> str:
        """The condition of the next iteration."""
        below = w.let(f"arith.cmpi slt, {w.names[counter]}, {hi} : index", "i1")
        return w.call("and", (below, w.names[GO]), "bool", "bool")

    def iteration() -> list[str]:
        """The state after one iteration: counter, flag, accumulators."""
        i = w.names[counter]
        del w.names[GO]
        w.names[s.var] = element(i)

        def done() -> list[str]:
            """The state after an iteration that ends normally."""
            after = w.let(f"arith.addi {i}, {step} : index", "index", s.var)
            w.names |= dict(zip(accs, _steps(w, s.accs), strict=True))
            go = w.constant(ON) if s.until is None else _negated(w, w.value(s.until))
            return [after, go, *state_values(w, (*accs, *outer))]

        return emit_block(w, s.body, done, lambda: [i, *state_values(w, (GO, *accs, *outer))])

    accs = [a.name for a in s.accs]
    starts = [lo, w.constant(ON), *(w.value(a.init) for a in s.accs), *state_values(w, outer)]
    _emit_scf_while(w, [counter, GO, *accs, *outer], starts, more, iteration)
    _leave_loop(w, counter, GO)


def _emit_while(w: MlirBuilder, s: ir.While) -> None:
    """A ``while``: ``scf.while`` over the accumulators, and a flag if it may be left early."""
    outer = [n for n in _changed_outside(w, s) if n != GO]
    flags = [GO] if GO in _changed(w, s.body) else []
    accs = [a.name for a in s.accs]

    def more() -> str:
        """The condition of the next iteration."""
        if not flags:
            return w.value(s.cond)
        false = w.constant(OFF)
        return w.choose(w.names[GO], lambda: [w.value(s.cond)], lambda: [false])[0]

    def iteration() -> list[str]:
        """The state after one iteration."""
        w.names.pop(GO, None)
        return emit_block(
            w,
            s.body,
            lambda: [*state_values(w, flags), *_steps(w, s.accs), *state_values(w, outer)],
            lambda: state_values(w, (*flags, *accs, *outer)),
        )

    inits = [w.value(a.init) for a in s.accs]
    starts = [*(w.constant(ON) for _ in flags), *inits, *state_values(w, outer)]
    _emit_scf_while(w, [*flags, *accs, *outer], starts, more, iteration)
    _leave_loop(w, *flags)


def _leave_loop(w: MlirBuilder, *own: str) -> None:
    """After a loop: drop its flags; if it has returned, the enclosing block is left, too."""
    for name in own:
        del w.names[name]
    if GO in own and RETURNED in w.names:
        w.names[GO] = _negated(w, w.names[RETURNED])


def _emit_scf_while(
    w: MlirBuilder, names: list[str], starts: list[str], more: Callable[[], str], iteration: Values
) -> None:
    """``scf.while``: `iteration` gives the next values of `names` as long as `more` is true."""
    types = ", ".join(w.types[v] for v in starts)
    with w.region() as before:
        tested = _bind_fresh(w, names, starts)
        before.append(f"scf.condition({more()}) {w.typed(tested)}")
    with w.region() as inside:
        entered = _bind_fresh(w, names, starts)
        arguments = ", ".join(f"{v}: {w.types[v]}" for v in entered)
        inside.append(f"scf.yield {w.typed(iteration())}")
    results = _bind_fresh(w, names, starts)
    head = f"scf.while ({_pairs(tested, starts)}) : ({types}) -> ({types}) {{"
    w.lines += [f"{', '.join(results)} = {head}", *before, "} do {", f"^bb0({arguments}):"]
    w.lines += [*inside, "}"]


def _emit_parallel(
    w: MlirBuilder, s: ir.Loop, folds: tuple[Reduction, ...], outer: list[str]
) -> None:
    """``scf.parallel`` in its generic form; the status is or-reduced over all iterations."""
    lo, hi, step, element = _bounds(w, s.range)
    assert set(outer) <= {STATE}
    starts = [*(w.value(f.acc.init) for f in folds), *state_values(w, outer)]
    with w.region() as inside:
        i = w.name(s.var, "index")
        w.names |= {s.var: element(i), **{n: w.integer(0) for n in outer}}
        values = emit_block(
            w, s.body, lambda: [*(w.value(f.value) for f in folds), *state_values(w, outer)], list
        )
        regions = [_reduction_region(w, f.op, f.dtype) for f in folds]
        regions += [_reduction_region(w, "bitor", INDEX) for _ in outer]
        types = ", ".join(w.types[v] for v in values)
        inside += _with_regions(f'"scf.reduce"({", ".join(values)})', regions)
        inside[-1] += f" : ({types}) -> ()"
    results = _bind_fresh(w, [*(f.acc.name for f in folds), *outer], starts)
    given = [lo, hi, step, *starts]
    sizes = f"<{{operandSegmentSizes = array<i32: 1, 1, 1, {len(starts)}>}}>"
    shown = f"{', '.join(results)} = " if results else ""
    head = f'{shown}"scf.parallel"({", ".join(given)}) {sizes}'
    w.lines += _with_regions(head, [[f"^bb0({i}: index):", *inside]])
    takes, gives = (", ".join(w.types[v] for v in x) for x in (given, starts))
    w.lines[-1] += f" : ({takes}) -> ({gives})"


def _reduction_region(w: MlirBuilder, op: str, dtype: str) -> list[str]:
    """The region of ``scf.reduce`` that combines two values of `dtype` by `op`."""
    type_ = element_type(dtype)
    with w.region() as inside:
        a, b = w.name("a", type_), w.name("b", type_)
        inside.append(f"^bb0({a}: {type_}, {b}: {type_}):")
        result = w.call(op, (a, b), dtype, dtype)
        inside.append(f"scf.reduce.return {result} : {type_}")
    return inside


def _bounds(w: MlirBuilder, r: ir.Range) -> tuple[str, str, str, Callable[[str], str]]:
    """Start, end and step of an upward counter for the range `r`, and a function that emits the
    value of the loop's variable, given the counter. A downward range counts its iterations from 0.
    """
    match r:
        case ir.Interval(lo, hi):
            return w.index(lo), w.index(hi), w.number(1), lambda i: i
        case ir.RangeDesc(first, end, step) if step > 0:
            return w.index(first), w.index(end), w.number(step), lambda i: i
        case ir.RangeDesc(first, end, step):
            start, by = w.index(first), w.number(-step)
            far = w.let(f"arith.subi {start}, {w.index(end)} : index", "index")
            count = w.let(f"arith.ceildivsi {far}, {by} : index", "index")

            def element(k: str) -> str:
                """The element at the count `k`."""
                down = w.let(f"arith.muli {k}, {by} : index", "index")
                return w.let(f"arith.subi {start}, {down} : index", "index")

            return w.number(0), count, w.number(1), element
        case _:
            return assert_never(r)


def _steps(w: MlirBuilder, accs: tuple[ir.Accum, ...]) -> list[str]:
    """The values of the accumulators after an iteration."""
    return [w.value(a.step) for a in accs]


def _bind_fresh(w: MlirBuilder, names: list[str], like: list[str]) -> list[str]:
    """Fresh values of the types of `like`, bound to `names`."""
    values = [w.name(n, w.types[v]) for n, v in zip(names, like, strict=True)]
    w.names.update(zip(names, values, strict=True))
    return values


def _changed(w: MlirBuilder, body: Iterable[ir.Stmt]) -> list[str]:
    """The state that `body` changes and does not define itself, by name: counters of appends, and
    `STATE`, `GO` and `RETURNED`.
    """
    found: set[str] = set()
    for s in body:
        match s:
            case ir.Append(count=name):
                found.add(name)
            case ir.Check(code=code):
                found |= {STATE, *((GO, RETURNED) if _stops(w, code) else ())}
            case ir.Return():
                found |= {GO, RETURNED}
            case ir.Break():
                found.add(GO)
            case ir.If():
                found.update(_changed(w, (*s.then, *s.orelse)))
            case ir.Loop() | ir.Zip() | ir.While():
                found.update(_changed_outside(w, s))
    return sorted(found)


def _changed_outside(w: MlirBuilder, s: ir.Loop | ir.Zip | ir.While) -> list[str]:
    """The state names that the loop `s` changes and that are still visible after it: not its
    accumulators, and the flag `GO` only if a `return` in the loop may leave the block around it.
    """
    inner = _changed(w, s.body)
    dropped = {a.name for a in s.accs} | ({GO} if RETURNED not in inner else set())
    return [name for name in inner if name not in dropped]


def _stops(w: MlirBuilder, code: str) -> bool:
    """Whether a failing check of `code` ends the kernel."""
    return w.kernel.stops and code == "replay"


def state_values(w: MlirBuilder, names: Iterable[str]) -> list[str]:
    """The current values of `names`. Of a flag that is not set yet: true for `GO`, else false."""
    flags = {GO: ON, RETURNED: OFF}
    return [w.names.get(n) or w.constant(flags[n]) for n in names]


def _negated(w: MlirBuilder, flag: str) -> str:
    """The negation of the bool `flag`."""
    return w.call("ne", (flag, w.constant(ON)), "bool", "bool")


def parallel_reductions(
    loop: ir.Loop, kernel: ir.Kernel, reassociate: bool
) -> tuple[Reduction, ...] | None:
    """The accumulators of `loop` as reductions, if it can be an ``scf.parallel``; None if it has to
    be an ``scf.for``.

        for i: s += x[i] * y[i]        (the reduction of s by addition,), if `reassociate`
        for i: y[i] = x[i]             ()
        for i: y[i + 1] = y[i]         None

    All of this must hold:

    - its range is an interval, and nothing ends it or the kernel early;
    - each accumulator is a reduction that may take its terms in any order, and that no iteration
      reads (`_reduction_of`): an ``scf.parallel`` has no other accumulators;
    - apart from these reductions its iterations are independent (`parallel_obstacle`), and do not
      add to elements of one array (`arrays_reduced_by`), which would have to be atomic.
    """
    if not isinstance(loop.range, ir.Interval) or loop.until is not None:
        return None
    reductions = tuple(
        f for a in loop.accs if (f := _reduction_of(a, loop, reassociate)) is not None
    )
    if len(reductions) < len(loop.accs) or _may_stop(loop, kernel):
        return None
    terms = (ir.Assign(f"{f.acc.name}$", f.value) for f in reductions)
    without_accs = replace(loop, body=(*loop.body, *terms), accs=())
    if parallel_obstacle(without_accs, kernel) is not None:
        return None
    return None if arrays_reduced_by(without_accs, kernel) else reductions


def _may_stop(loop: ir.Loop, kernel: ir.Kernel) -> bool:
    """Whether a check in the loop may end the kernel."""
    return kernel.stops and any(isinstance(n, ir.Check) for n in walk(loop))


def _reduction_of(acc: ir.Accum, loop: ir.Loop, reassociate: bool) -> Reduction | None:
    """The reduction of `acc`. None if it is none, if a condition leaves out terms, if an iteration
    reads its partial results, or if its terms must keep their order: those of floats, except sums
    and products under `reassociate`.
    """
    reduction = reduction_of(acc, loop)
    if reduction is None or reduction.cond is not None:
        return None
    if DTYPES[reduction.dtype].kind == "f" and not (reduction.is_inexact and reassociate):
        return None  # zeros and NaNs of float extrema depend on the order
    is_read = any(isinstance(n, ir.Var) and n.name == acc.name for s in loop.body for n in walk(s))
    return None if is_read else reduction


def _pairs(names: list[str], values: list[str]) -> str:
    """``%a = %b, …``, as in ``iter_args``."""
    return ", ".join(f"{a} = {b}" for a, b in zip(names, values, strict=True))


def _with_regions(head: str, regions: list[list[str]]) -> list[str]:
    """An operation with regions in its generic form, without its type."""
    if not regions:
        return [head]
    first, *others = regions
    lines = [f"{head} ({{", *first]
    for region in others:
        lines += ["}, {", *region]
    return [*lines, "})"]
