"""The bench runs: every case computes the same in all who run it, whatever the time."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parent.parent


def lines(*words: str) -> list[str]:
    """What a bench prints of tiny arguments, under its heading."""
    command = [sys.executable, "-m", "tests.bench", *words, "--rounds", "1"]
    ran = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, timeout=280)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()[2:]


def test_a_case_is_timed() -> None:
    (line,) = lines("bools", "--sizes", "16")
    assert line.split()[:6] == ["and,", "count", "of", "bools", "bool", "16"]


@pytest.mark.long
def test_every_case_computes_the_same() -> None:
    assert len(lines("--sizes", "65")) > 100
