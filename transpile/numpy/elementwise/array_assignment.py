"""Whole-array assignment, stores and in-place operations as loop nests over the elements.

This is where views (`array_views`) become loops. The macros, by the statement::

    y = a + b               array_assignment: a new array, and a nest that fills it
    s = len(a + b)          array_temporary: the same, before the statement, under a new name
    x[i:j] = a, x[...] = a  array_store: a nest of stores
    x += a, x[i:j] += a     array_inplace: a nest of updates
    x = a + b in a loop     reuse_array_storage: ``x[:] = a + b``, if no other name has the array
    y = a if c else b       branch_of_arrays: an ``if``

`store_elements` does the work for all stores, masked ones included. Values that overlap the
target are copied first, where an element read might already be overwritten.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from loopir.lazy_dataclass import replace

from ...analysis.alias_analysis import NEW_ARRAY, owners_may_alias
from ...analysis.type_inference.expression_facts import operator_fact
from ...analysis.type_inference.type_lattice import UNKNOWN_ORDER, Fact
from ...frontend.ast_names import names_used
from ...frontend.ast_walk import integer_constant, subscript_items, tree_key, walk_nodes
from ...frontend.core_nodes import copy_location, mark_operation_part, note_obstacle, obstacle
from ...frontend.macros.bind_operands import bind_fresh
from ...frontend.macros.firing_conditions import assigns_array, assigns_array_in_loop, makes_array
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import guarded
from ...types.effects import is_pure
from ...types.value_types import ELEMENTS, PARTS, ArrayType, is_weak
from ..array_nests import (
    allocate_array,
    dtype_expr,
    loop_nest,
    may_sort_unit_axes,
    product_of,
    store_element,
    unit_length_tests,
)
from ..array_views import (
    View,
    broadcast_views,
    is_unit_length,
    length_mismatches,
    materialized_view,
    may_read_array,
    note_unknown_order,
    scalar_overflow_checks,
    scalar_view,
    view_of,
)
from ..gather_scatter import index_axis_first, index_order_check, is_gathered, stores_in_order
from ..numpy_errors import note_unsafe_store
from .elementwise_ops import (
    ELEMENTWISE,
    augmented_element,
    is_elementwise,
    one_element_rounds_differently,
)

__all__ = [
    "array_assignment", "array_inplace", "array_store", "array_temporary", "converted_element",
    "converts_elementwise", "store_elements", "reuse_array_storage", "branch_of_arrays",
]


@fires_on(ast.Assign, targets=ast.Name, value=ELEMENTWISE, when=assigns_array)
def array_assignment(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``y = a + b`` of arrays → a new array, and a loop nest that fills it.

        u = x * 2.0 + y
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            u = x * 2.0 + y
        else:
            u = np.empty(x.shape[0], np.float64)
            for _i in range(x.shape[0]):
                u[_i] = np.add(np.multiply(x[_i], 2.0), y[_i])

    The shape, the elements and the guard are those of the view of the value (`view_of`);
    `_assign_new_array` makes the statements.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_elementwise(value, cx):
            return cx.with_before(lambda: _assign_new_array(node, name, value, cx))
    return None


@fires_on(*ELEMENTWISE, when=makes_array)
def array_temporary(node: ast.AST, cx: Context) -> ast.expr | None:
    """A new array inside of an expression → a fresh name that is bound before.

        s = len(x + 1.0)
    →
        _a = np.empty(x.shape[0], np.float64)
        for _i in range(x.shape[0]):
            _a[_i] = np.add(x[_i], 1.0)
        s = len(_a)

    Only an outermost elementwise expression gets an array, as outer expressions are rewritten
    first: ``len((x + y) * z)`` makes one, and none for ``x + y``.
    """
    if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
        return None
    if not is_elementwise(node, cx):
        return None
    name = cx.fresh("a")
    (take,) = cx.code("NAME = E", NAME=name, E=node)
    new = array_assignment(take, cx)
    if new is None:
        if isinstance(take, ast.Assign) and (noted := obstacle(take.value)) is not None:
            note_obstacle(node, noted)  # `take` has a copy
        return None
    cx.before(*new)
    return cx.expr("NAME", NAME=name)


@fires_on(ast.Assign, targets=ast.Subscript)
def array_store(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x[i] = a`` of an array, row or slice → a loop nest of stores; ``x[i] = a if c else b`` → an
    ``if``. A value that may overlap the target is copied first.

        X[i] = y
        x[1:] = x[:-1]
    →
        _row = X[i]
        if X.shape[1] != y.shape[0]:
            "Python's to answer"
            X[i] = y
        else:
            for _i in range(X.shape[1]):
                X[i, _i] = y[_i]
        _a = np.empty(max(x.shape[0] - 1, 0), np.float64)
        for _i_1 in range(max(x.shape[0] - 1, 0)):
            _a[_i_1] = x[_i_1]
        for _i_2 in range(max(x.shape[0] - 1, 0)):
            x[_i_2 + 1] = _a[_i_2]
    """
    match node:
        case ast.Assign(targets=[ast.Subscript() as target], value=ast.IfExp() as value) if (
            cx.fact(value.body).array and cx.fact(value.orelse).array
        ):
            text = "if C:\n    TARGET = A\nelse:\n    TARGET = B"
            return cx.code(text, TARGET=target, C=value.test, A=value.body, B=value.orelse)
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            return cx.with_before(lambda: store_elements(node, target, value, cx))
    return None


