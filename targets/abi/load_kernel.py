"""Loads a kernel of a shared object as a callable, by the native or the portable call path.

Both paths return the kernel's status, or -1 where an argument does not match its specification;
then the kernel has not run. A kernel with long loops polls for signals, such as that of Ctrl-C: if
a signal handler has raised, the kernel stops, and the exception is raised here.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from loopir.lazy_dataclass import record

from ..build.build_errors import BuildError
from ..build.shared_library import SharedLibrary, open_library
from .c_api import Trampoline
from .parameter_specs import (
    MAX_PARAMS,
    MAX_RANK,
    MISMATCH,
    HasParams,
    MemoryOrder,
    ParameterSpec,
    parameter_specs,
)
from .signal_checks import connect_natively, connect_portably, raising_call
from .trampoline import (
    build_in_background,
    connect_when_built,
    expected_object,
    is_being_built,
    trampoline,
)

__all__ = [
    "MISMATCH", "LoadedKernel", "build_in_background", "load_kernel", "settled",
]

class _Spec(np.ndarray):
    """The words of a ``spec`` of `entry.c`; ``library`` keeps the kernel loaded."""

    library: SharedLibrary


@record(frozen=True, slots=True)
class LoadedKernel:
    """A loaded kernel."""

    library: SharedLibrary  # loaded as long as anything may call the kernel
    fast: Callable[..., int]
    """``fast(*args)`` takes arrays and scalars in the order of the kernel's parameters and returns
    the status."""
    native: bool  # `fast` is the C builtin of the shared object `trampoline`
    address: int  # of the C function of the kernel
    rows: tuple[ParameterSpec, ...]  # the specifications of its arguments
    raised: int  # address where the exception of a signal handler is stored; 0: no signal checks
    trampoline: str | None = None
    """The file of the trampoline, also of one that is still being built; None if there is none."""
    is_provisional: bool = False
    """Whether calls take the portable path only until the trampoline is built: then the kernel can
    be loaded again."""

    @property
    def path(self) -> str:
        """The path of its shared object."""
        return self.library.path


def load_kernel(
    path: str,
    kernel: HasParams,
    *,
    weak: Collection[str] = (),
    strided: Collection[str] = (),
    orders: Mapping[str, MemoryOrder] | None = None,
    paired: Collection[str] = (),
    keeps_gil: bool = False,
    native: bool = True,
    may_wait: bool = True,
    trampoline_path: str | None = None,
    pool_path: str | None = None,
) -> LoadedKernel:
    """Load the kernel ``tp_kernel`` of the shared object at `path` as a callable, ``fast`` of the
    result: it takes the arguments of ``kernel.params``, checks them, and returns the status.

    The native path is a builtin of the trampoline (``entry.c``), to which the address of the kernel
    and the specification of each parameter are given as words. Without a trampoline, or with
    ``native=False``, it is the portable path: checks in Python, and a call by cffi
    (`PortableCall`).

    - ``weak``: parameters that are Python numbers; other scalars are NumPy's.
    - ``strided``: arrays that have no axis of unit stride; an argument that has one is rejected,
      since another, faster variant takes it.
    - ``orders``: the memory orders of arrays, where the kernel's results have NumPy's layout only
      if they have these.
    - ``paired``: complex arrays, which the kernel sees as floats with a last axis of two parts.
    - ``keeps_gil``: the GIL is held during the call, however large the arrays are.
    - ``may_wait``: if the trampoline is being built, to wait for it is allowed. Else the kernel is
      provisional (`LoadedKernel`): calls take the portable path, and loops run in one thread.
    - ``trampoline_path``, ``pool_path``: the paths of the trampoline and of the thread pool, if
      they were stored with the kernel.

    Raises BuildError where the object cannot be opened, or the kernel has too many parameters or an
    array has too many axes.
    """
    if len(kernel.params) > MAX_PARAMS or any((p.rank or 0) > MAX_RANK for p in kernel.params):
        limits = f"{MAX_PARAMS} parameters, of rank {MAX_RANK} at most"
        raise BuildError(f"a kernel takes at most {limits}")
    rows = parameter_specs(kernel, weak=weak, strided=strided, orders=orders or {}, paired=paired)
    library = open_library(path)
    is_provisional = native and not may_wait and not keeps_gil and is_being_built()
    if not is_provisional:
        opened = trampoline(trampoline_path) if native else None
        return _connected(library, rows, opened, pool_path, keeps_gil=keeps_gil)
    connect_when_built(library)
    address = library.address("tp_kernel")
    call = raising_call(library, _portable_call(library, address, rows))
    return LoadedKernel(
        library, call, False, address, rows, 0, expected_object(), is_provisional=True
    )


def settled(loaded: LoadedKernel) -> LoadedKernel:
    """A provisional kernel on the path that its calls keep; waits for the trampoline."""
    return _connected(loaded.library, loaded.rows, trampoline(None))


def _connected(
    library: SharedLibrary, rows: tuple[ParameterSpec, ...], opened: Trampoline | None,
    pool_path: str | None = None, *, keeps_gil: bool = False,
) -> LoadedKernel:
    """The kernel of an opened `library`: by this trampoline, or else on the portable path."""
    address = library.address("tp_kernel")
    if opened is None:
        portable = _portable_call(library, address, rows, keeps_gil=keeps_gil)
        checked = connect_portably(library, portable)
        return LoadedKernel(library, checked, False, address, rows, 0)
    raised = connect_natively(library, opened, pool_path)
    # the struct `spec` of entry.c; the array is the builtin's `self`, so it lives as long
    words = [address, len(rows), int(keeps_gil), raised, *(f for r in rows for f in r.fields())]
    spec = np.array(words, dtype=np.int64).view(_Spec)
    spec.library = library
    fast = opened.builtin(opened.entry, spec)
    return LoadedKernel(library, fast, True, address, rows, raised, trampoline=opened.path)


def _portable_call(
    library: SharedLibrary, address: int, rows: tuple[ParameterSpec, ...], *,
    keeps_gil: bool = False,
) -> Callable[..., int]:
    """A `PortableCall`, whose module is imported where it is needed."""
    from .portable_call import PortableCall

    return PortableCall(library, address, rows, keeps_gil=keeps_gil)
