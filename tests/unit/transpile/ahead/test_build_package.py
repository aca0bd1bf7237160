"""Packages built ahead of time, used in processes that have neither this project nor a compiler."""
from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from targets.build.c_compiler import find_compiler
from targets.isa.target_registry import machine
from transpile.ahead.build_package import (
    PackageError,
    package_files,
    write_package,
)
from transpile.ahead.fat_library import library_targets
from transpile.ahead.module_source import module_source
from transpile.ahead.runtime_files import runtime_files
from transpile.cli import main
from transpile.cli.file_cases import cases_of, fused_functions, read_file
from transpile.cli.static import Modules

SOURCE = '''"""A model."""
import math
from dataclasses import dataclass

import numpy as np
from transpile import fuse

SCALE = 2.0
OFFSETS = np.array([1.0, 2.0])


def helper(v):
    return v * SCALE + 1.0


@fuse
def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


@fuse
def mapped(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = math.exp(helper(x[i])) + OFFSETS[1]
    return out


@fuse
def axpy(a, x, y, *, twice=False):
    for i in range(len(x)):
        y[i] += a * x[i]


@fuse
def histogram(xs):
    h = [0] * 10
    for v in xs:
        h[int(v * 10)] += 1
    return h


@fuse()
def ratios(x, y):
    return x / y


@fuse
def shifted(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] / (x[i] - 1.0)


@dataclass
class Point:
    x: float
    y: float

    @fuse
    def length(self, n):
        total = 0.0
        for i in range(n):
            total += (self.x * self.x + self.y * self.y) * i
        return total


@fuse
def draws(n, rng):
    return rng.random(n)
'''
RATIOS_LINE = SOURCE.splitlines().index("    return x / y") + 1
TYPES = (
    "dot(f64[:], f64[:])", "dot(f32[:], f32[:])", "mapped(f64[:])", "axpy(float, f64[:], f64[:])",
    "histogram(list[float])", "ratios(f64[:], f64[:])", "shifted(f64[:])",
)
USE = '''
import sys, warnings
for name in ("transpile", "loopir", "targets", "cffi", "_cffi_backend"):
    sys.modules[name] = None
sys.path.insert(0, {folder!r})
import numpy as np
import model_fused as m

def unused(*args, **kwargs):
    raise AssertionError("Python runs")

def only_kernels(function):
    """Python's code of the function raises from now on."""
    function.__wrapped__.__code__ = unused.__code__

def expect(error, call, *args):
    try:
        call(*args)
    except error as e:
        return str(e)
    raise AssertionError(error)

x, y = np.random.default_rng(1).random((2, 1000))
'''


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "model.py"
    path.write_text(SOURCE)
    return path


def built(path: Path, types: tuple[str, ...] = TYPES) -> dict[str, bytes]:
    """The files of the package of `path`."""
    file = read_file(str(path), Modules())
    cases = list(cases_of(fused_functions(file), types, [file], ran=False))
    names = {spec.partition("(")[0] for spec in types} | {"draws"}
    signatures = [
        (case.function.__wrapped__, case.types, case.function.options)
        for case in cases if case.name in names
    ]
    files, outcomes = package_files(path, signatures)
    reasons = {outcome.function: outcome.reason for outcome in outcomes}
    assert reasons.pop("draws")
    assert not any(reasons.values()), reasons
    return files


@pytest.fixture(scope="module")
def files(source: Path) -> dict[str, bytes]:
    return built(source)


@pytest.fixture
def folder(files: dict[str, bytes], tmp_path: Path) -> Path:
    write_package(files, tmp_path)
    return tmp_path


