"""Compiled variant: one kernel of a specialization, valid for what global names are bound to.

`Variant.attach` decides how a call is performed: in C as a whole (`native_call`), or by a generated
Python wrapper (`python_wrapper`). After a kernel has returned a status other than 0, the variant
judges it and puts back what the kernel has overwritten (`Variant._judge_and_restore`).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial, reduce
from time import perf_counter_ns
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record
from loopir.status_bits import FIRST_GUARD_STATUS, GUARD_SHIFT
from targets.abi.inline_cache import ArgumentKey, size_of_call
from targets.abi.load_kernel import LoadedKernel, settled
from targets.abi.trampoline import is_being_built

from ..call_plan import ArgumentMismatch, KernelInterface, ListItems
from ..frontend.bytecode_check import runs_loops
from ..host_nodes import HostAttribute, HostExpr, HostName
from ..result_spec import builds_lists, builds_tables
from ..types.typeof import parameter_names
from .call_selection import MAX_ALLOWANCE, CallSelection
from .kernel_call.argument_mismatch import argument_mismatch
from .kernel_call.float_errors import VerdictCache
from .kernel_call.list_capacity import new_capacity
from .kernel_call.native_call import native_call
from .kernel_call.not_native import NotNative
from .kernel_call.python_wrapper import make_binding_test, make_wrapper
from .kernel_call.snapshot import Snapshot
from .kernel_call.status_judgement import judge_and_restore
from .kernel_call.stub_functions import Arguments

__all__ = ["Variant"]

_ALLOWANCE_OF_UNSIZED = 1 << 10
"""How many calls a decision serves at most where the size of a call does not count all lists."""

_MOST_PROVISIONAL = 1 << 16
"""The size of the largest call that does not wait for the trampoline, without which lists are
converted in Python, and loops run in one thread."""

_NOT_RUN = 1 << 62
"""The time of a kernel that has not run: longer than any."""

Fallback = Callable[["Variant", str, Arguments], Callable[..., Any]]


_BY_ITEM = (
    all, any, dict, enumerate, filter, frozenset, list, map, max, min, reduce, set, sorted, sum,
    tuple, zip,
)
"""Builtins that make an object of each item of an array, which takes a hundred times as long as a
loop over its elements.
"""


@record(slots=True, eq=False)
class Variant:
    """A kernel that can be called in place of a function."""

    function: FunctionType
    interface: KernelInterface
    fast: Callable[..., int]  # the kernel: takes the parameters of `interface`, returns a status
    applies: Callable[[Arguments], bool] = field(init=False)
    """Whether the names that the kernel depends on are bound to the same objects as before."""
    call: Callable[..., Any] = field(init=False)  # replaces `function`; set by `attach`
    kernel_time: int = 0  # nanoseconds of the kernel alone in the last `timing_call`
    _wrap_kernel: Callable[[Callable[..., int]], Callable[..., Any]] = field(init=False)
    """Makes the Python wrapper of a kernel; set by `attach`."""
    _attach_again: Callable[[], None] = field(init=False)  # `attach` with the same arguments
    recording_variant: Variant | None = None  # a variant that records which operations raised
    entry: LoadedKernel | None = None  # if given, `call` is performed in C where possible
    not_native: str | None = None
    """Why `call` is the Python wrapper, which is slower than a call in C; None: it is in C, or was
    not tried (no `entry`).
    """
    selection: CallSelection | None = None  # between it and Python; see `selection_by_time`
    recording_tried: bool = False  # `recording_variant` has been compiled, or that has failed
    verdicts: VerdictCache = field(default_factory=VerdictCache)  # decisions about statuses
    capacity: np.ndarray = field(default_factory=new_capacity)
    """How many items the lists that the kernel makes have room for (`list_capacity`)."""
    failed_guards: Counter[int] = field(default_factory=Counter)
    """How often each guard of the kernel failed, by its number, counted from 0."""
    mismatches: dict[str, ArgumentMismatch] = field(default_factory=dict)
    """What was wrong with the first argument that did not fit, by the code of the guard."""

    def __post_init__(self) -> None:
        self.applies = make_binding_test(self.function, self.interface)

    def rebound_names(self) -> list[str]:
        """The names on which the kernel depends, and which are bound to something else by now, as
        ``WEIGHTS`` or ``Model.rate``.
        """
        cells = zip(
            self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True
        )
        bound = self.function.__globals__ | {name: cell.cell_contents for name, cell in cells}
        names = list[str]()
        for guard in self.interface.identity_guards:
            path = _name_and_attributes(guard.expr)
            if path and path[0] in bound:
                value = reduce(lambda of, a: getattr(of, a, None), path[1:], bound[path[0]])
                names += [".".join(path)] if value is not guard.value else []
        return names

    def selection_by_time(self, *, is_region: bool) -> CallSelection:
        """What selects between the variant and Python, by the times of calls. The first call makes
        it. ``is_region``: see `CallSelection`.
        """
        if self.selection is None:
            lists = [b for b in self.interface.bindings if isinstance(b, ListItems)]
            is_sized = all(b.counting_argument is not None for b in lists)
            self.selection = CallSelection(
                converts_lists=bool(lists) or builds_lists(self.interface.returned),
                is_region=is_region,
                exact_up_to=self.interface.exact_up_to,
                in_part=self.interface.exact_arguments is not None,
                makes_tables=builds_tables(self.interface.returned),
                runs_loops=is_region or self._runs_loops(),
                max_allowance=MAX_ALLOWANCE if is_sized else _ALLOWANCE_OF_UNSIZED,
            )
        return self.selection

    def _runs_loops(self) -> bool:
        """Whether the original runs loops in Python, itself, in a function that is inlined, or by a
        builtin that takes item by item.
        """
        guards = *self.interface.identity_guards, *self.interface.constant_arguments
        values = [self.function.__code__, *(guard.value for guard in guards)]
        if any(v is f for v in values for f in _BY_ITEM):
            return True
        codes = [v.__code__ if isinstance(v, FunctionType) else v for v in values]
        return any(runs_loops(code) for code in codes if isinstance(code, CodeType))

    def exact_size(self, values: Sequence[object], keys: Sequence[ArgumentKey]) -> int:
        """The size of a call with these `values`, which have these `keys`, that `CallSelection`
        compares with ``exact_up_to``: of the arguments alone on which the number of terms of sums
        depends (`exact_sizes.exact_size`).
        """
        part = self.interface.exact_arguments
        if part is None:
            return size_of_call(values, keys)
        return size_of_call([values[k] for k in part], [keys[k] for k in part])

    def attach(
        self, fallback: Fallback, calls: CellType, native_calls: np.ndarray | None = None
    ) -> None:
        """Make ``call``, which takes the arguments of the function, so that the variant can serve
        calls. `Dispatcher._build_variant` calls this once, `settle` again. It is

        1. a builtin that performs the whole call in C (`native_call`, about 100 ns), if the kernel
           was loaded with an entry for it, and C can do all that the call needs;
        2. else the Python wrapper (`make_wrapper`, about 1 µs). ``not_native`` keeps the reason.

        The builtin passes a call whose arguments do not fit to the wrapper.

        ``fallback(variant, code, arguments)`` gives the function for a call that the kernel cannot
        serve (`Dispatcher._on_miss`). ``calls`` counts calls of the wrapper, the element of
        `native_calls` those performed in C; None: only the wrapper is used.
        """

        def wrapped(fast: Callable[..., int]) -> FunctionType:
            """The Python wrapper of the kernel that `fast` calls."""
            return make_wrapper(
                self.function,
                self.interface,
                fast,
                fallback=lambda code, values: fallback(self, code, values),
                judge=self._judge_and_restore,
                calls=calls,
                capacity=self.capacity,
            )

        self._wrap_kernel = wrapped
        python = wrapped(self.fast)
        argument_count = len(parameter_names(self.function.__code__))

        def on_status(
            status: int, saved: Snapshot, arguments: tuple[Any, ...], values: Arguments
        ) -> Callable[..., Any] | None:
            """For `is_result_valid` in whole.c, as `_judge_and_restore`: None if the result stands,
            else the function to call instead. ``values``: the arguments of the call and what was
            derived from them.
            """
            code = self._judge_and_restore(status, arguments, saved)
            if code is not None and self.interface.overflow_slot is not None:
                return python  # which repeats it with more capacity, if that was too small
            return None if code is None else fallback(self, code, values[:argument_count])

        self.call = python
        self._attach_again = partial(self.attach, fallback, calls, native_calls)
        if self.entry is not None and native_calls is not None and not self.entry.is_provisional:
            try:
                self.call = native_call(
                    self.function, self.interface, self.entry, python, on_status, native_calls,
                    self.verdicts.silent, self.capacity,
                )
            except NotNative as refused:
                self.not_native = refused.reason

    def settle(self, values: Arguments) -> bool:
        """Make ``call`` anew if it takes the portable path only until the trampoline is built, and
        that is there by now; a call of large size waits for it. Returns whether ``call`` takes the
        path that calls keep: by times of another one nothing may be decided.
        """
        if self.entry is None or not self.entry.is_provisional:
            return True
        if is_being_built() and size_of_call(values) <= _MOST_PROVISIONAL:
            return False
        self.entry = settled(self.entry)
        self.fast = self.entry.fast
        self._attach_again()
        return True

    def timing_call(self) -> Callable[..., Any]:
        """As ``call``; keeps the time of the kernel alone in ``kernel_time``."""
        self.kernel_time = _NOT_RUN
        return self._wrap_kernel(self._timed_kernel)

    def _timed_kernel(self, *args: Any) -> int:
        """As `fast`; keeps the time in ``kernel_time``."""
        start = perf_counter_ns()
        status = self.fast(*args)
        self.kernel_time = perf_counter_ns() - start
        return status

    def _judge_and_restore(
        self, status: int, arguments: tuple[Any, ...], saved: Snapshot
    ) -> str | None:
        """Decide from a kernel's status, which is not 0, whether Python replays the call. Called by
        the Python wrapper (``_tp_judge``), and by `is_result_valid` of whole.c.

        Returns None if the result stands; "" if the kernel did not accept the arguments, by their
        types or values, such as an int of 65 bits (`mismatch` finds which); else the code of the
        guard that failed. By the status:

        - negative: the arguments do not fit the kernel, which has not run;
        - FIRST_GUARD_STATUS or more: a guard failed. The kernel has written nothing;
        - else bits: which checks failed and which floating-point conditions arose, after the kernel
          may have written (`judge_and_restore`).
        """
        if status < 0:
            return ""
        interface = self.interface
        if status >= FIRST_GUARD_STATUS:
            number = (status >> GUARD_SHIFT) - 1
            self.failed_guards[number] += 1
            return interface.guards[number]
        return judge_and_restore(
            interface, self.function, status, arguments, saved, known=self.verdicts
        )

    def mismatch(self, call_arguments: Sequence[object]) -> str:
        """The guard code for a call that the kernel did not accept although its types are right,
        such as GUARD_INT_RANGE for an int of 65 bits. The entry in C only tells that something did
        not fit; `argument_mismatch` looks for it, and the report shows the text that is kept in
        ``mismatches``. `Dispatcher._on_miss` calls this.

        To test the items of lists takes longer than the call, so it is done only until one mismatch
        has been kept. If nothing is found, the code is that of the first mismatch that was kept; if
        none was, an allocation must have failed: GUARD_RAISES, as Python will raise.
        """
        found = argument_mismatch(
            self.function, self.interface, call_arguments, lists=not self.mismatches
        )
        if found is None:
            return next(iter(self.mismatches), "GUARD_RAISES")
        self.mismatches.setdefault(found.code, found)
        return found.code


def _name_and_attributes(e: HostExpr) -> tuple[str, ...]:
    """The name and the attributes that `e` reads one after the other: ``Model.rate`` → ("Model",
    "rate"). Empty for other expressions.
    """
    match e:
        case HostName(name):
            return (name,)
        case HostAttribute(of, name) if path := _name_and_attributes(of):
            return (*path, name)
    return ()
