"""Floating-point errors under ``np.errstate``: which results stand, and which warnings are shown.

`Variant._judge_and_restore` asks `judge_status` and `judge_recorded`.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import field
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np

from loopir.lazy_dataclass import record
from loopir.op_table import STATUS
from targets.abi.native_entry import declare_quiet_state

from ..call_plan import Contract, StatusSource
from ..frontend.suppress_warnings import FILTERS_ARE_CONTEXTUAL

__all__ = [
    "QUIET_STATE", "errstate", "judge_status", "judge_recorded", "errors_observable",
    "recording_helps", "VerdictCache", "native_detects_changes",
]

_FP_CLASSES = ("divide", "over", "under", "invalid")
_SHOW_ONCE_ACTIONS = ("default", "ignore", "module", "once")
"""Filter actions under which one warning has the same effect as one for each iteration."""

_Verdict: TypeAlias = "tuple[str | None, tuple[StatusSource, ...]]"

_SCALAR_WARNING = " in scalar "
"""Part of the text of NumPy's warnings for scalar operations."""


def _errstate() -> Any:
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
    mid-loop, and a warning shows once.

    Under these a kernel may write before its flags are known. A comparison costs some 30 ns.
    """

    mood: tuple[Any, list[Any]] | None = None


QUIET_STATE = _QuietState()


def errors_observable() -> bool:
    """Whether a float condition may raise or call back in the middle of a loop, or every warning
    shows.
    """
    mood = errstate(), list(warnings.filters)
    modes = set(np.geterr().values())
    if modes <= {"ignore"} or (modes <= {"ignore", "warn"} and not _repeats_are_shown()):
        QUIET_STATE.mood = mood
        if native_detects_changes():
            declare_quiet_state(_errstate_variable, vars(warnings), "filters", *mood)
        return False
    return True


def native_detects_changes() -> bool:
    """Whether C can detect a change of the error state and of the warning filters."""
    return isinstance(_errstate_variable, ContextVar) and not FILTERS_ARE_CONTEXTUAL


def _repeats_are_shown() -> bool:
    if FILTERS_ARE_CONTEXTUAL:
        return True
    filters = (f for f in warnings.filters if issubclass(RuntimeWarning, f[2]))
    return any(f[0] not in _SHOW_ONCE_ACTIONS for f in filters)


@record(slots=True)
class VerdictCache:
    """Decisions about statuses under the last error state and warning filters: a code, and
    warnings.

    Computing one costs ten times as much as a warning that is not shown.
    """

    mood: tuple[Any, list[Any]] | None = None
    known: dict[tuple[int, bool, object], _Verdict] = field(default_factory=dict)

    def of(self, contract: Contract, function: FunctionType, status: int, again: bool) -> _Verdict:
        """The cached result of `_verdict`."""
        key = status, again, function.__globals__.get("__name__")
        if (errstate(), warnings.filters) != self.mood or FILTERS_ARE_CONTEXTUAL:
            self.mood, self.known = (errstate(), list(warnings.filters)), {}
        if key not in self.known:
            self.known[key] = _verdict(contract, function, status, again)
        return self.known[key]


def judge_status(
    contract: Contract, function: FunctionType, status: int, *, again: bool, known: VerdictCache
) -> str | None:
    """Decide about the status of a kernel that ran: None if its result stands, else a replay code.

    Emits warnings itself where they are indistinguishable from Python's, and where Python cannot
    run `again`, since the kernel has overwritten what it reads and there is no snapshot.
    """
    code, warning = known.of(contract, function, status, again)
    for source in warning:
        _emit_warning(source, function)
    return code


def _verdict(contract: Contract, function: FunctionType, status: int, again: bool) -> _Verdict:
    raised = [c for c in _FP_CLASSES if status & STATUS[c]]
    if (code := _replay_code(contract, status)) is not None:
        return code, ()
    modes: Mapping[str, str] = np.geterr()  # type: ignore[assignment]  # a TypedDict
    active = [c for c in raised if modes[c] != "ignore"]
    if not active:
        return None, ()
    if any(modes[c] != "warn" for c in active):
        return "GUARD_ERRSTATE", ()
    found = dict.fromkeys(s for s in contract.sources if s.status in active)
    if again and not (len(found) == 1 and _one_warning_each(found, function)):
        return "GUARD_FLOAT_STATUS", ()
    return None, tuple({s.status: s for s in reversed(found)}.values())


def _replay_code(contract: Contract, status: int) -> str | None:
    """The code if Python may have raised, else None."""
    if status & STATUS["replay"]:
        return "GUARD_RAISES"
    strict = any(status & STATUS[c] for c in contract.strict)
    return "GUARD_FLOAT_STATUS" if strict else None


def judge_recorded(
    contract: Contract, function: FunctionType, status: int, raised_order: np.ndarray[Any, Any]
) -> str | None:
    """As `judge_status`, for a kernel that recorded which of its sources raised, in a loop's order.

    Array expressions have another order: where the orders may differ observably, Python replays.
    """
    if (code := _replay_code(contract, status)) is not None:
        return code
    modes: Mapping[str, str] = np.geterr()  # type: ignore[assignment]  # a TypedDict
    sources = contract.sources
    raised = ((when, k) for k, when in enumerate(raised_order[1:].tolist()) if when)
    found = dict.fromkeys(sources[k] for _, k in sorted(raised))
    fired = [s for s in found if modes[s.status] != "ignore"]
    active = {c for c in _FP_CLASSES if status & STATUS[c] and modes[c] != "ignore"}
    known = {s.status for s in fired}
    if any(modes[c] != "warn" for c in active | known):
        return "GUARD_ERRSTATE"
    in_order = (
        fired == sorted(fired, key=sources.index)
        or all(_SCALAR_WARNING in s.message for s in fired)
        or all(_already_shown(s, function) for s in fired)
    )
    if not (active <= known and in_order and _one_warning_each(fired, function)):
        return "GUARD_FLOAT_STATUS"
    for source in fired:
        _emit_warning(source, function)
    return None


def recording_helps(contract: Contract, function: FunctionType) -> bool:
    """Whether recording which sources raised would avoid replays."""
    return contract.raised_order is None and all(
        s.message and _filter_action(s, function) in _SHOW_ONCE_ACTIONS for s in contract.sources
    )


def _one_warning_each(sources: Iterable[StatusSource], function: FunctionType) -> bool:
    """Whether Python would show exactly one warning for each source that raised."""
    return all(s.certain and _filter_action(s, function) in _SHOW_ONCE_ACTIONS for s in sources)


def _emit_warning(source: StatusSource, function: FunctionType) -> None:
    """Emit the warning that NumPy gives from that line of the function."""
    function = source.of or function
    names = function.__globals__
    module = names.get("__name__", "<unknown>")
    registry = names.setdefault("__warningregistry__", {})
    path = function.__code__.co_filename
    warnings.warn_explicit(source.message, RuntimeWarning, path, source.line, module, registry)


def _already_shown(source: StatusSource, function: FunctionType) -> bool:
    function = source.of or function
    registry = function.__globals__.get("__warningregistry__", {})
    return (source.message, RuntimeWarning, source.line) in registry


def _filter_action(source: StatusSource, function: FunctionType) -> str:
    """The action of the warning filters for the source's warning."""
    if FILTERS_ARE_CONTEXTUAL:
        return "unknown"
    module = (source.of or function).__globals__.get("__name__", "<unknown>")
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
