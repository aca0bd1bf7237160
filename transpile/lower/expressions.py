"""Scalar expressions of Python → Loop IR, with the type and the failures that Python or NumPy would
have.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from loopir.nodes import Call, Const, Expr, Load, Var
from loopir.types import DTYPES

from ..infer import FALSE, TRUE, Num, cast, constant, fits, join, logic, result
from ..ranges import INT64, Linear, integer
from ..types import ScalarType
from .builder import Builder, refuse

__all__ = ["Expressions", "convert", "truth"]

_BINARY: dict[type[ast.operator], tuple[str, Callable[..., Any], str]] = {
    ast.Add: ("add", operator.add, "scalar add"),
    ast.Sub: ("sub", operator.sub, "scalar subtract"),
    ast.Mult: ("mul", operator.mul, "scalar multiply"),
    ast.Div: ("div", operator.truediv, "scalar divide"),
    ast.FloorDiv: ("floordiv", operator.floordiv, "scalar floor_divide"),
    ast.Mod: ("mod", operator.mod, "scalar remainder"),
    ast.Pow: ("pow", operator.pow, "scalar power"),
    ast.BitAnd: ("bitand", operator.and_, "scalar bitwise_and"),
    ast.BitOr: ("bitor", operator.or_, "scalar bitwise_or"),
    ast.BitXor: ("bitxor", operator.xor, "scalar bitwise_xor"),
}
_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[..., Any]]] = {
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
}
_ON_BOOLS = {"add": "or", "mul": "and", "bitand": "and", "bitor": "or", "bitxor": "xor"}
_EXACT_F64 = 1 << 53


def truth(n: Num) -> Expr:
    """``bool(n)``."""
    if n.dtype == "bool":
        return n.ir
    if isinstance(n.ir, Const):
        return TRUE if n.ir.value else FALSE
    return Call("ne", (n.ir, Const(0, n.dtype)), "bool")


def typed(ir: Expr, ty: ScalarType, *operands: Num) -> Num:
    """`ir` with the type that NumPy or Python gave for `operands`."""
    if not ty.weak:
        return Num(ir, strong=ty.dtype)
    if any(n.either for n in operands):
        weak: Expr = TRUE
        for n in operands:
            weak = logic("and", weak, n.weak_now)
        return Num(ir, ty.dtype, ty.dtype, weak)
    return Num(ir, weak=ty.dtype)


def convert(b: Builder, n: Num, dtype: str, node: ast.AST) -> Expr:
    """`n` as an operand of dtype `dtype`, as NumPy converts it; Python raises where a Python int
    does not fit.
    """
    if not n.exact and n.dtype != dtype:
        refuse("LOWER_JOIN", "the value is a NumPy or a Python number depending on the data", node)
    to = DTYPES[dtype]
    e: Expr
    if n.weak == "i64" and to.kind in "iu" and dtype != "i64" and n.dtype != dtype:
        lo, hi = n.range
        if lo < to.low or hi > to.high:
            if isinstance(n.ir, Const) and n.strong is None:
                refuse(
                    "LOWER_TYPE",
                    f"the Python int {n.ir.value} is out of bounds for {to.numpy}",
                    node,
                )
            e = b.bind(n.ir)
            top = TRUE if to.high > INT64[1] else Call("le", (e, integer(to.high)), "bool")
            e = cast(e, "i64")
            b.require(
                logic("and", Call("ge", (e, integer(to.low)), "bool"), top), "GUARD_INT_RANGE", node
            )
            return cast(e, dtype)
    return cast(n.ir, dtype)


class Expressions:
    """Lowers scalar expressions through a builder; names, subscripts and calls are asked of the
    subclass.
    """

    b: Builder

    def value(self, node: ast.expr) -> Any:
        raise NotImplementedError

    def num(self, node: ast.expr) -> Num:
        """`node` as a scalar."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                if isinstance(value, int) and not INT64[0] <= value <= INT64[1]:
                    refuse("LOWER_TYPE", f"the int {value} needs more than 64 bits", node)
                return constant(value)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self.binary(type(op), self.num(left), self.num(right), node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Num(logic("not", self.test(operand)), weak="bool")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.negative(self.num(operand), node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._plus(self.num(operand), node)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self._invert(self.num(operand), node)
            case ast.Compare():
                return self.compare(node)
            case ast.BoolOp():
                return self.boolean(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.conditional(test, body, orelse, node)
            case _:
                got = self.value(node)
                if isinstance(got, Num):
                    return got
                return refuse(
                    "LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is not a number here", node
                )

    # -- arithmetic

    def binary(self, op: type[ast.operator], x: Num, y: Num, node: ast.AST) -> Num:
        name, function, spelled = _BINARY[op]
        if x.python_int and y.python_int and name in ("add", "sub", "mul"):
            return self._int_linear(name, x, y, node)
        if name == "pow":
            return self._power(x, y, node)
        if _depends(function, x, y):
            if (got := self._either_int(name, x, y, node, spelled)) is not None:
                return got
            x, y = self.settled(x, node), self.settled(y, node)
        ty = self._result(function, (x, y), node)
        if ty.dtype == "bool":
            if name not in _ON_BOOLS:
                refuse("LOWER_TYPE", f"`{name}` of two bools is not compiled", node)
            return typed(Call(_ON_BOOLS[name], (x.ir, y.ir), "bool"), ty, x, y)
        if name == "div":
            self._exact_ints(x, y, node)
        a, c = convert(self.b, x, ty.dtype, node), convert(self.b, y, ty.dtype, node)
        if DTYPES[ty.dtype].kind == "f":
            return self._float(name, a, c, ty, (x, y), node, spelled)
        return self._integer(name, a, c, ty, (x, y), node, spelled)

    def _either_int(self, name: str, x: Num, y: Num, node: ast.AST, spelled: str) -> Num | None:
        """``+ - *`` of integers that may be NumPy's or Python's, in 64 bits.

        The two agree unless NumPy's overflows, and then it warns. None where that is not the case.
        """
        strong, weak = (
            _either_way(_FUNCTIONS[name], (x, y)) if name in _BINARY_INT else (None, None)
        )
        if strong is None or weak is None or not weak.weak or weak.dtype != "i64":
            return None
        to = DTYPES[strong.dtype]
        lo, hi = _corners(name, x, y)
        if to.kind not in "iu" or strong.dtype in ("i64", "u64") or not _in_int64(lo, hi):
            return None
        e = self.b.bind(Call(name, (cast(x.ir, "i64"), cast(y.ir, "i64")), "i64"))
        is_weak = logic("and", x.weak_now, y.weak_now)
        if lo < to.low or hi > to.high:
            inside = logic(
                "and",
                Call("ge", (e, integer(to.low)), "bool"),
                Call("le", (e, integer(to.high)), "bool"),
            )
            self._fits(logic("or", is_weak, inside), strong, node, spelled)
        return Num(e, strong.dtype, "i64", is_weak, interval=(lo, hi))

    def settled(self, n: Num, node: ast.AST) -> Num:
        """`n` as the NumPy scalar that it is unless no iteration has made it one; then Python must
        decide.
        """
        if not n.either or self.b.frames:
            return n
        assert n.strong is not None
        self.b.require(logic("not", n.weak_now), "GUARD_EMPTY", node)
        return Num(cast(n.ir, n.strong), strong=n.strong, boxed=n.boxed)

    def _result(
        self, function: Callable[..., Any], operands: tuple[Num, ...], node: ast.AST
    ) -> ScalarType:
        ty = result(function, *operands)
        if ty is not None:
            return ty
        if any(n.either for n in operands):
            strong, weak = _either_way(function, operands)
            if strong and weak and strong.dtype == weak.dtype:
                return weak
            return refuse("LOWER_JOIN", "the type of the operation depends on the data", node)
        kinds = ", ".join(str(n.strong or n.weak) for n in operands)
        return refuse(
            "LOWER_TYPE", f"the operation on {kinds} gives a type that is not compiled", node
        )

    def _exact_ints(self, x: Num, y: Num, node: ast.AST) -> None:
        """Python divides ints exactly; converting them first is the same only up to 2**53."""
        if x.weak != "i64" or y.weak != "i64":
            return
        for n in (x, y):
            if n.dtype == "i64" and (n.range[0] < -_EXACT_F64 or n.range[1] > _EXACT_F64):
                inside = logic(
                    "and",
                    Call("le", (n.ir, integer(_EXACT_F64)), "bool"),
                    Call("ge", (n.ir, integer(-_EXACT_F64)), "bool"),
                )
                self.b.require(inside, "GUARD_INT_RANGE", node)

    def _float(
        self,
        name: str,
        a: Expr,
        c: Expr,
        ty: ScalarType,
        operands: tuple[Num, ...],
        node: ast.AST,
        spelled: str,
    ) -> Num:
        if name in ("div", "floordiv", "mod") and ty.weak:
            self._nonzero(operands[1], c, node)
        if name not in ("add", "sub", "mul", "div", "floordiv", "mod"):
            refuse("LOWER_TYPE", f"`{name}` is not defined for floats", node)
        if not ty.weak:
            summed = any(n.ir in self.b.accumulators for n in operands)
            self.b.source(name, spelled, node, certain=not summed)
        if name in ("floordiv", "mod"):
            c = self.b.bind(c)
        return typed(self.b.apply(name, a, c), ty, *operands)

    def _nonzero(self, n: Num, e: Expr, node: ast.AST) -> None:
        """Python raises where a divisor is zero."""
        if n.python_int and (n.interval[0] > 0 or n.interval[1] < 0):
            return
        if isinstance(e, Const):
            if not e.value:
                self.b.require(FALSE, "GUARD_DIVISION", node)
            return
        self.b.require(Call("ne", (e, Const(0, e.dtype)), "bool"), "GUARD_DIVISION", node)

    def _integer(
        self,
        name: str,
        a: Expr,
        c: Expr,
        ty: ScalarType,
        operands: tuple[Num, ...],
        node: ast.AST,
        spelled: str,
    ) -> Num:
        b, dtype = self.b, ty.dtype
        a, c = b.bind(a), b.bind(c)
        if name in ("floordiv", "mod"):
            if ty.weak:
                self._nonzero(operands[1], c, node)
            elif not (isinstance(c, Const) and c.value):
                b.check(Call("ne", (c, Const(0, dtype)), "bool"), "divide")
                b.source(name, spelled, node, ("divide",))
            if (
                name == "floordiv"
                and DTYPES[dtype].kind == "i"
                and not (isinstance(c, Const) and c.value != -1)
            ):
                lowest = Call("eq", (a, Const(DTYPES[dtype].low, dtype)), "bool")
                both = logic("and", lowest, Call("eq", (c, Const(-1, dtype)), "bool"))
                self._fits(logic("not", both), ty, node, spelled)
            out = typed(b.apply(name, a, c), ty, *operands)
            return self._int_quotient(name, out, operands)
        out = typed(b.apply(name, a, c), ty, *operands)
        if name not in _BINARY_INT:
            return out
        lo, hi = _corners(name, *operands)
        linear = self._combine(
            name, *(self._as_linear(n, e) for n, e in zip(operands, (a, c), strict=True))
        )
        if linear is not None:
            lo, hi = max(lo, b.low(linear)), min(hi, b.high(linear))
        if lo < DTYPES[dtype].low or hi > DTYPES[dtype].high:
            summed = any(n.ir in b.accumulators for n in operands)
            self._fits(_no_overflow(name, a, c), ty, node, spelled, certain=not summed)
            return out
        return replace(out, linear=linear if dtype == "i64" else None, interval=(lo, hi))

    @staticmethod
    def _as_linear(n: Num, e: Expr) -> Num:
        return n if n.linear is not None or e.dtype != "i64" else replace(n, linear=Linear.of(e))

    def _fits(
        self, ok: Expr, ty: ScalarType, node: ast.AST, spelled: str, *, certain: bool = True
    ) -> None:
        """An overflow: Python's ints would grow, NumPy's wrap and warn.

        That of a sum is not ``certain``: its parts may be added in another order.
        """
        if ty.weak:
            self.b.require(ok, "GUARD_INT_RANGE", node)
        else:
            self.b.check(ok, "over")
            self.b.source("add", spelled, node, ("over",), certain=certain)

    def _int_quotient(self, name: str, out: Num, operands: tuple[Num, ...]) -> Num:
        x, y = operands
        if not (out.python_int and y.interval[0] > 0):
            return out
        if name == "mod":
            return replace(
                out, linear=Linear.of(out.ir), interval=self._note(out.ir, (0, y.interval[1] - 1))
            )
        lo = min(x.interval[0] // y.interval[0], x.interval[0] // y.interval[1])
        hi = max(x.interval[1] // y.interval[0], x.interval[1] // y.interval[1])
        return replace(out, linear=Linear.of(out.ir), interval=self._note(out.ir, (lo, hi)))

    def _note(self, e: Expr, interval: tuple[int, int]) -> tuple[int, int]:
        self.b.intervals[e] = interval
        return interval

    def _int_linear(self, name: str, x: Num, y: Num, node: ast.AST) -> Num:
        """``+ - *`` of Python ints: unbounded, so provably in range or checked."""
        b = self.b
        linear = self._combine(name, x, y)
        lo, hi = _corners(name, x, y)
        if linear is not None:
            lo, hi = max(lo, b.low(linear)), min(hi, b.high(linear))
        if INT64[0] <= lo and hi <= INT64[1]:
            if linear is not None:
                return Num(linear.expr(), weak="i64", linear=linear, interval=(lo, hi))
            return b.integer_num(Call(name, (x.ir, y.ir), "i64"), (lo, hi))
        p, q = b.bind(x.ir), b.bind(y.ir)
        b.require(logic("not", Call(f"{name}_over", (p, q), "bool")), "GUARD_INT_RANGE", node)
        e = Call(name, (p, q), "i64")
        return Num(e, weak="i64", linear=linear, interval=(max(lo, INT64[0]), min(hi, INT64[1])))

    @staticmethod
    def _combine(name: str, x: Num, y: Num) -> Linear | None:
        if x.linear is None or y.linear is None:
            return None
        if name == "add":
            return x.linear + y.linear
        if name == "sub":
            return x.linear - y.linear
        for p, q in ((x.linear, y.linear), (y.linear, x.linear)):
            if not q.terms:
                return p * q.constant
        return None

    def _power(self, x: Num, y: Num, node: ast.AST) -> Num:
        exponent = y.ir.value if isinstance(y.ir, Const) and y.weak else None
        if exponent in (2, 3) and not isinstance(exponent, bool) and (x.dtype != "bool"):
            n = self.b.rebind(x, "base")
            square = self.binary(ast.Mult, n, n, node)
            return square if exponent == 2 else self.binary(ast.Mult, square, n, node)
        ty = self._result(operator.pow, (x, y), node)
        if DTYPES[ty.dtype].kind != "f":
            refuse(
                "LOWER_UNSUPPORTED",
                "an integer power is compiled for the exponents 2 and 3 only",
                node,
            )
        a, c = convert(self.b, x, ty.dtype, node), convert(self.b, y, ty.dtype, node)
        if ty.weak:
            self.strict("divide", "over", "invalid")
        else:
            self.b.source("pow", "scalar power", node)
        return typed(self.b.apply("pow", a, c), ty, x, y)

    def strict(self, *classes: str) -> None:
        """After any of these float-status classes Python must decide, because it would raise."""
        self.b.strict.update(classes)
        self.b.raises = True

    # -- unary

    def negative(self, x: Num, node: ast.AST) -> Num:
        if isinstance(x.ir, Const) and x.weak and not x.strong and x.dtype != "bool":
            return constant(-x.ir.value)
        if x.python_int:
            return self._int_linear("sub", constant(0), x, node)
        ty = self._result(operator.neg, (x,), node)
        e = convert(self.b, x, ty.dtype, node)
        kind = DTYPES[ty.dtype].kind
        if kind in "iu":
            e = self.b.bind(e)
            bad = Const(DTYPES[ty.dtype].low, ty.dtype)
            ok = Call("ne" if kind == "i" else "eq", (e, bad), "bool")
            self._fits(ok, ty, node, "scalar negative")
        return typed(Call("neg", (e,), ty.dtype), ty, x)

    def _plus(self, x: Num, node: ast.AST) -> Num:
        ty = self._result(operator.pos, (x,), node)
        return typed(convert(self.b, x, ty.dtype, node), ty, x)

    def _invert(self, x: Num, node: ast.AST) -> Num:
        ty = self._result(operator.invert, (x,), node)
        if ty.dtype == "bool":
            return typed(logic("not", x.ir), ty, x)
        return typed(Call("invert", (convert(self.b, x, ty.dtype, node),), ty.dtype), ty, x)

    # -- comparison and logic

    def compare(self, node: ast.Compare, *, only_truth: bool = False) -> Num:
        """``a < b < c``: each operand once, the later ones only where the earlier comparisons hold.
        """
        left = self.num(node.left)
        if len(node.ops) > 1:
            left = self.b.rebind(left, "left")
        rest = list(zip(node.ops, node.comparators, strict=True))
        return self._chain(left, rest, node, only_truth)

    def _chain(
        self,
        left: Num,
        rest: list[tuple[ast.cmpop, ast.expr]],
        node: ast.AST,
        only_truth: bool,
    ) -> Num:
        (op, right_node), *more = rest
        right = self.num(right_node)
        if more:
            right = self.b.rebind(right, "middle")
        first = self.compare_nums(op, left, right, node)
        if not more:
            return first
        with self.b.under(first.ir):
            second = self._chain(right, more, node, only_truth)
        if only_truth:
            return Num(logic("and", first.ir, second.ir), weak="bool")
        return self._and_or("and", first, second, node)

    def compare_nums(self, op: ast.cmpop, x: Num, y: Num, node: ast.AST) -> Num:
        if type(op) not in _COMPARE:
            refuse("LOWER_UNSUPPORTED", "`is` and `in` are not compiled", node)
        name, function = _COMPARE[type(op)]
        if not (x.exact and y.exact):
            x, y = self.settled(x, node), self.settled(y, node)
        ty = self._result(function, (x, y), node)
        dtype = self._common(x, y, node)
        return typed(Call(name, (cast(x.ir, dtype), cast(y.ir, dtype)), "bool"), ty, x, y)

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
                if kind in "iu" and other != "f64" and fits(m.ir, n.strong):
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
        ty = self._result(operator.add, (x, y), node)
        return ty.dtype

    def test(self, node: ast.expr) -> Expr:
        """``bool(node)``: where only that matters, ``and`` and ``or`` may join any two types."""
        if isinstance(node, ast.Compare):
            return self.compare(node, only_truth=True).ir
        if not isinstance(node, ast.BoolOp):
            return truth(self.num(node))
        name = "and" if isinstance(node.op, ast.And) else "or"
        out = self.test(node.values[0])
        for value in node.values[1:]:
            out = self.b.bind(out, "left")
            with self.b.under(out if name == "and" else logic("not", out)):
                right = self.test(value)
            out = logic(name, out, right)
        return out

    def boolean(self, node: ast.BoolOp) -> Num:
        """``and``/``or``: the first operand that decides; a later one is evaluated only where it is
        needed.
        """
        name = "and" if isinstance(node.op, ast.And) else "or"
        out = self.num(node.values[0])
        for value in node.values[1:]:
            out = self.b.rebind(out, "left")
            go_on = truth(out) if name == "and" else logic("not", truth(out))
            with self.b.under(go_on):
                right = self.num(value)
            out = self._and_or(name, out, right, node)
        return out

    def _and_or(self, name: str, x: Num, y: Num, node: ast.AST) -> Num:
        cond = truth(x)
        first, second = (y, x) if name == "and" else (x, y)
        got = join(cond, first, second)
        if got is None:
            return refuse("LOWER_JOIN", f"`{name}` gives values of two types", node)
        return replace(got, ir=logic(name, x.ir, y.ir)) if x.dtype == y.dtype == "bool" else got

    def conditional(self, test: ast.expr, body: ast.expr, orelse: ast.expr, node: ast.AST) -> Num:
        cond = self.test(test)
        if isinstance(cond, Const):
            return self.num(body if cond.value else orelse)
        if not _plain(cond):
            cond = self.b.bind(cond, "cond")
        with self.b.under(cond):
            then = self.num(body)
        with self.b.under(logic("not", cond)):
            other = self.num(orelse)
        got = join(cond, then, other)
        if got is None:
            return refuse("LOWER_JOIN", "the two branches give values of different types", node)
        return got


_FUNCTIONS = {name: function for name, function, _ in _BINARY.values()}
_BINARY_INT: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}


def _plain(cond: Expr) -> bool:
    """A comparison of values that cost nothing: it may be written twice, and a maximum be seen in
    it.
    """
    return isinstance(cond, Call) and all(isinstance(a, (Var, Const, Load)) for a in cond.args)


def _no_overflow(name: str, a: Expr, c: Expr) -> Expr:
    """Whether ``a name c`` fits its dtype; with a constant, whether the other is in a range."""
    for const, other, flipped in ((c, a, False), (a, c, True)):
        if isinstance(const, Const) and const.value:
            lo, hi = _fitting(name, int(const.value), a.dtype, flipped)
            above = Call("ge", (other, Const(lo, a.dtype)), "bool")
            below = Call("le", (other, Const(hi, a.dtype)), "bool")
            d = DTYPES[a.dtype]
            return logic("and", TRUE if lo == d.low else above, TRUE if hi == d.high else below)
    return logic("not", Call(f"{name}_over", (a, c), "bool"))


def _fitting(name: str, k: int, dtype: str, flipped: bool) -> tuple[int, int]:
    """The operands x for which ``x name k`` (``k name x`` if flipped) fits `dtype`."""
    low, high = DTYPES[dtype].low, DTYPES[dtype].high
    match name:
        case "add":
            lo, hi = low - k, high - k
        case "sub":
            lo, hi = (k - high, k - low) if flipped else (low + k, high + k)
        case _:
            ends = (low, high) if k > 0 else (high, low)
            lo, hi = -(-ends[0] // k), ends[1] // k
    return max(lo, low), min(hi, high)


def _in_int64(lo: int, hi: int) -> bool:
    return INT64[0] <= lo and hi <= INT64[1]


def _corners(name: str, x: Num, y: Num) -> tuple[int, int]:
    """An interval of a sum, difference or product."""
    corners = [_BINARY_INT[name](p, q) for p in x.range for q in y.range]
    return min(corners), max(corners)


def _either_way(
    function: Callable[..., Any], operands: tuple[Num, ...]
) -> tuple[ScalarType | None, ScalarType | None]:
    """The result types with every operand that may be either taken as NumPy's, and as Python's."""
    strong = result(function, *(replace(n, weak=None) if n.strong else n for n in operands))
    weak = result(function, *(replace(n, strong=None) if n.weak else n for n in operands))
    return strong, weak


def _depends(function: Callable[..., Any], *operands: Num) -> bool:
    """Whether the dtype of the operation depends on which of its types an operand has."""
    if not any(n.either for n in operands):
        return False
    strong, weak = _either_way(function, operands)
    return (
        strong is None
        or weak is None
        or strong.dtype != weak.dtype
        or not all(n.exact for n in operands)
    )
