"""Lower `return`, and the attributes that are set at the end of a function.

A kernel returns no values. Each scalar of the result is stored in a slot, an array of one element,
and `lower_returned` gives a `ResultSpec` from which the wrapper builds the Python object::

    return x[0] + 1, out        →   store slot[()] = x[0] + 1
                                    TupleResult((ScalarResult("slot"), ObjectResult("out")))

What only NumPy or Python can make of the kernel's arrays (a reshaped array, an instance of the
user's class, attributes of arguments) is made by a function that the specification names, after
the kernel has finished.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from inspect import signature
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from loopir.nodes import Const

from ..analysis.type_inference.shape_rules import reshaping
from ..analysis.type_inference.tuple_types import constant_slice
from ..call_plan import Allocated
from ..core_functions import RESULT_FUNCTIONS
from ..frontend.ast_walk import display_leaves, tree_key, walk_nodes
from ..frontend.core_nodes import source_text
from ..frontend.defining_modules import is_python_class
from ..frontend.refusal import refuse, refuse_missing_attribute
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
from ..types.value_types import ELEMENTS, ArrayType
from .arrays.array_allocation import lower_allocation
from .arrays.numpy_allocators import is_allocator
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
from .scalars.scalar_operands import as_numpy_if_loops_ran
from .scalars.tagged_unions import lower_real, union_cases
from .state.generated_names import ALLOCATED_RESULT
from .state.guards_and_checks import require
from .state.lowering_state import Lowering
from .state.node_dispatch import lower_array, lower_scalar, lower_value
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
    """``object.name = value``, for names ``object`` and ``value``."""

    object: str
    name: str
    value: ast.expr


def trailing_attribute_stores(block: Sequence[ast.stmt]) -> list[AttributeStore]:
    """The assignments of names to attributes at the end of `block`, in order."""
    stores: list[AttributeStore] = []
    for s in reversed(block):
        match s:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id=object_name), attr=name)],
                value=ast.Name() as value,
            ):
                stores.append(AttributeStore(object_name, name, value))
            case _:
                break
    return stores[::-1]


def lower_returned(ctx: Lowering, node: ast.expr | None) -> ResultSpec:
    """Lowers the expression `node` of a ``return`` (None: there is none). A kernel returns no
    values: so this emits stores of scalars to slots, arrays of one element, and returns the
    specification from which the wrapper builds Python's object after the kernel.

        return s, out[1:]    →    store slot[()] = s
                                  TupleResult((ScalarResult("slot", …), ViewResult("out", …)))

    `lower_function` calls it for the function's result; it calls itself for the items of displays
    and the arguments of calls. The first case that applies decides:

    1. None, a string, ``x.dtype``: a constant; nothing is emitted;
    2. a tuple, list or dict display: its items, each as if returned alone;
    3. a call of a class of the user's, or of a function of ``_core`` (`RESULT_FUNCTIONS`): its
       arguments; the wrapper makes the call (`_call_after_kernel`);
    4. a list that loops have filled, also as ``np.array(v)``: its buffer, cut to its length by the
       wrapper (`_lower_returned_list`);
    5. a reshape, or an allocation, ``np.zeros(n)``: the array that is made;
    6. a list of fixed length: that object if it is an argument; else its array, of whose items the
       wrapper makes a list;
    7. a record array that is an argument: that object;
    8. another array or view: the array, of which the wrapper takes the view (`_array_result`);
    9. any other: a scalar, or a union or tuple of scalars, in slots (`_lower_returned_value`).

    Raises Refused for a value that is none of these.
    """
    match node:
        case None | ast.Constant(value=None):
            return NoneResult()
        case ast.expr() if (display := _match_display(ctx, node)) is not None:
            constructor, items = display
            _refuse_returned_twice(ctx, ast.Tuple([*items], ast.Load()))
            return TupleResult(tuple(lower_returned(ctx, e) for e in items), constructor)
        case ast.Constant(value=str() as text):
            return ConstantResult(text)
        case ast.Attribute(of, "dtype") if (
            not _names_built_list(ctx, of)
            and (typed := lower_array(ctx, of)) is not None
            and (typed.name not in ctx.arguments or typed.dtype not in ("i64", "u64"))
        ):  # of a longlong array that is an argument, the dtype is an object of its own
            return ConstantResult(ELEMENTS[typed.dtype].numpy)
        case ast.Call() if (instance := _call_after_kernel(ctx, node)) is not None:
            return instance
    assert node is not None
    if (list_spec := _lower_returned_list(ctx, node)) is not None:
        return list_spec
    if isinstance(node, ast.Call):
        if (reshaped := _reshaped_result(ctx, node)) is not None:
            return reshaped
        if is_allocator(resolve_object(ctx, node.func)):
            lower_allocation(ctx, ALLOCATED_RESULT, node)
            array = ctx.b.env[ALLOCATED_RESULT]
            assert isinstance(array, ArrayRef)
            return _array_result(ctx, array, node)
    if (fixed_list := returned_fixed_list(ctx, node)) is not None:
        return fixed_list
    records = as_record_array(ctx, node)
    if records is not None and records.is_whole and records.name in ctx.arguments:
        return ObjectResult(records.name)
    array_or_view = lower_array(ctx, node)
    if array_or_view is not None:
        return _array_result(ctx, array_or_view, node)
    return _lower_returned_value(ctx, node)


def _lower_returned_list(ctx: Lowering, node: ast.expr) -> ResultSpec | None:
    """The specification of a returned list that loops have filled: the list itself, a slice of it
    with constant bounds, or what a call, such as ``np.array``, makes of it. None for other nodes.
    """
    match node:
        case ast.Name(id=name) if name in ctx.dynamic.widths:
            slot = result_slot(ctx, "i64", dynamic_list_length(ctx, name))
            return returned_dynamic_list(ctx, name, slot)
        case ast.Subscript(value=ast.Name(id=name) as source, slice=ast.Slice() as slice_node) if (
            (name in ctx.dynamic.widths or isinstance(ctx.b.env.get(name), ListRef))
            and (bounds := constant_slice(slice_node)) is not None
        ):
            return TupleResult((lower_returned(ctx, source),), itemgetter(bounds))
        case ast.Call(args=[ast.Name(id=name), *_]) if ctx.dynamic.widths.get(name) == 0:
            return array_from_dynamic_list(ctx, name, node)
        case ast.Name(id=name) if isinstance(ref := ctx.b.env.get(name), ListRef):
            return list_result(ctx, ref.name, node)
        case ast.Name(id=name) if isinstance(finished := ctx.b.env.get(name), FinishedList):
            return finished.returned
        case ast.Call(func=func, args=[ast.Name(id=name), *_]) if (
            isinstance(ref := ctx.b.env.get(name), ListRef)
            and resolve_object(ctx, func) is not builtins.len
        ):
            return array_from_list(ctx, node, ref.name)
    return None


def _lower_returned_value(ctx: Lowering, node: ast.expr) -> ResultSpec:
    """The specification of a returned scalar, complex number, union, or tuple of numbers."""
    value = (
        lower_value(ctx, node)
        if isinstance(node, (ast.Name, ast.Attribute))
        else lower_scalar(ctx, node)
    )
    if isinstance(value, UnionValue):
        return _union_result(ctx, value.cases, node)
    if isinstance(value, tuple):
        return TupleResult(tuple(_scalar_result(ctx, n, node) for n in value))
    if isinstance(value, ComplexPair) and not value.doubtful:
        re, im = _scalar_result(ctx, value.re, node), _scalar_result(ctx, value.im, node)
        return ComplexResult(re, im)
    if isinstance(value, ComplexPair):
        message = f"`{source_text(node)}` is a real or a complex number, depending on the data"
        help = "make it complex on every path: for instance, start with `0j`"
        return refuse("LOWER_JOIN", message, node, help=help)
    if not isinstance(value, Num):
        return refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` cannot be returned", node)
    return _scalar_result(ctx, value, node)


def _match_display(
    ctx: Lowering, node: ast.expr
) -> tuple[Callable[..., Any], Sequence[ast.expr]] | None:
    """The constructor and the items of a display of a tuple, list or dict, or of ``dict(a=x)``;
    None for other nodes, for the empty list, and for a dict whose keys are no constants.
    """
    match node:
        case ast.Tuple(elts=elts):
            return tuple, elts
        case ast.List(elts=[_, *_] as elts):
            return list, elts
        case ast.Dict(keys=keys, values=values):
            constants = tuple(k.value for k in keys if isinstance(k, ast.Constant))
            return (DictOfValues(constants), values) if len(constants) == len(keys) else None
        case ast.Call(func=func, args=[], keywords=keywords) if (
            resolve_object(ctx, func) is builtins.dict and all(k.arg for k in keywords)
        ):
            resolve_guarded(ctx, func)
            return DictOfValues(tuple(k.arg for k in keywords)), [k.value for k in keywords]
    return None


def _reshaped_result(ctx: Lowering, node: ast.Call) -> ResultSpec | None:
    """The specification of a returned ``x.reshape(…)`` or ``x.ravel()``, which NumPy performs after
    the kernel, since only NumPy decides between a view, a copy and an error. None for other calls.
    """
    base, lengths = reshaping(node, resolve_object(ctx, node.func)) or (None, ())
    array = None if base is None else lower_array(ctx, base)
    if base is None or array is None:
        return None
    if isinstance(node.func, ast.Attribute) and node.func.value is base and (
        _names_built_list(ctx, base)
    ):
        refuse_missing_attribute(list, "a list", node.func)
    shape = (_scalar_result(ctx, lower_real(ctx, n), n) for n in lengths)
    function = np.ndarray.reshape if lengths else np.ndarray.ravel
    return TupleResult((_array_result(ctx, array, base), *shape), function)


def _names_built_list(ctx: Lowering, node: ast.expr) -> bool:
    """Whether `node` is the name of a list that loops have filled."""
    return isinstance(node, ast.Name) and isinstance(ctx.b.env.get(node.id), ListRef)


def reshaped_at_end(ctx: Lowering, node: ast.Call) -> FinishedList | None:
    """The value of a name that is bound to ``x.reshape(…)`` of an array that the function has
    allocated: a FinishedList, which can only be returned. None for other calls, for a view, and
    inside of loops.
    """
    base, _ = reshaping(node, resolve_object(ctx, node.func)) or (None, ())
    array = lower_array(ctx, base) if isinstance(base, ast.Name) else None
    if array is None or not isinstance(ctx.b.bindings.get(array.name), Allocated):
        return None
    returned = None if array.base_index or ctx.b.path.frames else _reshaped_result(ctx, node)
    return None if returned is None else FinishedList(returned, None)


def _call_after_kernel(ctx: Lowering, node: ast.Call) -> ResultSpec | None:
    """The specification of a call that Python performs after the kernel, on its results: of a class
    of the user's, or of one of our functions on lists. None for other calls.
    """
    callee: Any = resolve_object(ctx, node.func)
    if isinstance(callee, type):
        return _instance_result(ctx, callee, node) if is_python_class(callee) else None
    if not any(callee is f for f in RESULT_FUNCTIONS):
        return None
    return TupleResult(tuple(lower_returned(ctx, a) for a in node.args), callee)


def _instance_result(ctx: Lowering, cls: type, node: ast.Call) -> ResultSpec:
    """The specification of `node`, a call of the user's class `cls`. Raises Refused unless each
    argument is bound to one of the first parameters of the class, without gaps.
    """
    names = list(signature(cls).parameters)
    by_name = dict(zip(names, node.args, strict=False))
    by_name |= {k.arg: k.value for k in node.keywords if k.arg}
    args = [by_name[n] for n in names[: len(by_name)] if n in by_name]
    starred = any(isinstance(a, ast.Starred) for a in args)
    if starred or len(args) < len(node.args) + len(node.keywords):
        message = f"`{source_text(node.func)}` is called with arguments that are not compiled"
        return refuse("LOWER_CALL", message, node)
    resolve_guarded(ctx, node.func)
    _refuse_returned_twice(ctx, ast.Tuple(args, ast.Load()))
    return TupleResult(tuple(lower_returned(ctx, a) for a in args), cls)


def attributes_result(
    ctx: Lowering, value: ast.expr | None, attributes: Sequence[AttributeStore]
) -> ResultSpec:
    """The specification of the returned `value` (None: no expression) of a function that sets
    `attributes` of its arguments at the end. The wrapper sets them before it returns.
    """
    values = [*([] if value is None else [value]), *(a.value for a in attributes)]
    _refuse_returned_twice(ctx, ast.Tuple(values, ast.Load()))
    items = [lower_returned(ctx, value)]
    for a in attributes:
        items += ObjectResult(a.object), ConstantResult(a.name), lower_returned(ctx, a.value)
    return TupleResult(tuple(items), set_attributes)


def _array_result(ctx: Lowering, array: ArrayRef, node: ast.expr) -> ResultSpec:
    """The specification of a returned array: the object, the object cut to its length, or a view.

    Raises Refused for lists in lists, for an array whose allocation may be larger than its shape,
    and where a truncated array and a view of it are both returned.
    """
    if array.kinds:
        refuse("LOWER_UNSUPPORTED", f"`{source_text(node)}` is a list in a list", node)
    if array.name in ctx.b.buffers.overallocated:
        refuse("LOWER_UNSUPPORTED", f"the length of `{source_text(node)}` is not known", node)
    if array.name in ctx.b.buffers.truncated:
        viewed, returned_whole = ctx.arrays.viewed, ctx.arrays.returned_whole
        (viewed if array.base_index else returned_whole).add(array.name)
        if array.name in viewed & returned_whole:
            message = f"`{source_text(node)}` is cut to its length, and a view of it returned"
            refuse("LOWER_UNSUPPORTED", message, node)
        if not array.base_index:
            return ArrayResult(array.name, result_slot(ctx, "i64", array.shape[0]), array.dtype)
    if array.base_index:
        return _view_result(ctx, array, node)
    return ObjectResult(array.name)


def _refuse_returned_twice(ctx: Lowering, node: ast.expr) -> None:
    """Raises Refused if the returned `node`, a display of what is returned, contains a list, a view
    or a truncated array twice, as ``return v, v``. The wrapper would make two objects of it, where
    Python returns the same one twice.
    """
    returned: list[object] = []
    for e in display_leaves(node):
        names = {n.id for n in walk_nodes(e) if isinstance(n, ast.Name)}
        list_key = tree_key(e) if names & ctx.dynamic.widths.keys() else _list_in_result(ctx, e)
        if list_key in returned:
            refuse("LOWER_UNSUPPORTED", f"`{source_text(e)}` is returned twice", e)
        returned += [list_key] if list_key else []
        reshape = reshaping(e, resolve_object(ctx, e.func)) if isinstance(e, ast.Call) else None
        e = reshape[0] if reshape else e
        value = ctx.b.env.get(e.id) if isinstance(e, ast.Name) else None
        if isinstance(value, ArrayRef) and (
            value.base_index or value.name in ctx.b.buffers.truncated
        ):
            if value in returned:
                refuse("LOWER_UNSUPPORTED", f"`{source_text(e)}` is returned twice", e)
            returned.append(value)


def _list_in_result(ctx: Lowering, e: ast.expr) -> ListRef | FinishedList | None:
    """The list that the returned expression `e` is, is a slice of, or is made of by a call; None
    for other expressions and for dynamic lists.
    """
    match e:
        case ast.Name(id=name) | ast.Subscript(ast.Name(id=name), ast.Slice()):
            value = ctx.b.env.get(name)
        case ast.Call(func, [ast.Name(id=name), *_]) if (
            resolve_object(ctx, func) is not builtins.len
        ):
            value = ctx.b.env.get(name)
        case _:
            return None
    return value if isinstance(value, (ListRef, FinishedList)) else None


def _view_result(ctx: Lowering, array: ArrayRef, node: ast.expr) -> ResultSpec:
    """The specification of a returned view. Those of its starts, lengths and fixed subscripts that
    are no constants are stored in slots.

    Raises Refused for a view of a record field or of a part of a complex array, for an array of
    list items, for a view without axes, and for a step that only the call knows.
    """
    ty = getattr(ctx.b.bindings[array.name], "type", None)
    has_base_type = isinstance(ty, ArrayType) and (ty.dtype, ty.rank) == (
        array.dtype, len(array.base_index)
    )
    if not has_base_type or array.weak or array.flags or not array.rank:
        message = f"`{source_text(node)}` is a view of a part of an array"
        return refuse("LOWER_UNSUPPORTED", message, node)
    steps: list[int | None] = []
    numbers: list[Num] = []
    view_axes: list[int] = []
    for subscript in array.base_index:
        if isinstance(subscript, AxisStride):
            numbers += subscript.start, array.shape[subscript.axis]
            view_axes.append(subscript.axis)
        else:
            numbers.append(subscript)
        step = subscript.step if isinstance(subscript, AxisStride) else None
        if isinstance(step, Num):
            message = f"the step of `{source_text(node)}` is known only at the call"
            return refuse("LOWER_UNSUPPORTED", message, node)
        steps.append(step)
    axes = tuple(view_axes.index(k) if k in view_axes else None for k in range(array.rank))
    return ViewResult(array.name, tuple(steps), axes, tuple(_view_number(ctx, n) for n in numbers))


def _view_number(ctx: Lowering, n: Num) -> int | str:
    """`n` as `ViewResult.numbers` has it: a constant, or the name of an int64 slot that is filled.
    """
    return int(n.ir.value) if isinstance(n.ir, Const) else result_slot(ctx, "i64", n)


def _scalar_result(ctx: Lowering, n: Num, node: ast.expr) -> ResultSpec:
    """The specification of a returned scalar, whose value is stored in a slot.

    A scalar that is Python's or NumPy's, depending on the data, gets a second slot for its type
    flag, if one dtype holds both values exactly; else its two types are returned as a union.
    """
    if n.boxed:
        return refuse("LOWER_TYPE", f"`{source_text(node)}` is a 0-d array", node)
    f64_holds_both = n.dtype == "f64" and n.strong not in (None, "i64", "u64", "bool")
    if n.either and (not n.exact or (n.strong != n.dtype and not f64_holds_both)):
        n = as_numpy_if_loops_ran(ctx.b, n, node)
        if n.either and (cases := union_cases(ctx.b, n)) is not None:
            return _union_result(ctx, cases, node)
    slot = result_slot(ctx, n.dtype, n)
    if not n.either:
        return ScalarResult(slot, weak=n.strong is None)
    flag = result_slot(ctx, "bool", Num(n.weak_now))
    return ScalarResult(slot, flag=flag, weak_dtype=n.weak, dtype=n.strong)


def _union_result(ctx: Lowering, cases: Sequence[UnionCase], node: ast.expr) -> ResultSpec:
    """The specification of a returned union: the number or None of the case that holds, selected by
    bool slots. The cases in which the name is unbound are required not to hold.
    """
    bound = [c for c in cases if c.value is not Absent.UNBOUND]
    for c in cases:
        if c.value is Absent.UNBOUND:
            require(ctx.b, bool_op("not", c.when), "GUARD_EMPTY", node)
    value = bound[0].value
    if not isinstance(value, (Num, Absent)):
        return refuse("LOWER_JOIN", f"`{source_text(node)}` is one of several arrays", node)
    first = _scalar_result(ctx, value, node) if isinstance(value, Num) else NoneResult()
    if len(bound) == 1:
        return first
    flag = result_slot(ctx, "bool", Num(bound[0].when))
    return SelectResult(flag, first, _union_result(ctx, bound[1:], node))
