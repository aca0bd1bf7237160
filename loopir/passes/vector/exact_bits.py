"""Exact bits: the largest size of a call for which a kernel's results have the bits of Python's.

Lanes add floats in another order than the loop, and vector math may round otherwise than libm. A
kernel with neither always has Python's bits, so that Python may serve any of its calls instead
(`transpile.runtime.call_selection`).
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...analysis.integers.affine import affine_form
from ...dtypes import DTYPES, INDEX
from ...ir_names import values_assigned_once
from ...ir_traversal import children, walk
from ...nodes import Call, Const, Dim, Expr, HReduce, If, Kernel, Loop, Node, Prefix, Var
from ...op_table import OPS
from .vectorize import is_short_fold

__all__ = ["exact_up_to"]


def exact_up_to(
    kernel: Kernel, counted: Collection[str], libm: Collection[str] = ()
) -> int | None:
    """The largest size of a call up to which the final `kernel` surely has the bits of the source's
    order; None: any size; -1: none.

    Only folds that `keep_fold_order` has versioned on their number of terms depend on the size: up
    to it, each of them takes the copy for few terms. The size of a call is a sum over the
    parameters in `counted`: for an array of rank 1 its length; for an integer v its value, or
    -(v + 1) if that is negative. ``libm``: the operations that the source computes by the C
    library, as scalar code of float64 does.
    """
    if not any(_is_inexact(n, libm) for n in walk(kernel)):
        return None
    if any(_is_inexact(n, libm) for n in _without_long_folds(kernel)):
        return -1
    definitions = values_assigned_once(kernel)
    conditions = [n.cond for n in walk(kernel) if isinstance(n, If) and _is_fold_version(n)]
    size = min(_largest_size(c, counted, definitions) for c in conditions)
    return size if size < _ALL else None


_ALL = 1 << 62
"""More than any size."""


def _largest_size(
    condition: Expr, counted: Collection[str], definitions: Mapping[str, Expr]
) -> int:
    """The largest size up to which `condition` surely holds; -1 if there is none, `_ALL` if it
    always holds.
    """
    match condition:
        case Call("lt", (a, b)):
            return max(-1, _size_while_less(a, b, counted, definitions))
        case Const(value):
            return _ALL if value else -1
        case Var(name) if name in definitions:
            return _largest_size(definitions[name], counted, definitions)
    return -1


def _size_while_less(
    a: Expr, b: Expr, counted: Collection[str], definitions: Mapping[str, Expr]
) -> int:
    """The largest size up to which ``a < b`` surely holds; negative if none is known.

        x.shape[0] < 33                     32
        2 * n + m < 33 (all counted)        16: m could be 0, and n the whole size

    Let ``a - b`` be the affine form ``constant + Σ factor · atom``. If each atom is a length or an
    integer that counts in the size, ``a - b`` is at most ``constant + steepest · size``, where
    steepest is the largest `_growth` of a term. The result is the largest size for which that is at
    most -1. Where this is not so: of a minimum one operand is enough, of a maximum each is needed,
    a quotient is at most its dividend, and a name has the bound of its definition.
    """
    form = affine_form(Call("sub", (a, b), INDEX))
    if form is not None:
        growths = [_growth(atom, c, counted) for atom, c in form.terms.items()]
        if None not in growths:
            steepest = max((g for g in growths if g), default=0)
            room = -1 - form.constant
            if steepest:
                return room // steepest
            return _ALL if room >= 0 else -1
    match a:
        case Call("floordiv", (x, Const(int(divisor)))) if divisor > 0 and _is_positive(b):
            return _size_while_less(x, b, counted, definitions)  # the quotient is at most max(x, 0)
        case Call("min", parts):
            return max(_size_while_less(x, b, counted, definitions) for x in parts)
        case Call("max", parts):
            return min(_size_while_less(x, b, counted, definitions) for x in parts)
        case Var(name) if name in definitions:
            others = {k: v for k, v in definitions.items() if k != name}
            return _size_while_less(definitions[name], b, counted, others)
    return -1


def _is_positive(e: Expr) -> bool:
    """Whether `e` is a positive number."""
    return isinstance(e, Const) and isinstance(e.value, int) and e.value > 0


def _growth(atom: Expr | str, factor: int, counted: Collection[str]) -> int | None:
    """By how much ``factor * atom`` can grow while the size grows by one; None if by any number."""
    match atom:
        case Dim() if factor < 0:
            return 0  # a length is never negative
        case Dim():
            return factor if atom.array in counted else None
        case Var(name) if name in counted and factor > 0:
            return factor
    return None


def _is_fold_version(branch: If) -> bool:
    """Whether `keep_fold_order` has made `branch`: its ``then`` side is the scalar loop for few
    terms, which keeps their order.
    """
    return bool(branch.then) and isinstance(loop := branch.then[0], Loop) and is_short_fold(loop)


def _without_long_folds(node: Node) -> Iterator[Node]:
    """`node` and the nodes in it, apart from loops that only run for many terms (see
    `keep_fold_order`).
    """
    yield node
    match node:
        case If(then=then) if _is_fold_version(node):
            inner: tuple[Node, ...] = then
        case _:
            inner = tuple(children(node))
    for n in inner:
        yield from _without_long_folds(n)


def _is_inexact(n: Node, libm: Collection[str]) -> bool:
    """Whether `n` combines floats of several lanes, or rounds otherwise than libm."""
    match n:
        case HReduce(op=op, value=value) | Prefix(op=op, value=value):
            return DTYPES[value.dtype].kind == "f" and OPS[op].is_rounded_sum
        case Call(op=op, args=args, dtype="f64") if op in libm and n.lanes == 1:
            return any(isinstance(a, Const) for a in args)  # a C compiler may round it otherwise
        case Call(op=op):
            return OPS[op].ulps > 0 and DTYPES[n.dtype].kind == "f"
        case _:
            return False
