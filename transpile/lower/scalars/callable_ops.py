"""Tables of known functions: the op of each callable, lane-mask functions, library functions.

The keys are the function objects themselves, so a name that was rebound is not found. The functions
of ``math`` and of NumPy come from the spellings in the op table. A library function (LAPACK,
pocketfft, NumPy's sorts) is not compiled: it stays a call of NumPy.
"""
from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from random import Random
from typing import Any, NoReturn

import numpy as np

from loopir.nodes import Call, Const, Expr
from loopir.op_table import OPS, Op

from ... import ops
from ...frontend.ast_names import name_bindings
from ...frontend.ast_walk import walk_nodes
from ...frontend.core_nodes import source_text
from ...frontend.defining_modules import is_native, module_of
from ...frontend.refusal import refuse
from ...numpy.function_table import METHODS, function_row
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array

__all__ = [
    "COMPARISONS", "LIBRARY_METHODS", "MASK_OPS", "MATH", "OPERATORS", "family_of_maker",
    "OPS_FUNCTIONS", "UFUNCS", "library_of", "refuse_library", "refuse_library_behind",
    "refuse_library_call",
]


def _table(module: Any, prefix: str) -> dict[Any, Op]:
    """The operation of each function of `module` that the op table names, with `prefix` before its
    name. A Python function that was put in the place of a native one is left out.
    """
    table: dict[Any, Op] = {}
    for op in OPS.values():
        names = [s.removeprefix(prefix) for s in op.spellings if s.startswith(prefix)]
        for value in (getattr(module, name, None) for name in names):
            if getattr(value, "__name__", None) in names and is_native(value):
                table[value] = op
    return table


OPS_FUNCTIONS = {getattr(ops, op.name): op for op in OPS.values() if hasattr(ops, op.name)}
"""The functions of `transpile.ops` that are one operation."""

UFUNCS = _table(np, "numpy.") | OPS_FUNCTIONS
"""NumPy's ufuncs and the functions of `transpile.ops`, with their operations."""

MATH = _table(math, "math.")
"""The functions of ``math``, with their operations."""

OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "div": ast.Div,
    "floordiv": ast.FloorDiv,
    "mod": ast.Mod,
    "bitand": ast.BitAnd,
    "bitor": ast.BitOr,
    "bitxor": ast.BitXor,
    "pow": ast.Pow,
    "shl": ast.LShift,
    "shr": ast.RShift,
}
"""The operator that computes the same as a ufunc, by the name of its operation."""

COMPARISONS = {
    "lt": ast.Lt,
    "le": ast.LtE,
    "gt": ast.Gt,
    "ge": ast.GtE,
    "eq": ast.Eq,
    "ne": ast.NotEq,
}
"""The comparison that computes the same as a ufunc, by the name of its operation."""


def _has_bit(mask: Expr, k: Expr) -> Expr:
    return _any_set(_bits("bitand", _bits("shr", mask, k), Const(1, mask.dtype)))


def _any_set(mask: Expr) -> Expr:
    return Call("ne", (mask, Const(0, mask.dtype)), "bool")


def _all_set(mask: Expr, n: Expr) -> Expr:
    return Call("eq", (_bits("bitand", mask, _first_lanes(n)), _first_lanes(n)), "bool")


def _mask_not(mask: Expr, n: Expr) -> Expr:
    return _bits("bitand", Call("invert", (mask,), mask.dtype), _first_lanes(n))


def _first_lanes(n: Expr) -> Expr:
    """The mask of the first `n` lanes, ``(1 << n) - 1``. A shift by the width of the dtype gives 0,
    and 0 - 1 has all bits set, as it should.
    """
    one = Const(1, n.dtype)
    return _bits("sub", _bits("shl", one, n), one)


def _bits(op: str, a: Expr, b: Expr) -> Expr:
    return Call(op, (a, b), a.dtype)


MASK_OPS: dict[object, Callable[..., Expr]] = {
    ops.has_bit: _has_bit, ops.any_set: _any_set, ops.all_set: _all_set, ops.mask_not: _mask_not,
}
"""The functions of `transpile.ops` on masks of lanes, as expressions of their operands."""

_MODULES = {"numpy.linalg": "LAPACK", "numpy.fft": "pocketfft"}
LIBRARY_METHODS = frozenset(name for name, row in METHODS.items() if row.library)
"""The names of array methods that a library computes, such as ``sort``."""


def family_of_maker(function: object) -> str | None:
    """The family (`generator_state`) of the random generators that `function` makes; None for other
    functions. Making one stays a Python call, but what draws from it is compiled.
    """
    makers = [(Random, "python")]
    if numpys := sys.modules.get("numpy.random"):  # else nobody has a function of it
        makers += (numpys.default_rng, "pcg"), (numpys.Generator, "pcg")
        makers.append((numpys.RandomState, "legacy"))
    return next((family for maker, family in makers if function is maker), None)


def library_of(function: object) -> str | None:
    """The library that computes `function`, for messages; None for other functions."""
    row = function_row(function)
    if row is not None and row.library:
        return row.library
    return _MODULES.get(module_of(function))


def refuse_library(call: ast.Call, library: str, help: str | None = None) -> NoReturn:
    """Refuses `call`, which that library computes; without `help`, with that of the code."""
    message = f"`{source_text(call.func)}` is {library}'s to compute and stays a NumPy call"
    refuse("LOWER_LIBRARY", message, call, help=help)


def refuse_library_call(ctx: Lowering, node: ast.Call, function: object | None) -> None:
    """Refuses the call `node` of `function` (None: unknown, perhaps a method) if a library computes
    it, such as LAPACK; also array methods such as ``x.sort()``, and what makes a generator of
    random numbers, from which compiled code draws.
    """
    library = library_of(function)
    if family_of_maker(function):
        message = f"`{source_text(node.func)}` makes a generator, and stays a Python call"
        refuse("LOWER_LIBRARY", message, node)
    if (
        isinstance(node.func, ast.Attribute)
        and node.func.attr in LIBRARY_METHODS
        and function is None
    ):
        library = "NumPy" if lower_array(ctx, node.func.value) is not None else None
    if library is not None:
        refuse_library(node, library)


def refuse_library_behind(
    e: ast.expr, loop: ast.AST, resolve: Callable[[ast.expr], object | None]
) -> None:
    """Refuses the first call of a library's function, if there is one, on which the value of `e`
    depends by the names that `loop` binds. `resolve` gives the object of a global name.

        K = P @ np.linalg.inv(S)
        x = x + K @ r              # of `x`: np.linalg.inv(S)
    """
    values: dict[str, list[ast.expr]] = {}
    for n in walk_nodes(loop):
        for to, value in name_bindings(n):
            values.setdefault(to.id, []).append(value)
    rest: list[ast.expr] = [e]
    while rest:
        nodes = [*walk_nodes(rest.pop(0))]
        for n in nodes:
            if isinstance(n, ast.Call) and (library := library_of(resolve(n.func))):
                refuse_library(n, library, help=_HELP_IN_LOOPS)
        names = [n.id for n in nodes if isinstance(n, ast.Name)]
        rest += [value for name in names for value in values.pop(name, [])]


_HELP_IN_LOOPS = "call it outside of the loop, or write what it computes as loops"
