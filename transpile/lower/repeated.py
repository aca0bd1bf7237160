"""Lists of one value so many times, ``[0] * n``, and lists of such lists: arrays that the kernel
fills, and changes.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from loopir.nodes import Call, Const, Expr, Interval, Loop, Stmt, Store, Var
from loopir.types import DTYPES, INDEX

from ..infer import TRUE, Num, cast, constant, exactly
from ..macros.liveness import reads
from ..pair import Pair
from ..ranges import LENGTH, integer
from ..returned import Listed, Returned
from ..types import ArrayType
from .fixed import Fixed, stays_inside
from .pytext import as_python, known_ahead
from .refusal import refuse
from .room import room
from .values import ArrayRef, Scalar

__all__ = ["IsMixed", "Repeated"]


class IsMixed(Exception):
    """The list of this name holds Python's numbers and NumPy's, of this dtype if of another."""

    def __init__(self, name: str, dtype: str | None = None) -> None:
        super().__init__(name)
        self.name, self.dtype = name, dtype


class Repeated(Fixed):
    """Lowers such lists. ``mixed``: those that tell of each item whose number it is."""

    mixed: Mapping[str, str | None]
    repeated: dict[str, str]
    """By their arrays."""

    def holds_repeated(self, name: str, value: ast.expr) -> bool:
        """Lowers ``v = [a] * n`` and ``v = [[a] * n for _ in range(m)]``; whether it is such."""
        parts = self._parts(value)
        if parts is None or not stays_inside(
            name, self.tree, returned=True, sliced=True
        ):
            return False
        b, (times, item) = self.b, parts
        lengths = [self._length_of(n, name) for n in times]
        one = b.rebind(self.num(item), "item")
        self.belongs(one, one.dtype, value)
        if one.strong is not None and one.dtype not in ("f64", "i64", "bool"):
            refuse("LOWER_TYPE", f"the items of `{name}` are of type {one.dtype}", value)
        if one.strong is not None and name not in self.mixed:
            raise IsMixed(name)
        if (to := self.mixed.get(name)) is not None:
            if one.strong is not None or not exactly(one.ir, to):
                refuse("LOWER_JOIN", "the items of a list have several types", value)
            one = Num(cast(one.ir, to), strong=to, weak=one.weak, is_weak=TRUE)
        array, flags = self._filled(name, one, lengths, value), None
        if name in self.mixed:
            flags = self._filled(f"{name}_py", Num(one.weak_now), lengths, value)
        self.repeated[array] = name
        shape = tuple(self._extent_of(n) for n in lengths)
        if any(known_ahead(n, b) is None for n in lengths):
            b.roomy.add(array)
        kinds = (list,) * len(shape)
        weak, unit = flags is None, len(shape) - 1
        b.env[name] = ArrayRef(
            array, one.dtype, unit, shape, weak=weak, flags=flags, kinds=kinds,
            python=one.weak if to else None)
        return True

    def _length_of(self, times: ast.expr, name: str) -> Expr:
        n = self.num(times)
        if not n.python_int:
            refuse("LOWER_UNSUPPORTED", f"the length of `{name}` is not an int", times)
        return n.ir if n.interval[0] >= 0 else Call("max", (n.ir, integer(0)), "i64")

    def _extent_of(self, length: Expr) -> Num:
        if isinstance(length, Const):
            return constant(int(length.value))
        return self.b.integer_num(self.b.bind(length, "length"), LENGTH)

    def _filled(self, hint: str, one: Num, lengths: Sequence[Expr], node: ast.expr) -> str:
        """An array with room for so many, of which the kernel makes each `one`, here and now."""
        name, b = self.array_name(hint), self.b
        most = [room(b, n) for n in lengths]
        if None in most:
            refuse("LOWER_UNSUPPORTED", f"the length of `{hint}` is not known before it", node)
        said = "".join(f"{as_python(n)}, " for n in most if n is not None)
        rank = len(lengths)
        text = f"_np.empty(({said}), {DTYPES[one.dtype].numpy.str!r})"
        b.allocate(name, text, ArrayType(one.dtype, rank, rank - 1))
        at = tuple(Var(b.name("i"), INDEX) for _ in lengths)
        nest: Stmt = Store(name, at, one.ir)
        for var, length in zip(reversed(at), reversed(lengths), strict=True):
            nest = Loop(var.name, Interval(integer(0), length), (nest,))
        b.emit(nest)
        return name

    def _parts(self, value: ast.expr) -> tuple[list[ast.expr], ast.expr] | None:
        """How often, from the outermost on, and what."""
        match value:
            case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult(), right=times):
                return [times], one
            case ast.BinOp(left=times, op=ast.Mult(), right=ast.List(elts=[one])):
                return [times], one
            case ast.ListComp(
                elt=one,
                generators=[
                    ast.comprehension(
                        target=ast.Name(id=name),
                        iter=ast.Call(func=func, args=[times], keywords=[]),
                        ifs=[],
                    )
                ],
            ) if self.known(func) is range and name not in reads([one]):
                if isinstance(one, ast.Constant):
                    return [times], one
                inner = self._parts(one)
                return None if inner is None else ([times, *inner[0]], inner[1])
        return None

    def belongs_to(self, array: ArrayRef, value: Scalar, node: ast.AST) -> None:
        if not array.kinds:
            super().belongs_to(array, value, node)
            return
        value = self.single(value, node)
        name = self.repeated[array.name]
        if isinstance(value, Pair):
            refuse("LOWER_COMPLEX", f"a complex number is put into the list `{name}`", node)
        if array.flags is None and array.dtype == "i64" and value.strong in ("f32", "f64"):
            raise IsMixed(name, value.strong)
        self.belongs(value, array.dtype, node, array.python)
        if array.flags is None and value.strong is not None:
            raise IsMixed(name)

    def whole_list(self, node: ast.expr) -> Returned | None:
        """Such a list as a result, of which there is one."""
        array = self.b.env.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(array, ArrayRef) or not array.kinds or array.places:
            return None
        if array.name in self.b.roomy:
            refuse("LOWER_UNSUPPORTED", f"the length of `{ast.unparse(node)}` is not known", node)
        dtype = array.python or array.dtype if array.flags else None
        return Listed(array.name, None, array.weak, array.flags, dtype)
