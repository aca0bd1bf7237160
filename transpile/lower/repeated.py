"""Lists of one value so many times, ``[0] * n``: arrays that the kernel fills, and changes."""
from __future__ import annotations

import ast

from loopir.nodes import Call, Interval, Loop, Store, Var
from loopir.types import DTYPES, INDEX

from ..infer import Num
from ..pair import Pair
from ..plan import Listed, Returned
from ..ranges import LENGTH, integer
from ..types import ArrayType
from .fixed import Fixed, stays_inside
from .pytext import as_python
from .refusal import refuse
from .values import ArrayRef

__all__ = ["IsMixed", "Repeated"]


class IsMixed(Exception):
    """The list of this name holds Python's numbers and NumPy's."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Repeated(Fixed):
    """Lowers such lists. ``mixed``: those that tell of each item whose number it is."""

    mixed: frozenset[str]
    repeated: dict[str, str]
    """By their arrays."""

    def holds_repeated(self, name: str, value: ast.expr) -> bool:
        """Lowers ``v = [a] * n``; whether it is such."""
        parts = _parts(value)
        if parts is None or not stays_inside(name, self.tree, returned=True):
            return False
        b, (one, times) = self.b, (self.num(e) for e in parts)
        if b.frames or b.branches or name in self.repeated.values():
            refuse("LOWER_UNSUPPORTED", f"the list `{name}` is made inside a loop or branch", value)
        if not times.python_int or not b.invariant(times.ir):
            refuse("LOWER_UNSUPPORTED", f"the length of `{name}` is not known before it", value)
        one = b.rebind(one, "item")
        self.belongs(one, one.dtype, value)
        if one.strong is not None and name not in self.mixed:
            raise IsMixed(name)
        length = Call("max", (times.ir, integer(0)), "i64")
        array, flags = self._filled(name, one, length), None
        if name in self.mixed:
            flags = self._filled(f"{name}_py", Num(one.weak_now), length)
        self.repeated[array] = name
        shape = (b.integer_num(b.bind(length, "length"), LENGTH),)
        weak = flags is None
        b.env[name] = ArrayRef(array, one.dtype, 0, shape, weak=weak, flags=flags)
        return True

    def _filled(self, hint: str, one: Num, length: Call) -> str:
        name, b = self.array_name(hint), self.b
        text = f"_np.empty({as_python(length)}, {DTYPES[one.dtype].numpy.str!r})"
        b.allocate(name, text, ArrayType(one.dtype, 1, 0))
        at = Var(b.name("i"), INDEX)
        b.emit(Loop(at.name, Interval(integer(0), length), (Store(name, (at,), one.ir),)))
        return name

    def belongs_to(self, array: ArrayRef, value: Num | Pair, node: ast.AST) -> None:
        name = self.repeated.get(array.name)
        if name is None:
            return
        if isinstance(value, Pair):
            refuse("LOWER_COMPLEX", f"a complex number is put into the list `{name}`", node)
        self.belongs(value, array.dtype, node)
        if array.flags is None and value.strong is not None:
            raise IsMixed(name)

    def whole_list(self, node: ast.expr) -> Returned | None:
        """Such a list as a result, of which there is one."""
        array = self.b.env.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(array, ArrayRef) or array.name not in self.repeated:
            return None
        dtype = array.dtype if array.flags else None
        return Listed(array.name, None, array.weak, array.flags, dtype)


def _parts(value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    match value:
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult(), right=times):
            return one, times
        case ast.BinOp(left=times, op=ast.Mult(), right=ast.List(elts=[one])):
            return one, times
    return None
