"""Outlined function: Python that calls the regions cut out of it, each compiled on its own.

Where a function is refused as a whole, `outline.outline_regions` finds the runs of statements that
may compile. Here they become `Fused` functions, and the rest becomes a Python function that calls
them. A region is compiled for the types that its names have when it runs; a refused region is
outlined in turn. `dispatcher` uses this.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from types import CellType, CodeType, FunctionType

from loopir.lazy_dataclass import record
from loopir.nodes import Span

from ...diagnostics import Refused, Rejection
from ...frontend.ast_walk import walk_nodes
from ...frontend.name_resolution import Scope
from ...frontend.source import Source, read_source, remember_text, span_of
from ...options import Options
from ...types.value_types import ArgType
from ..kernel_call.stub_functions import code_from_tree, function_of_code
from ..outline.hoist_numpy_call import hoist_numpy_call
from ..outline.inline_refused_regions import with_refused_regions_inlined
from ..outline.original_in_place import with_originals_in_place
from ..outline.outline_regions import OutlinedTree, Region, outline_regions
from ..outline.plain_arithmetic import is_plain_arithmetic
from ..outline.region_facts import RegionFacts
from ..outline.region_tracebacks import TRACEBACK_CELLS, with_calls_untraced
from ..outline.sink_lists import sink_lists
from ..outline.unassigned_results import UNASSIGNED_CELLS, with_unassigned_results
from .region_records import FusedRegion, OutlinedFunction, OutlinedRegion, RegionRole

__all__ = ["OutliningPlan", "Refusal", "bind_plan", "outline_function", "plan_outlining"]

_LOOPS = (ast.For, ast.While)
_NONE = frozenset[str]()
_NO_REGION = RegionRole()
_TEST_PREFIX = "_tp_test"
_RUNTIME_CELLS = {**TRACEBACK_CELLS, **UNASSIGNED_CELLS}


@record(frozen=True, slots=True)
class _PlannedRegion:
    """What `plan_outlining` has found out about a region."""

    region: Region
    code: CodeType  # of its function
    types: tuple[ArgType, ...] | None  # of its parameters; None: known only at run time
    loops: tuple[Span, ...]
    keeps_order: bool
    """Whether its sums are not to be reassociated if it is in a loop (`_must_keep_order`)."""
    is_plain: bool
    """Whether its code has Python's bits unless sums are reassociated (`is_plain_arithmetic`)."""


@record(frozen=True, slots=True)
class OutliningPlan:
    """How a refused function is outlined: what depends on its code, its signature and the meaning
    of its names alone. All function objects for which these are the same share a plan, as those of
    a function that is defined again and again (`redefined_functions`).
    """

    source: Source  # without the function object
    outlined: OutlinedTree
    regions: tuple[_PlannedRegion, ...]
    codes: dict[tuple[object, ...], CodeType] = field(default_factory=dict)
    """The code of the calling function, by the helpers of the regions that are in place, and the
    code of those that are inlined."""


@record(frozen=True, slots=True)
class _Candidates:
    """A refused function whose statements are known, ready to be cut into regions."""

    source: Source  # without the function object
    tree: ast.FunctionDef
    facts: RegionFacts

    def plan(
        self, function: FunctionType, dropped: frozenset[str] = _NONE
    ) -> OutliningPlan | None:
        """Step 4 of `plan_outlining`."""
        outlined = outline_regions(self.tree, self.facts, dropped)
        if outlined is None:
            return None
        code = function.__code__
        regions = tuple(_planned_region(region, self.facts, code) for region in outlined.regions)
        return OutliningPlan(self.source, outlined, regions)


