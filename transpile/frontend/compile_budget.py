"""Compile budget: the work of compiling one function, with all regions that are cut out of it.

A function that is refused as a whole is compiled again in parts, and each part may be refused and
cut in turn. The budget bounds the sum. It counts nodes, not seconds, so that a function becomes the
same code on every machine.
"""
from __future__ import annotations

from loopir.lazy_dataclass import record

__all__ = ["FUNCTION_WORK", "INLINED_NODES", "CompileBudget"]

INLINED_NODES = 8_000
"""AST nodes that all inlined bodies of one function may have together."""

FUNCTION_WORK = 14_000
"""Units of work for a function and its regions. A unit takes some 0.15 ms of CPU time."""

_READING, _EXPANDING, _KERNEL = 1, 2, 3
"""Units for each AST node until calls are inlined; for each of them until macros are expanded; and
for each node of Loop IR that is lowered, and that is left at last."""


@record(slots=True)
class CompileBudget:
    """Work that may still be done for a function and its regions (``left``, in units).

    The first compilation, of the function as a whole, may begin and end in any case: it is bounded
    by budgets of its own (`INLINED_NODES`, `LoweringBudget`, `FUSION_BUDGET`). Those of the regions
    must fit in what it has left.
    """

    left: int = FUNCTION_WORK
    is_begun: bool = False  # whether a compilation has used it

    def inlined_nodes(self, own: int) -> int | None:
        """How many AST nodes may be inlined into a function, or a region, of ``own`` nodes; None if
        there is not enough left to compile it at all.
        """
        if not self.is_begun:
            return INLINED_NODES
        nodes = self.left // (_READING + _EXPANDING) - own
        return min(INLINED_NODES, nodes) if nodes >= 0 else None

    def spend_reading(self, nodes: int) -> None:
        """Counts a function that is read, and into which calls are inlined, to so many nodes."""
        self.is_begun = True
        self.left -= _READING * nodes

    def spend_expanding(self, nodes: int) -> None:
        """Counts a function of so many nodes whose macros are expanded."""
        self.left -= _EXPANDING * nodes

    def spend_kernel(self, nodes: int) -> None:
        """Counts so many nodes of Loop IR, which passes rewrite and the C printer prints."""
        self.left -= _KERNEL * nodes
