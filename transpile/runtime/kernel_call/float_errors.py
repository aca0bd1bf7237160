"""Floating-point errors under ``np.errstate``: which results stand, and which warnings are shown.

A kernel computes on after a floating-point condition and reports it in its status. `judge_status`
then decides what Python would have done (`_verdict`): nothing, if the condition is ignored; warn,
if Python would show the same warning once; raise or call back, which only a replay in Python can
do. What a warning says, and its line, was fixed in lowering (`float_exceptions.note_warning`): each
operation that may raise is a `StatusSource` of the interface. A recording kernel also says which
operations raised, so that `judge_recorded` can emit several warnings in Python's order.
`status_judgement` calls both.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from loopir.lazy_dataclass import record
from loopir.status_bits import CHECK_CAUSES, STATUS
from targets.abi.native_entry import declare_quiet_state

from ...frontend.suppress_warnings import FILTERS_ARE_CONTEXTUAL

if TYPE_CHECKING:
    from ...call_plan import KernelInterface, StatusSource

__all__ = [
    "QUIET_STATE", "errors_observable", "errors_or_underflow_observable", "errstate",
    "judge_recorded", "judge_status",
    "recording_helps", "VerdictCache", "native_detects_changes",
]

_FP_CLASSES = ("divide", "over", "under", "invalid")
"""The floating-point conditions, by their names in ``np.errstate``."""
_SHOW_ONCE_ACTIONS = ("default", "ignore", "module", "once")
"""Filter actions under which one warning has the same effect as one for each iteration."""


class _Verdict(NamedTuple):
    """What to do about a status.

    ``code``: the replay code, None if the result stands; ``sources``: the operations whose warnings
    to emit. ``lasts``: whether that depends on nothing but the status, the error state and the
    warning filters. ``is_silent``: nothing is shown, whichever operations raised and whether or not
    Python can replay. Warnings that the filters ignore are ``sources`` all the same, and passed to
    ``warnings.warn_explicit``: it resets a ``__warningregistry__`` that was made under other
    filters, as Python would.
    """

    code: str | None = None
    sources: tuple[StatusSource, ...] = ()
    lasts: bool = True
    is_silent: bool = False


_SCALAR_WARNING = " in scalar "
"""Part of the text of NumPy's warnings for scalar operations."""


def _errstate() -> Any:
    """The error state, where NumPy has no context variable for it."""
    return tuple(np.geterr().values())


_errstate_variable: Any = None
try:
    from numpy._core.umath import _extobj_contextvar

    errstate: Callable[[], Any] = _extobj_contextvar.get
    _errstate_variable = _extobj_contextvar
except ImportError:
    errstate = _errstate
"""A value that changes with ``np.errstate``: NumPy's context variable if there is one (10 ns)."""


@record(slots=True)
class _QuietState:
    """The last error state and warning filters under which no float condition can raise in
    mid-loop, a warning shows once, and underflow is ignored.

    Under these a kernel may write before its flags are known. To compare the present state with
    them costs some 30 ns, at each call of a kernel that may raise flags.
    """

    error_state: tuple[Any, list[Any]] | None = None  # the value of `errstate`, and the filters
    number: int = 0  # how many other states there were before

    def set(self, error_state: tuple[Any, list[Any]]) -> None:
        """Makes this the quiet state, and tells C if C can notice when it changes."""
        if error_state == self.error_state:
            return
        self.error_state, self.number = error_state, self.number + 1
        if native_detects_changes():
            declare_quiet_state(
                _errstate_variable, vars(warnings), "filters", *error_state, self.number
            )


QUIET_STATE = _QuietState()
"""The quiet state of this process; generated wrappers read it as ``_tp_quiet_state``."""


def errors_observable() -> bool:
    """Whether Python may show more of a float condition than one warning after the call: it may
    raise or call back in the middle of a loop (``np.errstate``), or each warning may show again
    (the filters). If not, and underflow is ignored, the present state becomes `QUIET_STATE`.
    """
    error_state = errstate(), list(warnings.filters)
    modes: Mapping[str, str] = np.geterr()  # type: ignore[assignment]  # a TypedDict
    modes_used = set(modes.values())
    if modes_used <= {"ignore"} or (modes_used <= {"ignore", "warn"} and not _repeats_are_shown()):
        if modes["under"] == "ignore":
            QUIET_STATE.set(error_state)
        return False
    return True


