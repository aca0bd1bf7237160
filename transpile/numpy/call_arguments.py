"""Call arguments of NumPy functions and array methods, bound to parameter names.

The binding follows a signature in one string; also which constants a dtype can represent.
"""
from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record

from ..frontend.ast_walk import is_none
from ..frontend.core_nodes import copy_location
from ..frontend.macros.macro_context import Context

__all__ = [
    "BoundArguments", "bind_arguments", "constant_flag", "numpy_function_name",
    "representable_constant",
]


@record(frozen=True, slots=True)
class BoundArguments:
    """A call of ``np.name`` with what it is ``given``; None as an argument is as good as nothing,
    where the function takes it for that.
    """

    name: str
    given: dict[str, ast.expr]

    def __getitem__(self, name: str) -> ast.expr:
        return self.given[name]

    def get(self, name: str) -> ast.expr | None:
        """What is given for `name`, unless that is None."""
        e = self.given.get(name)
        return None if e is None or is_none(e) else e

    def only(self, *names: str) -> bool:
        """Whether nothing but `names` is given."""
        return all(n in names or self.get(n) is None for n in self.given)


def bind_arguments(
    node: ast.AST, cx: Context, signatures: Mapping[str, str]
) -> BoundArguments | None:
    """What `node` calls, if that is one of `signatures`: the names of the arguments, in order.

    A method ``x.name(…)`` is ``np.name(x, …)``; one whose arguments are others stands there as
    ``.name``. Functions of ufuncs are called ``add.reduce``.
    """
    if not isinstance(node, ast.Call):
        return None
    name, args = numpy_function_name(node.func, cx), list(node.args)
    if not name and isinstance(node.func, ast.Attribute):
        name = "." + node.func.attr
        of = node.func.value
        if cx.resolve(node.func) is not None or (
            name not in signatures and name[1:] not in signatures) or not cx.fact(of).array:
            return None
        args.insert(0, of)
    signature = signatures.get(name, signatures.get(name.removeprefix(".")))
    if signature is None or any(isinstance(a, ast.Starred) for a in args):
        return None
    unnamed, either, named = _parameter_names(signature)
    known = *unnamed, *either
    names = (
        known
        if name in signatures and name[0] == "."
        else _positional_arguments(name.lstrip("."), known)
    )
    if None in names[: len(args)]:
        return None
    given = {n: _explicit_none(e, cx) for n, e in zip(names, args, strict=False) if n is not None}
    for k in node.keywords:
        if k.arg is None or k.arg not in (*either, *named) or k.arg in given:
            return None
        given[k.arg] = _explicit_none(k.value, cx)
    if len(args) > len(names) or not given.keys() >= {*names[:1]}:
        return None
    return BoundArguments(name.removeprefix("."), given)


def _explicit_none(e: ast.expr, cx: Context) -> ast.expr:
    """None in the place of a name that is sure to stand for it."""
    constant = cx.fact(e).constant if isinstance(e, ast.Name) else None
    nothing = constant is not None and constant.value is None
    return copy_location(ast.Constant(None), e) if nothing else e


@functools.cache
def _parameter_names(signature: str) -> tuple[list[str], list[str], list[str]]:
    """As Python has it: those before a slash have no names, those behind a star no places."""
    first, _, rest = signature.rpartition("/")
    either, _, last = rest.partition("*")
    return first.split(), either.split(), last.split()


@functools.cache
def _positional_arguments(name: str, known: tuple[str, ...]) -> tuple[str | None, ...]:
    """What stands in each place of ``np.name``; None where that is not `known`."""
    function: Any = np
    for part in name.split("."):
        function = getattr(function, part, None)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return known
    theirs = {p.name: p.kind for p in parameters}
    if inspect.Parameter.VAR_POSITIONAL in theirs.values():
        return known
    places = [n for n, kind in theirs.items() if kind < inspect.Parameter.VAR_POSITIONAL]
    pairs = zip(known, places, strict=False)
    own = [t if t in known else None if k in theirs else k for k, t in pairs]
    return known[:1] + tuple(own[1:])


def numpy_function_name(func: ast.expr, cx: Context) -> str:
    """The name of NumPy's function that `func` is, "" where it is none of NumPy's own."""
    if isinstance(func, ast.Attribute) and func.attr in ("accumulate", "outer", "reduce"):
        of = cx.resolve(func.value)
        if isinstance(of, np.ufunc) and cx.is_numpy(func.value, of.__name__):
            return f"{of.__name__}.{func.attr}"
    found = cx.resolve(func)
    if found is np.linalg.norm:
        return "linalg.norm"
    name = getattr(found, "__name__", "")
    return name if isinstance(name, str) and cx.is_numpy(func, name) else ""


def constant_flag(e: ast.expr | None, default: bool) -> bool | None:
    """The bool that stands there; None where it is another thing."""
    if e is None:
        return default
    return e.value if isinstance(e, ast.Constant) and isinstance(e.value, bool) else None


_MAX_ROUNDED = 60000  # what all floats reach


def representable_constant(initial: ast.expr, name: str, cx: Context) -> bool:
    """Whether `initial` is a number that an element of dtype `name` can be, or be rounded to."""
    value, kind = _constant_number(initial, cx), DTYPES[name].kind if name in DTYPES else ""
    if kind in ("i", "u"):
        return type(value) is int and DTYPES[name].low <= value <= DTYPES[name].high
    return kind == "f" and value is not None and (
        abs(value) <= _MAX_ROUNDED or abs(value) == float("inf")
    )


def _constant_number(e: ast.expr, cx: Context) -> int | float | None:
    match e:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _constant_number(operand, cx)
            return None if number is None else -number
    value = e.value if isinstance(e, ast.Constant) else cx.resolve(e)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
