"""A trap: a function, what it is called with, and all that can be seen of such a call."""
from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = ["MOODS", "TRAPS", "Seen", "Trap", "seen", "trap"]

Case = Callable[[], tuple[Any, ...]]

MOODS = ("default", "always", "error", "ignore", "raise", "call")
"""Filter actions, and modes of ``np.errstate``."""


@dataclass(frozen=True)
class Trap:
    """``line``: of the promise. ``compiled``: whether a kernel has to answer the first case; the
    others, and where it need not, Python may have to answer. ``near``: how far floats may be off.
    """

    line: str
    function: Callable[..., Any]
    cases: tuple[Case, ...]
    compiled: bool = True
    near: float = 0.0


TRAPS: list[Trap] = []


def trap(
    line: str, *cases: Case, compiled: bool = True, near: float = 0.0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated function is a trap."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        TRAPS.append(Trap(line, function, cases, compiled, near))
        return function

    return keep


class Seen(NamedTuple):
    """All that a caller sees of a call."""

    value: Any
    error: tuple[str, str] | None
    arguments: Any
    warned: tuple[tuple[str, str, str, int], ...]
    called: tuple[str, ...]
    printed: str
    state: Any


def seen(function: Callable[..., Any], case: Case, mood: str, names: dict[str, Any]) -> Seen:
    """A call as if it were the first in a module with these `names`."""
    names.pop("__warningregistry__", None)
    called: list[str] = []
    value = error = None
    random.seed(5)
    np.random.seed(5)
    args = case()
    printed = io.StringIO()
    with _in(mood, called) as warned, contextlib.redirect_stdout(printed):
        try:
            value = function(*args)
        except Exception as e:
            error = type(e).__name__, str(e)
    return Seen(
        _plain(value, args), error, [_plain(a, ()) for a in args],
        tuple((w.category.__name__, str(w.message), w.filename, w.lineno) for w in warned),
        tuple(called), printed.getvalue(),
        (random.getstate(), np.random.get_state()[2], np.random.get_state()[1].tolist()),
    )


@contextlib.contextmanager
def _in(mood: str, called: list[str]) -> Iterator[list[warnings.WarningMessage]]:
    mode: Any = mood if mood in ("ignore", "raise", "call") else "warn"
    action: Any = mood if mood in ("always", "error") else "default"
    with (
        warnings.catch_warnings(record=True) as warned,
        np.errstate(all=mode, under="ignore", call=lambda what, _: called.append(what)),
    ):
        warnings.simplefilter(action)
        yield warned


def _plain(value: Any, args: tuple[Any, ...]) -> Any:
    """What is to be seen of a value: also which argument it is, or shares memory with."""
    for k, a in enumerate(args):
        if value is a and isinstance(a, (np.ndarray, list)):
            return f"argument {k}"
    match value:
        case list() | tuple():
            return type(value).__name__, [_plain(v, args) for v in value]
        case np.ndarray() if type(value) is not np.ndarray:
            return type(value).__name__, value.dtype.str, repr(value)
        case np.ndarray():
            layout = value.strides if value.size > 1 else None
            shared = [k for k, a in enumerate(args) if _share(value, a)]
            writeable = value.flags.writeable
            return type(value).__name__, value.dtype.str, layout, writeable, shared, _Values(value)
        case np.generic() | float() | complex():
            return type(value).__name__, _Values(np.asarray(value))
        case int():
            return type(value).__name__, hex(value)  # of any length
    return type(value).__name__, repr(value)


def _share(a: np.ndarray, b: Any) -> bool:
    return isinstance(b, np.ndarray) and np.shares_memory(a, b)


class _Values:
    """Elements, of which all bits count but those of NaNs; floats as near as asked for."""

    near = 0.0

    def __init__(self, of: np.ndarray) -> None:
        self.of = of.copy()

    def __repr__(self) -> str:
        return repr(self.of)

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, _Values)
        a, b = self.of, other.of
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind not in "fc":
            return a.tobytes() == b.tobytes() or bool(a.dtype.hasobject and (a == b).all())
        if self.near:
            return bool(np.allclose(a, b, rtol=self.near, atol=self.near, equal_nan=True))
        nan = np.isnan(a)
        return bool((nan == np.isnan(b)).all()) and a[~nan].tobytes() == b[~nan].tobytes()

    __hash__ = None  # type: ignore[assignment]  # compared only


def nearly(near: float) -> None:
    """How far floats may be off from now on."""
    _Values.near = near
