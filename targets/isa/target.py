"""Target description (LLVM: TargetInfo): a frozen value whose instructions are rows.

One module of this package holds one target. A row gives an operation as C or as one instruction.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.machine_model import Machine

__all__ = ["COMMON_CFLAGS", "MaskKind", "InstrRow", "Target", "Vec", "mask_type", "storage_type"]

MaskKind = Literal["none", "lanes", "bits"]
"""Where masks live: nowhere (one lane), in vectors (lanes of 0 and -1), in an integer's bits."""


COMMON_CFLAGS = ("-fwrapv", "-fno-strict-aliasing")
"""Flags of every target: integers wrap, and arrays of two dtypes may be one memory."""


@record(frozen=True, slots=True)
class Vec:
    """A vector type; its name is the C typedef's (``f32x16``)."""

    dtype: str
    lanes: int

    @property
    def name(self) -> str:
        return f"{self.dtype}x{self.lanes}"

    @property
    def bits(self) -> int:
        return DTYPES[self.dtype].bits * self.lanes

    def of(self, kind: str) -> Vec:
        """Lanes as wide and as many, of dtype kind ``"i"``, ``"u"`` or ``"f"``."""
        return Vec(f"{kind}{DTYPES[self.dtype].bits}", self.lanes)


@record(frozen=True, slots=True, kw_only=True)
class InstrRow:
    """An operation that a target has an instruction for, on vectors of `dtypes` and `bits`.

    ``bits`` may be several sizes; empty: any. ``source``: the operand's dtypes, for a cast.
    ``c``: an expression of ``{0}`` … the operands, each at most once; or ``asm``: one instruction.
    ``needs``: a feature of the processor that not each with the target has.
    In either, ``{v}``: the vector type; ``{i}``, ``{u}``: signed, unsigned integers of its shape;
    ``{n}``: its type as x86 builtins take it; ``{m}``: the mask type; ``{s}``: the suffix of the
    instruction; ``{w}``: the bits; ``{l}``: the lanes.
    """

    op: str
    dtypes: str
    bits: int | tuple[int, ...] = ()
    c: str = ""
    asm: str = ""
    source: str = ""
    needs: str = ""

    def covers(self, op: str, vec: Vec, source: str) -> bool:
        if op != self.op or vec.dtype not in self.dtypes.split():
            return False
        sizes = (self.bits,) if isinstance(self.bits, int) else self.bits
        if sizes and vec.bits not in sizes:
            return False
        return not self.source or source in self.source.split()


@record(frozen=True, slots=True, kw_only=True)
class Target:
    """An instruction set.

    ``bits``: of a vector register (0: none). ``registers``: how many. ``cpu``: the features it
    needs, as `cpu.features` names them. ``extras``: more of them that this machine has, and that
    rows may need. ``suffix``: instructions' suffix by dtype. ``register``:
    the constraint of a register in inline assembly. ``stream``: the instruction that stores a
    register past the caches. ``fused``: it has a fused multiply-add. ``permutes``: and an
    instruction that moves the bytes of 128 bits as it likes. ``headers``: its own C templates.
    ``caches``: bytes of L1, L2 and L3 to plan for.
    """

    name: str
    machine: str
    bits: int
    masks: MaskKind
    registers: int
    cflags: tuple[str, ...] = COMMON_CFLAGS
    cpu: frozenset[str] = frozenset()
    extras: frozenset[str] = frozenset()
    suffix: Mapping[str, str] = field(default_factory=dict, hash=False)
    register: str = ""
    stream: str = ""
    rows: tuple[InstrRow, ...] = ()
    fused: bool = False
    permutes: bool = False
    headers: tuple[str, ...] = ()
    caches: tuple[int, int, int] = (32 << 10, 512 << 10, 16 << 20)

    @property
    def full_name(self) -> str:
        """By which code that one machine runs is told from code that another runs."""
        return "+".join([self.name, *sorted(self.extras)])

    @property
    def model(self) -> Machine:
        """What passes choose by; without vector registers, a register is one number."""
        return Machine(
            registers=self.registers, bytes=max(self.bits // 8, 8), caches=self.caches
        )

    def lanes(self, dtype: str, *, packed: bool = False) -> int:
        """Lanes of a register, 1 where there are none; of bools, with `packed`, eight to a byte."""
        width = 1 if packed and dtype == "bool" else DTYPES[dtype].bits
        return max(1, self.bits // width)

    def row(self, op: str, vec: Vec, source: str = "") -> InstrRow | None:
        """The row for `op` on operands (a cast: with a result) of type `vec`, if there is one."""
        had = (r for r in self.rows if not r.needs or r.needs in self.extras)
        return next((r for r in had if r.covers(op, vec, source)), None)


def storage_type(dtype: str, lanes: int) -> Vec:
    """The vector that moves elements of `dtype`: bools are bytes, and halves their bits."""
    return Vec({"bool": "u8", "f16": "u16"}.get(dtype, dtype), lanes)


def mask_type(target: Target, lanes: int) -> str:
    """The C type of a mask of `lanes` lanes: as wide as a register, whatever it masks."""
    match target.masks:
        case "bits":
            return f"m{lanes}"
        case "lanes" if lanes > 1:
            return f"i{target.bits // lanes}x{lanes}"
        case _:
            return "uint8_t"
