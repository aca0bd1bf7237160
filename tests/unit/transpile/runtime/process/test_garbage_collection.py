"""The garbage collector runs less often during imports and compilations, as before after them."""
from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked_programs import run_program

import transpile
from transpile import fuse
from transpile.runtime import compile_call
from transpile.runtime.cache import disk_cache
from transpile.runtime.process.garbage_collection import YOUNG_OBJECTS, collecting_less_often


@pytest.fixture(autouse=True)
def former() -> Iterator[tuple[int, int, int]]:
    """The thresholds that Python starts with; those of the tests are put back."""
    own = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.set_threshold(*own)


def total(x: list[float]) -> float:
    s = 0.0
    for v in x:
        s += v
    return s


def test_a_compilation(monkeypatch: pytest.MonkeyPatch, former: tuple[int, int, int]) -> None:
    seen = []
    run = compile_call._run

    def noting(*given: object) -> object:
        seen.append(gc.get_threshold()[0])
        return run(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(compile_call, "_run", noting)
    fused = fuse(total, cache=False)
    assert fused([1.0, 2.0]) == 3.0
    assert fused.stats.compiled == 1
    assert seen == [YOUNG_OBJECTS]
    assert gc.get_threshold() == former


def test_a_compilation_that_fails(
    monkeypatch: pytest.MonkeyPatch, former: tuple[int, int, int]
) -> None:
    def failing(*_: object) -> None:
        assert gc.get_threshold()[0] == YOUNG_OBJECTS
        raise KeyboardInterrupt

    monkeypatch.setattr(compile_call, "_run", failing)
    with pytest.raises(KeyboardInterrupt):
        fuse(total, cache=False)([1.0])
    assert gc.get_threshold() == former


def test_contexts_in_one_another(former: tuple[int, int, int]) -> None:
    with collecting_less_often():
        with collecting_less_often():
            pass
        assert gc.get_threshold()[0] == YOUNG_OBJECTS
    assert gc.get_threshold() == former


@pytest.mark.parametrize("thresholds", [(0, 10, 10), (YOUNG_OBJECTS + 1, 10, 10)])
def test_what_the_user_has_set_stays(thresholds: tuple[int, int, int]) -> None:
    gc.set_threshold(*thresholds)
    with collecting_less_often():
        assert gc.get_threshold() == thresholds
    assert gc.get_threshold() == thresholds


@pytest.mark.parametrize("thresholds", [(0, 10, 10), (900, 10, 10), (YOUNG_OBJECTS, 5, 10)])
def test_what_the_user_sets_meanwhile_stays(thresholds: tuple[int, int, int]) -> None:
    with collecting_less_often():
        gc.set_threshold(*thresholds)
    assert gc.get_threshold() == thresholds


def test_an_import_of_a_public_name(
    monkeypatch: pytest.MonkeyPatch, former: tuple[int, int, int]
) -> None:
    seen = []
    real = importlib.import_module

    def noting(*names: str) -> object:
        seen.append(gc.get_threshold()[0])
        return real(*names)

    monkeypatch.setattr(importlib, "import_module", noting)
    monkeypatch.delitem(vars(transpile), "fuse", raising=False)
    assert transpile.fuse is fuse
    assert seen == [YOUNG_OBJECTS]
    assert gc.get_threshold() == former


def test_a_search_in_the_disk_cache(
    monkeypatch: pytest.MonkeyPatch, former: tuple[int, int, int]
) -> None:
    seen = []

    def noting(*_: object) -> None:
        seen.append(gc.get_threshold()[0])

    monkeypatch.setattr(disk_cache, "find_variant", noting)
    assert fuse(total)([1.0, 2.0]) == 3.0
    assert seen == [YOUNG_OBJECTS]
    assert gc.get_threshold() == former


ONCE = '''
import gc, weakref
from transpile.runtime.process.garbage_collection import keep_imported

class Node: pass
young, cycle = [[] for _ in range(500)], Node()
cycle.itself = cycle
if {frozen}:
    gc.freeze()
before = gc.get_freeze_count()
keep_imported()
assert gc.get_freeze_count() == before
assert any(o is young for o in gc.get_objects(generation=2)) is not {frozen}
known = weakref.ref(cycle)
del cycle
gc.collect()
assert (known() is not None) is {frozen}
'''


@pytest.mark.parametrize("frozen", [False, True])
def test_what_the_first_compilation_has_made_is_old(frozen: bool, tmp_path: Path) -> None:
    """It is not looked at again, unless all objects are; what the user has frozen stays so."""
    path = tmp_path / "once.py"
    path.write_text(ONCE.format(frozen=frozen))
    run_program(path, start_python=True)
