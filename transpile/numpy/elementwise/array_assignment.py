"""Whole-array assignment, stores and in-place operations as loop nests over the elements.

An array that is bound anew in a loop keeps its memory where nothing else holds it; a
conditional expression of arrays becomes a branch.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...analysis.type_facts import Fact
from ...frontend.ast_names import names_used
from ...frontend.ast_walk import tree_key
from ...frontend.core_nodes import copy_location
from ...frontend.macros.firing_conditions import assigns_array, in_loop, makes_array
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS, PARTS, ArrayType
from ..array_nests import allocate_array, dtype_expr, loop_nest
from ..array_views import (
    View,
    broadcast_views,
    is_unit_length,
    length_mismatches,
    materialized_view,
    may_alias,
    scalar_overflow_checks,
    scalar_view,
    view_of,
)
from ..gather_scatter import index_axis_first, is_gathered, stores_in_order
from .elementwise_ops import ELEMENTWISE, is_elementwise, ufunc_for

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
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_elementwise(value, cx):
            return cx.whole(lambda: _assign_new_array(node, name, value, cx))
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
    """
    if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
        return None
    if not is_elementwise(node, cx):
        return None
    name = cx.fresh("a")
    (take,) = cx.code("NAME = E", NAME=name, E=node)
    new = array_assignment(take, cx)
    if new is None:
        return None
    cx.before(*new)
    return cx.expr("NAME", NAME=name)


