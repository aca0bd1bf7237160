"""Scalar replacement (promotion): elements that a loop updates are kept in scalars meanwhile.

`_updated_elements` decides which: elements with invariant subscripts that the loop loads and
stores, and that no other access in it may touch. `_Promotion` replaces each by an accumulator,
loaded before the loop and stored after it, which is then a reduction that can be vectorised. A
store of an invariant value to an element that the loop only stores moves behind the loop
(`_invariant_stores`).
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, TypeAlias

from ...algebra.index_builder import is_nonempty
from ...algebra.may_raise import is_overflow_check
from ...analysis.access import accesses
from ...analysis.dependence import Overlap, dependence_distance
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, changed_names, names_read
from ...ir_traversal import bottom_up, contains, counted_range, walk
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

_NOT_PLAIN = (LoopLike, Scan, Break, Return)


def promote(kernel: Kernel) -> Kernel:
    """Turn elements that a loop updates in place into accumulators, stored once after the loop
    (`_updated_elements`); and move stores of an invariant value to an invariant element behind the
    loop (`_invariant_stores`). Before::

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

    A kernel that stops at a failed check is not changed, since the elements must then have the
    values that Python would have stored so far; nor is a loop that is not innermost, or that has
    accumulators, exits or checks other than of overflow (`_is_plain`).
    """
    if kernel.stops:
        return kernel
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` with its updated elements in accumulators, and its invariant stores behind it."""
        if not isinstance(s, Loop) or not _is_plain(s):
            return s
        elements, stores = _updated_elements(s, memory), _invariant_stores(s, memory)
        return _Promotion(elements, stores, fresh).loop(s) if elements or stores else s

    return map_statements(kernel, edit, Loop)


_Element: TypeAlias = "tuple[str, tuple[Expr, ...]]"


def _is_plain(loop: Loop) -> bool:
    """Whether `loop` is counted and innermost, without accumulators and exits, and without checks
    of subscripts: an element that is loaded where such a check holds is none to load before it.
    """
    if loop.accs or counted_range(loop) is None or any(contains(s, _NOT_PLAIN) for s in loop.body):
        return False
    checks = (n for s in loop.body for n in walk(s) if isinstance(n, Check))
    return all(is_overflow_check(c) for c in checks)


def _invariant_stores(loop: Loop, memory: AliasInfo) -> list[Store]:
    """The stores that each iteration of the plain `loop` does in the same way: of a value and to an
    element that do not depend on the iteration, in an array that it does not access otherwise.
    """
    body_names = changed_names(*loop.body) | {loop.var}
    read, written = arrays_read(loop.body), arrays_written(loop.body)
    nodes = [n for s in loop.body for n in walk(s)]
    invariant: list[Store] = []
    for array in sorted(written - read):
        stores = [s for s in loop.body if isinstance(s, Store) and s.array == array]
        if len(stores) != sum(isinstance(n, Store) and n.array == array for n in nodes):
            continue  # some are in branches
        parts = [e for s in stores for e in (*s.index, s.value)]
        is_invariant = not (names_read(*parts) & body_names or arrays_read(parts))
        others = (read | written) - {array}
        if is_invariant and all(s.mask is None for s in stores):
            invariant += stores if not memory.overlap((array,), others) else []
    return invariant


def _updated_elements(loop: Loop, memory: AliasInfo) -> list[_Element]:
    """The elements that `promote` keeps in accumulators: those that the plain `loop` loads and
    stores, perhaps in branches only, and that no other access in it may touch. Each is an array
    with its subscripts.

        for j in loop(0, m): out[i] = out[i] + x[i, j]       [("out", (i,))]
    """
    nodes = [n for s in loop.body for n in walk(s)]
    stores = [n for n in nodes if isinstance(n, Store)]
    loads = dict.fromkeys((n.array, n.index) for n in nodes if isinstance(n, Load))
    elements: list[_Element] = []
    for array in dict.fromkeys(n.array for n in stores):
        array_stores = [n for n in stores if n.array == array]
        array_loads = [index for a, index in loads if a == array]
        others = {a for a, _ in loads if a != array} | (arrays_written(loop.body) - {array})
        if memory.overlap((array,), others) or not _keeps_places(array_stores, array_loads, loop):
            continue
        stored = {n.index for n in array_stores}
        elements += [(array, index) for index in array_loads if index in stored]
    return elements


def _keeps_places(
    stores: Sequence[Store], loads: Sequence[tuple[Expr, ...]], loop: Loop
) -> bool:
    """Whether all accesses of `loop` to an array, `stores` and the subscripts `loads`, are to
    elements that can be told apart, so that each stored one can have a value in a scalar:

    - all stores are at invariant subscripts, and none has a mask (one in an ``if`` is admitted:
      `_Promotion.branch` merges the values of both sides);
    - two different invariant subscripts never denote one element;
    - a load at a subscript that varies with the loop never meets a store.
    """
    body_names = changed_names(*loop.body) | {loop.var}
    invariant_loads = [index for index in loads if not names_read(*index) & body_names]
    varying_loads = [index for index in loads if index not in invariant_loads]
    places = dict.fromkeys([*invariant_loads, *(s.index for s in stores)])
    return (
        all(s.mask is None for s in stores)
        and not any(names_read(*index) & body_names or arrays_read(index) for index in places)
        and all(_always_differ(a, b) for a, b in combinations(places, 2))
        and not any(names_read(*index) & (body_names - {loop.var}) for index in varying_loads)
        and all(_never_meets(index, s, loop) for index in varying_loads for s in stores)
    )


