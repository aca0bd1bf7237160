"""``python -m tests.tools.sanitize [pytest arguments]``: compiled code under ASan and UBSan.

Kernels, and the C that calls them, are built with GCC's sanitizers, which are loaded ahead of
Python; each finding is printed, once a place. Exit status 1 where there is one, or a test fails.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SANITIZERS = "address,undefined,float-cast-overflow"
FLAGS = f"-fsanitize={SANITIZERS} -fsanitize-recover=all -fno-omit-frame-pointer -g1 -O1"
"""-O1 leaves more of the accesses to be checked than -O2, and takes half the time."""
COMPILER = "env -u LD_PRELOAD gcc"
"""The compiler itself is not what is checked."""
LEFT = (
    "unit/targets/test_handwritten_kernels.py::test_generated_is_by_hand[neon]",
    "unit/targets/build/test_build_kernel.py::test_a_compiler_that_fails",
    "unit/transpile/cli/test_command_line.py::test_assembly_is_the_targets_own",
    "unit/transpile/test_codes.py::test_the_bad_program_gives_the_code[BUILD_FAILED]",
    "tools/test_bench.py::test_a_case_is_timed",
    "tools/test_bench.py::test_a_program_is_timed",
)
"""Tests of other compilers, of one that dies, of the text of code without sanitizers, and of times.
"""

_FINDING = re.compile(
    r"(?:ERROR: AddressSanitizer: \S+|\S+: runtime error: .*)(?:\n\s*#0 \S+ in \S+)?"
)
"""A finding, and in which function."""


_FAULTY = """
#include <stdint.h>
#include <stdlib.h>
int64_t faulty(double x) { char *p = malloc(8); return (int64_t)x + p[8]; }
"""
"""Reads behind its memory, and casts what is too large."""

_CALLED = """
import ctypes, os
from targets.build.build_kernel import build_object
lib = ctypes.CDLL(build_object(os.environ["FAULTY"]))
lib.faulty.argtypes = [ctypes.c_double]
lib.faulty(1e30)
"""


def main(arguments: list[str]) -> int:
    """Runs these tests, or all."""
    tests = Path(__file__).resolve().parents[1]
    chosen = arguments or [str(tests), *(f"--deselect=tests/{name}" for name in LEFT)]
    _, found = _run(["-c", _CALLED])
    assert len(found) >= 2, f"the sanitizers do not see what is faulty: {found}"
    status, found = _run(["-X", "faulthandler", "-m", "pytest", "-q", "-n", "auto", "--capture=sys",
                          "-p", "no:cacheprovider", *chosen])
    for finding, count in found.most_common():
        print(f"{count:6} {finding}")
    ended = "" if status == 0 else f"; pytest ended with {status}: not all passed, or ran"
    print(f"sanitizers: {len(found)} findings{ended}")
    return int(bool(found) or status != 0)


def _run(arguments: list[str]) -> tuple[int, Counter[str]]:
    """The exit status of Python, and what was found."""
    with tempfile.TemporaryDirectory() as scratch:
        logs = Path(scratch)
        with open(logs / "log.stderr", "w") as log:
            command = [sys.executable, *arguments]
            done = subprocess.run(command, env=_environment(logs), stderr=log, check=False)
        return done.returncode, Counter(_findings(logs))


def _environment(logs: Path) -> dict[str, str]:
    libraries = (_library(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so"))
    own = f"log_path={logs / 'log'}:print_stacktrace=1"
    return os.environ | {
        "CC": COMPILER,
        "FAULTY": _FAULTY,
        "TRANSPILE_CFLAGS": FLAGS,
        "TRANSPILE_CACHE": str(logs / "cache"),
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": f"detect_leaks=0:halt_on_error=0:allocator_may_return_null=1:{own}",
        "UBSAN_OPTIONS": own,
    }


def _library(name: str) -> str:
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _findings(logs: Path) -> Iterator[str]:
    for path in logs.glob("log.*"):
        for match in _FINDING.finditer(path.read_text(errors="replace")):
            found = " ".join(match[0].split())
            yield re.sub(r"\S*/|0x[0-9a-f]+|-?\d[\d.e+]{6,}", "…", found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
