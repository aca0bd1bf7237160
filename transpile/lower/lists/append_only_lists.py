"""Append-only lists: buffers that loops fill, and that are read after the loop."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record
from loopir.nodes import Append, Call, Expr, Store, Var

from ...frontend.ast_walk import walk_nodes
from ...frontend.refusal import refuse, refuse_unknown_length
from ...frontend.source import span_of
from ...result_spec import ArrayResult, ResultSpec
from ...types.linear_form import LENGTH, int_constant
from ...types.typed_values import ComplexPair, Num, constant
from ...types.value_types import ELEMENTS, PARTS, ArrayType
from ..arrays.host_expressions import host_expression, known_before_kernel
from ..loops.loop_exits import break_index
from ..loops.lower_loops import Loops
from ..state.ir_builder import Trial
from ..state.symbol_values import ArrayRef, FinishedList, ListRef, Scalar

__all__ = [
    "LIST_TO_ARRAY", "VECTOR_STORE_SLACK", "ListBuilder", "NeedsAppendCounter", "Lists",
    "one_append_lists",
]

LIST_TO_ARRAY: tuple[Any, ...] = (np.array, np.asarray, np.fromiter)
"""What makes an array of a list; its elements are converted as item assignment does."""

VECTOR_STORE_SLACK = 64  # elements that a full vector store may write beyond the last one


class NeedsAppendCounter(Exception):
    """The list of this name takes other numbers of elements on other paths."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@record
class ListBuilder:
    """A list under construction: its buffer, element type, and length if known beforehand.

    ``taken``: an array is made of it, and nothing else; ``target``: of this dtype. ``flags``: the
    buffer that tells which elements are Python's (of dtype ``python``), if not all or none are.
    ``room``: how many elements each append of the source adds at most, as Python text.
    """

    source: str
    buffer: str
    dtype: str | None = None
    weak: bool = False
    length: Num | None = None
    taken: bool = False
    target: str | None = None
    flags: str | None = None
    python: str | None = None
    room: tuple[str, ...] = ()


