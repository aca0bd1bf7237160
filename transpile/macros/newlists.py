"""Which names stand for lists of new lists: of what nothing else holds, or changes from then on."""
from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import TypeGuard

from ..below import below, blocks, results
from .comprehensions import waits
from .context import Context
from .integers import integer_constant
from .listlike import is_list
from .names import COMPREHENSIONS, bindings, bound, used

__all__ = ["gives_lists", "know_nested", "reading"]

_READING = frozenset({
    "all", "any", "bool", "enumerate", "len", "list", "max", "min", "range", "reversed", "sorted",
    "sum", "tuple", "zip",
})
"""Builtins that read a list and keep nothing of it."""

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def know_nested(tree: ast.FunctionDef, cx: Context) -> None:
    """Tells `cx` which names stand for lists of new lists and nothing else."""
    if not cx.means("list", "sorted", "len"):
        return
    names = {name for n in below(*tree.body) for name, _ in _added(n)}
    names -= {a.arg for a in below(tree.args) if isinstance(a, ast.arg)}
    names -= {x for n in below(*tree.body) if isinstance(n, _INNER) for x in used(n)}
    for name in sorted(names):
        if _is_nested(name, tree, cx):
            cx.facts.nested[name] = cx.fresh(name), cx.fresh("ends")


def _is_nested(name: str, tree: ast.FunctionDef, cx: Context) -> bool:
    """Whether all that happens to `name` is that new lists come to it, and that it is read."""
    added = [row for n in below(*tree.body) for to, rows in _added(n) if to == name for row in rows]
    made = [n for n in below(*tree.body) if any(_is_name(t, name) for t, _ in bindings(n))]
    known = {e for n in below(*tree.body) for e in _plainly_used(n, cx)}
    known |= {*_named(name, tree, cx)}
    loads = [n for n in below(*tree.body) if _is_name(n, name)]
    once = len(made) == 1 and isinstance(made[0], ast.Assign) and len(made[0].targets) == 1
    new = all(_is_new(row, cx) or _stays(row, name, tree, cx) for row in added)
    return bool(added) and once and new and all(n in known for n in loads)


def _added(n: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """What the statement `n` puts into lists."""
    for to, value in bindings(n):
        match to, value:
            case ast.Name(id=name), ast.List(elts=rows):
                yield name, rows
            case ast.Name(id=name), ast.ListComp(elt=row) if not waits(value) and not bound(value):
                yield name, [row]
    match n:
        case ast.Expr(
            value=ast.Call(ast.Attribute(ast.Name(id=name), "append"), [row], [])
        ):
            yield name, [row]


def _plainly_used(n: ast.AST, cx: Context) -> Iterator[ast.expr]:
    """Names in `n` of what may be a list of lists that is kept as its items."""
    yield from (to for to, e in bindings(n) if isinstance(e, (ast.List, ast.ListComp)))
    match n:
        case ast.Expr(value=ast.Call(ast.Attribute(of, "append"), [_], [])):
            yield of
        case ast.Call(args=[of], keywords=[]) if cx.builtin(n) == "len":
            yield of
        case ast.Return(value=ast.expr() as value):
            yield from results(value)
    for e in reading(n, cx):
        match e:
            case ast.Subscript(value=of, slice=at) if integer_constant(at, None) is not None:
                yield of


def _named(name: str, tree: ast.FunctionDef, cx: Context) -> Iterator[ast.expr]:
    """The name of the list where one of its lists gets a name, and is only read by that."""
    read = {e for n in below(*tree.body) for e in reading(n, cx)}
    pairs = [pair for n in below(*tree.body) for pair in bindings(n)]
    for to, value in pairs:
        match to, value:
            case ast.Name(id=other), ast.Subscript(value=ast.Name() as of, slice=at) if (
                of.id == name and integer_constant(at, None) is not None
            ):
                own = [n for n in below(*tree.body) if _is_name(n, other)]
                stores = [n for n in own if isinstance(n.ctx, ast.Store)]
                values = [ast.dump(v) for t, v in pairs if _is_name(t, other)]
                once = len(stores) == len(values) and {*values} == {ast.dump(value)}
                if once and all(n in read or n in stores for n in own):
                    yield of


def gives_lists(of: ast.ListComp, cx: Context) -> bool:
    """Whether what `of` gives is new lists."""
    return _is_new(of.elt, cx) and not waits(of) and not bound(of)


def _is_new(e: ast.expr, cx: Context) -> bool:
    """Whether `e` is a new list each time, and none of lists."""
    match e:
        case ast.List(elts=elts):
            return not any(isinstance(x, (ast.List, ast.Tuple, *COMPREHENSIONS)) for x in elts)
        case ast.ListComp(elt=elt):
            return not isinstance(elt, (ast.List, ast.Tuple, *COMPREHENSIONS))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return all(_is_new(x, cx) or is_list(x, cx) for x in (left, right))
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult()):
            return not isinstance(one, (ast.List, ast.Tuple, *COMPREHENSIONS))
        case ast.Subscript(value=ast.Name() as of, slice=ast.Slice()) | ast.Call(
            func=ast.Attribute(value=ast.Name() as of, attr="copy"), args=[], keywords=[]
        ):
            return is_list(of, cx)
        case ast.Call(args=[_], keywords=[]):
            return cx.builtin(e) in ("list", "sorted")
    return False


