"""Passes: their docstrings and golden files hold, and no kernel means anything else after them."""
from __future__ import annotations

import inspect
import re
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import same
from example_counts import examples
from hypothesis import given, settings
from kernels_case import Case
from kernels_strategy import cases
from paths import GOLDEN

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
from loopir.ir_traversal import walk
from loopir.ir_verifier import verify
from loopir.passes.canonical.propagate_copies import propagate_copies
from loopir.passes.pass_list import PASS_LIST, Pass, optimise
from loopir.status_bits import STATUS

pytestmark = pytest.mark.share(1)  # each row is met in a plain run

BECOMES = "\n# becomes\n\n"
PASSES: dict[str, Callable[..., ir.Kernel]] = {p.name: inspect.unwrap(p.run) for p in PASS_LIST} | {
    "propagate_copies": propagate_copies
}
FILES = [f for name in PASSES for f in sorted((GOLDEN / name).glob("*.ir"))]
SIZES = (0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000)
VECTORS = (ir.VecLoop, ir.PredLoop)
PLAIN = {  # short kernels in which many passes change something
    "parallelize-tables", "dead_stores-covered", "compress_stores-several", "vectorize-masked",
}


def name_of(file: Path) -> str:
    return f"{file.parent.name}-{file.stem}"


def well_formed(kernel: ir.Kernel) -> None:
    vectors = any(isinstance(n, VECTORS) for n in walk(kernel))
    verify(kernel, "vector" if vectors else "scalar")


# -- text


@pytest.mark.parametrize("name", PASSES)
def test_docstring_holds(name: str) -> None:
    """Before and after, as the docstring shows them."""
    doc = inspect.cleandoc(PASSES[name].__doc__ or "") + "\n"
    before, after = (
        textwrap.dedent(block).strip() + "\n"
        for block in re.findall(r"::\n\n((?:    .*\n|\n)+)", doc)
    )
    kernel = PASSES[name](parse(before))
    well_formed(kernel)
    assert show(kernel) == after


@pytest.mark.parametrize("name", PASSES)
def test_unchanged_kernel_is_the_same_object(name: str) -> None:
    doc = inspect.cleandoc(PASSES[name].__doc__ or "") + "\n"
    after = textwrap.dedent(re.findall(r"::\n\n((?:    .*\n|\n)+)", doc)[1])
    kernel = parse(after)
    assert PASSES[name](kernel) is kernel


def test_every_pass_has_golden_files() -> None:
    assert {f.parent.name for f in FILES} == set(PASSES)


def before_of(file: Path) -> ir.Kernel:
    return parse(file.read_text(encoding="utf-8").split(BECOMES)[0])


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_golden(file: Path, golden: Callable[[Path, str], None]) -> None:
    kernel = before_of(file)
    well_formed(kernel)
    after = PASSES[file.parent.name](kernel)
    well_formed(after)
    rows = [row for row in PASS_LIST if row.name == file.parent.name]
    assert after is kernel or not rows or any(row.may_change(kernel) for row in rows)
    golden(file, show(kernel) + BECOMES + show(after))


# -- meaning


def arguments(kernel: ir.Kernel, n: int, rng: Any) -> dict[str, Any]:
    """Arrays of n elements along every axis; subscripts inside them, floats of every kind."""
    made: dict[str, Any] = {}
    appended = {s.array for s in walk(kernel) if isinstance(s, ir.Append) and not s.only}
    for p in kernel.params:
        shape = (n,) * (p.rank or 0) if p.name not in appended else (2 * n + 64,)
        d = DTYPES[p.dtype]
        if d.kind == "f":
            values = rng.standard_normal(shape) * 2
            values = np.where(rng.random(shape) < 0.2, rng.choice([0.0, -0.0, 1.0], shape), values)
            odd = rng.choice([np.nan, np.inf, -np.inf, 1e-310], shape)
            values = np.where(rng.random(shape) < rng.choice([0, 0.05]), odd, values)
        else:
            values = rng.integers(0, max(min(n, d.high), 1), shape)
        made[p.name] = np.asarray(values, d.numpy) if p.rank is not None else d.numpy.type(values)
    return made


