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
from .arrays.array_allocation import lower_allocation
from .arrays.array_allocators import is_allocator
from .arrays.record_arrays import as_record_array
from .lists.dynamic_lists import returned_dynamic_list
from .lists.fixed_size_lists import returned_fixed_list
from .lists.list_results import (
    array_from_dynamic_list,
    array_from_list,
    dynamic_list_length,
    list_result,
    result_slot,
)
from .scalars.scalar_arithmetic import as_numpy_if_loops_ran
from .scalars.tagged_unions import lower_real, union_cases
from .state.dispatch import lower_array, lower_scalar, lower_value
from .state.guards_and_checks import require
from .state.lowering_state import Lowering
from .state.outer_names import resolve_guarded, resolve_object
from .state.symbol_values import (
    Absent,
    ArrayRef,
    AxisStride,
    FinishedList,
    ListRef,
    UnionCase,
    UnionValue,
)

__all__ = [
    "AttributeStore", "attributes_result", "lower_returned", "reshaped_at_end",
    "trailing_attribute_stores",
]


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


def lower_returned(ctx: Lowering, node: ast.expr | None) -> ResultSpec:
    """How the value of `node`, or None, is returned."""
    match node:
        case None | ast.Constant(value=None):
            return NoneResult()
        case ast.expr() if (displayed := _match_display(ctx, node)) is not None:
            _refuse_returned_twice(ctx, ast.Tuple([*displayed[1]], ast.Load()))
            return TupleResult(tuple(lower_returned(ctx, e) for e in displayed[1]), displayed[0])
        case ast.Constant(value=str() as text):
            return ConstantResult(text)
        case ast.Call() if (instance := _call_after_kernel(ctx, node)) is not None:
            return instance
        case ast.Name(id=name) if name in ctx.dynamic.widths:
            slot = result_slot(ctx, "i64", dynamic_list_length(ctx, name))
            return returned_dynamic_list(ctx, name, slot, node)
        case ast.Subscript(value=ast.Name(id=name) as whole, slice=ast.Slice() as cut) if (
            (name in ctx.dynamic.widths or isinstance(ctx.b.env.get(name), ListRef))
            and (bounds := constant_slice(cut)) is not None
        ):
            return TupleResult((lower_returned(ctx, whole),), itemgetter(bounds))
        case ast.Call(func=func, args=[ast.Name(id=name), *_]) if ctx.dynamic.widths.get(name) == 0:
            return array_from_dynamic_list(ctx, name, node)
        case ast.Name(id=name) if isinstance(got := ctx.b.env.get(name), ListRef):
            return list_result(ctx, got.name, node)
        case ast.Name(id=name) if isinstance(made := ctx.b.env.get(name), FinishedList):
            return made.returned
        case ast.Call(func=func, args=[ast.Name(id=name), *_]) if (
            isinstance(got := ctx.b.env.get(name), ListRef)
            and resolve_object(ctx, func) is not builtins.len
        ):
            return array_from_list(ctx, node, got.name)
        case ast.Call(func=func) if (shaped := _reshaped_result(ctx, node)) is not None:
            return shaped
        case ast.Call(func=func) if is_allocator(resolve_object(ctx, func)):
            lower_allocation(ctx, "#made", node)
            made = ctx.b.env["#made"]
            assert isinstance(made, ArrayRef)
            return _array_result(ctx, made, node)
    assert node is not None
    if (listed := returned_fixed_list(ctx, node)) is not None:
        return listed
    records = as_record_array(ctx, node)
    if records is not None and records.is_whole and records.name in ctx.arguments:
        return ObjectResult(records.name)
    array = lower_array(ctx, node)
    if array is not None:
        return _array_result(ctx, array, node)
    got = (
        lower_value(ctx, node)
        if isinstance(node, (ast.Name, ast.Attribute))
        else lower_scalar(ctx, node)
    )
    if isinstance(got, UnionValue):
        return _union_result(ctx, got.cases, node)
    if isinstance(got, tuple):
        return TupleResult(tuple(_scalar_result(ctx, n, node) for n in got))
    if isinstance(got, ComplexPair) and not got.doubtful:
        return ComplexResult(_scalar_result(ctx, got.re, node), _scalar_result(ctx, got.im, node))
    if not isinstance(got, Num):
        return refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` cannot be returned", node)
    return _scalar_result(ctx, got, node)


def _match_display(
    ctx: Lowering, node: ast.expr
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
            resolve_object(ctx, func) is builtins.dict and all(k.arg for k in given)
        ):
            resolve_guarded(ctx, func)
            return DictOfValues(tuple(k.arg for k in given)), [k.value for k in given]
    return None


def _reshaped_result(ctx: Lowering, node: ast.Call) -> ResultSpec | None:
    """An array in another shape, by NumPy at the very end: its view, or copy, or error."""
    of, lengths = reshaping(node, resolve_object(ctx, node.func)) or (None, ())
    array = None if of is None else lower_array(ctx, of)
    if of is None or array is None:
        return None
    given = (_scalar_result(ctx, lower_real(ctx, n), n) for n in lengths)
    function = np.ndarray.reshape if lengths else np.ndarray.ravel
    return TupleResult((_array_result(ctx, array, of), *given), function)


def reshaped_at_end(ctx: Lowering, node: ast.Call) -> FinishedList | None:
    """``x.reshape(…)`` of an array made here, which can only be returned; None for others."""
    of, _ = reshaping(node, resolve_object(ctx, node.func)) or (None, ())
    array = None if of is None or not isinstance(of, ast.Name) else lower_array(ctx, of)
    if array is None or not isinstance(ctx.b.bindings.get(array.name), Allocated):
        return None
    returned = None if array.base_index or ctx.b.path.frames else _reshaped_result(ctx, node)
    return None if returned is None else FinishedList(returned, None)


def _call_after_kernel(ctx: Lowering, node: ast.Call) -> ResultSpec | None:
    """What a class of the user's makes, or a function of ours of lists."""
    maker: Any = resolve_object(ctx, node.func)
    if isinstance(maker, type):
        return _instance_result(ctx, maker, node) if is_python_class(maker) else None
    ours = any(maker is f for f in OF_LISTS)
    return TupleResult(tuple(lower_returned(ctx, a) for a in node.args), maker) if ours else None


def _instance_result(ctx: Lowering, made: type, node: ast.Call) -> ResultSpec:
    """What a class of the user's makes of results: at the very end, as Python does."""
    names = list(signature(made).parameters)
    given = dict(zip(names, node.args, strict=False))
    given |= {k.arg: k.value for k in node.keywords if k.arg}
    args = [given[n] for n in names[: len(given)] if n in given]
    starred = any(isinstance(a, ast.Starred) for a in args)
    if starred or len(args) < len(node.args) + len(node.keywords):
        said = f"`{ast.unparse(node.func)}` is called with arguments that are not compiled"
        return refuse("LOWER_CALL", said, node)
    resolve_guarded(ctx, node.func)
    _refuse_returned_twice(ctx, ast.Tuple(args, ast.Load()))
    return TupleResult(tuple(lower_returned(ctx, a) for a in args), made)


def attributes_result(
    ctx: Lowering, value: ast.expr | None, attributes: Sequence[AttributeStore]
) -> ResultSpec:
    """What is returned, after attributes have been set: all of the same moment."""
    given = [] if value is None else [value]
    _refuse_returned_twice(ctx, ast.Tuple([*given, *(a.value for a in attributes)], ast.Load()))
    items = [lower_returned(ctx, value)]
    for a in attributes:
        items += ObjectResult(a.object), ConstantResult(a.name), lower_returned(ctx, a.value)
    return TupleResult(tuple(items), set_attributes)


def _array_result(ctx: Lowering, array: ArrayRef, node: ast.expr) -> ResultSpec:
    if array.kinds:
        refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(node)}` is a list in a list", node)
    if array.name in ctx.b.buffers.overallocated:
        refuse("LOWER_UNSUPPORTED", f"the length of `{ast.unparse(node)}` is not known", node)
    if array.name in ctx.b.buffers.truncated:
        others = ctx.arrays.returned_whole if array.base_index else ctx.arrays.viewed
        (ctx.arrays.viewed if array.base_index else ctx.arrays.returned_whole).add(array.name)
        if array.name in others:  # which would leave the view without memory
            said = f"`{ast.unparse(node)}` is cut to its length, and a view of it returned"
            refuse("LOWER_UNSUPPORTED", said, node)
    if array.name in ctx.b.buffers.truncated and not array.base_index:
        return ArrayResult(array.name, result_slot(ctx, "i64", array.shape[0]), array.dtype)
    if array.base_index:
        return _view_result(ctx, array, node)
    return ObjectResult(array.name)


