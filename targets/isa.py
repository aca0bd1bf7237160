"""The instruction sets by name."""
from __future__ import annotations

from .avx2 import AVX2
from .avx512 import AVX512
from .neon import NEON
from .scalar import SCALAR
from .sse2 import SSE2
from .target import Row, Target, Vec, mask_type

__all__ = ["TARGETS", "Row", "Target", "Vec", "mask_type"]

TARGETS: dict[str, Target] = {t.name: t for t in (SCALAR, SSE2, AVX2, AVX512, NEON)}
