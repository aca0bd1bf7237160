"""A later process calls what an earlier one has compiled, and compiles nothing."""
from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from forked_programs import run_program

from targets.build.build_errors import BuildError
from targets.isa.target_registry import TARGETS, best_target, runnable_targets
from transpile import fuse
from transpile.options import Options
from transpile.runtime.cache import disk_cache

PROGRAM = """
import json, math, sys
import numpy as np
from targets.isa.target_registry import TARGETS, best_target, runnable_targets
from transpile import fuse
from transpile.options import Options
SCALE = {scale}
LATE = (
    "loopir.nodes", "targets.build.build_kernel", "transpile.frontend.source",
    "transpile.numpy.function_table", "hashlib",
)
{before}
@fuse
def roots(x, by):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = math.sqrt(x[i]) * SCALE * by + math.pi{extra}
    return out
x = np.arange(5.0)
y = roots(x, 1.0)
print(json.dumps(dict(
    y=y.tolist(), want=roots.__wrapped__(x, 1.0).tolist(), compiled=roots.stats.compiled,
    front="transpile.pipeline" in sys.modules,
    back=[m for m in LATE if m in sys.modules],
)))
"""

WITH_POOL = "from targets.abi import thread_pool; assert thread_pool.wait_until_ready()"
"""Builds the thread pool before the kernel; else the process may end before it is built."""


@pytest.fixture
def run(tmp_path: Path):
    """Runs the program in a process of its own, all with one cache; what it tells."""

    def once(
        scale: str = "2.0", before: str = "", extra: str = "", start_python: bool = False
    ) -> dict[str, object]:
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.format(scale=scale, before=before, extra=extra))
        env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache")}
        said = run_program(path, env=env, start_python=start_python)
        got: dict[str, object] = json.loads(said.stdout)
        assert got["y"] == got["want"]
        return got

    return once


def test_the_second_process_compiles_nothing(run) -> None:
    assert run(start_python=True, before=WITH_POOL)["front"]
    again = run(start_python=True)
    assert (again["compiled"], again["front"], again["back"]) == (1, False, [])


def test_a_pool_that_is_not_in_the_cache_any_more_is_built(run, tmp_path: Path) -> None:
    run(before=WITH_POOL)
    for path in (tmp_path / "cache" / "kernels").glob("*.so"):
        if b"tp_pool_run" in path.read_bytes():
            path.unlink()
    again = run()
    assert (again["compiled"], again["front"]) == (1, False)
    assert "targets.build.build_kernel" in again["back"]


def test_code_that_a_knob_shapes_is_neither_stored_nor_taken(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as skipping:
        skipping.setenv("TRANSPILE_SKIP", "hoist")
        assert run()["front"]
    assert run()["front"]  # it was not stored
    monkeypatch.setenv("TRANSPILE_SKIP", "hoist")
    assert run()["front"]  # the other is not taken


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


def test_macros_of_the_user_are_in_no_entry(run) -> None:
    taught = "from transpile import macro\n@macro('math.sqrt(A)')\ndef rooted(A): return A ** 0.5"
    run(before=taught)
    assert run(before=taught)["front"]


@pytest.mark.share(10)
@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b"x" + b[1:], lambda b: b""]
)
def test_a_damaged_recipe_is_made_again(run, tmp_path: Path, damage) -> None:
    run()
    for path in (tmp_path / "cache" / "kernels").glob("*.call"):
        path.write_bytes(damage(path.read_bytes()))
    assert run()["front"]
    assert not run()["front"]


def test_a_recipe_without_its_object(run, tmp_path: Path) -> None:
    run()
    for path in (tmp_path / "cache" / "kernels").glob("*.so"):
        path.unlink()
    assert run()["front"]


def test_another_compiler_has_recipes_of_its_own() -> None:
    assert {name for name, *_ in disk_cache._transpile_files()} >= {
        "disk_cache.py",
        "nodes.py",
        "load_kernel.py",
        "entry.c",
        "sum.c",
    }


def test_bytecode_is_not_read_for_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    read, scan = list[str](), os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: read.append(path) or scan(path))
    assert disk_cache._transpile_files()
    assert any(path.endswith("loopir") for path in read)
    assert not any("__pycache__" in path for path in read)


def test_code_that_holds_objects() -> None:
    def held(x):
        return "here"

    consts = (object() if c == "here" else c for c in held.__code__.co_consts)
    held.__code__ = held.__code__.replace(co_consts=tuple(consts))
    fused = fuse(held, on_reject="silent")
    assert fused(np.ones(2)) is held(np.ones(2))
    assert fused.stats.replays == {"SOURCE_UNAVAILABLE": 1}


def test_a_target_that_this_cpu_lacks_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine has compiled for it, and shares the cache."""
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path))

    def twice(x):
        return [v * 2.0 for v in x]

    name = best_target().name
    x = np.ones(3)
    assert fuse(twice, target=name)(x) == [2.0] * 3
    again = fuse(twice, target=name)
    again(x)
    assert again.stats.compiled == 1
    others = tuple(t for t in runnable_targets() if t.name != name)
    monkeypatch.setattr("targets.isa.target_registry.runnable_targets", lambda: others)
    lacking = fuse(twice, target=name, on_reject="silent")
    assert lacking(x) == [2.0] * 3
    assert (lacking.stats.compiled, lacking.stats.replays) == (0, {"BUILD_FAILED": 1})


def test_the_key_does_not_tell_what_else_refers_to_the_code() -> None:
    """Objects in the code have more references once another function has the same names."""
    code = compile("def f(p_1):\n    q_1 = p_1 + 123456.5\n    return q_1", "x.py", "exec")
    names: dict[str, Any] = {}
    exec(code, names)

    def key() -> str:
        return disk_cache._cache_key(names["f"], {}, Options(), TARGETS["scalar"])

    before = key()
    held = [names["f"].__code__.co_consts, names["f"].__code__.co_varnames]
    held += [*held[0], *held[1]]
    assert key() == before


def test_the_key_has_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flags of the user may mean "for this CPU"."""
    def key() -> str:
        return disk_cache._cache_key(test_code_that_holds_objects, {}, Options(), TARGETS["scalar"])

    before = key()
    monkeypatch.setattr(disk_cache, "features", lambda: frozenset({"other"}))
    assert key() != before


@pytest.mark.parametrize("sizes", ["32K,256K,8M", "64K,2M,32M"])
def test_the_key_has_the_sizes_of_caches(
    sizes: str, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run()["front"]
    monkeypatch.setenv("TRANSPILE_MACHINE", sizes)
    assert run()["front"]
    assert not run()["front"]


@pytest.mark.skipif(find_spec("ziglang") is not None, reason="the wheel ziglang is a compiler")
def test_without_a_compiler_what_was_made_for_other_caches_serves(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that was filled elsewhere."""
    assert run(before=WITH_POOL)["front"]
    monkeypatch.setenv("TRANSPILE_MACHINE", "64K,2M,32M")
    with monkeypatch.context() as without_compiler:
        without_compiler.setenv("PATH", "")
        assert (run()["compiled"], run()["front"]) == (1, False)
    assert run()["front"]


def test_an_archive_is_told_as_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = SimpleNamespace(__path__=[str(tmp_path / "all.zip" / "transpile")])
    monkeypatch.setattr(disk_cache, "import_module", lambda name: package)
    with pytest.raises(BuildError, match=r"is imported from an archive, .*all\.zip"):
        disk_cache._transpile_files()
