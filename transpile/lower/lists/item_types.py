"""Item types of lists in lowering: which numbers one array can hold for a list, and how.

The items of a list are Python ints or floats, NumPy scalars of one dtype, or both in one list. An
array holds all of them; where there are two types, a second array has a flag for each item
(`BufferType`). Python ints among floats are stored as floats, which `exact_float_checks` requires
to be exact, and are read as a union of both types::

    load xs[i]  →  int(xs[i]) where xs_py[i], else xs[i]
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NoReturn

import numpy as np

from loopir.analysis.integers.intervals import dtype_bounds
from loopir.dtypes import DTYPES
from loopir.nodes import Call, Const, Expr

from ...frontend.refusal import refuse
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, bool_op, cast
from ...types.value_types import ELEMENTS
from ..scalars.tagged_unions import require_one_type
from ..state.guards_and_checks import require
from ..state.list_state import BufferType
from ..state.lowering_state import Lowering
from ..state.symbol_values import Scalar, UnionCase, UnionValue
from ..state.value_ranges import bind_num

__all__ = [
    "INT_OR_FLOAT", "WORDS", "decode_item", "decode_packed", "encode_item", "encode_packed",
    "exact_float_checks", "item_type_for", "item_types", "refuse_items",
]

INT_OR_FLOAT = BufferType("f64", True, True, python_dtype="i64")
"""The type of items that are Python ints or floats."""


WORDS = BufferType("u64")
"""The type of items that are words, Python ints of 0 … 2**64 - 1."""


def refuse_items(
    message: str, node: ast.AST, *items: Scalar, dtypes: Iterable[str | None] = ()
) -> NoReturn:
    """Refuses a list whose items have several types: those of `items`, and `dtypes`. The help names
    the conversion to a type of Python's that has the values of all::

        out.append(s)       s: Python's complex or NumPy's      →   `complex(...)`
        out.append(0)       beside items that are float64       →   `float(...)`
    """
    cases = [c.value for i in items for c in (i.cases if isinstance(i, UnionValue) else [])]
    numbers = [n for n in (*items, *cases) if isinstance(n, (Num, ComplexPair))]
    kinds = {"c" if isinstance(n, ComplexPair) else DTYPES[n.dtype].kind for n in numbers}
    kinds |= {ELEMENTS[d].kind for d in dtypes if d is not None}
    name = "complex" if "c" in kinds else "float" if "f" in kinds else "int"
    note = None
    if name != "int" and any(_may_be_int(n) for n in numbers):
        note = f"an item may be an int or {name}: `sum` of no items, for instance, is the int 0"
    help = f"convert each item to one type, by `{name}(...)`"
    refuse("LOWER_JOIN", message, node, help=help, note=note)


def _may_be_int(n: Num | ComplexPair) -> bool:
    """Whether `n`, whose dtype is of floats or complex numbers, may also be an int of Python's."""
    if isinstance(n, ComplexPair):
        return n.mixed
    return n.weak == "i64" and DTYPES[n.dtype].kind == "f"


def decode_packed(item: Expr) -> Num:
    """The Python number for the loaded `item` of a packed sequence, such as bytes."""
    match DTYPES[item.dtype].kind:
        case "f":
            return Num(cast(item, "f64"), weak="f64")
        case "b":
            return Num(item, weak="bool")
    return Num(cast(item, "i64"), weak="i64", interval=dtype_bounds(item.dtype))


def encode_packed(ctx: Lowering, value: Scalar, dtype: str, node: ast.AST) -> Expr:
    """`value` as an item of a packed sequence whose items are stored in `dtype`. That an int is in
    its range is proved, or required: Python raises for others. Raises Refused for a value of which
    the type does not fit, or fits only by a conversion that runs code.
    """
    n, wanted = require_one_type(ctx, value, node), DTYPES[dtype].kind
    kind = DTYPES[n.dtype].kind if isinstance(n, Num) and not n.boxed else ""
    fits = {"f": "iuf", "b": "b"}.get(wanted, "iu")
    is_python_bool = isinstance(n, Num) and kind == "b" and n.strong is None  # it is an int, too
    if not isinstance(n, Num) or not (is_python_bool or (kind and kind in fits)) or n.either:
        name = {"f": "number", "b": "bool"}.get(wanted, "int")
        refuse("LOWER_TYPE", f"an item is assigned that is no {name}", node)
    if wanted == "f":  # a C float is rounded from Python's float, which is a double
        return cast(cast(n.ir, "f64"), dtype)
    n = bind_num(ctx.b, n, "item")
    for op, limit in (("ge", dtype_bounds(dtype)[0]), ("le", dtype_bounds(dtype)[1])):
        if wanted != "b" and not (n.range[0] >= limit if op == "ge" else n.range[1] <= limit):
            require(ctx.b, Call(op, (n.ir, Const(limit, n.dtype)), "bool"), "GUARD_RAISES", node)
    return cast(n.ir, dtype)


