"""Short folds: a nest is made twice, for folds that fill no vectors and for those that do."""
from __future__ import annotations

from typing import Any

from ..algebra.index import less, minus
from ..algebra.values import is_const
from ..analysis.varying import Varying
from ..names import Fresh, bound, reads, rename
from ..nodes import (
    Assign,
    Check,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Stmt,
    While,
    Zip,
)
from ..tree import map_children, walk
from .vectorize_outer import inner_loops, lanes_of, may_run_together, vectorised

__all__ = ["short_folds"]

SHORT = 32  # terms below which a fold is left to one lane
ALONE = 12  # where no loop outside shares what the lanes gather


def short_folds(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Where a nest's innermost folds turn out to be short, the loops around them are vector loops.

    Each lane then folds in Python's order. Only the number of terms decides. Before::

        def k(x: f64[:, ::1], y: f64[:, ::1], out: mut(f64[:, ::1])):
            disjoint(x, out)
            disjoint(y, out)
            for i in loop(0, x.shape[0]):
                for j in loop(0, y.shape[0]):
                    for k in loop(0, x.shape[1], s=0.0):
                        s = step(s + x[i, k] * y[j, k])
                    out[i, j] = s

    after::

        def k(x: f64[:, ::1], y: f64[:, ::1], out: mut(f64[:, ::1])):
            disjoint(x, out)
            disjoint(y, out)
            if x.shape[1] < 32:
                for i_1 in loop(0, x.shape[0]):
                    for j_1 in vec(0, y.shape[0], width=W):
                        for k_1 in loop(0, x.shape[1], s_1=broadcast(0.0, W)):
                            s_1 = step(s_1 + broadcast(x[i_1, k_1], W) * y[j_1:W, k_1])
                        out[i_1, j_1:W] = s_1
            else:
                for i in loop(0, x.shape[0]):
                    for j in loop(0, y.shape[0]):
                        for k in loop(0, x.shape[1], s=0.0):
                            s = step(s + x[i, k] * y[j, k])
                        out[i, j] = s
    """
    fresh = Fresh(kernel)

    def visit(n: Any) -> Any:
        match n:
            case If(cond, _, (Loop() as long,)) if cond == _test(long, kernel, reassociate):
                return n
            case Loop():
                test = _test(n, kernel, reassociate)
                if test is not None:
                    return _chosen(n, test, fresh)
                chosen = n.var in lanes_of(n, kernel, reassociate=reassociate)
                return n if chosen else map_children(n, visit)
            case Kernel() | If() | While() | Zip():
                return map_children(n, visit)
            case _:
                return n

    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def _test(nest: Loop, kernel: Kernel, reassociate: bool) -> Expr | None:
    """Whether the folds in `nest` are short, as can be asked before it; None where it is no matter.
    """
    path = _path(nest)
    if not path or nest.accs or nest.until is not None:
        return None
    terms = SHORT if _is_shared(path) else ALONE
    test, *others = {_is_short(fold, terms) for fold in inner_loops(path[-1])}
    if others or is_const(test, False) or bound(nest) & reads(test):
        return None
    lanes = lanes_of(nest, kernel, reassociate=reassociate)
    able = lanes.isdisjoint(s.var for s in path) and may_run_together(_side(path), kernel)
    return test if able else None


def _side(path: list[Loop]) -> Loop:
    """The loop whose iterations run side by side: the innermost that carries nothing."""
    return next(s for s in reversed(path) if not s.accs)


def _path(nest: Loop) -> list[Loop]:
    """`nest` and the loops in it, each directly in the one before, down to that around its folds;
    empty where it is another kind of nest.
    """
    inside = inner_loops(nest)
    if inside and all(_is_fold(s) for s in inside):
        return [nest]
    below = _path(inside[0]) if len(inside) == 1 else []
    return [nest, *below] if below else []


def _is_fold(loop: Loop) -> bool:
    """Whether `loop` does nothing but fold."""
    plain = isinstance(loop.range, Interval) and loop.until is None and bool(loop.accs)
    return plain and all(isinstance(s, Assign | Check) for s in loop.body)


def _is_shared(path: list[Loop]) -> bool:
    """Whether what the lanes load is the same for several iterations of another loop."""
    side = _side(path)
    lanes = Varying(side)
    loads = [n for fold in inner_loops(path[-1]) for n in walk(fold) if isinstance(n, Load)]
    moving = [e for n in loads if lanes.differs(*n.index) for e in n.index]
    return any(not Varying(s).differs(*moving) for s in path if s is not side)


def _is_short(fold: Loop, terms: int) -> Expr:
    assert isinstance(fold.range, Interval)
    return less(minus(fold.range.hi, fold.range.lo), terms)


def _chosen(nest: Loop, test: Expr, fresh: Fresh) -> Stmt:
    """`nest` with vectors along the loop around its folds, where `test` holds."""
    side = _side(_path(nest))

    def lift(n: Any) -> Any:
        return vectorised(n) if n is side else map_children(n, lift)

    short: Stmt = lift(nest)
    if is_const(test, True):
        return short
    names = {name: fresh.name(name) for name in sorted(bound(nest))}
    return If(test, (rename(short, names),), (nest,), span=nest.span)
