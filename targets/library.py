"""The hand-written kernels: finding their C, reading what each means, and putting them together.

A file ``kernels/NAME.c`` begins with a comment: a line of prose, its meaning as Loop IR text for an
element type ``T``, and the dtypes that ``T`` stands for. Then it names the last header that it
needs. The rest is C (see ``kernels/registers.h``).
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache

from loopir.nodes import Kernel
from loopir.record import record
from loopir.text import parse
from loopir.types import DTYPES

from .target import Target

__all__ = ["HandWritten", "c_source", "folder", "function", "library", "meaning"]

_FILE = re.compile(
    r"/\* (.*?)\n\n(def .*?)\n\nT: ([\w ]+?) \*/\n#include \"([\w.]+)\"\n(.*)", re.DOTALL
)
_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
_HEADERS = ("registers.h", "isa.h", "loops.h")
"""Each stands behind the one before; the first needs none of the compiler's, which are slow."""
_INTRINSICS = {"x86_64": "#include <immintrin.h>\n", "aarch64": "#include <arm_neon.h>\n"}


@record(frozen=True, slots=True)
class HandWritten:
    """One file: the kernel ``name`` as it stands for each of ``dtypes``, behind ``headers``."""

    name: str
    summary: str
    text: str
    dtypes: tuple[str, ...]
    headers: tuple[str, ...]
    c: str


def folder() -> str:
    """Where the C files are: beside this one in a wheel, else at the top of the project."""
    here = os.path.dirname(os.path.abspath(__file__))
    shipped = os.path.join(here, "kernels")
    return shipped if os.path.isdir(shipped) else os.path.join(os.path.dirname(here), "kernels")


@cache
def library() -> dict[str, HandWritten]:
    """All of them, by name; none where the folder is missing."""
    where = folder()
    names = sorted(os.listdir(where)) if os.path.isdir(where) else []
    return {x[:-2]: _read(x[:-2], _file(x)) for x in names if x.endswith(".c")}


def _file(name: str) -> str:
    with open(os.path.join(folder(), name), encoding="utf-8") as file:
        return file.read()


def _read(name: str, text: str) -> HandWritten:
    head = _FILE.match(text)
    assert head, f"kernels/{name}.c does not begin with its meaning"
    summary, meant, dtypes, last, c = head.groups()
    headers = _HEADERS[: _HEADERS.index(last) + 1]
    return HandWritten(name, summary, meant, tuple(dtypes.split()), headers, c)


@cache
def meaning(name: str, dtype: str) -> Kernel:
    """What the kernel does to elements of `dtype`: scalar Loop IR."""
    return parse(re.sub(r"\bT\b", dtype, library()[name].text))


def function(name: str, dtype: str) -> str:
    """The C function's name: it takes what ``tp_body`` takes, and answers as that does."""
    return f"tk_{name}_{_token(dtype)}"


def c_source(wanted: Iterable[tuple[str, str]], target: Target) -> str:
    """C text that defines the functions of these (name, dtype); to stand behind ``abi.h``."""
    by_dtype: dict[str, list[str]] = {}
    for name, dtype in wanted:
        by_dtype.setdefault(dtype, []).append(name)
    types = [f"typedef {DTYPES[d].c} {_token(d)};" for d in by_dtype]
    sections = [_section(dtype, names) for dtype, names in by_dtype.items()]
    plain = all(len(library()[name].headers) == 1 for names in by_dtype.values() for name in names)
    before = "" if plain else _INTRINSICS.get(target.machine, "")
    return before + "\n".join([*types, *sections])


def _section(dtype: str, names: Iterable[str]) -> str:
    """The headers and kernels for one dtype; no macro of theirs is left."""
    d = DTYPES[dtype]
    facts = {"T": _token(dtype), "T_BYTES": d.bytes, "T_FLOAT": int(d.kind == "f")}
    lines = [f"#define {name} {value}" for name, value in facts.items()]
    kernels = [library()[name] for name in names]
    headers = max((k.headers for k in kernels), key=len)
    text = "\n".join([*lines, *map(_file, headers), *(k.c for k in kernels)])
    macros = dict.fromkeys(_MACRO.findall(text))
    return "\n".join([text, *(f"#undef {name}" for name in macros)])


def _token(dtype: str) -> str:
    """The dtype as C names may have it: ``bool`` is a word of C."""
    return "u8" if dtype == "bool" else dtype
