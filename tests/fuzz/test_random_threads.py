"""Random programs by 1, 2, 3, 7 and 64 threads: the same bits, errors and warnings; and Python's.
Each for one of the instruction sets of this machine.

Chunks and blocks are as small as they can be, and sizes up to some hundreds, so that each thread
gets several. ``pytest --long`` runs 10,000; ``--seed N`` repeats a run.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import random_arguments
from agree import same
from at_length import judge_examples
from random_cases import Ran, RandomCase, ran, random_cases
from small_chunks import make_chunks_small

from targets.abi import thread_pool
from targets.isa.target_registry import runnable_targets
from transpile import fuse

THREADS = (2, 3, 7, 64)
TARGETS = [t.name for t in runnable_targets()]
SIZES = (1, 17, 63, 64, 65, 100, 127, 129, 200, 255, 257, 300, 513)
PROGRAMS, PARTS = 10_000, 40
"""With ``--long``: in parts, each of which ends before a test counts as one that hangs."""
SPLIT_SHARE = 0.1
"""Of the programs, that several threads have run at least."""


class Run:
    """Judges cases one after another, and counts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.examples, self.compiled, self.split = folder, 0, 0, 0

    def judge(self, case: RandomCase) -> None:
        """Raises AssertionError where the number of threads can be told from what a call does."""
        self.examples += 1
        function = case.function(self.folder)
        target = TARGETS[len(case.source) % len(TARGETS)]
        options: dict[str, Any] = {**case.options, "on_reject": "silent", "target": target}
        fused = fuse(function, **options)
        for mode in ("ignore", "warn") if self.examples % 4 else ("raise",):
            self.by(1, fused, case, mode)  # may be Python's, before what raises is recorded
            wanted = self.by(1, fused, case, mode)
            difference = case.wanted(function, mode).difference(wanted)
            assert difference is None, f"Python, {target}, {mode}: {difference}\n\n{case}"
            before = thread_pool.pool_counts()
            for threads in THREADS:
                self.agree(case, wanted, self.by(threads, fused, case, mode), f"{threads}, {mode}")
            after = thread_pool.pool_counts()
            if self.examples % 4 == 1:
                alone = fuse(function, threads=1, **options)
                self.agree(case, wanted, ran(alone, case.given.make, mode), f"threads=1, {mode}")
        assert before
        assert after
        assert "BUILD_FAILED" not in fused.stats.replays, case
        self.compiled += fused.stats.compiled > 0
        self.split += after.parallel > before.parallel

    def by(self, threads: int, fused: Any, case: RandomCase, mode: str) -> Ran:
        with thread_pool.forced(threads):
            return ran(fused, case.given.make, mode)

    def agree(self, case: RandomCase, wanted: Ran, got: Ran, where: str) -> None:
        for name in Ran._fields:
            one, other = getattr(wanted, name), getattr(got, name)
            assert same(one, other), f"{name}, {where}:\n{one!r}\n{other!r}\n\n{case}"

    def told(self) -> str:
        return (
            f"{self.examples} random programs, {self.compiled} compiled, "
            f"{self.split} run by several threads"
        )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """With small chunks, blocks and programs, and regions however little they do."""
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    make_chunks_small(monkeypatch)
    monkeypatch.setattr(random_arguments, "SIZES", SIZES)
    return Run(tmp_path)


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, PARTS))]
)
def test_random_threads(
    part: int, run: Run, request: pytest.FixtureRequest, start: int
) -> None:
    many = PROGRAMS // PARTS
    judge_examples(request, start + part, 4, many, random_cases(), run.judge, run.told)
    if start == 0 or run.examples >= 40:  # of few that are drawn anew, none may have a long loop
        assert run.split >= SPLIT_SHARE * run.examples, run.told()
    assert run.compiled > 0, run.told()
