"""The benchmarks run, and all competitors compute the same; their times are not tested."""
from __future__ import annotations

import os
from pathlib import Path

import pytest
from forked_programs import run_program
from paths import ROOT


def lines(*words: str, bench: str = "tests.bench", heading: int = 2) -> list[str]:
    """What a bench prints of tiny arguments, under its heading."""
    ran = run_program("-m", bench, *words, "--rounds", "1", cwd=ROOT, timeout=280)
    return ran.stdout.splitlines()[heading:]


def test_a_case_is_timed() -> None:
    (line,) = lines("bools", "--sizes", "16")
    assert line.split()[:6] == ["and,", "count", "of", "bools", "bool", "16"]


def test_a_program_is_timed() -> None:
    told = lines("variance", "--sizes", "64", bench="tests.bench.programs", heading=1)
    assert told[-1].split()[:5] == ["variance", "64", "2", "→", "2"]


def test_a_small_function_passes_few_files_of_the_compiler() -> None:
    """A sum of three lines, once all that is cached is there: each macro and pass that cannot
    change it is left out before its file is entered.
    """
    words = ("sum", "--target", "avx2")
    (line,) = lines(*words, bench="tests.bench.compile_time", heading=1)
    _, files, macros, *_ = line.split()
    assert int(files) <= 186
    assert int(macros) <= 150


COUNTED = '''
import sys
import numpy as np

def ours():
    return sum(name.split(".")[0] in ("loopir", "targets", "transpile") for name in sys.modules)

from transpile import fuse
at_import = ours()

@fuse
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s

total(np.ones(100))
print(at_import, ours(), "numpy.random" in sys.modules)
assert total.stats.compiled == 1
'''


def test_a_small_function_imports_few_modules(tmp_path: Path) -> None:
    """A macro, a pass or a rule that it does not need is a lazy function, or imported where it is
    called. Once the kernel is in the disk cache the compiler is not imported at all.
    """
    path = tmp_path / "counted.py"
    path.write_text(COUNTED)
    env = {**os.environ, "TRANSPILE_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    counts = [run_program(path, env=env, start_python=True).stdout.split() for _ in range(2)]
    (at_import, compiled, draws), (_, loaded, _) = counts
    assert int(at_import) <= 74
    assert int(compiled) <= 412
    assert int(loaded) <= 118
    assert draws == "False"


def test_first_calls_are_timed() -> None:
    told = lines("--rounds", "1", bench="tests.bench.first_call", heading=1)
    assert [line.split()[0] for line in told] == ["empty"] * 4 + ["filled"] * 4


def test_spellings_of_an_idiom_are_timed() -> None:
    told = lines("sum if", "--size", "64", bench="tests.bench.spellings", heading=1)
    assert told[0].split()[:2] == ["sum", "if"]
    assert any(line.endswith(" of 1 idioms within 1.3") for line in told)


def test_two_checkouts_are_timed_in_turn() -> None:
    words = (str(ROOT), "axpy", "--sizes", "16", "--target", "scalar")
    *cases, mean = lines(*words, bench="tests.bench.paired", heading=0)
    assert [line.split()[:3] for line in cases] == [
        ["axpy", "float32", "16"], ["axpy", "float64", "16"]
    ]
    assert mean.startswith("geometric mean of 2 ratios: ")


def test_peers_with_threads_are_timed() -> None:
    told = lines("variance", "--sizes", "64", bench="tests.bench.parallel_peers", heading=2)
    assert told[0].split()[:2] == ["variance", "64"]
    assert any(line.startswith("NumPy: 1 rows, geometric mean ") for line in told)


@pytest.mark.long
def test_every_case_computes_the_same() -> None:
    assert len(lines("--sizes", "65")) > 100
