"""Specializations: one per call signature, with its variants, its diagnostics and its counts.

For each call that no row of the installed call serves, the dispatcher asks `SignatureResolver` for
the signature, that is, the types of the arguments, and looks up the `Specialization` for it. This
has a variant (compiled code) that is right for what global names mean now; or a rejection, so that
Python serves the calls, perhaps with compiled regions (`outlined`); or neither: then the dispatcher
compiles.
"""
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import field
from inspect import CO_VARKEYWORDS
from types import CellType, FunctionType
from typing import TYPE_CHECKING

import numpy as np

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import suppress_failures
from targets.abi.inline_cache import ArgumentKey, CacheRow, size_of_call

from ..errors import NO_COMPILER
from ..frontend.names_read import global_names, values_read
from ..types.aggregates import string_constants
from ..types.typeof import argument_types, parameter_names
from ..types.value_types import (
    ArgType,
    Constant,
    Function,
    GeneratorType,
    ObjectType,
    ScalarType,
    is_str,
)
from .call_selection import PYTHON_FASTER
from .installed_call import keys_of
from .kernel_call.stub_functions import Arguments, observing_stub
from .refused.outlined_selection import OutlinedBackoff, OutlinedSelection
from .refused.region_records import (
    ForwardedCalls,
    OutlinedFunction,
    OutlinedRegion,
    RegionRole,
    Stats,
    total_stats,
)

if TYPE_CHECKING:
    from ..diagnostics import Rejection
    from ..frontend.inline.inlining_state import CompileBudget
    from ..report.replay_exceptions import ReplayException
    from .compiled_variant import Variant
    from .refused.outlined_function import Refusal

__all__ = [
    "Specialization", "CALLS_TO_SETTLE", "MAX_SIGNATURES", "MAX_STATIC_VALUES", "MAX_VALUES",
    "SIGNATURE_INDEPENDENT", "SignatureResolver", "empty_lists", "names_read",
    "has_function_argument", "needs_argument_check", "past_limit",
]

SIGNATURE_INDEPENDENT = ("SOURCE_UNAVAILABLE", "SOURCE_UNPARSABLE", NO_COMPILER, "RUN_SIGNATURES")
"""Codes of rejections that are the same for every call signature that is not compiled yet."""

MAX_VARIANTS = 8
"""The number of variants of a signature that are kept, the latest ones; and the number that may be
compiled besides the first, however few calls they serve. Each `_CALLS_PER_REBUILD` calls of
compiled code allow one more, up to `_MAX_REBUILDS`; beyond that Python runs the function.
"""

_CALLS_PER_REBUILD = 100
"""After so many calls of compiled code one more variant may be compiled (`MAX_VARIANTS`)."""

_MOST_MISSES = 64
"""After so many calls in a row that no variant fits, they are dropped (`variant_for_call`)."""

_MAX_REBUILDS = 64
"""Limit on the variants of a signature besides the first, however many calls there are."""

CALLS_TO_SETTLE = 16
"""Calls of the outlined function before it is timed: its regions are compiled in the first ones."""

_FEW_FASTER = 8
"""Calls that Python served since it was faster for their size show that compiled code would serve
larger ones (`Specialization.useful_entries`), if there is at least one of them to ``_FEW_FASTER``
calls whose guards failed.
"""

_MAX_RETRIES = 4
"""How often a refused signature is compiled again since global names were rebound."""


_OBSERVED_CODES = frozenset(
    f"GUARD_{kind}" for kind in ("BOUNDS", "DIVISION", "EMPTY", "INT_RANGE", "RAISES", "SHAPE")
)
"""The codes of guards that fail where Python may raise: the int of a NaN does not fit 64 bits."""

_MOST_OBSERVED = 16
"""How many replays after a failed guard are observed, for each code: a stub costs some 100 ns."""


