"""Random programs: Python == the IR after every pass == C on every target.

``pytest --long`` runs thousands; ``--seed N`` repeats a run. Programs that fall back to Python are
counted, and too many of them fail the run.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from at_length import judge_examples
from native import RUNNABLE
from random_cases import MODES, RandomCase, Wanted, ran, random_cases
from staged import Replayed, emulated, in_parts, interpreted, through

from targets.isa.target_registry import runnable_targets
from transpile import fuse
from transpile.options import Options
from transpile.pipeline import Compilation, compile_stages
from transpile.types.typeof import parameter_names, type_of

NATIVE = [t.name for t in runnable_targets()]
EMULATED = [name for name in RUNNABLE if name not in NATIVE]
COMPILED_SHARE = 0.4


class Run:
    """Judges cases one after another, and counts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.examples = folder, 0
        self.agreed: Counter[str] = Counter()
        self.python: Counter[str] = Counter()
        self.compiled = self.loose = 0

    def judge(self, case: RandomCase) -> None:
        """Raises AssertionError where a way of running `case` does not do what Python does."""
        self.examples += 1
        function = case.function(self.folder)
        modes = [m for m in MODES if m != "raise" or self.examples % 4 == 1]
        wanted = {mode: case.wanted(function, mode) for mode in modes}
        self.loose += not wanted["ignore"].known
        compiled = [self.on_target(case, function, wanted, target) for target in NATIVE]
        self.compiled += all(compiled)
        if all(compiled) and self.examples % 3 == 2:
            self.by_stages(case, function, wanted["ignore"])

    def on_target(
        self, case: RandomCase, function: Any, wanted: dict[str, Wanted], target: str
    ) -> bool:
        """Whether machine code gave an answer, of the function as a whole."""
        fused = fuse(function, target=target, on_reject="silent", **case.options)
        for mode, right in wanted.items():
            got = ran(fused, case.given.make, mode)
            self.agree(case, right, got, f"{target}, {mode}, {fused.stats}")
        replays = dict(fused.stats.replays)
        assert "BUILD_FAILED" not in replays, f"{fused.report(*case.given.make()[0])}\n{case}"
        if target == NATIVE[0]:
            self.python.update(replays.keys())
        self.agreed[target] += fused.stats.compiled > 0
        return fused.stats.compiled > 0 and not in_parts(fused)

    def agree(self, case: RandomCase, wanted: Wanted, got: Any, where: str) -> None:
        difference = wanted.difference(got)
        if difference:
            raise AssertionError(f"{where}:\n{difference}\n\n{case}")

    def by_stages(self, case: RandomCase, function: Any, wanted: Wanted) -> None:
        """The kernel interpreted after every pass, and one in some on an emulated machine."""
        types = dict(
            zip(parameter_names(function.__code__), map(type_of, case.given.make()[0]), strict=True)
        )
        stages = compile_stages(function, types, Options(**case.options))
        kernels = [("fusion", stages.plan.kernel), *stages.passes]
        for name, kernel in kernels:
            self.by_way(case, stages, kernel, interpreted(kernel), wanted, f"interpreter {name}")
        if self.examples % 4 == 2:
            for target in EMULATED:
                fast = emulated(stages.kernel, target)
                self.by_way(case, stages, stages.kernel, fast, wanted, target)

    def by_way(
        self,
        case: RandomCase,
        stages: Compilation,
        kernel: Any,
        fast: Callable[..., int],
        wanted: Wanted,
        where: str,
    ) -> None:
        got = ran(through(stages, stages.plan, kernel, fast), case.given.make, "ignore")
        if got.error is None or not issubclass(got.error[0], Replayed):
            self.agree(case, wanted, got, where)
            self.agreed[where.partition(" ")[0]] += 1

    def told(self) -> str:
        agreed = ", ".join(f"{where} {count}" for where, count in sorted(self.agreed.items()))
        share = self.compiled / max(1, self.examples)
        return (
            f"{self.examples} random programs, {share:.0%} compiled; {self.loose} with too much "
            f"freedom to compare; machine code or interpreter agreed with Python: {agreed}; "
            f"Python had to answer: {dict(self.python)}"
        )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    return Run(tmp_path)


def test_random_programs(run: Run, request: pytest.FixtureRequest, start: int) -> None:
    judge_examples(request, start, 2, 2000, random_cases(), run.judge, run.told)
    assert run.compiled >= COMPILED_SHARE * run.examples, run.told()
