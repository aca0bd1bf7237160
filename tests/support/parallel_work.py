"""Calls with enough work for several threads, for tests in other threads and processes.

Programs of tests import this module, also in processes that a library starts for them, in which
functions are found by their names.
"""
from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

import transpile
from targets.abi.thread_pool import pool_counts, wait_until_ready
from transpile import fuse

__all__ = ["Seen", "own_threads", "seen", "waves"]

SIZE = 1 << 21
"""Elements, which take some tens of milliseconds: two threads help also where the CPUs are busy."""


@fuse(on_reject="raise")
def waves(x, out):
    """A map: as one region, while a sum is one for each block of blocks."""
    for i in range(len(x)):
        y = x[i]
        y = np.sin(y) + np.exp(-y) * np.arctan(y) + np.tanh(y) * np.cos(y)
        y = np.sin(y) * np.log1p(y * y) + np.exp(-y) * np.arctan(y) + np.tanh(y) * np.cos(y)
        y = np.sin(y) * np.log1p(y * y) + np.exp(-y) * np.arctan(y) + np.tanh(y) * np.cos(y)
        y = np.sin(y) * np.log1p(y * y) + np.exp(-y) * np.arctan(y) + np.tanh(y) * np.cos(y)
        out[i] = y


class Seen(NamedTuple):
    """What calls have done in one process."""

    process: int
    digest: str  # of all bits of the answer
    parallel: int  # regions that several threads have run in this process so far
    workers: int  # threads of the pool that this process has
    limit: int  # threads that a call might use


def seen(seed: int = 0, calls: int = 2) -> Seen:
    """Makes `calls` calls, whose answers only depend on `seed`."""
    import hashlib

    assert wait_until_ready()
    x, out = np.random.default_rng(seed).random(SIZE), np.empty(SIZE)
    for _ in range(calls):
        out[:] = -1.0
        waves(x, out)
    digest = hashlib.sha256(out.tobytes()).hexdigest()
    counts = pool_counts()
    assert counts
    return Seen(os.getpid(), digest, counts.parallel, own_threads(), transpile.threads().limit)


def own_threads() -> int:
    """How many threads of the pool this process has, as the system counts them."""
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        return 0
    names = (_text_of(task / "comm") for task in tasks.iterdir())
    return sum(name.strip() == "transpile" for name in names)


def _text_of(path: Path) -> str:
    """The text of a file; empty for one of a thread that has ended meanwhile."""
    try:
        return path.read_text()
    except OSError:
        return ""
