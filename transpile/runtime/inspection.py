"""Inspection without a call: report, listing and the text of each stage, for given types."""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import TYPE_CHECKING

from loopir.lazy_dataclass import replace
from targets.isa.target_registry import Target

from .. import knobs
from ..call_plan import ArgumentMismatch
from ..diagnostics import Refused, Rejection
from ..errors import NOTE_ON_EMPTY_LISTS, EmitError, FuseError, fallback_message
from ..frontend.ast_walk import walk_nodes
from ..frontend.source import Source, read_source, span_of
from ..frontend.unparse import print_python
from ..options import Options, chosen_target
from ..pipeline import Compilation, NamedStage, compile_stages, find_stages, run_stages
from ..report.guard_sentences import GuardFailures
from ..report.loop_report import Report
from ..report.measured_choice import (
    FasterAsPython,
    faster_as_python_rejection,
    too_short_rejections,
)
from ..report.refusal_causes import uncompiled_calls
from ..report.remark_selection import merge_equal, without_shown
from ..report.replay_exceptions import with_exceptions
from ..report.report_builder import (
    join_reports,
    report_compiled,
    report_refused,
    report_regions,
    report_without_source,
)
from ..report.source_listing import Listing, join_listings, make_listing
from ..types.typeof import parameter_names
from ..types.value_types import ArgType
from .compile_call import rejection_of
from .process.garbage_collection import collecting_less_often
from .refused.refusal_warnings import follows_from_outside, names_of_refused_values
from .specialization import Specialization

if TYPE_CHECKING:
    from .refused.region_records import FusedRegion, OutlinedFunction, OutlinedRegion

__all__ = ["EMIT_STAGES", "emit", "listing", "report", "report_all", "text_after"]

EMIT_STAGES = ("python", "loopir", "loopset", "mlir", "c", "asm")
"""In addition there is ``html``, a listing."""


@collecting_less_often()
def report(
    function: FunctionType,
    types: tuple[ArgType, ...],
    options: Options,
    spec: Specialization | None,
    region_type: type[FusedRegion],
    *,
    is_region: bool = False,
    in_python_loop: bool = False,
) -> Report:
    """The report on `function` for arguments of these types, without calling it: the stages up to
    the C text are run again for it. ``f.report()`` and the command come here:

    - it compiles, but its calls are refused for another reason, such as no C compiler:
      `report_refused` with that rejection;
    - else, if it compiles: `report_compiled`, with what has failed or was slow in its calls;
    - it was compiled, but its source cannot be read any more: `report_without_source`;
    - the compiler refuses it, or fails: `report_refused`, with the reports of its regions, if it is
      compiled in part.

    ``spec``: the specialization with its calls so far; None: there were none. ``is_region``: it is
    an outlined region, which is reported on as a part of its function; ``in_python_loop``: whose
    sums keep their order, since a Python loop calls it.
    """
    found = _report_on_types(
        function, types, options, spec, region_type, is_region=is_region,
        in_python_loop=in_python_loop,
    )
    names = parameter_names(function.__code__)
    if spec is None or not (empty := [f"`{names[k]}`" for k in spec.empty_at_first]):
        return found
    is_one = len(empty) == 1
    assumed = f"{' and '.join(empty)} {'was' if is_one else 'were'} empty in the first call: " \
              f"{NOTE_ON_EMPTY_LISTS}"
    return replace(found, assumed=assumed)


def _report_on_types(
    function: FunctionType,
    types: tuple[ArgType, ...],
    options: Options,
    spec: Specialization | None,
    region_type: type[FusedRegion],
    *,
    is_region: bool,
    in_python_loop: bool,
) -> Report:
    """As `report`, without its notes on arguments that were empty lists."""
    settings = knobs.read()
    target = chosen_target(options, settings)
    types_by_name = _types_by_parameter(function, types)
    stats = spec.stats.as_dict() if spec else None
    if spec is not None and (reason := _over_budget(spec, function)) is not None:
        source = _source_or_none(function)
        return report_refused(function, source, types_by_name, [reason], target, stats)
    try:
        stages = compile_stages(function, types_by_name, options, target.model, skip=settings.skip)
        compiled_report = report_compiled(
            stages, target, stats, _failures(spec), _faster_as_python(spec), is_region=is_region,
            in_python_loop=in_python_loop,
        )
        rejection = spec.rejection if spec else _build_failure(stages, target, options)
    except Exception as error:
        reason = rejection_of(error)
        if spec is not None and reason.family == "SOURCE":  # changed since it was compiled
            if spec.is_compiled:
                return report_without_source(function, types_by_name, reason, target, stats)
            reason = spec.rejection or reason
        outlined = spec.outlined if spec else _outlined_or_none(
            function, types_by_name, reason, options, region_type
        )
        refused = report_refused(
            function, _source_or_none(function), types_by_name, [reason], target, stats
        )
        if outlined is not None:
            refused = _report_with_regions(function, outlined, refused)
        elif reason.code == "LOWER_LIBRARY":
            refused = replace(refused, rejections=_with_uncompiled_calls(function, refused))
        if spec is None:
            return refused
        told = with_exceptions(refused.rejections, spec.raised)
        given_up = _given_up(spec, is_region=is_region)
        return replace(refused, rejections=merge_equal((*told, *given_up)))
    if rejection is None:
        return compiled_report
    return report_refused(function, stages.source, types_by_name, [rejection], target, stats)


