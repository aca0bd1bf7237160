"""CPU feature detection: the architecture and the instruction sets that the system reports."""
from __future__ import annotations

import platform
import sys
from functools import cache

import numpy as np

from loopir.process.signal_exceptions import suppress_failures

__all__ = ["features", "machine"]

_ALIASES = {"abm": "lzcnt"}
"""Features that Linux and GCC name differently: Linux's name, and that of GCC's option (``-mlzcnt``),
which `Target.cpu` and `features` use."""


@cache
def machine() -> str:
    """The architecture: ``"x86_64"``, ``"aarch64"`` or the name that the system gives."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


@cache
def features() -> frozenset[str]:
    """The CPU's instruction sets, by Linux's names (``avx2``, ``avx512f``, ``asimd``), those in
    `_ALIASES` by GCC's: the baseline, which each CPU of the architecture has, and those that Linux
    reports; on another system those that NumPy has found at its import.
    """
    baseline = {"x86_64": {"sse2"}, "aarch64": {"asimd"}}.get(machine(), set())
    listed = _listed_by_linux() if sys.platform == "linux" else _found_by_numpy()
    return frozenset(baseline | {_ALIASES.get(x, x) for x in listed})


def _listed_by_linux() -> list[str]:
    """The features that Linux lists for the first core."""
    absent = suppress_failures(FileNotFoundError, PermissionError)
    with absent, open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        for line in lines:  # the first core is enough
            key, _, words = line.partition(":")
            if key.strip() in ("flags", "Features"):
                return words.split()
    return []


_IN_NUMPY = {
    "AVX": {"avx"}, "F16C": {"f16c"}, "FMA3": {"fma"}, "AVX2": {"avx2"}, "POPCNT": {"popcnt"},
    "AVX512_SKX": {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"},
}
"""By NumPy's names of instruction sets, those of Linux."""


def _found_by_numpy() -> set[str]:
    """The features that NumPy has found, of those that targets ask for; empty if it does not tell.
    It counts those alone whose registers the system saves.
    """
    core = getattr(np, "_core", None) or np.core  # the second one before NumPy 2
    found = getattr(core._multiarray_umath, "__cpu_features__", {})
    features = {x for name, names in _IN_NUMPY.items() if found.get(name) for x in names}
    if {"avx2", "fma"} <= features:  # all CPUs with both have these, of which NumPy 2.3 tells nothing
        features |= {"bmi1", "bmi2", "lzcnt"}
    return features
