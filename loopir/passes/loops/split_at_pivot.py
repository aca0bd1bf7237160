"""Index-set splitting at a pivot: the one iteration that writes what all others read is peeled.

In Gaussian elimination and Floyd-Warshall an inner loop reads ``d[i, k]`` in every iteration, and
the iteration j == k may write it. Before and after that pivot the element is invariant, so that the
two loops are vectorisable. The pass splits only if both are.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...algebra.constant_folding import index_const, literal
from ...algebra.index_builder import (
    index_add,
    index_less,
    index_max,
    index_min,
    index_sub,
    is_nonempty,
)
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo, arrays_read
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, substitute
from ...ir_traversal import counted_range, map_children, walk, walk_statements
from ...lazy_dataclass import record, replace
from ...nodes import Assign, Expr, If, Interval, Kernel, Load, Loop, Stmt, Store, Var, Yield
from ...statement_blocks import map_statements
from ..vector.if_convert import flatten_loop
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["split_at_pivot"]


def split_at_pivot(kernel: Kernel) -> Kernel:
    """Split a loop at the one iteration that may write an element that all iterations read: one
    loop before it, that iteration, and one loop behind it. In both loops the element is invariant,
    so it is loaded before the loop.

    A loop is split only if it cannot be vectorised as it is, and both new loops can be. `_pivot_of`
    finds the iteration. Before::

        def k(d: mut(f64[:, ::1]), i: i64, k: i64):
            for j in loop(0, d.shape[1]):
                d[i, j] = d[i, j] - d[i, k] * d[k, j]

    after::

        def k(d: mut(f64[:, ::1]), i: i64, k: i64):
            at = max(0, min(k, d.shape[1]))
            behind = max(at, min(k + 1, d.shape[1]))
            if 0 < at:
                d_1 = give(d[i, k])
            else:
                d_1 = give(0.0)
            for j in loop(0, at):
                d[i, j] = d[i, j] - d_1 * d[k, j]
            if at < behind:
                d[i, at] = d[i, at] - d[i, k] * d[k, at]
            if behind < d.shape[1]:
                d_2 = give(d[i, k])
            else:
                d_2 = give(0.0)
            for j_2 in loop(behind, d.shape[1]):
                d[i, j_2] = d[i, j_2] - d_2 * d[k, j_2]
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` split, if it has a pivot and is not vectorisable as a whole."""
        pivot = _pivot_of(s, memory) if isinstance(s, Loop) else None
        if pivot is None or _is_vectorizable(pivot.loop, kernel, fresh):
            return s
        parts = tuple(pivot.statements(fresh))
        are_vectorizable = all(
            _is_vectorizable(x, kernel, fresh) for x in parts if isinstance(x, Loop)
        )
        return parts if are_vectorizable else s

    return map_statements(kernel, edit, Loop)


def _is_vectorizable(loop: Loop, kernel: Kernel, fresh: FreshNames) -> bool:
    """Whether `loop`, its branches converted, can be vectorised."""
    return vectorization_obstacle(flatten_loop(loop, kernel, fresh) or loop, kernel) is None


def _pivot_of(loop: Loop, memory: AliasInfo) -> _Pivot | None:
    """`loop` as a _Pivot, if one iteration alone may write an element that all iterations read, and
    which iteration that is can be computed before the loop; else None.

        for j: d[i, j] = d[i, j] - d[i, k] * d[k, j]      d[i, k] is written in iteration j = k
    """
    counted = counted_range(loop)
    if loop.accs or counted is None:
        return None
    nested = (n for s in loop.body for n in walk_statements(s))
    statements = [n for n in nested if isinstance(n, Stmt)]
    stores = [n for n in statements if isinstance(n, Store)]
    if not stores or not all(isinstance(n, Assign | Store | If) for n in statements):
        return None
    bound = bound_names(loop)
    loads = dict.fromkeys(n for s in loop.body for n in walk(s) if isinstance(n, Load))
    invariant_loads = [n for n in loads if not bound & names_read(n) and not arrays_read(n.index)]
    overwritten = tuple(
        n for n in invariant_loads if memory.overlap((n.array,), (s.array for s in stores))
    )
    pivots = {
        _meeting_iteration(n, s, loop.var, bound) for n in overwritten for s in stores
        if memory.overlap((n.array,), (s.array,))
    }
    iteration = pivots.pop() if len(pivots) == 1 else None
    return None if iteration is None else _Pivot(loop, counted, overwritten, iteration)


def _meeting_iteration(load: Load, store: Store, var: str, bound: frozenset[str]) -> Expr | None:
    """The iteration of the loop over `var` in which `store` may write the element of `load`; None
    if it is unknown. One axis is enough: that along which `store` advances by 1. ``bound``: the
    names that the loop binds.
    """
    for e, subscript in zip(load.index, store.index, strict=True):
        form = None if names_read(subscript) & bound - {var} else affine_form(subscript, (var,))
        if form is not None and form.coefficient(var) == 1 and form.variables == {var}:
            offset = rewrite(substitute(subscript, {var: index_const(0)}))
            iteration = index_sub(e, offset)
            return iteration if affine_form(iteration) is not None else None
    return None


@record(frozen=True, slots=True)
class _Pivot:
    """A loop with one iteration that may write what all others read."""

    loop: Loop
    range: Interval  # of the loop
    read: tuple[Load, ...]  # the invariant loads that it may write
    iteration: Expr  # the pivot; it may be outside of the range

    def statements(self, fresh: FreshNames) -> Iterator[Stmt]:
        """The loop before the pivot, the pivot's iteration, and the loop after it."""
        lo, hi = self.range.lo, self.range.hi
        pivot, after = (Var(fresh.name(name), INDEX) for name in ("at", "behind"))
        yield Assign(pivot.name, index_max(lo, index_min(self.iteration, hi)))
        yield Assign(after.name, index_max(pivot, index_min(index_add(self.iteration, 1), hi)))
        yield from self._named(Interval(lo, pivot), self.loop, fresh)
        pivot_copy, last_copy = fresh.copy(self.loop), fresh.copy(self.loop)
        pivot_body = substitute(pivot_copy, {pivot_copy.var: pivot}).body
        yield If(index_less(pivot, after), pivot_body, (), span=self.loop.span)
        yield from self._named(Interval(after, hi), last_copy, fresh)

    def _named(self, interval: Interval, loop: Loop, fresh: FreshNames) -> Iterator[Stmt]:
        """`loop` over a range without the pivot, its invariant loads hoisted into names."""
        names: dict[Any, Var] = {n: Var(fresh.name(n.array), n.dtype) for n in self.read}
        yields = tuple(Yield(v.name, n, literal(0, v.dtype)) for n, v in names.items())
        yield If(is_nonempty(interval), (), (), yields, span=loop.span)

        def with_names(n: Any) -> Any:
            """`n` with the invariant loads replaced."""
            return names[n] if isinstance(n, Load) and n in names else map_children(n, with_names)

        yield replace(loop, range=interval, body=tuple(map(with_names, loop.body)))
