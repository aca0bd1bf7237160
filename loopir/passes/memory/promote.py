"""Scalar replacement (promotion): elements that a loop updates are kept in scalars meanwhile.

`_updated_elements` decides which: elements with invariant subscripts that the loop loads and
stores, and that no other access in it may touch. `_Promotion` replaces each by an accumulator,
loaded before the loop and stored after it, which is then a reduction that can be vectorised. A
store of an invariant value to an element that the loop only stores moves behind the loop
(`_invariant_stores`), and so does a store in a branch, with a flag that tells whether it was
reached (`_conditional_elements`). An element that no iteration has stored is not stored behind the
loop, either: another thread may have written to it meanwhile.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from ...algebra.constant_folding import literal
from ...algebra.index_builder import is_nonempty
from ...algebra.may_raise import is_overflow_check
from ...analysis.access import accesses
from ...analysis.dependence import Overlap, dependence_distance
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...dtypes import DTYPES
from ...ir_names import FreshNames, changed_names, names_read
from ...ir_traversal import bottom_up, contains, counted_range, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Accum,
    Append,
    Assign,
    Break,
    Call,
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
    (`_updated_elements`); move stores of an invariant value to an invariant element behind the loop
    (`_invariant_stores`), and stores to one that only branches reach (`_conditional_elements`).
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

    A kernel that stops at a failed check is not changed, since the elements must then have the
    values that Python would have stored so far. Nor are updated elements and invariant stores of a
    loop that is not innermost, or that has accumulators, exits or checks other than of overflow
    (`_is_plain`).
    """
    if kernel.stops:
        return kernel
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` with its updated elements in accumulators, and its invariant stores behind it."""
        if not isinstance(s, Loop):
            return s
        is_plain = _is_plain(s)
        elements = _updated_elements(s, memory) if is_plain else []
        stores = _invariant_stores(s, memory) if is_plain else []
        conditional = _conditional_elements(s, memory)
        if not elements and not stores and not conditional:
            return s
        return _Promotion(elements, stores, conditional, fresh).loop(s)

    return map_statements(kernel, edit, Loop)


_Element: TypeAlias = "tuple[str, tuple[Expr, ...]]"


def _is_plain(loop: Loop) -> bool:
    """Whether `loop` is counted and innermost, without accumulators and exits, and without checks
    of subscripts: an element that is loaded where such a check holds is none to load before it.
    """
    if loop.accs or counted_range(loop) is None or any(contains(s, _NOT_PLAIN) for s in loop.body):
        return False
    return _has_only_overflow_checks(loop)


def _has_only_overflow_checks(loop: Loop) -> bool:
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


def _conditional_elements(loop: Loop, memory: AliasInfo) -> list[_Element]:
    """The elements, at subscripts that are invariant in `loop`, that it stores in branches of its
    own body only, and accesses in no other way. None if it has checks other than of overflow: a
    store before such a check may tell why it fails, as that a list has no room.

        for c in loop(0, m, best=inf):                       [("label", (i,))]
            if d[c] < best: label[i] = c
    """
    has_exits = any(contains(s, (Break, Return)) for s in loop.body)
    if counted_range(loop) is None or has_exits or not _has_only_overflow_checks(loop):
        return []
    body_names = changed_names(loop)
    read = arrays_read((loop,))
    written = arrays_written(loop.body)
    in_branches = [x for s in loop.body if isinstance(s, If) for x in _stores_in(s)]
    elements: list[_Element] = []
    for array in dict.fromkeys(x.array for x in in_branches):
        stores = [x for x in in_branches if x.array == array]
        writers = sum(array in arrays_written((n,)) for s in loop.body for n in walk(s)
                      if isinstance(n, (Store, Append)))
        index = stores[0].index
        is_fixed = not names_read(*index) & body_names and not arrays_read(index)
        is_only = all(x.index == index and x.mask is None for x in stores)
        others = (read | written) - {array}
        if array in read or writers != len(stores) or not is_fixed or not is_only:
            continue
        if not memory.overlap((array,), others):
            elements.append((array, index))
    return elements


def _stores_in(s: Stmt) -> Iterator[Store]:
    """The stores of a statement and of the branches in it, but not those in loops."""
    match s:
        case Store():
            yield s
        case If():
            for x in (*s.then, *s.orelse):
                yield from _stores_in(x)


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


def _may_differ(new: Var, old: Var) -> Expr:
    """The condition that two values differ, by -0.0 and 0.0 too, or that both are NaN."""
    differ: Expr = Call("ne", (new, old), "bool")
    if DTYPES[new.dtype].kind == "f":
        one = literal(1, new.dtype)
        signs = (Call("copysign", (one, v), new.dtype) for v in (new, old))
        differ = Call("or", (differ, Call("ne", tuple(signs), "bool")), "bool")
    return differ


class _Promotion:
    """The rewriting of one loop; ``values`` maps each element to its current value, and
    ``is_stored`` each conditional one to whether it was stored. The `stores` move behind the loop.
    """

    def __init__(
        self, elements: Sequence[_Element], stores: Sequence[Store],
        conditional: Sequence[_Element], fresh: FreshNames,
    ) -> None:
        self.elements, self.stores, self.fresh = elements, stores, fresh
        self.conditional = conditional
        self.values: dict[_Element, Expr] = {}
        self.is_stored: dict[_Element, Expr] = {}

    def loop(self, s: Loop) -> tuple[Stmt, ...]:
        """`s` with an accumulator for each element, between a load and a store of it, and the moved
        stores; only if `s` has an iteration, as the elements may not exist otherwise. Conditional
        elements are stored if a branch has stored them.
        """
        assert isinstance(s.range, Interval)
        before, after = list[Stmt](), list[Stmt]()
        starts: dict[Var, tuple[_Element, Expr]] = {}
        always = {(x.array, x.index) for x in s.body if isinstance(x, Store)}
        for element in self.elements:
            start, acc = self._named(element, s), self._named(element, s)
            load = Load(*element, start.dtype)
            before.append(Assign(start.name, load, span=s.span))
            mask = None if element in always else _may_differ(acc, start)
            after.append(Store(*element, acc, mask=mask, span=s.span))
            starts[acc] = element, start
            self.values[element] = acc
        flags: dict[_Element, Var] = {}
        for element in self.conditional:
            acc, flag = self._named(element, s), Var(self.fresh.name("stored"), "bool")
            starts[acc] = element, literal(0, acc.dtype)
            flags[element] = flag
            self.values[element], self.is_stored[element] = acc, flag
        body = self.block(tuple(x for x in s.body if x not in self.stores))
        steps = [Accum(v.name, start, self.values[e]) for v, (e, start) in starts.items()]
        steps += [
            Accum(flag.name, literal(0, "bool"), self.is_stored[e]) for e, flag in flags.items()
        ]
        accs = {element: acc for acc, (element, _) in starts.items()}
        masked = [Store(*e, accs[e], mask=flag, span=s.span) for e, flag in flags.items()]
        carried = replace(s, body=body, accs=(*s.accs, *steps))
        loop = (carried,) if body or carried.accs else ()
        if not self.elements and not self.stores:
            return (*loop, *masked)
        inside = (*before, *loop, *after, *self.stores, *masked)
        return (If(is_nonempty(s.range), inside, (), (), span=s.span),)

    def _named(self, element: _Element, s: Loop) -> Var:
        """A variable for the value of `element`, with a name that tells of it."""
        array, index = element
        name = "_".join([array, *sorted(names_read(*index))])
        accessed = (n for n in walk(s) if isinstance(n, (Load, Store)) and n.array == array)
        first = next(accessed)
        dtype = first.dtype if isinstance(first, Load) else first.value.dtype
        return Var(self.fresh.name(name), dtype)

    def block(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements with the elements replaced: a store becomes an assignment."""
        new: list[Stmt] = []
        for s in stmts:
            match s:
                case Store(array=array, index=index) if (array, index) in self.values:
                    new += self.assign_element((array, index), self.expr(s.value), s)
                case If():
                    new.append(self.branch(s))
                case _:
                    new.append(self.expr(s))
        return tuple(new)

    def assign_element(self, element: _Element, value: Expr, s: Store) -> Iterator[Assign]:
        """An assignment of `value`, which is now the value of the element, to a fresh name; none is
        needed where it has a name.
        """
        if element in self.is_stored:
            self.is_stored[element] = literal(1, "bool")
        if isinstance(value, (Var, Const)):
            self.values[element] = value
            return
        name = self.fresh.name(element[0])
        self.values[element] = Var(name, value.dtype)
        yield Assign(name, value, span=s.span)

    def branch(self, s: If) -> If:
        """`s` with the elements replaced; those with different values after its sides are merged by
        a new yield.
        """
        cond, before, flags_before = self.expr(s.cond), dict(self.values), dict(self.is_stored)
        then = self.block(s.then)
        then_results, then_values = [self.expr(y.then) for y in s.yields], self.values
        then_flags = self.is_stored
        self.values, self.is_stored = before, flags_before
        orelse = self.block(s.orelse)
        yields = [
            replace(y, then=a, orelse=self.expr(y.orelse))
            for y, a in zip(s.yields, then_results, strict=True)
        ]
        for of_then, merged, stem in (
            (then_values, self.values, ""), (then_flags, self.is_stored, "stored"),
        ):
            for element in merged:
                if of_then[element] != merged[element]:
                    name = self.fresh.name(stem or element[0])
                    yields.append(Yield(name, of_then[element], merged[element]))
                    merged[element] = Var(name, of_then[element].dtype)
        return replace(s, cond=cond, then=then, orelse=orelse, yields=tuple(yields))

    def expr(self, e: Any) -> Any:
        """`e` with loads of the elements replaced by their current values."""
        return bottom_up(
            e, lambda n: self.values.get((n.array, n.index), n) if isinstance(n, Load) else n
        )
