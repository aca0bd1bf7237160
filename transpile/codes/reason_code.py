"""Row type of the table of diagnostic codes: title, why, help, and a bad and a good example.

The message of one rejection is not here: it is given where the code is used (`refusal.refuse`,
`loop_pairs.fusion_rejection`).
"""
from __future__ import annotations

from loopir.lazy_dataclass import record

__all__ = ["Code"]


@record(frozen=True, slots=True, kw_only=True)
class Code:
    """The page of a code.

    ``bad`` and ``good`` are programs that a test runs after ``import numpy as np`` and ``from
    transpile import fuse``: the first triggers the code, the second does not. A first line ``# with
    NAME=value`` sets the environment. ``help`` is shown where a rejection has no help of its own
    (`refusal_causes.with_help`).
    """

    code: str
    title: str  # what is the case, as a phrase
    why: str  # why that is not compiled, or not faster, in whole sentences
    bad: str
    good: str
    help: str
    """What the user can do, in general: one imperative clause. Where more is known, a rejection has
    a help of its own."""
    help_outside_loop: str = ""
    """The help for a place that is in no loop; "": ``help`` is also for such a place."""
