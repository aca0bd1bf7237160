"""Table inference: which names stand only for hash tables; the types of their keys and values."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ..analysis.liveness import upward_exposed
from ..analysis.type_facts import Kind, Table
from ..frontend.ast_names import (
    COMPREHENSIONS,
    declared_outer,
    mentions_none,
    name_bindings,
    names_used,
    values_bound_to,
)
from ..frontend.ast_walk import child_blocks, walk_nodes
from ..frontend.core_nodes import copy_location, fix_missing_locations
from ..frontend.macros.list_kind import list_escapes
from ..frontend.macros.macro_context import Context
from .method_table import METHODS
from .table_kinds import (
    grown_while_iterated,
    local_tables,
    source_position,
    table_kind,
    table_uses,
    value_tuple_width,
)

__all__ = [
    "Visitor", "merge_key_defaults", "key_widths", "has_list_values",
    "infer_tables", "new_table",
]

Visitor: TypeAlias = Callable[[ast.AST, Context], None]


def key_widths(
    names: Collection[str], tree: ast.FunctionDef, visit: Callable[[Visitor], object]
) -> dict[str, set[int]]:
    """For each table the number of items of the tuples that are its keys; 0 where keys are no
    tuples.
    """
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
    for n in walk_nodes(*tree.body):  # where nothing looks, in comprehensions: as they are written
        for name, key in _keys_in(n):
            if name in found and key not in asked and isinstance(key, ast.Tuple):
                found[name].add(len(key.elts))
        for to, value in name_bindings(n):
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
            method in METHODS and METHODS[method].keyed
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


def merge_key_defaults(block: list[ast.stmt], cx: Context) -> None:
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
                append.value = copy_location(ast.Call(begins, [begun[1], begun[2]], []), at)
                fix_missing_locations(append)
                block[place : place + 1] = [copy_location(ast.Pass(), first)]
            case ast.AugAssign(ast.Subscript(ast.Name(id=name), key), op, value) if (
                begun is not None and name in cx.facts.tables
                and (name, ast.dump(key)) == (begun[0], ast.dump(begun[1]))
                and isinstance(begun[2], ast.Constant) and mentions_none(value, [name])
                and _is_same_again(key, cx)
            ):
                get = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "get", ast.Load()),
                               [begun[1], begun[2]], [])
                line = ast.Assign([then.target], ast.BinOp(get, op, value))
                fix_missing_locations(copy_location(line, then))
                block[place : place + 2] = [copy_location(ast.Pass(), first), line]


def _is_same_again(key: ast.expr, cx: Context) -> bool:
    calls = (n for n in walk_nodes(key) if isinstance(n, (ast.Call, ast.NamedExpr)))
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


def has_list_values(name: str, start: ast.expr | None, tree: ast.FunctionDef) -> bool:
    """Whether the values of the table `name` are lists."""
    if isinstance(start, ast.List):
        return True
    for n in walk_nodes(*tree.body):
        match n:
            case ast.Call(ast.Attribute(ast.Name(id=of), "setdefault"), [_, ast.List()], []):
                if of == name:
                    return True
            case ast.Assign([ast.Subscript(ast.Name(id=of), _)], ast.List()) if of == name:
                return True
    return False


_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def new_table(
    name: str, kind: Kind, cx: Context, *, walked: Collection[tuple[int, int]], width: int = 0,
    leaving: bool = False, start: ast.expr | None = None, grouped: bool = False, items: int = 0,
) -> Table:
    """A `Table` for `name` with fresh names for its flat lists."""
    values = cx.fresh(f"{name}_value") if kind != "set" else ""
    if items:
        cx.facts.tuple_lists[values] = items
    keys = tuple(cx.fresh(f"{name}_key") for _ in range(max(width, 1)))
    as_they_came = cx.fresh(f"{name}_shown") if walked else ""
    if walked and width:
        cx.facts.tuple_lists[as_they_came] = width
    return Table(
        kind, width, keys,
        shown=as_they_came,
        values=values,
        slots=cx.fresh(f"{name}_slot"),
        there=cx.fresh(f"{name}_there") if leaving else "",
        held=cx.fresh(f"{name}_held") if leaving else "",
        start=start,
        first=cx.fresh(f"{name}_first") if grouped else "",
        last=cx.fresh(f"{name}_last") if grouped else "",
        after=cx.fresh(f"{name}_after") if grouped else "",
        walked=frozenset(walked),
        items=items,
    )


def infer_tables(tree: ast.FunctionDef, cx: Context, visit: Callable[[Visitor], object]) -> None:
    """Infer which names of `tree` stand for dicts or sets that become hash tables, and record them
    in `cx`.

    `visit` calls a visitor on each node with the facts that hold there, before any macro has fired.
    A statement that gives a key its first value is merged with the update that follows it
    (`merge_key_defaults`).
    """
    made = {*local_tables(tree, cx)}
    found: dict[str, _Uses] = {}
    for name in sorted(made - _others(tree)) if made else ():
        if (known := _uses_of(name, tree, cx)) is not None:
            found[name] = known
    if not found:
        return
    wide = key_widths(found, tree, visit)
    for name, known in found.items():
        if len(wide[name]) < 2:
            cx.facts.tables[name] = new_table(
                name, known.kind, cx, width=max(wide[name], default=0), walked=known.walked,
                leaving=known.leaving, start=known.start, grouped=known.grouped,
                items=known.items,
            )
    for n in walk_nodes(tree):
        for block in child_blocks(n):
            merge_key_defaults(block, cx)


class _Uses(NamedTuple):
    """What becomes of a table, see `Table`; whether something leaves it."""

    kind: Kind
    start: ast.expr | None
    leaving: bool
    grouped: bool
    items: int
    walked: frozenset[tuple[int, int]]


def _uses_of(name: str, tree: ast.FunctionDef, cx: Context) -> _Uses | None:
    """None where it is no table, or not always."""
    made = {
        ast.dump(value): table_kind(value, cx)
        for value in values_bound_to(name, *walk_nodes(*tree.body))
    }
    kinds = {(k and k[0], k and k[1] and ast.dump(k[1])): k for k in made.values()}
    (kind,) = kinds.values() if len(kinds) == 1 else (None,)
    if kind is None:
        return None
    every = (use for n in walk_nodes(*tree.body) for use in table_uses(n, kind[0], cx))
    found = {of: use for of, use in every if isinstance(of, ast.Name) and of.id == name}
    named = [n for n in walk_nodes(*tree.body) if isinstance(n, ast.Name) and n.id == name]
    if any(not isinstance(n.ctx, ast.Load) and n not in found for n in named):
        return None
    if not {*found.values()} & {"asked", "set", "removed"} and not _is_filled(name, tree):
        return None
    leaving = "removed" in found.values()
    known = {"ordered"} | ({"walked"} if not leaving and kind[0] != "set" else set())
    known |= {"returned"} if not leaving and not _is_of_the_source(name, tree) else set()
    walked = {n for n, use in found.items() if use in known}
    walked -= _grown_while_returned(name, kind[0], tree, cx)
    walked -= {
        n for loop in walk_nodes(*tree.body) for n in grown_while_iterated(name, kind[0], loop, cx)
    }
    grouped = has_list_values(name, kind[1], tree)
    listed = kind[0] == "dict" or isinstance(kind[1], ast.List)
    if grouped and (leaving or not listed or not list_escapes(tree, cx).values_are_private(name)):
        return None
    items = value_tuple_width(name, tree) if kind[0] == "dict" and not grouped else 0
    return _Uses(*kind, leaving, grouped, items, frozenset(map(source_position, walked)))


def _others(tree: ast.FunctionDef) -> set[str]:
    """Names that are given, unbound at first, not the function's own, or bound by inner scopes;
    and those in a ``try``, which is Python's.
    """
    names = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    names |= upward_exposed(tree.body) | declared_outer(tree)
    for n in walk_nodes(*tree.body):
        if isinstance(n, (*_INNER, ast.Try)):
            names |= names_used(n)
        elif isinstance(n, COMPREHENSIONS):
            names |= {name for g in n.generators for name in names_used(g.target)}
    return names


def _grown_while_returned(
    name: str, kind: Kind, tree: ast.FunctionDef, cx: Context
) -> set[ast.Name]:
    """The name, where it is returned together with what may change the table."""
    found: set[ast.Name] = set()
    changing = {"set", "removed", *(["asked"] if kind == "defaultdict" else [])}
    for n in walk_nodes(*tree.body):
        if isinstance(n, ast.Return):
            every = (use for part in walk_nodes(n) for use in table_uses(part, kind, cx))
            here = {e: use for e, use in every if isinstance(e, ast.Name) and e.id == name}
            if not changing.isdisjoint(here.values()):
                found |= here.keys()
    return found


def _is_of_the_source(name: str, tree: ast.FunctionDef) -> bool:
    """Whether what is returned is more than what it holds: a defaultdict of a function of the
    source; or a set that begins as another one of constants, which its order tells.
    """
    made = values_bound_to(name, *walk_nodes(*tree.body))
    calls = (a for e in made if isinstance(e, ast.Call) for a in e.args)
    larger = any(isinstance(e, ast.Set) and len(e.elts) > 2 for e in made)
    return larger or any(isinstance(a, ast.Lambda) for a in calls)


def _is_filled(name: str, tree: ast.FunctionDef) -> bool:
    """Whether it is made of what it holds."""
    made = values_bound_to(name, *walk_nodes(*tree.body))
    return any(not isinstance(e, (ast.Dict, ast.Call)) or getattr(e, "args", ()) for e in made)
