"""Value specialization: arguments whose values select code, such as axes and flags, as constants.

NumPy's static arguments (an axis, ``keepdims``, the step of a view that is returned) change the
rank or the loops of the result, so the compiler needs their values. `specialized_parameters` finds
the parameters that are used as such, also in functions that are called. At a call,
`value_signature` puts their values into the signature (`SignatureResolver.signature_of_call`, in
``runtime/specialization.py``, asks for it); `substitute_values` then replaces them in the source by
literals, in the stage ``specialize`` of ``pipeline.py``. `string_signature` tells how strs are
passed: as values, if the source compares them, or as sequences of code points.
"""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from loopir.lazy_dataclass import replace
from loopir.process.signal_exceptions import failures

from ...diagnostics import Refused
from ...numpy.function_table import STATIC_PARAMETERS, function_row
from ...types.typeof import parameter_names
from ...types.value_types import (
    CODE_POINTS,
    ArgType,
    ArrayType,
    Constant,
    Function,
    Opaque,
    ScalarType,
    WrappedFunction,
    is_str,
)
from ..ast_names import bound_names, rename_names
from ..ast_walk import copy_tree, display_leaves, walk_nodes
from ..core_nodes import copy_location, fix_missing_locations
from ..defining_modules import is_numpy_function
from ..fold_branches import fold_branches, literal_source, rank_key
from ..name_resolution import Scope
from ..refusal import refuse
from ..source import Source, read_source

__all__ = [
    "compared_parameters", "specialized_parameters", "string_signature", "substitute_values",
    "value_signature",
]

_MAX_CALL_DEPTH = 3
"""How many calls deep the use of a parameter is followed."""

_INTERNED_INTS = range(-5, 257)
"""Ints that CPython has one object of each, so that the native call can test the value of an
argument by comparing pointers. Other ints keep their type in the signature.
"""

_NOTHING = frozenset[str]()


def specialized_parameters(function: FunctionType) -> frozenset[str]:
    """The parameters of `function` whose values the compiler needs if they are ints or bools, since
    the rank or the memory layout of some array depends on them: those that occur in

    - static arguments of NumPy's functions and methods (`STATIC_PARAMETERS`, `Row.static`), as
      ``axis`` in ``np.sum(x, axis=axis)``;
    - the subscript of a shape, as ``k`` in ``x.shape[k]``;
    - the step of a slice that is returned, as ``s`` in ``return x[::s]``;
    - an argument for such a parameter of a Python function that is called, as ``a`` in ``f(x, a)``.

    Found from the source, without types: `SignatureResolver` asks once for each function.
    """
    return _SpecializedParameters().of(function, _MAX_CALL_DEPTH)


_READERS_OF_STR = frozenset({
    "enumerate", "iter", "len", "list", "map", "max", "min", "ord", "print", "reversed", "set",
    "sorted", "sum", "tuple", "zip",
})
"""Builtins whose call with a str selects no code."""


def compared_parameters(function: FunctionType) -> frozenset[str]:
    """The parameters of `function` whose values may select code if they are strs::

        def f(x, mode, text):
            if mode == "same": …         # mode: a kernel for each value
            for c in text: …             # text: only iterated over, one kernel for all values

    These are all parameters that are used in any other way than to be iterated over, subscripted,
    passed to a builtin of `_READERS_OF_STR` such as ``len``, or put into a list or set; all
    parameters, if the source cannot be read. `SignatureResolver` asks once for each function.
    """
    try:
        tree = read_source(function).tree
    except Refused:
        return frozenset(parameter_names(function.__code__))
    parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    as_sequence = {id(e) for n in walk_nodes(*tree.body) for e in _uses_as_sequence(n)}
    uses = (n for n in walk_nodes(*tree.body) if isinstance(n, ast.Name) and n.id in parameters)
    return frozenset(n.id for n in uses if id(n) not in as_sequence)


