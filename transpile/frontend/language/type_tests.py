"""Static resolution of type tests: ``x is None``, ``isinstance(n, int)``, ``T = type(x[0])``.

A test whose outcome the types of the signature decide becomes True or False, and the branch that is
not taken disappears. So do tests of string arguments such as ``mode == "same"``, whose values are a
part of the signature. `static_value` evaluates expressions of types. What the test read must be the
same at each call, and what it computed may raise: `residual_statements` (the residual code of
partial evaluation) guards the names, and still evaluates those expressions.
"""
from __future__ import annotations

import ast
import operator
from abc import ABCMeta
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from loopir.process.signal_exceptions import failures

from ...analysis.type_inference.flow_facts import record_facts
from ...analysis.type_inference.type_lattice import Fact
from ...types.result_types import ExactSample
from ...types.type_env import Env
from ...types.value_types import (
    ELEMENTS,
    ArrayType,
    Constant,
    ObjectType,
    Opaque,
    RecordType,
    ScalarType,
)
from ..ast_walk import child_nodes
from ..core_nodes import ReplayIf, copy_location
from ..defining_modules import is_native
from ..macros.firing_conditions import has_class_aliases
from ..macros.list_kind import is_list
from ..macros.macro_context import Context
from ..macros.macro_index import CALLED, METHOD, fires_on, other_than
from ..macros.tree_summary import TreeSummary

__all__ = ["residual_statements", "type_test", "static_value", "may_be_type_test", "class_alias"]

_PYTHON_CLASSES = {"i64": int, "f64": float, "bool": bool, "c128": complex}
"""The class of a weak scalar of that dtype."""

_DTYPES: dict[object, np.dtype[Any]] = {
    kind: dtype
    for dtype in (np.dtype(row.numpy) for row in ELEMENTS.values())
    for kind in (dtype, dtype.type, dtype.name, dtype.str, dtype.str[1:])
} | {kind: np.dtype(kind) for kind in _PYTHON_CLASSES.values()} | {
    kind.__name__: np.dtype(kind) for kind in _PYTHON_CLASSES.values()
}
"""The dtypes that ``np.dtype(kind)`` gives for classes, texts and dtypes, without running code."""

_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}
_NONE = ExactSample(None, type(None))


def may_be_type_test(summary: TreeSummary, env: Env) -> bool:
    """Whether `type_test` may fire in the function of which `summary` is the summary. False only if

    - it calls no type test and has no comparison; or
    - all its nodes, attributes, constants and callees are those of numeric code, it has no early
      exit, no comparison of constants, and no name whose type a test could decide about.
    """
    if not summary.called.isdisjoint(_TYPE_TESTS) or not summary.methods.isdisjoint(_TYPE_TESTS):
        return True
    if not summary.has(ast.Compare):
        return False
    is_numeric = summary.kinds <= _NUMERIC_NODES and summary.attributes <= _LENGTHS
    if not is_numeric or summary.has_early_exit:
        return True
    if not summary.constants <= {int, float, complex} or summary.compares_constants:
        return True
    if "shape" in summary.attributes and "len" in summary.called:  # len(x.shape) is the rank
        return True
    callees = [env.resolve(ast.Name(name, ast.Load())) for name in summary.called]
    types = (env.type(ast.Name(name, ast.Load())) for name in summary.names - summary.called)
    calls_numeric = all(any(f is g for g in _NUMERIC_FUNCTIONS) for f in callees)
    return not calls_numeric or any(isinstance(ty, _TESTABLE_TYPES) for ty in types)


_TYPE_TESTS = frozenset({"isinstance", "issubdtype"})
"""The names of functions whose calls are type tests."""
# attributes and functions that occur in numeric code, and in no type test
_LENGTHS = frozenset({"shape", "size"})
_NUMERIC_FUNCTIONS = (abs, enumerate, float, int, len, max, min, range, sum, zip)
_TESTABLE_TYPES = (Constant, ObjectType, Opaque, RecordType)
"""Types of which a comparison may be decided at compile time."""
_NUMERIC_NODES = frozenset({
    ast.Assign, ast.Attribute, ast.AugAssign, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare,
    ast.Constant, ast.For, ast.FunctionDef, ast.If, ast.IfExp, ast.Name, ast.Return, ast.Slice,
    ast.Subscript, ast.Tuple, ast.UnaryOp, ast.While, ast.arg, ast.arguments,
})
"""The node types of numeric code, none of which is a type test by its form."""


