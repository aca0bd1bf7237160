"""Lower calls: the table of rules by callee (`CALLS`), and the rules for NumPy's ufuncs on scalars.

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
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from inspect import signature
from random import Random
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from loopir.algebra.constant_folding import is_lossless_cast
from loopir.dtypes import DTYPES, dtype_name
from loopir.nodes import Call, Const, Expr
from loopir.op_table import Op

from ... import core_functions
from ...analysis.access_paths import access_path_type
from ...codes.lowering_codes import HELP_FOR_CALLEES, HELP_FOR_NUMPY, HELP_WITHOUT_OPTIONS
from ...diagnostics import Refused
from ...frontend.core_nodes import source_text
from ...frontend.defining_modules import is_builtin, is_native, is_numpy_function
from ...frontend.macros.macro_index import is_declared_callee
from ...frontend.name_resolution import as_callee
from ...frontend.refusal import refuse, refuse_missing_attribute
from ...numpy.function_table import function_row
from ...types.int_limits import INT64
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, bool_op, cast, fits_dtype
from ...types.value_types import ELEMENTS, Constant, GeneratorType, Opaque
from ..complex.complex_calls import COMPLEX_CONSTRUCTORS, lower_complex_call, lower_conjugate_method
from ..state.float_exceptions import with_warnings
from ..state.guards_and_checks import require
from ..state.lowering_state import CallRule, Lowering
from ..state.node_dispatch import (
    lower_array,
    lower_scalar,
    refuse_iterated_number,
    refuse_number,
)
from ..state.outer_names import refuse_member, resolve_guarded
from ..state.path_conditions import apply_op
from ..state.symbol_values import (
    ArrayRef,
    FinishedList,
    ListRef,
    Scalar,
    UnionCase,
    UnionValue,
    Value,
)
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
    refuse_zero_dim_arrays,
    require_argument_count,
    to_python_int,
)
from .callable_ops import (
    COMPARISONS,
    LIBRARY_METHODS,
    MASK_OPS,
    MATH,
    OPERATORS,
    OPS_FUNCTIONS,
    UFUNCS,
    library_of,
    refuse_library,
)
from .lower_expressions import compare_numbers
from .scalar_arithmetic import binary_operation
from .scalar_operands import (
    as_array_item,
    convert_operand,
    exact_number,
    round_to_float,
    scalar_result_type,
    truth_value,
    with_result_type,
)
from .tagged_unions import for_each_case

__all__ = [
    "CALLS", "has_rule", "help_for_call", "how_uncompiled", "lower_call",
    "refuse_library_call", "refuse_missing_method",
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


def _refuse_without_rule(ctx: Lowering, node: ast.Call, function: object) -> NoReturn:
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
    if function in _COMPILED_OTHERWISE:
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


def _refuse_for_arguments(ctx: Lowering, node: ast.Call, function: Any) -> None:
    """Called when an argument of the call `node` was refused. Raises a Refused that blames the call
    instead, where the argument is not at fault:

    - there is no rule for `function` (None: a method, or not known), whatever the arguments are;
    - an argument is an array, and the rule takes numbers.

    Else returns, and the caller raises the refusal of the argument.
    """
    has_rule = function in ctx.rules.calls or is_declared_callee(function)
    if function is None or not (has_rule or function in COMPLEX_CONSTRUCTORS):
        _refuse_without_rule(ctx, node, function)
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


_COMPILED_OTHERWISE = (
    all, any, divmod, enumerate, filter, isinstance, map, max, min, pow, reversed, round, sorted,
    sum, type, zip,
)
"""Builtins of which macros expand some calls, without a rule in `CALLS`, or with one."""


def has_rule(function: object) -> bool:
    """Whether calls of `function` are compiled, if not with all arguments."""
    return function in CALLS or function in _COMPILED_OTHERWISE


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
            _refuse_without_rule(ctx, node, None)  # draws that are compiled are inlined by now
        refuse_missing_method(ctx, node.func)
        if isinstance(access_path_type(owner, ctx.types), (Constant, Opaque)):
            refuse_member(ctx, owner)
    if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        _refuse_for_arguments(ctx, node, function)
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
            _refuse_for_arguments(ctx, node, function)
        raise
    return for_each_case(ctx, partial(_call_on_numbers, ctx, function, node), node, *arguments)


_DTYPES_OF_TESTS: Mapping[object, tuple[str, ...]] = {
    core_functions.is_bool: ("bool",),
    core_functions.is_float: ("f64",),
    core_functions.is_int: ("i64", "bool"),
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
        _refuse_without_rule(ctx, node, function)
    return rule(ctx, real_arguments, node)


def refuse_library_call(ctx: Lowering, node: ast.Call, function: object | None) -> None:
    """Refuses the call `node` of `function` (None: unknown, perhaps a method) if a library computes
    it, such as LAPACK; also array methods such as ``x.sort()``, and what makes a generator of
    random numbers, from which compiled code draws.
    """
    library = library_of(function)
    if any(function is maker for maker, _ in GENERATOR_MAKERS):
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


GENERATOR_MAKERS: tuple[tuple[Callable[..., object], str], ...] = (
    (np.random.default_rng, "pcg"), (np.random.Generator, "pcg"),
    (np.random.RandomState, "legacy"), (Random, "python"),
)
"""What makes generators of random numbers, and the family of these (`generator_state`). Making one
stays a Python call, but what draws from it is compiled.
"""


def _lower_numpy_float(ctx: Lowering, args: list[Num], node: ast.Call, *, dtype: type) -> Num:
    """``np.float32(x)``, with a source of the warning where a finite number becomes infinite."""
    (x,) = require_argument_count(args, 1, node)
    name = dtype_name(np.dtype(dtype))
    assert name is not None
    return Num(round_to_float(ctx.b, x, name, node), strong=name)


def _truncate_to_dtype(ctx: Lowering, x: Num, dtype: str, node: ast.Call) -> Num:
    """``np.int64(v)`` of a float that may be Python's: truncated, and required to fit `dtype`.
    Raises Refused for a 0-d array.
    """
    refuse_zero_dim_arrays([x], node)
    n = to_python_int(ctx, x, "trunc", int, node)
    e, to = ctx.b.bind(n.ir), DTYPES[dtype]
    for op, limit in (("ge", to.low), ("le", to.high)):
        if INT64[0] < limit < INT64[1]:
            fits = Call(op, (e, Const(limit, "i64")), "bool")
            require(ctx.b, fits, "GUARD_INT_RANGE", node)
    return Num(cast(e, dtype), strong=dtype, interval=n.interval)


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


def _lower_numpy_int64(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``np.int64(x)``: keeps the linear form and the interval of an int. Raises Refused for an
    integer that is Python's or NumPy's, depending on the data, and for one that was rounded.
    """
    (x,) = require_argument_count(args, 1, node)
    if x.strong == x.dtype and not x.either and DTYPES[x.dtype].kind in "fu":
        return _lower_numpy_integer(ctx, args, node, dtype="i64")
    if DTYPES[x.dtype].kind == "f":
        return _truncate_to_dtype(ctx, x, "i64", node)
    if x.either or not x.exact or not is_lossless_cast(x.dtype, "i64"):
        refuse("LOWER_TYPE", f"`{source_text(node)}` may not hold its operand", node)
    return Num(cast(x.ir, "i64"), strong="i64", linear=x.linear, interval=x.interval)


