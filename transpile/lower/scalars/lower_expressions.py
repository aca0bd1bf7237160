"""Lower scalar expressions: constants, comparisons, boolean logic and conditional expressions."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr, Load, Var

from ...frontend.refusal import refuse
from ...types.linear_form import INT64
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, bool_op, constant, fits_dtype
from ..complex.complex_split import COMPLEX_CALL
from ..state.symbol_values import Absent, ArrayRef, RecordArrayRef, Scalar, UnionCase, UnionValue
from .dual_semantics import in_both_semantics
from .scalar_arithmetic import BINARY
from .scalar_operands import to_operand_dtype, with_result_type
from .tagged_unions import Alternatives

__all__ = ["Expressions"]

_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[..., Any]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}
_NONE = UnionValue((UnionCase(Absent.NONE, TRUE),))


class Expressions(Alternatives):
    """Lowers scalar expressions; names, subscripts and calls are asked of the subclass."""

    def value(self, node: ast.expr) -> Any:
        raise NotImplementedError

    def num(self, node: ast.expr) -> Num:
        """`node` as a real scalar."""
        got = self.number(node)
        if isinstance(got, ComplexPair):
            return refuse("LOWER_COMPLEX", f"`{ast.unparse(node)}` is complex here", node)
        return got

    def number(self, node: ast.expr) -> Num | ComplexPair:
        """`node` as a scalar of one type."""
        return self.single(self.scalar(node), node)

    def scalar(self, node: ast.expr) -> Scalar:
        """`node` as a scalar, maybe of several types, or None."""
        match node:
            case ast.Constant(value=None):
                return _NONE
            case ast.Constant(value=complex() as value):
                return self.literal(value)
            case ast.Constant(value=bool() | int() | float() as value):
                if isinstance(value, int) and not INT64[0] <= value <= INT64[1]:
                    refuse("LOWER_TYPE", f"the int {value} needs more than 64 bits", node)
                return constant(value)
            case ast.Call(func=ast.Name(id=made), args=[re, im]) if made == COMPLEX_CALL:
                return self.joined(self.num(re), self.num(im), ast.unparse(re))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                operate = partial(self.operated, type(op), node=node)
                return self.each(operate, node, self.scalar(left), self.scalar(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Num(bool_op("not", self.test(operand)), weak="bool")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.each(partial(self.negated, node=node), node, self.scalar(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.each(partial(self._plus, node=node), node, self.scalar(operand))
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self.each(partial(self._invert, node=node), node, self.scalar(operand))
            case ast.Compare():
                return self.compare(node)
            case ast.BoolOp():
                return self.boolean(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.conditional(test, body, orelse, node)
            case _:
                got = self.value(node)
                if isinstance(got, (Num, ComplexPair, UnionValue)):
                    return got
                if isinstance(got, RecordArrayRef):
                    refuse("LOWER_TYPE", f"`{ast.unparse(node)}` is a whole record", node)
                rank = got.rank if isinstance(got, ArrayRef) else None
                of = " here" if rank is None else f" but an array with {rank} axes"
                return refuse(
                    "LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is not a number{of}", node
                )

    def compare(self, node: ast.Compare, *, only_truth: bool = False) -> Scalar:
        """``a < b < c``: each operand once, later ones only where the comparisons before hold."""
        left = self.compared(node.left)
        if len(node.ops) > 1:
            left = self.rebound(left, "left")
        rest = list(zip(node.ops, node.comparators, strict=True))
        return self._chain(left, rest, node, only_truth)

    def _chain(
        self,
        left: Scalar,
        rest: list[tuple[ast.cmpop, ast.expr]],
        node: ast.AST,
        only_truth: bool,
    ) -> Scalar:
        (op, right_node), *more = rest
        right = self.compared(right_node)
        if more:
            right = self.rebound(right, "middle")
        first = self._compared_once(op, left, right, node)
        if not more:
            return first
        holds = self.truth(first, node)
        with self.b.under(holds):
            second = self._chain(right, more, node, only_truth)
        if only_truth:
            return Num(bool_op("and", holds, self.truth(second, node)), weak="bool")
        return self._and_or("and", first, second, node)

    def _compared_once(self, op: ast.cmpop, x: Scalar, y: Scalar, node: ast.AST) -> Scalar:
        none = next((n for n in (y, x) if n == _NONE), None)
        if none is None or not isinstance(op, (ast.Is, ast.IsNot)):
            return self.each(lambda p, q: self.compare_nums(op, p, q, node), node, x, y)
        same = self.is_none(x if none is y else y, node)
        return Num(same if isinstance(op, ast.Is) else bool_op("not", same), weak="bool")

    def compare_nums(
        self, op: ast.cmpop, x: Num | ComplexPair, y: Num | ComplexPair, node: ast.AST
    ) -> Num:
        if type(op) not in _COMPARE:
            refuse("LOWER_UNSUPPORTED", "`is` and `in` are not compiled", node)
        name, function = _COMPARE[type(op)]
        if isinstance(x, ComplexPair) or isinstance(y, ComplexPair):
            return self.equal(name, function, x, y, node)
        if not (x.exact and y.exact) or _is_open(x, y) or _is_open(y, x):
            got = in_both_semantics(self.b, (x, y), lambda p, q: self.compare_nums(op, p, q, node))
            if got is not None:
                return got
            x, y = self.settled(x, node), self.settled(y, node)
        ty = self._result(function, (x, y), node)
        dtype = self._common(x, y, node)
        a, c = to_operand_dtype(self.b, x, dtype, node), to_operand_dtype(self.b, y, dtype, node)
        return with_result_type(Call(name, (a, c), "bool"), ty, x, y)

    def _common(self, x: Num, y: Num, node: ast.AST) -> str:
        """The dtype in which two values are compared as NumPy compares them."""
        for n, m in ((x, y), (y, x)):
            if not n.exact and m.dtype != n.dtype:
                refuse(
                    "LOWER_JOIN",
                    "the value is a NumPy or a Python number depending on the data",
                    node,
                )
            if n.strong and m.weak and not m.strong:
                kind, other = DTYPES[n.strong].kind, m.weak
                if kind == "f":
                    return n.strong
                own = n.dtype == n.strong  # an int of Python's is compared as it is
                if kind in "iu" and other != "f64" and own and fits_dtype(m.ir, n.strong):
                    return n.strong
        if x.dtype == y.dtype:
            return x.dtype
        kinds = {DTYPES[x.dtype].kind, DTYPES[y.dtype].kind}
        if "f" not in kinds:
            if "u64" in (x.dtype, y.dtype):
                refuse("LOWER_TYPE", "a uint64 is compared with a signed integer", node)
            return "i64" if x.dtype != y.dtype else x.dtype
        if {x.dtype, y.dtype} & {"i64", "u64"} and x.weak and y.weak:
            self._exact_ints(
                x if x.weak == "i64" else constant(0), y if y.weak == "i64" else constant(0), node
            )
        if kinds == {"f", "i"} or kinds == {"f", "u"}:
            narrow = x if DTYPES[x.dtype].kind != "f" else y
            if (x.either or y.either) and DTYPES[narrow.dtype].bytes <= 4:
                return "f64"  # whichever type it has, both are compared as they are
        ty = self._result(operator.add, (x, y), node)
        return ty.dtype

    def test(self, node: ast.expr) -> Expr:
        """``bool(node)``: where only that matters, ``and`` and ``or`` may join any two types."""
        if isinstance(node, ast.Compare):
            return self.truth(self.compare(node, only_truth=True), node)
        if not isinstance(node, ast.BoolOp):
            return self.truth(self.scalar(node), node)
        name = "and" if isinstance(node.op, ast.And) else "or"
        out = self.test(node.values[0])
        for value in node.values[1:]:
            if out == (FALSE if name == "and" else TRUE):
                break
            out = self.b.bind(out, "left")
            with self.b.under(out if name == "and" else bool_op("not", out)):
                right = self.test(value)
            out = bool_op(name, out, right)
        return out

    def boolean(self, node: ast.BoolOp) -> Scalar:
        """``and``/``or``: the first operand that decides; later ones only where they are needed."""
        name = "and" if isinstance(node.op, ast.And) else "or"
        out = self.scalar(node.values[0])
        for value in node.values[1:]:
            out = self.rebound(out, "left")
            holds = self.truth(out, node)
            if holds == (FALSE if name == "and" else TRUE):
                break
            with self.b.under(holds if name == "and" else bool_op("not", holds)):
                right = self.scalar(value)
            out = self._and_or(name, out, right, node)
        return out

    def _and_or(self, name: str, x: Scalar, y: Scalar, node: ast.AST) -> Scalar:
        first, second = (y, x) if name == "and" else (x, y)
        got = self.either(self.truth(x, node), first, second, node)
        if not (isinstance(x, Num) and isinstance(y, Num) and isinstance(got, Num)):
            return got
        return replace(got, ir=bool_op(name, x.ir, y.ir)) if x.dtype == y.dtype == "bool" else got

    def conditional(
        self, test: ast.expr, body: ast.expr, orelse: ast.expr, node: ast.AST
    ) -> Scalar:
        cond = self.test(test)
        if isinstance(cond, Const):
            return self.scalar(body if cond.value else orelse)
        if not _plain(cond):
            cond = self.b.bind(cond, "cond")
        with self.b.under(cond):
            then = self.scalar(body)
        with self.b.under(bool_op("not", cond)):
            other = self.scalar(orelse)
        return self.either(cond, then, other, node)


def _is_open(n: Num, m: Num) -> bool:
    """Whether it is not known in which of two float types `n` is compared with `m`, Python's."""
    float_ = n.strong is not None and DTYPES[n.strong].kind == "f"
    return n.either and n.dtype != n.strong and float_ and m.strong is None


def _plain(cond: Expr) -> bool:
    """A comparison of values that cost nothing: to be written twice, and perhaps a maximum."""
    return isinstance(cond, Call) and all(map(_at_hand, cond.args))


def _at_hand(e: Expr) -> bool:
    match e:
        case Call("cast", (inner,)):
            return isinstance(inner, (Var, Load))
        case _:
            return isinstance(e, (Var, Const, Load))
