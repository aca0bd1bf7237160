"""Loop-invariant code motion: invariant expressions and folds are computed before the loop."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import takewhile
from typing import Any, TypeGuard, TypeVar

from ...algebra.constant_folding import constant_trip_count, literal
from ...algebra.may_raise import may_raise_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.mod_ref import AliasInfo, arrays_written
from ...ir_names import (
    FreshNames,
    bound_names,
    changed_names,
    names_read,
    rename_names,
    substitute,
)
from ...ir_traversal import children, contains, map_children, range_bounds, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Accum,
    Assign,
    Break,
    Call,
    Check,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    Return,
    Stmt,
    Store,
    Var,
    Yield,
    Zip,
)
from ...statement_blocks import backward_slice, evaluated_by, map_statements

__all__ = ["hoist", "hoist_from"]

L = TypeVar("L", Loop, Zip, Loop | Zip)


def hoist(kernel: Kernel) -> Kernel:
    """Move invariant expressions before their loop: those that every iteration evaluates, and that
    read no name that the loop binds and no array that it may write.

    What may raise a floating-point flag, or reads memory, is computed only if the loop has an
    iteration (`_needs_iteration`). Subscripts stay as they are, since dependence tests read them as
    affine forms of the loop's variable; only loads and selects in them are hoisted. Before::

        def k(a: f64, b: f64, x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                out[i] = x[i] * (a / b)

    after::

        def k(a: f64, b: f64, x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            if 0 < x.shape[0]:
                h = give(a / b)
            else:
                h = give(0.0)
            for i in loop(0, x.shape[0]):
                out[i] = x[i] * h

    So does an invariant check, for a loop that has an iteration (`_hoisted_checks`):
    ``check(k < n, "replay")`` in the loop above becomes ``check((x.shape[0] <= 0) | (k < n), …)``
    before it; and so do the folds of an inner loop that are the same in every iteration
    (`_hoisted_folds`): the norm of row ``i`` in a loop over ``j``.
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` with its invariant expressions before it."""
        if not isinstance(s, Loop | Zip):
            return s
        before: list[Stmt] = []
        while True:
            checks, s = _hoisted_checks(s, memory)
            folds, s = _hoisted_folds(s, memory, fresh)
            bindings, s = hoist_from(s, memory, fresh, lambda _: True)
            before += (*checks, *folds, *bindings)
            further = _without_copies(s, bindings)
            if further is s:
                return (*before, s) if before else s
            s = further

    return map_statements(kernel, edit, Loop | Zip)


def _hoisted_folds(
    s: Loop | Zip, memory: AliasInfo, fresh: FreshNames
) -> tuple[tuple[Stmt, ...], Loop | Zip]:
    """The folds of inner loops of `s` that have the same result in each iteration, as loops before
    it; and `s` without them::

        for j in loop(0, m):                            if 0 < m:
            for k in loop(0, n, s=0.0, q=0.0):              for k_1 in loop(0, n, q_2=0.0):
                s = step(s + x[k] * y[j, k])                    q_2 = step(q_2 + x[k_1] * x[k_1])
                q = step(q + x[k] * x[k])           →       q_1 = give(q_2)
            out[j] = s / q                              else:
                                                            q_1 = give(0.0)
                                                        for j in loop(0, m):
                                                            for k in loop(0, n, s=0.0): …
                                                            out[j] = s / q_1

    An inner loop that runs in each iteration of `s` is looked at, if it runs to its end. A fold is
    taken if its start and its steps read nothing that `s` changes, and no other accumulator.
    """
    before: list[Stmt] = []
    values: dict[str, Expr] = {}
    body: list[Stmt] = []
    for k, inner in enumerate(s.body):
        if contains(inner, (Break, Return)):
            body += s.body[k:]
            break
        if not isinstance(inner, Loop) or not (folds := _invariant_folds(inner, s, memory)):
            body.append(inner)
            continue
        needed = backward_slice(inner.body, *(a.step for a in folds))
        moved = replace(inner, accs=folds, body=needed)
        moved = rename_names(moved, {name: fresh.name(name) for name in bound_names(moved)})
        names = [fresh.name(a.name) for a in folds]
        yields = tuple(
            Yield(name, new.current, literal(0, new.init.dtype))
            for name, new in zip(names, moved.accs, strict=True)
        )
        before.append(If(_has_iteration(s), (moved,), (), yields))
        values |= {a.name: Var(n, a.init.dtype) for a, n in zip(folds, names, strict=True)}
        rest = _without_folds(inner, folds)
        body += [rest] if rest.accs or rest.body else []
    return tuple(before), substitute(replace(s, body=tuple(body)), values) if before else s


def _invariant_folds(inner: Loop, s: Loop | Zip, memory: AliasInfo) -> tuple[Accum, ...]:
    """The accumulators of the loop `inner`, directly in `s`, that have the same value after it in
    each iteration of `s`, and that nothing else in `inner` reads.
    """
    if not inner.accs or inner.until is not None or not isinstance(inner.range, Interval):
        return ()
    own = {a.name for a in inner.accs}
    scope = _LoopScope(changed_names(s) - {inner.var}, arrays_written((s,)), memory)
    if not all(map(scope.is_invariant, range_bounds(inner.range))):
        return ()
    folds = []
    for a in inner.accs:
        needed = backward_slice(inner.body, a.step)
        code = (a.step, *(x.value for x in needed))
        within = replace(scope, varying=scope.varying - {a.name, *(x.name for x in needed)})
        is_alone = own & names_read(*code) == {a.name}
        if is_alone and scope.is_invariant(a.init) and all(map(within.is_invariant, code)):
            folds.append(a)
    while folds:
        rest = _without_folds(inner, folds)
        read = names_read(*rest.body, *(a.step for a in rest.accs))
        if read.isdisjoint(a.name for a in folds):
            break
        folds = [a for a in folds if a.name not in read]
    return tuple(folds)


def _without_folds(inner: Loop, folds: Collection[Accum]) -> Loop:
    """The loop `inner` without the accumulators `folds`, and without what these alone need."""
    accs = tuple(a for a in inner.accs if a not in folds)
    needed = backward_slice(inner.body, *(a.step for a in folds))
    others = tuple(x for x in inner.body if x not in needed)
    shared = backward_slice(inner.body, *others, *(a.step for a in accs))
    return replace(inner, accs=accs, body=tuple(x for x in inner.body if x in (*others, *shared)))


def _hoisted_checks(s: Loop | Zip, memory: AliasInfo) -> tuple[tuple[Stmt, ...], Loop | Zip]:
    """The invariant checks that each iteration of `s` makes, with the invariant values that they
    test, as statements before the loop; and the loop without them.
    """
    always = tuple(takewhile(lambda x: not contains(x, (Break, Return)), s.body))
    checks = [x for x in always if isinstance(x, Check)]
    if not checks:
        return (), s
    slices = {id(c): backward_slice(always, c.cond) for c in checks}
    varying, stores = changed_names(s), arrays_written((s,))
    moved: list[Stmt] = []
    for check in checks:
        needed = [x for x in slices[id(check)] if x not in moved]
        names = varying - {x.name for x in needed}
        scope = _LoopScope(names, stores, memory)
        values = [*(x.value for x in needed), check.cond]
        if all(scope.is_invariant(e) and not _needs_iteration(e) for e in values):
            moved += (*needed, check)
            varying = names
    if not moved:
        return (), s
    is_empty = rewrite(Call("not", (_has_iteration(s),), "bool"))
    before = tuple(
        replace(x, cond=rewrite(Call("or", (is_empty, x.cond), "bool")))
        if isinstance(x, Check) else x for x in moved
    )
    body = tuple(x for x in s.body if not any(x is m for m in moved))
    return before, replace(s, body=body)


def _without_copies(s: L, bindings: Sequence[Assign | If]) -> L:
    """`s` with the names of `bindings` in place of those that only stand for them, so that what is
    computed from these is invariant, too; `s` itself if there are none::

        h = i * scale                            h = i * scale
        for j in loop(0, n):                     for j in loop(0, n):
            y = h                           →        out[i, j] = trunc(h) + x[j]
            out[i, j] = trunc(y) + x[j]
    """
    hoisted = bound_names(*bindings)
    copies = [
        x for x in s.body
        if isinstance(x, Assign) and isinstance(x.value, Var) and x.value.name in hoisted
    ]
    if not copies:
        return s
    body = tuple(x for x in s.body if not any(x is c for c in copies))
    return substitute(replace(s, body=body), {c.name: c.value for c in copies})


def hoist_from(
    s: L, memory: AliasInfo, fresh: FreshNames, wanted: Callable[[Expr], bool]
) -> tuple[tuple[Assign | If, ...], L]:
    """The bindings of those invariant expressions of the loop that are ``wanted``, and the loop
    after them; no bindings, and `s` itself, if there is nothing to hoist.

    An expression that loads nothing and may raise no flag is assigned unconditionally, any other in
    a branch on the loop having an iteration.
    """
    scope = _LoopScope(changed_names(s), arrays_written((s,)), memory)
    invariants = list(dict.fromkeys(
        e for root in _unconditionally_evaluated(s) for e in scope.invariant(root) if wanted(e)
    ))
    if not invariants:
        return (), s
    names: dict[Expr, Var] = {e: Var(fresh.name("h"), e.dtype) for e in invariants}
    certainly_runs = isinstance(s.range, Interval) and bool(constant_trip_count(s.range))
    unguarded: set[Expr] = {e for e in invariants if certainly_runs or not _needs_iteration(e)}
    bindings: list[Assign | If] = [Assign(names[e].name, e) for e in invariants if e in unguarded]
    bindings += _guarded_bindings(s, {e: names[e] for e in invariants if e not in unguarded})
    return tuple(bindings), _with_names(s, names)


def _needs_iteration(e: Expr) -> bool:
    """Whether `e` must not be evaluated if the loop has no iteration, in which case Python does not
    evaluate it: ``a / b`` may raise a flag, which would become a warning; ``x[0]`` may load out of
    bounds, since the check that it is in bounds may be one for the iterations of the loop.

    `hoist_from` asks this of each invariant, and puts those for which it is true into a branch
    on the loop having an iteration.
    """
    return may_raise_flags(e) or any(isinstance(n, Load) for n in walk(e))


def _guarded_bindings(s: Loop | Zip, names: dict[Expr, Var]) -> Iterator[If]:
    """A branch that binds `names` if the loop has an iteration; nothing for no names."""
    if names:
        yields = tuple(Yield(v.name, e, literal(0, e.dtype)) for e, v in names.items())
        yield If(_has_iteration(s), (), (), yields)


def _has_iteration(s: Loop | Zip) -> Expr:
    """The condition that the loop has an iteration."""
    upwards = isinstance(s.range, Interval) or s.range.step > 0
    return Call("lt" if upwards else "gt", range_bounds(s.range), "bool")


def _unconditionally_evaluated(s: Loop | Zip) -> Iterator[Expr]:
    """What every iteration evaluates, except subscripts of stores."""
    for inner in s.body:
        match inner:
            case Store():
                yield from (inner.value, *((inner.mask,) if inner.mask else ()))
            case _:
                yield from evaluated_by(inner)
        if contains(inner, (Break, Return)):
            return
    yield from (a.step for a in s.accs)


def _with_names(s: L, names: dict[Expr, Var]) -> L:
    """`s` with the hoisted expressions replaced. In subscripts only loads and selects are
    replaced, since affine analysis reads the rest.
    """

    def replaced(n: Any) -> Any:
        """`n` with hoisted expressions replaced."""
        match n:
            case Call() | Load() if n in names:
                return names[n]
            case Load():
                return map_children(n, subscript)
            case Store():
                index = tuple(subscript(e) for e in n.index)
                mask = replaced(n.mask) if n.mask else None
                return replace(n, index=index, value=replaced(n.value), mask=mask)
            case _:
                return map_children(n, replaced)

    def subscript(n: Any) -> Any:
        """`n`, a part of a subscript, with hoisted loads and selects replaced."""
        is_hoisted = _is_opaque(n) and n in names
        return names[n] if is_hoisted else map_children(n, subscript)

    body = tuple(replaced(x) for x in s.body)
    accs = tuple(replace(a, step=replaced(a.step)) for a in s.accs)
    return replace(s, body=body, accs=accs)


def _is_opaque(e: Node) -> TypeGuard[Load | Call]:
    """Whether `e`, in a subscript, is no part of an affine form: an element, or a select, such as
    that of a subscript that may be negative.
    """
    return isinstance(e, Load) or (isinstance(e, Call) and e.op == "select")


@record(frozen=True, slots=True)
class _LoopScope:
    """A loop, as far as invariance in it is concerned."""

    varying: frozenset[str]  # the names that it binds or advances
    stores: frozenset[str]  # the arrays that it writes
    memory: AliasInfo

    def invariant(self, e: Any) -> Iterator[Expr]:
        """The largest invariant subexpressions of `e` that are worth a name."""
        if self.is_invariant(e):
            if isinstance(e, Call | Load):
                yield e
            return
        for part in children(e):
            yield from (self.in_subscript(part) if isinstance(e, Load) else self.invariant(part))

    def in_subscript(self, e: Any) -> Iterator[Expr]:
        """The invariant loads and selects in a subscript."""
        if _is_opaque(e) and self.is_invariant(e):
            yield e
        else:
            for part in children(e):
                yield from self.in_subscript(part)

    def is_invariant(self, e: Expr) -> bool:
        """Whether `e` reads no varying name and no array that the loop may write."""
        reads_no_varying = not self.varying & names_read(e)
        return reads_no_varying and not self.memory.changes(e, self.stores)
