"""Complex numbers are pairs of floats: their arithmetic, by the algorithms of Python and NumPy."""
from __future__ import annotations

import ast
import math
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from loopir.nodes import Call, Const, Expr
from loopir.ops import OPS

from ..infer import TRUE, Num, constant, logic, result
from ..join import join
from ..pair import Pair
from ..products import fuses_products
from ..types import PARTS, ScalarType
from .arithmetic import BINARY
from .complex_names import ComplexNames
from .integers import OPERATOR
from .operands import convert, truth, typed
from .pairs import (
    as_complex,
    by_ufunc,
    exponent,
    in_two_ways,
    mixed,
    numbers,
    only,
    python_by_one,
)
from .refusal import refuse
from .sources import Silent
from .steps import BY_PARTS, Parts, Steps, nonzero, pick, power
from .values import Cases, Scalar

__all__ = ["Complexes"]

_UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


_OLD_RULES = sys.version_info < (3, 14)
"""Python takes real operands for complex ones, and products of infinities as they come."""


class Complexes(ComplexNames):
    """Lowers operators on complex numbers."""

    def literal(self, value: complex) -> Pair:
        return Pair(constant(value.real), constant(value.imag))

    def operated(
        self, op: type[ast.operator], x: Num | Pair, y: Num | Pair, node: ast.AST, *,
        ufunc: str = "",
    ) -> Num | Pair:
        """``x op y``; or by NumPy's function of the name `ufunc`."""
        if isinstance(x, Num) and isinstance(y, Num):
            return self.binary(op, x, y, node, ufunc=bool(ufunc))
        if op is ast.Pow:
            return self._powered(x, y, node, spelled=ufunc or "scalar power")
        name, function, spelled = BINARY[op]
        if name not in BY_PARTS:
            refuse("LOWER_COMPLEX", f"`{ast.unparse(node)}` is not compiled", node)
        boxed = any(n.boxed for n in numbers(x, y))
        function = _UFUNCS[name] if ufunc or boxed else function
        ty, open_ = self._complex_type(function, x, y, node)
        if boxed or by_ufunc(x, y, ty):
            spelled = spelled.removeprefix(OPERATOR)
        elif name == "mul" and in_two_ways(x, y):
            refuse("LOWER_JOIN", "NumPy or Python multiplies, depending on the data", node)
        spelled = ufunc or spelled
        by_loop = name == "mul" and not spelled.startswith(OPERATOR) and ufunc != "square"
        fused = by_loop and fuses_products()
        a, c = self._parts_of(x, ty, node), self._parts_of(y, ty, node)
        if ty.weak:
            self._needs_old_rules(x, y, name, node)
        if name == "div" and ty.weak:
            self.b.require(nonzero(c), "GUARD_DIVISION", node)
        steps = Steps(self.b)
        parts = BY_PARTS["fused mul" if fused else name](a, c, steps, python=ty.weak)
        if not ty.weak or open_:
            certain = not (open_ or self._summed(x, y))
            parts = steps.warned(name, parts, spelled, node, certain=certain)
        if ty.weak or open_:
            self.b.silent += map(Silent, OPS[name].raises)
        return self._typed_pair(parts, ty, open_, name, x, y, node)

    def _summed(self, *numbers: Num | Pair) -> bool:
        """Whether a fold that may be reassociated goes on: it may raise where Python does not."""
        parts = [part.ir for n in numbers if isinstance(n, Pair) for part in (n.re, n.im)]
        return self.b.told is None and any(e in self.b.accumulators for e in parts)

    def _complex_type(
        self, function: Callable[..., Any], x: Num | Pair, y: Num | Pair, node: ast.AST
    ) -> tuple[ScalarType, list[Num]]:
        """The type of the result; a weak one where it is Python's only if these numbers are."""
        operands = [as_complex(n) for n in (x, y)]
        ty, open_ = result(function, *operands), list[Num]()
        if ty is None and function is not operator.truediv:
            sides = ([only(n, weak) for n in operands] for weak in (False, True))
            strong, weak = (result(function, *side) for side in sides)
            simple = all(n.simple for n in (x, y) if isinstance(n, Pair) and n.weak)
            if strong and weak and weak.weak and (strong.dtype == weak.dtype or simple):
                ty = ScalarType(strong.dtype, weak=True)
                open_ = [n for n in numbers(x, y) if n.either]
                if python_by_one(function, *operands):
                    refuse("LOWER_JOIN", "the result is Python's or NumPy's, by the data", node)
        if ty is None or ty.dtype not in PARTS:
            kinds = ", ".join(str(n.strong or n.weak) for n in (x, y))
            return refuse("LOWER_COMPLEX", f"the operation on {kinds} is not compiled", node)
        return ty, open_

    def _needs_old_rules(self, x: Num | Pair, y: Num | Pair, name: str, node: ast.AST) -> None:
        if not _OLD_RULES and (isinstance(x, Num) or isinstance(y, Num) or name == "mul"):
            refuse("LOWER_COMPLEX", "Python's complex numbers are computed by newer rules", node)

    def _parts_of(self, n: Num | Pair, ty: ScalarType, node: ast.AST) -> Parts:
        """`n` as a complex number of type `ty`."""
        dtype = PARTS[ty.dtype]
        if isinstance(n, Num):
            return Parts(self.b.bind(convert(self.b, n, dtype, node)), Const(0.0, dtype))
        return Parts(*(self.b.bind(convert(self.b, p, dtype, node)) for p in (n.re, n.im)))

    def _typed_pair(
        self, parts: Parts, ty: ScalarType, open_: list[Num], name: str, x: Num | Pair,
        y: Num | Pair, node: ast.AST,
    ) -> Pair:
        """The result; of two that may be real it may be real, too."""
        dtype, weak = PARTS[ty.dtype], "f64" if ty.weak else None
        pairs = [n for n in (x, y) if isinstance(n, Pair)]
        strong = dtype if not ty.weak or open_ else None
        flag: Expr = TRUE
        for n in open_:
            flag = logic("and", flag, n.weak_now)
        is_weak = flag if strong and weak else None
        if not (len(pairs) == 2 and pairs[0].mixed and pairs[1].mixed):
            re, im = (Num(e, strong, weak, is_weak) for e in parts)
            return Pair(re, im)
        real = {n.re.weak for n in pairs}
        if name not in ("add", "mul") or len(real) > 1 or pairs[0].doubtful != pairs[1].doubtful:
            return refuse("LOWER_JOIN", "the operands may be real, depending on the data", node)
        if pairs[0].doubtful:
            return Pair(Num(parts.re, weak="f64"), Num(parts.im, weak="f64"), doubtful=True)
        re, im = Num(parts.re, dtype, real.pop(), flag), Num(parts.im, dtype, "i64", flag)
        return Pair(re, im)

    # -- by parts

    def _powered(self, x: Num | Pair, y: Num | Pair, node: ast.AST, *, spelled: str) -> Pair:
        """``x ** 2``: Python's begins with 1, NumPy's is a product but for zeros, of scalars."""
        n = exponent(y) if not any(n.boxed for n in numbers(x)) else 0
        either = isinstance(x, Pair) and x.strong is not None and x.weak is not None
        fits = isinstance(x, Pair) and (n == 2 or (n > 2 and x.weak is None))
        if not fits or not isinstance(x, Pair) or not _OLD_RULES or (either and not x.simple):
            return refuse("LOWER_COMPLEX", f"`{ast.unparse(node)}` is not compiled", node)
        (ty, open_), do = self._complex_type(operator.pow, x, y, node), Steps(self.b)
        a, zero = self._parts_of(x, ty, node), Const(0.0, PARTS[ty.dtype])
        square = power(a, n, do)
        if ty.weak and not either:
            one = Parts(Const(1.0, "f64"), zero)
            out = Parts(*map(self.b.bind, BY_PARTS["mul"](one, square, do, python=True)))
            infinite = logic("or", *(Call("isinf", (e,), "bool") for e in out))
            self.b.require(logic("not", infinite), "GUARD_RAISES", node)
            return self._typed_pair(out, ty, open_, "mul", x, x, node)
        certain = not (either or self._summed(x))
        square = do.warned("mul", square, spelled, node, certain=certain)
        null = self.b.bind(logic("not", nonzero(a)), "null")
        out = Parts(*(pick(null, zero, e) for e in square))
        return self._typed_pair(out, ty, open_, "mul", x, x, node)

    # -- one operand, comparisons, choice

    def negated(self, x: Num | Pair, node: ast.AST) -> Num | Pair:
        if isinstance(x, Num):
            return self.negative(x, node)
        if x.mixed:
            return refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
        return Pair(self.negative(x.re, node), self.negative(x.im, node))

    def conjugate(self, x: Pair, ty: ScalarType, node: ast.AST) -> Pair:
        re, im = self._parts_of(x, ty, node)
        if x.mixed:
            return refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
        turned = Parts(re, Call("neg", (im,), im.dtype))
        return self._typed_pair(turned, ty, [], "conj", x, x, node)

    def magnitude(self, x: Pair, node: ast.AST, *, compared: bool = False) -> Num:
        """``abs(x)``. Python raises where it overflows, and must answer then."""
        if x.doubtful and not compared:
            refuse("LOWER_JOIN", "the operand may be real, depending on the data", node)
        dtype = PARTS[x.strong or "c128"]
        if x.strong and x.weak and dtype != "f64" and not x.simple:
            refuse("LOWER_JOIN", "the operand has one of two types, depending on the data", node)
        parts = [self.b.bind(convert(self.b, p, dtype, node)) for p in (x.re, x.im)]
        size = self.b.apply("hypot", *parts)
        if x.weak == "c128" and self.b.told is not None:
            size, inf = self.b.bind(size, "size"), Const(math.inf, dtype)
            given = (Call("eq", (Call("abs", (p,), dtype), inf), "bool") for p in parts)
            fits = logic("or", Call("ne", (size, inf), "bool"), logic("or", *given))
            self.b.require(fits, "GUARD_RAISES", node)
        elif x.weak == "c128":
            self.b.strict.add("over")
        weak = "f64" if x.weak == "c128" else x.weak
        is_weak = x.im.is_weak if x.strong else None
        return Num(size, PARTS.get(x.strong or ""), weak, is_weak)

    def compared(self, node: ast.expr) -> Scalar:
        """An operand of a comparison: it does not matter whether a size is an int or a float."""
        raise NotImplementedError

    def equal(
        self, name: str, function: Callable[..., Any], x: Num | Pair, y: Num | Pair, node: ast.AST
    ) -> Num:
        """``x == y`` and ``x != y``."""
        for n in (x, y):
            if isinstance(n, Num):
                self._exact_ints(n, n, node)
        ty, truth = result(operator.add, as_complex(x), as_complex(y)), result(function, x, y)
        if name not in ("eq", "ne") or ty is None or truth is None or mixed(x) or mixed(y):
            return refuse("LOWER_COMPLEX", "of complex numbers only `==` and `!=` compare", node)
        a, c = self._parts_of(x, ty, node), self._parts_of(y, ty, node)
        sides = (Call(name, pair, "bool") for pair in zip(a, c, strict=True))
        return typed(logic("and" if name == "eq" else "or", *sides), truth)

    def truth_of(self, x: Pair) -> Expr:
        """``bool(x)``."""
        return nonzero(Parts(x.re.ir, x.im.ir))

    def chosen(self, cond: Expr, x: Num | Pair, y: Num | Pair, node: ast.AST) -> Pair:
        """``x if cond else y``."""
        if isinstance(x, Pair) and isinstance(y, Pair):
            re, im = join(cond, x.re, y.re), join(cond, x.im, y.im)
            if re is not None and im is not None:
                return Pair(re, im)
        return refuse("LOWER_JOIN", f"`{ast.unparse(node)}` has values of two types", node)

    def selected(self, args: Sequence[Num | Pair], ty: ScalarType, node: ast.AST) -> Pair:
        """``np.where(cond, x, y)``"""
        cond, *given = args
        test = self.b.bind(self.truth_of(cond) if isinstance(cond, Pair) else truth(cond))
        if ty.dtype not in PARTS or any(map(mixed, given)):
            return refuse("LOWER_COMPLEX", f"`{ast.unparse(node)}` is not compiled", node)
        both = zip(*(self._parts_of(n, ty, node) for n in given), strict=True)
        re, im = (Num(pick(test, a, c), PARTS[ty.dtype], boxed=True) for a, c in both)
        return Pair(re, im)

    @overload
    def rebound(self, x: Num | Pair, hint: str) -> Num | Pair: ...
    @overload
    def rebound(self, x: Scalar, hint: str) -> Scalar: ...
    def rebound(self, x: Scalar, hint: str) -> Scalar:
        """`x` under names of its own."""
        if isinstance(x, Cases):
            return Cases(tuple(
                replace(c, value=self.b.rebind(c.value, hint)) if isinstance(c.value, Num) else c
                for c in x.cases
            ))
        if isinstance(x, Num):
            return self.b.rebind(x, hint)
        return replace(x, re=self.b.rebind(x.re, hint), im=self.b.rebind(x.im, hint))
