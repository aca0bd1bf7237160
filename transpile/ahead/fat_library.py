"""Fat library: the kernels of a package for all instruction sets, in one shared object.

Each kernel for each target is a translation unit, with the flags of its target. The C sources of
calls and of the thread pool are in the object, too, and a table of the addresses of all.
"""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.resources import files
from threading import Timer

from loopir.lazy_dataclass import record
from targets.abi import c_api, pool_control
from targets.abi.thread_pool import pool_source
from targets.abi.trampoline import trampoline_source
from targets.build.build_errors import BuildError
from targets.build.build_kernel import kernel_flags
from targets.build.c_compiler import Compiler, find_compiler, find_cross_compiler, run_compiler
from targets.build.compile_effort import accepted_flags
from targets.build.object_file_check import fault_of_object
from targets.build.private_folders import private_folder
from targets.c.headers import read_header
from targets.isa.target import COMMON_CFLAGS, Target
from targets.isa.target_registry import TARGETS

from .kernel_library import ROWS, library_name
from .platforms import Platform

__all__ = ["LINK_FLAGS", "Unit", "built_library", "kernel_file", "library_targets", "library_units"]

_BY_MACHINE = {"x86_64": ("sse2", "avx2", "avx512"), "aarch64": ("neon",)}
"""The targets of each architecture, from the one that all its CPUs have; `cpu_targets.c` gives bits
in this order."""

_HIDDEN = ("-fvisibility=hidden", "-fno-semantic-interposition")
LINK_FLAGS = {
    "linux": ("-shared", "-s", "-pthread", "-lm"), "darwin": ("-shared", "-s"),
    "win32": ("-shared", "-s", "-lapi-ms-win-core-synch-l1-2-0"),
}
"""The flags of the linker by system."""

_LINKED_FOR = 1800.0
"""Seconds that a link may take: the first one for a platform builds its C library."""
_CALLS_FLAGS = ("-O2", "-fPIC", *COMMON_CFLAGS, "-w", "-DTP_ONE_LIBRARY", *_HIDDEN)

_HEADERS = (
    "abi.h", "undo.h", "stop.h", "parallel.h", "parallel_search.h", "parallel_undo.h",
    "parallel_totals.h",
)
"""Those that kernels begin with."""

_VERSIONS = "glibc_versions.h"

_GLOBAL = re.compile(r"\btp_(kernel|goes_on|raised|run_region|rate_\d+)\b")
"""What of a kernel's names other units could see."""


@record(frozen=True, slots=True)
class Unit:
    """A C file of the library, and the flags with which it is compiled."""

    name: str
    text: str
    flags: tuple[str, ...]
    exports: tuple[str, ...] = ()
    """Names in the table of addresses."""
    headers: tuple[str, ...] = ()
    """Names of headers that it includes (`targets.c.headers`)."""


def library_targets(machine: str) -> tuple[Target, ...]:
    """The targets of an architecture, from the one that all its CPUs have."""
    return tuple(TARGETS[name].for_any_cpu for name in _BY_MACHINE[machine])


def kernel_file(name: str, text: str, target: Target, *, contract: bool) -> Unit:
    """The unit of a kernel, whose global names begin with `name`. It includes the headers, which
    are in `text` as a whole.
    """
    own_names = {m[0] for m in _GLOBAL.finditer(text)}
    exports = ["kernel"]
    exports += ["goes_on", "raised"] if "tp_goes_on" in own_names else []
    exports += ["run_region"] if "tp_run_region" in own_names else []
    flags = (*kernel_flags(text, target, contract=contract), *_HIDDEN)
    renamed = [f"#define {own} {name}_{own.removeprefix('tp_')}\n" for own in sorted(own_names)]
    headers = [header for header in _HEADERS if read_header(header) in text]
    for header in headers:
        text = text.replace(read_header(header), f'#include "{header}"\n')
    names = tuple(f"{name}_{export}" for export in exports)
    return Unit(name, "".join([*renamed, text]), flags, names, tuple(headers))


def library_units(kernels: Sequence[Unit]) -> list[Unit]:
    """All units of the library, with those of `kernels`; the last one is the table."""
    calls = tuple(f"tp_{name}" for name in c_api.FUNCTIONS)
    pool = tuple(f"tp_pool_{name}" for name in pool_control.FUNCTIONS)
    cpu = files(__package__).joinpath("cpu_targets.c").read_text(encoding="utf-8")
    units = [
        *kernels,
        Unit("calls", trampoline_source(), _CALLS_FLAGS, calls),
        Unit("thread_pool", pool_source(), (*_CALLS_FLAGS, "-pthread"), pool),
        Unit("cpu_targets", cpu, _CALLS_FLAGS, ("tp_cpu_targets",)),
    ]
    return [*map(_for_any_glibc, units), _table(units)]


def _for_any_glibc(unit: Unit) -> Unit:
    """The unit with a header, the last one, that asks for the oldest versions of glibc's functions.
    """
    text = f'{unit.text}#include "{_VERSIONS}"\n'
    return replace(unit, text=text, headers=(*unit.headers, _VERSIONS))


def _table(units: Sequence[Unit]) -> Unit:
    """The unit of the table of addresses, the only name that the shared object exports."""
    names = [name for unit in units for name in unit.exports]
    lines = [
        "/* Names and addresses of what is in this library, until a row of zeros. */",
        *(f"extern char {name}[];" for name in names),
        "typedef struct { const char *name; const void *address; } row;",
        "#ifdef _WIN32",
        "__declspec(dllexport)",
        "#else",
        '__attribute__((visibility("default")))',
        "#endif",
        f"const row {ROWS}[] = {{",
        *(f'    {{"{name}", {name}}},' for name in names),
        "    {0, 0},",
        "};",
    ]
    return Unit("table", "\n".join(lines) + "\n", _CALLS_FLAGS)


def built_library(units: Sequence[Unit], platform: Platform) -> bytes:
    """The shared object of all units. Raises BuildError and NoCompiler."""
    cross = platform.triple
    compiler = find_cross_compiler(cross) if cross else find_compiler()
    with private_folder() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = pool.map(lambda k: _compiled(compiler, units[k], folder, k), range(len(units)))
        output = os.path.join(folder, library_name(platform.system))
        flags = ("-x", "none", *compiled, *LINK_FLAGS[platform.system])
        with _told_if_long(platform):
            run_compiler(compiler, flags, "", output, _LINKED_FOR if cross else None)
        with open(output, "rb") as file:
            data = file.read()
    if fault := fault_of_object(data, platform.system):
        raise BuildError(f"what {compiler.name} has linked cannot be loaded: {fault}")
    return data


@contextmanager
def _told_if_long(platform: Platform) -> Iterator[None]:
    """Within, a line on stderr says why the link takes long, if it does."""
    text = f"transpile: the first link for {platform.name} builds its C library, for minutes"
    timer = Timer(_TOLD_AFTER, partial(print, text, file=sys.stderr, flush=True))
    if platform.triple:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


_TOLD_AFTER = 3.0
"""Seconds."""


def _compiled(compiler: Compiler, unit: Unit, folder: str, number: int) -> str:
    """The path of the object file of a unit, in a folder of its own."""
    own_folder = os.path.join(folder, str(number))
    os.mkdir(own_folder)
    for header in unit.headers:
        with open(os.path.join(own_folder, header), "w", encoding="utf-8") as file:
            file.write(read_header(header))
    path = os.path.join(own_folder, "unit.o")
    flags = (*accepted_flags(compiler, unit.flags), f"-I{own_folder}", "-c")
    run_compiler(compiler, flags, unit.text, path)
    return path
