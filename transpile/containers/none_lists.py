"""Lists of None that the loop after them fills → lists to which the loop appends.

`none_lists_to_appends` runs once for a function, before macros fire: the item None has no type that
arrays have, but none of these items is read.
"""
from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from itertools import pairwise

from ..frontend.ast_names import COMPREHENSIONS, bound_names
from ..frontend.ast_walk import (
    all_blocks,
    exits_of_loop,
    is_name,
    is_none,
    is_suspending,
    same_tree,
    walk_nodes,
)
from ..frontend.core_nodes import copy_location
from ..frontend.macros.macro_context import Context

__all__ = ["none_lists_to_appends"]


def none_lists_to_appends(tree: ast.FunctionDef, cx: Context) -> bool:
    """Rewrites `tree` in place, and returns whether it did: a list of as many None as the loop
    right after it has iterations, each of which stores the item of its number, starts empty, and
    the loop appends to it.

        out = [None] * len(xs)                  out = []
        for i in range(len(xs)):         →      for i in range(len(xs)):
            out[i] = xs[i] * 2.0                    out.append(xs[i] * 2.0)

    All of this must hold:

    - the loop is over ``range(n)``, for a list of ``n`` items, where `n` is a name or a ``len``, or
      over ``enumerate(x)``, for one of ``len(x)`` items; what `n` is made of has no other use in
      the loop than by subscripts and ``len``;
    - over ``enumerate(x)``, nothing in the body may lengthen `x` by another name: no statement is a
      call, calls take no names but those that the loop binds, and names that are added to are
      numbers;
    - its body stores the item once, outside of branches and loops, and mentions the list and
      changes the number nowhere else; it runs to its end: there is no exit, and no ``try`` in the
      function, which could see a list that is filled in part.
    """
    pairs = [
        (first, loop)
        for block in _blocks(tree) for first, loop in pairwise(block)
        if isinstance(first, ast.Assign) and isinstance(loop, ast.For) and _list_of_none(first)
    ]
    if not pairs or not cx.is_builtin("range", "len", "enumerate") or is_suspending(tree):
        return False
    if any(isinstance(n, ast.Try) for n in walk_nodes(tree)):
        return False
    numbers = _names_of_numbers(tree)
    return any([_rewrite(first, loop, numbers) for first, loop in pairs])


def _blocks(tree: ast.stmt) -> Iterator[list[ast.stmt]]:
    """All blocks in `tree`."""
    for block in all_blocks(tree):
        yield block
        for s in block:
            yield from _blocks(s)


def _list_of_none(s: ast.Assign) -> tuple[str, ast.expr] | None:
    """The name and the length of a list of None that `s` makes."""
    match s:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.List(elts=[item]), op=ast.Mult(), right=length),
        ) if is_none(item):
            return name, length
    return None


def _rewrite(first: ast.Assign, loop: ast.For, numbers: Container[str]) -> bool:
    """Rewrites the assignment and the loop, if `none_lists_to_appends` says that it may."""
    made = _list_of_none(first)
    assert made is not None
    name, length = made
    index = _index_of(loop, length)
    if index is None or loop.orelse or any(exits_of_loop(loop.body)):
        return False
    nodes = list(walk_nodes(*loop.body))
    scopes = (*COMPREHENSIONS, ast.Lambda, ast.Return, ast.FunctionDef, ast.ClassDef)
    if any(isinstance(n, scopes) for n in nodes) or index in bound_names(*loop.body):
        return False
    if isinstance(loop.target, ast.Tuple) and _may_grow_lists(loop, numbers):
        return False
    stores = [s for s in loop.body if _stores_item(s, name, index)]
    uses = sum(is_name(n, name) for n in nodes)
    if len(stores) != 1 or uses != 1 or name in _names(loop.iter) | _names(length):
        return False
    lasting = {id(n.value) for n in nodes if isinstance(n, ast.Subscript)}
    for n in nodes:
        match n:
            case ast.Call(func=ast.Name(id="len"), args=[x]):
                lasting.add(id(x))
    if any(isinstance(n, ast.Name) and n.id in _names(length) - {"len"} and id(n) not in lasting
           for n in nodes):
        return False
    [store] = stores
    assert isinstance(store, ast.Assign)
    append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
    call = ast.Expr(ast.Call(append, [store.value], []))
    loop.body[loop.body.index(store)] = copy_location(call, store)
    first.value = copy_location(ast.List([], ast.Load()), first.value)
    return True


def _index_of(loop: ast.For, length: ast.expr) -> str | None:
    """The name that counts the iterations of `loop` from 0, if there are `length`."""
    match loop:
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(func=ast.Name(id="range"), args=[n], keywords=[]),
        ) if _is_plain(length) and same_tree(n, length):
            return index
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=index), ast.Name()]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=x)], keywords=[]),
        ) if _is_plain(length) and isinstance(length, ast.Call) and is_name(length.args[0], x):
            return index
    return None


def _names_of_numbers(tree: ast.FunctionDef) -> set[str]:
    """The local names that `tree` only assigns constants to, or adds to."""
    assigned: dict[str, bool] = {}
    for n in walk_nodes(tree):
        if isinstance(n, ast.Assign):
            is_number = isinstance(n.value, ast.Constant) and isinstance(n.value.value, int | float)
            for name in bound_names(*n.targets):
                assigned[name] = is_number and assigned.get(name, True)
    return {name for name, is_number in assigned.items() if is_number}


def _may_grow_lists(loop: ast.For, numbers: Container[str]) -> bool:
    """Whether the body of `loop` may make a list longer that it does not name itself. ``numbers``:
    names that are numbers at first, to which no list can be added.
    """
    for n in walk_nodes(*loop.body):
        match n:
            case ast.AugAssign(target=ast.Name(id=name)) if name in numbers:
                pass
            case ast.Expr() | ast.AugAssign() | ast.NamedExpr():
                return True
            case ast.Call(args=args, keywords=keywords):
                names = {a.id for a in (*args, *(k.value for k in keywords))
                         if isinstance(a, ast.Name)}
                if not names <= bound_names(loop.target):
                    return True
    return False


def _is_plain(length: ast.expr) -> bool:
    """Whether `length` is a name, or the ``len`` of one."""
    match length:
        case ast.Name():
            return True
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name()], keywords=[]):
            return True
    return False


def _stores_item(s: ast.stmt, name: str, index: str) -> bool:
    """Whether `s` is ``name[index] = …``."""
    match s:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Name(id=x), slice=ast.Name(id=i))]
        ):
            return (x, i) == (name, index)
    return False


def _names(e: ast.expr) -> set[str]:
    """The names in `e`."""
    return {n.id for n in walk_nodes(e) if isinstance(n, ast.Name)}
