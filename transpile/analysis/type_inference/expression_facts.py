"""Type inference of expressions: the fact about any expression, given the facts about local names.

`Facts.of` is the entry, `infer_fact` the table by node type. Each operation is probed on samples of
its operands' types; where a type is unknown, rules may still give the rank::

    x * 2          # x: f64 array of rank 2   →   f64 array of rank 2, shape of x
    x[0]           #                          →   f64 array of rank 1, a view of x
    np.sum(x)      #                          →   f64 scalar
"""
from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core_functions import TYPE_TESTS, key
from ...frontend.ast_walk import integer_constant, is_none, subscript_items
from ...frontend.fold_branches import with_displays, yields_surely
from ...frontend.name_resolution import as_callee
from ...numpy.function_table import function_row, method_row
from ...random_numbers import ArrayDraw, array_draw_of
from ...types.result_types import Sample
from ...types.value_types import ELEMENTS, ArrayType, Constant, ListType, RecordType, ScalarType
from ..alias_analysis import NEW_ARRAY, Owner
from . import shape_rules
from .binding_facts import item_fact
from .shape_rules import shape_of_call, shape_of_lengths, shape_of_product, with_elementwise_shape
from .tuple_types import display_fact, item_of_tuple, items_of_tuple
from .type_facts import Facts, is_new_axis, probe_fact, samples_of
from .type_lattice import (
    ARRAY_FLAGS,
    INT,
    REVERSED_ORDER,
    SCALAR,
    UNIT_LENGTH,
    UNKNOWN,
    UNKNOWN_ORDER,
    Fact,
    Shape,
    broadcast_rank,
    fact_of_types,
    join_facts,
    join_scalar_facts,
)
from .type_probe import (
    OPERATORS,
    array_method,
    bounded_sample,
    may_be_probed,
    probe_types,
    record_item_type,
)

__all__ = [
    "call_probe", "called_function", "infer_fact", "may_be_bool", "operator_fact",
    "unpacked_lengths",
]

_CONVERSIONS = {int: "i64", float: "f64", bool: "bool"}


def infer_fact(facts: Facts, e: ast.expr) -> Fact:
    """As `Facts.of`, without the cache: the rule for each kind of expression."""
    match e:
        case ast.Name(id=name) if name in facts.constant_tuples:
            return facts.constant_tuples[name]
        case ast.Constant(value=bool() | float() | int() | complex() as value):
            kind = {bool: "bool", int: "i64", float: "f64", complex: "c128"}[type(value)]
            return fact_of_types(frozenset({ScalarType(kind, weak=True)}))
        case ast.Constant(value=None | str() as value):
            return fact_of_types(frozenset({Constant(value, type(value))}))
        case ast.Constant() | ast.Starred():
            return UNKNOWN
        case ast.UnaryOp(op=ast.Not()):
            return fact_of_types(frozenset({ScalarType("bool", weak=True)}))
        case ast.UnaryOp(op=op, operand=operand):
            fact = facts.of(operand)
            result = _probe_operator(op, fact) or Fact(fact.rank)
            return with_elementwise_shape(facts, result, [operand])
        case ast.BinOp(left=left, op=op, right=right):
            fact = _power(facts, e) or operator_fact(facts, op, facts.of(left), facts.of(right))
            if isinstance(op, ast.MatMult):
                return fact._replace(shape=shape_of_product(facts, left, right))
            return with_elementwise_shape(facts, fact, [left, right])
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            sides = facts.of(left), facts.of(right)
            probed = _probe_operator(op, *sides)
            fact = probed or broadcast_rank(sides, arrays_allowed=True)
            return with_elementwise_shape(facts, fact, [left, right])
        case ast.Compare(left=left, comparators=rest):
            return broadcast_rank([facts.of(x) for x in (left, *rest)], arrays_allowed=False)
        case ast.BoolOp(values=values):
            return join_scalar_facts([facts.of(v) for v in values])
        case ast.IfExp(body=body, orelse=orelse):
            return join_facts(facts.of(body), facts.of(orelse))
        case ast.Subscript() | ast.Attribute() if facts.objects and facts.is_object_member(e):
            return facts.fact_of_outer_name(e)._replace(owner=None)
        case ast.Subscript():
            return _inferred_item_fact(facts, e) or _subscript_fact(facts, e)
        case ast.Attribute():
            return _attribute_fact(facts, e)
        case ast.List(elts=elts) | ast.Tuple(elts=[_, *_] as elts):
            return display_fact(facts, e, elts)
        case ast.ListComp():
            return _comprehension_fact(facts, e)
        case ast.Call():
            return _call_fact(facts, e)
    return facts.outer_fact(e)


