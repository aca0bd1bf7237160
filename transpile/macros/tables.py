"""Which names stand for dicts and sets whose keys are data, and nothing else: hash tables."""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import NamedTuple

from ..below import below, blocks
from .context import Context
from .fact import Kind, Table
from .liveness import exposed
from .names import COMPREHENSIONS, declared, used
from .tablekeys import Look, begin_at_once, widths
from .tablekinds import given_to, items_of_values, kind_of, made_here
from .tablelists import are_read, is_grouped
from .tableuses import grown_under, position, uses

__all__ = ["know_tables", "new_table"]

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def new_table(
    name: str, kind: Kind, cx: Context, *, walked: Collection[tuple[int, int]], width: int = 0,
    leaving: bool = False, start: ast.expr | None = None, grouped: bool = False, items: int = 0,
) -> Table:
    """A table with names of its own."""
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


def know_tables(tree: ast.FunctionDef, cx: Context, visit: Callable[[Look], object]) -> None:
    """Tells `cx` of the tables in `tree`; ``visit`` has something look at each node with what is
    known there, ahead of all macros. What gives a key its first value, ahead of what changes that,
    becomes one with it.
    """
    made = {*made_here(tree, cx)}
    found: dict[str, _Uses] = {}
    for name in sorted(made - _others(tree)) if made else ():
        if (known := _uses_of(name, tree, cx)) is not None:
            found[name] = known
    if not found:
        return
    wide = widths(found, tree, visit)
    for name, known in found.items():
        if len(wide[name]) < 2:
            cx.facts.tables[name] = new_table(
                name, known.kind, cx, width=max(wide[name], default=0), walked=known.walked,
                leaving=known.leaving, start=known.start, grouped=known.grouped,
                items=known.items,
            )
    for n in below(tree):
        for block in blocks(n):
            begin_at_once(block, cx)


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
    made = {ast.dump(value): kind_of(value, cx) for value in given_to(name, *below(*tree.body))}
    kinds = {(k and k[0], k and k[1] and ast.dump(k[1])): k for k in made.values()}
    (kind,) = kinds.values() if len(kinds) == 1 else (None,)
    if kind is None:
        return None
    every = (use for n in below(*tree.body) for use in uses(n, kind[0], cx))
    found = {of: use for of, use in every if isinstance(of, ast.Name) and of.id == name}
    named = [n for n in below(*tree.body) if isinstance(n, ast.Name) and n.id == name]
    if any(not isinstance(n.ctx, ast.Load) and n not in found for n in named):
        return None
    if not {*found.values()} & {"asked", "set", "removed"} and not _is_filled(name, tree):
        return None
    leaving = "removed" in found.values()
    known = {"ordered"} | ({"walked"} if not leaving and kind[0] != "set" else set())
    known |= {"returned"} if not leaving and not _is_of_the_source(name, tree) else set()
    walked = {n for n, use in found.items() if use in known}
    walked -= _grown_while_returned(name, kind[0], tree, cx)
    walked -= {n for loop in below(*tree.body) for n in grown_under(name, kind[0], loop, cx)}
    grouped = is_grouped(name, kind[1], tree)
    listed = kind[0] == "dict" or isinstance(kind[1], ast.List)
    if grouped and (leaving or not listed or not are_read(name, tree, cx)):
        return None
    items = items_of_values(name, tree) if kind[0] == "dict" and not grouped else 0
    return _Uses(*kind, leaving, grouped, items, frozenset(map(position, walked)))


def _others(tree: ast.FunctionDef) -> set[str]:
    """Names that are given, unbound at first, not the function's own, or bound by inner scopes;
    and those in a ``try``, which is Python's.
    """
    names = {a.arg for a in below(tree.args) if isinstance(a, ast.arg)}
    names |= exposed(tree.body) | declared(tree)
    for n in below(*tree.body):
        if isinstance(n, (*_INNER, ast.Try)):
            names |= used(n)
        elif isinstance(n, COMPREHENSIONS):
            names |= {name for g in n.generators for name in used(g.target)}
    return names


def _grown_while_returned(
    name: str, kind: Kind, tree: ast.FunctionDef, cx: Context
) -> set[ast.Name]:
    """The name, where it is returned together with what may change the table."""
    found: set[ast.Name] = set()
    changing = {"set", "removed", *(["asked"] if kind == "defaultdict" else [])}
    for n in below(*tree.body):
        if isinstance(n, ast.Return):
            every = (use for part in below(n) for use in uses(part, kind, cx))
            here = {e: use for e, use in every if isinstance(e, ast.Name) and e.id == name}
            if not changing.isdisjoint(here.values()):
                found |= here.keys()
    return found


def _is_of_the_source(name: str, tree: ast.FunctionDef) -> bool:
    """Whether what is returned is more than what it holds: a defaultdict of a function of the
    source; or a set that begins as another one of constants, which its order tells.
    """
    made = given_to(name, *below(*tree.body))
    calls = (a for e in made if isinstance(e, ast.Call) for a in e.args)
    larger = any(isinstance(e, ast.Set) and len(e.elts) > 2 for e in made)
    return larger or any(isinstance(a, ast.Lambda) for a in calls)


def _is_filled(name: str, tree: ast.FunctionDef) -> bool:
    """Whether it is made of what it holds."""
    made = given_to(name, *below(*tree.body))
    return any(not isinstance(e, (ast.Dict, ast.Call)) or getattr(e, "args", ()) for e in made)
