"""``numpy.random`` is imported where the function that is compiled names it, not by the compiler.

NumPy itself imports it when it is first read.
"""
from __future__ import annotations

from pathlib import Path

from forked_programs import run_program

PROGRAM = """
import sys
import numpy as np
from transpile import fuse

@fuse
def of_module(n):
    s = 0.0
    for i in range(n):
        s += np.random.random()
    return s

@fuse
def of_local_import(n):
    from numpy import random
    import numpy.random as drawn
    s = 0.0
    for i in range(n):
        s += random.random() + drawn.random()
    return s

@fuse
def of_maker(n):
    rng = np.random.default_rng(1)
    s = 0.0
    for i in range(n):
        s += rng.triangular(0.0, 0.5, 1.0)
    return s

assert "numpy.random" not in sys.modules
text = str({name}.report(3))
assert {told!r} in text, text
"""


def said(path: Path, name: str, told: str) -> None:
    """The report of the function `name` has these words, in a process that has drawn nothing."""
    path.write_text(PROGRAM.format(name=name, told=told))
    run_program(path, start_python=True)


def test_functions_of_the_module_are_compiled(tmp_path: Path) -> None:
    said(tmp_path / "program.py", "of_module", "draws random numbers")


def test_local_imports_are_compiled(tmp_path: Path) -> None:
    said(tmp_path / "program.py", "of_local_import", "draws random numbers")


def test_makers_of_generators_are_known(tmp_path: Path) -> None:
    said(tmp_path / "program.py", "of_maker", "`rng.triangular` is not a method that is compiled")
