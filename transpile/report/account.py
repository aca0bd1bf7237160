"""What became of a function, as a Report: what the stages made of it, or why they did not."""
from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loopir.nodes import Kernel, Span
from loopir.passes.vectorize import vectorize
from targets.isa import Target
from targets.select import served

from ..rejections import Rejection
from ..scope import Scope
from ..source import Source
from ..stages import Stages
from ..types import ArgType
from .guards import guard_texts
from .loopinfo import loop_infos, scalar_loops
from .report import LoopInfo, Report
from .separations import separations

__all__ = ["account", "account_of_parts", "account_of_refused"]

_WAITING = "compiled for the types that it runs with"


def account(
    stages: Stages, target: Target, stats: Mapping[str, object] | None = None
) -> Report:
    """The report of a function that compiles for `target`."""
    source, compiled = stages.source, stages.plan.kernel
    reassociate = stages.options.reassociate
    lines = dict(enumerate(source.lines, 1))
    still = scalar_loops(_unvectorised(stages), _words(source), lines, reassociate=reassociate)
    loops = loop_infos(stages.legal(target), stages.scalar, target)
    if by_hand := served(compiled, target):
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
        guards=guard_texts(compiled, lines),
        regions=1,
        loops=loops,
        temporaries=tuple(sorted(stages.fusion.contracted)),
        names=_names(stages),
        stats=stats,
        source=lines,
    )


def account_of_refused(
    function: Callable[..., Any],
    source: Source | None,
    types: Mapping[str, ArgType],
    rejections: Sequence[Rejection],
    target: Target,
    stats: Mapping[str, object] | None = None,
) -> Report:
    """The report of a function that runs as Python; `source` is None where there is none.

    To `rejections` come the effects that would have kept its loops apart in any case.
    """
    code = function.__code__
    apart = separations(source.tree, Scope.of(function), types) if source else ()
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


def account_of_parts(
    refused: Report, regions: Sequence[Report], waiting: Sequence[Span], *, whole: bool
) -> Report:
    """`refused`, some of whose `regions` compile; the types of the loops in `waiting` are known
    only when they run. ``whole``: no loop stands outside.
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
        names={name: held for report in regions for name, held in report.names.items()},
    )


def _words(source: Source) -> frozenset[str]:
    """Every name in the function."""
    return frozenset(re.findall(r"\w+", source.text))


def _names(stages: Stages) -> dict[str, str]:
    """The function's own names that it binds, where they are first bound, with what they hold."""
    stored = [n for n in ast.walk(stages.source.tree) if isinstance(n, ast.Name)]
    stored = [n for n in stored if isinstance(n.ctx, ast.Store)]
    own = dict.fromkeys(n.id for n in sorted(stored, key=lambda n: (n.lineno, n.col_offset)))
    held = {name: [t for n, t in stages.plan.typed if n == name] for name in own}
    return {name: " or ".join(texts) for name, texts in held.items() if texts}


def _unvectorised(stages: Stages) -> Kernel:
    """The kernel as it comes to be vectorised."""
    kernel = stages.plan.kernel
    for name, after in stages.passes:
        if name == vectorize.__name__:
            break
        kernel = after
    return kernel


def _signature(types: Mapping[str, ArgType]) -> str:
    return f"({', '.join(f'{name}: {type_}' for name, type_ in types.items())})"

