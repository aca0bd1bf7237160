"""A later process calls what an earlier one has compiled, and compiles nothing."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime import disk_cache

PROGRAM = """
import json, math, sys
import numpy as np
from transpile import fuse
SCALE = {scale}
{before}
@fuse
def roots(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = math.sqrt(x[i]) * SCALE + math.pi{extra}
    return out
x = np.arange(5.0)
y = roots(x)
print(json.dumps(dict(
    y=y.tolist(), want=roots.__wrapped__(x).tolist(), compiled=roots.stats.compiled,
    front="transpile.pipeline" in sys.modules,
)))
"""


@pytest.fixture
def run(tmp_path: Path):
    """Runs the program in a process of its own, all with one cache; what it tells."""

    def once(scale: str = "2.0", before: str = "", extra: str = "") -> dict[str, object]:
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.format(scale=scale, before=before, extra=extra))
        env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache")}
        said = subprocess.run(
            [sys.executable, str(path)], env=env, capture_output=True, text=True, check=True
        )
        got: dict[str, object] = json.loads(said.stdout)
        assert got["y"] == got["want"]
        return got

    return once


def test_the_second_process_compiles_nothing(run) -> None:
    assert run()["front"]
    again = run()
    assert (again["compiled"], again["front"]) == (1, False)


def test_our_own_functions_are_told_apart(run) -> None:
    ours = {"before": "from transpile.ops import relu", "extra": " + relu(x[i])"}
    assert run(**ours)["front"]
    assert not run(**ours)["front"]
    assert run(before="relu = np.sign", extra=" + relu(x[i])")["front"]


def test_a_constant_is_read_anew_and_its_type_counts(run) -> None:
    run()
    assert not run(scale="3.5")["front"]
    assert run(scale="np.float32(3.5)")["front"]


def test_a_name_that_means_something_else(run) -> None:
    run()
    for other in ("math.cbrt if hasattr(math, 'cbrt') else math.exp", "lambda v: v + 1"):
        got = run(before=f"math.sqrt = {other}")
        assert got["front"]
    assert run(before="math.pi = 3.0")["front"]


def test_another_body(run) -> None:
    run()
    assert run(extra=" + 1")["front"]
    assert not run(extra=" + 1")["front"]


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b"x" + b[1:], lambda b: b""]
)
def test_a_damaged_recipe_is_made_again(run, tmp_path: Path, damage) -> None:
    run()
    for path in (tmp_path / "cache").glob("*.call"):
        path.write_bytes(damage(path.read_bytes()))
    assert run()["front"]
    assert not run()["front"]


def test_a_recipe_without_its_object(run, tmp_path: Path) -> None:
    run()
    for path in (tmp_path / "cache").glob("*.so"):
        path.unlink()
    assert run()["front"]


def test_another_compiler_has_recipes_of_its_own() -> None:
    assert {name for name, *_ in disk_cache._transpile_files()} >= {
        "disk_cache.py",
        "nodes.py",
        "load_kernel.py",
        "entry.c",
    }


def test_code_that_holds_objects() -> None:
    def held(x):
        return "here"

    consts = (object() if c == "here" else c for c in held.__code__.co_consts)
    held.__code__ = held.__code__.replace(co_consts=tuple(consts))
    fused = fuse(held, on_reject="silent")
    assert fused(np.ones(2)) is held(np.ones(2))
    assert fused.stats.replays == {"SOURCE_UNAVAILABLE": 1}
