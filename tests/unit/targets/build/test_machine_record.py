"""Machine records: descriptions of several machines as their systems give them, and settings."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from targets.build import machine_record as module
from targets.build.machine_record import (
    MachineRecord,
    described_in_linux,
    described_in_sysctl,
    fitted,
    machine_record,
    size_in_words,
    sizes_for,
    sizes_in,
)
from targets.isa.target_registry import TARGETS, best_target, runnable_targets
from transpile import fuse

K, M = 1 << 10, 1 << 20
TYPICAL = (32 * K, 512 * K, 16 * M)

INTEL_SERVER = """
model name : Intel(R) Xeon(R) Platinum 8488C
1 Data 48K 12 0-1
1 Instruction 32K 8 0-1
2 Unified 2048K 16 0-1
3 Unified 107520K 15 0-1
"""
INTEL_CLIENT = """
model name : 12th Gen Intel(R) Core(TM) i7-12700
1 Data 48K 12 0-1
1 Instruction 32K 8 0-1
2 Unified 1280K 10 0-1
3 Unified 25600K 10 0-19
"""
AMD_SERVER = """
model name : AMD EPYC 7763 64-Core Processor
1 Data 32K 8 0,64
1 Instruction 32K 8 0,64
2 Unified 512K 8 0,64
3 Unified 32768K 16 0-7,64-71
"""
NEOVERSE = """
CPU implementer : 0x41
CPU part : 0xd0c
1 Data 64K 4 0
1 Instruction 64K 4 0
2 Unified 1024K 8 0
3 Unified 32768K 16 0-63
"""
RASPBERRY_PI = """
CPU implementer : 0x41
CPU part : 0xd08
1 Data 32K 2 0
1 Instruction 48K 3 0
2 Unified 1024K 16 0-3
"""
WITHOUT_SIZES = """
CPU implementer : 0xc0
CPU part : 0xac3
1 Data - - 0
1 Instruction - - 0
2 Unified - - 0
"""
APPLE = """
hw.cachelinesize: 128
hw.l1dcachesize: 65536
hw.l2cachesize: 4194304
hw.perflevel0.l1dcachesize: 131072
hw.perflevel0.l2cachesize: 12582912
hw.perflevel0.cpusperl2: 4
hw.perflevel1.l2cachesize: 4194304
machdep.cpu.brand_string: Apple M1
"""
INTEL_MAC = """
hw.l1dcachesize: 32768
hw.l2cachesize: 262144
hw.l3cachesize: 12582912
machdep.cpu.brand_string: Intel(R) Core(TM) i7-8700B CPU @ 3.20GHz
"""


def tree(root: Path, machine: str) -> str:
    """A file system with what a Linux system says: lines of ``/proc/cpuinfo``, and of each cache
    the level, type, size, ways and the CPUs that share it.
    """
    lines = machine.strip().splitlines()
    caches = [line for line in lines if ":" not in line]
    (root / "proc").mkdir(parents=True)
    first = "\n".join(["processor : 0", *(line for line in lines if ":" in line)])
    (root / "proc/cpuinfo").write_text(f"{first}\n\nprocessor : 1\nmodel name : another\n")
    for k, line in enumerate(caches):
        folder = root / f"sys/devices/system/cpu/cpu0/cache/index{k}"
        folder.mkdir(parents=True)
        names = "level", "type", "size", "ways_of_associativity", "shared_cpu_list"
        for name, word in zip(names, line.split(), strict=True):
            if word != "-":
                (folder / name).write_text(f"{word}\n")
    return str(root)


def unknown(number: int) -> int:
    raise ValueError(number)


@pytest.mark.parametrize(
    ("machine", "cpu", "levels", "sizes"),
    [
        (INTEL_SERVER, "Intel(R) Xeon(R) Platinum 8488C",
         ["48 KiB, 12 ways", "2 MiB, 16 ways", "105 MiB, 15 ways"], (32 * K, 2 * M, 32 * M)),
        (INTEL_CLIENT, "12th Gen Intel(R) Core(TM) i7-12700",
         ["48 KiB, 12 ways", "1.25 MiB, 10 ways", "25 MiB, 10 ways, shared by 10 cores"],
         (32 * K, 1 * M, 16 * M)),
        (AMD_SERVER, "AMD EPYC 7763 64-Core Processor",
         ["32 KiB, 8 ways", "512 KiB, 8 ways", "32 MiB, 16 ways, shared by 8 cores"],
         (32 * K, 512 * K, 32 * M)),
        (NEOVERSE, "Neoverse N1",
         ["64 KiB, 4 ways", "1 MiB, 8 ways", "32 MiB, 16 ways, shared by 64 cores"],
         (64 * K, 1 * M, 32 * M)),
        (RASPBERRY_PI, "Cortex-A72", ["32 KiB, 2 ways", "1 MiB, 16 ways, shared by 4 cores"],
         (32 * K, 256 * K, 1 * M)),
        (WITHOUT_SIZES, "implementer 0xc0, part 0xac3", [], TYPICAL),
    ],
)
def test_machines_with_linux(
    machine: str, cpu: str, levels: list[str], sizes: tuple[int, int, int], tmp_path: Path
) -> None:
    found = described_in_linux(tree(tmp_path, machine), unknown)
    assert (found.cpu, [*map(str, found.caches)]) == (cpu, levels)
    assert found.source == ("sysfs" if levels else "")
    assert sizes_for(found, TYPICAL) == sizes


@pytest.mark.parametrize(
    ("text", "cpu", "levels", "sizes"),
    [
        (APPLE, "Apple M1", ["128 KiB", "12 MiB, shared by 4 cores"], (128 * K, 2 * M, 8 * M)),
        (INTEL_MAC, "Intel(R) Core(TM) i7-8700B CPU @ 3.20GHz", ["32 KiB", "256 KiB", "12 MiB"],
         (32 * K, 256 * K, 8 * M)),
        ("", "", [], TYPICAL),
        ("hw.l1dcachesize: many\nhw.l2cachesize", "", [], TYPICAL),
    ],
)
def test_machines_with_macos(
    text: str, cpu: str, levels: list[str], sizes: tuple[int, int, int]
) -> None:
    found = described_in_sysctl(text)
    assert (found.cpu, [*map(str, found.caches)]) == (cpu, levels)
    assert sizes_for(found, TYPICAL) == sizes


def test_the_c_library_where_sysfs_is_hidden(tmp_path: Path) -> None:
    said = {188: 48 * K, 189: 12, 191: 2 * M, 192: 16, 194: 0}
    found = described_in_linux(str(tmp_path), said.__getitem__)
    assert (found.cpu, found.source) == ("", "sysconf")
    assert [*map(str, found.caches)] == ["48 KiB, 12 ways", "2 MiB, 16 ways"]


@pytest.mark.parametrize(
    "damaged",
    ["level nonsense", "size 32X", "size 1", "size 99999999999999K", "shared_cpu_list x-y",
     "ways_of_associativity ?", "type "],
)
def test_what_a_system_says_may_be_wrong(damaged: str, tmp_path: Path) -> None:
    root = tree(tmp_path, AMD_SERVER)
    name, _, text = damaged.partition(" ")
    for path in tmp_path.rglob(name):
        path.write_text(text)
    assert len(sizes_for(described_in_linux(root, unknown), TYPICAL)) == 3


def test_nothing_is_known(tmp_path: Path) -> None:
    found = described_in_linux(str(tmp_path / "missing"), unknown)
    assert found == MachineRecord(cpu="", caches=(), source="")
    assert sizes_for(found, TYPICAL) == TYPICAL


def test_this_machine() -> None:
    """Some size of each level is found on the machines that run the tests, or none."""
    sizes = sizes_for(machine_record(), TYPICAL)
    assert all(size & (size - 1) == 0 for size in sizes)
    assert 8 * K <= sizes[0] <= sizes[1] <= sizes[2]


@pytest.mark.parametrize(
    ("setting", "sizes"),
    [
        ("48K,2M,32M", (48 * K, 2 * M, 32 * M)),
        (" 32768 , 1M, 1G", (32 * K, M, 1 << 30)),
        ("typical", None),
    ],
)
def test_settings(setting: str, sizes: tuple[int, int, int] | None) -> None:
    assert sizes_in(setting) == sizes


@pytest.mark.parametrize(
    "setting",
    ["", "32K", "32K,1M,8M,8M", "1M,32K,8M", "0,0,0", "32k,1M,8M", "32K,65M,1G", "-1,1,1"],
)
def test_settings_that_are_wrong(setting: str) -> None:
    with pytest.raises(ValueError, match="three caches such as 48K,2M,32M"):
        sizes_in(setting)


def test_only_targets_of_this_machine_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_MACHINE", "64K,2M,8M")
    target = fitted(best_target())
    assert target.caches == target.model.caches == (64 * K, 2 * M, 8 * M)
    other = next(t for t in TARGETS.values() if t not in runnable_targets())
    assert fitted(other) is other
    monkeypatch.setenv("TRANSPILE_MACHINE", "typical")
    assert fitted(best_target()) is best_target()
    monkeypatch.delenv("TRANSPILE_MACHINE")
    monkeypatch.setattr(module, "machine_record", lambda: described_in_sysctl(APPLE))
    module._fitted.cache_clear()
    try:
        assert fitted(best_target()).caches == (128 * K, 2 * M, 8 * M)
    finally:
        module._fitted.cache_clear()


def test_sizes_in_words() -> None:
    sizes = 48 * K, 1280 * K, 32 * M
    assert [size_in_words(n) for n in sizes] == ["48 KiB", "1.25 MiB", "32 MiB"]


def products(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def distances(a, b, c):
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            s = 0.0
            for k in range(a.shape[1]):
                s += (a[i, k] - b[j, k]) ** 2
            c[i, j] = s


def stencil(a, b, c):
    for i in range(a.shape[0] - 1):
        for j in range(a.shape[1]):
            t = a[i, j] * a[i + 1, j]
            c[i, j] = (t * t + t) * t


def histogram(a, b, c):
    for i in range(len(a)):
        k = int(b[i, 0] * 100.0)
        c[k, 0] = c[k, 0] * 0.5 + np.exp(a[i, 0])


def doubled(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = a[i, j] * 2.0


@pytest.mark.parametrize("function", [products, distances, stencil, histogram, doubled])
def test_bits_do_not_depend_on_the_sizes(function, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((150, 150)), rng.random((150, 150))
    results, texts = set(), set()
    for sizes in ("typical", "1K,2K,8K", "32K,256K,1M", "128K,4M,1G"):
        monkeypatch.setenv("TRANSPILE_MACHINE", sizes)
        fused, c = fuse(on_reject="raise", cache=False)(function), np.zeros((150, 150))
        fused(a, b, c)
        results.add(c.tobytes())
        texts.add(fused.emit("c", a, b, c))
    assert len(results) == 1
    assert len(texts) > 1