def _refuse_returned_twice(ctx: Lowering, node: ast.expr) -> None:
    """Refuses what is made for the caller and returned twice, for each would be another."""
    seen: list[ArrayRef | ListRef | FinishedList | str] = []
    for e in display_leaves(node):
        said = ast.unparse(e)
        named = {n.id for n in ast.walk(e) if isinstance(n, ast.Name)}
        made = said if named & ctx.dynamic.widths.keys() else _list_in_result(ctx, e)
        if made in seen:
            refuse("LOWER_UNSUPPORTED", f"`{said}` is returned twice", e)
        seen += [made] if made else []
        shaped = reshaping(e, resolve_object(ctx, e.func)) if isinstance(e, ast.Call) else None
        e = shaped[0] if shaped else e
        got = ctx.b.env.get(e.id) if isinstance(e, ast.Name) else None
        if isinstance(got, ArrayRef) and (got.base_index or got.name in ctx.b.buffers.truncated):
            if got in seen:
                refuse("LOWER_UNSUPPORTED", f"`{ast.unparse(e)}` is returned twice", e)
            seen.append(got)


def _list_in_result(ctx: Lowering, e: ast.expr) -> ListRef | FinishedList | None:
    """The list of a known length that is returned, or becomes what is."""
    match e:
        case ast.Name(id=name) | ast.Subscript(ast.Name(id=name), ast.Slice()):
            got = ctx.b.env.get(name)
        case ast.Call(func, [ast.Name(id=name), *_]) if (
            resolve_object(ctx, func) is not builtins.len
        ):
            got = ctx.b.env.get(name)
        case _:
            return None
    return got if isinstance(got, (ListRef, FinishedList)) else None


