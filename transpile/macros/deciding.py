"""What types decide: ``x is None``, ``isinstance(n, int)``, ``mode == "same"`` → one branch."""
from __future__ import annotations

import ast
import operator
from abc import ABCMeta
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import numpy as np

from ..below import children
from ..types import ELEMENTS, ArrayType, Constant, ObjectType, Opaque, RecordType, ScalarType
from .contents import Contents
from .context import Context
from .env import Env
from .fact import Fact
from .firing import fires_on
from .liveness import left_to_python
from .samples import Exactly

__all__ = ["asked", "decided", "known_as", "may_decide"]

_PYTHON = {"i64": int, "f64": float, "bool": bool, "c128": complex}

_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}
_NONE = Exactly(None, type(None))


def may_decide(holds: Contents, env: Env) -> bool:
    """Whether `decided` may have something to do in a function, where it compares, or asks for
    types: not where all is numbers and arrays of them, and nothing but the end is left.
    """
    if not holds.called.isdisjoint(_ASKING) or not holds.methods.isdisjoint(_ASKING):
        return True
    if not holds.has(ast.Compare):
        return False
    known = holds.kinds <= _NUMERIC and holds.attributes <= _LENGTHS and not holds.leaving
    if not known or not holds.constants <= {int, float, complex}:
        return True
    if holds.fixed or ("shape" in holds.attributes and "len" in holds.called):
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
def decided(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
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
            if truth and left_to_python(node):
                return None  # undecided, it is asked where it stands, which may be nowhere
            return (body if truth else orelse) or [ast.copy_location(ast.Pass(), node)]
        case ast.IfExp(test=ast.Constant(value=bool(truth)), body=then, orelse=other):
            return then if truth else other
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=bool(truth))):
            return ast.Constant(not truth)
        case ast.BoolOp(op=op, values=[ast.Constant(value=bool() | None as said) as first, *rest]):
            if bool(said) is isinstance(op, ast.Or):
                return first
            return rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(op, rest), node)
        case ast.Name(ctx=ast.Load()):
            constant = cx.fact(node).constant
            if constant is None or not isinstance(constant.value, (str, type(None))):
                return None
            return _taken(node, constant.value, cx)
        case ast.Compare() | ast.Call():
            answer = _truth(node, cx)
            return None if answer is None else _taken(node, answer, cx)
    return None


def _taken(node: ast.expr, value: str | bool | None, cx: Context) -> ast.expr:
    """`value` in place of `node`; what it rests on is asked."""
    cx.before(*asked(node, cx))
    return ast.copy_location(ast.Constant(value), node)


def asked(node: ast.expr, cx: Context) -> list[ast.stmt]:
    """What is left of an expression of which types alone decide: its names are asked what they are,
    and what is computed in it is, in statements.
    """
    lines: list[ast.stmt] = []
    for part in _parts(node, cx):
        cx.ask(part)
        if not isinstance(part, (ast.Name, ast.Attribute)):
            lines += cx.code("NAME = E", NAME=cx.fresh("asked"), E=part)
        elif isinstance(part, ast.Name) and part.id in cx.may_be_unbound:
            lines.append(ast.copy_location(ast.Expr(part), node))
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
            for child in children(node):
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
            a, b = known_as(left, cx), known_as(right, cx)
            return None if a is None or b is None else _compared(op, a.value, b.value)
        case ast.Call(func=func, args=[of, of_types], keywords=[]):
            types = known_as(of_types, cx)
            known = types is not None and cx.resolve(func) is isinstance
            if types and known:
                return _is_one(_classes(of, cx), types.value)
    found = known_as(node, cx) if isinstance(node, ast.Call) else None
    return found.value if found and isinstance(found.value, bool) else None


def _compared(op: ast.cmpop, a: object, b: object) -> bool | None:
    try:
        truth = _OPERATORS[type(op)](a, b)
    except Exception:  # it is Python's to raise
        return None
    return truth if isinstance(truth, bool) else None


def _identical(op: ast.cmpop, left: ast.expr, right: ast.expr, cx: Context) -> bool | None:
    a, b = known_as(left, cx), known_as(right, cx)
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


def known_as(e: ast.expr, cx: Context) -> Exactly | None:
    """What `e` is, where that is known and no number that is computed."""
    match e:
        case ast.Constant(value=int() as value):
            return Exactly(value, type(value))
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            parts = [known_as(x, cx) for x in elts]
            return None if None in parts else Exactly(tuple(p.value for p in parts if p), tuple)
        case ast.Attribute(attr="ndim", value=of) | ast.Call(
            func=ast.Name(id="len"), args=[ast.Attribute(attr="shape", value=of)]
        ) if (fact := cx.fact(of)).types and fact.rank:
            return Exactly(fact.rank, int)
        case ast.Call(func=func, args=[of], keywords=[]) if (
            (fact := cx.fact(of)).types and fact.rank is not None
            and (cx.resolve(func) is np.ndim or cx.resolve(func) is np.isscalar)
        ):
            asked: object = not fact.rank if cx.resolve(func) is np.isscalar else fact.rank
            return Exactly(asked, type(asked))
        case ast.Attribute(attr="dtype", value=of) if types := cx.fact(of).types:
            strong = {None if isinstance(t, ScalarType) and t.weak else t.dtype for t in types}
            name = strong.pop()
            return None if name is None or strong else Exactly(ELEMENTS[name].numpy, np.dtype)
        case ast.Call(func=func, args=[of], keywords=[]) if cx.resolve(func) is type:
            classes = _classes(of, cx)
            return Exactly(classes.pop(), type) if len(classes) == 1 else None
        case ast.Attribute(attr="type" | "kind" | "itemsize" | "name" | "char" as attr, value=of):
            dtype = known_as(of, cx)
            if dtype is not None and isinstance(dtype.value, np.dtype):
                return Exactly(value := getattr(dtype.value, attr), type(value))
        case ast.Call(func=func, args=[of, kind], keywords=[]) if (
            cx.resolve(func) is np.issubdtype
        ):
            sides = _given(of, cx), _given(kind, cx)
            if all(isinstance(side, (type, np.dtype)) for side in sides):
                return Exactly(np.issubdtype(*sides), bool)  # type: ignore[arg-type]  # they are
    constant = cx.fact(e).constant
    return Exactly(constant.value, constant.kind) if constant else None


def _given(e: ast.expr, cx: Context) -> object | None:
    """What `e` is, known or by a name outside."""
    found = known_as(e, cx)
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
