"""What a compiler says of the state of the system is told from what it says of the program."""
from __future__ import annotations

from targets.build.build_errors import tells_of_fault

OF_THE_SYSTEM = """
cc1: out of memory allocating 65536 bytes after a total of 1 bytes
cc: fatal error: Killed signal terminated program cc1
gcc: internal compiler error: File size limit exceeded signal terminated program as
collect2: fatal error: ld terminated with signal 9 [Killed]
collect2: fatal error: ld terminated with signal 25 [File size limit exceeded]
clang: error: unable to execute command: Killed
clang: error: unable to execute command: Terminated (core dumped)
cc: error while loading shared libraries: libc.so.6: cannot open shared object file: Error 24
/usr/bin/ld: final link failed: No space left on device
as: can't write 12 bytes to section .text of x.o: 'File too large'
sh: 1: Cannot fork: Resource temporarily unavailable
"""

OF_THE_PROGRAM = """
cc: internal compiler error: Segmentation fault signal terminated program cc1
collect2: fatal error: ld terminated with signal 11 [Segmentation fault]
clang: error: unable to execute command: Segmentation fault (core dumped)
source.c:3:1: error: 'Killed' undeclared (first use in this function)
source.c:3:1: Error 240
cc: error: unrecognized command-line option '-mno-such'
"""


def test_each_line() -> None:
    assert [s for s in OF_THE_SYSTEM.strip().splitlines() if not tells_of_fault(s + "\n")] == []
    assert [s for s in OF_THE_PROGRAM.strip().splitlines() if tells_of_fault(s + "\n")] == []


def test_the_line_need_not_be_the_first() -> None:
    assert tells_of_fault(f"{OF_THE_PROGRAM}/lib/x.so: cannot open: Error 24\nnote: of this\n")
