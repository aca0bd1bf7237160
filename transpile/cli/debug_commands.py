"""``transpile bisect`` and ``transpile reduce``: command lines of the tools for miscompiles.

Exit status: 0 if everything agrees with Python, 1 if a difference was found, 2 for bad usage.
"""
from __future__ import annotations

from collections.abc import Sequence

from .argument_parser import Parser, UsageError, choose_target
from .bisect_miscompile import SECONDS, NotCompiled, find_difference, show_finding
from .failing_call import FailingCall, load_calls
from .file_cases import UnreadableFile

__all__ = ["COMMANDS", "run_command"]

COMMANDS = {
    "bisect": "names the first stage, pass invocation and macro whose output differs from Python",
    "reduce": "prints the smallest program that still fails in the same way",
}


_MOST_SECONDS = 24 * 3600 + 1


def run_command(words: Sequence[str]) -> int:
    """Runs ``bisect …`` or ``reduce …``; the exit status. Raises UsageError."""
    command = words[0]
    parser = Parser(prog=f"transpile {command}", description=f"{command}: {COMMANDS[command]}.")
    parser.add_argument("file", metavar="FILE[::FUNCTION]")
    parser.add_argument("--args", metavar="EXPR", help="the arguments, a tuple in Python")
    parser.add_argument("--types", metavar="SPEC", help="make arguments of types: 'f(f64[:], int)'")
    parser.add_argument("--target", metavar="NAME", help="compile for this target (--targets); "
        "the one that @fuse(target=...) names is preferred")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of one run")
    options = parser.parse_known_options(words[1:])
    if not 0 < options.seconds < _MOST_SECONDS:
        parser.error(f"--seconds {options.seconds:g}: must be more than 0, and at most a day")
    if options.args is not None and options.types is not None:
        parser.error("--args are the arguments, and --types makes some; not both")
    choose_target(options.target)
    try:
        calls = load_calls(options.file, options.args, options.types)
        return max(_run_on(call, command, options.seconds) for call in calls)
    except (ValueError, UnreadableFile) as error:
        raise UsageError(str(error)) from None


def _run_on(call: FailingCall, command: str, seconds: float) -> int:
    """Run the command on one call and print what it finds; the exit status."""
    try:
        finding = find_difference(call, seconds=seconds)
    except NotCompiled as refused:
        print(f"{call.function.__qualname__} is refused, and runs as Python: {refused}")
        return 0
    if command == "bisect" or finding is None:
        print(show_finding(call, finding), end="")
    else:
        from .reduce_program import reduce_call, show_reduced

        print(show_reduced(*reduce_call(call, finding, seconds=seconds)), end="")
    return int(finding is not None)
