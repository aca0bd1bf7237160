"""Runs a kernel before and after fusion, on arrays of many lengths that share memory or not."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from loopir.dtypes import DTYPES
from loopir.fusion import Fusion, fuse_kernel, fusion_legality
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
from loopir.ir_verifier import verify
from loopir.nodes import Disjoint, Kernel

__all__ = ["agree", "codes", "forced", "fused", "kernel", "nest", "plainly"]

SIZES = (0, 1, 2, 5)
ROOM = 16  # elements that every axis has beyond n


def kernel(
    body: str, arrays: str = "a b t out", *, same: bool = True, more: str = "", head: str = ""
) -> Kernel:
    """A kernel over n elements of float64 `arrays`, all written, each two disjoint or the `same`.

    `more`: further parameters; `head`: further guards.
    """
    names = arrays.split()
    params = ["n: i64", *(f"{a}: mut(f64[::1])" for a in names), *filter(None, [more])]
    word = "disjoint_or_same" if same else "disjoint"
    lines = [f"{word}({a}, {b})" for a, b in combinations(names, 2)]
    lines += [*filter(None, head.split("\n")), *body.strip("\n").split("\n")]
    return parse(f"def k({', '.join(params)}):\n" + "\n".join(f"    {x}" for x in lines) + "\n")


NESTS = "n: i64, a: mut(f64[:, ::1]), t: mut(f64[:, ::1]), out: mut(f64[:, ::1]), r: mut(f64[::1])"


def nest(text: str, same: bool = True) -> Kernel:
    """A kernel over n × n elements of the matrices `a`, `t`, `out`, and n of `r`."""
    word = "disjoint_or_same" if same else "disjoint"
    guards = [f"{word}({x}, {y})" for x, y in ("at", ("a", "out"), ("t", "out"))]
    guards += [f"disjoint({x}, r)" for x in ("a", "t", "out")]
    lines = [*guards, *text.strip("\n").split("\n")]
    return parse(f"def k({NESTS}):\n" + "\n".join("    " + x for x in lines) + "\n")


@contextmanager
def plainly() -> Iterator[None]:
    """Loops are joined as they count or not at all; and also where it does not pay."""
    legal = tuple(c for c in fusion_legality.CONDITIONS if c is not fusion_legality.worthwhile)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("loopir.fusion.fuse_loops.alignments", lambda *_: ())
        patched.setattr(fusion_legality, "CONDITIONS", legal)
        patched.setattr(fusion_legality, "keeps_vectors", lambda _: ())
        yield


@contextmanager
def forced(*, guarded: bool = False) -> Iterator[None]:
    """All neighbouring loops are joined, whatever comes of it. ``guarded``: only those that may be,
    with their guards, also where it does not pay.
    """
    legal = tuple(c for c in fusion_legality.CONDITIONS if c is not fusion_legality.worthwhile)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fusion_legality, "CONDITIONS", legal if guarded else ())
        patched.setattr(fusion_legality, "keeps_vectors", lambda _: ())
        if not guarded:
            patched.setattr("loopir.fusion.fuse_loops._LoopFuser.tighten", lambda *_: None)
        yield


def codes(f: Fusion) -> set[str]:
    return {r.code.removeprefix("FUSE_REJECT_") for r in f.rejections}


def fused(k: Kernel, **options: Any) -> Fusion:
    """`k` after fusion, which must be well-formed and mean the same."""
    f = fuse_kernel(k, **options)
    verify(k, "scalar")
    verify(f.kernel, "scalar")
    agree(k, f, options.get("temporaries", frozenset()))
    return f


def agree(k: Kernel, f: Fusion, temporaries: frozenset[str] = frozenset()) -> None:
    """Asserts that the fused kernel does what `k` does, whichever arrays are one array.

    `temporaries` are no other array, and nobody looks at them afterwards.
    """
    for n in SIZES:
        for merged in (m for m in _merges(k) if not m & temporaries):
            before, after = _arguments(k, n, merged), _arguments(k, n, merged)
            wanted = run_kernel(k, before)
            kept = {p.name: after[p.name] for p in f.kernel.params}
            got = run_kernel(f.kernel, kept)
            if got.status >> 8 and not wanted.status >> 8:
                assert merged in [set(ab) for ab in f.tightened], "a guard fails that did not"
                before = _arguments(k, n, merged)
            else:
                assert got == wanted
            for name, value in ((a, x) for a, x in kept.items() if a not in temporaries):
                assert np.array_equal(value, before[name], equal_nan=True), (
                    f"{name}, n = {n}, one array: {merged}\n{show(k)}\n{show(f.kernel)}\n"
                    f"{value}, not {before[name]}"
                )


def _merges(k: Kernel) -> Iterator[set[str]]:
    """No two arrays one, then each two that may be."""
    yield set()
    ranks = {p.name: (p.rank, p.dtype) for p in k.params}
    for g in k.guards:
        if isinstance(g, Disjoint) and g.or_same and ranks[g.a] == ranks[g.b]:
            yield {g.a, g.b}


def _arguments(k: Kernel, n: int, merged: set[str]) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    out: dict[str, Any] = {}
    for p in k.params:
        dtype = DTYPES[p.dtype]
        if p.rank is None:
            out[p.name] = dtype.numpy.type(n if dtype.kind == "i" else rng.integers(1, 4))
        elif dtype.kind == "f":
            out[p.name] = rng.integers(-9, 10, (n + ROOM,) * p.rank).astype(dtype.numpy)
        else:
            shape = (n + ROOM,) * p.rank
            out[p.name] = rng.integers(0, 2 if dtype.kind == "b" else max(n, 1), shape)
            out[p.name] = out[p.name].astype(dtype.numpy)
    if merged:
        first, second = sorted(merged)
        out[second] = out[first]
    return out
