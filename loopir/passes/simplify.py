"""Expressions in their simplest exact form, and statements that cannot do anything removed."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeGuard

from ..algebra.rules import rewrite
from ..algebra.values import raising, trips
from ..names import Fresh
from ..nodes import (
    Append,
    Assign,
    Call,
    Check,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Loop,
    Node,
    Stmt,
    Store,
    Var,
)
from ..tree import kept, map_children, walk
from .forward import forward

__all__ = ["simplify"]

_ROUNDS = 8


def simplify(kernel: Kernel) -> Kernel:
    """Folds constants, drops what changes nothing, and forwards names (``forward``).

    Exact: no value changes, and no floating-point flag comes or goes. Before::

        def k(x: f32[::1], out: mut(f32[::1]), n: i64):
            disjoint(x, out)
            for i in loop(0, n + 0):
                v = f64(x[i] * f32(1.0))
                big = v > 0.5 * 2.0
                out[i] = f32(select(big, v, 0.0))

    after::

        def k(x: f32[::1], out: mut(f32[::1]), n: i64):
            disjoint(x, out)
            for i in loop(0, n):
                out[i] = select(x[i] > f32(1.0), x[i], f32(0.0))
    """
    for _ in range(_ROUNDS):
        before = kernel
        kernel = forward(_without_bare(_simplest(kernel)))
        if kernel is before:
            break
    return kernel


def _without_bare(kernel: Kernel) -> Kernel:
    """`kernel` with a name for what a branch asks that does nothing, but may raise a flag."""

    def visit(n: Any) -> Any:
        n = map_children(n, visit)
        return Assign(fresh.name("cond"), n.cond, span=n.span) if _is_bare(n) else n

    if not any(map(_is_bare, walk(kernel))):
        return kernel
    fresh = Fresh(kernel)
    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def _is_bare(n: Node) -> TypeGuard[If]:
    return isinstance(n, If) and not (n.then or n.orelse or n.yields)


def _simplest(n: Any) -> Any:
    """`n` with everything below it replaced, inner before outer."""
    return _known(n) if isinstance(n, Call) else _node(map_children(n, _simplest))


@kept
def _known(e: Call) -> Expr:
    return rewrite(map_children(e, _simplest))


def _node(n: Any) -> Any:
    """A node, or the statements that take its place."""
    match n:
        case Check(cond=Const(value=1)) | Store(mask=Const(value=0)) | Append(mask=Const(value=0)):
            return ()
        case Store(mask=Const()) | Append(mask=Const()):
            return replace(n, mask=None)
        case If():
            return _branch(n)
        case Loop(range=Interval(lo, hi) as r) if trips(r) == 0 or _is_idle(n):
            never = rewrite(Call("ge", (lo, hi), "bool"))
            checks = (replace(s, cond=never) for s in n.body if isinstance(s, Check))
            return (*(checks if trips(r) != 0 else ()), *(Assign(a.name, a.init) for a in n.accs))
        case _:
            return n


def _is_idle(s: Loop) -> bool:
    """Whether its iterations do nothing, or fail and do nothing else."""
    fails = all(isinstance(c, Check) and c.cond == Const(False, "bool") for c in s.body)
    return fails and all(isinstance(a.step, Var) and a.step.name == a.name for a in s.accs)


def _branch(s: If) -> If | tuple[Stmt, ...]:
    """A branch whose side is known, that is taken for nothing, or that merely chooses."""
    if isinstance(s.cond, Const):
        taken = s.then if s.cond.value else s.orelse
        given = (Assign(y.name, y.then if s.cond.value else y.orelse) for y in s.yields)
        return (*taken, *given)
    if not (s.then or s.orelse or s.yields):
        return s if raising(s.cond) else ()
    if not s.then and s.orelse and not s.yields:
        return replace(s, cond=rewrite(Call("not", (s.cond,), "bool")), then=s.orelse, orelse=())
    return s
