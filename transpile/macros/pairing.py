"""Functions of each element that give two: ``np.divmod``, ``np.modf``."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from ..types import ELEMENTS
from .arguments import Arguments
from .context import Context
from .counting import Pairs
from .views import held, is_viewable

__all__ = ["PAIRS"]


def _pair(texts: str, *names: str, kinds: str) -> Pairs:
    """Of arguments of these names, A and B in the two `texts`, all of the `kinds`."""

    def way(
        given: Arguments, results: Sequence[str], node: ast.Call, cx: Context
    ) -> list[ast.stmt] | None:
        operands = [e for n in names if (e := given.given.get(n)) is not None]
        facts = [cx.fact(e) for e in operands]
        known = all(f.types and {ELEMENTS[t.dtype].kind for t in f.types} <= set(kinds)
                    for f in facts)
        if len(operands) < len(names) or not known or not all(map(is_viewable, facts)):
            return None
        steady = (ast.Name, ast.Constant)
        parts = {
            hole: e if isinstance(e, steady) else held(e, "a", cx)
            for hole, e in zip("AB", operands, strict=False)
        }
        first, second = (cx.expr(text, NP=cx.numpy, **parts) for text in texts.split("; "))
        text = "FIRST = E; SECOND = F"
        return cx.code(text, FIRST=results[0], E=first, SECOND=results[1], F=second)

    return way


_MODF = "NP.copysign(NP.where(NP.isinf(A), 0.0, A - NP.trunc(A)), A); NP.trunc(A)"
PAIRS: dict[str, tuple[str, Pairs]] = {
    "divmod": ("a b", _pair("NP.floor_divide(A, B); NP.remainder(A, B)", "a", "b", kinds="iuf")),
    "builtins.divmod": ("a b", _pair("A // B; A % B", "a", "b", kinds="iuf")),
    "modf": ("a", _pair(_MODF, "a", kinds="f")),
}
