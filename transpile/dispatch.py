"""``fuse``, and the function it gives: a wrapper a call signature, or the original and why.

A call goes straight to the wrapper that served last. What that cannot do comes to ``_cold``:
another signature, a failed guard, a floating-point condition. There the right wrapper is found or
made, or the original runs, on arguments that are as they were.
"""
from __future__ import annotations

import functools
import inspect
import os
import threading
import weakref
from collections.abc import Callable
from time import perf_counter
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, overload

from .case import Case, Stats, total
from .errors import NO_COMPILER, FuseError, fallback_is_error, is_news, sentence, warn
from .options import Options, options_of
from .signature import call_with, parameters, type_of
from .standin import binder, counter

if TYPE_CHECKING:
    from .rejections import Rejection
    from .report import Report
    from .types import ArgType
    from .variant import Variant
    from .wrapper import Saved

__all__ = ["Fused", "fuse"]

Values = tuple[Any, ...]

EVERY_SIGNATURE = ("SOURCE_UNAVAILABLE", "SOURCE_UNPARSABLE", NO_COMPILER)
"""Codes of rejections that no other call signature can change."""


@overload
def fuse(function: Callable[..., Any], /) -> Fused: ...
@overload
def fuse(**options: Any) -> Callable[[Callable[..., Any]], Fused]: ...
def fuse(
    function: Callable[..., Any] | None = None, /, **options: Any
) -> Fused | Callable[[Callable[..., Any]], Fused]:
    """Compiles a function's loops when it is called: ``@fuse``, or ``@fuse(option=…)``.

    The options are the fields of `Options`. The result is called like the function and gives the
    same; whatever cannot be compiled so runs as Python. Raises TypeError for what is not a Python
    function and for a wrong option, ValueError for an option's wrong value.
    """
    chosen = options_of(options)
    if function is None:
        return lambda function: Fused(function, chosen)
    return Fused(function, chosen)