def _inferred_item_fact(facts: Facts, e: ast.Subscript) -> Fact | None:
    """The fact about an item of a list or tuple whose items were inferred for the whole function,
    or of ``divmod(a, b)``; None for other subscripts.
    """
    match e:
        case ast.Subscript(value=ast.Name(id=name), slice=index) if (
            name in facts.number_lists and not isinstance(index, ast.Slice)
        ):
            return fact_of_types(facts.number_lists[name])
        case ast.Subscript(
            ast.Call(func, [a, b], []), ast.Constant(0 | 1 as place)
        ) if called_function(facts, func) is divmod:
            op = ast.Mod() if place else ast.FloorDiv()
            return operator_fact(facts, op, facts.of(a), facts.of(b))
        case ast.Subscript(value=ast.Subscript(value=ast.Name(t))) if t in facts.number_tables:
            return fact_of_types(facts.number_tables[t])
        case ast.Subscript(value=ast.Subscript(value=ast.Name(t))) if t in facts.tuple_lists:
            return SCALAR  # or the list is refused where it is filled
        case ast.Subscript(value=ast.Name() as base, slice=index) if (
            item := item_of_tuple(facts, base, index)
        ):
            return facts.of(item)
    return None


def operator_fact(facts: Facts, op: ast.operator, left: Fact, right: Fact) -> Fact:
    """The fact about ``left op right``."""
    if left.is_int and right.is_int and isinstance(op, ast.Pow):
        return SCALAR  # an int, or a float for a negative exponent
    probed = _probe_operator(op, left, right)
    return probed or broadcast_rank([left, right], arrays_allowed=True)


def _power(facts: Facts, e: ast.BinOp) -> Fact | None:
    """The fact about a power with a constant int exponent that is not negative, such as ``i ** 2``:
    an int, unlike ``i ** j`` (`operator_fact`). None for others.
    """
    match e:
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int(value))) if value >= 0:
            return _probe_operator(e.op, facts.of(e.left), facts.of(e.right))
    return None


def _probe_operator(op: ast.AST, *operands: Fact) -> Fact | None:
    """The fact about operator `op` on `operands`; None if a type is unknown."""
    function = OPERATORS.get(type(op).__name__)
    return probe_fact(function, [f.types for f in operands]) if function else None


def _attribute_fact(facts: Facts, e: ast.Attribute) -> Fact:
    """The fact about an attribute: a constant of a module; ``size``, ``ndim``, ``dtype``, ``T``,
    ``real``, ``imag`` or a flag (``x.flags.writeable``) of an array; else from the environment.
    """
    value = facts.resolve(e)
    if type(value) in (int, float):
        return fact_of_types(
            frozenset({ScalarType("i64" if type(value) is int else "f64", weak=True)})
        )
    match e.value:
        case ast.Attribute(array, "flags") if e.attr in ARRAY_FLAGS and facts.of(array).array:
            return fact_of_types(frozenset({ScalarType("bool", weak=True)}))
    base = facts.of(e.value)
    if base.rank and e.attr in ("size", "ndim"):
        return INT
    if e.attr == "dtype" and base.array:
        dtype = ELEMENTS[base.array.dtype].numpy
        return fact_of_types(frozenset({Constant(dtype, type(dtype))}))
    if base.rank and e.attr == "T":
        fact = probe_fact(np.transpose, [base.types]) or Fact(base.rank)
        shape, order = base.shape and base.shape[::-1], REVERSED_ORDER.get(base.order)
        return fact._replace(shape=shape, owner=base.owner, memory_order=order)
    return _complex_part_fact(base, e.attr) or facts.outer_fact(e)


