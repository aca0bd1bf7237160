"""``python -m tests.tools.sanitize [--thread] [pytest arguments]``: compiled code under sanitizers.

Kernels, the thread pool, and the C that calls them, are built with GCC's sanitizers (ASan and
UBSan; with ``--thread`` TSan), which are loaded ahead of Python; each finding is printed, once a
place. Exit status 1 where there is one, or a test fails.
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

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
ADDRESSES = "address,undefined,float-cast-overflow"
THREADS = "thread"
FLAGS = "-fsanitize={} -fsanitize-recover=all -fno-omit-frame-pointer -g1 -O1 -DTP_STACK=1048576"
"""-O1 leaves more of the accesses to be checked than -O2, and takes half the time. Workers have the
stack that the sanitizers need."""
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

NOT_OF_THREADS = "not (ctrl_c or middle_of_a_region or be_started or taskset)"
"""Tests of processes that end in special ways, which ThreadSanitizer does not survive."""
_SUPPRESSED = "race:_dl_deallocate_tls\nrace:tls_get_addr_tail\n"
"""What glibc does for a thread: it knows that the thread before, of the same stack, has ended."""

_FINDING = re.compile(
    r"(?:(?:ERROR|WARNING): (?:Address|Thread)Sanitizer: [^(\n]+|\S+: runtime error: .*)"
    r"(?:.*\n){0,2}?(?:\s*#0 \S+ [^\n(]*)?"
)
"""A finding, and in which function."""

_FAULTY = """
#include <stdint.h>
#include <stdlib.h>
int64_t faulty(double x) { char *p = malloc(8); return (int64_t)x + p[8]; }
"""
"""Reads behind its memory, and casts what is too large."""

_CALLED_FAULTY = """
import ctypes, os
from targets.build.build_kernel import build_object
lib = ctypes.CDLL(build_object(os.environ["FAULTY"]))
lib.faulty.argtypes = [ctypes.c_double]
lib.faulty(1e30)
"""


_RACING = """
import os
import numpy as np
from example_counts import with_flags
from loopir.analysis import parallelism
from targets.abi import thread_pool
from transpile import fuse

os.environ["TRANSPILE_CFLAGS"] = with_flags("-DTP_WORTH=0", "-Og")
parallelism._memory_conflicts = lambda *_: parallelism._Conflicts()

@fuse(on_reject="raise")
def racing(k, out):
    for i in range(len(k)):
        out[k[i]] += 1.0

k = np.zeros(200_000, np.int64)
with thread_pool.forced(3):
    for _ in range(20):
        racing(k, np.zeros(9))
assert thread_pool.pool_counts().parallel
"""
"""A histogram that several threads run: each of them writes to one element."""


def thread_tests() -> list[Path]:
    """What runs with ``--thread`` unless tests are named: the modules of tests that force the
    number of threads, such as those of programs, folds, nests, lists and random programs. Not the
    pool's own: they count threads and memory, which the sanitizer adds to, and have a test that
    runs their regions under it.
    """
    modules = sorted((ROOT / "tests").rglob("test_*.py"))
    forced = (p for p in modules if "thread_pool.forced(" in p.read_text(encoding="utf-8"))
    return [p for p in forced if p.name != "test_thread_pool.py"]


def main(arguments: list[str]) -> int:
    """Runs these tests, or all; with ``--thread`` those of threads."""
    of_threads = "--thread" in arguments
    sanitizers = THREADS if of_threads else ADDRESSES
    named = [word for word in arguments if word != "--thread"]
    tests = ROOT / "tests"
    if of_threads:
        chosen = named or [*map(str, thread_tests()), "-k", NOT_OF_THREADS]
    else:
        chosen = named or [str(tests), *(f"--deselect=tests/{name}" for name in LEFT)]
    faulty, least = (_RACING, 1) if of_threads else (_CALLED_FAULTY, 2)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "faulty.py")
        program.write_text(faulty)
        _, found = _run([str(program)], sanitizers)
    assert len(found) >= least, f"the sanitizers do not see what is faulty: {found}"
    options = ["-q", "-n", "auto", "--capture=sys", "-p", "no:cacheprovider"]
    status, found = _run(["-X", "faulthandler", "-m", "pytest", *options, *chosen], sanitizers)
    for finding, count in found.most_common():
        print(f"{count:6} {finding}")
    ended = "" if status == 0 else f"; pytest ended with {status}: not all passed, or ran"
    print(f"sanitizers: {len(found)} findings{ended}")
    return int(bool(found) or status != 0)


def _run(arguments: list[str], sanitizers: str) -> tuple[int, Counter[str]]:
    """The exit status of Python, and what was found."""
    with tempfile.TemporaryDirectory() as scratch:
        logs = Path(scratch)
        with open(logs / "log.stderr", "w") as log:
            command = [sys.executable, *arguments]
            if sanitizers == THREADS:  # its memory must be where it expects it
                command = ["setarch", "-R", *command]
            environment = _environment(logs, sanitizers)
            done = subprocess.run(command, env=environment, stderr=log, check=False)
        return done.returncode, Counter(_findings(logs))


def _environment(logs: Path, sanitizers: str) -> dict[str, str]:
    names = ("libtsan.so",) if sanitizers == THREADS else ("libasan.so", "libubsan.so")
    suppressions = logs / "suppressions"
    suppressions.write_text(_SUPPRESSED)
    libraries = (_library(name) for name in (*names, "libstdc++.so"))
    own = f"log_path={logs / 'log'}:print_stacktrace=1"
    path = os.pathsep.join((str(ROOT), str(SUPPORT), os.environ.get("PYTHONPATH", "")))
    return os.environ | {
        "PYTHONPATH": path,
        "CC": COMPILER,
        "FAULTY": _FAULTY,
        "TRANSPILE_CFLAGS": FLAGS.format(sanitizers),
        "TRANSPILE_CACHE": str(logs / "cache"),
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": f"detect_leaks=0:halt_on_error=0:allocator_may_return_null=1:{own}",
        "UBSAN_OPTIONS": own,
        "TSAN_OPTIONS": f"report_signal_unsafe=0:suppressions={suppressions}:{own}",
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
