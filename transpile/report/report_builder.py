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
    apart = {loop.span: _bytes(loop) for loop in _innermost(scalar) if loop.span is not None}
    user_loops = [*apart]
    spans = {n.span for n in walk(scalar) if isinstance(n, LoopLike)}
    found: dict[Span, LoopInfo] = {}
    for loop in _innermost(legal):
        own = [loop.span] if loop.span is not None and loop.span in spans else []
        if origins := _origins(loop, user_loops) or own:  # may have been unrolled
            info = _loop_info(loop, origins, target, sum(apart.get(span, 0) for span in origins))
            known = found.get(info.span)
            if known is None or (info.lanes or 0) > (known.lanes or 0):
                found[info.span] = info
    return tuple(sorted(found.values(), key=lambda info: (info.span.line, info.span.col)))


def scalar_loop_rejections(
    kernel: Kernel, words: Collection[str], lines: Mapping[int, str], *, reassociate: bool
) -> tuple[Rejection, ...]:
    """Why loops of `kernel`, as it is before vectorisation, stay scalar.

    `words`: the identifiers of the function; `lines`: of its file.
    """
    found = (
        _scalar_loop_rejection(loop.span, reason, words, lines)
        for loop, reason in loops_left_scalar(kernel, reassociate=reassociate)
        if loop.span is not None
    )
    return tuple(dict.fromkeys(found))  # a split loop has it twice


def _scalar_loop_rejection(
    loop: Span, reason: Rejection, words: Collection[str], lines: Mapping[int, str]
) -> Rejection:
    elsewhere = reason.span if reason.span != loop else None
    labels = (Label(elsewhere, "here"),) if elsewhere else ()
    message = f"compiled as scalar code: {_user_names(_cite_source(reason, lines), words)}"
    return Rejection(reason.code, message, loop, labels)


def _cite_source(reason: Rejection, lines: Mapping[int, str]) -> str:
    """The message of `reason` with the elements that it cites in the user's spelling."""
    done, rest = "", reason.message
    for label in reason.labels:
        before, cited, rest = rest.partition(f"`{label.text}`")
        spelled = source_segment(label.span, lines)
        done += before + (f"`{spelled}`" if spelled and cited else cited)
    return done + rest


def _user_names(text: str, words: Collection[str]) -> str:
    """`text` with generated names such as ``high_1`` replaced by ``high``, if the user wrote only
    ``high``.
    """

    def own(found: re.Match[str]) -> str:
        name, stem = found.group(), found.group(1)
        return stem if stem in words and name not in words else name

    return re.sub(r"\b([A-Za-z_]\w*?)(?:_\d+)+\b", own, text)


def _innermost(n: Node) -> Iterator[LoopLike]:
    """The innermost loops in `n`. A vector loop stands for the loops in it and for its remainder.
    """
    if isinstance(n, (VecLoop, PredLoop)):
        yield n
        return
    below = [loop for child in children(n) for loop in _innermost(child)]
    yield from below
    if not below and isinstance(n, LoopLike):
        yield n


def _origins(loop: LoopLike, user_loops: Sequence[Span]) -> list[Span]:
    """The user's loops whose statements this one runs, in source order."""
    inside = [span for n in walk(loop) if (span := getattr(n, "span", None)) is not None]
    own = {outer for outer in user_loops if any(_within(inner, outer) for inner in inside)}
    return sorted(own, key=lambda span: (span.line, span.col))


def _within(inner: Span, outer: Span) -> bool:
    start, end = (inner.line, inner.col), (inner.end_line, inner.end_col)
    return (outer.line, outer.col) <= start and end <= (outer.end_line, outer.end_col)


def _loop_info(loop: LoopLike, origins: Sequence[Span], target: Target, apart: int) -> LoopInfo:
    lanes = loop.width if isinstance(loop, (VecLoop, PredLoop)) else 1
    wide = isinstance(lanes, int) and lanes > 1
    return LoopInfo(
        span=origins[0],
        what=_loop_kind(loop),
        lanes=int(lanes) if wide else None,
        isa=target.name if wide else "scalar",
        fused_with=tuple(span.line for span in origins[1:]),
        bytes=_bytes(loop),
        apart=apart,
        flops=_flops(loop),
        notes=(f"mask form {loop.form.value}",) if isinstance(loop, PredLoop) and loop.form else (),
    )


def _loop_kind(loop: LoopLike) -> str:
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


_WAITING = "compiled for the types that it runs with"


def report_compiled(
    stages: Compilation, target: Target, stats: Mapping[str, object] | None = None
) -> Report:
    """The report on a function that compiles for `target`."""
    source, compiled = stages.source, stages.plan.kernel
    reassociate = stages.options.reassociate
    lines = dict(enumerate(source.lines, 1))
    still = scalar_loop_rejections(
        _unvectorised(stages), _identifiers(source), lines, reassociate=reassociate
    )
    loops = loop_infos(stages.legal(target), stages.scalar, target)
    if by_hand := match_kernel(compiled, target):
        loops = tuple(replace(loop, notes=(*loop.notes, by_hand.note)) for loop in loops)
    return Report(
        function=source.qualname,
        path=source.path,
        line=source.line,
        signature=_signature(stages.types),
        target=target.name,
        accepted=True,
        rejections=(*stages.fusion.rejections, *still),
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

    Effects that would have kept its loops apart in any case are added to `rejections`.
    """
    code = function.__code__
    apart = effect_rejections(source.tree, Scope.of(function), types) if source else ()
    return Report(
        function=function.__qualname__,
        path=source.path if source else code.co_filename,
        line=source.line if source else code.co_firstlineno,
        signature=_signature(types),
        target=target.name,
        accepted=False,
        rejections=(*rejections, *apart),
        stats=stats,
        source=dict(enumerate(source.lines, 1)) if source else {},
    )


def report_regions(
    refused: Report, regions: Sequence[Report], waiting: Sequence[Span], *, whole: bool
) -> Report:
    """`refused`, with the reports of its `regions`; types of the loops in `waiting` are unknown
    until they run. ``whole``: no loop is outside of the regions.
    """
    loops = [loop for report in regions for loop in report.loops]
    loops += (LoopInfo(span=s, what="loop", notes=(_WAITING,)) for s in waiting)
    temporaries = {t for report in regions for t in report.temporaries}
    return replace(
        refused,
        accepted=whole and not waiting and all(report.accepted for report in regions),
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
    stored = [n for n in ast.walk(stages.source.tree) if isinstance(n, ast.Name)]
    stored = [n for n in stored if isinstance(n.ctx, ast.Store)]
    own = dict.fromkeys(n.id for n in sorted(stored, key=lambda n: (n.lineno, n.col_offset)))
    texts_by_name = {name: [t for n, t in stages.plan.local_types if n == name] for name in own}
    return {name: " or ".join(texts) for name, texts in texts_by_name.items() if texts}


def _unvectorised(stages: Compilation) -> Kernel:
    """The kernel before vectorisation."""
    kernel = stages.plan.kernel
    for name, after in stages.passes:
        if name == vectorize.__name__:
            break
        kernel = after
    return kernel


def _signature(types: Mapping[str, ArgType]) -> str:
    return f"({', '.join(f'{name}: {type_}' for name, type_ in types.items())})"