@fires_on(ast.If, ast.IfExp, test=ast.Constant)
@fires_on(ast.UnaryOp, op=ast.Not, operand=ast.Constant)
@fires_on(ast.BoolOp, ast.Compare, ast.Call)
@fires_on(ast.Name, ctx=ast.Load)
def type_test(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """A test that the types decide becomes a constant, and the branch that is not taken disappears.
    What it reads is named at the start of the function, so that lowering guards it.

        if s is None or X.ndim == 1:
            t = t + 1
        elif isinstance(n, int):
            t = t * 2
    →
        s
        X
        isinstance
        n
        int
        t = t * 2

    By the kind of node, the macro

    - evaluates a comparison or call, if `_static_truth` finds that its value is the same for all
      arguments of these types; and a name whose value is a part of the signature (a string, or
      None);
    - keeps the code in it that may raise, as ``x[0]`` in ``x[0] is None`` (`residual_statements`);
    - folds ``not``, ``and``, ``or``, ``if`` and ``… if … else …`` of a constant. A `ReplayIf` whose
      test is True stays: the guard then fails in each call.
    """
    match node:
        case ast.If(test=ast.Constant(value=bool(truth)), body=body, orelse=orelse):
            if truth and isinstance(node, ReplayIf):
                return None  # its test stays a guard at run time
            return (body if truth else orelse) or [copy_location(ast.Pass(), node)]
        case ast.IfExp(test=ast.Constant(value=bool(truth)), body=then, orelse=other):
            return then if truth else other
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=bool(truth))):
            return ast.Constant(not truth)
        case ast.BoolOp(op=op, values=[ast.Constant(value=bool() | None as value) as first, *rest]):
            if bool(value) is isinstance(op, ast.Or):
                return first
            return rest[0] if len(rest) == 1 else copy_location(ast.BoolOp(op, rest), node)
        case ast.Name(ctx=ast.Load()):
            constant = cx.fact(node).constant
            if constant is None or not isinstance(constant.value, (str, type(None))):
                return None
            if isinstance(cx.within, ast.Expr) and cx.within.value is node:
                return None  # what `residual_statements` has left of a name
            return _decided(node, constant.value, cx)
        case ast.Compare() | ast.Call():
            truth_value = _static_truth(node, cx)
            return None if truth_value is None else _decided(node, truth_value, cx)
    return None


def _decided(node: ast.expr, value: str | bool | None, cx: Context) -> ast.expr:
    """The constant `value` in place of `node`, which the types decide; what remains to be evaluated
    of `node` is put before the statement (`residual_statements`).
    """
    cx.before(*residual_statements(node, cx))
    return copy_location(ast.Constant(value), node)


def residual_statements(node: ast.expr, cx: Context) -> list[ast.stmt]:
    """For a `node` whose value the types decide: the statements with what must still be evaluated
    of it. Guards the names in it.

        x[0] is None     →   _asked = x[0]       # raises IndexError for an empty x
        y is None        →   y                   # if y may be unbound: raises UnboundLocalError
    """
    lines: list[ast.stmt] = []
    for part in _evaluated_parts(node, cx):
        cx.guard(part)
        if not isinstance(part, (ast.Name, ast.Attribute)):
            lines += cx.code("NAME = E", NAME=cx.fresh("asked"), E=part)
        elif isinstance(part, ast.Name) and part.id in cx.may_be_unbound:
            lines.append(copy_location(ast.Expr(part), node))
    return lines


_TYPE_FUNCTIONS = (isinstance, type, len, np.ndim, np.isscalar, np.issubdtype, np.dtype)
"""Functions whose result may depend on the types of their arguments alone."""


