"""Guards in words: a sentence for each, and a rejection for each that has failed."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from loopir.ir_names import names_read
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import record
from loopir.nodes import Call, Check, Const, Dim, Disjoint, Guard, Kernel, Span
from loopir.status_bits import CHECK_CAUSES

from ..call_plan import ArgumentMismatch, StatusSource
from ..codes import CODES
from ..diagnostics import Label, Rejection, family_of
from .replay_exceptions import ReplayException
from .user_terms import UserTerms, source_segment

__all__ = ["GuardFailures", "failed_guard_rejections", "guard_sentences"]


@record(frozen=True, slots=True, kw_only=True)
class GuardFailures:
    """What has failed in the calls of one signature."""

    guards: Mapping[int, int] = field(default_factory=dict)
    """How often each guard of the kernel failed, by its number, counted from 0."""
    mismatches: Mapping[str, ArgumentMismatch] = field(default_factory=dict)
    """What was wrong with the first argument that did not fit, by the code of the guard."""
    raised: Mapping[ReplayException, int] = field(default_factory=dict)
    """How often Python raised which exception in a call whose guard had failed."""
    always_raised: frozenset[str] = frozenset()
    """The codes of guards after whose failure each call that was observed has raised."""
    never_raised: frozenset[str] = frozenset()
    """The codes of guards after whose failure no call that was observed has raised."""
    replays: Mapping[str, int] = field(default_factory=dict)
    """How many calls Python computed, by code."""


_PHRASES: dict[str, tuple[str, str]] = {
    "GUARD_BOUNDS": ("{} is within its array", "{} is outside of its array"),
    "GUARD_DIVISION": ("{} does not divide by zero", "{} divides by zero"),
    "GUARD_INT_RANGE": ("{} fits its integers", "{} does not fit an int of 64 bits"),
    "GUARD_EMPTY": ("{} has a value", "{} has no value"),
    "GUARD_DTYPE": ("{} is of NumPy's numbers", "{} is of Python's numbers, not of NumPy's"),
    "GUARD_SHAPE": ("the arrays of {} fit", "the arrays of {} have other shapes than expected"),
    "GUARD_RAISES": ("{} does not raise", "{} raises an exception"),
    "GUARD_FLOAT_STATUS": (
        "{} raises no floating-point condition", "{} may raise a floating-point condition",
    ),
}
"""For each code two sentences: what a guard with this code ensures, and that it failed. ``{}`` is
what the guard is about (`_guarded`), such as the text of a subscript."""

_OF_EMPTY_ARRAYS = ("the array of {} has items", "the array of {} is empty")
"""The same for a guard on the length of one axis (`_is_of_length`)."""

_HELP_FOR_EMPTY_ARRAYS = "nothing needs to be done if it may be empty; else test its size before"

_HELP_FOR_GUARDS = {"GUARD_DTYPE": "start with a NumPy number, for instance `np.complex128(0)`"}
"""The help for a guard that failed, for codes whose own is about arguments."""

_OF_INT_ARGUMENTS = (
    "{} is no int of more than 61 bits",
    "{} is so large that ints computed from it might not fit 64 bits",
)
"""The same for an argument: it has at most 61 bits, so that a sum of a few of them fits 64
(`guard_int_params`).
"""


def guard_sentences(kernel: Kernel, terms: UserTerms) -> tuple[str, ...]:
    """A sentence for each guard, without repetitions."""
    return tuple(dict.fromkeys(_guard_sentence(guard, terms) for guard in kernel.guards))


def failed_guard_rejections(
    kernel: Kernel, terms: UserTerms, failures: GuardFailures, sources: Iterable[StatusSource]
) -> Iterator[Rejection]:
    """The rejections that tell why Python has computed calls of one signature so far. For example::

        GUARD_ALIAS  "`x` and `y` share memory", note: "3 calls were computed by Python"

    In this order, one rejection for

    1. each exception that Python has raised in a replayed call: what was raised, and where;
    2. each guard of `kernel` that has failed: at its place, in words (`_guard_sentence`);
    3. each argument that did not fit its parameter: what was wrong with it (`ArgumentMismatch`);
    4. each other code by which ``stats`` counts replays: checks in the kernel, and floating-point
       conditions. The status does not say which check or operation it was, so the rejection has all
       places that may have caused it (``sources``: the operations that may raise a condition).

    Each replayed call counts once: a call that 1 has counted is not counted by 2 to 4, and so on.
    `report_compiled` calls this.
    """
    unexplained = {**failures.replays}
    yield from _of_exceptions(terms, failures, unexplained)
    yield from _of_guards(kernel, terms, failures, unexplained)
    for code, found in failures.mismatches.items():
        if (count := unexplained.get(code, 0)) > 0:
            unexplained[code] = 0
            place = terms.parameters.get(found.argument)
            yield _failed(code, found.message, (place,), count, terms, found.help)
    yield from _of_checks(kernel, terms, failures, unexplained, sources)


def _of_exceptions(
    terms: UserTerms, failures: GuardFailures, unexplained: dict[str, int]
) -> Iterator[Rejection]:
    """Case 1 of `failed_guard_rejections`. Takes the calls that it counts from those that are
    `unexplained`, by code.
    """
    for raised, count in failures.raised.items():
        unexplained[raised.code] -= count
    counts = dict(failures.raised)
    for reason in failures.always_raised:  # calls that were not observed count, too
        like = [raised for raised in counts if raised.reason == reason]
        usual = max(like, key=lambda raised: (raised.code == reason, counts[raised]))
        counts[usual] += unexplained.pop(reason, 0)
    for raised, count in counts.items():
        span = raised.span
        if span is not None and span.end_col == 0:
            span = _line_span(span.line, terms)
        help = _HELP_FOR_EXCEPTIONS.get(raised.code)
        yield _failed(raised.code, raised.message, (span,), count, terms, help)


def _of_guards(
    kernel: Kernel, terms: UserTerms, failures: GuardFailures, unexplained: dict[str, int]
) -> Iterator[Rejection]:
    """Case 2 of `failed_guard_rejections`; `unexplained` as in `_of_exceptions`."""
    for number, failed in sorted(failures.guards.items()):
        guard = kernel.guards[number]
        if isinstance(guard, Guard):
            code, span = guard.code, guard.span
        else:
            code, span = "GUARD_ALIAS", None
        count = min(failed, unexplained.get(code, 0))
        if count <= 0:
            continue
        unexplained[code] -= count
        message = _guard_sentence(guard, terms, failed=True)
        help = _HELP_FOR_GUARDS.get(code)
        if code in failures.never_raised and code in _CAUTIOUS:
            help = _HELP_FOR_CAUTIOUS.get(code)
            if isinstance(guard, Guard):
                message = _CAUTIOUS[code].format(_guarded(guard, terms))
        if isinstance(guard, Guard) and _is_of_length(guard):
            help = _HELP_FOR_EMPTY_ARRAYS
        yield _failed(code, message, (span,), count, terms, help)


def _of_checks(
    kernel: Kernel, terms: UserTerms, failures: GuardFailures, unexplained: Mapping[str, int],
    sources: Iterable[StatusSource],
) -> Iterator[Rejection]:
    """Case 4 of `failed_guard_rejections`, for the calls that are still `unexplained`."""
    checks = [n for n in walk(kernel) if isinstance(n, Check) and n.code == "replay"]
    for code, count in unexplained.items():
        if count <= 0 or family_of(code) != "GUARD":
            continue
        spans = [
            c.span for c in checks
            if code == (c.cause if c.cause in CHECK_CAUSES else _UNKNOWN_CAUSE)
        ]
        if code in _OF_FLOATS:
            spans = [_line_span(s.line, terms) for s in sources if s.helper is None]
        message = _CHECKED[code] if spans and code in _CHECKED else CODES[code].title
        help = None
        if code in failures.never_raised and code == _UNKNOWN_CAUSE:
            message = _NOTHING_RAISED_HERE if spans else _NOTHING_RAISED
            help = _HELP_FOR_CAUTIOUS[code]
        if code == "GUARD_FLOAT_STATUS" and kernel.strict and not spans:
            message, help = _ABS_OVERFLOWED, _HELP_FOR_ABS
        yield _failed(code, message, spans, count, terms, help)


def _first_line(span: Span, terms: UserTerms) -> Span:
    """`span`, or the part of it that is in its first line."""
    if span.line == span.end_line:
        return span
    text = terms.lines.get(span.line, "").rstrip()
    return Span(span.line, span.col, span.line, len(text.encode()))


def _line_span(line: int, terms: UserTerms) -> Span | None:
    """The text of a line without the blanks around it."""
    text = terms.lines.get(line, "").rstrip()
    start = len(text) - len(text.lstrip())
    return Span(line, start, line, len(text.encode())) if text else None


_UNKNOWN_CAUSE = "GUARD_RAISES"
"""The code for a check whose cause its status does not tell."""

_CHECKED = {
    "GUARD_INT_RANGE": "an int here did not fit 64 bits",
    "GUARD_BOUNDS": "a subscript here was outside of its array",
    "GUARD_DIVISION": "a divisor here was zero",
    _UNKNOWN_CAUSE: "Python may raise an exception here",
    "GUARD_FLOAT_STATUS": "an operation here overflowed, divided by zero or was invalid, of which "
                          "Python has to warn",
    "GUARD_ERRSTATE": "an operation here overflowed, divided by zero or was invalid, and NumPy's "
                      "error state asks for more than a warning",
}
"""The message for checks inside the kernel that failed, by their cause (`CHECK_CAUSES`). The status
tells the cause, but not at which of the places with such a check it was."""

_NOTHING_RAISED = "compiled code could not answer the call, and Python then raised nothing"
"""The message where neither the status nor an exception tells which check has failed."""

_NOTHING_RAISED_HERE = "Python may raise an exception here; none came out of the call"
"""The message for checks of `_UNKNOWN_CAUSE` that failed in calls in which nothing was raised."""

_ABS_OVERFLOWED = (
    "an operation overflowed, and Python's `abs` of a complex number may raise OverflowError then"
)
_HELP_FOR_ABS = "keep very large numbers from `abs`: scale them before, and the result after"
"""Message and help after an overflow in a kernel that takes Python's ``abs`` of complex numbers,
which alone makes a condition strict (`Kernel.strict`). Error states of NumPy have no part in it.
"""

_HELP_FOR_EXCEPTIONS = {
    _UNKNOWN_CAUSE:
        "nothing needs to be done if the exception is meant; else test for such values before "
        "the loop",
    "GUARD_BOUNDS": "test the length before, or let the loop end earlier: the last subscript is "
                    "`len(...) - 1`",
    "GUARD_SHAPE": "pass arrays whose shapes fit: of two lengths that differ, NumPy repeats only a "
                   "length of one",
}
"""The help where an exception was raised, for codes whose own is about something else."""

_CAUTIOUS = {
    "GUARD_BOUNDS": "{} might have left its array; when Python ran the call, it did not",
    "GUARD_DIVISION": "{} might have divided by zero; when Python ran the call, it did not",
    "GUARD_RAISES": "{} might have raised an exception; none came out of the call",
}
"""What is said of a guard that failed in calls in which Python then raised nothing: it is tested
before the loop, and the loop does not come to that place, or not with these values."""

_HELP_FOR_CAUTIOUS = {
    "GUARD_BOUNDS":
        "test the subscript where it is used, such as `if i < len(x)`; where an array grows, "
        "append to a list, and make the array of it at the end",
    "GUARD_RAISES":
        "nothing needs to be done if such calls are rare; else keep such values from the "
        "operation: zeros, infinities, NaN or very large numbers",
}
"""The help for a guard of that code that failed though nothing was raised, or such a check."""

_OF_FLOATS = ("GUARD_FLOAT_STATUS", "GUARD_ERRSTATE")
"""The codes of floating-point conditions."""


def _failed(
    code: str, message: str, spans: Iterable[Span | None], count: int, terms: UserTerms,
    help: str | None = None,
) -> Rejection:
    """The rejection of a guard, or of checks at one of `spans`, that failed in `count` calls.
    ``help``: what is shown in place of the help of the code.
    """
    calls = "one call was" if count == 1 else f"{count} calls were"
    places = dict.fromkeys(_first_line(s, terms) for s in spans if s is not None)
    shown = [*places][:_MOST_PLACES]
    first = shown[0] if shown else None
    labels = tuple(Label(span, "or here") for span in shown[1:])
    note = f"{calls} computed by Python"
    return Rejection(code, message, first, labels, note, help or terms.help(code, first))


_MOST_PLACES = 3
"""Of how many places a rejection has a mark or a label."""


def _guard_sentence(guard: Guard | Disjoint, terms: UserTerms, *, failed: bool = False) -> str:
    """One guard in words, with the user's names (`terms`); ``failed``: that it failed.

        disjoint(x, y)                       →  `x` and `y` share no memory / share memory
        guard(n <= len(x)) at ``x[i]``       →  `x[i]` is within its array / is outside of its array

    Of a `Guard` the phrase for its code (`_PHRASES`) is said of the source text at its place; where
    there is none, of the variables that its condition reads; of a name that the compiler made up,
    "an intermediate value". The condition itself is not shown: it is stated in compiler's terms.
    """
    match guard:
        case Disjoint(a, b, or_same):
            names = list(dict.fromkeys(terms.variable(name) for name in (a, b)))
            if None in names or len(names) < 2:
                names = ["an array that is written", "another one"]
            first, second = (f"`{name}`" if " " not in str(name) else name for name in names)
            if failed:
                return f"{first} and {second} share memory"
            return f"{first} and {second} share no memory{' or are one array' * or_same}"
        case Guard(code=code, span=span):
            cited, parameter = _guarded(guard, terms), terms.parameter_at(span)
            phrase = _PHRASES.get(code, (f"{code} holds at {{}}", f"{code} failed at {{}}"))
            if code == "GUARD_INT_RANGE" and parameter is not None:
                phrase = _OF_INT_ARGUMENTS
            elif _is_of_length(guard):
                phrase = _OF_EMPTY_ARRAYS
            return phrase[failed].format(cited)


def _is_of_length(guard: Guard) -> bool:
    """Whether a guard asks for an axis that is not empty, as a mean or a maximum needs it."""
    match guard:
        case Guard(Call("ge", (Dim(), Const(1))), "GUARD_SHAPE"):
            return True
    return False


def _guarded(guard: Guard, terms: UserTerms) -> str:
    """What a guard is about: the source text at its place, else the variables that it reads."""
    text = source_segment(guard.span, terms.lines) if guard.span else None
    text = terms.parameter_at(guard.span) or text
    if text:
        return f"`{text}`"
    used = sorted(filter(None, {terms.variable(name) for name in names_read(guard.cond)}))
    if len(used) < 2:
        return f"`{used[0]}`" if used else "an intermediate value"
    names = " and ".join((", ".join(f"`{name}`" for name in used[:-1]), f"`{used[-1]}`"))
    return names if guard.code == "GUARD_SHAPE" else f"what is computed from {names}"
