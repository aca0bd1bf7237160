"""Functions of one number on every kind of number: type, value, error, warnings as in Python."""
from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import outcome, same
from random_cases import ran
from staged import Replayed, interpreted, through
from written import written

from transpile import fuse
from transpile.diagnostics import Refused
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import type_of

EXPRESSIONS = (
    "round(V)", "round(V, 0)", "round(V, 2)", "math.floor(V)", "math.ceil(V)", "math.trunc(V)",
    "int(V)", "float(V)", "bool(V)", "abs(V)", "np.abs(V)", "math.fabs(V)", "-V", "+V", "~V",
    "not V", "min(V, 3)", "max(2.0, V)", "V ** 2", "V ** 3", "V ** 5", "V ** 0.5", "V ** -1",
    "V ** y[0]", "y[0] ** V", "V + y[0]", "V - 1", "V * V", "y[0] * V", "V / y[1]", "V // y[1]",
    "V % y[1]", "V // 2", "7 % V", "np.isnan(V)", "math.isnan(V)", "np.sqrt(V)", "math.sqrt(V)",
    "np.floor(V)", "np.rint(V)", "np.float32(V)", "np.float64(V)", "np.clip(V, 0, 1)",
    "np.where(V, V, 1)", "np.minimum(V, y[0])", "np.multiply(V, y[0])", "V & 1", "V | y[0]",
    "V < y[0]", "1 if V > 1 else 2", "V == 1 and V", "math.pow(V, 2)", "1 <= V < 2",
    "V << 2", "V >> 1", "V << y[0]", "y[0] >> V", "np.left_shift(V, 70)", "1 << V", "V >> -1",
    *(f"np.{f}(V)" for f in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh",
        "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "cbrt",
        "sign", "isinf", "isfinite", "signbit",
    )),
    *(f"math.{f}(V)" for f in (
        "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh",
        "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "isinf", "isfinite",
    )),
    *(f"ops.{f}(V)" for f in ("popcount", "first_set", "rsqrt", "relu", "sigmoid", "erf")),
    *(f"ops.{f}(V, {b})" for b in ("y[0]", "3", "1000", "V") for f in (
        "saturating_add", "saturating_sub", "saturating_mul", "rotl", "rotr", "clmul",
        "mul_high",
    )),
    "ops.any_set(V)", "ops.has_bit(V, 3)", "ops.has_bit(V, 70)", "ops.has_bit(y[1], V)",
    *(f"ops.{f}(V, {n})" for f in ("all_set", "mask_not") for n in ("2", "y[0]", "64")),
    *(f"np.{t}(V)" for t in ("uint8", "int8", "int32", "uint64", "bool_")),
    "ops.fma(V, y[0], V)", "ops.fma(V, 2.0, 1)", "ops.clamp(V, 0, 2)", "ops.clamp(V, y[0], 0.5)",
    *(f"{f}(V, y[{k}])" for k in (0, 1) for f in (
        "np.arctan2", "np.hypot", "np.fmod", "np.copysign", "math.atan2", "math.hypot",
        "math.fmod", "math.remainder", "math.nextafter", "math.copysign",
    )),
    "bin(V).count('1')", "V.is_integer()", "math.gcd(V, 6, 4)", "math.lcm(V, 6)",
    "math.lcm(4, V, -6)", "pow(V, 3, 7)", "pow(3, V, -5)", "pow(3, V, V)",
)
KINDS = {
    "an element": "v", "a 0-d array": "np.where(v > 1, v, v)", "clipped": "np.clip(v, 0, 5)",
    "a float": "float(v)", "an int": "int(v)", "a bool": "(v > 1)",
}
VALUES = {
    "f": (
        [0.5, 1.5, -0.0, 2.25, 3.0], [1e30, 2.0, 0.1], [-4.0, -np.inf, np.nan], [0.0], [np.inf],
        [-0.25, 0.25], [1.0], [-1.0], [800.0], [-800.0], [1e-45],
    ),
    "i": ([0, 1, 2, 3], [120, 5, 7], [-1, -128, 127], [0]),
    "u": ([0, 1, 2, 3], [120, 5, 255], [0]),
    "b": ([False, True, True], [False]),
}


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    """By expression and kind, from a file: the compiler reads their source."""
    names = {
        (e, k): f"f{n}_{m}"
        for n, e in enumerate(EXPRESSIONS) for m, k in enumerate(KINDS)
    }
    text = "import math\n\nimport numpy as np\n\nfrom transpile import ops\n" + "".join(
        f"\n\ndef {name}(x, y):\n    return [{e.replace('V', KINDS[k])} for v in x]\n"
        for (e, k), name in names.items()
    )
    module = written(tmp_path_factory.mktemp("operands"), text)
    return {key: getattr(module, name) for key, name in names.items()}


