"""Call dispatcher: selects what serves a call, compiles it, or runs the original function.

The installed call (`installed_call`) serves the calls that fit it. A call that it cannot serve
(another signature, a failed guard, a floating-point condition) comes to the dispatcher, with its
arguments unchanged. What the dispatcher decides becomes a row of the installed call: a variant, or
Python, for arguments of these types, and for calls of which sizes (`call_selection`). Calls that
Python serves, since their signature is refused or their guards fail, are looked at again after a
number of calls that doubles each time.
"""
from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from time import perf_counter
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from targets.abi.inline_cache import CacheRow, size_of_call

from ..call_plan import writes_captured
from ..errors import (
    NO_COMPILER,
    FuseError,
    drop_tracebacks,
    fallback_is_error,
    fallback_message,
    selects_by_time,
    should_warn,
    warn,
)
from ..options import Options
from ..types.typeof import parameter_names
from ..types.value_types import (
    Constant,
    Function,
    GeneratorType,
    ObjectType,
    Opaque,
    ScalarType,
    WrappedFunction,
)
from .background_compilation import RUN_BACKGROUND, BackgroundCompiler, CompilationPending
from .call_selection import Backoff, Trial, next_allowance
from .compiler_faults import Faults
from .fork_lock import ForkSafeLock
from .installed_call import InstalledCall, Keys, keys_of
from .specialization import (
    MAX_SIGNATURES,
    Cause,
    SignatureResolver,
    Specialization,
    Stats,
    names_read,
    total_stats,
)
from .stub_functions import Arguments, Timed, choosing_stub

if TYPE_CHECKING:
    from ..diagnostics import Rejection
    from ..knobs import Knobs
    from ..types.value_types import ArgType
    from .compiled_variant import Variant
    from .specialization import FusedRegion, OutlinedFunction

__all__ = ["Dispatcher"]

_log = logging.getLogger(__name__)

SIGNATURE_INDEPENDENT = ("SOURCE_UNAVAILABLE", "SOURCE_UNPARSABLE", NO_COMPILER, "RUN_SIGNATURES")
"""Codes of rejections that are the same for every call signature that is not compiled yet."""

PYTHON_FASTER = "RUN_PYTHON_FASTER"
"""The code of calls that Python serves since it was measured to be the faster one."""

_MAX_RETRIES = 4
"""How often a refused signature is compiled again since global names were rebound."""


