"""The thread pool, by regions of a harness in C: answers, flags, limits, signals, forks, faults."""
from __future__ import annotations

import concurrent.futures
import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked_programs import run_program
from paths import SUPPORT
from pool_harness import connect_harness, harness_program, pool_of_its_own, run_region, times

from loopir.status_bits import STATUS
from targets.abi import pool_control, thread_pool
from targets.abi.load_kernel import load_kernel
from targets.build.build_kernel import build_object
from targets.c.headers import read_header
from transpile.knobs import KNOBS

REPLAY = STATUS["replay"]
LENGTH, GRAIN = 10_000, 64


def counts() -> pool_control.PoolCounts:
    found = thread_pool.pool_counts()
    assert found
    return found


@pytest.fixture(params=[2, 3, 7, 64])
def forced(request: pytest.FixtureRequest) -> Iterator[int]:
    with thread_pool.forced(request.param):
        yield request.param


def same(a: Any, b: Any) -> bool:
    return bool((a.view(np.int64) == b.view(np.int64)).all())


@pytest.mark.parametrize("kind", ["sum", "uneven", "nested", "stack"])
@pytest.mark.parametrize("length", [1, 65, LENGTH])
def test_the_answer_is_the_serial_one(kind: str, length: int, forced: int) -> None:
    expected = run_region(kind, length, GRAIN, is_connected=False)
    before = counts().parallel
    got = run_region(kind, length, GRAIN)
    assert same(got.y, expected.y)
    assert same(got.sums, expected.sums)
    assert counts().parallel == before + (length > GRAIN)


def test_several_threads_take_part() -> None:
    seen: set[int] = set()
    with thread_pool.forced(4):
        for _ in range(20):  # on a busy machine a thread may begin when all is done
            seen.update(run_region("sleep", 40).threads.tolist())
            if len(seen) >= 4:  # more, if a fork has ended threads between the calls
                break
    assert len(seen) >= 4


def test_each_thread_runs_its_part_of_the_range_in_each_call() -> None:
    """What it wrote before is in the cache of its core. Others take of it what it has not begun."""
    work = 64 * 200e3
    with thread_pool.forced(4):
        run_region("sleep", 64, units=work)  # starts the workers
        calls = [run_region("sleep", 64, units=work).threads for _ in range(2)]
        in_order = run_region("sleep", 64, units=work, stops_at=32).threads
    for threads in calls:
        assert (threads[1:] != threads[:-1]).sum() < 32
    assert calls[0][0] == calls[1][0] == threading.get_native_id()
    assert (in_order[1:] != in_order[:-1]).sum() >= 32


def test_the_flags_are_those_of_a_serial_run(forced: int) -> None:
    """Each flag is raised by another chunk; before, all threads have others set."""
    run_region("flags", LENGTH, 16)
    got = run_region("flags", LENGTH, 16)
    assert got.flags == run_region("flags", LENGTH, 16, is_connected=False).flags == 15
    assert run_region("sum", LENGTH, 16).flags == 0


def test_the_rounding_mode_is_the_callers() -> None:
    """1/3, rounded upwards, in each thread; afterwards to nearest again."""
    upwards = {"x86_64": 0x800, "aarch64": 0x400000}.get(os.uname().machine)
    libm = ctypes.CDLL(None if sys.platform == "darwin" else "libm.so.6")
    if upwards is None:
        pytest.skip("the number of the rounding mode is not known here")
    with thread_pool.forced(3):
        nearest = run_region("control", 300).y
        libm.fesetround(upwards)
        try:
            up = run_region("control", 300).y
        finally:
            libm.fesetround(0)
        assert same(run_region("control", 300).y, nearest)
    assert (up > nearest).all()
    assert len(set(up.tolist())) == 1


