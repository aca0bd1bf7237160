"""Whole groups of a predicated loop that skips those in which no lane acts, as C.

What skips stands behind the body, as a loop of its own::

    while groups are left and no lane of the next acts: go on
    if groups are left, do
        the body
        go on
        while groups are left and no lane of the next acts: go on
    while groups are left

so the body runs in every turn of its loop, and is the code that it would be without skipping. GCC
takes constants out of a loop from nowhere else; under an ``if`` it shuffles them together anew in
each turn. Where the predicate is dear, an ``if`` it is: what skips computes it once more.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from loopir import nodes as ir

from ..shape import asks_twice
from .body import Block, predicated_bodies, reads
from .expressions import expr
from .masks import any_lane, logic
from .scope import Scope
from .text import bracketed

__all__ = ["acting_groups"]

_Bodies: TypeAlias = Callable[[Sequence[Scope], Block], Iterator[str]]


def acting_groups(
    n: ir.PredLoop, i: str, end: str, side_by_side: Callable[[_Bodies], Iterator[str]]
) -> Iterator[str]:
    """The lines; `i` and `end` are C names, `side_by_side` writes a body for all registers."""
    more, step = f"{end} - {i} >= {n.group}", f"{i} += {n.group}"
    if not asks_twice(n):
        yield f"for (; {more}; {step}) {{"
        yield from side_by_side(partial(predicated_bodies, n))
        yield "}"
        return
    skipped = (f"for (; {more}; {step}) {{", *side_by_side(partial(_until_one_acts, n)), "}")
    yield from skipped
    yield f"if ({more}) do {{"
    yield from side_by_side(partial(predicated_bodies, replace(n, skips=False)))
    yield f"{step};"
    yield from skipped
    yield f"}} while ({more});"


def _until_one_acts(n: ir.PredLoop, scopes: Sequence[Scope], block: Block) -> Iterator[str]:
    assert isinstance(n.width, int)
    some = ""
    for s in scopes:
        yield from reads(replace(n, body=(), accs=()), s)
        on = bracketed(expr(n.pred, s))
        some = logic("or", (some, on), n.width, s.target) if some else on
    yield f"if ({any_lane(some, n.width, scopes[0].target)}) break;"
