"""A loop whose whole effect is under one mask: the mask, and the loop without it."""
from __future__ import annotations

from dataclasses import replace

from ..algebra.values import unit
from ..analysis.folds import Fold
from ..names import closed
from ..nodes import Append, Assign, Call, Check, Expr, Loop, Prefix, Stmt, Store
from ..types import DTYPES
from .blocks import needed
from .masks import Masked

__all__ = ["Predicated", "predicated"]


class Predicated:
    """A loop that acts only where ``mask`` holds, given over what is known before the body."""

    def __init__(self, mask: Expr, body: tuple[Stmt, ...], folds: tuple[Fold, ...]) -> None:
        self.mask, self.body, self.folds = mask, body, folds


def predicated(loop: Loop, folds: tuple[Fold, ...]) -> Predicated | None:
    """`loop` as a predicated one; None where some of what it does has another mask, or none.

    What the body computes for all elements must not raise flags, since a predicated body does
    not compute it.
    """
    masks = {s.mask for s in loop.body if isinstance(s, Store | Append)}
    if any(isinstance(s, Prefix) for s in loop.body):
        return None  # lanes join in order, those that store nothing too
    if len(masks) != 1 or None in masks:
        return None
    (mask,) = masks
    assert mask is not None
    body = tuple(_unmasked(s, mask) for s in loop.body)
    steps = tuple(_unconditional(f, mask) for f in folds)
    values = {s.name: s.value for s in loop.body if isinstance(s, Assign)}
    if None in body or None in steps or not _quiet(loop, folds, mask):
        return None
    over = closed(mask, values)
    if over is None:
        return None
    kept = tuple(s for s in body if s is not None)
    return Predicated(over, kept, tuple(f for f in steps if f is not None))


def _unmasked(s: Stmt, mask: Expr) -> Stmt | None:
    """`s` where the mask holds. A check keeps it, for it may be of no lane, but of all together."""
    match s:
        case Store() | Append():
            return replace(s, mask=None)
        case Check(cond=Call(op="or", args=(Call(op="not", args=(m,)), _))) if m == mask:
            return s
        case Check():
            return None
        case _:
            return s


def _unconditional(f: Fold, mask: Expr) -> Fold | None:
    """`f` without its condition, if that is `mask`.

    A float sum keeps the select of its term: adding what an idle lane holds may raise flags.
    """
    if f.cond is not None:
        return replace(f, cond=None) if f.cond == mask else None
    match f.value:
        case Call(op="select", args=(m, term, none)) if m == mask and none == unit(f.op, f.dtype):
            return f if DTYPES[f.dtype].kind == "f" else replace(f, value=term)
        case _:
            return None


def _quiet(loop: Loop, folds: tuple[Fold, ...], mask: Expr) -> bool:
    """Whether what the body computes beside the mask raises nothing where it does not hold."""
    own = needed(loop.body, mask)
    masked = Masked(mask)
    for s in loop.body:
        match s:
            case Assign() if s not in own:
                quiet = masked.bind(s.name, s.value) == s.value
            case Store() | Append():
                quiet = masked(s.value) == s.value
            case Check():
                quiet = masked(s.cond) == s.cond
            case _:
                continue
        if not quiet:
            return False
    return all(masked(f.value) == f.value for f in folds)
