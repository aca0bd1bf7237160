"""Which results count as the same where compiled calls are compared with Python."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime.differential_check import same_results

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(("a", "b", "are_same"), [
    (1.0, 1.0 + 1e-12, True),
    (1.0, 1.001, False),
    (1, 1.0, False),
    (NAN, NAN, True),
    (1e9 + 1e-9j, 1e9 + 2e-9j, True),  # off by little beside the number's magnitude
    (1e9 + 1j, 1e9 + 9j, False),
    (complex(NAN, 1.0), complex(NAN, 1.0), True),
    (complex(NAN, 1.0), complex(NAN, 2.0), False),
    (complex(INF, 1.0), complex(INF, 1.0 + 1e-12), True),
    (complex(INF, 1.0), complex(-INF, 1.0), False),
    ((1.0, [2j]), (1.0 + 1e-12, [2j + 1e-12]), True),
])
@pytest.mark.share(1)
def test_same_up_to_rounding(a: Any, b: Any, are_same: bool) -> None:
    assert same_results(a, b) is are_same
    if isinstance(a, (float, complex)):
        assert same_results(np.array([a, 0.0]), np.array([b, 0.0])) is (are_same or a == b)


def test_complex_sums_that_are_added_in_another_order_are_the_same() -> None:
    def total(z: np.ndarray) -> complex:
        s = 0j
        for v in z:
            s += v
        return s

    rng = np.random.default_rng(0)
    z = rng.standard_normal(1001) + 1j * rng.standard_normal(1001)
    f = fuse(verify=1.0)(total)
    assert f(z) == pytest.approx(total(z))
    assert (f.stats.compiled, f.stats.replays) == (1, {})
