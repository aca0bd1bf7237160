"""The lengths of arrays, as Python, where the names in them keep their values."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ..below import below
from .asked import Asked
from .calls import among
from .fact import Fact
from .names import bindings, free_of

__all__ = ["Shapes"]

Shape: TypeAlias = "tuple[str, ...]"

_SHAPED = (np.zeros, np.ones, np.empty, np.full)
_LIKE = (np.zeros_like, np.ones_like, np.empty_like, np.full_like)
_ARRAYS = (np.array, np.asarray, np.ascontiguousarray, np.copy)
_EACH = (np.where, np.clip, np.round)
_METHODS = frozenset({"astype", "conj", "copy", "round"})


class Shapes(Asked):
    """What arrays that are made have as lengths; names but those that are ``moving`` keep their
    values.
    """

    moving: set[str]
    lengths: dict[str, str]

    def measure(self, tree: ast.FunctionDef) -> None:
        """Takes note of the names that stand for lengths of arrays that are given, and stay."""
        for target, value in (b for n in below(*tree.body) for b in bindings(n)):
            match target, value:
                case ast.Name(id=name), ast.Call(func, [ast.Name() as of]) if (
                    self.resolve(func) is len
                ):
                    self._measured(name, of, 0)
                case ast.Name(id=name), ast.Subscript(
                    ast.Attribute(ast.Name() as of, "shape"), ast.Constant(int(k))
                ):
                    self._measured(name, of, k)
                case ast.Tuple(elts=elts), ast.Attribute(ast.Name() as of, "shape"):
                    for k, e in enumerate(elts):
                        self._measured(getattr(e, "id", ""), of, k)

    def _measured(self, name: str, of: ast.Name, k: int) -> None:
        rank = self.of(of).rank or 0
        if self.of(of).array and {name, of.id}.isdisjoint({*self.moving, ""}) and -rank <= k < rank:
            self.lengths[name] = f"{of.id}.shape[{k % rank}]"

    def lasting(self, e: ast.expr) -> bool:
        """Whether `e`, of lengths and ints, has the same value wherever it is asked."""
        return free_of(e, self.moving)

    def shaped(self, fact: Fact, operands: Sequence[ast.expr]) -> Fact:
        """`fact`, of what an operation makes of each element of its operands."""
        return fact._replace(shape=self._common(operands)) if fact.rank and fact.array else fact

    def shape_of_call(self, target: object, e: ast.Call) -> Shape | None:
        """The lengths of what a call makes."""
        match e.args:
            case [ast.Tuple(elts=elts), *_] if among(target, _SHAPED):
                pass
            case [n, *_] if among(target, _SHAPED) and self.of(n).is_int:
                elts = [n]
            case [like, *_] if among(target, _LIKE):
                return None if any(k.arg == "shape" for k in e.keywords) else self._lengths(like)
            case [ast.List() | ast.Tuple() as display, *_] if among(target, _ARRAYS):
                return self._displayed(display)
            case [of, *_] if among(target, _ARRAYS):
                return self._lengths(of)
            case [left, right] if target in (np.dot, np.matmul) and not e.keywords:
                return self.shape_of_product(left, right)
            case args if among(target, _EACH) or self._is_by_elements(target, e):
                return self._common(args)
            case _:
                own = e.func if target is None and isinstance(e.func, ast.Attribute) else None
                return self._lengths(own.value) if own and own.attr in _METHODS else None
        return self.spelled(elts)

    def spelled(self, lengths: Sequence[ast.expr]) -> Shape | None:
        """What has these lengths, if they stay."""
        texts = map(ast.unparse, lengths)
        known = tuple(self.lengths.get(text, text) for text in texts)
        return known if all(map(self.lasting, lengths)) else None

    def shape_of_product(self, left: ast.expr, right: ast.expr) -> Shape | None:
        """Of vectors and matrices that are multiplied."""
        a, b = self._lengths(left), self._lengths(right)
        if not a or not b or len(a) > 2 or len(b) > 2:
            return None
        return (*a[:-1], *b[:-2], *b[-1:] * (len(b) - 1)) or None

    @staticmethod
    def _is_by_elements(target: object, e: ast.Call) -> bool:
        ufunc = isinstance(target, np.ufunc) and target.nin == len(e.args) and not target.signature
        return ufunc and all(k.arg == "dtype" for k in e.keywords)

    def _displayed(self, e: ast.List | ast.Tuple) -> Shape | None:
        """Of a display of numbers, or of displays of them."""
        if any(isinstance(x, ast.Starred) for x in e.elts) or not e.elts:
            return None
        if all(self.of(x).rank == 0 for x in e.elts):
            return (str(len(e.elts)),)
        rows = {self._displayed(x) for x in e.elts if isinstance(x, (ast.List, ast.Tuple))}
        (row,) = rows if len(rows) == 1 else (None,)
        displays = all(isinstance(x, (ast.List, ast.Tuple)) for x in e.elts)
        return (str(len(e.elts)), *row) if row and displays else None

    def _common(self, operands: Sequence[ast.expr]) -> Shape | None:
        """Of arrays that numbers, and arrays with the same last lengths, are broadcast to."""
        arrays = [e for e in operands if self.of(e).rank != 0]
        shapes = [shape for e in arrays if (shape := self._lengths(e))]
        if not shapes or len(shapes) < len(arrays):
            return None
        rank = max(map(len, shapes))
        axes = [{s[k] for s in shapes if k >= -len(s)} - {"1"} or {"1"} for k in range(-rank, 0)]
        return tuple(min(axis) for axis in axes) if all(len(axis) == 1 for axis in axes) else None

    def _lengths(self, e: ast.expr) -> Shape | None:
        fact = self.of(e)
        if not fact.rank or fact.array is None:
            return None
        shape = fact.shape or ("",) * fact.rank
        if isinstance(e, ast.Name) and fact.owner == e.id and self.lasting(e):
            return tuple(n or f"{e.id}.shape[{k}]" for k, n in enumerate(shape))
        return shape if all(shape) else None
