"""Builds a Report from the pipeline's results: loops, guards, missed vectorisation.

`report_compiled` reads the stages of a function that compiles, `report_refused` the rejections of
one that does not, `report_regions` joins the reports of a function that compiles in part, and
`join_reports` those of several call signatures.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from loopir.analysis.main_loops import checks_only, main_loops, names_with_effects
from loopir.dtypes import DTYPES
from loopir.ir_traversal import EXPRESSIONS, advanced_accums, children, walk
from loopir.nodes import (
    Append,
    Call,
    Kernel,
    Load,
    LoopLike,
    Node,
    PredLoop,
    Prefix,
    Scan,
    Span,
    Store,
    VecLoop,
    While,
)
from loopir.passes.vector.vectorize import loops_left_scalar, vectorize
from targets.isa.target_registry import Target
from targets.kernel_selection import match_kernel

from ..diagnostics import Label, Refused, Rejection
from ..frontend.ast_walk import child_nodes, walk_nodes
from ..frontend.core_nodes import inlined_at
from ..frontend.defining_modules import is_stand_in
from ..frontend.name_resolution import Scope
from ..frontend.source import Source, is_within, read_source, span_of
from ..pipeline import Compilation
from ..types.value_types import ArgType
from .budget_note import budget_note, is_noticeably_slower
from .fusion_blockers import effect_rejections
from .guard_sentences import GuardFailures, failed_guard_rejections, guard_sentences
from .loop_report import LoopInfo, Report
from .measured_choice import FasterAsPython, faster_as_python_rejection
from .refusal_causes import with_cause, with_help
from .remark_selection import fusion_remarks, list_copies, merge_equal, without_shown
from .thread_remarks import elements_for_threads, missing_threads, with_threads
from .user_terms import UserTerms, source_segment, user_terms, with_cited_elements

__all__ = [
    "loop_infos", "scalar_loop_rejections", "join_reports", "report_compiled", "report_regions",
    "report_refused", "report_without_source",
]

_FREE = ("select", "cast")  # no arithmetic


def loop_infos(
    legal: Kernel, scalar: Kernel, target: Target, written: Sequence[Span] = (),
    drawn: frozenset[str] = frozenset(), joined: Iterable[Sequence[int]] = (),
    lines: Mapping[int, str] | None = None,
) -> tuple[LoopInfo, ...]:
    """The lines of a report on loops, as data: one LoopInfo for each innermost loop of the final
    kernel, under the first line of the source loops that it runs. For two loops that were joined::

        3: for i in range(n): t[i] = a[i] * 2
        4: for i in range(n): y[i] = t[i] + 1
        →  LoopInfo(line 3, "map", lanes=4, fused_with=(4,), bytes=16, unfused_bytes=32, flops=2)

    - ``legal``: the kernel in the registers of ``target``, from which lanes, bytes and flops come;
    - ``scalar``: the kernel as lowered, whose loops are those of the source: they tell what a final
      loop runs, and how many bytes they moved before fusion;
    - ``written``: the places of the ``for`` and ``while`` statements. If no loop is left for one of
      them, since it was unrolled, say, its LoopInfo says so;
    - ``drawn``: the arrays with the states of random generators;
    - ``joined``: the lines of the loops that fusion has made one (`Fusion.lines`);
    - ``lines``: the lines of the file, to cite from.

    A loop that has become several has the LoopInfo of the one that does its work (`main_loops`);
    of several, of the widest (`_widest`). Loops that implement one operation (`Span.internal`) have
    none.
    """
    inner = [(loop.span, loop) for loop in _innermost_loops(scalar) if loop.span is not None]
    unfused_bytes = {span: _bytes_per_iteration(loop) for span, loop in inner}
    unfused_flops = {span: _flops_per_iteration(loop) for span, loop in inner}
    user_loops = [*unfused_bytes]
    scalar_spans = {n.span for n in walk(scalar) if isinstance(n, LoopLike)}
    around = _spans_around(scalar)
    by_span: dict[Span, LoopInfo] = {}
    elements, used = elements_for_threads(legal, _innermost_loops), names_with_effects(legal)
    final_loops: list[tuple[LoopLike, list[Span]]] = []
    for loop in _innermost_loops(legal):
        origins = _user_loops_run_by(loop, user_loops)
        is_outer = loop.span in scalar_spans and not origins and not checks_only(loop, used)
        if is_outer and loop.span is not None:
            origins = [loop.span]  # an outer loop: those in it were unrolled
        final_loops.append((loop, origins))
    for loop, origins in main_loops(final_loops, legal):
        unfused = sum(unfused_bytes.get(span, 0) for span in origins)
        info = _loop_info(loop, origins, target, unfused, drawn, lines or {})
        info = info.per_element(unfused, sum(unfused_flops.get(s, 0) for s in origins))
        outer = dict.fromkeys(span for s in origins for span in around.get(s, ()))
        info = replace(info, around=tuple(outer), threads_from=elements.get(id(loop), 0))
        by_span[info.span] = _widest(by_span.get(info.span), info)
    # the loops of the source of which something is left: shown, around one, or run by a final loop
    left = [*by_span, *(s for spans in around.values() for s in spans)]
    left += [s for _, origins in final_loops for s in origins]
    left += _note_joined_loops(by_span, [s for s in user_loops if s not in left], joined)
    for span in written:
        if not any(is_within(other, span) or other == span for other in left):
            by_span[span] = LoopInfo(span=span, what="loop", isa="none", notes=(_NOTHING_LEFT,))
    return tuple(sorted(by_span.values(), key=lambda info: (info.span.line, info.span.col)))


def _note_joined_loops(
    by_span: dict[Span, LoopInfo], missing: Sequence[Span], joined: Iterable[Sequence[int]]
) -> Iterator[Span]:
    """Adds to the LoopInfos in `by_span`, in place, the lines of further loops that fusion made one
    with theirs. Yields these loops: something of them is left.

    `missing`: the user's loops of which the final kernel has no statement with a place in them;
    `joined`: for each fusion the lines of its loops.
    """
    for lines in map(frozenset, joined):
        lost = [span for span in missing if span.line in lines]
        of = next((info for info in by_span.values() if info.line in lines), None)
        if lost and of is not None:
            others = {*of.fused_with, *(span.line for span in lost)} - {of.line}
            by_span[of.span] = replace(of, fused_with=tuple(sorted(others)))
            yield from lost


def _widest(previous: LoopInfo | None, info: LoopInfo) -> LoopInfo:
    """The LoopInfo for a loop of the source that has become two loops: that of the one with more
    lanes. ``threads_from`` is the larger one: a loop that no threads run has 0.
    """
    if previous is None:
        return info
    wider = info if (info.lanes or 0) > (previous.lanes or 0) else previous
    return replace(wider, threads_from=max(info.threads_from, previous.threads_from))


_NOTHING_LEFT = "unrolled, or computed without a loop"


def _spans_around(scalar: Kernel) -> dict[Span, tuple[Span, ...]]:
    """For each loop with a span: the spans of the loops around it, outermost first."""
    around: dict[Span, tuple[Span, ...]] = {}

    def visit(n: Node, outer: tuple[Span, ...]) -> None:
        """Notes the loops in `n`."""
        span = n.span if isinstance(n, LoopLike) else None
        if span is not None and not span.internal:
            around.setdefault(span, tuple(s for s in outer if s != span))
            outer = (*outer, span)
        for child in children(n):
            visit(child, outer)

    visit(scalar, ())
    return around


def _source_loops(source: Source) -> list[Span]:
    """The spans of the ``for`` and ``while`` statements of the function, not of inner functions."""
    found: list[Span] = []
    worklist: list[ast.AST] = [*source.tree.body]
    while worklist:
        node = worklist.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, (ast.For, ast.While)) and (span := span_of(node)) is not None:
            found.append(span)
        worklist += child_nodes(node)
    return found


def scalar_loop_rejections(
    kernel: Kernel, loops: Sequence[LoopInfo], terms: UserTerms, *, reassociate: bool,
    in_python_loop: bool = False,
) -> tuple[Rejection, ...]:
    """One rejection (VECTOR_…) for each loop of the report that has no vector lanes, with the
    reason that the vectoriser gives, in the user's names. Those of operations (`_is_users`) are for
    the report in detail::

        VECTOR_CARRIED  "compiled as scalar code: `level` depends on the iteration before …"

    ``kernel``: as it was before vectorisation, which names the reasons; ``loops``: the final loops
    of the report. There is no rejection for a loop that has become a vector loop after all, nor for
    one whose note already says why it is scalar (`_NO_LANES`: a dict, a set, random numbers).
    ``in_python_loop``: see `report_compiled`.
    """
    scalar = {loop.span for loop in loops if not loop.lanes and _NO_LANES not in loop.notes}
    reasons = loops_left_scalar(kernel, reassociate=reassociate)
    of_span = [(loop, [loop.span]) for loop, _ in reasons if loop.span in scalar and loop.span]
    main = {id(loop) for loop, _ in main_loops(of_span, kernel)}
    first_reasons: dict[Span, Rejection] = {}
    for loop, reason in reasons:
        if loop.span is not None and id(loop) in main:
            if in_python_loop and reason.code == "VECTOR_REASSOCIATE":
                reason = replace(reason, message=_ORDER_IS_KEPT, help=_HELP_FOR_ORDER)
            first_reasons.setdefault(loop.span, reason)  # a split loop has several
    return tuple(
        _scalar_loop_rejection(span, reason, terms) for span, reason in first_reasons.items()
    )


def _scalar_loop_rejection(loop: Span, reason: Rejection, terms: UserTerms) -> Rejection:
    """The rejection of the `loop` that stays scalar, in the user's names. `reason` is placed at its
    cause, such as one store in the loop; this one is placed at the loop, with a label at the cause.
    """
    elsewhere = reason.span if reason.span != loop else None
    labels = (Label(elsewhere, "here"),) if elsewhere else ()
    message = f"compiled as scalar code: {with_cited_elements(reason, terms.lines)}"
    help = reason.help if _is_users(loop, reason, terms) else _HELP_FOR_OPERATION
    return terms.rejection(Rejection(reason.code, message, loop, labels, help=help))


def _is_users(loop: Span | None, reason: Rejection, terms: UserTerms) -> bool:
    """Whether the user can change why a loop stays scalar: it is one of the source, as those of
    ``any(v > 2 for v in x)``, or `reason` is an option; not where the loop is made of an operation,
    such as ``y.remove(3)`` or ``x @ y``.
    """
    written = loop is not None and any(s == loop or is_within(s, loop) for s in terms.loops)
    return written or reason.code == "VECTOR_REASSOCIATE"


def _innermost_loops(n: Node) -> Iterator[LoopLike]:
    """The innermost loops in `n`, apart from internal ones. A vector loop stands for the loops in
    it and for its remainder.
    """
    if isinstance(n, (VecLoop, PredLoop)):
        if not _is_internal(n):
            yield n
        return
    inner = [loop for child in children(n) for loop in _innermost_loops(child)]
    yield from inner
    if isinstance(n, LoopLike) and not inner and not _is_internal(n):
        yield n


def _is_internal(n: LoopLike) -> bool:
    """Whether the loop implements one operation of the source."""
    return n.span is not None and n.span.internal


def _user_loops_run_by(loop: LoopLike, user_loops: Sequence[Span]) -> list[Span]:
    """The user's loops whose statements this one runs, in source order. Expressions do not count:
    the bounds of its range may be computed at the place of another loop.
    """
    statements = (n for n in walk(loop) if not isinstance(n, EXPRESSIONS))
    spans = [span for n in statements if (span := getattr(n, "span", None)) is not None]
    origins = {outer for outer in user_loops if any(is_within(inner, outer) for inner in spans)}
    return sorted(origins, key=lambda span: (span.line, span.col))


def _loop_info(
    loop: LoopLike, origins: Sequence[Span], target: Target, unfused_bytes: int,
    drawn: frozenset[str], lines: Mapping[int, str],
) -> LoopInfo:
    """The LoopInfo of `loop`, a loop of the final kernel, which runs the user's loops at `origins`,
    the first of which is its place. A scalar loop with the search of a dict in it, or draws of
    random numbers, has a note on that in place of numbers, which would count the search.
    ``unfused_bytes``: what the loops at `origins` move per iteration without fusion; ``drawn``: the
    arrays with the states of random generators; ``lines``: those of the file, to cite from.
    """
    lanes = loop.width if isinstance(loop, (VecLoop, PredLoop)) else 1
    is_vector = isinstance(lanes, int) and lanes > 1
    operations = [n.span for n in walk(loop) if isinstance(n, LoopLike) and _is_internal(n)]
    draws = any(isinstance(n, Load) and n.array in drawn for n in walk(loop))
    if (operations or draws) and not is_vector:
        cited = (source_segment(span, lines) for span in operations if span is not None)
        first = next(filter(None, cited), None)
        what = f"`{first}`" if first else "an operation"
        note = "draws random numbers" if draws else f"{what} needs a loop of its own"
        return LoopInfo(span=origins[0], what="loop", notes=(note, _NO_LANES))
    is_scan = not is_vector and target.bits and any(isinstance(n, Prefix) for n in walk(loop))
    return LoopInfo(
        span=origins[0],
        what=_loop_kind(loop),
        notes=(_NO_SLOWER,) if is_scan else (),
        lanes=int(lanes) if is_vector else None,
        isa=target.name if is_vector else "scalar",
        fused_with=tuple(sorted({s.line for s in origins} - {origins[0].line})),
        bytes=_bytes_per_iteration(loop),
        unfused_bytes=unfused_bytes,
        flops=_flops_per_iteration(loop),
    )


def _as_recurrence(loop: LoopInfo) -> LoopInfo:
    """The LoopInfo of a loop with an accumulator that is no fold, so that it stays scalar: "fold"
    in its description becomes "recurrence".
    """
    return replace(loop, what=loop.what.replace("fold", "recurrence"))


_NO_SLOWER = "lanes would not be faster"  # of a scan whose sums are checked, in `legalize`
_NO_LANES = "no lanes"
"""The note of a loop with an operation that is a loop itself, or with draws."""


def _loop_kind(loop: LoopLike) -> str:
    """What the loop does, in words: scan, while, or of filter, map, scan and fold those that apply.
    A vector loop with a `Prefix` is a scan, if it stores or is a recurrence: each of its values
    needs those before.
    """
    if isinstance(loop, (Scan, While)):
        return type(loop).__name__.lower()
    nodes = list(walk(loop))
    filters = isinstance(loop, PredLoop) or any(isinstance(n, Append) for n in nodes)
    stores = any(isinstance(n, (Store, Append)) for n in nodes)
    prefixes = [n for n in nodes if isinstance(n, Prefix)]
    scans = stores or any(n.factor for n in prefixes)  # else checks alone read partial results
    parts = ["filter"] * filters + ["map"] * stores + ["scan"] * bool(prefixes and scans)
    parts += ["fold"] * (bool(_reductions(loop)) or bool(prefixes and not scans))
    return ", ".join(parts) or "loop"


def _reductions(loop: LoopLike) -> tuple[Node, ...]:
    """The accumulators of a loop, without counters of appends."""
    return tuple(acc for acc in getattr(loop, "accs", ()) if acc.name not in advanced_accums(loop))


def _bytes_per_iteration(loop: LoopLike) -> int:
    """The bytes that one iteration reads and writes (the memory traffic of the report), each
    element counted once, since later accesses find it in a register or in the cache::

        y[i] = x[i] * x[i] + x[i + 1]      # f64: reads x[i], x[i + 1], writes y[i]: 24 bytes

    Accesses are the same if array and subscripts are; an append counts as one element a list.
    """
    loads = {(n.array, n.index): n.dtype for n in walk(loop) if isinstance(n, Load)}
    stores = {
        (n.array, n.index if isinstance(n, Store) else ()): n.value.dtype
        for n in walk(loop)
        if isinstance(n, (Store, Append))
    }
    return sum(DTYPES[d].bytes for d in (*loads.values(), *stores.values()))


def _flops_per_iteration(loop: LoopLike) -> int:
    """Floating-point operations of one iteration, as the source has them; a function such as exp
    counts as one.
    """
    nodes = [*walk(loop)]
    calls = (n for n in nodes if isinstance(n, Call) and n.op not in _FREE)
    scans = (n for n in nodes if isinstance(n, Prefix) and DTYPES[n.value.dtype].kind == "f")
    return sum(DTYPES[n.dtype].kind == "f" for n in calls) + sum(1 + bool(n.factor) for n in scans)


_ORDER_IS_KEPT = "floats are summed in order, since Python runs the loop around this one"
_HELP_FOR_ORDER = (
    "sum the items of an array that is an argument of the function, or move what stays Python out "
    "of the outer loop"
)
_HELP_FOR_OPERATION = "nothing needs to be done: it is compiled, one element after the other"
_COMPILED_WHEN_RUN = ("has not run yet: it is compiled when it does",)


def report_compiled(
    stages: Compilation, target: Target, stats: Mapping[str, object] | None = None,
    failures: GuardFailures | None = None, faster: FasterAsPython | None = None, *,
    is_region: bool = False, in_python_loop: bool = False,
) -> Report:
    """The report on a function that compiles for `target`, or on an outlined region that does
    (``is_region``). ``failures``, ``faster``: why Python has served calls of it so far.
    ``in_python_loop``: it is in a loop that Python runs, so its sums keep their order.
    """
    source, compiled = stages.source, stages.plan.kernel
    renamed, helpers = stages.inlining.source_names, _helper_texts(stages)
    terms = user_terms(source, stages.types, renamed, helpers)
    written, legal = _source_loops(source), stages.legal(target)
    drawn = stages.plan.generator_parts
    loops = loop_infos(
        legal, stages.scalar, target, written, drawn, stages.fusion.lines, terms.lines
    )
    scalar_rejections = scalar_loop_rejections(
        _unvectorised(stages), loops, terms, reassociate=stages.options.reassociate,
        in_python_loop=in_python_loop,
    )
    carried = {r.span for r in scalar_rejections if r.code == "VECTOR_CARRIED"}
    copies = list_copies(source.tree)
    reasons = [r for r in scalar_rejections if r.code != "VECTOR_CARRIED" or r.span not in copies]
    in_detail = [r for r in reasons if not _is_users(r.span, r, terms)]
    loops = tuple(_as_recurrence(loop) if loop.span in carried else loop for loop in loops)
    loops = tuple(replace(k, what="copy") if k.span in copies else k for k in loops)
    if stages.options.threads != 1:
        loops = tuple(with_threads(loops, stages, terms, _innermost_loops))
    if handwritten := match_kernel(compiled, target):
        loops = tuple(replace(loop, notes=(*loop.notes, handwritten.note)) for loop in loops)
    remarks = [terms.rejection(r) for r in stages.fusion.rejections if terms.has(r)]
    shown, further = fusion_remarks(remarks, written)
    sources = stages.plan.sources
    failed = [*failed_guard_rejections(legal, terms, failures, sources)] if failures else []
    if faster:
        body = source.tree.body if is_region else None
        failed.append(faster_as_python_rejection(faster, written, stages.types.values(), body))
    budget = tuple(budget_note(stages, target))
    is_felt = is_noticeably_slower(stages, target)
    of_users = [r for r in reasons if r not in in_detail]
    reasons = [*failed, *shown, *of_users, *(budget if is_felt else ())]
    further += [*in_detail, *(() if is_felt else budget)]
    names = _name_types(stages)
    return Report(
        function=source.qualname,
        path=source.path,
        line=source.line,
        signature=_signature(stages.types),
        target=target.name,
        accepted=True,
        rejections=merge_equal(map(with_help, reasons)),
        further=merge_equal(map(with_help, further)),
        fused=stages.fusion.fused,
        vectorized=sum(loop.lanes is not None for loop in loops),
        guards=guard_sentences(compiled, terms),
        regions=1,
        loops=loops,
        missing_threads=missing_threads(loops),
        temporaries=_temporaries(stages, terms, names),
        names={terms.unmangled(name): kinds for name, kinds in names.items()},
        stats=stats,
        source=terms.lines,
    )


def _temporaries(
    stages: Compilation, terms: UserTerms, names: Mapping[str, str]
) -> tuple[str, ...]:
    """The user's local arrays, also of helpers, that are never allocated."""
    removed = {terms.variable(array) for array in stages.fusion.contracted} - {None, *stages.types}
    scalars = {name for name, ty in names.items() if "[" not in ty and ty != "list"}
    return tuple(sorted(name for name in removed if name is not None and name not in scalars))


