"""Which types a number has that may be complex."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from loopir.nodes import Const

from ..infer import Num, result
from ..pair import Pair
from ..types import ELEMENTS, ScalarType

__all__ = [
    "as_complex", "by_ufunc", "exponent", "in_two_ways", "is_one_of", "mixed", "numbers", "only",
    "python_by_one",
]


def mixed(n: Num | Pair) -> bool:
    """Whether it may be complex, and may be real."""
    return isinstance(n, Pair) and n.mixed


def as_complex(n: Num | Pair) -> Num | Pair:
    """`n` with Python's complex type where it may be real."""
    if isinstance(n, Pair) and n.mixed and n.strong:
        re, im = (Num(p.ir, p.strong, "f64", p.is_weak) for p in (n.re, n.im))
        return Pair(re, im)
    return n


def only(n: Num | Pair, weak: bool) -> Num | Pair:
    """`n` as Python's number, or as NumPy's, where it may be either."""
    if isinstance(n, Pair):
        return Pair(_one_type(n.re, weak), _one_type(n.im, weak))
    return _one_type(n, weak)


def _one_type(n: Num, weak: bool) -> Num:
    if not n.either:
        return n
    return Num(n.ir, weak=n.weak) if weak else Num(n.ir, strong=n.strong)


def is_one_of(n: Num, *values: str) -> bool:
    """Whether `n` is one of these constants."""
    return isinstance(n.ir, Const) and repr(n.ir.value) in values


def exponent(n: Num | Pair) -> int:
    """The number from 2 to 99 that `n`, a constant int of Python's, is; else 0."""
    if isinstance(n, Num) and n.weak == "i64" and n.strong is None and isinstance(n.ir, Const):
        return int(n.ir.value) if 2 <= n.ir.value < 100 else 0
    return 0


def by_ufunc(x: Num | Pair, y: Num | Pair, ty: ScalarType) -> bool:
    """Whether NumPy's scalars leave the operation to the function for arrays: where the type of
    neither operand can hold the other's.
    """
    if ty.weak:
        return False
    a, c = x.strong, y.strong
    if a and c:
        one, other = ELEMENTS[a].numpy, ELEMENTS[c].numpy
        return not (np.can_cast(one, other) or np.can_cast(other, one))
    return isinstance(x if a else y, Num)


def in_two_ways(x: Num | Pair, y: Num | Pair) -> bool:
    """Whether a product with a real number of NumPy's is an array's, but only if the other operand
    is Python's.
    """
    for n, m in ((x, y), (y, x)):
        if isinstance(n, Pair) and n.strong and n.weak and not n.simple:
            return isinstance(m, Num) and m.strong is not None
    return False


def numbers(*given: Num | Pair) -> list[Num]:
    """The numbers that these consist of."""
    return [p for n in given for p in ((n.re, n.im) if isinstance(n, Pair) else (n,))]


def python_by_one(function: Callable[..., Any], x: Num | Pair, y: Num | Pair) -> bool:
    """Whether the result may be Python's where just one of two numbers is, which both may be."""
    if not all(any(n.either for n in numbers(of)) for of in (x, y)):
        return False
    types = (result(function, only(x, weak), only(y, not weak)) for weak in (True, False))
    return any(ty is None or ty.weak for ty in types)
