"""The words of the command line, and what is wrong with them."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["STAGES", "Usage", "parsed"]

STAGES = {
    "python": ".py", "loopir": ".ir", "loopset": ".loops", "mlir": ".mlir", "c": ".c", "asm": ".s",
    "html": ".html",
}
"""What ``--emit`` knows, and the ending of the file it writes under ``-o``."""

FORMATS = ("rich", "plain", "json", "sarif", "github")


class Usage(Exception):
    """Something in the command line or the file that ends the command with status 2."""


class _Parser(argparse.ArgumentParser):
    """Whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{message} (transpile --help tells more)")


def parsed(words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The command's options, and the words that are its script's. Raises Usage."""
    own, script_args = _split(list(words))
    parser = _parser()
    options = parser.parse_args(own)
    if wrong := _contradiction(options, script_args):
        parser.error(wrong)
    return options, script_args or []


def _split(words: list[str]) -> tuple[list[str], list[str] | None]:
    """The command's own words, and those after ``--``, if it is there, which are the script's."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _parser() -> _Parser:
    parser = _Parser(
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
    add("--ops", action="store_true", help="list the operations, and what each target has for them")
    add("--cache", nargs="?", const="info", choices=("info", "clear"), metavar="clear",
        help="show the cache of compiled kernels, or clear it")
    return parser


def _contradiction(
    options: argparse.Namespace, script_args: Sequence[str] | None
) -> str | None:
    """What is wrong with words that are right one by one."""
    tasks = {
        "a file": options.file is not None,
        "--explain": options.explain is not None,
        "--targets": options.targets,
        "--ops": options.ops,
        "--cache": options.cache is not None,
    }
    asked = [task for task, given in tasks.items() if given]
    if len(asked) != 1:
        got = f"; not {' and '.join(asked)} at once" if asked else ""
        return f"want a file, or one of --explain, --targets, --ops, --cache{got}"
    of_a_file = (options.all, options.emit, options.output, options.target, options.types,
                 options.check, options.format, options.run)
    if options.file is None and any(of_a_file):
        return f"{asked[0]} goes with no other option"
    if options.output and not options.emit:
        return "-o says where --emit writes; there is no --emit"
    if options.format and options.emit:
        return "--format is for reports, and --emit prints none"
    if script_args is not None and not options.run:
        return "the words after -- are the script's, under --run; there is no --run"
    return None
