"""New lists: copies, slices, concatenation, ``extend`` → loops that fill or append.

`_parts` splits an expression that makes a list into a sequence of parts, for example ``a[1:] + [s]
* n`` into "each item of ``a[1:]``" and "``s``, n times". `_appended` makes the list by ``append``;
`_filled` makes ``[0] * length`` and stores by index, which is faster but needs items of one known
type, and a list that does not grow later. The macros are `new_list` (an assignment),
`returned_list` (an expression of a return) and `list_extend`.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from ..analysis.type_inference.type_lattice import INT_TYPES
from ..frontend.ast_names import bound_names, mentions_none_of
from ..frontend.ast_walk import is_suspending, same_tree, walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.iterators.comprehensions import nested_loops, with_fresh_variables
from ..frontend.iterators.iterables import clamped_length, stream_of
from ..frontend.macros.firing_conditions import assigns_no_scalar, augments_no_scalar, is_returned
from ..frontend.macros.list_kind import has_loops, is_list
from ..frontend.macros.macro_context import Context
from ..frontend.macros.macro_index import fires_on
from ..numpy.creation.array_comprehensions import zero_of_type
from ..types.value_types import ScalarType
from .method_table import LIST_METHODS

__all__ = [
    "is_growing", "is_read_only", "is_rebuilt_in_loop", "takes_items_over",
    "extend_list", "list_extend", "new_list", "returned_list", "list_from_iterable",
]


def is_read_only(name: str, value: ast.expr, cx: Context) -> bool:
    """Whether the slice `value` of a list, to which `name` is bound, can be read in place, so that
    no copy is needed: `name` is only read, and the list is only read, returned, and appended to
    outside of the loops around the slice.
    """
    match value:
        case ast.Subscript(value=ast.Name(id=source), slice=ast.Slice()) if (
            not _grows_around(source, cx)
        ):
            return not _other_uses(name, cx) and not _other_uses(source, cx) - {"append", "return"}
    return False


def _grows_around(name: str, cx: Context) -> bool:
    """Whether a loop around the node being replaced appends to the list `name`."""
    loops = ({*walk_nodes(n)} for n in walk_nodes(cx.tree) if isinstance(n, (ast.For, ast.While)))
    for n in (n for inside in loops if not inside.isdisjoint({cx.within, cx.at}) for n in inside):
        match n:
            case ast.Call(ast.Attribute(ast.Name(id=receiver), "append" | "extend")) if (
                receiver == name
            ):
                return True
    return False


def _other_uses(name: str, cx: Context) -> set[str]:
    """The uses of the list `name` in the function other than reading it: the names of attributes
    and methods, "set" for stores of items, "del", "return", and "extend" for ``+=``.
    """
    uses: set[str] = set()
    for n in cx.names.nodes(name):
        match n:
            case ast.Subscript(value=ast.Name(id=operand), ctx=ast.Del()) if operand == name:
                uses.add("del")
            case ast.Subscript(value=operand, ctx=ast.Store() | ast.Del()):
                while isinstance(operand, ast.Subscript):
                    operand = operand.value
                uses |= {"set"} if isinstance(operand, ast.Name) and operand.id == name else set()
            case ast.Attribute(value=ast.Name(id=operand), attr=method) if operand == name:
                uses.add(method)
            case ast.Return(value=ast.expr() as value):
                items = value.elts if isinstance(value, ast.Tuple) else [value]
                uses |= {"return" for e in items if isinstance(e, ast.Name) and e.id == name}
            case ast.AugAssign(target=ast.Name(id=operand)) if operand == name:
                uses.add("extend")
    return uses


def is_rebuilt_in_loop(name: str, value: ast.expr, cx: Context) -> bool:
    """Whether `value`, to which `name` is bound, collects the items of an iterable, and an
    assignment in a loop binds the list `name`: a new list may then be made in each iteration.
    """
    if not _collects_items(value, cx) or not is_list(ast.Name(name, ast.Load()), cx):
        return False
    loops = (n for n in cx.names.nodes(name) if isinstance(n, (ast.For, ast.While)))
    inside = (n for loop in loops for n in cx.names.nodes(name, [loop]))
    assigned = (n for n in inside if isinstance(n, ast.Assign))
    return any(isinstance(t, ast.Name) and t.id == name for n in assigned for t in n.targets)


def _is_resized_later(name: str, value: ast.expr, cx: Context) -> bool:
    """Whether `name` collects the items of an iterable, or repeats one, and gets longer or shorter
    elsewhere, so that the items are appended to it and to no list of another name.

        xs = [v for v in x]; xs.pop()       True
        xs = [v for v in x]; xs[0] = 1.0    False
    """
    repeats = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult)
    if not (repeats or _collects_items(value, cx)) or not is_list(ast.Name(name, ast.Load()), cx):
        return False
    return bool(_other_uses(name, cx) & _RESIZE)


def _collects_items(value: ast.expr, cx: Context) -> bool:
    """Whether `value` makes a list of the items of an iterable: a call of ``list``, or a
    comprehension whose item is no constant and contains no list display or comprehension.
    """
    if isinstance(value, ast.ListComp):
        lists = any(isinstance(n, (ast.List, ast.ListComp)) for n in walk_nodes(value.elt))
        return not lists and not isinstance(value.elt, ast.Constant)
    return cx.builtin(value) == "list"


_RESIZE = {"del", "extend"} | {name for name, row in LIST_METHODS.items() if row.resizes}
"""The uses of `_other_uses` that change the length of a list."""

_KEEP_LENGTH = {"set", "return"} | {
    name for name, row in LIST_METHODS.items() if row.mutates and not row.resizes
}
"""The uses of `_other_uses` that leave the length of a list as it is."""


def is_growing(name: str, cx: Context) -> bool:
    """Whether the length of the list `name` may change: it is bound more than once, or used in a
    way that neither only reads it nor is in `_KEEP_LENGTH` (stores of items, ``return``, methods
    such as ``sort``).
    """
    targets: list[ast.expr] = []
    for n in cx.names.nodes(name):
        if isinstance(n, ast.Assign):
            targets += n.targets
        elif isinstance(n, ast.AugAssign):
            targets.append(n.target)
    bindings = sum(name in bound_names(t) for t in targets)
    return bindings > 1 or bool(_other_uses(name, cx) - _KEEP_LENGTH)


def takes_items_over(name: str, cx: Context) -> bool:
    """Whether the function has an assignment ``name = other`` of another list. `list_move` makes it
    a loop that appends to `name`, which must be made by ``append`` everywhere then.
    """
    return any(
        isinstance(n, ast.Assign) and isinstance(n.value, ast.Name)
        and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
        and is_list(n.value, cx)
        for n in cx.names.nodes(name)
    )


class _Part(NamedTuple):
    """Consecutive items of a list."""

    kind: Literal["item", "each", "times", "collected"]
    """One item; each item of an iterable; one item several times; what a comprehension yields."""
    of: ast.expr
    """The item, the iterable, or the comprehension."""
    times: ast.expr | None = None
    """The number of repetitions, for "times"."""


_Parts: TypeAlias = "list[_Part]"


@fires_on(
    ast.Assign, targets=ast.Name, value=(ast.BinOp, ast.Name, ast.Subscript),
    when=assigns_no_scalar,
)
@fires_on(ast.Assign, targets=ast.Name, value=(ast.List, ast.ListComp))
@fires_on(ast.Assign, targets=ast.Name, value=ast.Call, calls=[list, ".copy"])
def new_list(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``v = a + b``, ``v = a[1:]``, ``v = list(x)`` and the like → a new list. It is filled by
    index where its items have one known type and it does not grow, else by ``append``.

        u = list(range(n))
        w = u[1:] + [s]
        for i in range(n):
            u[i] = w[i]
    →
        u = [0] * max(n, 0)
        for _i in range(max(n, 0)):
            u[_i] = _i
        w = []
        _u = u[1:]
        for _i_1 in range(len(_u)):
            _v = _u[_i_1]
            w.append(_v)
        w.append(s)
        for i in range(n):
            u[i] = w[i]
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
            name in cx.facts.local_names and not is_read_only(name, value, cx)
            and (
                not _is_expanded_elsewhere(value, cx) or is_rebuilt_in_loop(name, value, cx)
                or _is_resized_later(name, value, cx)
                or (isinstance(value, ast.BinOp) and takes_items_over(name, cx))
            )
        ):
            parts = _parts(value, cx) if has_loops(cx) else None
        case _:
            return None
    if parts is None or not cx.is_builtin("range", "len"):
        return None
    if not mentions_none_of(value, [name]):
        copy = cx.fresh(name)
        return [
            *_appended(copy, parts, cx),
            *_appended(name, [_Part("each", ast.Name(copy, ast.Load()))], cx),
        ]
    filled = None if is_growing(name, cx) else cx.with_before(lambda: _filled(name, parts, cx))
    return filled or _appended(name, parts, cx)


@fires_on(ast.BinOp, ast.List, ast.Subscript, when=is_returned)
@fires_on(ast.Call, calls=[list, ".copy"], when=is_returned)
def returned_list(node: ast.AST, cx: Context) -> ast.expr | None:
    """A list expression in ``return`` → a name for the new list, which is returned.

        u = [n]
        for i in range(n):
            u.append(i)
        return u[::-1]
    →
        u = [n]
        for i in range(n):
            u.append(i)
        _list = []
        _u = u[::-1]
        for _i in range(len(_u)):
            _v = _u[_i]
            _list.append(_v)
        return _list
    """
    if not isinstance(node, ast.expr) or not cx.result_uses() or not has_loops(cx):
        return None
    if _is_expanded_elsewhere(node, cx):
        return None
    parts = _parts(node, cx)
    if parts is None or not cx.is_builtin("range", "len"):
        return None
    name = cx.fresh("list")
    return cx.bound_name(name, lambda: _appended(name, parts, cx))


@fires_on(ast.AugAssign, target=ast.Name, op=ast.Add, when=augments_no_scalar)
@fires_on(ast.Expr, value=ast.Call, calls=[".extend"])
def list_extend(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``v.extend(x)`` and ``v += x`` → a loop that appends item by item.

        u = [n]
        u += [v * 2 for v in x]
        u.extend(range(3))
    →
        u = [n]
        for _i in range(len(x)):
            _v = x[_i]
            u.append(_v * 2)
        for _v_1 in range(3):
            u.append(_v_1)

    If `x` reads the list itself, its items are first collected in a copy: Python reads the items
    that the list has before. Left alone is

    - `v` that is an argument or a global (``Fact.list_type``): the caller sees it grow;
    - ``v += [a, b]``, whose parts are all single items: core Python has that;
    - a generator that reads the list: it would see the items that it adds.
    """
    match node:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
            parts = _parts(value, cx)
            if parts is None and cx.fact(value).array is None:  # list += array makes an array
                parts = _iterated(value, cx)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="extend"), args=[value]
            )
        ):
            parts = _parts(value, cx) or _iterated(value, cx)
        case _:
            return None
    is_growable = is_list(ast.Name(name, ast.Load()), cx) and not cx.fact(
        ast.Name(name, ast.Load())
    ).list_type
    if not is_growable or parts is None or all(p.kind == "item" for p in parts):
        return None
    if mentions_none_of(value, [name]):
        return _appended(name, parts, cx)[1:]
    if isinstance(value, ast.GeneratorExp):
        return None
    copy = cx.fresh(name)
    append_copy = [_Part("each", ast.Name(copy, ast.Load()))]
    return [*_appended(copy, parts, cx), *_appended(name, append_copy, cx)[1:]]


