"""Effort of the C compiler: large translation units are compiled with fewer optimisations.

The time of some of GCC's passes (register allocation, liveness, induction variables) grows faster
than the size of a function, and a kernel is one function. CPU seconds of GCC 12 for AVX-512:

======================  ==========  =====  ===============  ===============  =====
kernel                  characters  -O2    -O2 -fno-ivopts  -O1 -fno-ivopts  -Og
======================  ==========  =====  ===============  ===============  =====
game of life                36,000  0.18   0.17             0.11             0.07
vertical advection, 3D      46,000  0.66   0.44             0.25             0.11
channel flow               124,000  1.8    0.95             0.75             0.25
channel flow, by helpers   177,000  8.1    3.5              1.8              0.5
64 stencils                218,000  1.2    1.1              0.75             0.45
n-body, arrays swapped     285,000  5.0    3.0              1.75             0.65
======================  ==========  =====  ===============  ===============  =====

The passes of Loop IR have done most of the work before: these kernels take up to 1.05 times as
long at -O1, and up to 1.2 times as long at -Og with the flags that `EFFORTS` adds to it
(`python -m tests.bench.compile_budget` has the compile times).
"""
from __future__ import annotations

import sys
from collections.abc import Collection

from loopir.lazy_dataclass import record

from .c_compiler import Compiler

__all__ = [
    "EFFORTS", "LEFT_OUT", "LINK_FLAGS", "Effort", "accepted_flags", "effort_for",
    "without_gcc_flags",
]


@record(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much the C compiler optimises: the ``flags``, which follow those of every kernel, for C
    text of at most ``up_to`` characters. ``slower``: up to how many times as long a kernel runs as
    at -O2, by measurement; 1.0 if that is less than 1.05.
    """

    up_to: float
    flags: tuple[str, ...]
    slower: float = 1.0


EFFORTS = (
    Effort(up_to=60_000, flags=()),  # -O2, which is one of `build_kernel.FLAGS`
    Effort(up_to=80_000, flags=("-fno-ivopts",)),
    Effort(up_to=130_000, flags=("-O1", "-fno-ivopts"), slower=1.05),
    Effort(
        up_to=float("inf"), flags=("-Og", "-fif-conversion", "-ftree-ter", "-ftree-pta"),
        slower=1.2,
    ),
)
"""From small to large. Without if-conversion scalar loops take up to 1.4 times as long at -Og."""

LEFT_OUT = ("-fno-schedule-insns2",)
"""A pass of GCC that no kernel needs, as processors reorder instructions: a twentieth of what GCC
does. (Without ``-fgcse`` as well, which is as much, vectors of `sin` take 1.18 times as long.)"""

LINK_FLAGS = ("-nostdlib", "-lgcc") if sys.platform == "linux" else ()
"""GCC links in half the time without start files and the C library. Kernels need no start files,
and the process has the C library."""

_GCC_ONLY = frozenset(
    (*LEFT_OUT, *LINK_FLAGS, *(f for effort in EFFORTS for f in effort.flags if f.startswith("-f")))
)
"""Flags that Clang refuses, ignores, or does without."""


_NOT_FOR_DLLS = frozenset({"-fPIC", "-fvisibility=protected", "-lm"})
"""All code of a DLL can be moved, and the C library has the functions of mathematics."""


def effort_for(source: str, user_flags: Collection[str] = ()) -> Effort:
    """How much the C compiler optimises the translation unit `source`: the first row of `EFFORTS`
    that admits its length in characters, which stands for the size of the kernel (see the module's
    table). With a level of the user's own, such as -O3 in `user_flags` (``TRANSPILE_CFLAGS``), the
    first row, which adds no flags. `build_kernel` compiles with its flags, `budget_note` reports
    them.
    """
    is_chosen = any(flag.startswith("-O") for flag in user_flags)
    return next(e for e in EFFORTS if is_chosen or len(source) <= e.up_to)


def accepted_flags(compiler: Compiler, flags: tuple[str, ...]) -> tuple[str, ...]:
    """`flags` without those that only GCC knows, if `compiler` is Clang, or Zig, which contains it;
    without `LINK_FLAGS` where ``$CC`` has flags of its own, which may need other libraries; and
    without those that DLLs have no use for, on Windows.
    """
    if sys.platform == "win32":
        flags = tuple(flag for flag in flags if flag not in _NOT_FOR_DLLS)
    if any(word.startswith("-") for word in compiler.command):
        flags = tuple(flag for flag in flags if flag not in LINK_FLAGS)
    identity = f"{compiler.name} {compiler.version}"
    if "clang" not in identity and "zig" not in identity:
        return flags
    return without_gcc_flags(flags)


def without_gcc_flags(flags: tuple[str, ...]) -> tuple[str, ...]:
    """`flags` without those that only GCC knows."""
    return tuple(flag for flag in flags if flag not in _GCC_ONLY)
