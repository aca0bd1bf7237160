"""A process may be forked while a thread of it compiles; parent and child then both answer.

`test_imports_at_calls_are_locked` holds the rule that this depends on: where a call imports a
module, the lock of its function is held.
"""
from __future__ import annotations

import os
from pathlib import Path

import pytest
from forked_programs import run_program

PROGRAM = '''\
import os, signal, sys, threading, time
import numpy as np
from transpile import fuse

@fuse
def twice(x):
    return [v * 2.0 for v in x]

class Slow:
    """Makes the import of one module a long one."""

    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            importing.set()
            time.sleep(0.3)

importing = threading.Event()
sys.meta_path.insert(0, Slow())
other = threading.Thread(target=twice, args=(np.ones(3),))
other.start()
assert importing.wait(20)
child = os.fork()
signal.alarm(60)
assert twice(np.ones(3)) == [2.0, 2.0, 2.0] and not twice.stats.replays
if child == 0:
    os._exit(0)
other.join()
assert os.waitpid(child, 0)[1] == 0
'''


REPORTS = PROGRAM.replace("target=twice, args=(np.ones(3),)", "target=twice.report").replace(
    "assert twice(", "assert twice.report() and twice("
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_waits_for_the_imports_of_a_report(tmp_path: Path) -> None:
    file = tmp_path / "forks.py"
    file.write_text(REPORTS)
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache"), "TRANSPILE_FALLBACK": "error"}
    module = "transpile.runtime.inspection"
    done = run_program("-W", "ignore", file, module, env=env, check=False, start_python=True)
    assert (done.returncode, done.stderr) == (0, "")


CALLS = '''\
import sys, warnings
import numpy as np
from transpile import fuse
from transpile.runtime.process import fork_lock

found, unlocked = [], []

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("transpile", "loopir", "targets", "kernels"):
            found.append(name)
            if not any(lock.is_held_here() for lock in list(fork_lock._all_locks)):
                unlocked.append(name)

class Model:
    scale = 2.0

    @fuse
    def compiled_method(self, x):
        return [v * self.scale for v in x]

def compiled(x):
    return [v * 2.0 for v in x]

def refused(x):
    return {str(v): open for v in x}

def in_regions(x):
    print(end="")
    total = 0.0
    for v in x:
        for w in x:
            total += v * w
    print(end="")
    return total

def replayed(x, y):
    total = 0
    for i in range(len(x)):
        total += y[i] // y[i - 1]
    return total

def in_threads(x):
    return np.exp(x) + np.sin(x)

def recursive(x):
    return x if len(x) < 2 else recursive(x[1:])

warnings.simplefilter("ignore")
x = np.ones(30)
sys.meta_path.insert(0, Finder())
calls = [(fuse(function), x) for function in (compiled, refused, in_regions, recursive)]
calls += [(fuse(verify=1.0)(compiled), x), (fuse(background=True)(compiled), list(x))]
calls += [(fuse(threads=2)(in_threads), x), (fuse(replayed), x, np.zeros(30, int))]
for function, *args in calls:
    for _ in range(3):
        try:
            function(*args)
        except ZeroDivisionError:
            pass
Model().compiled_method(x)
print(len(found) > 50, *unlocked)
'''


def test_imports_at_calls_are_locked(tmp_path: Path) -> None:
    """So that no fork finds one under way: first calls, further ones, refused ones, replays."""
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache")}
    for times in ("once", "again"):  # again: from the cache on disk
        done = run_program(file, times, env=env, check=False, start_python=True)
        assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@pytest.mark.share(3)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("module", ["pipeline", "runtime.cache.disk_cache", "runtime.compile_call"])
def test_a_fork_waits_for_the_compilation(module: str, tmp_path: Path) -> None:
    file = tmp_path / "forks.py"
    file.write_text(PROGRAM)
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache"), "TRANSPILE_FALLBACK": "error"}
    words = "-W", "ignore", file, f"transpile.{module}"
    done = run_program(*words, env=env, check=False, start_python=True)
    assert (done.returncode, done.stderr) == (0, "")


SLOW = '''\
import os, signal, sys, threading, time
import numpy as np
from transpile import fuse
from transpile.runtime.process import fork_lock

fork_lock.FORK_TIMEOUT = 30

@fuse
def twice(x):
    return [v * 2.0 for v in x]

other = threading.Thread(target=twice, args=(np.ones(3),), daemon=True)
other.start()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
start = time.monotonic()
child = os.fork()
took = time.monotonic() - start
if child == 0:
    os.environ["CC"] = "cc"
    signal.alarm(50)
    ok = twice(np.ones(3)) == [2.0, 2.0, 2.0] and twice.stats.compiled == 1
    os._exit(0 if ok else 1)
print(took < 20, os.waitpid(child, 0)[1], flush=True)
os._exit(0)
'''


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_does_not_wait_for_the_c_compiler(tmp_path: Path) -> None:
    """It takes a minute; the child compiles on its own."""
    file, compiler, begun = tmp_path / "forks.py", tmp_path / "cc.sh", tmp_path / "begun"
    file.write_text(SLOW)
    compiler.write_text(f"#!/bin/sh\necho > {begun}\nexec sleep 60\n")
    compiler.chmod(0o755)
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache"), "CC": str(compiler)}
    done = run_program(
        "-W", "ignore", file, begun, env=env, timeout=55, check=False, start_python=True
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "True 0\n")


LOST = '''\
import importlib.machinery, os, signal, sys, threading
import numpy as np
from transpile import fuse
from transpile.runtime.process import fork_lock

fork_lock.FORK_TIMEOUT = 0.2

@fuse
def twice(x):
    return [v * 2.0 for v in x]

class Slow:
    """Lets one module run only after the fork. (A fork waits while a finder looks for a module.)"""

    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1] and not importing.is_set():
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            run = spec.loader.exec_module

            def run_later(module):
                importing.set()
                forked.wait(30)
                run(module)

            spec.loader.exec_module = run_later
            return spec

importing, forked = threading.Event(), threading.Event()
sys.meta_path.insert(0, Slow())
name, target = sys.argv[1:]
work = twice.report if target == "report" else lambda: twice(np.ones(3))
other = threading.Thread(target=work, daemon=True)
other.start()
assert importing.wait(20)
child = os.fork()
forked.set()
signal.alarm(60)
if child == 0:
    ok = all(twice(np.ones(3)) == [2.0, 2.0, 2.0] for _ in range(3))
    is_other = not name.startswith("transpile")
    ok &= is_other or bool(twice.report() and twice.stats.compiled)
    os._exit(0 if ok and fork_lock.is_without_compiler() == is_other else 1)
assert os.waitpid(child, 0)[1] == 0
assert not fork_lock.is_without_compiler()
'''


@pytest.mark.share(3)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize(
    ("module", "work"),
    [
        ("transpile.pipeline", "call"), ("transpile.runtime.inspection", "report"),
        ("_cffi_backend", "call"),
    ],
)
def test_a_child_of_a_fork_that_did_not_wait_for_an_import(
    module: str, work: str, tmp_path: Path
) -> None:
    """It imports modules of the compiler anew; with others, Python answers."""
    file = tmp_path / "lost.py"
    file.write_text(LOST)
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache")}
    words = "-W", "ignore", file, module, work
    done = run_program(*words, env=env, timeout=100, check=False, start_python=True)
    assert (done.returncode, done.stdout) == (0, "")