class Dispatcher(WrappedFunction):
    """The state of one function: its specializations, and the installed call."""

    is_region = False
    """It is an outlined region, which may be called in a loop."""
    region_type: ClassVar[type[FusedRegion]]

    def __new__(cls, function: FunctionType, options: Options) -> Any:
        """Each object has its own class, whose ``__call__`` is the installed call: no extra frame
        per call.
        """
        namespace = {"__module__": cls.__module__, "__doc__": cls.__doc__}
        return object.__new__(type(cls.__name__, (cls,), namespace))

    def __init__(self, function: FunctionType, options: Options) -> None:
        self._function = function
        self.options = options
        self._specializations: dict[tuple[ArgType, ...], Specialization] = {}
        self._lock = ForkSafeLock()
        self._faults = Faults(function, self._lock)
        self._begin = self._faults.guarded(self._start, False)
        self._background = BackgroundCompiler()
        self._unverified = 1.0
        self._backoff = Backoff()
        self._signatures = SignatureResolver(function)
        self._installed: InstalledCall | None = None
        self._direct: dict[bool, FunctionType | None] = {}  # see `_with_direct_self_calls`
        self._shared: Specialization | None = None  # of all signatures past `MAX_SIGNATURES`
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
        """Install the stub that takes every call to `_choose` (or `_verified`). Returns True."""
        if self._installed is None:
            choose = self._verified if self.options.verify else self._choose
            guarded_choice = self._faults.guarded(choose, (self._function, None))
            stub = choosing_stub(self._function, guarded_choice)
            self._installed = InstalledCall(self._function, stub, self._install)
        self._installed.clear()
        return True

    def _verified(self, values: Arguments) -> tuple[Callable[..., Any], Timed | None]:
        """As `_choose`; for the share of calls that ``verify`` selects, a function that also
        compares with Python.
        """
        self._unverified += self.options.verify
        serving, _ = self._choose(values)
        spec = self._specialization(values)
        if self._unverified < 1 or serving is self._function or spec.outlined:
            return serving, None  # regions verify their own calls
        variant = spec.variant(values)
        if variant is not None and writes_captured(variant.interface):
            return serving, None  # captured arrays are not copied
        from .differential_check import run_and_compare

        self._unverified -= 1
        return lambda *args, **kwargs: run_and_compare(self._function, values, serving), None

    # -- decisions

    def _choose(self, values: Arguments) -> tuple[Callable[..., Any], Timed | None]:
        """The function to call for a call that no row fits, and what to tell its time.

        In this order: the original, while a thread compiles; the outlined function or the original,
        where the signature is refused; the variant, where calls are not selected by time; else what
        `CallSelection` says.
        """
        spec = self._specialization(values)
        variant = self._variant(spec, values)
        if variant is None and spec.rejection is None:
            return self._replaying_function(spec, RUN_BACKGROUND), None
        if variant is None:
            return self._refused_target(spec, values), None
        keys = keys_of(spec.types, values)
        if not self._selects():
            self._put(keys, [CacheRow(variant.call, keys, checks_arguments=True)])
            return variant.call, None
        size, selection = size_of_call(values), variant.selection_by_time(varies=self.is_region)
        assert self._installed is not None
        if self._installed.is_used_up(keys, size):
            selection.look_again(size)
        served, is_trial = selection.choice(size)
        if not is_trial:
            self._put_selected(spec, variant, keys)
        target = variant.call
        if served == "python":
            spec.replays[PYTHON_FASTER] += 1
            target = self._function
        elif served == "kernel":
            target = variant.timing_call()
        if not is_trial:
            return target, None
        add_time: Callable[..., None] = self._faults.guarded(self._add_time, None)
        return target, functools.partial(add_time, spec, variant, keys, size, served)

    def _add_time(
        self, spec: Specialization, variant: Variant, keys: Keys, size: int, served: Trial,
        nanoseconds: int,
    ) -> None:
        """Add the time of a call; where that decides, the next calls go to the faster one."""
        nanoseconds = variant.kernel_time if served == "kernel" else nanoseconds
        if variant.selection_by_time(varies=self.is_region).add_time(size, served, nanoseconds):
            self._put_selected(spec, variant, keys)

    def _put_selected(self, spec: Specialization, variant: Variant, keys: Keys) -> None:
        """Put a row for each decision of the variant's selection."""
        rows = []
        for r in variant.selection_by_time(varies=self.is_region).ranges():
            if r.served == "python":
                spec.count_forwarded(PYTHON_FASTER)
                spec.python_calls[1] = r.allowance
                rows.append(CacheRow(self._function, keys, r.low, r.high, spec.python_calls))
            else:
                counters = np.array([0, r.allowance], np.int64)
                rows.append(
                    CacheRow(variant.call, keys, r.low, r.high, counters, checks_arguments=True)
                )
        self._put(keys, rows)

    def _put(self, keys: Keys | None, rows: list[CacheRow]) -> None:
        """Put rows into the installed call, unless each call has to be verified."""
        if not self.options.verify and self._installed is not None:
            self._installed.put(keys, rows)

    def _selects(self) -> bool:
        """Whether Python may serve calls that compiled code could serve."""
        return self._may_skip() and selects_by_time()

    def _refused_target(self, spec: Specialization, values: Arguments) -> Callable[..., Any]:
        """What serves a call of a refused signature: the outlined function if there is one, else
        the original. From the second such call on the installed call knows it.
        """
        assert spec.rejection is not None
        code = spec.rejection.code
        outlined = spec.outlined = self._without_slow_regions(spec)
        is_compiled = outlined is not None and not outlined.loops
        target: Callable[..., Any] = self._function
        if not is_compiled:
            target = self._replaying_function(spec, code)
        if outlined is not None:
            target = outlined.function
        elif (direct := self._with_direct_self_calls()) is not None:
            target = direct
        if self._may_skip() and not spec.variants:  # else a name may be bound again as before
            for_all = code in SIGNATURE_INDEPENDENT
            keys = None if for_all else keys_of(spec.types, values)
            self._send_to_python(spec, keys, target, None if is_compiled else code)
        return target

    def _with_direct_self_calls(self) -> FunctionType | None:
        """The original, calling itself without the dispatcher; None if it does not call itself, or
        if calls of it may be compiled.
        """
        specs = [*self._specializations.values()]
        if any(s.rejection is None or s.outlined for s in specs):
            return None
        builtins = all(_is_python_number_or_str(t) for s in specs for t in s.types)
        if builtins not in self._direct:
            from .self_calls import with_direct_self_calls

            self._direct[builtins] = with_direct_self_calls(
                self._function, self, takes_builtins=builtins
            )
        return self._direct[builtins]

    def _send_to_python(
        self, spec: Specialization, keys: Keys | None, target: Callable[..., Any],
        code: str | None,
    ) -> None:
        """Send the next calls with these keys (None: all that no other row is for) to `target`, the
        original or the outlined function: twice as many each time. They count as replays by `code`,
        if there is one.
        """
        spec.count_forwarded(code)
        spec.python_calls[1] = spec.allowance
        spec.allowance = next_allowance(spec.allowance)
        self._put(keys, [CacheRow(target, keys, counters=spec.python_calls)])

    def _may_skip(self) -> bool:
        """Whether calls may be passed on to Python without a look at them."""
        may_replay = not fallback_is_error() and self.options.on_reject != "raise"
        return may_replay and not self.options.verify

    def _on_miss(
        self, spec: Specialization, failed: Variant, code: str, values: Arguments
    ) -> Callable[..., Any]:
        """The function to call for a call that the variant `failed` of `spec` could not serve.

        `code` says why: "" means that the call has another signature. In this order:

        - a failed guard of this specialization: after a float condition a variant that records may
          serve (`_after_float_condition`), else Python replays the call;
        - the globals that `failed` uses were rebound: Python replays, and the next call compiles
          again;
        - what `_choose` gives for the signature that the call has.
        """
        # GUARD_SHAPE: the signature says which axes have length 1
        actual = self._specialization(values) if code in ("", "GUARD_SHAPE") else spec
        if code and actual is spec:
            if code in ("GUARD_FLOAT_STATUS", "GUARD_ERRSTATE"):
                return self._after_float_condition(spec, failed, code, values)
            return self._failed_guard(spec, code, values)
        variant = actual.variant(values)
        if variant is failed:
            return self._failed_guard(actual, failed.mismatch(values), values)
        is_rebound = variant is None and not failed.applies(values)
        if is_rebound and (actual is spec or not _needs_argument_check(spec.types)):
            self._start()  # the next call compiles again
            return self._replaying_function(spec, "GUARD_REBOUND")
        return self._choose(values)[0]

    def _failed_guard(
        self, spec: Specialization, code: str, values: Arguments
    ) -> Callable[..., Any]:
        """The original, for a call whose guard failed. After many of them, without a compiled call
        in between, the next ones go to the original without a look at them (`Backoff`).
        """
        original = self._replaying_function(spec, code)
        compiled = sum(s.compiled for s in self._specializations.values())
        if not (self.is_region or selects_by_time()) or not self._may_skip():
            return original
        if calls := self._backoff.calls_to_skip(compiled):
            spec.allowance = calls
            self._send_to_python(spec, keys_of(spec.types, values), original, code)
        return original

    def _replaying_function(self, spec: Specialization, code: str) -> FunctionType:
        """The original function, and count the replay; raises FuseError if running as Python is
        forbidden.
        """
        is_refused = spec.rejection is not None
        if fallback_is_error() or (is_refused and self.options.on_reject == "raise"):
            code = spec.rejection.code if spec.rejection else code
            message = fallback_message(self._function, spec.types, code, spec.rejection)
            raise FuseError(message, code) from spec.error
        spec.replays[code] += 1
        return self._function

    def _after_float_condition(
        self, spec: Specialization, failed: Variant, code: str, values: Arguments
    ) -> Callable[..., Any]:
        """The function to call where it is unknown which operation raised a float flag: the replay
        code is ``GUARD_FLOAT_STATUS``, or ``GUARD_ERRSTATE``, though the value may not be used.

        The first time the original, which shows its warnings; after that a variant that records
        which operation raised, if that helps.
        """
        from .float_errors import recording_helps

        has_replayed = spec.replays[code] > 0
        variant = None
        may_compile = has_replayed and not self._background.is_compiling()
        may_raise = code == "GUARD_ERRSTATE"
        if may_compile and recording_helps(failed.interface, self._function, may_raise=may_raise):
            variant = self._recording_variant(spec, failed)
        if variant is None:
            return self._failed_guard(spec, code, values)
        return variant.call

    def _recording_variant(self, spec: Specialization, failed: Variant) -> Variant | None:
        """A variant that records which operation raised; None if there is none."""
        with self._lock.held:
            if not failed.recording_tried:
                from .. import knobs

                failed.recording_tried = True
                try:
                    failed.recording_variant = self._build_variant(spec, knobs.read(), None)
                except Exception as error:  # whatever went wrong, the original still runs
                    _log.info("nothing tells what raised in %s: %s", self._function, error)
            return failed.recording_variant

    def _specialization(self, values: Arguments) -> Specialization:
        """The specialization for the signature of these arguments, which is created if needed. Past
        `MAX_SIGNATURES` all further ones share one that is refused.
        """
        known = self._specializations
        types = self._signatures.among(values, known)
        spec = known.get(types)
        if spec is None:
            if len(known) >= MAX_SIGNATURES:
                return self._rest(types)
            spec = known.setdefault(types, Specialization(types))
        if _has_function_argument(types):
            spec.types = types  # of the functions themselves that were given last
        return spec

    def _rest(self, types: tuple[ArgType, ...]) -> Specialization:
        """The specialization of all signatures past `MAX_SIGNATURES`, with the types of the last
        one.
        """
        if self._shared is None:
            from ..diagnostics import Rejection

            count = f"the function has been called with {MAX_SIGNATURES} signatures"
            rejection = Rejection("RUN_SIGNATURES", f"{count}, the most that are compiled")
            self._shared = Specialization(types, rejection=rejection)
            self._refuse(self._shared, rejection)
        self._shared.types = types
        return self._shared

    def _variant(self, spec: Specialization, values: Arguments) -> Variant | None:
        """The variant for this call, compiled if needed; None where the signature is refused.

        A refused signature is compiled again if a global name that the function reads is bound to
        something else than when it was refused, or a module that it may import is loaded now.
        """
        if (variant := spec.variant(values)) is not None:
            return variant
        if spec.rejection is None:
            return self._compile_or_refuse(spec, values)
        is_remembered = spec.names is not None and spec.retries < _MAX_RETRIES
        if is_remembered and spec.names != names_read(self._function):
            spec.retries += 1
            spec.rejection = spec.error = spec.outlined = None
            return self._compile_or_refuse(spec, values)
        return None

    def _compile_or_refuse(self, spec: Specialization, values: Arguments) -> Variant | None:
        """A new variant; None if there is a rejection, which is remembered and reported, or while
        a thread compiles in the background.
        """
        if self._background.is_compiling():
            return None
        with self._lock.held:  # the imports, too: see `fork_lock`
            self._lock.note_owner()
            from .. import knobs
            from ..options import chosen_target

            settings = knobs.read()
            chosen_target(self.options, settings)  # an unknown target is the user's error
            if spec.rejection or (variant := spec.variant(values)):  # another thread was first
                return None if spec.rejection else variant
            try:
                variant = self._build_variant(spec, settings, values)
            except CompilationPending:
                return None
            except Exception as error:  # whatever went wrong, the original still runs
                if self._faults.may_pass(error):
                    raise
                if settings.check and isinstance(error, AssertionError):
                    raise
                from .compile_call import rejection_of

                rejection = rejection_of(error)
                spec.names = names_read(self._function)
                spec.outlined = self._outlined(spec, rejection)
                rejection = self._explained(spec, rejection)
                spec.rejection, spec.error = rejection, drop_tracebacks(error)
                self._refuse(spec, rejection)
                return None
            self._faults.forget()
            spec.add(variant)
            return variant

    def _build_variant(
        self, spec: Specialization, settings: Knobs, values: Arguments | None
    ) -> Variant:
        """A variant for the current global names, from the disk cache or compiled; raises what
        `compile_variant` raises.

        `values`: the arguments of the call; None for a variant that records what raised. Raises
        CompilationPending where a thread has been started instead.
        """
        start = perf_counter()
        types = dict(zip(parameter_names(self._function.__code__), spec.types, strict=True))
        try:
            variant = None if values is None else self._cached_variant(types, settings, values)
            if variant is None:
                if values is not None and self.options.background and not fallback_is_error():
                    self._background.start(
                        spec.types, lambda: self._compile_or_refuse(spec, values)
                    )
                from .compile_call import compile_variant

                variant = compile_variant(
                    self._function, types, self.options, settings, recording=values is None
                )
            on_miss = self._faults.guarded(functools.partial(self._on_miss, spec), self._function)
            variant.attach(on_miss, spec.calls, spec.native_calls)
        finally:
            spec.seconds += perf_counter() - start
        return variant

    def _outlined(
        self, spec: Specialization, rejection: Rejection,
        known: OutlinedFunction | None = None, dropped: frozenset[str] = frozenset(),
    ) -> OutlinedFunction | None:
        """The outlined function, whose compilable regions are compiled separately; None if there
        are none. ``known``: the outlined function before, without whose regions `dropped` this one
        is.
        """
        from .outlined_regions import outline_function

        types = dict(zip(parameter_names(self._function.__code__), spec.types, strict=True))
        try:
            outlined = outline_function(
                self._function, types, rejection, self.options, self.region_type, known, dropped
            )
        except Exception as error:  # whatever went wrong, the original still runs
            if self._faults.may_pass(error):
                raise
            _log.warning("transpile failed to cut %s", self._function, exc_info=True)
            return None
        for region in outlined.regions if outlined else ():
            region.fused.warned_causes = self.warned_causes
        return outlined

    def _without_slow_regions(self, spec: Specialization) -> OutlinedFunction | None:
        """The outlined function of a refused signature, without regions that Python runs faster."""
        outlined = spec.outlined
        if outlined is None or spec.rejection is None:
            return None
        slow = frozenset(r.helper for r in outlined.regions if r.fused.prefers_python)
        if not slow:
            return outlined
        dropped = slow | outlined.dropped
        spec.dropped += [r for r in outlined.regions if r.helper in slow]
        return self._outlined(spec, spec.rejection, outlined, dropped)

    def _explained(self, spec: Specialization, rejection: Rejection) -> Rejection:
        """`rejection` with its cause, in the terms of the source."""
        from ..report.refusal_causes import explained

        types = dict(zip(parameter_names(self._function.__code__), spec.types, strict=True))
        try:
            return explained(self._function, types, rejection)
        except Exception as error:  # whatever went wrong, there is a reason to tell
            if self._faults.may_pass(error):
                raise
            _log.warning("transpile failed to explain %s", rejection, exc_info=True)
            return rejection

    def _cached_variant(
        self, types: dict[str, ArgType], settings: Knobs, values: Arguments
    ) -> Variant | None:
        """The variant from the disk cache, unless the user wants to see the compilation, or has it
        checked, or settings change the code.
        """
        is_watched = settings.debug or settings.dump or settings.check
        if not self.options.cache or is_watched or settings.shapes_code:
            return None
        from ..options import chosen_target
        from .disk_cache import find_variant

        target = chosen_target(self.options, settings)
        return find_variant(self._function, types, self.options, target.full_name, values)

    def _refuse(self, spec: Specialization, rejection: Rejection) -> None:
        """Warn of the rejection of `spec` if the options say so, once of each cause, unless all of
        it is compiled in regions, or a fallback raises.
        """
        is_partly_compiled = spec.outlined is not None
        is_fully_compiled = spec.outlined is not None and not spec.outlined.loops
        if is_fully_compiled or not self._may_skip():
            return
        cause = rejection.code, rejection.line
        is_known = cause in self.warned_causes
        self.warned_causes.add(cause)
        if self.options.on_reject == "warn" and not is_known and should_warn(rejection.code):
            warn(
                fallback_message(
                    self._function, spec.types, rejection.code, rejection,
                    part=is_partly_compiled, region=self.is_region,
                )
            )

    @property
    def stats(self) -> Stats:
        """Compiled calls, replays by code, time spent compiling."""
        if self._installed is not None:
            self._installed.count_calls()
        specs = [*self._specializations.values(), *([self._shared] if self._shared else [])]
        return total_stats([spec.stats for spec in specs])

    @property
    def prefers_python(self) -> bool:
        """Whether no signature that was called so far is served by machine code: all are refused,
        or Python was measured to be faster.
        """
        specs = [*self._specializations.values()]
        return bool(specs) and all(spec.is_served_by_python for spec in specs)


def _is_python_number_or_str(ty: ArgType) -> bool:
    """Whether arguments of this type are Python's numbers, strs or None: their operators run no
    user code, and warn of nothing.
    """
    if isinstance(ty, Constant):
        return ty.kind in (int, bool, str, type(None))
    return (isinstance(ty, ScalarType) and ty.weak) or ty == Opaque("str")


def _has_function_argument(types: tuple[ArgType, ...]) -> bool:
    """Whether an argument is a function or a module."""
    return any(isinstance(t, Function) for t in types)


def _needs_argument_check(types: Iterable[ArgType]) -> bool:
    """Whether the guard of a variant depends on the argument itself, not only on its type."""
    return any(
        isinstance(t, (Function, GeneratorType))
        or (isinstance(t, ObjectType) and _needs_argument_check(part for _, part in t.parts))
        for t in types
    )