def extend_list(name: str, value: ast.expr, cx: Context) -> list[ast.stmt] | None:
    """Statements that append all items of the list expression `value` to the list `name`, another
    list; None where `value` is not understood.
    """
    parts = _parts(value, cx)
    parts = _iterated(value, cx) if parts is None else parts
    return None if parts is None else _appended(name, parts, cx)[1:]


def list_from_iterable(name: str, iterable: ast.expr, cx: Context) -> list[ast.stmt] | None:
    """Statements that bind `name` to a list of the numbers that `iterable` yields; None where it is
    not understood.
    """
    parts = _iterated(iterable, cx) if cx.is_builtin("range", "len") else None
    return None if parts is None else _appended(name, parts, cx)


def _is_expanded_elsewhere(e: ast.expr, cx: Context) -> bool:
    """Whether `new_list` and `returned_list` leave the list expression `e` to another macro, or to
    lowering: a display, a comprehension, a repeated item, a name.
    """
    match e:
        case ast.List(elts=elts):
            return not any(isinstance(x, ast.Starred) for x in elts)
        case ast.Call(args=[argument]) if cx.builtin(e) == "list":
            return isinstance(argument, ast.GeneratorExp) or bool(cx.fact(argument).types)
        case ast.BinOp(op=ast.Mult()) | ast.ListComp() | ast.Name() | ast.Constant():
            return True
    return False


