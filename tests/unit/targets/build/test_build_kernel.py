"""Compiler discovery, and a cache that no misfortune turns into a wrong or a missing answer."""
from __future__ import annotations

import ctypes
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from targets.build import build_kernel as build_module
from targets.build import c_compiler as compiler_module
from targets.build import object_cache as cache_module
from targets.build.build_kernel import (
    BuildError,
    NoCompiler,
    assembly,
    build_kernel,
    cache_clear,
    cache_dir,
    cache_info,
    find_compiler,
)
from targets.build.trusted_files import Folder
from targets.isa.target_registry import TARGETS

ANSWER = "int answer(void) { return 42; }\n"

Script = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRANSPILE_CACHE", str(folder))
    monkeypatch.delenv("TRANSPILE_CFLAGS", raising=False)
    monkeypatch.setattr(cache_module, "_private", {})
    return folder / "kernels"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """``script(name, text)`` makes a program in a directory of its own."""

    def make(name: str, text: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def counting(script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Makes $CC a compiler that counts its runs."""
    real, log = find_compiler().name, tmp_path / "runs"
    cc = script("counting-cc", f'echo run >> {log}\nexec {real} "$@"')
    monkeypatch.setenv("CC", str(cc))
    return lambda: len(log.read_text().splitlines()) if log.exists() else 0


def build_object(source: str, cflags: tuple[str, ...] = (), *, cache: bool = True) -> Path:
    return Path(build_module.build_object(source, cflags, cache=cache))


def answer(path: str | Path) -> int:
    return int(ctypes.CDLL(str(path)).answer())


# -- discovery

def test_cc_is_taken_at_its_word(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    cc = script("mycc", "exit 0")
    monkeypatch.setenv("CC", f"{cc} -m64")
    assert find_compiler().command == (str(cc), "-m64")


@pytest.mark.parametrize("word", ["/nonexistent", "no-such-compiler -O3", "'unclosed"])
def test_a_cc_that_does_not_exist_is_not_passed_over(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", word)
    with pytest.raises(NoCompiler, match=word.split()[0].strip("'")):
        build_object(ANSWER)


def test_the_order_of_names(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    folder = script("clang", "exit 0").parent
    monkeypatch.setenv("PATH", str(folder))
    assert find_compiler().command == (str(folder / "clang"),)
    for name in ("gcc", "cc"):
        script(name, "exit 0")
        compiler_module._discover.cache_clear()
        assert find_compiler().command == (str(folder / name),)


def test_without_any_the_wheel_serves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    if compiler_module._zig() is None:
        with pytest.raises(NoCompiler, match="ziglang"):
            find_compiler()
    else:
        assert find_compiler().command[1:] == ("cc", *compiler_module._ZIG_FLAGS)


def test_zig_compiles_neither_for_its_own_machine_nor_with_a_sanitizer(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in (f"{script('zig', 'exit 0')} cc", f"{script('py', 'exit 0')} -m ziglang cc"):
        monkeypatch.setenv("CC", command)
        assert find_compiler().command[-2:] == ("-mcpu=baseline", "-fno-sanitize=undefined")


def test_identity_changes_with_the_program(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", str(script("mycc", "exit 0")))
    first = find_compiler()
    script("mycc", "exit 0 # newer")
    assert find_compiler() is first, "found once a process"
    compiler_module._discover.cache_clear()
    assert find_compiler().version != first.version


# -- building

@pytest.mark.parametrize("name", ["scalar", "sse2"])
def test_build_and_call(name: str) -> None:
    assert answer(build_kernel(ANSWER, TARGETS[name])) == 42


def test_assembly() -> None:
    assert "answer" in assembly(ANSWER, TARGETS["scalar"])


def test_the_second_time_no_compiler_runs(counting: Callable[[], int]) -> None:
    first = build_object(ANSWER)
    assert build_object(ANSWER) == first
    assert counting() == 1


def test_the_key(counting: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    build_object(ANSWER)
    build_object(ANSWER + " ")
    build_object(ANSWER, ("-DX=1",))
    monkeypatch.setenv("TRANSPILE_CFLAGS", "-DX=2 -DY='a b'")
    build_object(ANSWER)
    monkeypatch.setattr(build_module, "ABI", build_module.ABI + 1)
    build_object(ANSWER)
    assert counting() == cache_info().objects == 5


def test_the_key_has_the_compiler(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    real = find_compiler().name
    for name in ("one", "two"):
        monkeypatch.setenv("CC", str(script(name, f'exec {real} "$@"')))
        build_object(ANSWER)
    assert cache_info().objects == 2


def test_what_the_cache_holds_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    path = build_object(ANSWER)
    monkeypatch.setenv("CC", "/nonexistent")
    assert build_object(ANSWER) == path
    with pytest.raises(NoCompiler):
        build_object(ANSWER + " ")
    with pytest.raises(NoCompiler):
        build_object(ANSWER, cache=False)


def test_without_cache(counting: Callable[[], int], cache: Path) -> None:
    paths = {build_object(ANSWER, cache=False) for _ in range(2)}
    assert [answer(path) for path in paths] == [42, 42]
    assert counting() == 2
    assert not cache.exists()


def test_contraction_is_off() -> None:
    source = "double f(double a, double b, double c) { return a * b + c; }"
    assert "vfmadd" not in assembly(source, TARGETS["avx2"])


def test_contraction_is_on_where_it_is_asked_for() -> None:
    source = "double f(double a, double b, double c) { return a * b + c; }"
    assert "vfmadd" in assembly(source, TARGETS["avx2"], contract=True)


# -- compilers that fail

def test_a_mistake_is_told() -> None:
    with pytest.raises(BuildError, match="failed with status 1") as caught:
        build_object("int answer(void) { return forty_two; }\n")
    assert "forty_two" in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 9
    assert cache_info().objects == 0


def test_an_output_that_cannot_be_looked_at_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat

    def stat(path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        if str(path).endswith("/kernel.so"):
            raise OSError(24, "Too many open files")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", stat)
    with pytest.raises(BuildError, match="Too many open files") as caught:
        build_object("int answer(void) { return 42; }\n", cache=False)
    assert caught.value.is_fault


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("kill -SEGV $$", "died of signal 11"),
        ("exit 0", "reported success and wrote no file"),
        ("echo oh no >&2; exit 3", "failed with status 3:\noh no"),
        ("yes | head -100000 >&2; exit 1", "failed with status 1"),
    ],
)
def test_a_compiler_that_fails(
    does: str, says: str, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(script("broken", does)))
    with pytest.raises(BuildError) as caught:
        build_object(ANSWER)
    assert says in str(caught.value)


def test_a_program_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\x7fELFnot")
    path.chmod(0o755)
    monkeypatch.setenv("CC", str(path))
    with pytest.raises(BuildError, match="does not run"):
        build_object(ANSWER)


def test_a_compiler_that_hangs(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its children hold the pipe open; they go with it."""
    monkeypatch.setenv("CC", str(script("slow", "sleep 60 & sleep 60")))
    monkeypatch.setattr(compiler_module, "TIMEOUT", 0.3)
    started = time.monotonic()
    with pytest.raises(BuildError, match="did not finish"):
        build_object(ANSWER)
    assert time.monotonic() - started < 20


def test_a_compiler_that_hangs_costs_one_timeout(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(script("slow", "sleep 60")))
    monkeypatch.setattr(compiler_module, "TIMEOUT", 0.3)
    with pytest.raises(BuildError, match="did not finish in"):
        build_object(ANSWER)
    started = time.monotonic()
    for _ in range(5):
        with pytest.raises(BuildError, match="did not finish before"):
            build_object(ANSWER)
    assert time.monotonic() - started < 0.25


def test_the_output_is_bounded(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", str(script("loud", "head -c 3000000 /dev/zero | tr '\\0' x; exit 1")))
    with pytest.raises(BuildError, match="failed with status 1") as caught:
        build_object(ANSWER)
    assert caught.value.output == "x" * (1 << 16)
    assert str(caught.value).endswith("status 1:\n" + "x" * 500 + " …")


def test_no_control_character_reaches_the_terminal(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(script("odd", r"printf '\033[2Ja\tb\000\377\n'; exit 1")))
    with pytest.raises(BuildError) as caught:
        build_object(ANSWER)
    assert str(caught.value).endswith(":\n\ufffd[2Ja   b\ufffd\ufffd")


def test_a_server_that_holds_the_pipe_is_not_waited_for(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As compiler caches start one; what the compiler itself has said before is there."""
    text = "(sleep 60; echo late) & echo $! > $0.pid; echo early; {}"
    started = time.monotonic()
    works = script("works", text.format(f'{find_compiler().name} "$@"'))
    fails = script("fails", text.format("exit 1"))
    try:
        monkeypatch.setenv("CC", str(works))
        assert answer(build_object(ANSWER)) == 42
        monkeypatch.setenv("CC", str(fails))
        with pytest.raises(BuildError, match=r"status 1:\nearly$"):
            build_object(ANSWER)
        assert time.monotonic() - started < 30
    finally:
        for program in works, fails:
            os.kill(int(Path(f"{program}.pid").read_text()), signal.SIGKILL)


def test_a_compiler_leaves_nothing_behind(
    script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it writes to the directory for temporary files goes with it, even if it crashes."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("CC", str(script("broken", 'echo > "$TMPDIR/cc1.s"; kill -SEGV $$')))
    with pytest.raises(BuildError):
        build_object(ANSWER)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("flags", ["--no-such-flag", "'unclosed"])
def test_wrong_user_flags(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CFLAGS", flags)
    with pytest.raises(BuildError, match=flags.strip("'")):
        build_object(ANSWER)


# -- the cache

@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_a_truncated_object_is_built_again(keep: float, caplog: pytest.LogCaptureFixture) -> None:
    path = build_object(ANSWER)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    with caplog.at_level(logging.WARNING):
        assert build_object(ANSWER) == path
    assert "damaged" in caplog.text
    assert len(path.read_bytes()) == len(whole)
    assert answer(path) == 42


def test_a_flipped_bit_is_seen(counting: Callable[[], int]) -> None:
    path = build_object(ANSWER)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert answer(build_object(ANSWER)) == 42
    assert counting() == 2


def test_a_directory_in_the_place_of_the_object(cache: Path) -> None:
    path = build_object(ANSWER)
    path.unlink()
    path.mkdir()
    assert answer(build_object(ANSWER)) == 42


@pytest.mark.parametrize("blocked", ["a file is there", "it is below a file", "read-only"])
def test_a_cache_that_cannot_be_written(
    blocked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    counting: Callable[[], int], caplog: pytest.LogCaptureFixture,
) -> None:
    folder = tmp_path / "blocked"
    if blocked == "read-only":
        if os.geteuid() == 0:
            pytest.skip("root may write anywhere")
        folder.mkdir(mode=0o555)
    else:
        folder.write_text("")
    chosen = folder / "below" if blocked == "it is below a file" else folder
    monkeypatch.setenv("TRANSPILE_CACHE", str(chosen))
    with caplog.at_level(logging.WARNING):
        path = build_object(ANSWER)
        assert build_object(ANSWER) == path, "kept for the process"
        assert answer(path) == 42
    assert counting() == 1
    assert caplog.text.count("cannot be used") == 1


def test_a_full_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, full_places = Folder.write_file, [cache]

    def full(folder: Folder, name: str, data: bytes) -> None:
        if Path(folder.path) in full_places:
            raise OSError(28, "No space left on device")
        write(folder, name, data)

    monkeypatch.setattr(Folder, "write_file", full)
    path = build_object(ANSWER)
    assert answer(path) == 42
    full_places.append(path.parent)
    with pytest.raises(BuildError, match="no room"):
        build_object(ANSWER + " ")


def test_info_and_clear(cache: Path) -> None:
    assert (cache_info().objects, cache_info().bytes, cache_clear()) == (0, 0, 0)
    path = build_object(ANSWER)
    assert cache_info().path == cache_dir() == str(cache)
    assert (cache_info().objects, cache_info().bytes) == (1, path.stat().st_size)
    (cache / "notes.txt").write_text("not ours")
    assert cache_clear() == 1
    assert os.listdir(cache) == ["notes.txt"]


def test_what_is_longest_unused_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [build_object(f"int answer(void) {{ return {i}; }}") for i in range(4)]
    for age, path in enumerate(reversed(paths)):
        os.utime(path, (time.time() - 100 * age - 100,) * 2)
    build_object("int answer(void) { return 0; }")  # used now
    monkeypatch.setattr(cache_module, "CACHE_BYTES", paths[0].stat().st_size * 9 // 2)
    new = build_object(ANSWER)
    assert all(path.exists() for path in paths), "the first object was the last look"
    monkeypatch.setattr(cache_module, "TRIM_INTERVAL", 0)
    new.unlink()
    new = build_object(ANSWER)
    kept = [path.exists() for path in paths]
    assert kept == [True, False, False, True]
    assert new.exists()


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({"TRANSPILE_CACHE": "/a/b"}, "/a/b/kernels"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/transpile/kernels"),
        ({"TRANSPILE_CACHE": "", "XDG_CACHE_HOME": "/x"}, "/x/transpile/kernels"),
        ({}, str(Path.home() / ".cache/transpile/kernels")),
        ({"XDG_CACHE_HOME": "x"}, str(Path.home() / ".cache/transpile/kernels")),
    ],
)
def test_where(environ: dict[str, str], place: str) -> None:
    assert cache_dir(environ) == place


def test_nobody_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a home must not find a directory called ~ in the working directory."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert Path(cache_dir({})).parts[:3] == Path(os.devnull).parts
    monkeypatch.delenv("TRANSPILE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert answer(build_object(ANSWER)) == 42


def test_a_working_directory_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv("TRANSPILE_CACHE", "cache")
    gone.rmdir()
    path = build_object(ANSWER)
    assert answer(path) == 42
    assert build_object(ANSWER) == path, "kept for the process"
    assert caplog.text.count("the cache cache/kernels cannot be used") == 1


# -- at once

def test_threads(cache: Path) -> None:
    answers: list[int] = []
    barrier = threading.Barrier(4)

    def run() -> None:
        barrier.wait()
        answers.append(answer(build_object(ANSWER)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [42] * 4
    assert sorted(os.listdir(cache))[1:] == [build_object(ANSWER).name], "one object, no temporary"


def test_processes(cache: Path) -> None:
    program = (
        "import ctypes, sys; from targets.build.build_kernel import build_object\n"
        f"print(ctypes.CDLL(str(build_object({ANSWER!r}))).answer())"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [p.communicate()[0].strip() for p in running] == ["42"] * 3
    assert sorted(os.listdir(cache))[1:] == [build_object(ANSWER).name], "one object, no temporary"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_leaves_its_parents_objects_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "file"))
    path = build_object(ANSWER)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        own = build_object(ANSWER)
        shutil.rmtree(own.parent)
        os._exit(0 if own != path and not own.exists() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert answer(path) == 42
