"""Exceptions of calls that Python runs: what was raised, and at which place of the function.

After a guard has failed the exception tells what has really happened (`failed_guard_rejections`).
In a function that is refused it is often the cause: what Python raises, the compiler cannot compile
(`with_exceptions`).
"""
from __future__ import annotations

import difflib
import dis
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType, TracebackType

import numpy as np

from loopir.lazy_dataclass import record, replace
from loopir.nodes import Span

from ..codes import CODES
from ..codes.argument_help import HELP_FOR_CALLS_IN_LOOPS
from ..codes.lowering_codes import (
    HELP_FOR_ARGUMENTS,
    HELP_FOR_EXCEPTIONS,
    HELP_FOR_ITERABLES,
    HELP_FOR_LENGTHS,
    HELP_FOR_NONE,
    HELP_FOR_NUMPY,
    HELP_FOR_UNBOUND,
    HELP_WITHOUT_OPTIONS,
    HELP_WITHOUT_STARS,
)
from ..diagnostics import Rejection, family_of
from ..frontend.defining_modules import is_builtin, is_numpys, module_of
from ..frontend.source import is_within

__all__ = ["ReplayException", "replay_exception", "with_exceptions"]


@record(frozen=True, slots=True)
class ReplayException:
    """What Python raised in a call that compiled code did not serve."""

    reason: str
    """The code of the guard that had failed, or of the refusal."""
    code: str
    """The code that fits the exception. It may differ from the guard's: a guard is tested before
    the loop, and the loop may raise something else before it comes to what the guard is about.
    After a refusal it is `reason`, but GUARD_RAISES for a ``raise`` or ``assert``."""
    span: Span | None
    """Where the function raised it, or called what did."""
    kind: str
    """The name of the exception's class."""
    text: str
    """The start of what the exception says; empty if that is not known."""
    holds_for_all_values: bool
    """Whether it is raised for all arguments of these types: a name or an attribute does not exist,
    or objects do not have an operation."""

    def is_like(self, other: ReplayException) -> bool:
        """Whether both are equal but for the text, which may name other values."""
        return replace(self, text=other.text) == other

    @property
    def message(self) -> str:
        """The exception as a sentence."""
        return f"{self.kind} was raised here{': ' * bool(self.text)}{self.text}"


def replay_exception(function: FunctionType, reason: str, error: Exception) -> ReplayException:
    """What an exception tells about a call that Python ran: `error`, which `function` has raised.
    `reason`: the code for which Python ran the call. For ``1 / n`` at line 3, with n = 0::

        replay_exception(f, "GUARD_EMPTY", ZeroDivisionError("division by zero"))
        →   ReplayException("GUARD_EMPTY", code="GUARD_DIVISION", <1 / n>, "ZeroDivisionError", …)

    The code of the result is chosen by what was raised (`_code`), and may differ from `reason`
    (`ReplayException.code` says why). The place is the last one in the traceback that is in
    `function`, or in a comprehension or function that is defined in it.
    """
    found = [*_places(function.__code__, error.__traceback__)]
    span, is_raise_statement = found[-1] if found else (None, False)
    code = _code(reason, error, is_raise_statement)
    return ReplayException(
        reason, code, span, type(error).__name__, _first_line_of(error),
        isinstance(error, (TypeError, AttributeError, NameError, np.exceptions.AxisError)),
    )