def results(kernel: ir.Kernel, args: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The status, and what was written; of a list the part that its count, named n, says."""
    args = {k: v.copy() for k, v in args.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        status = run_kernel(kernel, args).status
    appended = {s.array for s in walk(kernel) if isinstance(s, ir.Append) and not s.only}
    for name in appended:
        args[name] = args[name][: int(args["n"])]
    return status, {p.name: args[p.name] for p in kernel.params if p.written}


def near(a: dict[str, Any], b: dict[str, Any]) -> bool:
    def one(x: Any, y: Any) -> bool:
        tolerance = 1e-4 if x.dtype == np.float32 else 1e-9
        return np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)

    return all(a[k].shape == b[k].shape and one(a[k], b[k]) for k in a)


@pytest.mark.share(90)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", [
    pytest.param(f, id=name_of(f), marks=[pytest.mark.plain] * (name_of(f) in PLAIN)) for f in FILES
])
def test_every_pass_keeps_the_meaning(file: Path) -> None:
    """Bit for bit; only folds of floats may round differently, in another order."""
    kernel = before_of(file)
    flat = all((p.rank or 0) < 2 for p in kernel.params) and not any(map(_nested, kernel.body))
    changes: list[tuple[Pass, ir.Kernel]] = []
    for step in PASS_LIST:
        now = changes[-1][1] if changes else kernel
        if (new := step.run(now)) is not now:
            assert step.may_change(now), step.name
            well_formed(new)
            changes.append((step, new))
    sizes = SIZES[: examples(10)]  # the largest one with --long
    tried = 0
    for n in sizes if flat else SIZES[:7]:
        args = arguments(kernel, n, np.random.default_rng(n))
        try:
            status, wanted = results(kernel, args)
        except IndexError:  # it asks for longer arrays, as its guards may
            continue
        tried += 1
        for step, now in changes:
            after, got = results(now, args)
            added = sum(STATUS[c] for c in set(now.strict) - set(kernel.strict))
            if after & added & ~status:  # of lanes that Python would not compute: it answers
                break
            if now.stops and status & after & STATUS["replay"]:  # so it does
                break
            exact = after == status and all(same(got[k], wanted[k]) for k in wanted)
            assert exact or (step.reorders and near(got, wanted)), (step.name, n, got, wanted)
            status, wanted = after, got  # in another order, infinities may meet or miss each other
    assert tried > 1


def _nested(s: ir.Stmt) -> bool:
    """Whether a loop stands in a loop."""
    loops = [n for n in walk(s) if isinstance(n, (ir.Loop, ir.While))]
    return any(isinstance(n, (ir.Loop, ir.While)) for loop in loops for n in [*walk(loop)][1:])


def check_case(case: Case, reassociate: bool) -> None:
    """Every pass leaves results as they are, and raises no flag of its own."""
    status, wanted = outcome(case, case.kernel)
    kernel = case.kernel
    for step in PASS_LIST:
        new = step.run(kernel, reassociate=reassociate) if step.reorders else step.run(kernel)
        if new is kernel:
            continue
        assert step.may_change(kernel), step.name
        kernel = new
        well_formed(kernel)
        after, got = outcome(case, kernel)
        if kernel.stops and status & after & STATUS["replay"]:  # nothing is written then
            return
        for name in wanted:
            assert same(got[name], wanted[name]), (step.name, name)
        # what is dead need not raise any more; where more is raised, Python decides
        assert after & ~status & ~sum(STATUS[c] for c in kernel.strict) == 0, step.name


def outcome(case: Case, kernel: ir.Kernel) -> tuple[int, dict[str, Any]]:
    args = case.arguments()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        status = run_kernel(kernel, args).status
    return status, case.results(args)


@settings(max_examples=examples(8))
@given(cases())
def test_random_kernels_in_order(case: Case) -> None:
    check_case(case, reassociate=False)


@settings(max_examples=examples(8))
@given(cases(exact=True))
def test_random_kernels_reassociated(case: Case) -> None:
    check_case(case, reassociate=True)


def test_optimise_tells_of_each_pass_that_changed_something() -> None:
    kernel = before_of(GOLDEN / "vectorize" / "search.ir")
    seen: list[tuple[str, ir.Kernel]] = []
    last = optimise(kernel, on_pass=lambda name, k: seen.append((name, k)))
    names = ["common_subexpressions", "vectorize", "simplify", "parallelize"]
    assert [name for name, _ in seen] == names
    assert seen[-1][1] is last
    assert all(isinstance(p, Pass) and p.reason for p in PASS_LIST)
