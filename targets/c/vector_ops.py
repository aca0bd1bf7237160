"""Vector operations as C functions: an instruction row, a template, several steps, scalarised.

`vector_op` writes a use, ``tp_<op>_<type>(…)`` or the C of an instruction row; `define_vector_op`
later gives the definition of each function that the text uses. It tries, in this order: a row of
the target, a template of the target's headers or of `vector.h`, and a loop over lanes in scalar C
(`scalarized_function`).

A template is a section of a header under a heading such as ``/* i32 i64 wide 512: … */``: for which
dtypes, and under which conditions (`_CONDITIONS`). `fill_template` replaces its tokens, such as V
by the vector type::

    /* iuf: x in every lane */
    static inline V tp_splat_V(T x) { return (V){EACH(x)}; }
    → for f32x4
    static inline f32x4 tp_splat_f32x4(float x) { return (f32x4){x, x, x, x}; }

The comment at the top of ``headers/vector.h`` says what each condition and each token means. A new
condition or token needs a line there; a condition also an entry in `_CONDITIONS`, and both their
values in the facts of a type (`_vector_facts`, `_mask_facts`, `_scalar_facts`).
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.op_table import OPS

from ..isa.target import InstrRow, Target, Vec, mask_type
from .headers import read_header

__all__ = [
    "TemplateFacts", "fill_template", "BOOL_OPS", "define_vector_op", "scalarized_function",
    "comparison_type", "vector_op", "scalar_op", "parse_vector_type",
]

_CONDITIONS = (
    "lanes", "bits",               # how the target represents masks (`Target.masks`)
    "narrow", "wide",              # fewer than 128 bits, or not
    "fused", "permutes",           # what the target has: `Target.has_fma`, `Target.permutes`
    "fits", "split",               # whether a Q, the floats of a quotient, fits a register
    "power",                       # the divisor NUMBER is a power of two
    "32", "64", "128", "256", "512",  # the bits of the vector
)
"""The words of a heading that are conditions; the others are dtypes, or the letters of kinds."""

_WORD = rf"(?:[biufm]+|[iuf]\d+|{'|'.join(_CONDITIONS)})"
_HEAD = re.compile(rf"^/\* ({_WORD}(?: {_WORD})*)(?::.*)? \*/$", re.MULTILINE)
_DEFINED = re.compile(r"\b(tp_\w+)_[A-Z]+\(")


@record(frozen=True, slots=True)
class TemplateFacts:
    """What selects and fills a template section, for one type on one target."""

    dtype: str  # "m": a mask of bits
    words: frozenset[str]  # the conditions (`_CONDITIONS`) that are true
    tokens: Mapping[str, str]  # the texts that replace tokens of the section


@record(frozen=True, slots=True)
class _TemplateSection:
    """A section of a template file."""

    words: tuple[str, ...]  # of its heading: dtypes or dtype kinds, and conditions
    text: str  # without the heading

    def fits(self, facts: TemplateFacts) -> bool:
        """Whether the section is for the dtype of `facts`, and all of its conditions are true."""
        conditions = [w for w in self.words if w in _CONDITIONS]
        kinds = [w for w in self.words if w not in _CONDITIONS]
        is_for_dtype = any(w == facts.dtype or (w.isalpha() and facts.dtype[0] in w) for w in kinds)
        return is_for_dtype and facts.words.issuperset(conditions)


def fill_template(file: str, name: str, facts: TemplateFacts) -> str | None:
    """The first section of `file` that defines `name` and matches `facts`, filled in; or None."""
    for section in _sections(file).get(name, ()):
        if section.fits(facts):
            return _filled(section.text, facts.tokens)
    return None


@cache
def _sections(file: str) -> dict[str, list[_TemplateSection]]:
    """The sections of a template file by the function that they define, in order."""
    sections: dict[str, list[_TemplateSection]] = {}
    parts = _HEAD.split(read_header(file))
    for words, body in zip(parts[1::2], parts[2::2], strict=True):
        defined = _DEFINED.search(body)
        assert defined, f"{file}: nothing after {words}"
        sections.setdefault(defined[1], []).append(
            _TemplateSection(tuple(words.split()), body.strip())
        )
    return sections


def _filled(text: str, tokens: Mapping[str, str]) -> str:
    """Replace tokens: long ones anywhere in a name, short ones between underscores or alone."""
    text = _pattern(tuple(tokens)).sub(lambda m: tokens[m[0]], text)
    for word, count in (("EACH(", 1), ("HALF(", 2)):
        while word in text:
            text = _repeated(text, word, int(tokens["L"]) // count)
    return text


@cache
def _pattern(tokens: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern of all `tokens`: those of up to three letters match only as a whole word between
    underscores.
    """
    anywhere = [re.escape(x) for x in tokens if len(x) > 3 or not x.isalpha()]
    alone = [x for x in tokens if len(x) <= 3 and x.isalpha()]
    names = "|".join(sorted(alone, key=len, reverse=True))
    return re.compile("|".join([*anywhere, f"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9])"]))


