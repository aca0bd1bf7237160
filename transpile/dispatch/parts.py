"""A refused function in parts: Python that calls its regions, each fused by itself.

A region is compiled for what its names hold when it runs; one that is refused is cut in turn.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from types import CellType, FunctionType

from loopir.nodes import Span
from loopir.record import record

from ..below import below
from ..options import Options
from ..regions.ahead import taken_ahead
from ..regions.cut import Cut, Region, cut
from ..regions.known import Known
from ..regions.making import function_of
from ..rejections import Rejection
from ..scope import Scope
from ..source import Source, read, remember, span_of
from ..types import ArgType
from .case import Stats, total
from .fused import Fused

__all__ = ["Part", "Parts", "parts_of"]


@record(frozen=True, slots=True)
class Part:
    """One region. ``types``: those of its parameters, None where only a run will tell."""

    helper: str
    tree: ast.FunctionDef
    fused: Fused
    types: tuple[ArgType, ...] | None

    @property
    def latest(self) -> tuple[ArgType, ...] | None:
        """The types that it ran with last; before it ran, those that are known."""
        return self.fused.signatures[-1] if self.fused.signatures else self.types

    @property
    def loops(self) -> tuple[Span, ...]:
        """Where its loops stand."""
        loops = (n for n in below(*self.tree.body) if isinstance(n, (ast.For, ast.While)))
        return tuple(span for n in loops if (span := span_of(n)) is not None)


@record(frozen=True, slots=True)
class Parts:
    """``function`` does what the original does. ``loops``: those that it runs as Python."""

    function: FunctionType
    tree: ast.FunctionDef
    parts: tuple[Part, ...]
    loops: tuple[ast.stmt, ...]

    @property
    def stats(self) -> Stats:
        """Those of all regions."""
        return total([part.fused.stats for part in self.parts])


def parts_of(
    function: FunctionType, types: Mapping[str, ArgType], rejection: Rejection, options: Options
) -> Parts | None:
    """`function` cut at what `rejection` is about; None where that leaves nothing to compile."""
    if rejection.span is None or rejection.code.startswith(("SOURCE_", "BUILD_")):
        return None
    source = read(function)
    scope = Scope.of(function)
    known = Known(source.tree, types, scope, rejection.span)
    if not any(map(known.refused, source.tree.body)):
        return None  # what is refused stands nowhere
    tree = taken_ahead(source.tree, known.resolve, rejection.span)
    if tree is not source.tree:
        known = Known(tree, types, scope, rejection.span)
    found = cut(tree, known)
    return None if found is None else _made(found, known, source, function, options)


def _made(
    found: Cut, known: Known, source: Source, function: FunctionType, options: Options
) -> Parts:
    made = [_part(region, known, source, function, options) for region in found.regions]
    cells: dict[str, CellType] = {part.helper: CellType(part.fused) for part in made}
    around = function_of(found.tree, function, cells)
    around.__defaults__, around.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return Parts(around, found.tree, tuple(made), found.loops)


def _part(
    region: Region, known: Known, source: Source, function: FunctionType, options: Options
) -> Part:
    tree = region.tree
    inner = function_of(tree, function, {})
    line = tree.lineno
    remember(inner, replace(source, tree=tree, line=line, decorators=(), function=inner))
    names = [a.arg for a in tree.args.args]
    types = known.types(names, region.first)
    given = None if types is None else tuple(types[n] for n in names)
    fused = Fused(inner, options)
    fused.rests = True
    return Part(region.helper, tree, fused, given)
