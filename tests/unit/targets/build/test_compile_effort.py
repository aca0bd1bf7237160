"""The effort of the C compiler: less for large kernels, which compute the same."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from targets.build import build_kernel, compile_effort
from targets.build.build_kernel import build_object
from targets.build.c_compiler import Compiler
from targets.build.compile_effort import (
    EFFORTS,
    LEFT_OUT,
    LINK_FLAGS,
    Effort,
    accepted_flags,
    effort_for,
)
from transpile import fuse


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path))
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")


def flags_of_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The flags of each run of the C compiler from now on."""
    found: list[tuple[str, ...]] = []
    run = build_kernel.run_compiler

    def noted(compiler: object, flags: tuple[str, ...], *rest: str) -> None:
        found.append(flags)
        run(compiler, flags, *rest)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(build_kernel, "run_compiler", noted)
    return found


def test_more_text_is_never_more_effort() -> None:
    assert [e.up_to for e in EFFORTS] == sorted(e.up_to for e in EFFORTS)
    assert effort_for("x").flags == ()
    assert all(effort_for("x" * size).flags for size in (100_000, 1_000_000))


def test_clang_gets_no_flags_of_gcc() -> None:
    gcc = Compiler(("/usr/bin/cc",), "/usr/bin/gcc-12:1")
    clang = Compiler(("/usr/bin/cc",), "/usr/bin/clang-14:1")
    for effort in EFFORTS:
        assert accepted_flags(gcc, effort.flags) == effort.flags
        assert all(flag.startswith("-O") for flag in accepted_flags(clang, effort.flags))
    assert accepted_flags(gcc, ("-O2", "-fPIC", *LEFT_OUT)) == ("-O2", "-fPIC", *LEFT_OUT)
    assert accepted_flags(clang, ("-O2", "-fPIC", *LEFT_OUT)) == ("-O2", "-fPIC")


def test_compilers_with_flags_of_their_own_link_all_libraries() -> None:
    plain, own = Compiler(("gcc",), "gcc:1"), Compiler(("gcc", "-fsanitize=address"), "gcc:1")
    flags = ("-O2", *LINK_FLAGS, "-shared", "-lm")
    assert accepted_flags(plain, flags) == flags
    assert accepted_flags(own, flags) == ("-O2", "-shared", "-lm")


def test_flags_of_the_user_come_with_all_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = flags_of_calls(monkeypatch)
    for user_flags in "", "-DX":
        monkeypatch.setenv("TRANSPILE_CFLAGS", user_flags)
        build_object("long f(long a, long b) { return (__int128)a * a % b; }")  # needs libgcc
    assert [set(LINK_FLAGS) <= set(flags) for flags in calls] == [True, False]
    for flags in calls:
        assert ("-DX" in flags) == (flags is calls[1])


def test_a_level_of_the_user_stands() -> None:
    assert effort_for("x" * 1_000_000, ("-g", "-O3")).flags == ()


@pytest.mark.parametrize("effort", EFFORTS, ids=lambda e: " ".join(e.flags) or "all")
def test_each_effort_gives_the_same_bits(effort: Effort, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x, y, k):
        total, best = 0.0, 0
        for i in range(1, len(x) - 1):
            if x[i] > 0.25:
                y[i] = np.exp(x[i - 1]) - x[i + 1]
            total += y[i] * x[i]
            best = max(best, k[i])
        i = 0
        while k[i] != best:
            i += 1
        return total, best, i

    rng = np.random.default_rng(0)
    x, k = rng.random(1000), rng.integers(0, 1000, 1000)
    y, wanted = np.zeros(1000), np.zeros(1000)
    usual = fuse(f)(x, wanted, k)
    everything = (Effort(up_to=float("inf"), flags=effort.flags, slower=effort.slower),)
    monkeypatch.setattr(compile_effort, "EFFORTS", everything)
    flags = flags_of_calls(monkeypatch)
    assert fuse(f, cache=False)(x, y, k) == usual
    np.testing.assert_array_equal(y, wanted)
    assert any(set(effort.flags) <= set(given) for given in flags)