def item_types(value: Scalar) -> frozenset[tuple[str, bool]] | None:
    """The types that the item `value` may have, as pairs (dtype, is a Python number); None where it
    may be no number or a 0-d array, or was rounded to a dtype that does not hold it.
    """
    types: set[tuple[str, bool]] = set()
    for n, _ in _item_cases(value):
        if not isinstance(n, Num) or n.boxed or not n.exact:
            return None
        types |= {(d, python) for d, python in ((n.strong, False), (n.weak, True)) if d}
    return frozenset(types)


def item_type_for(types: frozenset[tuple[str, bool]]) -> BufferType | None:
    """The type of an array for items of all `types`; None where there is none. Possible are:
    one type; words and other Python ints; Python ints and floats; one NumPy dtype and Python
    numbers of that dtype; float64 scalars of NumPy and Python ints.
    """
    if types == INT_OR_FLOAT.types:
        return INT_OR_FLOAT
    if types == {*WORDS.types, ("i64", True)}:
        return WORDS
    numpy = {dtype for dtype, python in types if not python}
    weak = {dtype for dtype, python in types if python}
    if len(numpy) > 1 or len(weak) > 1:
        return None
    dtype, *_ = numpy or weak
    if numpy and weak and weak != numpy and (dtype, *weak) != ("f64", "i64"):
        return None
    return BufferType(
        dtype, not numpy, bool(numpy and weak), python_dtype=next(iter(weak - {dtype}), None)
    )


def encode_item(value: Scalar, ty: BufferType) -> tuple[Expr, Expr, list[Expr]]:
    """The item `value` for an array of the type `ty`: the number to store, its flag (true: it is of
    the second type, ``ty.python_dtype``), and the conditions under which it is stored exactly,
    which the caller requires.

        7 if c else x[i]    (x: list[float], `INT_OR_FLOAT`)    →    select(not c, x[i], 7.0), c, []
    """
    item: Expr | None = None
    flag: Expr = FALSE
    checks: list[Expr] = []
    for n, when in ((n, when) for n, when in _item_cases(value) if isinstance(n, Num)):
        converted = n.ir
        if n.dtype != ty.dtype:
            checks += [
                bool_op("or", bool_op("not", when), e) for e in exact_float_checks(n, ty.dtype)
            ]
            converted = cast(n.ir, ty.dtype)
        is_flagged = n.weak_now if not ty.weak else TRUE if n.weak == ty.python_dtype else FALSE
        item = converted if item is None else Call("select", (when, converted, item), ty.dtype)
        flag = bool_op("or", flag, bool_op("and", when, is_flagged))
    assert item is not None
    return item, flag, checks


def decode_item(n: Num) -> UnionValue:
    """The item of a buffer of Python ints and floats as a union: an int where the flag of the item,
    ``n.weak_now``, is true, else a float. `n` is the item as it was loaded from the buffer.
    """
    item, is_int, dtype = n.ir, n.weak_now, n.weak or n.dtype
    int_value = Call("select", (is_int, item, Const(0.0, item.dtype)), item.dtype)
    int_case = UnionCase(Num(cast(int_value, dtype), weak=dtype), is_int)
    float_case = UnionCase(Num(item, weak=item.dtype), bool_op("not", is_int))
    return UnionValue((int_case, float_case), as_float=Num(item, weak=item.dtype))


def exact_float_checks(n: Num, dtype: str) -> Iterator[Expr]:
    """The conditions under which the int `n` is exactly a number of `dtype`, a float or uint64.
    None of them where its interval proves it.
    """
    low, high = n.range
    if dtype == "u64":
        if low < 0:
            yield Call("ge", (n.ir, Const(0, n.dtype)), "bool")
        return
    max_exact = 1 << np.finfo(DTYPES[dtype].numpy).nmant
    if high > max_exact:
        yield Call("le", (n.ir, Const(max_exact, n.dtype)), "bool")
    if low < -max_exact:
        yield Call("ge", (n.ir, Const(-max_exact, n.dtype)), "bool")


def _item_cases(value: Scalar) -> list[tuple[object, Expr]]:
    """The cases of a union with their conditions; any other value is one case, which holds always.
    """
    if isinstance(value, UnionValue):
        return [(c.value, c.when) for c in value.cases]
    return [(value, TRUE)]