@fires_on(ast.AugAssign, target=(ast.Name, ast.Subscript))
def array_inplace(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x += a`` of an array → a loop nest that updates each element in place.

        x += y * 2.0
    →
        if x.shape[0] != y.shape[0]:
            "Python's to answer"
            x += y * 2.0
        else:
            for _i in range(x.shape[0]):
                x[_i] = np.add(x[_i], np.multiply(y[_i], 2.0))
    """
    match node:
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
            target = copy_location(ast.Name(name, ast.Load()), node.target)
            return cx.with_before(lambda: store_elements(node, target, value, cx, op=op))
        case ast.AugAssign(target=ast.Subscript() as again, op=op, value=value) if is_gathered(
            again, cx
        ):
            return cx.with_before(lambda: _update_gathered(again, op, value, cx))
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            return cx.with_before(lambda: store_elements(node, target, value, cx, op=op))
    return None


def _assign_new_array(
    s: ast.stmt, name: str, value: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """The allocation and loop nest for the statement `s`, which is ``name = value``, in the memory
    order of NumPy's result. The array is filled under a fresh name where `value` reads `name`. None
    where `value` has no view, or the memory order is not known (with length 1 in F order, neither).
    """
    view, ty = view_of(value, cx), cx.fact(value).array
    if view is None or ty is None:
        return None
    if is_gathered(value, cx) and not index_axis_first(value, cx):
        if ty.rank != 2:
            return None  # NumPy permutes axes
        return guarded(view.checks, s, _gathered_layout(name, view, ty, cx), cx)
    order = view.order
    if order == "C+F":  # NumPy decides by the strides, as it did for the sample that gave the type
        order = "F" if ty.unit == 0 else "C" if ty.unit == ty.rank - 1 else UNKNOWN_ORDER
    if ty.rank > 1 and order == UNKNOWN_ORDER:
        note_unknown_order(value, cx)
        return None
    reads = {n.id for n in walk_nodes(value) if isinstance(n, ast.Name)}
    target_name = cx.fresh("a") if name in reads else name
    in_f = ty.rank > 1 and order == "F"
    any_unit_length = not in_f and not (ty.rank > 1 and may_sort_unit_axes(value, cx))
    if not any_unit_length and any(integer_constant(n) == 1 for n in view.shape):
        return None  # see `unit_length_tests`
    unit_lengths = [] if any_unit_length else unit_length_tests(view.shape, cx)

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        return store_element(target_name, at, view.at(at), cx)

    lines = [allocate_array(target_name, view.shape, ty.dtype, cx, fortran_order=in_f)]
    lines += loop_nest(view.shape, body, cx, in_f)
    if target_name != name:
        lines += cx.code("NAME = NEW", NAME=name, NEW=target_name)
    return guarded([*view.checks, *unit_lengths], s, lines, cx)


def _gathered_layout(name: str, view: View, ty: ArrayType, cx: Context) -> list[ast.stmt]:
    """Statements that bind `name` to a matrix that was gathered along its second axis, ``X[:, k]``:
    NumPy allocates it with that axis first in memory, and returns a transposed view.
    """
    transposed, shape = cx.fresh("a"), view.shape[::-1]
    lines = [allocate_array(transposed, shape, ty.dtype, cx)]
    lines += loop_nest(shape, lambda at: store_element(transposed, at, view.at(at[::-1]), cx), cx)
    return [*lines, *cx.code("NAME = NEW.T", NAME=name, NEW=transposed)]


def store_elements(
    s: ast.stmt, target: ast.expr, value: ast.expr, cx: Context, *,
    op: ast.operator | None = None, where: ast.expr | None = None, exact_axes: int = 0,
    is_out: bool = False,
) -> list[ast.stmt] | None:
    """Rewrites the statement `s`, which stores to elements of an array, to a loop nest under guards
    (`guarded`). All macros for stores call it: `array_store`, `array_inplace`, `mask_store`,
    `ufunc_out`, `fill_elements`.

        x[1:] += y     (op=+)       →    for _i in …: x[_i + 1] = np.add(x[_i + 1], y[_i])
        x[m] = 0.0     (where=m)    →    for _i in …: if m[_i]: x[_i] = 0.0

    `op`: stores ``target op value``, else `value`. `where`: a mask, stores only where it is true.
    `exact_axes`: the number of leading axes along which NumPy does not broadcast, so that the value
    and the mask must have the length of `target`; a guard compares. ``is_out``: `s` is a call with
    ``out=target``, and `value` the call without that.

    Returns None, upon which the macro leaves `s` as it is, where a loop may store something else
    than NumPy:

    - NumPy does not store element by element, or converts in another way than one element is
      converted (`_is_stored_elementwise`);
    - target, value or mask have no view; or the value or mask has more axes than the target, or
      would stretch it by broadcasting: NumPy raises, unless the length turns out to be 1;
    - with `op`, NumPy may round in another way (`augmented_element`; of one element that a mask
      selects: `one_element_rounds_differently`).

    A value or mask that may be overwritten before it is read, as in ``x[1:] = x[:-1]``, is copied
    first (`_stored_operand`). NumPy stores nothing if it raises: so the loops are marked as atomic.
    """
    target_fact, value_fact = cx.fact(target), cx.fact(value)
    ty = target_fact.array
    if ty is None or not _is_stored_elementwise(s, target, value, op, where, cx):
        return None
    value = _evaluated_before(value, target, cx, precedes_target=op is None)
    where = where and _evaluated_before(where, target, cx, precedes_target=False)
    read = target
    if isinstance(target, ast.Subscript):
        read = ast.Subscript(target.value, target.slice, ast.Load())
    views = _views_of_store(read, target, value, where, exact_axes, cx)
    if views is None:
        return None
    cx.mark_atomic()
    stored, values, new_elements, selected, mismatches = views
    augmented = augmented_element(read, op, value, cx) if op else None
    if op and augmented is None:
        return None
    computed = ast.BinOp(read, op, value) if op else value
    if (op or is_out) and one_element_rounds_differently(computed, cx):
        if op and where is not None:
            return None  # the mask may select one element, and its number is not known before
        mismatches.append(cx.expr("N == 1", N=product_of(stored.shape, cx)))

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        place, e = stored.at(at), new_elements.at(at)
        e = augmented(place, e) if augmented else converted_element(e, target_fact, value_fact, cx)
        lines = cx.code("PLACE = E", PLACE=place, E=e)
        if op or is_out:
            mark_operation_part(lines[0])  # NumPy's warning of a conversion names the operation
        return lines if where is None else cx.code("if C: LINES", C=selected.at(at), LINES=lines)

    fortran_order = ty.rank > 1 and ty.unit == 0
    lines = loop_nest(_constant_lengths(stored, values), body, cx, fortran_order)
    if is_gathered(target, cx) and value_fact.rank != 0:
        assert isinstance(target, ast.Subscript)
        if (check := index_order_check(target, cx)) is not None:
            mismatches.append(check)
    overflows = scalar_overflow_checks(value, values, ty.dtype, cx)
    return guarded([*overflows, *new_elements.checks, *mismatches], s, lines, cx)


class _StoreViews(NamedTuple):
    """What a loop stores, and where; all views but `values` have the shape of the target."""

    stored: View
    """The elements of the target, to which it stores."""
    values: View
    """The value, before broadcasting."""
    new_elements: View
    """The value, element by element."""
    selected: View
    """Whether the element is stored; always true without a mask."""
    mismatches: list[ast.expr]
    """Conditions for which the statement is replayed: lengths differ that must not."""


def _views_of_store(
    read: ast.expr, target: ast.expr, value: ast.expr, where: ast.expr | None, exact_axes: int,
    cx: Context,
) -> _StoreViews | None:
    """The views of a store, combined by broadcasting; `read` is `target` as a value, the others are
    parameters of `store_elements`. None where one has no view, or would stretch the target.
    """
    stored = view_of(read, cx)
    values = None if stored is None else _stored_operand(value, stored, target, cx)
    if stored is None or values is None:
        return None
    mask: View | None = scalar_view(ast.Constant(True), cx)
    if where is not None:
        mask = _stored_operand(where, stored, target, cx)
    if mask is None:
        return None
    full_rank = [v for v in (values, mask) if len(v.shape) == len(stored.shape)]
    exact_shape = stored.shape[:exact_axes]
    mismatches = [c for v in full_rank for c in length_mismatches(exact_shape, v.shape, cx)]
    values, mask = (_with_exact_lengths(v, stored, exact_axes) for v in (values, mask))
    new_elements = broadcast_views([stored, values, mask], lambda elements: elements[1], cx)
    selected = broadcast_views([stored, values, mask], lambda elements: elements[2], cx)
    if list(map(tree_key, new_elements.shape)) != list(map(tree_key, stored.shape)):
        return None  # NumPy raises, unless a length turns out to be 1
    return _StoreViews(stored, values, new_elements, selected, mismatches)


def _evaluated_before(
    e: ast.expr, target: ast.expr, cx: Context, *, precedes_target: bool
) -> ast.expr:
    """The value or mask `e` of a store to `target`; or a fresh name, bound to it before the
    statement, if `e` is an array whose evaluation has effects, as a draw of random numbers has, and

    - `e` may read the array of `target`: a copy would evaluate it again (`_stored_operand`);
    - or the subscript of `target` has effects, too, and Python evaluates `e` before it
      (``precedes_target``): the loops would evaluate it later.
    """
    if not cx.fact(e).rank or is_pure(e, cx.resolve):
        return e
    array = target.value if isinstance(target, ast.Subscript) else target
    is_late = precedes_target and not is_pure(target, cx.resolve)
    return bind_fresh(e, "a", cx) if is_late or may_read_array(e, cx.fact(array).owner, cx) else e


def _is_stored_elementwise(
    s: ast.stmt, target: ast.expr, value: ast.expr, op: ast.operator | None,
    where: ast.expr | None, cx: Context,
) -> bool:
    """Whether NumPy's store of `value`, or of ``target op value``, to `target` under the mask
    `where` is a store of each element by itself: the mask is of bools, the target is no copy
    (`_stores_to_copy`), and one element is converted as the whole array is (`converts_elementwise`;
    if not, that is noted with the statement `s`, for the report).
    """
    if where is not None and {t.dtype for t in cx.fact(where).types} != {"bool"}:
        return False  # indices, or NumPy raises
    target_fact, value_fact = cx.fact(target), cx.fact(value)
    if _stores_to_copy(target, value, cx):
        return False
    converts = converts_elementwise(target_fact, op, value_fact, cx)
    if not converts:
        result = operator_fact(cx.facts, op, target_fact, value_fact) if op else value_fact
        note_unsafe_store(s, result, target_fact, is_update=op is not None)
    return converts


def _stores_to_copy(target: ast.expr, value: ast.expr, cx: Context) -> bool:
    """Whether `target` is a subscript that is a copy when it is read, such as ``x[k]`` of an index
    array, and a loop of stores could leave other values than NumPy (`stores_in_order`).
    """
    if not isinstance(target, ast.Subscript) or cx.fact(target).owner != NEW_ARRAY:
        return False
    return not (is_gathered(target, cx) and stores_in_order(target, value, cx))


def _stored_operand(e: ast.expr, stored: View, target: ast.expr, cx: Context) -> View | None:
    """The view of the value or mask `e` of a store to `stored`, the elements of `target`; that of a
    copy of `e` if the store could overwrite what is still to be read. None if `e` has no view or a
    higher rank.
    """
    view = view_of(e, cx)
    if view is None or len(view.shape) > len(stored.shape):
        return None
    if _reads_other_elements(stored, view, target, cx):
        return materialized_view(cx.expr("NP.copy(E)", NP=cx.numpy, E=e), cx)
    return view


def _with_exact_lengths(view: View, stored: View, exact_axes: int) -> View:
    """`view` with the lengths of `stored` along the first `exact_axes` axes, which a guard proves
    equal, so that broadcasting does not stretch them; unchanged where its rank is lower.
    """
    full_rank = len(view.shape) == len(stored.shape)
    lengths = (*stored.shape[:exact_axes], *view.shape[exact_axes:])
    return replace(view, shape=lengths) if full_rank else view


def _update_gathered(
    target: ast.Subscript, op: ast.operator, value: ast.expr, cx: Context
) -> list[ast.stmt]:
    """``x[k] += e`` for an index array as NumPy does it: ``t = x[k]; t += e; x[k] = t``. An element
    whose index occurs twice is updated once.
    """
    items = subscript_items(target)
    atoms = (ast.Name, ast.Constant, ast.Slice)
    stable_items = [i if isinstance(i, atoms) else bind_fresh(i, "i", cx) for i in items]
    index = ast.Tuple(stable_items, ast.Load()) if len(stable_items) > 1 else stable_items[0]
    template = "T = X[I]\nT += E\nX[I] = T"
    lines = cx.code(template, T=cx.fresh("t"), X=target.value, I=index, E=value)
    assert isinstance(lines[1], ast.AugAssign)
    lines[1].op = op
    return lines


def _constant_lengths(stored: View, values: View) -> list[ast.expr]:
    """The lengths of the loops: those of `stored`, or constants other than 1 of `values`, since a
    loop of constant length can be unrolled. A guard tests that both are equal.
    """
    shape = [*stored.shape[: len(stored.shape) - len(values.shape)], *values.shape]
    known = (isinstance(n, ast.Constant) and not is_unit_length(n) for n in shape)
    return [n if k else m for n, m, k in zip(shape, stored.shape, known, strict=True)]


def _reads_other_elements(stored: View, values: View, target: ast.expr, cx: Context) -> bool:
    """Whether a loop that stores `values` to `stored`, the elements of `target`, one by one, may
    read an element after it was overwritten: then `_stored_operand` copies the values first, as
    NumPy does.

        x[1:] = x[:-1]       # stores x[_0 + 1], reads x[_0]      → True
        x[1:] = x[1:] * 2    # stores x[_0 + 1], reads x[_0 + 1]  → False: read, and then stored
        x[k] = x[k] * 2      # an index may occur twice in k      → True

    Both expressions are made at subscripts ``_0``, ``_1``, … that stand for any element. A read of
    an array that shares memory with the target must have the same text as the store, which through
    index arrays is not enough. An array of unknown owner may share it, unless the target has no
    other reference.
    """
    scatters = isinstance(target, ast.Subscript) and is_gathered(target, cx)
    owner = cx.fact(target).owner
    if isinstance(target, ast.Subscript) and scatters:  # the value of ``x[k]`` is a copy
        owner = cx.fact(target.value).owner
    is_name = owner is not None and not owner.members
    unaliased = owner is not None and is_name and cx.facts.is_sole_reference(owner.name)
    probe = [ast.Name(f"_{k}", ast.Load()) for k in range(len(stored.shape))]
    place = tree_key(stored.at(probe))
    value = values.at(probe[len(probe) - len(values.shape) :])
    for n in walk_nodes(value):
        match n:
            case ast.Subscript(value=array) if scatters or tree_key(n) != place:
                read_owner = cx.fact(array).owner
                if owners_may_alias(owner, read_owner) and not (read_owner is None and unaliased):
                    return True
    return False


def converted_element(e: ast.expr, target: Fact, value: Fact, cx: Context) -> ast.expr:
    """The element `e` of the array `value`, converted to the dtype of `target` where NumPy's cast
    is not a safe one. A scalar is not converted: NumPy requires that it fits, which a check
    ensures.
    """
    ty = target.array
    if ty is None or value.array is None:
        return e
    safe = np.can_cast(ELEMENTS[value.array.dtype].numpy, ELEMENTS[ty.dtype].numpy)
    return e if safe else cx.expr("T(E)", T=dtype_expr(ty.dtype, cx), E=e)


def converts_elementwise(target: Fact, op: ast.operator | None, value: Fact, cx: Context) -> bool:
    """Whether a store of one element converts the result of ``target op value`` (of `value` where
    `op` is None) as NumPy converts it when it stores the whole array, for each type that it may
    have. If not, `store_elements` leaves the statement to NumPy, which may raise.

    - The same dtype needs no conversion; float to float rounds in both.
    - Without `op`, NumPy casts as C does (``casting="unsafe"``): integers wrap, floats are cut off.
      A Python scalar is checked to fit before (`scalar_overflow_checks`). A NumPy scalar needs a
      safe cast: whether another one warns or raises depends on its value. A complex array cast
      to a real one is not taken, as NumPy warns of the lost part.
    - With `op`, NumPy raises unless the result has the same kind (``casting="same_kind"``):
      integers may be cast to shorter ones.
    """
    ty = target.array
    types = value.types if op is None else operator_fact(cx.facts, op, target, value).types
    if ty is None or not types:
        return False
    to = ELEMENTS[ty.dtype]
    for t in types:
        source, weak = ELEMENTS[t.dtype], is_weak(t)
        converts = source == to or source.kind == to.kind == "f"
        if op is None:
            real_array = value.array is not None and {t.dtype, ty.dtype}.isdisjoint(PARTS)
            converts = converts or weak or real_array or np.can_cast(source.numpy, to.numpy)
        elif source.kind in "iu":
            converts = converts or np.can_cast(source.numpy, to.numpy, "same_kind")
        if not converts:
            return False
    return True


@fires_on(ast.Assign, targets=ast.Name, when=assigns_array_in_loop)
def reuse_array_storage(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x = a + b`` in a loop → ``x[:] = a + b``, without an allocation in each iteration. Needs
    that no other name refers to the array `x`, and that dtype, shape and memory order are known to
    stay the same.

        u = np.ones(n)
        for _ in range(3):
            u = u * 0.5 + 1.0
    →
        u = np.empty(n, np.float64)
        for _i in range(n):
            u[_i] = 1
        for _ in range(3):
            for _i_1 in range(n):
                u[_i_1] = np.add(np.multiply(u[_i_1], 0.5), 1.0)

    As nothing else refers to the old array, no program can tell it from a new one. A value that
    does not read the array itself, such as ``np.zeros(n)``, needs no such store: its allocation is
    hoisted by lowering (`reuse_filled_array`). A value that is not elementwise, as ``X @ u``, reads
    elements more than once, so that it is computed into another array first.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value) if (
            cx.depth and name in names_used(value)
        ):
            current = copy_location(ast.Name(name, ast.Load()), target)
            old, new = cx.fact(current), cx.fact(value)
            if old.array is None or old.kinds != new.kinds or len(old.kinds) > 1:
                return None
            if not old.shape or old.shape != new.shape or not all(old.shape):
                return None
            if old.order != new.order or old.order == UNKNOWN_ORDER:
                return None  # as of ``u = u.T + 1``
            if not cx.facts.is_sole_reference(name):
                return None
            if is_elementwise(value, cx):
                return cx.code("X[:] = E", X=current, E=value)
            return cx.code("NEW = E\nX[:] = NEW", NEW=cx.fresh("a"), X=current, E=value)
    return None


@fires_on(ast.Assign, targets=ast.Name, value=ast.IfExp)
@fires_on(ast.IfExp)
def branch_of_arrays(node: ast.AST, cx: Context) -> list[ast.stmt] | ast.expr | None:
    """``a if c else b`` of arrays → an ``if`` that binds a fresh name.

        u = x if s > 0 else y
        t = (x if s > 0 else y)[i]
    →
        if s > 0:
            u = x
        else:
            u = y
        if s > 0:
            _a = x
        else:
            _a = y
        t = _a[i]
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.IfExp() as value) if (
            _is_of_arrays(value, cx)
        ):
            return _branches(name, value, cx)
        case ast.IfExp() if _is_of_arrays(node, cx) and not _is_whole_value(node, cx):
            name = cx.fresh("a")
            cx.before(*_branches(name, node, cx))
            return cx.expr("NAME", NAME=name)
    return None


def _is_of_arrays(e: ast.IfExp, cx: Context) -> bool:
    """Whether both values of the conditional expression are surely arrays."""
    return all(cx.fact(x).rank and cx.fact(x).array for x in (e.body, e.orelse))


def _is_whole_value(e: ast.IfExp, cx: Context) -> bool:
    """Whether `e` is the whole right-hand side of the current statement."""
    return getattr(cx.within, "value", None) is e


def _branches(name: str, e: ast.IfExp, cx: Context) -> list[ast.stmt]:
    """The ``if`` statement that binds `name` to the value of `e`."""
    text = "if TEST:\n    NAME = A\nelse:\n    NAME = B"
    return cx.code(text, TEST=e.test, NAME=name, A=e.body, B=e.orelse)