@fires_on(ast.Assign, targets=ast.Subscript)
def array_store(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x[i] = a`` of an array, row or slice → a loop nest of stores. Values are read first where
    they may overlap the target.

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
            return cx.whole(lambda: store_elements(node, target, value, cx))
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
            return cx.whole(lambda: store_elements(node, target, value, cx, op=op))
        case ast.AugAssign(target=ast.Subscript() as again, op=op, value=value) if is_gathered(
            again, cx
        ):
            return cx.whole(lambda: _update_gathered(again, op, value, cx))
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            return cx.whole(lambda: store_elements(node, target, value, cx, op=op))
    return None


def _assign_new_array(
    s: ast.stmt, name: str, value: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    of, ty = view_of(value, cx), cx.fact(value).array
    if of is None or ty is None:
        return None
    if is_gathered(value, cx) and not index_axis_first(value, cx):
        return (
            guarded(of.checks, s, _gathered_layout(name, of, ty, cx), cx) if ty.rank == 2 else None
        )
    order = {0: "F", ty.rank - 1: "C"}.get(ty.unit or 0, "?") if of.order == "C+F" else of.order
    if ty.rank > 1 and order == "?":
        return None
    reads = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    into = cx.fresh("a") if name in reads else name
    back = ty.rank > 1 and order == "F"
    lines = [allocate_array(into, of.shape, ty.dtype, cx, backward=back)]
    lines += loop_nest(of.shape, lambda at: _store_element(into, at, of.at(at), cx), cx, back)
    if into != name:
        lines += cx.code("NAME = NEW", NAME=name, NEW=into)
    return guarded(of.checks, s, lines, cx)


def _gathered_layout(name: str, of: View, ty: ArrayType, cx: Context) -> list[ast.stmt]:
    """As NumPy leaves what index arrays choose in the second axis: with that axis first in memory,
    as a view.
    """
    into, shape = cx.fresh("a"), of.shape[::-1]
    lines = [allocate_array(into, shape, ty.dtype, cx)]
    lines += loop_nest(shape, lambda at: _store_element(into, at, of.at(at[::-1]), cx), cx)
    return [*lines, *cx.code("NAME = NEW.T", NAME=name, NEW=into)]


def _store_element(name: str, at: Sequence[ast.expr], e: ast.expr, cx: Context) -> list[ast.stmt]:
    index = at[0] if len(at) == 1 else ast.Tuple(list(at), ast.Load())
    return cx.code("NAME[AT] = E", NAME=name, AT=index, E=e)


def store_elements(
    s: ast.stmt, target: ast.expr, value: ast.expr, cx: Context, *,
    op: ast.operator | None = None, where: ast.expr | None = None, exact: int = 0,
) -> list[ast.stmt] | None:
    """Statements for the store `s`: set the elements of `target` to those of `value`, or to
    ``target op value``, where the mask `where` is true. The first `exact` axes must have equal
    lengths: they are not broadcast.

    Returns None where the store cannot be done element by element.
    """
    if where is not None and {t.dtype for t in cx.fact(where).types} != {"bool"}:
        return None
    ty = cx.fact(target).array
    if (
        isinstance(target, ast.Subscript)
        and cx.fact(target).owner == ""
        and not (
            is_gathered(target, cx)
            and stores_in_order(target, cx, cx.fact(value).rank == 0 and op is None)
        )
    ):
        return None  # what is read there is no view of the array
    read = ast.Subscript(target.value, target.slice, ast.Load()) if isinstance(
        target, ast.Subscript) else target
    if ty is None or not converts_elementwise(cx.fact(target), op, cx.fact(value), cx):
        return None
    into, of = view_of(read, cx), view_of(value, cx)
    if into is None or of is None or len(of.shape) > len(into.shape):
        return None
    if _reads_other_elements(into, of, cx.fact(target).owner, cx):
        of = materialized_view(cx.expr("NP.copy(E)", NP=cx.numpy, E=value), cx)
    mask = scalar_view(ast.Constant(True), cx) if where is None else view_of(where, cx)
    if mask is None or len(mask.shape) > len(into.shape):
        return None
    if where is not None and _reads_other_elements(into, mask, cx.fact(target).owner, cx):
        mask = materialized_view(cx.expr("NP.copy(E)", NP=cx.numpy, E=where), cx)
    cx.at_once()
    whole = [v for v in (of, mask) if len(v.shape) == len(into.shape)]
    unfit = [c for v in whole for c in length_mismatches(into.shape[:exact], v.shape, cx)]
    of, mask = (_with_lengths_of(v, into, exact) for v in (of, mask))
    both = broadcast_views([into, of, mask], lambda parts: parts[1], cx)
    test = broadcast_views([into, of, mask], lambda parts: parts[2], cx)
    if list(map(tree_key, both.shape)) != list(map(tree_key, into.shape)):
        return None

    def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
        place, e = into.at(at), both.at(at)
        if op is None:
            e = converted_element(e, cx.fact(target), cx.fact(value), cx)
        else:
            e = ast.Call(ufunc_for(op, [place, value], cx), [place, e], [])
        lines = cx.code("PLACE = E", PLACE=place, E=e)
        return lines if where is None else cx.code("if C: LINES", C=test.at(at), LINES=lines)

    lines = loop_nest(_target_lengths(into, of), body, cx, ty.rank > 1 and ty.unit == 0)
    return guarded(
        [*scalar_overflow_checks(value, of, ty.dtype, cx), *both.checks, *unfit], s, lines, cx
    )


def _with_lengths_of(v: View, into: View, exact: int) -> View:
    """`v`, along its first `exact` axes said to be as long as `into`."""
    whole = len(v.shape) == len(into.shape)
    return replace(v, shape=(*into.shape[:exact], *v.shape[exact:])) if whole else v


def _update_gathered(
    target: ast.Subscript, op: ast.operator, value: ast.expr, cx: Context
) -> list[ast.stmt]:
    """Read, changed and stored: what stands under an index twice is changed once."""
    items = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    plain = (ast.Name, ast.Constant, ast.Slice)
    steady = [i if isinstance(i, plain) else bind_fresh(i, "i", cx) for i in items]
    index = ast.Tuple(steady, ast.Load()) if len(steady) > 1 else steady[0]
    text = "T = X[I]\nT += E\nX[I] = T"
    lines = cx.code(text, T=cx.fresh("t"), X=target.value, I=index, E=value)
    assert isinstance(lines[1], ast.AugAssign)
    lines[1].op = op
    return lines


def _target_lengths(into: View, of: View) -> list[ast.expr]:
    """Those of `into`; as numbers, where those of `of`, which are the same, are known."""
    shape = [*into.shape[: len(into.shape) - len(of.shape)], *of.shape]
    known = (isinstance(n, ast.Constant) and not is_unit_length(n) for n in shape)
    return [n if k else m for n, m, k in zip(shape, into.shape, known, strict=True)]


def _reads_other_elements(into: View, of: View, owner: str | None, cx: Context) -> bool:
    """Whether an element depends on others of the array that takes them."""
    alone = owner is not None and cx.facts.is_alone(owner)
    probe = [ast.Name(f"_{k}", ast.Load()) for k in range(len(into.shape))]
    place = tree_key(into.at(probe))
    read = of.at(probe[len(probe) - len(of.shape) :])
    for n in ast.walk(read):
        match n:
            case ast.Subscript(value=array) if tree_key(n) != place:
                of_array = cx.fact(array).owner
                if may_alias(owner, of_array) and not (of_array is None and alone):
                    return True
    return False


def converted_element(e: ast.expr, target: Fact, value: Fact, cx: Context) -> ast.expr:
    """The element `e` converted to the dtype of the array `target`, as NumPy casts arrays; a Python
    number would have to fit instead.
    """
    ty = target.array
    if ty is None or value.array is None:
        return e
    safe = np.can_cast(ELEMENTS[value.array.dtype].numpy, ELEMENTS[ty.dtype].numpy)
    return e if safe else cx.expr("T(E)", T=dtype_expr(ty.dtype, cx), E=e)


def converts_elementwise(target: Fact, op: ast.operator | None, value: Fact, cx: Context) -> bool:
    """Whether storing element by element converts as NumPy's assignment of arrays does."""
    ty = target.array
    types = value.types if op is None else cx.facts.binary(op, target, value).types
    if ty is None or not types:
        return False
    to = ELEMENTS[ty.dtype]
    for t in types:
        of, weak = ELEMENTS[t.dtype], getattr(t, "weak", False)
        same = of == to or of.kind == to.kind == "f"
        if op is None:
            known = value.array is not None and {t.dtype, ty.dtype}.isdisjoint(PARTS)
            same = same or weak or known or np.can_cast(of.numpy, to.numpy)
        elif of.kind in "iu":  # what is in place is cast to any type of its kind
            same = same or np.can_cast(of.numpy, to.numpy, "same_kind")
        if not same:
            return False
    return True


@fires_on(ast.Assign, targets=ast.Name, when=in_loop)
def reuse_array_storage(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``x = a + b`` in a loop, where nothing else holds the array `x` → stores into the array that
    is there.

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
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=value) if (
            cx.depth and name in names_used(value)
        ):
            read = copy_location(ast.Name(name, ast.Load()), target)
            old, new = cx.fact(read), cx.fact(value)
            if old.array is None or old.kinds != new.kinds or len(old.kinds) > 1:
                return None
            if not old.shape or old.shape != new.shape or not all(old.shape):
                return None
            if not cx.facts.is_alone(name):
                return None
            if is_elementwise(value, cx):
                return cx.code("X[:] = E", X=read, E=value)
            return cx.code("NEW = E\nX[:] = NEW", NEW=cx.fresh("a"), X=read, E=value)
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
    return all(cx.fact(x).rank and cx.fact(x).array for x in (e.body, e.orelse))


def _is_whole_value(e: ast.IfExp, cx: Context) -> bool:
    """Whether it is all that a statement computes."""
    return getattr(cx.within, "value", None) is e


def _branches(name: str, e: ast.IfExp, cx: Context) -> list[ast.stmt]:
    text = "if TEST:\n    NAME = A\nelse:\n    NAME = B"
    return cx.code(text, TEST=e.test, NAME=name, A=e.body, B=e.orelse)