def errors_or_underflow_observable() -> bool:
    """As `errors_observable`, but also true where underflow is not ignored, as it is by default.
    For kernels whose status may tell of an underflow that Python does not warn of (a source of
    "under" that is not ``certain``, `float_exceptions.sources_for_plan`): only a replay shows what
    Python does, so the call must be one that can be replayed.
    """
    return errors_observable() or np.geterr()["under"] != "ignore"


def native_detects_changes() -> bool:
    """Whether C can detect a change of the error state and of the warning filters."""
    return isinstance(_errstate_variable, ContextVar) and not FILTERS_ARE_CONTEXTUAL


def _repeats_are_shown() -> bool:
    """Whether the warning filters show a warning again each time."""
    if FILTERS_ARE_CONTEXTUAL:
        return True
    filters = (f for f in warnings.filters if issubclass(RuntimeWarning, f[2]))
    return any(f[0] not in _SHOW_ONCE_ACTIONS for f in filters)


@record(slots=True)
class VerdictCache:
    """The verdicts on the statuses of one kernel, for the present error state and warning filters:
    a verdict (`_Verdict`) says whether Python replays the call, and which warnings are shown. A
    loop that calls a function which divides by zero gets the same status each time, and to find
    the verdict takes some microseconds. `judge_status` and `judge_recorded` ask `of`.

    A status that has no effect at all (the condition is ignored, or no operation warns of it) is
    noted for calls that C performs, too: C then does not ask Python (`is_result_valid` in whole.c).
    """

    error_state: tuple[Any, list[Any]] | None = None  # for which `verdicts` are valid
    verdicts: dict[Hashable, _Verdict] = field(default_factory=dict)
    silent: np.ndarray[Any, Any] = field(default_factory=lambda: np.zeros(2, np.int64))
    """For C: the status bits without effect, and the number of the quiet state in which that is so
    (`QUIET_STATE`). C reads the array in place."""

    def of(self, status: int, others: Hashable, judge: Callable[[], _Verdict]) -> _Verdict:
        """The verdict on `status`: the one found before, else that of `judge`. ``others``: what it
        depends on besides; a changed error state, or changed filters, make all verdicts invalid.
        """
        key = status, others
        if (errstate(), warnings.filters) != self.error_state or FILTERS_ARE_CONTEXTUAL:
            self.error_state, self.verdicts = (errstate(), list(warnings.filters)), {}
        verdict = self.verdicts.get(key)
        if verdict is None:
            verdict = judge()
            if verdict.lasts:
                self.verdicts[key] = verdict
        elif verdict.is_silent:  # from the second time on: most conditions do not come again
            self._note_silent(status)
        return verdict

    def _note_silent(self, status: int) -> None:
        """Notes for C that `status` has no effect in this state, if it is a quiet one."""
        if errors_or_underflow_observable():
            return
        if self.silent[1] != QUIET_STATE.number:
            self.silent[:] = 0, QUIET_STATE.number
        self.silent[0] |= status


def judge_status(
    interface: KernelInterface,
    function: FunctionType,
    status: int,
    *,
    can_replay: bool,
    known: VerdictCache,
) -> str | None:
    """What becomes of a call whose kernel has returned a `status` with floating-point conditions or
    a failed check: None if its result stands, perhaps with a warning that is emitted here; else the
    code of the reason why Python must replay the call. For ``y = 1.0 / x`` with a zero in ``x``::

        np.errstate(divide="ignore")    →  None
        np.errstate(divide="warn")      →  None, and "divide by zero encountered in divide"
        np.errstate(divide="raise")     →  "GUARD_ERRSTATE": only Python can raise in mid-loop

    `_verdict` decides, and ``known`` remembers its verdicts. ``can_replay``: False if the kernel
    has overwritten what it reads, and there is no snapshot; then, where Python might show other
    warnings, the result stands, and one warning of each condition is emitted. (Where the error
    state raises or calls back there is a snapshot if one is needed: `errors_observable`.)
    `judge_and_restore` calls this.
    """
    others = can_replay, function.__globals__.get("__name__")
    verdict = known.of(status, others, lambda: _verdict(interface, function, status, can_replay))
    return _carry_out(verdict, function)


def _carry_out(verdict: _Verdict, function: FunctionType) -> str | None:
    """Emits the warnings of `verdict`, and returns its code."""
    for source in verdict.sources:
        _emit_warning(source, function)
    return verdict.code


