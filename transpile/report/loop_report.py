"""Report and LoopInfo: what was compiled and how, what was refused and why; the layout as text."""
from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopir.lazy_dataclass import record, replace
from loopir.nodes import Span

from ..codes import CODES
from ..diagnostics import Rejection, counted
from .styled_text import StyledRow, as_html, as_plain, as_rich, printable, styled_row

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

__all__ = [
    "Mark", "source_excerpt", "LoopInfo", "Report", "file_label", "loop_remarks",
    "rejection_rows", "summary_text",
]

_MAX_GAP = 1  # gaps of up to this many lines are shown, longer ones become an ellipsis


@record(frozen=True, slots=True)
class Mark:
    """A marked part of the source."""

    span: Span
    text: str  # shown under it; empty: none
    style: str  # a key of `styled_text.STYLES`


def source_excerpt(lines: Mapping[int, str], marks: Sequence[Mark]) -> list[StyledRow]:
    """The marked lines of `lines` (numbered from 1), each followed by a row for each of its marks.
    """
    numbers = _lines_to_show({m.span.line for m in marks} & set(lines), lines)
    gutter = max((len(str(number)) for number in numbers), default=0) + 3
    rows: list[StyledRow] = []
    previous = None
    for number in numbers:
        if previous is not None and number > previous + 1:
            rows.append(styled_row(("⋮".rjust(gutter), "gutter")))
        rows.append(styled_row((f"{number:>{gutter}} │ ", "gutter"), _expanded(lines[number])))
        for mark in sorted((m for m in marks if m.span.line == number), key=_column):
            rows.extend(_under(lines[number], mark, gutter))
        previous = number
    return rows


def _lines_to_show(marked: set[int], lines: Mapping[int, str]) -> list[int]:
    """Marked lines and short gaps between them."""
    ordered = sorted(marked)
    gaps = {
        n
        for a, b in pairwise(ordered)
        if b - a - 1 <= _MAX_GAP
        for n in range(a + 1, b)
    }
    return sorted(marked | (gaps & set(lines)))


def _column(mark: Mark) -> int:
    """The column of the mark, to sort by."""
    return mark.span.col


def _under(text: str, mark: Mark, gutter: int) -> Iterator[StyledRow]:
    """The row under a line of source that underlines the mark and has its text."""
    if not mark.text:
        return
    start, stop = _columns(text, mark.span)
    pad = " " * start
    bar = " " * gutter + " │ "
    line = "─" * max(1, stop - start) + "  "
    yield styled_row((bar, "gutter"), pad, (line, mark.style), (mark.text, mark.style))


def _columns(line: str, span: Span) -> tuple[int, int]:
    """Start and end of `span` on the screen, on its first line.

    Columns of ``ast`` count UTF-8 bytes; on the screen a tab takes four columns and wide characters
    take two.
    """
    raw = line.encode()
    end = span.end_col if span.end_line == span.line else len(line.rstrip().encode())
    start, stop = (_width(raw[:col].decode(errors="ignore")) for col in (span.col, end))
    return start, stop


