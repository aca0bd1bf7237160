"""Whoever else can write to the cache, or has put something else there, decides nothing."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loopir.nodes import Kernel
from targets.abi.load_kernel import load_kernel
from targets.build import object_cache, trusted_files
from targets.build.build_errors import BuildError
from targets.build.build_kernel import build_object
from targets.build.object_cache import cache_clear, cache_info, find_cached, publish, read_cached

SOURCE = "long tp_kernel(void) { return 42; }\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "chosen"))
    monkeypatch.setattr(object_cache, "_private", {})
    return tmp_path / "chosen" / "kernels"


def answers(path: str) -> bool:
    return load_kernel(path, Kernel("k", (), ())).fast() == 42


def others_can_write_to_the_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def group_can_write_to_the_folder(path: Path) -> None:
    path.parent.chmod(0o770)


def others_can_write_to_the_file(path: Path) -> None:
    path.chmod(0o606)


def another_user_owns_the_folder(path: Path) -> None:
    os.chown(path.parent, 12345, -1)


def another_user_owns_the_file(path: Path) -> None:
    os.chown(path, 12345, -1)


def the_file_is_a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def the_folder_is_a_link(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.symlink_to("elsewhere")


def the_file_is_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def the_file_is_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def the_file_has_been_cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def the_file_is_another_one(path: Path) -> None:
    other = publish(Path(build_object("int other;")).read_bytes(), "0" * 64)
    shutil.copy(other, path)


DEEDS = [
    value
    for name, value in globals().items()
    if name.startswith(("the_", "others_", "group_", "another_"))
]


@pytest.mark.parametrize("deed", DEEDS)
def test_what_cannot_be_trusted_is_not_used(deed: Callable[[Path], None], cache: Path) -> None:
    if "another_user" in deed.__name__ and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    path = build_object(SOURCE)
    name = Path(path).name.removesuffix(".so")
    assert find_cached(name) == path
    deed(Path(path))
    assert find_cached(name) is None
    with pytest.raises(BuildError):
        load_kernel(path, Kernel("k", (), ()))
    again = build_object(SOURCE)
    assert answers(again)
    if "folder" in deed.__name__ and "file" not in deed.__name__:
        assert Path(again).parent != cache, "a private directory took its place"
        assert Path(again).parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("deed", DEEDS)
def test_a_recipe_that_cannot_be_trusted_is_not_read(deed: Callable[[Path], None]) -> None:
    if "another_user" in deed.__name__ and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    name = "a" * 64
    path = publish(b"[]", name, ".call")
    assert read_cached(name, ".call") == b"[]"
    deed(Path(path))
    assert read_cached(name, ".call") is None


def test_one_warning_for_a_folder_that_cannot_be_trusted(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not one for each file that is looked for in it."""
    path = build_object(SOURCE)
    cache.chmod(0o777)
    names = Path(path).name.removesuffix(".so"), "b" * 64, "c" * 64
    assert [*map(find_cached, names)] == [None] * 3
    assert read_cached("d" * 64, ".call") is None
    assert answers(build_object(SOURCE))
    assert [r.getMessage() for r in caplog.records] == [
        f"transpile: the cache {cache} cannot be used (others can write to the folder); "
        "objects are kept for this process only"
    ]


@pytest.mark.parametrize(("deed", "reason"), [
    (the_file_has_been_cut, "the file is damaged and is built again"),
    (others_can_write_to_the_file, "others can write to the file"),
])
def test_the_warning_for_a_file_names_its_path_once(
    cache: Path, caplog: pytest.LogCaptureFixture, deed: Callable[[Path], None], reason: str
) -> None:
    path = publish(b"[]", "a" * 64, ".call")
    deed(Path(path))
    assert read_cached("a" * 64, ".call") is None
    said = [f"transpile: the cached file {path} is not used: {reason}"]
    assert [r.getMessage() for r in caplog.records] == said


