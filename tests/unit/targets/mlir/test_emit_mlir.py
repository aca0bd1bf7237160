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
from loopir.op_table import OPS, Op, evaluate
from targets.mlir import NoMlirForm, emit, mlir_prelude
from targets.mlir.mlir_ops import mnemonic
from targets.mlir.mlir_prelude import prelude_function
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


@pytest.mark.share(410)
@pytest.mark.parametrize("program", FIRST.values(), ids=lambda p: p.label)
def test_programs(program: Program) -> None:
    check_program(program, tuple(n for n in program.sizes if n in (0, 1, 9, 65)))


@pytest.mark.long
def test_every_program_at_every_size() -> None:
    for program in PROGRAMS:
        check_program(program, program.sizes)


@pytest.mark.share(5)
@pytest.mark.parametrize("path", [
    pytest.param(p, id=p.stem, marks=[pytest.mark.plain] * (p.stem == "tour")) for p in EXAMPLES
])
def test_examples(path: Path, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS.get(path.stem, "numpy"))
    assert main([str(path), "--emit", "mlir", "-o", str(tmp_path)]) == 0
    written = list(tmp_path.iterdir())
    assert len(written) == path.read_text(encoding="utf-8").count("@fuse")
    for file in written:
        parsed(file.read_text(encoding="utf-8"))


def has_function(op: Op, dtype: str) -> bool:
    try:
        return bool(prelude_function(op.name, dtype))
    except NoMlirForm:
        return False


def has_form(op: Op, dtype: str) -> bool:
    form = mnemonic(op.name, dtype) is not None or has_function(op, dtype)
    return applicable(op, dtype) and form


@pytest.mark.share(1)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation(dtype: str) -> None:
    kernel = operation_kernel(dtype, vector=False, beside=None, wanted=has_form)
    args = operation_case(kernel, dtype)
    assert Machine(emit(kernel)).run(kernel.name, args_of(kernel, args)) == 0
    for op in OPS.values():
        if has_form(op, dtype):
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
    """A row or a function, but not both."""
    for op in OPS.values():
        for d in DTYPES.values():
            row = mnemonic(op.name, d.name) is not None
            assert not (row and has_function(op, d.name)), (op.name, d.name)


def test_a_call_of_libm_follows_from_its_row() -> None:
    assert (OPS["hypot"].libm, OPS["exp"].libm, OPS["signbit"].libm) == ("hypot", "", "")
    text = emit(parse("def f(x: f32, y: mut(f32[()])):\n    y[()] = hypot(x, f32(2.0))\n"))
    assert "func.func private @hypotf(f32, f32) -> f32" in text
    assert Machine(text).run("f", (3.0, y := np.zeros((), "f4"))) == 0
    assert y == np.hypot(np.float32(3), np.float32(2))


def test_an_operation_without_a_form_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mlir_prelude, "_library", dict)
    file = tmp_path / "distance.py"
    file.write_text(
        "import numpy as np\nfrom transpile import fuse\n\n@fuse\n"
        "def distance(x: 'f64[:]', y: 'f64[:]'):\n    return np.hypot(x, y)\n"
    )
    assert main([str(file), "--emit", "mlir"]) == 1
    assert capsys.readouterr().err == (
        "transpile: distance cannot be printed as MLIR: "
        "the operation `hypot` on float64 has no form in MLIR\n"
    )


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


def test_parallel_loops_are_those_that_threads_may_split() -> None:
    """But for additions to one element, which would have to be atomic."""
    text = """
def k(n: i64, k: i64[::1], h: mut(i64[::1]), g: mut(i64[::1])):
    guard(k.shape[0] <= g.shape[0], "GUARD_BOUNDS")
    disjoint(k, h)
    disjoint(k, g)
    disjoint(h, g)
    for i in loop(0, k.shape[0]):
        {0}[{1}] = {0}[{1}] + 1
"""
    assert emit(parse(text.format("g", "i"))).count("scf.parallel") == 1
    assert "scf.parallel" not in emit(parse(text.format("h", "k[i]")))


def test_every_example_is_tried() -> None:
    assert len(list(FOLDER.glob("*.py"))) >= len(EXAMPLES) >= 4
