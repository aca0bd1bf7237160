"""Machine record: the caches of this machine, as its system describes them.

`fitted` gives a target these sizes, by which passes choose strips, blocks and thresholds. They are
looked up, never measured, so that a machine makes the same code each time (`machine_probe` has what
is only shown). Answers never depend on them: the bits are the same on every machine.
"""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache

from loopir.lazy_dataclass import record, replace
from loopir.process.signal_exceptions import suppress_failures

from ..isa.target_registry import Target, runnable_targets

__all__ = [
    "CacheLevel", "MachineRecord", "described_in_linux", "described_in_sysctl", "fitted",
    "machine_record", "size_in_words", "sizes_for", "sizes_in",
]

TYPICAL = "typical"
"""The word of ``TRANSPILE_MACHINE`` for what a target takes its caches to be (`Target.caches`)."""

MOST_BYTES = (128 << 10, 4 << 20, 32 << 20)
"""The most bytes of L1, L2 and L3 that one core can count on: a larger last level is shared with
many others, also with those of other virtual machines. Buffers are an eighth of L1 or L2."""


@record(frozen=True, slots=True, kw_only=True)
class CacheLevel:
    """A data cache, or one for data and instructions."""

    level: int
    bytes: int
    ways: int | None  # its associativity; None: not known
    cores: int  # that share it, as far as this system shows them

    def __str__(self) -> str:
        ways = f", {self.ways} ways" if self.ways else ""
        sharing = f", shared by {self.cores} cores" if self.cores > 1 else ""
        return f"{size_in_words(self.bytes)}{ways}{sharing}"


@record(frozen=True, slots=True, kw_only=True)
class MachineRecord:
    """What the system says of the machine; of several kinds of cores, of its first CPU."""

    cpu: str  # the name of the CPU; empty: not known
    caches: tuple[CacheLevel, ...]  # from the first level on; empty: not known
    source: str  # where the caches were found; empty: nowhere


@cache
def machine_record() -> MachineRecord:
    """The record of this machine, looked up once a process, in less than a millisecond."""
    if sys.platform == "darwin":
        return described_in_sysctl(_output_of("/usr/sbin/sysctl", "hw", "machdep.cpu"))
    return described_in_linux()


def fitted(target: Target) -> Target:
    """`target` with the cache sizes of this machine; as it is, if it is one of other machines, or
    ``TRANSPILE_MACHINE`` is "typical". Raises ValueError if that variable has no sizes.
    """
    return _fitted(target, os.environ.get("TRANSPILE_MACHINE", ""))


@cache
def _fitted(target: Target, setting: str) -> Target:
    """See `fitted`; ``setting``: the text of ``TRANSPILE_MACHINE``."""
    if target not in runnable_targets():
        return target
    given = sizes_in(setting) if setting else sizes_for(machine_record(), target.caches)
    return replace(target, caches=given) if given else target


def size_in_words(size: int) -> str:
    """A number of bytes in KiB, or in MiB from one on."""
    return f"{size / (1 << 20):g} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def sizes_in(setting: str) -> tuple[int, int, int] | None:
    """The bytes of L1, L2 and L3 in a text such as ``48K,2M,32M``; None for "typical". Raises
    ValueError.
    """
    if setting == TYPICAL:
        return None
    sizes = [_bytes_of(word) for word in setting.split(",")]
    if len(sizes) != 3 or not 1024 <= sizes[0] <= sizes[1] <= min(sizes[2], _MOST_SET):
        raise ValueError(
            f"want {TYPICAL}, or the sizes of three caches such as 48K,2M,32M, the smallest first"
        )
    return sizes[0], sizes[1], sizes[2]


_MOST_SET = 64 << 20
"""The most bytes of L2 that may be set: threads have buffers of an eighth of it."""


def _bytes_of(word: str) -> int:
    """The bytes of a size such as ``48K``; 0 if it is none."""
    found = re.fullmatch(r"(\d{1,9})([KMG]?)", word.strip())
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]] if found else 0


def sizes_for(machine: MachineRecord, typical: tuple[int, int, int]) -> tuple[int, int, int]:
    """The bytes of L1, L2 and L3 for which code is made on `machine`: what one core can count on,
    in powers of two, so that machines of one kind share kernels::

        48 KiB, 1.25 MiB, 54 MiB shared by 36 cores    (32 KiB, 1 MiB, 32 MiB)
        128 KiB, 12 MiB shared by 4 cores              (128 KiB, 2 MiB, 8 MiB)     no third level

    L2 is a core's share of it. Where there is no third level, the second one is also the last.
    All are ``typical`` without L1 or L2, as where the firmware lists no caches, or where one is
    impossibly small.
    """
    known = {c.level: c for c in machine.caches}
    if 1 not in known or 2 not in known:
        return typical
    found = known[1].bytes, known[2].bytes // known[2].cores, known[max(known)].bytes
    if min(found) < 1024:
        return typical
    bounded = map(min, found, MOST_BYTES)
    first, second, last = (1 << (size.bit_length() - 1) for size in bounded)
    return first, max(first, second), max(first, second, last)


# -- what systems say


