"""Array contraction: temporary arrays become scalars, and stores that nobody reads are removed.

`scalarize_arrays` runs before fusion on arrays of a few elements with constant subscripts.
`contract_arrays` runs after fusion and store forwarding, which leave temporaries that are stored
and never loaded. (This is not the contraction of a product and a sum to a fused multiply-add.)
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ..algebra.constant_folding import constant_trip_count
from ..algebra.may_raise import may_raise_flags
from ..analysis.mod_ref import arrays_read
from ..ir_names import FreshNames, names_read
from ..ir_traversal import EXPRESSIONS, bottom_up, children, contains, walk, walk_statements
from ..lazy_dataclass import replace
from ..nodes import (
    Accum,
    Append,
    Assign,
    Break,
    Const,
    Dim,
    Disjoint,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    PredLoop,
    Return,
    Scan,
    Stmt,
    Store,
    Stream,
    Var,
    VecLoop,
    While,
    Yield,
    Zip,
)
from ..passes.canonical.canonicalize_loops import canonicalize_loops
from ..passes.canonical.simplify import simplify
from ..passes.loops.unroll import unroll
from .filter_fusion import count_appends

__all__ = ["scalarize_arrays", "contract_arrays", "without_dead_arrays"]

MAX_ELEMENTS = 16
"""Limit on the elements of a scalarised array: each may need a vector register."""

_Element = tuple[str, tuple[Expr, ...]]
_Values = dict[_Element, "Expr | None"]


class _UnsetError(Exception):
    """An element may be read before it is written, so that it has no scalar value."""


def scalarize_arrays(kernel: Kernel, temporaries: Iterable[str]) -> tuple[Kernel, tuple[str, ...]]:
    """Replace arrays of a few elements by scalars, one for each element, as LLVM's SROA does: those
    of the `temporaries`, which the function allocates and which do not escape. Returns the kernel,
    and the names of the arrays that it no longer takes.

    An array is replaced if, once the loops of few iterations are unrolled, all its subscripts are
    constants (`_has_constant_subscripts`), and no element may be read before it is written. An
    element that a loop changes becomes an accumulator. The stage ``scalarize_arrays`` runs this
    before fusion, which joins loops of a scalar more easily than those of an array.

        for i in loop(0, n):               for i in loop(0, n):
            t[0] = x[i]                        t_0 = x[i]
            t[1] = t[0] * 2.0        →         t_1 = t_0 * 2.0
            out[i] = t[0] + t[1]               out[i] = t_0 + t_1
    """
    stored = {n.array for n in walk_statements(kernel) if isinstance(n, Store)}
    if stored.isdisjoint(temporaries):
        return kernel, ()
    canonical = simplify(canonicalize_loops(kernel))
    candidates = stored.intersection(temporaries) - _arrays_in_loops(canonical)
    if not candidates:
        return kernel, ()
    simplified = simplify(unroll(canonical))
    removed: list[str] = []
    for name in sorted(candidates):
        if _has_constant_subscripts(simplified, name):
            try:
                simplified = _Scalarizer(simplified, name).kernel()
            except _UnsetError:
                continue
            removed.append(name)
    return (simplified, tuple(removed)) if removed else (kernel, ())


def _arrays_in_loops(kernel: Kernel) -> set[str]:
    """The arrays with a subscript that no unrolling makes a constant: it contains the variable of a
    loop whose trip count is no constant. Each loop of `kernel` is canonical.
    """
    variables = {
        n.var for n in walk_statements(kernel)
        if isinstance(n, Loop) and isinstance(n.range, Interval)
        and constant_trip_count(n.range) is None
    }
    return {
        n.array for n in walk(kernel)
        if isinstance(n, (Load, Store))
        and not all(variables.isdisjoint(names_read(e)) for e in n.index)
    }


def _has_constant_subscripts(kernel: Kernel, array: str) -> bool:
    """Whether every access to `array` has constant subscripts and no mask, to at most
    `MAX_ELEMENTS` elements in all.

    False also where its length is read, where it is stored in a loop that may be left early, and
    where a loop is not scalar.
    """
    elements = set()
    for n in walk(kernel):
        match n:
            case Load(array=name) | Store(array=name) if name == array:
                if getattr(n, "mask", None) or not all(isinstance(e, Const) for e in n.index):
                    return False
                elements.add(n.index)
            case Dim(array=name) | Append(array=name) | Scan(array=name) if name == array:
                return False
            case Loop() | While() if contains(n, Break | Return):
                if any(isinstance(m, Store) and m.array == array for m in walk(n)):
                    return False
            case Zip() | VecLoop() | PredLoop():
                return False
    return len(elements) <= MAX_ELEMENTS


class _Scalarizer:
    """The rewriting of one array, in order of evaluation.

    ``values`` maps elements to the expressions of their current values; None: perhaps not written
    yet, so that a load raises `_UnsetError`.
    """

    def __init__(self, kernel: Kernel, array: str) -> None:
        self.source, self.array, self.fresh = kernel, array, FreshNames(kernel)
        self.values: _Values = {}

    def kernel(self) -> Kernel:
        """The kernel without the array. Raises `_UnsetError`."""
        body = self.block(self.source.body)
        params = tuple(p for p in self.source.params if p.name != self.array)
        return replace(self.source, params=params, body=body)

    def name(self, element: _Element) -> str:
        """A fresh name for a new value of `element`: ``t_0`` for ``t[0]``."""
        numbers = (str(e.value) for e in element[1] if isinstance(e, Const))
        return self.fresh.name("_".join([self.array, *numbers]))

    def block(self, stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """The statements with the array replaced."""
        return tuple(self.stmt(s) for s in stmts)

    def stmt(self, s: Stmt) -> Stmt:
        """`s` with the array replaced: a store becomes an assignment."""
        match s:
            case Store(array=array, index=index, value=value) if array == self.array:
                element = array, index
                new = Assign(self.name(element), self.expr(value), span=s.span)
                self.values[element] = Var(new.name, value.dtype)
                return new
            case If():
                return self.branch(s)
            case Loop() | While():
                return self.loop(s)
        result: Stmt = self.expr(s)
        return result

    def branch(self, s: If) -> If:
        """`s` with the array replaced. Elements that the sides leave with different values are
        merged by a new yield.
        """
        cond, before = self.expr(s.cond), dict(self.values)
        then = self.block(s.then)
        then_results, then_values, self.values = (
            [self.expr(y.then) for y in s.yields],
            self.values,
            before,
        )
        orelse = self.block(s.orelse)
        yields = [
            replace(y, then=a, orelse=self.expr(y.orelse))
            for y, a in zip(s.yields, then_results, strict=True)
        ]
        for element in {**then_values, **self.values}:
            a, b = then_values.get(element), self.values.get(element)
            if a is None or b is None:
                self.values[element] = None
            elif a != b:
                yields.append(Yield(self.name(element), a, b))
                self.values[element] = Var(yields[-1].name, a.dtype)
        return replace(s, cond=cond, then=then, orelse=orelse, yields=tuple(yields))

    def loop(self, s: Loop | While) -> Loop | While:
        """`s` with the array replaced. An element that has a value before and is stored inside
        becomes an accumulator; one that is only stored inside has no value after the loop.
        """
        stores = (n for t in s.body for n in walk(t) if isinstance(n, Store))
        stored = dict.fromkeys((n.array, n.index) for n in stores if n.array == self.array)
        carried = {
            element: self.values[element]
            for element in stored
            if self.values.get(element) is not None
        }
        inits = [self.expr(a.init) for a in s.accs]
        head: dict[str, Any] = {"range": self.expr(s.range)} if isinstance(s, Loop) else {}
        names: dict[_Element, str] = {element: self.name(element) for element in carried}
        current = {
            element: Var(names[element], e.dtype) for element, e in carried.items() if e is not None
        }
        self.values.update(dict.fromkeys(stored))
        self.values.update(current)
        if isinstance(s, While):
            head["cond"] = self.expr(s.cond)
        body = self.block(s.body)
        accs = [
            replace(a, init=init, step=self.expr(a.step))
            for a, init in zip(s.accs, inits, strict=True)
        ]
        for element, before in carried.items():
            step = self.values[element]
            if before is None or step is None:
                raise _UnsetError
            accs.append(Accum(names[element], before, step))
        if isinstance(s, Loop):
            head["until"] = None if s.until is None else self.expr(s.until)
        self.values.update(dict.fromkeys(stored))
        self.values.update(current)
        return replace(s, body=body, accs=tuple(accs), **head)

    def expr(self, e: Any) -> Any:
        """`e` with loads of elements replaced by their values."""
        return bottom_up(e, self._read)

    def _read(self, n: Any) -> Any:
        """The value of the element, if `n` loads one."""
        if not isinstance(n, Load) or n.array != self.array:
            return n
        value = self.values.get((n.array, n.index))
        if value is None:
            raise _UnsetError
        return value


def without_dead_arrays(kernel: Kernel, temporaries: Iterable[str]) -> Kernel:
    """`kernel` without loads of and stores to those `temporaries` whose elements nobody needs, and
    without the names that nobody needs then. `contract_arrays` removes the arrays.

    The elements of an array are needed if a check, a condition, the range of a loop, another array
    or a needed name is computed from them. Those of an array that is only updated are not, though
    it is loaded: for its own stores. Lowering keeps beside each item of a list whether it is
    Python's or NumPy's; where the list becomes an array, nothing needs that::

        old_py = t_py[at]
        v = max(t[at], x[i])                    v = max(t[at], x[i])
        t[at] = v                         →     t[at] = v
        t_py[at] = old_py & (v != x[i])

    A value that may raise a float flag is always needed.
    """
    candidates = arrays_read((kernel,)) & frozenset(temporaries)
    if not candidates:
        return kernel
    needs = _Needs(kernel, frozenset(temporaries))
    if candidates <= needs.arrays:
        return kernel
    unneeded = frozenset(temporaries) - needs.arrays

    def edit(n: Any) -> Any:
        """`n` without the arrays and names that are not needed."""
        match n:
            case Store(array=array) if array in unneeded:
                return ()
            case Assign(name=name) if name not in needs.names:
                return ()
            case If(yields=yields) if any(y.name not in needs.names for y in yields):
                return replace(n, yields=tuple(y for y in yields if y.name in needs.names))
            case Loop(accs=accs) | Zip(accs=accs) | While(accs=accs):
                if any(a.name not in needs.names for a in accs):
                    return replace(n, accs=tuple(a for a in accs if a.name in needs.names))
        return n

    new: Kernel = bottom_up(kernel, edit)
    return new


class _Needs:
    """The names and arrays that a kernel needs for its checks, its conditions, the ranges of its
    loops, and the arrays that are not `temporaries`.
    """

    def __init__(self, kernel: Kernel, temporaries: frozenset[str]) -> None:
        self.names: set[str] = set()
        self.arrays = {p.name for p in kernel.params} - temporaries
        self._values: dict[str, list[Node]] = defaultdict(list)
        self._stored: dict[str, list[Node]] = defaultdict(list)
        waiting = list(self._effects(kernel))
        waiting += [e for name in self.names for e in self._values[name]]
        waiting += [e for array in self.arrays for e in self._stored[array]]
        while waiting:
            e = waiting.pop()
            for name in names_read(e) - self.names:
                self.names.add(name)
                waiting += self._values[name]
            for array in arrays_read((e,)) - self.arrays:
                self.arrays.add(array)
                waiting += self._stored[array]

    def _effects(self, kernel: Kernel) -> Iterator[Node]:
        """The code that is needed in any case. Notes the values of each name, what the stores to
        each array evaluate, and which names and arrays are needed for their flags.
        """
        for n in walk_statements(kernel):
            parts = [e for e in children(n) if isinstance(e, EXPRESSIONS)]
            match n:
                case Assign(name=name) | Accum(name=name) | Yield(name=name):
                    self._values[name] += parts
                    if any(map(may_raise_flags, parts)):
                        self.names.add(name)
                case Store(array=array):
                    self._stored[array] += parts
                    if any(map(may_raise_flags, parts)):
                        self.arrays.add(array)
                case Append(array=array):
                    self.arrays.add(array)
                    yield n  # it reads the name of its counter
                case Scan(array=array) | Stream(array=array):
                    self.arrays.add(array)
                    yield from parts
                case _:
                    yield from parts


def contract_arrays(kernel: Kernel, temporaries: Iterable[str]) -> tuple[Kernel, tuple[str, ...]]:
    """Remove stores to those `temporaries` that nothing loads any more. Returns the kernel, and the
    names of the arrays that it no longer takes: an array whose length is still read stays a
    parameter. Appends become counters first (`count_appends`); an array with any other append, or a
    scan, is kept.

    The last of the steps that make a temporary array a scalar: `fusion_legality` lets the loops be
    joined, `forward_stores` replaces each load by the name of the value stored, `rematerialize` a
    load in a later loop by the value computed again, and here the array goes if no load is left.

        for i in loop(0, n):               for i in loop(0, n):
            t[i] = t_here             →        out[i] = t_here + 1.0
            out[i] = t_here + 1.0
    """
    loaded = arrays_read((kernel,))
    # of an append that nobody loads, the count may still be needed: the length of the list
    kernel = count_appends(kernel, frozenset(temporaries) - loaded)
    statements = walk_statements(kernel)
    # `_without_arrays` removes stores only
    otherwise_written = {n.array for n in statements if isinstance(n, Append | Scan)}
    unread = frozenset(temporaries) - loaded - otherwise_written
    kernel = bottom_up(kernel, partial(_without_arrays, arrays=unread, fresh=FreshNames(kernel)))
    # a length is read from the parameter
    with_length = {n.array for n in walk(kernel) if isinstance(n, Dim)}
    removed = tuple(p.name for p in kernel.params if p.name in unread - with_length)
    return replace(
        kernel,
        params=tuple(p for p in kernel.params if p.name not in removed),
        guards=tuple(
            g for g in kernel.guards if not (isinstance(g, Disjoint) and {g.a, g.b} & set(removed))
        ),
    ), removed


def _without_arrays(n: Any, arrays: frozenset[str], fresh: FreshNames) -> Any:
    """`n` without stores to arrays of `arrays`, and without loops and branches that thereby became
    empty. A value that may raise a float flag is still computed, for a `fresh` name.
    """
    match n:
        case Store(array=array, value=value) if array in arrays:
            raises = may_raise_flags(value)
            return Assign(fresh.name(f"{array}_1"), value, span=n.span) if raises else ()
        case If(then=(), orelse=(), yields=()) | Loop(body=(), accs=()):
            return ()
    return n
