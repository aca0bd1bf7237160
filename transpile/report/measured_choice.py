"""Rejections (RUN_PYTHON_FASTER) for calls and loops that Python serves, as it is faster.

`runtime.call_selection` measures calls and decides; `runtime.outline.region_work` decides without a
measurement about loops that are known to be too short.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from loopir.lazy_dataclass import record
from loopir.nodes import Span

from ..diagnostics import CODES, Label, Rejection
from ..frontend.source import is_within

__all__ = ["FasterAsPython", "faster_as_python_rejection", "too_short_rejections"]


@record(frozen=True, slots=True)
class FasterAsPython:
    """Calls of a compiled function, or of a loop that was cut out of one, that Python serves."""

    largest: int
    """The largest size of such calls: elements of arrays and lists, and magnitudes of ints."""
    compiled: int
    """Nanoseconds of a compiled call, and of one as Python, when they were timed last."""
    python: int
    in_part: bool = False
    """Whether Python serves only those of them whose sums have few terms: of longer sums the last
    bits could differ from those of compiled calls (``exact_up_to`` of `CallSelection`)."""


def faster_as_python_rejection(
    found: FasterAsPython, loops: Sequence[Span], *, is_region: bool
) -> Rejection:
    """The rejection (RUN_PYTHON_FASTER) for calls that compiled code could serve, but Python does,
    as it was measured to be faster (`call_selection`)::

        Python runs this loop, of up to 127 items: that was measured to be faster
        note: when it was measured, it took 450 ns compiled and 180 ns as Python; an int counts as
              so many items

    It is placed at the first of those `loops` that are in no other one, with labels at the others;
    without any at the function. ``is_region``: they are a region of a function, so "this loop, of
    up to" in place of "in calls with up to".
    """
    what = "this loop" if loops else "a part of the function" if is_region else "the function"
    when = "of" if is_region and loops else "in calls with"
    sizes = f", {when} up to {found.largest} items" if found.largest else ""
    if found.in_part:
        sizes += " and few terms in each sum"
    message = f"Python runs {what}{sizes}: that was measured to be faster"
    compiled, python = map(_time, (found.compiled, found.python))
    note = f"when it was measured, it took {compiled} compiled and {python} as Python"
    note += "; an int counts as so many items" if found.largest else ""
    outermost = _outermost(loops)
    labels = tuple(Label(span, "and this") for span in outermost[1:])
    first = outermost[0] if outermost else None
    code = "RUN_PYTHON_FASTER"
    return Rejection(code, message, first, labels, note, CODES[code].help)


def _outermost(spans: Iterable[Span]) -> list[Span]:
    """Those of `spans` that are in no other one, in source order."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.line, s.col)):
        if not any(is_within(span, other) for other in found):
            found.append(span)
    return found


def too_short_rejections(loops: Sequence[Span]) -> Iterator[Rejection]:
    """The rejections of `loops` that stay Python, since they take less time than a call of compiled
    code takes by itself.
    """
    code = "RUN_PYTHON_FASTER"
    message = "Python runs this loop: it does too little for a call of compiled code"
    note = "the number of its iterations and the types of its operands are known beforehand"
    for span in loops:
        yield Rejection(code, message, span, note=note, help=CODES[code].help)


def _time(nanoseconds: int) -> str:
    """A time, with two or three digits."""
    if nanoseconds < 1_000:
        return f"{nanoseconds} ns"
    if nanoseconds < 1_000_000:
        return f"{nanoseconds / 1e3:.3g} µs"
    return f"{nanoseconds / 1e6:.3g} ms"
