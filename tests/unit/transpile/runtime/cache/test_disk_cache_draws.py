"""Kernels that draw random numbers are found by a later process, and draw what Python draws."""
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from forked_programs import run_program

PROGRAM = """
import json, random, sys
import numpy as np
from transpile import fuse
{before}
rng = np.random.default_rng(3)
@fuse
def of_a_global(n):
    return [rng.integers(0, 10) + rng.normal() for _ in range(n)]
@fuse
def of_python(n):
    return sum(random.randint(1, 6) + random.gauss(0, 1) + random.random() for _ in range(n))
@fuse
def of_numpy(n):
    s = 0.0
    for _ in range(n):
        s += np.random.randint(0, 10) + np.random.rand()
    return s
@fuse
def of_an_argument(g, n):
    return g.normal(size=n), g.random(n), g.standard_normal()
@fuse
def of_either(g, n):
    t = 0.0
    for _ in range(n):
        t += g.rand() * g.randint(5)
    return t
def told(f, *args):
    random.seed(7)
    np.random.seed(7)
    rng.bit_generator.state = np.random.default_rng(5).bit_generator.state
    given = [np.random.default_rng(2) if a == "new" else np.random.RandomState(2) if a == "old"
             else a for a in args]
    results = repr(f(*given))
    after = random.random(), float(np.random.rand()), float(rng.random())
    return results, after, [float(g.random_sample() if a == "old" else g.random())
                            for a, g in zip(args, given) if a in ("new", "old")]
seen = [
    told(f, *args) == told(f.__wrapped__, *args) for f, args in
    [(of_a_global, (9,)), (of_python, (9,)), (of_numpy, (9,)), (of_an_argument, ("new", 5)),
     (of_either, ("old", 9))]
]
print(json.dumps(dict(
    same=all(seen), front="transpile.pipeline" in sys.modules,
    compiled=[f.stats.compiled for f in
              (of_a_global, of_python, of_numpy, of_an_argument, of_either)],
)))
"""


@pytest.fixture
def run(tmp_path: Path):
    """Runs the program in a process of its own, all with one cache; what it tells."""

    def once(before: str = "") -> dict[str, object]:
        (tmp_path / "program.py").write_text(PROGRAM.format(before=before))
        env = os.environ | {
            "TRANSPILE_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1",
        }
        said = run_program(tmp_path / "program.py", env=env)
        got: dict[str, object] = json.loads(said.stdout)
        assert got["same"], said.stdout
        return got

    return once


def test_the_second_process_compiles_nothing(run) -> None:
    first = run()
    assert first["front"]
    assert first["compiled"] == [1] * 5
    second = run()
    assert not second["front"]
    assert second["compiled"] == [1] * 5


@pytest.mark.share(3)
@pytest.mark.parametrize("before", [
    "random.randint = random.randrange",
    "random.Random.gauss = random.Random.normalvariate; random.gauss = random._inst.gauss",
    "np.random.rand = np.random.standard_normal",
], ids=["a function of the module", "a method of the class", "a function of NumPy"])
def test_another_function_in_its_place_compiles_again(before: str, run) -> None:
    run()
    assert run(before)["front"]