def with_exceptions(
    rejections: Iterable[Rejection], raised: Iterable[ReplayException]
) -> Iterator[Rejection]:
    """The `rejections` of a function. If Python `raised` an exception at the place of a rejection,
    the rejection tells the user of that exception, which is to be corrected first: what cannot run
    in Python cannot be compiled.

        x.foo()  →  AttributeError, for all values: the rejection's message becomes "AttributeError
                    was raised here: …", unless the rejection has a help of its own
        g(n)     →  ValueError, for this n: its message stays, and it gets the note "in the first
                    call ValueError was raised here: …". The same in the first case, if the
                    rejection has a help of its own, and its message does not say what is raised

    All other rejections stay as they are.
    `inspection` calls this for the report of a refused function.
    """
    causes = [e for e in raised if e.code == e.reason and e.span is not None]
    for r in rejections:
        cause = next((e for e in causes if _is_at(e.span, r.span)), None)
        if cause is None or r.family != "LOWER" or r.code == "LOWER_UNDEFINED":
            yield r
        elif cause.holds_for_all_values and r.help in _general_help(r.code):
            yield Rejection(r.code, cause.message, cause.span, help=HELP_FOR_EXCEPTIONS)
        elif not cause.holds_for_all_values or "raises" not in r.message:
            note = f"in the first call {cause.message}"
            yield replace(r, note=f"{note}; {r.note}" if r.note else note)
        else:
            yield r


def _general_help(code: str) -> tuple[str | None, ...]:
    """The help that all rejections of `code` have, if there is no better one."""
    page = CODES[code]
    return (
        None, page.help, page.help_outside_loop, HELP_FOR_ARGUMENTS, HELP_FOR_EXCEPTIONS,
        HELP_FOR_ITERABLES, HELP_FOR_LENGTHS, HELP_FOR_NONE, HELP_FOR_NUMPY, HELP_FOR_UNBOUND,
        HELP_WITHOUT_OPTIONS, HELP_WITHOUT_STARS, HELP_FOR_CALLS_IN_LOOPS,
    )


def _is_at(place: Span | None, refused: Span | None) -> bool:
    """Whether an exception at `place` concerns the expression at `refused`: both are in one line,
    and one contains the other.
    """
    if place is None or refused is None or place.line != refused.line:
        return False
    return place == refused or is_within(place, refused) or is_within(refused, place)


def _code(reason: str, error: Exception, is_raise_statement: bool) -> str:
    """The code that fits the exception (`ReplayException.code`): by its class (`_CODES`), but
    `reason` itself for a refusal, and for a ValueError after GUARD_SHAPE.
    """
    if is_raise_statement:
        return "GUARD_RAISES"
    if family_of(reason) != "GUARD":
        return reason
    is_of_shapes = reason == "GUARD_SHAPE" and isinstance(error, ValueError)
    own = next((code for kind, code in _CODES.items() if isinstance(error, kind)), "GUARD_RAISES")
    return reason if is_of_shapes else own


_CODES = {
    ZeroDivisionError: "GUARD_DIVISION",
    UnboundLocalError: "GUARD_EMPTY",
    IndexError: "GUARD_BOUNDS",
}
"""The codes for what raises these; for other exceptions it is ``GUARD_RAISES``."""

_LONGEST_TEXT = 100
"""Characters of an exception's own text that are shown."""


def _first_line_of(error: Exception) -> str:
    """The start of the text of an exception of Python's or NumPy's, if no code of the user's
    computes it.
    """
    is_plain = all(type(part) in (str, int, float, tuple, type(None)) for part in error.args)
    if not is_numpys(type(error)) and not (is_builtin(type(error)) and is_plain):
        return ""
    text = str(error).strip().partition("\n")[0] + _similar_attribute(error)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT - 1]}…"


def _similar_attribute(error: Exception) -> str:
    """``; did you mean `NAME`?`` after an AttributeError of a module, or of an object of a class of
    Python's or NumPy's, with the most similar attribute that it has. Empty for other errors and
    objects, and where no attribute is similar.
    """
    owner, name = getattr(error, "obj", None), getattr(error, "name", None)
    kind = type(owner)
    if not isinstance(error, AttributeError) or not isinstance(name, str):
        return ""
    if kind is not ModuleType and not (is_builtin(kind) or module_of(kind) == np.__name__):
        return ""
    public = vars(owner) if kind is ModuleType else {n for c in kind.__mro__ for n in vars(c)}
    close = difflib.get_close_matches(name, [n for n in public if n[0] != "_"], n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


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
