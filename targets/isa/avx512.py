"""Target `avx512`: AVX-512 with BW, DQ and VL; masks are bits in mask registers.

An operation is a row with ``c=`` (a builtin), a row with ``asm=`` (one instruction), or a template in
``headers/avx512.h`` (several instructions, or builtins that differ between compilers): `InstrRow`
says which to choose.
"""
from __future__ import annotations

from .avx2 import AVX_ROWS, CFLAGS, CPU
from .cpu_features import features
from .gnu_vector_rows import FLOATS, GNU_ROWS, SIGNED, UNSIGNED
from .sse2 import SUFFIX
from .target import InstrRow, Target

__all__ = ["AVX512"]

_SMALL = (128, 256)
_EACH = (128, 256, 512)
_INTS = f"{SIGNED} {UNSIGNED}"

_COMPARISONS = (
    InstrRow(
        op="eq",
        dtypes=FLOATS,
        bits=512,
        c="(({m})__builtin_ia32_cmp{s}512_mask({0}, {1}, 0, -1, 4))",
    ),
    InstrRow(
        op="lt",
        dtypes=FLOATS,
        bits=512,
        c="(({m})__builtin_ia32_cmp{s}512_mask({0}, {1}, 17, -1, 4))",
    ),
    InstrRow(
        op="le",
        dtypes=FLOATS,
        bits=512,
        c="(({m})__builtin_ia32_cmp{s}512_mask({0}, {1}, 18, -1, 4))",
    ),
    InstrRow(
        op="not_lt",
        dtypes=FLOATS,
        bits=512,
        c="(({m})__builtin_ia32_cmp{s}512_mask({0}, {1}, 21, -1, 4))",
    ),
    InstrRow(
        op="not_le",
        dtypes=FLOATS,
        bits=512,
        c="(({m})__builtin_ia32_cmp{s}512_mask({0}, {1}, 22, -1, 4))",
    ),
    InstrRow(
        op="ne",
        dtypes=FLOATS,
        bits=512,
        c="(({m})__builtin_ia32_cmp{s}512_mask({0}, {1}, 4, -1, 4))",
    ),
    InstrRow(
        op="eq",
        dtypes=FLOATS,
        bits=_SMALL,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask({0}, {1}, 0, -1))",
    ),
    InstrRow(
        op="lt",
        dtypes=FLOATS,
        bits=_SMALL,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask({0}, {1}, 17, -1))",
    ),
    InstrRow(
        op="le",
        dtypes=FLOATS,
        bits=_SMALL,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask({0}, {1}, 18, -1))",
    ),
    InstrRow(
        op="not_lt",
        dtypes=FLOATS,
        bits=_SMALL,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask({0}, {1}, 21, -1))",
    ),
    InstrRow(
        op="not_le",
        dtypes=FLOATS,
        bits=_SMALL,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask({0}, {1}, 22, -1))",
    ),
    InstrRow(
        op="ne",
        dtypes=FLOATS,
        bits=_SMALL,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask({0}, {1}, 4, -1))",
    ),
    InstrRow(
        op="eq",
        dtypes=_INTS,
        bits=_EACH,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask(({n}){0}, ({n}){1}, 0, -1))",
    ),
    InstrRow(
        op="ne",
        dtypes=_INTS,
        bits=_EACH,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask(({n}){0}, ({n}){1}, 4, -1))",
    ),
    InstrRow(
        op="lt",
        dtypes=SIGNED,
        bits=_EACH,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask(({n}){0}, ({n}){1}, 1, -1))",
    ),
    InstrRow(
        op="le",
        dtypes=SIGNED,
        bits=_EACH,
        c="(({m})__builtin_ia32_cmp{s}{w}_mask(({n}){0}, ({n}){1}, 2, -1))",
    ),
    InstrRow(
        op="lt",
        dtypes=UNSIGNED,
        bits=_EACH,
        c="(({m})__builtin_ia32_ucmp{s}{w}_mask(({n}){0}, ({n}){1}, 1, -1))",
    ),
    InstrRow(
        op="le",
        dtypes=UNSIGNED,
        bits=_EACH,
        c="(({m})__builtin_ia32_ucmp{s}{w}_mask(({n}){0}, ({n}){1}, 2, -1))",
    ),
)

