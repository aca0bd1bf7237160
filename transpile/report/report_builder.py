"""Builds a Report from the pipeline's results: loops, guards, missed vectorisation.

`report_compiled` reads the stages of a function that compiles, `report_refused` the rejections of
one that does not, `report_regions` joins the reports of a function that compiles in part.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loopir.dtypes import DTYPES
from loopir.ir_printer import show
from loopir.ir_traversal import advanced_accums, children, walk
from loopir.nodes import (
    Append,
    Call,
    Disjoint,
    Guard,
    Kernel,
    Load,
    LoopLike,
    Node,
    PredLoop,
    Scan,
    Span,
    Store,
    VecLoop,
    While,
)
from loopir.passes.vector.vectorize import loops_left_scalar, vectorize
from targets.isa.target_registry import Target
from targets.kernel_selection import match_kernel

from ..diagnostics import Label, Rejection
from ..frontend.name_resolution import Scope
from ..frontend.source import Source
from ..pipeline import Compilation
from ..types.value_types import ArgType
from .budget_note import budget_note
from .fusion_blockers import effect_rejections
from .loop_report import LoopInfo, Report

__all__ = [
    "guard_sentences", "source_segment", "loop_infos", "scalar_loop_rejections", "report_compiled",
    "report_regions", "report_refused",
]

_PHRASES: dict[str, str] = {
    "GUARD_BOUNDS": "`{}` is within its array",
    "GUARD_DIVISION": "`{}` does not divide by zero",
    "GUARD_INT_RANGE": "`{}` fits its integers",
    "GUARD_EMPTY": "`{}` has a value",
    "GUARD_SHAPE": "the arrays of `{}` fit",
    "GUARD_RAISES": "`{}` does not raise",
}


def guard_sentences(kernel: Kernel, source: Mapping[int, str]) -> tuple[str, ...]:
    """A sentence for each guard, without repetitions."""
    return tuple(dict.fromkeys(_guard_sentence(guard, source) for guard in kernel.guards))


def _guard_sentence(guard: Guard | Disjoint, source: Mapping[int, str]) -> str:
    """One guard in words: by its code and the source text at it; else as Loop IR."""
    match guard:
        case Disjoint(a, b, or_same):
            return f"`{a}` and `{b}` share no memory{' or are one array' * or_same}"
        case Guard(cond, code, span=span):
            text = source_segment(span, source) if span else None
            return _PHRASES.get(code, code + " at `{}`").format(text) if text else show(cond)


def source_segment(span: Span, source: Mapping[int, str]) -> str | None:
    """The source text at `span`; None if it spans several lines, or is empty."""
    line = source.get(span.line, "") if span.line == span.end_line else ""
    return line.encode()[span.col : span.end_col].decode(errors="replace").strip() or None


_FREE = ("select", "cast")  # no arithmetic


def loop_infos(legal: Kernel, scalar: Kernel, target: Target) -> tuple[LoopInfo, ...]:
    """A LoopInfo for each innermost loop of `legal`, under the lines of the loops of `scalar` that
    it runs.

    Where a loop has become several (a vector loop and a scalar remainder), the widest one is used.
    """
    unfused_bytes = {
        loop.span: _bytes(loop) for loop in _innermost(scalar) if loop.span is not None
    }
    user_loops = [*unfused_bytes]
    spans = {n.span for n in walk(scalar) if isinstance(n, LoopLike)}
    by_span: dict[Span, LoopInfo] = {}
    for loop in _innermost(legal):
        own_span = [loop.span] if loop.span is not None and loop.span in spans else []
        if origins := _origins(loop, user_loops) or own_span:  # may have been unrolled
            info = _loop_info(
                loop, origins, target, sum(unfused_bytes.get(span, 0) for span in origins)
            )
            previous = by_span.get(info.span)
            if previous is None or (info.lanes or 0) > (previous.lanes or 0):
                by_span[info.span] = info
    return tuple(sorted(by_span.values(), key=lambda info: (info.span.line, info.span.col)))


def scalar_loop_rejections(
    kernel: Kernel, words: Collection[str], lines: Mapping[int, str], *, reassociate: bool
) -> tuple[Rejection, ...]:
    """Why loops of `kernel`, as it is before vectorisation, stay scalar.

    `words`: the identifiers of the function; `lines`: of its file.
    """
    rejections = (
        _scalar_loop_rejection(loop.span, reason, words, lines)
        for loop, reason in loops_left_scalar(kernel, reassociate=reassociate)
        if loop.span is not None
    )
    return tuple(dict.fromkeys(rejections))  # a split loop has it twice


def _scalar_loop_rejection(
    loop: Span, reason: Rejection, words: Collection[str], lines: Mapping[int, str]
) -> Rejection:
    """The rejection of a loop that stays scalar, in the user's names, at the loop; the cause is a
    label.
    """
    elsewhere = reason.span if reason.span != loop else None
    labels = (Label(elsewhere, "here"),) if elsewhere else ()
    message = f"compiled as scalar code: {_user_names(_cite_source(reason, lines), words)}"
    return Rejection(reason.code, message, loop, labels)


def _cite_source(reason: Rejection, lines: Mapping[int, str]) -> str:
    """The message of `reason` with the elements that it cites in the user's spelling."""
    result, rest = "", reason.message
    for label in reason.labels:
        prefix, citation, rest = rest.partition(f"`{label.text}`")
        spelling = source_segment(label.span, lines)
        result += prefix + (f"`{spelling}`" if spelling and citation else citation)
    return result + rest


