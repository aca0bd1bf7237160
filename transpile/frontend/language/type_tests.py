"""Static resolution of type tests: ``x is None``, ``isinstance(n, int)``, ``T = type(x[0])``.

Types decide which branch is taken; also string arguments such as ``mode == "same"``.
"""
from __future__ import annotations

import ast
import operator
from abc import ABCMeta
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import numpy as np

from ...analysis.type_facts import Fact
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
from ..ast_walk import child_nodes, walk_nodes
from ..core_nodes import ReplayIf, copy_location
from ..macros.firing_conditions import names_class
from ..macros.macro_context import Context
from ..macros.macro_index import CALLED, METHOD, fires_on, other_than
from ..macros.tree_contents import Contents
from ..name_resolution import is_native

__all__ = ["residual_checks", "type_test", "static_value", "may_be_type_test", "class_alias"]

_PYTHON = {"i64": int, "f64": float, "bool": bool, "c128": complex}

_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}
_NONE = ExactSample(None, type(None))


def may_be_type_test(holds: Contents, env: Env) -> bool:
    """Whether `type_test` may have something to do in a function, where it compares, or asks for
    types: not where all is numbers and arrays of them, and nothing but the end is left.
    """
    if not holds.called.isdisjoint(_ASKING) or not holds.methods.isdisjoint(_ASKING):
        return True
    if not holds.has(ast.Compare):
        return False
    known = holds.kinds <= _NUMERIC and holds.attributes <= _LENGTHS and not holds.has_early_exit
    if not known or not holds.constants <= {int, float, complex}:
        return True
    if holds.compares_constants or ("shape" in holds.attributes and "len" in holds.called):
        return True
    called = [env.resolve(ast.Name(name, ast.Load())) for name in holds.called]
    types = (env.type(ast.Name(name, ast.Load())) for name in holds.names - holds.called)
    computing = all(any(f is g for g in _COMPUTING) for f in called)
    return not computing or any(isinstance(ty, _TELLING) for ty in types)


_ASKING = frozenset({"isinstance", "issubdtype"})
_LENGTHS = frozenset({"shape", "size"})
_COMPUTING = (abs, enumerate, float, int, len, max, min, range, sum, zip)
_TELLING = (Constant, ObjectType, Opaque, RecordType)
_NUMERIC = frozenset({
    ast.Assign, ast.Attribute, ast.AugAssign, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare,
    ast.Constant, ast.For, ast.FunctionDef, ast.If, ast.IfExp, ast.Name, ast.Return, ast.Slice,
    ast.Subscript, ast.Tuple, ast.UnaryOp, ast.While, ast.arg, ast.arguments,
})
"""What a function that nothing is decided in may consist of, where its names are numbers and
arrays.
"""


@fires_on(ast.If, ast.IfExp, test=ast.Constant)
@fires_on(ast.UnaryOp, op=ast.Not, operand=ast.Constant)
@fires_on(ast.BoolOp, ast.Compare, ast.Call)
@fires_on(ast.Name, ctx=ast.Load)
def type_test(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """What decides stands alone in front of all, to be what it is at each call.

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

    What is more than a name is still evaluated, for it may raise: ``x[0] is None``.
    """
    match node:
        case ast.If(test=ast.Constant(value=bool(truth)), body=body, orelse=orelse):
            if truth and isinstance(node, ReplayIf):
                return None  # undecided, it is asked where it stands, which may be nowhere
            return (body if truth else orelse) or [copy_location(ast.Pass(), node)]
        case ast.IfExp(test=ast.Constant(value=bool(truth)), body=then, orelse=other):
            return then if truth else other
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=bool(truth))):
            return ast.Constant(not truth)
        case ast.BoolOp(op=op, values=[ast.Constant(value=bool() | None as said) as first, *rest]):
            if bool(said) is isinstance(op, ast.Or):
                return first
            return rest[0] if len(rest) == 1 else copy_location(ast.BoolOp(op, rest), node)
        case ast.Name(ctx=ast.Load()):
            constant = cx.fact(node).constant
            if constant is None or not isinstance(constant.value, (str, type(None))):
                return None
            return _with_checks(node, constant.value, cx)
        case ast.Compare() | ast.Call():
            answer = _truth(node, cx)
            return None if answer is None else _with_checks(node, answer, cx)
    return None


def _with_checks(node: ast.expr, value: str | bool | None, cx: Context) -> ast.expr:
    """`value` in place of `node`; what it rests on is asked."""
    cx.before(*residual_checks(node, cx))
    return copy_location(ast.Constant(value), node)


