"""Kernel library: the shared object of a package that was built ahead of time, opened and bound.

It has the kernels for each instruction set, the C sources of calls (`targets.abi`) and of the
thread pool, and a table of their addresses (`fat_library`).
"""
from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record
from loopir.status_bits import FIRST_GUARD_STATUS
from targets.abi import native_entry, parameter_specs, pool_control, sequence_conversion
from targets.abi.c_api import FUNCTIONS, Trampoline, bound_trampoline
from targets.abi.c_api import opened as opened_trampolines
from targets.abi.object_layout import layout_matches
from targets.build.object_file_check import fault_of_object

from ..runtime.cache.recipe_format import NotStorable, add_records, module_names, value_of
from ..runtime.kernel_call import result_functions
from ..runtime.kernel_call.float_errors import QUIET_STATE, VerdictCache, errors_observable
from ..runtime.kernel_call.status_judgement import judge_and_restore
from ..types.numpy_probes import answers
from . import built_calls
from .built_calls import BuiltCall, BuiltWarning, NameChanged, OwnCode, bound_call, bound_warnings

__all__ = [
    "LIBRARY", "ROWS", "KernelLibrary", "connect", "library_name", "opened", "result_module",
    "target_of", "why_unusable",
]

_SUFFIXES = {"win32": "dll", "darwin": "dylib"}
"""Of shared objects, by system; those of all others: so."""


def library_name(system: str) -> str:
    """The name of the shared object on a system, as `sys.platform` names it."""
    return f"kernels.{_SUFFIXES.get(system, 'so')}"


def _is_library(name: str) -> bool:
    """Whether this is the name of the shared object on some system."""
    return name in map(library_name, ("linux", *_SUFFIXES))


LIBRARY = library_name(sys.platform)
"""Its name here; it is beside this file in a package that was built."""

ROWS = "transpile_rows"
"""The table in the shared object: pairs of a name and an address, until one without a name."""

add_records(built_calls, native_entry, parameter_specs, sequence_conversion)


def result_module() -> str:
    """The name of the module whose functions make results."""
    return result_functions.__name__


@record(frozen=True, slots=True)
class KernelLibrary:
    """An opened shared object, with the addresses of what is in it by name."""

    address: Mapping[str, int]
    trampoline: Trampoline
    handle: Any


@cache
def opened() -> KernelLibrary:
    """The shared object, opened, with all but its kernels bound. Raises OSError."""
    path = _path()
    handle = ctypes.CDLL(path)
    address = dict(_rows(handle))
    functions = {name: address[f"tp_{name}"] for name in FUNCTIONS}
    trampoline = bound_trampoline(path, functions)
    if not opened_trampolines:
        opened_trampolines.append(trampoline)
    if not pool_control.opened:
        pool = {name: address[f"tp_pool_{name}"] for name in pool_control.FUNCTIONS}
        pool_control.open_pool(pool)
    return KernelLibrary(address, trampoline, handle)


def _path() -> str:
    """The path of the shared object."""
    return os.path.join(os.path.dirname(__file__), LIBRARY)


def _rows(handle: Any) -> list[tuple[str, int]]:
    """The table `ROWS`."""
    table = (ctypes.c_void_p * (1 << 20)).in_dll(handle, ROWS)
    rows: list[tuple[str, int]] = []
    at = 0
    while table[at]:
        rows.append((ctypes.string_at(table[at] or 0).decode(), table[at + 1] or 0))
        at += 2
    return rows


@cache
def target_of(names: tuple[str, ...]) -> str:
    """The last of the targets `names` that this CPU and this system run, or the one of these that
    ``TRANSPILE_TARGET`` names. They are from the one that all CPUs have to the best.
    """
    bits = ctypes.CFUNCTYPE(ctypes.c_int64)(opened().address["tp_cpu_targets"])()
    runnable = [name for k, name in enumerate(names) if bits >> k & 1]
    chosen = os.environ.get("TRANSPILE_TARGET")
    return chosen if chosen in runnable else runnable[-1]


def why_unusable(modules: Mapping[str, str], results: str) -> str | None:
    """Why the shared object cannot be used here, in words; None if it can. Then objects are found
    by the names that they had when it was built.

    ``modules``: the file in the package of each module, by its name then; ``results``: the name of
    the module whose functions make results.
    """
    if not layout_matches():
        return "objects of this version of Python or NumPy have another layout"
    try:
        found = [*filter(_is_library, os.listdir(os.path.dirname(_path())))]
        if found and not os.path.exists(_path()):
            return f"its kernels, {found[0]}, are those of another system"
        with open(_path(), "rb") as file:
            fault = fault_of_object(file.read())  # the loader may crash
        if fault is None:
            opened()
    except (OSError, ValueError) as error:  # ValueError: it has no table
        fault = str(error)
    if fault:
        return f"its kernels cannot be loaded: {fault}"
    package = __name__.rpartition(".")[0].rpartition(".")[0]  # wherever it is
    for name, place in modules.items():
        module = f"{package}.{place}".replace("/", ".").removesuffix(".py")
        module_names[name] = module.removesuffix(".__init__")
    module_names[results] = result_functions.__name__
    return None


