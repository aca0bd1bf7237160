"""Object file check: whether a shared object is complete, from its ELF header and tables.

A compiler may report success although the disk was full or it was killed; the dynamic loader reads
beyond the end of such a file, or crashes. The check reads the header, and tests that all segments,
sections and the dynamic table are inside the file. `object_cache.publish` asks for it before a
compiled object enters the cache. When the object is loaded from there later,
`object_cache.opened_file` compares its digest.
"""
from __future__ import annotations

import struct
import sys

__all__ = ["fault_of_object"]

# The constants and structs of <elf.h>, for 64-bit little-endian files.
_ET_DYN, _PT_LOAD, _PT_DYNAMIC, _SHT_NOBITS = 3, 1, 2, 8
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # Elf64_Ehdr
_SEGMENT = struct.Struct("<IIQQQQQQ")  # Elf64_Phdr: type, flags, offset, 2 addresses, size, …
_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr: name, type, flags, address, offset, size, …
_DYNAMIC = struct.Struct("<qQ")  # Elf64_Dyn: tag, value
_LITTLE_64 = b"\x7fELF\x02\x01\x01"
_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


def fault_of_object(data: bytes) -> str | None:
    """What is wrong with the shared object `data`, in words; None if nothing is. `object_cache`
    asks before it publishes the file that a compiler has written.

        the first half of an object    →    "a segment reaches beyond its end"
        an empty file                  →    "it is no ELF file of this machine"

    Of a 64-bit little-endian ELF file it looks at the header, and whether all segments, sections
    and the dynamic table are inside the file (`_fault_of_elf`). On systems with other objects it
    looks at the first bytes only.
    """
    if sys.platform == "darwin":
        return None if data.startswith(_MACH_O) else "it is no Mach-O file"
    if sys.byteorder != "little" or struct.calcsize("P") != 8:
        return None if data.startswith(b"\x7fELF") else "it is no ELF file"
    if not data.startswith(_LITTLE_64):
        return "it is no ELF file of this machine"
    try:
        return _fault_of_elf(data)
    except struct.error:
        return "it ends inside a table"


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
