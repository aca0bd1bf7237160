"""Loop splitting on a sticky flag: after the iteration that changes it, a loop runs without it.

A sticky flag changes once at most. It says that some iteration has had an effect, for instance that
a first element was found (``seen``), or that none was yet (``best is None``). The first loop, which
is scalar, ends with the iteration that changes the flag; in the second loop the flag is a constant.
The pass splits only if the second loop can then be vectorised.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...algebra.constant_folding import index_const, literal
from ...algebra.rewrite_rules import rewrite
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, rename_names, substitute
from ...ir_traversal import bottom_up, counted_range, map_children
from ...lazy_dataclass import record, replace
from ...nodes import Accum, Assign, Call, Const, Expr, Interval, Kernel, Loop, Stmt, Var
from ...statement_blocks import map_nested_blocks, map_statements
from ..canonical.propagate_copies import block_copy_propagation
from ..vector.if_convert import flatten_loop
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["split_on_flag"]


def split_on_flag(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Split a loop with a sticky flag, a bool accumulator that stays true once it is true, or false
    once it is false: a scalar loop until then, and the rest, in which the flag is a constant.

    A loop is split only if it cannot be vectorised as it is, and the rest can be. Accumulators that
    are constant once the flag has changed keep their values. Before::

        def k(x: f64[::1], out: mut(f64[()]), some: mut(bool[()])):
            disjoint(x, out)
            disjoint(x, some)
            for i in loop(0, x.shape[0], best=0.0, seen=False):
                v = x[i]
                best = step(select(v > 0.0, select(seen, max(best, v), v), best))
                seen = step(seen | (v > 0.0))
            out[()] = best
            some[()] = seen

    after::

        def k(x: f64[::1], out: mut(f64[()]), some: mut(bool[()])):
            disjoint(x, out)
            disjoint(x, some)
            for i_1 in loop(0, x.shape[0], best_1=0.0, seen_1=False, next=0):
                v_1 = x[i_1]
                best_1 = step(select(v_1 > 0.0, select(seen_1, max(best_1, v_1), v_1), best_1))
                seen_1 = step(seen_1 | (v_1 > 0.0))
                next = step(i_1 + 1)
                until(seen_1)
            for i in loop(next, x.shape[0], best=best_1):
                v = x[i]
                best = step(select(v > 0.0, max(best, v), best))
            seen = seen_1
            out[()] = best
            some[()] = seen
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` split, if it is not vectorisable but is so after its flag has changed."""
        if not isinstance(s, Loop) or counted_range(s) is None:
            return s
        if not any(a.init.dtype == "bool" for a in s.accs):
            return s
        flat = flatten_loop(s, kernel, fresh) or s
        flags = (_flag(a, flat) for a in flat.accs if a.init.dtype == "bool")
        flag = next((f for f in flags if f is not None), None)
        if flag is None or vectorization_obstacle(flat, kernel, reassociate=reassociate) is None:
            return s
        rest, settled = _loop_after_flag(flat, flag, kernel)
        if vectorization_obstacle(rest, kernel, reassociate=reassociate) is not None:
            return s
        return _split_loop(s, flag, rest, settled, fresh)

    return map_statements(kernel, edit, Loop)


@record(frozen=True, slots=True)
class _Flag:
    """A bool accumulator that starts as the opposite of ``value``, and keeps that once it has it.
    """

    name: str
    value: bool
    cond: Expr
    """The condition under which an iteration changes it; the constant True: the first one does."""


def _flag(acc: Accum, loop: Loop) -> _Flag | None:
    """`acc`, a bool, as a flag that the loop reads; None if it is not one. ::

        seen = step(seen | c), at first False   →   True under c
        none = step(none & c), at first True    →   False under not c
        none = step(False), at first True       →   False after the first iteration
    """
    match acc:
        case Accum(init=Const(value=False as first), step=Call(op="or", args=args)):
            cond = _other_operand(acc.name, args)
        case Accum(init=Const(value=True as first), step=Call(op="and", args=args)):
            kept = _other_operand(acc.name, args)
            cond = None if kept is None else Call("not", (kept,), "bool")
        case Accum(init=Const(value=bool(first)), step=Const(value=bool(then))) if (
            first is not then
        ):
            cond = literal(True, "bool")
        case _:
            return None
    readers = (*loop.body, *(a.step for a in loop.accs if a is not acc))
    if cond is None or acc.name in names_read(cond) or acc.name not in names_read(*readers):
        return None
    return _Flag(acc.name, not first, cond)


