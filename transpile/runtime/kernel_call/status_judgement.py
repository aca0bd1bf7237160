"""Status judgement: what becomes of a call whose kernel has run, and has not returned 0.

`judge_and_restore` asks `float_errors`, and puts back what the kernel has overwritten before Python
replays the call. `judged_in_c` makes of a judgement what calls in C need for it.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from targets.abi.native_entry import SLOT, SnapshotSpec

from .float_errors import VerdictCache, judge_recorded, judge_status
from .snapshot import CALM_COPY_BYTES, CopyPool, Snapshot, any_same_memory

if TYPE_CHECKING:
    from ...call_plan import KernelInterface

__all__ = ["OnStatus", "judge_and_restore", "judged_in_c"]

OnStatus = Callable[[int, Snapshot, "tuple[Any, ...]", "tuple[Any, ...]"], Any]
"""Judges a status, given the snapshot, the kernel's arguments, and the values of the call: None if
the result is valid, else the function to call instead.
"""


def judge_and_restore(
    interface: KernelInterface, function: FunctionType, status: int, arguments: tuple[Any, ...],
    saved: Snapshot, *, known: VerdictCache,
) -> str | None:
    """Decide from the bits of `status` (`status_bits.STATUS`) which checks failed, and which
    floating-point conditions arose, after the kernel may have written. None if the result stands,
    perhaps with a warning that is emitted here; else the code of the reason why Python replays.

    If Python replays, the arrays in the snapshot `saved` are put back first. It is empty where
    nothing need be put back: a kernel that stops (`Kernel.stops`) leaves what Python writes again,
    and has itself restored an array that was passed twice (`emit_c._undo_code`).
    """
    # Python can run the call again if there are copies to put back, or if the kernel has
    # written nothing that is also its input.
    overwrites_input = interface.rewrites or _passes_written_array_twice(interface, arguments)
    if interface.raised_order is None:
        can_replay = bool(saved) or not overwrites_input
        code = judge_status(interface, function, status, can_replay=can_replay, known=known)
    else:
        names = [p.name for p in interface.params]
        raised_order = arguments[names.index(interface.raised_order)]
        code = judge_recorded(interface, function, status, raised_order, known=known)
    for array, copy in saved if code else ():
        array[...] = copy
    return code


def _passes_written_array_twice(interface: KernelInterface, arguments: tuple[Any, ...]) -> bool:
    """Whether an array that is written was also passed for another parameter, which may be read.
    Then Python cannot replay on what the kernel has written.
    """
    if not interface.in_place:
        return False
    arrays = dict(zip((p.name for p in interface.params), arguments, strict=True))
    return any_same_memory((arrays[a], arrays[b]) for a, b in interface.in_place)


def _max_bytes_calm(max_bytes: int) -> int:
    """`SnapshotSpec.max_bytes_calm`: a bound is lowered; without one the copies are needed."""
    return max_bytes if max_bytes == sys.maxsize else min(max_bytes, CALM_COPY_BYTES)


def judged_in_c(
    sources: Sequence[int], written: Sequence[int], pairs: Sequence[tuple[int, int]],
    max_bytes: int, on_status: OnStatus,
) -> tuple[SnapshotSpec, Callable[..., Any]]:
    """How a call in C copies the arrays that its kernel writes, and what it calls with a status
    that is not 0 (``CallSpec.on_status``).

    ``sources``: for each parameter of the kernel the place of its value, or SLOT; ``written``: the
    parameters that are written; ``pairs``, ``max_bytes``: see `SnapshotSpec`.
    """
    pool = CopyPool()

    def written_arrays(values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arrays that the kernel writes, of the values of a call."""
        return tuple(values[sources[k]] for k in written)

    def on_raw_status(status: int, saved: Any, *values: Any) -> Any:
        """What `on_status` returns, for a status and values as C passes them (`CallSpec`)."""
        copied = pool.pooled_copies(written_arrays(values)) if saved is True else saved or ()
        arguments = tuple(None if k == SLOT else values[k] for k in sources)
        return on_status(status, copied, arguments, values)

    copying = SnapshotSpec(
        writes=written,
        pairs=pairs,
        max_bytes=max_bytes,
        max_bytes_calm=_max_bytes_calm(max_bytes),
        buffer=pool.state,
        saves=lambda *values: pool.copies(written_arrays(values)),
    )
    return copying, on_raw_status