def _width(text: str) -> int:
    """The columns that `text` takes on the screen."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    narrow = sum(bool(unicodedata.combining(c)) for c in text)
    return len(_expanded(text)) + wide - narrow


def _expanded(line: str) -> str:
    """The line without its end, tabs as four blanks."""
    return line.rstrip("\r\n").replace("\t", "    ")


@record(frozen=True, slots=True, kw_only=True)
class LoopInfo:
    """One loop of the compiled code."""

    span: Span
    what: str  # map, fold, filter, scan, …
    lanes: int | None = None  # elements in a vector; None for scalar code
    isa: str = "scalar"  # the target, or "scalar"; "none": no loop is left, or none was compiled
    around: tuple[Span, ...] = ()  # the loops around it
    fused_with: tuple[int, ...] = ()  # lines of the other loops in the same pass over memory
    bytes: int = 0  # moved per iteration
    unfused_bytes: int = 0  # moved per iteration if the loops were not fused
    flops: int = 0  # per iteration
    most_threads: int = 1  # that a call may use for it: its iterations are independent
    threads_from: int = 0
    """About how many elements are enough work for a second thread, before calls were measured;
    0: one thread runs it."""
    one_thread: str = ""  # why one thread runs it; "" also where it does not matter
    notes: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        """The line of the loop's ``for`` in the user's file."""
        return self.span.line

    def per_element(self, most_bytes: int, most_flops: int) -> LoopInfo:
        """A copy with `most_bytes` and `most_flops` as upper bounds: those of one iteration of the
        source's loops (0: not known). A loop that runs several of these iterations in one of its
        own, as after unrolling, counts more.
        """
        return replace(
            self, bytes=min(self.bytes, most_bytes or self.bytes),
            flops=min(self.flops, most_flops or self.flops),
        )


@record(frozen=True, slots=True, kw_only=True)
class Report:
    """The report on a function under one call signature, or under several (``signatures``), as
    data; ``print`` it, or show it in Jupyter (`_report_rows` lays it out). `report_builder` makes
    it, from the stages of a compilation or from the rejections of a refused function.
    """

    function: str  # its qualified name
    path: str
    line: int
    signature: str  # the types of its parameters
    target: str
    accepted: bool  # every loop is compiled
    rejections: tuple[Rejection, ...] = ()
    further: tuple[Rejection, ...] = ()
    """Rejections that matter less, shown by `in_detail` only: further reasons for a pair of loops
    and loops of whole-array expressions (`fusion_remarks`), effects (`fusion_blockers`), a budget
    whose excess is hardly noticed, and refusals of a function all of whose loops are compiled."""
    fused: int = 0  # number of fusions
    vectorized: int = 0  # number of vectorised loops
    guards: tuple[str, ...] = ()  # conditions tested before the first store
    regions: int = 0  # number of compiled regions
    loops: tuple[LoopInfo, ...] = ()
    unknown: str = ""  # why nothing is known of its loops; empty: that is known
    missing_threads: str = ""  # why there are no threads for these loops; empty: there are
    temporaries: tuple[str, ...] = ()  # arrays that are never allocated
    names: Mapping[str, str] = field(default_factory=dict)
    """Types of the function's local names: ``f64[:, :]``, ``float``, ``f64 or int``."""
    assumed: str | None = None  # origin of the types, if no call has given them
    stats: Mapping[str, object] | None = None  # the calls so far; None if there were none
    signatures: tuple[Report, ...] = ()
    """If the report is on all call signatures so far, one report for each."""
    verbose: bool = False  # the text has the guards and `further`
    source: Mapping[int, str] = field(default_factory=dict, repr=False)  # lines of the file

    def __post_init__(self) -> None:
        unknown = {r.code for r in (*self.rejections, *self.further)} - CODES.keys()
        assert not unknown, f"{unknown} are not in CODES"

    def __str__(self) -> str:
        return printable(as_plain(_report_rows(self)))

    __repr__ = __str__

    def in_detail(self) -> Report:
        """The same report; its text has the guards and all further remarks, too."""
        return replace(self, verbose=True)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield from as_rich(_report_rows(self), options.max_width)

    def _repr_html_(self) -> str:
        return as_html(_report_rows(self))

    def to_json(self) -> str:
        """The report as a JSON object."""
        return json.dumps(self.to_dict(), indent=2)

    def to_dict(self) -> dict[str, Any]:
        """All fields except ``source`` and ``verbose``, as JSON values; a span is four numbers."""
        omitted = ("source", "verbose", "signatures")
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in omitted}
        result: dict[str, Any] = _as_json(values)
        for key, rejections in (("rejections", self.rejections), ("further", self.further)):
            for entry, rejection in zip(result[key], rejections, strict=True):
                del entry["helper"]  # the note says it
                entry["line"] = rejection.line
        if self.signatures:
            result["signatures"] = [report.to_dict() for report in self.signatures]
        return result


