"""If-conversion: branches of a loop that can then be vectorised become selects and masks."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..algebra.index import negated
from ..algebra.rules import rewrite
from ..names import Fresh, reads
from ..nodes import Append, Assign, Call, Check, Expr, If, Kernel, Loop, Node, Stmt, Store, Var
from ..tree import bottom_up, walk
from .blocks import map_inner, map_stmts
from .forward import tidier
from .legality import STRAIGHT, explain
from .masks import Masked, either_way, in_common

__all__ = ["flattened", "if_convert", "straight"]


def if_convert(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Branches become straight-line code in the loops that this lets be vectorised.

    Both sides are evaluated in every iteration; loads may be (lowering keeps them in bounds), and
    operations that may raise a floating-point flag are kept from it where their side is not taken.
    Before::

        def k(x: f64[::1], out: mut(f64[::1]), total: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0):
                v = x[i]
                if v > 0.0:
                    r = sqrt(v)
                    out[i] = r
                    t = give(s + r)
                else:
                    t = give(s)
                s = step(t)
            total[()] = s

    after::

        def k(x: f64[::1], out: mut(f64[::1]), total: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0):
                v = x[i]
                m = v > 0.0
                r = sqrt(select(m, v, 1.0))
                out[i] = where(m, r)
                s = step(s + select(m, r, -0.0))
            total[()] = s
    """
    fresh = Fresh(kernel)

    def edit(s: Stmt) -> Stmt:
        flat = straight(s, kernel, fresh) if isinstance(s, Loop) else None
        return s if flat is None or explain(flat, kernel, reassociate=reassociate) else flat

    return map_stmts(kernel, edit)


def straight(loop: Loop, kernel: Kernel, fresh: Fresh) -> Loop | None:
    """`loop` as straight-line code; None where it is that already, or cannot be."""
    if not _convertible(loop):
        return None
    flat = replace(loop, body=flattened(loop.body, fresh, *(a.step for a in loop.accs)))
    tidied = map_inner(bottom_up(flat, rewrite), tidier(kernel))
    made: Loop = bottom_up(tidied, rewrite)
    return made


def flattened(stmts: Iterable[Stmt], fresh: Fresh, *others: Node) -> tuple[Stmt, ...]:
    """`stmts` without branches; loops among them stay as they are. `others` read their names."""
    flattening = _Flattening(fresh)
    flat = [bottom_up(s, rewrite) for s in flattening.block(stmts, Masked(None))]
    idle = flattening.merged - reads(*flat, *others)
    return tuple(s for s in flat if not (isinstance(s, Assign) and s.name in idle))


def _convertible(loop: Loop) -> bool:
    """Whether the body has branches, and nothing but straight-line code in and around them."""
    branches = [n for n in walk(loop) if isinstance(n, If)]
    bodies = (loop.body, *(b for s in branches for b in (s.then, s.orelse)))
    flat = all(isinstance(s, (*STRAIGHT, If)) for body in bodies for s in body)
    return bool(branches) and flat


class _Flattening:
    """Turns blocks into straight-line code under a mask.

    ``given``: what branches bind their names to. ``merged``: those among them whose operation is
    done by the branch around, for both its sides.
    """

    def __init__(self, fresh: Fresh) -> None:
        self.fresh = fresh
        self.given: dict[Expr, Expr] = {}
        self.merged: set[str] = set()

    def block(self, stmts: Iterable[Stmt], masked: Masked) -> Iterator[Stmt]:
        for s in stmts:
            yield from self.stmt(s, masked)

    def stmt(self, s: Stmt, masked: Masked) -> Iterator[Stmt]:
        match s:
            case Assign():
                yield replace(s, value=masked.bind(s.name, s.value))
            case Store() | Append():
                yield replace(s, value=masked(s.value), mask=masked.mask_with(s.mask))
            case Check() if masked.mask is not None:
                cond = Call("or", (negated(masked.mask), masked(s.cond)), "bool")
                yield replace(s, cond=rewrite(cond))
            case If():
                yield from self.branch(s, masked)
            case _:
                yield s

    def branch(self, s: If, masked: Masked) -> Iterator[Stmt]:
        cond = masked(s.cond)
        if not isinstance(cond, Var):
            name = self.fresh.name("m")
            yield Assign(name, cond, span=s.span)
            cond = Var(name, "bool")
        then, orelse = masked.under(cond), masked.under(negated(cond))
        yield from self.block(s.then, then)
        yield from self.block(s.orelse, orelse)
        for y in s.yields:
            a, b = (self.given.get(e, e) for e in (y.then, y.orelse))
            value = in_common(cond, a, b, then, orelse)
            if value is None:
                value = either_way(cond, y.then, y.orelse, then, orelse)
            else:
                self.merged |= reads(y.then, y.orelse) - reads(value)
            self.given[Var(y.name, value.dtype)] = value
            yield Assign(y.name, value, span=s.span)
