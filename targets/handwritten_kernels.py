"""Library of hand-written kernels: finds their C, parses their meaning, emits those in use.

A file ``kernels/NAME.c`` starts with a comment: a line of prose, its meaning as Loop IR text for an
element type ``T``, and the dtypes that ``T`` stands for. Then it includes the last header that it
needs. The rest is C (see ``kernels/registers.h``). The folder is ``targets/kernels`` in a wheel,
``kernels`` at the top of a checkout.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache

from loopir.dtypes import DTYPES
from loopir.ir_printer import parse
from loopir.lazy_dataclass import record
from loopir.nodes import Kernel

from .file_kinds import is_folder
from .isa.target import Target

__all__ = [
    "HandwrittenKernel", "kernel_c_source", "kernels_folder", "kernel_function_name",
    "kernel_library", "kernel_meaning",
]

_FILE = re.compile(
    r"/\* (.*?)\n\n(def .*?)\n\nT: ([\w ]+?) \*/\n#include \"([\w.]+)\"\n(.*)", re.DOTALL
)
_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
_HEADERS = ("registers.h", "isa.h", "loops.h")
"""The headers in ``kernels/``. Each needs those before it. All but the first need the intrinsics of
the compiler (`_INTRINSICS`), which are slow to parse."""
_INTRINSICS = {"x86_64": "#include <immintrin.h>\n", "aarch64": "#include <arm_neon.h>\n"}


@record(frozen=True, slots=True)
class HandwrittenKernel:
    """One file ``kernels/NAME.c``."""

    name: str
    summary: str  # its line of prose
    text: str  # its meaning: Loop IR text for an element type T
    dtypes: tuple[str, ...]  # what T may be
    headers: tuple[str, ...]  # those that it needs, in order
    c: str  # the C text after the headers


def kernels_folder() -> str:
    """The folder of the C files: next to this module in a wheel, else at the top of the project.

    Raises OSError where that cannot be told.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    in_wheel = os.path.join(package, "kernels")
    if is_folder(in_wheel):
        return in_wheel
    return os.path.join(os.path.dirname(package), "kernels")


@cache
def kernel_library() -> dict[str, HandwrittenKernel]:
    """All hand-written kernels, by name; empty if the folder is missing. Raises OSError."""
    folder = kernels_folder()
    names = sorted(os.listdir(folder)) if is_folder(folder) else []
    return {x[:-2]: _parse_kernel(x[:-2], _read_file(x)) for x in names if x.endswith(".c")}


def _read_file(name: str) -> str:
    """The text of a file in the folder of kernels."""
    with open(os.path.join(kernels_folder(), name), encoding="utf-8") as file:
        return file.read()


def _parse_kernel(name: str, text: str) -> HandwrittenKernel:
    """The parts of a kernel's file."""
    head = _FILE.match(text)
    assert head, f"kernels/{name}.c does not begin with its meaning"
    summary, meaning, dtypes, last_header, c = head.groups()
    headers = _HEADERS[: _HEADERS.index(last_header) + 1]
    return HandwrittenKernel(name, summary, meaning, tuple(dtypes.split()), headers, c)


@cache
def kernel_meaning(name: str, dtype: str) -> Kernel:
    """The meaning of the kernel on elements of `dtype`, as scalar Loop IR: its text with `dtype`
    in place of ``T``.
    """
    return parse(re.sub(r"\bT\b", dtype, kernel_library()[name].text))


def kernel_function_name(name: str, dtype: str) -> str:
    """The name of the C function, which has the signature and result of ``tp_body``."""
    return f"tk_{name}_{_c_dtype(dtype)}"


def kernel_c_source(kernels: Iterable[tuple[str, str]], target: Target) -> str:
    """C text that defines the functions of these (name, dtype) pairs; to be placed after ``abi.h``.
    """
    by_dtype: dict[str, list[str]] = {}
    for name, dtype in kernels:
        by_dtype.setdefault(dtype, []).append(name)
    types = [f"typedef {DTYPES[d].c} {_c_dtype(d)};" for d in by_dtype]
    sections = [_kernels_for_dtype(dtype, names, target) for dtype, names in by_dtype.items()]
    needs_no_intrinsics = all(
        len(kernel_library()[name].headers) == 1 for names in by_dtype.values() for name in names
    )
    includes = "" if needs_no_intrinsics else _INTRINSICS.get(target.machine, "")
    return includes + "\n".join([*types, *sections])


def _kernels_for_dtype(dtype: str, names: Iterable[str], target: Target) -> str:
    """The headers and kernels for one dtype. All macros that they define are undefined at the end,
    since the text for the next dtype defines them again.
    """
    d = DTYPES[dtype]
    macros_of_dtype = {
        "T": _c_dtype(dtype), "T_BYTES": d.bytes, "T_FLOAT": int(d.kind == "f"),
        "STREAMED": target.model.streamed_bytes,
    }
    lines = [f"#define {name} {value}" for name, value in macros_of_dtype.items()]
    kernels = [kernel_library()[name] for name in names]
    headers = max((k.headers for k in kernels), key=len)
    text = "\n".join([*lines, *map(_read_file, headers), *(k.c for k in kernels)])
    macros = dict.fromkeys(_MACRO.findall(text))
    return "\n".join([text, *(f"#undef {name}" for name in macros)])


def _c_dtype(dtype: str) -> str:
    """The name of the dtype in C identifiers: ``u8`` for bool, which is a C keyword."""
    return "u8" if dtype == "bool" else dtype
