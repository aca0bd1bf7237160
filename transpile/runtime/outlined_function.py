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
from .kernel_call.stub_functions import function_from_tree
from .outline.hoist_numpy_call import hoist_numpy_call
from .outline.original_in_place import with_originals_in_place
from .outline.outline_regions import OutlinedTree, Region, outline_regions
from .outline.plain_arithmetic import is_plain_arithmetic
from .outline.region_facts import RegionFacts
from .region_records import FusedRegion, OutlinedFunction, OutlinedRegion, RegionRole

__all__ = ["outline_function"]

_LOOPS = (ast.For, ast.While)
_NONE = frozenset[str]()
_NO_REGION = RegionRole()
_TEST_PREFIX = "_tp_test"


def outline_function(
    function: FunctionType,
    types: Mapping[str, ArgType],
    rejection: Rejection,
    options: Options,
    region_type: type[FusedRegion],
    wanted: OutlinedFunction | None = None,
    *,
    role: RegionRole = _NO_REGION,
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
    ``wanted``: the outlined function so far, whose regions are used again, with the names of those
    that are to be Python again (``dropped``), and of those whose statements it is to have itself,
    too (``in_place``, see `original_in_place`).
    `Dispatcher._outline` calls this after a refusal, and when Python has turned out to be faster.
    ``role``: of `function`, if that is a region itself.
    """
    if rejection.span is None or rejection.family in ("SOURCE", "BUILD"):
        return None
    source = read_source(function)
    scope = Scope.of(function)
    facts = RegionFacts(source.tree, types, scope, rejection.span)
    if not any(map(facts.must_stay_python, source.tree.body)):
        return None  # what is blamed is in no statement of the body, but in a default, say
    tree = hoist_numpy_call(source.tree, facts.resolve, rejection.span)
    if tree is not source.tree:
        facts = RegionFacts(tree, types, scope, rejection.span)
    outlined = outline_regions(tree, facts, wanted.dropped if wanted else _NONE)
    if outlined is None:
        return None
    known_regions = {r.helper: r for r in wanted.regions} if wanted is not None else {}

    def fused(inner: FunctionType, region: Region) -> FusedRegion:
        """`inner` as the fused function of `region`."""
        is_in_loop = role.is_in_loop or region.is_in_loop
        in_order = is_in_loop and _must_keep_order(region, facts)
        new = region_type(inner, replace(options, reassociate=False) if in_order else options)
        can_be_python = not new.options.reassociate and is_plain_arithmetic(
            region.tree.body, facts.resolve
        )
        new.is_region = True
        new.role = RegionRole(is_in_loop=is_in_loop, can_be_python=can_be_python)
        return new

    regions = [
        known_regions.get(region.helper) or _fuse_region(region, facts, source, function, fused)
        for region in outlined.regions
    ]
    as_whole = role.is_selected_with_caller or all(r.fused.role.can_be_python for r in regions)
    for region in regions:
        region.fused.role = replace(region.fused.role, is_selected_with_caller=as_whole)
    return _with_regions(outlined, regions, function, wanted)


def _with_regions(
    outlined: OutlinedTree, regions: Sequence[OutlinedRegion], function: FunctionType,
    wanted: OutlinedFunction | None,
) -> OutlinedFunction:
    """The tree `outlined` made a function, in which the names of the helpers are bound to the fused
    functions of its regions. Regions that `wanted` has in place have their statements beside the
    call, with a test (`original_in_place`).
    """
    dropped, in_place = (wanted.dropped, wanted.in_place) if wanted else (_NONE, _NONE)
    cells = {region.helper: CellType(region.fused) for region in regions}
    runs = {r.helper: r.run for r in regions if r.helper in in_place}
    tests = {r.helper: f"{_TEST_PREFIX}{r.helper}" for r in regions if r.helper in runs}
    cells |= {tests[r.helper]: r.fused.original_test for r in regions if r.helper in runs}
    calling_tree = with_originals_in_place(outlined.tree, runs, tests)
    calling_function = function_from_tree(calling_tree, function, cells)
    return OutlinedFunction(
        calling_function, outlined.tree, tuple(regions), outlined.loops, dropped,
        outlined.too_short, calling_tree, cells, in_place,
    )


def _fuse_region(
    region: Region,
    facts: RegionFacts,
    source: Source,
    function: FunctionType,
    fused: Callable[[FunctionType, Region], FusedRegion],
) -> OutlinedRegion:
    """The region as a fused function, whose source is that of `function`."""
    tree = region.tree
    inner = function_from_tree(tree, function, {}, same_signature=False)
    line = tree.lineno
    whole = source.whole or source.tree
    text = replace(source, tree=tree, line=line, decorators=(), function=inner, whole=whole)
    remember_text(inner, text)
    names = [a.arg for a in tree.args.args]
    types = facts.types(names, region.run[0])
    known_types = None if types is None else tuple(types[n] for n in names)
    loops = (n for n in walk_nodes(*tree.body) if isinstance(n, (ast.For, ast.While)))
    spans = tuple(span for n in loops if (span := span_of(n)) is not None)
    return OutlinedRegion(
        region.helper, tree, fused(inner, region), known_types, spans, region.run
    )


def _must_keep_order(region: Region, facts: RegionFacts) -> bool:
    """Whether `region`, which a Python loop calls, is compiled without reassociation, so that its
    floats have the same bits as in Python. Then it can be dropped, and Python run its statements
    again, if calls of it turn out slower than that: the user sees no difference in the results::

        for row in rows:         # stays Python
            total = 0.0
            for v in row:        # a region: three items are summed faster by Python
                total += v
            out.append(str(total))

    False, so that sums may be added in lanes, which is faster, in these cases:

    - one of its parameters is known to be an array, or it is a nest of loops and the types of all
      its parameters are known: the loops are likely to be worth a call;
    - its code could have other bits than Python in any order (`is_plain_arithmetic`).
    """
    body, names = region.tree.body, [a.arg for a in region.tree.args.args]
    if any(facts.is_known_array(name, region.run[0]) for name in names):
        return False
    is_nest = any(
        isinstance(inner, _LOOPS)
        for n in walk_nodes(*body) if isinstance(n, _LOOPS)
        for inner in walk_nodes(*n.body)
    )
    if is_nest and facts.types(names, region.run[0]) is not None:
        return False
    return is_plain_arithmetic(body, facts.resolve)