def run(
    folder: Path, program: str, imported: str = "import model_fused as m", **environment: str
) -> str:
    """What a program prints that uses the package in `folder`, without a compiler."""
    use = USE.replace("{folder!r}", repr(str(folder)))
    text = use.replace("import model_fused as m", imported) + program
    done = subprocess.run(
        [sys.executable, "-I", "-c", text], capture_output=True, text=True, timeout=120,
        env={"PATH": "", **environment}, check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


ANSWERS = '''
first = m.dot(x, y), m.dot(x.astype("f4"), y.astype("f4")), m.mapped(x), m.histogram(x.tolist())
only_kernels(m.dot), only_kernels(m.mapped), only_kernels(m.histogram)
again = m.dot(x, y), m.dot(x.astype("f4"), y.astype("f4")), m.mapped(x), m.histogram(x.tolist())
assert [type(v) for v in again] == [np.float64, np.float32, np.ndarray, list], again
for one, other in zip(first, again):
    assert np.array_equal(one, other)
assert abs(again[0] - x @ y) < 1e-10
assert np.allclose(again[2], np.exp(x * 2 + 1) + 2, rtol=1e-14)
assert again[3] == np.histogram(x, 10, (0, 1))[0].tolist()
z = y.copy()
m.axpy(2.0, x, y=z)
only_kernels(m.axpy)
assert np.array_equal(z, y + 2.0 * x)
m.axpy(2.0, x, z)
assert np.array_equal(z, y + 2.0 * x + 2.0 * x)
assert m.dot._spec is type(m.dot).__call__.__self__  # its calls make no tuple
print(m.dot.report())
print([v.tobytes().hex() if hasattr(v, "tobytes") else v for v in again[:2]])
'''


def test_kernels_serve_calls_without_this_project_or_a_compiler(folder: Path) -> None:
    outputs = {
        target.name: run(folder, ANSWERS, TRANSPILE_TARGET=target.name).splitlines()
        for target in library_targets(machine())
    }
    runnable = [lines for name, lines in outputs.items() if name in lines[0]]
    assert runnable
    assert all(lines[1:] == runnable[0][1:] for lines in runnable)  # sums and products: same bits
    assert runnable[-1][1:3] == ["dot(f64[:], f64[:])", "dot(f32[:], f32[:])"]


def test_python_serves_what_no_kernel_does(folder: Path) -> None:
    assert run(folder, '''
assert m.dot([1.0, 2.0], [3.0, 4.0]) == 11.0
assert m.dot(x[::2], y[::2]) == sum(a * b for a, b in zip(x[::2], y[::2]))
assert expect(IndexError, m.histogram, [1.5]) == "list index out of range"
assert expect(TypeError, m.dot, x)
assert m.Point(1.0, 2.0).length(3) == 15.0
assert m.draws(3, np.random.default_rng(1)).tolist() == np.random.default_rng(1).random(3).tolist()
m.SCALE = 3.0
assert np.allclose(m.mapped(x), np.exp(x * 3 + 1) + 2)
m.OFFSETS = np.array([0.0, 5.0])
assert np.allclose(m.mapped(x), np.exp(x * 3 + 1) + 5)
m.helper = lambda v: v
assert np.allclose(m.mapped(x), np.exp(x) + 5)
m.shifted.__wrapped__.__code__ = (lambda *args: len(args)).__code__
assert [m.shifted(x), m.shifted(x, x), m.shifted()] == [1, 2, 0]
m.ratios.__wrapped__.__code__ = (lambda x, y: "other").__code__
assert [m.ratios(x, y), m.ratios(x, y)] == ["other", "other"]
import copy, inspect, pickle
assert pickle.loads(pickle.dumps(m.dot)) is m.dot is copy.deepcopy(m.dot)
assert str(inspect.signature(m.axpy)) == "(a, x, y, *, twice=False)"
print("done")
''') == "done\n"


def test_calls_that_fit_no_kernel_are_compiled_if_transpile_is_there(folder: Path) -> None:
    use = f"""
import sys
sys.path.insert(0, {str(folder)!r})
import numpy as np
import model_fused as m
x = np.arange(6.0)
assert m.dot(x, x) == 55.0
assert "transpile" not in sys.modules
assert m.dot(x[::2], x[::2]) == 20.0
assert "transpile" in sys.modules
x = np.arange(40_000.0)[::2]
half, frames = m.dot(x, x), []
sys.setprofile(lambda frame, event, _: event == "call" and frames.append(frame.f_code.co_name))
assert m.dot(x, x) == half
sys.setprofile(None)
assert "dot" not in frames, frames
assert m.histogram((0.5,))[5] == 1
"""
    words = [sys.executable, "-c", use]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_conditions_of_floats_are_pythons(folder: Path) -> None:
    assert run(folder, f"SOURCE_LINE = {RATIOS_LINE}" + '''
zeros = np.zeros(1000)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("default")
    m.ratios(x, zeros)
(one,) = caught
assert str(one.message) == "divide by zero encountered in divide"
assert one.lineno == SOURCE_LINE and one.filename == m.__file__, one
with np.errstate(divide="raise"):
    assert expect(FloatingPointError, m.ratios, x, zeros)
with np.errstate(all="ignore"):
    m.ratios(x, zeros)
given = np.array([1.0, 3.0, 1.0, 5.0])
with np.errstate(divide="raise"):
    expect(FloatingPointError, m.shifted, given)
assert given.tolist() == [1.0, 0.5, 1.0, 5.0], given
with np.errstate(divide="ignore"):
    m.shifted(given)
assert given.tolist() == [1.0, -2.0, -np.inf, -np.inf], given
print("done")
''') == "done\n"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("edited", "was edited after it was compiled"),
        ("no library", "its kernels cannot be loaded"),
        ("another system", "its kernels, kernels.dll, are those of another system"),
        ("cut library", "its kernels cannot be loaded"),
        ("no calls", "cannot be read"),
        ("cut calls", "the package is damaged"),
    ],
)
def test_python_serves_calls_of_a_package_that_was_changed(
    folder: Path, damage: str, reason: str
) -> None:
    package = folder / "model_fused"
    library, calls = package / "_runtime" / "kernels.so", package / "_runtime" / "calls.json"
    match damage:
        case "edited":
            text = (package / "__init__.py").read_text()
            (package / "__init__.py").write_text(text.replace("s = 0.0", "s = 100.0"))
        case "no library":
            library.unlink()
        case "another system":
            library.rename(library.with_name("kernels.dll"))
        case "cut library":
            library.write_bytes(library.read_bytes()[:3000])
        case "no calls":
            calls.unlink()
        case "cut calls":
            calls.write_text(calls.read_text()[:300])
    output = run(folder, '''
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    value = m.dot(x, y), m.dot(x, y), m.ratios(x, y)
(one,) = caught
assert one.category.__name__ == "FuseWarning" and one.filename == "<string>", one
print(value[0] - sum(a * b for a, b in zip(x, y)), one.message)
''')
    assert output.startswith("100.0" if damage == "edited" else "0.0")
    assert reason in output