def _repeated(text: str, word: str, count: int) -> str:
    """The first ``EACH(x)`` replaced by ``x, x, …`` for k = 0 … count-1."""
    start = text.index(word) + len(word)
    depth, end = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    items = (re.sub(r"\bk\b", str(k), text[start : end - 1]) for k in range(count))
    return text[: start - len(word)] + ", ".join(items) + text[end:]


_PAIR_FUNCTION = re.compile(r"tp_(\w+)_both_")
_DIVIDED = re.compile(r"(floordiv|mod)by(\d+)")
_VECTOR = re.compile(r"([fiu]\d+)x(\d+)")
BOOL_OPS = {"min": "and", "minimum": "and", "max": "or", "maximum": "or"}
"""Minimum and maximum of bools as logical operations."""

_LETTERS = {8: "b", 16: "w", 32: "d", 64: "q"}
"""The letter of an integer's size, in bits, in the names of x86 instructions and builtins."""
_SIZES = {8: "qi", 16: "hi", 32: "si", 64: "di"}
"""The same as GCC's machine mode, in the names of builtins for masked loads and stores."""


def parse_vector_type(name: str) -> Vec | None:
    """The vector type of that name, or None."""
    m = _VECTOR.fullmatch(name)
    return Vec(m[1], int(m[2])) if m else None


def vector_op(op: str, v: Vec, args: tuple[str, ...], target: Target) -> str:
    """A C expression for `op` on operands of type `v`. A mask operand or result has the type that a
    comparison of two `v` has.
    """
    row = target.row(op, v)
    if row and row.c:
        return _row_text(row.c, v, target, args)
    return f"tp_{op}_{v.name}({', '.join(args)})"


def scalar_op(op: str, args: tuple[str, ...], operand: str, result: str) -> str:
    """`op` in scalar C, on operands of dtype `operand`."""
    if op == "cast" and result == "bool":
        return f"({args[0]} != 0)"
    if operand == "bool":
        op = BOOL_OPS.get(op, op)
    if op == "cast" and _is_storage_only(operand, result):
        return f"tp_cast_{operand}_{result}({args[0]})"
    suffix = "f" if operand == "f32" else ""
    c, r = DTYPES[operand].c, DTYPES[result].c
    return OPS[op].c.format(*args, t=c, d=operand, f=suffix, r=r)


def define_vector_op(name: str, target: Target) -> str | None:
    """The definition of the C function ``tp_<op>_<type>`` on `target`; None for any other name.

        tp_sqrt_f64x8          on AVX-512: a row, so one instruction (`_from_row`)
        tp_floordiv_i32x4      a template of a header, filled in for the type (`_from_template`)
        tp_fmod_f64x8          neither: a loop over lanes (`scalarized_function`)

    ``type`` is a dtype (a scalar), a dtype and a number of lanes, or a form of masks. Besides the
    names of operations, ``op`` is ``cast_<dtype>``; ``<op>by<number>``, a division by that number;
    ``each_<op>``, the operation lane by lane; ``<op>_both``, on a pair of vectors.
    `emit_c.definitions` calls it for each name in the text of a kernel.
    """
    op, _, suffix = name.removeprefix("tp_").rpartition("_")
    if suffix in DTYPES:
        return _scalar_function(op, suffix)
    v = parse_vector_type(suffix)
    if v and op.startswith("cast_"):
        return _cast(op.removeprefix("cast_"), v, target)
    if v and (row := target.row(op, v)):
        return _from_row(op, v, row, target)
    facts = _vector_facts(v, target) if v else _mask_facts(suffix)
    if text := _from_template(f"tp_{op}", facts, target):
        return text
    if v and (m := _DIVIDED.fullmatch(op)):
        return _from_template(f"tp_{m[1]}byNUMBER", _with_divisor(facts, int(m[2])), target)
    op = op.removeprefix("each_")
    if v and op.endswith("_both"):
        return _pair_function(op.removesuffix("_both"), v)
    return scalarized_function(op, name, v, target) if v and op in OPS else None