def _verdict(
    interface: KernelInterface, function: FunctionType, status: int, can_replay: bool
) -> _Verdict:
    """What to do about a status. A condition ("divide", "over", "under", "invalid") is *active* if
    the kernel has raised it, ``np.errstate`` does not ignore it, and some operation of the program
    warns of it. In this order:

    - a check failed, or a condition arose that always replays (`Kernel.strict`): replay;
    - no condition is active: Python's own float arithmetic, or a value that is not used, raised it,
      or the user ignores it: the result stands;
    - one of them raises or calls back: replay (GUARD_ERRSTATE);
    - the warning filters ignore all warnings that it may have caused: the result stands;
    - Python `can_replay`, and it is not certain that it would show exactly one warning: replay
      (GUARD_FLOAT_STATUS);
    - else the result stands, and one warning for each active condition is emitted.
    """
    raised = [c for c in _FP_CLASSES if status & STATUS[c]]
    if (code := _replay_code(interface, status)) is not None:
        return _Verdict(code)
    modes: Mapping[str, str] = np.geterr()  # type: ignore[assignment]  # a TypedDict
    warned = {s.status for s in interface.sources}
    active = [c for c in raised if modes[c] != "ignore" and c in warned]
    if not active:
        return _Verdict(is_silent=True)
    if any(modes[c] != "warn" for c in active):
        return _Verdict("GUARD_ERRSTATE")
    raised_sources = dict.fromkeys(s for s in interface.sources if s.status in active)
    if _are_ignored(raised_sources, function):
        return _Verdict(sources=tuple(raised_sources), is_silent=True)
    is_one_warning = len(raised_sources) == 1 and _one_warning_each(raised_sources, function)
    if can_replay and not is_one_warning:
        return _Verdict("GUARD_FLOAT_STATUS")
    first_of_condition = {s.status: s for s in reversed(raised_sources)}  # the first one stays
    return _Verdict(sources=tuple(first_of_condition.values()))


def _replay_code(interface: KernelInterface, status: int) -> str | None:
    """The code of the replay if a check failed, or if a condition arose after which a call always
    replays (`Kernel.strict`), since Python may raise there; else None.
    """
    if status & STATUS["replay"]:
        causes = (code for code, bit in CHECK_CAUSES.items() if status & bit)
        return next(causes, "GUARD_RAISES")
    has_strict = any(status & STATUS[c] for c in interface.strict)
    return "GUARD_FLOAT_STATUS" if has_strict else None


def judge_recorded(
    interface: KernelInterface,
    function: FunctionType,
    status: int,
    raised_order: np.ndarray[Any, Any],
    *,
    known: VerdictCache,
) -> str | None:
    """As `judge_status`, for a recording kernel, whose call may show several warnings: it has
    recorded which operations raised, so that each warning can be emitted in Python's order.

    ``raised_order``: an array that the kernel has filled. Element 0 counts the operations that have
    raised so far; element 1 + k is the count at which ``interface.sources[k]`` raised first, 0 if
    it did not. So ``[2, 0, 2, 1]`` says that source 2 raised before source 1.
    """
    first_raised = ((when, k) for k, when in enumerate(raised_order[1:].tolist()) if when)
    order = tuple(k for _, k in sorted(first_raised))
    others = order, function.__globals__.get("__name__")
    verdict = known.of(
        status, others, lambda: _recorded_verdict(interface, function, status, order)
    )
    return _carry_out(verdict, function)