def test_a_package_in_a_zip_archive_runs_as_python(folder: Path) -> None:
    archive = shutil.make_archive(str(folder / "archive"), "zip", folder)
    assert run(Path(archive), """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert m.dot(x, y) == m.dot(x, y) == sum(a * b for a, b in zip(x, y))
print([str(w.message).endswith("; Python runs") for w in caught])
""") == "[True]\n"


def test_a_build_makes_the_same_bytes(source: Path, files: dict[str, bytes]) -> None:
    assert built(source) == files


def test_the_library_exports_one_name(folder: Path) -> None:
    program = shutil.which("nm")
    if program is None:
        pytest.skip("no nm")
    words = [program, "-D", "--defined-only", str(folder / "model_fused/_runtime/kernels.so")]
    names = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[2::3]
    assert names == ["transpile_rows"]


BUILDS = {
    "make": [["make", "-s", "CC={cc}"]],
    "meson": [["meson", "setup", "made"], ["meson", "compile", "-C", "made"]],
    "cmake": [["cmake", "-S", ".", "-B", "made"], ["cmake", "--build", "made"]],
}
"""How each program builds the library; those of PyPI are enough: ``meson ninja cmake``."""


@pytest.mark.parametrize("program", [
    "make", pytest.param("meson", marks=pytest.mark.long),
    pytest.param("cmake", marks=pytest.mark.long),
])
def test_the_sources_build_the_library(folder: Path, program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"no {program}")
    (command,) = find_compiler().command
    source = folder / "model_fused" / "src"
    for words in BUILDS[program]:
        text = [word.replace("{cc}", command) for word in words]
        done = subprocess.run(text, cwd=source, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    (made,) = source.rglob("kernels.so")
    made.replace(folder / "model_fused/_runtime/kernels.so")
    run(folder, ANSWERS)


def test_the_runtime_imports_itself_numpy_and_the_standard_library() -> None:
    texts = runtime_files()
    assert len(texts) <= 28
    for name, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.level == 1, name
                homes = [node.module] if node.module else [alias.name for alias in node.names]
                assert {f"{home}.py" for home in homes} <= texts.keys(), name
            elif isinstance(node, ast.Import | ast.ImportFrom):
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [
                    alias.name for alias in node.names
                ]
                packages = {module.partition(".")[0] for module in modules}
                assert packages <= {*sys.stdlib_module_names, "numpy", "threadpoolctl"}, name


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("from transpile import fuse, macro", "line 1: a built package has no `macro`"),
        ("from . import other", "line 1: it imports from its own package"),
        ("from transpile.options import Options", "line 1: a built package has no `transpile.opt"),
        ("import math, transpile.options", "line 1: a built package has no `transpile.options`"),
        ("import transpile as t; t.macro", "line 1: a built package has no `macro`"),
    ],
)
def test_what_cannot_be_a_package_is_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "model.py"
    path.write_text(f"{line}\n")
    with pytest.raises(PackageError, match=message):
        package_files(path, [])


