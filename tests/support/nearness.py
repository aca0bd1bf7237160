"""How far from Python's a result may be, found by running the program with rounding errors added.

Errors (nudges) are added where the compiler is free: to the last bits of functions such as ``exp``,
and to folds that may be reassociated. Each nudge is as large as the bound allows, in one direction
or the other, so that its effect on later operations is measured and not guessed.
"""
from __future__ import annotations

import ast
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["MARKS", "Nudge", "close", "unmarked"]

ULPS = 4
MARKS = ("_term", "_step", "_sum", "_product", "_near", "_power")


class _Unmark(ast.NodeTransformer):
    """Takes the marks out of a program."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        marked = isinstance(node.value, ast.Call)
        self.generic_visit(node)
        match node:
            case ast.Assign(targets=[ast.Name(id=a)], value=ast.Name(id=b)) if marked and a == b:
                return None  # s = _sum(1, s); a drawn t = t stays
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="_term" | "_sum" | "_product"), args=[_, value]):
                return value
            case ast.Call(func=ast.Name(id="_step"), args=[_, value, factor, term]):
                return ast.BinOp(ast.BinOp(value, ast.Mult(), factor), ast.Add(), term)
            case ast.Call(func=ast.Name(id="_near"), args=[function, *args]):
                return ast.Call(function, args, [])
            case ast.Call(func=ast.Name(id="_power"), args=[a, b]):
                return ast.BinOp(a, ast.Pow(), b)
        return node


def unmarked(text: str) -> str:
    """The program as a user would write it."""
    return ast.unparse(ast.fix_missing_locations(_Unmark().visit(ast.parse(text)))) + "\n"


class Nudge:
    """What the marks of one run do.

    ``signs`` gives the direction of each nudge. Afterwards ``wild`` tells that a fold may have
    overflowed in another order, so that nothing is known of it; ``special`` that one met a NaN or
    an infinity, so that its warnings may be others.
    """

    def __init__(self, signs: Iterator[int], folds: bool = True) -> None:
        self.signs, self.folds = signs, folds
        self.terms: dict[int, list[float]] = defaultdict(list)
        self.wild = self.special = False

    def names(self) -> dict[str, Callable[..., Any]]:
        marks = (self._term, self._step, self._sum, self._product, self._near, self._power)
        return dict(zip(MARKS, marks, strict=True))

    def _term(self, k: int, value: Any) -> Any:
        if isinstance(value, (float, int, np.floating, np.integer)):
            self.terms[k].append(float(value))
        return value

    def _step(self, k: int, value: Any, factor: Any, term: Any) -> Any:
        """A step of a recurrence, which multiplies the errors of the steps before by `factor`."""
        product = value * factor
        scaled = [t * float(factor) for t in self.terms[k]]
        self.terms[k] = [*scaled, float(product), float(term)]
        return product + term

    def _free(self, value: Any) -> bool:
        return isinstance(value, (float, np.floating)) and bool(np.isfinite(value))

    def _sum(self, k: int, total: Any) -> Any:
        terms = self.terms.pop(k, [])
        kind = total if isinstance(total, np.floating) else np.float64(0)
        finite = [abs(t) for t in terms if math.isfinite(t)]
        size = sum(finite) + (abs(float(total)) if self._free(total) else 0.0)
        if not self.folds or not terms or not isinstance(total, (float, np.floating)):
            return total
        self.special |= len(finite) < len(terms)
        self.wild |= size > float(np.finfo(kind.dtype).max) / 2
        if not self._free(total):
            self.wild |= len(finite) == len(terms)
            return total
        return self._moved(total, 2 * len(terms) * float(np.finfo(kind.dtype).eps) * size)

    def _product(self, k: int, total: Any) -> Any:
        terms = self.terms.pop(k, [])
        kind = total if isinstance(total, np.floating) else np.float64(0)
        info = np.finfo(kind.dtype)
        sizes = [abs(math.log2(abs(t))) for t in terms if t and math.isfinite(t)]
        if not self.folds or not terms or not isinstance(total, (float, np.floating)):
            return total
        self.special |= any(not math.isfinite(t) for t in terms)
        self.wild |= sum(sizes) > info.maxexp - 4
        if not self._free(total):
            return total
        return self._moved(total, 2 * len(terms) * float(info.eps) * abs(float(total)))

    def _near(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._nudged(function(*args))

    def _power(self, a: Any, b: Any) -> Any:
        return self._nudged(operator.pow(a, b))  # squares too: libm's are not always rounded right

    def _nudged(self, value: Any) -> Any:
        if not self._free(value) or not value:
            return value
        return self._moved(value, ULPS * float(np.spacing(np.abs(value))))

    def _moved(self, value: Any, by: float) -> Any:
        with np.errstate(all="ignore"):
            moved = type(value)(float(value) + next(self.signs) * by) if by else value
        return moved if self._free(moved) else value


def close(got: Any, base: Any, others: list[Any]) -> bool | None:
    """Whether `got` is as near to `base` as `others` are; None where they tell nothing."""
    kinds = {type(v) for v in (base, *others)}
    if len(kinds) > 1:
        return None
    if type(got) is not type(base):
        return False
    if isinstance(base, (list, tuple)):
        if len({len(v) for v in (base, *others)}) > 1:
            return None
        if len(got) != len(base):
            return False
        parts = [close(g, b, [*o]) for g, b, *o in zip(got, base, *others, strict=True)]
        return False if False in parts else None if None in parts else True
    if isinstance(base, (np.ndarray, np.generic, float)):
        return _close_numbers(got, base, others)
    return got == base if all(o == base for o in others) else None


def _close_numbers(got: Any, base: Any, others: list[Any]) -> bool | None:
    arrays = [np.asarray(v) for v in (got, base, *others)]
    if len({(a.dtype, a.shape) for a in arrays[1:]}) > 1:
        return None
    g, b, *rest = arrays
    if (g.dtype, g.shape) != (b.dtype, b.shape):
        return False
    if b.dtype.kind != "f":
        steady = np.all([o == b for o in rest], axis=0)
        return bool(np.all((g == b) | ~steady))
    with np.errstate(all="ignore"):
        steady = np.all([_same(o, b) for o in rest], axis=0)
        reach = 2 * np.max([np.abs(o.astype(float) - b.astype(float)) for o in rest], axis=0)
        near = np.abs(g.astype(float) - b.astype(float)) <= reach + 4 * np.spacing(np.abs(b))
        told = np.isfinite(reach) & np.isfinite(b) & ~steady
    return bool(np.all(np.where(steady, _same(g, b), near | ~told)))


def _same(a: Any, b: Any) -> Any:
    """Where two arrays have the same bits, NaNs of any kind alike."""
    return (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))
