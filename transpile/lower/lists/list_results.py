"""Results made of finished lists: how they, and arrays made of them, are returned."""
from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from functools import partial

import numpy as np

from loopir.nodes import Param, Store

from ...call_plan import ResultSlot
from ...frontend.refusal import refuse
from ...result_spec import ArrayResult, ListResult, ResultSpec, TupleResult, as_tuple
from ...types.linear_form import int_constant
from ...types.typed_values import Num
from ...types.value_types import ELEMENTS
from ..arrays.array_allocators import dtype_argument
from ..lower_statements import Statements
from .append_only_lists import LIST_TO_ARRAY, ListBuilder
from .expand_dynamic_lists import counter_name
from .list_uses import only_consumer

__all__ = ["Finished"]


class Finished(Statements):
    """What is made of lists at the very end."""

    tree: ast.FunctionDef

    def _slot(self, dtype: str, n: Num) -> str:
        b = self.b
        name = b.name("result")
        b.params[name] = Param(name, dtype, 0, None, written=True)
        b.bindings[name] = ResultSlot(name, dtype)
        b.emit(Store(name, (), n.ir))
        return name

    def _list(self, name: str, node: ast.AST) -> ResultSpec:
        built = self.lists[name]
        if built.dtype is None:
            return refuse("LOWER_UNSUPPORTED", f"`{name}` is always empty", node)
        return ListResult(built.buffer, self._length(name), built.weak, built.flags, built.python)

    def _length(self, name: str) -> str | None:
        if self._one_each(name):
            return None
        counter = self.b.env[f"#{name}"]
        assert isinstance(counter, Num)
        return self._slot("i64", counter)

    def from_list(self, call: ast.Call, name: str) -> ResultSpec:
        function, rest = self.known(call.func), call.args[1:]
        if function in (builtins.list, builtins.tuple) and not rest and not call.keywords:
            listed = self._list(name, call)
            return listed if function is builtins.list else TupleResult((listed,), as_tuple)
        built = self.lists[name]
        argument = self._dtype_argument(call)
        if function not in LIST_TO_ARRAY or built.dtype is None or argument is None:
            return refuse("LOWER_CALL", f"`{ast.unparse(call)}` is not compiled", call)
        dtype = dtype_argument(argument[0], self.array, self.known, call)
        if built.flags or dtype not in (None, built.dtype):
            return refuse("LOWER_TYPE", f"`{ast.unparse(call)}` converts its elements", call)
        return ArrayResult(built.buffer, self._length(name), dtype)

    @staticmethod
    def _dtype_argument(call: ast.Call) -> tuple[ast.expr | None] | None:
        """The argument of ``np.array(list, dtype)``; None where there are others."""
        given = call.args[1:] + [k.value for k in call.keywords if k.arg == "dtype"]
        if len(given) > 1 or len(given) != len(call.args) - 1 + len(call.keywords):
            return None
        return (given[0] if given else None,)

    def _count_of(self, name: str) -> Num:
        """The length of a list that grows."""
        count = self.b.env[counter_name(name)]
        assert isinstance(count, Num)
        return count

    def _array_of(self, name: str, call: ast.Call) -> ResultSpec:
        """``np.array`` of such a list."""
        function, argument = self.known(call.func), self._dtype_argument(call)
        if function not in LIST_TO_ARRAY[:2] or argument is None:
            return refuse("LOWER_CALL", f"`{ast.unparse(call)}` is not compiled", call)
        slot = self._slot("i64", self._count_of(name))
        listed = self.returned_list(name, slot, call)
        dtype = dtype_argument(argument[0], self.array, self.known, call)
        assert isinstance(listed, ListResult)
        held = self.holds[name]
        if dtype is not None and held.weak and not held.mixed and held.dtype == "i64" != dtype:
            made = partial(np.array, dtype=ELEMENTS[dtype].numpy)  # may not hold every int
            return TupleResult((listed,), made)
        alike = not listed.flags or listed.weak_dtype == held.dtype in ("f64", "i64", "bool")
        if not alike or dtype not in (None, held.dtype):
            return refuse("LOWER_TYPE", f"`{ast.unparse(call)}` converts its elements", call)
        return ArrayResult(listed.name, slot, dtype)

    def built(self, name: str, buffer: str) -> ListBuilder:
        built = ListBuilder(name, buffer)
        call = only_consumer(self.tree, name)
        function = self._resolve(call.func) if call is not None else None
        if call is None or function not in LIST_TO_ARRAY:
            return built
        argument = self._dtype_argument(call)
        if argument is None or (function is np.fromiter and argument == (None,)):
            return built
        target = dtype_argument(argument[0], self.array, self.known, call)
        return replace(built, taken=True, target=target)

    def counter(self, name: str) -> None:
        """Starts counting the elements of a list."""
        self.counters.add(f"#{name}")
        self.b.env[f"#{name}"] = Num(int_constant(0), weak="i64")