def residual_checks(node: ast.expr, cx: Context) -> list[ast.stmt]:
    """What is left of an expression of which types alone decide: its names are asked what they are,
    and what is computed in it is, in statements.
    """
    lines: list[ast.stmt] = []
    for part in _parts(node, cx):
        cx.ask(part)
        if not isinstance(part, (ast.Name, ast.Attribute)):
            lines += cx.code("NAME = E", NAME=cx.fresh("asked"), E=part)
        elif isinstance(part, ast.Name) and part.id in cx.may_be_unbound:
            lines.append(copy_location(ast.Expr(part), node))
    return lines


_ABOUT = (isinstance, type, len, np.ndim, np.isscalar, np.issubdtype)
"""Functions of what types alone may tell."""


def _parts(node: ast.AST, cx: Context) -> Iterator[ast.expr]:
    """Names, chains of attributes that stand for something, and what is computed."""
    match node:
        case ast.Constant():
            return
        case ast.Name():
            yield node
        case ast.Attribute(value=of):
            if cx.resolve(node):
                yield node
            else:
                yield from _parts(of, cx)
        case ast.Compare() | ast.Tuple() | ast.List() | ast.Set():
            for child in child_nodes(node):
                yield from _parts(child, cx)
        case ast.Call(func=func, args=args, keywords=[]) if _tells_of_types(func, cx):
            for child in (func, *args):
                yield from _parts(child, cx)
        case ast.expr():
            yield node


def _tells_of_types(func: ast.expr, cx: Context) -> bool:
    found = cx.resolve(func)
    return any(found is f for f in _ABOUT)


def _truth(node: ast.expr, cx: Context) -> bool | None:
    match node:
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[right]):
            return _identical(op, left, right, cx)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            a, b = static_value(left, cx), static_value(right, cx)
            return None if a is None or b is None else _compared(op, a.value, b.value)
        case ast.Call(func=func, args=[of, of_types], keywords=[]):
            types = static_value(of_types, cx)
            known = types is not None and cx.resolve(func) is isinstance
            if types and known:
                return _is_one(_classes(of, cx), types.value)
    found = static_value(node, cx) if isinstance(node, ast.Call) else None
    return found.value if found and isinstance(found.value, bool) else None


def _compared(op: ast.cmpop, a: object, b: object) -> bool | None:
    try:
        truth = _OPERATORS[type(op)](a, b)
    except Exception:  # it is Python's to raise
        return None
    return truth if isinstance(truth, bool) else None


def _identical(op: ast.cmpop, left: ast.expr, right: ast.expr, cx: Context) -> bool | None:
    a, b = static_value(left, cx), static_value(right, cx)
    if a and b and any(isinstance(v.value, (type, Enum, type(None))) for v in (a, b)):
        return _compared(op, a.value, b.value)
    for known, other in ((a, right), (b, left)):
        if known == _NONE and _something(cx.fact(other)):
            return isinstance(op, ast.IsNot)
    return None


def _something(fact: Fact) -> bool:
    """Whether it is not None."""
    known = fact.rank is not None or fact.record is not None or bool(fact.kinds)
    return known and all(k != Constant(None, type(None)) for k in fact.kinds)


def static_value(e: ast.expr, cx: Context) -> ExactSample | None:
    """What `e` is, where that is known and no number that is computed."""
    match e:
        case ast.Constant(value=int() as value):
            return ExactSample(value, type(value))
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            parts = [static_value(x, cx) for x in elts]
            return None if None in parts else ExactSample(tuple(p.value for p in parts if p), tuple)
        case ast.Attribute(attr="ndim", value=of) | ast.Call(
            func=ast.Name(id="len"), args=[ast.Attribute(attr="shape", value=of)]
        ) if (fact := cx.fact(of)).types and fact.rank:
            return ExactSample(fact.rank, int)
        case ast.Call(func=func, args=[of], keywords=[]) if (
            (fact := cx.fact(of)).types and fact.rank is not None
            and (cx.resolve(func) is np.ndim or cx.resolve(func) is np.isscalar)
        ):
            asked: object = not fact.rank if cx.resolve(func) is np.isscalar else fact.rank
            return ExactSample(asked, type(asked))
        case ast.Attribute(attr="dtype", value=of) if types := cx.fact(of).types:
            strong = {None if isinstance(t, ScalarType) and t.weak else t.dtype for t in types}
            name = strong.pop()
            return None if name is None or strong else ExactSample(ELEMENTS[name].numpy, np.dtype)
        case ast.Call(func=func, args=[of], keywords=[]) if cx.resolve(func) is type:
            classes = _classes(of, cx)
            return ExactSample(classes.pop(), type) if len(classes) == 1 else None
        case ast.Attribute(attr="type" | "kind" | "itemsize" | "name" | "char" as attr, value=of):
            dtype = static_value(of, cx)
            if dtype is not None and isinstance(dtype.value, np.dtype):
                return ExactSample(value := getattr(dtype.value, attr), type(value))
        case ast.Call(func=func, args=[of, kind], keywords=[]) if (
            cx.resolve(func) is np.issubdtype
        ):
            sides = _static_or_outer(of, cx), _static_or_outer(kind, cx)
            if all(isinstance(side, (type, np.dtype)) for side in sides):
                return ExactSample(np.issubdtype(*sides), bool)  # type: ignore[arg-type]  # they are
    constant = cx.fact(e).constant
    return ExactSample(constant.value, constant.kind) if constant else None


