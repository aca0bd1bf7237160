"""Calls while the C code that all kernels share is still being built.

Each program has an empty cache, and holds back the build, so that its first calls come before it.
"""
from __future__ import annotations

import os
from pathlib import Path

import pytest
from forked_programs import run_program

START = '''
import os, signal, sys, threading, time
import numpy as np
from loopir.process.compiler_threads import in_compiler
from targets.abi import c_api, trampoline
from transpile import fuse

built, finish = trampoline._build_trampoline, threading.Event()

def slow_build():
    with in_compiler():
        finish.wait(60.0)
    return built()

trampoline._build_trampoline = slow_build

@fuse
def total(x):
    s = 0.0
    for v in x:
        s += v * v
    return s

@fuse
def clipped(x, low):
    out = []
    for v in x:
        if v > low:
            out.append(v - low)
    return out

x = np.arange(40.0)
numbers = x.tolist()

def variant():
    (spec,) = total._specializations.values()
    (variant,) = spec.variants
    return variant

def finish_build():
    finish.set()
    trampoline._building.wait(60.0)
'''

SERVED = START + '''
for _ in range(5):
    assert total(x) == (x * x).sum()
    assert clipped(numbers, 30.5) == [v - 30.5 for v in numbers if v > 30.5]
assert variant().entry.is_provisional and not variant().entry.native
assert not c_api.opened
assert total.stats.compiled == 5, total.stats
finish_build()
for _ in range(5):
    assert total(x) == (x * x).sum()
    assert clipped(numbers, 30.5) == [v - 30.5 for v in numbers if v > 30.5]
assert variant().entry.native and variant().not_native is None
assert sum(total.stats.replays.values()) + total.stats.compiled == 10, total.stats
'''

FAILS_LATER = START + '''
def failing():
    finish.wait(60.0)
    raise built_error("no memory")

from targets.build.build_errors import BuildError as built_error
trampoline._build_trampoline = failing
assert total(x) == (x * x).sum()
finish_build()
for _ in range(5):
    assert total(x) == (x * x).sum()
assert not variant().entry.is_provisional and not variant().entry.native
assert c_api.has_no_trampoline()
'''

LARGE = START + '''
threading.Timer(0.5, finish.set).start()
x = np.arange(100_000.0)
assert np.isclose(total(x), (x * x).sum(), rtol=1e-14)
assert variant().entry.native
'''

INTERRUPTED = START + '''
@fuse
def waits(n, m):
    s = 0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                for l in range(m):
                    s ^= (i * j) & (k + l)
    return s

assert waits(3, 2) == waits.__wrapped__(3, 2)
threading.Timer(0.2, finish_build).start()
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    waits(3000, 1000)
except KeyboardInterrupt:
    print("stopped", time.monotonic() - start < 20.0)
os._exit(0)
'''

FORKED = START + '''
assert total(x) == (x * x).sum()
child = os.fork()
if not child:
    trampoline._build_trampoline = built
    finish.set()
    good = all(total(x) == (x * x).sum() for _ in range(5)) and variant().entry.native
    os._exit(0 if good else 1)
assert os.waitpid(child, 0)[1] == 0
finish_build()
assert total(x) == (x * x).sum()
'''

ONE_CALL = '''
import threading
import numpy as np
from targets.abi import trampoline
from targets.build import build_kernel, c_compiler
from transpile import fuse

built, called = trampoline._build_trampoline, threading.Event()

def slow_build():
    called.wait(60.0)
    return built()

trampoline._build_trampoline = slow_build
started = []
real = c_compiler._started
c_compiler._started = lambda *given: started.append(real(*given)) or started[-1]

@fuse
def total(x):
    s = 0.0
    for v in x:
        s += v * v
    return s

print(total(np.arange(40.0)), len(started))
called.set()
'''


def run(text: str, folder: Path) -> str:
    path = folder / "program.py"
    path.write_text(text)
    env = os.environ | {"TRANSPILE_CACHE": str(folder / "cache"), "TRANSPILE_SELECT": "compiled"}
    return run_program("-W", "error", path, env=env, start_python=True).stdout


def test_calls_before_the_build_and_after(tmp_path: Path) -> None:
    run(SERVED, tmp_path)


def test_a_build_that_fails_in_the_end(tmp_path: Path) -> None:
    run(FAILS_LATER, tmp_path)


def test_a_large_call_waits(tmp_path: Path) -> None:
    run(LARGE, tmp_path)


def test_an_interrupt_of_a_call_that_began_before_the_build(tmp_path: Path) -> None:
    assert run(INTERRUPTED, tmp_path) == "stopped True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_before_the_build(tmp_path: Path) -> None:
    run(FORKED, tmp_path)


def test_the_process_ends_after_the_build_and_the_next_compiles_nothing(tmp_path: Path) -> None:
    first, second = (run(ONE_CALL, tmp_path).split() for _ in range(2))
    assert first[0] == second[0] == "20540.0"
    assert int(first[1]) > 0
    assert second[1] == "0"
