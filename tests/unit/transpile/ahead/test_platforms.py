"""Platforms, and the libraries of packages that are built for them."""
from __future__ import annotations

import os
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from native import RUNNABLE, run_native, why_no_windows

from loopir.ir_printer import parse
from loopir.lazy_dataclass import replace
from loopir.passes.pass_list import optimise
from targets.build import c_compiler
from targets.build.build_errors import BuildError, NoCompiler
from targets.build.build_kernel import build_object
from targets.build.c_compiler import find_compiler
from targets.c.headers import read_header
from targets.isa.target_registry import TARGETS, machine
from transpile.ahead.build_files import build_files
from transpile.ahead.fat_library import built_library, library_targets, library_units
from transpile.ahead.kernel_library import library_name
from transpile.ahead.platforms import PLATFORMS, own_platform, platform_named
from transpile.cli import main


@pytest.mark.parametrize(
    ("name", "triple", "cpu", "system"),
    [
        ("manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17", "x86_64", "linux"),
        ("manylinux_2_28_aarch64", "aarch64-linux-gnu.2.28", "aarch64", "linux"),
        ("macosx_11_0_arm64", "aarch64-macos.11.0", "aarch64", "darwin"),
        ("macosx_10_13_x86_64", "x86_64-macos.10.13", "x86_64", "darwin"),
        ("win_amd64", "x86_64-windows-gnu", "x86_64", "win32"),
        ("win_arm64", "aarch64-windows-gnu", "aarch64", "win32"),
    ],
)
def test_the_names_are_those_of_wheels(name: str, triple: str, cpu: str, system: str) -> None:
    platform = platform_named(name)
    assert (platform.triple, platform.machine, platform.system) == (triple, cpu, system)
    assert library_targets(platform.machine)


@pytest.mark.parametrize("name", ["win32", "manylinux_2_17_i686", "macosx_11_0_universal2", ""])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^there is no platform {name}: .*win_amd64"):
        platform_named(name)


def test_the_command_says_which_platforms_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.py"
    path.write_text("from transpile import fuse\n@fuse\ndef f(x: float): return x\n")
    assert main([str(path), "--build", "--platform", "solaris"]) == 2
    assert "there is no platform solaris" in capsys.readouterr().err
    assert main([str(path), "--platform", "win_amd64"]) == 2
    assert "there is no --build" in capsys.readouterr().err


def test_without_ziglang_there_is_no_cross_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_compiler, "_zig", lambda: None)
    with pytest.raises(NoCompiler, match="ziglang") as caught:
        built_library([], platform_named("win_amd64"))
    assert "pip install ziglang" in caught.value.help


def test_code_for_any_cpu_has_no_extra_features() -> None:
    """A package runs where the CPU has less than that of the machine on which it was built."""
    extras = frozenset({"avx512_vpopcntdq", "avx512_bitalg"})
    base = TARGETS["avx512"].for_any_cpu
    assert "-mavx512f" in base.cflags
    flags = (*base.cflags, "-mavx512vpopcntdq", "-mavx512bitalg")
    assert replace(base, extras=extras, cflags=flags).for_any_cpu == base
    for each in ("x86_64", "aarch64"):
        assert not any(target.extras for target in library_targets(each))


@pytest.mark.parametrize("name", PLATFORMS)
def test_the_makefile_is_for_the_platform(name: str) -> None:
    platform = platform_named(name)
    text = build_files(library_units([]), platform)["Makefile"]
    assert f'CC="python -m ziglang cc -target {platform.triple} ' in text
    (line,) = re.findall(rf"^{library_name(platform.system)}: (.*)$", text, re.MULTILINE)
    assert {*line.split()} == {"calls.o", "thread_pool.o", "cpu_targets.o", "table.o"}


def test_the_library_is_one_of_the_platform() -> None:
    platform = own_platform()
    assert built_library(library_units([]), platform)[:4] == b"\x7fELF"
    with pytest.raises(BuildError, match="cannot be loaded: it is no Mach-O file"):
        built_library(library_units([]), replace(platform, system="darwin"))


@pytest.mark.skipif(machine() != "x86_64", reason="no AVX")
def test_gcc_for_windows_is_refused_for_avx() -> None:
    """It aligns the stack to 16 bytes, and stores vectors of 32 there as if they were aligned."""
    if "gcc" not in os.path.realpath(find_compiler().command[0]):
        pytest.skip("no GCC")
    for_windows = ("-D__MINGW32__",)
    build_object(read_header("abi.h"), (*TARGETS["sse2"].cflags, *for_windows), cache=False)
    with pytest.raises(BuildError, match="not aligned for them"):
        build_object(read_header("abi.h"), (*TARGETS["avx2"].cflags, *for_windows), cache=False)


EACH_KIND = """
def kernel(x: f64[::1], k: i64[::1], y: mut(f64[::1]), z: mut(f32[::1]), c: mut(i64[::1])):
    {disjoint}
    for i in loop(0, x.shape[0], s=0.0):
        y[i] = exp(x[i]) * 3.0 + x[k[i]]
        z[i] = f32(sqrt(x[i]))
        c[i] = select(x[i] > 0.5, k[i] * k[i], k[i])
        s = step(s + x[i])
    y[0] = s
"""


@pytest.mark.long
@pytest.mark.skipif(bool(why_no_windows()), reason=why_no_windows() or "there is all")
@pytest.mark.parametrize("target", [t.name for t in library_targets("x86_64")])
def test_kernels_for_windows_give_the_same_bits_under_wine(target: str) -> None:
    """The calling convention, alignment of vectors on the stack, and the C library."""
    if target not in RUNNABLE:
        pytest.skip(f"no {target} here")
    pairs = (f"disjoint({a}, {b})" for a, b in combinations("xkyzc", 2) if b not in "xk")
    text = EACH_KIND.replace("{disjoint}", "\n    ".join(pairs))
    kernel = optimise(parse(text), TARGETS[target])
    for n in (1, 7, 64, 1001):
        rng = np.random.default_rng(n)
        given = {"x": rng.random(n), "k": rng.integers(0, n, n)}
        results = []
        for windows in (False, True):
            made = {"y": np.zeros(n), "z": np.zeros(n, "f4"), "c": np.zeros(n, "i8")}
            status = run_native(kernel, target, given | made, windows=windows)
            results.append((status, *(a.tobytes() for a in made.values())))
        assert results[0] == results[1], n
