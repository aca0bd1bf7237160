"""Chunks and blocks as small as they can be, so that several threads share few elements."""
from __future__ import annotations

from typing import Any

import pytest
from example_counts import with_flags

from loopir.passes.parallel import parallelize, peel_blocks, split_folds, split_search
from loopir.passes.reduce import blocked_summation
from targets.c import c_regions

__all__ = ["make_chunks_small"]


def make_chunks_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled from now on runs regions however little they do: a chunk is a group of
    vectors, a row, or a block of 64 elements. Float sums are then taken in such blocks, too.
    """
    own = "-DSMALL_CHUNKS"  # else the cache has the kernels of a test with usual chunks
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0", "-Og", own))
    monkeypatch.setattr(c_regions, "_grain", _smallest_grain)
    monkeypatch.setattr(c_regions, "_PER_ELEMENT", 0)
    monkeypatch.setattr(split_search, "_PART", 64)
    monkeypatch.setattr(peel_blocks, "_BLOCK", 8)
    for name, value in {"_EXACT_BLOCK": 64, "_SCALAR_BLOCK": 64, "_BRIEF": 0}.items():
        monkeypatch.setattr(parallelize, name, value)
    small = {"_BLOCK": 16, "_ITERATIONS_AT_ONCE": 8, "_LEAST_BLOCKS": 4, "_MOST_BLOCKS": 8}
    for name, value in small.items():
        monkeypatch.setattr(split_folds, name, value)
    monkeypatch.setattr(blocked_summation, "BLOCK_ELEMENTS", 64)
    monkeypatch.setattr(blocked_summation, "BLOCKS_PER_GROUP", 4)


def _smallest_grain(n: Any) -> int:
    """A group of vectors, a row, or a block."""
    if hasattr(n.range, "step"):
        return int(n.range.step)
    return int(getattr(n, "group", 0) or getattr(n, "width", 1))
