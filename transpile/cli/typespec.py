"""Argument types without a call: from ``--types``, from annotations, or guessed from the body."""
from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from loopir.record import record

from ..signature import type_of
from ..types import ELEMENTS, ArgType, ArrayType, Opaque, ScalarType
from .uses import Uses

__all__ = ["Signature", "parse_types", "signature_of"]

_SCALARS: dict[object, ScalarType] = {
    int: ScalarType("i64", weak=True),
    float: ScalarType("f64", weak=True),
    bool: ScalarType("bool", weak=True),
    complex: ScalarType("c128", weak=True),
}
_FOREIGN = (str, bytes, list, tuple, dict, set)
_BY_NAME = {kind.__name__: type_ for kind, type_ in _SCALARS.items() if isinstance(kind, type)}


@record(frozen=True, slots=True)
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

    ``int``, ``float``, ``complex`` and ``bool`` are Python's scalars; ``f64`` or ``float64`` alone
    is a NumPy scalar, ``f64[:, 1]`` an array with one column, ``{x: f64, n: i32}[:]`` one of
    records. Raises ValueError.
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        call = None
    match call:
        case ast.Call(func=func, args=args, keywords=[]) if _dotted(func):
            try:
                return ast.unparse(func), [_parse_type(arg) for arg in args]
            except ValueError as error:
                raise ValueError(f"--types {text!r}: {error}") from None
    raise ValueError(f"--types {text!r}: want the form 'name(f64[:], int)'")


def _dotted(name: ast.expr) -> bool:
    while isinstance(name, ast.Attribute):
        name = name.value
    return isinstance(name, ast.Name)


def signature_of(function: FunctionType, tree: ast.FunctionDef) -> Signature:
    """A type for each parameter: its annotation's, or a guess from how `tree` uses it."""
    hints = _hints(function)
    uses = Uses(tree)
    types: dict[str, ArgType] = {}
    assumed = []
    for name, parameter in inspect.signature(function).parameters.items():
        known = _annotated(hints.get(name), uses.rank(name)) or _of_default(parameter.default)
        if known is None and uses.has(name):
            assumed.append(name)
        types[name] = known or _guess(name, uses)
    return Signature(types, tuple(assumed))


def _parse_type(node: ast.expr) -> ArgType:
    match node:
        case ast.Name(id=name) if name in _BY_NAME:
            return _BY_NAME[name]
        case ast.Name(id=name):
            return ScalarType(_dtype(name))
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            axes = index.elts if isinstance(index, ast.Tuple) else [index]
            lengths = [ast.unparse(axis) for axis in axes]
            if lengths and {*lengths} <= ({":", "1"} if len(lengths) > 1 else {":"}):
                ones = tuple(k for k, n in enumerate(lengths) if n == "1")
                return replace(_array(_dtype(name), len(axes)), ones=ones)
        case ast.Subscript(value=ast.Dict() as fields, slice=index):
            axes = index.elts if isinstance(index, ast.Tuple) else [index]
            if axes and all(ast.unparse(axis) == ":" for axis in axes):
                return type_of(np.empty((2,) * len(axes), _records(fields)))
    raise ValueError(f"{ast.unparse(node)!r} is not a type; want f64, f64[:], f64[:, 1], int …")


def _records(fields: ast.Dict) -> np.dtype:
    """``{x: f64, n: i32}``, laid out as a C compiler would."""
    parts = []
    for name, ty in zip(fields.keys, fields.values, strict=True):
        if not isinstance(name, ast.Name) or not isinstance(ty, ast.Name):
            raise ValueError(f"{ast.unparse(fields)!r} is no record; want {{x: f64, n: i32}}")
        parts.append((name.id, ELEMENTS[_dtype(ty.id)].numpy))
    return np.dtype(parts, align=True)


def _dtype(name: str) -> str:
    if name in ELEMENTS:
        return name
    try:
        ours = _named(np.dtype(name))
    except TypeError:
        ours = None
    if ours is None:
        raise ValueError(f"{name!r} is not an element type (known: {', '.join(ELEMENTS)})")
    return ours


def _named(dtype: np.dtype) -> str | None:
    return next((name for name, d in ELEMENTS.items() if d.numpy == dtype), None)


def _array(dtype: str, rank: int) -> ArrayType:
    return ArrayType(dtype, rank, rank - 1)


def _hints(function: FunctionType) -> dict[str, Any]:
    return {n: _hint(a, function.__globals__) for n, a in function.__annotations__.items()}


def _hint(annotation: object, names: dict[str, Any]) -> Any:
    """One annotation, evaluated; None where it names what is not there: it may be anything."""
    alone = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(alone, names, include_extras=True)["it"]
    except Exception:
        return None


def _annotated(hint: Any, rank: int) -> ArgType | None:
    """The type of an annotation: ``float``, ``NDArray[np.float64]``, ``Annotated[…, "f64[:, :]"]``.

    NumPy's annotations do not name a rank; it is `rank` then.
    """
    if isinstance(hint, type) and hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type) and hint in _FOREIGN:
        return Opaque(hint.__name__)
    if element := _element(hint):
        return ScalarType(element) if element in ELEMENTS else Opaque(f"numpy.{element}")
    if typing.get_origin(hint) is typing.Annotated:
        for extra in hint.__metadata__:
            if said := _said(extra):
                return said
        return _annotated(hint.__origin__, rank)
    if typing.get_origin(hint) is np.ndarray:
        shape, dtype = (*typing.get_args(hint), None)[:2]
        axes = typing.get_args(shape)
        if element := _element((*typing.get_args(dtype), None)[0]):
            known = element in ELEMENTS
            rank = max(rank, 0 if ... in axes else len(axes), 1)
            return _array(element, rank) if known else Opaque(f"array of {element}", "GUARD_DTYPE")
    return None


def _said(extra: object) -> ArgType | None:
    """The type that a string of ``Annotated`` spells; it may as well be any remark."""
    if not isinstance(extra, str):
        return None
    try:
        return _parse_type(ast.parse(extra, mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def _element(hint: object) -> str | None:
    """Of ``np.float64`` and its kin: our name, or NumPy's where we have none."""
    if not (isinstance(hint, type) and issubclass(hint, np.generic)):
        return None
    try:
        dtype = np.dtype(hint)
    except TypeError:  # an abstract one
        return None
    return _named(dtype) or dtype.name


def _of_default(default: object) -> ArgType | None:
    return _SCALARS.get(type(default))


def _guess(name: str, uses: Uses) -> ArgType:
    if not uses.has(name):
        return Opaque("object")
    if uses.rank(name):
        return _array("f64", uses.rank(name))
    return _SCALARS[int if uses.is_integer(name) else float]
