"""Streams: iterables by index, which loops, folds and comprehensions read element by element.

`iterables.stream_of` makes them. They compose: the stream of ``zip(x, y)`` has those of x and y.
Where Python reads elements before their iteration, as in ``pairwise``, a stream is used only if the
body of the loop cannot change them (`may_change_elements`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

from loopir.lazy_dataclass import record

from ...analysis.alias_analysis import owners_may_alias
from ...analysis.waiting_loops import changed_names
from ..ast_names import names_used
from ..ast_walk import walk_nodes
from ..macros.list_kind import is_list
from ..macros.macro_context import Context

__all__ = ["Element", "Stream", "may_change_elements"]

Element: TypeAlias = "ast.expr | tuple[Element, ...]"
"""An element of a stream: an expression, or a tuple of elements for ``zip`` and ``enumerate``."""


@record(frozen=True, slots=True)
class Stream:
    """An iterable by index."""

    setup: tuple[ast.stmt, ...]
    """Statements that run once, before the loop."""
    length: ast.expr
    """The number of elements; it may be negative for an empty range, as ``range`` accepts."""
    at: Callable[[ast.expr], Element]
    """From an index i, with 0 <= i < length, to the element."""
    checks: tuple[ast.expr, ...] = ()
    """Conditions under which Python raises: where one holds, the call is replayed."""
    reads_ahead: bool = False
    """Whether Python reads some of the elements before the iteration that they belong to. Then no
    loop over this stream is made if its body may change elements (`may_change_elements`).
    """


def may_change_elements(loop: ast.For, cx: Context) -> bool:
    """Whether the body of `loop` may change elements that its iterable gives: it stores into an
    object that the iterable reads, or into one that may share memory with such an object, or passes
    one of these to a function that may change its arguments.

        for a, b in pairwise(x): x[0] = a + b        True
        for a, b in pairwise(x): out.append(a + b)   False, of a list that the function makes

    That different arguments share no memory is guarded (`alias_analysis.owners_may_alias`).
    """
    names = names_used(loop.iter)
    read = {n for n in names if not callable(cx.resolve(ast.Name(n, ast.Load())))}
    return any(
        name is None or name in read or any(_may_share(name, other, cx) for other in read)
        for name in _changed(loop, cx)
    )


def _may_share(name: str, other: str, cx: Context) -> bool:
    """Whether a change of what `name` stands for may be seen in what `other` stands for."""
    changed, seen = (cx.fact(ast.Name(n, ast.Load())) for n in (name, other))
    if changed.rank == 0 or seen.rank == 0 or name in cx.generated:
        return False
    is_list_changed, is_list_seen = (is_list(ast.Name(n, ast.Load()), cx) for n in (name, other))
    if is_list_changed != is_list_seen or (is_list_changed and name not in cx.parameters):
        return False
    return owners_may_alias(changed.owner, seen.owner)


def _changed(loop: ast.For, cx: Context) -> Iterator[str | None]:
    """The names of what the body of `loop` changes in place; None for what has no name."""
    yield from changed_names(loop.body, cx.resolve)
    for n in walk_nodes(*loop.body):
        match n:
            case ast.AugAssign(target=ast.Name(id=name) as array) if cx.fact(array).rank != 0:
                yield name
