"""Which names stand for dicts and sets whose keys are data, and nothing else: hash tables."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from ..below import below, blocks
from .context import Context
from .fact import Kind, Table
from .liveness import exposed
from .names import COMPREHENSIONS, declared, used
from .tablekeys import Look, begin_at_once, widths
from .tablekinds import given_to, kind_of, made_here
from .tablelists import are_read, is_grouped
from .tableuses import grown_under, position, uses

__all__ = ["know_tables", "new_table"]

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def new_table(
    name: str, kind: Kind, cx: Context, *, width: int = 0, shown: bool = True,
    leaving: bool = False, start: ast.expr | None = None, grouped: bool = False,
) -> Table:
    """A table with names of its own."""
    keys = tuple(cx.fresh(f"{name}_key") for _ in range(max(width, 1)))
    as_they_came = cx.fresh(f"{name}_shown") if shown else ""
    if shown and width:
        cx.facts.tuple_lists[as_they_came] = width
    return Table(
        kind, width, keys,
        shown=as_they_came,
        values=cx.fresh(f"{name}_value") if kind != "set" else "",
        slots=cx.fresh(f"{name}_slot"),
        there=cx.fresh(f"{name}_there") if leaving else "",
        held=cx.fresh(f"{name}_held") if leaving else "",
        start=start,
        first=cx.fresh(f"{name}_first") if grouped else "",
        last=cx.fresh(f"{name}_last") if grouped else "",
        after=cx.fresh(f"{name}_after") if grouped else "",
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
            table = new_table(
                name, known.kind, cx, width=max(wide[name], default=0), shown=known.shown,
                leaving=known.leaving, start=known.start, grouped=known.grouped,
            )
            cx.facts.tables[name] = table._replace(whole=known.whole)
    for n in below(tree):
        for block in blocks(n):
            begin_at_once(block, cx)


class _Uses(NamedTuple):
    """What becomes of a table; ``whole``: where it is more than its keys and values, see `Table`.
    """

    kind: Kind
    start: ast.expr | None
    shown: bool
    leaving: bool
    grouped: bool
    whole: frozenset[tuple[int, int]]


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
    unordered = {"walked"} if leaving or kind[0] == "set" else set()
    unordered |= {"returned"} if leaving or _has_factory(name, tree) else set()
    whole = [n for n in named if found.get(n, "walked") in unordered or n not in found]
    whole += _grown_while_returned(name, kind[0], tree, cx)
    whole += (n for loop in below(*tree.body) for n in grown_under(name, kind[0], loop, cx))
    shown = bool({*found.values()} & {"walked", "ordered", "returned"}) or bool(whole)
    grouped = is_grouped(name, kind[1], tree)
    if grouped and (leaving or not are_read(name, tree, cx)):
        return None
    return _Uses(*kind, shown, leaving, grouped, frozenset(map(position, whole)))


def _others(tree: ast.FunctionDef) -> set[str]:
    """Names that are given, unbound at first, not the function's own, or bound by inner scopes."""
    names = {a.arg for a in below(tree.args) if isinstance(a, ast.arg)}
    names |= exposed(tree.body) | declared(tree)
    for n in below(*tree.body):
        if isinstance(n, _INNER):
            names |= used(n)
        elif isinstance(n, COMPREHENSIONS):
            names |= {name for g in n.generators for name in used(g.target)}
    return names


def _grown_while_returned(
    name: str, kind: Kind, tree: ast.FunctionDef, cx: Context
) -> list[ast.Name]:
    """The name, where it is returned together with what may change the table."""
    found: list[ast.Name] = []
    changing = {"set", "removed", *(["asked"] if kind == "defaultdict" else [])}
    for n in below(*tree.body):
        if isinstance(n, ast.Return):
            here = [(of, use) for part in below(n)
                    for of, use in uses(part, kind, cx)
                    if isinstance(of, ast.Name) and of.id == name]
            if any(use in changing for _, use in here):
                found += (of for of, use in here if use == "returned")
    return found


def _has_factory(name: str, tree: ast.FunctionDef) -> bool:
    """Whether it is a defaultdict of a function of the source."""
    made = given_to(name, *below(*tree.body))
    return any(isinstance(a, ast.Lambda) for e in made if isinstance(e, ast.Call) for a in e.args)


def _is_filled(name: str, tree: ast.FunctionDef) -> bool:
    """Whether it is made of what it holds."""
    made = given_to(name, *below(*tree.body))
    return any(not isinstance(e, (ast.Dict, ast.Call)) or getattr(e, "args", ()) for e in made)