def report_all(function: FunctionType, options: Options, reports: Sequence[Report]) -> Report:
    """The report on all call signatures so far, of which there is one of `reports` for each."""
    return join_reports(function, reports, chosen_target(options, knobs.read()))


def _failures(spec: Specialization | None) -> GuardFailures | None:
    """The guards that failed in the calls so far."""
    if spec is None or not spec.replays:
        return None
    failed, mismatches = Counter[int](), dict[str, ArgumentMismatch]()
    raised_after = Counter[str]()
    for raised, count in spec.raised.items():
        raised_after[raised.reason] += count
    observed = {code: calls for code, (calls, _) in spec.observers.items()}
    always = frozenset(code for code, calls in observed.items() if calls == raised_after[code])
    never = frozenset(code for code in observed if not raised_after[code])
    for variant in spec.variants:
        failed.update(variant.failed_guards)
        mismatches |= variant.mismatches
    return GuardFailures(
        guards=failed, mismatches=mismatches, raised=spec.raised, always_raised=always,
        never_raised=never, replays=spec.stats.replays,
    )


def _faster_as_python(spec: Specialization | None) -> FasterAsPython | None:
    """The calls so far that Python serves because it is faster."""
    selections = [v.selection for v in spec.variants if v.selection] if spec else []
    return selections[-1].faster_as_python() if selections else None


def _given_up(spec: Specialization, *, is_region: bool) -> Iterator[Rejection]:
    """Why Python runs loops that are regions, or were before they were dropped: compiled code was
    measured to be slower, or is refused, but not for what follows from cutting the function into
    regions (`follows_from_outside`).
    """
    if spec.selection is not None and (faster := spec.selection.faster_as_python()):
        yield faster_as_python_rejection(faster, (), spec.types, [] if is_region else None)
    for region in spec.dropped:
        if region.loops and region.latest is not None:
            reasons = region.fused.report_for(region.latest).rejections
            values = region.fused.warnings.refused_values
            yield from (
                r for r in reasons if r.family in ("BUDGET", "LOWER", "RUN")
                and not follows_from_outside(r, values, has_loops=True)
            )


@collecting_less_often()
def listing(
    function: FunctionType,
    types: tuple[ArgType, ...],
    options: Options,
    spec: Specialization | None,
) -> Listing:
    """`function` line by line for arguments of these types; of an outlined function, the regions
    that have run (in `spec`).

    Raises FuseError where nothing is compiled.
    """
    settings = knobs.read()
    target = chosen_target(options, settings)
    try:
        stages = compile_stages(
            function, _types_by_parameter(function, types), options, target.model,
            skip=settings.skip,
        )
        return _compiled_listing(stages, target)
    except Exception as error:
        rejection = rejection_of(error)
        regions = spec.outlined.regions if spec and spec.outlined else ()
        if region_listings := [
            p.fused.listing_for(p.latest) for p in regions if p.latest is not None
        ]:
            return join_listings(read_source(function), target.name, region_listings)
        message = fallback_message(function, types, rejection.code, rejection, runs=False)
        raise FuseError(message, rejection.code) from error


def _compiled_listing(stages: Compilation, target: Target) -> Listing:
    """The listing of a compiled function."""
    from targets.build.build_kernel import BuildError, NoCompiler, assembly

    def assembled(c: str) -> str:
        """The assembly of the C text `c`; empty without a compiler."""
        try:
            return assembly(c, target, contract=stages.options.fma, lines=True)
        except (NoCompiler, BuildError):
            return ""  # without assembly

    c = stages.c(target, marked=True)
    return make_listing(stages.source, stages.kernel, c, target.name, assembled)


