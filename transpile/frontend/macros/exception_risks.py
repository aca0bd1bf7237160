"""Which exceptions a statement or an expression of numbers may raise, and when.

    t = x[i] / n   →   Risk(<i < -len(x) or i >= len(x)>, IndexError), Risk(<n == 0>,
                       ZeroDivisionError)

Asked by `language.try_except`, which makes a test of each.
"""
from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from loopir.lazy_dataclass import record

from ...core_functions import TYPE_TESTS
from ...types.value_types import ELEMENTS, is_weak
from ..ast_names import binding_pairs
from ..ast_walk import copy_tree, walk_nodes
from ..core_nodes import copy_location
from .macro_context import Context

__all__ = ["ExceptionRisks", "Risk", "Unsupported"]


@record(frozen=True, slots=True)
class Risk:
    """An exception that an expression may raise."""

    test: ast.expr
    """The condition under which it is raised."""
    raises: type[Exception]
    """The class of the exception."""


class Unsupported(Exception):
    """Raised where it is not known which exceptions the body of a ``try`` may raise, or under which
    conditions: the ``try`` stays as it is, and lowering refuses it.
    """


_INFINITE = "X == INF or X == -INF"

_DOMAIN_ERRORS: dict[object, str] = {
    math.log: "X <= 0", math.log2: "X <= 0", math.log10: "X <= 0", math.log1p: "X <= -1",
    math.sqrt: "X < 0", math.asin: "X < -1 or X > 1", math.acos: "X < -1 or X > 1",
    math.acosh: "X < 1", math.atanh: "X <= -1 or X >= 1",
    math.sin: _INFINITE, math.cos: _INFINITE, math.tan: _INFINITE,
}
"""The conditions under which these functions of X raise ValueError. They agree with those of
`lower.state.float_exceptions.in_domain`, which is about Loop IR.
"""

_SAFE_CALLS: tuple[object, ...] = (
    math.fabs, math.atan, math.atan2, math.tanh, math.asinh, math.isnan, math.isinf, math.isfinite,
    math.copysign, abs, float, bool, len, *TYPE_TESTS,
)
"""Functions that raise nothing if their arguments are numbers no larger than a float."""

_TO_INT: tuple[object, ...] = (int, math.floor, math.ceil, math.trunc)
"""Functions that raise ValueError for NaN, and OverflowError for infinities."""

_ARITHMETIC_CALLS: tuple[object, ...] = (
    math.exp, math.expm1, math.pow, math.sinh, math.cosh, math.hypot, math.fmod,
)
"""Functions of numbers that raise ValueError or OverflowError, and nothing else."""


