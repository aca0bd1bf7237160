"""Views by subscripts: rows, slices, ellipses, new axes."""
from __future__ import annotations

import ast
import types
from collections.abc import Collection, Sequence
from typing import NoReturn

import numpy as np

from loopir.nodes import Call, Expr

from ..infer import Num, constant, logic
from ..ranges import LENGTH, integer
from .records import Records
from .refusal import refuse, unforeseen
from .subscripts import inside, parts_of
from .values import Along, ArrayRef, ListRef, Made
from .views import sliced, viewed, whole

__all__ = ["Slices", "out_of_bounds"]


class Slices(Records):
    """Views of arrays; and ``steady`` slices of lists, which are read like those."""

    steady: Collection[ast.Subscript]

    def _resolve(self, node: ast.expr) -> object | None:
        raise NotImplementedError

    def array(self, node: ast.expr) -> ArrayRef | None:
        raise NotImplementedError

    def no_list(self, array: ArrayRef, node: ast.Subscript) -> None:
        """Refuses what is no item of a list: a slice of it is another list."""
        whole = isinstance(node.slice, (ast.Slice, ast.Tuple)) and node not in self.steady
        if array.kinds and whole:
            refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is not an item of a list", node)

    def is_slice(self, part: ast.expr) -> bool:
        """Whether `part` of a subscript is no number: a slice, an ellipsis, a new axis."""
        match part:
            case ast.Slice() | ast.Starred() | ast.Constant(value=None | types.EllipsisType()):
                return True
            case ast.Attribute(value=owner, attr="newaxis"):
                return self._resolve(owner) is np
        return False

    def numbers(self, parts: Sequence[ast.expr], array: ArrayRef, node: ast.AST) -> list[Num]:
        """The subscripts `parts` of `array`, which are numbers."""
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

    def view(self, array: ArrayRef, node: ast.Subscript) -> tuple[ArrayRef, Expr | None]:
        """``x[i]``, ``x[1:, None]``; and what must hold for it to be there (None: nothing)."""
        self.no_list(array, node)
        axes: list[Num | Along] = []
        shape: list[Num] = []
        needed: Expr | None = None
        parts = parts_of(node)
        for part in self._spelled_out(parts, array, node):
            if self.is_slice(part) and not isinstance(part, ast.Slice):
                shape.append(constant(1))
            elif isinstance(part, ast.Slice):
                length, start, step = self._slice(array.shape[len(axes)], part, node)
                axes.append(Along(len(shape), start, step))
                shape.append(length)
            else:
                (n,) = self.numbers([part], array, node)
                at, ok = inside(self.b, array, len(axes), n, node)
                if ok is not None:
                    needed = ok if needed is None else logic("and", needed, ok)
                axes.append(at)
        return viewed(self.b, array, axes, shape), needed

    def row(self, array: ArrayRef, node: ast.Subscript) -> ArrayRef:
        """As of `view`: where there is no such row, it is the first, and Python must answer."""
        found, needed = self.view(array, node)
        lengths = (
            n for p, n in zip(self._own(array, node), array.shape, strict=True)
            if not isinstance(p, ast.Slice)
        )
        for length in lengths if needed is not None else ():
            if length.linear is None or self.b.low(length.linear) < 1:
                if not self.b.invariant(length.ir):
                    out_of_bounds(node)
                self.b.guard(Call("ge", (length.ir, integer(1)), "bool"), "GUARD_BOUNDS", node)
        return found

    def _own(self, array: ArrayRef, node: ast.Subscript) -> list[ast.expr]:
        """The parts that belong to axes of the array: numbers and slices."""
        parts = self._spelled_out(parts_of(node), array, node)
        return [p for p in parts if isinstance(p, ast.Slice) or not self.is_slice(p)]

    def _spelled_out(
        self, parts: Sequence[ast.expr], array: ArrayRef, node: ast.Subscript
    ) -> list[ast.expr]:
        """The parts with a slice for each axis that they leave out."""
        of = self.b.env.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(of, ListRef):
            unforeseen(of.name, f"`{ast.unparse(node)}` is a slice", node)
        new = sum(self.is_slice(p) and not isinstance(p, ast.Slice) for p in parts)
        ellipses = [k for k, p in enumerate(parts) if _is_ellipsis(p)]
        rest = array.rank - (len(parts) - new)
        starred = any(isinstance(p, ast.Starred) for p in parts)
        if isinstance(of, Made) or rest < 0 or len(ellipses) > 1 or starred:
            refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is a slice", node)
        k = ellipses[0] if ellipses else len(parts)
        return [*parts[:k], *[ast.Slice()] * rest, *parts[k + len(ellipses) :]]

    def _slice(
        self, length: Num, part: ast.Slice, node: ast.AST
    ) -> tuple[Num, Num, int | Num]:
        low, high, step = (
            None if e is None or _is_none(e) else self.num(e)
            for e in (part.lower, part.upper, part.step)
        )
        by = 1 if step is None else self._step(step, node)
        return *sliced(self.b, length, low, high, by, node), by

    def _step(self, n: Num, node: ast.AST) -> int | Num:
        """A step that is not known here is above 0, or Python's; no axis is as long as some."""
        b, linear = self.b, whole(self.b, n, node)
        if not linear.terms and linear.constant:
            return linear.constant
        b.require(Call("ge", (linear.expr(), integer(1)), "bool"), "GUARD_INT_RANGE", node)
        some = Call("max", (linear.expr(), integer(1)), "i64")
        step = b.bind(Call("min", (some, integer(LENGTH[1])), "i64"), "step")
        return b.integer_num(step, (1, LENGTH[1]))


def out_of_bounds(node: ast.AST) -> NoReturn:
    """Refuses a row that may not be there."""
    said = f"the row `{ast.unparse(node)}` may be out of bounds"
    refuse("LOWER_SUBSCRIPT", said, node)


def _is_none(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is None


def _is_ellipsis(e: ast.expr) -> bool:
    return isinstance(e, ast.Constant) and e.value is ...
