"""Loops that wait or are left, and early returns: Python's answer, and refusals with a code."""
from __future__ import annotations

import itertools
import linecache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from forked_programs import run_program
from random_exits import program
from staged import Replayed, interpreted, through

from transpile import fuse
from transpile.diagnostics import Refused
from transpile.errors import FuseError
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import parameter_names, type_of

ENOUGH = 0.6
"""The share of random programs that must compile."""


def made(text: str, number: int) -> Any:
    """The function of `text`, its source to be found."""
    path, names = f"<exits {number}>", {"np": np, "itertools": itertools}
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    exec(compile(text, path, "exec"), names)
    return names["f"]


def arguments(random: Random) -> tuple[Any, ...]:
    n = random.choice((0, 1, 2, 5, 9))
    numbers = [float(random.choice((-3, -1, 0, 0.5, 1, 2, 4, np.nan))) for _ in range(2 * n)]
    return np.array(numbers[:n]), np.array(numbers[n:]), random.choice((0.0, 1.5))


def agrees(number: int, native: str | None) -> bool:
    """Whether random program `number` compiles; its answer is then Python's, or none."""
    random = Random(number)
    text = program(random)
    function = made(text, number)
    calls = [arguments(random) for _ in range(6)]
    types = dict(zip(parameter_names(function.__code__), map(type_of, calls[0]), strict=True))
    try:
        stages = compile_stages(function, types, Options())
    except Refused:
        return False
    kernel = stages.kernel
    call = through(stages, stages.plan, kernel, interpreted(kernel))
    for args in calls:
        wanted = outcome(function, args)
        got = outcome(call, args)
        if not (got.error and issubclass(got.error[0], Replayed)):
            assert_same(got, wanted, f"{text}\ninterpreted, program {number}, for {args}")
        if native:
            compiled = outcome(fuse(function, target=native, on_reject="silent"), args)
            assert_same(compiled, wanted, f"{text}\n{native}, program {number}, for {args}")
    return True


@pytest.mark.share(2)
@pytest.mark.parametrize("part", range(2))
def test_random_programs(part: int, start: int) -> None:
    done = [agrees(10 * start + k, "scalar" if k < 2 else None) for k in range(part, 10, 2)]
    assert sum(done) >= ENOUGH * len(done)


def agrees_with_handlers(number: int) -> bool:
    """Whether random program `number`, with ``try``, ``match`` and loops over several iterables, is
    served by machine code; its answer is Python's in any case.
    """
    random = Random(number)
    text = program(random, handlers=True)
    function = made(text, number)
    target = ("scalar", "sse2", "avx2")[number % 3]
    compiled = fuse(function, target=target, on_reject="silent", cache=False)
    for _ in range(5):
        args = arguments(random)
        wanted, got = outcome(function, args), outcome(compiled, args)
        assert_same(got, wanted, f"{text}\n{target}, program {number}, for {args}")
    return compiled.stats.compiled > 0


def test_random_programs_with_handlers(start: int) -> None:
    """Programs to find walks over statements that leave out handlers of a ``try``, cases of a
    ``match`` or the ``else`` of a loop: such a walk changes answers.
    """
    done = [agrees_with_handlers(6 * start + k) for k in range(6)]
    assert sum(done) >= 2, "few are compiled"


@pytest.mark.long
def test_many_random_programs_with_handlers(start: int) -> None:
    done = [agrees_with_handlers(start + k) for k in range(1500)]
    assert sum(done) >= 0.4 * len(done)


@pytest.mark.long
def test_many_random_programs(start: int) -> None:
    done = [agrees(start + k, "avx2" if k % 20 == 0 else None) for k in range(1500)]
    assert sum(done) >= ENOUGH * len(done)


def test_an_overflow_in_a_loop_without_end_is_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a failed check leaves behind must not keep a loop going."""

    @fuse(target="scalar")
    def grows(n: int) -> int:
        k = n
        while k != 0 and k < 10**30:
            k = k * 3
        return k

    assert grows(7) == 7 * 3 ** 62
    assert sum(grows.stats.replays.values()) == 1
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    with pytest.raises(FuseError):
        grows(7)
    assert grows(0) == 0


def test_a_float_that_follows_an_int_is_not_cut_off() -> None:
    @fuse(target="scalar", on_reject="raise")
    def last(x: np.ndarray, k: int) -> Any:
        late = k
        for v in x:
            late = v
        return late

    for x in (np.array([1.5, 2.5]), np.array([])):
        assert_same(outcome(last, (x, 3)), outcome(last.__wrapped__, (x, 3)), "last")


def test_names_that_look_like_flags_of_the_compiler() -> None:
    """Early returns are found by their form, whatever the user calls what they test."""

    def stopped(x: Any, _returned_yet: Any, _left: Any, _skipped: Any) -> Any:
        if _returned_yet:
            return -1.0
        s = 0.0
        for v in x:
            if v < _left:
                return s
            if v > _skipped:
                continue
            s += v
        return s

    fused = fuse(stopped, on_reject="raise")
    for x in (np.ones(5), np.array([1.0, 9.0, 2.0, -5.0, 4.0])):
        for returned in (False, True):
            assert fused(x, returned, 0.0, 5.0) == stopped(x, returned, 0.0, 5.0)
    assert fused.stats.replays == {}


def test_results_of_different_types() -> None:
    """Each way out returns what Python would: a tuple, a NumPy scalar, an int, None, an array."""

    @fuse(target="scalar", on_reject="raise")
    def several(x: np.ndarray, t: float) -> Any:
        for i in range(len(x)):
            if x[i] > t:
                return i, x[i]
            if x[i] == 0:
                return x[i]
            if x[i] == -1:
                return i
            if x[i] == -2:
                return x
        return None

    for first in (9.0, 0.0, -1.0, -2.0, 1.0):
        args = (np.array([1.0, first, 9.0 if first != 1.0 else 1.0]), 5.0)
        assert_same(outcome(several, args), outcome(several.__wrapped__, args), str(first))
    assert several.stats.compiled == 5


ENDLESS = '''
import signal
import numpy as np
from transpile import fuse


@fuse(target="scalar", on_reject="raise")
def goes_on(x, out):
    k = 0
    while k < x[0]:
        k = (k + 1) % 1000
        out[1] = k
    return k


class Told(Exception):
    pass


def told(number, frame):
    raise Told("stop")


x, out = np.zeros(3), np.zeros(3)
assert goes_on(x, out) == 0
x[0] = 2000
for handler, expected in ((signal.default_int_handler, KeyboardInterrupt), (told, Told)):
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        goes_on(x, out)
    except expected as error:
        print(type(error).__name__, *error.args)
assert goes_on.stats.replays == {}
'''


def test_an_endless_loop_can_be_stopped(tmp_path: Path) -> None:
    """By a signal, as in Python; in a process of its own, which is killed where it cannot."""
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    done = run_program(script, timeout=60, check=False)
    assert done.stdout.split() == ["KeyboardInterrupt", "Told", "stop"], done.stderr