def _scalar_function(op: str, dtype: str) -> str | None:
    """The template of the scalar function ``tp_<op>_<dtype>``, filled in; None without one."""
    facts = _scalar_facts(dtype)
    texts = (fill_template(file, f"tp_{op}", facts) for file in ("prelude.h", "half.h", "bits.h"))
    return next((text for text in texts if text), None)


def _from_template(name: str, facts: TemplateFacts, target: Target) -> str | None:
    """The template for `name`, filled in, from the headers of the target or those that all share;
    None without one.
    """
    texts = (
        fill_template(header, name, facts) for header in (*target.headers, "vector.h", "division.h")
    )
    return next((text for text in texts if text), None)


# -- facts of templates


def _scalar_facts(dtype: str) -> TemplateFacts:
    """The facts of a scalar function on `dtype`."""
    t = DTYPES[dtype]
    suffix = "f" if dtype == "f32" else ""
    tokens = {"D": dtype, "T": t.c, "F(": f"{suffix}(", "SUFFIX": "s" if suffix else "d"}
    return TemplateFacts(dtype, frozenset(), tokens)


def _mask_facts(name: str) -> TemplateFacts:
    """The facts of a function on the mask type `name`, such as ``m16``."""
    tokens = {"M": name, "L": name[1:], "BYTES": f"u8x{name[1:]}"}
    return TemplateFacts("m", frozenset(), tokens)


def _vector_facts(v: Vec, target: Target) -> TemplateFacts:
    """The facts of a function on `v`: the conditions that hold, and the tokens. These stand for `v`
    itself; for vectors of the same shape, of the same number of lanes, and of half as many; and for
    the names of builtins. ``headers/vector.h`` says what each condition and token means.
    """
    bits, lanes = DTYPES[v.dtype].bits, v.lanes
    integer = "u" if v.dtype[0] == "u" else "i"
    quotient = "f64" if bits > 16 else "f32"
    wide, twice = f"{integer}64", f"{integer}{min(2 * bits, 64)}"
    the_type = {"V": v.name, "T": DTYPES[v.dtype].c, "D": v.dtype, "L": str(lanes)}
    same_shape = {"M": comparison_type(v, target), "I": v.of("i").name, "U": v.of("u").name}
    same_lanes = {
        "BYTES": f"u8x{lanes}", "WORDS": f"u32x{lanes}", "HALVES": f"f16x{lanes}",
        "SINGLES": f"f32x{lanes}", "DOUBLES": f"f64x{lanes}",
        "W": f"{wide}x{lanes}", "X": wide,
        "Q": f"{quotient}x{lanes}", "QT": quotient,
        "TWICE": f"{twice}x{lanes}", "TT": twice, "TI": f"i{twice[1:]}",
    }
    other_lanes = {"H": f"{v.dtype}x{lanes // 2}", "PAIRS": f"u16x{lanes // 2}"}
    of_builtins = {
        "N": _x86_type(v), "NI": _x86_type(v.of("i")),
        "SUFFIX": target.suffix[v.dtype], "ARRANGED": f"{lanes}{target.suffix[v.dtype]}",
        "LETTER": _LETTERS[bits], "SIZE": _SIZES[bits], "WIDTH": str(v.bits),
        "SIGN": "u" if v.dtype[0] == "u" else "",
    }
    tokens = the_type | same_shape | same_lanes | other_lanes | of_builtins
    fits = lanes * DTYPES[quotient].bits <= target.bits
    size = "narrow" if v.bits < 128 else "wide"
    words = {target.masks, size, str(v.bits), "fits" if fits else "split"}
    words |= {
        w
        for w, is_available in (("fused", target.has_fma), ("permutes", target.permutes))
        if is_available
    }
    return TemplateFacts(v.dtype, frozenset(words), tokens)


