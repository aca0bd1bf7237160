"""Lower loads and stores of array elements: `a[i]` and `a[i] = value`."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.nodes import Const, Expr, If, Load, Span, Store, Var, Yield

from ...frontend.int_exprs import integer_constant
from ...frontend.name_resolution import Scope
from ...frontend.refusal import refuse
from ...frontend.source import span_of
from ...types.linear_form import int_constant
from ...types.typed_values import ComplexPair, Num, bool_op, constant
from ...types.typeof import global_type
from ...types.value_types import PARTS, ListType
from ..lists.list_item_types import decode_item, exact_float_checks
from ..scalars.tagged_unions import feasible_cases
from ..state.symbol_values import Absent, ArrayRef, FinishedList, ListRef, Scalar, UnionValue
from .capacity_bounds import upper_bound
from .strided_views import (
    Slices,
    base_subscripts,
    complex_part_view,
    refuse_out_of_bounds,
    transposed_view,
)
from .subscript_bounds import axis_subscripts, in_bounds_subscript

__all__ = ["Elements", "Stores"]


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
                if isinstance(got, FinishedList):
                    return got.array
                if isinstance(got, ListRef):
                    return self.finished_list(got.name)
                if isinstance(got, UnionValue):
                    return self._one_array(got, node)
                return got if isinstance(got, ArrayRef) else None
            case ast.Subscript(slice=ast.Constant(value=str())):
                field = self.field(node)
                return self._whole_field(*field, node) if field and field[0].rank else None
            case ast.Subscript() if self.items_at(node) is not None:
                return None
            case ast.Subscript(value=inner):
                base = self.array(inner)
                plain = not any(map(self.is_slice, axis_subscripts(node)))
                if base is None or (plain and len(axis_subscripts(node)) >= base.rank):
                    return None
                got = self.subscript(node)
                return got if isinstance(got, ArrayRef) else None
            case ast.Attribute(value=inner, attr="T") if (of := self._numpys(inner)) is not None:
                return transposed_view(self.b, of)
            case ast.Call(func=ast.Attribute(value=inner, attr="transpose"), args=args,
                          keywords=[]) if (of := self._numpys(inner)) is not None:
                order = [k for a in args if (k := integer_constant(a, None)) is not None]
                known = sorted(order) == list(range(of.rank)) and len(order) == len(args)
                return transposed_view(self.b, of, order) if known else None
            case ast.Attribute(value=inner, attr="real" | "imag" as name):
                of = self._numpys(inner)
                return complex_part_view(self.b, of, name) if of else None
            case ast.Call(func=func, args=[inner], keywords=[]) if (
                (function := self._resolve(func)) is np.real or function is np.imag
            ):
                self.known(func)
                name = "real" if function is np.real else "imag"
                return complex_part_view(self.b, of, name) if (of := self._numpys(inner)) else None
            case ast.Call():
                return self.reshaped(node)
            case _:
                return None

    def _one_array(self, of: UnionValue, node: ast.Name) -> ArrayRef | None:
        """The only array that a name may be here; where it is none, Python must answer."""
        cases = feasible_cases(of.cases, self.b.path)
        arrays = [c.value for c in cases if isinstance(c.value, ArrayRef)]
        if len(arrays) != 1:
            return None
        for c in cases:
            if isinstance(c.value, Absent):
                self.b.require(bool_op("not", c.when), "GUARD_EMPTY", node)
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
        return isinstance(value, np.ndarray) or isinstance(global_type(value), ListType)

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
        found = [in_bounds_subscript(self.b, array, k, n, node) for k, n in enumerate(indices)]
        needed = [ok for _, ok in found if ok is not None]
        return [n for n, _ in found], reduce(partial(bool_op, "and"), needed) if needed else None

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
        parts = axis_subscripts(node)
        if len(parts) < got.rank or any(map(self.is_slice, parts)):
            return self.row(got, node)
        at, needed = self.places(got, self.numbers(parts, got, node), node)
        return self._read(got, needed, at, node)

    def _read(
        self, array: ArrayRef, needed: Expr | None, at: Sequence[Num], node: ast.expr
    ) -> Scalar:
        index = base_subscripts(self.b, array, at)
        if array.dtype in PARTS:
            re, im = (
                self._part_at(array, (*index, int_constant(k)), needed, node) for k in range(2)
            )
            return ComplexPair(re, im)
        number = self._part_at(array, index, needed, node)
        return decode_item(number) if array.weak and array.flags else number

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
            refuse_out_of_bounds(node)
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
        if (above := upper_bound(b, load)) is not None:
            b.most[value] = above
        return value


class Stores(Elements):
    """Writes of array elements; ``written`` are the arrays."""

    written: set[str]

    def store(self, target: ast.Subscript, value: Scalar, node: ast.AST) -> None:
        """``a[i] = value``."""
        array, needed, at = self._target(target)
        self.belongs_to(array, value, node)
        if array.flags is not None:
            value = self.single(value, node)
        index = base_subscripts(self.b, array, at)
        place = span_of(target)
        stmts = self.stores(array.name, array.dtype, index, value, node, place)
        if array.flags is not None:
            assert isinstance(value, Num)
            self.belongs(value, array.dtype, node, array.python)
            stmts = (*stmts, Store(array.flags, index, value.weak_now, span=place))
        if needed is None:
            self.b.block.extend(stmts)
        else:
            self.b.emit(If(needed, stmts, span=place))
        self.written.add(array.name)

    def belongs(self, n: Num, dtype: str, node: ast.AST, python: str | None = None) -> None:
        """Refuses an item that has another type than the rest of its list, in which Python's are of
        dtype `python` if that is another; as the list has them, they must be the same numbers.
        """
        whole = python is not None and n.strong is None and n.dtype == python
        other = not whole and n.dtype != dtype
        other = other or n.strong not in (None, dtype) or n.weak not in (None, python or dtype)
        if other or n.boxed or not n.exact:
            refuse("LOWER_JOIN", "the items of a list have several types", node)
        for check in exact_float_checks(n, dtype) if whole else ():
            self.b.require(check, "GUARD_INT_RANGE", node)

    def _target(self, target: ast.Subscript) -> tuple[ArrayRef, Expr | None, list[Num]]:
        """The array, what must hold for an element of it to be written, and which one."""
        if (item := self.items_at(target)) is not None:
            return item[0], *self._at(item[0], item[1], target)
        field = self.field(target)
        array = self.array(target.value) if field is None else field[0]
        if array is None:
            refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(target.value)}` is not an array here", target)
        parts = axis_subscripts(target) if field is None else []
        if len(parts) < array.rank or any(map(self.is_slice, parts)):
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(target)}` is a whole row", target)
        if field is not None:
            return *field, []
        self.no_list(array, target)
        return array, *self._at(array, parts, target)

    def _at(
        self, array: ArrayRef, parts: list[ast.expr], target: ast.Subscript
    ) -> tuple[Expr | None, list[Num]]:
        at, needed = self.places(array, self.numbers(parts, array, target), target)
        return needed, at

    def stores(
        self, array: str, dtype: str, index: tuple[Expr, ...], value: Scalar, node: ast.AST,
        place: Span | None,
    ) -> tuple[Store, ...]:
        """What puts `value` into an array of `dtype`."""
        if dtype not in PARTS:
            if isinstance(value, ComplexPair):
                refuse("LOWER_COMPLEX", "a complex number is put into an array of real ones", node)
            return (Store(array, index, self.stored(value, dtype, node), span=place),)
        parts: tuple[Num | UnionValue, Num]
        parts = (value.re, value.im) if isinstance(value, ComplexPair) else (value, constant(0.0))
        exprs = [self.b.bind(self.stored(p, PARTS[dtype], node)) for p in parts]
        return tuple(
            Store(array, (*index, int_constant(k)), e, span=place) for k, e in enumerate(exprs)
        )

    def belongs_to(self, array: ArrayRef, value: Scalar, node: ast.AST) -> None:
        """Refuses what does not belong to a list, if `array` is one."""
        raise NotImplementedError

    def stored(self, value: Num | UnionValue, dtype: str, node: ast.AST) -> Expr:
        raise NotImplementedError