def _user_names(text: str, words: Collection[str]) -> str:
    """`text` with generated names such as ``high_1`` replaced by ``high``, if the user wrote only
    ``high``.
    """

    def user_name(match: re.Match[str]) -> str:
        """The name without its number, if the user wrote only that."""
        name, stem = match.group(), match.group(1)
        return stem if stem in words and name not in words else name

    return re.sub(r"\b([A-Za-z_]\w*?)(?:_\d+)+\b", user_name, text)


def _innermost(n: Node) -> Iterator[LoopLike]:
    """The innermost loops in `n`. A vector loop stands for the loops in it and for its remainder.
    """
    if isinstance(n, (VecLoop, PredLoop)):
        yield n
        return
    inner = [loop for child in children(n) for loop in _innermost(child)]
    yield from inner
    if not inner and isinstance(n, LoopLike):
        yield n


def _origins(loop: LoopLike, user_loops: Sequence[Span]) -> list[Span]:
    """The user's loops whose statements this one runs, in source order."""
    spans = [span for n in walk(loop) if (span := getattr(n, "span", None)) is not None]
    origins = {outer for outer in user_loops if any(_within(inner, outer) for inner in spans)}
    return sorted(origins, key=lambda span: (span.line, span.col))


def _within(inner: Span, outer: Span) -> bool:
    """Whether `inner` is a part of `outer`."""
    start, end = (inner.line, inner.col), (inner.end_line, inner.end_col)
    return (outer.line, outer.col) <= start and end <= (outer.end_line, outer.end_col)


def _loop_info(
    loop: LoopLike, origins: Sequence[Span], target: Target, unfused_bytes: int
) -> LoopInfo:
    """The LoopInfo of `loop`, which runs the user's loops at `origins`. `unfused_bytes`: what these
    move per iteration without fusion.
    """
    lanes = loop.width if isinstance(loop, (VecLoop, PredLoop)) else 1
    is_vector = isinstance(lanes, int) and lanes > 1
    return LoopInfo(
        span=origins[0],
        what=_loop_kind(loop),
        lanes=int(lanes) if is_vector else None,
        isa=target.name if is_vector else "scalar",
        fused_with=tuple(span.line for span in origins[1:]),
        bytes=_bytes(loop),
        unfused_bytes=unfused_bytes,
        flops=_flops(loop),
        notes=(f"mask form {loop.form.value}",) if isinstance(loop, PredLoop) and loop.form else (),
    )


def _loop_kind(loop: LoopLike) -> str:
    """What the loop does, in words: scan, while, or of filter, map and fold those that apply."""
    if isinstance(loop, (Scan, While)):
        return type(loop).__name__.lower()
    nodes = list(walk(loop))
    filters = isinstance(loop, PredLoop) or any(isinstance(n, Append) for n in nodes)
    stores = any(isinstance(n, (Store, Append)) for n in nodes)
    parts = ["filter"] * filters + ["map"] * stores + ["fold"] * bool(_reductions(loop))
    return ", ".join(parts) or "loop"


def _reductions(loop: LoopLike) -> tuple[Node, ...]:
    """The accumulators of a loop, without counters of appends."""
    return tuple(acc for acc in getattr(loop, "accs", ()) if acc.name not in advanced_accums(loop))