# -- lists with names, before they come to another


def _stays(e: ast.expr, to: str, tree: ast.FunctionDef, cx: Context) -> bool:
    """Whether the list `e` is new, and nothing else holds or changes it once it has come to a list.
    """
    if not isinstance(e, ast.Name) or e.id == to:
        return False
    name, own = e.id, [n for n in below(*tree.body) if _is_name(n, e.id)]
    values = [v for n in below(*tree.body) for t, v in bindings(n) if _is_name(t, name)]
    changed = {x for n in below(*tree.body) for x in _changed(n)}
    given = [s for s in _statements(tree.body) if _gives(s, name)]
    known = changed | {x for n in below(*tree.body) for x in reading(n, cx)}
    known |= {e for s in given for e in below(s) if isinstance(e, ast.expr)}
    bound_here = [n for n in own if isinstance(n.ctx, ast.Store) and n not in changed]
    if len(values) != len(bound_here) or not all(_is_new(v, cx) for v in values):
        return False
    if not all(n in known for n in own if not isinstance(n.ctx, ast.Store)):
        return False
    if len(given) == 1 and _is_made_with(given[0], name, changed, tree):
        return True
    return all(_is_over(s, name, changed, tree) for s in given)


def _is_name(n: ast.AST, name: str) -> TypeGuard[ast.Name]:
    return isinstance(n, ast.Name) and n.id == name


def _gives(s: ast.stmt, name: str) -> bool:
    """Whether `s` has the list `name` come to another."""
    match s:
        case ast.Expr(value=ast.Call(ast.Attribute(attr="append"), [ast.Name(id=given)], [])):
            return given == name
    return False


def reading(n: ast.AST, cx: Context) -> Iterator[ast.expr]:
    """What may be a list that `n` reads, and nothing else."""
    match n:
        case ast.Subscript(value=of, ctx=ast.Load()):
            yield of
        case ast.Call(args=args, keywords=[]) if cx.builtin(n) in _READING:
            yield from args
        case ast.For(iter=of) | ast.comprehension(iter=of):
            yield of
        case ast.If(test=of) | ast.While(test=of) | ast.IfExp(test=of) | ast.UnaryOp(operand=of):
            yield of
        case ast.Compare(left=left, comparators=rest):
            yield from (left, *rest)
        case ast.BinOp(left=left, right=right):
            yield from (left, right)


def _changed(n: ast.AST) -> Iterator[ast.expr]:
    """What may be a list that `n` changes in place."""
    match n:
        case ast.Call(func=ast.Attribute(value=of)):
            yield of
        case ast.Subscript(value=of, ctx=ast.Store() | ast.Del()):
            yield of
        case ast.AugAssign(target=ast.Name() as of):
            yield of


def _statements(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of `block`, and of the blocks in them, in the order of the source."""
    for s in block:
        yield s
        for inner in blocks(s):
            yield from _statements(inner)


def _block_of(s: ast.stmt, tree: ast.FunctionDef) -> list[ast.stmt]:
    return next(b for n in below(tree) for b in blocks(n) if s in b)


def _is_made_with(
    s: ast.stmt, name: str, changed: Collection[ast.expr], tree: ast.FunctionDef
) -> bool:
    """Whether the block of `s` makes the list `name` ahead of `s`, which all changes are."""
    block = _block_of(s, tree)
    here = block.index(s)
    bound_by = [[t for t, _ in bindings(of)] for of in block[:here]]
    makes = [k for k, targets in enumerate(bound_by) if any(_is_name(t, name) for t in targets)]
    between = {n for of in block[makes[-1] : here] for n in below(of)} if makes else set()
    every = (n for n in below(*tree.body) if _is_name(n, name) and n in changed)
    return bool(makes) and all(n in between for n in every)


def _is_over(
    s: ast.stmt, name: str, changed: Collection[ast.expr], tree: ast.FunctionDef
) -> bool:
    """Whether `s` is the last of a list `name`: what comes next makes another, or all is at an end.
    """
    block = _block_of(s, tree)
    for of in block[block.index(s) + 1 :]:
        if name in used(of):
            return any(_is_name(t, name) and name not in used(v) for t, v in bindings(of))
        if any(isinstance(n, (ast.Break, ast.Continue)) for n in below(of)):
            return False
    if any(s in set(below(n)) for n in below(tree) if isinstance(n, (ast.For, ast.While))):
        return False
    every = list(_statements(tree.body))
    rest = every[every.index(s) + 1 :]
    again = any(_gives(of, name) for of in rest)
    return not again and not any(
        _is_name(n, name) and n in changed for of in rest for n in below(of))
