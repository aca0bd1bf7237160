"""The ``transpile`` command: argument parsing and its tasks.

`main` returns the exit status, and its docstring says what each one means.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .. import __version__
from ..report.styled_text import StyledRow, as_plain, as_rich, printable
from .argument_parser import Parser, UsageError, choose_target

if TYPE_CHECKING:
    from ..report.loop_report import Report
    from ..runtime.fuse_decorator import AnyFused
    from .check_rules import CheckRules
    from .file_cases import Case, LoadedFile
    from .input_files import UnreadableFile

__all__ = ["EMIT_STAGES", "parse_command_line", "main"]

EMIT_STAGES = {
    "python": ".py", "loopir": ".ir", "loopset": ".loops", "mlir": ".mlir", "c": ".c", "asm": ".s",
    "html": ".html",
}
"""The stages of ``--emit``, with the suffix of the file written under ``-o``."""

FORMATS = ("rich", "plain", "json", "sarif", "github")


_SCRIPT_ARGUMENTS = "the script's own arguments stand behind --: transpile FILE --run -- args"


def parse_command_line(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The command's options, and the script's arguments. Raises UsageError."""
    own_words, script_args = _split_script_args(list(words))
    parser = _parser()
    options = parser.parse_known_options(
        own_words, lambda known: f"; {_SCRIPT_ARGUMENTS}" if known.run else ""
    )
    if message := _contradiction(options, script_args):
        parser.error(message)
    return options, script_args or []


