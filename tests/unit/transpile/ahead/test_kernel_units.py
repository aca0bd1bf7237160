"""A kernel is built for the arithmetic of NumPy that its compilation asked for, and no other."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from targets.isa.target_registry import best_target
from transpile.ahead.built_calls import OwnCode
from transpile.ahead.kernel_units import kernel_unit
from transpile.options import Options
from transpile.types.typeof import type_of
from transpile.types.value_types import WrappedFunction

OWN = OwnCode(lambda path: None, WrappedFunction)


def squared(x: Any) -> Any:
    return x ** 2 + 1.0


def squared_by_float(x: Any) -> Any:
    return x ** 2.0


def multiplied(x: Any) -> Any:
    return x * x


def added(x: Any) -> Any:
    return x + x


REAL, COMPLEX = np.ones(3), np.ones(3, complex)


@pytest.mark.parametrize(
    ("function", "x", "probes"),
    [
        (squared, REAL, set()),
        (squared_by_float, REAL, {"numpy_replaces_float_powers"}),
        (multiplied, REAL, set()),
        (multiplied, COMPLEX, {"numpy_fuses_complex_products"}),
        (added, COMPLEX, set()),
    ],
)
def test_probes_that_were_asked(function: Callable[..., Any], x: Any, probes: set[str]) -> None:
    for _ in range(2):  # also where a function is compiled again
        unit = kernel_unit(function, (type_of(x),), Options(), (best_target(),), OWN)
        assert unit.probes.keys() == probes
