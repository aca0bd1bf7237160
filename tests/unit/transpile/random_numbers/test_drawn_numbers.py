"""Numbers drawn in compiled loops: those that Python draws, and the state that it leaves."""
from __future__ import annotations

import copy
import ctypes
import inspect
import math
import pickle
import random
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.errors import FuseError
from transpile.random_numbers import FAMILIES, draw_functions, state_arrays, state_templates, table
from transpile.random_numbers.ziggurat import ZIGGURAT_TABLES

MAKERS: dict[str, Callable[[int], Any]] = {
    "python": random.Random, "legacy": np.random.RandomState, "pcg": np.random.default_rng,
}
GIVEN: dict[str, tuple[tuple[Any, ...], ...]] = {
    "choice": ((np.arange(5.0),),),
    "expovariate": ((0.5,), (3,)),
    "exponential": ((), (2.5,)),
    "gauss": ((0, 1), (2.5, 0.1)),
    "getrandbits": ((1,), (5,), (32,), (33,), (62,)),
    "integers": (
        (7,), (3, 9), (5, 6), (0, 1 << 31), (0, 3 << 30), (-4, 4), (np.int8(3), np.int64(90)),
    ),
    "lognormal": ((), (0.5, 0.25)),
    "lognormvariate": ((0, 1),),
    "normal": ((), (3, 2), (np.float32(0.5), 0.1)),
    "normalvariate": ((0, 1), (2.5, 0.1)),
    "randint": ((3, 9), (0, 1 << 31), (0, 3 << 30), (-4, 4), (np.int8(3), np.int64(90))),
    "randrange": ((7,), (3, 9), (3, 9, 2), (9, 3, -4), (1 << 40,)),
    "uniform": ((1, 3.5), (0.1, 0.7), (np.float32(0.1), 5)),
}
ROUNDED = {
    "expovariate", "exponential", "gauss", "lognormal", "lognormvariate", "normal", "normalvariate",
    "randn", "standard_exponential", "standard_normal",
}


