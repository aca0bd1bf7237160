"""Call arguments of NumPy functions and array methods, bound to parameter names.

`bind_arguments` is ``inspect.Signature.bind`` for calls in source code. It takes a table from the
names of functions to their parameters, one string each (`function_table.signatures` has those of
the rows), and binds functions and methods alike::

    signatures {"round": "a decimals"}
    np.round(x, decimals=2), x.round(2)   →   name "round", arguments {"a": x, "decimals": 2}

A call with a parameter that the string does not list is not bound, and so is not expanded.
"""
from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping

import numpy as np

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import failures

from ..frontend.ast_walk import is_none
from ..frontend.core_nodes import copy_location
from ..frontend.macros.macro_context import Context
from .function_table import function_row, is_array_method, named_function

__all__ = [
    "BoundArguments", "as_python_int", "bind_arguments", "constant_flag", "numpy_function_name",
    "representable_constant",
]


@record(frozen=True, slots=True)
class BoundArguments:
    """The arguments of one call, by parameter."""

    name: str
    """The function, as in the table of rows; "sum" for the method ``x.sum`` too."""
    arguments: dict[str, ast.expr]
    """The arguments by parameter, an explicit None included; a method's array is the first."""

    def __getitem__(self, name: str) -> ast.expr:
        return self.arguments[name]

    def get(self, name: str) -> ast.expr | None:
        """The argument for `name`; None where there is none or it is the constant None, which
        means the same to the functions that call this.
        """
        e = self.arguments.get(name)
        return None if e is None or is_none(e) else e

    def only(self, *names: str) -> bool:
        """Whether all arguments, but those that are None, belong to parameters `names`."""
        return all(n in names or self.get(n) is None for n in self.arguments)


def bind_arguments(
    node: ast.AST, cx: Context, signatures: Mapping[str, str]
) -> BoundArguments | None:
    """The arguments of the call `node`, by parameter, if it calls one of the functions in
    `signatures`; None where it does not. The macros of NumPy's functions call it first.

        {"round": "a decimals"}:   np.round(x, 2), x.round(decimals=2)   →   {"a": x, "decimals": 2}

    `signatures` maps names to parameters in order, separated by spaces (a ``/`` or ``*`` means what
    it does in Python). A method call ``x.name(…)`` is bound as ``np.name(x, …)``; an entry
    ``.name`` takes precedence, for a method whose parameters differ from those of the function.
    Methods of ufuncs are called "add.reduce".

    None, too, so that the call is not expanded, where

    - the method's object is not surely an array: it may be of a class of the user's;
    - arrays have no such method, as in ``x.append(1)``: Python raises AttributeError;
    - an argument is starred, so that its number is not known;
    - an argument is for a parameter that `signatures` does not list: the macro does not know it;
    - the first parameter has no argument, or a parameter has two: NumPy raises;
    - NumPy has no keyword of that name (`_keywords`): it raises;
    - None is given where it does not stand for the default (`_NONE_IS_NO_DEFAULT`).
    """
    if not isinstance(node, ast.Call):
        return None
    name, args = numpy_function_name(node.func, cx), list(node.args)
    if not name and isinstance(node.func, ast.Attribute):
        name = "." + node.func.attr
        array = node.func.value
        is_method = is_array_method(name[1:]) and not {name, name[1:]}.isdisjoint(signatures)
        if not is_method or cx.resolve(node.func) is not None or not cx.fact(array).array:
            return None
        args.insert(0, array)
    signature = signatures.get(name, signatures.get(name.removeprefix(".")))
    if signature is None or any(isinstance(a, ast.Starred) for a in args):
        return None
    positional_only, either, keyword_only = _parameter_names(signature)
    listed = *positional_only, *either
    positions = (
        listed
        if name in signatures and name[0] == "."
        else _positional_parameters(name.lstrip("."), listed)
    )
    if None in positions[: len(args)]:
        return None
    pairs = zip(positions, args, strict=False)
    arguments = {n: _explicit_none(e, cx) for n, e in pairs if n is not None}
    numpy_keywords = _keywords(name)
    for k in node.keywords:
        if k.arg is None or k.arg not in (*either, *keyword_only) or k.arg in arguments:
            return None
        if numpy_keywords is not None and k.arg not in numpy_keywords:
            return None
        arguments[k.arg] = _explicit_none(k.value, cx)
    if len(args) > len(positions) or not arguments.keys() >= {*positions[:1]}:
        return None
    if any(is_none(e) for n, e in arguments.items() if n in _NONE_IS_NO_DEFAULT):
        return None
    return BoundArguments(name.removeprefix("."), arguments)


_NONE_IS_NO_DEFAULT = frozenset((
    "atol", "copy", "ddof", "decimals", "dx", "edge_order", "endpoint", "equal_nan", "increasing",
    "indexing", "k", "minlength", "nan", "rtol", "side", "subok",
))
"""Parameters whose default is another value than None: ``np.array(x, copy=None)`` copies only if it
must, ``np.nan_to_num(x, copy=None)`` never does, and most of the others raise.
"""


