"""The snapshot tool: what it records is always the same, and what differs is found and named."""
from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import pytest

from loopir.passes import pass_list
from targets.isa.target_registry import TARGETS
from tests.tools import snapshot
from tests.tools.snapshot import differences, load, record, told

TWO = r"^run/(dot-same|clamp-f32)$"
LABELS = ["run/clamp-f32", "run/dot-same"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    assert sorted(record(folder, only=TWO)) == LABELS
    return folder


def without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass of this name does nothing."""
    steps = tuple(step for step in pass_list.PASS_LIST if step.name != name)
    assert steps != pass_list.PASS_LIST
    monkeypatch.setattr(pass_list, "PASS_LIST", steps)


def test_every_stage_is_recorded(recorded: Path) -> None:
    stages = load(recorded / "run/dot-same.gz")
    kinds = [kind for place, kind in stages if place == "0"]
    assert kinds[:5] == ["types", "core python", "lowered", "plan", "fused"]
    assert [k for k in kinds if k.startswith("pass ")][:2] == ["pass 1", "pass 2"]
    for target in TARGETS:
        assert f"/* dot, {target} */" in stages["0", f"c {target}"][1]
    assert kinds[-3:] == ["mlir", "report", "report json"]
    assert not {"failed", "rejection"} & set(kinds)


def test_a_second_recording_is_identical(recorded: Path, tmp_path: Path) -> None:
    record(tmp_path, only=TWO)
    for label in LABELS:
        assert (tmp_path / f"{label}.gz").read_bytes() == (recorded / f"{label}.gz").read_bytes()
    assert snapshot.main(["compare", str(recorded), str(tmp_path)]) == 0


def test_a_difference_is_found_and_named(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    without("vectorize", monkeypatch)
    record(tmp_path, only=TWO)
    found = [d for d in differences(recorded, tmp_path, LABELS) if d.label == "run/clamp-f32"]
    before, after = (load(f / "run/clamp-f32.gz") for f in (recorded, tmp_path))
    changed = [key for key, (name, _) in before.items() if name == "vectorize"]
    assert (found[0].place, found[0].kind) == changed[0]
    assert [d.first for d in found] == [True] + [False] * (len(found) - 1)
    assert {"c avx2", "legal neon", "report"} <= {d.kind for d in found}
    assert not {"core python", "lowered", "fused", "mlir"} & {d.kind for d in found}
    assert before["0", "fused"] == after["0", "fused"]
    text = "\n".join(told(found))
    assert f"{found[0].kind}: the first to differ in 1, differs in 1; run/clamp-f32" in text
    assert "+++ run/clamp-f32: " in text
    assert snapshot.main(["compare", str(recorded), str(tmp_path), "--only", "clamp"]) == 1
    assert "1 of 1 programs differ" in capsys.readouterr().out


def test_passes_may_be_renamed(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = load(recorded / "run/dot-same.gz")["0", "pass 1"][0]

    def named(step: pass_list.Pass) -> pass_list.Pass:
        if step.name != old:
            return step
        run = functools.wraps(step.run)(lambda *args, **kwargs: step.run(*args, **kwargs))
        run.__name__ = "another_name"
        return dataclasses.replace(step, run=run)

    monkeypatch.setattr(pass_list, "PASS_LIST", tuple(map(named, pass_list.PASS_LIST)))
    record(tmp_path, only="^run/dot-same$")
    one = LABELS[1:]
    assert not list(differences(recorded, tmp_path, one))
    assert [d.kind for d in differences(recorded, tmp_path, one, names=True)][:1] == ["pass 1"]
    renamed = {old: "another_name"}
    assert not list(differences(recorded, tmp_path, one, names=True, renamed=renamed))


def test_missing_programs_are_told(recorded: Path, tmp_path: Path) -> None:
    record(tmp_path, only="^run/dot-same$")
    (found,) = differences(recorded, tmp_path, LABELS)
    assert found == ("run/clamp-f32", "", "program", "recorded\n", "not recorded\n", True)


def test_what_is_refused_has_a_rejection(tmp_path: Path) -> None:
    record(tmp_path, only="^reject/(lower_complex|source_unparsable)$")
    rejected = load(tmp_path / "reject/lower_complex.gz")["0", "rejection"][1]
    assert rejected.startswith("code: 'LOWER_COMPLEX'\n")
    assert "SyntaxError" in load(tmp_path / "reject/source_unparsable.gz")["0", "not run"][1]


def test_the_regions_of_what_is_refused(tmp_path: Path) -> None:
    record(tmp_path, only="^reject/lower_library$")
    stages = load(tmp_path / "reject/lower_library.gz")
    kinds = {kind for _, kind in stages}
    assert {"rejection", "regions", "region", "report"} <= kinds
    assert "failed" not in kinds
    assert "_tp_region" in stages["0", "regions"][1]


def test_kept_results_of_passes_are_those_of_passes() -> None:
    call = next(snapshot._by_label()["run/dot-same"].calls())
    for target in snapshot.COMPILED_FOR:
        with snapshot.shared_passes():
            stages = snapshot.front(*call, False)
            shared = snapshot.for_target(stages, target)
        assert shared.kernel == snapshot.for_target(stages, target).kernel