def _helper_texts(stages: Compilation) -> Iterator[str]:
    """The texts of the helpers that were inlined."""
    places = (inlined_at(node) for node in walk_nodes(stages.called))
    for function in {place.function for place in places if place is not None} - {None}:
        with suppress(Refused):
            if not is_stand_in(function):
                yield read_source(function).text


def report_refused(
    function: Callable[..., Any],
    source: Source | None,
    types: Mapping[str, ArgType],
    rejections: Sequence[Rejection],
    target: Target,
    stats: Mapping[str, object] | None = None,
) -> Report:
    """The report on a function that runs as Python, for arguments of these types.

    Shown is for each of `rejections` its cause (`with_cause`), equal ones once. In detail it also
    shows the effects, such as ``print``, that would prevent fusion even if it compiled
    (`effect_rejections`). If regions of the function are compiled, `report_regions` adds them.

    ``source``: None where it is unavailable; ``stats``: of the calls so far.
    """
    code = function.__code__
    effects = effect_rejections(source.tree, Scope.of(function), types) if source else ()
    reasons = [with_help(with_cause(function, types, r)) for r in rejections]
    return Report(
        function=function.__qualname__,
        path=source.path if source else code.co_filename,
        line=source.line if source else code.co_firstlineno,
        signature=_signature(types),
        target=target.name,
        accepted=False,
        rejections=merge_equal(reasons),
        further=merge_equal(map(with_help, effects)),
        stats=stats,
        source=dict(enumerate(source.lines, 1)) if source else {},
    )


