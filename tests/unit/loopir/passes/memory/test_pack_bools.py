"""Arrays of bits: programs whose bools become bits mean what Python means, on every target."""
from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from native import RUNNABLE
from staged import emulated, interpreted, through

from loopir.ir_traversal import walk
from loopir.ir_verifier import verify
from loopir.machine_model import Machine
from loopir.nodes import Bits
from targets.isa.target_registry import TARGETS, runnable_targets
from transpile import fuse
from transpile.options import Options
from transpile.pipeline import Compilation, compile_stages
from transpile.types.typeof import parameter_names, type_of

SMALL = Machine(bytes=64, caches=(1, 1, 1))
"""No cache holds as many bools as can be bits."""


def sieve(n: int) -> int:
    s = np.ones(n + 1, bool)
    s[0] = s[1] = False
    for i in range(2, int(n**0.5) + 1):
        if s[i]:
            for j in range(i * i, n + 1, i):
                s[j] = False
    count = 0
    for i in range(n + 1):
        if s[i]:
            count += 1
    return count


def used_twice(x: Any, t: Any, u: Any) -> tuple[int, Any]:
    m = np.zeros(len(x), bool)
    for i in range(len(x)):
        m[i] = x[i] / 2.0 > t  # not so cheap that it would be computed again
    count = 0
    for i in range(len(x)):
        if m[i]:
            count += 1
    some, total = count > 3, 0.0
    for i in range(len(x)):
        if m[i] == some and x[i] < u:
            total += x[i] / (x[i] + 1)
    return count, total


def whole(x: Any, y: Any, t: Any) -> tuple[Any, Any, Any]:
    a = x > t
    b = y > t
    c = a.sum() > b.sum()
    both = a & b
    e = both ^ (a != b | c)
    return e.sum(), (a <= e).sum(), both.any() | e.all()


def smoothed(x: Any, t: Any) -> int:
    m = np.zeros(len(x), dtype=bool)
    k = np.full(len(x), True)
    for i in range(len(x)):
        m[i] = x[i] > t
    for i in range(1, len(x) - 2):
        k[i] = m[i - 1] & m[i] | m[i + 2]
    count = 0
    for i in range(len(x)):
        if k[i]:
            count += 1
    return count


def visited(p: Any) -> int:
    seen = np.zeros(len(p), bool)
    count = 0
    for i in range(len(p)):
        j = p[i]
        if not seen[j]:
            seen[j] = True
            count += 1
    return count


def divided(x: Any, y: Any, t: Any, out: Any) -> int:
    m = y != 0
    count = 0
    for i in range(len(x)):
        if m[i]:
            count += 1
    for i in range(len(x)):
        if m[i] and count > t:
            out[i] = x[i] / y[i]
    return count


def table(x: Any, y: Any) -> int:
    m = np.empty((len(x), len(y)), bool)
    for i in range(len(x)):
        for j in range(len(y)):
            m[i, j] = x[i] < y[j]
    count = 0
    for i in range(len(x) - 1):
        for j in range(len(y)):
            if m[i, j] != m[i + 1, j]:
                count += 1
    return count


def _numbers(n: int, rng: np.random.Generator, dtype: str = "f8") -> Any:
    return (rng.random(n) * 100).astype(dtype)


