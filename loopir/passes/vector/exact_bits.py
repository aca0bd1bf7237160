"""Exact bits: up to which size a kernel's results have the bits of the source's own order.

Lanes add floats in another order than the loop, and vector math may round otherwise than libm. A
kernel without either has the bits that Python has, so that Python may serve any of its calls
instead (`transpile.runtime.call_selection`).
"""
from __future__ import annotations

from collections.abc import Iterator

from ...dtypes import DTYPES
from ...ir_traversal import children, walk
from ...nodes import Call, HReduce, If, Kernel, Loop, Node, Prefix
from ...op_table import OPS
from .vectorize import is_short_fold

__all__ = ["FEW_TERMS", "exact_up_to"]

FEW_TERMS = 7
"""NumPy adds up to so many terms in their order, as loops do."""


def exact_up_to(kernel: Kernel) -> int | None:
    """The largest number of terms up to which the final `kernel` has the bits of the source's
    order; None: any number.
    """
    if not any(map(_is_inexact, walk(kernel))):
        return None
    return -1 if any(map(_is_inexact, _without_long_folds(kernel))) else FEW_TERMS


def _without_long_folds(node: Node) -> Iterator[Node]:
    """`node` and the nodes in it, apart from loops that only run for many terms (see
    `keep_fold_order`).
    """
    yield node
    match node:
        case If(then=(Loop() as short, *_)) if is_short_fold(short):
            inner: tuple[Node, ...] = node.then
        case _:
            inner = tuple(children(node))
    for n in inner:
        yield from _without_long_folds(n)


def _is_inexact(n: Node) -> bool:
    """Whether `n` combines floats of several lanes, or rounds otherwise than libm."""
    match n:
        case HReduce(op=op, value=value) | Prefix(op=op, value=value):
            return DTYPES[value.dtype].kind == "f" and OPS[op].unit is not None
        case Call(op=op):
            return OPS[op].ulps > 0 and DTYPES[n.dtype].kind == "f"
        case _:
            return False
