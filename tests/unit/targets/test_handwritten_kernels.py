"""The hand-written kernels: what is generated == what is written by hand == what both mean.

Bits and status, for every kernel, dtype and size, on every instruction set that runs here or under
an emulator; a target's calls run in one process. ``--long`` compiles as kernels are compiled, not
in a hurry, and has emulators run all sizes.
"""
from __future__ import annotations

import copy
import errno
import os
import signal
import subprocess
from collections import Counter
from typing import Any

import numpy as np
import pytest
from agree import same
from batch import HALVES, PAIRS, PLACES, WAYS, Call, Pairs, command, generated, run_batch
from batch_cases import LARGE, SMALL, calls
from tally import AGREED

from loopir.dtypes import DTYPES
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse
from loopir.ir_traversal import walk
from loopir.ir_verifier import verify
from loopir.nodes import Append, Kernel
from targets import kernel_selection
from targets.handwritten_kernels import kernel_library, kernel_meaning
from targets.isa.target_registry import TARGETS
from targets.kernel_selection import FASTER_KERNELS, match_kernel
from transpile import fuse

FIRST = next(iter(PLACES))
"""The best target of this machine."""


def what(call: Call) -> str:
    name, dtype = PAIRS[call.pair]
    sizes = [a.shape for a in call.args.values() if isinstance(a, np.ndarray)]
    return f"{name} {dtype} {sizes} shift {call.shift}"


def seen(call: Call, arrays: dict[str, Any]) -> dict[str, Any]:
    """The arrays without what lies behind the appended elements: anything may."""
    out = dict(arrays)
    for n in walk(kernel_meaning(*PAIRS[call.pair])):
        if isinstance(n, Append):
            out[n.array] = out[n.array][: int(out["count"])]
    return out


def agree(call: Call, a: tuple[int, Any], b: tuple[int, Any], message: str) -> None:
    assert a[0] == b[0], f"{message}: {what(call)}: status {a[0]}, not {b[0]}"
    left, right = seen(call, a[1]), seen(call, b[1])
    for name in left:
        assert same(left[name], right[name]), (
            f"{message}: {what(call)}: {name} is {left[name]!r}, not {right[name]!r}"
        )


def test_meanings_are_loop_ir() -> None:
    for name, dtype in PAIRS:
        kernel = kernel_meaning(name, dtype)
        verify(kernel, "scalar")
        assert kernel.name == name


def test_there_are_enough() -> None:
    assert len(PAIRS) >= 46
    assert {d for _, d in PAIRS} == {"f32", "f64", "i32", "i64", "bool"}
    assert {*HALVES[0]} | {*HALVES[1]} == {*PAIRS}


@pytest.mark.share(26)
@pytest.mark.parametrize(("place", "half"), [
    pytest.param(place, half, marks=[pytest.mark.plain] * ((place, half) == (FIRST, 1)))
    for place in PLACES if place != "avx2 by qemu64" for half in (0, 1)
])
def test_generated_is_by_hand(place: str, half: int, request: pytest.FixtureRequest) -> None:
    long = request.config.getoption("--long")
    if place == "avx2" and not long and "avx512" in PLACES:
        pytest.skip("of two that run here, the other; this one with --long")
    sizes = SMALL + LARGE if not PLACES[place] or long else SMALL[::4] + LARGE[:2]
    pairs = HALVES[half]
    todo = list(calls(sizes, pairs=pairs))
    words = command(place, "-O2" if long else "-Og", pairs)
    for_way = [run_batch(words, todo, way, pairs) for way in WAYS]
    for call, a, b in zip(todo, *for_way, strict=True):
        agree(call, a, b, f"{place}: generated against by hand")
    names, dtypes = (Counter(PAIRS[c.pair][k] for c in todo) for k in (0, 1))
    print(f"{place}: {len(todo)} calls; {_listed(names)}; {_listed(dtypes)}")
    AGREED[f"by hand, {place}"] += len(todo)
    assert set(names) == set(kernel_library())
    if place == FIRST:
        by_hand_is_the_meaning(words, pairs)