PROGRAMS: list[tuple[Callable[..., Any], Callable[[int, np.random.Generator], tuple[Any, ...]]]] = [
    (sieve, lambda n, _: (n,)),
    (used_twice, lambda n, rng: (_numbers(n, rng), 30.0, 80.0)),
    (whole, lambda n, rng: (_numbers(n, rng, "i2"), _numbers(n, rng, "u1"), 40)),
    (smoothed, lambda n, rng: (_numbers(n, rng, "u1"), 50)),
    (visited, lambda n, rng: (rng.integers(-n, n, n),)),
    (divided, lambda n, rng: (_numbers(n, rng), _numbers(n, rng) // 50, 9, np.zeros(n))),
    (table, lambda n, rng: (_numbers(n // 16, rng, "i4"), _numbers(37, rng, "i4"))),
]
SIZES = (128, 133, 200, 1037)


def stages_of(f: Any, args: tuple[Any, ...]) -> Compilation:
    types: Any = dict(zip(parameter_names(f.__code__), map(type_of, args), strict=True))
    made = compile_stages(f, types, Options(), SMALL)
    assert any(isinstance(n, Bits) for n in walk(made.kernel)), f"{f.__name__} has no bits"
    verify(made.kernel, "vector")
    return made


def ways(made: Compilation, targets: tuple[str, ...]) -> Any:
    """The interpreter, and code for each of `targets`, by name."""
    kernel = made.kernel
    yield "interpreted", through(made, made.plan, kernel, interpreted(kernel))
    for name in targets:
        legal = made.legal(TARGETS[name])
        verify(legal, "legal")
        yield name, through(made, made.plan, kernel, emulated(kernel, name))


@pytest.mark.share(20)
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize(("f", "make"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_every_target_agrees(f: Any, make: Any, target: str) -> None:
    given = {n: make(n, np.random.default_rng(n)) for n in SIZES}
    wanted = {n: outcome(f, args) for n, args in given.items()}
    for way, call in ways(stages_of(f, given[SIZES[0]]), (target,)):
        for n, args in given.items():
            if way != "interpreted" or n < 200:
                assert_same(outcome(call, args), wanted[n], f"{way} at {n}", ulps=64)


# -- programs at random, of which each access is to a bit


def _program(rng: random.Random) -> str:
    """Loops over two arrays of bools: near, far, shifted, under masks."""

    def some() -> str:
        return rng.choice("mk")

    def near(lo: int, hi: int) -> str:
        return f"{some()}[i + {rng.randint(-lo, hi)}]" if rng.random() < 0.7 else some() + "[i]"

    def loop() -> str:
        lo, hi, a, b = rng.randint(0, 9), rng.randint(0, 9), some(), some()
        head = f"for i in range({lo}, n - {hi}):"
        kind = rng.choice(("compare", "combine", "count", "stride", "scatter", "select", "down"))
        match kind:
            case "compare":
                lines = f"{a}[i] = x[i] {rng.choice(['<', '>=', '=='])} {rng.randint(0, 9)}"
            case "combine":
                op = rng.choice(["&", "|", "^", "!=", "<="])
                lines = f"{a}[i] = ({near(lo, hi)}) {op} ({near(lo, hi)})"
            case "count":
                return f"{head}\n    if {near(lo, hi)} and not {near(lo, hi)}:\n        count += 1"
            case "stride":
                head = f"for i in range({lo}, n, {rng.choice([2, 9, 13])}):"
                lines = f"{a}[i] = {rng.choice(['True', 'False', f'not {b}[i]'])}"
            case "scatter":
                lines = f"{a}[p[i]] = {b}[i]"
            case "select":
                lines = f"x[i] = x[i] + 1 if {near(lo, hi)} else x[i]"
            case _:
                head, lines = "for i in range(n - 1, 0, -1):", f"{a}[i] = {a}[i] | {b}[i - 1]"
        return f"{head}\n    {lines}"

    loops = "\n".join(loop() for _ in range(rng.randint(2, 5)))
    ends = "for i in range(n):\n    if m[i] and x[i] > 3:\n        count += 1 + 2 * k[i]"
    made = [f"{a} = np.{rng.choice(['zeros(n, bool)', 'ones(n, bool)'])}" for a in "mk"]
    body = "\n".join(["n = len(x)", "count = 0", *made, loops, ends, "return count"])
    return "def f(x, p):\n" + textwrap.indent(body, "    ") + "\n"


def _at_random(seed: int, targets: tuple[str, ...], tmp_path: Any) -> None:
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    text = "import numpy as np\n" + _program(rng)
    file = tmp_path / "program.py"
    file.write_text(text)
    space: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), space)
    dtype = rng.choice(["u1", "i2", "f4", "f8", "i8"])
    given = [
        (numbers.integers(0, 10, n).astype(dtype), numbers.permutation(n)) for n in (128, 391)
    ]
    for way, call in ways(stages_of(space["f"], given[0]), targets):
        for args in given:
            wanted = outcome(space["f"], args)
            assert_same(outcome(call, args), wanted, f"{way} of\n{text}")


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits wherever they can be."""
    monkeypatch.setattr("loopir.passes.memory.pack_bools._min_length", lambda *_: 128)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.share(12)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed: int, tmp_path: Any) -> None:
    _at_random(seed, RUNNABLE[-1:], tmp_path)


@pytest.mark.long
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("seed", range(4, 204))
def test_many_random_programs(seed: int, tmp_path: Any) -> None:
    _at_random(seed, RUNNABLE, tmp_path)


@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
def test_the_length_decides(target: str) -> None:
    """Enough for what a target takes its caches to be, and few; by way of what users call."""
    primes = fuse(sieve, target=target, on_reject="raise")
    assert [primes(100), primes(5_000_000), primes(9_000_000)] == [25, 348513, 602489]
    near = fuse(smoothed, target=target, on_reject="raise")
    x = np.arange(5_000_000).astype(np.uint8)
    for some in (x[:1000], x):
        m, k = some > 50, np.ones(len(some), bool)
        k[1:-2] = m[:-3] & m[1:-2] | m[3:]
        assert near(some, 50) == k.sum()
