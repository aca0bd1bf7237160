"""Store-to-load forwarding: an iteration does not load again what it has stored.

    t[i] = a[i] * 2.0          t_here = a[i] * 2.0
    out[i] = t[i] + 1.0   →    t[i] = t_here
                               out[i] = t_here + 1.0

A walk in order of evaluation keeps the table `ForwardedValues`: for an element with affine
subscripts, the name that has its value. A store adds an entry and drops those of elements that may
be the same; a load with an entry becomes the name. A branch keeps what both sides agree on, or
merges two names by a yield. Nothing is kept from one iteration to the next. `fuse_loops` runs this
on each joined loop and on each outermost loop.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

from ..analysis.access import accesses
from ..analysis.dependence import may_alias
from ..analysis.integers.affine import Affine, affine_form, variable_form
from ..analysis.mod_ref import arrays_read, arrays_written
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
    """`loop` of `kernel` without loads of elements that the same iteration has stored: the value
    that was stored gets a name, which takes the place of the load.

        t[i] = a[i] * 2.0; out[i] = t[i] + 1.0
        →   t_here = a[i] * 2.0; t[i] = t_here; out[i] = t_here + 1.0

    The second of the steps that make a temporary array a scalar: the loops are joined, loads in the
    loop of the store are replaced here, cheap ones in later loops by `rematerialize`, and
    `contract_arrays` removes the array if no load is left.
    `fuse_loops._LoopFuser.finalized` calls it. ``outer``: the variables of the loops around, for
    affine subscripts; ``fresh``: makes the new names.
    """
    forwarder = _StoreForwarder(kernel, (*outer, loop.var), fresh, advanced_accums(loop))
    forwarded: ForwardedValues = {}
    return forwarder.inside(loop, forwarded)


class _StoreForwarder:
    """A walk in order of evaluation that tracks which elements have their value in a name.

    ``forms``: affine forms of names, None where a name has none. ``counts``: accumulators that an
    append advances in the middle of an iteration. The table ``forwarded`` is changed in place.
    """

    def __init__(
        self, kernel: Kernel, loops: tuple[str, ...], fresh: FreshNames, counts: frozenset[str]
    ) -> None:
        self.dtypes = {p.name: p.dtype for p in kernel.params}
        self.may_share = partial(may_alias, kernel)
        self.forms: dict[str, Affine | None] = dict.fromkeys(counts)
        self.forms.update((v, variable_form(v)) for v in loops)
        self.fresh = fresh
        self.counts = counts

    def block(
        self, stmts: tuple[Stmt, ...], forwarded: ForwardedValues, needed: frozenset[str]
    ) -> tuple[Stmt, ...]:
        """Rewrite `stmts`; arrays in `needed` are loaded after them, so that their values are worth
        a name.
        """
        out: list[Stmt] = []
        # needed_after[-1 - k]: the arrays that are loaded after statement k
        needed_after = [needed]
        for s in stmts[:0:-1]:
            needed_after.append(needed_after[-1] | arrays_read((s,)))
        # not strict: without statements it still has one entry
        for s, later in zip(stmts, reversed(needed_after), strict=False):
            out += self.stmt(s, forwarded, later)
        return tuple(out)

    def stmt(self, s: Stmt, forwarded: ForwardedValues, needed: frozenset[str]) -> Iterator[Stmt]:
        """The statements that replace `s`."""
        match s:
            case Assign():
                s = replace(s, value=self.expr(s.value, forwarded))
                self.forms[s.name] = affine_form(s.value, (), self.forms)
                yield s
            case Store(mask=None):
                yield from self.store(s, forwarded, needed)
            case If():
                yield self.branch(s, forwarded, needed)
            case Loop():
                yield self.loop(s, forwarded)
            case Zip() | VecLoop() | PredLoop() | Scan() | While():
                self.forget(s, forwarded)
                yield s
            case _:
                new = map_children(s, lambda e: self.expr(e, forwarded))
                self.forget(s, forwarded)
                yield new

    def store(self, s: Store, forwarded: ForwardedValues, needed: frozenset[str]) -> Iterator[Stmt]:
        """The store `s`, after an assignment of its value to a new name if the array is in
        `needed`.
        """
        s = map_children(s, lambda e: self.expr(e, forwarded))
        forms = tuple(affine_form(e, (), self.forms) for e in s.index)
        affine = tuple(f for f in forms if f is not None)
        self.drop(forwarded, s.array, forms)
        if (
            len(affine) == len(forms)
            and s.array in needed
            and s.value.dtype == self.dtypes[s.array]
        ):
            value = s.value
            if not self.is_fixed_in_iteration(value):
                name = self.fresh.name(f"{s.array}_here")
                yield Assign(name, value, span=s.span)
                value = Var(name, value.dtype)
            assert isinstance(value, Var | Const)
            forwarded[s.array, affine] = value
            s = replace(s, value=value)
        yield s

    def is_fixed_in_iteration(self, value: Expr) -> bool:
        """Whether `value` is a constant, or a name that keeps its value during the iteration."""
        match value:
            case Const():
                return True
            case Var(name=name):
                return name not in self.counts
        return False

    def branch(self, s: If, forwarded: ForwardedValues, needed: frozenset[str]) -> If:
        """Rewrite both sides of `s`, and keep of the table what holds after either."""
        cond = self.expr(s.cond, forwarded)
        after_then, after_else = dict(forwarded), dict(forwarded)
        needed_inside = needed | arrays_read((s,))
        then = self.block(s.then, after_then, needed_inside)
        orelse = self.block(s.orelse, after_else, needed_inside)
        yields = [
            Yield(y.name, self.expr(y.then, after_then), self.expr(y.orelse, after_else))
            for y in s.yields
        ]
        self.forms.update((y.name, None) for y in yields)
        bound_inside = bound_names(*s.then, *s.orelse)
        forwarded.clear()
        for element in (e for e in after_then if e in after_else):
            a, b = after_then[element], after_else[element]
            is_bound_outside = isinstance(a, Const) or a.name not in bound_inside
            if a == b and is_bound_outside:
                forwarded[element] = a
            elif element[0] in needed:
                name = self.fresh.name(f"{element[0]}_here")
                yields.append(Yield(name, a, b))
                forwarded[element] = Var(name, a.dtype)
        return replace(s, cond=cond, then=then, orelse=orelse, yields=tuple(yields))

    def loop(self, s: Loop, forwarded: ForwardedValues) -> Loop:
        """Rewrite an inner loop: it may use values from before it, but none of its own are kept
        after it.
        """
        s = replace(
            s,
            range=map_children(s.range, lambda e: self.expr(e, forwarded)),
            accs=tuple(replace(a, init=self.expr(a.init, forwarded)) for a in s.accs),
        )
        self.forget(s, forwarded)
        return self.inside(s, dict(forwarded))

    def inside(self, s: Loop, forwarded: ForwardedValues) -> Loop:
        """Rewrite body, steps and exit condition of `s`."""
        self.forms.update({s.var: variable_form(s.var), **{a.name: None for a in s.accs}})
        loaded_at_end = arrays_read(a.step for a in s.accs) | arrays_read(
            filter(None, (s.until,))
        )
        body = self.block(s.body, forwarded, loaded_at_end)
        accs = tuple(replace(a, step=self.expr(a.step, forwarded)) for a in s.accs)
        until = self.expr(s.until, forwarded) if s.until else None
        return replace(s, body=body, accs=accs, until=until)

    def expr(self, e: Any, forwarded: ForwardedValues) -> Any:
        """`e` with loads of elements replaced by names that have their value."""
        e = map_children(e, lambda x: self.expr(x, forwarded))
        if isinstance(e, Load) and e.lanes == 1:
            forms = tuple(affine_form(x, (), self.forms) for x in e.index)
            affine = tuple(f for f in forms if f is not None)
            return forwarded.get((e.array, affine), e) if len(affine) == len(forms) else e
        return e

    def forget(self, s: Stmt, forwarded: ForwardedValues) -> None:
        """Drop elements that `s` may write."""
        for a in accesses((s,)) if arrays_written((s,)) else ():
            if a.is_write:
                self.drop(forwarded, a.array, (None,) * len(a.index))

    def drop(
        self, forwarded: ForwardedValues, array: str, index: tuple[Affine | None, ...]
    ) -> None:
        """Drop elements that a store to ``array[index]`` may change; None in `index`: any
        subscript.
        """
        for element in [e for e in forwarded if self.may_share(e[0], array)]:
            if not _never_same(element[1], index):
                del forwarded[element]


def _never_same(a: tuple[Affine, ...], b: tuple[Affine | None, ...]) -> bool:
    """Whether two subscripts of one array always differ within one iteration."""
    differences = (x - y for x, y in zip(a, b, strict=False) if y is not None)
    return any(difference.number not in (None, 0) for difference in differences)
