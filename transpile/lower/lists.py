"""Lists under construction: buffers that loops fill."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from loopir.nodes import Append, Store, Var
from loopir.types import DTYPES

from ..infer import Num, constant
from ..plan import Filled, Returned
from ..source import span_of
from ..types import ArrayType
from .loops import Loops
from .pytext import as_python
from .refusal import refuse
from .values import ArrayRef, ListRef, Made

__all__ = ["Built", "Lists"]

_SLACK = 64  # elements that a full vector store may write beyond the last one


@dataclass
class Built:
    """A list under construction: its buffer, element type, and length if known beforehand."""

    name: str
    buffer: str
    dtype: str | None = None
    weak: bool = False
    length: Num | None = None
    returned: bool = False


class Lists(Loops):
    """Lowers ``append``, and what is done with a list."""

    lists: dict[str, Built]
    plain: set[str]
    open_lists: set[str]

    def appended(self, block: Sequence[ast.stmt]) -> set[str]:
        """The counters of the lists that `block` appends to."""
        names = self._appended_names(block)
        return {f"#{n}" for n in names if n in self.lists and not self._one_each(n)}

    @staticmethod
    def _appended_names(block: Sequence[ast.stmt]) -> set[str]:
        return {
            n.func.value.id
            for s in block
            for n in ast.walk(s)
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
        if self.b.frames:
            refuse("LOWER_UNSUPPORTED", f"the length of `{got.name}` is asked while it grows", node)
        return length if length is not None else constant(0)

    def finished_list(self, name: str) -> ArrayRef | None:
        built = self.lists[name]
        if name in self.open_lists or built.length is None or built.dtype is None:
            return None
        return ArrayRef(built.buffer, built.dtype, 0, (built.length,), weak=built.weak)

    def _append(self, name: str, item: ast.expr, stmt: ast.stmt) -> None:
        b = self.b
        built = self.lists.get(name)
        if built is None or b.env.get(name) != ListRef(name):
            refuse("LOWER_UNSUPPORTED", f"`{name}` is not a list made here", stmt)
        n = self.num(item)
        if n.either or n.boxed or not n.exact:
            refuse("LOWER_JOIN", f"the elements of `{name}` have different types", stmt)
        if built.dtype not in (None, n.dtype) or (built.dtype and built.weak != (n.strong is None)):
            refuse("LOWER_JOIN", f"the elements of `{name}` have different types", stmt)
        built.dtype, built.weak = n.dtype, n.strong is None
        if not b.frames:
            refuse("LOWER_UNSUPPORTED", f"`{name}.append` stands outside a loop", stmt)
        buffer = self._buffer(built, stmt)
        if self._one_each(name):
            b.emit(Store(buffer, (b.frames[-1].var,), n.ir, span=span_of(stmt)))
            built.length = b.integer_num(b.frames[-1].trips)
            return
        counter = b.env.get(f"#{name}")
        assert isinstance(counter, Num)
        assert isinstance(counter.ir, Var)
        b.emit(Append(buffer, counter.ir.name, n.ir, span=span_of(stmt)))

    def _buffer(self, built: Built, stmt: ast.stmt) -> str:
        name = built.buffer
        if name in self.b.params:
            return name
        factors = []
        for frame in self.b.frames:
            if not self.b.invariant(frame.trips):
                refuse(
                    "LOWER_UNSUPPORTED",
                    f"the length of `{built.name}` is not known before the loop",
                    stmt,
                )
            factors.append(as_python(frame.trips))
        length = " * ".join(factors) + ("" if self._one_each(built.name) else f" + {_SLACK}")
        assert built.dtype is not None
        text = f"_np.empty({length}, '{DTYPES[built.dtype].numpy.str}')"
        self.b.allocate(name, text, ArrayType(built.dtype, 1, 0))
        return name

    def from_list(self, call: ast.Call, name: str) -> Returned:
        """``np.array`` or ``list`` of a list under construction."""
        raise NotImplementedError

    def _made(self, source: str, call: ast.Call) -> Made:
        b, built = self.b, self.lists[source]
        if b.frames or b.branches:
            refuse("LOWER_UNSUPPORTED", f"`{source}` is used before it is finished", call)
        returned = self.from_list(call, source)
        if built.length is None or built.dtype is None or not isinstance(returned, Filled):
            return Made(returned, None)
        return Made(returned, ArrayRef(returned.name, built.dtype, 0, (built.length,)))
