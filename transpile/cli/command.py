"""The ``transpile`` command. Status: 0 fine, 1 rejected under --check, 2 bad usage or bad file."""
from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..report.rows import Row, as_plain, as_rich

if TYPE_CHECKING:
    from ..dispatch.fused import Fused
    from ..report.report import Report
    from .cases import Case

__all__ = ["main"]

STAGES = {"python": ".py", "loopir": ".ir", "c": ".c", "asm": ".s"}
"""What ``--emit`` knows, and the ending of the file it writes under ``-o``."""

FORMATS = ("rich", "plain", "json", "sarif", "github")


class Usage(Exception):
    """Something in the command line or the file that ends the command with status 2."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; the exit status."""
    words, script_args = _split(list(sys.argv[1:] if argv is None else argv))
    parser = _parser()
    options = parser.parse_args(words)
    try:
        if options.explain is not None:
            return _explain(options.explain)
        if options.targets:
            return _targets()
        if options.cache is not None:
            return _cache(options.cache)
        if options.file is None:
            parser.error("want a file, or one of --explain, --targets, --cache")
        return _file(options, script_args)
    except Usage as wrong:
        print(f"transpile: {wrong}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The command's own words, and those after ``--``, which are the script's."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="transpile",
        description="Reports what became of the loops of every @fuse function in a file.",
        epilog="Words after -- are the script's, under --run. "
        "Status: 0 fine, 1 rejected under --check, 2 bad usage or a file that cannot be read.",
    )
    add = parser.add_argument
    add("file", nargs="?", help="a Python file")
    add("--all", action="store_true", help="every function with loops, decorated or not")
    add("--emit", choices=STAGES, metavar="STAGE", help=f"print a stage: {', '.join(STAGES)}")
    add("-o", dest="output", metavar="DIR", help="write what --emit prints to files there")
    add("--target", metavar="NAME", help="compile for this target (see --targets)")
    add("--types", action="append", default=[], metavar="SPEC",
        help="a function's argument types, as in 'f(f64[:], f64[:, :], int)'")
    add("--check", action="store_true", help="exit status 1 if anything is rejected")
    add("--format", choices=FORMATS, metavar="FORMAT", help=f"one of {', '.join(FORMATS)}")
    add("--run", action="store_true", help="run the script, and report with the types that came")
    add("--explain", nargs="?", const="", metavar="CODE", help="print a code's page, or all codes")
    add("--targets", action="store_true", help="list the targets")
    add("--cache", nargs="?", const="info", choices=("info", "clear"), metavar="clear",
        help="show the cache of compiled kernels, or clear it")
    return parser


def _explain(code: str) -> int:
    from .pages import code_list, code_page

    try:
        _show(code_page(code) if code else code_list())
    except KeyError as unknown:
        raise Usage(unknown.args[0]) from None
    return 0


def _targets() -> int:
    from .pages import target_rows

    _show(target_rows())
    return 0


def _cache(what: str) -> int:
    from targets.build import cache_clear

    from .pages import cache_rows

    if what == "clear":
        cache_clear()
    _show(cache_rows())
    return 0


def _file(options: argparse.Namespace, script_args: Sequence[str]) -> int:
    if options.target:
        _choose_target(options.target)
    from .examine import Unreadable, functions, import_file, run_file

    status = 0
    try:
        if options.run:
            names, status = run_file(options.file, script_args)
        else:
            names = import_file(options.file)
    except Unreadable as error:
        raise Usage(error) from None
    found = functions(names, options.file, every=options.all)
    if not found:
        hint = "" if options.all else "; --all takes every function with loops"
        print(f"transpile: {options.file}: no @fuse function{hint}", file=sys.stderr)
        return status
    return max(status, _answer(found, options))


def _answer(found: Sequence[Fused], options: argparse.Namespace) -> int:
    from .cases import cases_of

    try:
        cases = list(cases_of(found, options.types, ran=options.run))
    except ValueError as error:
        raise Usage(error) from None
    if options.emit:
        refused = _write_stages(cases, options)
        return int(options.check and refused)
    reports = [case.report() for case in _with_progress(cases)]
    _show_reports(reports, options.format or ("rich" if sys.stdout.isatty() else "plain"))
    refused = any(not r.accepted or r.rejections for r in reports)
    return int(options.check and refused)


def _choose_target(name: str) -> None:
    from targets.isa import TARGETS

    if name not in TARGETS:
        raise Usage(f"--target {name}: no such target (known: {', '.join(TARGETS)})")
    os.environ["TRANSPILE_TARGET"] = name


def _write_stages(cases: Sequence[Case], options: argparse.Namespace) -> bool:
    """Prints a stage of each case, or writes it to a file; whether any does not get so far.

    Further signatures of one function go to files with a number.
    """
    from ..errors import FuseError

    refused = False
    times: Counter[str] = Counter()
    for case in _with_progress(cases):
        try:
            text = case.emit(options.emit).rstrip("\n") + "\n"
        except FuseError as error:
            print(f"transpile: {error}", file=sys.stderr)
            refused = True
            continue
        if options.output is None:
            print(text, end="")
            continue
        times[case.name] += 1
        again = f"-{times[case.name]}" if times[case.name] > 1 else ""
        print(_written(text, Path(options.output, case.name + again + STAGES[options.emit])))
    return refused


def _written(text: str, path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from error
    return path


def _with_progress(cases: Sequence[Case]) -> Iterable[Case]:
    """The cases, with a bar on a terminal's stderr where there are several."""
    if len(cases) < 2 or not sys.stderr.isatty():
        return cases
    from rich.console import Console
    from rich.progress import track

    return track(cases, "compiling", console=Console(stderr=True), transient=True)


def _show_reports(reports: Sequence[Report], form: str) -> None:
    from ..report.formats import to_github, to_json, to_sarif

    match form:
        case "json":
            print(to_json(reports))
        case "sarif":
            print(to_sarif(reports))
        case "github":
            print(to_github(reports))
        case "plain":
            print("\n\n".join(map(str, reports)))
        case _:
            from rich.console import Console

            console = Console()
            for report in reports:
                console.print(report)
                console.print()


def _show(rows: Iterable[Row]) -> None:
    """Rows on stdout, in colours where it is a terminal."""
    if not sys.stdout.isatty():
        print(as_plain(rows))
        return
    from rich.console import Console

    console = Console()
    for line in as_rich(rows, console.width):
        console.print(line)
