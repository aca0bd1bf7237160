"""Diagnostic codes: the table of all, by family; ``transpile --explain CODE`` prints a row."""
from __future__ import annotations

from .budget_codes import BUDGET
from .build_codes import BUILD
from .fusion_codes import FUSION_MEMORY, FUSION_ORDER
from .guard_codes import GUARD_ARRAYS, GUARD_VALUES
from .lowering_codes import LOWERING
from .reason_code import Code
from .run_codes import RUN
from .vectorization_codes import VECTORIZATION

__all__ = ["CODES", "Code"]

_ROWS = (
    *FUSION_MEMORY, *FUSION_ORDER, *LOWERING, *VECTORIZATION, *GUARD_ARRAYS, *GUARD_VALUES, *BUILD,
    *BUDGET, *RUN,
)

CODES: dict[str, Code] = {row.code: row for row in _ROWS}
"""Every code that may occur in a report, a warning or ``stats``, with its page (`Code`). A new code
is a row in the module of its family; the tests run its two examples.
"""

assert len(CODES) == len(_ROWS), "a code stands twice"
