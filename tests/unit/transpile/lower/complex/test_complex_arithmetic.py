"""Complex numbers: bits on all that is special, the types that names have, and warnings.

What a call gives is Python's answer, by whatever road; where machine code has to, that is said.
"""
# ruff: noqa: B905 (functions as people write them)
from __future__ import annotations

import cmath
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome, same
from written import written

from targets.isa.target_registry import runnable_targets
from transpile import fuse

C64, C128 = np.complex64, np.complex128
TARGETS = [t.name for t in runnable_targets()]


def grid(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Each pair of numbers whose parts are zeros, ends, NaN and some others."""
    info = np.finfo(dtype)
    half = float(info.max) / 2
    ends = [np.inf, -np.inf, np.nan, half, -half, float(info.smallest_subnormal), float(info.tiny)]
    special = [0.0, -0.0, 1.0, -1.0, 0.1, 3.7, *ends]
    z = np.array([complex(a, b) for a in special for b in special]).astype(dtype)
    return np.repeat(z, len(z)), np.tile(z, len(z))


def add(z, w, out):
    for i in range(len(z)):
        out[i] = z[i] + w[i] - z[i].conjugate()


def multiply(z, w, out):
    for i in range(len(z)):
        out[i] = z[i] * w[i]


def divide(z, w, out):
    for i in range(len(z)):
        out[i] = z[i] / w[i]


def with_real(z, w, out):
    for i in range(len(z)):
        out[i] = z[i] * w[i].real if i % 2 else z[i].real / w[i]


def squared(z, w, out):
    for i in range(len(z)):
        out[i] = z[i] ** 2 if i % 3 else z[i] * z[i]  # np.square is not always the same


def powers(z, w, out):
    for i in range(len(z)):
        out[i] = w[i] ** 3 if i % 3 else w[i] ** 4 if i % 2 else w[i] ** 7 - np.power(w[i], 5)


def whole_powers(z, w, out):
    out[:] = np.where(z.real > 0, w**3, w**6)


def as_arrays_are(z, w, out):
    for i in range(len(z)):
        out[i] = np.multiply(z[i], w[i])


def by_python(z, w, out):
    for i in range(len(z)):
        out[i] = complex(z[i].real, z[i].imag) * complex(w[i]) - 0.5


def divided_by_python(z, w, out):
    for i in range(len(z)):
        out[i] = complex(z[i]) / complex(w[i]) if w[i] else -z[i]


def whole_products(z, w, out):
    out[:] = z * w - 2.5 * w


def whole_quotients(z, w, out):
    out[:] = np.conj(z) / w


def of_libm(z, w, out):
    for i in range(len(z)):
        a = np.log(z[i]) if i % 2 else np.log10(w[i])
        b = np.tan(w[i]) if i % 3 else np.tanh(w[i])
        out[i] = a if i % 7 else b


def of_libm_whole(z, w, out):
    out[:] = np.where(z.real > 0, np.sqrt(w), np.where(z.imag > 0, np.sin(w), np.cosh(w)))


def masked_by_libm(z, w, out):
    for i in range(len(z)):
        if w[i].real > 0:
            out[i] = np.sinh(w[i]) - np.cos(z[i])


ON_EACH = [
    of_libm, of_libm_whole, masked_by_libm, powers, whole_powers,
    add, multiply, divide, with_real, squared, as_arrays_are, by_python, divided_by_python,
    whole_products, whole_quotients,
]


@pytest.mark.share(10)
@pytest.mark.parametrize(
    ("function", "dtype", "target"),
    [
        pytest.param(f, d, t, marks=[] if t == TARGETS[0] and d is C128 else [pytest.mark.long])
        for f in ON_EACH for d in (C128, C64) for t in TARGETS
    ],
)
def test_bits(
    function: Any, dtype: Any, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    z, w = grid(dtype)
    wanted, got = np.zeros_like(z), np.zeros_like(z)
    with np.errstate(all="ignore"):
        function(z, w, wanted)
        fused = fuse(function, target=target)
        fused(z, w, got)
    assert fused.stats.compiled == 1
    assert same(got, wanted), [x for x in zip(z, w, got, wanted) if not same(x[2], x[3])][:3]


@pytest.mark.share(12)
@pytest.mark.parametrize("function", [
    multiply, divide, squared, whole_products, by_python, of_libm, of_libm_whole, masked_by_libm,
    powers, whole_powers,
])
def test_warnings(function: Any) -> None:
    for z, w in (
        ([1e308 + 1e308j], [1e308 + 1e308j]), ([1j], [0]), ([0], [0]), ([np.inf], [np.inf]),
        ([1e308 + 1e308j, 1j, 0], [0, 1e308j, 0]), ([complex(0, np.nan), 1], [800, np.nan]),
    ):
        fused = fuse(function, on_reject="silent")
        for mode in ("warn", "ignore", "raise"):
            for _ in range(3):
                found = [_warned(f, z, w, mode) for f in (function, fused)]
                assert repr(found[0]) == repr(found[1])


def _warned(function: Any, z: Any, w: Any, mode: Any) -> tuple[Any, ...]:
    out, error = np.zeros(len(z), complex), None
    with warnings.catch_warnings(record=True) as caught, np.errstate(all=mode):
        warnings.simplefilter("default")
        globals().pop("__warningregistry__", None)
        try:
            function(np.array(z, complex), np.array(w, complex), out)
        except FloatingPointError as e:
            error = str(e)
    return [str(x.message) for x in caught], error, out.tolist()


# -- types of names

SCALE, SHIFT = C128(2 - 1j), 3 - 2j
TABLE = np.arange(5) * 1j


def from_int(x):
    s = 0
    for v in x:
        s += v
    return s


def from_float(x):
    s = 0.0
    for v in x:
        s = s + v
    return s


def from_complex(x):
    s = 0j
    for v in x:
        s += v
    return s


def product(x):
    p = 1
    for v in x:
        p = p * v
    return p


def difference(x):
    d = 0
    for v in x:
        d = d - v
    return d


def turned_round(x):
    d = 0
    for v in x:
        d = -d + v
    return d


def chosen(x):
    z = 0
    for v in x:
        if v.real > 2:
            z = v
    return z


def last(x):
    for v in x:
        z = v * 2
    return z


def swapped(x):
    a, b = 0j, 1j
    for v in x:
        a, b = b, a + v
    return a, b


def captured(x):
    return [v * SCALE + SHIFT for v in x]


def from_table(x):
    for i in range(len(TABLE)):
        x[i] = TABLE[i] * 2


def in_place(x, y):
    for i in range(len(x)):
        x[i] = y[i] * 1j


def running(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * x[i]


def ends(x):
    return x[-1], x[0] * 2, x[1].real


def row(m):
    r = m[0]
    s = 0j
    for i in range(len(r)):
        s += r[i]
    return s


def through_temporaries(x):
    t, u = np.zeros(len(x), complex), np.empty_like(x)
    for i in range(len(x)):
        t[i] = x[i] * 2
    for i in range(len(x)):
        u[i] = t[i] + 1
    return t, u


def of_scalars(c, k):
    return c * k + c.conjugate(), abs(c), c == k, bool(c), c.real, c.imag, -c, +c


def counted(n):
    z = 1j
    for i in range(n):
        z = z * 1j + i
    return z


def size(c):
    return abs(c)


def quotient(c, k):
    return c / k


def made(x):
    return [complex(v) for v in x], [np.complex64(v) for v in x]


def folds(x):
    return np.sum(x), sum(x), np.mean(x), np.dot(x, x), np.vdot(x, x), np.cumsum(x)


def scaled(x, a):
    s = 0j
    for v in x:
        s += v
    return s * a, s + a, a - s, a * s


def scaled_over_and_over(n, a):
    s = 1j
    for _ in range(n):
        s = s * a
    return s


def selected(x):
    out = np.where(x.real > 2, x, 0) * x
    for i, v in enumerate(x):
        out[i] += np.where(v.imag < -3, v, 1j) * v - np.where(v.imag, v.real, 2) * v
    return out, np.where(x, 1j, x)


def by_functions(x, c):
    return [np.add(c, 1j) for _ in x], np.square(c), np.multiply(c, c) - 1, np.divide(c, 2)


def of_both(x, c):
    boxes = [c * np.where(v.real > 2, v.imag, 2.5) for v in x]
    return boxes, [c if v == v else 1j for v in x], np.array([v if v == 1 else 1j for v in x])


def boxed(x):
    return [np.where(v, v, 1) for v in x], [np.where(v, v, 1) ** 2 for v in x]


def first_equal(x, w):
    for i in range(len(x)):
        if x[i] == w:
            return i, x[i]
    return -1, 0j


def grown(z):
    n = 0
    while abs(z) < 100 and n < 50:
        z = z * z + 0.3
        n += 1
    return z, n


def added(x, h):
    return [v + h for v in x]


def times(x, y):
    return [x[i] * y[i] for i in range(len(x))]


def bound_in_a_branch(x, f):
    if f:
        z = x[0]
    for v in x:
        z = z * v
    return z


def spread(x):
    return x.var(), np.std(x, ddof=1)


def spread_of_rows(x):
    return x.var(axis=1), np.std(x, axis=0, keepdims=True)


def by_cmath(x):
    return [cmath.exp(v) for v in x], [cmath.phase(v) for v in x], cmath.exp(-0.5j * len(x))


def order(x):
    return [v > 1j for v in x], max(x)


Z = np.arange(5) * (1 - 2j) + 0.5
Z4, NONE = Z.astype(C64), np.array([], complex)
def newton_step(coefficients, x):
    """Sums that start as Python's, and are NumPy's after the loop."""
    out = np.zeros(len(x), complex)
    for k in range(len(x)):
        z = x[k]
        p = dp = 0j
        for a in coefficients:
            dp = dp * z + p
            p = p * z + a
        out[k] = z - p / dp
    return out


def quotient_after_loop(z, w):
    p = 0
    for v in z:
        p = p + v
    p /= w
    return p, w / (p + 1)


CASES: list[tuple[Any, ...]] = [
    (from_int, Z), (from_int, NONE), (from_int, Z4), (from_float, Z), (from_float, NONE),
    (from_complex, Z4), (from_complex, NONE), (product, Z), (product, NONE), (difference, Z4),
    (chosen, Z), (chosen, Z4[:1]), (swapped, Z), (captured, Z4), (in_place, Z, Z),
    (grown, 0.1 + 2j), (of_scalars, 1 + 2j, 2.0), (of_scalars, C64(1j), np.float64(2)),
    (scaled, NONE, np.float64(2)), (scaled, Z, np.float64(2)), (selected, 1.1 * Z),
    (by_functions, Z, 1 - 2j),
    (scaled_over_and_over, 3, np.float64(0.1)), (folds, Z), (times, Z4, Z.real),
    (first_equal, Z, Z[3]), (through_temporaries, Z), (spread, Z), (spread, Z4),
    (spread_of_rows, np.outer(Z, Z)), (by_cmath, Z), (by_cmath, Z4), (newton_step, Z, 2 * Z),
    (newton_step, Z4, Z4), (quotient_after_loop, Z, 2.5), (quotient_after_loop, Z4, 1j),
]
LATE: list[tuple[Any, ...]] = [
    (newton_step, Z[:0], Z), (quotient_after_loop, Z[:0], 2.5), (quotient_after_loop, NONE, 1j),
    (from_complex, Z), (from_complex, Z4[:0]), (product, Z4), (difference, Z),
    (turned_round, -0.0 * Z), (chosen, Z[:1]), (last, Z), (last, NONE), (swapped, Z4),
    (swapped, NONE), (captured, Z), (from_table, Z), (in_place, Z, Z.copy()),
    (in_place, Z[1:], Z[:-1]), (running, Z), (running, Z4), (ends, Z), (row, np.outer(Z, Z)),
    (row, np.asfortranarray(np.outer(Z, Z4))), (through_temporaries, Z4),
    (of_scalars, C128(1j), 2.5), (of_scalars, 1e200j, 2), (counted, 5), (counted, 0),
    (size, 1e308 + 1.7e308j), (size, C128(1e308 + 1.7e308j)), (quotient, 1j, 0),
    (quotient, 1j, 0j), (quotient, C128(1j), 0), (quotient, 1j, C128(0)), (quotient, 0, 1j),
    (scaled, NONE, np.float32(2)), (scaled, NONE, 2.5), (scaled, Z4, np.float64(2)), (boxed, Z),
    (of_both, Z, 2j), (of_both, Z4, 2.5 - 1j), (selected, Z4 / 3),
    (scaled_over_and_over, 0, np.float64(1)), (made, Z), (made, Z.real), (folds, Z4),
    (first_equal, Z, 9j), (first_equal, Z, 5),
    (grown, C128(0.1j)), (grown, 0), (added, Z4, np.float16(2)), (added, Z, np.float16(0.1)),
    (added, Z.real, 2j), (times, Z4, np.arange(5, dtype=np.int8)), (times, Z4, np.arange(5)),
    (times, Z4, Z.real > 2), (bound_in_a_branch, Z, True), (bound_in_a_branch, Z, False),
    (by_cmath, 200 * Z), (by_cmath, -200 * Z), (by_cmath, np.array([np.inf, 1j])),
    (by_cmath, -0.0 * Z),
    (spread, NONE), (spread_of_rows, np.outer(Z4, Z4)), (order, Z),
    (from_int, Z.astype(">c16")), (from_int, Z.astype(np.clongdouble)),
    (from_int, np.array(3j)), (from_table, np.broadcast_to(Z, (5,))), (from_int, Z[::-2]),
]


@pytest.mark.share(12)
@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=f"{c[0].__name__}-{k}") for k, c in enumerate(CASES)]
    + [
        pytest.param(c, id=f"{c[0].__name__}-late-{k}", marks=pytest.mark.long)
        for k, c in enumerate(LATE)
    ],
)
def test_types(case: tuple[Any, ...]) -> None:
    function, *given = case
    fused, wanted = fuse(function, on_reject="silent"), outcome(function, tuple(given))
    for _ in range(3):
        assert_same(outcome(fused, tuple(given)), wanted, function.__name__, ulps=8)
    assert fused.stats.compiled == 3 or any(case is late for late in LATE)


def test_they_have_no_order() -> None:
    report = fuse(order, on_reject="silent").report(Z)
    assert {r.code for r in report.rejections} == {"LOWER_COMPLEX"}


def by_unknown(x):
    g = lambda v: (q := v + 1) * q  # noqa: E731
    t = 0
    for v in x:
        t += g(v)
    return t


def test_what_is_not_known_is_refused() -> None:
    fused = fuse(by_unknown, on_reject="silent")
    assert fused(Z) == by_unknown(Z)
    assert [*fused.stats.replays] == ["LOWER_CALL"]


@pytest.mark.share(4, each="call")
@pytest.mark.parametrize("call", ["np.cumsum(x)", "np.cumprod(x)", "np.add.accumulate(x)",
                                  "np.cumsum(m, axis=1)", "np.cumprod(m, 0)", "x.cumprod()"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_running_folds_start_with_the_first(call: str, dtype: type, tmp_path: Path) -> None:
    """Nothing is added to it, nor is it multiplied."""
    f = written(tmp_path, f"import numpy as np\ndef f(x, m):\n    return {call}\n").f
    g = fuse(f, on_reject="raise")
    odd = [complex(np.inf, 1), 2, 3j, complex(-0.0, -0.0), complex(np.nan, 1)]
    for numbers in ([1 + 2j, 3, 4j], odd, odd[3:4] * 3, odd[::-1], [complex(-0.0, 1.0)], []):
        x = np.array(numbers, dtype)
        args = x, np.array([x, x[::-1]])
        assert_same(outcome(g, args), outcome(f, args), f"{numbers}")
    assert g.stats.compiled, g.stats


@pytest.mark.parametrize("call", [
    "abs(z, 1.0)", "abs()", "np.abs(z, 1.0, 2.0)", "complex(z, z, z)", "z.conjugate(1.0)",
    "np.conj(z, 1)", "np.real(z, 1)", "np.angle(z, False, 1)", "cmath.exp(z, z)", "abs(x=z)",
])
def test_calls_with_other_arguments_raise_as_in_python(call: str, tmp_path: Path) -> None:
    text = f"import cmath\nimport numpy as np\ndef f(z):\n    return {call}\n"
    f = written(tmp_path, text).f
    for z in (1.5 + 2.0j, np.complex64(1.5 - 2.0j)):
        assert_same(outcome(fuse(f, on_reject="silent"), (z,)), outcome(f, (z,)), f"{call}, {z!r}")
