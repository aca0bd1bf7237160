"""Rejections (RUN_PYTHON_FASTER) for calls and loops that Python serves, as it is faster.

`runtime.call_selection` measures calls and decides; `runtime.outline.region_work` decides without a
measurement about loops that are known to be too short.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from loopir.lazy_dataclass import record
from loopir.nodes import Span

from ..codes import CODES
from ..diagnostics import Label, Rejection
from ..frontend.source import is_within, span_of
from ..types.value_types import ArgType, ArrayType, Constant, ListType, ObjectType, RecordType

__all__ = ["FasterAsPython", "faster_as_python_rejection", "too_short_rejections"]


@record(frozen=True, slots=True)
class FasterAsPython:
    """Calls of a compiled function, or of a loop that was cut out of one, that Python serves."""

    largest: int
    """The largest size of such calls: elements of arrays and lists, and magnitudes of ints."""
    compiled: int
    """Nanoseconds of a compiled call, and of one as Python, when they were timed last: with what it
    costs to forward a call, and without the call of a region that is dropped."""
    python: int
    in_part: bool = False
    """Whether Python serves only those of them whose sums have few terms: of longer sums the last
    bits could differ from those of compiled calls (``exact_up_to`` of `CallSelection`)."""


def faster_as_python_rejection(
    found: FasterAsPython, loops: Sequence[Span], types: Iterable[ArgType],
    region: Sequence[ast.stmt] | None = None,
) -> Rejection:
    """The rejection (RUN_PYTHON_FASTER) for calls that compiled code could serve, but Python does,
    as it was measured to be faster (`call_selection`)::

        Python runs this loop, of up to 127 items: that was measured to be faster
        note: when it was measured, it took 450 ns compiled and 180 ns as Python

    It is placed at the first of those `loops` that are in no other one, with labels at the others;
    without any at the first statement of the `region`, or at the function, if it is none. Of a
    region "this loop, of up to" is said in place of "in calls with up to". ``types``: those of the
    arguments, which say whether the size of a call counts items, ints or both.
    """
    places = _outermost(loops)
    what = "this loop" if loops else "the function"
    if region is not None and not loops:
        places = [span for n in region if (span := span_of(n)) is not None][:1]
        what = "this part of the function" if places else "a part of the function"
    sizes = _sizes(found.largest, types, of_loop=region is not None and bool(loops))
    if found.in_part:
        sizes += " and few terms in each sum"
    message = f"Python runs {what}{sizes}: that was measured to be faster"
    compiled, python = map(_time, (found.compiled, found.python))
    note = f"when it was measured, it took {compiled} compiled and {python} as Python"
    labels = tuple(Label(span, "and this") for span in places[1:])
    code = "RUN_PYTHON_FASTER"
    return Rejection(code, message, places[0] if places else None, labels, note, CODES[code].help)


def _sizes(largest: int, types: Iterable[ArgType], *, of_loop: bool) -> str:
    """The sizes of the calls, up to `largest`, as `size_of_call` counts them: ``, in calls with up
    to 31 items``, or of ints, or of both added up. Empty if nothing counts.
    """
    types = [*types]
    has_items = any(isinstance(t, _SIZED) or (isinstance(t, ObjectType) and t.is_tuple)
                    for t in types)
    has_ints = any(str(t) == "int" or (isinstance(t, Constant) and t.kind is int) for t in types)
    if not largest or not (has_items or has_ints):
        return ""
    if has_items and has_ints:
        return f", where items and ints add up to at most {largest}"
    when = "of" if of_loop else "in calls with"
    if has_ints:
        return f", {'for' if of_loop else 'in calls with'} ints up to {largest}"
    return f", {when} up to {largest} item{'s' * (largest != 1)}"


_SIZED = (ArrayType, RecordType, ListType)
"""The types of arguments whose items count."""


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
