"""Lists of fixed length as arrays: short displays, `[value] * n`, and lists passed or captured."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from loopir.dtypes import DTYPES, INDEX
from loopir.nodes import Call, Const, Dim, Expr, Interval, Loop, Stmt, Store, Var

from ...analysis.liveness import names_read
from ...call_plan import ListItems
from ...frontend.ast_names import names_used
from ...frontend.refusal import refuse
from ...frontend.source import span_of
from ...result_spec import ListResult, ObjectResult, ResultSpec
from ...types.linear_form import LENGTH, int_constant
from ...types.typed_values import TRUE, ComplexPair, Num, cast, constant, converts_exactly
from ...types.value_types import ArrayType, ListType
from ..arrays.capacity_bounds import capacity_bound
from ..arrays.host_expressions import host_expression, known_before_kernel
from ..loops.early_exit import Leaving
from ..state.symbol_values import ArrayRef, Scalar
from .list_uses import does_not_escape, escaping_uses

__all__ = ["Fixed", "NeedsItemFlags", "Repeated", "TakenLists"]

MAX_SMALL_ITEMS = 16
"""Items at most."""


class Fixed(Leaving):
    """Lowers displays."""

    tree: ast.FunctionDef

    def array_name(self, hint: str) -> str:
        raise NotImplementedError

    def holds_items(self, name: str, value: ast.expr) -> bool:
        """Lowers ``v = [a, b, c]``, ``v = (a, b)`` and ``v = [a] * 4``; whether it is such."""
        items = _display_items(value)
        if not 0 < len(items) <= MAX_SMALL_ITEMS or not does_not_escape(name, self.tree):
            return False
        if isinstance(value, ast.Tuple) and _has_item_stores(name, self.tree):
            refuse("LOWER_TYPE", f"`{name}` is a tuple, and items of it are set", value)
        nums: list[Num] = [self.b.rebind(self.num(e), "item") for e in items]
        dtype = nums[0].dtype
        for n, e in zip(nums, items, strict=True):
            self.belongs(n, dtype, e)
        fixed = not _has_item_stores(name, self.tree) and len({n.types for n in nums}) == 1
        fixed = fixed and not nums[0].either
        array = self._buffer_of(name, dtype, len(nums))
        flags = None if fixed else self._buffer_of(f"{name}_py", "bool", len(nums))
        for k, n in enumerate(nums):
            self.b.emit(Store(array, (int_constant(k),), n.ir, span=span_of(value)))
            if flags is not None:
                self.b.emit(Store(flags, (int_constant(k),), n.weak_now, span=span_of(value)))
        weak = fixed and nums[0].weak is not None
        shape = (constant(len(nums)),)
        self.b.env[name] = ArrayRef(array, dtype, 0, shape, weak=weak, flags=flags)
        return True

    def _buffer_of(self, hint: str, dtype: str, length: int) -> str:
        name = self.array_name(hint)
        text = f"_np.empty({length}, {DTYPES[dtype].numpy.str!r})"
        self.b.allocate(name, text, ArrayType(dtype, 1, 0))
        return name


def _display_items(value: ast.expr) -> Sequence[ast.expr]:
    match value:
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return elts if not any(isinstance(e, ast.Starred) for e in elts) else ()
        case ast.BinOp(
            left=ast.List(elts=[one]), op=ast.Mult(), right=ast.Constant(value=int(times))
        ) | ast.BinOp(
            left=ast.Constant(value=int(times)), op=ast.Mult(), right=ast.List(elts=[one])
        ):
            return [one] * min(times, MAX_SMALL_ITEMS + 1)
    return ()


def _has_item_stores(name: str, tree: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name)
        and n.value.id == name
        for n in ast.walk(tree)
    )


class NeedsItemFlags(Exception):
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
        if parts is None or not does_not_escape(
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
            raise NeedsItemFlags(name)
        if (to := self.mixed.get(name)) is not None:
            if one.strong is not None or not converts_exactly(one.ir, to):
                refuse("LOWER_JOIN", "the items of a list have several types", value)
            one = Num(cast(one.ir, to), strong=to, weak=one.weak, is_weak=TRUE)
        array, flags = self._filled(name, one, lengths, value), None
        if name in self.mixed:
            flags = self._filled(f"{name}_py", Num(one.weak_now), lengths, value)
        self.repeated[array] = name
        shape = tuple(self._extent_of(n) for n in lengths)
        if any(known_before_kernel(n, b) is None for n in lengths):
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
        return n.ir if n.interval[0] >= 0 else Call("max", (n.ir, int_constant(0)), "i64")

    def _extent_of(self, length: Expr) -> Num:
        if isinstance(length, Const):
            return constant(int(length.value))
        return self.b.integer_num(self.b.bind(length, "length"), LENGTH)

    def _filled(self, hint: str, one: Num, lengths: Sequence[Expr], node: ast.expr) -> str:
        """An array with room for so many, of which the kernel makes each `one`, here and now."""
        name, b = self.array_name(hint), self.b
        most = [capacity_bound(b, n) for n in lengths]
        if None in most:
            refuse("LOWER_UNSUPPORTED", f"the length of `{hint}` is not known before it", node)
        said = "".join(f"{host_expression(n)}, " for n in most if n is not None)
        rank = len(lengths)
        text = f"_np.empty(({said}), {DTYPES[one.dtype].numpy.str!r})"
        b.allocate(name, text, ArrayType(one.dtype, rank, rank - 1))
        at = tuple(Var(b.name("i"), INDEX) for _ in lengths)
        nest: Stmt = Store(name, at, one.ir)
        for var, length in zip(reversed(at), reversed(lengths), strict=True):
            nest = Loop(var.name, Interval(int_constant(0), length), (nest,))
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
            ) if self.known(func) is range and name not in names_read([one]):
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
        if isinstance(value, ComplexPair):
            refuse("LOWER_COMPLEX", f"a complex number is put into the list `{name}`", node)
        if array.flags is None and array.dtype == "i64" and value.strong in ("f32", "f64"):
            raise NeedsItemFlags(name, value.strong)
        self.belongs(value, array.dtype, node, array.python)
        if array.flags is None and value.strong is not None:
            raise NeedsItemFlags(name)

    def whole_list(self, node: ast.expr) -> ResultSpec | None:
        """Such a list as a result, of which there is one."""
        array = self.b.env.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(array, ArrayRef) or not array.kinds or array.places:
            return None
        if array.name in self.b.roomy:
            refuse("LOWER_UNSUPPORTED", f"the length of `{ast.unparse(node)}` is not known", node)
        dtype = array.python or array.dtype if array.flags else None
        return ListResult(array.name, None, array.weak, array.flags, dtype)


class TakenLists(Repeated):
    """Lowers such lists."""

    def take(self, name: str, ty: ListType, node: ast.AST, *, captured: bool = False) -> ArrayRef:
        """The array of the list `name`, of which a loop reads items, and nothing else is asked."""
        b = self.b
        known = (k.name for k in b.bindings.values() if isinstance(k, ListItems) and k.text == name)
        array = next(known, None) or self._new(name, ty, node, captured)
        rank = len(ty.kinds)
        shape = tuple(b.integer_num(Dim(array, k), LENGTH) for k in range(rank))
        return ArrayRef(array, ty.item.dtype, rank - 1, shape, weak=ty.item.weak, kinds=ty.kinds)

    def _new(self, name: str, ty: ListType, node: ast.AST, captured: bool) -> str:
        for use in escaping_uses(name, self.tree, returned=True, sliced=True):
            refuse("LOWER_TYPE", f"`{name}` is of type {ty}, of which all is taken at once", use)
        if name not in _names_read_in_loops(self.tree):
            said = f"`{name}` is of type {ty}, and no loop goes through it"
            refuse("LOWER_TYPE", said, node)
        array, rank = self.array_name(f"{name}_items"), len(ty.kinds)
        self.b.take(ListItems(array, name, ty, captured), ArrayType(ty.item.dtype, rank, rank - 1))
        return array

    def _list_of(self, array: ArrayRef) -> ListItems | None:
        binding = self.b.bindings.get(array.name)
        return binding if isinstance(binding, ListItems) else None

    def belongs_to(self, array: ArrayRef, value: Scalar, node: ast.AST) -> None:
        taken = self._list_of(array)
        if taken is None:
            super().belongs_to(array, value, node)
            return
        value = self.single(value, node)
        if isinstance(value, ComplexPair):
            refuse("LOWER_COMPLEX", "a complex number is put into a list of others", node)
        self.belongs(value, array.dtype, node)
        if value.either or (value.strong is None) is not array.weak:
            refuse("LOWER_JOIN", f"the items of `{taken.text}` have several types", node)
        if array.kinds[-1] is tuple:
            refuse("LOWER_TYPE", "a tuple is written", node)

    def whole_list(self, node: ast.expr) -> ResultSpec | None:
        array = self.array(node)
        taken = self._list_of(array) if array is not None else None
        if array is None or taken is None:
            return super().whole_list(node)
        if array.places:
            said = f"`{ast.unparse(node)}` is a list in a list, and is returned"
            return refuse("LOWER_UNSUPPORTED", said, node)
        return ObjectResult(taken.text)


def _names_read_in_loops(tree: ast.AST) -> set[str]:
    """The names in loops that may be worth an array: not those that a search only skips through."""
    names: set[str] = set()
    for n in ast.walk(tree):
        match n:
            case ast.For():
                names |= names_used(n)
            case ast.While():
                steps = {name for s in ast.walk(n) if (name := _stepped_name(s))}
                at = (s for s in ast.walk(n) if isinstance(s, ast.Subscript))
                names |= {x for s in at if steps & names_used(s.slice) for x in names_used(s.value)}
            case ast.Assign(value=ast.Subscript(value=of, slice=ast.Slice())):
                names |= names_used(of)
    return names


def _stepped_name(s: ast.AST) -> str:
    """The name that goes on by a constant."""
    match s:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub(), value=by):
            pass
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.Name(id=same), op=ast.Add() | ast.Sub(), right=by),
        ) if name == same:
            pass
        case _:
            return ""
    return name if isinstance(by, ast.Constant) else ""