def _lower_numpy_integer(ctx: Lowering, args: list[Num], node: ast.Call, *, dtype: str) -> Num:
    """``np.uint8(x)`` or another constructor of an integer or bool `dtype`. Python ints must fit,
    NumPy's integers wrap around, floats are truncated and required to fit. Raises Refused for an
    integer that is Python's or NumPy's, depending on the data, and for a float of Python as a bool
    or uint64.
    """
    (x,) = require_argument_count(args, 1, node)
    if isinstance(x.ir, Const) and fits_dtype(x.ir, dtype):
        return Num(cast(x.ir, dtype), strong=dtype)
    if x.strong == x.dtype and not x.either and DTYPES[x.dtype].kind == "f":
        return Num(as_array_item(ctx.b, x, dtype, node), strong=dtype)
    if DTYPES[x.dtype].kind == "f" and dtype not in ("bool", "u64"):
        return _truncate_to_dtype(ctx, x, dtype, node)
    if x.either or DTYPES[x.dtype].kind == "f":
        return refuse("LOWER_CALL", f"`{source_text(node)}` is not made of an integer", node)
    return Num(
        truth_value(x) if dtype == "bool" else convert_operand(ctx.b, x, dtype, node),
        strong=dtype,
    )


def _lower_mask_call(
    ctx: Lowering, args: list[Num], node: ast.Call, *, compose: Callable[..., Expr]
) -> Num:
    """A function of `transpile.ops` on masks of lanes: `compose` gives its expression. Raises
    Refused for bools.
    """
    require_argument_count(args, len(signature(compose).parameters), node)
    ty = scalar_result_type(np.bitwise_and, (args[0], args[-1]), node)
    if DTYPES[ty.dtype].kind == "b":
        refuse("LOWER_TYPE", f"`{source_text(node)}` is of bools", node)
    operands = (ctx.b.bind(convert_operand(ctx.b, n, ty.dtype, node)) for n in args)
    value = compose(*operands)
    return Num(value, strong=value.dtype)


