"""Argument types without a call: from ``--types``, annotations, or inferred from their uses."""
from __future__ import annotations

import ast
import builtins
import inspect
import typing
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record

from ..types.aggregates import string_constants
from ..types.typeof import type_of
from ..types.value_types import ELEMENTS, ArgType, ListType, Opaque, ScalarType
from .parameter_uses import ParameterUses
from .static import makes_record
from .static.annotation_types import (
    SCALARS,
    Uses,
    annotated_type,
    array_of,
    leaves_dtype_open,
    sample_of,
)

__all__ = ["ParameterTypes", "parse_type_spec", "infer_signature"]

_BY_NAME: dict[str, ArgType] = {
    kind.__name__: type_ for kind, type_ in SCALARS.items() if isinstance(kind, type)
} | {"bytes": type_of(b""), "bytearray": type_of(bytearray())}
"""The types of Python's that ``--types`` spells by their names."""


@record(frozen=True, slots=True)
class ParameterTypes:
    """The types of a function's parameters, by name, and the names of those that were assumed."""

    types: Mapping[str, ArgType]
    assumed: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    """Those that are objects of some class, which is not known without a call."""

    @property
    def remark(self) -> str | None:
        """The sentence for the report, None if nothing was assumed."""
        sentences = []
        if self.assumed:
            each = ", ".join(f"{name}: {self.types[name]}" for name in self.assumed)
            sentences.append(f"types assumed, for want of annotations or --types: {each}")
        if self.objects:
            names = ", ".join(f"`{name}`" for name in self.objects)
            sentences.append(f"object type unknown: {names}: use --run")
        return "; ".join(sentences) or None


def parse_type_spec(text: str) -> tuple[str, list[ArgType]]:
    """``"f(f64[:], f64[:, :], f64)"`` → the function's name and its types.

    ``int``, ``float``, ``complex`` and ``bool`` are Python scalars, ``bytes`` and ``bytearray`` are
    Python's; ``f64`` or ``float64`` alone is a NumPy scalar, ``f64[:, 1]`` an array with one
    column, ``{x: f64, n: i32}[:]`` an array of records, ``list[float]`` a list. Raises ValueError.
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
    """Whether `name` is a name or a chain of attributes."""
    while isinstance(name, ast.Attribute):
        name = name.value
    return isinstance(name, ast.Name)


def infer_signature(function: FunctionType, tree: ast.FunctionDef) -> ParameterTypes:
    """A type for each parameter of `function`, whose source is `tree`, for a report without a
    call::

        def f(x, n: int, scale=1.0):                         n: int         by its annotation
            for i in range(n): x[i, 0] *= scale       →      scale: float   by its default
                                                             x: f64[:, :]   by its uses, assumed

    The first of these decides (``--types`` comes before them all: `file_cases`):

    - its annotation; for ``self``, the class; a class of numbers and arrays alone counts, too;
    - the type of its default, if that is a scalar;
    - it is an object that no compiled code takes, in ``objects`` of the result: a ``self`` or
      ``cls`` of unknown class, or used as neither arrays nor numbers are
      (`ParameterUses.is_object`);
    - its uses in the body: a guess (`_type_by_uses`), ``assumed`` in the result, as are those
      whose annotation leaves the dtype open. A parameter that is not used is in neither list.
    """
    hints = _evaluated_hints(function)
    uses = ParameterUses(tree, function.__globals__)
    keys = sorted(string_constants(function.__code__))
    types: dict[str, ArgType] = {}
    assumed, objects = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        is_first = not types and name in ("self", "cls")
        hint = hints.get(name) or (_class_of(function) if is_first and name == "self" else None)
        declared = (
            annotated_type(hint, _uses_of(name, uses, keys), _type_in_string)
            or _record_type(hint, name, uses, keys)
            or _default_type(parameter.default)
        )
        if declared is None and uses.has(name) and (is_first or uses.is_object(name)):
            objects.append(name)
            declared = Opaque("object")
        elif uses.has(name) and (declared is None or leaves_dtype_open(hint, _type_in_string)):
            assumed.append(name)
        types[name] = declared or _type_by_uses(name, uses)
    return ParameterTypes(types, tuple(assumed), tuple(objects))


def _parse_type(node: ast.expr) -> ArgType:
    """The type that an expression of ``--types`` spells. Raises ValueError."""
    match node:
        case ast.Name(id=name) if name in _BY_NAME:
            return _BY_NAME[name]
        case ast.Name(id=name):
            return ScalarType(_dtype(name))
        case ast.Subscript(value=ast.Name(id="list" | "tuple"), slice=_):
            return _list_type(node, ())
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            axes = index.elts if isinstance(index, ast.Tuple) else [index]
            lengths = [ast.unparse(axis) for axis in axes]
            if lengths and {*lengths} <= ({":", "1"} if len(lengths) > 1 else {":"}):
                ones = tuple(k for k, n in enumerate(lengths) if n == "1")
                return replace(array_of(_dtype(name), len(axes)), unit_length_axes=ones)
        case ast.Subscript(value=ast.Dict() as fields, slice=index):
            axes = index.elts if isinstance(index, ast.Tuple) else [index]
            if axes and all(ast.unparse(axis) == ":" for axis in axes):
                return type_of(np.empty((2,) * len(axes), _records(fields)))
    raise ValueError(f"{ast.unparse(node)!r} is not a type; want f64, f64[:], f64[:, 1], int …")


def _list_type(node: ast.expr, kinds: tuple[type, ...]) -> ListType:
    """The type of ``list[float]``, ``list[list[int]]`` or ``tuple[float, ...]``, as reports print
    it, in sequences of `kinds`. Raises ValueError.
    """
    match node:
        case ast.Name(id="int" | "float" | "bool" as name) if kinds:
            item = _BY_NAME[name]
            assert isinstance(item, ScalarType)
            return ListType(item, kinds)
        case ast.Subscript(value=ast.Name(id="list"), slice=inner) if len(kinds) < 2:
            return _list_type(inner, (*kinds, list))
        case ast.Subscript(
            value=ast.Name(id="tuple"),
            slice=ast.Tuple(elts=[inner, ast.Constant(value=builtins.Ellipsis)]),
        ) if len(kinds) < 2:
            return _list_type(inner, (*kinds, tuple))
    raise ValueError(
        f"{ast.unparse(node)!r} is not an item of a list; want list[float], list[list[int]] …"
    )


def _records(fields: ast.Dict) -> np.dtype:
    """The dtype of ``{x: f64, n: i32}``, laid out as a C struct."""
    parts = []
    for name, ty in zip(fields.keys, fields.values, strict=True):
        if not isinstance(name, ast.Name) or not isinstance(ty, ast.Name):
            raise ValueError(f"{ast.unparse(fields)!r} is no record; want {{x: f64, n: i32}}")
        parts.append((name.id, ELEMENTS[_dtype(ty.id)].numpy))
    return np.dtype(parts, align=True)


def _dtype(name: str) -> str:
    """The dtype of this name, ours or NumPy's. Raises ValueError."""
    if name in ELEMENTS:
        return name
    try:
        dtype_name = _dtype_name(np.dtype(name))
    except TypeError:
        dtype_name = None
    if dtype_name is None:
        raise ValueError(
            f"{name!r} is not an element type (known: {', '.join(ELEMENTS)}; of Python's numbers: "
            f"int, float, complex, bool)"
        )
    return dtype_name


