"""The budget of large programs: their work is counted, and none of them comes near its bounds."""
from __future__ import annotations

from pathlib import Path

import pytest

from loopir.fusion import fuse_loops
from loopir.fusion.loop_pairs import LoopPair
from targets.isa.target_registry import TARGETS
from tests.bench.compile_time import made
from tests.bench.large_programs import LARGE_PROGRAMS, LargeProgram
from transpile.lower import lower_function
from transpile.lower.state.lowering_budget import LoweringBudget
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import parameter_names, type_of

MOST_CHARACTERS = 350_000
"""Of C; at the least effort GCC takes about 2 s for a million."""

MOST_PAIRS = 260
"""Of loops that fusion examines, with each alignment of the same two; 64 loops have 252."""


@pytest.mark.share(3)
@pytest.mark.parametrize("program", LARGE_PROGRAMS, ids=lambda p: p.name)
def test_the_work_is_bounded(
    program: LargeProgram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each is compiled as a whole: regions would have budgets of their own."""
    budgets: list[LoweringBudget] = []
    fusers: list[fuse_loops._LoopFuser] = []
    pairs: list[LoopPair] = []
    start, prepare = LoweringBudget.of, fuse_loops._LoopFuser.__post_init__
    make_pair = fuse_loops.make_loop_pair

    def noted_start(tree):
        budgets.append(start(tree))
        return budgets[-1]

    def noted_preparation(fuser):
        fusers.append(fuser)
        prepare(fuser)

    def noted_pair(*given, **options):
        pairs.append(make_pair(*given, **options))
        return pairs[-1]

    monkeypatch.setattr(fuse_loops, "make_loop_pair", noted_pair)
    monkeypatch.setattr(lower_function.LoweringBudget, "of", staticmethod(noted_start))
    monkeypatch.setattr(fuse_loops._LoopFuser, "__post_init__", noted_preparation)
    f, given = program.function, program.arguments()
    if isinstance(f, str):
        f = made(f, tmp_path)
    types = dict(zip(parameter_names(f.__code__), map(type_of, given), strict=True))
    target = TARGETS["avx2"]
    stages = compile_stages(f, types, Options(), target.model)
    (budget,), (fuser,) = budgets, fusers
    assert budget.left > 1500
    assert fuser.budget > fuse_loops.FUSION_BUDGET / 2
    assert len(pairs) < MOST_PAIRS
    assert stages.fusion.left_out == 0
    assert len(stages.c(target)) < MOST_CHARACTERS
