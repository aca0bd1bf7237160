"""A shared object to a Python callable, by the fast road where it is open, else by the safe one.

Both roads answer alike: the kernel's status, or -1 where an argument is not of the kernel's type,
and then nothing was done.
"""
from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from loopir.record import record

from .errors import BuildError
from .parameters import MAX_PARAMS, MAX_RANK, MISMATCH, HasParams, Row, row
from .safecall import SafeCall
from .shared import symbol
from .stopping import raised_by, stoppable
from .trampoline import prepare, trampoline

__all__ = ["MISMATCH", "Entry", "load", "prepare"]


@record(frozen=True, slots=True)
class Entry:
    """A loaded kernel.

    ``fast(*args)`` takes arrays and scalars in the order of the kernel's parameters and gives the
    status. ``native``: whether it is the builtin, of the shared object ``trampoline``. ``address``
    is the kernel's own, ``rows`` say what its arguments must be, and at ``raised`` it leaves what
    has stopped it, if that is not 0.
    """

    path: str
    fast: Callable[..., int]
    native: bool
    address: int
    rows: tuple[Row, ...]
    raised: int
    trampoline: str | None = None


def load(
    path: str,
    kernel: HasParams,
    *,
    weak: Collection[str] = (),
    strided: Collection[str] = (),
    paired: Collection[str] = (),
    alone: bool = False,
    native: bool = True,
    known: str | None = None,
) -> Entry:
    """The kernel ``tp_kernel`` of the shared object at `path`. Raises BuildError where it cannot be
    opened.

    Scalars named in `weak` are given as Python scalars, others as NumPy's. Arrays named in
    `strided` have no axis of unit stride, and one that has is refused (there is faster code for
    it); those in `paired` are complex, whose parts are the parameter's last axis. ``alone``: no
    other Python thread runs meanwhile. ``native=False`` asks for the safe road. `known`: the
    trampoline of an earlier Entry.
    """
    if len(kernel.params) > MAX_PARAMS or any((p.rank or 0) > MAX_RANK for p in kernel.params):
        most = f"{MAX_PARAMS} parameters, of rank {MAX_RANK} at most"
        raise BuildError(f"a kernel takes at most {most}")
    rows = tuple(
        row(p, p.name in weak, p.name in strided, p.name in paired) for p in kernel.params
    )
    address, raised = symbol(path, "tp_kernel"), raised_by(path)
    found = trampoline(known) if native else None
    if found is None:
        safe = stoppable(SafeCall(address, rows, alone=alone), raised)
        return Entry(path, safe, False, address, rows, raised)
    spec = [address, len(rows), int(alone), *(field for r in rows for field in r.fields())]
    fast = stoppable(found.builtin(found.entry, np.array(spec, dtype=np.int64)), raised)
    return Entry(path, fast, True, address, rows, raised, trampoline=found.path)