def by_hand_is_the_meaning(words: list[str], pairs: Pairs) -> None:
    """The interpreter runs what the passes made: the fixed order of float folds, else no change.

    `words` runs the program of these kernels for the first place.
    """
    todo = list(calls(SMALL[::6], seed=2, pairs=pairs))
    target = FIRST.split()[0]
    for call, got in zip(todo, run_batch(words, todo, WAYS[1], pairs), strict=True):
        name, dtype = PAIRS[call.pair]
        is_float = DTYPES[dtype].kind == "f"
        kernel = generated(name, dtype, target) if is_float else kernel_meaning(name, dtype)
        args = copy.deepcopy(call.args)  # what is one array stays one
        status = run_kernel(kernel, args).status
        agree(call, got, (status, args), "by hand against the meaning")
        AGREED["by hand, interpreter"] += 1


def _listed(count: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(count.items()))


@pytest.mark.skipif("avx2 by qemu64" not in PLACES, reason="needs an emulator")
def test_an_old_machine_has_no_avx2() -> None:
    """So the programs for SSE2, which run there, have no instruction of a later one."""
    call = next(calls((64,)))
    words = command("avx2 by qemu64", pairs=PAIRS[:1])
    with pytest.raises(subprocess.CalledProcessError) as died:
        run_batch(words, [call], WAYS[0], PAIRS[:1])
    assert died.value.returncode == -signal.SIGILL


# -- selection


def turned(a, b):
    rows, columns = a.shape
    for r in range(rows):
        for c in range(columns):
            b[c, r] = a[r, c]


def doubled(a, b):
    for r in range(a.shape[0]):
        for c in range(a.shape[1]):
            b[c, r] = a[r, c] * 2


def test_wins_are_kernels_and_say_why() -> None:
    for win in FASTER_KERNELS:
        assert set(win.dtypes) <= set(kernel_library()[win.name].dtypes)
        assert set(win.targets) <= set(TARGETS)
        assert win.measured


def test_only_meanings_of_the_kernels_dtypes_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(name: str, dtype: str) -> Kernel:
        read.append(dtype)
        return kernel_meaning(name, dtype)

    monkeypatch.setattr(kernel_selection, "kernel_meaning", noted)
    match_kernel(parse("def k(x: mut(f32[()]), n: i64):\n    x[()] = 1.0\n"), TARGETS["avx512"])
    assert {*read} == {"f32", "i64"}


def test_meanings_match_whatever_their_names() -> None:
    same = """
def k(out: mut(f64[:, ::1]), m: f64[:, ::1]):
    disjoint(out, m)
    for r in loop(0, m.shape[0]):
        for s in loop(0, m.shape[1]):
            out[s, r] = m[r, s]
"""
    target = TARGETS["avx512"]
    found = match_kernel(parse(same), target)
    assert found is not None
    assert (found.row.name, found.arrays) == ("transpose", ("m", "out"))
    changes = ("m[r, s]", "m[s, r]"), ("out, m", "m, m"), ("m: f64[:, ::1]", "m: f64[:, :]")
    for old, new in (*changes, ("f64", "i16"), ("0, m.shape[0]", "1, m.shape[0]")):
        assert match_kernel(parse(same.replace(old, new, 1)), target) is None, new
    assert match_kernel(parse(same.replace("disjoint(", "disjoint_or_same(")), target) is None
    assert match_kernel(parse(same), TARGETS["sse2"]) is None


@pytest.mark.parametrize("target", [t for t in ("avx512", "avx2") if t in PLACES])
def test_what_is_served_is_the_answer(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    serve, other = fuse(turned, target=target), fuse(doubled, target=target)
    for shape in ((0, 5), (3, 4), (16, 16), (33, 70), (70, 33)):
        a = np.random.default_rng(1).random((shape[0], shape[1] + 2))[:, : shape[1]]
        b, c = np.zeros(shape[::-1]), np.zeros(shape[::-1])
        serve(a, b)
        other(a, c)
        assert np.array_equal(b, a.T)
        assert np.array_equal(c, a.T * 2)
    assert "by hand (kernels/transpose.c)" in str(serve.report(a, b))
    assert "by hand" not in str(other.report(a, c))


def test_a_folder_that_cannot_be_read_now_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is remembered."""

    def fails(*args: object) -> list[str]:
        raise OSError(errno.EMFILE, "too many open files")

    kernel_library.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", fails)
        with pytest.raises(OSError, match="too many"):
            kernel_library()
    assert kernel_library()
