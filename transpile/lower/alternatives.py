"""Operations on values whose type depends on the data: done for each type, where it is the one."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from loopir.nodes import Expr

from ..infer import FALSE, Num, logic
from ..join import join
from ..pair import Pair
from ..rejections import Refused
from .cases import cases_of, chosen, possible
from .complexes import Complexes
from .operands import truth
from .refusal import no_value, refuse
from .values import Absent, Case, Cases, Scalar

__all__ = ["Alternatives"]


class Alternatives(Complexes):
    """Lowers operations on numbers of several types."""

    def each(self, operate: Callable[..., Scalar], node: ast.AST, *operands: Scalar) -> Scalar:
        """``operate(*operands)`` for each type that they may have."""
        several = next((n for n in operands if isinstance(n, Cases)), None)
        if several is None:
            return self._as_one(operate, node, operands)
        out: Scalar | None = None
        for case in reversed(self.present(several, node)):
            assert isinstance(case.value, Num)
            given = [case.value if n == several else n for n in operands]
            with self._vainly(case.when):
                got = self.each(operate, node, *given)
            out = got if out is None else self.either(case.when, got, out, node)
        assert out is not None
        return out

    def _as_one(
        self, operate: Callable[..., Scalar], node: ast.AST, operands: tuple[Scalar, ...]
    ) -> Scalar:
        """Numbers that are Python's or NumPy's are taken apart where the operation needs it."""
        either = next((n for n in operands if isinstance(n, Num) and n.either), None)
        if either is None or self.b.one_type:
            return operate(*operands)
        try:
            with self.b.attempt():
                return operate(*operands)
        except Refused as refused:
            cases = cases_of(self.b, either)
            if refused.rejection.code != "LOWER_JOIN" or cases is None:
                raise
        apart = Cases(tuple(replace(c, when=self.b.bind(c.when, "py")) for c in cases))
        return self.each(operate, node, *(apart if n == either else n for n in operands))

    @contextmanager
    def _vainly(self, cond: Expr) -> Iterator[None]:
        """What is computed inside is of use where `cond` holds, and may raise elsewhere, too."""
        b = self.b
        before = len(b.sources)
        with b.under(cond):
            yield
        b.in_vain(before)

    def present(self, several: Cases, node: ast.AST) -> list[Case]:
        """What `several` may be here; where it is no number, Python must answer."""
        cases = possible(several.cases, self.b.path)
        there = [c for c in cases if isinstance(c.value, Num)]
        if not there:
            no_value(f"`{ast.unparse(node)}` is of no number", node)
        for c in cases:
            if c not in there:
                code = "GUARD_RAISES" if c.value is Absent.NONE else "GUARD_EMPTY"
                self.b.require(logic("not", c.when), code, node)
        return there

    def single(self, n: Scalar, node: ast.AST) -> Num | Pair:
        """`n`, which has to be of one type."""
        if not isinstance(n, Cases):
            return n
        cases = self.present(n, node)
        if len(cases) > 1 or not isinstance(cases[0].value, Num):
            said = f"the type of `{ast.unparse(node)}` depends on the data"
            return refuse("LOWER_JOIN", said, node)
        return cases[0].value

    def either(self, cond: Expr, x: Scalar, y: Scalar, node: ast.AST) -> Scalar:
        """``x if cond else y``, of whatever types."""
        if isinstance(x, Pair) or isinstance(y, Pair):
            return self.chosen(cond, self.single(x, node), self.single(y, node), node)
        got: Scalar | None = None
        if isinstance(x, Num) and isinstance(y, Num):
            got = join(cond, x, y)
            got = got and self.b.note_constant(got, x, y)
        if got is None and not self.b.one_type:
            got = chosen(self.b, self.b.bind(cond, "cond"), x, y)
        if got is None:
            said = f"`{ast.unparse(node)}` gives values of two types"
            return refuse("LOWER_JOIN", said, node)
        return got

    def truth(self, x: Scalar, node: ast.AST) -> Expr:
        """``bool(x)``."""
        if isinstance(x, Pair):
            return self.truth_of(x)
        if isinstance(x, Num):
            return truth(x)
        out: Expr = FALSE
        for c in possible(x.cases, self.b.path):
            if isinstance(c.value, Num):
                out = logic("or", out, logic("and", c.when, truth(c.value)))
            elif c.value is Absent.UNBOUND:
                self.b.require(logic("not", c.when), "GUARD_EMPTY", node)
        return out

    def is_none(self, x: object, node: ast.AST) -> Expr:
        """``x is None``."""
        if not isinstance(x, Cases):
            return FALSE
        out: Expr = FALSE
        for c in possible(x.cases, self.b.path):
            if c.value is Absent.NONE:
                out = logic("or", out, c.when)
            elif c.value is Absent.UNBOUND:
                self.b.require(logic("not", c.when), "GUARD_EMPTY", node)
        return out