def told(generator: Any) -> Any:
    """What a generator says of its state."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    name, words, *rest = generator.get_state()
    return name, words.tolist(), *rest


@pytest.mark.share(12)
@pytest.mark.parametrize(
    ("family", "method"), [(family, m) for family in FAMILIES for m in draw_functions(family)]
)
def test_methods(family: str, method: str) -> None:
    """Each function, as Python, draws what the method does of the same state."""
    theirs = MAKERS[family](5)
    ours = pickle.loads(pickle.dumps(theirs))
    state = {**state_arrays(family, ours), **{name: table(name) for name in ZIGGURAT_TABLES}}
    run = draw_functions(family)[method]
    given = [state[p] for p in inspect.signature(run).parameters if p in state]
    for k in range(60_000 if family == "pcg" and method in ROUNDED else 1500):  # tails are rare
        args = GIVEN.get(method, ((),))
        args = args[k % len(args)]
        wanted, got = getattr(theirs, method)(*args), run(*given, *args)
        same = math.isclose(got, wanted, rel_tol=1e-15) if method in ROUNDED else got == wanted
        assert same, (k, args)
        assert type(got) is type(wanted)
    if "spare" not in state_templates(family) or method not in ROUNDED:
        assert told(ours) == told(theirs)


@pytest.mark.parametrize("family", ["legacy", "pcg"])
def test_the_state_is_where_numpy_says(family: str) -> None:
    """Of each generator, though NumPy is asked for the address in one of them only."""
    for seed in range(40):
        generator = MAKERS[family](seed)
        words = state_arrays(family, generator)["words"]
        bits = getattr(generator, "_bit_generator", None) or generator.bit_generator
        address = bits.ctypes.state_address
        if family == "pcg":
            address = ctypes.c_uint64.from_address(address).value
        assert words.ctypes.data == address


def by_random(n):
    return [random.random() + random.uniform(1, 2) for _ in range(n)]


def by_numpy(n):
    out = np.empty(n)
    for i in range(n):
        out[i] = np.random.rand() + np.random.uniform() * np.random.randint(1, 7)
    return out


def by_gauss(n):
    s = 0.0
    for _ in range(n):
        s += random.gauss(0, 1)
    return s


def by_both(n):
    s = 0.0
    for _ in range(n):
        s += random.random() * np.random.random()
    return s


GENERATOR = np.random.default_rng(5)


def by_global(n):
    s = 0.0
    for _ in range(n):
        s += GENERATOR.random()
    return s


def seeded(n):
    random.seed(n)
    np.random.seed(n)
    s = 0.0
    for _ in range(n):
        s += random.random() - np.random.rand()
    return s


def of_its_own(n):
    rng = np.random.default_rng(n)
    s = 0.0
    for _ in range(n):
        s += rng.random()
    return s


OF_GLOBALS = (by_random, by_numpy, by_gauss, by_both, by_global, seeded, of_its_own)


def drawn(function: Callable[..., Any], *sizes: int) -> Any:
    """What calls of `function` give, and all that is drawn after them."""
    global GENERATOR
    random.seed(7)
    np.random.seed(7)
    GENERATOR = np.random.default_rng(7)
    found = [np.asarray(function(n)).tolist() for n in sizes]
    rest = random.random(), random.gauss(0, 1), np.random.rand(), np.random.randn()
    return found, np.float32(rest).tolist(), GENERATOR.random()


@pytest.mark.share(12)
@pytest.mark.parametrize("function", OF_GLOBALS)
def test_generators_that_are_known_by_name(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    sizes = 3, 1, 400, 0, 17
    fused = fuse(function)
    got, wanted = drawn(fused, *sizes), drawn(function, *sizes)
    if function is by_gauss:
        assert np.allclose(got[0], wanted[0], rtol=1e-13)
        assert got[1:] == wanted[1:]
    else:
        assert got == wanted
    assert fused.stats.compiled == len(sizes)


def until_it_ends(rng, x, n):
    s = 0.0
    for i in range(n):
        s += rng.random() * x[i]
    return s


@pytest.mark.parametrize("family", MAKERS)
def test_a_replay_draws_the_same(family: str) -> None:
    fused, x = fuse(until_it_ends, on_reject="silent"), np.ones(9)
    ours, theirs = MAKERS[family](3), MAKERS[family](3)
    for n in (9, 12, 9):
        for function, rng in ((fused, ours), (until_it_ends, theirs)):
            with nullcontext() if n < 12 else pytest.raises(IndexError):
                function(rng, x, n)
        assert told(ours) == told(theirs)
    assert fused.stats.compiled == 2


def over_bounds(rng, n):
    x = np.zeros(4)
    for _ in range(n):
        x[int(rng.random() * 5)] += 1.0
    return x


@pytest.mark.parametrize("family", MAKERS)
def test_a_replay_in_the_midst(family: str) -> None:
    """What was drawn before a guard failed is drawn again."""
    fused = fuse(over_bounds, on_reject="silent")
    ours, theirs = MAKERS[family](3), MAKERS[family](3)
    for function, rng in ((fused, ours), (over_bounds, theirs)):
        with pytest.raises(IndexError):
            function(rng, 100)
    assert told(ours) == told(theirs)


def sum_of_two(a, b, n):
    s = 0.0
    for _ in range(n):
        s += a.random() - 2.0 * b.random()
    return s


@pytest.mark.parametrize("family", MAKERS)
def test_two_generators_that_may_be_one(family: str) -> None:
    fused, make = fuse(sum_of_two, on_reject="silent"), MAKERS[family]
    for _ in range(2):
        assert fused(make(1), make(2), 50) == sum_of_two(make(1), make(2), 50)
        ours, theirs = make(3), make(3)
        assert fused(ours, ours, 50) == sum_of_two(theirs, theirs, 50)
        assert told(ours) == told(theirs)


def test_two_kinds_of_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(until_it_ends)
    for k in range(6):
        make = [*MAKERS.values()][k % 3]
        assert fused(make(k), np.ones(9), 9) == until_it_ends(make(k), np.ones(9), 9)
    assert fused.stats.compiled == 6


class Asked:
    """Whose attributes run code."""

    seen: tuple[str, ...] = ()

    def __getattr__(self, name):
        type(self).seen += (name,)
        raise AttributeError(name)

    def __call__(self, n):
        return n + 0.5


ASKED = Asked()


def asks(n):
    s = 0.0
    for i in range(n):
        s += ASKED(i)
    return s


def test_no_code_of_others_runs_to_tell_what_draws() -> None:
    fused = fuse(asks, on_reject="silent")
    assert fused(5) == asks(5)
    assert "__self__" not in Asked.seen


def test_locks_are_taken_in_one_order() -> None:
    a, b = np.random.default_rng(1), np.random.default_rng(2)
    fused = fuse(sum_of_two)
    fused(a, b, 3)

    def draw(one: Any, other: Any) -> None:
        for _ in range(300):
            fused(one, other, 100)

    threads = [threading.Thread(target=draw, args=pair, daemon=True) for pair in ((a, b), (b, a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


class Loaded(random.Random):
    def random(self):
        return 0.25


def test_other_generators_stay_pythons() -> None:
    own = random.Random(3)
    own.random = lambda: 0.5  # type: ignore[method-assign]
    others = (
        Loaded(3), own, random.SystemRandom(), np.random.Generator(np.random.MT19937(3)),
        np.random.Generator(np.random.SFC64(3)), np.random.RandomState(np.random.PCG64(3)),
    )
    x = np.ones(9)
    for rng in others:
        if not isinstance(rng, Loaded):  # whose method is one of Python's
            with pytest.raises(FuseError):
                fuse(until_it_ends, on_reject="raise")(rng, x, 9)
        if not isinstance(rng, random.SystemRandom):
            fused = fuse(until_it_ends, on_reject="silent")
            own_copy = rng if rng is own else copy.deepcopy(rng)
            assert fused(rng, x, 9) == until_it_ends(own_copy, x, 9)


def test_patched_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fuse(by_random, on_reject="silent")
    drawn(fused, 3)
    monkeypatch.setattr(random, "random", lambda: 0.25)
    assert drawn(fused, 3)[0] == drawn(by_random, 3)[0]
    monkeypatch.undo()
    monkeypatch.setattr(random.Random, "uniform", lambda self, a, b: a)
    assert drawn(fused, 3) == drawn(by_random, 3)
    monkeypatch.undo()
    assert drawn(fused, 3) == drawn(by_random, 3)


def test_a_generator_that_changes_its_nature() -> None:
    fused = fuse(until_it_ends, on_reject="silent")
    ours, theirs, x = random.Random(3), random.Random(3), np.ones(9)
    for k in range(4):
        for rng in (ours, theirs):
            if k == 1:
                rng.random = lambda: 0.5  # type: ignore[method-assign]
            elif k == 2:
                del rng.random
        assert fused(ours, x, 9) == until_it_ends(theirs, x, 9)




def doubtful(rng, a, b):
    s = 0.0
    for _ in range(3):
        s += rng.uniform(a, b) + rng.normal(a, b)
    return s


def tried(function: Callable[..., Any], *args: Any) -> str:
    try:
        return repr(function(*args))
    except (ValueError, OverflowError) as error:
        return repr(error)


@pytest.mark.share(20)
@pytest.mark.parametrize("family", ["legacy", "pcg"])
@pytest.mark.parametrize("b", [0.0, -0.0, -1.0, math.inf, math.nan, 1e308])
def test_arguments_of_which_numpy_decides(family: str, b: float) -> None:
    fused = fuse(doubtful, on_reject="silent")
    for a in (1.0, -1e308):
        ours, theirs = MAKERS[family](3), MAKERS[family](3)
        assert tried(fused, ours, a, b) == tried(doubtful, theirs, a, b)
        assert told(ours) == told(theirs)


@pytest.mark.parametrize("family", MAKERS)
def test_threads_draw_nothing_twice(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(listed)
    rng, wanted = MAKERS[family](3), MAKERS[family](3)
    fused(MAKERS[family](1), 3)
    found: list[float] = []

    def draw() -> None:
        for _ in range(20):
            found.extend(fused(rng, 500))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(wanted.random() for _ in range(4 * 20 * 500))


def listed(rng, n):
    return [rng.random() for _ in range(n)]


def with_a_step_only(r):
    return r.randrange(10, step=2)


def without_an_argument(r):
    return r.expovariate()


@pytest.mark.parametrize(
    "f", [with_a_step_only, without_an_argument], ids=lambda f: f.__name__
)
def test_missing_arguments(f: Callable[..., Any]) -> None:
    """An argument that Python requires; `expovariate` has a default from Python 3.12 on."""
    fused, r = fuse(f, on_reject="silent"), random.Random(3)
    try:
        wanted = f(random.Random(3))
    except TypeError:
        with pytest.raises(TypeError):
            fused(r)
        assert told(r) == told(random.Random(3))
    else:
        assert fused(r) == wanted
        assert fused.stats.compiled == 1
