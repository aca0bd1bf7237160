"""Calls that are refused: of which function or method, with which arguments, and the help.

A refusal blames what is at fault: the callee, if there is no rule for it; else an argument.
"""
from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from ...codes.lowering_codes import HELP_FOR_CALLEES, HELP_FOR_NUMPY, HELP_WITHOUT_OPTIONS
from ...diagnostics import Refused
from ...frontend.core_nodes import source_text
from ...frontend.defining_modules import is_builtin, is_numpy_function
from ...frontend.macros.macro_index import is_declared_callee
from ...frontend.refusal import refuse, refuse_missing_attribute
from ...numpy.function_table import function_row
from ...types.value_types import ELEMENTS
from ..complex.complex_calls import COMPLEX_CONSTRUCTORS
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_array, refuse_iterated_number, refuse_number
from ..state.symbol_values import ArrayRef, FinishedList, ListRef, Value

__all__ = [
    "COMPILED_OTHERWISE", "help_for_call", "how_uncompiled",
    "refuse_for_arguments", "refuse_missing_method",
    "refuse_without_rule",
]

_CACHED = type(functools.cache(int))

_HELP_FOR_CACHED = "call it without `functools.cache`, and keep its results in an array or a dict"

_HELP_FOR_RANGE = (
    "loop over it with `for`, make a list of it by `list(...)`, or an array by `np.arange(...)`"
)

_HELP_FOR_PRINT = (
    "print outside of the function, and collect in a list or an array what is to be printed"
)


def help_for_call(function: object) -> str | None:
    """The help for a call of a function that is not compiled; None: that of the code."""
    if isinstance(function, _CACHED):
        return _HELP_FOR_CACHED
    if function is print:
        return _HELP_FOR_PRINT
    return HELP_FOR_NUMPY if is_numpy_function(function) else None


def how_uncompiled(function: object) -> str:
    """Why a call of `function` is not compiled, as the end of a sentence: one of NumPy's functions
    that are compiled has an argument for which there is no rule, such as ``mode="empty"``.
    """
    if function_row(function) is not None:
        return "is not compiled with these arguments"
    return "is not a function that can be compiled"


def refuse_without_rule(ctx: Lowering, node: ast.Call, function: object) -> NoReturn:
    """Refuses the call `node` of `function` (None: of a method), for which there is no rule."""
    if function is None:
        refuse_number(ctx, node.func, "LOWER_CALL", "cannot be called", help=HELP_FOR_CALLEES)
    refuse_iterated_number(ctx, node, function)
    if function is None and isinstance(node.func, ast.Attribute):
        owner, of, help = node.func.value, "", "call it outside of the function"
        dtypes = _dtypes_of_arrays(ctx, [owner])
        if dtypes == {_HALF}:
            of, help = f" of an array of {_HALF}", _HELP_FOR_HALF
        elif isinstance(owner, ast.JoinedStr) or isinstance(getattr(owner, "value", None), str):
            of = " of a str"
            help = "make strings after the loops, from the numbers that these compute"
        how = "with these arguments" if dtypes and (node.args or node.keywords) else "here"
        message = f"the method `{node.func.attr}`{of} is not compiled {how}"
        refuse("LOWER_CALL", message, node, help=help)
    if function in (set, frozenset, dict, list):
        message = f"this use of `{source_text(node)}` is not compiled"
        help = "give it a name by an assignment of its own, and loop over it or use `in` and `len`"
        refuse("LOWER_CALL", message, node, help=help)
    if function is range:
        message = f"`{source_text(node)}` is no loop's range, nor made a list"
        refuse("LOWER_CALL", message, node, help=_HELP_FOR_RANGE)
    if function in COMPILED_OTHERWISE:
        message = f"`{source_text(node.func)}` is not compiled with these arguments"
        refuse("LOWER_CALL", message, node, help=HELP_WITHOUT_OPTIONS)
    message = f"`{source_text(node.func)}` {how_uncompiled(function)}"
    refuse("LOWER_CALL", message, node, help=help_for_call(function))


_HALF = "float16"

_HELP_FOR_HALF = "convert the array to float32 before, by `.astype(np.float32)`"


def _dtypes_of_arrays(ctx: Lowering, nodes: Iterable[ast.expr]) -> set[str]:
    """The names of the dtypes of those `nodes` that are arrays."""
    dtypes = set[str]()
    for node in nodes:
        with suppress(Refused):
            if isinstance(array := lower_array(ctx, node), ArrayRef) and not array.kinds:
                dtypes.add(ELEMENTS[array.dtype].numpy.name)
    return dtypes


def refuse_for_arguments(ctx: Lowering, node: ast.Call, function: Any) -> None:
    """Called when an argument of the call `node` was refused. Raises a Refused that blames the call
    instead, where the argument is not at fault:

    - there is no rule for `function` (None: a method, or not known), whatever the arguments are;
    - an argument is an array, and the rule takes numbers.

    Else returns, and the caller raises the refusal of the argument.
    """
    has_rule = function in ctx.rules.calls or is_declared_callee(function)
    if function is None or not (has_rule or function in COMPLEX_CONSTRUCTORS):
        refuse_without_rule(ctx, node, function)
    if dtypes := _dtypes_of_arrays(ctx, node.args):
        name = source_text(node.func)
        if is_builtin(function):
            message = f"`{name}` is not compiled with an array"
            help = "call it outside of the function; the loops beside it are compiled"
        elif dtypes == {_HALF}:
            message, help = f"`{name}` of an array of {_HALF} is not compiled here", _HELP_FOR_HALF
        else:
            message = f"`{name}` is not compiled with these arguments"
            help = HELP_WITHOUT_OPTIONS if node.keywords else HELP_FOR_NUMPY
        refuse("LOWER_CALL", message, node, help=help)


COMPILED_OTHERWISE = (
    all, any, divmod, enumerate, filter, isinstance, map, max, min, pow, reversed, round, sorted,
    sum, type, zip,
)
"""Builtins of which macros expand some calls, without a rule in `CALLS`, or with one."""


def refuse_missing_method(ctx: Lowering, method: ast.Attribute) -> None:
    """Raises Refused if `method`, a method that is called, is one of

    - an array or a list, and these do not have it, so that Python raises AttributeError;
    - ``super()``, or None.
    """
    match method.value:
        case ast.Call(func=ast.Name(id="super")):
            help = "call the function of the class by name, with the object as first argument"
            refuse("LOWER_CALL", f"`{source_text(method)}` is not compiled", method, help=help)
        case ast.Constant(value=None):
            refuse_missing_attribute(type(None), "None", method)
    owner: Value | None = None
    if isinstance(method.value, ast.Name):
        owner = ctx.b.env.get(method.value.id)
    if not isinstance(owner, (ListRef, FinishedList)):
        owner = lower_array(ctx, method.value)
    if not isinstance(owner, (ArrayRef, ListRef, FinishedList)):
        return
    kinds = owner.kinds or (np.ndarray,) if isinstance(owner, ArrayRef) else (list,)
    if not hasattr(kinds[0], method.attr):
        what = {list: "a list", np.ndarray: "an array"}.get(kinds[0], f"a {kinds[0].__name__}")
        refuse_missing_attribute(kinds[0], what, method)
