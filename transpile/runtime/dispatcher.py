"""Call dispatcher: selects the wrapper for a call, compiles one, or runs the original function.

The installed wrapper serves the calls that fit it. A call that it cannot serve (another signature,
a failed guard, a floating-point condition) comes to `Dispatcher._on_miss`, with its arguments
unchanged. A region that is refused again and again backs off for a growing number of calls.
"""
from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from time import perf_counter
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from ..call_plan import writes_captured
from ..errors import (
    NO_COMPILER,
    FuseError,
    drop_tracebacks,
    fallback_is_error,
    fallback_message,
    should_warn,
    warn,
)
from ..options import Options
from ..types.typeof import parameter_names
from ..types.value_types import Function, GeneratorType, ObjectType, WrappedFunction
from .background_compilation import RUN_BACKGROUND, BackgroundCompiler, CompilesBeside
from .compiler_faults import Faults
from .fork_lock import ForkSafeLock
from .specialization import Cause, SignatureResolver, Specialization
from .stub_functions import Arguments, backoff_stub, choosing_stub, counting_stub

if TYPE_CHECKING:
    from ..diagnostics import Rejection
    from ..knobs import Knobs
    from ..types.value_types import ArgType
    from .compiled_variant import Variant
    from .specialization import FusedRegion, OutlinedFunction

__all__ = ["Dispatcher", "Backoff"]

_log = logging.getLogger(__name__)

SIGNATURE_INDEPENDENT = ("SOURCE_UNAVAILABLE", "SOURCE_UNPARSABLE", NO_COMPILER)
"""Codes of rejections that are the same for every call signature."""


