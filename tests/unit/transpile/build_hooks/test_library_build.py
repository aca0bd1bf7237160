"""Libraries of several modules: one runtime, kernels that read names of other modules."""
from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loopir.process.digests import hexdigest
from targets.isa.target_registry import best_target
from transpile.ahead import build_package, fat_library
from transpile.ahead.module_source import PackageError
from transpile.ahead.platforms import Platform, platform_named
from transpile.build_hooks.build_settings import BuildSettings
from transpile.build_hooks.library_build import (
    BuiltPackage,
    _version,
    built_packages,
    common_tag,
)

MODULES = {
    "__init__.py": "from .sums import total\n",
    "helpers.py": """
import numpy as np
from typing import NamedTuple
FACTOR = 3.0
WEIGHTS = np.array([1.0, 2.0])
class Line(NamedTuple):
    slope: float
    start: float
def scaled(v, by=2.0):
    return v * by * FACTOR + WEIGHTS[0]
""",
    "inner/__init__.py": "",
    "inner/fused.py": """
import transpile
from .. import helpers
@transpile.fuse
def ratio(v, w):
    return v / w + helpers.scaled(v)
""",
    "sums.py": """
import numpy as np
from transpile import fuse
from .helpers import Line, scaled
from .inner.fused import ratio
from . import helpers as h
@fuse
def total(x):
    s = 0.0
    for v in x:
        s += scaled(v) + h.scaled(v, 3.0) * h.FACTOR + ratio(v, 2.0)
    return s
@fuse
def ratios(x, y):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = ratio(x[i], y[i])
    return out
@fuse
def on_line(line: Line, n: int):
    s = 0.0
    for i in range(n):
        s += line.slope * i + line.start
    return s
""",
}
USE = """
import sys, warnings
for name in ("transpile", "loopir", "targets", "cffi"):
    sys.modules[name] = None
sys.path.insert(0, {path!r})
import numpy as np
from lib import helpers, sums
from lib.inner import fused
def unused(*args): raise AssertionError("Python runs")
x = np.arange(1.0, 6.0)
def answers():
    one = sums.total(x), fused.ratio(3.0, 2.0), sums.on_line(helpers.Line(2.0, 1.0), 4)
    return *one, sums.ratios(x, x).tolist()
def only_kernels():
    for function in (sums.total, sums.ratios, sums.on_line, fused.ratio):
        function.__wrapped__.__code__ = unused.__code__
"""


