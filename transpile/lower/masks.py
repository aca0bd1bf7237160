"""Masks of lanes in integers: what the functions of `transpile.ops` on them are made of."""
from __future__ import annotations

from collections.abc import Callable

from loopir.nodes import Call, Const, Expr

from .. import ops

__all__ = ["MASKS"]


def _has_bit(mask: Expr, k: Expr) -> Expr:
    return _any_set(_bits("bitand", _bits("shr", mask, k), Const(1, mask.dtype)))


def _any_set(mask: Expr) -> Expr:
    return Call("ne", (mask, Const(0, mask.dtype)), "bool")


def _all_set(mask: Expr, n: Expr) -> Expr:
    return Call("eq", (_bits("bitand", mask, _lowest(n)), _lowest(n)), "bool")


def _mask_not(mask: Expr, n: Expr) -> Expr:
    return _bits("bitand", Call("invert", (mask,), mask.dtype), _lowest(n))


def _lowest(n: Expr) -> Expr:
    """The first `n` lanes; a shift by too many leaves nothing, of which one less is all."""
    one = Const(1, n.dtype)
    return _bits("sub", _bits("shl", one, n), one)


def _bits(op: str, a: Expr, b: Expr) -> Expr:
    return Call(op, (a, b), a.dtype)


MASKS: dict[object, Callable[..., Expr]] = {
    ops.has_bit: _has_bit, ops.any_set: _any_set, ops.all_set: _all_set, ops.mask_not: _mask_not,
}