@collecting_less_often()
def emit(
    stage: str,
    function: FunctionType,
    types: tuple[ArgType, ...],
    options: Options,
    region_type: type[FusedRegion],
) -> str:
    """The text of one stage. Raises FuseError where there is none (EmitError, where the function
    compiles), ValueError for an unknown stage.
    """
    if stage not in EMIT_STAGES:
        raise ValueError(f"no stage {stage!r} (stages: {', '.join([*EMIT_STAGES, 'html'])})")
    settings = knobs.read()
    target = chosen_target(options, settings)
    try:
        stages = compile_stages(
            function, _types_by_parameter(function, types), options, target.model,
            skip=settings.skip,
        )
        return _stage_text(stage, stages, target)
    except EmitError:
        raise
    except Exception as error:
        rejection = rejection_of(error)
        parts = _outlined_or_none(
            function, _types_by_parameter(function, types), rejection, options, region_type
        )
        if parts is not None and (text := _text_of_regions(stage, parts)):
            return text
        message = fallback_message(function, types, rejection.code, rejection, runs=False)
        raise FuseError(message, rejection.code) from error


def text_after(
    stage: str, function: FunctionType, types: tuple[ArgType, ...], options: Options
) -> str:
    """The program as it is after the stage of this name, one of `pipeline.STAGES` or a pass: of a
    pass that runs more than once, after ``NAME@N``, or after the last if only ``NAME`` is given.

    Raises FuseError where the function does not get so far, ValueError where there is no such stage
    or its result has no text.
    """
    from ..trace import text_of_form

    last = find_stages(stage)[-1]
    settings = knobs.read()
    target = chosen_target(options, settings)
    state = Compilation(
        function=function, types=_types_by_parameter(function, types), options=options,
        machine=target.model, target=target,
    )
    last_form = ""

    def note_form(named: NamedStage, before: Compilation, after: Compilation) -> None:
        """Remember the form that the stage has made."""
        nonlocal last_form
        last_form = named.stage.to_form

    try:
        state = run_stages(state, stop_after=last, skip=settings.skip, observe=note_form)
    except Exception as error:
        rejection = rejection_of(error)
        message = fallback_message(function, types, rejection.code, rejection, runs=False)
        raise FuseError(message, rejection.code) from error
    return text_of_form(last_form, state)


def _stage_text(stage: str, stages: Compilation, target: Target) -> str:
    """The text of one of `EMIT_STAGES`. Raises EmitError for a kernel without MLIR form."""
    match stage:
        case "python":
            return print_python(stages.python)
        case "loopir":
            from loopir.ir_printer import show

            return show(stages.kernel)
        case "loopset":
            from loopir.passes.nest_plans import show_nest_plans
            from targets.legalization.legalize import describe_unrolling, legalize

            reassociate = stages.options.reassociate
            plans = show_nest_plans(stages.plain, target.model, reassociate=reassociate)
            descriptions = dict.fromkeys(
                describe_unrolling(legalize(stages.kernel, target), target)
            )
            return "\n".join((plans, "", *descriptions))
        case "mlir":
            from targets.mlir import NoMlirForm

            try:
                return stages.mlir()
            except NoMlirForm as error:
                text = f"{stages.plan.kernel.name} cannot be printed as MLIR: {error}"
                raise EmitError(text, "BUILD_FAILED") from error
        case "c":
            return stages.c(target)
        case _:
            from targets.build.build_kernel import assembly

            return assembly(stages.c(target), target, contract=stages.options.fma)


def _over_budget(spec: Specialization, function: FunctionType) -> Rejection | None:
    """Why nothing of a region was compiled: what the function has, with its regions, was too much
    (`CompileBudget`). Shown at the first loop of the region. None where this is not the reason.
    """
    reason = spec.rejection
    if reason is None or reason.family != "BUDGET" or reason.span is not None:
        return None
    source = _source_or_none(function)
    nodes = walk_nodes(*source.tree.body) if source is not None else ()
    places = [span_of(n) for n in nodes if isinstance(n, (ast.For, ast.While))]
    return replace(reason, span=next(iter(places), None))


def _outlined_or_none(
    function: FunctionType,
    types: dict[str, ArgType],
    rejection: Rejection,
    options: Options,
    region_type: type[FusedRegion],
) -> OutlinedFunction | None:
    """The outlined function; None if it is refused."""
    from .refused.outlined_function import outline_function

    try:
        return outline_function(function, types, rejection, options, region_type)
    except Refused:
        return None


