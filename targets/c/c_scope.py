"""Scope of generated C: names, registers of accumulators, the vector register being emitted."""
from __future__ import annotations

import re
from dataclasses import field

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import record, replace
from loopir.status_bits import check_status

from ..isa.target import Target
from .interrupt_polls import Polls, Tallies

__all__ = ["VectorRegister", "AccumulatorRegisters", "ScanState", "Scope"]

_WORDS = frozenset((
    "arrays", "asm", "auto", "break", "case", "char", "const", "continue", "default", "do",
    "double", "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "linux",
    "long", "register", "restrict", "return", "scalars", "short", "signed", "sizeof", "static",
    "status", "struct", "switch", "typedef", "typeof", "union", "unix", "unsigned", "void",
    "volatile", "while",
))
_RESERVED = re.compile(
    r"tp_\w*|[fiucq]\d+x\d+(_u)?|[fiu]\d+_u|m\d+|u?int\d+_t|u?intptr_t"
    r"|(TP|VMATH|FE)_\w*|\w+_(MAX|MIN|C)|\w+_[fiucq]\d+x\d+|_[A-Z_]\w*"
)
"""Names that user names must not collide with: of the C headers, and of generated code."""


@record(frozen=True, slots=True)
class VectorRegister:
    """The vector register for which code is emitted: one of a group, or the partial one of the
    remainder, whose last lanes are beyond the end of the loop.
    """

    lanes: int
    count: str | None = None  # C name of the number of lanes before the end; None: all lanes
    element_mask: str | None = None  # C name of the mask of these lanes; None: all lanes
    active_mask: str | None = None
    """C name of the mask of the lanes before the end for which the predicate of the loop, if it has
    one, holds; None: all lanes.
    """
    streamed: ir.Store | None = None  # the store that is emitted as a non-temporal store
    first: tuple[str, str, int] | None = None
    """Of a whole register: the loop's variable, the C name of its value in lane 0 of the group, and
    how much greater it is in lane 0 of this register.
    """


@record(frozen=True, slots=True)
class AccumulatorRegisters:
    """The registers of an accumulator: C variables, or one array."""

    kind: str  # C type of a register; a dtype, for scalars
    count: int
    names: tuple[str, ...]  # of the variables, or the one name of the array
    is_array: bool

    def __getitem__(self, k: int | str) -> str:
        return f"{self.names[0]}[{k}]" if self.is_array else self.names[int(k)]


@record(frozen=True, slots=True)
class ScanState:
    """C names of the state of a prefix scan (`c_scans.declare_scan`)."""

    carry: str  # the value before the group, in every lane
    last: str  # the result in the previous register
    halves: str  # an array: for each level the last lane of the left half, in every lane
    count: int  # registers of a group
    factors: str = ""  # of a recurrence: as `halves`, for the products of factors
    astray: str = ""
    """Of a recurrence: the flag that the rest of the group is computed lane after lane, since a
    product of factors has left the range of floats."""


@record(slots=True)
class Scope:
    """What code in one C block can use; a copy for each nested block (`inner`)."""

    target: Target
    arrays: dict[str, ir.Param]  # array parameters and local arrays
    names: dict[str, str]  # visible names, IR to C
    taken: set[str]  # C names in use
    used: set[str]  # names that were used; the function declares the parameters among them
    read: frozenset[str]  # arrays that the kernel reads
    flagging: frozenset[str]
    """Names whose values may raise a flag and that a C compiler might not compute."""
    overwriting: frozenset[ir.Store]
    """Stores of which a C compiler might compute only the last (`fp_exceptions`)."""
    stops: bool = False  # long inner loops poll at once: `Kernel.stops`, or in a ``while``
    is_large: bool = False  # the kernel is large: short code is better than the fastest
    marked: bool = False  # emit comments of source lines
    polls: Polls = field(default_factory=dict)  # loops that poll for signals
    tallies: Tallies = field(default_factory=dict)  # inner loops whose work makes a poll due
    end_chunk: str = ""
    """The C statement that ends the chunk of the loop around; empty if that loop does not poll."""
    leave: str = "break"  # the C statement that leaves the loop around
    registers: dict[str, AccumulatorRegisters] = field(default_factory=dict)  # by accumulator
    vector: VectorRegister | None = None  # the register being emitted; None: scalar code
    register: int | str = 0  # its index within the group, as a number or in C
    nan_tests: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of an extremum, by accumulator: what was found, and the operand of the register before
    (`c_reductions.declare_nan_test`)."""
    running: dict[str, ScanState] = field(default_factory=dict)  # scans, by accumulator
    loaded: dict[ir.Load, str] = field(default_factory=dict)  # loads that are in a C variable
    bits: frozenset[str] = frozenset()  # packed bool arrays
    parameters: dict[str, str] = field(default_factory=dict)
    """The declarations of the kernel's parameters, their lengths and strides, by IR name."""
    params: tuple[ir.Param, ...] = ()  # the kernel's
    kernel: ir.Kernel | None = None  # None where no statement is emitted
    functions: list[str] = field(default_factory=list)  # of parallel loops, see `c_regions`
    search: ir.Loop | None = None
    """The loop of a part of a parallel search: it ends at the first hit of any part (`c_regions`).
    """
    in_loop: bool = False  # the code runs once in each iteration of a scalar loop
    in_blocks: bool = False  # of one over long blocks, which is in another: there is mostly one
    counts_only: bool = False  # an append counts the elements, and stores none
    threads: int = 0  # the most threads that a parallel loop may use; 0: no bound
    portable: bool = False  # math functions of numbers have the bits of vectors

    def inner(self, vector: VectorRegister | None = None) -> Scope:
        """The scope of a C block within this one."""
        return replace(
            self,
            names=dict(self.names),
            taken=set(self.taken),
            registers=dict(self.registers),
            vector=vector or self.vector,
        )

    def enter_loop(self, *, of_blocks: bool) -> None:
        """Notes that this is the scope of a scalar loop, perhaps one that only cuts another loop
        into long blocks.
        """
        self.in_blocks = self.in_loop and of_blocks
        self.in_loop = self.in_loop or not of_blocks

    def failed(self, check: ir.Check) -> str:
        """The C statement that is run where `check` fails: it sets bits of the status. Where Python
        replays the call, the kernel need not go on, though it may: it returns, so that the C
        compiler knows of the code that follows that the check holds. In a scalar loop the bits are
        set in a branch, as that is hardly ever taken.
        """
        status = check_status(check.code, check.cause)
        if check.code == "replay":
            return f"return status | {status};"
        is_scalar = self.in_loop and self.vector is None
        return f"TP_RAISED({status});" if is_scalar else f"status |= {status};"

    def unless(self, check: ir.Check, text: str) -> str:
        """The C of a scalar `check`, whose condition is `text`. Alternatives of integers are tested
        together: the C compiler would branch on each, also on those that the data decide.
        """
        has_alternatives = isinstance(check.cond, ir.Call) and check.cond.op == "or"
        if has_alternatives and not any(_is_float_call(n) for n in walk(check.cond)):
            text = f"(TP_AT_ONCE({text}))"
        return f"if (!{text}) {self.failed(check)}"

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


def _is_float_call(n: ir.Node) -> bool:
    """Whether `n` is an operation on floats."""
    return isinstance(n, ir.Call) and any(DTYPES[a.dtype].kind == "f" for a in n.args)
