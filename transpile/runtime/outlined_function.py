"""Outlined function: Python that calls the regions cut out of it, each compiled on its own.

Where a function is refused as a whole, `outline.outline_regions` finds the runs of statements that
may compile. Here they become `Fused` functions, and the rest becomes a Python function that calls
them. A region is compiled for the types that its names have when it runs; a refused region is
outlined in turn. `dispatcher` uses this.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import CellType, FunctionType

from ..diagnostics import Rejection
from ..frontend.ast_walk import walk_nodes
from ..frontend.name_resolution import Scope
from ..frontend.source import Source, read_source, remember_text, span_of
from ..options import Options
from ..types.value_types import ArgType
from .outline.hoist_numpy_call import hoist_numpy_call
from .outline.outline_regions import OutlinedTree, Region, outline_regions
from .outline.region_facts import RegionFacts
from .specialization import FusedRegion, OutlinedFunction, OutlinedRegion
from .stub_functions import function_from_tree

__all__ = ["outline_function"]


def outline_function(
    function: FunctionType,
    types: Mapping[str, ArgType],
    rejection: Rejection,
    options: Options,
    region_type: type[FusedRegion],
    known: OutlinedFunction | None = None,
    dropped: frozenset[str] = frozenset(),
) -> OutlinedFunction | None:
    """`function`, which was refused as a whole, as Python that calls the parts of it which compile
    (loop lifting); None if there are none. Where ``print`` is refused::

        def f(x):                          def f(x):
            print(len(x))                      print(len(x))
            s = 0.0                   →        return _tp_region_3_4(x)    # compiled on its own
            for v in x: s += v
            return s

    1. `RegionFacts` finds the statements that `rejection` blames, and others that cannot compile;
    2. `hoist_numpy_call` takes a refused NumPy call out of its statement, so that the rest of the
       statement can be in a region;
    3. `outline_regions` selects the regions, and makes the calling function;
    4. each region becomes a fused function (``region_type``), compiled when it is first called.

    No region helps if the source cannot be read or the C compiler fails (SOURCE_…, BUILD_…).
    ``known``: the outlined function so far, whose regions are used again, but for those `dropped`.
    `Dispatcher._outline` calls this after a refusal, and when Python has turned out to be faster.
    """
    if rejection.span is None or rejection.code.startswith(("SOURCE_", "BUILD_")):
        return None
    source = read_source(function)
    scope = Scope.of(function)
    facts = RegionFacts(source.tree, types, scope, rejection.span)
    if not any(map(facts.must_stay_python, source.tree.body)):
        return None  # what is blamed is in no statement of the body, but in a default, say
    tree = hoist_numpy_call(source.tree, facts.resolve, rejection.span)
    if tree is not source.tree:
        facts = RegionFacts(tree, types, scope, rejection.span)
    outlined = outline_regions(tree, facts, dropped)
    if outlined is None:
        return None
    known_regions = {r.helper: r for r in known.regions} if known is not None else {}

    def fused(inner: FunctionType) -> FusedRegion:
        """`inner` as a region's fused function."""
        region = region_type(inner, options)
        region.is_region = True
        return region

    regions = [
        known_regions.get(region.helper) or _fuse_region(region, facts, source, function, fused)
        for region in outlined.regions
    ]
    return _with_regions(outlined, regions, function, dropped)


def _with_regions(
    outlined: OutlinedTree, regions: Sequence[OutlinedRegion], function: FunctionType,
    dropped: frozenset[str],
) -> OutlinedFunction:
    """The function of `outlined`, which calls the fused functions of its regions."""
    cells = {region.helper: CellType(region.fused) for region in regions}
    calling_function = function_from_tree(outlined.tree, function, cells)
    return OutlinedFunction(
        calling_function, outlined.tree, tuple(regions), outlined.loops, dropped,
        outlined.too_short,
    )


def _fuse_region(
    region: Region,
    facts: RegionFacts,
    source: Source,
    function: FunctionType,
    fused: Callable[[FunctionType], FusedRegion],
) -> OutlinedRegion:
    """The region as a fused function, whose source is that of `function`."""
    tree = region.tree
    inner = function_from_tree(tree, function, {}, same_signature=False)
    line = tree.lineno
    whole = source.whole or source.tree
    text = replace(source, tree=tree, line=line, decorators=(), function=inner, whole=whole)
    remember_text(inner, text)
    names = [a.arg for a in tree.args.args]
    types = facts.types(names, region.first)
    known_types = None if types is None else tuple(types[n] for n in names)
    loops = (n for n in walk_nodes(*tree.body) if isinstance(n, (ast.For, ast.While)))
    spans = tuple(span for n in loops if (span := span_of(n)) is not None)
    return OutlinedRegion(region.helper, tree, fused(inner), known_types, spans)