def _complex_part_fact(of: Fact, name: str) -> Fact | None:
    """The fact about the attribute `name` of a value of fact `of`, if it is ``real`` or
    ``imag``; else None.
    """
    if name not in ("real", "imag"):
        return None
    fact = probe_fact(operator.attrgetter(name), [of.types])
    if fact is None:
        return None
    return fact._replace(owner=of.owner, memory_order=of.order if fact.rank else None)


def _subscript_fact(facts: Facts, e: ast.Subscript) -> Fact:
    """The fact about the subscript `e`, by what is subscripted:

    - ``x.shape`` or ``x.strides``: an int
    - records, or a list that is an argument: by their type
    - ``np.mgrid``, ``np.r_`` and their kin: by the items (`shape_rules.new_array_type`)
    - nothing known: from the environment
    - a list of lists that the function makes: a list
    - an array or list of known type: by probing. With arrays among the subscripts the result
      is a copy, whose memory order NumPy chooses; else it is a view
    - a known rank alone: each int subscript removes an axis
    """
    if isinstance(e.value, ast.Attribute) and e.value.attr in ("shape", "strides"):
        return INT if facts.of(e.value.value).rank else facts.outer_fact(e)
    base = facts.of(e.value)
    if base.record is not None:
        return _record_fact(facts, base, base.record, e.slice)
    if not base.rank:
        ty = shape_rules.new_array_type(e, facts.resolve(e.value), facts.of)
        return facts.outer_fact(e) if ty is None else fact_of_types(frozenset({ty}))._replace(
            owner=NEW_ARRAY)
    if base.list_type is not None:
        return _list_item_fact(facts, base.list_type, e.slice)
    if base.list_depth and not isinstance(e.slice, (ast.Slice, ast.Tuple)):
        return Fact(1, list_depth=base.list_depth - 1)
    if base.types:
        return _array_item_fact(facts, e, base)
    rank = base.rank
    for index in subscript_items(e):
        if isinstance(index, ast.Slice):
            continue
        if facts.of(index).rank != 0 or may_be_bool(index):
            return UNKNOWN
        rank -= 1
    return Fact(rank) if rank >= 0 else UNKNOWN


def _array_item_fact(facts: Facts, e: ast.Subscript, base: Fact) -> Fact:
    """The fact about the subscript `e` of an array or list of known type, whose fact is `base`."""
    indices = samples_of(facts, e.slice, index=True)
    fact = probe_fact(OPERATORS["Subscript"], [base.types, indices])
    if fact is None or not fact.rank:
        return fact or UNKNOWN
    arrays = _index_arrays(facts, e.slice)
    if not arrays:
        shape = _view_shape(facts, e)
        return fact._replace(shape=shape, owner=base.owner, memory_order=base.order)
    first = e.slice.elts[0] if isinstance(e.slice, ast.Tuple) else e.slice
    # NumPy may copy the axes in another order than the probe shows
    same_order = fact.rank < 3 or (base.order == "C" and first in arrays)
    same_order = same_order and all(a.order != UNKNOWN_ORDER for a in arrays.values())
    return fact._replace(owner=NEW_ARRAY, memory_order=None if same_order else UNKNOWN_ORDER)


def _list_item_fact(facts: Facts, ty: ListType, index: ast.expr) -> Fact:
    """The fact about an item, or a slice, of a list of type `ty`."""
    if isinstance(index, ast.Slice):
        return Fact(1, list_type=ty)
    if facts.of(index).rank != 0 or may_be_bool(index):
        return UNKNOWN
    if ty.is_mixed:
        return fact_of_types(frozenset({ty.item, ty.stored}))
    inner = ty.inner
    return (
        Fact(1, list_type=inner)
        if isinstance(inner, ListType)
        else fact_of_types(frozenset({inner}))
    )


def _index_arrays(facts: Facts, index: ast.expr) -> dict[ast.expr, Fact]:
    """The arrays among the subscripts; with one of them, the result is no view."""
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return {i: f for i in items if not isinstance(i, ast.Slice) and (f := facts.of(i)).rank}


