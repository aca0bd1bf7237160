"""A process may be forked while a thread of it compiles; parent and child then both answer."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
signal.alarm(20)
assert twice(np.ones(3)) == [2.0, 2.0, 2.0] and not twice.stats.replays
if child == 0:
    os._exit(0)
other.join()
assert os.waitpid(child, 0)[1] == 0
'''


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize(
    "module", ["transpile.knobs", "transpile.runtime.disk_cache", "transpile.runtime.compile_call"]
)
def test_a_fork_waits_for_the_compilation(module: str, tmp_path: Path) -> None:
    file = tmp_path / "forks.py"
    file.write_text(PROGRAM)
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache"), "TRANSPILE_FALLBACK": "error"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(file), module], env=env, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
