"""Lists and tuples of a fixed length that only their elements are asked of: small arrays."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from loopir.nodes import Store
from loopir.types import DTYPES

from ..below import below, results
from ..infer import Num, constant
from ..macros.liveness import left_to_python
from ..ranges import integer
from ..source import span_of
from ..types import ArrayType
from .leaving import Leaving
from .refusal import refuse
from .values import ArrayRef

__all__ = ["Fixed", "outside", "outsides", "stays_inside"]

SMALL = 16
"""Items at most."""


class Fixed(Leaving):
    """Lowers displays."""

    tree: ast.FunctionDef

    def array_name(self, hint: str) -> str:
        raise NotImplementedError

    def holds_items(self, name: str, value: ast.expr) -> bool:
        """Lowers ``v = [a, b, c]``, ``v = (a, b)`` and ``v = [a] * 4``; whether it is such."""
        items = _items(value)
        if not 0 < len(items) <= SMALL or not stays_inside(name, self.tree):
            return False
        if isinstance(value, ast.Tuple) and _is_changed(name, self.tree):
            refuse("LOWER_TYPE", f"`{name}` is a tuple, and items of it are set", value)
        nums: list[Num] = [self.b.rebind(self.num(e), "item") for e in items]
        dtype = nums[0].dtype
        for n, e in zip(nums, items, strict=True):
            self.belongs(n, dtype, e)
        fixed = not _is_changed(name, self.tree) and len({n.types for n in nums}) == 1
        fixed = fixed and not nums[0].either
        array = self._buffer_of(name, dtype, len(nums))
        flags = None if fixed else self._buffer_of(f"{name}_py", "bool", len(nums))
        for k, n in enumerate(nums):
            self.b.emit(Store(array, (integer(k),), n.ir, span=span_of(value)))
            if flags is not None:
                self.b.emit(Store(flags, (integer(k),), n.weak_now, span=span_of(value)))
        weak = fixed and nums[0].weak is not None
        shape = (constant(len(nums)),)
        self.b.env[name] = ArrayRef(array, dtype, 0, shape, weak=weak, flags=flags)
        return True

    def _buffer_of(self, hint: str, dtype: str, length: int) -> str:
        name = self.array_name(hint)
        text = f"_np.empty({length}, {DTYPES[dtype].numpy.str!r})"
        self.b.allocate(name, text, ArrayType(dtype, 1, 0))
        return name


def _items(value: ast.expr) -> Sequence[ast.expr]:
    match value:
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return elts if not any(isinstance(e, ast.Starred) for e in elts) else ()
        case ast.BinOp(
            left=ast.List(elts=[one]), op=ast.Mult(), right=ast.Constant(value=int(times))
        ) | ast.BinOp(
            left=ast.Constant(value=int(times)), op=ast.Mult(), right=ast.List(elts=[one])
        ):
            return [one] * min(times, SMALL + 1)
    return ()


def _is_changed(name: str, tree: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name)
        and n.value.id == name
        for n in ast.walk(tree)
    )


def stays_inside(
    name: str, tree: ast.AST, *, returned: bool = False, sliced: bool = False
) -> bool:
    """Whether `name` is only asked for its items and its length, so that no other name has them;
    or ``returned``, once, or ``sliced``.
    """
    return not outside(name, tree, returned=returned, sliced=sliced)


def outside(
    name: str, tree: ast.AST, *, returned: bool = False, sliced: bool = False
) -> list[ast.Name]:
    """Where `name` stands for more than its items and its length; or is ``sliced``."""
    return outsides(tree, returned=returned, sliced=sliced).get(name, [])


def outsides(
    tree: ast.AST, *, returned: bool = False, sliced: bool = False
) -> dict[str, list[ast.Name]]:
    """The same of every name."""
    allowed, python = set[ast.AST](), set[ast.AST]()
    names: list[ast.Name] = []
    for n in below(tree):
        match n:
            case ast.Name():
                names.append(n)
            case ast.If(body=body) if left_to_python(n):
                python.update(below(*body))
            case ast.Subscript(value=ast.Name() as array, slice=part):
                if not isinstance(part, ast.Tuple) and (sliced or not isinstance(part, ast.Slice)):
                    allowed.add(array)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as array]):
                allowed.add(array)
            case ast.Return(value=ast.expr() as value) if returned:
                first = {e.id: e for e in [*results(value)][::-1] if isinstance(e, ast.Name)}
                allowed.update(first.values())
    out: dict[str, list[ast.Name]] = {}
    for n in sorted(names, key=lambda n: (n.lineno, n.col_offset)):
        if n not in python and n not in allowed and not isinstance(n.ctx, ast.Store):
            out.setdefault(n.id, []).append(n)
    return out