def _record_fact(facts: Facts, base: Fact, ty: RecordType, index: ast.expr) -> Fact:
    """The fact about ``base[index]``, where ``base`` is a record or an array of records of type
    `ty`: a field, a scalar, or fewer records.
    """
    field = ty.field(index.value) if isinstance(index, ast.Constant) else None
    if isinstance(field, ArrayType):
        return fact_of_types(frozenset({field}))
    if isinstance(field, RecordType):
        return Fact(field.rank, owner=base.owner, record=field)
    indices = samples_of(facts, index, index=True)
    if types := probe_types(OPERATORS["Subscript"], [[ty], indices]):
        return fact_of_types(types)
    item = record_item_type(ty, indices)
    return UNKNOWN if item is None else Fact(item.rank or None, owner=base.owner, record=item)


def _view_shape(facts: Facts, e: ast.Subscript) -> Shape | None:
    """The lengths of the view `e`: 1 for new axes and slices of one element, None for the others.
    None as a whole if no length is 1, or a subscript is neither a slice nor a new axis.
    """
    items = subscript_items(e)
    new = [is_new_axis(facts, i) or is_none(i) for i in items]
    unit = [n or i in facts.unit_slices for n, i in zip(new, items, strict=True)]
    slices = [n or isinstance(i, ast.Slice) for n, i in zip(new, items, strict=True)]
    if not any(unit) or not all(slices):
        return None
    trailing = (facts.of(e.value).rank or 0) - new.count(False)
    return (*(UNIT_LENGTH if u else None for u in unit), *[None] * trailing)


def may_be_bool(e: ast.expr) -> bool:
    """Whether `e` may be a bool, by its form; as a subscript a bool is a mask and adds an axis."""
    match e:
        case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
    return False


def _call_fact(facts: Facts, e: ast.Call) -> Fact:
    """The fact about the result of the call `e`. In the order tried:

    1. calls whose result type does not depend on the operands' types: ``len``, ``int``, …
    2. reshapes, draws of random arrays, ``real`` and ``imag``, ``min`` and ``max`` of scalars
    3. pure functions and methods: by probing, with the shape and owner that rules give
    4. ``sum``, ``min`` and ``max`` of an array or list of numbers; ``sum`` of a comprehension
    5. the rank that a rule gives; methods of lists; the type in the environment
    """
    target = called_function(facts, e.func)
    fact = _special_call(facts, e, target) or _probed_call(facts, e, target)
    if fact is not None:
        return fact
    operands = [facts.of(a) for a in e.args]
    if target in (sum, min, max) and [(f.rank, f.list_depth) for f in operands] == [(1, 0)]:
        array = None if e.keywords else operands[0].array
        is_sum = target is sum
        return _array_fold_fact(facts, array, is_sum) if array else _list_number_fact(operands[0])
    if target is sum and isinstance(e.args[0], (ast.GeneratorExp, ast.ListComp)):
        return _sum_fact(facts, e, e.args[0])
    fact = _ranked_call(facts, e, target, operands)
    return facts.outer_fact(e) if fact is None else fact


def _counts_bits(facts: Facts, e: ast.Call) -> bool:
    """Whether `e` is ``n.bit_count()`` or ``n.bit_length()`` of a Python int."""
    match e:
        case ast.Call(ast.Attribute(n, "bit_count" | "bit_length"), [], []):
            return facts.of(n).is_int
    return False


def _special_call(facts: Facts, e: ast.Call, target: object | None) -> Fact | None:
    """Cases 1 and 2 of `_call_fact`; None for other calls."""
    if target is len or target is key or _counts_bits(facts, e):
        return INT
    if any(target is f for f in TYPE_TESTS):
        return fact_of_types(frozenset({ScalarType("bool", weak=True)}))
    if isinstance(target, type) and target in _CONVERSIONS and len(e.args) == 1:
        return fact_of_types(frozenset({ScalarType(_CONVERSIONS[target], weak=True)}))
    if (reshape := shape_rules.reshaping(e, target)) is not None:
        return _reshaped(facts, *reshape)
    if shape_rules.is_squeeze(e, target):
        return UNKNOWN  # the rank depends on the lengths
    if target is np.broadcast_to and len(e.args) == 2 and not e.keywords:
        return _reshaped(facts, e.args[0], getattr(e.args[1], "elts", e.args[1:]))
    if (draw := array_draw_of(e, facts.type_of, facts.resolve)) is not None:
        return _array_draw_fact(facts, draw)
    if target in (np.real, np.imag) and len(e.args) == 1 and not e.keywords:
        return _complex_part_fact(facts.of(e.args[0]), target.__name__) or UNKNOWN
    if target in (min, max) and len(e.args) > 1 and not e.keywords:
        return join_scalar_facts([facts.of(a) for a in e.args])
    return None


