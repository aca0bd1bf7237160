"""The table of pairs of loops: each verdict, and that it is right, by running both ways.

What is joined gives Python's answer, whichever arrays overlap. What is not, joined by force, gives
another one for some arguments: every refusal has a counterexample. One that is only of no profit
gives the same.
"""
from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import same
from fusing import forced
from paths import SUPPORT
from staged import Replayed, interpreted, through
from written import written

from loopir.fusion import Fusion, fuse_kernel
from loopir.fusion.array_contraction import scalarize_arrays
from transpile.options import Options
from transpile.pipeline import Compilation, compile_stages
from transpile.types.typeof import type_of

NAMES = ("a", "b", "t", "out", "m", "w", "z", "index", "k")
SIZES = (0, 1, 2, 3, 5, 24)
SAME = (("a", "t"), ("t", "out"), ("a", "out"), ("b", "out"), ("b", "t"))
SHIFTED = (("a", "t"), ("t", "a"), ("t", "out"), ("out", "t"), ("b", "out"))
Make = Callable[[], tuple[Any, ...]]


def table() -> Iterator[tuple[str, frozenset[str], str]]:
    """Name, verdict and text of each pair."""
    text = (SUPPORT / "fusion_pairs.txt").read_text(encoding="utf-8")
    for block in text.strip().split("\n\n")[1:]:
        head, _, body = block.partition("\n")
        name, _, verdict = head.rpartition(": ")
        yield name, frozenset(verdict.split()), textwrap.dedent(body)


PAIRS = {name: (verdict, body) for name, verdict, body in table()}


def arguments(n: int, one: tuple[str, str] | None = None, by: int = 0) -> Make:
    """Arguments of `n` elements, in which two arrays may be `one`, or that shifted `by` so many."""

    def make() -> tuple[Any, ...]:
        rng = np.random.default_rng(n)
        np.random.seed(n)
        args: dict[str, Any] = {p: rng.integers(-4, 6, n).astype(float) for p in NAMES[:4]}
        args |= {p: rng.integers(-4, 6, (n, n)).astype(float) for p in NAMES[4:7]}
        args |= {"index": rng.integers(0, max(n, 1), n), "k": 3}
        if one:
            whole = rng.integers(-4, 6, n + by).astype(float)
            args[one[0]], args[one[1]] = whole[:n], whole[by:]
        return tuple(args.values())

    return make


CALLS = [
    make
    for n in SIZES
    for make in (
        arguments(n), *(arguments(n, pair) for pair in SAME),
        *(arguments(n, pair, 1) for pair in SHIFTED),
    )
]


def answer(function: Callable[..., Any], make: Make) -> Any:
    """What a call gives and leaves; None where Python would have to answer, and can."""
    args, value, error = make(), None, None
    with np.errstate(all="ignore"):
        try:
            value = function(*args)
        except Replayed:
            return None if same(args, make()) else "spoilt"
        except Exception as e:
            error = type(e).__name__
    return value, error, args


@cache
def function(name: str, folder: Path) -> Any:
    body = textwrap.indent(PAIRS[name][1], "    ")
    text = f"import numpy as np\n\ndef f({', '.join(NAMES)}):\n    n = len(a)\n{body}\n"
    return written(folder, text).f


def stages(f: Any, **options: Any) -> Compilation:
    types = dict(zip(NAMES, map(type_of, arguments(12)()), strict=True))
    return compile_stages(f, types, Options(**options))


def as_python(s: Compilation, f: Fusion) -> Callable[..., Any]:
    bindings = tuple(b for b in s.lowered.bindings if b.name not in f.contracted)
    plan = replace(s.lowered, kernel=f.kernel, bindings=bindings)
    call: Callable[..., Any] = through(s, plan, f.kernel, interpreted(f.kernel))
    return call


@pytest.mark.parametrize("name", PAIRS)
def test_verdict(name: str, tmp_path: Path) -> None:
    f = stages(function(name, tmp_path)).fusion
    found = {r.code.removeprefix("FUSE_REJECT_") for r in f.rejections}
    assert found | ({"joined"} if f.fused else set()) == PAIRS[name][0]


@pytest.mark.share(262)
@pytest.mark.parametrize("name", PAIRS)
def test_joined_or_not_it_is_the_same(name: str, tmp_path: Path) -> None:
    f = function(name, tmp_path)
    for fusion in (False, True):
        s = stages(f, fusion=fusion)
        ours = as_python(s, s.fusion)
        got = [(answer(ours, make), answer(f, make)) for make in CALLS]
        assert all(g is None or same(g, w, 4) for g, w in got), s.fusion.kernel
        assert any(g is not None for g, _ in got)


REFUSED = [
    name for name, (verdict, body) in PAIRS.items()
    if "joined" not in verdict and not ("CONTROL_FLOW" in verdict and "while" in body)
]


@pytest.mark.share(20)
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_has_a_counterexample(name: str, tmp_path: Path) -> None:
    f = function(name, tmp_path)
    s = stages(f, fusion=False)
    kernel, _ = scalarize_arrays(s.lowered.kernel, s.lowered.temporaries)
    legal = PAIRS[name][0] == {"UNPROFITABLE"}
    with forced(guarded=legal):
        plan = s.lowered
        joined = fuse_kernel(kernel, temporaries=plan.temporaries, private=plan.fresh_arrays)
    assert joined.fused
    try:
        ours = as_python(s, joined)
        got = ((answer(ours, make), answer(f, make)) for make in CALLS)
        differs = any(g is not None and not same(g, w, 4) for g, w in got)
    except KeyError:  # it reads a name that is not bound yet
        differs = bool(PAIRS[name][0] & {"SCALAR_LIVE", "NOT_ADJACENT"})
    assert differs != legal