@record(frozen=True, slots=True)
class _Kernel:
    """What `native_entry` and `judge_and_restore` need of a kernel and its interface."""

    address: int
    raised: int
    rows: tuple[Any, ...]
    library: KernelLibrary
    keeps_gil: bool
    params: tuple[Any, ...]
    in_place: tuple[tuple[str, str], ...]
    rewrites: bool
    strict: tuple[str, ...]
    sources: tuple[BuiltWarning, ...]
    native: bool = True
    raised_order: None = None


@record(frozen=True, slots=True)
class _Named:
    """A parameter of a kernel."""

    name: str


def connect(
    entry: Mapping[str, Any], function: FunctionType, otherwise: Callable[..., Any], own: OwnCode
) -> Callable[..., Any] | None:
    """A builtin that serves calls of `function` by a kernel of one signature, and passes those that
    do not fit to `otherwise`. None if NumPy computes in another way than where the kernel was
    compiled, or if a name that the kernel depends on is bound to something else.

    ``entry``: an entry of the file of calls: by target, the name of the kernel and the number of
    its call. ``own``: what is the package's own.
    """
    if answers(entry["numpy"]) != entry["numpy"]:
        return None
    name, data = entry["kernels"][target_of(tuple(entry["kernels"]))]
    try:
        call: BuiltCall = value_of(entry["calls"][data])
        return _connected(call, name, function, otherwise, own, opened())
    except (NameChanged, NotStorable):
        return None


def _connected(
    call: BuiltCall, name: str, function: FunctionType, otherwise: Callable[..., Any],
    own: OwnCode, library: KernelLibrary,
) -> Callable[..., Any] | None:
    """As `connect`, for a call that was decoded. Raises NameChanged."""
    kernel = _Kernel(
        address=library.address[f"{name}_kernel"],
        raised=_with_polls(name, library),
        rows=call.rows,
        library=library,
        keeps_gil=call.keeps_gil,
        params=tuple(map(_Named, call.params)),
        in_place=call.in_place,
        rewrites=call.rewrites,
        strict=call.strict,
        sources=bound_warnings(call, function, own),
    )
    verdicts = VerdictCache()

    def on_status(
        status: int, saved: Any, arguments: tuple[Any, ...], values: tuple[Any, ...]
    ) -> Callable[..., Any] | None:
        """For a status that is not 0: None if the result stands, else the function to call."""
        if status >= FIRST_GUARD_STATUS or status < 0:
            return otherwise
        interface: Any = kernel
        code = judge_and_restore(interface, function, status, arguments, saved, known=verdicts)
        return None if code is None else function

    python = otherwise
    if call.needs_quiet_state:
        python = _retry_in_quiet_state(lambda: builtin, otherwise)
    spec = bound_call(
        call, function, python, on_status, calls=np.zeros(1, np.int64), silent=verdicts.silent,
        own=own,
    )
    entry: Any = kernel
    builtin = native_entry.native_entry(entry, spec)
    return builtin


def _with_polls(name: str, library: KernelLibrary) -> int:
    """Connect the kernel to the function by which it polls for signals, and to the thread pool.
    Returns the address of its ``tp_raised``; 0 if it does not poll.
    """
    address, trampoline = library.address, library.trampoline
    if region := address.get(f"{name}_run_region"):
        pool_control.register_controller()
        pool_control.connect_kernel(region, trampoline.bind_pool, trampoline.bind_context)
    goes_on = address.get(f"{name}_goes_on")
    if not goes_on:
        return 0
    ctypes.c_void_p.from_address(goes_on).value = trampoline.goes_on
    return address[f"{name}_raised"]


def _retry_in_quiet_state(
    builtin: Callable[[], Callable[..., Any] | None], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """What serves calls that the builtin passes on, if the reason may be that the error state is
    not known to be quiet: then the builtin is called again in a state that is.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        number = QUIET_STATE.number
        again = builtin() if not errors_observable() and QUIET_STATE.number != number else None
        return (again or otherwise)(*args, **kwargs)

    return call