def _other_operand(name: str, operands: tuple[Expr, ...]) -> Expr | None:
    """Of two operands the one that is not the variable `name`; None if neither is it."""
    a, b = operands
    variable = Var(name, "bool")
    return b if a == variable else a if b == variable else None


def _loop_after_flag(loop: Loop, flag: _Flag, kernel: Kernel) -> tuple[Loop, frozenset[str]]:
    """`loop` with the flag assumed to have changed, and the accumulators that are constant then.

    At first, each accumulator to which the iteration that changes the flag gives a constant is
    assumed to be constant from then on. Those whose step does not keep the constant are removed one
    by one, until all that are left keep theirs.
    """
    settled: dict[str, Expr] = {flag.name: literal(flag.value, "bool")}
    before_flag = {flag.name: literal(not flag.value, "bool")}
    for a in loop.accs:
        step = _simplest_form(_assume_true(substitute(a.step, before_flag), flag.cond))
        if isinstance(step, Const) and a.name != flag.name:
            settled[a.name] = step
    while (changing := _unsettled(loop, settled)) is not None:
        del settled[changing]
    accs = tuple(
        replace(a, step=substitute(a.step, settled)) for a in loop.accs if a.name not in settled
    )
    body = tuple(substitute(s, settled) for s in loop.body)
    rest = bottom_up(replace(loop, body=body, accs=accs), rewrite)
    return bottom_up(map_nested_blocks(rest, block_copy_propagation(kernel)), rewrite), frozenset(
        settled
    )


def _unsettled(loop: Loop, settled: Mapping[str, Expr]) -> str | None:
    """A name in `settled` whose step does not keep its value; None if all do."""
    for a in loop.accs:
        if a.name in settled and _simplest_form(substitute(a.step, settled)) != settled[a.name]:
            return a.name
    return None


def _assume_true(e: Any, cond: Expr) -> Any:
    """`e` with `cond` replaced by True."""
    return literal(True, "bool") if e == cond else map_children(e, lambda c: _assume_true(c, cond))


def _simplest_form(e: Expr) -> Expr:
    """`e` simplified by the rewrite rules."""
    simplified: Expr = bottom_up(e, rewrite)
    return simplified


def _split_loop(
    loop: Loop, flag: _Flag, rest: Loop, settled: frozenset[str], fresh: FreshNames
) -> tuple[Stmt, ...]:
    """The loop until the flag has changed, the rest, and copies of the accumulators that are
    constant.
    """
    assert isinstance(loop.range, Interval)
    first_remaining = Var(fresh.name("next"), INDEX)
    next_index = Call("add", (Var(loop.var, INDEX), index_const(1)), INDEX)
    accs = (*loop.accs, Accum(first_remaining.name, loop.range.lo, next_index))
    names = {n: fresh.name(n) for n in sorted(bound_names(loop))}
    changed: Expr = Var(flag.name, "bool")
    if not flag.value:
        changed = Call("not", (changed,), "bool")
    search = replace(loop, accs=accs, until=changed)
    search = rename_names(search, names)
    carried = tuple(
        replace(a, init=Var(names[a.name], a.init.dtype)) for a in rest.accs
    )
    rest = replace(rest, range=Interval(first_remaining, loop.range.hi), accs=carried)
    settled_accs = (a for a in loop.accs if a.name in settled)
    final_values = tuple(
        Assign(a.name, Var(names[a.name], a.init.dtype), span=a.span) for a in settled_accs
    )
    return (search, rest, *final_values)