def _parts(e: ast.expr, cx: Context) -> _Parts | None:
    """The parts of the new list that `e` makes; None where `e` is not understood, or its items are
    not scalars.
    """
    match e:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = _parts(left, cx), _parts(right, cx)
            return None if sides[0] is None or sides[1] is None else [*sides[0], *sides[1]]
        case ast.List(elts=elts):
            groups = [
                _iterated(x.value, cx) if isinstance(x, ast.Starred) else _item(x, cx)
                for x in elts
            ]
            return None if None in groups else [p for part in groups for p in part or ()]
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult(), right=times) if (
            cx.fact(times).is_int and cx.fact(one).rank == 0
        ):
            return [_Part("times", one, times)]
        case ast.ListComp() if not is_suspending(e) and not bound_names(e):
            return [_Part("collected", e)]
        case ast.Subscript(value=source, slice=ast.Slice()) | ast.Call(
            func=ast.Attribute(value=source, attr="copy"), args=[], keywords=[]
        ) if is_list(source, cx) and cx.fact(source).rank == 1:
            is_whole = not isinstance(e, ast.Subscript) or same_tree(e.slice, ast.Slice())
            return [_Part("each", source if is_whole else e)]
        case ast.Call(args=[source], keywords=[]) if cx.builtin(e) == "list":
            return _iterated(source, cx)
        case ast.Name() if is_list(e, cx):
            return _iterated(e, cx)
    return None


