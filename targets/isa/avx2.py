"""Target `avx2`: AVX2 with FMA and BMI, x86-64 machines since 2013.

An operation is a row with ``c=`` (a builtin), a row with ``asm=`` (one instruction), or a template in
``headers/avx2.h`` (several instructions) or in ``headers/x86.h`` (several instructions that SSE2 needs as
well, while AVX-512 has one): `InstrRow` says which to choose. Float comparisons are the quiet ones: a NaN
operand raises no invalid flag.
"""
from __future__ import annotations

from .gnu_vector_rows import COMPARISON_ROWS, FLOATS, GNU_ROWS, SIGNED, UNSIGNED
from .sse2 import SUFFIX
from .target import COMMON_CFLAGS, InstrRow, Target

__all__ = ["AVX2", "AVX_ROWS", "CFLAGS", "CPU"]

CFLAGS = (*COMMON_CFLAGS, "-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt")
CPU = frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2", "lzcnt", "popcnt"})
_BOTH = (128, 256)

AVX_ROWS = (  # AVX-512 has them, too, on all its registers
    InstrRow(op="sqrt", dtypes=FLOATS, bits=_BOTH, asm="vsqrt{s} %1, %0"),
    InstrRow(op="min", dtypes="i8 i16 i32", bits=_BOTH, asm="vpmins{s} %2, %1, %0"),
    InstrRow(op="max", dtypes="i8 i16 i32", bits=_BOTH, asm="vpmaxs{s} %2, %1, %0"),
    InstrRow(op="min", dtypes="u8 u16 u32", bits=_BOTH, asm="vpminu{s} %2, %1, %0"),
    InstrRow(op="max", dtypes="u8 u16 u32", bits=_BOTH, asm="vpmaxu{s} %2, %1, %0"),
    InstrRow(op="abs", dtypes="i8 i16 i32", bits=_BOTH, asm="vpabs{s} %1, %0"),
    InstrRow(op="saturating_add", dtypes="i8 i16", bits=_BOTH, asm="vpadds{s} %2, %1, %0"),
    InstrRow(op="saturating_sub", dtypes="i8 i16", bits=_BOTH, asm="vpsubs{s} %2, %1, %0"),
    InstrRow(op="saturating_add", dtypes="u8 u16", bits=_BOTH, asm="vpaddus{s} %2, %1, %0"),
    InstrRow(op="saturating_sub", dtypes="u8 u16", bits=_BOTH, asm="vpsubus{s} %2, %1, %0"),
    InstrRow(op="short_mul", dtypes="i64", bits=_BOTH, asm="vpmuldq %2, %1, %0"),
    InstrRow(op="short_mul", dtypes="u64", bits=_BOTH, asm="vpmuludq %2, %1, %0"),
    InstrRow(op="cast", source="i8", dtypes="i16 u16", bits=_BOTH, asm="vpmovsxbw %1, %0"),
    InstrRow(op="cast", source="u8", dtypes="i16 u16", bits=_BOTH, asm="vpmovzxbw %1, %0"),
    InstrRow(op="cast", source="i8", dtypes="i32 u32", bits=_BOTH, asm="vpmovsxbd %1, %0"),
    InstrRow(op="cast", source="u8", dtypes="i32 u32", bits=_BOTH, asm="vpmovzxbd %1, %0"),
    InstrRow(op="cast", source="i16", dtypes="i32 u32", bits=_BOTH, asm="vpmovsxwd %1, %0"),
    InstrRow(op="cast", source="u16", dtypes="i32 u32", bits=_BOTH, asm="vpmovzxwd %1, %0"),
    InstrRow(op="cast", source="i8", dtypes="i64 u64", bits=_BOTH, asm="vpmovsxbq %1, %0"),
    InstrRow(op="cast", source="u8", dtypes="i64 u64", bits=_BOTH, asm="vpmovzxbq %1, %0"),
    InstrRow(op="cast", source="i16", dtypes="i64 u64", bits=_BOTH, asm="vpmovsxwq %1, %0"),
    InstrRow(op="cast", source="u16", dtypes="i64 u64", bits=_BOTH, asm="vpmovzxwq %1, %0"),
    InstrRow(op="cast", source="i32", dtypes="i64 u64", bits=_BOTH, asm="vpmovsxdq %1, %0"),
    InstrRow(op="cast", source="u32", dtypes="i64 u64", bits=_BOTH, asm="vpmovzxdq %1, %0"),
    InstrRow(op="cast", source="f32", dtypes="f64", bits=256, asm="vcvtps2pd %1, %0"),
    InstrRow(op="cast", source="i32", dtypes="f64", bits=256, asm="vcvtdq2pd %1, %0"),
    InstrRow(op="cast", source="f16", dtypes="f32", bits=256, asm="vcvtph2ps %1, %0"),
    InstrRow(op="cast", source="f32", dtypes="f16", bits=128, asm="vcvtps2ph $4, %1, %0"),
)

