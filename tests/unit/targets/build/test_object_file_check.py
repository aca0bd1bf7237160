"""Shared objects of other systems that are complete, cut, or none; those of ELF are in
`test_object_cache.py`."""
from __future__ import annotations

import struct

import pytest

from targets.build.object_file_check import fault_of_object


def dll() -> bytes:
    """A DLL with two sections of 64 bytes, without what the check does not read."""
    header = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40)
    header += struct.pack("<4sHHIIIHH", b"PE\0\0", 0x8664, 2, 0, 0, 0, 16, 0) + bytes(16)
    start = len(header) + 2 * 40
    sections = [
        struct.pack("<8sIIII16x", b".text", 64, 0x1000, 64, start + 64 * k) for k in range(2)
    ]
    return header + b"".join(sections) + bytes(128)


def mach_o() -> bytes:
    """A Mach-O file with one other command and two segments of 64 bytes."""
    start = 32 + 16 + 2 * 72
    commands = struct.pack("<II8x", 0x1B, 16)
    for k in range(2):
        commands += struct.pack("<II16sQQQQ16x", 0x19, 72, b"__TEXT", 0, 64, start + 64 * k, 64)
    header = struct.pack("<8I", 0xFEEDFACF, 0, 0, 6, 3, len(commands), 0, 0)
    return header + commands + bytes(128)


@pytest.mark.parametrize(("system", "data"), [("win32", dll()), ("darwin", mach_o())])
def test_a_complete_object_has_no_fault_and_a_cut_one_has(system: str, data: bytes) -> None:
    assert fault_of_object(data, system) is None
    assert all(fault_of_object(data[:size], system) for size in range(len(data)))


@pytest.mark.parametrize(
    ("system", "fault"),
    [("win32", "it is no DLL"), ("darwin", "it is no Mach-O file"), ("linux", "it is no ELF file")],
)
def test_objects_of_another_system_are_none(system: str, fault: str) -> None:
    other = mach_o() if system == "win32" else dll()
    assert str(fault_of_object(other, system)).startswith(fault)