def test_a_file_under_another_name_is_not_taken(cache: Path) -> None:
    path = Path(build_object(SOURCE))
    shutil.copy(path, cache / f"{'b' * 64}.so")
    assert find_cached("b" * 64) is None


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """``program(text)`` makes a C compiler of a shell script, in which $cc is the real one."""

    def make(text: str) -> Path:
        path = tmp_path / "cc.sh"
        path.write_text(f"#!/bin/sh\ncc=cc\n{text}\n")
        path.chmod(0o755)
        return path

    return make


OUTPUT = 'for a; do [ "$b" = -o ] && out=$a; b=$a; done\n'


@pytest.mark.parametrize(
    "damage",
    [f'truncate -s {size} "$out"' for size in (0, 1, 63, 64, 900, 5000, -900, -1)]
    + ['echo "int x;" > "$out"', '$cc -c -x c /dev/null -o "$out"'],
)
def test_a_damaged_object_is_not_published(
    damage: str, program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """The compiler reports success, as one does that was killed at the end, or on a full disk."""
    monkeypatch.setenv("CC", str(program(f'{OUTPUT}$cc "$@" && {damage}; exit 0')))
    with pytest.raises(BuildError, match="wrote a damaged object"):
        build_object(SOURCE)
    assert cache_info().objects == 0
    monkeypatch.delenv("CC")
    assert answers(build_object(SOURCE))


def test_only_our_own_files_are_removed(cache: Path) -> None:
    build_object(SOURCE)
    mine = {"notes.so", "libfoo.so", "x.call", f"{'g' * 64}.so", ".x.tmp", "thesis.tmp"}
    for name in mine:
        (cache / name).write_text("mine")
        (cache.parent / name).write_text("mine")
    link, target = cache / f"{'c' * 64}.so", cache.parent / "target"
    target.write_text("mine")
    link.symlink_to(target)
    (cache / f"{'d' * 64}.so").mkdir()
    os.mkfifo(cache / f"{'e' * 64}.so")
    assert cache_clear() == 1
    assert {p.name for p in cache.iterdir()} == mine | {
        link.name,
        f"{'d' * 64}.so",
        f"{'e' * 64}.so",
    }
    assert {p.name for p in cache.parent.iterdir()} == mine | {"kernels", "target"}


def test_a_folder_that_is_a_link_is_not_cleared(cache: Path) -> None:
    path = Path(build_object(SOURCE))
    the_folder_is_a_link(path)
    assert (cache_clear(), cache_info().objects) == (0, 0)
    assert (cache.parent / "elsewhere" / path.name).exists()


@pytest.fixture
def noexec(tmp_path: Path) -> Iterator[Path]:
    """A file system that does not allow execution."""
    folder = tmp_path / "noexec"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "noexec,size=4m,mode=700", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        done = False
    if not done:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_cache_that_forbids_execution(noexec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(noexec))
    path = build_object(SOURCE)
    assert Path(path).is_relative_to(noexec)
    assert answers(path)
    assert Path(path).exists(), "another process may find it"
    left = [p.name for folder in object_cache._private.values() for p in Path(folder).iterdir()]
    assert left == ["alive"], "the copy is gone once it is loaded"


def test_the_private_folder_ends_with_the_process(tmp_path: Path) -> None:
    program = (
        "from targets.build.build_kernel import build_object\n"
        f"print(build_object({SOURCE!r}, cache=False))"
    )
    command = [sys.executable, "-c", program]
    env = os.environ | {"TMPDIR": str(tmp_path)}
    path = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    assert path.startswith(f"{tmp_path}/transpile-")
    assert list(tmp_path.glob("transpile-*")) == []


@pytest.mark.parametrize("step", ["__init__", "_open", "__enter__", "__exit__"])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_folder_is_closed_where_its_block_does_not_begin_or_end(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lack of memory at the call of the method itself."""

    def failing(self: object, *error: object) -> None:
        raise MemoryError

    def open_files() -> int:
        gc.collect()  # the exception, which has the folder
        return len(os.listdir("/dev/fd"))

    before = open_files()
    with monkeypatch.context() as patched:
        patched.setattr(trusted_files.Folder, step, failing)
        with pytest.raises(MemoryError), trusted_files.open_folder(str(tmp_path)):
            pass
    assert open_files() == before
