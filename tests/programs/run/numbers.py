"""Programs on Python's own numbers: whole ones, asserts, membership, names that end."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import gcd, lgamma
from typing import Any

import numpy as np

from .programs import F32, Make, program, real, whole, wild

SIZES = (0, 1, 9, 17)


def on_numbers(
    python_at: tuple[int, ...] = (), ulps: float = 0, **makes: Make
) -> Callable[..., Callable[..., Any]]:
    return program(sizes=SIZES, python_at=python_at, ulps=ulps, **makes)


@on_numbers(f64=lambda n, rng: (wild(n, rng),), python_at=(0,))
def asserted(x):
    assert len(x) > 0, f"none of {len(x)}"
    s = 0
    for v in x:
        if v > 0:
            s += 1
        elif v == -1e9:
            raise ValueError(v)
        t = s * 2
        assert t >= 0
        del t
    if s < 0:
        s = "never" + s
        raise TypeError
    return s


@on_numbers(n=lambda n, rng: (n,))
def one_of(n):
    s = 0
    for k in range(-n, n):
        if k % 7 in (1, 2, 4) or k in {0, -3}:
            s += k
        if k not in [3, 5]:
            s += 1
    return s, n in (17, 2.5), n not in {9}


@on_numbers(ints=lambda n, rng: (n, 4), numpy=lambda n, rng: (np.int64(n), np.int8(n % 5)))
def one_of_ints(n, m):
    s = 0
    for k in range(-3, n):
        if k in (0, n - 1, m):
            s += 1 if k not in {m * 2, 7} else 3
        s += 0.5 in (m, k) or k % 3 in [m // 2]
    return s


@on_numbers(ulps=8, f64=lambda n, rng: (rng.uniform(0.1, 9, n), 10), f=lambda n, rng: ([2.0], 2.5))
def logarithms(x, base):
    return [math.log(v, base) + math.log(v + 1, 1.5 + len(x)) for v in x]


@on_numbers(f32=lambda n, rng: (wild(n, rng, F32),))
def one_of_floats(x):
    out = np.zeros(len(x), np.bool_)
    for i in range(len(x)):
        out[i] = x[i] in (1.0, 7.5, -0.0)
    return out


@on_numbers(n=lambda n, rng: (n - 1, 5, 2.5), python_at=(0,))
def whole_functions(n, m, f):
    s = 0
    for k in range(n + 1):
        s += math.gcd(k * 6, -9) + math.isqrt(k * k + k) + math.comb(n, k)
        s += gcd(k, n) + math.factorial(min(k, 20)) % 11
    return s, math.factorial(n), pow(f, m), pow(m, 2), math.comb(m, n)


@on_numbers(
    i64=lambda n, rng: (rng.integers(0, 99, n), 6), i8=lambda n, rng: (whole(n, rng, np.int8), 6),
    u8=lambda n, rng: (whole(n, rng, np.uint8), 6),
)
def whole_functions_of_elements(x, m):
    s = 0
    for v in x:
        s += math.gcd(v, m) + math.lcm(4, v, m) + math.comb(v % 7, 2) + math.isqrt(v & 63)
    return s, [math.gcd(m, v, 9) for v in x]


@on_numbers(
    ulps=8, f64=lambda n, rng: (rng.uniform(0.1, 30, n),),
    f32=lambda n, rng: (rng.uniform(3, 90, n).astype(F32),),
    ints=lambda n, rng: (1 + np.arange(n),),
)
def gammas(x):
    out = np.zeros((3, len(x)))
    for i in range(len(x)):
        out[0, i] = math.gamma(x[i])
        out[1, i] = math.gamma(-x[i] - 0.3)
        out[2, i] = math.erfc(0.9 * x[i] - 2)
    return out


@on_numbers(
    ulps=8, floats=lambda n, rng: (n + 2.5,), ints=lambda n, rng: (n + 1,),
    b=lambda n, rng: (True,),
)
def gammas_of_numbers(s):
    return math.gamma(s), math.lgamma(s) + 100, math.erfc(s / 10), lgamma(1) + lgamma(2)


@on_numbers(
    ulps=64, f64=lambda n, rng: (rng.uniform(3, 300, n) ** 5,),
    ints=lambda n, rng: (3 + np.arange(n),),
)
def logarithms_of_gammas(x):
    return np.array([lgamma(v) for v in x]), sum(lgamma(v) == 0 for v in (0.5, 1, 2))


@on_numbers(x=lambda n, rng: (np.array([1.0, (0.0, -2.0, 172.0, 1e-30)[n % 4]]),), python_at=SIZES)
def poles_of_gamma(x):
    s = 0.0
    for v in x:
        s += math.gamma(v) + lgamma(v)
    return s


@on_numbers(
    ints=lambda n, rng: (n, 4), floats=lambda n, rng: (n * 0.7 - 3.0, -1.25),
    mixed=lambda n, rng: (-2.0 * n, 3),
)
def divided(a, b):
    q, r = divmod(a, b)
    s = 0
    for _ in range(5):
        a, r2 = divmod(a + 17, b)
        s += r2
    return q, r, a, s


@on_numbers(n=lambda n, rng: (n, whole(n, rng)))
def signs_and_powers_of_two(n, x):
    s, t = 0, 0.0
    for k in range(n):
        s += (-1) ** k * k + 2 ** k
        t += (-1) ** (k + 1) * x[k] * 2 ** (k % 3)
    return s, t


@on_numbers(f64=lambda n, rng: (real(n, rng), whole(n, rng)))
def walrus_in_the_test(x, y):
    i = 0
    s = 0.0
    while i < len(x) and (v := x[i]) < 3.5:
        i += 1
        if v < 0:
            continue
        s = v
    k = len(y)
    while (k := k - 1) >= 0:
        y[k] += k
    return i, s, k


@on_numbers(f64=lambda n, rng: (real(n, rng), whole(n, rng)))
def cut_to_ints(x, y):
    a = np.zeros(len(x), np.int64)
    b = np.zeros(len(x), np.int16)
    for i in range(len(x)):
        a[i] = np.int64(x[i]) + np.intp(2.9)
        b[i] = np.int16(y[i] * 100.0) + np.int8(x[i])
    return a, b, np.int32(len(x) * 0.4), np.uint8(2.5)


@on_numbers(
    ints=lambda n, rng: ([int(v) for v in rng.integers(-2**62, 2**62, n + 1)], n, n % 2 > 0)
)
def methods_of_numbers(xs, n, c):
    s, t = [0] * 3, 0.0
    for k in range(-n, n):
        s[0] += (k * k).bit_length() * 3 - k.bit_count() if k > 2 else k.bit_length()
        t += (k * 0.5).conjugate() - k.conjugate()
    for v in xs:
        s[1] += v.bit_length() if v > 0 else (v + 1).bit_count()
        s[2] = max(s[2], (v >> n).bit_count() + bin(v ^ n).count("1"))
    while n.bit_length() > 3:
        n //= 3
    v = -0.0 if c else n
    return s, t, n, v.conjugate(), c.conjugate(), (-1 << 40).bit_length(), (255).bit_count()


ENDS_OF_HALVES = [0, 1, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**33 + 5, 2**63 - 1]


def halves(n: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers at the ends of 32 and 64 bits, of both signs."""
    return rng.choice([*ENDS_OF_HALVES, *(-k for k in ENDS_OF_HALVES)], n)


@program(sizes=(0, 1, 9, 33, 200), i64=lambda n, rng: (halves(n, rng), halves(n, rng) | 2))
def quotients_beside_remainders(x, y):
    out = np.zeros((len(x), 4), np.int64)
    total = 0
    for i in range(len(x)):
        a, b = int(x[i]) >> 1, int(y[i]) >> 1
        if a % b == 0:
            out[i, 0] = a // b
        d = b
        k = 0
        while a != 0 and a != -1 and k < 70:
            out[i, 1] ^= a % d
            a = a // d if d > 1 or d < -1 else 0
            k += 1
        q, r = divmod(k + i, d)
        out[i, 2], out[i, 3] = q, r
        total += k
    return out, total


@program(sizes=(1, 9, 33), python_at=(1, 9, 33), i64=lambda n, rng: (whole(n, rng, np.int64), 0))
def quotients_by_zero(x, d):
    total = 0
    for i in range(len(x)):
        if int(x[i]) % d == 0:
            total += int(x[i]) // d
    return total