def _report_with_regions(
    function: FunctionType, outlined: OutlinedFunction, refused: Report
) -> Report:
    """The report with those of the regions: for the types of their last call, if they have run. It
    shows all calls that are left to a library (`_with_uncompiled_calls`), if all loops are
    compiled, too.
    """
    reports = [
        _without_consequences(p.fused.report_for(p.latest), p, outlined, refused)
        for p in outlined.regions if p.latest is not None
    ]
    not_run = [span for p in outlined.regions if p.latest is None for span in p.loops]
    found = report_regions(
        refused, reports, not_run, covers_all_loops=not outlined.loops,
        have_all_run=all(p.latest is not None for p in outlined.regions),
    )
    known = {n: ty for n, ty in found.names.items() if n not in _names_bound_outside(outlined)}
    found = replace(found, names=known)
    too_short = [span for s in outlined.too_short if (span := span_of(s)) is not None]
    shown = (*_with_uncompiled_calls(function, found), *too_short_rejections(too_short))
    return replace(found, rejections=shown, further=without_shown(found.further, shown))


def _with_uncompiled_calls(function: FunctionType, report: Report) -> tuple[Rejection, ...]:
    """The rejections of `report`, and all calls that are left to a library (`uncompiled_calls`);
    then in source order.
    """
    left = [*uncompiled_calls(function)]
    merged = merge_equal((*report.rejections, *left))
    by_line = sorted(merged, key=lambda rejection: rejection.line or 0)
    return tuple(by_line) if left else report.rejections


def _names_bound_outside(outlined: OutlinedFunction) -> set[str]:
    """The names that the calling function binds itself, not only by a call of a region: their types
    there are not known.
    """
    helpers = {r.helper for r in outlined.regions}
    nodes = [*walk_nodes(outlined.tree)]
    results = {
        id(to) for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
        and isinstance(n.value.func, ast.Name) and n.value.func.id in helpers
        for target in n.targets for to in walk_nodes(target)
    }
    stored = (n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return {n.id for n in stored if id(n) not in results}


def _without_consequences(
    report: Report, region: OutlinedRegion, outlined: OutlinedFunction, refused: Report
) -> Report:
    """The report of a region, in which refusals that have no cause of their own are moved to
    `further` (`follows_from_outside`), since the user can do nothing about them. They may follow
    from what `refused` says, or from why a function around that was cut into regions.
    """
    values = {*names_of_refused_values(outlined.tree, refused.rejections)}
    values |= region.fused.warnings.refused_values
    has_loops = bool(region.loops)
    follows = [
        follows_from_outside(r, values, has_loops=has_loops) for r in report.rejections
    ]
    pairs = [*zip(report.rejections, follows, strict=True)]
    return replace(
        report,
        rejections=tuple(r for r, is_consequence in pairs if not is_consequence),
        further=(*(r for r, is_consequence in pairs if is_consequence), *report.further),
    )


def _text_of_regions(stage: str, outlined: OutlinedFunction) -> str:
    """The texts of all regions that reach this stage; for ``python`` also that of the outlined
    function, which calls them.
    """
    texts = [*filter(None, (_text_of_region(stage, part) for part in outlined.regions))]
    if stage == "python":
        texts.append(print_python(outlined.tree))
    return "\n\n".join(texts)


def _text_of_region(stage: str, part: OutlinedRegion) -> str:
    """The text of one region under the name of its helper; empty if it has none."""
    text = ""
    if part.latest is not None:
        try:
            text = part.fused.emit_for(stage, part.latest)
        except EmitError:
            raise
        except FuseError:  # a region that is refused has no text
            pass
    if stage != "python":
        return text
    *others, function = ast.parse(text or print_python(part.tree)).body
    assert isinstance(function, ast.FunctionDef)
    function.name = part.helper
    return "\n\n".join(map(print_python, (*others, function)))


def _types_by_parameter(function: FunctionType, types: tuple[ArgType, ...]) -> dict[str, ArgType]:
    """Types by parameter name; empty for an unknown call signature."""
    return dict(zip(parameter_names(function.__code__), types, strict=False))


def _source_or_none(function: FunctionType) -> Source | None:
    """The source of the function; None if there is none."""
    try:
        return read_source(function)
    except Refused:
        return None


def _build_failure(stages: Compilation, target: Target, options: Options) -> Rejection | None:
    """Why the kernel cannot be built here; None if it can, or if it is for another machine."""
    from targets.build.build_kernel import BuildError, NoCompiler, build_kernel
    from targets.isa.target_registry import runs_here

    if not runs_here(target):
        return None
    try:
        build_kernel(stages.c(target), target, cache=options.cache, contract=options.fma)
    except (NoCompiler, BuildError) as error:
        return rejection_of(error)
    return None
