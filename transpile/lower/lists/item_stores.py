"""Items stored in lists: each must have the type of the others.

`require_item` is called for each store to an array that holds the items of a list. Python lists
take any item; here the type must fit the array. Where it does not, lowering starts again for some
kinds of lists:

- a dynamic list, and one of a fixed length that the function makes, with a wider item type;
- a list argument of ints, with a type that has ints and floats (`NeedsMixedList`);
- an append-only list, as a dynamic list.

In all other cases an item of another type is refused.
"""
from __future__ import annotations

import ast

from ...call_plan import ListItems
from ...frontend.refusal import refuse, refuse_unknown_length
from ...types.typed_values import ComplexPair, Num
from ..scalars.tagged_unions import require_one_type
from ..state.guards_and_checks import require
from ..state.list_state import BufferType
from ..state.lowering_state import Lowering
from ..state.symbol_values import ArrayRef, Scalar
from .dynamic_lists import note_buffer_item
from .item_types import INT_OR_FLOAT, WORDS, exact_float_checks, item_types, refuse_items
from .list_arguments import list_items_of

__all__ = ["NeedsItemFlags", "NeedsMixedList", "require_item", "require_item_type"]


class NeedsItemFlags(Exception):
    """Raised where the list `name` needs an array of type flags, since its items are of two types,
    ``item_type``; or words (`item_types.WORDS`) in the place of ints, without flags.
    """

    def __init__(self, name: str, item_type: BufferType) -> None:
        super().__init__(name)
        self.name, self.item_type = name, item_type


