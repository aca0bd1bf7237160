"""Lane masks as C: vectors of 0 and -1, or integers with one bit a lane, by the target.

A mask of vectors fills one register: that of 8 lanes in 256 bits has lanes of 32 bits. Operations
on narrower or wider data convert it (`mask_to_width`, `mask_from_width`). A mask of bits needs no
conversion.
"""
from __future__ import annotations

from collections.abc import Iterable

from ..isa.target import Target, Vec, mask_type
from .vector_ops import BOOL_OPS, vector_op

__all__ = [
    "MASK_OPS", "any_lane", "mask_to_width", "mask_bits", "mask_and", "mask_from_width", "mask_op",
    "mask_not",
]

MASK_OPS = {
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
    "not": "~{0}",
    "eq": "~({0} ^ {1})",
    "ne": "{0} ^ {1}",
    "lt": "~{0} & {1}",
    "le": "~{0} | {1}",
    "gt": "{0} & ~{1}",
    "ge": "{0} | ~{1}",
    "select": "({0} & {1}) | (~{0} & {2})",
}
"""Operations on bools, on whole masks: false is 0, true has all bits set. ``lt``: not a, and b."""


def mask_op(op: str, masks: tuple[str, ...], lanes: int, target: Target) -> str:
    """The operation `op` on bools, as one on whole masks (`MASK_OPS`)."""
    return _typed(MASK_OPS[BOOL_OPS.get(op, op)].format(*masks), lanes, target)


def _typed(text: str, lanes: int, target: Target) -> str:
    """`text` cast to the mask type where masks are integers: C computes them as int."""
    return f"({mask_type(target, lanes)})({text})" if target.masks == "bits" else f"({text})"


def mask_and(masks: Iterable[str | None], lanes: int, target: Target) -> str | None:
    """The conjunction of `masks`. None stands for the mask of all lanes, also as the result."""
    present = [m for m in masks if m]
    if len(present) < 2:
        return present[0] if present else None
    return _typed(" & ".join(present), lanes, target)


def mask_not(mask: str, lanes: int, target: Target) -> str:
    """The complement of a mask."""
    return f"(m{lanes})~{mask}" if target.masks == "bits" else f"~{mask}"


def any_lane(mask: str, lanes: int, target: Target) -> str:
    """The condition that a mask is true in some lane."""
    if target.masks == "bits":
        return f"tp_any_m{lanes}({mask})"
    return vector_op("any", _mask_vector(lanes, target), (mask,), target)


def mask_bits(mask: str, lanes: int, target: Target) -> str:
    """A mask as an integer whose bit k is lane k."""
    if target.masks == "bits":
        return mask
    return vector_op("bits", _mask_vector(lanes, target), (mask,), target)


def _mask_vector(lanes: int, target: Target) -> Vec:
    """The vector type of a mask of lanes."""
    return Vec(f"i{target.bits // lanes}", lanes)


def mask_to_width(mask: str, lanes: int, bits: int, target: Target) -> str:
    """The mask of a loop, converted for an operation on lanes of `bits` bits: where masks are
    lanes, to a vector of integers of that size.
    """
    return _cast(mask, target.bits // lanes, bits, lanes) if target.masks == "lanes" else mask


def mask_from_width(mask: str, lanes: int, bits: int, target: Target) -> str:
    """The mask from a comparison of lanes of `bits` bits, converted to the loop's mask type."""
    return _cast(mask, bits, target.bits // lanes, lanes) if target.masks == "lanes" else mask


def _cast(mask: str, old: int, new: int, lanes: int) -> str:
    """A mask of lanes of `old` bits as one of lanes of `new` bits."""
    return mask if old == new else f"tp_cast_i{old}_i{new}x{lanes}({mask})"
