"""Loop-invariant code motion: invariant expressions are computed before the loop."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, TypeVar

from ...algebra.constant_folding import constant_trip_count, literal
from ...algebra.may_raise import may_raise_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.mod_ref import AliasInfo, arrays_written
from ...ir_names import FreshNames, changed_names, names_read
from ...ir_traversal import children, contains, map_children, range_bounds, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
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
    affine forms of the loop's variable; only loads in them are hoisted. Before::

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
    before it.
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` with its invariant expressions before it."""
        if not isinstance(s, Loop | Zip):
            return s
        checks, s = _hoisted_checks(s, memory)
        loop = _hoisted_loop(s, memory, fresh)
        return (*checks, *(loop if isinstance(loop, tuple) else (loop,))) if checks else loop

    return map_statements(kernel, edit, Loop | Zip)


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


def _hoisted_loop(s: Loop | Zip, memory: AliasInfo, fresh: FreshNames) -> Stmt | tuple[Stmt, ...]:
    """The loop, after the bindings of what was hoisted; `s` itself if there is nothing to hoist."""
    bindings, loop = hoist_from(s, memory, fresh, lambda _: True)
    return (*bindings, loop) if bindings else s


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

    `_hoisted_loop` asks this of each invariant, and puts those for which it is true into a branch
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
    """`s` with the hoisted expressions replaced. In subscripts only loads are replaced, since
    affine analysis reads the rest.
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
        """`n`, a part of a subscript, with hoisted loads replaced."""
        is_hoisted = isinstance(n, Load) and n in names
        return names[n] if is_hoisted else map_children(n, subscript)

    body = tuple(replaced(x) for x in s.body)
    accs = tuple(replace(a, step=replaced(a.step)) for a in s.accs)
    return replace(s, body=body, accs=accs)


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
            yield from (self.loads(part) if isinstance(e, Load) else self.invariant(part))

    def loads(self, e: Node) -> Iterator[Expr]:
        """The invariant loads in a subscript."""
        if isinstance(e, Load) and self.is_invariant(e):
            yield e
        else:
            for part in children(e):
                yield from self.loads(part)

    def is_invariant(self, e: Expr) -> bool:
        """Whether `e` reads no varying name and no array that the loop may write."""
        reads_no_varying = not self.varying & names_read(e)
        return reads_no_varying and not self.memory.changes(e, self.stores)
