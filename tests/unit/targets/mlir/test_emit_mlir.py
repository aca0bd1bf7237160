"""MLIR: xDSL parses and verifies what is emitted, and it gives Python's answers."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import outcome
from example_files import EXAMPLES, FOLDER, NEEDS
from mlir_machine import Machine, parsed
from op_cases import (
    applicable,
    cast_kernel,
    castable,
    differences,
    expected,
    operation_case,
    operation_kernel,
)
from paths import GOLDEN
from program_runs import agrees, arguments, stages_of
from run.programs import PROGRAMS, Program
from staged import through

from loopir.dtypes import DTYPES
from loopir.ir_printer import parse
from loopir.op_table import OPS, evaluate
from targets.mlir import emit
from targets.mlir.emit_mlir import is_prelude_function
from targets.mlir.mlir_ops import mnemonic
from transpile.cli import main

MLIR = GOLDEN / "mlir"
FIRST = {p.function: p for p in reversed(PROGRAMS)}


def check_program(program: Program, sizes: tuple[int, ...]) -> None:
    machines: dict[str, Machine] = {}
    for n in sizes:
        stages, _ = stages_of(program, n)
        text, name = stages.mlir(), stages.plan.kernel.name
        if text not in machines:
            machines[text] = Machine(text)
        machine = machines[text]
        run = lambda *args, m=machine, name=name: m.run(name, args)  # noqa: E731
        call = through(stages, stages.plan, stages.plan.kernel, run)
        agrees(program, n, "mlir", outcome(call, arguments(program, n)))


@pytest.mark.share(128)
@pytest.mark.parametrize("program", FIRST.values(), ids=lambda p: p.label)
def test_programs(program: Program) -> None:
    check_program(program, tuple(n for n in program.sizes if n in (0, 1, 9, 65)))


@pytest.mark.long
def test_every_program_at_every_size() -> None:
    for program in PROGRAMS:
        check_program(program, program.sizes)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples(path: Path, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS.get(path.stem, "numpy"))
    assert main([str(path), "--emit", "mlir", "-o", str(tmp_path)]) == 0
    written = list(tmp_path.iterdir())
    assert len(written) == path.read_text(encoding="utf-8").count("@fuse")
    for file in written:
        parsed(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation(dtype: str) -> None:
    kernel = operation_kernel(dtype, vector=False, beside=None)
    args = operation_case(kernel, dtype)
    assert Machine(emit(kernel)).run(kernel.name, args_of(kernel, args)) == 0
    for op in OPS.values():
        if applicable(op, dtype):
            got, want = args[f"r_{op.name}"], expected(op, dtype, args)
            at = differences(got, want, op.ulps)
            shown = [(args["a"][k], args["b"][k], got[k], want[k]) for k in at[:5]]
            assert not len(at), f"{op.name}: (a, b, got, want) = {shown}"


@pytest.mark.parametrize("source", DTYPES)
def test_every_cast(source: str) -> None:
    kernel = cast_kernel(source, vector=False)
    args: dict[str, Any] = {"n": np.zeros(71, "u1")}
    for to, d in DTYPES.items():
        args |= {f"x_{to}": castable(source, to), f"r_{to}": np.zeros(71, d.numpy)}
    Machine(emit(kernel)).run(kernel.name, args_of(kernel, args))
    for to in DTYPES:
        with np.errstate(all="ignore"):
            want = evaluate("cast", (args[f"x_{to}"],), to)
        assert not len(differences(args[f"r_{to}"], want, 0)), to


def args_of(kernel: Any, args: dict[str, Any]) -> list[Any]:
    return [args[p.name] for p in kernel.params]


def test_an_operation_has_one_form() -> None:
    """A row or a function, for each kind of number that it takes."""
    for op in OPS.values():
        for d in DTYPES.values():
            if applicable(op, d.name):
                row = mnemonic(op.name, d.name) is not None
                assert row != is_prelude_function(f"tp_{op.name}_{d.name}"), (op.name, d.name)


KERNELS = {
    "fold": """
def fold(x: f64[::1], total: mut(f64[()]), peak: mut(f64[()])):
    for i in loop(0, x.shape[0], s=0.0, m=f64("-inf")):
        s = step(s + x[i] * x[i])
        m = step(max(m, x[i]))
    total[()] = s
    peak[()] = m
""",
    "parallel": """
def parallel(x: f64[:, ::1], y: mut(f64[:, ::1]), total: mut(f64[()])):
    guard(x.shape[0] == y.shape[0], "GUARD_LENGTH")
    disjoint_or_same(x, y)
    for i in loop(0, x.shape[0], s=0.0):
        for j in loop(0, x.shape[1], t=0.0):
            y[i, j] = x[i, j] % 2.0
            t = step(t + x[i, j])
        s = step(s + t)
    total[()] = s
""",
    "search": """
def search(x: f64[:], out: mut(f64[::1]), count: mut(i64[()])):
    for i in loop(range(x.shape[0] - 1, -1, -1), k=0):
        if x[i] > 1.0:
            return
        if x[i] < 0.0: break
        append(out, k, where(x[i] > 0.5, x[i]))
    count[()] = k
""",
}


@pytest.mark.parametrize("name", KERNELS)
def test_golden(name: str, golden: Callable[[Path, str], None]) -> None:
    text = emit(parse(KERNELS[name]))
    parsed(text)
    golden(MLIR / f"{name}.mlir", text)


def test_float_folds_keep_their_order() -> None:
    kernel = parse(KERNELS["parallel"])
    assert emit(kernel).count("scf.parallel") == 2
    assert "scf.parallel" not in emit(kernel, reassociate=False)


def test_every_example_is_tried() -> None:
    assert len(list(FOLDER.glob("*.py"))) >= len(EXAMPLES) >= 4
