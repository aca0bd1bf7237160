"""Array contraction: temporary arrays become scalars, and stores that nobody reads are removed."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..ir_names import FreshNames
from ..ir_traversal import bottom_up, walk
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
    Kernel,
    Load,
    Loop,
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

__all__ = ["scalarize_arrays", "contract_arrays", "loaded_arrays"]

MAX_ELEMENTS = 16
"""Limit on the elements of a scalarised array: each may need a vector register."""

_Element = tuple[str, tuple[Expr, ...]]
_Values = dict[_Element, "Expr | None"]


class _UnsetError(Exception):
    """An element may be read before it is written."""


def scalarize_arrays(kernel: Kernel, temporaries: Iterable[str]) -> tuple[Kernel, tuple[str, ...]]:
    """Replace temporary arrays with constant subscripts (after unrolling) by scalars.

    Returns the kernel and the names of the removed arrays. An element that a loop changes becomes
    an accumulator.

        for i in loop(0, n):               for i in loop(0, n):
            t[0] = x[i]                        t_0 = x[i]
            t[1] = t[0] * 2.0        →         t_1 = t_0 * 2.0
            out[i] = t[0] + t[1]               out[i] = t_0 + t_1
    """
    stored = {n.array for n in walk(kernel) if isinstance(n, Store)}
    names = stored.intersection(temporaries)
    if not names:
        return kernel, ()
    plain = simplify(unroll(simplify(canonicalize_loops(kernel))))
    gone: list[str] = []
    for name in sorted(names):
        if _has_constant_subscripts(plain, name):
            try:
                plain = _Scalarizer(plain, name).kernel()
            except _UnsetError:
                continue
            gone.append(name)
    return (plain, tuple(gone)) if gone else (kernel, ())


def _has_constant_subscripts(kernel: Kernel, array: str) -> bool:
    places = set()
    for n in walk(kernel):
        match n:
            case Load(array=name) | Store(array=name) if name == array:
                if getattr(n, "mask", None) or not all(isinstance(e, Const) for e in n.index):
                    return False
                places.add(n.index)
            case Dim(array=name) | Append(array=name) | Scan(array=name) if name == array:
                return False
            case Loop() | While() if any(isinstance(m, Break | Return) for m in walk(n)):
                if any(isinstance(m, Store) and m.array == array for m in walk(n)):
                    return False
            case Zip() | VecLoop() | PredLoop():
                return False
    return len(places) <= MAX_ELEMENTS


class _Scalarizer:
    """The rewriting of one array; ``now`` maps elements to their current values, None if unwritten.
    """

    def __init__(self, kernel: Kernel, array: str) -> None:
        self.whole, self.array, self.fresh = kernel, array, FreshNames(kernel)
        self.now: _Values = {}

    def kernel(self) -> Kernel:
        body = self.block(self.whole.body)
        params = tuple(p for p in self.whole.params if p.name != self.array)
        return replace(self.whole, params=params, body=body)

    def name(self, place: _Element) -> str:
        numbers = (str(e.value) for e in place[1] if isinstance(e, Const))
        return self.fresh.name("_".join([self.array, *numbers]))

    def block(self, stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
        return tuple(self.stmt(s) for s in stmts)

    def stmt(self, s: Stmt) -> Stmt:
        match s:
            case Store(array=array, index=index, value=value) if array == self.array:
                place = array, index
                new = Assign(self.name(place), self.expr(value), span=s.span)
                self.now[place] = Var(new.name, value.dtype)
                return new
            case If():
                return self.branch(s)
            case Loop() | While():
                return self.loop(s)
        done: Stmt = self.expr(s)
        return done

    def branch(self, s: If) -> If:
        cond, before = self.expr(s.cond), dict(self.now)
        then = self.block(s.then)
        gives, after, self.now = [self.expr(y.then) for y in s.yields], self.now, before
        orelse = self.block(s.orelse)
        yields = [
            replace(y, then=a, orelse=self.expr(y.orelse))
            for y, a in zip(s.yields, gives, strict=True)
        ]
        for place in {**after, **self.now}:
            a, b = after.get(place), self.now.get(place)
            if a is None or b is None:
                self.now[place] = None
            elif a != b:
                yields.append(Yield(self.name(place), a, b))
                self.now[place] = Var(yields[-1].name, a.dtype)
        return replace(s, cond=cond, then=then, orelse=orelse, yields=tuple(yields))

    def loop(self, s: Loop | While) -> Loop | While:
        inside = (n for t in s.body for n in walk(t) if isinstance(n, Store))
        places = dict.fromkeys((n.array, n.index) for n in inside if n.array == self.array)
        carried = {p: self.now[p] for p in places if self.now.get(p) is not None}
        inits = [self.expr(a.init) for a in s.accs]
        runs: dict[str, Any] = {"range": self.expr(s.range)} if isinstance(s, Loop) else {}
        names: dict[_Element, str] = {p: self.name(p) for p in carried}
        current = {p: Var(names[p], e.dtype) for p, e in carried.items() if e is not None}
        self.now.update(dict.fromkeys(places))
        self.now.update(current)
        if isinstance(s, While):
            runs["cond"] = self.expr(s.cond)
        body = self.block(s.body)
        accs = [
            replace(a, init=init, step=self.expr(a.step))
            for a, init in zip(s.accs, inits, strict=True)
        ]
        for p, before in carried.items():
            step = self.now[p]
            if before is None or step is None:
                raise _UnsetError
            accs.append(Accum(names[p], before, step))
        if isinstance(s, Loop):
            runs["until"] = None if s.until is None else self.expr(s.until)
        self.now.update(dict.fromkeys(places))
        self.now.update(current)
        return replace(s, body=body, accs=tuple(accs), **runs)

    def expr(self, e: Any) -> Any:
        """`e` with loads of elements replaced by their values."""
        return bottom_up(e, self._read)

    def _read(self, n: Any) -> Any:
        if not isinstance(n, Load) or n.array != self.array:
            return n
        value = self.now.get((n.array, n.index))
        if value is None:
            raise _UnsetError
        return value


def loaded_arrays(kernel: Kernel) -> frozenset[str]:
    """The arrays that `kernel` loads from."""
    return frozenset(
        n.array for n in walk(kernel) if isinstance(n, Load | Stream)
    )


def contract_arrays(kernel: Kernel, temporaries: Iterable[str]) -> tuple[Kernel, tuple[str, ...]]:
    """Remove `temporaries` that are only written. Returns the kernel and their names.

        for i in loop(0, n):               for i in loop(0, n):
            t[i] = t_here             →        out[i] = t_here + 1.0
            out[i] = t_here + 1.0
    """
    read = loaded_arrays(kernel)
    kernel = count_appends(kernel, frozenset(temporaries) - read)
    other = {n.array for n in walk(kernel) if isinstance(n, Append | Scan)}
    gone = frozenset(temporaries) - read - other
    kernel = bottom_up(kernel, lambda n: _without_arrays(n, gone))
    sized = {n.array for n in walk(kernel) if isinstance(n, Dim)}
    names = tuple(p.name for p in kernel.params if p.name in gone - sized)
    return replace(
        kernel,
        params=tuple(p for p in kernel.params if p.name not in names),
        guards=tuple(
            g for g in kernel.guards if not (isinstance(g, Disjoint) and {g.a, g.b} & set(names))
        ),
    ), names


def _without_arrays(n: Any, gone: frozenset[str]) -> Any:
    match n:
        case Store(array=array) if array in gone:
            return ()
        case If(then=(), orelse=(), yields=()) | Loop(body=(), accs=()):
            return ()
    return n
