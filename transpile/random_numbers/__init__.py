"""Random numbers in compiled loops: the generator methods that are compiled, and their calls.

Each method of a generator that is compiled is written here as a plain Python function over arrays
that hold the generator's state. A call of the method is inlined like a call of any other function::

    rng.random()      →      pcg64.random(words)      →  (inlined) arithmetic on words[0], words[1]

The arrays alias the generator's own memory (`types/generator_state.py`), so the kernel leaves the
generator in the state that its own method would, and the numbers are the same to the bit. There is
a module for each family: `pcg64` for ``np.random.default_rng``, `random_state` for NumPy's legacy
generator, `python_random` for the module ``random``. Other methods are not compiled.

The order of draws is kept by the arrays of the state: each draw loads and stores them, so that a
loop with a draw carries a dependence, and is not vectorised, reordered or run by threads. Fusion
refuses two loops that draw (`loopir.fusion.fusion_legality`, FUSE_REJECT_EFFECTS_RNG).

`draw_of` recognises a call of such a method, `array_draw_of` one with a ``size``, which becomes a
loop over the elements. The inliner and the analyses call them.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import BuiltinFunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from ..frontend.core_nodes import copy_location
from ..host_nodes import HostAttribute, HostExpr, from_ast
from ..types.generator_state import (
    COPIED_PARTS,
    generator_family,
    locked,
    state_arrays,
    state_templates,
    store_pending_gaussian,
    uses_fma,
)
from ..types.value_types import ArgType, GeneratorType
from .ziggurat import ZIGGURAT_TABLES, table

__all__ = [
    "COPIED_PARTS", "FAMILIES", "Draw", "draw_functions", "draw_of",
    "store_pending_gaussian", "state_templates", "locked", "state_arrays", "table", "ArrayDraw",
    "array_draw_of",
]

FAMILIES: Mapping[str, str] = {
    "python": "python_random", "legacy": "random_state", "pcg": "pcg64",
}
"""For each family, the module of this package that has its draw functions."""


def __getattr__(name: str) -> ModuleType:
    """The module `name` of a family, or one that such modules share. It is imported where a
    function draws: most draw nothing.
    """
    if name in (*FAMILIES.values(), "integer_argument", "mersenne_twister"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def draw_functions(family: str) -> Mapping[str, Any]:
    """The draw functions of `family`, by the names of the methods."""
    module = import_module(f"{__name__}.{FAMILIES[family]}")
    return {name: getattr(module, name) for name in module.__all__}


_METHODS_WITH_PRODUCTS = {"lognormal", "normal", "randn", "standard_normal", "uniform"}
"""Methods that add a product to a number. A NumPy that was compiled with fused multiply-adds
(`uses_fma`) rounds once there, and the draw functions twice: these methods are not compiled then.
"""


class Draw(NamedTuple):
    """A call of a generator's method, and the draw function that it runs.

    ``runs``: the draw function. ``family``: "python", "legacy" or "pcg". ``method``: its name.
    ``generator``: the host expression that gives the generator at a call.
    ``identity``: equal for the same generator, different for different ones.
    ``state_params``: the first parameters of ``runs``: parts of the generator's state, and tables.
    ``guarded_expr``: an expression, the bound method, whose value must be ``guarded_value`` at each
    call; None where the generator is an argument, whose type is part of the signature.
    """

    runs: Any
    family: str
    method: str
    generator: HostExpr
    identity: object
    state_params: tuple[str, ...]
    guarded_expr: HostExpr | None = None
    guarded_value: object = None


def draw_of(
    func: ast.expr, type_of: Callable[[ast.expr], ArgType | None],
    resolve: Callable[[ast.expr], object | None],
) -> Draw | None:
    """The draw that a call of `func` makes: the Python function that is run in its place, and the
    generator, whose state is passed to that function. None where `func` is no method of a known
    generator, or one that is not compiled. The inliner asks (`inliner._find_callee`), and inference
    for the type of the number.

        rng.random   →   Draw(runs=pcg64.random, family="pcg", method="random", generator=<rng>, …)

    The generator is

    - a global, found as ``__self__`` of the bound method (``rng.random``, ``np.random.rand``): that
      the name still means this method is guarded (``guarded_expr``);
    - an argument, found by the type of ``func.value``: the signature guards it.

    `resolve` gives the object of a global name or attribute, `type_of` the type of an expression
    over arguments.
    """
    value = resolve(func)
    # Only these types are asked for `__self__`: reading it from others may run user code.
    if isinstance(value, (BuiltinFunctionType, MethodType)):  # of a global
        generator = value.__self__
        is_function = isinstance(generator, ModuleType)
        if not is_function and (family := generator_family(generator)) is not None:
            method = from_ast(func)
            return _draw_method(
                family, value.__name__, HostAttribute(method, "__self__"), id(generator), method,
                value,
            )
    if isinstance(func, ast.Attribute):  # of an argument
        ty = type_of(func.value)
        if isinstance(ty, GeneratorType):
            generator_expr = from_ast(func.value)
            return _draw_method(ty.family, func.attr, generator_expr, generator_expr)
    return None


def _draw_method(
    family: str, method: str, generator: HostExpr, identity: object,
    guarded_expr: HostExpr | None = None, guarded_value: object = None,
) -> Draw | None:
    """The draw of `method`; None where it is not compiled. The other parameters are the fields of
    `Draw`.
    """
    runs = draw_functions(family).get(method)
    if runs is None or (method in _METHODS_WITH_PRODUCTS and uses_fma(family)):
        return None
    params = runs.__code__.co_varnames[: runs.__code__.co_argcount]
    state_params = tuple(
        p for p in params if p in state_templates(family) or p in ZIGGURAT_TABLES
    )
    return Draw(
        runs, family, method, generator, identity, state_params, guarded_expr, guarded_value
    )


_INT_METHODS = frozenset({"integers", "randint"})
"""Methods whose arrays are of int64; those of others are of float64."""

_SCALAR_METHODS = frozenset({"choice"})
"""Methods that are compiled without a ``size`` only."""

_SHAPE_METHODS = frozenset({"rand", "randn"})
"""Methods whose arguments are the lengths of an array."""


class ArrayDraw(NamedTuple):
    """A call that draws an array. ``lengths``: the shape of the array. ``element_draw``: the call
    that draws one element; the elements are drawn in C order. ``dtype``: that of the array.
    """

    lengths: tuple[ast.expr, ...]
    element_draw: ast.Call
    dtype: str


def array_draw_of(
    call: ast.Call, type_of: Callable[[ast.expr], ArgType | None],
    resolve: Callable[[ast.expr], object | None],
) -> ArrayDraw | None:
    """The array that `call` draws. None where it draws one number; where it is no draw that is
    compiled, or one of the module ``random``; for the methods in `_SCALAR_METHODS`; and for starred
    arguments or keywords that the draw function does not have. `type_of` and `resolve` as for
    `draw_of`.
    """
    if not (call.args or call.keywords) or not isinstance(call.func, (ast.Attribute, ast.Name)):
        return None
    draw = draw_of(call.func, type_of, resolve)
    if draw is None or draw.family == "python" or draw.method in _SCALAR_METHODS:
        return None
    lengths, args = _size_argument(draw, call)
    keywords = [k for k in call.keywords if k.arg != "size"]
    params = draw.runs.__code__.co_varnames[len(draw.state_params) :]
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    if not lengths or starred or not all(k.arg in params for k in keywords):
        return None
    element_draw = copy_location(ast.Call(call.func, args, keywords), call)
    dtype = "i64" if draw.method in _INT_METHODS else "f64"
    return ArrayDraw(tuple(lengths), element_draw, dtype)


def _size_argument(draw: Draw, call: ast.Call) -> tuple[list[ast.expr], list[ast.expr]]:
    """The lengths of the array that `call` draws (empty: it draws one number), and the positional
    arguments without the size. The size is a keyword, or follows the parameters of the draw
    function.
    """
    if draw.method in _SHAPE_METHODS:
        return call.args, []
    param_count = draw.runs.__code__.co_argcount - len(draw.state_params)
    sizes = [k.value for k in call.keywords if k.arg == "size"] + call.args[param_count:]
    if len(sizes) != 1 or (isinstance(sizes[0], ast.Constant) and sizes[0].value is None):
        return [], []
    lengths = sizes[0].elts if isinstance(sizes[0], (ast.Tuple, ast.List)) else sizes
    return lengths, call.args[:param_count]