def report_without_source(
    function: Callable[..., Any], types: Mapping[str, ArgType], reason: Rejection, target: Target,
    stats: Mapping[str, object] | None,
) -> Report:
    """The report on a function that is compiled, but whose source cannot be read any more, for this
    `reason`: the file was changed or removed, say.
    """
    return Report(
        function=function.__qualname__,
        path=function.__code__.co_filename,
        line=function.__code__.co_firstlineno,
        signature=_signature(types),
        target=target.name,
        accepted=True,
        regions=1,
        unknown=f"no more is known, since {reason.message}",
        stats=stats,
    )


def report_regions(
    refused: Report, regions: Sequence[Report], not_run: Sequence[Span], *,
    covers_all_loops: bool, have_all_run: bool,
) -> Report:
    """The report on a function that is compiled in part: `refused`, that of the function as a
    whole, with the loops, guards and rejections of the reports on its `regions`.

    It is accepted if all its loops are compiled: they are all in regions (``covers_all_loops``),
    which ``have_all_run``, and are accepted. Then the refusals of the whole function say nothing
    about slow loops, and are shown in detail only; except names that do not exist, which are always
    shown. (The caller, `inspection.report`, adds the calls that NumPy runs.)

    ``not_run``: the loops of regions that have not run yet, so that their types are unknown; the
    report says of each that it is compiled when it runs.
    """
    loops = [loop for report in regions for loop in report.loops]
    loops += (LoopInfo(span=s, what="loop", isa="none", notes=_COMPILED_WHEN_RUN) for s in not_run)
    temporaries = {t for report in regions for t in report.temporaries}
    missing = (report.missing_threads for report in regions)
    accepted = covers_all_loops and have_all_run and all(report.accepted for report in regions)
    own = refused.rejections
    raised = [r for r in own if r.code == "LOWER_UNDEFINED"]  # whatever the loops do
    shown, further = (raised, [r for r in own if r not in raised]) if accepted else (own, ())
    rejections = merge_equal((*shown, *(r for report in regions for r in report.rejections)))
    return replace(
        refused,
        accepted=accepted,
        rejections=rejections,
        further=without_shown(
            (*further, *(r for report in (refused, *regions) for r in report.further)), rejections
        ),
        fused=sum(report.fused for report in regions),
        vectorized=sum(report.vectorized for report in regions),
        guards=tuple(dict.fromkeys(g for report in regions for g in report.guards)),
        regions=sum(report.regions for report in regions),
        loops=tuple(sorted(loops, key=lambda loop: (loop.span.line, loop.span.col))),
        missing_threads=next(filter(None, missing), ""),
        temporaries=tuple(sorted(temporaries)),
        names={name: text for report in regions for name, text in report.names.items()},
    )


