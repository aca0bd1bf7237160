"""Index-set splitting at a pivot: the one iteration that writes what all others read is peeled."""
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
from ...analysis.affine import affine_form
from ...analysis.mod_ref import AliasInfo, arrays_read
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, substitute
from ...ir_traversal import map_children, walk
from ...lazy_dataclass import record, replace
from ...nodes import Assign, Expr, If, Interval, Kernel, Load, Loop, Stmt, Store, Var, Yield
from ...statement_blocks import map_statements
from ..vector.if_convert import flatten_loop
from ..vector.vectorize_legality import vectorization_obstacle

__all__ = ["split_at_pivot"]


def split_at_pivot(kernel: Kernel) -> Kernel:
    """Split a loop at the one iteration that may write an element that all iterations read.

    The element is then loaded once before each of the two loops. Before::

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
        found = _pivot_of(s, memory) if isinstance(s, Loop) else None
        if found is None or _is_vector(found.loop, kernel, fresh):
            return s
        made = tuple(found.statements(fresh))
        able = all(_is_vector(x, kernel, fresh) for x in made if isinstance(x, Loop))
        return made if able else s

    return map_statements(kernel, edit)


def _is_vector(loop: Loop, kernel: Kernel, fresh: FreshNames) -> bool:
    return vectorization_obstacle(flatten_loop(loop, kernel, fresh) or loop, kernel) is None


def _pivot_of(loop: Loop, memory: AliasInfo) -> _Pivot | None:
    """`loop` as a _Pivot, if exactly one iteration may write an invariant element; else None."""
    nodes = [n for s in loop.body for n in walk(s)]
    plain = all(isinstance(n, Assign | Store | If) for n in nodes if isinstance(n, Stmt))
    if loop.accs or loop.until or not plain or not isinstance(loop.range, Interval):
        return None
    own = bound_names(loop)
    stores = [n for n in nodes if isinstance(n, Store)]
    loads = dict.fromkeys(n for n in nodes if isinstance(n, Load))
    fixed = [n for n in loads if not own & names_read(n) and not arrays_read(n.index)]
    read = tuple(n for n in fixed if memory.overlap((n.array,), (s.array for s in stores)))
    meetings = {
        _meeting_iteration(n, s, loop.var, own) for n in read for s in stores
        if memory.overlap((n.array,), (s.array,))
    }
    place = meetings.pop() if len(meetings) == 1 else None
    return None if place is None else _Pivot(loop, loop.range, read, place)


def _meeting_iteration(load: Load, store: Store, var: str, own: frozenset[str]) -> Expr | None:
    """The iteration in which `store` may write the element of `load`; None if it is unknown."""
    for e, written in zip(load.index, store.index, strict=True):
        form = None if names_read(written) & own - {var} else affine_form(written, (var,))
        if form is not None and form.coefficient(var) == 1 and form.variables == {var}:
            rest = rewrite(substitute(written, {var: index_const(0)}))
            apart = index_sub(e, rest)
            return apart if affine_form(apart) is not None else None
    return None


@record(frozen=True, slots=True)
class _Pivot:
    """A loop, its range, the invariant loads, and the one iteration (``place``) that may write
    them.
    """

    loop: Loop
    range: Interval
    read: tuple[Load, ...]
    place: Expr

    def statements(self, fresh: FreshNames) -> Iterator[Stmt]:
        """The loop before the pivot, the pivot's iteration, and the loop after it."""
        lo, hi = self.range.lo, self.range.hi
        at, behind = (Var(fresh.name(name), INDEX) for name in ("at", "behind"))
        yield Assign(at.name, index_max(lo, index_min(self.place, hi)))
        yield Assign(behind.name, index_max(at, index_min(index_add(self.place, 1), hi)))
        yield from self._named(Interval(lo, at), self.loop, fresh)
        one, rest = fresh.copy(self.loop), fresh.copy(self.loop)
        here = substitute(one, {one.var: at}).body
        yield If(index_less(at, behind), here, (), span=self.loop.span)
        yield from self._named(Interval(behind, hi), rest, fresh)

    def _named(self, rng: Interval, loop: Loop, fresh: FreshNames) -> Iterator[Stmt]:
        """`loop` over a range without the pivot, its invariant loads hoisted into names."""
        names: dict[Any, Var] = {n: Var(fresh.name(n.array), n.dtype) for n in self.read}
        gives = tuple(Yield(v.name, n, literal(0, v.dtype)) for n, v in names.items())
        yield If(is_nonempty(rng), (), (), gives, span=loop.span)

        def known(n: Any) -> Any:
            return names[n] if isinstance(n, Load) and n in names else map_children(n, known)

        yield replace(loop, range=rng, body=tuple(map(known, loop.body)))