class Lists(Loops):
    """Lowers ``append``, and what is done with a list."""

    lists: dict[str, ListBuilder]
    plain: set[str]
    open_lists: set[str]

    @contextmanager
    def tried_lists(self) -> Iterator[Trial]:
        kept, trial = {name: replace(built) for name, built in self.lists.items()}, Trial()
        try:
            yield trial
        finally:
            if not trial.holds:
                self.lists = kept

    def appended(self, block: Sequence[ast.stmt]) -> set[str]:
        """The counters of the lists that `block` appends to."""
        names = self._appended_names(block)
        return {f"#{n}" for n in names if n in self.lists and not self._one_each(n)}

    @staticmethod
    def _appended_names(block: Sequence[ast.stmt]) -> set[str]:
        return {
            n.func.value.id
            for n in walk_nodes(*block)
            if isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr == "append"
            and isinstance(n.func.value, ast.Name)
        }

    def _one_each(self, name: str) -> bool:
        """Whether every iteration of one loop appends exactly one element."""
        return name in self.plain

    def length_of_list(self, node: ast.expr) -> Num | None:
        got = self.b.env.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(got, ListRef):
            return None
        if not self._one_each(got.name):
            counter = self.b.env.get(f"#{got.name}")
            return counter if isinstance(counter, Num) else None
        length = self.lists[got.name].length
        if got.name in self.open_lists:
            refuse_unknown_length(
                got.name, f"the length of `{got.name}` is asked while it grows", node
            )
        return length if length is not None else constant(0)

    def finished_list(self, name: str) -> ArrayRef | None:
        built = self.lists[name]
        length = built.length if self._one_each(name) else self.b.env.get(f"#{name}")
        if name in self.open_lists or not isinstance(length, Num):
            return None
        if built.dtype is None or built.flags:
            return None
        return ArrayRef(built.buffer, built.dtype, 0, (length,), weak=built.weak)

    def belongs_to(self, array: ArrayRef, value: Scalar, node: ast.AST) -> None:
        """An item that is set in a finished list has the type of the others."""
        built = next((b for b in self.lists.values() if b.buffer == array.name), None)
        if built is None:
            return
        item = self.single(value, node)
        fits = isinstance(item, Num) and item.exact and not item.boxed and not built.flags
        if fits and isinstance(item, Num):
            types = {item.strong, item.weak} - {None}
            fits = types == {item.dtype} == {array.dtype}
            fits = fits and (built.taken or item.types == (
                (None, item.dtype) if built.weak else (item.dtype, None)
            ))
        if not fits:
            refuse_unknown_length(
                built.source, f"the items of `{built.source}` have several types", node
            )

    def _append(self, name: str, item: ast.expr, stmt: ast.stmt) -> None:
        b = self.b
        built = self.lists.get(name)
        if built is None or b.env.get(name) != ListRef(name):
            refuse("LOWER_UNSUPPORTED", f"`{name}` is not a list made here", stmt)
        if self._one_each(name) and (b.forks or (b.frames and self._room(b.frames[-1].trips))):
            raise NeedsAppendCounter(name)
        number = self.number(item)
        if isinstance(number, ComplexPair) or (built.target or built.dtype) in PARTS:
            self._append_complex(built, number, stmt)
            return
        value = self._taken(built, number, stmt)
        if not b.frames:
            refuse_unknown_length(name, f"`{name}.append` stands outside a loop", stmt)
        buffer = self._buffer(built, stmt)
        if self._one_each(name):
            b.emit(Store(buffer, (b.frames[-1].var,), value, span=span_of(stmt)))
            built.length = b.integer_num(b.frames[-1].trips)
            return
        counter = b.env.get(f"#{name}")
        assert isinstance(counter, Num)
        assert isinstance(counter.ir, Var)
        b.emit(Append(buffer, counter.ir.name, value, span=span_of(stmt)))

    def _append_complex(self, built: ListBuilder, n: Num | ComplexPair, stmt: ast.stmt) -> None:
        """A complex number, in a list to which each iteration appends one."""
        b = self.b
        if not (b.frames and self._one_each(built.source)):
            refuse("LOWER_COMPLEX", "a list of complex numbers grows by one each iteration", stmt)
        dtype, weak = built.target, False
        if dtype is None:
            if (
                not isinstance(n, ComplexPair)
                or n.mixed
                or n.re.boxed
                or not _has_one_type(n, built)
            ):
                refuse("LOWER_JOIN", f"the elements of `{built.source}` have different types", stmt)
            dtype, weak = n.strong or n.weak, n.strong is None and not built.taken
        built.dtype, built.weak = dtype, weak
        assert dtype is not None
        place = span_of(stmt)
        index = (b.frames[-1].var,)
        b.block.extend(self.stores(self._buffer(built, stmt), dtype, index, n, stmt, place))
        built.length = b.integer_num(b.frames[-1].trips)

    def _taken(self, built: ListBuilder, n: Num, stmt: ast.stmt) -> Expr:
        """`n` as it stands in the buffer."""
        if n.either and self.b.invariant(n.weak_now):
            n = self.settled(n, stmt)
        if built.target and not n.boxed:
            built.dtype = built.target
            return self.stored(n, built.target, stmt)
        mixed = n.either and not (built.taken and n.strong == n.weak)
        single = n.exact and not n.boxed and not (mixed and n.strong != n.dtype)
        weak, flagged = n.strong is None, mixed and self._one_each(built.source)
        known = (built.dtype, built.weak, built.python)
        now = (n.dtype, weak and not built.taken, n.weak if flagged else None)
        if not single or (mixed and not flagged) or (built.dtype and known != now):
            refuse("LOWER_JOIN", f"the elements of `{built.source}` have different types", stmt)
        built.dtype, built.weak, built.python = now
        if flagged:
            built.flags = built.flags or self.b.name(f"{built.buffer}_py")
            flags = self._new_buffer(built.flags, "bool", self._at_most(built, stmt))
            self.b.emit(Store(flags, (self.b.frames[-1].var,), n.weak_now, span=span_of(stmt)))
        return n.ir

    def _buffer(self, built: ListBuilder, stmt: ast.stmt) -> str:
        """The list's array, with room for what an append at this place adds."""
        assert built.dtype is not None
        built.room = (*built.room, self._at_most(built, stmt))
        slack = () if self._one_each(built.source) else (str(VECTOR_STORE_SLACK),)
        return self._new_buffer(built.buffer, built.dtype, " + ".join((*built.room, *slack)))

    def _at_most(self, built: ListBuilder, stmt: ast.stmt) -> str:
        """How often a statement at this place is executed, at most."""
        factors = []
        for frame in self.b.frames:
            trips, room = known_before_kernel(frame.trips, self.b), self._room(frame.trips)
            if trips is not None:
                factors.append(host_expression(Call("max", (trips, int_constant(0)), "i64")))
            elif room:
                factors.append(f"({' + '.join(room)})")
            else:
                said = f"the length of `{built.source}` is not known before the loop"
                refuse_unknown_length(built.source, said, stmt)
        return " * ".join(factors)

    def _room(self, trips: Expr) -> tuple[str, ...]:
        """That of a finished list, where a loop goes through its items."""
        for name, built in self.lists.items():
            counter = self.b.env.get(f"#{name}")
            if not isinstance(counter, Num) or name in self.open_lists:
                continue
            if trips in (counter.ir, Call("max", (counter.ir, int_constant(0)), "i64")):
                return built.room
        return ()

    def _new_buffer(self, name: str, dtype: str, length: str) -> str:
        text = f"_np.empty({length}, '{ELEMENTS[dtype].numpy.str}')"
        self.b.allocate(name, text, ArrayType(dtype, 1, 0))
        return name

    def counted(self, names: set[str]) -> None:
        """Notes that the lengths of these lists are lengths."""
        for name in names:
            n = self.b.env.get(f"#{name}")
            if isinstance(n, Num) and isinstance(n.ir, Var):
                self.b.env[f"#{name}"] = self.b.integer_num(n.ir, LENGTH)

    def built(self, name: str, buffer: str) -> ListBuilder:
        """A new list with this name and buffer."""
        raise NotImplementedError

    def from_list(self, call: ast.Call, name: str) -> ResultSpec:
        """``np.array`` or ``list`` of a list under construction."""
        raise NotImplementedError

    def _made(self, source: str, call: ast.Call) -> FinishedList:
        b, built = self.b, self.lists[source]
        if b.frames or b.branches:
            refuse("LOWER_UNSUPPORTED", f"`{source}` is used before it is finished", call)
        returned = self.from_list(call, source)
        if built.length is None or built.dtype is None or not isinstance(returned, ArrayResult):
            return FinishedList(returned, None)
        return FinishedList(returned, ArrayRef(returned.name, built.dtype, 0, (built.length,)))


def _has_one_type(n: ComplexPair, built: ListBuilder) -> bool:
    """Whether all such elements are Python's, or NumPy's; for an array it is all the same."""
    if n.strong and n.weak:
        return bool(built.taken) and n.strong == n.weak
    return bool(n.strong or n.weak)


def one_append_lists(tree: ast.FunctionDef) -> set[str]:
    """Lists that one top-level loop fills by exactly one append an iteration."""
    out: set[str] = set()
    for stmt in tree.body:
        if isinstance(stmt, ast.For) and break_index(stmt.body) is None:
            out |= {n for s in stmt.body if (n := _appended_list(s)) is not None}
    for name in list(out):
        uses = [
            n
            for n in ast.walk(tree)
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name
        ]
        if len(uses) != 1:
            out.discard(name)
    return out


def _appended_list(stmt: ast.stmt) -> str | None:
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))):
            return name
        case _:
            return None