@record(slots=True)
class Refusal:
    """Why a signature is refused, and how the function is outlined for it. Shared by all function
    objects for which both are the same (`redefined_functions`).
    """

    rejection: Rejection  # of what the compiler stumbled over
    cause: Rejection  # `refusal_causes.with_cause` of it, which the user is told
    error: Exception  # what was raised
    _plans: dict[frozenset[str], OutliningPlan | None] = field(default_factory=dict)
    _candidates: _Candidates | None = None

    @property
    def is_about_source(self) -> bool:
        """Whether the source is refused, and not what the machine or the compiler has failed at."""
        return isinstance(self.error, Refused)

    def plan(
        self, function: FunctionType, types: Mapping[str, ArgType], dropped: frozenset[str]
    ) -> OutliningPlan | None:
        """The plan without the regions ``dropped``: see `plan_outlining`. Each is made once."""
        if not self._plans:
            self._candidates = plan_outlining(function, types, self.rejection)
        if dropped not in self._plans:
            whole, found = self._plans.get(_NONE), self._candidates
            has_none = whole is not None and {r.region.helper for r in whole.regions} <= dropped
            plan = None if has_none or found is None else found.plan(function, dropped)
            self._plans[dropped] = plan
        return self._plans[dropped]


def outline_function(
    function: FunctionType,
    types: Mapping[str, ArgType],
    rejection: Rejection,
    options: Options,
    region_type: type[FusedRegion],
) -> OutlinedFunction | None:
    """`function`, which was refused as a whole, as Python that calls the parts of it which compile
    (loop lifting); None if there are none. Where ``print`` is refused::

        def f(x):                          def f(x):
            print(len(x))                      print(len(x))
            s = 0.0                   →        return _tp_region_3_4(x)    # compiled on its own
            for v in x: s += v
            return s

    `plan_outlining` selects the regions, `bind_plan` makes the functions.
    """
    found = plan_outlining(function, types, rejection)
    plan = None if found is None else found.plan(function)
    return None if plan is None else bind_plan(plan, function, options, region_type)


def plan_outlining(
    function: FunctionType, types: Mapping[str, ArgType], rejection: Rejection
) -> _Candidates | None:
    """How `function`, which was refused for arguments of these types, is outlined:

    1. `RegionFacts` finds the statements that `rejection` blames, and others that cannot compile;
    2. `hoist_numpy_call` takes a refused NumPy call out of its statement, so that the rest of the
       statement can be in a region;
    3. `sink_lists` moves the creation of empty lists to the statements that fill them;
    4. `_Candidates.plan`, of the result, selects the regions (`outline_regions`), and makes the
       calling function. ``dropped``: the names of those that are to be Python again, as they are
       refused, or Python was measured to be faster.

    None if there are no regions, or none can help: the source cannot be read or the C compiler
    fails (SOURCE_…, BUILD_…), or `rejection` blames no statement of the body, but a default, say.
    """
    if rejection.span is None or rejection.family in ("SOURCE", "BUILD"):
        return None
    source = read_source(function)
    scope = Scope.of(function)
    facts = RegionFacts(source.tree, types, scope, rejection.span)
    if not any(map(facts.must_stay_python, source.tree.body)):
        return None
    if (tree := hoist_numpy_call(source.tree, facts.resolve, rejection.span)) is not source.tree:
        facts = RegionFacts(tree, types, scope, rejection.span)
    if (sunk := sink_lists(tree, facts.must_stay_python)) is not tree:
        tree, facts = sunk, RegionFacts(sunk, types, scope, rejection.span)
    return _Candidates(replace(source, function=None), tree, facts)


def _planned_region(region: Region, facts: RegionFacts, code: CodeType) -> _PlannedRegion:
    """What is known of `region`. ``code``: of the function that it is cut out of."""
    tree = region.tree
    names = [a.arg for a in tree.args.args]
    types = facts.types(names, region.run[0])
    loops = (n for n in walk_nodes(*tree.body) if isinstance(n, _LOOPS))
    return _PlannedRegion(
        region,
        code_from_tree(with_unassigned_results(tree), code, (*UNASSIGNED_CELLS,)),
        types=None if types is None else tuple(types[n] for n in names),
        loops=tuple(span for n in loops if (span := span_of(n)) is not None),
        keeps_order=_must_keep_order(region, facts),
        is_plain=is_plain_arithmetic(tree.body, facts.resolve),
    )