# The instructions of AVX-512; `InstrRow` explains the columns. They are tried before AVX_ROWS and
# GNU_ROWS, so for another instruction for an operation that one of these has (such as ``add``), add
# a row here. Comparisons, whose results are bits, are in `_COMPARISONS`.
# Immediates of vrndscale: the rounding mode (0 to nearest, 1 down, 2 up, 3 to zero) + 8, no inexact
# flag; of vcvtps2ph, 4: as the mode of the CPU; of cmp: 0 is ==, 4 is !=, 17 and 18 are quiet < and
# <=, that is, without a flag for a NaN, and 21 and 22 their negations.
_ROWS = (
    InstrRow(op="sqrt", dtypes=FLOATS, bits=512, asm="vsqrt{s} %1, %0"),
    InstrRow(op="rint", dtypes=FLOATS, bits=_EACH, asm="vrndscale{s} $8, %1, %0"),
    InstrRow(op="floor", dtypes=FLOATS, bits=_EACH, asm="vrndscale{s} $9, %1, %0"),
    InstrRow(op="ceil", dtypes=FLOATS, bits=_EACH, asm="vrndscale{s} $10, %1, %0"),
    InstrRow(op="trunc", dtypes=FLOATS, bits=_EACH, asm="vrndscale{s} $11, %1, %0"),
    # Computes b < a ? b : a for the operands a = %1 and b = %2. {sae} (suppress all exceptions): no
    # flag is raised for NaN. Its braces are written twice for str.format, and after % for GCC, which
    # takes bare ones for alternatives of assembler dialects.
    InstrRow(op="min", dtypes=FLOATS, bits=512, asm="vmin{s} %{{sae%}}, %1, %2, %0"),
    InstrRow(op="max", dtypes=FLOATS, bits=512, asm="vmax{s} %{{sae%}}, %1, %2, %0"),
    InstrRow(op="min", dtypes=SIGNED, bits=512, asm="vpmins{s} %2, %1, %0"),
    InstrRow(op="max", dtypes=SIGNED, bits=512, asm="vpmaxs{s} %2, %1, %0"),
    InstrRow(op="min", dtypes=UNSIGNED, bits=512, asm="vpminu{s} %2, %1, %0"),
    InstrRow(op="max", dtypes=UNSIGNED, bits=512, asm="vpmaxu{s} %2, %1, %0"),
    InstrRow(op="abs", dtypes=SIGNED, bits=512, asm="vpabs{s} %1, %0"),
    InstrRow(op="saturating_add", dtypes="i8 i16", bits=512, asm="vpadds{s} %2, %1, %0"),
    InstrRow(op="saturating_sub", dtypes="i8 i16", bits=512, asm="vpsubs{s} %2, %1, %0"),
    InstrRow(op="saturating_add", dtypes="u8 u16", bits=512, asm="vpaddus{s} %2, %1, %0"),
    InstrRow(op="saturating_sub", dtypes="u8 u16", bits=512, asm="vpsubus{s} %2, %1, %0"),
    InstrRow(op="short_mul", dtypes="i64", bits=512, asm="vpmuldq %2, %1, %0"),
    InstrRow(op="short_mul", dtypes="u64", bits=512, asm="vpmuludq %2, %1, %0"),
    InstrRow(
        op="popcount",
        dtypes="i32 u32 i64 u64",
        bits=_EACH,
        asm="vpopcnt{s} %1, %0",
        needs="avx512_vpopcntdq",
    ),
    InstrRow(
        op="popcount",
        dtypes="i8 u8 i16 u16",
        bits=_EACH,
        asm="vpopcnt{s} %1, %0",
        needs="avx512_bitalg",
    ),
    InstrRow(op="cast", source="i8", dtypes="i16 u16", bits=512, asm="vpmovsxbw %1, %0"),
    InstrRow(op="cast", source="u8", dtypes="i16 u16", bits=512, asm="vpmovzxbw %1, %0"),
    InstrRow(op="cast", source="i8", dtypes="i32 u32", bits=512, asm="vpmovsxbd %1, %0"),
    InstrRow(op="cast", source="u8", dtypes="i32 u32", bits=512, asm="vpmovzxbd %1, %0"),
    InstrRow(op="cast", source="i8", dtypes="i64 u64", bits=512, asm="vpmovsxbq %1, %0"),
    InstrRow(op="cast", source="u8", dtypes="i64 u64", bits=512, asm="vpmovzxbq %1, %0"),
    InstrRow(op="cast", source="i16", dtypes="i32 u32", bits=512, asm="vpmovsxwd %1, %0"),
    InstrRow(op="cast", source="u16", dtypes="i32 u32", bits=512, asm="vpmovzxwd %1, %0"),
    InstrRow(op="cast", source="i16", dtypes="i64 u64", bits=512, asm="vpmovsxwq %1, %0"),
    InstrRow(op="cast", source="u16", dtypes="i64 u64", bits=512, asm="vpmovzxwq %1, %0"),
    InstrRow(op="cast", source="i32", dtypes="i64 u64", bits=512, asm="vpmovsxdq %1, %0"),
    InstrRow(op="cast", source="u32", dtypes="i64 u64", bits=512, asm="vpmovzxdq %1, %0"),
    InstrRow(op="cast", source="i16 u16", dtypes="i8 u8", bits=_SMALL, asm="vpmovwb %1, %0"),
    InstrRow(op="cast", source="i32 u32", dtypes="i8 u8", bits=128, asm="vpmovdb %1, %0"),
    InstrRow(op="cast", source="i32 u32", dtypes="i16 u16", bits=_SMALL, asm="vpmovdw %1, %0"),
    InstrRow(op="cast", source="i64 u64", dtypes="i8 u8", bits=64, asm="vpmovqb %1, %0"),
    InstrRow(op="cast", source="i64 u64", dtypes="i16 u16", bits=128, asm="vpmovqw %1, %0"),
    InstrRow(op="cast", source="i64 u64", dtypes="i32 u32", bits=256, asm="vpmovqd %1, %0"),
    InstrRow(op="cast", source="f32", dtypes="f64", bits=512, asm="vcvtps2pd %1, %0"),
    InstrRow(op="cast", source="i32", dtypes="f64", bits=512, asm="vcvtdq2pd %1, %0"),
    InstrRow(op="cast", source="u32", dtypes="f64", bits=512, asm="vcvtudq2pd %1, %0"),
    InstrRow(op="cast", source="f16", dtypes="f32", bits=512, asm="vcvtph2ps %1, %0"),
    InstrRow(op="cast", source="f32", dtypes="f16", bits=256, asm="vcvtps2ph $4, %1, %0"),
    InstrRow(op="cast", source="f32", dtypes="i64", bits=512, asm="vcvttps2qq %1, %0"),
    InstrRow(op="cast", source="f32", dtypes="u64", bits=512, asm="vcvttps2uqq %1, %0"),
)

_FEATURES = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
_OPTIONAL = frozenset({"avx512_vpopcntdq", "avx512_bitalg"})
"""The features that not every CPU with AVX-512 has: each ``needs`` of a row."""
# a row that needs a feature which is not listed would never be used
assert {row.needs for row in _ROWS} <= {"", *_OPTIONAL}
_EXTRAS = features() & _OPTIONAL

AVX512 = Target(
    name="avx512",
    machine="x86_64",
    bits=512,
    masks="bits",
    registers=32,
    cflags=(*CFLAGS, *(f"-m{x.replace('_', '')}" for x in (*_FEATURES, *sorted(_EXTRAS)))),
    cpu=CPU | frozenset(_FEATURES),
    extras=_EXTRAS,
    suffix=SUFFIX,
    register="v",
    stream="vmovntps",
    rows=_COMPARISONS + _ROWS + AVX_ROWS + GNU_ROWS,
    has_fma=True,
    permutes=True,
    headers=("avx512.h",),
    caches=(48 << 10, 1 << 20, 32 << 20),
)
