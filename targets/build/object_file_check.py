"""Object file check: whether a shared object is complete, from its header and tables.

A compiler may report success although the disk was full or it was killed; the dynamic loader reads
beyond the end of such a file, or crashes. The check reads the header of an ELF, Mach-O or PE file,
and tests that all segments and sections, and ELF's dynamic table, are inside the file.
`object_cache.publish` asks for it before a compiled object enters the cache. When the object is
loaded from there later, `object_cache.opened_file` compares its digest.
"""
from __future__ import annotations

import struct
import sys

from loopir.process.signal_exceptions import failures

__all__ = ["fault_of_object"]

# The constants and structs of <elf.h>, for 64-bit little-endian files.
_ET_DYN, _PT_LOAD, _PT_DYNAMIC, _SHT_NOBITS = 3, 1, 2, 8
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # Elf64_Ehdr
_SEGMENT = struct.Struct("<IIQQQQQQ")  # Elf64_Phdr: type, flags, offset, 2 addresses, size, …
_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr: name, type, flags, address, offset, size, …
_DYNAMIC = struct.Struct("<qQ")  # Elf64_Dyn: tag, value
_LITTLE_64 = b"\x7fELF\x02\x01\x01"
# Those of <mach-o/loader.h>, for 64-bit little-endian files: mach_header_64, segment_command_64.
_MACH_O = b"\xcf\xfa\xed\xfe"
_MACH_HEADER, _COMMAND, _MACH_SEGMENT = struct.Struct("<8I"), struct.Struct("<II"), 0x19
_MACH_EXTENT = struct.Struct("<QQ")  # offset and size in the file, at byte 40 of a segment
# Those of <winnt.h>: a DOS header with the place of the PE header, IMAGE_FILE_HEADER.
_PE_PLACE, _PE_HEADER, _PE_SECTION = 0x3C, struct.Struct("<4sHHIIIHH"), 40
_PE_EXTENT = struct.Struct("<II")  # size and offset in the file, at byte 16 of a section


def fault_of_object(data: bytes, system: str = sys.platform) -> str | None:
    """What is wrong with the shared object `data`, in words; None if nothing is. `object_cache`
    asks before it publishes the file that a compiler has written.

        the first half of an object    →    "a segment reaches beyond its end"
        an empty file                  →    "it is no ELF file of this machine"

    Of a 64-bit little-endian file it looks at the header, and whether all segments, sections and
    the dynamic table are inside the file. On systems with other objects it looks at the first bytes
    only. ``system``: that whose object it is, as `sys.platform` names it.
    """
    try:
        if system == "darwin":
            return _fault_of_mach_o(data)
        if system == "win32":
            return _fault_of_pe(data)
        if sys.byteorder != "little" or struct.calcsize("P") != 8:
            return None if data.startswith(b"\x7fELF") else "it is no ELF file"
        if not data.startswith(_LITTLE_64):
            return "it is no ELF file of this machine"
        return _fault_of_elf(data)
    except failures(struct.error):
        return "it ends inside a table"


def _fault_of_mach_o(data: bytes) -> str | None:
    """As `fault_of_object`, of a Mach-O file. Raises struct.error as `_fault_of_elf` does."""
    if not data.startswith(_MACH_O):
        return "it is no Mach-O file"
    commands, at = _MACH_HEADER.unpack_from(data)[4], _MACH_HEADER.size
    for _ in range(commands):
        kind, size = _COMMAND.unpack_from(data, at)
        if kind == _MACH_SEGMENT and sum(_MACH_EXTENT.unpack_from(data, at + 40)) > len(data):
            return "a segment reaches beyond its end"
        at += size
    return None


def _fault_of_pe(data: bytes) -> str | None:
    """As `fault_of_object`, of a DLL. Raises struct.error as `_fault_of_elf` does."""
    if not data.startswith(b"MZ"):
        return "it is no DLL"
    (at,) = struct.unpack_from("<I", data, _PE_PLACE)
    mark, _, sections, _, _, _, optional, _ = _PE_HEADER.unpack_from(data, at)
    if mark != b"PE\0\0":
        return "it is no DLL"
    table = at + _PE_HEADER.size + optional
    for k in range(sections):
        if sum(_PE_EXTENT.unpack_from(data, table + k * _PE_SECTION + 16)) > len(data):
            return "a section reaches beyond its end"
    return None


def _fault_of_elf(data: bytes) -> str | None:
    """As `fault_of_object`, of a 64-bit little-endian ELF file. Raises struct.error where a table
    is not inside the file.
    """
    (_, kind, _, _, _, segments_at, sections_at, _, _,
     segment_bytes, segments, section_bytes, sections, _) = _HEADER.unpack_from(data)
    if kind != _ET_DYN or not segments:
        return "it is no shared object"
    if segment_bytes != _SEGMENT.size or (sections and section_bytes != _SECTION.size):
        return "its tables have rows of another size"
    loaded = dynamic = False
    for k in range(segments):
        row = _SEGMENT.unpack_from(data, segments_at + k * segment_bytes)
        kind, start, size = row[0], row[2], row[5]
        if start + size > len(data):
            return "a segment reaches beyond its end"
        loaded |= kind == _PT_LOAD
        if kind == _PT_DYNAMIC:
            dynamic = _DYNAMIC.unpack_from(data, start)[0] != 0
    for k in range(sections):
        row = _SECTION.unpack_from(data, sections_at + k * section_bytes)
        kind, start, size = row[1], row[4], row[5]
        if kind != _SHT_NOBITS and start + size > len(data):
            return "a section reaches beyond its end"
    return None if loaded and dynamic else "it has no segments to load"
