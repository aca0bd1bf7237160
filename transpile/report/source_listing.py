"""Annotated listing: Python line by line next to its Loop IR, C and assembly.

Each generated line is attributed to a line of Python: Loop IR by the spans of its nodes, C by
comments ``/* line 5 */`` that the printer emits, assembly by the compiler's line table, for which
the comments become ``#line`` directives. `_by_line` groups them.
"""
from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from loopir.ir_printer import text_lines as lines_of
from loopir.ir_traversal import children, contains, source_line
from loopir.lazy_dataclass import record, replace
from loopir.nodes import Check, Kernel, Loop, Node, PredLoop, Scan, VecLoop, While, Zip

from ..diagnostics import counted
from ..frontend.source import Source
from .listing_html import Listed, Verdict, listing_page, listing_table
from .loop_report import LoopInfo, Report, file_label, loop_remarks, summary_text
from .styled_text import printable

__all__ = ["Listing", "join_listings", "make_listing", "with_verdicts"]

_MARK = re.compile(r"\s*/\* line (\d+) \*/")
"""The comment in the C that gives the line of Python of the lines after it."""
_FUNCTION = re.compile(r"^.*\bint64_t tp_(?:body|part_\d+)\(", re.MULTILINE)
"""The start of the first C function that is made from the user's: the body, or a part of a loop
that threads run.
"""
_FILE = re.compile(r'\s*\.file\s+(\d+)\s.*"([^"]*)"')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
"""Directives of assembly: the number of a file of the line table; file and line of what follows."""
_CODE = re.compile(r"\s+[a-z]|\.L\d+:|tp_[\w.]+:")
"""An instruction or a label of assembly; no directive."""
_PYTHON, _NONE = "of_python", "of_none"  # file names in the line table


@record(frozen=True, slots=True, kw_only=True)
class Listing:
    """A function line by line, with the generated code: ``print`` it, or show it in Jupyter.

    Code that comes from several lines is shown at the first of them, code of no line at that of the
    code around it; C compilers may attribute an instruction to another line. ``lines``: in source
    order, then line 0 with what is left: parameters, and the frames of functions.
    """

    function: str
    path: str
    target: str
    lines: tuple[Listed, ...]
    verdicts: tuple[Verdict, ...] = ()  # what the report says of the function

    def __str__(self) -> str:
        return printable("\n".join(self._texts()))

    __repr__ = __str__

    def _texts(self) -> Iterator[str]:
        """The lines of the plain text."""
        yield f"{self.function}  {file_label(self.path)}  for {self.target}"
        yield from (f"   {text}" for _, text in self.verdicts)
        for line in self.lines:
            yield f"{line.number or '':>5} │ {line.python}".rstrip()
            yield from (f"      ┊ {text}" for _, text in line.verdicts)
            for name, texts in (("ir", line.loopir), ("c", line.c), ("asm", line.asm)):
                yield from (f"  {name:>3} ┊ {text}" for text in texts)

    def _repr_html_(self) -> str:
        """An HTML table with a row for each line of Python."""
        title = f"{self.function}, {file_label(self.path)}, for {self.target}"
        return listing_table(title, self.verdicts, self.lines)

    def page(self) -> str:
        """The table as a complete HTML page."""
        return listing_page(self.function, self._repr_html_())


def with_verdicts(listing: Listing, report: Report) -> Listing:
    """`listing` with what `report` says of each line: how its loop is compiled, or why it is not;
    and with a summary on the whole function.

    A verdict is a style and a text. The style gives the row its colour (`listing_html._row`):

    - "good": a vector loop;
    - "second": compiled, but not as well as it could be: to scalar code, not joined with another
      loop, with a guard that fails; also the labels of each rejection;
    - "bad": left to Python (the code of the rejection is LOWER_…, SOURCE_… or BUILD_…);
    - "", "faint": a note or help; a loop of which nothing is left, and how often guards and checks
      are tested (`_verdicts_on_tests`): no colour.

    `Report.further` are the rejections that a report shows only in detail. A rejection without a
    line stands at the line of the function.
    """
    verdicts = defaultdict[int, list[Verdict]](list)
    for loop in report.loops:
        verdicts[loop.line].append(_verdict_on(loop))
    for r in (*report.rejections, *report.further):
        style = "bad" if r.family in ("LOWER", "SOURCE", "BUILD") else "second"
        said = (r.note and f"note: {r.note}", r.help and f"help: {r.help}")
        where = r.line or report.line
        verdicts[where].append((style, f"{r.code}: {r.message}"))
        verdicts[where] += [("", text) for text in said if text]
        for label in r.labels:
            if label.text:
                verdicts[label.span.line].append(("second", f"{r.code}: {label.text}"))
    for line in listing.lines:
        verdicts[line.number] += line.verdicts
    lines = (replace(line, verdicts=tuple(dict.fromkeys(verdicts[line.number])))
             for line in listing.lines)
    summary = summary_text(report)
    style = "good" if report.accepted else "bad"
    return replace(listing, lines=tuple(lines), verdicts=((style, summary),))