def string_signature(
    types: tuple[ArgType, ...], names: tuple[str, ...], function: FunctionType,
    known: dict[frozenset[str], dict[str, ArgType | None]],
) -> tuple[ArgType, ...]:
    """The `types` of the parameters `names`, with those of strs as `function` uses them: sequences
    of code points if of all of them only characters are read (`CODE_POINTS`); else the value of one
    that is compared, and of any other that it is a str. ``known``: the answers so far, by the names
    of the strs: a type, or None for the value.
    """
    strings = frozenset(n for n, t in zip(names, types, strict=True) if is_str(t))
    if strings not in known:
        if _reads_characters(function, strings):
            known[strings] = dict.fromkeys(strings, CODE_POINTS)
        else:
            compared = compared_parameters(function)
            known[strings] = {n: None if n in compared else Opaque("str") for n in strings}
    return tuple(known[strings].get(n) or t for n, t in zip(names, types, strict=True))


def _reads_characters(function: Callable[..., Any] | None, strings: Collection[str]) -> bool:
    """Whether all that `function` does with its parameters `strings`, if these are strs, is to read
    characters (`string_characters`). False if the source cannot be read, or a name such as ``ord``
    is not Python's.
    """
    from .string_characters import are_read_by_character

    if function is None:
        return False
    scope = Scope.of(function)
    if any(scope.find(f.__name__)[1] is not f for f in (len, ord, enumerate, zip, reversed)):
        return False
    try:
        tree = read_source(function).tree
    except Refused:
        return False
    return are_read_by_character(tree, strings)


def _uses_as_sequence(n: ast.AST) -> Iterator[ast.expr]:
    """The operands of `n` whose value, if it is a str, selects no code here."""
    match n:
        case ast.For(iter=e) | ast.comprehension(iter=e) | ast.Subscript(value=e):
            yield e
        case ast.Call(func=ast.Name(name), args=args) if name in _READERS_OF_STR:
            yield from args
        case ast.Call(func=ast.Attribute(attr="append" | "add"), args=args):
            yield from (e for arg in args for e in display_leaves(arg))


class _SpecializedParameters:
    """The search of `specialized_parameters`, which reads each function once.

    In all methods, ``depth`` is how many further calls are followed.
    """

    def __init__(self) -> None:
        self._found: dict[FunctionType, frozenset[str]] = {}

    def of(self, function: FunctionType, depth: int) -> frozenset[str]:
        """See `specialized_parameters`; none if the source cannot be read."""
        if function not in self._found and depth:
            self._found[function] = _NOTHING  # for a call of itself
            try:
                tree = read_source(function).tree
            except Refused:
                return _NOTHING
            self._found[function] = self._of_tree(tree, Scope.of(function), depth)
        return self._found.get(function, _NOTHING)

    def _of_tree(self, tree: ast.FunctionDef, scope: Scope, depth: int) -> frozenset[str]:
        """As `of`, for a function definition in `scope`."""
        parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
        local = {s.name: s for s in walk_nodes(*tree.body) if isinstance(s, ast.FunctionDef)}
        static = self._static_expressions(tree, scope, local, depth)
        names = {n.id for e in static for n in walk_nodes(e) if isinstance(n, ast.Name)}
        return frozenset(parameters & names)

    def _static_expressions(
        self, tree: ast.FunctionDef, scope: Scope, local: Mapping[str, ast.FunctionDef], depth: int
    ) -> Iterator[ast.expr]:
        """The expressions of `tree` whose values the compiler needs. ``local``: the functions that
        `tree` defines, by name.
        """
        for node in walk_nodes(*tree.body):
            match node:
                case ast.Subscript(value=ast.Attribute(attr="shape"), slice=at):
                    yield at
                case ast.Return(value=ast.expr() as value):
                    views = (e.slice for e in display_leaves(value) if isinstance(e, ast.Subscript))
                    items = (i for at in views for i in (
                        at.elts if isinstance(at, ast.Tuple) else [at]))
                    yield from (i.step for i in items if isinstance(i, ast.Slice) and i.step)
                case ast.Call(func=func, args=args, keywords=keywords):
                    names, static = self._callee_parameters(func, scope, local, depth)
                    yield from (e for n, e in zip(names, args, strict=False) if n in static)
                    yield from (k.value for k in keywords if k.arg in static)

    def _callee_parameters(
        self, func: ast.expr, scope: Scope, local: Mapping[str, ast.FunctionDef], depth: int
    ) -> tuple[list[str], frozenset[str]]:
        """The positional parameters of what ``func(…)`` calls, and the names of its static ones.

        In this order: a local function; another Python function; ``ufunc.reduce`` and
        ``ufunc.accumulate``; a NumPy function, or a method of an unknown object that is named as
        one (then without the first parameter, the array). No parameters for all others.
        """
        if isinstance(func, ast.Name) and func.id in local:
            tree = local[func.id]
            names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
            return names, self._of_tree(tree, scope, depth - 1) if depth else _NOTHING
        callee: Any = scope.resolve(func)
        callee = callee.__wrapped__ if isinstance(callee, WrappedFunction) else callee
        if isinstance(callee, FunctionType) and not is_numpy_function(callee):
            code = callee.__code__
            return [*code.co_varnames[: code.co_argcount]], self.of(callee, depth - 1)
        if isinstance(func, ast.Attribute) and func.attr in ("reduce", "accumulate"):
            return ["array", "axis"], STATIC_PARAMETERS
        method = func.attr if callee is None and isinstance(func, ast.Attribute) else ""
        callee = vars(np).get(method) if method else callee
        if callee is None or not is_numpy_function(callee):
            return [], STATIC_PARAMETERS if method else _NOTHING
        row = function_row(callee)
        try:
            names = [*inspect.signature(callee).parameters]
        except failures(TypeError, ValueError):
            names = []
        static = row.static.split() if row is not None else ()
        return names[bool(method):], STATIC_PARAMETERS.union(static)


