"""Budget of lowering: how many statements may be lowered, counting each time, for one function.

A statement is lowered again in each round of the loops around it, once for each array that a name
in it may be, and whenever lowering starts again. All of these are bounded on their own, but not
their product: a swap of two arrays inside a deep nest is lowered exponentially often. The budget
counts statements, not seconds, so that a function is refused on every machine or on none.
"""
from __future__ import annotations

import ast

from loopir.lazy_dataclass import record

from ...frontend.ast_walk import walk_nodes
from ...frontend.refusal import refuse

__all__ = ["LoweringBudget"]

_STATEMENTS = 1500
_STATEMENTS_EACH = 20
"""The budget is `_STATEMENTS`, and `_STATEMENTS_EACH` more for each statement of the function. To
lower programs of the tests takes up to 9 for each statement; one takes up to half a millisecond.
"""


@record
class LoweringBudget:
    """How many statements of a function may still be lowered (``left``), counting one each time
    that it is lowered: in the rounds of nested loops this may be exponentially often.

        ``def`` and 9 statements     →    LoweringBudget(left=1700): each of the 10 may be lowered
                                          170 times, which takes less than a second

    `lower_statements` spends one for each statement that it lowers. When none is left, the function
    is refused, and Python runs it.
    """

    left: int

    @staticmethod
    def of(tree: ast.FunctionDef) -> LoweringBudget:
        """The budget of `tree`, core Python."""
        count = sum(isinstance(n, ast.stmt) for n in walk_nodes(tree))
        return LoweringBudget(_STATEMENTS + _STATEMENTS_EACH * count)

    def spend(self, stmt: ast.stmt) -> None:
        """Counts `stmt`, which is about to be lowered. Raises Refused where the budget is spent."""
        self.left -= 1
        if self.left < 0:
            message = "compiling the function exceeds its budget: this would have too many versions"
            help = "let inner loops swap no arrays and change no types, or make them functions"
            refuse("BUDGET_EXCEEDED", message, stmt, help=help)