def _verdict_on(loop: LoopInfo) -> Verdict:
    """What became of a loop."""
    if loop.isa == "none":
        return "faint", "; ".join(loop.notes)
    lanes = f"vectorised, {loop.lanes} lanes" if loop.lanes else "scalar machine code"
    remarks = "".join(f"; {remark}" for remark in loop_remarks(loop))
    return "good" if loop.lanes else "second", f"{loop.what}: {lanes}{remarks}"


def _verdicts_on_tests(kernel: Kernel) -> Mapping[int, Sequence[Verdict]]:
    """For each line of Python what its guards and checks cost: how often they are tested."""
    guards = Counter(source_line(guard) for guard in kernel.guards)
    verdicts = defaultdict[int, list[Verdict]](list)
    for line, count in guards.items():
        verdicts[line].append(("faint", f"{counted(count, 'guard')}, tested once a call"))
    checks = Counter(_checks(kernel, "tested once"))
    for (line, how_often), count in checks.items():
        verdicts[line].append(("faint", f"{counted(count, 'check')}, {how_often}"))
    return verdicts


def _checks(n: Node, how_often: str) -> Iterator[tuple[int, str]]:
    """The lines of the checks in `n`, which are tested so often."""
    match n:
        case Check():
            yield source_line(n), how_often
        case VecLoop() | PredLoop():
            how_often = "tested for each vector"
        case Loop() | Zip() | Scan() | While():
            how_often = "tested in each iteration"
    for child in children(n):
        if contains(child, Check):
            yield from _checks(child, how_often)


def make_listing(
    source: Source, kernel: Kernel, c: str, target: str, assembled: Callable[[str], str]
) -> Listing:
    """The listing of the function in `source` (``f.listing``): each line of Python, and below it
    the Loop IR, C and assembly that were made of it::

           11 │         y[i] = x[i] * 2
           ir ┊         y[i:W] = x[i:W] * broadcast(2.0, W)
            c ┊         _mm512_storeu_pd(…)
          asm ┊     vmovupd %zmm0, (%rsi,%rax,8)

    - ``kernel``: after all passes, whose nodes have spans;
    - ``c``: with the line comments that the printer emits for a listing;
    - ``assembled``: a function that compiles C to assembly with line information.

    The module's docstring says how each text is attributed to lines; `with_verdicts` adds what the
    report says. Made by `runtime/inspection.py`.
    """
    return _by_line(
        source,
        target,
        _verdicts_on_tests(kernel),
        _of_kernel(kernel),
        _of_c(c),
        _of_assembly(assembled(_with_line_directives(c))),
    )


def join_listings(source: Source, target: str, parts: Sequence[Listing]) -> Listing:
    """The listing of the function in `source` from those of its regions."""
    lines = [line for part in parts for line in part.lines]
    verdicts = defaultdict[int, list[Verdict]](list)
    for line in lines:
        verdicts[line.number] += line.verdicts
    columns = (
        [(line.number, text) for line in lines for text in getattr(line, column)]
        for column in ("loopir", "c", "asm")
    )
    return _by_line(source, target, verdicts, *columns)