def value_signature(
    types: tuple[ArgType, ...], names: tuple[str, ...], values: tuple[object, ...],
    specialized: frozenset[str],
) -> tuple[ArgType, ...]:
    """The signature of a call: `types`, with the value in place of the type for those parameters
    in `specialized` that are bools or small ints. For ``f(x, axis=0, n=5)``, of which `specialized`
    has ``axis``::

        (f64[:, :], int, int)   →   (f64[:, :], Constant(0), int)

    ``names`` and ``values``: of the parameters, in the order of `types`.
    """
    arguments = zip(types, names, values, strict=True)
    return tuple(_value_type(t, v) if n in specialized else t for t, n, v in arguments)


def _value_type(ty: ArgType, value: object) -> ArgType:
    """The type that stands for `value` alone if it is a Python bool or a small int, else `ty`."""
    is_singleton = ty == ScalarType("bool", weak=True) or (
        ty == ScalarType("i64", weak=True) and value in _INTERNED_INTS
    )
    return Constant(value, type(value)) if is_singleton else ty


def _with_code_points(source: Source, strings: list[str]) -> Source:
    """`source` with numbers for the characters of its parameters `strings`. Raises Refused where it
    does anything else with one.
    """
    from .string_characters import with_code_points

    if not _reads_characters(source.function, strings):
        message = f"`{strings[0]}` is of type str, and not only its characters are read"
        refuse("LOWER_TYPE", message, source.tree)
    return replace(source, tree=with_code_points(source.tree, strings))