# What AVX2 has in another form than AVX-512; `InstrRow` explains the columns. No two rows of a
# target cover the same operands: for another instruction than that of a row of GNU_ROWS or
# COMPARISON_ROWS, leave that row out of `rows`; for one of AVX_ROWS, change the row there.
# Immediates of vround: the rounding mode (0 to nearest, 1 down, 2 up, 3 to zero) + 8, no inexact
# flag; of cmp: 17 and 18 are quiet < and <=, that is, without a flag for a NaN, and 21 and 22
# their negations.
_ROWS = (
    InstrRow(op="rint", dtypes=FLOATS, bits=_BOTH, asm="vround{s} $8, %1, %0"),
    InstrRow(op="floor", dtypes=FLOATS, bits=_BOTH, asm="vround{s} $9, %1, %0"),
    InstrRow(op="ceil", dtypes=FLOATS, bits=_BOTH, asm="vround{s} $10, %1, %0"),
    InstrRow(op="trunc", dtypes=FLOATS, bits=_BOTH, asm="vround{s} $11, %1, %0"),
    InstrRow(op="lt", dtypes=FLOATS, bits=256, c="({i})__builtin_ia32_cmp{s}256({0}, {1}, 17)"),
    InstrRow(op="le", dtypes=FLOATS, bits=256, c="({i})__builtin_ia32_cmp{s}256({0}, {1}, 18)"),
    InstrRow(op="not_lt", dtypes=FLOATS, bits=256, c="({i})__builtin_ia32_cmp{s}256({0}, {1}, 21)"),
    InstrRow(op="not_le", dtypes=FLOATS, bits=256, c="({i})__builtin_ia32_cmp{s}256({0}, {1}, 22)"),
    InstrRow(op="lt", dtypes=FLOATS, bits=128, c="({i})__builtin_ia32_cmp{s}({0}, {1}, 17)"),
    InstrRow(op="le", dtypes=FLOATS, bits=128, c="({i})__builtin_ia32_cmp{s}({0}, {1}, 18)"),
    InstrRow(op="not_lt", dtypes=FLOATS, bits=128, c="({i})__builtin_ia32_cmp{s}({0}, {1}, 21)"),
    InstrRow(op="not_le", dtypes=FLOATS, bits=128, c="({i})__builtin_ia32_cmp{s}({0}, {1}, 22)"),
    InstrRow(
        op="select", dtypes=FLOATS, bits=256, c="__builtin_ia32_blendv{s}256({2}, {1}, ({v}){0})"
    ),
    InstrRow(
        op="select", dtypes=FLOATS, bits=128, c="__builtin_ia32_blendv{s}({2}, {1}, ({v}){0})"
    ),
    InstrRow(
        op="select",
        dtypes=f"{SIGNED} {UNSIGNED}",
        bits=256,
        c="({v})__builtin_ia32_pblendvb256((c8x32){2}, (c8x32){1}, (c8x32){0})",
    ),
    InstrRow(
        op="select",
        dtypes=f"{SIGNED} {UNSIGNED}",
        bits=128,
        c="({v})__builtin_ia32_pblendvb128((c8x16){2}, (c8x16){1}, (c8x16){0})",
    ),
    InstrRow(op="any", dtypes=SIGNED, bits=256, c="(__builtin_ia32_pmovmskb256((c8x32){0}) != 0)"),
    InstrRow(
        op="bits",
        dtypes="i8",
        bits=256,
        c="(uint64_t)(uint32_t)__builtin_ia32_pmovmskb256((c8x32){0})",
    ),
    InstrRow(
        op="bits", dtypes="i32", bits=256, c="(uint64_t)__builtin_ia32_movmskps256((f32x8){0})"
    ),
    InstrRow(
        op="bits", dtypes="i64", bits=256, c="(uint64_t)__builtin_ia32_movmskpd256((f64x4){0})"
    ),
    InstrRow(
        op="bits", dtypes="i8", bits=128, c="(uint64_t)__builtin_ia32_pmovmskb128((c8x16){0})"
    ),
    InstrRow(op="bits", dtypes="i32", bits=128, c="(uint64_t)__builtin_ia32_movmskps((f32x4){0})"),
)

AVX2 = Target(
    name="avx2",
    machine="x86_64",
    bits=256,
    masks="lanes",
    registers=16,
    cflags=CFLAGS,
    cpu=CPU,
    suffix=SUFFIX,
    register="x",
    stream="vmovntps",
    rows=AVX_ROWS + _ROWS + GNU_ROWS + COMPARISON_ROWS,
    has_fma=True,
    permutes=True,
    headers=("avx2.h", "x86.h"),
)
