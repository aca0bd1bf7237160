"""Lower `return`, and the attributes that are set at the end of a function."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from inspect import signature
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from loopir.nodes import Const

from ..analysis.shape_rules import reshaping
from ..analysis.tuple_types import constant_slice
from ..call_plan import Allocated
from ..frontend.ast_walk import display_leaves
from ..frontend.name_resolution import is_python_class
from ..frontend.refusal import refuse
from ..ops import OF_LISTS
from ..result_spec import (
    ArrayResult,
    ComplexResult,
    ConstantResult,
    DictOfValues,
    NoneResult,
    ObjectResult,
    ResultSpec,
    ScalarResult,
    SelectResult,
    TupleResult,
    ViewResult,
    set_attributes,
)
from ..types.typed_values import ComplexPair, Num, bool_op
from ..types.value_types import ArrayType
from .arrays.array_allocators import is_allocator
from .lists.list_results import Finished
from .scalars.tagged_unions import union_cases
from .state.symbol_values import (
    Absent,
    ArrayRef,
    AxisStride,
    FinishedList,
    ListRef,
    UnionCase,
    UnionValue,
)

__all__ = ["AttributeStore", "Results", "trailing_attribute_stores"]


class AttributeStore(NamedTuple):
    """``object.name = value``"""

    object: str
    name: str
    value: ast.expr


def trailing_attribute_stores(block: Sequence[ast.stmt]) -> list[AttributeStore]:
    """Those that are set at the end of `block`."""
    out: list[AttributeStore] = []
    for s in reversed(block):
        match s:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id=of), attr=name)], value=ast.Name() as value
            ):
                out.append(AttributeStore(of, name, value))
            case _:
                break
    return out[::-1]


class Results(Finished):
    """Lowers ``return``. Of arrays that are cut, ``viewed`` are those with views returned, and
    ``whole_returned`` those returned themselves.
    """

    tree: ast.FunctionDef
    viewed: set[str]
    whole_returned: set[str]

    def returned(self, node: ast.expr | None) -> ResultSpec:
        match node:
            case None | ast.Constant(value=None):
                return NoneResult()
            case ast.expr() if (displayed := self._display(node)) is not None:
                self._each_once(ast.Tuple([*displayed[1]], ast.Load()))
                return TupleResult(tuple(self.returned(e) for e in displayed[1]), displayed[0])
            case ast.Constant(value=str() as text):
                return ConstantResult(text)
            case ast.Call() if (instance := self._maker(node)) is not None:
                return instance
            case ast.Name(id=name) if name in self.growing:
                slot = self._slot("i64", self._count_of(name))
                return self.returned_list(name, slot, node)
            case ast.Subscript(value=ast.Name(id=name) as whole, slice=ast.Slice() as cut) if (
                (name in self.growing or isinstance(self.b.env.get(name), ListRef))
                and (bounds := constant_slice(cut)) is not None
            ):
                return TupleResult((self.returned(whole),), itemgetter(bounds))
            case ast.Call(func=func, args=[ast.Name(id=name), *_]) if self.growing.get(name) == 0:
                return self._array_of(name, node)
            case ast.Name(id=name) if isinstance(got := self.b.env.get(name), ListRef):
                return self._list(got.name, node)
            case ast.Name(id=name) if isinstance(made := self.b.env.get(name), FinishedList):
                return made.returned
            case ast.Call(func=func, args=[ast.Name(id=name), *_]) if (
                isinstance(got := self.b.env.get(name), ListRef)
                and self._resolve(func) is not builtins.len
            ):
                return self.from_list(node, got.name)
            case ast.Call(func=func) if (shaped := self._reshaped(node)) is not None:
                return shaped
            case ast.Call(func=func) if is_allocator(self._resolve(func)):
                self.allocate("#made", node)
                made = self.b.env["#made"]
                assert isinstance(made, ArrayRef)
                return self._array(made, node)
        assert node is not None
        if (listed := self.whole_list(node)) is not None:
            return listed
        records = self.records(node)
        if records is not None and records.is_whole and records.name in self.arguments:
            return ObjectResult(records.name)
        array = self.array(node)
        if array is not None:
            return self._array(array, node)
        got = self.value(node) if isinstance(node, (ast.Name, ast.Attribute)) else self.scalar(node)
        if isinstance(got, UnionValue):
            return self._of_cases(got.cases, node)
        if isinstance(got, tuple):
            return TupleResult(tuple(self._scalar(n, node) for n in got))
        if isinstance(got, ComplexPair) and not got.doubtful:
            return ComplexResult(self._scalar(got.re, node), self._scalar(got.im, node))
        if not isinstance(got, Num):
            return refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be returned", node)
        return self._scalar(got, node)

    def _display(
        self, node: ast.expr
    ) -> tuple[Callable[..., Any], Sequence[ast.expr]] | None:
        """What makes a tuple, a list or a dict, and of what."""
        match node:
            case ast.Tuple(elts=elts):
                return tuple, elts
            case ast.List(elts=[_, *_] as elts):
                return list, elts
            case ast.Dict(keys=keys, values=values):
                texts = tuple(k.value for k in keys if isinstance(k, ast.Constant))
                return (DictOfValues(texts), values) if len(texts) == len(keys) else None
            case ast.Call(func=func, args=[], keywords=given) if (
                self._resolve(func) is builtins.dict and all(k.arg for k in given)
            ):
                self.known(func)
                return DictOfValues(tuple(k.arg for k in given)), [k.value for k in given]
        return None

    def _reshaped(self, node: ast.Call) -> ResultSpec | None:
        """An array in another shape, by NumPy at the very end: its view, or copy, or error."""
        of, lengths = reshaping(node, self._resolve(node.func)) or (None, ())
        array = None if of is None else self.array(of)
        if of is None or array is None:
            return None
        given = (self._scalar(self.num(n), n) for n in lengths)
        function = np.ndarray.reshape if lengths else np.ndarray.ravel
        return TupleResult((self._array(array, of), *given), function)

    def shaped(self, node: ast.Call) -> FinishedList | None:
        of, _ = reshaping(node, self._resolve(node.func)) or (None, ())
        array = None if of is None or not isinstance(of, ast.Name) else self.array(of)
        if array is None or not isinstance(self.b.bindings.get(array.name), Allocated):
            return None
        returned = None if array.places or self.b.frames else self._reshaped(node)
        return None if returned is None else FinishedList(returned, None)

    def _maker(self, node: ast.Call) -> ResultSpec | None:
        """What a class of the user's makes, or a function of ours of lists."""
        maker: Any = self._resolve(node.func)
        if isinstance(maker, type):
            return self._instance(maker, node) if is_python_class(maker) else None
        ours = any(maker is f for f in OF_LISTS)
        return TupleResult(tuple(map(self.returned, node.args)), maker) if ours else None

    def _instance(self, made: type, node: ast.Call) -> ResultSpec:
        """What a class of the user's makes of results: at the very end, as Python does."""
        names = list(signature(made).parameters)
        given = dict(zip(names, node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords if k.arg}
        args = [given[n] for n in names[: len(given)] if n in given]
        starred = any(isinstance(a, ast.Starred) for a in args)
        if starred or len(args) < len(node.args) + len(node.keywords):
            said = f"`{ast.unparse(node.func)}` is called with arguments that are not compiled"
            return refuse("LOWER_CALL", said, node)
        self.known(node.func)
        self._each_once(ast.Tuple(args, ast.Load()))
        return TupleResult(tuple(self.returned(a) for a in args), made)

    def set_last(self, value: ast.expr | None, attributes: Sequence[AttributeStore]) -> ResultSpec:
        """What is returned, after attributes have been set: all of the same moment."""
        given = [] if value is None else [value]
        self._each_once(ast.Tuple([*given, *(a.value for a in attributes)], ast.Load()))
        items = [self.returned(value)]
        for a in attributes:
            items += ObjectResult(a.object), ConstantResult(a.name), self.returned(a.value)
        return TupleResult(tuple(items), set_attributes)

    def _array(self, array: ArrayRef, node: ast.expr) -> ResultSpec:
        if array.kinds:
            refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is a list in a list", node)
        if array.name in self.b.roomy:
            refuse("LOWER_UNSUPPORTED", f"the length of `{ast.unparse(node)}` is not known", node)
        if array.name in self.b.cut:
            others = self.whole_returned if array.places else self.viewed
            (self.viewed if array.places else self.whole_returned).add(array.name)
            if array.name in others:  # which would leave the view without memory
                said = f"`{ast.unparse(node)}` is cut to its length, and a view of it returned"
                refuse("LOWER_UNSUPPORTED", said, node)
        if array.name in self.b.cut and not array.places:
            return ArrayResult(array.name, self._slot("i64", array.shape[0]), array.dtype)
        if array.places:
            return self._view(array, node)
        return ObjectResult(array.name)

    def _each_once(self, node: ast.expr) -> None:
        """Refuses what is made for the caller and returned twice, for each would be another."""
        seen: list[ArrayRef | ListRef | FinishedList | str] = []
        for e in display_leaves(node):
            said = ast.unparse(e)
            named = {n.id for n in ast.walk(e) if isinstance(n, ast.Name)}
            made = said if named & self.growing.keys() else self._list_in(e)
            if made in seen:
                refuse("LOWER_UNSUPPORTED", f"`{said}` is returned twice", e)
            seen += [made] if made else []
            shaped = reshaping(e, self._resolve(e.func)) if isinstance(e, ast.Call) else None
            e = shaped[0] if shaped else e
            got = self.b.env.get(e.id) if isinstance(e, ast.Name) else None
            if isinstance(got, ArrayRef) and (got.places or got.name in self.b.cut):
                if got in seen:
                    refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(e)}` is returned twice", e)
                seen.append(got)

    def _list_in(self, e: ast.expr) -> ListRef | FinishedList | None:
        """The list of a known length that is returned, or becomes what is."""
        match e:
            case ast.Name(id=name) | ast.Subscript(ast.Name(id=name), ast.Slice()):
                got = self.b.env.get(name)
            case ast.Call(func, [ast.Name(id=name), *_]) if self._resolve(func) is not builtins.len:
                got = self.b.env.get(name)
            case _:
                return None
        return got if isinstance(got, (ListRef, FinishedList)) else None

    def _view(self, array: ArrayRef, node: ast.expr) -> ResultSpec:
        ty = getattr(self.b.bindings[array.name], "type", None)
        own = (array.dtype, len(array.places))
        plain = isinstance(ty, ArrayType) and (ty.dtype, ty.rank) == own
        if not plain or array.weak or array.flags or not array.rank:
            said = f"`{ast.unparse(node)}` is a view of a part of an array"
            return refuse("LOWER_UNSUPPORTED", said, node)
        steps: list[int | None] = []
        numbers: list[Num] = []
        along: list[int] = []
        for place in array.places:
            if isinstance(place, AxisStride):
                numbers += place.start, array.shape[place.axis]
                along.append(place.axis)
            else:
                numbers.append(place)
            step = place.step if isinstance(place, AxisStride) else None
            if isinstance(step, Num):
                said = f"the step of `{ast.unparse(node)}` is known only at the call"
                return refuse("LOWER_UNSUPPORTED", said, node)
            steps.append(step)
        axes = tuple(along.index(k) if k in along else None for k in range(array.rank))
        return ViewResult(array.name, tuple(steps), axes, tuple(map(self._number, numbers)))

    def _number(self, n: Num) -> int | str:
        return int(n.ir.value) if isinstance(n.ir, Const) else self._slot("i64", n)

    def _scalar(self, n: Num, node: ast.expr) -> ResultSpec:
        if n.boxed:
            return refuse("LOWER_TYPE", f"`{ast.unparse(node)}` is a 0-d array", node)
        wide = n.dtype == "f64" and n.strong not in (None, "i64", "u64", "bool")
        if n.either and (not n.exact or (n.strong != n.dtype and not wide)):
            n = self.settled(n, node)
            if n.either and (cases := union_cases(self.b, n)) is not None:
                return self._of_cases(cases, node)
        slot = self._slot(n.dtype, n)
        if not n.either:
            return ScalarResult(slot, weak=n.strong is None)
        flag = self._slot("bool", Num(n.weak_now))
        return ScalarResult(slot, flag=flag, weak_dtype=n.weak, dtype=n.strong)

    def _of_cases(self, cases: Sequence[UnionCase], node: ast.expr) -> ResultSpec:
        """The number, or None, of the case that holds."""
        here = [c for c in cases if c.value is not Absent.UNBOUND]
        for c in cases:
            if c.value is Absent.UNBOUND:
                self.b.require(bool_op("not", c.when), "GUARD_EMPTY", node)
        value = here[0].value
        if not isinstance(value, (Num, Absent)):
            return refuse("LOWER_JOIN", f"`{ast.unparse(node)}` is one of several arrays", node)
        first = self._scalar(value, node) if isinstance(value, Num) else NoneResult()
        if len(here) == 1:
            return first
        return SelectResult(
            self._slot("bool", Num(here[0].when)), first, self._of_cases(here[1:], node)
        )