def _split_script_args(words: list[str]) -> tuple[list[str], list[str] | None]:
    """The command's own words, and those after ``--`` (None without it)."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _parser() -> Parser:
    """The parser of the command's own words: one `add` for each option. Which options exclude each
    other `_contradiction` says, what they do `_run_task`; ``docs/command.md`` describes them.
    """
    parser = Parser(
        prog="transpile",
        description="Reports what became of the loops of every @fuse function in files. The files "
        "are read, and never run unless --run is given; installed packages that they import are "
        "imported.",
        epilog="transpile bisect FILE and transpile reduce FILE run the file, and find a "
        "miscompile (--help). Words after -- are the script's, under --run. "
        "Status: 0 fine, 1 a loop left to Python under --check, 2 bad usage or a file that cannot "
        "be read; under --run that of the script, if it is greater.",
    )
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE",
        help="a Python file, a notebook, or a directory of these")
    add("--all", action="store_true", help="every function with loops, decorated or not")
    add(
        "--emit",
        choices=EMIT_STAGES,
        metavar="STAGE",
        help=f"print a stage: {', '.join(EMIT_STAGES)}",
    )
    add("--stop-after", metavar="STAGE",
        help="print the program after this stage or pass of transpile.pipeline (NAME or NAME@N)")
    add("--skip-pass", action="append", default=[], metavar="NAME[@N]",
        help="leave this pass out, or only its N-th invocation")
    add("-o", dest="output", metavar="DIR", help="write what --emit prints or --build makes there")
    add("--target", metavar="NAME", help="compile for this target (see --targets)")
    add("--types", action="append", default=[], metavar="SPEC",
        help="a function's argument types, as reports print them: 'f(f64[:], f64[:, :], int)', "
        "'f({x: f64, n: i32}[:])' of records, 'f(x: f64[:], mode: \"sum\")'; those with defaults "
        "can be left out")
    add("--check", action="store_true", help="report only on functions with a loop left to Python, "
        "and exit with status 1 if there are any; a comment '# transpile: ignore[CODE]' excuses "
        "its line, or at a def the function")
    add("--select", action="append", default=[], metavar="CODES",
        help="--check fails on these codes instead, or on those that begin so: LOWER,VECTOR")
    add("--ignore", action="append", default=[], metavar="CODES",
        help="leaves these codes, or those that begin so, out of reports and --check")
    add("--format", choices=FORMATS, metavar="FORMAT", help=f"one of {', '.join(FORMATS)}")
    add("--build", action="store_true", help="write a package with compiled kernels, which needs "
        "no compiler where it is used, to the folder -o (dist); with --check, status 1 if a "
        "function stays Python in it")
    add("--wheel", nargs="?", const="", metavar="NAME==VERSION", help="with --build, write a wheel "
        "of the package; the name is that of the package, and the version the __version__ of the "
        "file, unless they are given")
    add("--platform", metavar="NAMES", help="with --build, for these systems instead, by the tags "
        "of wheels, separated by commas: win_amd64,manylinux_2_17_aarch64; of several, each has "
        "a folder in that of -o. The compiler is that of the ziglang wheel")
    add("--run", action="store_true", help="run the script, and report with the types that came")
    add("--version", action="version", version=f"transpile {__version__}")
    add("--explain", nargs="?", const="", metavar="CODE", help="print a code's page, or all codes")
    add("--targets", action="store_true", help="list the targets")
    add("--machine", action="store_true", help="show the caches for which code is made, and how "
        "fast this machine moves data")
    add("--ops", action="store_true", help="list the operations, and what each target has for them")
    add("--cache", nargs="?", const=True, choices=("clear",), metavar="clear",
        help="show the cache of compiled kernels, or clear it")
    return parser


def _contradiction(
    options: argparse.Namespace, script_args: Sequence[str] | None
) -> str | None:
    """The error message for the first two options that exclude each other, which says what each is
    for; None if all fit. `parse_command_line` asks, since argparse knows no such rules.
    ``script_args``: the words after ``--``; None if there is no ``--``.
    """
    tasks = {
        "a file": bool(options.files),
        "--explain": options.explain is not None,
        "--targets": options.targets,
        "--machine": options.machine,
        "--ops": options.ops,
        "--cache": options.cache is not None,
    }
    given_tasks = [task for task, given in tasks.items() if given]
    if len(given_tasks) != 1:
        explanation = f"; not {' and '.join(given_tasks)} at once" if given_tasks else ""
        known = "--explain, --targets, --machine, --ops, --cache"
        return f"want a file, or one of {known}{explanation}"
    others = vars(options).keys() - {"files", "explain", "targets", "machine", "ops", "cache"}
    if not options.files and any(getattr(options, name) for name in others):
        return f"{given_tasks[0]} goes with no other option"
    if options.stop_after and (options.emit or options.format):
        return "--stop-after prints a stage, and goes with neither --emit nor --format"
    if options.output and not (options.emit or options.build):
        return "-o says where --emit and --build write; there is neither"
    if options.build and (options.emit or options.stop_after or options.format):
        return "--build writes a package, and goes with neither --emit, --stop-after nor --format"
    if options.platform and not options.build:
        return "--platform says for which systems --build compiles; there is no --build"
    if options.wheel is not None and not options.build:
        return "--wheel says what --build writes; there is no --build"
    if options.format and options.emit:
        return "--format is for reports, and --emit prints none"
    if options.select and not options.check:
        return "--select says on what --check fails; there is no --check"
    if options.run and len(options.files) > 1:
        return f"--run runs one file, not several; {_SCRIPT_ARGUMENTS}"
    if script_args is not None and not options.run:
        return "the words after -- are the script's, under --run; there is no --run"
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these words (those of the process if None); returns the exit status (of
    several files and functions the greatest):

    - 0: done, and ``--check`` has found nothing; or the reader of the output has exited before the
      end, whatever was found;
    - 1: ``--check`` has found a loop that is left to Python, or with ``--select`` one of its codes
      (`CheckRules.fails`); or, where a stage is printed (`_write_stages`), a function compiles but
      has no such form, as in MLIR, or, with ``--check``, is refused;
    - under ``--run`` the status of the script: 1 if it raised, 130 if it was interrupted;
    - 2: bad usage, a file that cannot be read, or output that cannot be written;
    - 130: interrupted, by the convention of shells.

    ``transpile bisect`` and ``transpile reduce`` have statuses of their own
    (`debug_commands.run_command`).
    """
    if sys.stdout is None:  # closed
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the end)
    words = sys.argv[1:] if argv is None else argv
    try:
        if words and words[0] in ("bisect", "reduce"):
            from .debug_commands import run_command

            return run_command(words)
        status = _run_task(*parse_command_line(words))
        sys.stdout.flush()
        return status
    except UsageError as wrong:
        print(f"transpile: {wrong}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("transpile: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as head, has exited
        _discard_stdout()
        return 0
    except OSError as error:  # a full disk, say
        print(f"transpile: {error}", file=sys.stderr)
        _discard_stdout()
        return 2


def _discard_stdout() -> None:
    """Redirect the rest of the output to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_task(options: argparse.Namespace, script_args: Sequence[str]) -> int:
    """Run the one task that the options name; returns the exit status."""
    if options.explain is not None:
        return _explain(options.explain)
    if options.targets:
        return _targets()
    if options.machine:
        return _machine()
    if options.ops:
        return _ops()
    if options.cache is not None:
        return _cache(options.cache)
    return _report_files(options, script_args)


def _explain(code: str) -> int:
    """Show the page of a code, or the list of codes."""
    from .info_pages import code_list, code_page

    try:
        _show(code_page(code) if code else code_list())
    except KeyError as unknown:
        raise UsageError(unknown.args[0]) from None
    return 0


def _targets() -> int:
    """Show the targets."""
    from .info_pages import target_rows

    _show(target_rows())
    return 0


def _machine() -> int:
    """Show the machine."""
    from .info_pages import machine_rows

    choose_target(None)  # the environment must be right
    _show(machine_rows())
    return 0


def _ops() -> int:
    """Show the operations."""
    from .info_pages import op_rows

    _show(op_rows())
    return 0


def _cache(what: str | Literal[True]) -> int:
    """Show the cache of kernels, after clearing it if `what` is "clear"."""
    from targets.build.build_kernel import cache_clear

    from .info_pages import cache_rows

    if what == "clear":
        cache_clear()
    _show(cache_rows())
    return 0


def _report_files(options: argparse.Namespace, script_args: Sequence[str]) -> int:
    """Read or run the files, and report on their functions. Returns the exit status."""
    choose_target(options.target)
    _check_stages(options)
    from .check_rules import CheckRules, parse_codes
    from .file_cases import cases_of, fused_functions
    from .input_files import UnreadableFile, find_files

    try:
        rules = CheckRules(
            parse_codes(options.select, "--select"), parse_codes(options.ignore, "--ignore")
        )
        paths = find_files(options.files)
    except (ValueError, UnreadableFile) as error:
        raise UsageError(error) from None
    if options.run and (os.path.isdir(options.files[0]) or len(paths) > 1):
        raise UsageError(f"--run runs one file, not a directory: {options.files[0]}")
    status, has_output = 0, False
    functions: list[AnyFused] = []
    files: list[LoadedFile] = []
    for file in _load(paths, options, script_args):
        if isinstance(file, UnreadableFile):
            if len(paths) == 1:
                raise UsageError(file) from None
            print(f"transpile: {file}", file=sys.stderr)
            status, has_output = 2, True
            continue
        for bad_cell in file.bad_cells:
            print(f"transpile: {bad_cell}", file=sys.stderr)
            status, has_output = 2, True
        found = fused_functions(file, every=options.all)
        for name, line in file.inner:
            text = f"`{name}` is made when another function runs; --run reports on it"
            print(f"transpile: {file.path}:{line}: {text}", file=sys.stderr)
        functions += found
        files.append(file)
        has_output = has_output or bool(found or file.inner)
        status = max(status, file.status)
    if not has_output:
        missing = "no function with loops" if options.all else "no @fuse function"
        if status:  # of a script
            missing += f" before the script ended with status {status}"
        elif not options.all:
            missing += "; --all takes every function with loops"
        print(f"transpile: {' '.join(options.files)}: {missing}", file=sys.stderr)
    try:
        cases = list(cases_of(functions, options.types, files, ran=options.run))
    except ValueError as error:
        raise UsageError(error) from None
    if options.build:
        return max(status, _build_packages(files, cases, options))
    return max(status, _report_cases(cases, rules, options))


def _build_packages(
    files: Sequence[LoadedFile], cases: Sequence[Case], options: argparse.Namespace
) -> int:
    """Write a package of each file. Returns the exit status: 1 under ``--check`` if some function
    stays Python.
    """
    from ..ahead.build_command import PackageError, build
    from ..ahead.platforms import own_platform, platform_named
    from .file_cases import as_module, plain_names

    names = options.platform.split(",") if options.platform else []
    try:
        platforms = [*map(platform_named, names)] or [own_platform()]
    except ValueError as error:
        raise UsageError(f"--platform: {error}") from None
    is_whole = True
    for file in files:
        own = [c for c in cases if c.function.__wrapped__.__code__.co_filename in file.code_names]
        functions = [case.function.__wrapped__ for case in own]
        plain = list(plain_names(file, functions))
        signatures = [(c.function.__wrapped__, c.types, c.function.options) for c in own]
        try:
            output, wheel = Path(options.output or "dist"), options.wheel
            for platform in platforms:
                several = len(platforms) > 1 and wheel is None  # wheels have names of their own
                folder = output / platform.name if several else output
                with as_module(file):
                    is_whole &= build(
                        Path(file.path), signatures, plain, folder, platform, wheel
                    )
        except PackageError as error:
            raise UsageError(f"{file.path}: {error}") from None
    return int(options.check and not is_whole)


def _load(
    paths: Sequence[str], options: argparse.Namespace, script_args: Sequence[str]
) -> Iterator[LoadedFile | UnreadableFile]:
    """Each file, read or run; the UnreadableFile itself in place of one that cannot be read. What
    a script prints goes to stderr where the command prints data to stdout.
    """
    from .file_cases import read_file, run_script
    from .input_files import UnreadableFile
    from .static import Modules

    is_data = options.format in ("json", "sarif") or (options.emit and not options.output)
    to = sys.stderr if is_data or options.stop_after else sys.stdout
    modules = Modules()

    def load(path: str) -> LoadedFile | UnreadableFile:
        try:
            if not options.run:
                return read_file(path, modules)
            with contextlib.redirect_stdout(to):
                return run_script(path, script_args, every=options.all)
        except UnreadableFile as error:
            return error
        finally:
            if sys.stdout.closed:  # by the script; its file descriptor is open
                sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115

    yield from map(load, paths)


def _report_cases(cases: Sequence[Case], rules: CheckRules, options: argparse.Namespace) -> int:
    """Report on each case, or print one of its stages. Returns the exit status: if stages are
    printed, what `_write_stages` returns; else 1 if ``--check`` fails for some function
    (`CheckRules.fails`), or 0.

    Under ``--check`` the reports are only those of functions that fail, and of those about which a
    rejection is not known before the file runs (`Case.counts`).
    """
    _replace_unencodable()
    if options.emit or options.stop_after:
        return _write_stages(cases, options)
    reports: list[Report] = []
    failing = 0
    for case in _with_progress(cases):
        original = case.report()
        try:
            report = rules.without_ignored(original)
        except ValueError as error:
            raise UsageError(error) from None
        fails = rules.fails(report, original, case.counts)
        failing += fails
        if fails or not options.check or not all(map(case.counts, report.rejections)):
            reports.append(report)
    _show_reports(reports, options.format or ("rich" if sys.stdout.isatty() else "plain"))
    if options.check and cases:
        unknown = len(reports) - failing
        why = "not called" if options.run else "not known before the file runs (--run)"
        rest = f", {unknown} {why}" if unknown else ""
        print(f"transpile: checked {len(cases)}, {failing or 'none'} failed{rest}", file=sys.stderr)
    return int(options.check and failing > 0)


def _check_stages(options: argparse.Namespace) -> None:
    """Check the names in ``--stop-after`` and ``--skip-pass``, before any file is read, and skip
    the passes in this process. Raises UsageError.
    """
    if not (options.stop_after or options.skip_pass):
        return
    from loopir.passes.pass_list import pass_names

    from ..pipeline import CALLABLE, find_stages, named_stages

    try:
        if options.stop_after:
            last = find_stages(options.stop_after)[-1]
            if dict(named_stages())[last].to_form == CALLABLE:
                raise ValueError(f"what stage {last} makes has no text")
        pass_names(options.skip_pass)
    except ValueError as error:
        raise UsageError(error) from None
    if options.skip_pass:
        os.environ["TRANSPILE_SKIP"] = ",".join(options.skip_pass)


def _write_stages(cases: Sequence[Case], options: argparse.Namespace) -> int:
    """Print a stage of each case, or write it to a file. Returns the exit status: 1 where a case
    that compiles has no such form, and under ``--check`` where one was refused.

    Files of further signatures of one function are numbered.
    """
    from ..errors import EmitError, FuseError

    status = 0
    written: Counter[str] = Counter()
    for case in _with_progress(cases):
        try:
            stage = options.stop_after
            text = case.text_after(stage) if stage else case.emit(options.emit)
            text = text.rstrip("\n") + "\n"
        except FuseError as error:
            print(f"transpile: {error}", file=sys.stderr)
            status |= bool(options.check or isinstance(error, EmitError))
            continue
        if options.output is None:
            print(text, end="")
            continue
        written[case.name] += 1
        suffix = f"-{written[case.name]}" if written[case.name] > 1 else ""
        print(
            _write_text(text, Path(options.output, case.name + suffix + EMIT_STAGES[options.emit]))
        )
    return status


def _write_text(text: str, path: Path) -> Path:
    """Write a file and its folders. Raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    return path


def _with_progress(cases: Sequence[Case]) -> Iterable[Case]:
    """The cases, with a progress bar on stderr if it is a terminal and there are several."""
    if len(cases) < 2 or not sys.stderr.isatty():
        return cases
    from rich.console import Console
    from rich.progress import track

    return track(cases, "compiling", console=Console(stderr=True), transient=True)


def _show_reports(reports: Sequence[Report], form: str) -> None:
    """Print reports in this format."""
    from ..report.report_formats import to_github, to_json, to_sarif

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


def _replace_unencodable() -> None:
    """Replace characters that stdout cannot encode by ``?``."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _show(rows: Iterable[StyledRow]) -> None:
    """Print rows to stdout, coloured if it is a terminal."""
    _replace_unencodable()
    if not sys.stdout.isatty():
        print(printable(as_plain(rows)))
        return
    from rich.console import Console

    console = Console()
    for line in as_rich(rows, console.width):
        console.print(line)
