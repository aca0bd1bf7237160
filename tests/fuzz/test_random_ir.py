"""Random kernels: the text reads back, every pass keeps the meaning, every target agrees.

``pytest --long`` runs thousands; ``--seed N`` repeats a run. A status may lose the flags of code
whose value nobody needs, but gains none; except that a predicated body written by hand may raise
them in its idle lanes (the passes see to it that theirs does not).
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, reduce
from operator import or_
from typing import Any

import pytest
from agree import same
from at_length import example_count
from hypothesis import given, note, reject, seed, settings
from hypothesis.strategies import SearchStrategy
from kernels_case import Case
from kernels_nests import nests
from kernels_strategy import cases
from mlir_machine import Machine as MlirMachine
from native import RUNNABLE, run_native

from loopir import nodes as ir
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
from loopir.ir_traversal import ops_within, walk
from loopir.ir_verifier import Stage, verify
from loopir.machine_model import DEFAULT_MACHINE, Machine
from loopir.op_table import OPS
from loopir.passes.pass_list import optimise
from loopir.passes.reduce import arg_reduction
from loopir.status_bits import STATUS
from targets.isa.target_registry import TARGETS
from targets.legalization.legalize import legalize
from targets.mlir import NoMlirForm, emit

Judge = Callable[[Case], None]


@pytest.fixture
def count() -> Counter[str]:
    """What ran how often."""
    return Counter()


@pytest.fixture
def examine(
    request: pytest.FixtureRequest, count: Counter[str], start: int
) -> Iterator[Callable[..., None]]:
    """``examine(strategy, judge, few)``: `few` random cases, or `many`, and then the counts."""

    def examine(
        strategy: SearchStrategy[Case], judge: Judge, few: int, many: int = 2000
    ) -> None:
        @seed(start)
        @settings(max_examples=example_count(request.config, few, many), derandomize=False)
        @given(strategy)
        def every(case: Case) -> None:
            count["kernels"] += 1
            judge(case)

        every()

    yield examine
    if request.config.getoption("--long"):
        capture = request.config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print(f"\n{request.node.name}, seed {start}: {dict(count)}")


class Wanted:
    """What a case leaves behind, by the interpreter."""

    def __init__(self, case: Case, flags: bool = True) -> None:
        self.case, self.flags = case, flags
        args = case.arguments()
        self.status = run_kernel(case.kernel, args).status
        self.results = case.results(args)

    def is_what(
        self, runs: Callable[[dict[str, Any]], int], where: str, kernel: ir.Kernel,
        stops_at_once: bool = False,
    ) -> None:
        """`runs` leaves the same. ``stops_at_once``: unlike the interpreter, it may leave a loop as
        soon as the call is to be replayed; what it has stored is Python's to write then.
        """
        note(f"{where}:\n{show(kernel)}")
        args = self.case.arguments()
        status = runs(args)
        told = f"{where}: status {status}, not {self.status}"
        assert status & STATUS["replay"] == self.status & STATUS["replay"], told
        assert not (self.flags and status & ~self.status & ~_flags_of_squares(self.case)), told
        if stops_at_once and status & STATUS["replay"]:
            return
        for name, value in self.case.results(args).items():
            wanted = self.results[name]
            assert same(value, wanted), f"{where}: {name} is {value!r}, not {wanted!r}"


def _flags_of_squares(case: Case) -> int:
    """The flags that comparisons of lengths may raise though the lengths raise none: vectors
    compare squares. (A replay tells then: lowering notes them as not certain.)
    """
    ops = ops_within(case.kernel) & {"hypot_le", "hypot_gt"}
    return reduce(or_, (STATUS[flag] for op in ops for flag in OPS[op].raises), 0)


def reads_back(kernel: ir.Kernel, stage: Stage) -> None:
    assert parse(show(kernel)) == kernel
    verify(kernel, stage)


@pytest.mark.parametrize("vectors", [False, True], ids=["scalar", "vector"])
def test_the_text_reads_back(examine: Callable[..., None], vectors: bool) -> None:
    def judge(case: Case) -> None:
        reads_back(case.kernel, "vector" if vectors else "scalar")

    examine(cases(vectors=vectors), judge, 8)


@pytest.mark.parametrize("reassociate", [False, True], ids=["ordered", "reassociated"])
def test_every_pass_keeps_the_meaning(
    examine: Callable[..., None],
    count: Counter[str],
    reassociate: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arg_reduction, "BLOCK_BYTES", 256)  # several blocks of what cases have
    monkeypatch.setattr(arg_reduction, "CHUNK", 8)
    monkeypatch.setattr(arg_reduction, "MIN_TERMS", 128)
    examine(cases(exact=reassociate), through_all(count, reassociate), 4)


@pytest.mark.parametrize("reassociate", [False, True], ids=["ordered", "reassociated"])
def test_every_pass_keeps_nests(
    examine: Callable[..., None], count: Counter[str], reassociate: bool
) -> None:
    examine(nests(exact=reassociate), through_all(count, reassociate), 4, 1000)


def with_small_caches(machine: Machine) -> Machine:
    """Several strips of what cases have."""
    return replace(machine, caches=(1 << 10, machine.bytes << 7, 1 << 20))


def through_all(count: Counter[str], reassociate: bool) -> Judge:
    """Every pass in turn, interpreted."""

    def judge(case: Case) -> None:
        wanted = Wanted(case)

        def after(name: str, kernel: ir.Kernel) -> None:
            count[name] += 1
            reads_back(kernel, "vector")
            wanted.is_what(lambda args: run_kernel(kernel, args).status, f"after {name}", kernel)

        small = with_small_caches(DEFAULT_MACHINE)
        done = optimise(case.kernel, small, reassociate=reassociate, on_pass=after)
        vectors = [n for n in walk(done) if isinstance(n, ir.VecLoop | ir.PredLoop)]
        count.update(type(n).__name__ for n in vectors)

    return judge


def on_target(kernel: ir.Kernel, target: str, wanted: Wanted) -> None:
    legal = legalize(kernel, TARGETS[target])
    reads_back(legal, "legal")
    wanted.is_what(lambda args: run_kernel(legal, args).status, f"{target}, interpreted", legal)
    native = partial(run_native, kernel, target)
    wanted.is_what(native, target, legal, stops_at_once=True)


@pytest.mark.parametrize("vectors", [False, True], ids=["optimised", "by hand"])
def test_every_target_agrees(
    examine: Callable[..., None], count: Counter[str], vectors: bool
) -> None:
    def judge(case: Case) -> None:
        if not vectors:
            case.kernel = optimise(case.kernel)
        wanted = Wanted(case, flags=not vectors)
        for target in RUNNABLE:
            if target == "neon" and count["kernels"] % 4:
                continue  # emulated
            on_target(case.kernel, target, wanted)
            count[target] += 1

    examine(cases(vectors=vectors), judge, 2)


@pytest.mark.parametrize("reassociate", [False, True], ids=["ordered", "reassociated"])
def test_mlir_agrees(
    examine: Callable[..., None], count: Counter[str], reassociate: bool
) -> None:
    def judge(case: Case) -> None:
        kernel = replace(case.kernel, guards=case.kernel.guards[:6])  # xDSL is slow, and six tell
        try:
            text = emit(kernel, reassociate=reassociate)
        except NoMlirForm:
            reject()
        count["parallel"] += text.count("scf.parallel")
        note(text)
        machine, names = MlirMachine(text), [p.name for p in kernel.params]

        def runs(args: dict[str, Any]) -> int:
            return machine.run(kernel.name, [args[name] for name in names])

        Wanted(case).is_what(runs, "mlir", kernel)

    examine(cases(exact=reassociate), judge, 3)


def test_every_target_agrees_on_nests(
    examine: Callable[..., None], count: Counter[str]
) -> None:
    """Each nest on one target, planned for it."""

    def judge(case: Case) -> None:
        target = RUNNABLE[count["kernels"] % len(RUNNABLE)]
        machine = with_small_caches(TARGETS[target].model)
        on_target(optimise(case.kernel, machine, reassociate=False), target, Wanted(case))
        count[target] += 1

    examine(nests(), judge, 4, 500)