def _view_result(ctx: Lowering, array: ArrayRef, node: ast.expr) -> ResultSpec:
    ty = getattr(ctx.b.bindings[array.name], "type", None)
    own = (array.dtype, len(array.base_index))
    plain = isinstance(ty, ArrayType) and (ty.dtype, ty.rank) == own
    if not plain or array.weak or array.flags or not array.rank:
        said = f"`{ast.unparse(node)}` is a view of a part of an array"
        return refuse("LOWER_UNSUPPORTED", said, node)
    steps: list[int | None] = []
    numbers: list[Num] = []
    along: list[int] = []
    for place in array.base_index:
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
    return ViewResult(array.name, tuple(steps), axes, tuple(_view_number(ctx, n) for n in numbers))


def _view_number(ctx: Lowering, n: Num) -> int | str:
    return int(n.ir.value) if isinstance(n.ir, Const) else result_slot(ctx, "i64", n)


def _scalar_result(ctx: Lowering, n: Num, node: ast.expr) -> ResultSpec:
    if n.boxed:
        return refuse("LOWER_TYPE", f"`{ast.unparse(node)}` is a 0-d array", node)
    wide = n.dtype == "f64" and n.strong not in (None, "i64", "u64", "bool")
    if n.either and (not n.exact or (n.strong != n.dtype and not wide)):
        n = as_numpy_if_loops_ran(ctx, n, node)
        if n.either and (cases := union_cases(ctx.b, n)) is not None:
            return _union_result(ctx, cases, node)
    slot = result_slot(ctx, n.dtype, n)
    if not n.either:
        return ScalarResult(slot, weak=n.strong is None)
    flag = result_slot(ctx, "bool", Num(n.weak_now))
    return ScalarResult(slot, flag=flag, weak_dtype=n.weak, dtype=n.strong)


def _union_result(ctx: Lowering, cases: Sequence[UnionCase], node: ast.expr) -> ResultSpec:
    """The number, or None, of the case that holds."""
    here = [c for c in cases if c.value is not Absent.UNBOUND]
    for c in cases:
        if c.value is Absent.UNBOUND:
            require(ctx.b, bool_op("not", c.when), "GUARD_EMPTY", node)
    value = here[0].value
    if not isinstance(value, (Num, Absent)):
        return refuse("LOWER_JOIN", f"`{ast.unparse(node)}` is one of several arrays", node)
    first = _scalar_result(ctx, value, node) if isinstance(value, Num) else NoneResult()
    if len(here) == 1:
        return first
    return SelectResult(
        result_slot(ctx, "bool", Num(here[0].when)), first, _union_result(ctx, here[1:], node)
    )
