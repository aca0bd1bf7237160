"""A shared object to a Python callable, by the fast road where it is open, else by the safe one.

Both roads answer alike: the kernel's status, or -1 where an argument is not of the kernel's type,
and then nothing was done.
"""
from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from loopir.record import record

from .errors import BuildError
from .parameters import MAX_PARAMS, MAX_RANK, MISMATCH, HasParams, row
from .safecall import SafeCall
from .shared import symbol
from .stopping import stoppable
from .trampoline import prepare, trampoline

__all__ = ["MISMATCH", "Entry", "load", "prepare"]


@record(frozen=True, slots=True)
class Entry:
    """A loaded kernel.

    ``fast(*args)`` takes arrays and scalars in the order of the kernel's parameters and gives the
    status. ``native``: whether it is the builtin, of the shared object ``trampoline``.
    """

    path: str
    fast: Callable[..., int]
    native: bool
    trampoline: str | None = None


def load(
    path: str,
    kernel: HasParams,
    *,
    weak: Collection[str] = (),
    strided: Collection[str] = (),
    paired: Collection[str] = (),
    native: bool = True,
    known: str | None = None,
) -> Entry:
    """The kernel ``tp_kernel`` of the shared object at `path`. Raises BuildError where it cannot be
    opened.

    Scalars named in `weak` are given as Python scalars, others as NumPy's. Arrays named in
    `strided` have no axis of unit stride, and one that has is refused (there is faster code for
    it); those in `paired` are complex, whose parts are the parameter's last axis. ``native=False``
    asks for the safe road. `known`: the trampoline of an earlier Entry.
    """
    if len(kernel.params) > MAX_PARAMS or any((p.rank or 0) > MAX_RANK for p in kernel.params):
        most = f"{MAX_PARAMS} parameters, of rank {MAX_RANK} at most"
        raise BuildError(f"a kernel takes at most {most}")
    rows = [
        row(p, p.name in weak, p.name in strided, p.name in paired) for p in kernel.params
    ]
    address = symbol(path, "tp_kernel")
    found = trampoline(known) if native else None
    if found is None:
        return Entry(path, stoppable(path, SafeCall(address, rows)), native=False)
    wrap, its_path = found
    spec = [address, len(rows), *(field for r in rows for field in r.fields())]
    fast = stoppable(path, wrap(np.array(spec, dtype=np.int64)))
    return Entry(path, fast, native=True, trampoline=its_path)
