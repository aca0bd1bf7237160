"""CPUs that this process may use: quotas of control groups in made-up trees, and variables."""
from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import transpile
from targets.build import cpu_limit as module
from targets.build.cpu_limit import CpuLimit, cpu_limit, cpu_quota

V2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "33 24 0:29 {origin} /sys/fs/cgroup/cpu rw shared:7 - cgroup cgroup rw,cpu,cpuacct\n"


def tree(
    root: Path, cgroup: str, mounts: str, files: dict[str, str]
) -> Path:
    """A file system with that text of ``/proc/self/cgroup``, those mount points and files."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    (root / "proc/self/mountinfo").write_text("24 1 0:5 / /proc rw - proc proc rw\n" + mounts)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("path", "files", "quota"),
    [
        ("/", {"cpu.max": "150000 100000\n"}, 1.5),
        ("/", {"cpu.max": "max 100000\n"}, None),
        ("/", {"cgroup.procs": ""}, None),
        ("/a/b", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "50000 100000\n"}, 0.5),
        ("/a/b", {"a/b/cpu.max": "200000 100000\n", "cpu.max": "400000 100000\n"}, 2.0),
        ("/../../other", {"cpu.max": "300000 100000\n"}, 3.0),
        ("/gone", {"cpu.max": "300000 100000\n"}, 3.0),
        ("/", {"cpu.max": "nonsense\n"}, None),
    ],
)
def test_quota_of_version_2(
    path: str, files: dict[str, str], quota: float | None, tmp_path: Path
) -> None:
    assert cpu_quota(str(tree(tmp_path, f"0::{path}\n", V2, files))) == quota


@pytest.mark.parametrize(
    ("origin", "path", "files", "quota"),
    [
        ("/", "/", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("/", "/x", {"cpu/x/cpu.cfs_quota_us": "25000", "cpu/x/cpu.cfs_period_us": "50000"}, 0.5),
        ("/docker/1", "/docker/1",
         {"cpu/cpu.cfs_quota_us": "250000", "cpu/cpu.cfs_period_us": "100000"}, 2.5),
        ("/", "/x", {"cpu/x/cpu.cfs_quota_us": "25000", "cpu/x/cpu.cfs_period_us": "0"}, None),
    ],
)
def test_quota_of_version_1(
    origin: str, path: str, files: dict[str, str], quota: float | None, tmp_path: Path
) -> None:
    cgroup = f"5:memory:/elsewhere\n2:cpu,cpuacct:{path}\n0::/\n"
    assert cpu_quota(str(tree(tmp_path, cgroup, V1.format(origin=origin), files))) == quota


def test_an_alarm_is_not_taken_for_a_missing_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TimeoutError is an OSError, and comes where a folder is looked for."""
    def ring(*args: Any) -> None:
        raise TimeoutError("time is up")

    def takes_long(path: str) -> bool:
        signal.raise_signal(signal.SIGUSR1)
        return True

    root = str(tree(tmp_path, "0::/a\n", V2, {"a/cpu.max": "150000 100000\n"}))
    monkeypatch.setattr(module, "is_folder", takes_long)
    before = signal.signal(signal.SIGUSR1, ring)
    try:
        with pytest.raises(TimeoutError, match="time is up"):
            cpu_quota(root)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_without_control_groups(tmp_path: Path) -> None:
    assert cpu_quota(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("affinity", "quota", "env", "limit"),
    [
        (16, None, None, 16), (16, 4.0, None, 4), (16, 2.5, None, 3), (16, 0.5, None, 1),
        (2, 4.0, None, 2), (16, 4.0, 3, 3), (16, 2.0, 64, 2),
    ],
)
def test_the_smallest_bound_counts(
    affinity: int, quota: float | None, env: int | None, limit: int
) -> None:
    found = CpuLimit(cpus=16, affinity=affinity, quota=quota, env=env)
    assert found.limit == limit
    assert found.is_throttled == (quota is not None and quota < affinity)


@pytest.mark.parametrize(("text", "limit"), [("50000 100000", 1), ("250000 100000", 3)])
def test_half_a_cpu_and_two_and_a_half(
    text: str, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of eight: a thread for each that is begun; and none that spins."""
    root = tree(tmp_path, "0::/\n", V2, {"cpu.max": text})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(module, "cpu_quota", lambda: cpu_quota(str(root)))
    found = cpu_limit({})
    assert (found.limit, found.is_throttled) == (limit, True)


@pytest.mark.parametrize(
    ("environ", "env"),
    [
        ({}, None), ({"TRANSPILE_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "5"}, 5),
        ({"TRANSPILE_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3), ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"OMP_NUM_THREADS": "0"}, None), ({"OMP_NUM_THREADS": "many"}, None),
        ({"TRANSPILE_THREADS": "", "OMP_NUM_THREADS": "2"}, 2),
    ],
)
def test_variables(environ: dict[str, str], env: int | None) -> None:
    assert cpu_limit(environ).env == env


def test_affinity_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    monkeypatch.setattr(module, "cpu_quota", lambda: None)
    assert cpu_limit({}).limit == 3
    monkeypatch.setattr(os, "process_cpu_count", lambda: 2, raising=False)
    assert cpu_limit({}).limit == 2


def test_contexts_seldom_read_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """`transpile.threads(n)` may be entered at each call; without a number it tells what holds now.
    """
    found = [1.5, 2.5, 3.5, 4.5]
    monkeypatch.setattr(module, "cpu_quota", lambda: found.pop(0))
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    module._quota_read.clear()
    try:
        quotas = []
        for _ in range(3):
            with transpile.threads(1) as threads:
                quotas.append(threads.quota)
        assert quotas == [1.5] * 3
        assert transpile.threads().quota == 2.5
        with transpile.threads(1) as threads:
            assert threads.quota == 2.5
        now[0] += 2 * module.QUOTA_HOLDS
        with transpile.threads(1) as threads:
            assert threads.quota == 3.5
    finally:
        module._quota_read.clear()
