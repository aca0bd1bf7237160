"""Where the functions come from: wheels of PyPI at fixed versions, unpacked and never installed."""
from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["PACKAGES", "Package", "corpus_folder", "fetched", "files"]


class Package(NamedTuple):
    """A wheel, and which of its files are read; ``nested``: also what stands within functions."""

    requirement: str
    files: tuple[str, ...]
    nested: bool = False


_NUMBA = (
    "parfors", "array_exprs", "comprehension", "dyn_array", "flow_control", "indexing",
    "array_reductions", "stencils", "array_methods", "looplifting", "range", "np_functions",
    "ufuncs", "mandelbrot", "nested_calls", "slices", "tuples", "usecases", "array_iterators",
    "array_manipulation", "array_constants", "complex", "mathlib", "operators", "return_values",
)

PACKAGES = (
    Package("numba==0.61.2", tuple(f"numba/tests/test_{f}.py" for f in _NUMBA), nested=True),
    *(
        Package(requirement, ("**/*.py",))
        for requirement in (
            "aeon==1.1.0", "datashader==0.17.0", "librosa==0.11.0", "numbagg==0.9.0",
            "pynndescent==0.5.13", "quantecon==0.8.0", "stumpy==1.13.0", "umap-learn==0.5.7",
            "vectorbt==0.27.2", "xarray-spatial==0.4.0", "pytransit==2.10.1", "tslearn==0.6.3",
            "numba-stats==1.10.1", "sparse==0.16.0", "fastdist==1.1.7",
        )
    ),
)


def corpus_folder() -> Path:
    """Where the unpacked wheels are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "transpile-corpus"


def fetched(package: Package, folder: Path) -> Path | None:
    """The unpacked wheel of `package` in `folder`; None, with a word, where it is not to be had."""
    name = package.requirement.partition("==")[0]
    place = folder / package.requirement.replace("==", "-")
    if not place.is_dir():
        downloads = folder / "wheels" / name
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                   "--only-binary=:all:", "-d", str(downloads), package.requirement]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = [*downloads.glob("*.whl")]
        if run.returncode or not wheels:
            words = run.stderr.strip().splitlines()
            print(f"{package.requirement}: skipped, {words[-1] if words else 'no wheel'}")
            return None
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(place)
    return place


def files(package: Package, place: Path) -> Iterator[Path]:
    """The files of an unpacked wheel that are read."""
    for pattern in package.files:
        yield from sorted(place.glob(pattern))