def _evaluated_parts(node: ast.AST, cx: Context) -> Iterator[ast.expr]:
    """The parts of a type test that Python evaluates: names, attribute chains that resolve, and
    all expressions other than comparisons, displays and calls of `_TYPE_FUNCTIONS`.
    """
    match node:
        case ast.Constant():
            return
        case ast.Name():
            yield node
        case ast.Attribute(value=base):
            if cx.resolve(node):
                yield node
            else:
                yield from _evaluated_parts(base, cx)
        case ast.Compare() | ast.Tuple() | ast.List() | ast.Set():
            for child in child_nodes(node):
                yield from _evaluated_parts(child, cx)
        case ast.Call(func=func, args=args, keywords=[]) if _is_type_function(func, cx):
            for child in (func, *args):
                yield from _evaluated_parts(child, cx)
        case ast.expr():
            yield node


def _is_type_function(func: ast.expr, cx: Context) -> bool:
    function = cx.resolve(func)
    return any(function is f for f in _TYPE_FUNCTIONS)


def _static_truth(node: ast.expr, cx: Context) -> bool | None:
    """The value of a comparison or call, if the types decide it and it is a bool; else None."""
    match node:
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[right]):
            return _static_identity(op, left, right, cx)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            a = static_value(left, cx)
            b = static_value(right, cx)
            if isinstance(op, (ast.In, ast.NotIn)):
                b = b or _static_collection(right, cx)
            return None if a is None or b is None else _compare(op, a.value, b.value)
        case ast.Call(func=func, args=[operand, classes], keywords=[]):
            class_or_tuple = static_value(classes, cx)
            if class_or_tuple and cx.resolve(func) is isinstance:
                return _are_subclasses(_classes(operand, cx), class_or_tuple.value)
    result = static_value(node, cx) if isinstance(node, ast.Call) else None
    return result.value if result and isinstance(result.value, bool) else None


def _compare(op: ast.cmpop, a: object, b: object) -> bool | None:
    """``a op b`` if that is a bool; None if it raises, which Python must do at run time."""
    try:
        truth = _OPERATORS[type(op)](a, b)
    except (MemoryError, RecursionError):
        raise
    except failures(Exception):
        return None
    return truth if isinstance(truth, bool) else None


def _static_identity(op: ast.cmpop, left: ast.expr, right: ast.expr, cx: Context) -> bool | None:
    """``left is right`` or ``left is not right``: for two static values of which one is a class,
    an Enum member or None; for None and an operand that is never None. None if undecided.
    """
    a, b = static_value(left, cx), static_value(right, cx)
    if a and b and any(isinstance(v.value, (type, Enum, type(None))) for v in (a, b)):
        return _compare(op, a.value, b.value)
    for value, other in ((a, right), (b, left)):
        if value == _NONE and _is_never_none(cx.fact(other)):
            return isinstance(op, ast.IsNot)
    return None


def _is_never_none(fact: Fact) -> bool:
    """Whether a value of that fact is None on no path."""
    known = fact.rank is not None or fact.record is not None or bool(fact.kinds)
    return known and all(k != Constant(None, type(None)) for k in fact.kinds)


def static_value(e: ast.expr, cx: Context) -> ExactSample | None:
    """The value of `e`, if the signature decides it: constants and displays of them, ranks, dtypes
    and their attributes, classes (``type(x)``), ``np.issubdtype``, and arguments that are constants
    of the signature. None for others, such as numbers that are computed.
    """
    match e:
        case ast.Constant(value=int() as value):
            return ExactSample(value, type(value))
        case ast.Tuple(elts=elts):
            parts = [static_value(x, cx) for x in elts]
            return None if None in parts else ExactSample(tuple(p.value for p in parts if p), tuple)
        case ast.Attribute(attr="ndim", value=of) | ast.Call(
            func=ast.Name(id="len"), args=[ast.Attribute(attr="shape" | "strides", value=of)]
        ) if (fact := cx.fact(of)).types and fact.rank:
            return ExactSample(fact.rank, int)
        case ast.Attribute(attr="dtype", value=of) if types := cx.fact(of).types:
            strong = {None if isinstance(t, ScalarType) and t.weak else t.dtype for t in types}
            name = strong.pop()
            return None if name is None or strong else ExactSample(ELEMENTS[name].numpy, np.dtype)
        case ast.Attribute(attr="type" | "kind" | "itemsize" | "name" | "char" as attr, value=of):
            dtype = static_value(of, cx)
            if dtype is not None and isinstance(dtype.value, np.dtype):
                return ExactSample(value := getattr(dtype.value, attr), type(value))
        case ast.Call(func=func, args=args, keywords=[]):
            if (result := _static_call(cx.resolve(func), args, cx)) is not None:
                return result
    constant = cx.fact(e).constant
    return ExactSample(constant.value, constant.kind) if constant else None


