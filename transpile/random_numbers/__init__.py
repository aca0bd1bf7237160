"""Random numbers in compiled loops: the generator methods that are compiled, and their calls.

Of each family (PCG64, RandomState, Python's) a module has the methods as plain Python over the
generator's state, which calls of them become. What they draw, and the state they leave, is
what the generator's own methods would; the draws of other methods stay Python's. A size
argument makes an array of draws.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

from ..frontend.core_nodes import copy_location
from ..host_nodes import HostAttribute, HostExpr, from_ast
from ..types.generator_state import (
    COPIED_PARTS,
    generator_family,
    keep,
    locked,
    part_templates,
    parts,
    uses_fma,
)
from ..types.value_types import ArgType, GeneratorType
from . import pcg64, python_random, random_state
from .ziggurat import ZIGGURAT_TABLES, table

__all__ = [
    "COPIED_PARTS", "METHODS", "Draw", "builtins", "draw_of", "is_draw_function", "keep",
    "part_templates", "locked", "parts", "table", "ArrayDraw", "array_draw_of",
]

METHODS: Mapping[str, Mapping[str, Any]] = {
    family: {name: getattr(module, name) for name in module.__all__}
    for family, module in (("python", python_random), ("legacy", random_state), ("pcg", pcg64))
}
"""Of each family, the functions that its methods run."""


_METHODS_WITH_PRODUCTS = {"lognormal", "normal", "randn", "standard_normal", "uniform"}
"""Methods that add products."""


class Draw(NamedTuple):
    """What a call of a generator's method runs.

    ``runs``: the function, in plain Python. ``family``: of the generator: "python", "legacy" or
    "pcg". ``method``: its name. ``generator``: what reads the generator. ``owner``:
    distinguishes it from other generators. ``given``: the first parameters of ``runs``, which are
    parts of the generator's state, and tables. ``asked``: an expression whose value must still be
    ``value`` at a call; None where the generator is an argument.
    """

    runs: Any
    family: str
    method: str
    generator: HostExpr
    owner: object
    given: tuple[str, ...]
    asked: HostExpr | None = None
    value: object = None


def is_draw_function(function: FunctionType) -> bool:
    """Whether `function` is of these modules, whose names keep their meanings."""
    return str(function.__module__).startswith(__name__)


def draw_of(
    func: ast.expr, type_of: Callable[[ast.expr], ArgType | None],
    resolve: Callable[[ast.expr], object | None],
) -> Draw | None:
    """What a call of `func` draws; None where it draws nothing, or is unknown."""
    value = resolve(func)
    if isinstance(value, (BuiltinFunctionType, MethodType)):  # to ask others may run code
        owner = value.__self__
        name = generator_family(owner)
        if name is not None:
            asked = from_ast(func)
            generator = HostAttribute(asked, "__self__")
            return _draw_method(name, value.__name__, generator, id(owner), asked, value)
    if isinstance(func, ast.Attribute):
        ty = type_of(func.value)
        if isinstance(ty, GeneratorType):
            of = from_ast(func.value)
            return _draw_method(ty.family, func.attr, of, of)
    return None


def _draw_method(
    name: str, method: str, generator: HostExpr, owner: object, asked: HostExpr | None = None,
    value: object = None,
) -> Draw | None:
    runs = METHODS[name].get(method)
    if runs is None or (method in _METHODS_WITH_PRODUCTS and uses_fma(name)):
        return None
    first = runs.__code__.co_varnames[: runs.__code__.co_argcount]
    given = tuple(p for p in first if p in part_templates(name) or p in ZIGGURAT_TABLES)
    return Draw(runs, name, method, generator, owner, given, asked, value)


_INT_METHODS = frozenset({"integers", "randint"})
_SCALAR_METHODS = frozenset({"choice"})
"""Methods of which only one number is drawn here."""

_SHAPE_METHODS = frozenset({"rand", "randn"})
"""Methods whose arguments are lengths."""


class ArrayDraw(NamedTuple):
    """An array of these ``lengths`` and ``dtype``, of which ``one`` draws an element; they are
    drawn in C order.
    """

    lengths: tuple[ast.expr, ...]
    one: ast.Call
    dtype: str


def array_draw_of(
    call: ast.Call, type_of: Callable[[ast.expr], ArgType | None],
    resolve: Callable[[ast.expr], object | None],
) -> ArrayDraw | None:
    """What `call` draws, if that is an array."""
    if not (call.args or call.keywords) or not isinstance(call.func, (ast.Attribute, ast.Name)):
        return None
    draw = draw_of(call.func, type_of, resolve)
    if draw is None or draw.family == "python" or draw.method in _SCALAR_METHODS:
        return None
    size, args = _size_argument(draw, call)
    rest = [k for k in call.keywords if k.arg != "size"]
    known = draw.runs.__code__.co_varnames[len(draw.given) :]
    plain = not any(isinstance(a, ast.Starred) for a in call.args)
    if not size or not plain or not all(k.arg in known for k in rest):
        return None
    one = copy_location(ast.Call(call.func, args, rest), call)
    return ArrayDraw(tuple(size), one, "i64" if draw.method in _INT_METHODS else "f64")


def _size_argument(draw: Draw, call: ast.Call) -> tuple[list[ast.expr], list[ast.expr]]:
    """The lengths, and the other arguments by position."""
    if draw.method in _SHAPE_METHODS:
        return call.args, []
    code = draw.runs.__code__
    most = code.co_argcount - len(draw.given)
    named = [k.value for k in call.keywords if k.arg == "size"]
    found = named + call.args[most:]
    if len(found) != 1 or (isinstance(found[0], ast.Constant) and found[0].value is None):
        return [], []
    lengths = found[0].elts if isinstance(found[0], (ast.Tuple, ast.List)) else found
    return lengths, call.args[:most]