def _bytes(loop: LoopLike) -> int:
    """Bytes that one iteration reads and writes, each element counted once."""
    loads = {(n.array, n.index): n.dtype for n in walk(loop) if isinstance(n, Load)}
    stores = {
        (n.array, n.index if isinstance(n, Store) else ()): n.value.dtype
        for n in walk(loop)
        if isinstance(n, (Store, Append))
    }
    return sum(DTYPES[d].bytes for d in (*loads.values(), *stores.values()))


def _flops(loop: LoopLike) -> int:
    """Floating-point operations of one iteration; a function such as exp counts as one."""
    calls = (n for n in walk(loop) if isinstance(n, Call) and n.op not in _FREE)
    return sum(DTYPES[n.dtype].kind == "f" for n in calls)


_COMPILED_WHEN_RUN = "compiled for the types that it runs with"


def report_compiled(
    stages: Compilation, target: Target, stats: Mapping[str, object] | None = None
) -> Report:
    """The report on a function that compiles for `target`."""
    source, compiled = stages.source, stages.plan.kernel
    reassociate = stages.options.reassociate
    lines = dict(enumerate(source.lines, 1))
    scalar_rejections = scalar_loop_rejections(
        _unvectorised(stages), _identifiers(source), lines, reassociate=reassociate
    )
    loops = loop_infos(stages.legal(target), stages.scalar, target)
    if handwritten := match_kernel(compiled, target):
        loops = tuple(replace(loop, notes=(*loop.notes, handwritten.note)) for loop in loops)
    return Report(
        function=source.qualname,
        path=source.path,
        line=source.line,
        signature=_signature(stages.types),
        target=target.name,
        accepted=True,
        rejections=(
            *stages.fusion.rejections, *scalar_rejections, *budget_note(stages, target)
        ),
        fused=stages.fusion.fused,
        vectorized=sum(loop.lanes is not None for loop in loops),
        guards=guard_sentences(compiled, lines),
        regions=1,
        loops=loops,
        temporaries=tuple(sorted(stages.fusion.contracted)),
        names=_name_types(stages),
        stats=stats,
        source=lines,
    )


def report_refused(
    function: Callable[..., Any],
    source: Source | None,
    types: Mapping[str, ArgType],
    rejections: Sequence[Rejection],
    target: Target,
    stats: Mapping[str, object] | None = None,
) -> Report:
    """The report on a function that runs as Python; `source` is None where it is unavailable.

    Effects that would have prevented fusion of its loops in any case are added to `rejections`.
    """
    code = function.__code__
    effects = effect_rejections(source.tree, Scope.of(function), types) if source else ()
    return Report(
        function=function.__qualname__,
        path=source.path if source else code.co_filename,
        line=source.line if source else code.co_firstlineno,
        signature=_signature(types),
        target=target.name,
        accepted=False,
        rejections=(*rejections, *effects),
        stats=stats,
        source=dict(enumerate(source.lines, 1)) if source else {},
    )


def report_regions(
    refused: Report, regions: Sequence[Report], not_run: Sequence[Span], *, covers_all_loops: bool
) -> Report:
    """`refused`, with the reports of its `regions`; types of the loops in `not_run` are unknown
    until they run. ``covers_all_loops``: no loop is outside of the regions.
    """
    loops = [loop for report in regions for loop in report.loops]
    loops += (LoopInfo(span=s, what="loop", notes=(_COMPILED_WHEN_RUN,)) for s in not_run)
    temporaries = {t for report in regions for t in report.temporaries}
    return replace(
        refused,
        accepted=covers_all_loops and not not_run and all(report.accepted for report in regions),
        rejections=(*refused.rejections, *(r for report in regions for r in report.rejections)),
        fused=sum(report.fused for report in regions),
        vectorized=sum(report.vectorized for report in regions),
        guards=tuple(dict.fromkeys(g for report in regions for g in report.guards)),
        regions=sum(report.regions for report in regions),
        loops=tuple(sorted(loops, key=lambda loop: (loop.span.line, loop.span.col))),
        temporaries=tuple(sorted(temporaries)),
        names={name: text for report in regions for name, text in report.names.items()},
    )


def _identifiers(source: Source) -> frozenset[str]:
    """All identifiers in the function."""
    return frozenset(re.findall(r"\w+", source.text))


def _name_types(stages: Compilation) -> dict[str, str]:
    """The types of the function's local names, in order of their first binding."""
    bindings = [n for n in ast.walk(stages.source.tree) if isinstance(n, ast.Name)]
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