def described_in_linux(
    root: str = "/", sysconf: Callable[[int], int] | None = None
) -> MachineRecord:
    """The record of a Linux system: from sysfs; where that has no caches, as in some containers,
    from glibc's ``sysconf``, which asks the CPU itself on x86. ``root``: the folder that has
    ``proc`` and ``sys``; ``sysconf``: another one than that of `os`.
    """
    caches, source = tuple(_caches_in_sysfs(f"{root}/sys/devices/system/cpu/cpu0/cache")), "sysfs"
    if not caches:
        caches, source = tuple(_caches_in_sysconf(sysconf or _sysconf)), "sysconf"
    return MachineRecord(
        cpu=_cpu_name(_text(f"{root}/proc/cpuinfo")), caches=caches, source=source if caches else ""
    )


def _caches_in_sysfs(folder: str) -> Iterator[CacheLevel]:
    """The caches that the kernel lists in `folder`, of data or of both."""
    threads = 1  # that share the first level: those of one core
    for k in range(8):
        level = _text(f"{folder}/index{k}/level")
        if not level.isdecimal():
            return
        size = _bytes_of(_text(f"{folder}/index{k}/size"))
        if not size or _text(f"{folder}/index{k}/type") == "Instruction":
            continue
        sharing = _count_of_list(_text(f"{folder}/index{k}/shared_cpu_list"))
        threads = sharing if level == "1" else threads
        ways = _text(f"{folder}/index{k}/ways_of_associativity")
        yield CacheLevel(
            level=int(level), bytes=size, cores=max(sharing // threads, 1),
            ways=int(ways) or None if ways.isdecimal() else None,
        )


def _count_of_list(text: str) -> int:
    """How many CPUs a list such as ``0-3,8`` names, at least 1."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", text)
    return max(sum(int(last or first) - int(first) + 1 for first, last in ranges), 1)


_sysconf: Callable[[int], int] = getattr(os, "sysconf", lambda number: 0)

_SYSCONF = {1: 188, 2: 191, 3: 194}
"""glibc's numbers of the size of each level; the next one is that of its ways."""


def _caches_in_sysconf(sysconf: Callable[[int], int]) -> Iterator[CacheLevel]:
    """The caches of which ``sysconf`` knows the size."""
    with suppress_failures(OSError, ValueError):  # another C library
        for level, number in _SYSCONF.items():
            if (size := sysconf(number)) > 0:
                yield CacheLevel(
                    level=level, bytes=size, ways=max(sysconf(number + 1), 0) or None, cores=1
                )


_ARM_CORES = {
    ("0x41", "0xd0c"): "Neoverse N1", ("0x41", "0xd40"): "Neoverse V1",
    ("0x41", "0xd49"): "Neoverse N2", ("0x41", "0xd4f"): "Neoverse V2",
    ("0x41", "0xd08"): "Cortex-A72", ("0x41", "0xd0b"): "Cortex-A76",
}
"""The names of Arm's cores by implementer and part, which are all that Linux says of them."""


def _cpu_name(cpuinfo: str) -> str:
    """The name of the first CPU in a text of ``/proc/cpuinfo``; empty if there is none."""
    lines = (line.partition(":") for line in cpuinfo.partition("\n\n")[0].splitlines())
    said = {key.strip(): value.strip() for key, _, value in lines}
    if name := said.get("model name"):
        return name
    part = said.get("CPU implementer", ""), said.get("CPU part", "")
    return _ARM_CORES.get(part, f"implementer {part[0]}, part {part[1]}" if all(part) else "")


def described_in_sysctl(text: str) -> MachineRecord:
    """The record of a macOS system, from what ``sysctl`` prints; of two kinds of cores, the fast
    ones (``perflevel0``).
    """
    lines = (line.partition(":") for line in text.splitlines())
    said = {key.strip(): value.strip() for key, _, value in lines}

    def number(name: str) -> int:
        value = said.get(f"hw.perflevel0.{name}") or said.get(f"hw.{name}", "")
        return int(value) if value.isdecimal() else 0

    sizes = {1: number("l1dcachesize"), 2: number("l2cachesize"), 3: number("l3cachesize")}
    caches = tuple(
        CacheLevel(
            level=level, bytes=size, ways=None,
            cores=max(number("cpusperl2"), 1) if level == 2 else 1,
        )
        for level, size in sizes.items() if size
    )
    return MachineRecord(
        cpu=said.get("machdep.cpu.brand_string", ""), caches=caches,
        source="sysctl" if caches else "",
    )


def _output_of(*words: str) -> str:
    """What a command prints; empty if there is no such command, or it fails."""
    import subprocess

    with suppress_failures(OSError, subprocess.SubprocessError):
        return subprocess.run(
            words, capture_output=True, encoding="utf-8", errors="replace", timeout=5, check=False
        ).stdout
    return ""


def _text(path: str) -> str:
    """The first 4096 bytes of a file, without spaces around them, which has all of the first of
    many CPUs; empty if it cannot be read.
    """
    with suppress_failures(OSError):
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            return os.read(handle, 4096).decode("utf-8", "replace").strip()
        finally:
            os.close(handle)
    return ""
