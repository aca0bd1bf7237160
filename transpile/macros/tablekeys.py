"""What the keys of tables are, and where they get their first values."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import TypeAlias

from ..below import below
from .context import Context
from .names import free_of
from .tablekinds import bound_by
from .tableuses import KEYED

__all__ = ["Look", "begin_at_once", "widths"]

Look: TypeAlias = Callable[[ast.AST, Context], None]


def widths(
    names: Collection[str], tree: ast.FunctionDef, visit: Callable[[Look], object]
) -> dict[str, set[int]]:
    """Of each table, how many items the tuples have that are its keys; 0 where they are none."""
    found: dict[str, set[int]] = {name: set() for name in names}
    asked: set[ast.AST] = set()

    def look(node: ast.AST, cx: Context) -> None:
        parts = (node, node.target) if isinstance(node, ast.AugAssign) else (node,)
        for part in parts:
            for name, key in _keys_in(part):
                if name in found:
                    asked.add(key)
                    items = cx.facts.items(key)
                    found[name].add(0 if items is None else len(items))

    visit(look)
    for n in below(*tree.body):  # where nothing looks, in comprehensions: as they are written
        for name, key in _keys_in(n):
            if name in found and key not in asked and isinstance(key, ast.Tuple):
                found[name].add(len(key.elts))
        for to, value in bound_by(n):
            keys = _first_keys(value) if to.id in found else ()
            found.get(to.id, set()).update(len(k.elts) for k in keys if isinstance(k, ast.Tuple))
    return found


def _keys_in(n: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What may be tables that `n` asks for keys, and these."""
    match n:
        case ast.Subscript(ast.Name(id=name), key):
            yield name, key
        case ast.Compare(key, [ast.In() | ast.NotIn()], [ast.Name(id=name)]):
            yield name, key
        case ast.Call(ast.Attribute(ast.Name(id=name), method), [key, *_], []) if (
            method in KEYED
        ):
            yield name, key


def _first_keys(e: ast.expr) -> Iterator[ast.expr]:
    match e:
        case ast.Dict(keys=keys):
            yield from (k for k in keys if k is not None)
        case ast.Set(elts=elts):
            yield from elts
        case ast.DictComp(key=key):
            yield key
        case ast.SetComp(elt=key) | ast.Call(args=[ast.GeneratorExp(elt=key)]):
            yield key


def begin_at_once(block: list[ast.stmt], cx: Context) -> None:
    """``if k not in d: d[k] = 0`` and ``d[k] += v`` become ``d[k] = d.get(k, 0) + v``."""
    for place, (first, then) in enumerate(pairwise(block)):
        begun = _begun(first)
        match then:
            case ast.Expr(ast.Call(ast.Attribute(ast.Subscript(
                ast.Name(id=name), key) as at, "append"
            ) as append)) if (
                begun is not None and name in cx.facts.tables
                and (name, ast.dump(key)) == (begun[0], ast.dump(begun[1]))
                and isinstance(begun[2], ast.List) and _is_same_again(key, cx)
            ):
                begins = ast.Attribute(ast.Name(name, ast.Load()), "setdefault", ast.Load())
                append.value = ast.copy_location(ast.Call(begins, [begun[1], begun[2]], []), at)
                ast.fix_missing_locations(append)
                block[place : place + 1] = [ast.copy_location(ast.Pass(), first)]
            case ast.AugAssign(ast.Subscript(ast.Name(id=name), key), op, value) if (
                begun is not None and name in cx.facts.tables
                and (name, ast.dump(key)) == (begun[0], ast.dump(begun[1]))
                and isinstance(begun[2], ast.Constant) and free_of(value, [name])
                and _is_same_again(key, cx)
            ):
                get = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "get", ast.Load()),
                               [begun[1], begun[2]], [])
                line = ast.Assign([then.target], ast.BinOp(get, op, value))
                ast.fix_missing_locations(ast.copy_location(line, then))
                block[place : place + 2] = [ast.copy_location(ast.Pass(), first), line]


def _is_same_again(key: ast.expr, cx: Context) -> bool:
    calls = (n for n in below(key) if isinstance(n, (ast.Call, ast.NamedExpr)))
    return all(cx.builtin(n) in ("abs", "int", "len", "max", "min") for n in calls)


def _begun(s: ast.stmt) -> tuple[str, ast.expr, ast.expr] | None:
    """The table, the key and the constant that it begins with, or the empty list."""
    match s:
        case ast.If(
            test=ast.Compare(asked, [ast.NotIn()], [ast.Name(id=name)]),
            body=[ast.Assign([ast.Subscript(ast.Name(id=to), key)], (
                ast.Constant() | ast.List(elts=[])) as start)],
            orelse=[],
        ) if name == to and ast.dump(asked) == ast.dump(key):
            return name, key, start
        case ast.Expr(ast.Call(
            ast.Attribute(ast.Name(id=name), "setdefault"), [
                key, (ast.Constant() | ast.List(elts=[])) as start
            ], []
        )):
            return name, key, start
    return None
