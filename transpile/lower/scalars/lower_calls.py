"""Lower calls: the table of rules by callee (`CALLS`), and the choice of the rule for a call.

`lower_call` resolves the callee to a Python object and finds the rule for it in `CALLS`. The rule
gets the arguments as real numbers of one type; calls with a complex argument go to
`complex_calls.py`, and for a union the rule is applied to each case::

    math.sqrt(v)     →   sqrt(v), and check(not v < 0.0)           (a Python float)
    np.sqrt(x[i])    →   sqrt(x[i]), with a source of warnings     (a NumPy float64)

Calls of the user's functions, and of NumPy functions on whole arrays, do not occur here: inlining
and macros have replaced them.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from loopir.dtypes import DTYPES
from loopir.nodes import Expr

from ... import core_functions
from ...analysis.access_paths import access_path_type
from ...codes.lowering_codes import HELP_WITHOUT_OPTIONS
from ...diagnostics import Refused
from ...frontend.core_nodes import source_text
from ...frontend.defining_modules import is_native
from ...frontend.name_resolution import as_callee
from ...frontend.refusal import refuse
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, bool_op
from ...types.value_types import Constant, GeneratorType, Opaque
from ..complex.complex_calls import COMPLEX_CONSTRUCTORS, lower_complex_call, lower_conjugate_method
from ..state.lowering_state import CallRule, Lowering
from ..state.node_dispatch import lower_array, lower_scalar
from ..state.outer_names import refuse_member, resolve_guarded
from ..state.symbol_values import Scalar, UnionCase, UnionValue
from .builtin_calls import (
    float_from_text,
    lower_abs,
    lower_bool,
    lower_float,
    lower_int,
    lower_len,
    lower_math_call,
    lower_max,
    lower_min,
    lower_round,
    require_argument_count,
)
from .callable_ops import MASK_OPS, MATH, UFUNCS, refuse_library_call
from .numpy_scalar_calls import (
    lower_clip,
    lower_mask_call,
    lower_numpy_float,
    lower_numpy_int64,
    lower_numpy_integer,
    lower_square,
    lower_ufunc,
    lower_where,
)
from .refused_calls import (
    COMPILED_OTHERWISE,
    refuse_for_arguments,
    refuse_missing_method,
    refuse_without_rule,
)
from .scalar_operands import exact_number
from .tagged_unions import for_each_case

__all__ = ["CALLS", "has_rule", "lower_call"]


def has_rule(function: object) -> bool:
    """Whether calls of `function` are compiled, if not with all arguments."""
    return function in CALLS or function in COMPILED_OTHERWISE


def _only_literal(args: list[ast.expr]) -> object:
    """The value of the only argument, if it is a constant; else None."""
    return args[0].value if len(args) == 1 and isinstance(args[0], ast.Constant) else None


def lower_call(ctx: Lowering, node: ast.Call) -> Scalar:
    """The call `node`. The first case that applies decides:

    - ``z.conjugate()``, a method: it has no callee that could be looked up in a table;
    - a function of a library such as LAPACK, or a call with keywords: refused;
    - ``len``, and ``float`` of a string literal, whose arguments are no numbers;
    - a type test, whose argument may be of any type: `_lower_type_test`;
    - a call with a complex argument, or ``complex(...)``: `lower_complex_call`;
    - else the rule in `CALLS`, applied to each case of arguments that are unions.

    Raises Refused for a function without a rule, too.
    """
    function = as_callee(resolve_guarded(ctx, node.func))
    refuse_library_call(ctx, node, function)
    if function is None and isinstance(node.func, ast.Attribute):
        if (conjugate := lower_conjugate_method(ctx, node)) is not None:
            return conjugate
        owner = node.func.value
        if isinstance(owner, ast.Name) and isinstance(ctx.types.get(owner.id), GeneratorType):
            refuse_without_rule(ctx, node, None)  # draws that are compiled are inlined by now
        refuse_missing_method(ctx, node.func)
        if isinstance(access_path_type(owner, ctx.types), (Constant, Opaque)):
            refuse_member(ctx, owner)
    if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        refuse_for_arguments(ctx, node, function)
        message = f"`{source_text(node.func)}` is not compiled with these arguments"
        refuse("LOWER_CALL", message, node, help=HELP_WITHOUT_OPTIONS)
    if function is builtins.len:
        return lower_len(ctx, node)
    if any(function is f for f in core_functions.TYPE_TESTS):
        return _lower_type_test(ctx, node, _DTYPES_OF_TESTS[function])
    if function is builtins.float and isinstance(text := _only_literal(node.args), str):
        return float_from_text(text, node)
    try:
        arguments = [lower_scalar(ctx, a) for a in node.args]
    except Refused as refused:
        if type(refused) is Refused:  # the subclasses ask for another lowering
            refuse_for_arguments(ctx, node, function)
        raise
    takes_words = any(function is f for f in _TAKE_WORDS)
    call = partial(_call_on_numbers, ctx, function, node)
    return for_each_case(ctx, call, node, *arguments, takes_words=takes_words)


_TAKE_WORDS = builtins.int, builtins.float, builtins.bool, builtins.min, builtins.max, builtins.abs
"""The functions whose rules know words (`Num.is_word`); all others get an int64 of one."""


_DTYPES_OF_TESTS: Mapping[object, tuple[str, ...]] = {
    core_functions.is_bool: ("bool",),
    core_functions.is_float: ("f64",),
    core_functions.is_int: ("i64", "u64", "bool"),
}
"""The type tests of core Python (`core_functions.TYPE_TESTS`), with the dtypes of the Python
scalars for which they hold.
"""


def _lower_type_test(ctx: Lowering, node: ast.Call, dtypes: tuple[str, ...]) -> Num:
    """``_core.is_float(x)`` or another type test: whether `x` is a Python scalar of one of
    `dtypes`. A constant, unless the type depends on the data::

        _core.is_float(v)       v: a float where c, else an int    →    c
    """
    (argument,) = node.args
    if lower_array(ctx, argument) is not None:
        return Num(FALSE, weak="bool")
    x = lower_scalar(ctx, argument)
    if isinstance(x, ComplexPair):
        return Num(FALSE, weak="bool")
    cases = x.cases if isinstance(x, UnionValue) else (UnionCase(x, TRUE),)
    holds: Expr = FALSE
    for case in cases:
        if isinstance(case.value, Num) and case.value.weak in dtypes:
            holds = bool_op("or", holds, bool_op("and", case.when, case.value.weak_now))
    return Num(holds, weak="bool")


def _call_on_numbers(
    ctx: Lowering, function: Any, node: ast.Call, *arguments: Num | ComplexPair
) -> Scalar:
    """``function(*arguments)`` for numbers, whose values are required to be exact (`exact_number`).
    Raises Refused where there is no rule for `function`.
    """
    arguments = tuple(
        exact_number(ctx.b, n, node) if isinstance(n, Num) else n for n in arguments
    )
    real_arguments = [n for n in arguments if isinstance(n, Num)]
    if len(real_arguments) < len(arguments) or function in COMPLEX_CONSTRUCTORS:
        return lower_complex_call(ctx, function, list(arguments), node)
    rule = ctx.rules.calls.get(function)
    if rule is None:
        refuse_without_rule(ctx, node, function)
    return rule(ctx, real_arguments, node)


def _lower_dict_key(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``_core.key(x)``: the integer or bool `x` as an int, the key of a dict or a set; so True
    and 1 are one key, as in Python.

    Raises Refused for a float, although 1.0 and 1 are one key, too: it need not be an integer. And
    for a 0-d array, which has no hash, so that Python raises.
    """
    (x,) = require_argument_count(args, 1, node)
    if DTYPES[x.dtype].kind == "f" or x.boxed:
        kind = "a float" if not x.boxed else "an array without axes"
        key = node.args[0]
        message = (f"`{source_text(key)}`, a key or a part of one, is {kind} here, and dicts and "
                   "sets are compiled with keys that are ints")
        help = "use ints, or tuples of ints, as keys, such as by `int` or `round`"
        refuse("LOWER_TYPE", message, key if hasattr(key, "lineno") else node, help=help)
    return lower_int(ctx, args, node)


