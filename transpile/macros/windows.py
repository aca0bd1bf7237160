"""Windows of signal processing: the formulas of ``np.hamming`` and its like."""
from __future__ import annotations

import ast
import math

from .arguments import Arguments
from .context import Context
from .rejoined import Way, checked

__all__ = ["WINDOWS"]


def _window(text: str) -> Way:
    """`text` of the numbers N, which are from 1 - M to M - 1, two apart; one is NumPy's."""

    def say(given: Arguments, cx: Context) -> ast.expr | None:
        m = given["M"]
        if not cx.fact(m).is_int or not isinstance(m, (ast.Name, ast.Constant)):
            return None
        numbers = cx.expr("NP.arange(M) * 2.0 + (1.0 - M)", NP=cx.numpy, M=m)
        parts = {"NP": cx.numpy, "M": m, "N": numbers, "PI": ast.Constant(math.pi)}
        return checked([cx.expr("M <= 1", M=m)], cx.expr(text, **parts), cx)

    return say


WINDOWS: dict[str, tuple[str, Way]] = {
    "bartlett": ("M", _window("NP.where(N <= 0, 1 + N / (M - 1), 1 - N / (M - 1))")),
    "blackman": ("M", _window("0.42 + 0.5 * NP.cos(PI * N / (M - 1)) "
                              "+ 0.08 * NP.cos(2.0 * PI * N / (M - 1))")),
    "hamming": ("M", _window("0.54 + 0.46 * NP.cos(PI * N / (M - 1))")),
    "hanning": ("M", _window("0.5 + 0.5 * NP.cos(PI * N / (M - 1))")),
}