def _always_differ(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two lists of subscripts certainly denote different elements: they differ by a
    constant on some axis.
    """
    for x, y in zip(a, b, strict=True):
        p, q = affine_form(x), affine_form(y)
        if p is not None and q is not None and (p - q).number not in (None, 0):
            return True
    return False


def _never_meets(index: tuple[Expr, ...], stored: Store, loop: Loop) -> bool:
    """Whether subscripts `index` that vary in `loop` never denote the element of `stored`."""
    load = Assign("_", Load(stored.array, index, stored.value.dtype))
    store = replace(stored, value=Const(0, stored.value.dtype))
    load_access, store_access = accesses((replace(loop, body=(load, store)),))
    return dependence_distance(load_access, store_access, loop.var) is Overlap.NEVER


class _Promotion:
    """The rewriting of one loop; ``values`` maps each element to its current value. The `stores`
    move behind the loop.
    """

    def __init__(
        self, elements: Sequence[_Element], stores: Sequence[Store], fresh: FreshNames
    ) -> None:
        self.elements, self.stores, self.fresh = elements, stores, fresh
        self.values: dict[_Element, Expr] = {}

    def loop(self, s: Loop) -> Stmt:
        """`s` with an accumulator for each element, between a load and a store of it, and the moved
        stores; only if `s` has an iteration, as the elements may not exist otherwise.
        """
        assert isinstance(s.range, Interval)
        before, after, accs = list[Stmt](), list[Stmt](), list[tuple[_Element, str, Var]]()
        for array, index in self.elements:
            dtype = self._dtype(s, array)
            name = "_".join([array, *sorted(names_read(*index))])
            start, acc = self.fresh.name(name), Var(self.fresh.name(name), dtype)
            before.append(Assign(start, Load(array, index, dtype), span=s.span))
            after.append(Store(array, index, acc, span=s.span))
            accs.append(((array, index), start, acc))
            self.values[array, index] = acc
        body = self.block(tuple(x for x in s.body if x not in self.stores))
        steps = tuple(
            Accum(v.name, Var(start, v.dtype), self.values[element]) for element, start, v in accs
        )
        carried = replace(s, body=body, accs=steps)
        loop = (carried,) if body else ()
        inside = (*before, *loop, *after, *self.stores)
        return If(is_nonempty(s.range), inside, (), (), span=s.span)

    @staticmethod
    def _dtype(s: Loop, array: str) -> str:
        """The dtype of `array`, which `s` loads."""
        return next(n.dtype for n in walk(s) if isinstance(n, Load) and n.array == array)

    def block(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements with the elements replaced."""
        return tuple(self.stmt(s) for s in stmts)

    def stmt(self, s: Stmt) -> Stmt:
        """`s` with the elements replaced: a store becomes an assignment."""
        match s:
            case Store(array=array, index=index) if (array, index) in self.values:
                return self.assign_element((array, index), self.expr(s.value), s)
            case If():
                return self.branch(s)
        rewritten: Stmt = self.expr(s)
        return rewritten

    def assign_element(self, element: _Element, value: Expr, s: Store) -> Assign:
        """An assignment of `value`, which is now the value of the element, to a fresh name."""
        name = self.fresh.name(element[0])
        self.values[element] = Var(name, value.dtype)
        return Assign(name, value, span=s.span)

    def branch(self, s: If) -> If:
        """`s` with the elements replaced; those with different values after its sides are merged by
        a new yield.
        """
        cond, before = self.expr(s.cond), dict(self.values)
        then = self.block(s.then)
        then_results, then_values = [self.expr(y.then) for y in s.yields], self.values
        self.values = before
        orelse = self.block(s.orelse)
        yields = [
            replace(y, then=a, orelse=self.expr(y.orelse))
            for y, a in zip(s.yields, then_results, strict=True)
        ]
        for element in self.elements:
            if then_values[element] != self.values[element]:
                name = self.fresh.name(element[0])
                yields.append(Yield(name, then_values[element], self.values[element]))
                self.values[element] = Var(name, then_values[element].dtype)
        return replace(s, cond=cond, then=then, orelse=orelse, yields=tuple(yields))

    def expr(self, e: Any) -> Any:
        """`e` with loads of the elements replaced by their current values."""
        return bottom_up(
            e, lambda n: self.values.get((n.array, n.index), n) if isinstance(n, Load) else n
        )