def test_chunks_below_a_stop_have_run(forced: int) -> None:
    for place in (0, LENGTH // 2, LENGTH - 1):
        got = run_region("stop", LENGTH, 16, stops_at=32, place=place)
        assert got.status == 32
        assert (got.y[: place + 1] == 2 * np.arange(place + 1.0) + 1).all()
    whole = run_region("stop", LENGTH, 16, place=5)  # the status does not stop it
    assert whole.status == 32
    assert (whole.y > 0).all()


def test_regions_of_several_callers(forced: int) -> None:
    """Who finds the pool in use runs its region itself."""
    before = counts()
    expected = run_region("sum", LENGTH, GRAIN, is_connected=False).sums
    with concurrent.futures.ThreadPoolExecutor(4) as callers:
        list(callers.map(lambda _: run_region("sleep", 20), range(8)))
        answers = list(callers.map(lambda _: run_region("sum", LENGTH, GRAIN), range(50)))
    assert all(same(a.sums, expected) for a in answers)
    after = counts()
    assert after.refused > before.refused
    assert after.workers <= forced - 1 or after.workers == before.workers


def test_a_bound_of_the_function_is_kept() -> None:
    with thread_pool.forced(7):
        for most in (1, 2):
            threads = run_region("sleep", 30, most=most).threads
            assert len(set(threads.tolist())) == most


def test_tiny_regions_stay_serial() -> None:
    """What takes less than a region costs is run by the caller; the rate is learnt."""
    before = counts()
    for _ in range(50):
        run_region("sum", 200, units=200.0)
    assert counts().parallel - before.parallel <= 5


@pytest.mark.long
def test_no_threads_where_other_processes_use_the_cpus() -> None:
    """A worker that waits for a CPU in the middle of a chunk would keep the caller waiting."""
    if not Path("/proc/loadavg").exists():
        pytest.skip("the other processes are not known here")
    words = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(words) for _ in range(os.cpu_count() or 1)]
    try:
        times(16_000, 2_000, 0, is_connected=True)  # until that is noticed
        before = counts().parallel
        times(16_000, 1_000, 0, is_connected=True)
        assert counts().parallel - before < 200
    finally:
        for process in busy:
            process.kill()
            process.wait()


