"""CPU limit: how many CPUs this process may use: its affinity, cgroup quota, ``OMP_NUM_THREADS``.

A container has a quota of CPU time where `os.cpu_count` still counts all CPUs of the machine; more
threads than that are stopped for a part of each period.
"""
from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import suppress_failures

from ..file_kinds import is_folder

__all__ = ["QUOTA_HOLDS", "CpuLimit", "cpu_limit", "cpu_quota"]

QUOTA_HOLDS = 1.0
"""Seconds for which a quota that was read is used again, by callers that allow it
(``reads_quota=False``): reading it opens several files, and takes half a millisecond.
"""

_quota_read: list[tuple[float, float | None]] = []
"""When the quota was read last, and what it was."""


@record(frozen=True, slots=True, kw_only=True)
class CpuLimit:
    """How many CPUs this process may use."""

    cpus: int
    """CPUs of the machine."""
    affinity: int
    """Those on which this process may run."""
    quota: float | None
    """CPUs of which the cgroup may use the time, such as 1.5; None: there is no quota."""
    env: int | None
    """The number in ``TRANSPILE_THREADS``, else in ``OMP_NUM_THREADS``; None: neither is set."""

    @property
    def limit(self) -> int:
        """The most threads that a call may use, at least 1."""
        bounds = [self.affinity, self.env, math.ceil(self.quota) if self.quota else None]
        return max(1, min(bound for bound in bounds if bound is not None))

    @property
    def is_throttled(self) -> bool:
        """Whether a quota of CPU time limits the process: then the time for which a thread spins is
        taken from the others.
        """
        return self.quota is not None and self.quota < self.affinity


def cpu_limit(environ: Mapping[str, str] = os.environ, *, reads_quota: bool = True) -> CpuLimit:
    """What limits the threads of a call at this moment: the CPUs on which this process may run, the
    CPU quota of its container, and ``TRANSPILE_THREADS`` or ``OMP_NUM_THREADS``. The bound that
    follows is `CpuLimit.limit`. All of these may change while the process runs; the pool asks again
    now and then (`thread_pool.apply_limit`).

    A variable with an invalid number, or 0, counts as not set. ``reads_quota``: the quota is read
    now; if False, it may have been read up to `QUOTA_HOLDS` seconds ago.
    """
    cpus = os.cpu_count() or 1
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cpus
    usable = getattr(os, "process_cpu_count", lambda: None)()  # Python 3.13: also -X cpu_count
    return CpuLimit(
        cpus=cpus,
        affinity=min(affinity, usable or affinity),
        quota=_read_quota() if reads_quota else _recent_quota(),
        env=_number(environ, "TRANSPILE_THREADS") or _number(environ, "OMP_NUM_THREADS"),
    )


def _read_quota() -> float | None:
    """The quota, read now; `_quota_read` keeps it."""
    quota = cpu_quota()
    _quota_read[:] = [(time.monotonic(), quota)]
    return quota


def _recent_quota() -> float | None:
    """The quota that was read last; read now if that was more than `QUOTA_HOLDS` seconds ago."""
    for when, quota in _quota_read:
        if time.monotonic() < when + QUOTA_HOLDS:
            return quota
    return _read_quota()


def _number(environ: Mapping[str, str], name: str) -> int | None:
    """The number of threads in a variable: the first one of a list, as OpenMP's may be."""
    word = environ.get(name, "").partition(",")[0].strip()
    return (int(word) or None) if word.isascii() and word.isdecimal() else None


def cpu_quota(root: str = "/") -> float | None:
    """The smallest quota of this process's cgroup and of those around it, in CPUs; None: no quota.

    `root`: the folder that has ``proc`` and the mount points.
    """
    if os.name != "posix":
        return None
    quotas: list[float] = []
    with suppress_failures(OSError, ValueError):
        for line in _text(root, "proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                folders, read = _folders(root, path, "cgroup2", ""), _quota_v2
            elif "cpu" in controllers.split(","):
                folders, read = _folders(root, path, "cgroup", "cpu"), _quota_v1
            else:
                continue
            for folder in folders:
                with suppress_failures(OSError, ValueError, ZeroDivisionError):
                    if (quota := read(folder)) is not None:
                        quotas.append(quota)
    return min(quotas, default=None)


def _folders(root: str, path: str, kind: str, controller: str) -> Iterator[str]:
    """The folder of the cgroup at `path`, and those around it, in file systems of that kind."""
    for line in _text(root, "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        origin, mounted = before.split()[3:5]
        found, _, options = after.split(None, 2)
        if found != kind or (controller and controller not in options.split(",")):
            continue
        top = os.path.join(root, mounted.strip("/"))
        inside = path[len(origin) :] if origin != "/" and path.startswith(origin) else path
        parts = [part for part in inside.split("/") if part]
        if ".." in parts or not _is_visible(os.path.join(top, *parts)):
            parts = []  # outside of a container's own view
        for depth in range(len(parts), -1, -1):
            yield os.path.join(top, *parts[:depth])


def _is_visible(path: str) -> bool:
    """Whether there is a folder at `path`, and this process may look at it."""
    with suppress_failures(OSError):
        return is_folder(path)
    return False


def _quota_v2(folder: str) -> float | None:
    """The quota in ``cpu.max``: microseconds of a period, or "max"."""
    quota, period = _text(folder, "cpu.max").split()
    return None if quota == "max" else int(quota) / int(period)


def _quota_v1(folder: str) -> float | None:
    """The quota in ``cpu.cfs_quota_us``; negative: none."""
    quota = int(_text(folder, "cpu.cfs_quota_us"))
    return None if quota < 0 else quota / int(_text(folder, "cpu.cfs_period_us"))


def _text(folder: str, name: str) -> str:
    """The text of a file."""
    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
        return file.read()