def _with_divisor(facts: TemplateFacts, number: int) -> TemplateFacts:
    """`facts` extended by those of a constant divisor."""
    words = {"power"} if number & (number - 1) == 0 else set()
    tokens = {"NUMBER": str(number), "SHIFT": str(number.bit_length() - 1)}
    return TemplateFacts(facts.dtype, facts.words | words, {**facts.tokens, **tokens})


def _x86_type(v: Vec) -> str:
    """The vector type that x86 builtins take for `v`: itself for floats; for integers signed lanes,
    ``char`` of 8 and ``long long`` of 64 bits.
    """
    if v.dtype in ("f32", "f64"):
        return v.name
    return {8: f"c8x{v.lanes}", 64: f"q64x{v.lanes}"}.get(DTYPES[v.dtype].bits, v.of("i").name)


def comparison_type(v: Vec, target: Target) -> str:
    """The type of a comparison of two `v`: lanes of the same width, or a mask of bits."""
    return v.of("i").name if target.masks == "lanes" else mask_type(target, v.lanes)


# -- definitions


def _row_text(template: str, v: Vec, target: Target, args: tuple[str, ...]) -> str:
    """The C or assembly text of an instruction row for `v`."""
    return template.format(
        *args,
        v=v.name,
        i=v.of("i").name,
        u=v.of("u").name,
        n=_x86_type(v),
        m=comparison_type(v, target),
        s=target.suffix[v.dtype],
        w=v.bits,
        l=v.lanes,
    )


def _signature(op: str, v: Vec, target: Target) -> tuple[str, tuple[str, ...]]:
    """The C types of the result and the operands."""
    if op not in OPS:
        return {"any": "uint8_t", "bits": "uint64_t"}[op], (v.name,)
    mask, row = comparison_type(v, target), OPS[op]
    operands = (mask if letter == "m" else v.name for letter in row.operands)
    return mask if row.result == "m" else v.name, tuple(operands)


def _inline_function(result: str, name: str, operands: tuple[str, ...], body: str) -> str:
    """A static inline C function with parameters a, b, c, d."""
    params = ", ".join(f"{t} {x}" for t, x in zip(operands, "abcd", strict=False))
    return f"static inline {result} {name}({params}) {{ {body} }}"


def _from_row(op: str, v: Vec, row: InstrRow, target: Target) -> str:
    """The function that consists of the one instruction of `row`."""
    result, operands = _signature(op, v, target)
    names = tuple("abc"[: len(operands)])
    if row.c:
        body = f"return {_row_text(row.c, v, target, names)};"
    else:
        body = _asm(row, v, result, names, target)
    return _inline_function(result, f"tp_{op}_{v.name}", operands, body)


def _asm(row: InstrRow, v: Vec, result: str, names: tuple[str, ...], target: Target) -> str:
    """The body of a function of the assembly instruction of `row` on register operands. A vector
    that x86 widens may be in memory, for GCC: the load is a part of the instruction then, which
    takes half the time.
    """
    text, register = _row_text(row.asm, v, target, ()), target.register
    sources = row.source.split()
    widens = all(DTYPES[s].bits < DTYPES[v.dtype].bits for s in sources)
    is_for_gcc = not any(_is_storage_only(s, v.dtype) for s in sources)
    in_memory = sources and widens and is_for_gcc and target.machine == "x86_64"
    first = "0" if row.tied else f"{register}m" if in_memory else register
    inputs = ", ".join(f'"{register if k else first}"({x})' for k, x in enumerate(names))
    return f'{result} r; __asm__("{text}" : "={register}"(r) : {inputs}); return r;'


def scalarized_function(op: str, name: str, v: Vec, target: Target) -> str:
    """The function `name` that computes `op` lane by lane in scalar code."""
    if m := _PAIR_FUNCTION.search(OPS[op].c):
        return _pair_component(m[1], name, v, 0 if op.endswith("_re") else 1)
    result, operands = _signature(op, v, target)
    value = scalar_op(op, tuple(f"{x}[k]" for x in "abc"[: len(operands)]), v.dtype, v.dtype)
    if target.masks == "bits" and OPS[op].result == "m":
        step = f"r |= ({result})(({result}){value} << k);"
        body = f"{result} r = 0; for (int k = 0; k < {v.lanes}; k++) {step} return r;"
    else:
        sign = "-" if OPS[op].result == "m" else ""
        body = f"{result} r; for (int k = 0; k < {v.lanes}; k++) r[k] = {sign}{value}; return r;"
    return _inline_function(result, name, operands, body)


