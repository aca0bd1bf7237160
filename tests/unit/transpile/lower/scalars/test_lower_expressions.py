"""Unary operators on values that may have none: complex numbers, None, text."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import fuse


def invert(z: Any) -> Any:
    return ~z


def invert_product(z: Any) -> Any:
    return ~(z * 1j)


def negate(z: Any) -> Any:
    return -z


def plus(z: Any) -> Any:
    return +z


def negation(z: Any) -> Any:
    return not z


@pytest.mark.parametrize("function", [invert, invert_product, negate, plus, negation])
def test_pythons_answer_or_its_type_error(function: Any) -> None:
    """A value without the operator is refused, which is no error of the compiler's own."""
    compiled = fuse(function, target="scalar", on_reject="silent")
    for z in (1j, np.complex128(1 + 2j), np.complex64(2j), None, "a", 1.5, np.float32(1.5)):
        assert_same(outcome(compiled, (z,)), outcome(function, (z,)), repr(z))
    assert "BUILD_FAILED" not in str(compiled.report())
