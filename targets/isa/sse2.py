"""Target `sse2`: the baseline of x86-64.

An operation is a row with ``c=`` (a builtin), a row with ``asm=`` (one instruction, which is ``tied`` if
it has two sources), or a template in ``headers/sse2.h`` (several instructions): `InstrRow` says which to
choose.
"""
from __future__ import annotations

from .gnu_vector_rows import FLOATS, GNU_ROWS
from .target import COMMON_CFLAGS, InstrRow, Target

__all__ = ["SSE2", "SUFFIX"]

SUFFIX = dict(
    f16="w",
    f32="ps",
    f64="pd",
    i8="b",
    u8="b",
    i16="w",
    u16="w",
    i32="d",
    u32="d",
    i64="q",
    u64="q",
)

_COMPARED = "i8 i16 i32 u8 u16 u32"

# The instructions of SSE2; `InstrRow` explains the columns. No two rows of a target cover the same
# operands: for another instruction than that of a row of GNU_ROWS, leave that row out of `rows`.
_ROWS = (
    InstrRow(op="sqrt", dtypes=FLOATS, bits=128, asm="sqrt{s} %1, %0"),
    InstrRow(op="min", dtypes="i16", bits=128, asm="pmins{s} %2, %0", tied=True),
    InstrRow(op="max", dtypes="i16", bits=128, asm="pmaxs{s} %2, %0", tied=True),
    InstrRow(op="min", dtypes="u8", bits=128, asm="pminu{s} %2, %0", tied=True),
    InstrRow(op="max", dtypes="u8", bits=128, asm="pmaxu{s} %2, %0", tied=True),
    InstrRow(op="saturating_add", dtypes="i8 i16", bits=128, asm="padds{s} %2, %0", tied=True),
    InstrRow(op="saturating_sub", dtypes="i8 i16", bits=128, asm="psubs{s} %2, %0", tied=True),
    InstrRow(op="saturating_add", dtypes="u8 u16", bits=128, asm="paddus{s} %2, %0", tied=True),
    InstrRow(op="saturating_sub", dtypes="u8 u16", bits=128, asm="psubus{s} %2, %0", tied=True),
    InstrRow(op="short_mul", dtypes="u64", bits=128, asm="pmuludq %2, %0", tied=True),
    InstrRow(op="eq", dtypes=_COMPARED, c="({0} == {1})"),
    InstrRow(op="ne", dtypes=_COMPARED, c="({0} != {1})"),
    InstrRow(op="lt", dtypes=_COMPARED, c="({0} < {1})"),
    InstrRow(op="le", dtypes=_COMPARED, c="({0} <= {1})"),
    InstrRow(op="eq", dtypes=FLOATS, bits=128, c="({i})__builtin_ia32_cmpeq{s}({0}, {1})"),
    InstrRow(op="ne", dtypes=FLOATS, bits=128, c="({i})__builtin_ia32_cmpneq{s}({0}, {1})"),
    InstrRow(
        op="any",
        dtypes="i8 i16 i32 i64",
        bits=128,
        c="(__builtin_ia32_pmovmskb128((c8x16){0}) != 0)",
    ),
    InstrRow(
        op="bits", dtypes="i8", bits=128, c="(uint64_t)__builtin_ia32_pmovmskb128((c8x16){0})"
    ),
    InstrRow(op="bits", dtypes="i32", bits=128, c="(uint64_t)__builtin_ia32_movmskps((f32x4){0})"),
    InstrRow(op="bits", dtypes="i64", bits=128, c="(uint64_t)__builtin_ia32_movmskpd((f64x2){0})"),
)

SSE2 = Target(
    name="sse2",
    machine="x86_64",
    bits=128,
    masks="lanes",
    registers=16,
    cflags=(*COMMON_CFLAGS, "-msse2"),
    cpu=frozenset({"sse2"}),
    suffix=SUFFIX,
    register="x",
    stream="movntps",
    rows=_ROWS + GNU_ROWS,
    headers=("sse2.h", "x86.h"),
)
