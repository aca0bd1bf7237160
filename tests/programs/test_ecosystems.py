"""Kernels that several threads run, called from the libraries that people run code in: the right
answer, no warning, no more threads than CPUs, and an end.

Each program is started with ``python -W error``. Those of libraries are run with ``--long``, and
skipped if the library is not installed; ``pip install -e .[test-ecosystem]`` installs them all.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from forked_programs import with_bytecode
from parallel_work import Seen, seen
from paths import ROOT, SUPPORT

import transpile
from targets.build.cpu_limit import cpu_limit

PROGRAM = """
import json, os, sys
sys.path[:0] = {path!r}
import {library}
from parallel_work import seen

def main():
{body}
    return found

if __name__ == "__main__":
    found = main()
    print(json.dumps(found))
"""

USED, EITHER, ALONE = "by several threads", "by one or several", "by one thread"

PROGRAMS: dict[str, tuple[str, str, str]] = {
    "fork": ("", USED, """
        import multiprocessing, warnings
        warnings.simplefilter("always")  # Python 3.12 drops what os.fork would raise by "error"
        found = [seen(0)]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found += pool.map(seen, [0, 0, 0])
        found += [seen(0)]
    """),
    "forkserver, spawn": ("", USED, """
        import concurrent.futures, multiprocessing
        found = [seen(0)]
        with multiprocessing.get_context("forkserver").Pool(2) as pool:
            found += pool.map(seen, [0, 0])
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
            found.append(pool.submit(seen, 0).result(timeout=60))
        assert found[-1].parallel or found[-1].limit == 1  # the other process was idle
    """),
    "threads": ("", USED, """
        import asyncio, concurrent.futures
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            found = [*pool.map(seen, [0] * 4)]
        async def all_of_them():
            return await asyncio.gather(*(asyncio.to_thread(seen, 0) for _ in range(4)))
        found += asyncio.run(all_of_them())
    """),
    "joblib, loky": ("joblib", ALONE, """
        found = joblib.Parallel(os.cpu_count())(joblib.delayed(seen)(0) for _ in range(4))
    """),
    "joblib, one worker": ("joblib", USED, """
        with joblib.parallel_config("loky", inner_max_num_threads=2):
            found = joblib.Parallel(2)(joblib.delayed(seen)(0) for _ in range(1))
    """),
    "joblib, threading": ("joblib", USED, """
        tasks = (joblib.delayed(seen)(0) for _ in range(4))
        found = joblib.Parallel(4, backend="threading")(tasks)
    """),
    "threadpoolctl": ("threadpoolctl", ALONE, """
        with threadpoolctl.threadpool_limits(1):
            found = [seen(0)]
    """),
    "dask, threads": ("dask", USED, """
        found = dask.compute(*[dask.delayed(seen)(0) for _ in range(4)], scheduler="threads")
    """),
    "dask, processes": ("dask", EITHER, """
        tasks = [dask.delayed(seen)(0) for _ in range(4)]
        found = dask.compute(*tasks, scheduler="processes", num_workers=2)
    """),
    "dask, distributed": ("distributed", ALONE, """
        options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with distributed.LocalCluster(**options) as cluster:
            with distributed.Client(cluster) as client:
                found = client.gather(client.map(seen, [0] * 4, pure=False))
    """),
    "a notebook": ("ipykernel", USED, """
        import jupyter_client
        manager = jupyter_client.KernelManager(transport="ipc")
        manager.start_kernel()
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=60)

        def run(code, interrupt=False):
            sent, shown = client.execute(code), []
            while True:
                message = client.get_iopub_msg(timeout=60)
                if message["parent_header"].get("msg_id") != sent:
                    continue
                if message["msg_type"] in ("stream", "error"):
                    shown.append(message["content"])
                if interrupt and shown:
                    interrupt = manager.interrupt_kernel()
                if message["content"].get("execution_state") == "idle":
                    return shown

        from parallel_work import Seen
        run(f"import sys; sys.path[:0] = {sys.path[:2]!r}; from parallel_work import *")
        text = "".join(part["text"] for part in run("print(seen(0))"))
        found = [eval(text)]
        *_, last = run("print('begun', flush=True)\\nwhile True: seen(0)", interrupt=True)
        assert last["ename"] == "KeyboardInterrupt", last
        found.append(eval("".join(part["text"] for part in run("print(seen(0))"))))
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    """),
}


def is_installed(library: str) -> bool:
    """Whether the library is installed."""
    return not library or find_spec(library) is not None


@cache
def by_one_thread() -> Seen:
    """The answer without threads."""
    with transpile.threads(1):
        return seen(0)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.long] * bool(library))
    for name, (library, _, _) in PROGRAMS.items()
])
def test_called_from(name: str, tmp_path: Path) -> None:
    library, expected, body = PROGRAMS[name]
    if not is_installed(library):
        pytest.skip(f"{library} is not installed")
    program, path = tmp_path / "program.py", [str(ROOT), str(SUPPORT)]
    body = textwrap.indent(textwrap.dedent(body), "    ")
    program.write_text(PROGRAM.format(path=path, library=library or "os", body=body))
    words = [sys.executable, "-W", "error", str(program)]
    done = subprocess.run(
        words, env=with_bytecode(os.environ), capture_output=True, text=True, timeout=120,
        check=False, stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    found = [Seen(*words) for words in json.loads(done.stdout)]
    assert {s.digest for s in found} == {by_one_thread().digest}
    assert all(s.workers < s.limit <= cpu_limit().limit for s in found)
    if cpu_limit().limit == 1:
        return
    if expected == USED:
        assert any(s.parallel for s in found)
    if expected == ALONE:
        assert {(s.parallel, s.workers, s.limit) for s in found} == {(0, 0, 1)}
