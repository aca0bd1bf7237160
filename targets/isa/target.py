"""Target description (LLVM: TargetInfo): a frozen value whose instructions are rows.

One module of this package defines one target, without functions of its own. A row gives an
operation as C or as one instruction; the docstring of `InstrRow` says which to choose, and what is
a template instead. No row is required: an operation without one is expanded by a template, or
computed lane by lane (`vector_ops.define_vector_op`).
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import Literal

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record, replace
from loopir.machine_model import Machine

__all__ = ["COMMON_CFLAGS", "MaskKind", "InstrRow", "Target", "Vec", "mask_type", "storage_type"]

MaskKind = Literal["none", "lanes", "bits"]
"""Representation of masks: none (one lane), vectors (lanes of 0 and -1), bits of an integer."""


COMMON_CFLAGS = ("-fwrapv", "-fno-strict-aliasing")
"""Flags of every target: integers wrap, and arrays of different dtypes may alias."""


@record(frozen=True, slots=True)
class Vec:
    """A vector type; its name is that of the C typedef (``f32x16``)."""

    dtype: str
    lanes: int

    @property
    def name(self) -> str:
        return f"{self.dtype}x{self.lanes}"

    @property
    def bits(self) -> int:
        return DTYPES[self.dtype].bits * self.lanes

    def of(self, kind: str) -> Vec:
        """The vector type of dtype kind ``"i"``, ``"u"`` or ``"f"`` with lanes of the same width
        and number.
        """
        return Vec(f"{kind}{DTYPES[self.dtype].bits}", self.lanes)


@record(frozen=True, slots=True, kw_only=True)
class InstrRow:
    """An operation for which a target has an instruction: as ``c`` or as ``asm``.

        InstrRow(op="min", dtypes="i8 i16 i32", bits=(128, 256), asm="vpmins{s} %2, %1, %0")

    means that ``tp_min_i32x8(a, b)`` is the one instruction ``vpminsd``. Of the rows of a target
    (`Target.rows`, in order) the first that covers an operation and a type is used; templates are
    tried after all rows, and scalar code lane by lane last (`vector_ops.define_vector_op`).

    ``c``, an operator of GNU C or a builtin, is code that the compiler understands: take it where
    one text means the instruction to GCC and to clang, also if it is several instructions in one
    expression. ``asm`` is for one instruction whose builtins differ between the compilers. What
    needs statements, or an operand twice, is no row but a template in one of the target's headers
    (`Target.headers`).

    In the texts ``c`` and ``asm``, ``{v}`` is the vector type; ``{i}``, ``{u}``: signed, unsigned
    integers of its shape; ``{n}``: the vector type that GCC's x86 builtins take for it, which has
    signed lanes, ``char`` for 8 and ``long long`` for 64 bits (`vector_ops._x86_type`); ``{m}``:
    the type of a comparison of two such vectors, lanes or bits (`MaskKind`); ``{s}``: the suffix of the instruction; ``{w}``: the bits;
    ``{l}``: the lanes.

    ``asm`` is GCC's inline assembly: ``%0`` is the register of the result, ``%1``, ``%2`` … are
    those of the operands, as the operation has them. x86 instructions are in AT&T syntax: the
    destination is last, and the sources are in the reverse of Intel's order, so that
    ``vsubpd %2, %1, %0`` computes ``%0 = %1 - %2``. AArch64's have the destination first. An
    instruction whose destination is its first source, as all of SSE with two sources, is ``tied``:
    ``pminub %2, %0`` computes ``%0 = min(%0, %2)``.
    """

    op: str
    dtypes: str  # of the operands, or of a cast's result; separated by spaces
    bits: int | tuple[int, ...] = ()  # sizes of the vector; empty: any
    c: str = ""  # a C expression of the operands {0} …, each used at most once
    asm: str = ""  # or one instruction
    tied: bool = False  # of asm: the first operand is in the register of the result, %0
    source: str = ""  # of a cast: dtypes of the operand
    # a CPU feature that not every CPU with the target has; the row is used only where
    # `Target.extras` has it, so the target's module must list it among those it looks for
    needs: str = ""

    def covers(self, op: str, vec: Vec, source: str) -> bool:
        """Whether the row is for `op` on the type `vec` (a cast: to it, from `source`)."""
        if op != self.op or vec.dtype not in self.dtypes.split():
            return False
        sizes = (self.bits,) if isinstance(self.bits, int) else self.bits
        if sizes and vec.bits not in sizes:
            return False
        return not self.source or source in self.source.split()


@record(frozen=True, slots=True, kw_only=True)
class Target:
    """An instruction set. Vectors have a fixed width: SVE and RVV need a target for each length."""

    name: str
    machine: str  # the architecture, as `cpu_features.machine` names it
    bits: int  # of a vector register; 0: none
    masks: MaskKind  # how masks are represented
    registers: int  # number of vector registers
    cflags: tuple[str, ...] = COMMON_CFLAGS  # options of the C compiler
    cpu: frozenset[str] = frozenset()  # needed features, as `cpu_features.features` names them
    extras: frozenset[str] = frozenset()  # optional features of this machine, for rows
    suffix: Mapping[str, str] = field(default_factory=dict, hash=False)  # of instructions, by dtype
    register: str = ""  # the register constraint of inline assembly
    stream: str = ""  # the instruction of a non-temporal store
    rows: tuple[InstrRow, ...] = ()  # the first one that covers an operation is used
    has_fma: bool = False  # it has a fused multiply-add
    permutes: bool = False  # it has a byte shuffle of 128 bits, as ``pshufb``: for templates
    headers: tuple[str, ...] = ()  # its C templates
    # bytes of L1, L2 and L3 of a usual machine; `build.machine_record.fitted` has those of this one
    caches: tuple[int, int, int] = (32 << 10, 512 << 10, 16 << 20)

    @property
    def full_name(self) -> str:
        """The name with the extra features: it distinguishes code that not every machine with the
        target runs.
        """
        return "+".join([self.name, *sorted(self.extras)])

    @property
    def for_any_cpu(self) -> Target:
        """The target without the extra features, for code that all machines with it are to run."""
        flags = {f"-m{name.replace('_', '')}" for name in self.extras}
        kept = tuple(flag for flag in self.cflags if flag not in flags)
        return replace(self, extras=frozenset(), cflags=kept)

    @property
    def model(self) -> Machine:
        """The machine model for passes; without vector registers, a register is one number."""
        return Machine(
            registers=self.registers, bytes=max(self.bits // 8, 8), caches=self.caches
        )

    def lanes(self, dtype: str, *, packed: bool = False) -> int:
        """Lanes of a register, 1 for scalar targets; with `packed`, bools count as one bit."""
        width = 1 if packed and dtype == "bool" else DTYPES[dtype].bits
        return max(1, self.bits // width)

    def row(self, op: str, vec: Vec, source: str = "") -> InstrRow | None:
        """The row for `op` on operands (for a cast: with a result) of type `vec`, or None."""
        return _row_of(self, op, vec, source)


@cache
def _row_of(target: Target, op: str, vec: Vec, source: str) -> InstrRow | None:
    """See `Target.row`."""
    available = (r for r in target.rows if not r.needs or r.needs in target.extras)
    return next((r for r in available if r.covers(op, vec, source)), None)


def storage_type(dtype: str, lanes: int) -> Vec:
    """The vector type that loads and stores elements of `dtype`: u8 for bools, u16 for float16."""
    return Vec({"bool": "u8", "f16": "u16"}.get(dtype, dtype), lanes)


def mask_type(target: Target, lanes: int) -> str:
    """The C type of a mask of `lanes` lanes: an integer of `lanes` bits (``m8``) where masks are
    bits; a vector of integers that fills a register (``i64x4``) where they are lanes; else, and for
    one such lane, a byte.
    """
    match target.masks:
        case "bits":
            return f"m{lanes}"
        case "lanes" if lanes > 1:
            return f"i{target.bits // lanes}x{lanes}"
        case _:
            return "uint8_t"
