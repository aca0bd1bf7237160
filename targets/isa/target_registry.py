"""Target registry: the targets by name, and those whose code this machine can run."""
from __future__ import annotations

from functools import cache
from typing import Literal

from .avx2 import AVX2
from .avx512 import AVX512
from .cpu_features import features, machine
from .neon import NEON
from .scalar import SCALAR
from .sse2 import SSE2
from .target import InstrRow, Target, Vec, mask_type

__all__ = [
    "TARGETS", "InstrRow", "Target", "TargetName", "Vec", "mask_type", "runnable_targets",
    "best_target", "features", "machine", "runs_here",
]

TARGETS: dict[str, Target] = {t.name: t for t in (SCALAR, SSE2, AVX2, AVX512, NEON)}
"""The targets by name. Where several targets have vectors of the same width, the best of them comes
first: of those with the widest vectors that the machine runs, `best_target` takes the first.
"""

TargetName = Literal["auto", "scalar", "sse2", "avx2", "avx512", "neon"]
"""What ``target=`` accepts: "auto", and the names of `TARGETS`, in their order."""


@cache
def runnable_targets() -> tuple[Target, ...]:
    """The targets whose code runs on this machine, the widest vectors first: those of its
    architecture, all of whose required features (`Target.cpu`) its CPU has.
    """
    runs = [t for t in TARGETS.values() if t.machine in ("any", machine()) and t.cpu <= features()]
    return tuple(sorted(runs, key=lambda t: -t.bits))


def runs_here(target: Target) -> bool:
    """Whether this machine runs code for `target`, which may have cache sizes of its own
    (`machine_record.fitted`).
    """
    return any(target.full_name == t.full_name for t in runnable_targets())


def best_target() -> Target:
    """The target with the widest vectors of those that this machine runs (`runnable_targets`): on a
    CPU with AVX-512 ``avx512``, on any other machine at least ``scalar``.
    """
    return runnable_targets()[0]
