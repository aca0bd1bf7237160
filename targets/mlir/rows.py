"""Each operation's MLIR instruction, a row for kinds that have one; prelude.mlir has the rest."""
from __future__ import annotations

from loopir.record import record
from loopir.types import DTYPES

__all__ = ["CASTS", "Row", "element_type", "instruction", "mnemonic"]


@record(frozen=True, slots=True, kw_only=True)
class Row:
    """``op`` on dtypes of `kinds`: ``text``, the operands, a colon and their type.

    In a text with braces operands stand where it says. An empty one gives the operand itself.
    """

    op: str
    kinds: str
    text: str


_ROWS = (
    # arithmetic
    Row(op="add", kinds="f", text="arith.addf"),
    Row(op="add", kinds="iu", text="arith.addi"),
    Row(op="sub", kinds="f", text="arith.subf"),
    Row(op="sub", kinds="iu", text="arith.subi"),
    Row(op="mul", kinds="f", text="arith.mulf"),
    Row(op="mul", kinds="iu", text="arith.muli"),
    Row(op="div", kinds="f", text="arith.divf"),
    Row(op="pow", kinds="f", text="math.powf"),
    Row(op="neg", kinds="f", text="arith.negf"),
    Row(op="abs", kinds="f", text="math.absf"),
    Row(op="abs", kinds="i", text="math.absi"),
    Row(op="abs", kinds="u", text=""),
    Row(op="fma", kinds="f", text="math.fma"),
    # minimum and maximum
    Row(op="min", kinds="i", text="arith.minsi"),
    Row(op="min", kinds="u", text="arith.minui"),
    Row(op="max", kinds="i", text="arith.maxsi"),
    Row(op="max", kinds="u", text="arith.maxui"),
    Row(op="minimum", kinds="i", text="arith.minsi"),
    Row(op="minimum", kinds="u", text="arith.minui"),
    Row(op="maximum", kinds="i", text="arith.maxsi"),
    Row(op="maximum", kinds="u", text="arith.maxui"),
    # comparison
    Row(op="lt", kinds="f", text="arith.cmpf olt,"),
    Row(op="lt", kinds="i", text="arith.cmpi slt,"),
    Row(op="lt", kinds="bu", text="arith.cmpi ult,"),
    Row(op="le", kinds="f", text="arith.cmpf ole,"),
    Row(op="le", kinds="i", text="arith.cmpi sle,"),
    Row(op="le", kinds="bu", text="arith.cmpi ule,"),
    Row(op="gt", kinds="f", text="arith.cmpf ogt,"),
    Row(op="gt", kinds="i", text="arith.cmpi sgt,"),
    Row(op="gt", kinds="bu", text="arith.cmpi ugt,"),
    Row(op="ge", kinds="f", text="arith.cmpf oge,"),
    Row(op="ge", kinds="i", text="arith.cmpi sge,"),
    Row(op="ge", kinds="bu", text="arith.cmpi uge,"),
    Row(op="eq", kinds="f", text="arith.cmpf oeq,"),
    Row(op="eq", kinds="biu", text="arith.cmpi eq,"),
    Row(op="ne", kinds="f", text="arith.cmpf une,"),
    Row(op="ne", kinds="biu", text="arith.cmpi ne,"),
    Row(op="isnan", kinds="f", text="arith.cmpf uno, {0}, {0}"),
    Row(op="select", kinds="biuf", text="arith.select"),
    Row(op="blend", kinds="iuf", text="arith.select"),
    # logic and bits
    Row(op="and", kinds="b", text="arith.andi"),
    Row(op="or", kinds="b", text="arith.ori"),
    Row(op="xor", kinds="b", text="arith.xori"),
    Row(op="bitand", kinds="iu", text="arith.andi"),
    Row(op="bitor", kinds="iu", text="arith.ori"),
    Row(op="bitxor", kinds="iu", text="arith.xori"),
    Row(op="popcount", kinds="iu", text="math.ctpop"),
    # rounding and functions
    Row(op="floor", kinds="f", text="math.floor"),
    Row(op="ceil", kinds="f", text="math.ceil"),
    Row(op="trunc", kinds="f", text="math.trunc"),
    Row(op="rint", kinds="f", text="math.roundeven"),
    Row(op="copysign", kinds="f", text="math.copysign"),
    Row(op="sqrt", kinds="f", text="math.sqrt"),
    Row(op="cbrt", kinds="f", text="math.cbrt"),
    Row(op="exp", kinds="f", text="math.exp"),
    Row(op="exp2", kinds="f", text="math.exp2"),
    Row(op="expm1", kinds="f", text="math.expm1"),
    Row(op="log", kinds="f", text="math.log"),
    Row(op="log2", kinds="f", text="math.log2"),
    Row(op="log10", kinds="f", text="math.log10"),
    Row(op="log1p", kinds="f", text="math.log1p"),
    Row(op="sin", kinds="f", text="math.sin"),
    Row(op="cos", kinds="f", text="math.cos"),
    Row(op="tan", kinds="f", text="math.tan"),
    Row(op="asin", kinds="f", text="math.asin"),
    Row(op="acos", kinds="f", text="math.acos"),
    Row(op="atan", kinds="f", text="math.atan"),
    Row(op="atan2", kinds="f", text="math.atan2"),
    Row(op="sinh", kinds="f", text="math.sinh"),
    Row(op="cosh", kinds="f", text="math.cosh"),
    Row(op="tanh", kinds="f", text="math.tanh"),
    Row(op="asinh", kinds="f", text="math.asinh"),
    Row(op="acosh", kinds="f", text="math.acosh"),
    Row(op="atanh", kinds="f", text="math.atanh"),
    Row(op="erf", kinds="f", text="math.erf"),
)

