"""Store-to-load forwarding: what an iteration has stored it does not load again.

    t[i] = a[i] * 2.0          t_here = a[i] * 2.0
    out[i] = t[i] + 1.0   →    t[i] = t_here
                               out[i] = t_here + 1.0
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from ..analysis.access import accesses
from ..analysis.affine import Affine, affine_form, variable_form
from ..analysis.dependence import may_alias
from ..ir_names import FreshNames, bound_names
from ..ir_traversal import advanced_accums, map_children
from ..nodes import (
    Assign,
    Const,
    Expr,
    If,
    Kernel,
    Load,
    Loop,
    PredLoop,
    Scan,
    Stmt,
    Store,
    Var,
    VecLoop,
    While,
    Yield,
    Zip,
)

__all__ = ["forward_stores"]

Element: TypeAlias = "tuple[str, tuple[Affine, ...]]"
ForwardedValues: TypeAlias = "dict[Element, Var | Const]"
"""Elements whose value, in the iteration at hand, is also that of a name."""


def forward_stores(kernel: Kernel, loop: Loop, outer: Iterable[str], fresh: FreshNames) -> Loop:
    """`loop` of `kernel`, inside loops over `outer`, without loads of what it has just stored.

    The names that it makes are of `fresh`.
    """
    forwarder = _StoreForwarder(kernel, (*outer, loop.var), fresh, advanced_accums(loop))
    held: ForwardedValues = {}
    return forwarder.inside(loop, held)


class _StoreForwarder:
    """A walk in order of evaluation that knows which elements are held in names."""

    def __init__(
        self, kernel: Kernel, loops: tuple[str, ...], fresh: FreshNames, counts: frozenset[str]
    ) -> None:
        self.dtypes = {p.name: p.dtype for p in kernel.params}
        self.may_share = partial(may_alias, kernel)
        self.known: dict[str, Affine | None] = dict.fromkeys(counts)
        self.known.update((v, variable_form(v)) for v in loops)
        self.fresh = fresh
        self.counts = counts

    def block(
        self, stmts: tuple[Stmt, ...], held: ForwardedValues, needed: frozenset[str]
    ) -> tuple[Stmt, ...]:
        """`stmts`; what they store in arrays of `needed` is loaded after them."""
        out: list[Stmt] = []
        for k, s in enumerate(stmts):
            out += self.stmt(s, held, needed | _loaded_arrays(stmts[k + 1 :]))
        return tuple(out)

    def stmt(self, s: Stmt, held: ForwardedValues, needed: frozenset[str]) -> Iterator[Stmt]:
        match s:
            case Assign():
                s = replace(s, value=self.expr(s.value, held))
                self.known[s.name] = affine_form(s.value, (), self.known)
                yield s
            case Store(mask=None):
                yield from self.store(s, held, needed)
            case If():
                yield self.branch(s, held, needed)
            case Loop():
                yield self.loop(s, held)
            case Zip() | VecLoop() | PredLoop() | Scan() | While():
                self.forget(s, held)
                yield s
            case _:
                new = map_children(s, lambda e: self.expr(e, held))
                self.forget(s, held)
                yield new

    def store(self, s: Store, held: ForwardedValues, needed: frozenset[str]) -> Iterator[Stmt]:
        s = map_children(s, lambda e: self.expr(e, held))
        forms = tuple(affine_form(e, (), self.known) for e in s.index)
        exact = tuple(f for f in forms if f is not None)
        self.drop(held, s.array, forms)
        if len(exact) == len(forms) and s.array in needed and s.value.dtype == self.dtypes[s.array]:
            value = s.value
            if not self.is_steady(value):
                name = self.fresh.name(f"{s.array}_here")
                yield Assign(name, value, span=s.span)
                value = Var(name, value.dtype)
            assert isinstance(value, Var | Const)
            held[s.array, exact] = value
            s = replace(s, value=value)
        yield s

    def is_steady(self, value: Expr) -> bool:
        """Whether `value` is a name or number that does not change during the iteration."""
        match value:
            case Const():
                return True
            case Var(name=name):
                return name not in self.counts
        return False

    def branch(self, s: If, held: ForwardedValues, needed: frozenset[str]) -> If:
        cond = self.expr(s.cond, held)
        before, after = dict(held), dict(held)
        used = needed | _loaded_arrays((s,))
        then = self.block(s.then, before, used)
        orelse = self.block(s.orelse, after, used)
        yields = [
            Yield(y.name, self.expr(y.then, before), self.expr(y.orelse, after)) for y in s.yields
        ]
        self.known.update((y.name, None) for y in yields)
        inside = bound_names(*s.then, *s.orelse)
        held.clear()
        for element in (e for e in before if e in after):
            a, b = before[element], after[element]
            outside = isinstance(a, Const) or a.name not in inside
            if a == b and outside:
                held[element] = a
            elif element[0] in needed:
                name = self.fresh.name(f"{element[0]}_here")
                yields.append(Yield(name, a, b))
                held[element] = Var(name, a.dtype)
        return replace(s, cond=cond, then=then, orelse=orelse, yields=tuple(yields))

    def loop(self, s: Loop, held: ForwardedValues) -> Loop:
        """An inner loop: it may use what is held before it and keeps nothing of its own."""
        s = replace(
            s,
            range=map_children(s.range, lambda e: self.expr(e, held)),
            accs=tuple(replace(a, init=self.expr(a.init, held)) for a in s.accs),
        )
        self.forget(s, held)
        return self.inside(s, dict(held))

    def inside(self, s: Loop, held: ForwardedValues) -> Loop:
        self.known.update({s.var: variable_form(s.var), **{a.name: None for a in s.accs}})
        at_end = _arrays_loaded_by(e for a in s.accs for e in (a.step,)) | _arrays_loaded_by(
            filter(None, (s.until,))
        )
        body = self.block(s.body, held, at_end)
        accs = tuple(replace(a, step=self.expr(a.step, held)) for a in s.accs)
        until = self.expr(s.until, held) if s.until else None
        return replace(s, body=body, accs=accs, until=until)

    def expr(self, e: Any, held: ForwardedValues) -> Any:
        """`e` with names in place of loads of held elements."""
        e = map_children(e, lambda x: self.expr(x, held))
        if isinstance(e, Load) and e.lanes == 1:
            forms = tuple(affine_form(x, (), self.known) for x in e.index)
            exact = tuple(f for f in forms if f is not None)
            return held.get((e.array, exact), e) if len(exact) == len(forms) else e
        return e

    def forget(self, s: Stmt, held: ForwardedValues) -> None:
        """Drops what `s` may write."""
        for a in accesses((s,)):
            if a.is_write:
                self.drop(held, a.array, (None,) * len(a.index))

    def drop(self, held: ForwardedValues, array: str, index: tuple[Affine | None, ...]) -> None:
        for element in [e for e in held if self.may_share(e[0], array)]:
            if not _never_same(element[1], index):
                del held[element]


def _never_same(a: tuple[Affine, ...], b: tuple[Affine | None, ...]) -> bool:
    """Whether two subscripts of one array are surely different elements in one iteration."""
    gaps = (x - y for x, y in zip(a, b, strict=False) if y is not None)
    return any(gap.number not in (None, 0) for gap in gaps)


def _loaded_arrays(stmts: Iterable[Stmt]) -> frozenset[str]:
    return frozenset(a.array for a in accesses(stmts) if not a.is_write)


def _arrays_loaded_by(exprs: Iterable[Expr]) -> frozenset[str]:
    return _loaded_arrays(Assign("", e) for e in exprs)
