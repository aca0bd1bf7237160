"""Status bits: what a kernel returns to say that its result is valid, or why it is not."""
from __future__ import annotations

__all__ = ["CHECK_CAUSES", "FIRST_GUARD_STATUS", "GUARD_SHIFT", "STATUS", "check_status"]

STATUS: dict[str, int] = {"divide": 1, "over": 2, "under": 4, "invalid": 8, "replay": 16}
"""Bits of a kernel's status: the four classes of ``np.errstate``, and ``replay``: the call is run
again in Python.
"""

CHECK_CAUSES: dict[str, int] = {"GUARD_INT_RANGE": 32, "GUARD_BOUNDS": 64, "GUARD_DIVISION": 128}
"""The bit for each kind of check in a kernel. A check that fails sets it in the kernel's status,
beside the bit ``replay`` (`check_status`), so that the report can say why Python ran the call::

    x[i] out of bounds    →    status 16 | 64    →    a replay of the code GUARD_BOUNDS

A check of another kind sets ``replay`` alone: `float_errors`, which reads the bits, then gives the
code GUARD_RAISES.
"""

GUARD_SHIFT = 8
"""A failed guard's status is its number, counted from 1, shifted left by this many bits."""

FIRST_GUARD_STATUS = 1 << GUARD_SHIFT
"""The least status that names a failed guard; the statuses of a kernel that ran are lower.

====================  ==============================================================
status                meaning
====================  ==============================================================
< 0                   the call has another signature than the kernel
0                     the result is valid
bits 1, 2, 4, 8       float flags: divide, over, under, invalid (`STATUS`)
bit 16                a check failed: replay the call in Python (`STATUS`)
bits 32, 64, 128      what that check was about (`CHECK_CAUSES`)
>= 256                the guard of number ``status >> GUARD_SHIFT`` (from 1) failed
====================  ==============================================================
"""


def check_status(code: str, cause: str) -> int:
    """The bits that a failing check of `code` sets, for that `cause` (of `CHECK_CAUSES`, or "")."""
    return STATUS[code] | CHECK_CAUSES.get(cause, 0)