_TEXTS: dict[tuple[str, str], str] = {(r.op, kind): r.text for r in _ROWS for kind in r.kinds}
assert len(_TEXTS) == sum(len(r.kinds) for r in _ROWS), "an operation has two rows for one kind"

CASTS: dict[tuple[str, str], tuple[str, str]] = {
    # kinds from, to: where the result is narrower, and where it is wider
    ("f", "f"): ("arith.truncf", "arith.extf"),
    ("i", "f"): ("arith.sitofp", "arith.sitofp"),
    ("u", "f"): ("arith.uitofp", "arith.uitofp"),
    ("b", "f"): ("arith.uitofp", "arith.uitofp"),
    ("f", "i"): ("arith.fptosi", "arith.fptosi"),
    ("f", "u"): ("arith.fptoui", "arith.fptoui"),
    ("i", "i"): ("arith.trunci", "arith.extsi"),
    ("i", "u"): ("arith.trunci", "arith.extsi"),
    ("u", "i"): ("arith.trunci", "arith.extui"),
    ("u", "u"): ("arith.trunci", "arith.extui"),
    ("b", "i"): ("arith.extui", "arith.extui"),
    ("b", "u"): ("arith.extui", "arith.extui"),
}


def mnemonic(op: str, dtype: str) -> str | None:
    """The text of the row for `op` on operands of `dtype`; None where there is none."""
    return _TEXTS.get((op, DTYPES[dtype].kind))


def instruction(op: str, dtype: str, args: tuple[str, ...], as_type: str = "") -> str | None:
    """`op` on operands of `dtype` as one instruction, or None; the operand where it does nothing.

    `as_type`: the operands' MLIR type, where it is not that of `dtype`.
    """
    text = mnemonic(op, dtype)
    if not text:
        return None if text is None else args[0]
    text = text.format(*args) if "{" in text else f"{text} {', '.join(args)}"
    return f"{text} : {as_type or element_type(dtype)}"


def element_type(dtype: str) -> str:
    """``f64``, ``i32`` also for u32, ``i1`` for bools."""
    d = DTYPES[dtype]
    match d.kind:
        case "b":
            return "i1"
        case "f":
            return f"f{d.bits}"
        case _:
            return f"i{d.bits}"
