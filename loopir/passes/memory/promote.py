"""Scalar replacement (promotion): elements that every iteration updates are kept in scalars."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, TypeAlias

from ...algebra.index_builder import is_nonempty
from ...analysis.access import accesses
from ...analysis.affine import affine_form
from ...analysis.dependence import Overlap, dependence_distance
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, bound_names, names_read
from ...ir_traversal import bottom_up, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Assign,
    Break,
    Check,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Return,
    Scan,
    Stmt,
    Store,
    Var,
    Yield,
)
from ...statement_blocks import map_statements

__all__ = ["promote"]

_NOT_PLAIN = (LoopLike, Scan, Break, Return, Check)


def promote(kernel: Kernel) -> Kernel:
    """Turn elements that a loop updates in place into accumulators, stored once after the loop.
    Before::

        def k(x: f64[:, ::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                for j in loop(0, x.shape[1]):
                    out[i] = out[i] + x[i, j]

    after::

        def k(x: f64[:, ::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                if 0 < x.shape[1]:
                    out_i = out[i]
                    for j in loop(0, x.shape[1], out_i_1=out_i):
                        out_1 = out_i_1 + x[i, j]
                        out_i_1 = step(out_1)
                    out[i] = out_i_1

    Not in a kernel that may stop early, since it must store as Python would; and not where a check
    depends on the sum (integer overflow), which keeps Python's order.
    """
    if kernel.stops:
        return kernel
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        places = _updated_elements(s, memory) if isinstance(s, Loop) else []
        return _Promotion(places, fresh).loop(s) if isinstance(s, Loop) and places else s

    return map_statements(kernel, edit)


_Element: TypeAlias = "tuple[str, tuple[Expr, ...]]"


def _updated_elements(loop: Loop, memory: AliasInfo) -> list[_Element]:
    """The elements that `loop` reads and writes and that no other access in it may alias."""
    nodes = [n for s in loop.body for n in walk(s)]
    plain = not any(isinstance(n, _NOT_PLAIN) for n in nodes)
    if loop.accs or loop.until or not isinstance(loop.range, Interval) or not plain:
        return []
    stores = [n for n in nodes if isinstance(n, Store)]
    loads = dict.fromkeys((n.array, n.index) for n in nodes if isinstance(n, Load))
    inside = bound_names(*loop.body) | {loop.var}
    places: list[_Element] = []
    for array in dict.fromkeys(n.array for n in stores):
        own_stores = [n for n in stores if n.array == array]
        steady = [p for p in loads if p[0] == array and not names_read(*p[1]) & inside]
        moving = [p for p in loads if p[0] == array and p not in steady]
        here = dict.fromkeys([*steady, *((array, n.index) for n in own_stores)])
        others = {a for a, _ in loads if a != array} | (arrays_written(loop.body) - {array})
        whole = (
            not any(names_read(*at) & inside or arrays_read(at) for _, at in here)
            and all(_always_differ(a, b) for (_, a), (_, b) in combinations(here, 2))
            and not any(names_read(*at) & (inside - {loop.var}) for _, at in moving)
            and all(_never_meets(at, n, loop) for _, at in moving for n in own_stores)
            and all(n.mask is None for n in own_stores)
        )
        if whole and not memory.overlap((array,), others):
            stored = {n.index for n in own_stores}
            places += [p for p in here if p in loads and p[1] in stored]
    return places


def _always_differ(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two lists of subscripts always denote different elements."""
    for x, y in zip(a, b, strict=True):
        p, q = affine_form(x), affine_form(y)
        if p is not None and q is not None and (p - q).number not in (None, 0):
            return True
    return False


def _never_meets(at: tuple[Expr, ...], stored: Store, loop: Loop) -> bool:
    """Whether the subscripts `at`, which vary in `loop`, never denote the element of `stored`."""
    load = Assign("_", Load(stored.array, at, stored.value.dtype))
    store = replace(stored, value=Const(0, stored.value.dtype))
    one, other = accesses((replace(loop, body=(load, store)),))
    return dependence_distance(one, other, loop.var) is Overlap.NEVER


class _Promotion:
    """The rewriting of one loop; ``now`` maps each element to its current value."""

    def __init__(self, places: Sequence[_Element], fresh: FreshNames) -> None:
        self.places, self.fresh = places, fresh
        self.now: dict[_Element, Expr] = {}

    def loop(self, s: Loop) -> Stmt:
        assert isinstance(s.range, Interval)
        before, after, accs = list[Stmt](), list[Stmt](), list[tuple[_Element, str, Var]]()
        for array, index in self.places:
            dtype = self._dtype(s, array)
            name = "_".join([array, *sorted(names_read(*index))])
            start, acc = self.fresh.name(name), Var(self.fresh.name(name), dtype)
            before.append(Assign(start, Load(array, index, dtype), span=s.span))
            after.append(Store(array, index, acc, span=s.span))
            accs.append(((array, index), start, acc))
            self.now[array, index] = acc
        body = self.block(s.body)
        steps = tuple(Accum(v.name, Var(start, v.dtype), self.now[at]) for at, start, v in accs)
        done = replace(s, body=body, accs=steps)
        return If(is_nonempty(s.range), (*before, done, *after), (), (), span=s.span)

    @staticmethod
    def _dtype(s: Loop, array: str) -> str:
        return next(n.dtype for n in walk(s) if isinstance(n, Load) and n.array == array)

    def block(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(self.stmt(s) for s in stmts)

    def stmt(self, s: Stmt) -> Stmt:
        match s:
            case Store(array=array, index=index) if (array, index) in self.now:
                return self.assign_element((array, index), self.expr(s.value), s)
            case If():
                return self.branch(s)
        done: Stmt = self.expr(s)
        return done

    def assign_element(self, place: _Element, value: Expr, s: Store) -> Assign:
        name = self.fresh.name(place[0])
        self.now[place] = Var(name, value.dtype)
        return Assign(name, value, span=s.span)

    def branch(self, s: If) -> If:
        cond, before = self.expr(s.cond), dict(self.now)
        then = self.block(s.then)
        gives, after = [self.expr(y.then) for y in s.yields], self.now
        self.now = before
        orelse = self.block(s.orelse)
        yields = [
            replace(y, then=a, orelse=self.expr(y.orelse))
            for y, a in zip(s.yields, gives, strict=True)
        ]
        for place in self.places:
            if after[place] != self.now[place]:
                name = self.fresh.name(place[0])
                yields.append(Yield(name, after[place], self.now[place]))
                self.now[place] = Var(name, after[place].dtype)
        return replace(s, cond=cond, then=then, orelse=orelse, yields=tuple(yields))

    def expr(self, e: Any) -> Any:
        """`e` with loads of the elements replaced by their current values."""
        return bottom_up(
            e, lambda n: self.now.get((n.array, n.index), n) if isinstance(n, Load) else n
        )
