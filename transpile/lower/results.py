"""What the function returns, and the guards that every pair of its arrays needs."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from loopir.nodes import Append, Const, Disjoint, Expr, Load, Param, Stmt, Store
from loopir.tree import walk

from ..infer import Num
from ..pair import Pair
from ..plan import Filled, Listed, Literal, Nothing, Paired, Returned, Same, Slot, Tupled, Value
from ..ranges import integer
from .arrays import given_dtype, makes_array
from .consumers import consumer
from .lists import ARRAY_OF, Built
from .refusal import refuse
from .statements import Statements
from .values import ArrayRef, ListRef, Made

__all__ = ["Results", "alias_guards"]


class Results(Statements):
    """Lowers ``return``."""

    tree: ast.FunctionDef

    def returned(self, node: ast.expr | None) -> Returned:
        match node:
            case None | ast.Constant(value=None):
                return Nothing()
            case ast.Tuple(elts=elts) | ast.List(elts=elts) if elts or isinstance(node, ast.Tuple):
                display = list if isinstance(node, ast.List) else tuple
                return Tupled(tuple(self.returned(e) for e in elts), display)
            case ast.Constant(value=str() as text):
                return Literal(text)
            case ast.Name(id=name) if isinstance(got := self.b.env.get(name), ListRef):
                return self._list(got.name, node)
            case ast.Name(id=name) if isinstance(made := self.b.env.get(name), Made):
                return made.returned
            case ast.Call(func=func, args=[ast.Name(id=name), *_]) if (
                isinstance(got := self.b.env.get(name), ListRef)
                and self._resolve(func) is not builtins.len
            ):
                return self.from_list(node, got.name)
            case ast.Call(func=func) if makes_array(self._resolve(func)):
                self.allocate("#made", node)
                made = self.b.env["#made"]
                assert isinstance(made, ArrayRef)
                return Same(made.name)
        assert node is not None
        records = self.records(node)
        if records is not None and records.is_whole and records.name in self.arguments:
            return Same(records.name)
        array = self.array(node)
        if array is not None:
            return self._array(array, node)
        got = self.value(node) if isinstance(node, (ast.Name, ast.Attribute)) else self.number(node)
        if isinstance(got, tuple):
            return Tupled(tuple(self._scalar(n, node) for n in got))
        if isinstance(got, Pair) and not got.doubtful:
            return Paired(self._scalar(got.re, node), self._scalar(got.im, node))
        if not isinstance(got, Num):
            return refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be returned", node)
        return self._scalar(got, node)

    def _array(self, array: ArrayRef, node: ast.expr) -> Returned:
        if array.places:
            said = f"`{ast.unparse(node)}` is a view of a part of an array"
            return refuse("LOWER_UNSUPPORTED", said, node)
        return Same(array.name)

    def _scalar(self, n: Num, node: ast.expr) -> Returned:
        if n.boxed:
            return refuse("LOWER_TYPE", f"`{ast.unparse(node)}` is a 0-d array", node)
        wide = n.dtype == "f64" and n.strong not in (None, "i64", "u64", "bool")
        if n.either and (not n.exact or (n.strong != n.dtype and not wide)):
            n = self.settled(n, node)
        slot = self._slot(n.dtype, n)
        if not n.either:
            return Value(slot, weak=n.strong is None)
        flag = self._slot("bool", Num(n.weak_now))
        return Value(slot, flag=flag, weak_dtype=n.weak, dtype=n.strong)

    def _slot(self, dtype: str, n: Num) -> str:
        b = self.b
        name = b.name("result")
        b.params[name] = Param(name, dtype, 0, None, written=True)
        b.bindings[name] = Slot(name, dtype)
        b.emit(Store(name, (), n.ir))
        return name

    def _list(self, name: str, node: ast.AST) -> Returned:
        built = self.lists[name]
        if built.dtype is None:
            return refuse("LOWER_UNSUPPORTED", f"`{name}` is always empty", node)
        buffer = self._once(built, node)
        return Listed(buffer, self._length(name), built.weak, built.flags, built.python)

    def _length(self, name: str) -> str | None:
        if self._one_each(name):
            return None
        counter = self.b.env[f"#{name}"]
        assert isinstance(counter, Num)
        return self._slot("i64", counter)

    def from_list(self, call: ast.Call, name: str) -> Returned:
        function, rest = self.known(call.func), call.args[1:]
        if function is builtins.list and not rest and not call.keywords:
            return self._list(name, call)
        built = self.lists[name]
        argument = self._dtype_argument(call)
        if function not in ARRAY_OF or built.dtype is None or argument is None:
            return refuse("LOWER_CALL", f"`{ast.unparse(call)}` is not compiled", call)
        dtype = given_dtype(argument[0], self.array, self.known, call)
        if built.flags or dtype not in (None, built.dtype):
            return refuse("LOWER_TYPE", f"`{ast.unparse(call)}` converts its elements", call)
        return Filled(self._once(built, call), self._length(name), dtype)

    @staticmethod
    def _dtype_argument(call: ast.Call) -> tuple[ast.expr | None] | None:
        """The argument of ``np.array(list, dtype)``; None where there are others."""
        given = call.args[1:] + [k.value for k in call.keywords if k.arg == "dtype"]
        if len(given) > 1 or len(given) != len(call.args) - 1 + len(call.keywords):
            return None
        return (given[0] if given else None,)

    def built(self, name: str, buffer: str) -> Built:
        built = Built(name, buffer)
        call = consumer(self.tree, name)
        function = self._resolve(call.func) if call is not None else None
        if call is None or function not in ARRAY_OF:
            return built
        argument = self._dtype_argument(call)
        if argument is None or (function is np.fromiter and argument == (None,)):
            return built
        target = given_dtype(argument[0], self.array, self.known, call)
        return replace(built, taken=True, target=target)

    def _once(self, built: Built, node: ast.AST) -> str:
        """The buffer of a list; what is made of it is one object, so it is returned once."""
        if built.returned:
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is returned twice", node)
        built.returned = True
        return built.buffer

    def counter(self, name: str) -> None:
        """Starts counting the elements of a list."""
        self.counters.add(f"#{name}")
        self.b.env[f"#{name}"] = Num(integer(0), weak="i64")


def alias_guards(
    params: Sequence[Param], fresh: set[str], body: Sequence[Stmt], reshaped: Mapping[str, str]
) -> Iterator[Disjoint]:
    """Which arrays must not overlap: each written one and each other, unless the function made one
    of them.

    One array under two names is fine where, within each loop nest, both are only accessed at the
    same elements; but not where one has been read beforehand, to be given another shape.
    """
    early = {*reshaped, *reshaped.values()}
    arrays = [p.name for p in params if p.rank is not None]
    written = {n.array for s in body for n in walk(s) if isinstance(n, (Store, Append))}
    for k, a in enumerate(arrays):
        for c in arrays[k + 1 :]:
            if {a, c} & fresh or not {a, c} & written:
                continue
            same = not {a, c} & early and _same_elements(a, c, body)
            yield Disjoint(a, c, or_same=same)


def _same_elements(a: str, c: str, body: Sequence[Stmt]) -> bool:
    for nest in body:
        maps = {
            (n.array, n.index)
            for n in walk(nest)
            if isinstance(n, (Load, Store)) and n.array in (a, c)
        }
        if any(isinstance(n, Append) and n.array in (a, c) for n in walk(nest)):
            return False
        indices = {index for _, index in maps}
        if {array for array, _ in maps} == {a, c} and any(
            i != j and not _apart(i, j) for i in indices for j in indices
        ):
            return False
    return True


def _apart(i: Sequence[Expr], j: Sequence[Expr]) -> bool:
    """Whether an axis tells two subscripts apart, as that of the parts of complex numbers does."""
    axes = zip(i, j, strict=False)
    return any(isinstance(p, Const) and isinstance(q, Const) and p != q for p, q in axes)
