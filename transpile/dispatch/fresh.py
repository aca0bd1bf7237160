"""Arrays that are made for a call, read from the Python that makes them, for C to make the same.

``np.empty((len(x), max(n - 1, 0)), np.float32)`` becomes rows of words: one for the array, and one
for each number that its shape is computed from. Other spellings stay Python's.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from targets.whole import (
    ADD,
    EMPTY,
    EXTENT,
    INTEGER,
    LEAST,
    LIKE,
    MOST,
    MUL,
    NUMBER,
    SUB,
    ZEROS,
    Pointer,
    Program,
    Word,
)

from ..bindings import Fresh
from ..types import ELEMENTS

__all__ = ["Unfit", "add_fresh"]

_BINARY: dict[type[ast.operator], int] = {ast.Add: ADD, ast.Sub: SUB, ast.Mult: MUL}
_OURS: dict[str, Any] = {
    "_np.empty": np.empty, "_np.zeros": np.zeros, "_max": max, "_min": min,
}


class Unfit(Exception):
    """A call, or a part of it, that is the wrapper's."""


def add_fresh(
    program: Program, fresh: Fresh, places: Mapping[str, int], refs: Mapping[str, object]
) -> int:
    """Adds rows that make `fresh`, and tells where its own begins. `places`: where the values of
    names stand; `refs`: what names of the source are known to mean. Raises Unfit.
    """
    match ast.parse(fresh.expr, mode="eval").body:
        case ast.Call() as call:
            return _Reader(program, places, _OURS | dict(refs)).array(call, fresh)
    raise Unfit


class _Reader:
    def __init__(
        self, program: Program, places: Mapping[str, int], known: Mapping[str, object]
    ) -> None:
        self._program, self._places, self._known = program, places, known

    def array(self, call: ast.Call, fresh: Fresh) -> int:
        made = self._meaning(call.func)
        given = dict(zip(("shape", "dtype"), call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg}
        if len(given) < len(call.args) + len(call.keywords) or "shape" not in given:
            raise Unfit
        shape, dtype = given.pop("shape"), given.pop("dtype", None)
        if given:
            raise Unfit
        if made is np.empty or made is np.zeros:
            axes = shape.elts if isinstance(shape, ast.Tuple) else [shape]
            extents = [self._integer(axis) for axis in axes]
            descr, like = self._dtype(dtype, fresh)
            kind = ZEROS if made is np.zeros else EMPTY
        elif made is np.empty_like and fresh.type.rank == 1 and dtype is None:
            kind, descr, like = LIKE, 0, self._argument(shape)
            extents = [self._program.row(EXTENT, like, 0)]
        else:
            raise Unfit
        return self._program.row(kind, descr, like, len(extents), *extents)

    def _dtype(self, given: ast.expr | None, fresh: Fresh) -> tuple[Word, int]:
        """A descr, or 0 and the place of an array that has it."""
        wanted = ELEMENTS[fresh.type.dtype].numpy
        match given:
            case ast.Attribute(value=of, attr="dtype"):
                return 0, self._argument(of)
            case None:
                named: Any = np.float64
            case ast.Constant(value=str(name)):
                named = name
            case _:
                named = self._meaning(given)
        if np.dtype(named) != wanted:
            raise Unfit
        return Pointer(wanted), 0

    def _integer(self, e: ast.expr) -> int:
        """The row of a number."""
        row = self._program.row
        match e:
            case ast.Constant(value=int(value)) if 0 <= value < 1 << 62:
                return row(NUMBER, value, 0)
            case ast.Name():
                return row(INTEGER, self._argument(e), 0)
            case ast.Subscript(
                value=ast.Attribute(value=of, attr="shape"), slice=ast.Constant(value=int(axis))
            ) if axis >= 0:
                return row(EXTENT, self._argument(of), axis)
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                return row(_BINARY[type(op)], self._integer(left), self._integer(right))
            case ast.Call(function, [of], []) if self._meaning(function) is len:
                return row(EXTENT, self._argument(of), 0)
            case ast.Call(function, [a, b], []) if self._meaning(function) is max:
                return row(MOST, self._integer(a), self._integer(b))
            case ast.Call(function, [a, b], []) if self._meaning(function) is min:
                return row(LEAST, self._integer(a), self._integer(b))
        raise Unfit

    def _argument(self, e: ast.expr) -> int:
        if isinstance(e, ast.Name) and e.id in self._places:
            return self._places[e.id]
        raise Unfit

    def _meaning(self, e: ast.expr) -> object:
        try:
            return self._known[ast.unparse(e)]
        except KeyError:
            raise Unfit from None
