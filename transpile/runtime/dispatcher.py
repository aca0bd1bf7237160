"""Call dispatcher: selects what serves a call, compiles it, or runs the original function.

A call takes one of two ways:

- fast: the installed call (`installed_call`) has a row for the types and the size of the arguments,
  and calls what the row names. The dispatcher does not see such a call;
- slow: no row fits (`Dispatcher._select_callee`), or the variant that was called could not serve
  the call (`Dispatcher._on_miss`), whose arguments are unchanged then. The dispatcher returns what
  to call: a variant, the outlined function, or the original.

What it decides becomes a row of the installed call: a variant, or Python, for arguments of these
types and of certain sizes (`call_selection`). Calls that Python serves, after a refusal or a failed
guard, come back to the dispatcher after a number of calls that doubles each time. For example::

    f(x, y)          # slow: no specialization for float64 arrays yet; compiles a variant, calls it
    f(x, y) ...      # slow: trials, whose time is taken (compiled code, then Python)
    f(x, y)          # fast: a row sends calls of these types and this size to the faster one
    f(x32, y32)      # slow: another signature, float32, with its own specialization
    f(x[1:], x[:-1]) # a guard fails in the kernel (they overlap): `_on_miss`, Python replays it
"""
from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from time import perf_counter
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from targets.abi.inline_cache import CacheRow, size_of_call
from targets.abi.vectorcall import Vectorcall, attach_call

from .. import knobs
from ..call_plan import writes_captured
from ..errors import (
    FuseError,
    drop_tracebacks,
    fallback_is_error,
    fallback_message,
    selects_by_time,
    selects_python,
)
from ..options import Options
from ..types.typeof import has_chunked_argument, is_probe
from ..types.value_types import ObjectType, WrappedFunction
from .call_selection import PYTHON_FASTER, Trial, next_allowance
from .guard_backoff import Backoff
from .installed_call import InstalledCall, Keys, keys_of, never_original
from .kernel_call.stub_functions import Arguments, Timed, calls_chosen, choosing_stub, timed_call
from .process.background_compilation import RUN_BACKGROUND, BackgroundCompiler, CompilationPending
from .process.compiler_faults import Faults, retry_bugs
from .process.fork_lock import ForkSafeLock
from .process.garbage_collection import collecting_less_often
from .redefined_functions import DelayedSetup
from .refused.refusal_warnings import RefusalWarnings, names_of_refused_values, shown_types
from .refused.region_records import RegionRole
from .self_calls import DirectSelfCalls, PythonTargets
from .specialization import (
    CALLS_TO_SETTLE,
    MAX_SIGNATURES,
    SIGNATURE_INDEPENDENT,
    SignatureResolver,
    Specialization,
    empty_lists,
    has_function_argument,
    names_read,
    needs_argument_check,
    past_limit,
)

if TYPE_CHECKING:
    from ..diagnostics import Rejection
    from ..frontend.inline.inlining_state import CompileBudget
    from ..types.value_types import ArgType
    from .compiled_variant import Variant
    from .refused.outlined_function import Refusal
    from .refused.region_records import FusedRegion, OutlinedFunction

__all__ = ["Dispatcher"]

_log = logging.getLogger(__name__)


