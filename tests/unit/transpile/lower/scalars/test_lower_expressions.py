"""Unary operators on values that may have none, and comparisons of Python or NumPy floats."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from for_each import for_each
from written import written

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


def below_a_tiny_constant(x, a, k):
    n = 0
    for i in range(len(x)):
        n += max(x[i], 0.0) < 1e-50
    return n


def between(x, a, k):
    n = 0
    for i in range(len(x)):
        n += 1.0 < max(x[i], 1.0) + 0 * k <= 1.0000000001
    return n


def below_an_argument(x, a, k):
    n = 0
    for i in range(len(x)):
        n += max(x[i], 1.0) < a
    return n


def below_an_int(x, a, k):
    n = 0
    for i in range(len(x)):
        n += max(x[i], 16777216.0) < k
    return n


def above(x, a, k):
    n = 0
    for i in range(len(x)):
        n += min(x[i], 0.0) > -5e-324
    return n


@for_each([below_a_tiny_constant, between, below_an_argument, below_an_int, above])
def test_a_float_of_python_or_numpy_is_compared_in_the_dtype_of_its_type(function: Any) -> None:
    """Beside a NumPy float the other number is rounded to its dtype, beside a Python float not."""
    compiled = fuse(function, target="scalar", on_reject="raise")
    for dtype in (np.float32, np.float64, np.float16):
        for values in ([-1, 0.5], [0, 1, 0, -0.0], [1e8, 1, 2, -1], [np.nan, np.inf, -np.inf]):
            with np.errstate(over="ignore"):
                args = np.array(values, dtype), 1.0000000001, 16777217
            wanted = outcome(function, args)
            assert_same(outcome(compiled, args), wanted, f"{function.__name__} of {args}")
    assert compiled.stats.compiled


def compared_maximum(x, k):
    s = 0
    for v in x:
        s = max(s, v)
    return s, s == 0.1, s < 1e-50, s > k, s == k, s <= 16777217, 0 < s < 0.1


def compared_minimum(x, k):
    s = 16777217
    for v in x:
        s = min(s, v)
    return s, s == 16777216, s < 16777217.5, s >= k, s > 70000


def compared_while_replaced(x, k):
    s, c = 0, 0
    for v in x:
        c += (s < 1e-50) + 2 * (s == k)
        if v > k:
            s = v
    return s, c, s != 0.1


@for_each([compared_maximum, compared_minimum, compared_while_replaced])
def test_an_int_or_a_numpy_float_is_compared_as_what_it_is(function: Any) -> None:
    compiled = fuse(function, on_reject="raise")
    for dtype in (np.float16, np.float32, np.float64, np.int32):
        for values in ([], [0, 0], [0.1, 0.5], [2, 1, 3], [4096]):
            for k in (0, 1, 16777217):
                args = np.array(values).astype(dtype), k
                wanted = outcome(function, args)
                assert_same(outcome(compiled, args), wanted, f"{function.__name__} of {args}")
    assert compiled.stats.compiled > 10


def all_comparisons(xs, ys):
    """Of arrays, of their elements, and of elements with a number."""
    k, out = ys[1], []
    for i in range(len(xs)):
        x, y = xs[i], ys[i]
        out.append((x == y) + 2 * (x != y) + 4 * (x < y) + 8 * (x <= y) + 16 * (x > y)
                   + 32 * (x >= y) + 64 * (y < x) + 128 * (k > x) + 256 * (x > -1))
    return out, xs == ys, xs != ys, xs < ys, xs <= ys, ys > xs, ys >= xs, (xs == k).sum()


def counted(xs, k):
    n = 0
    for v in xs:
        n += (v == k) + 10 * (v < k) + 100 * (v >= k) + 1000 * (k != v) + 10000 * (k < v)
    return n, (xs > k).sum(), np.any(k >= xs)


INT64 = np.iinfo(np.int64)


@pytest.mark.share(2, each="others")
@pytest.mark.parametrize("target", ["scalar", "auto"])
@pytest.mark.parametrize("others", [
    np.array([-1, INT64.min, INT64.max, 0, 5, -5, 2, 1, 7]), np.arange(-4, 5, dtype=np.int8),
    np.arange(9, dtype=np.uint16), np.arange(9) % 2 == 1,
    [-1, -(2**60), 2**60, 0, 5, -5, 2, 1, 7],
], ids=["int64", "int8", "uint16", "bool", "Python's"])
def test_a_uint64_is_compared_by_its_value(
    target: Any, others: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No integer dtype holds both a uint64 and a negative number."""
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    xs = np.array([2**64 - 1, 2**63, 2**63 - 1, 0, 5, 2**64 - 5, 3, 1, 6], np.uint64)
    function = all_comparisons if isinstance(others, np.ndarray) else counted
    compiled = fuse(function, target=target)
    for k in range(len(xs)):
        args = np.roll(xs, k), (np.roll(others, k) if function is all_comparisons else others[k])
        assert_same(outcome(compiled, args), outcome(function, args), f"{k}: {args}")