@pytest.mark.parametrize("calls", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_many_regions_leave_nothing_behind(calls: int) -> None:
    def memory() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not Path("/proc/self/statm").exists():
        pytest.skip("no /proc")
    connect_harness(to_pool=True)
    with thread_pool.forced(2):
        times(100, 1000, 0, is_connected=True)
    before, threads = memory(), threading.active_count()
    for _ in range(calls // 10_000):
        times(100, 10_000, 0, is_connected=True)
    with thread_pool.forced(2):  # tiny ones are serial otherwise
        for _ in range(calls // 50_000):
            times(100, 5_000, 0, is_connected=True)
    assert memory() - before < 1 << 20
    assert threading.active_count() == threads


def test_workers_sleep_between_calls() -> None:
    with thread_pool.forced(3):
        run_region("sleep", 30)
        time.sleep(0.2)
        found = counts()
        assert found.asleep == found.workers >= 2
        before = time.process_time()
        time.sleep(0.5)
        assert time.process_time() - before < 0.005


IMPORTS = f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n"
"""A program of its own finds the harness, too."""

APART = """
import os, subprocess, sys, time
import numpy as np
from pool_harness import run_region

def workers():
    tasks = os.listdir("/proc/self/task")
    names = {int(t): open(f"/proc/self/task/{t}/comm").read().strip() for t in tasks}
    return [t for t, name in names.items() if name == "transpile"]

def found():
    return [os.sched_getaffinity(t) for t in workers()]

def run(times=2, units=30e6):
    for _ in range(times):
        assert (run_region("sleep", 150, units=units).y == 1).all()

cpus, tried = os.sched_getaffinity(0), 0
first = {min(cpus)}
run()
while tried < 50 and all(first <= own for own in found()):
    tried += 1
    os.sched_setaffinity(0, first)
    for t in workers():
        os.sched_setaffinity(t, first)
    os.sched_setaffinity(0, cpus)
    run()
print("kept apart" if tried < 50 else found())
"""
"""Workers are put on the caller's CPU, until one of them is kept off it."""

MOVED = """
run()
for own in (cpus - first, first, cpus):
    os.sched_setaffinity(0, own)
    run()
    if own == cpus:
        run(5)
    assert os.sched_getaffinity(0) == own
    assert all(w and w <= cpus for w in found()), found()
child = os.fork()
if not child:
    for _ in range(50):  # until it has a worker; none where the CPUs are busy
        run(1)
        if found():
            break
    os._exit(0 if all(w == cpus for w in found()) else 1)
print(os.waitpid(child, 0)[1])
"""

BUSY = """
others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
end = time.monotonic() + 20
while time.monotonic() < end and not all(w == cpus for w in found()):
    run(units=10e6)
for other in others:
    other.kill()
print(time.monotonic() < end)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux alone tells the CPUs")
@pytest.mark.parametrize(("rest", "printed"), [
    pytest.param(MOVED, "0", id="moved"),
    pytest.param(BUSY, "True", id="busy", marks=pytest.mark.long),
])
def test_a_worker_that_was_woken_on_the_callers_cpu_is_kept_off_it(
    rest: str, printed: str, tmp_path: Path
) -> None:
    """Else it would wait there until the caller has done all by itself, in each call. Also where
    the caller is then moved to other CPUs; not in the child of a fork, nor as long as other
    processes use the CPUs.
    """
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one CPU")
    program = tmp_path / "apart.py"
    program.write_text(IMPORTS + APART + rest)
    assert run_program(program).stdout == f"kept apart\n{printed}\n"


def test_a_fork_has_no_workers_and_starts_its_own() -> None:
    """In the child of a fork, of each kind, regions have the right answer."""
    with thread_pool.forced(3):
        run_region("sleep", 30)
        expected = run_region("sum", LENGTH, GRAIN).sums
        child = os.fork()
        if not child:
            try:
                is_alone = counts().workers == 0
                good = same(run_region("sum", LENGTH, GRAIN).sums, expected)
                run_region("sleep", 30)
                os._exit(0 if is_alone and good and counts().workers == 2 else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert same(run_region("sum", LENGTH, GRAIN).sums, expected)


def test_a_fork_ends_the_workers_first() -> None:
    """So that no thread but Python's own exists when it forks. (NumPy's OpenBLAS ends its own, too:
    the pool's are told by their name.)
    """
    def workers() -> int:
        """How many threads of this process are the pool's."""
        names = (task / "comm" for task in Path("/proc/self/task").iterdir())
        return sum(name.read_text().strip() == "transpile" for name in names)

    if not Path("/proc/self/task").exists():
        pytest.skip("no /proc")
    seen: list[int] = []
    with thread_pool.forced(3):
        run_region("sleep", 30)
        assert counts().workers >= 2  # more after a test with more threads
        child = os.fork()
        if not child:
            os._exit(0)
        seen.append(workers())
        os.waitpid(child, 0)
    assert seen == [0]


def test_workers_outside_regions_are_waited_for() -> None:
    """Though no time is left for those inside: on busy CPUs it may take long until one wakes."""
    region, library = pool_of_its_own("-DTP_OF_THIS_TEST")
    library.tp_pool_configure(4, 2, 1, 1)
    for _ in range(5):
        region("sleep", 50)
        assert library.tp_pool_join(ctypes.c_int64(0)) == 0


def test_a_fork_in_the_middle_of_a_region() -> None:
    with thread_pool.forced(3):
        for pause in (0.0, 0.001, 0.003):
            caller = threading.Thread(target=run_region, args=("sleep", 60))
            caller.start()
            time.sleep(pause)
            child = os.fork()
            if not child:
                try:
                    os._exit(0 if (run_region("sum", LENGTH, GRAIN).y > 0).all() else 1)
                finally:
                    os._exit(2)
            caller.join()
            assert os.waitpid(child, 0)[1] == 0


SIGNALLED = IMPORTS + """
import ctypes, os, signal, sys, threading, time
from pool_harness import KINDS, connect_harness, run_region
from targets.abi import pool_control, signal_checks, thread_pool, trampoline
from targets.abi.thread_pool import connect
from targets.build.shared_library import SharedLibrary

class Named:
    def __init__(self, library): self.library = library
    def address(self, name):
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value

native = {native}
library = connect_harness(to_pool=True)
if native:
    opened = trampoline.trampoline(None)
    goes_on, bind = opened.goes_on, opened.bind_pool
else:
    goes_on, bind = signal_checks._separate_functions()
state = pool_control.opened[0].state
ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind)(state)
ctypes.c_void_p.in_dll(library, "harness_goes_on").value = goes_on
caught = []
signal.signal(signal.SIGUSR1, lambda *_: caught.append(threading.current_thread()))
def stop(*_):
    caught.append(threading.current_thread())
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, stop)
with thread_pool.forced(3):
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    assert run_region("poll", 1000).status == 0
    assert caught == [threading.main_thread()], caught
    threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    got = run_region("poll", 6000)
    took = time.monotonic() - begin
raised = (ctypes.c_void_p * 3).in_dll(library, "harness_raised")
assert got.status == 16, got.status
assert took < 1.5, took
assert raised[0] == id(KeyboardInterrupt)
assert not got.threads.all()
print("stopped")
"""


@pytest.mark.parametrize("native", [True, False])
def test_a_signal_handler_runs_in_the_caller_and_stops_all(native: bool, tmp_path: Path) -> None:
    program = tmp_path / "signalled.py"
    program.write_text(SIGNALLED.replace("{native}", str(native)))
    assert run_program(program).stdout == "stopped\n"


FORKED_BY_HANDLER = IMPORTS + """
import ctypes, os, signal, threading
import numpy as np
from pool_harness import connect_harness, run_region
from targets.abi import pool_control, thread_pool, trampoline

library = connect_harness(to_pool=True)
opened = trampoline.trampoline(None)
ctypes.CFUNCTYPE(None, ctypes.c_void_p)(opened.bind_pool)(pool_control.opened[0].state)
ctypes.c_void_p.in_dll(library, "harness_goes_on").value = opened.goes_on
children = []
signal.signal(signal.SIGUSR1, lambda *_: children.append(os.fork()))
with thread_pool.forced(3):
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    got = run_region("poll", 600)
    expected = 2 * np.arange(600.0) + 1
    right = got.status == 0 and got.threads.all() and (got.y == expected).all()
    right = right and (run_region("sum", 600).y == expected).all()
if children[0] == 0:
    os._exit(not right)
print(bool(right), os.waitpid(children[0], 0)[1])
"""


def test_a_signal_handler_forks_in_the_middle_of_a_region(tmp_path: Path) -> None:
    """The region goes on in both processes: the workers have finished their chunks before."""
    program = tmp_path / "forked.py"
    program.write_text(FORKED_BY_HANDLER)
    assert run_program(program).stdout == "True 0\n"


NO_THREADS = IMPORTS + """
import numpy as np, resource, sys
from pool_harness import KINDS, connect_harness, run_region
from targets.abi import pool_control, thread_pool
import ctypes
connect_harness(to_pool=True)
libc = ctypes.CDLL(None)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
if libc.getuid() == 0:  # no limit of processes holds for root
    libc.setuid(65534)
with thread_pool.forced(4):
    for _ in range(3):
        got = run_region("sum", 10000, 64)
        assert (got.y == 2 * np.arange(10000.0) + 1).all()
print(thread_pool.pool_counts().workers, thread_pool.pool_counts().failed)
"""


def test_without_threads_the_caller_does_it_all(tmp_path: Path) -> None:
    program = tmp_path / "limited.py"
    program.write_text(NO_THREADS)
    workers, failed = map(int, run_program(program).stdout.split())
    assert workers == 0
    assert failed == 1  # it is not tried again for a while


ENDS = IMPORTS + """
import sys, threading, time
from pool_harness import run_region
from targets.abi import pool_control, thread_pool
running = {running}
thread_pool.wait_until_ready()
context = thread_pool.forced(3)
context.__enter__()
run_region("sleep", 30)
if running:
    threading.Thread(target=run_region, args=("sleep", 200000), daemon=True).start()
    time.sleep(0.05)
print("done", flush=True)
"""


@pytest.mark.parametrize("running", [False, True])
def test_the_interpreter_ends(running: bool, tmp_path: Path) -> None:
    """With sleeping workers, and with a region of a daemon thread that would take long."""
    program = tmp_path / "ends.py"
    program.write_text(ENDS.replace("{running}", str(running)))
    begin = time.monotonic()
    done = run_program(program, timeout=30)
    assert done.stdout == "done\n"
    assert time.monotonic() - begin < 10


KERNEL = """
static int64_t run(const tp_array *a, const tp_scalar *s, void *c, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++) ((double *)a[0].data)[i] = i;
    return 0;
}
static float rate = 1;
static const tp_loop loop = {run, &rate};
int64_t tp_kernel(const tp_array *a, const tp_scalar *s)
{
    const int64_t n = a[0].dims[0];
    return tp_run_region ? tp_run_loop(&loop, a, s, 0, 0, n, 1, n) : run(a, s, 0, 0, n);
}
"""


@pytest.mark.parametrize("native", [True, False])
def test_a_kernel_is_connected_and_its_context_counts(native: bool) -> None:
    from loopir.nodes import Kernel, Param

    headers = [read_header(name) for name in ("abi.h", "parallel.h")]
    kernel = Kernel("k", (Param("out", "f64", 1, 0, written=True),), ())
    assert thread_pool.wait_until_ready()
    path = build_object("".join([*headers, KERNEL, f"/* {native} */"]))
    loaded = load_kernel(path, kernel, native=native)
    out = np.zeros(10_000)
    with thread_pool.forced(2):
        before = counts().parallel
        assert loaded.fast(out) == 0
        assert (out == np.arange(10_000.0)).all()
        assert counts().parallel == before + 1
        bound: ContextVar[int] = pool_control.contexts[0] if pool_control.contexts else BOUND
        thread_pool.limit_by_context(bound)
        token = bound.set(1)
        assert loaded.fast(out) == 0
        assert counts().parallel == before + 1
        bound.reset(token)
        assert loaded.fast(out) == 0
        assert counts().parallel == before + 2


BOUND: ContextVar[int] = ContextVar("bound")


def test_without_a_compiler_there_is_no_pool(tmp_path: Path) -> None:
    program = tmp_path / "none.py"
    program.write_text(
        "from targets.abi import thread_pool\n"
        "print(thread_pool.wait_until_ready(), thread_pool.pool_counts())\n"
        "print(thread_pool.why_no_pool())\n"
    )
    environment = {k: v for k, v in os.environ.items() if k not in {n.name for n in KNOBS}}
    environment |= {"CC": "no-such-compiler", "TRANSPILE_CACHE": str(tmp_path)}
    first, second = run_program(program, env=environment, start_python=True).stdout.splitlines()
    assert first == "False None"
    assert second == "CC=no-such-compiler: there is no such program"


def test_without_a_futex() -> None:
    """With the condition variables of other systems in place of Linux's futex."""
    region, library = pool_of_its_own("-DTP_NO_FUTEX")
    library.tp_pool_configure(4, 2, 1, 1)
    for kind, grain in [("sum", 1), ("sleep", 50), ("sum", 1), ("nested", 3)] * 3:
        x, y, _ = region(kind, 1000, grain)
        assert (y == (1 if kind == "sleep" else 2 * x + 1)).all()
        time.sleep(0.001)
    assert library.tp_pool_join(ctypes.c_int64(2000)) == 0


@pytest.mark.long
def test_thread_sanitizer_finds_nothing(tmp_path: Path) -> None:
    source, program = tmp_path / "all.c", tmp_path / "all"
    source.write_text(harness_program())
    flags = ["-O1", "-g", "-w", "-fsanitize=thread", "-DTP_STACK=1048576", "-DHARNESS_MAIN"]
    words = ["gcc", *flags, str(source), "-o", str(program), "-pthread", "-lm"]
    if subprocess.run(words, check=False).returncode:
        pytest.skip("no compiler with ThreadSanitizer")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert not done.stderr