class Dispatcher(Vectorcall, WrappedFunction):
    """The state of one function: its specializations, and the installed call."""

    is_region = False  # whether it is an outlined region, which may be called in a loop
    role = RegionRole()  # of a region: what the function around it has decided
    budget: CompileBudget | None = None  # of a region: that of the function around it
    region_type: ClassVar[type[FusedRegion]]
    _callee_for_chunks: Callable[[Specialization, Arguments], Callable[..., Any]]  # of `Fused`

    def __new__(cls, function: FunctionType, options: Options) -> Any:
        """Each object has its own class, whose ``__call__`` is the installed call: a frame less."""
        namespace = {"__module__": cls.__module__, "__doc__": cls.__doc__}
        return object.__new__(type(cls.__name__, (cls,), namespace))

    def __init__(self, function: FunctionType, options: Options) -> None:
        self._function = function
        self.options = options
        self._specializations: dict[tuple[ArgType, ...], Specialization] = {}
        self._lock = ForkSafeLock()
        self._faults = Faults(function, self._lock, options.on_reject)
        self._begin_dispatching = self._faults.guarded(self._send_all_calls_here, False)
        self._background = BackgroundCompiler()
        self._unverified = 1.0  # calls due to be verified: each adds ``verify``, a verified one -1
        self._backoff = Backoff()
        self._signatures = SignatureResolver(function)
        self._installed: InstalledCall | None = None
        self.original_test = CellType(never_original)  # of a region: see `original_in_place`
        self._direct_self_calls = DirectSelfCalls(function)
        self._shared: Specialization | None = None  # of all signatures past `MAX_SIGNATURES`
        self.warnings = RefusalWarnings(function)
        self._delayed_setup = None if self.is_region else DelayedSetup(function, options)

    @calls_chosen
    def __call__(self) -> Callable[..., Any]:
        """The first call: the original if nothing can be compiled now. Later: see `_install`."""
        return self if self._begin_dispatching() else self._function

    def _install(self, call: Callable[..., Any]) -> None:
        """Make `call` what a call of this object runs."""
        attach_call(self, call)

    def _send_all_calls_here(self) -> bool:
        """Forget all rows: install the stub that takes each call to `_select_callee` (with
        ``verify`` to `_select_verified_callee`). False if ``TRANSPILE_SELECT=python`` forbids it.
        """
        if self._installed is None:
            if selects_python():
                return False
            self._faults.check_functions()
            choose = self._select_verified_callee if self.options.verify else self._select_callee
            guarded_choice = self._faults.guarded(choose, (self._function, None))
            stub = choosing_stub(self._function, guarded_choice)
            test = self.original_test if self.is_region else None
            self._installed = InstalledCall(self._function, stub, self._install, test)
        self._installed.clear()
        return True

    def _select_verified_callee(self, values: Arguments) -> tuple[Callable[..., Any], Timed | None]:
        """As `_select_callee`; for a call that is due (``verify=0.1``: each tenth), a function that
        runs it both ways and compares. Not compared: calls that Python serves, those of refused
        signatures (their regions compare), and of kernels that write captured arrays (no copies).
        """
        self._unverified += self.options.verify
        serving, _ = self._select_callee(values)
        spec = self._specialization(values)
        is_python = serving is self._function or has_chunked_argument(spec.types)
        is_python = is_python or spec.rejection is not None
        variant = None if is_python else spec.variant(values)
        is_left_out = is_python or (variant is not None and writes_captured(variant.interface))
        if self._unverified < 1 or is_left_out:
            return serving, None
        with self._lock.held:  # for the import, as in `_compile_or_refuse`
            self._lock.note_owner()
            from .differential_check import run_and_compare

        self._unverified -= 1
        return lambda *args, **kwargs: run_and_compare(self._function, values, serving), None

    # -- decisions

    def _select_callee(self, values: Arguments) -> tuple[Callable[..., Any], Timed | None]:
        """Decides what serves a call that no row of the installed call fits (its stub ``miss``).
        Returns the function to call, and, if the call is a trial, a function to tell its time.

        1. The function was defined again and again, and to set up a kernel takes longer than its
           calls have taken so far (`redefined_functions`): the original (not in case 4).
        2. `_variant_for_call` gives no variant, as a thread still compiles it: the original.
        3. It gives none, as the signature is refused: the outlined function, whose regions are
           compiled, or the original (`_select_for_refused`).
        4. It is not settled yet, or must be used even if slower (`_selects_by_time`): the variant.
        5. Else the variant or the original, whichever was measured to be faster for calls of this
           size, or is still to be measured (`_faster_callee`).
        """
        spec = self._specialization(values)
        if has_chunked_argument(spec.types):
            return self._callee_for_chunks(spec, values), None
        if not spec.variants and is_probe(values) and not fallback_is_error():
            return self._function, None  # Dask only asks for the type of the result
        delayed = self._delayed_setup if self._selects_by_time() else None
        if delayed and (add_time := delayed.serve_by_python(spec, values, self._put_rows)):
            return self._function, self._faults.guarded(add_time, None)
        variant = self._variant_for_call(spec, values)
        if variant is None:
            if spec.rejection is not None:
                return self._select_for_refused(spec, values)
            return self._replaying_function(spec, RUN_BACKGROUND), None
        if not variant.settle(values):
            return variant.call, None
        if self._selects_by_time():
            return self._faster_callee(spec, variant, values)
        keys = keys_of(spec.types, values)
        self._put_rows(keys, [CacheRow(variant.call, keys, checks_arguments=True)])
        return variant.call, None

    def _faster_callee(
        self, spec: Specialization, variant: Variant, values: Arguments
    ) -> tuple[Callable[..., Any], Timed | None]:
        """As `_select_callee`, for a call that `variant` can serve: the variant or the original,
        whichever `CallSelection` has found faster for calls of this size.

        If it has not decided yet, the call is a trial: its time goes to `_add_time`. A decision
        holds for a number of calls; then it is dropped here, and calls are timed again.
        """
        keys = keys_of(spec.types, values)
        size, exact_size = size_of_call(values, keys), variant.exact_size(values, keys)
        selection = variant.selection_by_time(is_region=self.is_region)
        assert self._installed is not None
        if selection.is_exact(exact_size) and self._installed.is_used_up(keys, size):
            selection.measure_again(size)
        in_series = self._installed.can_time_calls and spec.rows_tell(self._function)
        served, is_trial = selection.choice(size, exact_size, in_series=in_series)
        if not is_trial:
            self._put_rows(keys, spec.rows_by_time(variant, keys, self._function))
        callee = variant.call
        if served == "python":
            spec.replays[PYTHON_FASTER] += 1
            callee = self._function
        elif served == "kernel":
            callee = variant.timing_call()
        if not is_trial:
            return callee, None
        add_time: Callable[..., None] = self._faults.guarded(self._add_time, None)
        return callee, functools.partial(add_time, spec, variant, keys, size, served)

    def _add_time(
        self, spec: Specialization, variant: Variant, keys: Keys, size: int, served: Trial,
        nanoseconds: int, finished: bool,
    ) -> None:
        """Tell the selection of `variant` the time of a trial; ``finished``: it did not raise."""
        if self._delayed_setup and finished:
            self._delayed_setup.note_time(spec, served, size, nanoseconds)
        nanoseconds = variant.kernel_time if served == "kernel" and finished else nanoseconds
        selection = variant.selection_by_time(is_region=self.is_region)
        if selection.add_time(size, served, nanoseconds, finished=finished):
            self._put_rows(keys, spec.rows_by_time(variant, keys, self._function))

    def _put_rows(self, keys: Keys | None, rows: list[CacheRow]) -> None:
        """Put rows into the installed call, unless each call has to be verified."""
        if not self.options.verify and self._installed is not None:
            self._installed.put(keys, rows)

    def _selects_by_time(self) -> bool:
        """Whether Python may serve calls that compiled code could serve, if it is faster."""
        return self._may_bypass() and selects_by_time()

    def _select_for_refused(
        self, spec: Specialization, values: Arguments
    ) -> tuple[Callable[..., Any], Timed | None]:
        """As `_select_callee`, for a signature that is refused. The first that applies; 1 and 2
        only where Python may serve calls since it is faster (`_selects_by_time`):

        1. The original, if regions only fail their guards, and the bits agree (`OutlinedBackoff`).
        2. The faster of both, if the outlined function has Python's bits (`OutlinedSelection`).
        3. The outlined function if there is one, else the original (`_callee_of_refused`).
        """
        spec.outlined, by_time = self._without_slow_regions(spec), self._selects_by_time()
        if by_time and (row := spec.row_without_regions(self._function, values)):
            self._put_rows(row.keys, [row])
            return self._function, None
        may_select = by_time and spec.may_select_original(self.role)
        selection = spec.selection_of_outlined() if may_select else None
        if selection is None or self._installed is None:
            return self._callee_of_refused(spec, values), None
        size = size_of_call(values, keys := keys_of(spec.types, values))
        served, is_trial = selection.choice(size, self._installed.is_used_up(keys, size))
        callee = self._function if served == "original" else selection.outlined.function
        spec.replays.update(filter(None, [selection.codes[served]]))
        if not is_trial:
            self._put_rows(keys, selection.rows(keys, self._function, spec.replays))
            return callee, None

        def add_time(nanoseconds: int, finished: bool) -> None:  # installs what this time decides
            if selection.add_time(size, served, nanoseconds, finished):
                self._put_rows(keys, selection.rows(keys, self._function, spec.replays))

        return spec.observed(callee), self._faults.guarded(add_time, None)

    def _callee_of_refused(self, spec: Specialization, values: Arguments) -> Callable[..., Any]:
        """The function to call for a signature that is refused: the outlined function if there is
        one, else the original. If it is recursive, a copy that calls itself (`self_calls`).

        To decide this costs microseconds. So a row of the installed call sends the next calls to
        the same function: `Specialization.allowance` of them, which is 1, 2, 4, … (from 16 on if no
        region adapts). Then a call is decided again: names may be rebound, a region be slow. No row
        if calls must come here (`_may_bypass`), or an earlier variant may apply.
        """
        assert spec.rejection is not None
        code, outlined, specs = spec.rejection.code, spec.outlined, self._specializations.values()
        is_compiled = outlined is not None and not outlined.loops
        callee = self._function if is_compiled else self._replaying_function(spec, code)
        if outlined is not None:
            copies = PythonTargets(self._direct_self_calls.outlined(self, outlined, specs))
        else:
            if not any(isinstance(t, ObjectType) for t in spec.types):  # rows tell only its class
                spec.allowance = max(spec.allowance, CALLS_TO_SETTLE)
            copies = self._direct_self_calls.copies(self, specs) or PythonTargets(callee)
        serving = spec.observed(copies.callee(spec.types))
        if self._may_bypass() and not spec.variants:
            keys = None if code in SIGNATURE_INDEPENDENT else keys_of(spec.types, values)
            self._send_to_python(spec, keys, copies, None if is_compiled else code)
        return serving

    def _send_to_python(
        self, spec: Specialization, keys: Keys | None, copies: PythonTargets, code: str | None
    ) -> None:
        """Put rows that send the next ``spec.allowance`` calls with these keys (None: all that no
        other row is for) to `copies`, and double the allowance. They count as replays by `code`.
        """
        counters = spec.python_calls.start(code, spec.allowance, spec.replays)
        spec.allowance = next_allowance(spec.allowance)
        self._put_rows(keys, copies.rows(keys, spec.types, counters))

    def _may_bypass(self) -> bool:
        """Whether rows may send calls to Python, which must not raise, past the dispatcher."""
        may_replay = not fallback_is_error() and self.options.on_reject != "raise"
        return may_replay and not self.options.verify

    def _on_miss(
        self, spec: Specialization, failed: Variant, code: str, values: Arguments
    ) -> Callable[..., Any]:
        """The function that runs a call which the variant `failed` of `spec` could not serve; the
        arguments are unchanged. `code`: of the guard or check; "" if an argument did not fit.

            f(x[1:], x[:-1])       # code "GUARD_ALIAS": the original                           (1)
            f(2**70)               # code "", the type is an int: the original                  (2)
            f(np.ones(3, "f4"))    # code "", `failed` is for float64: the variant for float32  (4)

        1. A guard or check failed, and the signature is that of `spec`: the original; or, after a
           floating-point condition, a variant that records what raised (`_after_float_condition`).
        2. `failed` fits the types and global names, so it is a value that does not: the original.
        3. A global name that `failed` depends on was rebound: the original. The next call compiles.
        4. The call has another signature: what `_select_callee` gives for it.
        """
        # GUARD_SHAPE: an axis of length 1 is part of a type. Other guards are about values.
        may_be_other_signature = code in ("", "GUARD_SHAPE")
        actual = self._specialization(values) if may_be_other_signature else spec
        if code and actual is spec:
            if code in ("GUARD_FLOAT_STATUS", "GUARD_ERRSTATE"):
                return self._after_float_condition(spec, failed, code, values)
            return self._python_after_failed_guard(spec, code, values)
        variant = actual.variant(values)
        if variant is failed:
            return self._python_after_failed_guard(actual, failed.mismatch(values), values)
        # For another signature it may depend on arguments, on functions and the classes of objects.
        is_about_names = actual is spec or not needs_argument_check(spec.types)
        if variant is None and is_about_names and not failed.applies(values):
            self._send_all_calls_here()  # the next call compiles again
            return self._replaying_function(spec, "GUARD_REBOUND")
        callee, timed = self._select_callee(values)
        return callee if timed is None else timed_call(callee, timed)

    def _python_after_failed_guard(
        self, spec: Specialization, code: str, values: Arguments
    ) -> Callable[..., Any]:
        """The original, which replays a call whose guard failed.

        When `Backoff` has counted many failures in a row, over all signatures, a row sends the next
        calls of these types to the original: if `_may_bypass`; in compiled mode regions alone.
        """
        original = self._replaying_function(spec, code)
        observed = spec.observed(original, code)
        compiled = sum(s.compiled for s in self._specializations.values())
        if not (self.is_region or selects_by_time()) or not self._may_bypass():
            return observed
        if calls := self._backoff.calls_to_skip(compiled):
            spec.allowance = calls
            self._send_to_python(spec, keys_of(spec.types, values), PythonTargets(original), code)
        return observed

    def _replaying_function(self, spec: Specialization, code: str) -> FunctionType:
        """The original function, which replays the call (deoptimization). `code`, of the guard that
        failed or of the refusal, is the key under which ``stats`` counts the replay.

        Raises FuseError if running as Python is forbidden: by ``TRANSPILE_FALLBACK=error`` always,
        by ``on_reject="raise"`` for a signature that is refused.
        """
        reason = spec.rejection
        if fallback_is_error() or (reason and self.options.on_reject == "raise"):
            code = reason.code if reason else code
            message = fallback_message(self._function, shown_types(spec), code, reason, runs=False)
            raise FuseError(message, code) from (spec.refusal.error if spec.refusal else None)
        spec.replays[code] += 1
        return self._function

    def _after_float_condition(
        self, spec: Specialization, failed: Variant, code: str, values: Arguments
    ) -> Callable[..., Any]:
        """The function to call after a floating-point condition of which the status alone does not
        tell what Python shows: first the original, later a variant that records what raised.
        """
        from .kernel_call.float_errors import recording_helps

        may_compile = spec.replays[code] > 0 and not self._background.is_compiling()
        helps = may_compile and recording_helps(failed.interface, self._function, code)
        if helps and (variant := self._recording_variant(spec, failed)) is not None:
            return variant.call
        return self._python_after_failed_guard(spec, code, values)

    def _recording_variant(self, spec: Specialization, failed: Variant) -> Variant | None:
        """A variant that records which operation raised; None if compiling it has failed."""
        with self._lock.held:
            self._lock.note_owner()
            if not failed.recording_tried:
                try:
                    failed.recording_variant = self._build_variant(spec, knobs.read(), None)
                except Exception as error:
                    if self._faults.should_retry(error):
                        raise
                    _log.info("nothing tells what raised in %s: %s", self._function, error)
                failed.recording_tried = True
            return failed.recording_variant

    def _specialization(self, values: Arguments) -> Specialization:
        """The specialization for the signature of these arguments, perhaps a new one. Past
        `MAX_SIGNATURES` all new signatures share one, which is refused.
        """
        known = self._specializations
        types = self._signatures.signature_of_call(values, known)
        spec = known.get(types)
        if spec is None:
            if len(known) >= MAX_SIGNATURES:
                return self._specialization_past_limit(types)
            spec = known.setdefault(types, Specialization(types, empty_lists(values)))
        if has_function_argument(types):
            spec.types = types  # equal, but with the function objects of this call
        return spec

    def _specialization_past_limit(self, types: tuple[ArgType, ...]) -> Specialization:
        """The refused specialization that all signatures past `MAX_SIGNATURES` share."""
        if self._shared is None:
            rejection = past_limit()
            self._shared = Specialization(types, rejection=rejection)
            self.warnings.warn_of(rejection, self._shared, self.options)
        self._shared.types = types
        return self._shared

    def _variant_for_call(self, spec: Specialization, values: Arguments) -> Variant | None:
        """The variant for this call. None if the signature is refused, or while a thread compiles
        it (then ``spec.rejection`` is None). `_select_callee` asks; the first that applies:

        1. a variant was compiled for what the global names mean now: that one;
        2. they were rebound too often: None, and the signature is refused from now on;
        3. the signature is not refused; or it was, but a global name that it reads was rebound or a
           module loaded since, so that the reason may be gone (`starts_retry`): a new variant.
        """
        if (variant := spec.variant_for_call(values)) is not None:
            return variant
        if spec.rejection is None and (rejection := spec.rebound_too_often()):
            spec.rejection = rejection
            self.warnings.warn_of(rejection, spec, self.options)
            return None
        if spec.rejection is None or spec.starts_retry(self._function):
            return self._compile_or_refuse(spec, values)
        return None

    def _compile_or_refuse(self, spec: Specialization, values: Arguments) -> Variant | None:
        """A new variant of `spec`; None if compiling it is refused, or if a thread compiles in the
        background. One thread at a time compiles a function; another one waits for the lock, and
        then takes what the first has made.

        Any exception of the compiler counts as a refusal (`_refuse`). Raises only faults of the
        process (`Faults`), and failed assertions under ``TRANSPILE_CHECK``.
        """
        self._faults.check_functions()
        if self._background.is_compiling():
            return None
        with self._lock.held:  # also for the imports: a fork in the middle of one would break it
            self._lock.note_owner()
            from ..options import chosen_target

            settings = knobs.read()
            chosen_target(self.options, settings)  # an unknown target is the user's error
            if spec.rejection or (variant := spec.variant(values)):  # by the thread that was first
                return None if spec.rejection else variant
            delayed = self._delayed_setup
            known = delayed.known_refusal(spec, settings) if delayed else None
            try:
                variant = None if known else retry_bugs(self._build_variant, spec, settings, values)
            except CompilationPending:
                return None
            except Exception as error:  # whatever went wrong, the original still runs
                is_failed_check = settings.check and isinstance(error, AssertionError)
                if self._faults.should_retry(error) or is_failed_check:
                    raise
                known = self._refusal(spec, error)
            if known is not None:
                self._refuse(spec, known)
            else:
                assert variant is not None
                self._faults.reset_count()
                spec.add(variant)
            if delayed:
                delayed.note_setup(spec, settings)
            return variant

    def _refusal(self, spec: Specialization, error: Exception) -> Refusal:
        """The refusal of `spec`, for which compiling it has raised `error`, with its cause."""
        from ..report.refusal_causes import with_cause
        from .compile_call import rejection_of
        from .refused.outlined_function import Refusal

        cause = rejection = rejection_of(error)
        try:
            cause = with_cause(self._function, spec.types_by_name(self._function), rejection)
        except Exception as failure:  # whatever went wrong, there is a reason to tell
            if self._faults.should_retry(failure):
                raise
            _log.warning("transpile failed to explain %s", rejection, exc_info=True)
        return Refusal(rejection, cause, drop_tracebacks(error))

    def _refuse(self, spec: Specialization, refusal: Refusal) -> None:
        """Remember in `spec` why it cannot be compiled, what that depends on (`names`), and the
        outlined function. Warn the user, unless all loops are in regions.
        """
        spec.names = names_read(self._function)
        spec.refusal = refusal
        told = self.warnings.cause(refusal.cause)
        spec.outlined = self._outline(spec, refusal, told)
        spec.rejection = refusal.cause if spec.outlined is not None else told
        if spec.outlined is None or spec.outlined.loops:
            self.warnings.warn_of(told, spec, self.options, is_outlined=bool(spec.outlined))

    def _build_variant(
        self, spec: Specialization, settings: knobs.Knobs, values: Arguments | None
    ) -> Variant:
        """A variant for the current global names, from the disk cache or compiled. `values`: the
        arguments of the call; None: compile a recording variant, which is not cached. Raises as
        `compile_variant`, and CompilationPending if a thread was started to compile it.
        """
        given = self._function, spec.types_by_name(self._function), self.options, settings
        start = perf_counter()
        try:
            with collecting_less_often():
                variant = None
                if values is not None:
                    from .cache.disk_cache import find_variant

                    variant = find_variant(*given, values)
                if variant is None:
                    if values is not None and self.options.background and not fallback_is_error():
                        again = functools.partial(self._compile_or_refuse, spec, values)
                        self._background.start(spec.types, again)
                    from ..frontend.inline.inlining_state import CompileBudget
                    from .compile_call import compile_variant

                    spec.budget = self.budget or CompileBudget()
                    how: dict[str, Any] = {"recording": values is None, "rebuilds": spec.rebuilds}
                    variant = compile_variant(*given, budget=spec.budget, **how)
            on_miss = self._faults.guarded(functools.partial(self._on_miss, spec), self._function)
            variant.attach(on_miss, spec.calls, spec.native_calls)
        finally:
            spec.seconds += perf_counter() - start
        return variant

    def _outline(
        self, spec: Specialization, refusal: Refusal, cause: Rejection,
        wanted: OutlinedFunction | None = None,
    ) -> OutlinedFunction | None:
        """The outlined function for a refused signature (`plan_outlining`, `bind_plan`), if any.
        ``cause``: what the user is told; ``wanted``: the outlined function so far.
        """
        from ..frontend.inline.inlining_state import CompileBudget
        from .refused.outlined_function import bind_plan

        spec.budget = spec.budget or self.budget or CompileBudget()
        function, types = self._function, spec.types_by_name(self._function)
        try:
            plan = refusal.plan(function, types, wanted.dropped if wanted else frozenset())
            if plan is None:
                return None
            given = self.options, self.region_type, wanted
            outlined = bind_plan(plan, function, *given, role=self.role)
            values = frozenset(names_of_refused_values(outlined.tree, [cause]))
            for region in outlined.regions:
                region.fused.budget = spec.budget
                region.fused.warnings = self.warnings.of_region(
                    region.fused.warnings.function, cause, values, has_loops=bool(region.loops)
                )
        except Exception as error:  # whatever went wrong, the original still runs
            if self._faults.should_retry(error):
                raise
            _log.warning("transpile failed to cut %s", self._function, exc_info=True)
            return None
        return outlined

    def _without_slow_regions(self, spec: Specialization) -> OutlinedFunction | None:
        """The outlined function, if any, adapted to what the calls of its regions have shown."""
        outlined = spec.outlined
        if outlined is None or spec.rejection is None or spec.refusal is None:
            return None
        may_drop = spec.may_drop_regions(self.role, by_time=self._selects_by_time())
        wanted = outlined.as_measured(may_drop=may_drop)
        if wanted is outlined:
            return outlined
        spec.dropped += [r for r in outlined.regions if r.helper in wanted.dropped]
        return self._outline(spec, spec.refusal, spec.rejection, wanted)
