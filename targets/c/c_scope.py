"""Scope of generated C: names, registers of accumulators, the vector register being written."""
from __future__ import annotations

import re
from dataclasses import field, replace

from loopir import nodes as ir
from loopir.lazy_dataclass import record
from loopir.op_table import STATUS

from ..isa.target import Target

__all__ = ["Region", "AccumulatorRegisters", "ScanState", "Scope"]

_WORDS = frozenset((
    "arrays", "asm", "auto", "break", "case", "char", "const", "continue", "default", "do",
    "double", "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "linux",
    "long", "register", "restrict", "return", "scalars", "short", "signed", "sizeof", "static",
    "status", "struct", "switch", "typedef", "typeof", "union", "unix", "unsigned", "void",
    "volatile", "while",
))
_RESERVED = re.compile(
    r"tp_\w*|[fiucq]\d+x\d+(_u)?|m\d+|u?int\d+_t|u?intptr_t"
    r"|(TP|VMATH|FE)_\w*|\w+_(MAX|MIN|C)|\w+_[fiucq]\d+x\d+|_[A-Z_]\w*"
)
"""C's own names, those of its headers, and those that generated code keeps for itself."""


@record(frozen=True, slots=True)
class Region:
    """The register that vector code is written for.

    ``count``, ``live``: C names of the number of lanes that are elements, and of their mask; None
    where all are. ``on``: the mask of the lanes that act; None: all. ``streamed``: the store that
    goes past the caches.
    """

    lanes: int
    count: str | None = None
    live: str | None = None
    on: str | None = None
    streamed: ir.Store | None = None


@record(frozen=True, slots=True)
class AccumulatorRegisters:
    """An accumulator's registers, of C type `kind` (of that dtype, for scalars).

    Each has a C name, or all are one array.
    """

    kind: str
    count: int
    names: tuple[str, ...]
    array: bool

    def __getitem__(self, k: int | str) -> str:
        return f"{self.names[0]}[{k}]" if self.array else self.names[int(k)]


@record(frozen=True, slots=True)
class ScanState:
    """C names of a running fold: what it came to before the group, in every lane; the register
    before; what left halves of the group came to, in an array. Of a recurrence also what their
    factors came to, and whether the group is taken in lane after lane.
    """

    carry: str
    last: str
    halves: str
    count: int
    factors: str = ""
    astray: str = ""


@record(slots=True)
class Scope:
    """What is visible: names, IR to C; the C names taken; accumulators; loads that have a name.

    ``used`` collects what the frame must declare. ``read``: the arrays that the kernel reads.
    ``flagging``: names whose values may raise a flag, and that the C compiler might not compute;
    ``overwriting``: stores of which it might compute the last.
    ``stops``: a check that fails for good ends the kernel, as it must end a ``while``.
    ``marked``: the code says where it comes from.
    ``register``: which of its group the code is written for, as a number or in C. ``bits``: arrays
    of bits.
    """

    target: Target
    arrays: dict[str, ir.Param]
    names: dict[str, str]
    taken: set[str]
    used: set[str]
    read: frozenset[str]
    flagging: frozenset[str]
    overwriting: frozenset[ir.Store]
    stops: bool = False
    marked: bool = False
    registers: dict[str, AccumulatorRegisters] = field(default_factory=dict)
    region: Region | None = None
    register: int | str = 0
    running: dict[str, ScanState] = field(default_factory=dict)
    loaded: dict[ir.Load, str] = field(default_factory=dict)
    bits: frozenset[str] = frozenset()

    def inner(self, region: Region | None = None) -> Scope:
        """The scope of a C block within this one."""
        return replace(
            self,
            names=dict(self.names),
            taken=set(self.taken),
            registers=dict(self.registers),
            region=region or self.region,
        )

    def failed(self, code: str) -> str:
        """The statement for where a check of `code` fails."""
        status = STATUS[code]
        if self.stops and code == "replay":
            return f"return status | {status};"
        return f"status |= {status};"

    def fresh(self, name: str) -> str:
        """A C name, like `name`, that is not taken."""
        plain = name if name.isascii() else "v" + "".join(f"{ord(c):x}" for c in name)
        if plain in _WORDS or _RESERVED.fullmatch(plain):
            plain += "_"
        c, k = plain, 0
        while c in self.taken:
            k += 1
            c = f"{plain}_v{k}"
        self.taken.add(c)
        return c

    def bind(self, name: str) -> str:
        """The fresh C name by which an IR name is known from here on."""
        self.names[name] = c = self.fresh(name)
        return c

    def use(self, name: str) -> str:
        """The C name of what the frame may have to declare.

        A parameter ``a``, a length ``a.n0``, a stride ``a.s0``; or a name bound in the body.
        """
        self.used.add(name)
        return self.names[name]