def _item(e: ast.expr, cx: Context) -> _Parts | None:
    """The part of one item; None where it is not surely a scalar."""
    return [_Part("item", e)] if cx.fact(e).rank == 0 else None


def _iterated(e: ast.expr, cx: Context) -> _Parts | None:
    """The parts of a list of all that the iterable `e` yields; None where these are not surely
    scalars.
    """
    if isinstance(e, ast.GeneratorExp) and not is_suspending(e) and not bound_names(e):
        return [_Part("collected", copy_location(ast.ListComp(e.elt, e.generators), e))]
    inner = e
    match cx.builtin(e), e:
        case "range", _:
            return [_Part("each", e)]
        case "reversed", ast.Call(args=[inner], keywords=[]):
            if cx.builtin(inner) == "range":
                return [_Part("each", e)]
    fact = cx.fact(inner)
    has_scalar_items = not fact.list_type or len(fact.list_type.kinds) == 1
    is_flat = fact.rank == 1 and not fact.list_depth and has_scalar_items
    return [_Part("each", e)] if is_flat else _parts(e, cx) if isinstance(e, ast.List) else None


def _appended(name: str, parts: _Parts, cx: Context) -> list[ast.stmt]:
    """Statements that bind `name` to an empty list (the first one) and append all parts to it."""
    lines = cx.code("NAME = []", NAME=name)
    for part in parts:
        match part:
            case _Part("collected", ast.ListComp() as value):
                renamed = with_fresh_variables(value, cx)
                line = cx.code("NAME.append(E)", NAME=name, E=renamed.elt)
                lines += nested_loops(renamed.generators, line, cx)
            case _Part("each", value):
                text = "for V in X: NAME.append(V)"
                lines += cx.code(text, V=cx.fresh("v"), X=value, NAME=name)
            case _Part("times", value, ast.expr() as count):
                one: ast.expr = ast.Name(cx.fresh("one"), ast.Load())
                lines += cx.code("ONE = E", ONE=one, E=value)
                text = "for I in range(N): NAME.append(ONE)"
                lines += cx.code(text, I=cx.fresh("i"), N=count, NAME=name, ONE=one)
            case _Part(of=value):
                lines += cx.code("NAME.append(E)", NAME=name, E=value)
    return lines


def _filled(name: str, parts: _Parts, cx: Context) -> list[ast.stmt] | None:
    """Statements that bind `name` to a list of the final length and store all items by index. None
    where the items are not all of one scalar type, or a part is not an item or an iterable.
    """
    types = {t for part in parts for t in _types(part, cx)}
    if len(types) != 1 or any(part.kind != "each" and part.kind != "item" for part in parts):
        return None
    (item_type,) = types
    if not isinstance(item_type, ScalarType) or item_type.dtype not in ("i64", "f64", "bool"):
        return None
    offset: ast.expr | None = None
    length: ast.expr
    stores: list[ast.stmt] = []
    for part in parts:
        if part.kind == "item":
            position, length = offset or ast.Constant(0), ast.Constant(1)
            stores += cx.code("NAME[P] = E", NAME=name, P=position, E=part.of)
        else:
            stream = stream_of(part.of, cx, ())
            if stream is None or stream.checks:
                return None
            cx.before(*stream.setup)
            index = ast.Name(cx.fresh("i"), ast.Load())
            length = clamped_length(stream.length, cx)
            position = index if offset is None else cx.expr("A + I", A=offset, I=index)
            item = stream.at(index)
            if not isinstance(item, ast.expr):
                return None
            text = "for I in range(N): NAME[P] = E"
            stores += cx.code(text, I=index, N=length, NAME=name, P=position, E=item)
        offset = length if offset is None else cx.expr("A + B", A=offset, B=length)
    assert offset is not None
    return [*cx.code("NAME = [Z] * N", NAME=name, Z=zero_of_type(item_type, cx), N=offset), *stores]


def _types(part: _Part, cx: Context) -> Sequence[object]:
    """The types that the items of the part may have; two arbitrary objects where these are not
    known, so that the caller finds more than one type.
    """
    if part.kind == "item":
        return [*cx.fact(part.of).types] or [None, 0]
    if cx.builtin(part.of) == "range":
        return [*INT_TYPES]
    fact = cx.fact(part.of)
    ty = fact.list_type
    return [None, 0] if ty is None or ty.is_mixed else [ty.item]