class ExceptionRisks:
    """Finds the risks of statements and expressions. Methods raise Unsupported where a risk is not
    known and a handler may catch the exception.

    ``is_caught(c)``: whether a handler catches exceptions of class `c`; others need no test.
    """

    def __init__(self, cx: Context, is_caught: Callable[[type[Exception]], bool]) -> None:
        self.cx, self.is_caught = cx, is_caught

    def of_any(self, s: ast.stmt) -> Iterator[Risk]:
        """As `of_statement`, also for loops. No test can stand for an exception in the header of a
        loop, which is evaluated in each iteration. So if the range or the condition has a risk that
        a handler catches, this raises Unsupported; else a loop has no risks.
        """
        match s:
            case ast.For(iter=ast.Call(func=func, args=args, keywords=[])) if any(
                self.cx.resolve(func) is f for f in (range, enumerate, zip, reversed)
            ):
                risks = [r for a in args for r in self._risks_of_iterable(a)]
            case ast.For(iter=iterable):
                risks = [*self._risks_of_iterable(iterable)]
            case ast.While(test=test):
                risks = [*self._of(test)]
            case _:
                yield from self.of_statement(s)
                return
        if any(self.is_caught(r.raises) for r in risks):
            raise Unsupported

    def _risks_of_iterable(self, e: ast.expr) -> Iterator[Risk]:
        """The risks of an argument of ``range``, ``zip`` and such, or of what a loop runs over."""
        fact = self.cx.fact(e)
        if not (isinstance(e, ast.Name) and (fact.array or fact.list_type)):
            yield from self._of(e)
            if not fact.is_int:
                raise Unsupported

    def _require_uncaught(self, *raised: type[Exception]) -> None:
        """For exceptions that may be raised under unknown conditions: raises Unsupported if a
        handler catches one.
        """
        if any(self.is_caught(r) for r in raised):
            raise Unsupported

    def of_statement(self, s: ast.stmt) -> Iterator[Risk]:
        """The risks of the statement `s` itself, not of its blocks, in the order of evaluation."""
        match s:
            case ast.Assign(targets=targets, value=value) if _binds_names(targets, value):
                yield from self._of(value)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                yield from self._of(value)
                yield from self._store_risks(target, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                left = copy_location(ast.Name(name, ast.Load()), s)
                yield from self._of(copy_location(ast.BinOp(left, op, value), s))
            case ast.AugAssign(target=ast.Subscript(value=x, slice=at) as target, op=op):
                read = copy_location(ast.Subscript(x, at, ast.Load()), target)
                combined = copy_location(ast.BinOp(read, op, s.value), s)
                yield from self._of(combined)
                yield from self._store_risks(target, combined)
            case ast.Expr(value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                args=[value], keywords=[],
            )) if self._is_display(name, ast.List):
                yield from self._of(value)
            case ast.Return(value=ast.expr() as value):
                yield from self._of(value)
            case ast.If(test=test):
                yield from self._of(test)
            case ast.Pass() | ast.Break() | ast.Continue() | ast.Return() | ast.Raise():
                pass
            case _:
                raise Unsupported

    def _of(self, e: ast.expr) -> Iterator[Risk]:
        """The exceptions that evaluating `e` may raise, each with the condition under which it
        does. They are in the order of evaluation: of two that would be raised, Python raises the
        first. The caller puts a test before the statement for each one that a handler catches.

            x[i] / n   →   Risk(<i < -len(x) or i >= len(x)>, IndexError),
                           Risk(<n == 0>, ZeroDivisionError)

        If no handler catches an exception, its condition need not be known: Python raises it in the
        replay. If one does, and it is not known, `_require_uncaught` raises Unsupported, and the
        ``try`` is not compiled. The same holds for operands of unknown type (`_require_number`),
        and always for a form of `e` that is not listed here, since it may raise anything.
        """
        match e:
            case ast.Name(id=name):
                if name in self.cx.may_be_unbound:
                    self._require_uncaught(UnboundLocalError)
                return
            case ast.Constant():
                return
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._of(left)
                yield from self._of(right)
                yield from self._operator_risks(left, op, right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
                yield from self._of(operand)
            case ast.Compare() | ast.BoolOp() | ast.IfExp():
                yield from self._conditional_risks(e)
            case ast.Tuple(elts=elts):
                for x in elts:
                    yield from self._of(x)
            case ast.Attribute(value=ast.Name() as x, attr="size" | "ndim") if (
                self.cx.fact(x).array
            ):
                return
            case ast.Subscript(value=ast.Attribute(value=ast.Name() as x, attr="shape"),
                               slice=ast.Constant()) if self.cx.fact(x).array:
                return
            case ast.Subscript():
                yield from self._subscript_risks(e)
            case ast.Call(args=[*args, x], keywords=[]):
                for a in (*args, x):
                    yield from self._of(a)
                yield from self._call_risks(e, x)
            case _:
                raise Unsupported
        if isinstance(e, (ast.BinOp, ast.UnaryOp)):
            self._require_number(e)

    def _conditional_risks(self, e: ast.Compare | ast.BoolOp | ast.IfExp) -> Iterator[Risk]:
        """The risks of a comparison, ``and``, ``or`` or conditional expression: its first operand
        is always evaluated, the others where those before do not decide.
        """
        match e:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                if isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)):
                    raise Unsupported
                yield from self._of(left)
                yield from self._of(right)
                self._require_number(left)
                self._require_number(right)
            case ast.Compare(left=left, ops=[op, *ops], comparators=[middle, *others]):
                first = copy_location(ast.Compare(left, [op], [middle]), e)
                yield from self._of(first)
                others_hold = copy_location(ast.Compare(middle, ops, others), e)
                yield from self._risks_where("A", first, others_hold)
            case ast.BoolOp(op=op, values=[left, *others]):
                second = others[0] if len(others) == 1 else ast.BoolOp(op, others)
                yield from self._of(left)
                self._require_number(left)
                condition = "A" if isinstance(op, ast.And) else "not A"
                yield from self._risks_where(condition, left, copy_location(second, e))
                self._require_number(second)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from self._of(test)
                self._require_number(test)
                yield from self._risks_where("A", test, body)
                yield from self._risks_where("not A", test, orelse)

    def _risks_where(self, condition: str, a: ast.expr, e: ast.expr) -> Iterator[Risk]:
        """The risks of `e`, evaluated only where the `condition` on the value of `a` holds."""
        for risk in self._of(e):
            test = self.cx.expr(f"({condition}) and (TEST)", A=copy_tree(a), TEST=risk.test)
            yield Risk(test, risk.raises)

    def _require_number(self, e: ast.expr) -> None:
        """Raises Unsupported if `e` may be no scalar of known type, and a handler catches what an
        operation on such a value may raise.
        """
        if self.cx.fact(e).rank != 0 or not self.cx.fact(e).types:
            self._require_uncaught(
                TypeError, ValueError, OverflowError, ZeroDivisionError, AttributeError
            )

    def _operator_risks(
        self, left: ast.expr, op: ast.operator, right: ast.expr
    ) -> Iterator[Risk]:
        """The risks of the operator itself. A division of two Python numbers raises for 0; one with
        a NumPy scalar warns instead.
        """
        self._require_number(left)
        self._require_number(right)
        if isinstance(op, (ast.Pow, ast.MatMult, ast.LShift, ast.RShift)):
            self._require_uncaught(ValueError, OverflowError, ZeroDivisionError)
        elif isinstance(op, (ast.Div, ast.FloorDiv, ast.Mod)):
            types = [self.cx.fact(x).types for x in (left, right)]
            is_python = [{is_weak(t) for t in of_operand} for of_operand in types]
            both_are_python = all(kinds == {True} for kinds in is_python)
            one_is_numpy = any(kinds == {False} for kinds in is_python)
            if both_are_python:
                yield Risk(self.cx.expr("B == 0", B=right), ZeroDivisionError)
            elif not one_is_numpy:
                self._require_uncaught(ZeroDivisionError)

    def _call_risks(self, e: ast.Call, x: ast.expr) -> Iterator[Risk]:
        """The risks of the call itself, whose last argument is `x`."""
        function = self.cx.resolve(e.func)
        if function is len:
            if not (self.cx.fact(x).array or self.cx.fact(x).list_type):
                raise Unsupported
            return
        for a in e.args:
            self._require_number(a)
        condition = next((t for f, t in _DOMAIN_ERRORS.items() if f is function), None)
        if condition is not None and len(e.args) == 1:
            test = self.cx.expr(condition, X=x, INF=ast.Constant(math.inf))
            yield Risk(test, ValueError)
        elif (function is max or function is min) and len(e.args) > 1:
            return
        elif function is math.trunc and not self._has_trunc(x):
            raise Unsupported
        elif any(f is function for f in _ARITHMETIC_CALLS):
            self._require_uncaught(ValueError, OverflowError)
        elif isinstance(function, np.ufunc) and function.nin == len(e.args):
            kinds = {ELEMENTS[t.dtype].kind for a in e.args for t in self.cx.fact(a).types}
            if kinds != {"f"} or "d" * function.nin + "->d" not in function.types:
                self._require_uncaught(TypeError, ValueError, OverflowError)
        elif any(f is function for f in _TO_INT) and len(e.args) == 1:
            if any(ELEMENTS[t.dtype].kind == "f" for t in self.cx.fact(x).types):
                yield Risk(self.cx.expr("X != X", X=x), ValueError)
                infinite = self.cx.expr(_INFINITE, X=x, INF=ast.Constant(math.inf))
                yield Risk(infinite, OverflowError)
        elif not any(f is function for f in _SAFE_CALLS):
            raise Unsupported

    def _has_trunc(self, x: ast.expr) -> bool:
        """Whether ``math.trunc`` takes the number `x`: Python's, and float64."""
        types = self.cx.fact(x).types
        return all(is_weak(t) or t.dtype == "f64" for t in types)

    def _subscript_risks(self, e: ast.Subscript) -> Iterator[Risk]:
        """The risks of reading the item `e` of a dict, list or array: a missing key, an index out
        of bounds.
        """
        match e.value, e.slice:
            case ast.Name(id=name) as x, index if self._is_display(name, ast.Dict):
                yield from self._of(index)
                yield Risk(self.cx.expr("K not in D", K=index, D=x), KeyError)
            case ast.Name() as x, index:
                indices = index.elts if isinstance(index, ast.Tuple) else [index]
                for i in indices:
                    yield from self._of(i)
                    kinds = {ELEMENTS[t.dtype].kind for t in self.cx.fact(i).types}
                    if self.cx.fact(i).rank != 0 or not kinds or kinds - {"i", "u"}:
                        raise Unsupported
                yield from self._bounds_risks(x, indices)
            case _:
                raise Unsupported

    def _bounds_risks(self, x: ast.Name, indices: Sequence[ast.expr]) -> Iterator[Risk]:
        """An IndexError for each of the int `indices` of `x`, one for each axis."""
        fact = self.cx.fact(x)
        is_list = self._is_display(x.id, ast.List)
        rank = fact.rank if fact.array or fact.list_type else 1 if is_list else 0
        if not rank or rank != len(indices):
            raise Unsupported
        for axis, i in enumerate(indices):
            n = "X.shape[K]" if axis else "len(X)"
            text = f"I < -{n} or I >= {n}"
            yield Risk(self.cx.expr(text, X=x, I=i, K=ast.Constant(axis)), IndexError)

    def _store_risks(self, target: ast.Subscript, value: ast.expr) -> Iterator[Risk]:
        """The risks of storing `value` to `target`. A float array takes every number; an int array
        raises for numbers that are too large, and for NaN.
        """
        match target:
            case ast.Subscript(value=ast.Name(id=name), slice=index) if (
                self._is_display(name, ast.Dict)
            ):
                yield from self._of(index)
                return
            case ast.Subscript(value=ast.Name(id=name) as x) if (
                not self._is_display(name, ast.List)
            ):
                array, is_list = self.cx.fact(x).array, bool(self.cx.fact(x).list_type)
                if array is None and not is_list:
                    raise Unsupported
                self._require_number(value)
                if array is not None and ELEMENTS[array.dtype].kind != "f":
                    self._require_uncaught(OverflowError)
                    if {ELEMENTS[t.dtype].kind for t in self.cx.fact(value).types} - {*"biu"}:
                        self._require_uncaught(ValueError)
        yield from self._subscript_risks(target)

    def _is_display(self, name: str, display: type[ast.expr]) -> bool:
        """Whether the local `name` is only ever bound to displays of that node type."""
        values = [v for s in self.cx.names.nodes(name) for t, v in binding_pairs(s)
                  if isinstance(t, ast.Name) and t.id == name]
        stores = [n for n in self.cx.names.nodes(name) if isinstance(n, ast.Name)
                  and n.id == name and not isinstance(n.ctx, ast.Load)]
        arguments = (n.arg for n in walk_nodes(self.cx.tree.args) if isinstance(n, ast.arg))
        is_local = bool(values) and name not in arguments
        return is_local and len(values) == len(stores) and all(
            isinstance(v, display) for v in values)


def _binds_names(targets: Sequence[ast.expr], value: ast.expr) -> bool:
    """Whether an assignment of `value` to `targets` binds names to it, or to items of a tuple."""
    match targets, value:
        case [ast.Tuple(elts=parts)], ast.Tuple(elts=items) if len(parts) == len(items):
            return all(isinstance(p, ast.Name) for p in parts)
    return all(isinstance(t, ast.Name) for t in targets)