def _lower_ufunc(
    ctx: Lowering, args: list[Num], node: ast.Call, *, function: Any, op: Op
) -> Num:
    """The ufunc or function of `transpile.ops` whose operation is `op`, on scalars.

    In this order: operators with an operand of NumPy (`binary_operation`), comparisons, bool
    operations, tests such as ``isnan``, and all else, such as ``np.exp(v)``, or ``np.add`` of
    Python's numbers: operands and result get the type that `function` gives for samples. Raises
    Refused for dtypes that the operation does not have.
    """
    require_argument_count(args, op.arity, node)
    if op.name in ("floordiv", "mod") and all(n.weak for n in args):
        args = _as_numpy_operands(ctx, args, node)  # a divisor of 0 warns, as of NumPy's integers
    if op.name == "pow" and not any(n.strong for n in args) and any(n.weak == "f64" for n in args):
        args = _as_numpy_operands(ctx, args, node)  # special operands, as `power_operation`
    if op.name in OPERATORS and not all(n.weak for n in args):
        return binary_operation(ctx, OPERATORS[op.name], args[0], args[1], node, ufunc=True)
    if op.name in COMPARISONS:
        left, right = _as_numpy_operands(ctx, args, node) if all(n.weak for n in args) else args
        return compare_numbers(ctx, COMPARISONS[op.name](), left, right, node)
    if op.name in ("and", "or", "xor", "not"):
        truths = tuple(map(truth_value, args))
        is_xor = op.name == "xor"
        value: Expr = Call("xor", truths, "bool") if is_xor else bool_op(op.name, *truths)
        return Num(value, strong="bool")
    ty = scalar_result_type(function, tuple(args), node)
    if op.result == "m":
        return with_result_type(_lower_test(args[0].ir, op, node), ty, *args)
    if not op.accepts(ty.dtype):
        if op.name in ("floor", "ceil", "trunc", "rint"):
            return with_result_type(cast(args[0].ir, ty.dtype), ty, *args)
        refuse("LOWER_TYPE", f"`{source_text(node)}` gives {ty}", node)
    operands = tuple(convert_operand(ctx.b, n, ty.dtype, node) for n in args)
    spelled = None if function in OPS_FUNCTIONS else function.__name__
    value = apply_op(ctx.b, op.name, *operands)
    return with_result_type(
        with_warnings(ctx.b, op.name, operands, value, spelled, node), ty, *args
    )


def _lower_test(x: Expr, op: Op, node: ast.Call) -> Expr:
    """A test such as ``isnan``, whose operation is `op`, of the scalar `x`."""
    if x.dtype in op.excluded:
        kind = DTYPES[x.dtype].numpy.name
        refuse("LOWER_TYPE", f"`{source_text(node)}` is of {kind}", node)
    return Call(op.name, (x if op.accepts(x.dtype) else cast(x, "f64"),), "bool")