@pytest.fixture(autouse=True)
def _one_target(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (build_package, fat_library):
        monkeypatch.setattr(module, "library_targets", lambda machine: (best_target(),))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for name, text in MODULES.items():
        path = tmp_path / "src" / "lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def built(root: Path, **settings: Any) -> BuiltPackage:
    (package,) = built_packages(root, BuildSettings(("src",), **settings))
    return package


@pytest.fixture
def installed(library: Path) -> Path:
    """The package as a wheel has it."""
    package = built(library, check=True)
    assert package.folder == library / "src" / "lib"
    folder = library / "site"
    for name, text in MODULES.items():
        path = folder / "lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    build_package.write_package(package.files, folder / "lib")
    changed = {name for name in package.files if not name.startswith("_transpile/")}
    assert changed == {"sums.py", "inner/fused.py"}
    return folder


def run(folder: Path, program: str) -> str:
    words = [sys.executable, "-I", "-c", USE.replace("{path!r}", repr(str(folder))) + program]
    done = subprocess.run(words, capture_output=True, text=True, env={"PATH": ""}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.share(1)
def test_kernels_mean_what_the_names_of_all_modules_mean(installed: Path) -> None:
    run(installed, """
first = answers()
only_kernels()
assert answers() == first
python = sum((v * 6 + 1) + (v * 9 + 1) * 3 + v / 2 + v * 6 + 1 for v in x)
assert abs(first[0] - python) < 1e-9 and first[1:3] == (1.5 + 19.0, 16.0), first
helpers.WEIGHTS = np.array([5.0])
assert sums.ratios(x, x).tolist() == (x * 6 + 6).tolist()
""")
    run(installed, """
before = answers()
helpers.FACTOR = 5.0
assert sums.ratios(x, x).tolist() == (1 + x * 10 + 1).tolist()
helpers.FACTOR, helpers.scaled = 3.0, lambda v, by=2.0: v * by
assert sums.ratios(x, x).tolist() == (1 + x * 2).tolist()
sums.ratio = lambda v, w: v
assert sums.ratios(x, x).tolist() == x.tolist()
assert sums.total(x) != before[0]
""")


def test_warnings_name_the_line_of_the_function_in_which_they_arise(installed: Path) -> None:
    line = MODULES["inner/fused.py"].splitlines().index("    return v / w + helpers.scaled(v)") + 1
    assert run(installed, f"LINE = {line}" + """
for _ in range(2):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sums.ratios(x, np.zeros(5))
    assert {(w.filename, w.lineno) for w in caught} == {(fused.__file__, LINE)}, caught
print(len(caught))
""") != "0\n"


@pytest.mark.parametrize("file", ["helpers.py", "inner/fused.py"])
def test_a_module_that_was_edited_is_read_anew(installed: Path, file: str) -> None:
    path = installed / "lib" / file
    path.write_text(
        path.read_text().replace("v * by", "v + by").replace("v / w", "v - w")
        .replace("slope: float\n    start: float", "start: float\n    slope: float")
    )
    output = run(installed, """
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print(answers())
    for function in (sums.total, sums.ratios, sums.on_line, fused.ratio):
        type(function).__call__ = staticmethod(function.__wrapped__)
    print(answers())
""").splitlines()
    assert output[0] == output[1]


def test_one_runtime_has_the_digests_of_all_modules(library: Path) -> None:
    package = built(library)
    calls = json.loads(package.files["_transpile/calls.json"])
    texts = {name: text.encode() for name, text in MODULES.items()} | package.files
    assert calls["sources"] == {
        name: hexdigest(texts[name]) for name in MODULES
    }
    assert calls["modules"] == {
        "lib.sums": "sums.py", "lib": "__init__.py", "lib.helpers": "helpers.py",
        "lib.inner": "inner/__init__.py", "lib.inner.fused": "inner/fused.py",
    }
    imported = b"from .._transpile import built_functions as transpile"
    assert imported in package.files["inner/fused.py"]
    assert re.fullmatch(r"(many)?linux_\w+", common_tag([package]))
    assert package.summary.startswith("lib: 4 of 4 signatures, for ")


def test_a_library_is_built_for_another_system(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built_for: list[str] = []

    def built_library(units: object, platform: Platform) -> bytes:
        built_for.append(platform.name)
        return b"a DLL"

    monkeypatch.setattr(build_package, "built_library", built_library)
    package = built(library, platform=platform_named("win_amd64"))
    assert built_for == ["win_amd64"]
    assert package.files["_transpile/kernels.dll"] == b"a DLL"
    assert common_tag([package]) == "win_amd64"
    assert "of win_amd64; " in package.summary


def test_signatures_come_from_the_settings(library: Path) -> None:
    signatures = {"lib.sums": {"total": ("f32[:]", "list[float]")}}
    outcomes = built(library, signatures=signatures).outcomes
    assert [o.types for o in outcomes if o.function == "total"] == ["f32[:]", "list[float]"]


REFUSED = "\n@fuse\ndef words(n: int):\n    for i in range(n):\n        open(str(i))\n"
INSIDE = "\ndef outer():\n    @fuse\n    def made(x): return x\n"


@pytest.mark.parametrize(
    ("text", "modules", "settings", "message"),
    [
        (REFUSED, ["src"], {"check": True}, r"check = true\)\n(.*\n)*  words\(int\): Python, as "),
        (INSIDE, ["src"], {"check": True}, r"sums.py: outer.<locals>.made|sums.py: made"),
        ("\nfrom transpile import macro\n", ["src"], {}, r"sums.py: line \d+: .* no `macro`"),
        ("\n)\n", ["src"], {}, "sums.py"),
        ("", ["src/lib/helpers.py"], {}, "no module imports transpile"),
        ("", ["src/other.py"], {}, "No such file"),
        ("", ["alone.py"], {}, "is in no package"),
        ("", ["src"], {"signatures": {"lib.sum": {}}}, "lib.sum is no module that is built"),
        ("", ["src"], {"signatures": {"lib.sums": {"f": ("int",)}}}, "lib.sums: no function f"),
        ("", ["src"], {"signatures": {"lib.sums": {"total": ("q9",)}}}, "signatures of lib.sums"),
    ],
)
def test_what_cannot_be_built_is_named(
    library: Path, text: str, modules: list[str], settings: dict[str, Any], message: str
) -> None:
    with (library / "src" / "lib" / "sums.py").open("a") as file:
        file.write(text)
    (library / "alone.py").write_text("import transpile\n")
    with pytest.raises(PackageError, match=message):
        built_packages(library, BuildSettings(tuple(modules), **settings))


def test_the_tag_is_that_of_the_fewest_systems() -> None:
    tags = ["manylinux_2_34_x86_64", "linux_x86_64", "manylinux_2_17_x86_64"]
    assert sorted(tags, key=_version) == [tags[2], tags[0], tags[1]]
