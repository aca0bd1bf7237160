"""Plain subscripts first: one comparison tells that a subscript needs no wrap-around and is inside.

Python counts negative subscripts from the end, and raises IndexError outside. So a subscript that
is loaded has two comparisons, and selects of the place. Nearly all are in ``0 … n - 1``, which one
unsigned comparison tells (a negative number is a large one then): a branch that is predicted.
"""
from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any

from ...analysis.integers.difference_bounds import IntegerFacts
from ...analysis.integers.refine_facts import assume_condition
from ...dtypes import INDEX
from ...ir_names import FreshNames, multiply_bound_names, names_read
from ...ir_traversal import contains, map_children, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Call,
    Check,
    Const,
    Expr,
    Guard,
    If,
    Kernel,
    Load,
    Loop,
    Stmt,
    Var,
    While,
)
from ...statement_blocks import map_statements

__all__ = ["plain_subscripts"]


def plain_subscripts(kernel: Kernel) -> Kernel:
    """In scalar loops, decide first whether a subscript is in ``0 … n - 1``, where its check and
    its wrap-around are not needed.

    Before::

        def k(at: i64[::1], x: f64[::1], y: mut(f64[::1])):
            guard(x.shape[0] >= 1, "GUARD_BOUNDS")
            for i in loop(0, y.shape[0]):
                v = at[i]
                inside = (v >= 0 - x.shape[0]) & (v < x.shape[0])
                check(inside, "replay")
                y[i] = x[select(inside, select(v < 0, v + x.shape[0], v), 0)]

    after::

        def k(at: i64[::1], x: f64[::1], y: mut(f64[::1])):
            guard(x.shape[0] >= 1, "GUARD_BOUNDS")
            for i in loop(0, y.shape[0]):
                v = at[i]
                plain = u64(v) < u64(x.shape[0])
                inside = select(plain, True, (v >= 0 - x.shape[0]) & (v < x.shape[0]))
                check(inside, "replay")
                y[i] = x[select(plain, v, select(inside, select(v < 0, v + x.shape[0], v), 0))]
    """
    facts, fresh = IntegerFacts(), FreshNames(kernel)
    for g in 2 * kernel.guards:  # a guard may need the bounds that a later one gives
        if isinstance(g, Guard):
            assume_condition(facts, g.cond)
    ambiguous = multiply_bound_names(kernel)
    invariant = {p.name for p in kernel.params} - ambiguous
    for s in walk(kernel):  # also the names that were hoisted out of inner loops
        if not isinstance(s, Assign) or s.value.dtype != INDEX or s.value.lanes != 1:
            continue
        is_invariant = names_read(s.value) <= invariant and not contains(s.value, Load)
        if is_invariant and s.name not in ambiguous:
            facts.bind(Var(s.name, INDEX), s.value)
            invariant.add(s.name)

    def edit(s: Stmt) -> Stmt:
        """The scalar loop `s` with plain subscripts decided first."""
        if not isinstance(s, Loop | While):
            return s
        body = _with_plain_first(s.body, facts, fresh)
        return s if body is s.body else replace(s, body=body)

    return map_statements(kernel, edit, Loop | While)


def _with_plain_first(
    body: tuple[Stmt, ...], facts: IntegerFacts, fresh: FreshNames
) -> tuple[Stmt, ...]:
    """`body` with each test of a subscript, and the selects on it, behind the plain test; also in
    its branches.
    """
    checked = {n.name for s in body if isinstance(s, Check) for n in walk(s) if isinstance(n, Var)}
    new: list[Stmt] = []
    plain: dict[str, tuple[Var, Expr]] = {}  # by the test: the plain one, and the subscript
    values: dict[str, Expr] = {}
    for s in body:
        s = _rewritten(s, plain, values) if plain else s
        if isinstance(s, Assign):
            values[s.name] = s.value
        elif isinstance(s, If):
            sides = [_with_plain_first(x, facts, fresh) for x in (s.then, s.orelse)]
            if sides[0] is not s.then or sides[1] is not s.orelse:
                s = replace(s, then=sides[0], orelse=sides[1])
        found = _subscript_test(s, facts) if isinstance(s, Assign) and s.name in checked else None
        if found is None:
            new.append(s)
            continue
        assert isinstance(s, Assign)
        subscript, length = found
        test = Var(fresh.name("plain"), "bool")
        operands = tuple(Call("cast", (e,), "u64") for e in (subscript, length))
        new.append(Assign(test.name, Call("lt", operands, "bool")))
        new.append(replace(s, value=Call("select", (test, Const(True, "bool"), s.value), "bool")))
        plain[s.name] = test, subscript
    return body if len(new) == len(body) and all(map(is_, new, body)) else tuple(new)


def _subscript_test(s: Assign, facts: IntegerFacts) -> tuple[Expr, Expr] | None:
    """The subscript and the length of which `s` tells whether the subscript is inside, if that is
    so for ``0 <= subscript < length`` in any case; else None.
    """
    match s.value:
        case Call("and", (Call("ge", (a, low)), Call("lt", (b, length)))) if a == b:
            pass
        case Call("and", (Call("le", (low, a)), Call("lt", (b, length)))) if a == b:
            pass
        case _:
            return None
    if a.dtype != INDEX or a.lanes != 1 or not isinstance(a, Var):
        return None
    may_be_negative = facts.range_of(length)[0] < 0 or facts.range_of(low)[1] > 0
    return None if may_be_negative else (a, length)


def _rewritten(
    s: Stmt, plain: dict[str, tuple[Var, Expr]], values: Mapping[str, Expr]
) -> Stmt:
    """`s` with the selects on the tests that are keys of `plain` behind the plain tests. `values`:
    those of the names that were assigned before.
    """

    def visit(n: Any) -> Any:
        """`n` rewritten, which may be a part of a statement."""
        match n:
            case Call("select", (Var(name), value, _)) if name in plain and n.lanes == 1:
                test, subscript = plain[name]
                place = values.get(value.name, value) if isinstance(value, Var) else value
                if subscript in (place, value) or _is_place(place, subscript):
                    return Call("select", (test, subscript, n), n.dtype)
                return n
        return map_children(n, visit)

    is_scalar = isinstance(s, Assign | Check | If) or not contains(s, Loop)
    new: Stmt = visit(s) if is_scalar and not names_read(s).isdisjoint(plain) else s
    return new


def _is_place(value: Expr, subscript: Expr) -> bool:
    """Whether `value` is `subscript`, or the place of it if it may be negative."""
    match value:
        case Call("select", (Call("lt", (a, Const(0))), _, b)):
            return a == subscript == b
    return value == subscript