class Fused:
    """A function whose loops are compiled, made by ``fuse``. ``__wrapped__`` is the original."""

    __wrapped__: Any
    __name__: str
    __qualname__: str

    def __new__(cls, function: Callable[..., Any], options: Options) -> Fused:
        """Each has a class of its own, whose ``__call__`` is the wrapper: no frame in between."""
        namespace = {"__module__": cls.__module__, "__doc__": cls.__doc__}
        own: Any = type(cls.__name__, (Fused,), namespace)
        made: Fused = object.__new__(own)
        return made

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        if isinstance(function, Fused):
            function = function.__wrapped__
        if not isinstance(function, FunctionType):
            raise TypeError(f"fuse takes a Python function, not {_kind(function)}")
        self._function: FunctionType = function
        functools.update_wrapper(self, function)
        self.options = options
        self._cases: dict[tuple[ArgType, ...], Case] = {}
        self._lock = threading.RLock()
        self._unverified = 1.0
        _living.add(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The first call; those after it go to what ``_install`` puts in this place."""
        self._start()
        return self(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<fused {self._function!r}>"

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)

    def __copy__(self) -> Fused:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Fused:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        from .pickling import reduced

        return reduced(self)

    # -- what became of it

    @property
    def signatures(self) -> tuple[tuple[ArgType, ...], ...]:
        """The types of the arguments it was called with, in order of first appearance."""
        return tuple(self._cases)

    @property
    def stats(self) -> Stats:
        """Compiled calls, replays by code, time spent compiling."""
        return total([case.stats for case in self._cases.values()])

    def report(self, *args: Any, **kwargs: Any) -> Report:
        """What becomes of the loops in a call with these arguments; the function does not run."""
        return self.report_for(self._types(args, kwargs))

    def emit(self, stage: str, *args: Any, **kwargs: Any) -> str:
        """The text of a stage (``python``, ``loopir``, ``c`` or ``asm``) for these arguments.

        Raises FuseError where the function is refused, ValueError for another stage.
        """
        return self.emit_for(stage, self._types(args, kwargs))

    def report_for(self, types: tuple[ArgType, ...]) -> Report:
        """As `report`, for arguments of these types."""
        from .inspection import report

        case = self._cases.get(types)
        return report(self._function, types, self.options, case)

    def emit_for(self, stage: str, types: tuple[ArgType, ...]) -> str:
        """As `emit`, for arguments of these types."""
        from .inspection import emit

        return emit(stage, self._function, types, self.options)

    def _types(self, args: Values, kwargs: dict[str, Any]) -> tuple[ArgType, ...]:
        return tuple(map(type_of, binder(self._function, lambda values: values)(*args, **kwargs)))

    # -- calls

    def _install(self, call: FunctionType) -> None:
        type(self).__call__ = staticmethod(call)  # type: ignore[method-assign]  # its own class

    def _start(self) -> None:
        """Every call comes to `_missed`, or is verified."""
        then = self._verified if self.options.verify else self._missed
        self._install(binder(self._function, then))

    def _missed(self, values: Values) -> Any:
        return self._cold(None, None, -1, values, ())

    def _verified(self, values: Values) -> Any:
        self._unverified += self.options.verify
        if self._unverified < 1:
            return self._missed(values)
        from .verify import compared

        self._unverified -= 1
        return compared(self._function, values, self._missed)

    def _cold(
        self, home: Case | None, hot: Variant | None, status: int, values: Values, saved: Saved
    ) -> Any:
        """The result of a call that a wrapper, of `hot` in `home`, could not give."""
        if home is not None and hot is not None and status > 0:
            code = hot.undo(status, saved)
            return self._replay(home, code, values)
        case = self._case(values)
        variant = case.variant()
        if variant is None and home is not None and hot is not None and not hot.applies():
            self._start()  # the next call is compiled anew
            return self._replay(home, "GUARD_REBOUND", values)
        variant = variant or self._compiled(case)
        if variant is None:
            return self._replay(case, case.refusal(values), values)
        if variant is hot:
            return self._replay(case, variant.mismatch(values), values)
        if not self.options.verify:
            self._install(variant.call)
        return call_with(variant.call, self._function.__code__, values)

    def _replay(self, case: Case, code: str, values: Values) -> Any:
        """The original's result, unless Python is forbidden."""
        refused = case.rejection is not None
        if fallback_is_error() or (refused and self.options.on_reject == "raise"):
            code = case.rejection.code if case.rejection else code
            message = sentence(self._function, case.types, code, case.rejection)
            raise FuseError(message, code) from case.error
        case.replays[code] += 1
        return call_with(self._function, self._function.__code__, values)

    def _case(self, values: Values) -> Case:
        types = tuple(map(type_of, values))
        return self._cases.get(types) or self._cases.setdefault(types, Case(types))

    def _compiled(self, case: Case) -> Variant | None:
        """A new variant; None where there is a reason against it, which is then told once."""
        from . import knobs
        from .variant import chosen_target, compile_variant, rejection_of

        settings = knobs.read()
        chosen_target(self.options, settings)  # a wrong word is an error, not a reason for Python
        with self._lock:
            if case.rejection or (variant := case.variant()):  # another thread was first
                return None if case.rejection else variant
            start = perf_counter()
            types = dict(zip(parameters(self._function.__code__), case.types, strict=True))
            try:
                variant, fast = compile_variant(self._function, types, self.options, settings)
                variant.attach(fast, functools.partial(self._cold, case), case.calls)
            except Exception as error:  # whatever went wrong, the original still runs
                if settings.check and isinstance(error, AssertionError):
                    raise
                case.rejection, case.error = rejection_of(error), error
                self._refuse(case, case.rejection)
                return None
            finally:
                case.seconds += perf_counter() - start
            case.add(variant)
            return variant

    def _refuse(self, case: Case, rejection: Rejection) -> None:
        if fallback_is_error() or self.options.on_reject == "raise":
            return
        if rejection.code in EVERY_SIGNATURE:
            self._install(counter(self._function, case.direct))
        if self.options.on_reject == "warn" and is_news(rejection.code):
            help = f" ({rejection.help})" if rejection.code == NO_COMPILER else ""
            warn(sentence(self._function, case.types, rejection.code, rejection) + help)


def _kind(thing: object) -> str:
    method = isinstance(thing, (staticmethod, classmethod))
    return f"a {type(thing).__name__}" + ("; put @fuse under it" if method else "")


_living: weakref.WeakSet[Fused] = weakref.WeakSet()


def _unlock() -> None:
    """In a forked child: whoever held a lock is not there."""
    for fused in list(_living):
        fused._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)