def bind_plan(
    plan: OutliningPlan,
    function: FunctionType,
    options: Options,
    region_type: type[FusedRegion],
    wanted: OutlinedFunction | None = None,
    *,
    role: RegionRole = _NO_REGION,
) -> OutlinedFunction:
    """`function` outlined by `plan`. Each region becomes a fused function (``region_type``), which
    is compiled when it is first called.

    ``wanted``: the outlined function so far (`OutlinedFunction.as_measured`), whose regions are
    used again. Those in its ``in_place`` get their statements beside the call (`original_in_place`)
    and those in its ``inlined`` in place of the call (`inline_refused_regions`).

    ``role``: of `function`, if that is a region itself. If a caller selects between `function` and
    Python as a whole, or all regions can be Python, no single region need be dropped
    (`RegionRole.is_selected_with_caller`).

    `Dispatcher._outline` calls this after a refusal, and when calls have shown which regions pay.
    """
    known_regions = {r.helper: r for r in wanted.regions} if wanted is not None else {}
    regions = [
        known_regions.get(planned.region.helper)
        or _bound_region(planned, plan.source, function, options, region_type, role)
        for planned in plan.regions
    ]
    as_whole = role.is_selected_with_caller or all(r.fused.role.can_be_python for r in regions)
    for region in regions:
        region.fused.role = replace(region.fused.role, is_selected_with_caller=as_whole)
    return _with_regions(plan, regions, function, wanted)


def _with_regions(
    plan: OutliningPlan, regions: Sequence[OutlinedRegion], function: FunctionType,
    wanted: OutlinedFunction | None,
) -> OutlinedFunction:
    """The outlined function of `plan`, in which the names of the helpers are bound to the fused
    functions of its regions. Regions that `wanted` has in place have their statements beside the
    call, with a test (`original_in_place`); regions that it has inlined, instead of the call.
    """
    dropped, in_place = (wanted.dropped, wanted.in_place) if wanted else (_NONE, _NONE)
    inlined = wanted.inlined if wanted else {}
    outlined = plan.outlined
    bodies = {helper: inner.calling_tree or inner.tree for helper, inner in inlined.items()}
    calling_tree, replaced = with_refused_regions_inlined(outlined.tree, bodies)
    cells = {r.helper: CellType(r.fused) for r in regions if r.helper not in replaced}
    for helper in replaced:
        cells |= inlined[helper].cells
    runs = {r.helper: r.run for r in regions if r.helper in in_place}
    tests = {r.helper: f"{_TEST_PREFIX}{r.helper}" for r in regions if r.helper in runs}
    cells |= {tests[r.helper]: r.fused.original_test for r in regions if r.helper in runs}
    calling_tree = with_originals_in_place(calling_tree, runs, tests)
    key = (in_place, frozenset((helper, inlined[helper].function.__code__) for helper in replaced))
    code = plan.codes.get(key)
    if code is None:
        untraced = with_calls_untraced(with_unassigned_results(calling_tree), cells.keys())
        helpers = (*cells, *_RUNTIME_CELLS)
        code = plan.codes[key] = code_from_tree(untraced, function.__code__, helpers)
    calling = function_of_code(code, function, {**cells, **_RUNTIME_CELLS})
    return OutlinedFunction(
        calling, outlined.tree, tuple(regions), outlined.loops, dropped, outlined.too_short,
        calling_tree, cells, in_place, inlined,
    )


def _bound_region(
    planned: _PlannedRegion,
    source: Source,
    function: FunctionType,
    options: Options,
    region_type: type[FusedRegion],
    role: RegionRole,
) -> OutlinedRegion:
    """The region as a fused function, whose source is that of `function`."""
    region, tree = planned.region, planned.region.tree
    inner = function_of_code(planned.code, function, UNASSIGNED_CELLS, same_signature=False)
    whole = source.whole or source.tree
    remember_text(inner, replace(
        source, tree=tree, line=tree.lineno, decorators=(), function=inner, whole=whole,
    ))
    is_in_loop = role.is_in_loop or region.is_in_loop
    in_order = is_in_loop and planned.keeps_order
    new = region_type(inner, replace(options, reassociate=False) if in_order else options)
    new.is_region = True
    new.role = RegionRole(
        is_in_loop=is_in_loop, can_be_python=not new.options.reassociate and planned.is_plain
    )
    return OutlinedRegion(region.helper, tree, new, planned.types, planned.loops, region.run)


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
