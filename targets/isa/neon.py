"""Target `neon`: the baseline of AArch64.

An operation is one of C's that every target shares (`gnu_vector_rows`), a row with ``asm=`` (one
instruction), or a template in ``headers/neon.h`` (several): `InstrRow` says which to choose. The
float comparisons < and <= of NEON raise a flag for a NaN, so they have no row.
"""
from __future__ import annotations

from .gnu_vector_rows import COMPARISON_ROWS, GNU_ROWS
from .target import InstrRow, Target

__all__ = ["NEON"]

_SIZES = (64, 128)
_SUFFIX = dict(
    f16="h", f32="s", f64="d", i8="b", u8="b", i16="h", u16="h", i32="s", u32="s", i64="d", u64="d"
)

# The instructions of NEON; `InstrRow` explains the columns. No two rows of a target cover the same
# operands: for another instruction than that of a row of GNU_ROWS, leave that row out of `rows`.
_ROWS = (
    InstrRow(op="sqrt", dtypes="f32", bits=_SIZES, asm="fsqrt %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="floor", dtypes="f32", bits=_SIZES, asm="frintm %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="ceil", dtypes="f32", bits=_SIZES, asm="frintp %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="trunc", dtypes="f32", bits=_SIZES, asm="frintz %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="rint", dtypes="f32", bits=_SIZES, asm="frintn %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="sqrt", dtypes="f64", bits=128, asm="fsqrt %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="floor", dtypes="f64", bits=128, asm="frintm %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="ceil", dtypes="f64", bits=128, asm="frintp %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="trunc", dtypes="f64", bits=128, asm="frintz %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="rint", dtypes="f64", bits=128, asm="frintn %0.{l}{s}, %1.{l}{s}"),
    InstrRow(op="ieee_maximum", dtypes="f32", bits=_SIZES, asm="fmax %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="ieee_minimum", dtypes="f32", bits=_SIZES, asm="fmin %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="ieee_maximum", dtypes="f64", bits=128, asm="fmax %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="ieee_minimum", dtypes="f64", bits=128, asm="fmin %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="saturating_add", dtypes="i8 i16 i32", bits=_SIZES, asm="sqadd %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="saturating_sub", dtypes="i8 i16 i32", bits=_SIZES, asm="sqsub %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="saturating_add", dtypes="u8 u16 u32", bits=_SIZES, asm="uqadd %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="saturating_sub", dtypes="u8 u16 u32", bits=_SIZES, asm="uqsub %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="saturating_add", dtypes="i64", bits=128, asm="sqadd %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="saturating_sub", dtypes="i64", bits=128, asm="sqsub %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="saturating_add", dtypes="u64", bits=128, asm="uqadd %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="saturating_sub", dtypes="u64", bits=128, asm="uqsub %0.{l}{s}, %1.{l}{s}, %2.{l}{s}"),
    InstrRow(op="cast", source="f16", dtypes="f32", bits=128, asm="fcvtl %0.4s, %1.4h"),
    InstrRow(op="cast", source="f32", dtypes="f16", bits=64, asm="fcvtn %0.4h, %1.4s"),
)

NEON = Target(
    name="neon", machine="aarch64", bits=128, masks="lanes", registers=32,
    cpu=frozenset({"asimd"}),
    suffix=_SUFFIX, register="w", rows=_ROWS + GNU_ROWS + COMPARISON_ROWS,
    has_fma=True, permutes=True, headers=("neon.h",),
)