# -- global ints by which ``%``, ``//``, ``&`` and shifts compute: constants until they change

OF_GLOBALS = """
MOD, BITS, BY = 10**9 + 7, 0xFFFF, 3
def f(xs, n):
    s = t = 1
    for v in xs:
        s = (s * 31 + v) % MOD
        t ^= (s & BITS) << BY
        t >>= BY
        t += s // BY
        t %= MOD
    return s, t
"""


def test_values_of_globals_are_followed(tmp_path: Path) -> None:
    module = written(tmp_path, OF_GLOBALS)
    compiled = fuse(module.f, on_reject="silent")
    xs = list(range(40))
    for mod in (10**9 + 7, 97, -97, 97, 2**61 + 1, 0, 1.5, True, 2**70, 12, 13, 14):
        module.MOD = mod
        for _ in range(3):
            assert_same(outcome(compiled, (xs, 3)), outcome(module.f, (xs, 3)), str(mod))


def test_globals_are_parameters_after_two_changes(tmp_path: Path) -> None:
    module = written(tmp_path, OF_GLOBALS)
    compiled = fuse(module.f, on_reject="raise")
    xs = list(range(40))
    for mod in range(100, 140):
        module.MOD = mod
        assert compiled(xs, 3) == module.f(xs, 3)
    assert compiled.stats.replays == {"GUARD_REBOUND": 3}  # the first calls after a change


def test_a_global_of_a_helper_in_another_module(tmp_path: Path) -> None:
    helper = written(tmp_path, "MOD = 97\ndef step(s, v):\n    return (s * 31 + v) % MOD\n")
    module = written(
        tmp_path, "def f(xs):\n    s = 1\n    for v in xs: s = step(s, v)\n    return s\n"
    )
    module.step = helper.step
    compiled = fuse(module.f, on_reject="raise")
    xs = list(range(40))
    for mod in (97, 98, 99, 100, 101):
        helper.MOD = mod
        assert compiled(xs) == module.f(xs), mod


def test_a_divisor_in_a_closure(tmp_path: Path) -> None:
    module = written(
        tmp_path,
        "def make(mod):\n    def f(x):\n        return [v % mod for v in x]\n    return f\n",
    )
    xs = list(range(40))
    for mod in (3, 5, 7, 11, 13):
        plain = module.make(mod)
        assert fuse(plain, on_reject="raise")(xs) == plain(xs)


def test_sums_below_a_modulus_are_not_checked(tmp_path: Path) -> None:
    module = written(tmp_path, OF_GLOBALS + """
def g(x):
    out = np.zeros(len(x), dtype=np.int64)
    for i in range(1, len(x)):
        out[i] = (out[i - 1] * 2 + x[i]) % MOD
    return out
""")
    module.np = np
    compiled = fuse(module.g, on_reject="raise")
    x = np.arange(50)
    assert np.array_equal(compiled(x), module.g(x))