class NeedsMixedList(Exception):
    """Raised by `_require_item_of_argument` where a float is stored in the list argument `name`, a
    list of ints::

        x[i] = x[i] / 2        # x: list[int]. From here on it has ints and floats

    All code before has taken the items for ints. So the stage ``lower`` catches this, and lowers
    the function again with a type of that list that has both from the start (`ListType.is_mixed`).
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def require_item(ctx: Lowering, array: ArrayRef, value: Scalar, node: ast.AST) -> None:
    """Checks that `value` can be stored in `array`, if that holds the items of a list. The kind of
    the list selects the function that decides.

    Raises WiderBufferType, NeedsItemFlags or NeedsMixedList (of a list argument) where lowering
    must start again with a wider item type, UnknownListLength where an append-only list must become
    a dynamic one, Refused where no array can hold the items.
    """
    buffer = next((n for n, a in ctx.dynamic.arrays.items() if a == array.name), None)
    if buffer is not None and array.kinds:
        _require_item_of_dynamic(ctx, buffer, value, node)
    elif (items := list_items_of(ctx, array)) is not None:
        _require_item_of_argument(ctx, array, items, value, node)
    elif array.name in ctx.fixed.named:
        _require_item_of_fixed(ctx, array, value, node)
    else:
        _require_item_of_built(ctx, array, value, node)


def _require_item_of_dynamic(ctx: Lowering, buffer: str, value: Scalar, node: ast.AST) -> None:
    """`require_item` for a buffer of a dynamic list."""
    if isinstance(value, ComplexPair):
        refuse("LOWER_COMPLEX", "a complex number is put into a list", node)
    note_buffer_item(ctx, buffer, value, node)


def _require_item_of_argument(
    ctx: Lowering, array: ArrayRef, items: ListItems, value: Scalar, node: ast.AST
) -> None:
    """`require_item` for a list that is an argument or captured: `value` must have the type that
    the items had at the call. There is one way to widen that: a flat list argument (no captured
    one, no member of an argument) of Python ints, to which a Python float is stored, becomes one of
    ints and floats, in another attempt to lower the function (NeedsMixedList).

        x[i] = 7          x: list[int]     →    returns: the type fits
        x[i] = x[i] / 2                    →    NeedsMixedList; in the next attempt: returns
        x[i] = y[i]       y: a NumPy array →    Refused: the items would have several types

    Raises Refused for items of bytes and of tuples, too, which Python cannot assign. Items of an
    array.array, memoryview or bytearray are left to `encode_packed`.
    """
    if array.kinds == (bytes,):
        refuse("LOWER_TYPE", "an item of bytes is assigned", node)
    if array.is_packed:
        return  # the items of an array.array or memoryview: `encode_packed` decides
    types = None if isinstance(value, ComplexPair) else item_types(value)
    is_flat_list = items.type.kinds == (list,)  # a row of a list of lists has no flags
    if types is not None and types <= INT_OR_FLOAT.types and is_flat_list:
        if array.has_ints_and_floats:
            return
        is_argument = not items.captured and items.read is None
        if is_argument and array.weak and array.dtype == "i64" and types != {("i64", True)}:
            raise NeedsMixedList(items.of)
    n = require_one_type(ctx, value, node)
    if isinstance(n, ComplexPair):
        refuse("LOWER_COMPLEX", "a complex number is put into a list of others", node)
    require_item_type(ctx, n, array.dtype, node)
    if n.either or (n.strong is None) is not array.weak:
        refuse_items(f"the items of `{items.of}` have several types", node, n, dtypes=[array.dtype])
    if array.kinds[-1] is tuple:
        refuse("LOWER_TYPE", "a tuple is written", node)


def _require_item_of_fixed(ctx: Lowering, array: ArrayRef, value: Scalar, node: ast.AST) -> None:
    """`require_item` for a list that was made by ``[value] * n`` or a short display. The type of
    its items was assumed where it was made. Where `value` shows that there are two types, lowering
    starts again, and the list gets flags that tell the type of each item (NeedsItemFlags)::

        v = [0] * n; v[i] = 7             returns: the type fits
        v = [0] * n; v[i] = 0.5           NeedsItemFlags: Python ints and floats
        v = [0.0] * n; v[i] = x[i]        NeedsItemFlags: Python's and NumPy's floats  (x: float64)
        v = [0] * n; v[i] = h & (2**64 - 1)   NeedsItemFlags: words
        v = [0.0] * n; v[i] = z           Refused: z is complex

    Raises Refused for a type that no array holds beside the others.
    """
    name = ctx.fixed.named[array.name]
    types = None if isinstance(value, ComplexPair) else item_types(value)
    if array.has_ints_and_floats:
        if types is None or not types <= INT_OR_FLOAT.types:
            refuse_items(f"the items of `{name}` have several types", node, value)
        return
    python_type = (array.python_dtype or array.dtype, array.weak or array.flags is not None)
    needs_both = types is not None and types | {python_type} == INT_OR_FLOAT.types
    if needs_both and name not in ctx.fixed.flagged:
        raise NeedsItemFlags(name, INT_OR_FLOAT)
    n = require_one_type(ctx, value, node, takes_words=True)
    if isinstance(n, ComplexPair):
        refuse("LOWER_COMPLEX", f"a complex number is put into the list `{name}`", node)
    if n.is_word and array.dtype == "i64" and name not in ctx.fixed.flagged:
        raise NeedsItemFlags(name, WORDS)
    if array.weak and array.dtype == "u64" and n.python_int:
        return  # it is stored as a word
    if array.flags is None and array.dtype == "i64" and n.strong in ("f32", "f64"):
        raise NeedsItemFlags(name, BufferType(n.strong, False, True, python_dtype="i64"))
    require_item_type(ctx, n, array.dtype, node, array.python_dtype)
    if array.flags is None and n.strong is not None:
        raise NeedsItemFlags(name, BufferType(array.dtype, False, True))


def _require_item_of_built(ctx: Lowering, array: ArrayRef, value: Scalar, node: ast.AST) -> None:
    """`require_item` for an append-only list. Does nothing for an array that is not of a list."""
    built = next((b for b in ctx.lists.builders.values() if b.buffer == array.name), None)
    if built is None:
        return
    item = require_one_type(ctx, value, node)
    fits = isinstance(item, Num) and item.exact and not item.boxed and not built.flags
    if fits and isinstance(item, Num):
        types = {item.strong, item.weak} - {None}
        fits = types == {item.dtype} == {array.dtype}
        fits = fits and (built.only_for_array or item.types == (
            (None, item.dtype) if built.weak else (item.dtype, None)
        ))
    if not fits:
        refuse_unknown_length(
            built.source, f"the items of `{built.source}` have several types", node
        )


def require_item_type(
    ctx: Lowering, n: Num, dtype: str, node: ast.AST, python: str | None = None
) -> None:
    """Raises Refused where the item `n` has another type than the items of its list, which have
    `dtype`.

    ``python``: the dtype of the Python numbers among them, if it is another one; they are stored as
    `dtype`, and are required to be exact in it.
    """
    is_python_item = python is not None and n.strong is None and n.dtype == python
    has_other_type = (
        (not is_python_item and n.dtype != dtype)
        or n.strong not in (None, dtype)
        or n.weak not in (None, python or dtype)
    )
    if has_other_type or n.boxed or not n.exact:
        refuse_items("the items of a list have several types", node, n, dtypes=[dtype])
    for check in exact_float_checks(n, dtype) if is_python_item else ():
        require(ctx.b, check, "GUARD_INT_RANGE", node)