def _probed_call(facts: Facts, e: ast.Call, target: object | None) -> Fact | None:
    """Case 3 of `_call_fact`; None if the function must not be called on samples, or raises."""
    if (probe := call_probe(facts, e, target)) is None:
        return None
    function, operands, names = probe
    fact = probe_fact(function, operands, *names)
    if fact is None:
        return None
    shape = shape_of_call(facts, target, e)
    shape = shape if shape and len(shape) == fact.rank else None
    return fact._replace(shape=shape, owner=_owner(facts, e, target))


def call_probe(
    facts: Facts, e: ast.Call, target: object | None
) -> tuple[Callable[..., Any], list[list[Sample]], list[str]] | None:
    """What to call in place of `e`, a call of `target` (None: of a method), to learn of what type
    the result is: a function, for each argument its samples, and the names of the last ones. None
    if it must not be called on samples.
    """
    function = target
    operands = [[bounded_sample(target, s) for s in samples_of(facts, a)] for a in e.args]
    if target is None and isinstance(e.func, ast.Attribute):
        function = array_method(e.func.attr)
        operands.insert(0, list(facts.of(e.func.value).types))
    named = {
        k.arg: [bounded_sample(target, s) for s in samples_of(facts, k.value)]
        for k in e.keywords
        if k.arg
    }
    if not callable(function) or not (target is None or may_be_probed(function)):
        return None
    if len(named) < len(e.keywords):  # there is a **kwargs
        return None
    return function, [*operands, *named.values()], [*named]


def _ranked_call(
    facts: Facts, e: ast.Call, target: object | None, operands: Sequence[Fact]
) -> Fact | None:
    """Case 5 of `_call_fact`, without the environment; `operands`: the facts about the arguments.
    """
    rank = None
    if target is not None:
        rank = shape_rules.rank_of_call(target, e, [f.rank for f in operands])
    elif isinstance(e.func, ast.Attribute):
        rank = shape_rules.rank_of_method(e.func.attr, e, facts.of(e.func.value).rank)
    return _list_method_fact(facts, e.func) if rank is None else Fact(rank)


def _list_method_fact(facts: Facts, func: ast.expr) -> Fact | None:
    """The fact about the result of ``pop``, ``count`` or ``index`` of a list of numbers; None
    for other methods.
    """
    match func:
        case ast.Attribute(value=value, attr="pop" | "count" | "index" as name):
            fact = facts.of(value)
            if fact.rank == 1 and not fact.list_depth and not fact.types:
                return _list_number_fact(fact) if name == "pop" else INT
    return None


def _list_number_fact(fact: Fact) -> Fact:
    """The fact about an item, or about the sum of the items, of a list of numbers of which `fact`
    is known.
    """
    ty = fact.list_type
    ints = ty is not None and ty.inner == ScalarType("i64", weak=True) and not ty.is_mixed
    return INT if ints else SCALAR


def _array_fold_fact(facts: Facts, array: ArrayType, is_sum: bool) -> Fact:
    """The fact about the builtin ``sum`` of a vector of this type, or about its ``min`` or ``max``:
    an element; of ``sum`` the int 0, or what adding one and more elements to it gives.

        sum(x[:w])      x: f64 array    →   the int 0 or an f64
    """
    item = fact_of_types(frozenset({ScalarType(array.dtype)}))
    if not is_sum:
        return item
    first = operator_fact(facts, ast.Add(), INT, item)
    return join_facts(INT, join_facts(first, operator_fact(facts, ast.Add(), first, item)))


