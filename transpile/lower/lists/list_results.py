"""List results: how finished lists, and arrays made of them, are returned.

A result specification tells the wrapper how to make the Python object from the list's buffer, cut
to its length: a list, a tuple, or an array without a conversion of its elements. For append-only
lists and dynamic lists.
"""
from __future__ import annotations

import ast
import builtins
from functools import partial

import numpy as np

from loopir.lazy_dataclass import replace
from loopir.nodes import Param, Store

from ...call_plan import ResultSlot
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...numpy.function_table import ARRAY_OF_ITEMS, ARRAY_OF_LIST
from ...result_spec import ArrayResult, ListResult, ResultSpec, TupleResult, as_tuple
from ...types.typed_values import Num
from ...types.value_types import ELEMENTS
from ..arrays.numpy_allocators import dtype_argument
from ..state.generated_names import counter_name
from ..state.list_state import ListBuilder
from ..state.lowering_state import Lowering
from ..state.outer_names import resolve_guarded, resolve_object
from ..state.symbol_values import ArrayRef, FinishedList
from .dynamic_lists import returned_dynamic_list
from .list_builders import appends_once
from .list_uses import only_consumer

__all__ = [
    "array_from_dynamic_list", "array_from_list", "dynamic_list_length", "finish_list",
    "list_result", "result_slot", "start_list",
]


def result_slot(ctx: Lowering, dtype: str, n: Num) -> str:
    """Adds a result slot of `dtype`, emits the store of `n` to it, and returns its name."""
    b = ctx.b
    name = b.name("result")
    b.params[name] = Param(name, dtype, 0, None, written=True)
    b.bindings[name] = ResultSlot(name, dtype)
    b.emit(Store(name, (), n.ir))
    return name


def list_result(ctx: Lowering, name: str, node: ast.AST) -> ResultSpec:
    """The result specification of the append-only list `name`. Raises Refused where nothing is ever
    appended, so that its item type is not known.
    """
    built = ctx.lists.builders[name]
    if built.dtype is None:
        return refuse("LOWER_UNSUPPORTED", f"`{name}` is always empty", node)
    return ListResult(
        built.buffer, _list_length_slot(ctx, name), built.weak, built.flags, built.python_dtype
    )


def _list_length_slot(ctx: Lowering, name: str) -> str | None:
    """The result slot with the length of an append-only list; None: the buffer has that length."""
    if appends_once(ctx, name):
        return None
    counter = ctx.b.env[counter_name(name)]
    assert isinstance(counter, Num)
    return result_slot(ctx, "i64", counter)


def array_from_list(ctx: Lowering, call: ast.Call, name: str) -> ResultSpec:
    """The result specification of `call`: ``np.array(name)``, ``list(name)`` or ``tuple(name)`` of
    an append-only list. Raises Refused for other calls, and where elements would be converted.
    """
    function, other_args = resolve_guarded(ctx, call.func), call.args[1:]
    if function in (builtins.list, builtins.tuple) and not other_args and not call.keywords:
        list_spec = list_result(ctx, name, call)
        return list_spec if function is builtins.list else TupleResult((list_spec,), as_tuple)
    built = ctx.lists.builders[name]
    argument = _conversion_dtype(call)
    if function not in ARRAY_OF_ITEMS or built.dtype is None or argument is None:
        return refuse("LOWER_CALL", f"`{source_text(call)}` is not compiled", call)
    dtype = dtype_argument(ctx, argument[0], call)
    converts = dtype not in (None, built.dtype) or (built.weak and built.dtype == "u64")
    if built.flags or converts:
        return refuse("LOWER_TYPE", f"`{source_text(call)}` converts its elements", call)
    return ArrayResult(built.buffer, _list_length_slot(ctx, name), dtype)


def _conversion_dtype(call: ast.Call) -> tuple[ast.expr | None] | None:
    """The ``dtype`` argument of ``np.array(list, dtype)`` as a tuple of one, (None,) where there is
    none; None where there are other arguments.
    """
    dtype_args = call.args[1:] + [k.value for k in call.keywords if k.arg == "dtype"]
    if len(dtype_args) > 1 or len(dtype_args) != len(call.args) - 1 + len(call.keywords):
        return None
    return (dtype_args[0] if dtype_args else None,)


def dynamic_list_length(ctx: Lowering, name: str) -> Num:
    """The current length of the dynamic list `name`."""
    count = ctx.b.env[counter_name(name)]
    assert isinstance(count, Num)
    return count


def array_from_dynamic_list(ctx: Lowering, name: str, call: ast.Call) -> ResultSpec:
    """The result specification of `call`, ``np.array`` of a dynamic list of numbers: its buffer, if
    that has the dtype of the array. Python ints that are to become another dtype are made a list,
    which NumPy converts after the kernel. Raises Refused for other calls and other conversions.
    """
    function, argument = resolve_guarded(ctx, call.func), _conversion_dtype(call)
    if function not in ARRAY_OF_LIST or argument is None:
        return refuse("LOWER_CALL", f"`{source_text(call)}` is not compiled", call)
    slot = result_slot(ctx, "i64", dynamic_list_length(ctx, name))
    list_spec = returned_dynamic_list(ctx, name, slot)
    dtype = dtype_argument(ctx, argument[0], call)
    assert isinstance(list_spec, ListResult)
    item_type = ctx.dynamic.types[name]
    are_python_ints = item_type.weak and not item_type.mixed and item_type.dtype == "i64"
    if dtype not in (None, "i64") and are_python_ints:
        convert = partial(np.array, dtype=ELEMENTS[dtype].numpy)  # may not hold every int
        return TupleResult((list_spec,), convert)
    has_one_dtype = not list_spec.flags or (
        list_spec.weak_dtype == item_type.dtype in ("f64", "i64", "bool")
    )
    are_words = item_type.weak and item_type.dtype == "u64"  # NumPy makes int64 of smaller ints
    if not has_one_dtype or dtype not in ("u64" if are_words else None, item_type.dtype):
        return refuse("LOWER_TYPE", f"`{source_text(call)}` converts its elements", call)
    return ArrayResult(list_spec.name, slot, dtype)


def start_list(ctx: Lowering, name: str, buffer: str) -> ListBuilder:
    """The builder of a new, empty append-only list. If the list is only used to make an array, its
    items are converted to that array's dtype when they are appended (``target``).
    """
    built = ListBuilder(name, buffer)
    call = only_consumer(ctx.tree, name)
    function = resolve_object(ctx, call.func) if call is not None else None
    if call is None or function not in ARRAY_OF_ITEMS:
        return built
    argument = _conversion_dtype(call)
    if argument is None or (function is np.fromiter and argument == (None,)):
        return built
    target = dtype_argument(ctx, argument[0], call)
    return replace(built, only_for_array=True, target=target)


def finish_list(ctx: Lowering, source: str, call: ast.Call) -> FinishedList:
    """The value of a name that is bound to `call`, such as ``np.array(source)``, of an append-only
    list. Raises Refused inside of loops and branches.
    """
    b, built = ctx.b, ctx.lists.builders[source]
    if b.path.frames or b.path.branches:
        refuse("LOWER_UNSUPPORTED", f"`{source}` is used before it is finished", call)
    returned = array_from_list(ctx, call, source)
    if built.length is None or built.dtype is None or not isinstance(returned, ArrayResult):
        return FinishedList(returned, None)
    return FinishedList(returned, ArrayRef(returned.name, built.dtype, 0, (built.length,)))