def _as_json(value: Any) -> Any:
    """`value` as a JSON value: records become objects, a span four numbers."""
    match value:
        case Span():
            return [value.line, value.col, value.end_line, value.end_col]
        case Mapping():
            return {str(k): _as_json(v) for k, v in value.items()}
        case tuple() | list():
            return [_as_json(v) for v in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return {f.name: _as_json(getattr(value, f.name)) for f in fields(value)}


def rejection_rows(
    rejection: Rejection, path: str, source: Mapping[int, str], first_line: int | None = None
) -> Iterator[StyledRow]:
    """The rows by which a report shows one rejection: code and location, the source with the
    message and the labels under it, note and help::

        LOWER_CALL  prices.py:4
           4 │     print(x[i])
             │     ───────────  `print` is not a function that can be compiled
           help: print behind the loop, and collect in a list or an array …

    Without a place in ``source`` (lines by number), the message has a row of its own.
    ``first_line``: that of the function, for a rejection without a place.
    """
    place = rejection.line or first_line
    location = file_label(path) + (f":{place}" if place else "")
    yield styled_row((rejection.code, "code"), "  ", (location, "place"))
    marks = [Mark(label.span, label.text, "second") for label in rejection.labels]
    if rejection.span is not None and rejection.span.line in source:
        marks.append(Mark(rejection.span, rejection.message, "mark"))
    else:
        yield styled_row("   ", (rejection.message, "mark"))
    yield from source_excerpt(source, marks)
    for name, text in (("note", rejection.note), ("help", rejection.help)):
        for number, line in enumerate((text or "").splitlines()):
            yield styled_row("   ", (f"{name}: " if number == 0 else "      ", "hint"), line)


def file_label(path: str) -> str:
    """How reports name a file of code: by its name; a cell that IPython has run by what its
    tracebacks say, ``In[3]``.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    label = getattr(getattr(shell, "compile", None), "format_code_name", lambda path: None)(path)
    return label[-1] if label else Path(path).name


def _report_rows(report: Report) -> Iterator[StyledRow]:
    """The rows of the whole report. The help of a code is shown once."""
    if report.signatures:
        all_of_them = (replace(one, verbose=report.verbose) for one in report.signatures)
        for one in _merge_equal_signatures(all_of_them):
            yield from _summary_rows(one)
    else:
        yield from _summary_rows(report)
    helps = set[tuple[str, str | None]]()
    for rejection in (*report.rejections, *(report.further if report.verbose else ())):
        yield styled_row()
        is_known = (rejection.code, rejection.help) in helps
        helps.add((rejection.code, rejection.help))
        shown = replace(rejection, help=None) if is_known else rejection
        yield from rejection_rows(shown, report.path, report.source, report.line)


def _merge_equal_signatures(reports: Iterable[Report]) -> Iterator[Report]:
    """The `reports` on several signatures; those whose text differs only in the counts of calls are
    merged to one, with the sums of the counts. (Signatures with two lambdas, for instance, are
    different, and have the same text.)
    """
    groups: dict[str, list[Report]] = {}
    for report in reports:
        key = as_plain(_summary_rows(replace(report, stats=None)))
        groups.setdefault(key, []).append(report)
    for first, *others in groups.values():
        total = first.stats
        for other in others:
            total = _sum_of_counts(total or {}, other.stats or {})
        yield replace(first, stats=total)


def _sum_of_counts(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of counts by their names; a count may be a mapping of counts itself."""
    total = {**a}
    for name, value in b.items():
        if isinstance(value, Mapping):
            total[name] = _sum_of_counts(total.get(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value
    return total


def _summary_rows(report: Report) -> Iterator[StyledRow]:
    """What the report says of one signature before the rejections."""
    yield styled_row(
        (report.function, "title"), report.signature, "  ",
        (f"{file_label(report.path)}:{report.line}", "place"),
    )
    if report.assumed:
        yield styled_row("   ", (report.assumed, "faint"))
    yield _verdict(report)
    yield from _loop_rows(report.loops, verbose=report.verbose)
    if report.missing_threads:
        yield styled_row("   threads: ", (report.missing_threads, "bad"))
    if report.names:
        yield styled_row(
            "   types: ", "; ".join(f"{name} {types}" for name, types in report.names.items())
        )
    if report.temporaries:
        yield styled_row("   never allocated: ", ", ".join(report.temporaries))
    if report.guards and report.verbose:
        yield styled_row("   guards: ", "; ".join(report.guards))
    if report.stats is not None:
        yield styled_row("   calls: ", ", ".join(_stat(k, v) for k, v in report.stats.items()))


def summary_text(report: Report) -> str:
    """The row that says whether and how the function is compiled, as text."""
    return as_plain([_verdict(report)]).strip()


def _verdict(report: Report) -> StyledRow:
    """The row that says whether and how the function is compiled."""
    if not report.signature:
        text = "not called yet: call it, or give report() the arguments of a call"
        return styled_row("   ", (text, "faint"))
    if not report.regions:
        return styled_row("   ", ("runs as Python", "bad"))
    word, style = ("compiled", "good") if report.accepted else ("compiled in part", "bad")
    if report.unknown:
        return styled_row("   ", (word, style), f" for {report.target}; {report.unknown}")
    vectors = [loop for loop in report.loops if loop.lanes]
    counts = [
        counted(_number_of_loops(report.loops), "loop"),
        f"{len(vectors) + len(_fused_alone(vectors, report.loops))} vectorised",
        counted(report.fused, "fusion"),
    ]
    if not report.accepted and not report.loops:
        counts = ["none of the loops"]
    if report.regions > 1:
        counts.insert(0, counted(report.regions, "region"))
    return styled_row("   ", (word, style), f" for {report.target}: {', '.join(counts)}")


def _number_of_loops(loops: Sequence[LoopInfo]) -> int:
    """How many loops the user wrote: those listed, those around them, those fused with them."""
    return len(loops) + len(_around(loops)) + len(_fused_alone(loops, loops))


def _around(loops: Sequence[LoopInfo]) -> set[Span]:
    """The loops around `loops` that are not listed themselves."""
    return {span for loop in loops for span in loop.around} - {loop.span for loop in loops}


def _fused_alone(some: Sequence[LoopInfo], loops: Sequence[LoopInfo]) -> set[int]:
    """The lines of loops that were fused with one of `some`, without the lines of all `loops` that
    are listed or around one.
    """
    lines = {loop.line for loop in loops} | {span.line for span in _around(loops)}
    return {line for loop in some for line in loop.fused_with} - lines


def _loop_rows(loops: tuple[LoopInfo, ...], *, verbose: bool) -> Iterator[StyledRow]:
    """A row for each loop: its line, what it is, its vectors, and what fusion saves, as in

        line 6  map  8 lanes, avx512  one pass with line 8; 16 B instead of 32 and 1 flop an element

    and whether several threads may run it; why not, if `verbose`.
    """
    digits = max((len(str(loop.line)) for loop in loops), default=0)
    words = max((len(loop.what) for loop in loops), default=0)
    for loop in loops:
        vector = f"{loop.lanes} lanes, {loop.isa}" if loop.lanes else loop.isa
        if loop.isa == "none":
            yield styled_row(
                f"   line {loop.line:>{digits}}  ", ("; ".join(loop.notes), "faint")
            )
            continue
        remarks = loop_remarks(loop, verbose=verbose)
        yield styled_row(
            f"   line {loop.line:>{digits}}  {loop.what:<{words}}  ",
            (vector, "good" if loop.lanes else "bad"), "  ", "; ".join(remarks),
        )


def loop_remarks(loop: LoopInfo, *, verbose: bool = False) -> Iterator[str]:
    """What is said of a compiled loop besides its vectors: the loops around it and in the same
    pass, the cost of an element, threads (why there is one, if `verbose`), and its notes.
    """
    if outer := tuple(dict.fromkeys(s.line for s in loop.around if s.line != loop.line)):
        yield f"in {_lines(outer)}"
    if loop.fused_with:
        yield f"one pass with {_lines(loop.fused_with)}"
    if loop.bytes:
        saves = loop.fused_with and loop.unfused_bytes > loop.bytes
        saving = f" instead of {loop.unfused_bytes}" if saves else ""
        yield f"{loop.bytes} B{saving} and {counted(loop.flops, 'flop')} an element"
    if loop.threads_from:
        most = counted(loop.most_threads, "thread")
        least = f" from {loop.threads_from:,} elements" if loop.threads_from > 1 else ""
        yield f"up to {most}{least}"
    elif loop.one_thread and verbose:
        yield f"one thread: {loop.one_thread}"
    yield from loop.notes


def _lines(numbers: Sequence[int]) -> str:
    """Line numbers as text: ``lines 3, 5``."""
    return f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _stat(name: str, value: object) -> str:
    """One statistic as text."""
    if isinstance(value, Mapping):
        return f"{name} {', '.join(f'{v} × {k}' for k, v in value.items()) or 'none'}"
    return f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