class Dispatcher(WrappedFunction):
    """The state of one function: its specializations, and the installed wrapper.

    A call goes to the installed wrapper; whatever that cannot serve comes to `_on_miss`.
    """

    may_back_off = False
    """It may pass calls on for a while without a look at their arguments (`Backoff`); set for
    outlined regions, which may be called in a loop."""
    region_type: ClassVar[type[FusedRegion]]

    def __new__(cls, function: FunctionType, options: Options) -> Any:
        """Each object has its own class, whose ``__call__`` is the wrapper: no extra frame per
        call.
        """
        namespace = {"__module__": cls.__module__, "__doc__": cls.__doc__}
        return object.__new__(type(cls.__name__, (cls,), namespace))

    def __init__(self, function: FunctionType, options: Options) -> None:
        self._function = function
        self.options = options
        self._cases: dict[tuple[ArgType, ...], Specialization] = {}
        self._lock = ForkSafeLock()
        self._faults = Faults(function, self._lock)
        self._begin = self._faults.guarded(self._start, False)
        self._background = BackgroundCompiler()
        self._unverified = 1.0
        self._last_served: tuple[Specialization | None, int] = None, 0
        self._backoff = Backoff()
        self._signatures = SignatureResolver(function)
        self.warned_causes = set[Cause]()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The first call; later ones go to what `_install` has put here."""
        if not self._begin():
            return self._function(*args, **kwargs)
        return self(*args, **kwargs)

    def _install(self, call: Callable[..., Any]) -> None:
        """Make `call` what a call of this object runs."""
        type(self).__call__ = staticmethod(call)  # type: ignore[method-assign]  # its own class

    def _start(self) -> bool:
        """Install the stub that sends every call to `_missed` (or `_verified`). Returns True."""
        choose = self._verified if self.options.verify else self._missed
        guarded_choice = self._faults.guarded(choose, self._function)
        self._install(choosing_stub(self._function, guarded_choice))
        return True

    def _restart(self) -> None:
        """As `_start`."""
        self._start()

    def _missed(self, values: Arguments) -> Callable[..., Any]:
        """The function for a call that no wrapper is installed for."""
        return self._on_miss(None, None, "", values)

    def _verified(self, values: Arguments) -> Callable[..., Any]:
        """As `_missed`; for the share of calls that ``verify`` selects, a function that also
        compares with Python.
        """
        self._unverified += self.options.verify
        serving = self._missed(values)
        case = self._specialization(values)
        if self._unverified < 1 or serving is self._function or case.parts:
            return serving  # regions verify their own calls
        variant = case.variant(values)
        if variant is not None and writes_captured(variant.interface):
            return serving  # captured arrays are not copied
        from .differential_check import run_and_compare

        self._unverified -= 1
        return lambda *args, **kwargs: run_and_compare(self._function, values, serving)

    def _on_miss(
        self, current: Specialization | None, failed: Variant | None, code: str, values: Arguments
    ) -> Callable[..., Any]:
        """The function to call for a call that the installed wrapper could not serve.

        The wrapper is that of the variant `failed` in the specialization `current`; None: of none.
        This is where the dispatcher decides. `code` says why the wrapper could not: "" means that
        the call has another signature. In this order:

        - a failed guard of this specialization: after a float condition a variant that records may
          serve (`_after_float_condition`), else Python replays the call;
        - the globals that `failed` uses were rebound: Python replays, and the next call compiles
          again;
        - a variant for the signature is found or compiled, and installed once calls have settled on
          it;
        - if there is none: the outlined function, or the original.
        """
        # GUARD_SHAPE: the signature says which axes have length 1
        case = self._specialization(values) if code in ("", "GUARD_SHAPE") else current
        if current is not None and code and case is current:
            if failed is not None and code == "GUARD_FLOAT_STATUS":
                return self._after_float_condition(current, failed)
            self._back_off(current)
            return self._replay(current, code)
        assert case is not None
        variant = case.variant(values)
        is_rebound = variant is None and failed is not None and not failed.applies(values)
        if (
            is_rebound
            and current is not None
            and (case is current or not _needs_argument_check(current.types))
        ):
            self._start()  # the next call compiles again
            return self._replay(current, "GUARD_REBOUND")
        variant = variant or self._compiled(case, values)
        if variant is None and case.rejection is None:
            return self._replay(case, RUN_BACKGROUND)
        if variant is None:
            assert case.rejection is not None
            if case.parts is not None and not case.parts.loops:
                return case.parts.function
            original = self._replay(case, case.rejection.code)
            self._back_off(case)
            return original if case.parts is None else case.parts.function
        if variant is failed:
            self._back_off(case)
            return self._replay(case, variant.mismatch(values))
        if self._settled(current) and not self.options.verify:
            self._install(variant.call)
        return variant.call

    def _back_off(self, case: Specialization) -> None:
        """Back off: send the next calls to the original, or to the outlined function if it has
        compiled regions; longer each time.
        """
        if not self.may_back_off or self.options.verify or fallback_is_error():
            return
        skipped_calls = self._backoff.calls_to_skip(sum(c.compiled for c in self._cases.values()))
        if skipped_calls:
            outlined = case.parts if case.parts and case.parts.stats.compiled else None
            replacement = self._function if outlined is None else outlined.function
            calls = case.direct_calls
            self._install(
                backoff_stub(self._function, replacement, calls, skipped_calls, self._restart)
            )

    def _settled(self, current: Specialization | None) -> bool:
        """Whether the installed wrapper has served no call since the last miss.

        Alternating signatures are better looked up each time: installing costs as much as two
        look-ups.
        """
        last_state = (current, current.compiled if current else 0)
        is_settled = current is None or last_state == self._last_served
        self._last_served = last_state
        return is_settled

    def _replay(self, case: Specialization, code: str) -> FunctionType:
        """The original function, and count the replay; raises FuseError if running as Python is
        forbidden.
        """
        is_refused = case.rejection is not None
        if fallback_is_error() or (is_refused and self.options.on_reject == "raise"):
            code = case.rejection.code if case.rejection else code
            message = fallback_message(self._function, case.types, code, case.rejection)
            raise FuseError(message, code) from case.error
        case.replays[code] += 1
        return self._function

    def _after_float_condition(
        self, current: Specialization, failed: Variant
    ) -> Callable[..., Any]:
        """The function to call where it is unknown which operation raised a float flag.

        The first time the original, which shows its warnings; after that a variant that records
        which operation raised, if that helps.
        """
        from .float_errors import recording_helps

        has_replayed = current.replays["GUARD_FLOAT_STATUS"] > 0
        variant = None
        may_compile = has_replayed and not self._background.is_compiling()
        if may_compile and recording_helps(failed.interface, self._function):
            variant = self._recording_variant(current, failed)
        return self._replay(current, "GUARD_FLOAT_STATUS") if variant is None else variant.call

    def _recording_variant(self, case: Specialization, failed: Variant) -> Variant | None:
        """A variant that records which operation raised; None if there is none."""
        with self._lock.held:
            if not failed.recording_tried:
                from .. import knobs

                failed.recording_tried = True
                try:
                    failed.recording_variant = self._build_variant(case, knobs.read(), None)
                except Exception as error:  # whatever went wrong, the original still runs
                    _log.info("nothing tells what raised in %s: %s", self._function, error)
            return failed.recording_variant

    def _specialization(self, values: Arguments) -> Specialization:
        """The specialization for the signature of these arguments, which is created if needed."""
        types = self._signatures.among(values, self._cases)
        case = self._cases.get(types) or self._cases.setdefault(types, Specialization(types))
        if _has_function_argument(types):
            case.types = types  # of the functions themselves that were given last
        return case

    def _compiled(self, case: Specialization, values: Arguments) -> Variant | None:
        """A new variant; None if there is a rejection, which is reported once, or while a thread
        compiles in the background.
        """
        if case.rejection or self._background.is_compiling():
            return None
        with self._lock.held:  # the imports, too: see `fork_lock`
            self._lock.note_owner()
            from .. import knobs
            from ..options import chosen_target

            settings = knobs.read()
            chosen_target(self.options, settings)  # an unknown target is the user's error
            if case.rejection or (variant := case.variant(values)):  # another thread was first
                return None if case.rejection else variant
            try:
                variant = self._build_variant(case, settings, values)
            except CompilesBeside:
                return None
            except Exception as error:  # whatever went wrong, the original still runs
                if self._faults.may_pass(error):
                    raise
                if settings.check and isinstance(error, AssertionError):
                    raise
                from .compile_call import rejection_of

                rejection = rejection_of(error)
                case.parts = self._outlined(case, rejection)
                for part in case.parts.parts if case.parts else ():
                    part.fused.warned_causes = self.warned_causes
                rejection = self._explained(case, rejection)
                case.rejection, case.error = rejection, drop_tracebacks(error)
                self._refuse(case, rejection)
                return None
            self._faults.forget()
            case.add(variant)
            return variant

    def _build_variant(
        self, case: Specialization, settings: Knobs, values: Arguments | None
    ) -> Variant:
        """A variant for the current global names, from the disk cache or compiled; raises what
        `compile_variant` raises.

        `values`: the arguments of the call; None for a variant that records what raised. Raises
        CompilesBeside where a thread has been started instead.
        """
        start = perf_counter()
        types = dict(zip(parameter_names(self._function.__code__), case.types, strict=True))
        try:
            variant = None if values is None else self._cached_variant(types, settings, values)
            if variant is None:
                if values is not None and self.options.background and not fallback_is_error():
                    self._background.start(case.types, lambda: self._compiled(case, values))
                from .compile_call import compile_variant

                variant = compile_variant(
                    self._function, types, self.options, settings, recording=values is None
                )
            on_miss = self._faults.guarded(functools.partial(self._on_miss, case), self._function)
            variant.attach(on_miss, case.calls, case.native_calls)
        finally:
            case.seconds += perf_counter() - start
        return variant

    def _outlined(self, case: Specialization, rejection: Rejection) -> OutlinedFunction | None:
        """The outlined function, whose compilable regions are compiled separately; None if there
        are none.
        """
        from .outlined_regions import outline_function

        types = dict(zip(parameter_names(self._function.__code__), case.types, strict=True))
        try:
            return outline_function(
                self._function, types, rejection, self.options, self.region_type
            )
        except Exception:  # whatever went wrong, the original still runs
            _log.warning("transpile failed to cut %s", self._function, exc_info=True)
            return None

    def _explained(self, case: Specialization, rejection: Rejection) -> Rejection:
        """`rejection` with its cause, in the terms of the source."""
        from ..report.refusal_causes import explained

        types = dict(zip(parameter_names(self._function.__code__), case.types, strict=True))
        try:
            return explained(self._function, types, rejection)
        except Exception:  # whatever went wrong, there is a reason to tell
            _log.warning("transpile failed to explain %s", rejection, exc_info=True)
            return rejection

    def _cached_variant(
        self, types: dict[str, ArgType], settings: Knobs, values: Arguments
    ) -> Variant | None:
        """The variant from the disk cache, unless the user wants to see the compilation."""
        is_traced = settings.debug or settings.dump
        if not self.options.cache or is_traced or settings.check or settings.skip:
            return None
        from ..options import chosen_target
        from .disk_cache import find_variant

        target = chosen_target(self.options, settings)
        return find_variant(self._function, types, self.options, target.full_name, values)

    def _refuse(self, case: Specialization, rejection: Rejection) -> None:
        """Act on the rejection of `case`: warn if the options say so, once of each cause, and run
        the original directly if the reason holds for every signature. Nothing is done if all of it
        is compiled in regions, or a fallback raises.
        """
        is_fully_outlined = (
            case.parts is not None and not case.parts.loops
        )  # no Python loop is left
        if is_fully_outlined or fallback_is_error() or self.options.on_reject == "raise":
            return
        if rejection.code in SIGNATURE_INDEPENDENT:
            self._install(counting_stub(self._function, case.direct_calls))
        cause = rejection.code, rejection.line
        is_known = cause in self.warned_causes
        self.warned_causes.add(cause)
        if self.options.on_reject == "warn" and not is_known and should_warn(rejection.code):
            warn(
                fallback_message(
                    self._function, case.types, rejection.code, rejection,
                    part=case.parts is not None, region=self.may_back_off,
                )
            )


def _has_function_argument(types: tuple[ArgType, ...]) -> bool:
    """Whether an argument is a Python function."""
    return any(isinstance(t, Function) for t in types)


def _needs_argument_check(types: Iterable[ArgType]) -> bool:
    """Whether the guard of a variant depends on the argument itself, not only on its type."""
    return any(
        isinstance(t, (Function, GeneratorType))
        or (isinstance(t, ObjectType) and _needs_argument_check(part for _, part in t.parts))
        for t in types
    )


_MAX_FAILURES = 16
"""Consecutive calls without a compiled one after which a region backs off."""

_SHORTEST, _LONGEST = 6, 16
"""Calls of the first and the longest back-off, as powers of two; each is twice the last."""


class Backoff:
    """Exponential back-off: counts consecutive calls that no compiled code could serve."""

    def __init__(self) -> None:
        self._failures = self._compiled = 0

    def calls_to_skip(self, compiled: int) -> int:
        """Count another such call. Returns how many of the next calls to pass on without
        dispatching; 0 before `_MAX_FAILURES` of them.

        ``compiled``: the number of compiled calls so far; a new one ends the series.
        """
        self._failures = self._failures + 1 if compiled == self._compiled else 1
        self._compiled = compiled
        if self._failures < _MAX_FAILURES:
            return 0
        return 1 << min(_SHORTEST + self._failures - _MAX_FAILURES, _LONGEST)
