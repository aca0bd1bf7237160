"""The ``transpile`` command. Status: 0 fine, 1 rejected under --check, 2 bad usage or bad file."""
from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from ..report.rows import Row, as_plain, as_rich
from .words import STAGES, Usage, parsed

if TYPE_CHECKING:
    from ..dispatch.fused import Fused
    from ..report.report import Report
    from .cases import Case

__all__ = ["main"]

def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; the exit status."""
    if sys.stdout is None:  # closed
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (until the end)
    try:
        status = _done(*parsed(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return status
    except Usage as wrong:
        print(f"transpile: {wrong}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("transpile: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as head, has gone
        _give_up_stdout()
        return 0
    except OSError as error:  # a full disk, say
        print(f"transpile: {error}", file=sys.stderr)
        _give_up_stdout()
        return 2


def _give_up_stdout() -> None:
    """What is still to be written goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _done(options: argparse.Namespace, script_args: Sequence[str]) -> int:
    if options.explain is not None:
        return _explain(options.explain)
    if options.targets:
        return _targets()
    if options.ops:
        return _ops()
    if options.cache is not None:
        return _cache(options.cache)
    return _file(options, script_args)


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


def _ops() -> int:
    from .pages import op_rows

    _show(op_rows())
    return 0


def _cache(what: str) -> int:
    from targets.build import cache_clear

    from .pages import cache_rows

    if what == "clear":
        cache_clear()
    _show(cache_rows())
    return 0


def _file(options: argparse.Namespace, script_args: Sequence[str]) -> int:
    _choose_target(options.target)
    from .examine import Unreadable, functions, import_file, run_file

    status = 0
    ours = options.format in ("json", "sarif") or (options.emit and not options.output)
    try:
        if options.run:
            with contextlib.redirect_stdout(sys.stderr if ours else sys.stdout):
                names, status = run_file(options.file, script_args)
        else:
            names = import_file(options.file)
    except Unreadable as error:
        raise Usage(error) from None
    found = functions(names, options.file, every=options.all)
    if not found:
        hint = "" if options.all else "; --all takes every function with loops"
        print(f"transpile: {options.file}: no @fuse function{hint}", file=sys.stderr)
    return max(status, _answer(found, options))


def _answer(found: Sequence[Fused], options: argparse.Namespace) -> int:
    from .cases import cases_of

    _print_anyway()
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


def _choose_target(name: str | None) -> None:
    """Of a decorator's auto. Raises Usage, also where a variable of the environment is wrong."""
    from targets.isa import TARGETS

    from .. import knobs
    from ..options import Options, chosen_target

    if name and name not in (*TARGETS, "auto"):
        raise Usage(f"--target {name}: no such target (known: {', '.join(TARGETS)}, auto)")
    if name:
        os.environ["TRANSPILE_TARGET"] = name
    try:
        chosen_target(Options(), knobs.read())
    except ValueError as error:
        raise Usage(error) from None


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
        case "rich":
            from rich.console import Console

            console = Console()
            for report in reports:
                console.print(report)
                console.print()
        case _:
            text = to_github(reports) if form == "github" else "\n\n".join(map(str, reports))
            print(text, end="\n" * bool(text))


def _print_anyway() -> None:
    """With a ``?`` for what the encoding of stdout lacks."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _show(rows: Iterable[Row]) -> None:
    """Rows on stdout, in colours where it is a terminal."""
    _print_anyway()
    if not sys.stdout.isatty():
        print(as_plain(rows))
        return
    from rich.console import Console

    console = Console()
    for line in as_rich(rows, console.width):
        console.print(line)
