"""Parallel kernels where threads usually go wrong: other Python threads, forks, signals, faults in
several chunks, the ends of ranges, few CPUs, and processes that end meanwhile.

See `test_thread_pool.py` for the same of the pool alone (nested regions, forks in the middle of a
region, the end of the interpreter, no threads at all, many tiny regions, idle workers, futexes,
ThreadSanitizer), `test_cpu_limit.py` for quotas, `test_ecosystems.py` for ``multiprocessing`` and
other libraries, `test_threads.py` and `test_random_threads.py` for equal bits.
"""
from __future__ import annotations

import concurrent.futures
import ctypes
import mmap
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_counts import with_flags
from forked_programs import run_program
from paths import ROOT, SUPPORT

from targets.abi import thread_pool
from targets.build.build_kernel import build_object
from transpile import fuse

N = 20_001
"""Elements: many chunks, the last of which ends within a vector."""


@fuse(on_reject="raise")
def scaled(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 0.5 + 1.0


@fuse(on_reject="raise")
def total(x):
    s = 0.0
    for v in x:
        s += v
    return s


@fuse(on_reject="raise")
def inverse(x, out):
    for i in range(len(x)):
        out[i] = 1.0 / x[i]


@fuse(on_reject="raise")
def steps(n, out):
    for i in range(n):
        k = i + 1
        while k > 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            out[i] += 1


@fuse(on_reject="raise")
def count(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return n


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool runs what would be too little work, too; no call runs as Python."""
    monkeypatch.setenv("TRANSPILE_CFLAGS", with_flags("-DTP_WORTH=0"))
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")


def parallel_regions() -> int:
    found = thread_pool.pool_counts()
    assert found
    return found.parallel


def alone(f: Callable[..., Any], *args: Any) -> Any:
    """What `f` gives, run by one thread."""
    with thread_pool.forced(1):
        return f(*args)


def bits(a: Any) -> bytes:
    return np.ascontiguousarray(a).tobytes()


def test_several_python_threads_with_the_same_and_with_different_kernels() -> None:
    x = np.random.default_rng(0).standard_normal(300_000)
    y = np.zeros(len(x))
    alone(scaled, x, y)
    wanted = {scaled: bits(y), total: bits(alone(total, x))}

    def call(f: Callable[..., Any]) -> bool:
        out = np.zeros(len(x))
        given = f(x, out) if f is scaled else f(x)
        return bits(out if f is scaled else given) == wanted[f]

    with thread_pool.forced(3), concurrent.futures.ThreadPoolExecutor(4) as callers:
        before = parallel_regions()
        for kernels in ([scaled] * 12, [total] * 12, [scaled, total] * 6):
            assert all(callers.map(call, kernels))
        assert parallel_regions() > before


@pytest.mark.parametrize("threads", [2, 3, 7, 64, 256])
def test_the_ends_of_ranges(threads: int) -> None:
    """No element, one, and around whole vectors and chunks; none behind the end is touched."""
    for n in (0, 1, 2, 63, 64, 65, 127, 128, 129, 191, 193, 64 * threads - 1, 64 * threads + 9, N):
        x, out = np.arange(n + 0.0), np.full(n + 64, -7.0)
        with thread_pool.forced(threads):
            scaled(x, out[:n])
        assert (out[:n] == x * 0.5 + 1.0).all()
        assert (out[n:] == -7.0).all()


def test_floating_point_errors_in_the_last_chunk_and_in_two_chunks(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same warnings as of one thread; the exception, and what was written before it, as Python
    has it.
    """
    monkeypatch.delenv("TRANSPILE_FALLBACK")
    for places in ((), (N - 1,), (0, N - 1), (N // 3, N // 2)):
        x = np.ones(N)
        x[list(places)] = 0.0

        def caught(f: Callable[..., Any], mode: Any, x: Any = x) -> tuple[Any, ...]:
            out, raised = np.zeros(N), ""
            with np.errstate(all=mode), warnings.catch_warnings(record=True) as shown:
                warnings.simplefilter("always")
                try:
                    f(x, out)
                except FloatingPointError as error:
                    raised = str(error)
            return raised, bits(out), [str(w.message) for w in shown]

        for mode in ("raise", "warn", "ignore"):
            if mode == "raise":
                wanted = caught(inverse.__wrapped__, mode)
            else:
                wanted = alone(caught, inverse, mode)
            assert bool(wanted[0]) == (bool(places) and mode == "raise")
            assert bool(wanted[2]) == (bool(places) and mode == "warn")
            for threads in (2, 3, 64):
                with thread_pool.forced(threads):
                    assert caught(inverse, mode) == wanted


def test_subnormals_flushed_by_another_library() -> None:
    """Where the caller's thread flushes them to zero, so do the workers; and no more after that."""
    if os.uname().machine != "x86_64":
        pytest.skip("written for x86")
    text = "void flush(unsigned on) {{ __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() {0}); }}"
    text = text.format("& ~0x8040u | (on ? 0x8040u : 0)")
    flush = ctypes.CDLL(build_object(text)).flush
    x, out = np.full(N, 2.0**-1022), np.zeros(N)
    with thread_pool.forced(3):
        inverse(1.0 / x, out)
        kept = out.copy()
        flush(1)
        try:
            scaled(x * 0 + 2.0**-1022, out)  # so that workers have that state, too
            inverse(1.0 / x, out)
        finally:
            flush(0)
        flushed = out.copy()
        inverse(1.0 / x, out)
    assert len(set(kept.tolist())) == len(set(flushed.tolist())) == 1
    assert bits(out) == bits(kept)


def test_overlapping_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of iterations counts there, so that one thread runs them."""
    monkeypatch.delenv("TRANSPILE_FALLBACK")
    for first, second in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
        x, y = np.arange(N + 0.0), np.arange(N + 0.0)
        scaled.__wrapped__(x[first], x[second])
        with thread_pool.forced(3):
            scaled(y[first], y[second])
        assert bits(x) == bits(y)
    with thread_pool.forced(3):  # the same array is no overlap
        before = parallel_regions()
        x = np.arange(N + 0.0)
        scaled(x, x)
        assert parallel_regions() == before + 1
    assert (x == np.arange(N) * 0.5 + 1.0).all()


def test_a_child_that_runs_another_program() -> None:
    """A fork whose child ends, or starts another program: the parent's workers start again."""
    x, out = np.ones(N), np.zeros(N)
    with thread_pool.forced(3):
        for _ in range(3):
            scaled(x, out)
            words = [sys.executable, "-S", "-E", "-c", "print(5)"]
            done = subprocess.run(words, capture_output=True, check=True, preexec_fn=os.getpid)
            assert done.stdout == b"5\n"
            child = os.fork()
            if not child:
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            out[:] = 0
            scaled(x, out)
            assert (out == 1.5).all()


@pytest.mark.long
def test_more_elements_than_an_int_of_32_bits_can_count() -> None:
    """Of memory that nobody has written to, the system keeps one page."""
    n = (1 << 31) + 100
    try:
        memory = mmap.mmap(-1, n)
    except OSError:
        pytest.skip("not so many addresses")
    x = np.frombuffer(memory, np.uint8)
    for place in (0, 1 << 30, (1 << 31) + 5, n - 1):
        x[place] = 1
    with thread_pool.forced(3):
        before = parallel_regions()
        assert count(x) == 4
        assert parallel_regions() > before


IMPORTS = f"import sys; sys.path[:0] = {[str(ROOT), str(SUPPORT), str(Path(__file__).parent)]!r}\n"

INTERRUPTED = IMPORTS + """
import os, signal, threading, time
import numpy as np
from targets.abi import thread_pool
from test_threads_in_trouble import steps
out = np.zeros(1 << 25, np.int64)  # several seconds by two threads
steps(100, out)
thread_pool.wait_until_ready()
def interrupt():
    global begin
    while thread_pool.pool_counts().workers < 2:
        time.sleep(0.01)
    time.sleep(0.1)
    begin = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
with thread_pool.forced(3):
    threading.Thread(target=interrupt).start()
    try:
        steps(len(out), out)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - begin < 3)
    out = np.zeros(1000, np.int64)
    steps(1000, out)
    print(out[26])
"""

FORKED = IMPORTS + """
import ctypes, os, signal, threading, time
import numpy as np
from targets.abi import thread_pool
from test_threads_in_trouble import steps
fork = {fork}
out, children = np.zeros(1 << 20, np.int64), []
signal.signal(signal.SIGUSR1, lambda *_: children.append(fork()))
steps(100, out)
thread_pool.wait_until_ready()
out[:100] = 0
def interrupt():
    while thread_pool.pool_counts().workers < 2:
        time.sleep(0.001)
    time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGUSR1)
with thread_pool.forced(3):
    threading.Thread(target=interrupt).start()
    steps(len(out), out)
    is_in_region = thread_pool.pool_counts().workers < 2
right = out.sum() == {total} and out.max() == {most}
if children[0] == 0:
    os._exit(not right)
print(right, is_in_region, os.waitpid(children[0], 0)[1], steps.stats.replays)
"""

ENDED = IMPORTS + """
import os, threading, time
import numpy as np
from targets.abi import thread_pool
from test_threads_in_trouble import steps
out = np.zeros(1 << 26, np.int64)
steps(100, out)
thread_pool.wait_until_ready()
context = thread_pool.forced(3)
context.__enter__()
threading.Thread(target=steps, args=(len(out), out), daemon={daemon}).start()
while thread_pool.pool_counts().workers < 2:
    time.sleep(0.01)
os._exit(5)
"""

ON_ONE_CPU = IMPORTS + """
import os, time
import numpy as np
import transpile
from parallel_work import SIZE, own_threads, seen, waves
first = transpile.threads().limit
cpu = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cpu})
print(transpile.threads().limit, transpile.threads().affinity)
print(*seen(0)[2:])
"""

OF_HALF_A_CPU = IMPORTS + """
import functools, os
from pathlib import Path
from targets.build import cpu_limit
root = Path({root!r})
(root / "proc/self").mkdir(parents=True)
(root / "sys/fs/cgroup").mkdir(parents=True)
(root / "proc/self/cgroup").write_text("0::/\\n")
mounts = "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\\n"
(root / "proc/self/mountinfo").write_text(mounts)
(root / "sys/fs/cgroup/cpu.max").write_text("50000 100000\\n")
cpu_limit.cpu_quota = functools.partial(cpu_limit.cpu_quota, str(root))
import transpile
from parallel_work import seen
print(transpile.threads().quota, *seen(0)[2:])
"""

WITHOUT_THREADS = IMPORTS + """
import os, resource
import numpy as np
import transpile
from targets.abi import thread_pool
from test_threads_in_trouble import scaled
x, out = np.ones(20000), np.zeros(20000)
with transpile.threads(1):  # on a busy machine the call may take so long that it starts a thread
    scaled(x, out)
thread_pool.wait_until_ready()
is_root = os.getuid() == 0  # no limit of processes holds for root
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
with thread_pool.forced(4):
    if is_root:
        os.setresuid(65534, 65534, 0)
    for _ in range(3):
        out[:] = 0
        scaled(x, out)
        assert (out == 1.5).all()
    if is_root:  # who may read the checkout
        os.setresuid(0, 0, 0)
rows = str(scaled.report(x, out)).splitlines()
print(*[row.strip() for row in rows if "threads: " in row], sep="\\n")
"""


def printed(text: str, folder: Path, **kept: Any) -> Any:
    program = folder / "program.py"
    program.write_text(text)
    return run_program("-W", "error", program, timeout=60, **kept)


def test_ctrl_c(tmp_path: Path) -> None:
    """Stops all threads soon; the next call is as if nothing had been."""
    assert printed(INTERRUPTED, tmp_path).stdout == "interrupted True\n111\n"


@pytest.mark.parametrize("fork", ["os.fork", "ctypes.PyDLL(None).fork"])
def test_a_signal_handler_forks_in_a_loop_that_adds_to_its_array(fork: str, tmp_path: Path) -> None:
    """Both processes finish the loop: no chunk is lost, and none is run twice; also where a library
    forks, of which Python does not know.
    """
    out = np.zeros(1 << 20, np.int64)
    alone(steps, len(out), out)
    text = FORKED.format(fork=fork, total=out.sum(), most=out.max())
    assert printed(text, tmp_path).stdout == "True True 0 {}\n"


@pytest.mark.parametrize("daemon", [pytest.param(True, marks=pytest.mark.long), False])
def test_exit_in_the_middle_of_a_region(daemon: bool, tmp_path: Path) -> None:
    text = ENDED.format(daemon=daemon)
    assert printed(text, tmp_path, check=False).returncode == 5


def test_taskset(tmp_path: Path) -> None:
    """On one CPU, one thread."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no affinity here")
    assert printed(ON_ONE_CPU, tmp_path).stdout == "1 1\n0 0 1\n"


def test_a_container_with_half_a_cpu(tmp_path: Path) -> None:
    """One thread, which no other takes the time from."""
    text = OF_HALF_A_CPU.format(root=str(tmp_path / "root"))
    assert printed(text, tmp_path).stdout == "0.5 0 0 1\n"


def test_no_thread_can_be_started(tmp_path: Path) -> None:
    """The caller does it all, and a line of the report says so."""
    assert printed(WITHOUT_THREADS, tmp_path).stdout.startswith(
        "threads: one, since no other could be started"
    )