def _explicit_none(e: ast.expr, cx: Context) -> ast.expr:
    """The constant None where `e` is a name whose value is None on every path; else `e`."""
    constant = cx.fact(e).constant if isinstance(e, ast.Name) else None
    is_always_none = constant is not None and constant.value is None
    return copy_location(ast.Constant(None), e) if is_always_none else e


@functools.cache
def _parameter_names(signature: str) -> tuple[list[str], list[str], list[str]]:
    """The parameters of a signature such as ``"a / b * c"``: positional-only ones, those that may
    be either, and keyword-only ones.
    """
    positional_only, _, rest = signature.rpartition("/")
    either, _, keyword_only = rest.partition("*")
    return positional_only.split(), either.split(), keyword_only.split()


@functools.cache
def _positional_parameters(name: str, listed: tuple[str, ...]) -> tuple[str | None, ...]:
    """The parameter at each position of a call of ``np.name``, by the names in `listed`; None for
    a parameter that is not listed.

    NumPy's own signature gives the order, since `listed` may leave out parameters. The first one
    may have another name there. Where NumPy has no signature, `listed` is the order.
    """
    try:
        parameters = inspect.signature(named_function(name)).parameters.values()
    except failures(TypeError, ValueError):
        return listed
    kinds = {p.name: p.kind for p in parameters}
    if inspect.Parameter.VAR_POSITIONAL in kinds.values():
        return listed
    in_numpy = [n for n, kind in kinds.items() if kind < inspect.Parameter.VAR_POSITIONAL]
    pairs = zip(listed, in_numpy, strict=False)
    order = [
        theirs if theirs in listed else None if ours in kinds else ours for ours, theirs in pairs
    ]
    return listed[:1] + tuple(order[1:])


@functools.cache
def _keywords(name: str) -> frozenset[str] | None:
    """The keywords that ``np.name`` takes, or for ``.name`` the method of arrays; None where NumPy
    does not say, or any are taken.

        "extract"   →   {"condition", "arr"}
        ".repeat"   →   {"axis"}
    """
    try:
        function = getattr(np.ndarray, name[1:]) if name[0] == "." else named_function(name)
        parameters = inspect.signature(function).parameters.values()
    except failures(AttributeError, TypeError, ValueError):
        return None
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return None
    by_keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return frozenset(p.name for p in parameters if p.kind in by_keyword)


def numpy_function_name(func: ast.expr, cx: Context) -> str:
    """The name of the NumPy function that the callee `func` refers to, as in `function_table`
    ("sum", "linalg.norm", "add.reduce"); "" where it is no function of NumPy.
    """
    if isinstance(func, ast.Attribute) and func.attr in ("accumulate", "outer", "reduce"):
        ufunc = cx.resolve(func.value)
        if isinstance(ufunc, np.ufunc) and cx.is_numpy(func.value, ufunc.__name__):
            return f"{ufunc.__name__}.{func.attr}"
    callee = cx.resolve(func)
    if (row := function_row(callee)) is not None and row.callee.startswith("linalg."):
        return row.callee
    name = getattr(callee, "__name__", "")
    return name if isinstance(name, str) and cx.is_numpy(func, name) else ""


def constant_flag(e: ast.expr | None, default: bool) -> bool | None:
    """The value of a bool argument; `default` where it is missing, None where it is no constant."""
    if e is None:
        return default
    return e.value if isinstance(e, ast.Constant) and isinstance(e.value, bool) else None


_MAX_FINITE = 60000
"""Up to this magnitude a number is finite in every float dtype, float16 included."""


def as_python_int(e: ast.expr | None, cx: Context) -> ast.expr | None:
    """An argument that NumPy converts by ``operator.index`` as a Python int: `e`, or ``int(e)`` of
    a NumPy integer. None where it is not surely an integer, or is a bool.
    """
    if e is None or not cx.fact(e).is_integer:
        return None
    return e if cx.fact(e).is_int else cx.expr("int(E)", E=e)


def representable_constant(e: ast.expr, dtype: str, cx: Context) -> bool:
    """Whether `e` is a number known at compile time that surely converts to `dtype` without
    overflow. For an integer dtype: an int in its range. For a float dtype, in which the number may
    be rounded: a magnitude of at most `_MAX_FINITE`, or an infinity. False for other dtypes.
    """
    value, kind = _constant_number(e, cx), DTYPES[dtype].kind if dtype in DTYPES else ""
    if kind in ("i", "u"):
        return type(value) is int and DTYPES[dtype].low <= value <= DTYPES[dtype].high
    return kind == "f" and value is not None and (
        abs(value) <= _MAX_FINITE or abs(value) == float("inf")
    )


def _constant_number(e: ast.expr, cx: Context) -> int | float | None:
    """The int or float that `e` is at compile time: a literal, maybe negated, or a global name;
    None for everything else, bools included.
    """
    match e:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _constant_number(operand, cx)
            return None if number is None else -number
    value = e.value if isinstance(e, ast.Constant) else cx.resolve(e)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