def _static_or_outer(e: ast.expr, cx: Context) -> object | None:
    """What `e` is, known or by a name outside."""
    found = static_value(e, cx)
    return found.value if found else cx.resolve(e)


def _classes(e: ast.expr, cx: Context) -> set[type]:
    """What the value of `e` is an instance of; none where that is not known."""
    return {_class_of(k) for k in cx.fact(e).kinds}


def _class_of(kind: ArrayType | ScalarType | Constant) -> type:
    match kind:
        case ScalarType(dtype, weak):
            return _PYTHON[dtype] if weak else ELEMENTS[dtype].numpy.type
        case Constant(_, of):
            return of
        case _:
            return np.ndarray


def _is_one(classes: set[type], of: object) -> bool | None:
    plain = of if isinstance(of, tuple) else (of,)
    if not all(isinstance(t, type) and type(t) in (type, ABCMeta) for t in plain):
        return None
    answers = {issubclass(c, plain) for c in classes}
    return answers.pop() if len(answers) == 1 else None


@fires_on(ast.Name, ctx=ast.Load, when=names_class)
@fires_on(
    ast.Assign, targets=ast.Name,
    value=other_than(ast.BinOp, ast.Constant, ast.ListComp, ast.UnaryOp),
)
@fires_on(ast.Call, calls=[CALLED, METHOD])
def class_alias(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """A name that is bound once, ahead of all that reads it, is what it stands for.

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
    """
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return cx.stands.get(name)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            meant = _class_display(value, cx) or _native_function(value, cx)
            if meant is None or not _leads(node, name, cx):
                return None
            cx.facts.record(node)
            cx.stands[name] = meant
            return residual_checks(value, cx)
        case ast.Call(func=ast.Call() | ast.Attribute() as func):
            meant = _class_display(func, cx) if cx.resolve(func) is None else None
            if meant is None:
                return None
            cx.before(*residual_checks(func, cx))
            return copy_location(ast.Call(meant, node.args, node.keywords), node)
    return None


def _class_display(e: ast.expr, cx: Context) -> ast.expr | None:
    """The class of numbers, or of an array's elements, that `e` is, as what it is called by."""
    found = static_value(e, cx)
    value: Any = found.value if found else cx.resolve(e)
    if isinstance(value, np.dtype):
        value = value.type
    if not isinstance(value, type):
        return None
    name: str = value.__name__
    if any(value is t for t in (int, float, complex, bool)) and cx.means(name):
        meant: ast.expr = ast.Name(name, ast.Load())
    elif issubclass(value, np.generic) and getattr(np, name, None) is value:
        meant = ast.Attribute(cx.numpy, name, ast.Load())
    else:
        return None
    return copy_location(meant, e)


def _native_function(e: ast.expr, cx: Context) -> ast.expr | None:
    """A function of NumPy's or Python's own, by a name that it has outside."""
    found = isinstance(e, (ast.Name, ast.Attribute)) and is_native(cx.resolve(e))
    return e if found else None


def _leads(assignment: ast.AST, name: str, cx: Context) -> bool:
    """Whether `assignment` alone binds `name`, and all that reads it comes after, in its block."""
    nodes = [n for n in walk_nodes(cx.tree) if isinstance(n, ast.Name) and n.id == name]
    given = {a.arg for a in walk_nodes(cx.tree.args) if isinstance(a, ast.arg)}
    inner = (ast.FunctionDef, ast.Lambda)
    if name in given or any(isinstance(n, inner) for s in cx.tree.body for n in walk_nodes(s)):
        return False
    after = next((b[k + 1 :] for b, k in _places(cx.tree, assignment)), None)
    if after is None:
        return False
    later = {id(n) for s in after for n in walk_nodes(s)}
    return sum(not isinstance(n.ctx, ast.Load) for n in nodes) == 1 and all(
        id(n) in later for n in nodes if isinstance(n.ctx, ast.Load)
    )


def _places(tree: ast.AST, statement: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """The block that `statement` stands in, and where."""
    for node in walk_nodes(tree):
        for _, block in ast.iter_fields(node):
            if isinstance(block, list):
                yield from ((block, k) for k, s in enumerate(block) if s is statement)
