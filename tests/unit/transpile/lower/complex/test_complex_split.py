"""A complex name is two names, its real and its imaginary part."""
from __future__ import annotations

import numpy as np
import pytest
from lowered import PY_COMPLEX, PY_FLOAT, PY_INT, lowered, text

from transpile import fuse
from transpile.diagnostics import Refused


def test_product() -> None:
    assert lowered(
        """
        def f(z):
            return z * z
        """,
        z=PY_COMPLEX,
    ) == text(
        """
        def f(z_real: f64, z_imag: f64, result: mut(f64[()]), result_1: mut(f64[()])):
            result[()] = z_real * z_real - z_imag * z_imag
            result_1[()] = z_real * z_imag + z_imag * z_real
        """
    )


def test_carried_number_is_two_accumulators() -> None:
    assert lowered(
        """
        def f(z, n):
            for i in range(n):
                z = z + z
            return z
        """,
        z=PY_COMPLEX, n=PY_INT,
    ) == text(
        """
        def f(z_real: f64, z_imag: f64, n: i64, result: mut(f64[()]), result_1: mut(f64[()])):
            guard(n <= 140737488355328, "GUARD_INT_RANGE")
            guard(n >= -2305843009213693952, "GUARD_INT_RANGE")
            guard(n <= 2305843009213693952, "GUARD_INT_RANGE")
            for i in loop(0, max(n, 0), z_im=z_imag, z_re=z_real):
                z_re_1 = z_re + z_re
                z_re_2 = z_im + z_im
                z_im = step(z_re_2)
                z_re = step(z_re_1)
            result[()] = z_re
            result_1[()] = z_im
        """
    )


def test_a_message_has_the_name_of_the_source() -> None:
    with pytest.raises(Refused, match="`z % 2` is not compiled"):
        lowered(
            """
            def f(z):
                return z % 2
            """,
            z=PY_COMPLEX,
        )
    with pytest.raises(Refused, match="`z % 2` is not compiled"):
        lowered(
            """
            def f(z):
                z = z * z
                return z % 2
            """,
            z=PY_COMPLEX,
        )


def test_a_function_may_have_any_name() -> None:
    with pytest.raises(Refused, match="`_complex` is not a function that can be compiled"):
        lowered(
            """
            def f(x, y):
                return _complex(x, y)
            """,
            x=PY_FLOAT, y=PY_FLOAT,
        )


_complex = np.hypot


def distance(x: np.ndarray) -> float:
    s = 0.0
    for v in x:
        s = s + abs(_complex(v, 3.0) - 1j)
    return s


def test_a_function_of_the_users_is_called_whatever_its_name() -> None:
    x = np.arange(1.0, 5.0)
    assert fuse(distance, on_reject="raise")(x) == pytest.approx(distance(x), rel=1e-14)
