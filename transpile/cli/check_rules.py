"""Rules of ``--check``: which rejections fail it, by options and by comments in the file."""
from __future__ import annotations

import dataclasses
import difflib
import linecache
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from loopir.lazy_dataclass import record

from ..codes import CODES
from ..diagnostics import Rejection
from ..report.loop_report import Report

__all__ = ["CheckRules", "parse_codes"]

_LEFT_TO_PYTHON = ("LOWER", "SOURCE", "BUILD", "GUARD", "VERIFY")
"""The families of codes, by their first word, of rejections that leave a loop to Python."""

_COMMENT = re.compile(r"#\s*transpile:\s*ignore\b(?:\[([^\]]*)\])?")


def parse_codes(words: Iterable[str], where: str) -> tuple[str, ...]:
    """The codes, or what codes begin with, in `words`, which are separated by commas.

    Raises ValueError, which names `where` and the codes, for a word with which none begins, and for
    words without a code, such as those of ``--select ""``.
    """
    words = [*words]
    codes = [code.strip().upper() for word in words for code in word.split(",") if code.strip()]
    for code in codes:
        if not any(known.startswith(code) for known in CODES):
            near = difflib.get_close_matches(code, CODES, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{where} {code}: no code begins like this{hint} {_families()}")
    if words and not codes:
        raise ValueError(f"{where}: there is no code {_families()}")
    return tuple(codes)


def _families() -> str:
    """The end of a message about an unknown code: the first words that codes have."""
    families = dict.fromkeys(known.partition("_")[0] for known in CODES)
    return f"(they begin with {', '.join(families)}; transpile --explain lists all)"


@record(frozen=True, slots=True)
class CheckRules:
    """What ``--select`` and ``--ignore`` say, as codes or prefixes of codes (``LOWER``)."""

    select: tuple[str, ...] = ()
    """Which rejections fail the check; empty: those that leave a loop to Python."""
    ignore: tuple[str, ...] = ()
    """Which rejections are excused."""

    def without_ignored(self, report: Report) -> Report:
        """`report` without the rejections that ``--ignore`` or a comment in the file excuses::

            total += cost(x[i])    # transpile: ignore[LOWER_CALL]

        A comment counts for its line; at a ``def``, or a decorator above it, for the whole
        function; without codes, for all codes. Raises ValueError for a code that does not exist.
        """
        linecache.checkcache(report.path)
        lines = report.source or dict(enumerate(linecache.getlines(report.path), 1))
        comments = _ignored_codes_by_line(report, lines)
        header = _header_lines(report, lines)
        whole = next((comments[n] for n in header if n in comments), None)
        kept = [
            rejection
            for rejection in report.rejections
            if not rejection.code.startswith(self.ignore)
            and not _matches(whole, rejection)
            and not _matches(comments.get(rejection.line or 0), rejection)
        ]
        is_same = len(kept) == len(report.rejections)
        return report if is_same else dataclasses.replace(report, rejections=tuple(kept))

    def fails(self, report: Report, original: Report, counts: Callable[[Rejection], bool]) -> bool:
        """Whether ``--check`` fails for the function of this report. In this order:

        - with ``--select``: if a rejection of these codes is left;
        - all loops are compiled: no;
        - a loop is left to Python, and no rejection was made that says why: yes, since nobody can
          have excused it;
        - else: if a rejection is left that leaves a loop to Python (`_LEFT_TO_PYTHON`). A loop that
          is not vectorised or not joined is compiled all the same.

        ``original``: the report as it was made; ``report``: without what ``--ignore`` and comments
        excuse (`without_ignored`). ``counts(r)``: False for a rejection that stands only because a
        type is not known before the file runs, so that the file may well be right.
        """
        codes = [r.code for r in report.rejections if counts(r)]
        if self.select:
            return any(code.startswith(self.select) for code in codes)
        if report.accepted:
            return False
        unexplained = not original.rejections
        return unexplained or any(code.startswith(_LEFT_TO_PYTHON) for code in codes)


def _ignored_codes_by_line(
    report: Report, lines: Mapping[int, str]
) -> dict[int, tuple[str, ...]]:
    """The codes of ``# transpile: ignore[…]`` by line; all codes without brackets."""
    found = {}
    for number, line in lines.items():
        match = _COMMENT.search(line) if "transpile:" in line else None
        if match:
            where = f"{Path(report.path).name}:{number}: ignore"
            codes = parse_codes([match[1]], where) if match[1] is not None else ()
            found[number] = codes or ("",)
    return found


def _header_lines(report: Report, lines: Mapping[int, str]) -> list[int]:
    """The lines of a function's decorators and of its ``def`` up to the colon; the first line of a
    lambda.
    """
    texts = iter([lines[n].rstrip("\n") + "\n" for n in sorted(lines) if n >= report.line])
    depth, in_def = 0, False
    try:
        for token in tokenize.generate_tokens(lambda: next(texts, "")):
            depth += (token.string in "([{") - (token.string in ")]}")
            in_def = in_def or (token.string == "def" and depth == 0)
            if in_def and token.string == ":" and depth == 0:
                return [*range(report.line, report.line + token.start[0])]
    except (tokenize.TokenError, SyntaxError):
        pass  # a part of a statement, as around a lambda
    return [report.line]


def _matches(codes: tuple[str, ...] | None, rejection: Rejection) -> bool:
    """Whether one of `codes` is the code of the rejection, or a prefix of it."""
    return codes is not None and rejection.code.startswith(codes)
