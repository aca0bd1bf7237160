"""What NumPy says when it is asked: what expressions may be, as samples, and what it answers."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..types import ELEMENTS
from .fact import INT_TYPES, Fact, typed
from .samples import Display, Exactly, Sample, ask

__all__ = ["Asked", "answer"]


class Asked:
    """Samples of expressions, by what is known of them."""

    resolve: Callable[[ast.expr], object | None]

    def of(self, e: ast.expr) -> Fact:
        """What is known of the value of `e` here."""
        raise NotImplementedError

    def outside(self, e: ast.expr) -> Fact:
        """What the environment knows, of an expression without local names."""
        raise NotImplementedError

    def component(self, of: Fact, name: str) -> Fact | None:
        """What is known of the real or imaginary part of `of`."""
        if name not in ("real", "imag"):
            return None
        fact = answer(operator.attrgetter(name), [of.types])
        return fact._replace(owner=of.owner, lies=of.order if fact.rank else None) if fact else None

    def samples(self, e: ast.expr, index: bool = False) -> list[Sample]:
        """What `e` may be, as samples; ints below any length where it is an `index`."""
        if index and self.of(e).is_int:
            return [Exactly(0, int)]
        if self.is_new_axis(e):
            return [Exactly(None, type(None))]
        match e:
            case ast.Attribute(attr="dtype", value=array) if (of := self.of(array).array):
                return [Exactly(ELEMENTS[of.dtype].numpy, np.dtype)]
            case ast.Constant(value=value) if not isinstance(value, (bytes, complex)):
                return [Exactly(value, type(value))]
            case ast.Slice(step=step):
                steps = self.samples(step) if step else [Exactly(None, type(None))]
                return [Display(slice, (*[Exactly(None, type(None))] * 2, s)) for s in steps]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return [Exactly(-value, type(value))]
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                make = tuple if isinstance(e, ast.Tuple) else list
                return self._display(make, elts, index)
            case ast.Name() | ast.Attribute() if (given := self._object(e)) is not None:
                return [Exactly(given, type(given))]
            case ast.Attribute(attr="shape", value=array) if rank := self.of(array).rank:
                return [Display(tuple, tuple(INT_TYPES) * rank)]
        return list(self.of(e).kinds)

    def is_new_axis(self, e: ast.expr) -> bool:
        """Whether `e` is ``np.newaxis``, which is None."""
        return isinstance(e, ast.Attribute) and e.attr == "newaxis" and self.resolve(e.value) is np

    def _object(self, e: ast.expr) -> object | None:
        """A type or function that stands as an argument, such as a dtype."""
        value = self.resolve(e)
        return value if isinstance(value, (type, np.dtype)) else None

    def _display(self, make: Callable[..., object], elts: Sequence[ast.expr], index: bool
                 ) -> list[Sample]:
        parts: list[tuple[Sample, ...]] = [()]
        for x in elts:
            parts = [(*p, s) for p in parts for s in self.samples(x, index)]
        return [Display(make, p) for p in parts]


def answer(
    function: Callable[..., Any], operands: Iterable[Iterable[Sample]], *names: str
) -> Fact | None:
    """What is known of a call, its last operands given by `names`; None where nothing is."""
    types = ask(function, operands, *names)
    return typed(types) if types else None
