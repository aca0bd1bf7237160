"""Note on the compile budget: what was left out of a large function to bound its compile time."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from targets.build.build_errors import BuildError
from targets.build.build_kernel import user_flags
from targets.build.compile_effort import Effort, effort_for
from targets.isa.target_registry import Target

from ..diagnostics import Rejection
from ..pipeline import Compilation

__all__ = ["is_noticeably_slower", "budget_note"]

_SPLIT = "split the function into several, each with a `@fuse` and a budget of its own"
_FLAGS = "TRANSPILE_CFLAGS=-O2 asks for all optimisations of the C compiler"


def budget_note(stages: Compilation, target: Target) -> Iterator[Rejection]:
    """One rejection (BUDGET_EXCEEDED) that lists what was left out to bound the compile time; none
    if nothing was. The function is compiled nevertheless, but is slower than it could be::

        the function becomes large code: fusion of 12 pairs of loops is not tried, and the C
        compiler optimises less

    ``stages``: those of a compilation up to the C text for `target`, by whose length the flags of
    the C compiler are chosen (`effort_for`). `report_compiled` calls this.
    """
    pairs, effort = stages.fusion.left_out, _effort(stages, target)
    left_out = [
        f"fusion of {pairs} pair{'s' * (pairs > 1)} of loops is not tried" if pairs else "",
        "the C compiler optimises less" if effort.slower > 1 else "",
    ]
    if any(left_out):
        slower = f"{' '.join(effort.flags)}: calls may take {effort.slower} times as long"
        yield Rejection(
            "BUDGET_EXCEEDED",
            f"the function becomes large code: {', and '.join(filter(None, left_out))}",
            note=slower if effort.slower > 1 else None,
            help=f"{_SPLIT}; {_FLAGS}" if effort.slower > 1 else _SPLIT,
        )


def is_noticeably_slower(stages: Compilation, target: Target) -> bool:
    """Whether what was left out may make calls noticeably slower: pairs of loops were not tried for
    fusion, or the flags of the C compiler make calls more than `_NOTICEABLE` times as long. Only
    then a report shows `budget_note` without being asked for details.
    """
    effort = _effort(stages, target)
    return bool(stages.fusion.left_out) or effort.slower > _NOTICEABLE


_NOTICEABLE = 1.1
"""By which factor calls must be slower for the note to be shown without being asked for."""


def _effort(stages: Compilation, target: Target) -> Effort:
    """The flags with which the C compiler builds the kernel, and how much slower calls get."""
    own: tuple[str, ...] = ()
    with suppress(BuildError):  # flags that cannot be split: building reports them
        own = user_flags()
    return effort_for(stages.c(target), own)
