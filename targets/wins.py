"""Where a hand-written kernel beats what is generated: a row a win, with what was measured.

A row goes when the generated code has caught up; ``python -m tests.bench.kernels`` tells.
"""
from __future__ import annotations

from loopir.record import record

__all__ = ["WINS", "Win"]


@record(frozen=True, slots=True, kw_only=True)
class Win:
    """The kernel ``name`` for ``dtypes`` on ``targets``, where its result has at least ``least``
    elements. Its results have the bits of the generated code.
    """

    name: str
    dtypes: tuple[str, ...]
    targets: tuple[str, ...]
    least: int
    measured: str


WINS: tuple[Win, ...] = (
    Win(
        name="transpose", dtypes=("f32", "f64", "i32", "i64"), targets=("avx512", "avx2"),
        least=256, measured="16 x 16 to 512 x 512: 1.5 to 18 times as fast; 1.1 to 6.5 on avx2",
    ),
)