@pytest.mark.share(540)
@pytest.mark.parametrize(("dtype", "kind", "part"), [
    pytest.param(d, k, p, marks=[pytest.mark.plain] * ((d, k, p) == ("f8", "an element", 0)))
    for d in ("f8", "f4", "f2", "i8", "i4", "i1", "u8", "u1", "?") for k in KINDS for p in range(3)
])
def test_as_python(
    dtype: str, kind: str, part: int, functions: dict[tuple[str, str], Callable[..., Any]]
) -> None:
    compiled = 0
    for e in EXPRESSIONS[part::3]:
        function = functions[e, kind]
        y = np.array([3, 0]).astype(dtype)
        types = {"x": type_of(y), "y": type_of(y)}
        try:
            stages = compile_stages(function, types, Options())  # type: ignore[arg-type]
        except Refused:
            continue
        compiled += 1
        kernel = stages.plan.kernel
        way = through(stages, stages.plan, kernel, interpreted(kernel))
        for values in VALUES[np.dtype(dtype).kind]:
            make = lambda: ((np.array(values).astype(dtype), y), ())  # noqa: B023, E731
            got, wanted = ran(way, make, "warn"), ran(function, make, "warn")
            if got.error and issubclass(got.error[0], Replayed):
                continue
            where = f"{e} of {kind}, {dtype} {values}"
            assert got.error == wanted.error, where
            assert got.warned == wanted.warned, where
            assert same(got.value, wanted.value, 4), f"{where}: {got.value}, not {wanted.value}"
    is_refused = (dtype, kind) == ("u8", "an int")  # may not fit 64 bits with a sign
    assert (compiled > len(EXPRESSIONS) // 9) is not is_refused


def test_binomials_of_many_are_found_at_once() -> None:
    def chosen(n: int, k: int) -> int:
        return math.comb(n, k)

    fused = fuse(chosen, on_reject="raise")
    for n, k in ((5, 10**12), (10**9, 10**9 - 1), (0, 0), (0, 1), (61, 30), (10, 7), (3, 4)):
        assert fused(n, k) == chosen(n, k)


@pytest.mark.parametrize(("base", "exponent", "modulus"), [
    (3, 200, 13), (-3, 7, 5), (3, 2, -5), (7, 0, 1), (7, 0, -1), (2, 62, 2**62), (0, 0, 9),
    (3, 5, 2**63 - 1), (2**62, 3, 10**6), (5, 2**62, 97), (5, 2**40, 97),
    (3, -1, 7), (3, -1, 6), (3, 4, 0),
])
def test_powers_modulo(base: int, exponent: int, modulus: int, tmp_path: Path) -> None:
    """Also where Python raises, takes an inverse, or has intermediate results beyond 64 bits."""
    text = "def f(a, b, m):\n    s = 0\n    for k in range(4):\n        s += pow(a + k, b, m)\n"
    f = written(tmp_path, f"{text}    return s\n").f
    fused = fuse(f, on_reject="raise")
    arguments = base, exponent, modulus
    for _ in range(2):
        assert outcome(fused, arguments) == outcome(f, arguments)
    if 0 <= exponent < 2**50 and abs(base) < 2**31 and 0 < abs(modulus) < 2**31:
        assert fused.stats.compiled == 2


@pytest.mark.parametrize(
    "call", [
        "factorial(n, n)", "isqrt(n, n)", "comb(n)", "comb(n, n, n)", "gcd(n, n, n)", "gcd(n)",
        "lcm()",
    ]
)
def test_calls_with_another_number_of_arguments(call: str, tmp_path: Path) -> None:
    """Python raises TypeError, or it is a call that is not written out: never another answer."""
    lines = "def f(n):", "    s = 0", "    for i in range(n):", f"        s += math.{call}"
    f = written(tmp_path, "\n".join(("import math", *lines, "    return s\n"))).f
    fused = fuse(f, on_reject="silent")
    assert outcome(fused, (4,)) == outcome(f, (4,))


@pytest.mark.parametrize("limit", ["finfo(D).eps", "finfo(D).max", "finfo(D).tiny", "iinfo(D).max"])
@pytest.mark.parametrize("of", ["z.dtype", "d"])
def test_limits_of_a_dtype_that_is_known_at_the_call_only(
    limit: str, of: str, tmp_path: Path
) -> None:
    """Where a branch decides which dtype it is: never those of another one, and no warning."""
    text = f"""
    import numpy as np

    def f(x, y, b):
        z = x if b else y
        d = None
        if b: d = z.dtype
        e = np.{limit.replace("D", of)}
        s = 0.0
        for v in x: s += v
        return s * e, e
    """
    f = written(tmp_path, textwrap.dedent(text)).f
    fused = fuse(f, on_reject="silent")
    kinds = ("i4", "i8") if "iinfo" in limit else ("f4", "f8")
    narrow, wide = (np.arange(4).astype(kind) for kind in kinds)
    for x, y in ((narrow, wide), (wide, narrow)):
        for b in (True, False):
            make = lambda: ((x, y, b), ())  # noqa: B023, E731
            got, wanted = ran(fused, make, "warn"), ran(f, make, "warn")
            assert (got.error, got.warned) == (wanted.error, wanted.warned)
            assert same(got.value, wanted.value, 0)