def substitute_values(source: Source, types: Mapping[str, ArgType]) -> Source:
    """The stage ``specialize``: `source` with literals in place of the parameters whose type in
    `types` is a constant int or bool, and with the branches folded that this decides::

        # for axis = -1, and x a matrix
        if axis < 0:                                axis = -1
            axis += x.ndim             →            x
        return np.sum(x, axis=axis)                 axis = 1
                                                    return np.sum(x, axis=1)

    - A parameter that the function assigns keeps its name, and an assignment of the constant comes
      first. Folding then finds what it is at each place.
    - Tests of parameters that are functions, as ``key is None``, are folded, too. Inlining guards
      the code of a Python function. If another object with that code could answer differently, it
      is no Python function, or the parameter is assigned, the parameter alone comes first: that
      guards which object it is.
    - ``x.ndim`` is known from the type of ``x``, and folded as well. Where it is read, ``x`` alone
      comes first as a statement: the kernel then has a parameter for ``x``, and so is guarded by
      its rank, even if nothing else of ``x`` is left.

    - Characters of parameters that are strs (`CODE_POINTS`) are numbers (`string_characters`).

    Without such a parameter, or a test of a function, `source` itself.
    """
    if (strings := [n for n, t in types.items() if t == CODE_POINTS]):
        source = _with_code_points(source, strings)
    constants: dict[str, object] = {
        n: t.value for n, t in types.items()
        if isinstance(t, Constant) and isinstance(t.value, int) and t.kind in (int, bool)
    }
    functions = _functions_tested(source.tree, types)
    if not constants and not functions:
        return source
    tree = copy_tree(source.tree)
    assigned = bound_names(*tree.body) | {
        name for n in walk_nodes(*tree.body) if isinstance(n, ast.Nonlocal) for name in n.names
    }
    assignments = [
        ast.Assign([ast.Name(n, ast.Store())], literal_source(v))
        for n, v in constants.items()
        if n in assigned
    ]
    ranks = _ranks_read(tree, types)
    compared = (n for n, is_compared in functions.items() if is_compared or n in assigned)
    read = (ast.Expr(ast.Name(n, ast.Load())) for n in (*ranks, *compared))
    first: list[ast.stmt] = [*assignments, *read]
    for node in walk_nodes(*first):
        copy_location(node, tree.body[0])
    fixed = {n: v for n, v in constants.items() if n not in assigned}
    tested = {n: t.value for n, t in types.items() if n in functions and isinstance(t, Function)}
    known = {**fixed, **{rank_key(n): rank for n, rank in ranks.items()}, **tested}
    folded = fold_branches([*first, *tree.body], known)
    # folding leaves local functions and lambdas alone: the names in those are replaced here
    literals: dict[str, str | ast.expr] = {n: literal_source(v) for n, v in fixed.items()}
    body = [rename_names(s, literals) for s in folded]
    tree.body = body or [copy_location(ast.Pass(), tree.body[0])]
    return replace(source, tree=fix_missing_locations(tree))


def _functions_tested(tree: ast.FunctionDef, types: Mapping[str, ArgType]) -> dict[str, bool]:
    """The parameters that are functions and that tests in `tree` read, other than to call them;
    each with whether it matters which object it is, as in ``f is math.sin``: not that of a Python
    function in ``f is None`` and ``if f``.
    """
    functions = {
        n: isinstance(t.value, FunctionType) for n, t in types.items()
        if isinstance(t, Function) and not isinstance(t.value, ModuleType)
    }
    tests = [
        n.test for n in walk_nodes(*tree.body) if isinstance(n, (ast.If, ast.IfExp, ast.While))
    ] if functions else []
    called, any_other = set[int](), {id(test) for test in tests}
    for n in walk_nodes(*tests):
        match n:
            case ast.Call(func=func):
                called.add(id(func))
            case ast.BoolOp(values=operands):
                any_other |= {*map(id, operands)}
            case ast.UnaryOp(ast.Not(), operand):
                any_other.add(id(operand))
            case ast.Compare(left, [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
                any_other.add(id(left))
    found: dict[str, bool] = {}
    for n in walk_nodes(*tests):
        if isinstance(n, ast.Name) and n.id in functions and id(n) not in called:
            is_any_other = functions[n.id] and id(n) in any_other
            found[n.id] = found.get(n.id, False) or not is_any_other
    return found


def _ranks_read(tree: ast.FunctionDef, types: Mapping[str, ArgType]) -> dict[str, int]:
    """The ranks of the array arguments whose ``ndim`` the function reads, by their names."""
    read = {
        n.value.id for n in walk_nodes(*tree.body)
        if isinstance(n, ast.Attribute) and n.attr == "ndim" and isinstance(n.value, ast.Name)
    }
    return {n: t.rank for n, t in types.items() if isinstance(t, ArrayType) and n in read}
