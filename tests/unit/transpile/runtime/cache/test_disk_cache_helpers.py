"""Kernels with inlined functions are found by a later process, unless a function has changed."""
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from forked_programs import run_program

PROGRAM = """
import json, sys, warnings
import numpy as np
import helping
from helping import scaled
from transpile import fuse
def near(x):
    return helping.rooted(x) + 1.0
{before}
@fuse
def f(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = near(x[i]) + scaled(x[i])
    return out
x = np.arange(4.0)
seen = []
for g in (f, f.__wrapped__):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = g(x)
    seen.append((y.tolist(), sorted((str(w.message), w.filename, w.lineno) for w in caught)))
print(json.dumps(dict(
    same=seen[0] == seen[1], warned=len(seen[0][1]), front="transpile.pipeline" in sys.modules,
)))
"""

HELPING = """
import numpy as np
SCALE = 2.0
def rooted(x):
    return np.sqrt(x) + 0.5
def scaled(x, by=3.0):
    return x * by * SCALE
"""


@pytest.fixture
def run(tmp_path: Path):
    """Runs the program in a process of its own, all with one cache; what it tells."""

    def once(
        before: str = "", helping: str = HELPING
    ) -> dict[str, object]:
        (tmp_path / "program.py").write_text(PROGRAM.format(before=before))
        (tmp_path / "helping.py").write_text(helping)
        env = os.environ | {
            "TRANSPILE_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1",
        }
        said = run_program(tmp_path / "program.py", env=env)
        got: dict[str, object] = json.loads(said.stdout)
        assert got["same"], said.stdout
        return got

    return once


def test_the_second_process_compiles_nothing(run) -> None:
    assert run()["front"]
    assert not run()["front"]


@pytest.mark.share(6)
@pytest.mark.parametrize(
    "change",
    [
        {"helping": HELPING.replace("+ 0.5", "- 0.5")},
        {"helping": HELPING.replace("by=3.0", "by=4.0")},
        {"helping": HELPING.replace("import numpy as np", "import numpy as np\nold = np.sqrt")
                           .replace("np.sqrt(x)", "np.cbrt(x)")},
        {"before": "helping.rooted = lambda x: x"},
        {"before": "np.sqrt = np.cbrt"},
    ],
    ids=["body", "default", "callee", "another function", "another callee"],
)
def test_a_change_compiles_again(change: dict[str, str], run) -> None:
    run()
    assert run(**change)["front"]


def test_globals_of_a_helper_are_read_anew(run) -> None:
    run()
    assert not run(helping=HELPING.replace("SCALE = 2.0", "SCALE = 5.0"))["front"]


def test_a_warning_is_at_the_helpers_line(run) -> None:
    warns = HELPING.replace("np.sqrt(x)", "np.log(x)")
    assert run(helping=warns)["warned"]
    again = run(helping=warns)
    assert (again["front"], bool(again["warned"])) == (False, True)
