"""Platform tag: on which systems a wheel with a shared object can be installed.

A wheel for ``manylinux_2_17_x86_64`` runs on each Linux with glibc 2.17 or later. This is read from
the object: which versions of the symbols of glibc it needs, and that it needs no other library.
"""
from __future__ import annotations

import re
import struct
import sysconfig
from collections.abc import Iterator

from loopir.lazy_dataclass import record

from .platforms import Platform

__all__ = ["needed_glibc", "platform_tag"]

_OLDEST = (2, 17)
"""The oldest glibc that a tag names: installers know none of older ones for all architectures."""

_GLIBC_LIBRARIES = re.compile(r"lib(c|m|pthread|dl|rt)\.so\.\d+|ld-linux.*\.so\.\d+")

# The constants and structs of <elf.h>, for 64-bit little-endian files.
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # Elf64_Ehdr
_SEGMENT = struct.Struct("<IIQQQQQQ")  # Elf64_Phdr
_DYNAMIC = struct.Struct("<qQ")  # Elf64_Dyn
_NEEDED = struct.Struct("<HHIII")  # Elf64_Verneed: version, count, file, first, next
_VERSION = struct.Struct("<IHHII")  # Elf64_Vernaux: hash, flags, other, name, next
_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_VERNEED, _DT_VERNEEDNUM = 1, 5, 0x6FFFFFFE, 0x6FFFFFFF
_MACHINES = {62: "x86_64", 183: "aarch64"}


def platform_tag(library: bytes, platform: Platform) -> str:
    """The tag of wheels that have this shared object of `platform`. On Linux ``manylinux_…`` of the
    glibc that it needs, or ``linux_…`` if it needs another C library; else that of the platform.
    """
    if platform.system != "linux":
        own = re.sub(r"[-.]", "_", sysconfig.get_platform())
        return platform.name if platform.triple else own
    machine = _MACHINES[_HEADER.unpack_from(library)[2]]
    version = needed_glibc(library)
    if version is None:
        return f"linux_{machine}"
    major, minor = max(version, _OLDEST)
    return f"manylinux_{major}_{minor}_{machine}"


def needed_glibc(library: bytes) -> tuple[int, int] | None:
    """The oldest version of glibc that has all symbols which this ELF object needs; None if it
    needs another library, such as that of musl.
    """
    tables = _Tables.of(library)
    names = [tables.string(name) for name in tables.values(_DT_NEEDED)]
    if not all(map(_GLIBC_LIBRARIES.fullmatch, names)):
        return None
    found = [(2, 0)]
    for version in tables.versions():
        match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
        if match is None:  # GLIBC_PRIVATE, or of another library
            return None
        found.append((int(match[1]), int(match[2])))
    return max(found)


@record(frozen=True, slots=True)
class _Tables:
    """The dynamic table of an ELF object, and what finds the other tables."""

    data: bytes
    loaded: tuple[tuple[int, int, int], ...]
    """Address, place in the file and size of each loaded segment."""
    rows: tuple[tuple[int, int], ...]

    @staticmethod
    def of(data: bytes) -> _Tables:
        """The tables of an object."""
        header = _HEADER.unpack_from(data)
        start, size, count = header[5], header[9], header[10]
        segments = [_SEGMENT.unpack_from(data, start + k * size) for k in range(count)]
        loaded = tuple((s[3], s[2], s[5]) for s in segments if s[0] == _PT_LOAD)
        (dynamic,) = (s for s in segments if s[0] == _PT_DYNAMIC)
        table = data[dynamic[2] : dynamic[2] + dynamic[5]]
        rows = tuple(_DYNAMIC.iter_unpack(table[: len(table) // _DYNAMIC.size * _DYNAMIC.size]))
        return _Tables(data, loaded, rows)

    def values(self, tag: int) -> list[int]:
        """The values of the rows with this tag."""
        return [value for kind, value in self.rows if kind == tag]

    def place(self, address: int) -> int:
        """Where in the file that address is loaded from."""
        return next(
            place + address - start for start, place, size in self.loaded
            if start <= address < start + size
        )

    def string(self, offset: int) -> str:
        """The string at this offset in the table of strings."""
        start = self.place(self.values(_DT_STRTAB)[0]) + offset
        return self.data[start : self.data.index(b"\0", start)].decode()

    def versions(self) -> Iterator[str]:
        """The versions of symbols that it needs of other libraries."""
        for address, count in zip(
            self.values(_DT_VERNEED), self.values(_DT_VERNEEDNUM), strict=True
        ):
            at = self.place(address)
            for _ in range(count):
                _, names, _, first, following = _NEEDED.unpack_from(self.data, at)
                inner = at + first
                for _ in range(names):
                    *_, name, next_name = _VERSION.unpack_from(self.data, inner)
                    yield self.string(name)
                    inner += next_name
                at += following
