"""Vector math library (libm for vectors) as C: the sections of `vmath*.h` for one vector type.

A section begins with a line ``//: name@tags needs other sections``. Of several sections with one
name whose tags all hold for a `_Form`, the one with the most tags is taken. `vector_math_source`
collects the section of a function and all that it needs, and writes them for the type: ``$word`` is
filled in, ``F``, ``I``, ``U`` become vector types, and ``horner_F`` nested multiply-adds.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from string import Template

import numpy as np

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record

from ..isa.target import Target
from .headers import header_names, read_header

__all__ = [
    "BINARY_MATH_FUNCTIONS", "MATH_FUNCTIONS", "one_lane_function", "vector_math_source",
]

MATH_FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "cbrt", "erf", "sigmoid", "atan2", "hypot", "pow", "cexp_re", "cexp_im",
)
BINARY_MATH_FUNCTIONS = ("atan2", "hypot", "pow", "cexp_re", "cexp_im")

_SMALLEST = 128  # smallest register in bits that the headers support

_WORDS: dict[str, dict[str, str]] = {
    "f32": {
        "s": "float", "f": "f", "int": "int", "q": "d", "ps": "ps", "sf": "sf",
        "shift": "0x1.8p23f", "top": "31",
        "abs": "0x7fffffff", "sign": "0x80000000u", "inf": "0x7f800000",
        "normal": "0x00800000", "one": "0x3f800000",
        "mantissa": "23", "steep": "87.3f", "exphalf": "75", "tanhfar": "9.1f",
        "square": "1e18f", "smallsquare": "1e-15f", "floor": "1e-37f",
    },
    "f64": {
        "s": "double", "f": "", "int": "long long", "q": "q", "ps": "pd", "sf": "df",
        "shift": "0x1.8p52", "top": "63",
        "abs": "0x7fffffffffffffff", "sign": "0x8000000000000000u", "inf": "0x7ff0000000000000",
        "normal": "0x0010000000000000",
        "one": "0x3ff0000000000000",
        "mantissa": "52", "steep": "708.0", "exphalf": "512", "tanhfar": "19.1",
        "square": "1e150", "smallsquare": "1e-140", "floor": "1e-300",
    },
}

_SECTION = re.compile(r"^//: (\w+)(?:@(\S+))?(?: needs (.*))?\n", re.M)
_HORNER = re.compile(r"\bhorner_F\((\w+), ([^()]*)\)")
_DECIMAL = re.compile(r"(?<=\ball_F\()-?\d+\.\d+(?:e-?\d+)?(?=\))")
_TYPE = re.compile(r"(?<![A-Za-z0-9])[FIUHD]\b")


@record(frozen=True, slots=True)
class _Section:
    """A section of `vmath*.h`."""

    name: str
    tags: frozenset[str]  # the targets, dtypes, sizes or functions that it is for
    needs: tuple[str, ...]  # sections that precede it; `D:name`: for doubles in half as many lanes
    text: str


@record(frozen=True, slots=True)
class _Form:
    """A vector type on a target; its ``tags`` select sections."""

    op: str
    dtype: str
    lanes: int
    target: Target

    @property
    def bits(self) -> int:
        return DTYPES[self.dtype].bits * self.lanes

    @property
    def tags(self) -> frozenset[str]:
        """The tags that a section may have for this form."""
        fused = "fused" if self.target.has_fma else "unfused"
        size = str(self.bits)
        return frozenset((self.target.name, self.target.machine, fused, self.dtype, size, self.op))

    @property
    def is_native(self) -> bool:
        """Whether the target has registers of this size."""
        return _SMALLEST <= self.bits <= self.target.bits

    def half(self) -> _Form:
        """The form of vectors of doubles with half as many lanes."""
        return _Form(self.op, "f64", self.lanes // 2, self.target)

    def type(self, letter: str) -> str:
        """The vector type that a type letter of `vmath*.h` stands for."""
        bits, lanes = DTYPES[self.dtype].bits, self.lanes
        match letter:
            case "H":
                return f"f{bits}x{lanes // 2}"
            case "D":
                return f"f{2 * bits}x{lanes // 2}"
            case _:
                return f"{letter.lower()}{bits}x{lanes}"

    def words(self) -> dict[str, str]:
        """The values of ``$word`` in a section."""
        return _WORDS[self.dtype] | {
            "op": self.op, "width": str(DTYPES[self.dtype].bits), "lanes": str(self.lanes),
            "bits": str(self.bits), "bytes": str(self.bits // 8),
            "v256": "256" if self.bits == 256 else "",
        }


@functools.cache
def _sections() -> tuple[_Section, ...]:
    """The sections of all headers `vmath*.h`."""
    return tuple(s for name in header_names("vmath") for s in _read(read_header(name)))


def _read(text: str) -> Iterator[_Section]:
    """The sections of a header."""
    fields = iter(_SECTION.split(text)[1:])
    for name, tags, needs, body in zip(fields, fields, fields, fields, strict=True):
        section_tags = frozenset(tags.split(".") if tags else ())
        yield _Section(name, section_tags, tuple((needs or "").split()), body)


def _find(name: str, form: _Form) -> _Section:
    """The section `name` for `form`: of those whose tags it all has, the one with the most tags.
    That there is exactly one is asserted.
    """
    candidates = [s for s in _sections() if s.name == name and s.tags <= form.tags]
    max_tags = max((len(s.tags) for s in candidates), default=0)
    best = [s for s in candidates if len(s.tags) == max_tags]
    assert len(best) == 1, f"{len(best)} {name} for {form}"
    return best[0]


def _horner(m: re.Match[str]) -> str:
    """``horner_F(x, c, b, a)`` → nested fma."""
    first, *rest = (c.strip() for c in m[2].split(","))
    return functools.reduce(
        lambda p, c: f"fma_F({p}, {m[1]}, all_F({c}))", rest, f"all_F({first})"
    )


def _single(m: re.Match[str]) -> str:
    """A decimal literal rounded to float32 once, in hexadecimal."""
    return float(np.float32(float(m[0]))).hex()


def _order(name: str, form: _Form) -> list[tuple[_Section, _Form]]:
    """The section `name` and all sections that it needs, directly or not: each once, and before
    those that need it, as C wants definitions. `vector_math_source` prints them in this order.

        //: expreduce needs base ln2             →    mask, select, bits, fma, base, ln2, expreduce
        //: base needs mask select bits fma           (for SSE2)

    Each comes with the vector type that it is to be printed for: `form`, or for a need written
    ``D:name`` (of a float32 function that computes in double) vectors of doubles with half as many
    lanes, and so the same size.
    """
    section = _find(name, form)
    needed = list[tuple[_Section, _Form]]()
    for need in section.needs:
        in_doubles = need.startswith("D:")
        needed += _order(need[2:], form.half()) if in_doubles else _order(need, form)
    return list(dict.fromkeys([*needed, (section, form)]))


def _write(section: _Section, form: _Form) -> str:
    """The C text of a section for one vector type. For 8 floats::

        static F add_F(F x, F y) { return x + horner_F(y, 0.5, 1.0); }
        →
        #ifndef VMATH_add_f32x8
        #define VMATH_add_f32x8
        static f32x8 add_f32x8(f32x8 x, f32x8 y) { return x + fma_f32x8(all_f32x8(…), y, …); }
        #endif

    A kernel may have several math functions that need the same section: hence the ``#ifndef``.
    """
    is_per_function = "$op" in section.text or "${op}" in section.text
    guard_name = f"{section.name}_{form.op}" if is_per_function else section.name
    # 1. horner_F(…) becomes nested multiply-adds; 2. $word the value of the word for this form
    text = Template(_HORNER.sub(_horner, section.text)).substitute(form.words())
    if form.dtype == "f32":  # 3. decimal constants are rounded once, here
        text = _DECIMAL.sub(_single, text)
    text = _TYPE.sub(lambda m: form.type(m[0]), text)  # 4. F, I, U, H, D become vector types
    guard = f"VMATH_{guard_name}_{form.type('F')}"
    return f"#ifndef {guard}\n#define {guard}\n{text.rstrip()}\n#endif\n"


@functools.cache
def vector_math_source(op: str, dtype: str, lanes: int, target: Target) -> str | None:
    """C text that defines ``tp_<op>_<dtype>x<lanes>``, such as ``tp_exp_f64x8``, with all that it
    needs; None where there is no such function.

    The algorithm is in ``headers/vmath_exp.h`` and its neighbours: range reduction, a polynomial,
    reconstruction. ``vmath.h`` states the error bounds, which `Op.ulps` promises. Special values
    and the flags divide, overflow and invalid are libm's. Of vectors smaller than any register the
    rest of one is filled (`_filled`); larger ones than `target` has go through libm, lane by lane.
    The text assumes the vector types of that many lanes (``f64x8``, ``i64x8``, ``u64x8``), and may
    be concatenated with others.
    """
    if op not in MATH_FUNCTIONS or dtype not in _WORDS or not target.bits or lanes < 2:
        return None
    form = _Form(op, dtype, lanes, target)
    if form.bits < _SMALLEST:
        return _filled(f"tp_{op}_{dtype}x{lanes}", op, dtype, lanes)
    lanewise = "lanewise2" if op in BINARY_MATH_FUNCTIONS else "lanewise"
    return "\n".join(_write(s, f) for s, f in _order(op if form.is_native else lanewise, form))


def one_lane_function(op: str, dtype: str, target: Target) -> str | None:
    """C text that defines ``tp_lane_<op>_<dtype>``, a function of numbers with the bits of vectors
    of `target`; None where there is no such function::

        static inline double tp_lane_exp_f64(double a)
        {
            f64x2 z = tp_exp_f64x2((f64x2){a, a});
            return z[0];
        }
    """
    if op not in MATH_FUNCTIONS or dtype not in _WORDS or not target.bits:
        return None
    return _filled(f"tp_lane_{op}_{dtype}", op, dtype, 1)


def _filled(name: str, op: str, dtype: str, lanes: int) -> str:
    """C text that defines `name`, a function of so few `lanes` that they do not fill the smallest
    register: it calls `op` on that register, with the lanes again in the rest of it.
    """
    whole = _SMALLEST // DTYPES[dtype].bits
    arguments = "ab" if op in BINARY_MATH_FUNCTIONS else "a"
    kind = f"{dtype}x{lanes}" if lanes > 1 else DTYPES[dtype].c

    def filled(x: str) -> str:
        elements = [f"{x}[{k % lanes}]" if lanes > 1 else x for k in range(whole)]
        return f"({dtype}x{whole}){{{', '.join(elements)}}}"

    parameters = ", ".join(f"{kind} {x}" for x in arguments)
    call = f"tp_{op}_{dtype}x{whole}({', '.join(map(filled, arguments))})"
    result = f"({kind}){{{', '.join(f'z[{k}]' for k in range(lanes))}}}" if lanes > 1 else "z[0]"
    return (
        f"static inline {kind} {name}({parameters})\n"
        f"{{\n    {dtype}x{whole} z = {call};\n    return {result};\n}}\n"
    )