def _array_draw_fact(facts: Facts, draw: ArrayDraw) -> Fact:
    """The fact about the array that `draw` makes; UNKNOWN if a length is no int."""
    if not all(facts.of(n).is_int for n in draw.lengths):
        return UNKNOWN
    rank = len(draw.lengths)
    ty = ArrayType(draw.dtype, rank, rank - 1)
    return Fact(rank, frozenset({ty}), shape_of_lengths(facts, draw.lengths), NEW_ARRAY)


def _reshaped(facts: Facts, array: ast.expr, lengths: Sequence[ast.expr]) -> Fact:
    """The fact about `array` reshaped to `lengths`; no lengths: to one axis. UNKNOWN if `array` is
    not surely an array, or a length not surely an int.
    """
    lengths = unpacked_lengths(facts, lengths)
    fact, rank = facts.of(array), len(lengths) or 1
    if fact.array is None or not all(facts.of(n).is_int for n in lengths):
        return UNKNOWN
    is_dense = fact.array.unit == fact.array.rank - 1 or not lengths
    ty = ArrayType(fact.array.dtype, rank, rank - 1 if is_dense else None)
    unit = [integer_constant(n, None) == 1 for n in lengths]
    shape = tuple(UNIT_LENGTH if u else None for u in unit) if any(unit) else None
    return Fact(rank, frozenset({ty}), shape, fact.owner)


def unpacked_lengths(facts: Facts, lengths: Sequence[ast.expr]) -> Sequence[ast.expr]:
    """`lengths`; if it is one name of a tuple of known items, these items."""
    is_name = len(lengths) == 1 and isinstance(lengths[0], ast.Name)
    return (items_of_tuple(facts, lengths[0]) if is_name else None) or lengths


def _owner(facts: Facts, e: ast.Call, target: object | None) -> Owner | None:
    """`Fact.owner` of the result of the call `e`: that of the first operand for a view."""
    name = e.func.attr if isinstance(e.func, ast.Attribute) else ""
    row = function_row(target) if target is not None else method_row(name)
    if row is None or row.result != "view":
        return NEW_ARRAY
    first = e.args[0] if target is not None else getattr(e.func, "value", None)
    return facts.of(first).owner if first is not None else None


def called_function(facts: Facts, func: ast.expr) -> object | None:
    """The function that `func` means; None if it is a method of a local value, or unknown."""
    if isinstance(func, ast.Attribute) and func.attr in ("accumulate", "outer", "reduce"):
        ufunc = facts.resolve(func.value)
        if isinstance(ufunc, np.ufunc):
            return getattr(ufunc, func.attr)  # type: ignore[no-any-return]
    return as_callee(facts.resolve(func))


def _comprehension_fact(facts: Facts, e: ast.ListComp) -> Fact:
    """The fact about the list that a comprehension makes, of numbers or of lists of them."""
    fact = item_fact(facts, e)
    if fact.rank == 0:
        return Fact(1)
    is_list = fact.rank == 1 and not fact.types and fact.list_type is None
    return Fact(1, list_depth=fact.list_depth + 1) if is_list else UNKNOWN


def _sum_fact(facts: Facts, e: ast.Call, items: ast.ListComp | ast.GeneratorExp) -> Fact:
    """The fact about the call `e`, ``sum(items)`` or ``sum(items, start)``: what adding items to
    the start value gives; or the start value, unless there is an item for certain.

        sum(np.roll(x, k) for k in (-1, 1))     →   an array; so for ``range(2)``
        sum(np.roll(x, k) for k in range(n))    →   UNKNOWN: an array, or the int 0
    """
    start = [*e.args[1:], *(k.value for k in e.keywords)]
    total, item = facts.of(start[0]) if start else INT, item_fact(facts, items)
    if len(start) > 1 or (item.rank != 0 and item.array is None):
        return UNKNOWN
    if not yields_surely(with_displays(items.generators, functools.partial(_is_range, facts))):
        total = join_facts(total, operator_fact(facts, ast.Add(), total, item))
    else:
        total = operator_fact(facts, ast.Add(), total, item)
    return join_facts(total, operator_fact(facts, ast.Add(), total, item))


def _is_range(facts: Facts, e: ast.expr) -> bool:
    """Whether `e` is a call of the builtin ``range`` without keywords."""
    return isinstance(e, ast.Call) and not e.keywords and facts.resolve(e.func) is range