def _by_name(module: ModuleType, rules: Mapping[str, CallRule]) -> Iterator[tuple[Any, CallRule]]:
    """The functions of `module` that `rules` names, with their rules. A Python function that was
    put in the place of a native one is left out.
    """
    for name, rule in rules.items():
        value = getattr(module, name)
        if is_native(value) and value.__name__ == name:
            yield value, rule


CALLS: dict[object, CallRule] = {
    **{f: partial(lower_math_call, function=f, op=op) for f, op in MATH.items()},
    **{f: partial(lower_ufunc, function=f, op=op) for f, op in UFUNCS.items()},
    **{f: partial(lower_mask_call, compose=compose) for f, compose in MASK_OPS.items()},
    **dict(_by_name(np, {"square": lower_square, "where": lower_where, "clip": lower_clip})),
    **dict(_by_name(builtins, {
        "abs": lower_abs, "min": lower_min, "max": lower_max, "round": lower_round,
        "int": lower_int, "float": lower_float, "bool": lower_bool,
    })),
    core_functions.key: _lower_dict_key,
    **{
        d.numpy.type: partial(lower_numpy_integer, dtype=d.name)
        for d in DTYPES.values() if d.kind != "f"
    },
    np.int64: lower_numpy_int64,
    **{f: partial(lower_numpy_float, dtype=f) for f in (np.float16, np.float32, np.float64)},
}
"""The rule for each callee: ``rule(ctx, arguments, call)`` returns the result as a `Scalar`, given
the arguments as real numbers. `lower_call` calls it.

A function gets a row if it is one operation on scalars, or a few of them. The rows for ``math`` and
for NumPy's ufuncs follow from the tables of `callable_ops.py`. A callee without a row is refused
(LOWER_CALL), unless it is one of the exceptions in `lower_call`.
"""
