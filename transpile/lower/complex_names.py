"""Names of complex numbers, each split in two: what the two stand for together."""
from __future__ import annotations

import ast
from dataclasses import replace

from loopir.nodes import Const, Var

from ..infer import Num, cast, constant
from ..pair import Pair
from ..types import COMPLEX
from .arithmetic import Arithmetic
from .pairs import is_one_of
from .refusal import refuse

__all__ = ["ComplexNames"]


class ComplexNames(Arithmetic):
    """Puts numbers together from two names, and takes them apart."""

    def joined(self, re: Num, im: Num, name: str) -> Num | Pair:
        """The number that two names, `name` and another, stand for."""
        if not {re.strong, im.strong} <= {None, *COMPLEX}:
            refuse("LOWER_JOIN", f"`{name}` is no part of a complex number", None)
        if im.python_int:
            return replace(re, ir=cast(re.ir, "i64")) if re.python_int else re
        doubtful = name in self.b.doubtful and im.ir not in self.b.sure
        return Pair(re, im, name not in self.b.varied, doubtful)

    def parts(
        self, n: Num | Pair, name: str, node: ast.AST, *, python: bool
    ) -> tuple[Num, Num]:
        """What the two names of the number `name` stand for. A real one has an int as its other
        part, and must be 0 or 1: these are as good as complex ones of any size. In a name of
        `python`'s numbers it is taken for a complex one.
        """
        re, im = (n.re, n.im) if isinstance(n, Pair) else (n, constant(0))
        simple = re.strong is None and is_one_of(re, "0", "1", "0.0", "1.0")
        simple = simple and im.strong is None and is_one_of(im, "0", "0.0")
        if isinstance(n, Num) and not simple:
            refuse("LOWER_JOIN", "a name has real values here, and complex ones elsewhere", node)
        if n.weak and not simple:
            self.b.varied.add(name)
        if n.doubtful if isinstance(n, Pair) else python:
            self.b.doubtful.add(name)
        elif isinstance(im.ir, Var):
            self.b.sure.add(im.ir)
        if isinstance(n, Pair):
            return re, im
        re = replace(re, ir=cast(re.ir, "f64"), weak="f64" if python else n.weak)
        return re, Num(Const(0.0, "f64"), weak="f64" if python else "i64")
