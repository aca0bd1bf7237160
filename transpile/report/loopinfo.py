"""The loops of a compiled kernel in the user's terms: which of theirs, how wide, at what cost."""
from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from loopir.nodes import (
    Append,
    Call,
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
from loopir.passes.vectorize import refusals
from loopir.tree import children, counters, walk
from loopir.types import DTYPES
from targets.isa import Target

from ..rejections import Label, Rejection
from .guards import segment
from .report import LoopInfo

__all__ = ["loop_infos", "scalar_loops"]

_FREE = ("select", "cast")  # on floats, these compute nothing


def loop_infos(legal: Kernel, scalar: Kernel, target: Target) -> tuple[LoopInfo, ...]:
    """A row for each innermost loop of `legal`, under the lines of the loops of `scalar` it runs.

    Where a loop has become several (a vector loop and the scalar one of its remainder), the widest
    one speaks for it.
    """
    apart = {loop.span: _bytes(loop) for loop in _innermost(scalar) if loop.span is not None}
    theirs = [*apart]
    spans = {n.span for n in walk(scalar) if isinstance(n, LoopLike)}
    found: dict[Span, LoopInfo] = {}
    for loop in _innermost(legal):
        own = [loop.span] if loop.span is not None and loop.span in spans else []
        if origins := _origins(loop, theirs) or own:  # what was inmost may have been written out
            info = _info(loop, origins, target, sum(apart.get(span, 0) for span in origins))
            known = found.get(info.span)
            if known is None or (info.lanes or 0) > (known.lanes or 0):
                found[info.span] = info
    return tuple(sorted(found.values(), key=lambda info: (info.span.line, info.span.col)))


def scalar_loops(
    kernel: Kernel, words: Collection[str], lines: Mapping[int, str], *, reassociate: bool
) -> tuple[Rejection, ...]:
    """Why loops of `kernel`, as it comes to be vectorised, stay scalar.

    `words` are those of the function, `lines` are its file's.
    """
    found = (
        _scalar(loop.span, reason, words, lines)
        for loop, reason in refusals(kernel, reassociate=reassociate)
        if loop.span is not None
    )
    return tuple(dict.fromkeys(found))  # a loop that was divided has it twice


def _scalar(
    loop: Span, reason: Rejection, words: Collection[str], lines: Mapping[int, str]
) -> Rejection:
    elsewhere = reason.span if reason.span != loop else None
    labels = (Label(elsewhere, "here"),) if elsewhere else ()
    message = f"compiled as scalar code: {_in_their_names(_as_written(reason, lines), words)}"
    return Rejection(reason.code, message, loop, labels)


def _as_written(reason: Rejection, lines: Mapping[int, str]) -> str:
    """The sentence of `reason` with what it cites as it stands in the file."""
    done, rest = "", reason.message
    for label in reason.labels:
        before, cited, rest = rest.partition(f"`{label.text}`")
        theirs = segment(label.span, lines)
        done += before + (f"`{theirs}`" if theirs and cited else cited)
    return done + rest


def _in_their_names(text: str, words: Collection[str]) -> str:
    """`text` with ``high`` for ``high_1``, where the user wrote only ``high``."""

    def own(found: re.Match[str]) -> str:
        name, stem = found.group(), found.group(1)
        return stem if stem in words and name not in words else name

    return re.sub(r"\b([A-Za-z_]\w*?)(?:_\d+)+\b", own, text)


def _innermost(n: Node) -> Iterator[LoopLike]:
    """The loops in `n` that hold no other. A vector loop speaks for those that its lanes run, and
    for that of its remainder.
    """
    if isinstance(n, (VecLoop, PredLoop)):
        yield n
        return
    below = [loop for child in children(n) for loop in _innermost(child)]
    yield from below
    if not below and isinstance(n, LoopLike):
        yield n


def _origins(loop: LoopLike, theirs: Sequence[Span]) -> list[Span]:
    """Which of the user's loops this one runs statements of, in the order of the file."""
    inside = [span for n in walk(loop) if (span := getattr(n, "span", None)) is not None]
    own = {outer for outer in theirs if any(_within(inner, outer) for inner in inside)}
    return sorted(own, key=lambda span: (span.line, span.col))


def _within(inner: Span, outer: Span) -> bool:
    start, end = (inner.line, inner.col), (inner.end_line, inner.end_col)
    return (outer.line, outer.col) <= start and end <= (outer.end_line, outer.end_col)


def _info(loop: LoopLike, origins: Sequence[Span], target: Target, apart: int) -> LoopInfo:
    lanes = loop.width if isinstance(loop, (VecLoop, PredLoop)) else 1
    wide = isinstance(lanes, int) and lanes > 1
    return LoopInfo(
        span=origins[0],
        what=_what(loop),
        lanes=int(lanes) if wide else None,
        isa=target.name if wide else "scalar",
        fused_with=tuple(span.line for span in origins[1:]),
        bytes=_bytes(loop),
        apart=apart,
        flops=_flops(loop),
        notes=(f"mask form {loop.form.value}",) if isinstance(loop, PredLoop) and loop.form else (),
    )


def _what(loop: LoopLike) -> str:
    if isinstance(loop, (Scan, While)):
        return type(loop).__name__.lower()
    nodes = list(walk(loop))
    filters = isinstance(loop, PredLoop) or any(isinstance(n, Append) for n in nodes)
    stores = any(isinstance(n, (Store, Append)) for n in nodes)
    parts = ["filter"] * filters + ["map"] * stores + ["fold"] * bool(_folds(loop))
    return ", ".join(parts) or "loop"


def _folds(loop: LoopLike) -> tuple[Node, ...]:
    """The accumulators of a loop, but for the counters of its appends."""
    return tuple(acc for acc in getattr(loop, "accs", ()) if acc.name not in counters(loop))


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
