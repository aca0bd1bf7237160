"""Scope of generated C: names, registers of accumulators, the vector register being emitted."""
from __future__ import annotations

import re
from dataclasses import field

from loopir import nodes as ir
from loopir.lazy_dataclass import record, replace
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
"""Names that user names must not collide with: of the C headers, and of generated code."""


@record(frozen=True, slots=True)
class Region:
    """The vector register for which code is emitted.

    ``count``, ``live``: C names of the number and the mask of lanes that are elements; None where
    all are. ``on``: the mask of active lanes; None: all. ``streamed``: the store that is emitted as
    a non-temporal store.
    """

    lanes: int
    count: str | None = None
    live: str | None = None
    on: str | None = None
    streamed: ir.Store | None = None


@record(frozen=True, slots=True)
class AccumulatorRegisters:
    """The registers of an accumulator, of C type `kind` (a dtype, for scalars).

    Either each has a C name, or all are one array.
    """

    kind: str
    count: int
    names: tuple[str, ...]
    array: bool

    def __getitem__(self, k: int | str) -> str:
        return f"{self.names[0]}[{k}]" if self.array else self.names[int(k)]


@record(frozen=True, slots=True)
class ScanState:
    """C names of the state of a prefix scan.

    ``carry``: the value before the group, in every lane; ``last``: the previous register;
    ``halves``: an array of the values of left halves. Of a recurrence also ``factors``: the same
    for factors; ``astray``: whether the group is computed lane after lane.
    """

    carry: str
    last: str
    halves: str
    count: int
    factors: str = ""
    astray: str = ""


@record(slots=True)
class Scope:
    """Visible names, IR to C; C names in use; accumulators; loads that have a name.

    ``used`` collects the parameters that the function must declare. ``read``: the arrays that the
    kernel reads. ``flagging``: names whose values may raise a flag and that a C compiler might not
    compute; ``overwriting``: stores of which it might compute only the last (see `fp_exceptions`).
    ``stops``: a failing ``"replay"`` check returns at once. ``marked``: emit source line comments.
    ``register``: the index within its group of the register being emitted, as a number or in C.
    ``bits``: packed bool arrays.
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
        """The statement for a failing check of `code`."""
        status = STATUS[code]
        if self.stops and code == "replay":
            return f"return status | {status};"
        return f"status |= {status};"

    def fresh(self, name: str) -> str:
        """An unused C name similar to `name`."""
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
        """Bind an IR name to a fresh C name."""
        self.names[name] = c = self.fresh(name)
        return c

    def use(self, name: str) -> str:
        """The C name of an IR name, which is recorded in ``used``.

        A parameter ``a``, a length ``a.n0``, a stride ``a.s0``; or a name bound in the body.
        """
        self.used.add(name)
        return self.names[name]
