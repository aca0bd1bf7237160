"""Arrays, and their elements read by subscripts."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from loopir.nodes import Const, Expr, If, Load, Var, Yield
from loopir.tree import walk
from loopir.types import DTYPES

from ..infer import Num, logic
from ..macros.integers import integer_constant
from ..pair import Pair
from ..ranges import integer
from ..scope import Scope
from ..signature import outer_type
from ..source import span_of
from ..types import PARTS, ListType
from .cases import possible
from .held import apart_of
from .refusal import refuse
from .room import most
from .slices import Slices, out_of_bounds
from .subscripts import inside, parts_of
from .values import Absent, ArrayRef, Cases, ListRef, Made, Scalar
from .views import part_of, places_of, transposed

__all__ = ["Elements"]


class Elements(Slices):
    """Arrays, and reads of their elements."""

    scope: Scope

    def _name(self, name: str, node: ast.AST) -> Any:
        raise NotImplementedError

    def finished_list(self, name: str) -> ArrayRef | None:
        """A list that grows no more and whose length is known before the kernel, as an array."""
        raise NotImplementedError

    def array(self, node: ast.expr) -> ArrayRef | None:
        """`node` as an array: a name, or a row ``x[i]`` of one; None for anything else."""
        match node:
            case ast.Name(id=name):
                got = self.b.env.get(name)
                known = self.scope.resolve(node) if got is None else None
                if isinstance(known, (np.ndarray, list, tuple)) and self._is_whole(known):
                    got = self._name(name, node)
                if isinstance(got, Made):
                    return got.array
                if isinstance(got, ListRef):
                    return self.finished_list(got.name)
                if isinstance(got, Cases):
                    return self._one_array(got, node)
                return got if isinstance(got, ArrayRef) else None
            case ast.Subscript(slice=ast.Constant(value=str())):
                field = self.field(node)
                return self._whole_field(*field, node) if field and field[0].rank else None
            case ast.Subscript() if self.items_at(node) is not None:
                return None
            case ast.Subscript(value=inner):
                base = self.array(inner)
                plain = not any(map(self.is_slice, parts_of(node)))
                if base is None or (plain and len(parts_of(node)) >= base.rank):
                    return None
                got = self.subscript(node)
                return got if isinstance(got, ArrayRef) else None
            case ast.Attribute(value=inner, attr="T") if (of := self._numpys(inner)) is not None:
                return transposed(self.b, of)
            case ast.Call(func=ast.Attribute(value=inner, attr="transpose"), args=args,
                          keywords=[]) if (of := self._numpys(inner)) is not None:
                order = [k for a in args if (k := integer_constant(a, None)) is not None]
                known = sorted(order) == list(range(of.rank)) and len(order) == len(args)
                return transposed(self.b, of, order) if known else None
            case ast.Attribute(value=inner, attr="real" | "imag" as name):
                of = self._numpys(inner)
                return part_of(self.b, of, name) if of else None
            case ast.Call(func=func, args=[inner], keywords=[]) if (
                (function := self._resolve(func)) is np.real or function is np.imag
            ):
                self.known(func)
                name = "real" if function is np.real else "imag"
                return part_of(self.b, of, name) if (of := self._numpys(inner)) else None
            case ast.Call():
                return self.reshaped(node)
            case _:
                return None

    def _one_array(self, of: Cases, node: ast.Name) -> ArrayRef | None:
        """The only array that a name may be here; where it is none, Python must answer."""
        cases = possible(of.cases, self.b.path)
        arrays = [c.value for c in cases if isinstance(c.value, ArrayRef)]
        if len(arrays) != 1:
            return None
        for c in cases:
            if isinstance(c.value, Absent):
                self.b.require(logic("not", c.when), "GUARD_EMPTY", node)
        return arrays[0]

    def reshaped(self, node: ast.Call) -> ArrayRef | None:
        """``x.reshape(n, m)`` of an argument."""
        raise NotImplementedError

    def _numpys(self, node: ast.expr) -> ArrayRef | None:
        """`node` as an array, if it is NumPy's and no list."""
        of = self.array(node)
        return None if of is None or of.kinds else of

    @staticmethod
    def _is_whole(value: object) -> bool:
        """Whether a global is an array, or a list that can be taken for one."""
        return isinstance(value, np.ndarray) or isinstance(outer_type(value), ListType)

    def items_at(self, node: ast.Subscript) -> tuple[ArrayRef, list[ast.expr]] | None:
        """Of ``m[i][j]``, where `m` is a list of lists: `m`, and the subscripts."""
        at, e = [node.slice], node.value
        while isinstance(e, ast.Subscript):
            at, e = [e.slice, *at], e.value
        of = self.array(e) if isinstance(e, ast.Name) and len(at) > 1 else None
        plain = not any(isinstance(part, (ast.Slice, ast.Tuple)) for part in at)
        return (of, at) if of is not None and of.kinds and plain and len(at) == of.rank else None

    def places(
        self, array: ArrayRef, indices: Sequence[Num], node: ast.AST
    ) -> tuple[list[Num], Expr | None]:
        """Subscripts that are within the first axes, and what must hold for that."""
        found = [inside(self.b, array, k, n, node) for k, n in enumerate(indices)]
        needed = [ok for _, ok in found if ok is not None]
        return [n for n, _ in found], reduce(partial(logic, "and"), needed) if needed else None

    def subscript(self, node: ast.Subscript) -> Any:
        field = self.field(node)
        if field is not None:
            if not field[0].rank:
                return self._read(*field, [], node)
            return self._whole_field(*field, node)
        if (item := self.items_at(node)) is not None:
            at, needed = self.places(item[0], self.numbers(item[1], item[0], node), node)
            return self._read(item[0], needed, at, node)
        got = self.array(node.value) or self.value(node.value)
        if isinstance(got, tuple):
            k = self.num(node.slice)
            if isinstance(k.ir, Const) and k.python_int and -len(got) <= k.ir.value < len(got):
                return got[int(k.ir.value)]
        if not isinstance(got, ArrayRef):
            return refuse(
                "LOWER_SUBSCRIPT", f"`{ast.unparse(node.value)}` is not an array here", node
            )
        self.no_list(got, node)
        parts = parts_of(node)
        if len(parts) < got.rank or any(map(self.is_slice, parts)):
            return self.row(got, node)
        at, needed = self.places(got, self.numbers(parts, got, node), node)
        return self._read(got, needed, at, node)

    def _read(
        self, array: ArrayRef, needed: Expr | None, at: Sequence[Num], node: ast.expr
    ) -> Scalar:
        index = places_of(self.b, array, at)
        if array.dtype in PARTS:
            re, im = (self._part_at(array, (*index, integer(k)), needed, node) for k in range(2))
            return Pair(re, im)
        number = self._part_at(array, index, needed, node)
        return apart_of(number) if array.weak and array.flags else number

    def _part_at(
        self, array: ArrayRef, index: tuple[Expr, ...], needed: Expr | None, node: ast.AST
    ) -> Num:
        """What the kernel has at `index`: an element, or a part of a complex one."""
        dtype = PARTS.get(array.dtype, array.dtype)
        load = Load(array.name, index, dtype, span=span_of(node))
        e = load if needed is None else self._inside(needed, load)
        if array.flags is not None:
            flag = Load(array.flags, index, "bool", span=load.span)
            is_weak = flag if needed is None else self._inside(needed, flag)
            return Num(e, dtype, array.python or dtype, self.b.bind(is_weak, "py"))
        return Num(e, weak=dtype) if array.weak else Num(e, strong=dtype)

    def _whole_field(self, array: ArrayRef, needed: Expr | None, node: ast.AST) -> ArrayRef:
        """A field that is an array and there whatever the data."""
        if needed is not None:
            out_of_bounds(node)
        return array

    def _inside(self, needed: Expr, load: Load) -> Expr:
        """An element under a name, read where `needed` holds."""
        b, hint = self.b, f"{load.array}_at"
        if not b.lazy and b.unsure.isdisjoint(walk(needed)):
            return b.bind(load, hint)
        zero = Const(DTYPES[load.dtype].numpy.type(0).item(), load.dtype)
        y = Yield(b.name(hint), load, zero)
        b.emit(If(needed, (), (), (y,), span=load.span))
        value = Var(y.name, load.dtype)
        if (above := most(b, load)) is not None:
            b.most[value] = above
        return value
