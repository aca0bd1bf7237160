"""Machine-readable reports: JSON, SARIF 2.1.0, and annotations for GitHub Actions."""
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from loopir.nodes import Span

from ..codes import CODES
from ..diagnostics import Rejection
from .loop_report import Report

__all__ = ["to_github", "to_json", "to_sarif"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_json(reports: Sequence[Report]) -> str:
    """An array with one object per report."""
    return json.dumps([report.to_dict() for report in reports], indent=2)


def to_sarif(reports: Sequence[Report]) -> str:
    """The reports as a SARIF log, which code hosts and editors show beside the source: a rule for
    each code that occurs, a result for each rejection that is shown. SARIF columns count characters
    from 1, a span counts bytes from 0 (`_column`). ``transpile --format sarif`` prints it;
    `to_json` and `to_github` are the other formats.
    """
    pairs = [(report, rejection) for report in reports for rejection in report.rejections]
    codes = sorted({rejection.code for _, rejection in pairs})
    driver = {"name": "transpile", "rules": [_rule(code) for code in codes]}
    results = [_result(report, rejection) for report, rejection in pairs]
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def to_github(reports: Sequence[Report]) -> str:
    """One line per rejection, which GitHub shows at the source line."""
    return "\n".join(
        _annotation(report, rejection) for report in reports for rejection in report.rejections
    )


def _rule(code: str) -> dict[str, Any]:
    """The SARIF rule of a code."""
    page = CODES[code]
    return {
        "id": code,
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": page.why},
        "help": {"text": page.help},
    }


def _result(report: Report, rejection: Rejection) -> dict[str, Any]:
    """The SARIF result of a rejection."""
    result = {
        "ruleId": rejection.code,
        "level": "warning",
        "message": {"text": _file_and_cell(report)[1] + _sentence(rejection)},
        "locations": [_location(report, rejection.span)],
    }
    related = [
        _location(report, label.span) | {"message": {"text": label.text}}
        for label in rejection.labels
        if label.text
    ]
    return result | ({"relatedLocations": related} if related else {})


def _location(report: Report, span: Span | None) -> dict[str, Any]:
    """The SARIF location of a span; the function's line if there is none."""
    region = {"startLine": report.line}
    if span is not None:
        region = {
            "startLine": span.line,
            "startColumn": _column(report, span.line, span.col),
            "endLine": span.end_line,
            "endColumn": _column(report, span.end_line, span.end_col),
        }
    artifact = {"uri": _file_and_cell(report)[0]}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _file_and_cell(report: Report) -> tuple[str, str]:
    """The file of a report, and the text before its messages: in a notebook the number of the cell
    to which line numbers refer, else "".
    """
    path, is_notebook, cell = report.path.partition(".ipynb:")
    return (f"{path}.ipynb", f"cell {cell}: ") if is_notebook else (path, "")


def _column(report: Report, line: int, col: int) -> int:
    """The SARIF column, in characters from 1, of a column in bytes."""
    text = report.source.get(line)
    return 1 + (col if text is None else len(text.encode()[:col].decode(errors="ignore")))


def _sentence(rejection: Rejection) -> str:
    """Message, note and help in one line."""
    parts = (rejection.message, rejection.note, rejection.help)
    return "; ".join(part.replace("\n", " ") for part in parts if part)


def _annotation(report: Report, rejection: Rejection) -> str:
    """The GitHub workflow command for a rejection."""
    path, cell = _file_and_cell(report)
    properties = {"file": path, "line": report.line, "title": rejection.code}
    if rejection.span is not None:
        properties["line"] = rejection.span.line
        properties["endLine"] = rejection.span.end_line
    keys = ",".join(f"{name}={_escaped(str(value), ',:')}" for name, value in properties.items())
    return f"::warning {keys}::{_escaped(cell + _sentence(rejection))}"


def _escaped(text: str, special: str = "") -> str:
    """`text` percent-encoded for workflow commands; `special`: further characters to encode."""
    return "".join(_escapes(text, "%\r\n" + special))


def _escapes(text: str, special: str) -> Iterator[str]:
    """The characters of `text`, those in `special` encoded."""
    for char in text:
        yield f"%{ord(char):02X}" if char in special else char
