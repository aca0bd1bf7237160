"""The benchmarks run, and all competitors compute the same; their times are not tested."""
from __future__ import annotations

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