def _static_call(function: object, args: Sequence[ast.expr], cx: Context) -> ExactSample | None:
    """The value of a call of `function`, as `static_value`: of ``type``, ``np.ndim``,
    ``np.isscalar``, ``np.dtype`` or ``np.issubdtype``; None for others.
    """
    match args:
        case [of] if function is np.ndim or function is np.isscalar:
            fact = cx.fact(of)
            if fact.types and fact.rank is not None:
                result: object = not fact.rank if function is np.isscalar else fact.rank
                return ExactSample(result, type(result))
        case [of] if function is type:
            classes = _classes(of, cx)
            return ExactSample(classes.pop(), type) if len(classes) == 1 else None
        case [of] if function is np.dtype:
            named = of.value if isinstance(of, ast.Constant) else _known_value(of, cx)
            is_name = isinstance(named, (str, type, np.dtype))
            made = _DTYPES.get(named) if is_name else None
            return None if made is None else ExactSample(made, np.dtype)
        case [of, kind] if function is np.issubdtype:
            sides = _known_value(of, cx), _known_value(kind, cx)
            if all(isinstance(side, (type, np.dtype)) for side in sides):
                return ExactSample(np.issubdtype(*sides), bool)
    return None


def _static_collection(e: ast.expr, cx: Context) -> ExactSample | None:
    """The value in which ``in`` looks, if `e` is a display of a list or set and the signature
    decides its items; None for any other expression. For a list it is a tuple; for a set a
    frozenset, since sets compare hashes first: a dtype equals its class, but has another hash.
    """
    if not isinstance(e, (ast.List, ast.Set)):
        return None
    items = static_value(ast.Tuple(e.elts, ast.Load()), cx)
    if items is None or isinstance(e, ast.List):
        return items
    assert isinstance(items.value, tuple)
    try:
        return ExactSample(frozenset(items.value), frozenset)
    except failures(TypeError):
        return None  # an item has no hash


def _classes(e: ast.expr, cx: Context) -> set[type]:
    """The classes that the value of `e` may have, each on some path; empty: unknown. A sequence, an
    object, a tuple or a dict that is an argument has the class of its type, which each call
    compares; a list that the function makes is a list.
    """
    fact = cx.fact(e)
    if fact.list_type is not None:
        return {fact.list_type.kinds[0]}
    if isinstance(e, ast.Name) and e.id in cx.facts.objects:
        ty = cx.facts.type_of(e)
        assert isinstance(ty, ObjectType)
        claims_another = any("__class__" in vars(c) for c in ty.kind.__mro__[:-1])
        return set() if claims_another else {ty.kind}
    return {_class_of(k) for k in fact.kinds} or ({list} if is_list(e, cx) else set())


def _class_of(ty: ArrayType | ScalarType | Constant) -> type:
    """The class of values of type `ty`."""
    match ty:
        case ScalarType(dtype, weak):
            return _PYTHON_CLASSES[dtype] if weak else ELEMENTS[dtype].numpy.type
        case Constant(_, kind):
            return kind
        case _:
            return np.ndarray


def _are_subclasses(classes: set[type], class_or_tuple: object) -> bool | None:
    """Whether `classes` are all subclasses of `class_or_tuple` (True), or none is (False). None if
    they differ, are unknown, or if ``issubclass`` could run user code.
    """
    parents = class_or_tuple if isinstance(class_or_tuple, tuple) else (class_or_tuple,)
    if not all(isinstance(t, type) and type(t) in (type, ABCMeta) for t in parents):
        return None
    results = {issubclass(c, parents) for c in classes}
    return results.pop() if len(results) == 1 else None


