"""Compile budget: the work of compiling one function, with all regions that are cut out of it.

A function that is refused as a whole is compiled again in parts, and each part may be refused and
cut in turn. The budget bounds the sum. It counts nodes, not seconds, so that a function becomes the
same code on every machine.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from loopir.lazy_dataclass import record

if TYPE_CHECKING:
    import ast

    from loopir.nodes import Kernel

__all__ = ["FUNCTION_WORK", "INLINED_NODES", "CompileBudget"]

INLINED_NODES = 8_000
"""AST nodes that all inlined bodies of one function may have together."""

FUNCTION_WORK = 14_000
"""Units of work for a function and its regions. A unit takes some 0.15 ms of CPU time."""

_SYNTAX, _KERNEL = 3, 3
"""Units for each AST node that is expanded by macros, and for each node of Loop IR that is lowered,
and that is left at last.
"""


@record(slots=True)
class CompileBudget:
    """Work that may still be done for a function and its regions (``left``, in units).

    The first compilation, of the function as a whole, may begin and end in any case: it is bounded
    by budgets of its own (`INLINED_NODES`, `LoweringBudget`, `FUSION_BUDGET`). Regions must fit in
    what it has left. The inliner and the stages of `pipeline` count.
    """

    left: int = FUNCTION_WORK
    is_begun: bool = False  # whether a compilation has used it

    def begin(self, tree: ast.FunctionDef) -> int:
        """Counts `tree`, the function or a region of it, which is about to be compiled. Returns how
        many AST nodes may be inlined into it. Raises Refused (BUDGET_EXCEEDED), without a place,
        where not enough is left to compile it at all.
        """
        from .ast_walk import walk_nodes  # not needed by calls of kernels in the disk cache
        from .refusal import refuse

        own, most = sum(1 for _ in walk_nodes(tree)), INLINED_NODES
        if self.is_begun:
            most = min(most, self.left // _SYNTAX - own)
        if most < 0:
            message = "the parts that compile exceed the function's budget: this one is not tried"
            refuse("BUDGET_EXCEEDED", message, None)
        self.is_begun = True
        self.left -= _SYNTAX * own
        return most

    def spend_inlining(self, nodes: int) -> None:
        """Counts the AST nodes of a body that is inlined."""
        self.left -= _SYNTAX * nodes

    def spend_kernel(self, kernel: Kernel) -> None:
        """Counts the nodes of `kernel`, which passes rewrite and the C printer prints."""
        from loopir.ir_traversal import walk

        self.left -= _KERNEL * sum(1 for _ in walk(kernel))
