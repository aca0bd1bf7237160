"""Array elements and views, read and written by subscripts."""
from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from loopir.nodes import Const, Expr, If, Load, Span, Store, Var, Yield
from loopir.types import DTYPES

from ..infer import Num, constant, logic
from ..pair import Pair
from ..ranges import integer
from ..scope import Scope
from ..source import span_of
from ..types import PARTS
from .records import Records
from .refusal import refuse
from .subscripts import inside
from .values import Along, ArrayRef, ListRef, Made
from .views import part_of, places_of, sliced, transposed, viewed

__all__ = ["Elements"]


class Elements(Records):
    """Reads and writes of array elements."""

    scope: Scope
    written: set[str]

    def _name(self, name: str, node: ast.AST) -> Any:
        raise NotImplementedError

    def _resolve(self, node: ast.expr) -> object | None:
        raise NotImplementedError

    def finished_list(self, name: str) -> ArrayRef | None:
        """A list that grows no more and whose length is known before the kernel, as an array."""
        raise NotImplementedError

    def array(self, node: ast.expr) -> ArrayRef | None:
        """`node` as an array: a name, or a row ``x[i]`` of one; None for anything else."""
        match node:
            case ast.Name(id=name):
                got = self.b.env.get(name)
                if got is None and isinstance(self.scope.resolve(node), np.ndarray):
                    got = self._name(name, node)
                if isinstance(got, Made):
                    return got.array
                if isinstance(got, ListRef):
                    return self.finished_list(got.name)
                return got if isinstance(got, ArrayRef) else None
            case ast.Subscript(slice=ast.Constant(value=str())):
                field = self.field(node)
                return self._surely(*field, node) if field and field[0].rank else None
            case ast.Subscript(value=inner):
                base = self.array(inner)
                plain = not any(map(self._is_slice, _parts(node)))
                if base is None or (plain and len(_parts(node)) >= base.rank):
                    return None
                got = self.subscript(node)
                return got if isinstance(got, ArrayRef) else None
            case ast.Attribute(value=inner, attr="T") if (of := self.array(inner)) is not None:
                return transposed(self.b, of)
            case ast.Attribute(value=inner, attr="real" | "imag" as name):
                of = self.array(inner)
                return part_of(self.b, of, name) if of else None
            case ast.Call(func=func, args=[inner], keywords=[]) if (
                (function := self._resolve(func)) is np.real or function is np.imag
            ):
                self.known(func)
                name = "real" if function is np.real else "imag"
                return part_of(self.b, of, name) if (of := self.array(inner)) else None
            case ast.Call():
                return self.reshaped(node)
            case _:
                return None

    def reshaped(self, node: ast.Call) -> ArrayRef | None:
        """``x.reshape(n, m)`` of an argument."""
        raise NotImplementedError

    def _is_slice(self, part: ast.expr) -> bool:
        """Whether `part` of a subscript is no number: a slice, an ellipsis, a new axis."""
        match part:
            case ast.Slice() | ast.Starred() | ast.Constant(value=None | types.EllipsisType()):
                return True
            case ast.Attribute(value=owner, attr="newaxis"):
                return self._resolve(owner) is np
        return False

    def _numbers(self, parts: Sequence[ast.expr], array: ArrayRef, node: ast.AST) -> list[Num]:
        if len(parts) > array.rank:
            refuse(
                "LOWER_SUBSCRIPT",
                f"`{ast.unparse(node)}` has more subscripts than dimensions",
                node,
            )
        for p in parts:
            if self.array(p) is not None:
                refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is indexed by an array", node)
        return [self.num(p) for p in parts]

    def _places(
        self, array: ArrayRef, indices: Sequence[Num], node: ast.AST
    ) -> tuple[list[Num], Expr | None]:
        """Subscripts that are within the first axes, and what must hold for that."""
        found = [inside(self.b, array, k, n, node) for k, n in enumerate(indices)]
        needed = [ok for _, ok in found if ok is not None]
        return [n for n, _ in found], reduce(partial(logic, "and"), needed) if needed else None

    def subscript(self, node: ast.Subscript) -> Any:
        field = self.field(node)
        if field is not None:
            return self._surely(*field, node) if field[0].rank else self._read(*field, [], node)
        got = self.array(node.value) or self.value(node.value)
        if isinstance(got, tuple):
            k = self.num(node.slice)
            if isinstance(k.ir, Const) and k.python_int and -len(got) <= k.ir.value < len(got):
                return got[int(k.ir.value)]
        if not isinstance(got, ArrayRef):
            return refuse(
                "LOWER_SUBSCRIPT", f"`{ast.unparse(node.value)}` is not an array here", node
            )
        parts = _parts(node)
        if len(parts) < got.rank or any(map(self._is_slice, parts)):
            return self._surely(*self.view(got, node), node)
        at, needed = self._places(got, self._numbers(parts, got, node), node)
        return self._read(got, needed, at, node)

    def _read(
        self, array: ArrayRef, needed: Expr | None, at: Sequence[Num], node: ast.expr
    ) -> Num | Pair:
        index = places_of(self.b, array, at)
        if array.dtype in PARTS:
            re, im = (self._part_at(array, (*index, integer(k)), needed, node) for k in range(2))
            return Pair(re, im)
        return self._part_at(array, index, needed, node)

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
            return Num(e, dtype, dtype, self.b.bind(is_weak, "py"))
        return Num(e, weak=dtype) if array.weak else Num(e, strong=dtype)

    def _surely(self, array: ArrayRef, needed: Expr | None, node: ast.AST) -> ArrayRef:
        """A view that is there whatever the data."""
        if needed is not None:
            said = f"the row `{ast.unparse(node)}` may be out of bounds"
            refuse("LOWER_SUBSCRIPT", said, node)
        return array

    def view(self, array: ArrayRef, node: ast.Subscript) -> tuple[ArrayRef, Expr | None]:
        """``x[i]``, ``x[1:, None]``; and what must hold for it to be there (None: nothing)."""
        axes: list[Num | Along] = []
        shape: list[Num] = []
        needed: Expr | None = None
        parts = _parts(node)
        for part in self._spelled_out(parts, array, node):
            if self._is_slice(part) and not isinstance(part, ast.Slice):
                shape.append(constant(1))
            elif isinstance(part, ast.Slice):
                length, start, step = self._slice(array.shape[len(axes)], part, node)
                axes.append(Along(len(shape), start, step))
                shape.append(length)
            else:
                (n,) = self._numbers([part], array, node)
                at, ok = inside(self.b, array, len(axes), n, node)
                if ok is not None:
                    needed = ok if needed is None else logic("and", needed, ok)
                axes.append(at)
        return viewed(self.b, array, axes, shape), needed

    def _spelled_out(
        self, parts: Sequence[ast.expr], array: ArrayRef, node: ast.Subscript
    ) -> list[ast.expr]:
        """The parts with a slice for each axis that they leave out."""
        made = isinstance(node.value, ast.Name) and isinstance(
            self.b.env.get(node.value.id), ListRef | Made
        )
        new = sum(self._is_slice(p) and not isinstance(p, ast.Slice) for p in parts)
        ellipses = [k for k, p in enumerate(parts) if _is_ellipsis(p)]
        rest = array.rank - (len(parts) - new)
        if made or rest < 0 or len(ellipses) > 1 or any(isinstance(p, ast.Starred) for p in parts):
            refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is a slice", node)
        k = ellipses[0] if ellipses else len(parts)
        return [*parts[:k], *[ast.Slice()] * rest, *parts[k + len(ellipses) :]]

    def _slice(self, length: Num, part: ast.Slice, node: ast.AST) -> tuple[Num, Num, int]:
        low, high, step = (
            None if e is None or _is_none(e) else self.num(e)
            for e in (part.lower, part.upper, part.step)
        )
        by = step.ir.value if step and isinstance(step.ir, Const) and step.python_int else 1
        if not by or (step and not isinstance(step.ir, Const)):
            refuse("LOWER_SUBSCRIPT", f"the step of `{ast.unparse(node)}` is not a number", node)
        return *sliced(self.b, length, low, high, int(by), node), int(by)

    def _inside(self, needed: Expr, load: Load) -> Expr:
        """An element under a name, read where `needed` holds."""
        b, hint = self.b, f"{load.array}_at"
        if not b.lazy:
            return b.bind(load, hint)
        zero = Const(DTYPES[load.dtype].numpy.type(0).item(), load.dtype)
        y = Yield(b.name(hint), load, zero)
        b.emit(If(needed, (), (), (y,), span=load.span))
        return Var(y.name, load.dtype)

    def store(self, target: ast.Subscript, value: Num | Pair, node: ast.AST) -> None:
        """``a[i] = value``."""
        array, needed, at = self._target(target)
        index = places_of(self.b, array, at)
        place = span_of(target)
        stmts = self.stores(array.name, array.dtype, index, value, node, place)
        if array.flags is not None:
            assert isinstance(value, Num)
            self.belongs(value, array.dtype, node)
            stmts = (*stmts, Store(array.flags, index, value.weak_now, span=place))
        if needed is None:
            self.b.block.extend(stmts)
        else:
            self.b.emit(If(needed, stmts, span=place))
        self.written.add(array.name)

    def belongs(self, n: Num, dtype: str, node: ast.AST) -> None:
        """Refuses an item that has another type than the rest of its list."""
        other = n.dtype != dtype or n.strong not in (None, dtype) or n.weak not in (None, dtype)
        if other or n.boxed or not n.exact:
            refuse("LOWER_JOIN", "the items of a list have several types", node)

    def _target(self, target: ast.Subscript) -> tuple[ArrayRef, Expr | None, list[Num]]:
        """The array, what must hold for an element of it to be written, and which one."""
        field = self.field(target)
        array = self.array(target.value) if field is None else field[0]
        if array is None:
            refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(target.value)}` is not an array here", target)
        parts = _parts(target) if field is None else []
        if len(parts) < array.rank or any(map(self._is_slice, parts)):
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(target)}` is a whole row", target)
        if field is not None:
            return *field, []
        at, needed = self._places(array, self._numbers(parts, array, target), target)
        return array, needed, at

    def stores(
        self, array: str, dtype: str, index: tuple[Expr, ...], value: Num | Pair, node: ast.AST,
        place: Span | None,
    ) -> tuple[Store, ...]:
        """What puts `value` into an array of `dtype`."""
        if dtype not in PARTS:
            if isinstance(value, Pair):
                refuse("LOWER_COMPLEX", "a complex number is put into an array of real ones", node)
            return (Store(array, index, self.stored(value, dtype, node), span=place),)
        parts = (value.re, value.im) if isinstance(value, Pair) else (value, constant(0.0))
        exprs = [self.b.bind(self.stored(p, PARTS[dtype], node)) for p in parts]
        return tuple(
            Store(array, (*index, integer(k)), e, span=place) for k, e in enumerate(exprs)
        )

    def stored(self, value: Num, dtype: str, node: ast.AST) -> Expr:
        raise NotImplementedError


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_none(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is None


def _is_ellipsis(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is ...
