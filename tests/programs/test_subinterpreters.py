"""In a subinterpreter Python runs, with one warning: kernels are those of the main interpreter."""
from __future__ import annotations

from pathlib import Path

import pytest
from forked_programs import run_program
from paths import ROOT

from transpile.cli import main

MODEL = """
from transpile import fuse

@fuse
def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s
"""
USE = """
import sys, warnings
sys.path[:0] = {paths!r}
warnings.simplefilter("ignore")
try:
    import numpy as np
except (ImportError, RuntimeError):
    print("no NumPy here")
else:
    from {module} import dot
    x = np.arange(100.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert dot(x, x) == dot(x, x) == 328350.0
    compiled = dot.stats.compiled if hasattr(dot, "stats") else "ahead of time" in dot.report()
    print(bool(compiled), *(f"{{w.category.__name__}}: {{w.message}}" for w in caught), sep="; ")
sys.stdout.flush()
"""
RUN = """
try:
    import _interpreters as interpreters
    made, execute = interpreters.create("legacy"), interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    made, execute = interpreters.create(isolated=False), interpreters.run_string
failed = execute(made, USE)
assert failed is None, failed
interpreters.destroy(made)
"""


@pytest.mark.parametrize("main_first", [False, True])
@pytest.mark.parametrize("module", ["model", "model_fused"])
def test_python_runs_in_a_subinterpreter(module: str, *, main_first: bool, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    if module == "model_fused":
        words = ["--build", "-o", str(tmp_path), "--types", "dot(f64[:], f64[:])"]
        assert main([str(tmp_path / "model.py"), *words]) == 0
    use = USE.format(paths=[str(ROOT), str(tmp_path)], module=module)
    parts = [f"USE = {use!r}", *["exec(USE)"] * main_first, RUN]
    (tmp_path / "run.py").write_text("\n".join(parts))
    *of_main, told = run_program(tmp_path / "run.py", start_python=True).stdout.splitlines()
    assert of_main == ["True"] * main_first
    if told != "no NumPy here":
        assert told.startswith("False; FuseWarning: ")
        assert told.endswith("in the main interpreter of a process alone" + "; Python runs" * (
            module == "model_fused"
        ))
        assert told.count("Warning") == 1