def test_a_package_has_the_name_of_a_module(tmp_path: Path) -> None:
    path = tmp_path / "my-model.py"
    path.write_text("")
    with pytest.raises(PackageError, match=r"my-model\.py is not the name of a module"):
        package_files(path, [])


@pytest.mark.parametrize(
    "text",
    [
        "import transpile as t; fuse = t.fuse; NAME = 1",
        "import math, transpile, \\\n    numpy as np; fuse, NAME = transpile.fuse, np.ones(1)",
        "NAME = 1; from transpile import (  # both\n    fuse,\n    FuseWarning as W,\n); W",
        "try: from transpile import fuse\nexcept ImportError: pass\nNAME = 1",
        "if True:\n    from transpile \\\n        import fuse\nNAME = 1",
        "NAME = '\x0b\x1c\u2028'\nfrom transpile import fuse",
        "NAME = 'äöü'; from transpile import fuse; import math",
        "\ufefffrom transpile import fuse\nNAME = 1",
        "# -*- coding: latin-1 -*-\nNAME = 'äöü'; from transpile import fuse",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from transpile import Report\n"
        "else:\n    from transpile import fuse\nNAME = 1",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_imports_of_transpile_are_replaced_and_nothing_else(
    text: str, end: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.py"
    encoding = "latin-1" if "latin-1" in text else "utf-8"
    text += "\n@fuse\ndef f(): return NAME\n"
    path.write_bytes(text.replace("\n", end).encode(encoding))
    tree = ast.parse(module_source(path, "._runtime"))
    compile(tree, "__init__.py", "exec")
    own = ast.parse(path.read_bytes())
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    assert {node.module for node in imported} <= {"_runtime", "_runtime.built_functions"}
    assert imported
    for one, other in zip(tree.body[-2:], own.body[-2:], strict=True):
        if not isinstance(one, ast.ImportFrom | ast.Try | ast.If):
            assert ast.dump(one) == ast.dump(other)
            assert one.lineno == other.lineno
    assert {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} == {
        n.id for n in ast.walk(own) if isinstance(n, ast.Name)
    }


CLASSES = """
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from transpile import fuse

Vector = np.ndarray

class Pair(NamedTuple):
    x: float
    y: float = 0.0

@dataclass
class Body:
    mass: float

    @fuse
    def energy(self, x):
        total = 0.0
        for v in x:
            total += self.mass * v ** 2
        return total

    @staticmethod
    def total(x: Vector) -> float:
        total = 0.0
        for v in x:
            total += v
        return total

@fuse
def size(p, n: "i64"):
    total = 0.0
    for i in range(n):
        total += p.x * p.y
    return total

if __name__ == "__main__":
    Body(2.0).energy(np.ones(5)), Body.total(np.ones(5)), size(Pair(1.0, 2.0), 5)
"""


def test_classes_and_methods_without_a_decorator_are_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, user = tmp_path / "model.py", tmp_path / "user.py"
    path.write_text(CLASSES)
    (tmp_path / "inside").mkdir()
    words = ["--build", "--all", "--run", "--check", "-o", str(tmp_path / "inside")]
    assert main([str(path), *words]) == 0, capsys.readouterr().out
    run(tmp_path, """
import inside.model_fused as m
body, pair, ones = m.Body(2.0), m.Pair(1.0, 2.0), np.ones(5)
for _ in range(2):
    assert (body.energy(ones), m.Body.total(ones), m.size(pair, 5)) == (10.0, 5.0, 10.0)
    for function in (m.Body.energy, m.Body.total, m.size):
        only_kernels(function)
""", imported="")
    user.write_text("""
import numpy as np
from inside.model_fused import Body, Pair, size
a: float = Body(2.0).mass
b: float = Body.total(np.ones(3))
c: float = Pair(1.0, y=2.0).y
size(Pair(1.0), 3)
""")
    words = ["-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache")]
    answer = subprocess.run(
        [sys.executable, *words, str(user)], capture_output=True, text=True, cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_the_command_says_what_was_built(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(source), "--build", "-o", str(tmp_path), "--types", "dot(f64[:], f64[:])"]
    assert main([*words, "--check"]) == 1  # not all have kernels
    output = capsys.readouterr().out
    assert "model_fused: " in output
    assert "\n  dot(f64[:], f64[:])\n" in output
    assert ": Python, as " in output
    assert (tmp_path / "model_fused" / "__init__.pyi").exists()
    assert main([str(source), "--build", "--emit", "c"]) == 2
    assert main([str(source), "--wheel"]) == 2
    assert "there is no --build" in capsys.readouterr().err


def test_a_wheel_is_installed_and_has_the_same_bytes_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pip")
    path = tmp_path / "model.py"
    path.write_text('"""Sums."""\n__version__ = "1.2"\n' + SUMS)
    words = [str(path), "--build", "--check", "--types", "dot(f64[:], f64[:])"]
    words += ["--types", "energy(f64[:])"]
    for folder in ("one", "other"):
        assert main([*words, "--wheel", "-o", str(tmp_path / folder)]) == 0
    (wheel,), (same,) = (list((tmp_path / folder).iterdir()) for folder in ("one", "other"))
    assert wheel.read_bytes() == same.read_bytes()
    assert wheel.name == same.name
    assert re.fullmatch(r"model_fused-1\.2-py3-none-(many)?linux_\w+\.whl", wheel.name)
    pip = ["pip", "install", "-q", "--no-index", "--no-deps", "--no-compile", "--target"]
    subprocess.run([sys.executable, "-m", *pip, str(tmp_path / "site"), str(wheel)], check=True)
    run(tmp_path / "site", """
expected = m.dot(x, x), m.energy(x)
for function in (m.dot, m.energy, m.scaled):
    only_kernels(function)
assert (m.dot(x, x), m.energy(x)) == expected
""")
    assert main([*words, "--wheel", "model==x"]) == 2
    assert "'x' is not a version" in capsys.readouterr().err
    path.write_text(SUMS)
    assert main([*words, "--wheel"]) == 2
    assert "--wheel model-fused==1.0 gives one" in capsys.readouterr().err


SUMS = """
from transpile import fuse

@fuse
def scaled(v, by=2.0):
    return v / by

@fuse
def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s

@fuse
def energy(x):
    s = 0.0
    for v in x:
        s += scaled(v) ** 2
    return s
"""