@fires_on(ast.Name, ctx=ast.Load, when=has_class_aliases)
@fires_on(
    ast.Assign, targets=ast.Name,
    value=other_than(ast.BinOp, ast.Constant, ast.ListComp, ast.UnaryOp),
)
@fires_on(ast.Call, calls=[CALLED, METHOD])
def class_alias(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """A name of a class or function that is bound once, before all its reads, is replaced by what
    it is bound to.

        T = type(x[0])
        root = np.sqrt
        s = T(0)
        t = x.dtype.type(s) + root(s)
    →
        type
        np.sqrt
        x
        _asked = x[0]
        s = np.float64(0)
        t = np.float64(s) + np.sqrt(s)

    A dtype, such as ``x.dtype``, is replaced by its class. That means the same, except in a call (a
    dtype raises TypeError) and in a comparison by ``is``: a name that is used so stays.
    """
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return cx.aliases.get(name)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            target = _class_name(value, cx) or _native_function(value, cx)
            if target is None or not _dominates_reads(node, name, cx):
                return None
            if isinstance(_known_value(value, cx), np.dtype) and _needs_itself(name, cx):
                return None
            record_facts(cx.facts, node)
            cx.aliases[name] = target
            return residual_statements(value, cx)
        case ast.Call(func=ast.Call() | ast.Attribute() as func):
            target = _class_name(func, cx) if cx.resolve(func) is None else None
            if target is None or isinstance(_known_value(func, cx), np.dtype):
                return None
            cx.before(*residual_statements(func, cx))
            return copy_location(ast.Call(target, node.args, node.keywords), node)
    return None


def _class_name(e: ast.expr, cx: Context) -> ast.expr | None:
    """An expression that names the class of numbers that `e` evaluates to: ``float`` or
    ``np.float64``. None for other values, and for one that has no such name in the function.
    """
    value = _known_value(e, cx)
    if isinstance(value, np.dtype):
        value = value.type
    if not isinstance(value, type):
        return None
    name: str = value.__name__
    if any(value is t for t in (int, float, complex, bool)) and cx.is_builtin(name):
        named: ast.expr = ast.Name(name, ast.Load())
    elif issubclass(value, np.generic) and getattr(np, name, None) is value:
        named = ast.Attribute(cx.numpy, name, ast.Load())
    else:
        return None
    return copy_location(named, e)


def _known_value(e: ast.expr, cx: Context) -> Any:
    """The value of `e`, if it is known at compile time (`static_value`) or a free name; or None."""
    static = static_value(e, cx)
    return static.value if static else cx.resolve(e)


def _needs_itself(name: str, cx: Context) -> bool:
    """Whether the function calls `name`, or compares it by ``is``."""
    for node in cx.names.nodes(name):
        match node:
            case ast.Call(func=ast.Name(id=called)) if called == name:
                return True
            case ast.Compare(left, ops, comparators) if (
                any(isinstance(op, (ast.Is, ast.IsNot)) for op in ops)
            ):
                if any(isinstance(e, ast.Name) and e.id == name for e in (left, *comparators)):
                    return True
    return False


def _native_function(e: ast.expr, cx: Context) -> ast.expr | None:
    """`e` if it is a name or attribute of a builtin or NumPy function; else None."""
    is_name = isinstance(e, (ast.Name, ast.Attribute))
    return e if is_name and is_native(cx.resolve(e)) else None


def _dominates_reads(assignment: ast.AST, name: str, cx: Context) -> bool:
    """Whether `assignment` is the only binding of `name`, and all reads come after it in its block.
    False if a statement that mentions it has an inner function.
    """
    stores = reads = 0
    for n in cx.names.nodes(name):
        if isinstance(n, ast.Name):
            if n.id == name and isinstance(n.ctx, ast.Load):
                reads += 1
            elif n.id == name:
                stores += 1
        elif isinstance(n, ast.arg):
            if n.arg == name:
                return False
        elif isinstance(n, (ast.FunctionDef, ast.Lambda)) and n is not cx.tree:
            return False
    after = _statements_after(assignment, name, cx) if stores == 1 else None
    if after is None:
        return False
    later = (n for n in cx.names.nodes(name, after) if isinstance(n, ast.Name) and n.id == name)
    return sum(isinstance(n.ctx, ast.Load) for n in later) == reads


def _statements_after(statement: ast.AST, name: str, cx: Context) -> list[ast.stmt] | None:
    """The statements behind `statement`, which mentions `name`, in its block; None if it is in no
    block of the function.
    """
    for block in cx.names.blocks(name):
        for k, s in enumerate(block):
            if s is statement:
                return block[k + 1 :]
    return None