def _recorded_verdict(
    interface: KernelInterface, function: FunctionType, status: int, order: Sequence[int]
) -> _Verdict:
    """As `_verdict`, for a recording kernel. ``order``: the sources that raised, by number, in the
    order in which the kernel met them. It may emit a warning for each, if Python would show them in
    that order. Python evaluates ``1 / x + np.log(y)`` one operation after the other, each for all
    elements; a fused loop does both operations for one element, then for the next. So the order is
    certain if the sources raised in the order of the program, or if all are scalar operations. The
    first that applies:

    - a check failed, or a condition arose that always replays (`Kernel.strict`): replay;
    - ``np.errstate`` raises or calls back for some condition that arose: replay (GUARD_ERRSTATE);
    - an active condition has no source in ``order``, or Python would not show exactly one warning
      for each source: replay (GUARD_FLOAT_STATUS);
    - the warning filters ignore all warnings: the result stands;
    - the order is certain: the result stands, and the warnings are emitted;
    - all warnings were shown before, so that they show nothing: the same, for this call only;
    - else replay (GUARD_FLOAT_STATUS).
    """
    if (code := _replay_code(interface, status)) is not None:
        return _Verdict(code)
    modes: Mapping[str, str] = np.geterr()  # type: ignore[assignment]  # a TypedDict
    sources = interface.sources
    shown = [s for s in dict.fromkeys(sources[k] for k in order) if modes[s.status] != "ignore"]
    warned = {s.status for s in sources if status & STATUS[s.status]}
    active = {c for c in warned if modes[c] != "ignore"}
    shown_conditions = {s.status for s in shown}
    if any(modes[c] != "warn" for c in active | shown_conditions):
        return _Verdict("GUARD_ERRSTATE")
    if not (active <= shown_conditions and _one_warning_each(shown, function)):
        return _Verdict("GUARD_FLOAT_STATUS")
    has_certain_order = (
        shown == sorted(shown, key=sources.index)
        or all(_SCALAR_WARNING in s.message for s in shown)
    )
    if _are_ignored([s for s in sources if s.status in active], function):
        return _Verdict(sources=tuple(shown), is_silent=True)
    if has_certain_order:
        return _Verdict(sources=tuple(shown))
    if all(_already_shown(s, function) for s in shown):  # the registry may be cleared
        return _Verdict(sources=tuple(shown), lasts=False)
    return _Verdict("GUARD_FLOAT_STATUS", lasts=False)


def recording_helps(interface: KernelInterface, function: FunctionType, code: str) -> bool:
    """Whether a recording kernel, which also tells which of its operations raised, could serve
    calls that were replayed for `code` after the kernel of this interface. The dispatcher asks
    after the second such call (`Dispatcher._after_float_condition`), and compiles one if so.

        y = x * x if x < 1e200 else 0.0    the product overflows where its value is not used: a
                                           plain kernel replays, a recording one masks it

    It could in two cases:

    - the flag may have been raised by an operation of which nobody warns (a source is not
      ``certain``): the recording kernel tells, and the result stands if no source has raised;
    - each warning has a known message, and shows once at most under the present filters: so those
      that Python would show can be emitted here, in its order. Not for ``GUARD_ERRSTATE``: the
      error state asks to raise or to call back, which only a replay does in the right place.

    A kernel that records already gains nothing from another one.
    """
    is_recording = interface.raised_order is not None
    may_be_silent = any(not s.certain for s in interface.sources)
    can_emit_all = code != "GUARD_ERRSTATE" and all(
        s.message and _filter_action(s, function) in _SHOW_ONCE_ACTIONS for s in interface.sources
    )
    return not is_recording and (may_be_silent or can_emit_all)


def _one_warning_each(sources: Iterable[StatusSource], function: FunctionType) -> bool:
    """Whether Python would show exactly one warning for each source that raised."""
    return all(s.certain and _filter_action(s, function) in _SHOW_ONCE_ACTIONS for s in sources)


def _are_ignored(sources: Iterable[StatusSource], function: FunctionType) -> bool:
    """Whether the warning filters ignore the warnings of all sources."""
    return all(s.message and _filter_action(s, function) == "ignore" for s in sources)


def _emit_warning(source: StatusSource, function: FunctionType) -> None:
    """Emit the warning that NumPy gives from the source's line: of the helper that it was inlined
    from, if any, else of `function`.
    """
    function = source.helper or function
    names = function.__globals__
    module = names.get("__name__", "<unknown>")
    registry = names.setdefault("__warningregistry__", {})
    path = function.__code__.co_filename
    warnings.warn_explicit(source.message, RuntimeWarning, path, source.line, module, registry)


def _already_shown(source: StatusSource, function: FunctionType) -> bool:
    """Whether the warning registry of the module has this warning."""
    function = source.helper or function
    registry = function.__globals__.get("__warningregistry__", {})
    return (source.message, RuntimeWarning, source.line) in registry


def _filter_action(source: StatusSource, function: FunctionType) -> str:
    """The action of the warning filters for the source's warning."""
    if FILTERS_ARE_CONTEXTUAL:
        return "unknown"
    module = (source.helper or function).__globals__.get("__name__", "<unknown>")
    for action, message, category, where, line in warnings.filters:
        if (
            _filter_matches(message, source.message) and issubclass(RuntimeWarning, category)
            and _filter_matches(where, module) and line in (0, source.line)
        ):
            return action
    return "default"


def _filter_matches(pattern: Any, text: str) -> bool:
    """Whether a filter pattern matches: None, an interpreter's string, or a compiled expression."""
    if pattern is None:
        return True
    return pattern == text if isinstance(pattern, str) else pattern.match(text) is not None