def _as_numpy_operands(ctx: Lowering, args: list[Num], node: ast.Call) -> list[Num]:
    """Python numbers, converted to NumPy scalars of a common dtype, as a ufunc converts them.
    Raises Refused where one may be a NumPy scalar.
    """
    if any(n.strong for n in args):
        refuse("LOWER_TYPE", f"`{source_text(node)}` is of Python's numbers or NumPy's", node)
    dtype = next(d for d in ("f64", "i64", "bool") if any(n.weak == d for n in args))
    return [Num(convert_operand(ctx.b, n, dtype, node), strong=dtype) for n in args]


def _lower_square(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``np.square(x)``"""
    (x,) = require_argument_count(args, 1, node)
    ty = scalar_result_type(np.square, (x,), node)
    e = ctx.b.bind(convert_operand(ctx.b, x, ty.dtype, node), "base")
    value: Expr = Call("mul", (e, e), ty.dtype)
    if DTYPES[ty.dtype].kind == "f":
        value = with_warnings(ctx.b, "mul", (e, e), value, "square", node)
    return with_result_type(value, ty, x)


def _lower_where(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``np.where(cond, x, y)`` of scalars, whose result is a 0-d array.

        np.where(b != 0, a / b, 0.0)    →    select(b != 0, a / b, 0.0)     may warn where b is 0

    Unlike ``a / b if b != 0 else 0.0``, Python computes all arguments before the call. So `x` and
    `y` were lowered before this rule is called, without `used_only_where`, and raise their
    floating-point flags everywhere, as in NumPy.
    """
    cond, x, y = require_argument_count(args, 3, node)
    ty = scalar_result_type(np.where, (Num(truth_value(cond), strong="bool"), x, y), node)
    a, c = (
        convert_operand(ctx.b, x, ty.dtype, node),
        convert_operand(ctx.b, y, ty.dtype, node),
    )
    return Num(Call("select", (truth_value(cond), a, c), ty.dtype), strong=ty.dtype, boxed=True)


def _lower_clip(ctx: Lowering, args: list[Num], node: ast.Call) -> Num:
    """``np.clip(x, lo, hi)``: a NaN stays, and a value equal to a bound stays itself (0.0, -0.0).
    NaN if a bound is the constant NaN; requires that no other bound is NaN.
    """
    x, lo, hi = require_argument_count(args, 3, node)
    ty = scalar_result_type(np.clip, (x, lo, hi), node)
    value, low, high = (
        ctx.b.bind(convert_operand(ctx.b, n, ty.dtype, node)) for n in (x, lo, hi)
    )
    if DTYPES[ty.dtype].kind == "f":
        for bound in (low, high):
            if isinstance(bound, Const) and bound.value != bound.value:
                return with_result_type(bound, ty, x)
            if not isinstance(bound, Const):
                require(ctx.b, Call("eq", (bound, bound), "bool"), "GUARD_RAISES", node)
    at_least_low = Call("max", (value, low), ty.dtype)
    return with_result_type(Call("min", (at_least_low, high), ty.dtype), ty, x)


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
    **{f: partial(_lower_ufunc, function=f, op=op) for f, op in UFUNCS.items()},
    **{f: partial(_lower_mask_call, compose=compose) for f, compose in MASK_OPS.items()},
    **dict(_by_name(np, {"square": _lower_square, "where": _lower_where, "clip": _lower_clip})),
    **dict(_by_name(builtins, {
        "abs": lower_abs, "min": lower_min, "max": lower_max, "round": lower_round,
        "int": lower_int, "float": lower_float, "bool": lower_bool,
    })),
    core_functions.key: _lower_dict_key,
    **{
        d.numpy.type: partial(_lower_numpy_integer, dtype=d.name)
        for d in DTYPES.values() if d.kind != "f"
    },
    np.int64: _lower_numpy_int64,
    **{f: partial(_lower_numpy_float, dtype=f) for f in (np.float16, np.float32, np.float64)},
}
"""The rule for each callee: ``rule(ctx, arguments, call)`` returns the result as a `Scalar`, given
the arguments as real numbers. `lower_call` calls it.

A function gets a row if it is one operation on scalars, or a few of them. The rows for ``math`` and
for NumPy's ufuncs follow from the tables of `callable_ops.py`. A callee without a row is refused
(LOWER_CALL), unless it is one of the exceptions in `lower_call`.
"""
