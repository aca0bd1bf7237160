"""Argument types without a call: from ``--types``, from annotations, or guessed from the body."""
from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopir.types import DTYPES, dtype_of

from ..types import ArgType, ArrayType, ScalarType
from .uses import Uses

__all__ = ["Signature", "parse_types", "signature_of"]

_SCALARS: dict[object, ScalarType] = {
    int: ScalarType("i64", weak=True),
    float: ScalarType("f64", weak=True),
    bool: ScalarType("bool", weak=True),
}
_BY_NAME = {kind.__name__: type_ for kind, type_ in _SCALARS.items() if isinstance(kind, type)}


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of a function's parameters, by name, and which of them were only assumed."""

    types: Mapping[str, ArgType]
    assumed: tuple[str, ...] = ()

    @property
    def remark(self) -> str | None:
        """The sentence that a report puts under its title, None where nothing was assumed."""
        if not self.assumed:
            return None
        each = ", ".join(f"{name}: {self.types[name]}" for name in self.assumed)
        return f"types assumed, for want of annotations or --types: {each}"


def parse_types(text: str) -> tuple[str, list[ArgType]]:
    """``"f(f64[:], f64[:, :], f64)"`` → the function's name and its types.

    ``int``, ``float`` and ``bool`` are Python's scalars; ``f64`` or ``float64`` alone is a NumPy
    scalar. Raises ValueError.
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        call = None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.keywords):
        raise ValueError(f"--types {text!r}: want the form 'name(f64[:], int)'")
    return call.func.id, [_parse_type(arg) for arg in call.args]


def signature_of(function: Callable[..., Any], tree: ast.FunctionDef) -> Signature:
    """A type for each parameter: its annotation's, or a guess from how `tree` uses it."""
    hints = _hints(function)
    uses = Uses(tree)
    types: dict[str, ArgType] = {}
    assumed = []
    for name, parameter in inspect.signature(function).parameters.items():
        known = _annotated(hints.get(name), uses.rank(name)) or _of_default(parameter.default)
        if known is None:
            assumed.append(name)
        types[name] = known or _guess(name, uses)
    return Signature(types, tuple(assumed))


def _parse_type(node: ast.expr) -> ArgType:
    match node:
        case ast.Name(id=name) if name in _BY_NAME:
            return _BY_NAME[name]
        case ast.Name(id=name):
            return ScalarType(_dtype(name))
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice()):
            return _array(_dtype(name), 1)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=axes)) if all(
            isinstance(axis, ast.Slice) for axis in axes
        ):
            return _array(_dtype(name), len(axes))
    raise ValueError(f"{ast.unparse(node)!r} is not a type; want f64, f64[:], f64[:, :], int …")


def _dtype(name: str) -> str:
    if name in DTYPES:
        return name
    try:
        ours = dtype_of(np.dtype(name))
    except TypeError:
        ours = None
    if ours is None:
        raise ValueError(f"{name!r} is not an element type (known: {', '.join(DTYPES)})")
    return ours


def _array(dtype: str, rank: int) -> ArrayType:
    return ArrayType(dtype, rank, rank - 1)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # an annotation may be any expression, and may name what is not there
        return {}


def _annotated(hint: Any, rank: int) -> ArgType | None:
    """The type of an annotation: ``float``, ``NDArray[np.float64]``, ``Annotated[…, "f64[:, :]"]``.

    NumPy's annotations do not name a rank; it is `rank` then.
    """
    if isinstance(hint, type) and hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, np.generic):
        ours = dtype_of(np.dtype(hint))
        return ScalarType(ours) if ours else None
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, str):
            return _parse_type(ast.parse(extra, mode="eval").body)
    if typing.get_origin(hint) is typing.Annotated:
        return _annotated(typing.get_args(hint)[0], rank)
    if typing.get_origin(hint) is np.ndarray:
        element = (*typing.get_args(typing.get_args(hint)[1]), None)[0]
        if isinstance(element, type) and issubclass(element, np.generic):
            ours = dtype_of(np.dtype(element))
            return _array(ours, max(rank, 1)) if ours else None
    return None


def _of_default(default: object) -> ArgType | None:
    return _SCALARS.get(type(default))


def _guess(name: str, uses: Uses) -> ArgType:
    if uses.rank(name):
        return _array("f64", uses.rank(name))
    return _SCALARS[int if uses.is_integer(name) else float]
