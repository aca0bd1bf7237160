"""Machine probe: what it measures here and under emulation, and what is kept of it."""
from __future__ import annotations

import os
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest
from native import CROSS, QEMU

from targets.build import machine_probe as module
from targets.build.build_errors import BuildError
from targets.build.build_kernel import FLAGS
from targets.build.machine_probe import Rates, measured_rates, probe_source
from targets.build.object_cache import PROBE_SUFFIX, cache_clear
from targets.isa.target_registry import TARGETS, Target, best_target, runnable_targets

SOME = Rates(**{f.name: 1.0 + k for k, f in enumerate(fields(Rates))})


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "BUDGET", 1e5)
    return tmp_path / "kernels"


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.endswith(PROBE_SUFFIX)]


@pytest.mark.parametrize("target", runnable_targets(), ids=lambda t: t.name)
def test_rates_of_this_machine(target: Target) -> None:
    rates = measured_rates(target)
    for f in fields(Rates):
        rate = getattr(rates, f.name)
        assert (rate == 0.0) == (f.name == "streamed" and not target.stream)
        assert 0.0 <= rate < 1e5


def test_measured_once(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = measured_rates(best_target())
    monkeypatch.setattr(module, "_measure", lambda path, target: pytest.fail("measured again"))
    assert measured_rates(best_target()) == rates
    [path] = kept(own_cache)
    cache_clear()
    assert not path.exists()


@pytest.mark.parametrize("text", [b"", b"[1.0]", b"{", b"[null, 1, 1, 1, 1, 1, 1, 1]", b"\xff"])
def test_kept_rates_that_are_damaged(
    text: bytes, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_rates(best_target())
    [path] = kept(own_cache)
    module.publish(text, path.name.removesuffix(PROBE_SUFFIX), PROBE_SUFFIX)
    monkeypatch.setattr(module, "_measure", lambda path, target: SOME)
    assert measured_rates(best_target()) == SOME
    path.write_bytes(text)  # without a digest at its end
    assert measured_rates(best_target()) == SOME


def test_a_cache_that_cannot_be_written(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", os.devnull)
    monkeypatch.setattr(module, "_measure", lambda path, target: SOME)
    assert measured_rates(best_target()) == SOME


def test_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUFFER", 1 << 62)
    with pytest.raises(BuildError, match="no memory"):
        measured_rates(best_target())


@pytest.mark.skipif(not (CROSS and QEMU), reason="no cross compiler, or no emulator")
def test_under_emulation(tmp_path: Path) -> None:
    """The probe for NEON, and without vectors, run on an emulated AArch64."""
    assert CROSS
    assert QEMU
    for name in ("neon", "scalar"):
        main = (
            "#include <stdio.h>\nint main(void) { int64_t s[3] = {32768, 524288, 4194304};"
            " double r[8], all = tp_probe(s, 1 << 23, 1e5, r);"
            ' for (int k = 0; k < 8; k++) printf("%g ", r[k]); return all <= 0; }\n'
        )
        source, program = tmp_path / f"{name}.c", tmp_path / name
        source.write_text(probe_source(TARGETS[name]) + main)
        flags = [f for f in FLAGS if f not in ("-fPIC", "-fvisibility=protected")]
        build = [CROSS, *flags, *TARGETS[name].cflags, "-static", str(source), "-o", str(program)]
        subprocess.run(build, check=True)
        run = subprocess.run([QEMU, str(program)], check=True, capture_output=True, text=True)
        rates = [float(word) for word in run.stdout.split()]
        assert [rate > 0 for rate in rates] == [k != 5 for k in range(8)]