@record(slots=True)
class Specialization:
    """The state of one signature of a function: `Dispatcher._specializations` has one for each.

    A signature that is refused has a `rejection`, which the dispatcher finds at the next call, so
    that it does not compile the same again. The refusal holds as long as the global names and the
    modules that the function reads are the same objects (`names`); see `starts_retry`.
    """

    types: tuple[ArgType, ...]
    empty_at_first: tuple[int, ...] = ()
    """The positions of the arguments that were empty lists in the first call: as there was no item,
    their types say that the items are floats."""
    variants: list[Variant] = field(default_factory=list)
    """The latest last; several if a global name was rebound."""
    rejection: Rejection | None = None
    """Why the signature is refused. None: it is compiled, or was not tried yet. Set by
    `Dispatcher._refuse`, and by `Dispatcher._variant_for_call` if names are rebound too often.
    """
    refusal: Refusal | None = None  # of which `rejection` is told; None: it needed no compilation
    budget: CompileBudget | None = None  # what is left of compiling it and its regions
    names: dict[str, int] | None = None
    """`names_read` when it was refused. None: not refused, or for a reason that is not about
    names."""
    outlined: OutlinedFunction | None = None  # the function with regions, if it is refused
    replays: Counter[str] = field(default_factory=Counter)  # by code
    raised: Counter[ReplayException] = field(default_factory=Counter)
    """What Python raised in the calls that were `observed`, and how often."""
    calls: CellType = field(default_factory=lambda: CellType(0))  # of Python wrappers
    native_calls: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))  # done in C
    dropped: list[OutlinedRegion] = field(default_factory=list)
    """Regions that were dropped: their statements are Python again, since that is faster."""
    retries: int = 0  # how often it was compiled again since names were rebound, while refused
    rebuilds: int = 0  # how many variants there were besides the first
    misses: int = 0  # calls in a row that no variant fitted, once it is not compiled again
    python_calls: ForwardedCalls = field(default_factory=ForwardedCalls)
    """Calls that rows of the inline cache forward to the original, or the outlined function."""
    selection: OutlinedSelection | None = None
    """What selects between the outlined function and the original, if both give the same bits."""
    backoff: OutlinedBackoff = field(default_factory=OutlinedBackoff)
    """Whether calls of a refused signature are to enter no regions, as these fail their guards."""
    allowance: int = 1
    """For how many calls the next row sends them to Python, before the dispatcher decides again. At
    first 1, since regions that are slower than Python show after few calls.
    """
    seconds: float = 0.0  # time spent compiling
    before_setup: int = 0
    """Nanoseconds that Python has taken for calls before the kernel was set up, as the function was
    defined again and again (`redefined_functions`)."""
    observers: dict[str, tuple[int, FunctionType]] = field(default_factory=dict)
    """For each code the number of calls that were `observed`, and the stub."""

    def types_by_name(self, function: FunctionType) -> dict[str, ArgType]:
        """The types of the arguments by the names of the parameters of `function`."""
        return dict(zip(parameter_names(function.__code__), self.types, strict=True))

    def variant(self, values: Arguments) -> Variant | None:
        """The variant whose kernel is right for what the function's global names mean now
        (`Variant.applies`); the latest, if there are several; None if there is none.

        A program that rebinds a name and then binds it back gets the earlier variant again::

            SCALE = 2; f(x); SCALE = 3.0; f(x)      # int, then float: two variants
            SCALE = 5; f(x)                         # the first one: its kernel takes any int
        """
        return next((v for v in reversed(self.variants) if v.applies(values)), None)

    def variant_for_call(self, values: Arguments) -> Variant | None:
        """As `variant`. If names were rebound too often, and `_MOST_MISSES` calls in a row have
        fitted no variant, all are dropped: to look for one costs microseconds; without any, rows of
        the installed call send calls to Python.
        """
        found = self.variant(values)
        self.misses = self.misses + 1 if found is None and self.rejection is not None else 0
        if self.misses >= _MOST_MISSES:
            self.variants.clear()
        return found

    def add(self, variant: Variant) -> None:
        """Add a variant; the oldest of more than `MAX_VARIANTS` is dropped."""
        self.rebuilds += bool(self.variants)
        self.variants[:] = [*self.variants[1 - MAX_VARIANTS :], variant]

    def starts_retry(self, function: FunctionType) -> bool:
        """Whether the refused signature is to be compiled again, since a global name that
        `function` reads was bound to something else, or a module that it imports was loaded; then
        it is no longer refused. That may happen `_MAX_RETRIES` times.
        """
        may_retry = self.names is not None and self.retries < _MAX_RETRIES
        if not may_retry or self.names == names_read(function):
            return False
        self.retries += 1
        self.rejection = self.refusal = self.outlined = None
        return True

    def rebound_too_often(self) -> Rejection | None:
        """The rejection for a signature that was compiled again and again, since global names were
        rebound; None if it may be compiled once more.

        A name counts if the kernel depends on the object itself: a function that was inlined, or a
        constant. A number or array that the kernel only reads does not, as its value is passed at
        each call (`call_plan.Captured`).

        A compilation takes as long as thousands of calls, and must have been worth it. So besides
        the first variant there may be `MAX_VARIANTS`, and one more for each `_CALLS_PER_REBUILD`
        calls of compiled code so far; but never more than `_MAX_REBUILDS` besides the first.
        """
        limit = min(MAX_VARIANTS + self.compiled // _CALLS_PER_REBUILD, _MAX_REBUILDS)
        if self.rebuilds < limit:
            return None
        from ..diagnostics import Rejection

        names = " and ".join(f"`{n}`" for n in self.variants[-1].rebound_names())
        what = f"{names} has" if names else "what the function reads from outside has"
        count = f"{what} been bound to something else {self.rebuilds + 1} times"
        return Rejection("RUN_REBOUND", f"{count}: it is not compiled again")

    def observed(self, function: FunctionType, failed: str | None = None) -> FunctionType:
        """What the dispatcher is to call in place of `function`, which Python runs now: a stub that
        calls it and notes in ``raised`` what it raises, for the report; or `function` itself, when
        enough calls have been observed, as a stub costs time. ``failed``: the code of the guard
        that has failed; None: the signature is refused.

        Observed are the first `_MOST_OBSERVED` calls after a guard that fails where Python may
        raise (`_OBSERVED_CODES`), and the first call of a refused signature. A call that raises
        after a failed guard is then counted by the code of what was raised: the guard for a bound
        may have failed, and Python divided by zero before it came there.
        """
        code = failed or (self.rejection.code if self.rejection else "")
        limit = _MOST_OBSERVED if failed in _OBSERVED_CODES else int(failed is None)
        calls, stub = self.observers.get(code, (0, None))
        if calls == limit:
            return function

        def note(error: Exception) -> None:
            """Note the exception that `function` has raised."""
            with suppress_failures(Exception):  # whatever went wrong, the caller gets its exception
                from ..report.replay_exceptions import replay_exception

                raised = replay_exception(function, code, error)
                raised = next(filter(raised.is_like, self.raised), raised)
                self.raised[raised] += 1
                if failed is not None:
                    self.replays[raised.code] += 1
                    self.replays -= Counter([code])

        stub = stub or observing_stub(function, note)
        self.observers[code] = calls + 1, stub
        return stub

    @property
    def compiled(self) -> int:
        """How many calls machine code has answered."""
        return int(self.calls.cell_contents + self.native_calls[0])

    @property
    def is_compiled(self) -> bool:
        """Whether there is compiled code for it, and it is not refused."""
        return self.rejection is None and bool(self.variants)

    @property
    def is_served_by_python(self) -> bool:
        """Whether it is refused and has no regions, or Python was faster for all sizes so far."""
        if self.rejection is not None:
            is_python = self.selection is not None and self.selection.prefers_python
            return self.outlined is None or is_python
        selection = self.variants[-1].selection if self.variants else None
        return selection is not None and selection.prefers_python

    def rows_by_time(
        self, variant: Variant, keys: tuple[ArgumentKey, ...], python: FunctionType
    ) -> list[CacheRow]:
        """Rows of the inline cache for calls with these `keys`: for each series that C is to time,
        and each range of sizes that the selection of `variant` has decided: to it or to `python`.
        """
        is_exact = variant.interface.exact_up_to is None
        may_be_python = is_exact or not self._reads_further_keywords(python)
        rows = []
        selection = variant.selection
        series = {s.range: s for s in selection.running_series()} if selection else {}
        for r in (*series, *(selection.ranges() if selection else ())):
            callee: Callable[..., object] = variant.call
            counters = np.array([0, r.allowance], np.int64)
            is_python = r.served == "python" and may_be_python
            timed = series.get(r)
            if is_python:
                callee = python
            if timed is not None:
                counters = timed.counters
            elif is_python:
                counters = self.python_calls.start(PYTHON_FASTER, r.allowance, self.replays)
            rows.append(CacheRow(
                callee, keys, r.low, r.high, counters, variant.interface.exact_arguments or (),
                r.exact_low, r.exact_high, checks_arguments=not is_python,
                is_for_these_sizes=is_python and not is_exact,
                shortest=None if timed is None else timed.shortest,
            ))
        return rows

    def rows_tell(self, function: FunctionType) -> bool:
        """Whether the keys and sizes of a row tell all on which the choice between compiled code
        and `function`, the original, depends: not if it reads items of its ``**options``.
        """
        return not self._reads_further_keywords(function)

    def may_select_original(self, role: RegionRole) -> bool:
        """Whether `OutlinedSelection` may decide between the outlined function and the original:
        both give the same bits, and this function, whose ``role`` is given, is no region of one
        that makes this decision for all its regions together.
        """
        if self.outlined is None or self.variants or role.is_selected_with_caller:
            return False
        return self.outlined.has_python_bits

    def may_drop_regions(self, role: RegionRole, *, by_time: bool) -> bool:
        """Whether regions that are slower than Python may become Python for good. ``by_time``:
        whether Python may serve calls that compiled code could serve, if it is faster.

        Slow regions are kept where calls are selected by size between the outlined function and the
        original, since later calls may have longer loops: by `OutlinedSelection`, unless it
        `never_tries_original`, or by that of the caller (`is_selected_with_caller`).
        """
        if by_time and self.may_select_original(role):
            return self.selection is not None and self.selection.never_tries_original
        return not role.is_selected_with_caller

    def selection_of_outlined(self) -> OutlinedSelection | None:
        """What selects between the outlined function and the original; a new one after regions were
        dropped. None while the outlined function has served few calls (`CALLS_TO_SETTLE`), or
        tries the kernels of its regions again, and once too many trials have told no time.
        """
        found = self.selection
        if self.backoff.is_trying:
            return None
        if found is not None and found.outlined is self.outlined:
            return None if found.has_given_up else found
        self.replays.update(found.replays() if found else {})
        self.selection = None
        is_settled = self.allowance >= CALLS_TO_SETTLE
        if self.outlined is not None and self.rejection is not None and is_settled:
            self.selection = OutlinedSelection(self.outlined, self.rejection.code)
        return self.selection

    def row_without_regions(self, original: FunctionType, values: Arguments) -> CacheRow | None:
        """A row that sends calls like this one to `original`, since the regions of the outlined
        function only fail their guards (`OutlinedBackoff`), and it gives the same bits; the call
        itself counts as sent. None where regions are to be entered, or there are none.
        """
        if self.outlined is None or self.variants or not self.outlined.may_be_skipped:
            return None
        calls = self.backoff.calls_to_skip(self.outlined)
        if calls or self.backoff.is_trying:
            self.allowance = 1  # of the next row for the outlined function
        if not calls:
            return None
        self.replays[self.backoff.code] += 1
        counters = self.python_calls.start(self.backoff.code, calls - 1, self.replays)
        keys = keys_of(self.types, values)
        high = self.backoff.largest_size(size_of_call(values, keys))
        return CacheRow(original, keys, high=high, counters=counters)

    @property
    def is_backing_off(self) -> bool:
        """Whether calls now have Python's bits, as all so far: they back off after failed guards,
        or the signature is refused, and has no regions, or only such as `may_be_skipped` allows.
        """
        if self.variants:
            is_skipping = (self.python_calls.code or "").startswith("GUARD_")
            return is_skipping and self.compiled == 0 and self.python_calls.counters[1] > 0
        return self.rejection is not None and (
            self.outlined is None or self.outlined.may_be_skipped)

    @property
    def useful_entries(self) -> int:
        """How many calls show that compiled code is of use: those that it served, and those that
        Python served as it was faster for their size (compiled code may serve larger ones), unless
        nearly all others failed their guards. Of an outlined function those of its regions.
        """
        if self.outlined is not None:
            return sum(region.fused.useful_entries for region in self.outlined.regions)
        stats = self.stats
        failures = sum(n for code, n in stats.replays.items() if code.startswith("GUARD_"))
        faster = stats.replays.get(PYTHON_FASTER, 0)
        return stats.compiled + (faster if faster * _FEW_FASTER >= failures else 0)

    def try_kernels_again(self) -> None:
        """End the back-off, so that the next call tries a kernel whose guards have failed: that of
        the signature, or those of its regions.
        """
        if (self.python_calls.code or "").startswith("GUARD_"):
            self.python_calls.counters[1] = 0
        for region in self.outlined.regions if self.outlined else ():
            region.fused.try_kernels_again()

    def _reads_further_keywords(self, function: FunctionType) -> bool:
        """Whether `function` reads items of its ``**options``: their types are part of the
        signature, but no row can tell them.
        """
        has_keywords = function.__code__.co_flags & CO_VARKEYWORDS
        return bool(has_keywords) and getattr(self.types[-1], "parts", True) != ()

    @property
    def _python_in_series(self) -> int:
        """How many calls Python has served while they were timed in series."""
        return sum(v.selection.python_in_series for v in self.variants if v.selection is not None)

    @property
    def calls_so_far(self) -> int:
        """How many calls of this signature compiled code or rows of the inline cache have served,
        plus the calls of its regions.
        """
        served = self.compiled + self.python_calls.total
        served += (self.selection.calls if self.selection else 0) + self._python_in_series
        return served + (self.outlined.calls if self.outlined else 0)

    @property
    def has_python_bits(self) -> bool:
        """Whether its compiled code had Python's bits in all calls so far, whatever their sizes."""
        is_exact = all(v.interface.exact_up_to is None for v in self.variants)
        return is_exact and (self.outlined is None or self.outlined.has_python_bits)

    @property
    def stats(self) -> Stats:
        """The calls of this signature, as ``f.stats`` shows them: how many were compiled, and how
        many Python ran, by the code of the reason; with the calls of its regions.

        There are several counters, since each call is counted where it is served: compiled ones by
        the wrapper (`calls`) and in C (`native_calls`); those that Python ran in `replays`. Those
        that the inline cache forwards to Python, without asking here, are counted in C, in
        `python_calls` and `selection`. When the dispatcher decides again, they are added to
        `replays` (`ForwardedCalls.start`); those since then are added here.
        """
        replays = self.replays.copy()
        replays.update(self.python_calls.replays())
        replays.update(self.selection.replays() if self.selection else {})
        replays.update({PYTHON_FASTER: in_series} if (in_series := self._python_in_series) else {})
        total = Stats(self.compiled, dict(replays), self.seconds)
        regions = [*(self.outlined.regions if self.outlined else ()), *self.dropped]
        return total_stats([total, *(region.fused.stats for region in regions)])


MAX_SIGNATURES = 64
"""Limit on the signatures that the compiler tries for a function; those that it refuses count, too.
Each takes some tenths of a second, and a program that has more of them will have new ones without
end. `Dispatcher` refuses all further ones with one rejection (RUN_SIGNATURES). The calls of those
that were compiled are still served by compiled code.
"""

MAX_VALUES = 3
"""Limit on the values of one argument that a function is compiled for, besides the strs in its own
source: an argument with more values is no selector of code, and is passed as any other.
"""

MAX_STATIC_VALUES = 16
"""As `MAX_VALUES`, of ints that must be known (an axis), of functions, and of the classes of an
argument whose attributes are read: without them nothing compiles.
"""


class SignatureResolver:
    """Computes the signatures of calls of `function`, the keys of its specializations."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._specialized_parameters: frozenset[str] | None = None
        self._string_types: dict[frozenset[str], dict[str, ArgType | None]] = {}

    def exact_signature(self, values: Arguments) -> tuple[ArgType, ...]:
        """The types of these arguments, with constants for parameters that are specialised by
        value: ints and bools whose value the compiler needs, such as an axis
        (`specialized_parameters`), and strs that the function compares (`string_signature`).

        Both sets of parameters are found from the source, so only if an argument is an int, a bool
        or a str, and once. Functions, modules and None are constants as they are (`typeof`).
        """
        code = self._function.__code__
        names, types = parameter_names(code), argument_types(values, self._function)
        if self._specialized_parameters != frozenset() and any(map(_may_be_needed_by_value, types)):
            if self._specialized_parameters is None:
                from ..frontend.specialize.value_specialization import specialized_parameters

                self._specialized_parameters = specialized_parameters(self._function)
            from ..frontend.specialize.value_specialization import value_signature

            types = value_signature(types, names, values, self._specialized_parameters)
        if any(map(is_str, types)):
            from ..frontend.specialize.value_specialization import string_signature

            types = string_signature(types, names, self._function, self._string_types)
        return types

    def signature_of_call(
        self, values: Arguments, signatures: Collection[tuple[ArgType, ...]]
    ) -> tuple[ArgType, ...]:
        """The signature of a call with these arguments: for each the type, or the value if code
        depends on it (`exact_signature`)::

            def f(x, axis): return np.sum(x, axis=axis)
            f(np.ones((3, 4)), 0)   →   (f64[:, :], Constant(0))

        ``signatures``: those of the calls so far. An argument that has had more values than
        `MAX_VALUES` or `MAX_STATIC_VALUES` in them counts by its type, since each value is
        compiled for. `Dispatcher._specialization` calls this whenever no row fits a call.
        """
        types = self.exact_signature(values)
        if types in signatures:
            return types
        return tuple(self._type_if_too_many(t, k, signatures) for k, t in enumerate(types))

    def _type_if_too_many(
        self, ty: ArgType, place: int, signatures: Collection[tuple[ArgType, ...]]
    ) -> ArgType:
        """`ty`; but if `ty` is the value of the argument at `place` (a constant or a function) or
        its class, and the earlier `signatures` have too many values or classes there, the type of
        any such value, as each takes a compilation.

            "a", then "b", "c", "d"    →    Constant("a"), …, Constant("c"), then any str

        The limit is `MAX_VALUES`, or `MAX_STATIC_VALUES` for ints, bools, functions and classes,
        without which nothing compiles. None, and strs that occur in the function's own source, are
        never too many, and do not count among the others.
        """
        if isinstance(ty, ObjectType) and not ty.is_tuple:
            classes = {t.kind for s in signatures if isinstance(t := s[place], ObjectType)}
            is_new = ty.kind not in classes and len(classes) >= MAX_STATIC_VALUES
            return ty.opaque if is_new else ty
        if not isinstance(ty, (Constant, Function)):
            return ty
        in_source = string_constants(self._function.__code__)
        if isinstance(ty, Constant) and (
            ty.value is None or (isinstance(ty.value, str) and ty.value in in_source)
        ):
            return ty
        seen = {s[place] for s in signatures if s[place].__class__ is ty.__class__}
        if isinstance(ty, Constant):
            seen = {
                t for t in seen
                if isinstance(t, Constant) and t.kind is ty.kind
                and not (isinstance(t.value, str) and t.value in in_source)
            }
        is_static = isinstance(ty, Function) or ty.kind in (int, bool)
        limit = MAX_STATIC_VALUES if is_static else MAX_VALUES
        return ty if ty in seen or len(seen) < limit else ty.opaque


def _may_be_needed_by_value(ty: ArgType) -> bool:
    """Whether it is the type of a Python int or bool, whose values the compiler may need."""
    return isinstance(ty, ScalarType) and ty.weak and ty.dtype in ("i64", "bool")


def has_function_argument(types: Iterable[ArgType]) -> bool:
    """Whether an argument of a call with this signature is a function or a module."""
    return any(isinstance(t, Function) for t in types)


def empty_lists(values: Arguments) -> tuple[int, ...]:
    """The places of the arguments that are empty lists."""
    return tuple(k for k, value in enumerate(values) if type(value) is list and not value)


def past_limit() -> Rejection:
    """The rejection of all signatures past `MAX_SIGNATURES`."""
    from ..diagnostics import Rejection

    count = f"the function has been called with {MAX_SIGNATURES} signatures"
    return Rejection("RUN_SIGNATURES", f"{count}, the most that are compiled")


def needs_argument_check(types: Iterable[ArgType]) -> bool:
    """Whether `Variant.applies` depends on the arguments themselves: on functions, on random
    generators, and on objects, whose classes have the methods that were inlined.
    """
    return any(isinstance(t, (Function, GeneratorType, ObjectType)) for t in types)


def _modules_named(names: Collection[str], package: object) -> dict[str, int]:
    """The loaded modules that imports of `names` may find, as ids by ``import`` and their names:
    also in `package` and the packages that it is in, for relative imports.
    """
    paths = [*names]
    while isinstance(package, str) and package:
        paths += (f"{package}.{name}" for name in names)
        package = package.rpartition(".")[0]
    return {f"import {p}": id(sys.modules[p]) for p in paths if p in sys.modules}


def names_read(function: FunctionType) -> dict[str, int]:
    """The ids of the objects that `function` may read from outside, by name: global names, closure
    cells, and the loaded modules that its imports may find. Equal as long as nothing was rebound.
    """
    names = {*global_names(function.__code__)}
    modules = _modules_named(names, function.__globals__.get("__package__"))
    return modules | {name: id(value) for name, value in values_read(function).items()}
