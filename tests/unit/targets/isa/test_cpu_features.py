"""CPU features: what NumPy has found, which other systems use, agrees with what Linux lists."""
from __future__ import annotations

import sys

import pytest

from targets.isa import cpu_features
from targets.isa.target_registry import TARGETS


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux lists is compared with")
def test_numpy_and_linux_tell_the_same() -> None:
    asked = frozenset[str]().union(*(target.cpu for target in TARGETS.values()))
    known = asked & frozenset[str]().union(*cpu_features._IN_NUMPY.values())
    assert cpu_features._found_by_numpy() & known == cpu_features.features() & known
    if cpu_features.machine() == "x86_64":
        assert {"avx2", "fma", "avx512bw"} <= known