def _by_line(
    source: Source, target: str, verdicts: Mapping[int, Sequence[Verdict]],
    *columns: Iterable[tuple[int, str]],
) -> Listing:
    """The listing with the generated lines grouped by their lines of Python. `columns`: for each of
    Loop IR, C and assembly the lines of text, each with the number of its line of Python; a number
    outside of the function counts as 0.
    """
    first, last = source.tree.lineno, source.tree.end_lineno or source.tree.lineno
    grouped = []
    for column in columns:
        by_number = defaultdict[int, list[str]](list)
        for number, text in column:
            by_number[number if first <= number <= last else 0].append(text)
        grouped.append(by_number)
    loopir, c, asm = grouped
    lines = (
        Listed(
            number=n,
            python=source.lines[n - 1] if n else "",
            loopir=tuple(loopir[n]), c=tuple(c[n]), asm=tuple(asm[n]),
            verdicts=tuple(verdicts.get(n, ())),
        )
        for n in (*range(first, last + 1), 0)
    )
    return Listing(function=source.qualname, path=source.path, target=target, lines=tuple(lines))


def _of_kernel(kernel: Kernel) -> Iterator[tuple[int, str]]:
    """The lines of the kernel's Loop IR, with the line of Python of each."""
    return _with_lines_around(
        (None if isinstance(node, Kernel) else source_line(node), text)
        for text, node in lines_of(kernel)
    )


def _of_c(c: str) -> Iterator[tuple[int, str]]:
    """The lines of the C functions, with their lines of Python; the headers before them are left
    out.
    """
    start = _FUNCTION.search(c)
    return _with_lines_around(_marked_lines(c[start.start() if start else len(c) :]))


def _marked_lines(c: str) -> Iterator[tuple[int | None, str]]:
    """The lines of `c` but for the line comments; with each the number of the comment before it:
    None before the first comment of a function, 0 where a block ends.
    """
    number: int | None = None
    for text in c.splitlines():
        if (mark := _MARK.match(text)) is not None:
            number = int(mark[1])
        elif text:
            number = number if text[0] in " #" else None
            yield 0 if number and text.lstrip()[0] == "}" else number, text


def _with_lines_around(code: Iterable[tuple[int | None, str]]) -> Iterator[tuple[int, str]]:
    """Lines of code, each with its line of Python. Number 0, of statements without a line, becomes
    that of the statement before in the same block, else of the block, else of the next statement;
    None, of what is no statement, becomes 0::

        6     for i in loop(…):                 6
        0         first = i * 4096        →     6
        7         v = x[first]                  7
        0         s = step(s + v)               7
    """
    around: list[tuple[int, int]] = []  # the indentation and number of statements before
    waiting: list[str] = []
    for number, text in code:
        indent = len(text) - len(text.lstrip())
        if number is None:
            yield from ((0, before) for before in waiting)
            waiting.clear()
            around.clear()
            yield 0, text
            continue
        while around and around[-1][0] >= indent + (not number):
            around.pop()
        if number:
            around.append((indent, number))
            yield from ((number, before) for before in waiting)
            waiting.clear()
        elif not around:
            waiting.append(text)
            continue
        yield around[-1][1], text
    yield from ((0, before) for before in waiting)


def _with_line_directives(c: str) -> str:
    """`c` with ``#line`` directives that point to the Python source, as `_of_c` numbers it."""
    start = _FUNCTION.search(c)
    if start is None:
        return c
    out = [c[: start.start()]]
    for line, text in _of_c(c):
        out.append(f'#line {line or 1} "{_PYTHON if line else _NONE}"')
        out.append(text)
    return "\n".join(out) + "\n"


def _of_assembly(text: str) -> Iterator[tuple[int, str]]:
    """The instructions and jump labels of assembly, each with its line of Python.

    Instructions of inlined C functions are attributed to the line of Python that follows them,
    where their results are mostly used.
    """
    files, current, inlined = dict[str, str](), 0, list[str]()
    for line in text.splitlines():
        if (file_entry := _FILE.match(line)) is not None:
            files[file_entry[1]] = file_entry[2]
        elif (location := _LOC.match(line)) is not None:
            name = files.get(location[1], "")
            if name in (_PYTHON, _NONE):
                current = int(location[2]) if name == _PYTHON else 0
                yield from ((current, text) for text in inlined)
                inlined.clear()
            else:
                current = -1
        elif _CODE.match(line) and current >= 0:
            current = current if line[0].isspace() or line.startswith(".L") else 0
            yield current, line.expandtabs(4)
        elif _CODE.match(line):
            inlined.append(line.expandtabs(4))
    yield from ((0, text) for text in inlined)