def join_reports(function: Callable[..., Any], reports: Sequence[Report], target: Target) -> Report:
    """The report on all call signatures so far, of which there is one of `reports` for each."""
    if len(reports) == 1:
        return reports[0]
    code = function.__code__
    loops = dict.fromkeys(loop for report in reports for loop in report.loops)
    return Report(
        function=function.__qualname__,
        path=reports[0].path if reports else code.co_filename,
        line=reports[0].line if reports else code.co_firstlineno,
        signature="; ".join(report.signature for report in reports),
        target=target.name,
        accepted=bool(reports) and all(report.accepted for report in reports),
        rejections=_one_of_each_cause(r for report in reports for r in report.rejections),
        further=_one_of_each_cause(r for report in reports for r in report.further),
        fused=max((report.fused for report in reports), default=0),
        vectorized=max((report.vectorized for report in reports), default=0),
        guards=tuple(dict.fromkeys(g for report in reports for g in report.guards)),
        regions=max((report.regions for report in reports), default=0),
        loops=tuple(sorted(loops, key=lambda loop: (loop.span.line, loop.span.col))),
        signatures=tuple(reports),
        source=reports[0].source if reports else {},
    )


def _one_of_each_cause(rejections: Iterable[Rejection]) -> tuple[Rejection, ...]:
    """The rejections of all signatures of a function, without those that have the code and the
    place of an earlier one: a place that is refused for several signatures has one cause, even if
    the messages differ, since they name types. A rejection without a place counts by its message.
    """
    first: dict[object, Rejection] = {}
    for r in merge_equal(rejections):
        first.setdefault((r.code, r.span or r.message), r)
    return tuple(first.values())


def _name_types(stages: Compilation) -> dict[str, str]:
    """The types of the function's local names, in order of their first binding."""
    bindings = [n for n in walk_nodes(stages.source.tree) if isinstance(n, ast.Name)]
    bindings = [n for n in bindings if isinstance(n.ctx, ast.Store)]
    names = dict.fromkeys(n.id for n in sorted(bindings, key=lambda n: (n.lineno, n.col_offset)))
    texts_by_name = {name: [t for n, t in stages.plan.local_types if n == name] for name in names}
    return {name: " or ".join(texts) for name, texts in texts_by_name.items() if texts}


def _unvectorised(stages: Compilation) -> Kernel:
    """The kernel before vectorisation."""
    kernel = stages.plan.kernel
    for name, result in stages.passes:
        if name == vectorize.__name__:
            break
        kernel = result
    return kernel


def _signature(types: Mapping[str, ArgType]) -> str:
    return f"({', '.join(f'{name}: {type_}' for name, type_ in types.items())})"
