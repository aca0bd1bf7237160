"""Store-to-load forwarding: an iteration does not load again what it has stored.

    t[i] = a[i] * 2.0          t_here = a[i] * 2.0
    out[i] = t[i] + 1.0   →    t[i] = t_here
                               out[i] = t_here + 1.0
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

from ..analysis.access import accesses
from ..analysis.affine import Affine, affine_form, variable_form
from ..analysis.dependence import may_alias
from ..ir_names import FreshNames, bound_names
from ..ir_traversal import advanced_accums, map_children
from ..lazy_dataclass import replace
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
"""Elements whose current value, in this iteration, is also in a name or constant."""


def forward_stores(kernel: Kernel, loop: Loop, outer: Iterable[str], fresh: FreshNames) -> Loop:
    """`loop` of `kernel`, inside loops over `outer`, without loads of elements that it has just
    stored.

    New names come from `fresh`.
    """
    forwarder = _StoreForwarder(kernel, (*outer, loop.var), fresh, advanced_accums(loop))
    in_names: ForwardedValues = {}
    return forwarder.inside(loop, in_names)


class _StoreForwarder:
    """A walk in order of evaluation that tracks which elements have their value in a name."""

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
        self, stmts: tuple[Stmt, ...], in_names: ForwardedValues, needed: frozenset[str]
    ) -> tuple[Stmt, ...]:
        """Rewrite `stmts`; arrays in `needed` are loaded after them."""
        out: list[Stmt] = []
        for k, s in enumerate(stmts):
            out += self.stmt(s, in_names, needed | _loaded_arrays(stmts[k + 1 :]))
        return tuple(out)

    def stmt(self, s: Stmt, in_names: ForwardedValues, needed: frozenset[str]) -> Iterator[Stmt]:
        match s:
            case Assign():
                s = replace(s, value=self.expr(s.value, in_names))
                self.known[s.name] = affine_form(s.value, (), self.known)
                yield s
            case Store(mask=None):
                yield from self.store(s, in_names, needed)
            case If():
                yield self.branch(s, in_names, needed)
            case Loop():
                yield self.loop(s, in_names)
            case Zip() | VecLoop() | PredLoop() | Scan() | While():
                self.forget(s, in_names)
                yield s
            case _:
                new = map_children(s, lambda e: self.expr(e, in_names))
                self.forget(s, in_names)
                yield new

    def store(self, s: Store, in_names: ForwardedValues, needed: frozenset[str]) -> Iterator[Stmt]:
        s = map_children(s, lambda e: self.expr(e, in_names))
        forms = tuple(affine_form(e, (), self.known) for e in s.index)
        exact = tuple(f for f in forms if f is not None)
        self.drop(in_names, s.array, forms)
        if len(exact) == len(forms) and s.array in needed and s.value.dtype == self.dtypes[s.array]:
            value = s.value
            if not self.is_steady(value):
                name = self.fresh.name(f"{s.array}_here")
                yield Assign(name, value, span=s.span)
                value = Var(name, value.dtype)
            assert isinstance(value, Var | Const)
            in_names[s.array, exact] = value
            s = replace(s, value=value)
        yield s

    def is_steady(self, value: Expr) -> bool:
        """Whether `value` is a constant, or a name that keeps its value during the iteration."""
        match value:
            case Const():
                return True
            case Var(name=name):
                return name not in self.counts
        return False

    def branch(self, s: If, in_names: ForwardedValues, needed: frozenset[str]) -> If:
        cond = self.expr(s.cond, in_names)
        before, after = dict(in_names), dict(in_names)
        used = needed | _loaded_arrays((s,))
        then = self.block(s.then, before, used)
        orelse = self.block(s.orelse, after, used)
        yields = [
            Yield(y.name, self.expr(y.then, before), self.expr(y.orelse, after)) for y in s.yields
        ]
        self.known.update((y.name, None) for y in yields)
        inside = bound_names(*s.then, *s.orelse)
        in_names.clear()
        for element in (e for e in before if e in after):
            a, b = before[element], after[element]
            outside = isinstance(a, Const) or a.name not in inside
            if a == b and outside:
                in_names[element] = a
            elif element[0] in needed:
                name = self.fresh.name(f"{element[0]}_here")
                yields.append(Yield(name, a, b))
                in_names[element] = Var(name, a.dtype)
        return replace(s, cond=cond, then=then, orelse=orelse, yields=tuple(yields))

    def loop(self, s: Loop, in_names: ForwardedValues) -> Loop:
        """Rewrite an inner loop: it may use values from before it, but none are known after it."""
        s = replace(
            s,
            range=map_children(s.range, lambda e: self.expr(e, in_names)),
            accs=tuple(replace(a, init=self.expr(a.init, in_names)) for a in s.accs),
        )
        self.forget(s, in_names)
        return self.inside(s, dict(in_names))

    def inside(self, s: Loop, in_names: ForwardedValues) -> Loop:
        self.known.update({s.var: variable_form(s.var), **{a.name: None for a in s.accs}})
        at_end = _arrays_loaded_by(e for a in s.accs for e in (a.step,)) | _arrays_loaded_by(
            filter(None, (s.until,))
        )
        body = self.block(s.body, in_names, at_end)
        accs = tuple(replace(a, step=self.expr(a.step, in_names)) for a in s.accs)
        until = self.expr(s.until, in_names) if s.until else None
        return replace(s, body=body, accs=accs, until=until)

    def expr(self, e: Any, in_names: ForwardedValues) -> Any:
        """`e` with loads of elements replaced by names that have their value."""
        e = map_children(e, lambda x: self.expr(x, in_names))
        if isinstance(e, Load) and e.lanes == 1:
            forms = tuple(affine_form(x, (), self.known) for x in e.index)
            exact = tuple(f for f in forms if f is not None)
            return in_names.get((e.array, exact), e) if len(exact) == len(forms) else e
        return e

    def forget(self, s: Stmt, in_names: ForwardedValues) -> None:
        """Drop elements that `s` may write."""
        for a in accesses((s,)):
            if a.is_write:
                self.drop(in_names, a.array, (None,) * len(a.index))

    def drop(self, in_names: ForwardedValues, array: str, index: tuple[Affine | None, ...]) -> None:
        for element in [e for e in in_names if self.may_share(e[0], array)]:
            if not _never_same(element[1], index):
                del in_names[element]


def _never_same(a: tuple[Affine, ...], b: tuple[Affine | None, ...]) -> bool:
    """Whether two subscripts of one array always differ within one iteration."""
    gaps = (x - y for x, y in zip(a, b, strict=False) if y is not None)
    return any(gap.number not in (None, 0) for gap in gaps)


def _loaded_arrays(stmts: Iterable[Stmt]) -> frozenset[str]:
    return frozenset(a.array for a in accesses(stmts) if not a.is_write)


def _arrays_loaded_by(exprs: Iterable[Expr]) -> frozenset[str]:
    return _loaded_arrays(Assign("", e) for e in exprs)
