"""Exceptions of replayed calls: what Python raised where a guard had failed, and at which place."""
from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType, TracebackType

from loopir.lazy_dataclass import record, replace
from loopir.nodes import Span

__all__ = ["ReplayException", "replay_exception"]


@record(frozen=True, slots=True)
class ReplayException:
    """What Python raised in a call whose guard had failed."""

    failed: str
    """The code of the guard that failed."""
    code: str
    """The code of what happened: a guard is tested before the loop, and the loop may have raised
    something else before it came to what the guard is about."""
    span: Span | None
    """Where the function raised it, or called what did."""
    kind: str
    """The name of the exception's class."""
    text: str
    """The start of what the exception says; empty if that is not known."""

    def is_like(self, other: ReplayException) -> bool:
        """Whether both are of one kind and place, whatever values the text names."""
        return replace(self, text=other.text) == other


def replay_exception(function: FunctionType, failed: str, error: Exception) -> ReplayException:
    """What `error` says, which `function` has raised in a call whose guard of code `failed` failed.
    """
    found = [*_places(function.__code__, error.__traceback__)]
    span, is_raise_statement = found[-1] if found else (None, False)
    code = _code(failed, error, is_raise_statement)
    return ReplayException(failed, code, span, type(error).__name__, _first_line_of(error))


def _code(failed: str, error: Exception, is_raise_statement: bool) -> str:
    """The code for what happened: that of the guard if it is about such exceptions."""
    if is_raise_statement:
        return "GUARD_RAISES"
    if isinstance(error, ZeroDivisionError):
        return "GUARD_DIVISION"
    if isinstance(error, IndexError):
        return "GUARD_EMPTY" if failed == "GUARD_EMPTY" else "GUARD_BOUNDS"
    is_about_values = failed in ("GUARD_EMPTY", "GUARD_SHAPE") and isinstance(error, ValueError)
    return failed if is_about_values else "GUARD_RAISES"


_LONGEST_TEXT = 100
"""Characters of an exception's own text that are shown."""


def _first_line_of(error: Exception) -> str:
    """The start of the text of an exception of Python's or NumPy's; that of another class would be
    computed by the user's code.
    """
    if type(error).__module__.partition(".")[0] not in ("builtins", "numpy"):
        return ""
    if not all(type(part) in (str, int, float, tuple) for part in error.args):
        return ""
    text = str(error).strip().partition("\n")[0]
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT - 1]}…"


def _places(code: CodeType, traceback: TracebackType | None) -> Iterator[tuple[Span | None, bool]]:
    """The places in a function, or in what is defined in it, that `traceback` goes through, from
    the outside in: of each the span, and whether it is a ``raise`` or ``assert``.
    """
    while traceback is not None:
        own = traceback.tb_frame.f_code
        if own is code or _contains(code, own):
            at = traceback.tb_lasti
            operation = dis.opname[own.co_code[at]]
            yield _span(own, at, traceback.tb_lineno), operation == "RAISE_VARARGS"
        traceback = traceback.tb_next


def _contains(code: CodeType, inner: CodeType) -> bool:
    """Whether `inner` is the code of a comprehension or function in `code`."""
    return any(c is inner or _contains(c, inner) for c in code.co_consts if isinstance(c, CodeType))


def _span(code: CodeType, at: int, line: int) -> Span | None:
    """The place of the instruction at the offset `at`; before Python 3.11, its line alone."""
    positions = [*code.co_positions()][at // 2] if hasattr(code, "co_positions") else ()
    if not positions or None in positions:
        return Span(line, 0, line, 0)
    first, last, start, end = positions
    return Span(first, start, last, end)