def _dtype_name(dtype: np.dtype) -> str | None:
    return next((name for name, d in ELEMENTS.items() if d.numpy == dtype), None)


def _evaluated_hints(function: FunctionType) -> dict[str, Any]:
    """The evaluated annotations of `function`, by parameter."""
    hints = function.__annotations__.items()
    return {name: _evaluated_hint(hint, function.__globals__) for name, hint in hints}


def _evaluated_hint(annotation: object, names: dict[str, Any]) -> Any:
    """One evaluated annotation; None where it cannot be evaluated."""
    alone = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(alone, names, include_extras=True)["it"]
    except Exception:
        return None


def _class_of(function: FunctionType) -> Any:
    """The class that a method is defined in; None where it cannot be found."""
    found: Any = SimpleNamespace(**function.__globals__)
    for name in function.__qualname__.split(".")[:-1]:
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else None


def _uses_of(name: str, uses: ParameterUses, keys: Sequence[str]) -> Uses:
    """What `uses` says about the parameter `name`; `keys`: those that a dict may be read by."""
    return Uses(uses.rank(name), uses.has_integers(name), keys)


def _record_type(
    kind: Any, name: str, uses: ParameterUses, keys: Sequence[str]
) -> ArgType | None:
    """The type of the parameter `name` whose class is a dataclass or named tuple, all of whose
    fields are numbers or arrays by their annotations; None for any other.
    """
    if not makes_record(kind):
        return None
    values = {}
    try:
        for field, hint in typing.get_type_hints(kind, include_extras=True).items():
            of_field = _uses_of(f"{name}.{field}", uses, keys)
            values[field] = sample_of(annotated_type(hint, of_field, _type_in_string))
        return type_of(kind(**values))
    except Exception:
        return None


def _type_in_string(extra: object) -> ArgType | None:
    """The type that a string in ``Annotated`` spells; None if it is anything else."""
    if not isinstance(extra, str):
        return None
    try:
        return _parse_type(ast.parse(extra, mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def _default_type(default: object) -> ArgType | None:
    """The type of a parameter with this default value; None if that is no scalar."""
    return SCALARS.get(type(default))


def _type_by_uses(name: str, uses: ParameterUses) -> ArgType:
    """The type of a parameter by its uses: an array of f64 or i64, an int, or a float."""
    if not uses.has(name):
        return Opaque("object")
    if uses.rank(name):
        return array_of("i64" if uses.has_integers(name) else "f64", uses.rank(name))
    return SCALARS[int if uses.is_integer(name) else float]
