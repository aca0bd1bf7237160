"""Loop-invariant code motion: invariant expressions are computed before the loop."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...algebra.constant_folding import constant_trip_count, literal
from ...algebra.may_raise import may_raise_flags
from ...analysis.mod_ref import AliasInfo, arrays_written
from ...ir_names import FreshNames, bound_names, names_read
from ...ir_traversal import advanced_accums, children, map_children, range_bounds, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Assign,
    Break,
    Call,
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
from ...statement_blocks import evaluated_by, map_statements

__all__ = ["hoist"]


def hoist(kernel: Kernel) -> Kernel:
    """Move invariant expressions before their loop.

    What may raise a floating-point flag or reads memory is computed only if the loop has an
    iteration. Subscripts stay as they are, except for loads in them. Before::

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
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        return _hoisted_loop(s, memory, fresh) if isinstance(s, Loop | Zip) else s

    return map_statements(kernel, edit)


def _hoisted_loop(s: Loop | Zip, memory: AliasInfo, fresh: FreshNames) -> Stmt | tuple[Stmt, ...]:
    """The loop, after the assignments of what was hoisted."""
    scope = _LoopScope(bound_names(s) | advanced_accums(s), arrays_written((s,)), memory)
    found = list(
        dict.fromkeys(e for root in _unconditionally_evaluated(s) for e in scope.invariant(root))
    )
    if not found:
        return s
    names: dict[Expr, Var] = {e: Var(fresh.name("h"), e.dtype) for e in found}
    runs = isinstance(s.range, Interval) and bool(constant_trip_count(s.range))
    early = [e for e in found if runs or not _needs_iteration(e)]
    late = [e for e in found if e not in early]
    assigns = tuple(Assign(names[e].name, e) for e in early)
    return (*assigns, *_guarded_bindings(s, {e: names[e] for e in late}), _with_names(s, names))


def _needs_iteration(e: Expr) -> bool:
    return may_raise_flags(e) or any(isinstance(n, Load) for n in walk(e))


def _guarded_bindings(s: Loop | Zip, names: dict[Expr, Var]) -> Iterator[If]:
    """A branch that binds `names` if the loop has an iteration; nothing for no names."""
    upwards = isinstance(s.range, Interval) or s.range.step > 0
    runs = Call("lt" if upwards else "gt", range_bounds(s.range), "bool")
    if names:
        gives = tuple(Yield(v.name, e, literal(0, e.dtype)) for e, v in names.items())
        yield If(runs, (), (), gives)


def _unconditionally_evaluated(s: Loop | Zip) -> Iterator[Expr]:
    """What every iteration evaluates, except subscripts of stores."""
    for inner in s.body:
        match inner:
            case Store():
                yield from (inner.value, *((inner.mask,) if inner.mask else ()))
            case _:
                yield from evaluated_by(inner)
        if any(isinstance(n, Break | Return) for n in walk(inner)):
            return
    yield from (a.step for a in s.accs)


def _with_names(s: Loop | Zip, names: dict[Expr, Var]) -> Loop | Zip:
    def go(n: Any) -> Any:
        match n:
            case Call() | Load() if n in names:
                return names[n]
            case Load():
                return map_children(n, subscript)
            case Store():
                index = tuple(subscript(e) for e in n.index)
                mask = go(n.mask) if n.mask else None
                return replace(n, index=index, value=go(n.value), mask=mask)
            case _:
                return map_children(n, go)

    def subscript(n: Any) -> Any:
        is_known = isinstance(n, Load) and n in names
        return names[n] if is_known else map_children(n, subscript)

    body = tuple(go(x) for x in s.body)
    accs = tuple(replace(a, step=go(a.step)) for a in s.accs)
    return replace(s, body=body, accs=accs)


@record(frozen=True, slots=True)
class _LoopScope:
    """A loop: the names that vary in it and the arrays that it writes."""

    varying: frozenset[str]
    stores: frozenset[str]
    memory: AliasInfo

    def invariant(self, e: Any) -> Iterator[Expr]:
        """The largest invariant subexpressions of `e` that are worth a name."""
        if self.is_fixed(e):
            if isinstance(e, Call | Load):
                yield e
            return
        for part in children(e):
            yield from (self.loads(part) if isinstance(e, Load) else self.invariant(part))

    def loads(self, e: Node) -> Iterator[Expr]:
        """The invariant loads in a subscript."""
        if isinstance(e, Load) and self.is_fixed(e):
            yield e
        else:
            for part in children(e):
                yield from self.loads(part)

    def is_fixed(self, e: Expr) -> bool:
        still = not self.varying & names_read(e)
        return still and not self.memory.changes(e, self.stores)