def _pair_component(op: str, name: str, v: Vec, part: int) -> str:
    """The function `name` that returns one part of the complex result of `op`: the real part for
    `part` 0, the imaginary part for 1. It calls the function of both parts (`_pair_function`).
    """
    pair, names = f"{v.dtype}x{2 * v.lanes}", _pair_operands(op)
    call = f"tp_{op}_both_{v.name}({', '.join(names)})"
    body = f"union {{ {pair} both; {v.name} parts[2]; }} r = {{ {call} }};"
    return _inline_function(
        v.name, name, (v.name,) * len(names), f"{body} return r.parts[{part}];"
    )


def _pair_operands(op: str) -> str:
    """The names of the parameters of the function that computes both parts of `op`."""
    return "abcd"[: OPS[f"{op}_re"].arity]


def _pair_function(op: str, v: Vec) -> str:
    """The function that computes the real and imaginary parts of `op`, lane by lane. It is
    ``const``, so that the C compiler makes one call for both parts.
    """
    pair, suffix = f"{v.dtype}x{2 * v.lanes}", "f" if v.dtype == "f32" else ""
    parts = zip(("k", f"k + {v.lanes}"), ("real", "imag"), strict=True)
    stores = " ".join(f"r[{k}] = __builtin_c{side}{suffix}(z);" for k, side in parts)
    names = _pair_operands(op)
    lanes = ", ".join(f"{x}[k]" for x in names)
    call = f"__auto_type z = tp_{op}_both_{v.dtype}({lanes});"
    body = f"{pair} r; for (int k = 0; k < {v.lanes}; k++) {{ {call} {stores} }} return r;"
    text = _inline_function(pair, f"tp_{op}_both_{v.name}", (v.name,) * len(names), body)
    return text.replace("static inline", "__attribute__((noinline, const)) static")


# -- casts


def _cast(source: str, to: Vec, target: Target) -> str:
    """The cast function to `to`. In this order: an instruction, a template, a conversion through an
    intermediate dtype, C's vector conversion.
    """
    name, given = f"tp_cast_{source}_{to.name}", Vec(source, to.lanes)
    if row := target.row("cast", to, source):
        body = _asm(row, to, to.name, ("a",), target)
        if not _is_storage_only(source, to.dtype):
            clang = f"return {_converted(to)};"
            body = f"\n#ifdef __clang__\n    {clang}\n#else\n    {body}\n#endif\n"
    elif text := _from_template(f"tp_cast_{source}", _vector_facts(to, target), target):
        return text
    elif middle := _intermediate_dtype(source, to.dtype):
        body = f"return tp_cast_{middle}_{to.name}(tp_cast_{source}_{middle}x{to.lanes}(a));"
    elif given.bits == to.bits and "f" not in (source[0], to.dtype[0]):
        body = f"return ({to.name})a;"
    else:
        body = f"return {_converted(to)};"
    return _inline_function(to.name, name, (given.name,), body)


def _is_storage_only(source: str, to: str) -> bool:
    """Whether a cast converts to or from a dtype in which nothing is computed, as float16."""
    return source != to and bool(DTYPES[source].wide or DTYPES[to].wide)


def _converted(to: Vec) -> str:
    """A conversion by C: clang selects the instruction, gcc often does not."""
    return f"__builtin_convertvector(a, {to.name})"


def _intermediate_dtype(source: str, to: str) -> str | None:
    """The dtype through which a cast is made in steps, None for one step: compilers convert well to
    lanes twice or half as wide, and between floats and integers of 32 bits.
    """
    a, b = DTYPES[source], DTYPES[to]
    if a.kind == "f" or b.kind == "f":
        small = min(a.bits, b.bits) < 32
        return "i32" if small else None
    if b.bits > 2 * a.bits:
        return f"{a.kind}{2 * a.bits}"
    return f"{a.kind}{a.bits // 2}" if a.bits > 2 * b.bits else None
