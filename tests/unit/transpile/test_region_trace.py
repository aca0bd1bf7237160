"""What ``TRANSPILE_DEBUG=time`` prints at the end of the parallel loops that ran."""
from __future__ import annotations

import os
import re
from pathlib import Path

from forked_programs import run_program

PROGRAM = """\
import numpy as np
from targets.abi import thread_pool
from transpile import fuse

@fuse
def scaled(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2.0

@fuse
def never_run(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 3.0

x = np.ones(2_000_000)
never_run(x[:5], x[:5].copy())
scaled(x, x.copy())
with thread_pool.forced({threads}):
    for _ in range(7):
        scaled(x, x.copy())
"""
ROW = re.compile(
    r"# scaled, line 7: (\d+) runs by several threads, (\d+) by one; the last: (\d+) threads, "
    r"(\d+) chunks, estimate (\d+) µs by one thread, taken (\d+) µs"
)


def rows(folder: Path, threads: int) -> list[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(threads=threads))
    environment = os.environ | {
        "TRANSPILE_DEBUG": "time", "TRANSPILE_CACHE": str(folder), "TRANSPILE_SELECT": "compiled",
    }
    printed = run_program(program, env=environment).stderr.splitlines()
    return [line for line in printed if " runs by several threads" in line]


def test_how_loops_were_run(tmp_path: Path) -> None:
    for threads in (1, 3):
        [row] = rows(tmp_path, threads)
        found = ROW.fullmatch(row)
        assert found, row
        parallel, alone, used, chunks, *_ = map(int, found.groups())
        if threads == 1:
            assert alone >= 7
            assert (used, chunks) == (1, 1)
        else:
            assert parallel + alone >= 7  # a worker may come too late for a chunk
            assert parallel >= 1
            assert 1 <= used <= 3
            assert chunks >= 3
