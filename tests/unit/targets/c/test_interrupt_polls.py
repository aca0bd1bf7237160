"""Kernels look for signals: Ctrl-C is noticed in every kind of loop; chunks are the whole loop."""
from __future__ import annotations

import functools
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

from loopir import nodes as ir
from loopir.ir_printer import parse
from targets.c import interrupt_polls
from targets.c.interrupt_polls import (
    INNERMOST,
    NEST,
    copies_of_body,
    declarations,
    poll_if_long,
    polls_of,
    tallies_of,
)
from targets.isa.target_registry import runnable_targets
from transpile import fuse

TARGETS = [t.name for t in runnable_targets()]


def counted(x, n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s


def nested(x, n):
    s = 0
    for i in range(n):
        for j in range(1000):
            s = (s * 31 + i * j) % 1000003
    return s


def folded(x, n):
    s = 0.0
    for k in range(n):
        for i in range(len(x)):
            s += x[i] * x[i]
        x[0] = s + k * 0.0
    return s


def many_exponentials(x, n):
    for k in range(n):
        for i in range(len(x)):
            x[i] = np.exp(x[i] * 0.5) - 1.0 + k * 0.0
    return x


def searched(x, n):
    for i in range(n):
        if x[i % 1000] > 5.0:
            return i
    return -1


def collatz(x, n):
    best = 0
    for i in range(1, n):
        v, c = i, 0
        while v != 1 and c < 1000:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            c += 1
        best = max(best, c)
    return best


def counted_by_while(x, n):
    k = s = 0
    while k < n:
        s = (s * 31 + k) % 1000003
        k += 1
    return s


def long_inside(x, n):
    s = 0
    for k in range(3):
        for i in range(n):
            s = (s * 31 + i + k) % 1000003
    return s


def long_fold_inside(x, n):
    s = 0
    for k in range(3):
        for i in range(k, n):
            s += i & 5
    return s


def long_inside_a_while(x, n):
    s = k = 0
    while k < 5:
        for i in range(n):
            s = (s * 31 + i) % 1000003
        k += 1
    return s


def while_inside_a_while(x, n):
    s = k = 0
    while k < n:
        j = 0
        while j < 3:
            s = (s * 31 + k) % 1000003
            j += 1
        k += 1
    return s


def endless(x, n):
    k = 0
    while n > 5:
        k += 1
    return k


def swept_again(x, n):
    a = np.ones((3000, 1000))
    for _k in range(n):
        for i in range(1, 3000):
            for j in range(1000):
                a[i, j] = a[i, j] * 0.5 + a[i - 1, j] * x[j]
    return a


def mapped_again(x, n):
    y = np.zeros(3_000_000)
    for _k in range(n):
        for i in range(len(y)):
            y[i] = math.exp(math.sin(y[i]))
    return y


def appended_again(x, n):
    out = []
    for k in range(n):
        for i in range(10_000_000):
            if i % 7 == k % 7:
                out.append(i)  # noqa: PERF401  # the loop is what is tested
        if len(out) > 10_000_000:
            out = []
    return len(out)


LONG: list[Callable[..., Any]] = [
    counted, nested, folded, many_exponentials, searched, collatz, counted_by_while, long_inside,
    long_fold_inside, long_inside_a_while, while_inside_a_while, swept_again, mapped_again,
    appended_again, endless,
]


class Stop(Exception):
    """What the signal handler raises."""


@pytest.fixture
def alarm() -> Iterator[Callable[[], float]]:
    """A timer whose signal raises Stop after 0.1 s; what is returned is the time of that."""
    def raises(number: int, frame: FrameType | None) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, raises)

    def start() -> float:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        return time.monotonic() + 0.1

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("function", LONG, ids=lambda f: f.__name__)
def test_a_signal_is_noticed(
    function: Callable[..., Any], alarm: Callable[[], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused, x = fuse(function), np.linspace(0.0, 1e-3, 1000)
    assert fused(x.copy(), 3) is not None
    late = []
    for _ in range(3):  # a busy machine may be late once
        at = alarm()
        with pytest.raises(Stop):
            fused(x.copy(), 10**10)
        late.append(time.monotonic() - at)
    assert min(late) < 0.2
    assert fused(x.copy(), 3) is not None, "the kernel can be called again"


def rarely_long(x, counts):
    s = 0
    for i in range(len(counts)):
        if counts[i] > 1:
            for j in range(100_000):
                s = (s * 31 + j) % 1000003
        s += i
    return s


def long_rows(x, counts):
    s = 0.0
    for i in range(len(counts)):
        for j in range(counts[i]):
            s = s * 0.5 + x[j % 8]
    return s


def long_rows_of_much(x, counts):
    s = 0.0
    for i in range(len(counts)):
        for j in range(counts[i]):
            s += math.exp(math.sin(s + j * 0.001))
    return s


def long_maps(x, counts):
    for i in range(len(counts)):
        for j in range(counts[i]):
            x[j] = math.exp(x[j] * 0.5) - 1.0
    return x[0]


def long_nests(x, counts):
    s = 0
    for c in range(len(counts)):
        for i in range(counts[c] // 64 + 1):
            for j in range(counts[c] // 64 + 1):
                s = (s * 31 + i * j) % 1000003
    return s


def long_whiles(x, counts):
    s = 0
    for i in range(len(counts)):
        v, c = i, 0
        while v != -1 and c < counts[i]:
            v = (v * 31 + 7) % 1000003
            c += 1
        s += v
    return s


def long_shifts(x, counts):
    for i in range(len(counts)):
        j = counts[i] - 1
        while j >= 0 and x[j] < 5.0:
            x[j] = x[j] * 0.5 + 1.0
            j -= 1
    return x[0]


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "function",
    [rarely_long, long_rows, long_rows_of_much, long_maps, long_nests, long_whiles, long_shifts],
    ids=lambda f: f.__name__,
)
def test_a_signal_is_noticed_where_iterations_take_long_suddenly(
    function: Callable[..., Any], alarm: Callable[[], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million short iterations, so that there are many between two looks, then long ones."""
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    counts = np.full(1_100_000, 60_000)
    counts[:1_000_000] = 1
    fused, x = fuse(function), np.linspace(0.0, 1e-3, 60_000)
    assert fused(x.copy(), counts[:3]) == function(x.copy(), counts[:3])
    late = []
    for _ in range(3):  # a busy machine may be late once
        at = alarm()
        with pytest.raises(Stop):
            fused(x.copy(), counts)
        late.append(time.monotonic() - at)
    assert min(late) < 0.2


@pytest.mark.parametrize("native", [True, False])
def test_on_both_call_paths(
    native: bool, alarm: Callable[[], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    from targets.abi import c_api

    if not native:
        monkeypatch.setattr(c_api, "opened", [None])
    fused = fuse(counted, cache=False)
    fused(np.ones(2), 3)
    alarm()
    with pytest.raises(Stop):
        fused(np.ones(2), 10**9)
    assert fused(np.ones(2), 3) == counted(np.ones(2), 3)


def counted_down(x, n):
    s = 0
    for i in range(n, 0, -3):
        s = (s * 7 + i) % 1000003
    return s


def by_steps(x, n):
    s = 0
    for i in range(5, n, 7):
        s = (s * 7 + i) % 1000003
    return s


def mapped(x, n):
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[i] * 2.0 + 1.0
    return out


def summed(x, n):
    s, most = 0, 0.0
    for i in range(n):
        s += int(x[i] > 0.5)
        most = max(most, x[i])
    return s, most


def first_above(x, n):
    for i in range(n):
        if x[i] > 2.0:
            return i
    return n


def left_early(x, n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
        if s == 77:
            break
    return s


def selected(x, n):
    out = []
    for i in range(n):
        if x[i] > 0.9:
            out.append(x[i])  # noqa: PERF401 (the loop is what is tested)
    return out


def under_a_condition(x, n):
    out = np.zeros(n)
    for i in range(n):
        if x[i] > 0.99:
            out[i] = np.sqrt(x[i])
    return out


def scanned(x, n):
    out, s = np.zeros(n, np.int64), 0
    for i in range(n):
        s += int(x[i] * 10.0)
        out[i] = s
    return out


def rows_left_early(x, n):
    found = s = 0
    for i in range(n):
        for j in range(3):
            s = (s * 31 + i * j) % 1009
            if s == 77:
                found += 1
                break
        if found > 40:
            break
    return found, s, i if n else -1


def products_of_rows(x, n):
    out = np.zeros((n // 3, 3))
    for i in range(n // 3):
        for j in range(3):
            t = 0.0
            for k in range(min(i, 4)):
                t = max(t, x[3 * i - k] * j)
            out[i, j] = t
    return out


CHUNKED: list[Callable[..., Any]] = [
    counted, counted_down, by_steps, mapped, summed, first_above, left_early, selected,
    under_a_condition, scanned, searched, rows_left_early, products_of_rows,
]
CHUNK = 32
GROUPS = CHUNK * 64
SIZES = [
    0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 1, GROUPS - 1, GROUPS, GROUPS + 1,
    3 * GROUPS + 1, 17 * GROUPS + 33,
]


def cases() -> Iterator[tuple[Any, int]]:
    """Arguments of each size, also around multiples of a chunk of iterations or groups of lanes; in
    the last ones an element that a search finds.
    """
    x = np.random.default_rng(0).random(max(SIZES))
    for n in SIZES:
        yield x, n
        x[n // 2] += 0.001
    x[-3] = 3.0
    yield x, max(SIZES)


@functools.cache
def as_python(function: Callable[..., Any]) -> list[Any]:
    """What the function returns for `cases`."""
    return [function(x, n) for x, n in cases()]


@pytest.mark.share(4, each="function")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", CHUNKED, ids=lambda f: f.__name__)
def test_chunks_are_the_whole_loop(
    function: Callable[..., Any], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    monkeypatch.setattr(interrupt_polls, "INNERMOST", CHUNK)
    monkeypatch.setattr(interrupt_polls, "NEST", 3)
    fused = fuse(function, target=target, cache=False)
    expected = as_python(function)
    for (x, n), result in zip(cases(), expected, strict=True):
        assert np.array_equal(fused(x, n), result), n


def test_which_loops_poll() -> None:
    kernel = parse(
        "def k(x: f64[:], n: i64):\n"
        "    for i in loop(0, n):\n"
        "        x[i] = 1.0\n"
        "    for i in loop(0, 100):\n"
        "        x[i] = 2.0\n"
        "    for i in loop(0, n):\n"
        "        for j in loop(0, n):\n"
        "            x[j] = 3.0\n"
        "    for i in loop(0, n):\n"
        "        for j in loop(0, n):\n"
        "            x[i] = exp(sin(x[j]) + cos(x[j])) * exp(x[i]) + f64(j)\n"
        "    for i in loop(0, min(n, 32)):\n"
        "        x[i] = 4.0\n"
    )
    single, short, outer, heavy, bounded = kernel.body
    polls = polls_of(kernel.body)
    assert {loop: (p.chunk, p.is_timed) for loop, p in polls.items()} == {
        single: (INNERMOST, False),
        outer: (NEST, True),
        heavy: (NEST, True),
        heavy.body[0]: (INNERMOST // 8, False),
    }
    assert not {short, bounded} & polls.keys()


@pytest.mark.parametrize(
    ("polled", "loops"),
    [
        # each iteration of the nest in the loop over t reads another element
        ("t", "for i in loop(0, n):\n for j in loop(0, n):\n  a[i, j] = 1.0"),
        # … or the same ones again
        ("t i", "for i in loop(0, n):\n for j in loop(0, n):\n  a[0, j] = 1.0"),
        ("t i", "for i in loop(0, n):\n for j in loop(0, n):\n  x[i + j] = 1.0"),
        ("t i", "for i in loop(0, n):\n for j in loop(0, n):\n  a[i, p[j]] = x[0]"),
        # blocks that the compiler makes of a loop
        ("t", "for i in loop(range(0, n, 4096)):\n for j in loop(i, min(i + 4096, n)):\n"
              "  x[j] = 1.0"),
        ("t i", "for i in loop(range(0, n, 4096)):\n for j in loop(i, n):\n  x[j] = 1.0"),
        # an index that is computed first; one that is read from memory; few iterations
        ("t", "for i in loop(0, n):\n k = i + 3\n x[k] = 1.0"),
        ("t i", "for i in loop(0, n):\n k = p[0] + i * 0\n x[p[0]] = 1.0"),
        ("t i", "for i in loop(0, n):\n for j in loop(i, min(i + 4096, n)):\n  x[j] = 1.0"),
        # an array of one block, which is used again for each
        ("t i", "for i in loop(range(0, n, 4096)):\n for j in loop(i, min(i + 4096, n)):\n"
                "  x[j - i] = 1.0"),
        ("t", "for i in loop(range(0, n, 262144)):\n"
              " blocks = (min(i + 262144, n) - i + 4095) // 4096\n"
              " for b in loop(0, blocks):\n  first = i + b * 4096\n"
              "  for j in loop(first, min(first + 4096, n)):\n   x[j] = 1.0\n"
              " for b_1 in loop(0, blocks):\n  x[0] = x[b_1]"),
        # a check, where not every kernel ends
        ("t i", 'for i in loop(0, n):\n b = (i >= 0) & (i < x.shape[0])\n check(b, "replay")\n'
                " if b:\n  x[i] = 1.0"),
        ("t i", 'for i in loop(0, n):\n b = (i >= 0) & (i < x.shape[0])\n check(b, "replay")\n'
                " x[select(b, i, 0)] = 1.0"),
        ("t i", "for i in loop(0, n):\n x[i % 8] = 1.0"),
        ("t i", "for i in loop(0, n):\n if x[0] > 0.0:\n  x[i] = 1.0"),
        ("t", "for i in loop(0, n):\n for c in loop(0, 3):\n  a[i, c] = 1.0"),
        ("t", "for c in loop(0, 3):\n for i in loop(0, n):\n  x[i] = 1.0"),
    ],
)  # fmt: skip
def test_loops_that_memory_bounds_do_not_poll(polled: str, loops: str) -> None:
    body = "".join(f"        {line.replace(' ', '    ', len(line) - len(line.lstrip()))}\n"
                   for line in loops.splitlines())
    kernel = parse(
        "def k(a: f64[:, :], x: f64[:], p: i64[:], n: i64):\n"
        f"    for t in loop(0, n):\n{body}"
    )
    assert [loop.var for loop in polls_of(kernel.body)] == polled.split()


@pytest.mark.parametrize(
    ("polls", "body"),
    [
        (False, "x[k] = s\n k = step(k + 1)"),
        (True, "x[k] = s\n k = step(k * 2)"),
        (True, "if s > 0.0:\n  x[k] = s\n k = step(k + 1)"),
        (True, "x[select(k < n, k, 0)] = s\n k = step(k + 1)"),
        (True, "for j in loop(0, n):\n  x[j] = s\n k = step(k + 1)"),
    ],
)
def test_a_while_in_a_loop_that_memory_bounds_does_not_poll(polls: bool, body: str) -> None:
    lines = "".join(f"        {line.replace(' ', '    ', len(line) - len(line.lstrip()))}\n"
                    for line in f" {body}".splitlines())
    kernel = parse(
        "def k(x: f64[:], s: f64, n: i64):\n"
        f"    for t in loop(0, n):\n        while loop(x[0] > s, k=0):\n{lines}"
    )
    found = polls_of(kernel.body)
    assert any(isinstance(loop, ir.While) for loop in found) == polls


def test_a_loop_of_few_iterations_leaves_the_polls_to_those_in_it() -> None:
    kernel = parse(
        "def k(x: f64[:], n: i64):\n"
        "    for c in loop(0, 3):\n        for i in loop(0, n):\n            x[i] = 1.0\n"
        "    for b in loop(0, 300):\n        for i in loop(0, 64):\n            x[i] = 1.0\n"
    )
    assert [loop.var for loop in polls_of(kernel.body)] == ["i"]


def test_long_runs_of_loops_inside_are_added_up() -> None:
    """But for those that surely do little, those that count down, and the outermost ones."""
    kernel = parse(
        "def k(x: f64[:], s: f64, n: i64):\n"
        "    for i in loop(0, n):\n"
        "        for j in loop(0, n):\n            x[j] = 1.0\n"
        "        for j in loop(0, 100):\n            x[j] = 2.0\n"
        "        for j in loop(0, 100000):\n            x[0] = f64(j)\n"
        "        for j in loop(0, n):\n"
        "            for h in loop(0, n):\n                x[h] = exp(sin(x[j]) + cos(x[h]))\n"
        "        while loop(x[0] > s, k=0):\n            x[k] = s\n            k = step(k + 1)\n"
        "        while loop(x[0] > s, k=1):\n            x[k] = s\n            k = step(k * 2)\n"
        "    for i in loop(0, n):\n        x[i] = 3.0\n"
    )
    outer = kernel.body[0]
    plain, _short, constant, nest, through_x, _any = outer.body
    found = tallies_of(kernel.body, polls_of(kernel.body))
    assert {n: (t.work, t.least, t.counter) for n, t in found.items()} == {
        plain: (1, 1024, ""),
        constant: (1, 1024, ""),
        nest: (64, 32, ""),
        nest.body[0]: (6, 170, ""),
        through_x: (1, 1024, "k"),
    }
    assert not tallies_of(kernel.body, {})


def test_consecutive_loops_are_counted_together_and_blocks_by_elements() -> None:
    kernel = parse(
        "def k(x: f64[:], m: i64, n: i64):\n"
        "    for i in loop(0, n):\n"
        "        for j in loop(0, m):\n            x[j] = 1.0\n"
        "        for j in loop(m, n):\n            x[j] = 2.0\n"
        "        for b in loop(range(0, n, 262144)):\n"
        "            for j in loop(b, min(b + 262144, n)):\n                x[j] = 3.0\n"
    )
    outer = kernel.body[0]
    _first, last, blocks = outer.body
    polls = polls_of(kernel.body)
    found = tallies_of(kernel.body, polls)
    assert set(found) == {last, blocks, blocks.body[0]}
    assert found[last].start == ir.Const(0, "i64")
    assert found[blocks].step == 1
    count = "if (__builtin_expect(n > 1024, 0) && TP_IS_DUE(tp_tally.turns += n * 1, tp_tally)"
    assert poll_if_long("n", found[blocks], "i_stop = i;") == f"{count}) i_stop = i;"
    assert poll_if_long("n", found[blocks], "").startswith(f"{count}) if (status & 16 || ")


def test_only_the_clocks_of_a_text_are_declared() -> None:
    kernel = parse(
        "def k(x: f64[:], n: i64):\n"
        "    for i in loop(0, n):\n"
        "        while loop(x[0] > 1.0, k=1):\n"
        "            x[k] = 2.0\n            k = step(k * 2)\n"
    )
    polls = polls_of(kernel.body)
    first, second = (poll.clock for poll in polls.values())
    assert declarations(polls, first) == [
        f"tp_clock {first};", f"{first}.read = 0;", f"{first}.turns = {NEST};",
    ]
    assert declarations(polls, f"tp_tally {second}") == [
        "tp_clock tp_tally;", "tp_tally.read = tp_tally.turns = 0;",
        f"tp_clock {second};", f"{second}.read = 0;", f"int64_t {second}_left = {INNERMOST // 4};",
    ]


@pytest.mark.parametrize(
    ("polled", "loop"),
    [("i", "loop(0, n)"), ("i", "vec(0, n, width=8)"), ("i j", "vec(0, n, width=8, group=32)")],
)
def test_a_loop_in_a_group_of_registers_does_more(polled: str, loop: str) -> None:
    """Each iteration of the inner loop does its work once for each register of the outer one."""
    kernel = parse(
        "def k(x: f64[:], s: f64, n: i64):\n"
        f"    for i in {loop}:\n"
        "        for j in loop(0, n):\n            x[j] = sqrt(x[j]) / s\n"
    )
    assert [n.var for n in polls_of(kernel.body)] == polled.split()


def test_a_short_body_of_a_while_is_repeated() -> None:
    def copies(body: str, registers: int = 1) -> int:
        kernel = parse(
            "def k(x: f64[:], n: i64):\n"
            f"    while loop(k < n, k=0):\n        {body}\n        k = step(k + 1)\n"
        )
        return copies_of_body(kernel.body[0], registers)

    assert copies("x[k] = 1.0") == 4
    assert copies("x[k] = 1.0", 16) == 1
    assert copies("for i in loop(0, n):\n            x[i] = 1.0") == 1


def escapes(x, n):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        a, b, k = 0.0, 0.0, 0
        while k < n and a * a + b * b < 4.0:
            a, b = a * a - b * b + x[i], 2.0 * a * b + 0.1
            k += 1
        out[i] = k
    return out


def sums_of_products(x, n):
    total = 0.0
    for k in range(n):
        for i in range(len(x)):
            total += x[i] * 1.5 + k + x[len(x) - 1 - i] * 0.25
    return total


@pytest.mark.parametrize(
    ("function", "n"), [(escapes, 50_000), (sums_of_products, 75_000), (counted, 15_000_000)],
    ids=lambda v: getattr(v, "__name__", ""),
)
@pytest.mark.parametrize("target", TARGETS)
def test_a_handler_that_raises_nothing_changes_nothing(
    function: Callable[..., Any], n: int, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs while the kernel has values in registers of all kinds."""
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    ran = [0]

    def handles(number: int, frame: FrameType | None) -> None:
        ran[0] += 1
        np.exp(np.linspace(-9.0, 9.0, 500)).sum()

    fused, x = fuse(function, target=target), np.linspace(-1.9, 0.2, 1000)
    expected = fused(x, n)
    before = signal.signal(signal.SIGALRM, handles)
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
    try:
        got = fused(x, n)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert np.array_equal(got, expected)
    assert ran[0]


def product(a, b):
    return a @ b


def test_a_handler_calls_the_function_that_it_interrupts() -> None:
    """The kernel packs columns of b in thread-local memory, which the call of the handler uses,
    too: so Python runs that call.
    """
    rng = np.random.default_rng(1)
    long = np.lib.stride_tricks.as_strided(rng.normal(size=101_200), (100_000, 1100), (8, 8))
    b, short, other = (rng.normal(size=shape) for shape in ((1100, 16), (4, 1100), (1100, 16)))
    function = fuse(product, cache=False, threads=1)
    wanted, wanted_inside = function(long, b), function(short, other)
    inside = []

    def handles(number: int, frame: FrameType | None) -> None:
        inside.append(function(short, other))

    before = signal.signal(signal.SIGALRM, handles)
    signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
    try:
        for _ in range(3):
            assert function(long, b).tobytes() == wanted.tobytes()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert inside
    assert all(np.allclose(result, wanted_inside) for result in inside)


def steps_to_seven(x):
    n = 0
    while x != 7:
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        n += 1
    return n


def test_a_long_call_that_keeps_the_gil_lets_other_threads_run() -> None:
    """It keeps the GIL since its arguments are small; another thread gets a turn at a poll."""
    fused, ended, turns = fuse(steps_to_seven), threading.Event(), list[float]()
    fused(7)

    def count() -> None:
        while not ended.wait(0.005):
            turns.append(time.perf_counter())

    other = threading.Thread(target=count)
    other.start()
    start = time.perf_counter()
    fused(25163015)  # 500 million steps
    end = time.perf_counter()
    ended.set()
    other.join()
    assert fused.stats.compiled == 2
    inside = sum(start + 0.1 < t < end - 0.1 for t in turns)
    assert inside > 3 * (end - start - 0.3)
