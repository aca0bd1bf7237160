"""MLIR operation table: one row for each operation and kind; `prelude.mlir` has the rest."""
from __future__ import annotations

from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record

__all__ = ["CASTS", "MlirOp", "element_type", "instruction", "mnemonic"]


@record(frozen=True, slots=True, kw_only=True)
class MlirOp:
    """``op`` on dtypes of `kinds`: ``text``, followed by the operands, a colon and their type.

    A text with braces is a template for the operands. An empty text is the identity.
    """

    op: str
    kinds: str
    text: str


_ROWS = (
    # arithmetic
    MlirOp(op="add", kinds="f", text="arith.addf"),
    MlirOp(op="add", kinds="iu", text="arith.addi"),
    MlirOp(op="sub", kinds="f", text="arith.subf"),
    MlirOp(op="sub", kinds="iu", text="arith.subi"),
    MlirOp(op="mul", kinds="f", text="arith.mulf"),
    MlirOp(op="mul", kinds="iu", text="arith.muli"),
    MlirOp(op="div", kinds="f", text="arith.divf"),
    MlirOp(op="pow", kinds="f", text="math.powf"),
    MlirOp(op="neg", kinds="f", text="arith.negf"),
    MlirOp(op="abs", kinds="f", text="math.absf"),
    MlirOp(op="abs", kinds="i", text="math.absi"),
    MlirOp(op="abs", kinds="u", text=""),
    MlirOp(op="fma", kinds="f", text="math.fma"),
    # minimum and maximum
    MlirOp(op="min", kinds="i", text="arith.minsi"),
    MlirOp(op="min", kinds="u", text="arith.minui"),
    MlirOp(op="max", kinds="i", text="arith.maxsi"),
    MlirOp(op="max", kinds="u", text="arith.maxui"),
    MlirOp(op="minimum", kinds="i", text="arith.minsi"),
    MlirOp(op="minimum", kinds="u", text="arith.minui"),
    MlirOp(op="maximum", kinds="i", text="arith.maxsi"),
    MlirOp(op="maximum", kinds="u", text="arith.maxui"),
    MlirOp(op="ieee_minimum", kinds="f", text="arith.minimumf"),
    MlirOp(op="ieee_maximum", kinds="f", text="arith.maximumf"),
    # comparison
    MlirOp(op="lt", kinds="f", text="arith.cmpf olt,"),
    MlirOp(op="lt", kinds="i", text="arith.cmpi slt,"),
    MlirOp(op="lt", kinds="bu", text="arith.cmpi ult,"),
    MlirOp(op="le", kinds="f", text="arith.cmpf ole,"),
    MlirOp(op="le", kinds="i", text="arith.cmpi sle,"),
    MlirOp(op="le", kinds="bu", text="arith.cmpi ule,"),
    MlirOp(op="gt", kinds="f", text="arith.cmpf ogt,"),
    MlirOp(op="gt", kinds="i", text="arith.cmpi sgt,"),
    MlirOp(op="gt", kinds="bu", text="arith.cmpi ugt,"),
    MlirOp(op="ge", kinds="f", text="arith.cmpf oge,"),
    MlirOp(op="ge", kinds="i", text="arith.cmpi sge,"),
    MlirOp(op="ge", kinds="bu", text="arith.cmpi uge,"),
    MlirOp(op="not_lt", kinds="f", text="arith.cmpf uge,"),
    MlirOp(op="not_le", kinds="f", text="arith.cmpf ugt,"),
    MlirOp(op="eq", kinds="f", text="arith.cmpf oeq,"),
    MlirOp(op="eq", kinds="biu", text="arith.cmpi eq,"),
    MlirOp(op="ne", kinds="f", text="arith.cmpf une,"),
    MlirOp(op="ne", kinds="biu", text="arith.cmpi ne,"),
    MlirOp(op="isnan", kinds="f", text="arith.cmpf uno, {0}, {0}"),
    MlirOp(op="select", kinds="biuf", text="arith.select"),
    MlirOp(op="blend", kinds="iuf", text="arith.select"),
    # logic and bits
    MlirOp(op="and", kinds="b", text="arith.andi"),
    MlirOp(op="or", kinds="b", text="arith.ori"),
    MlirOp(op="xor", kinds="b", text="arith.xori"),
    MlirOp(op="bitand", kinds="iu", text="arith.andi"),
    MlirOp(op="bitor", kinds="iu", text="arith.ori"),
    MlirOp(op="bitxor", kinds="iu", text="arith.xori"),
    MlirOp(op="popcount", kinds="iu", text="math.ctpop"),
    # rounding and functions
    MlirOp(op="floor", kinds="f", text="math.floor"),
    MlirOp(op="ceil", kinds="f", text="math.ceil"),
    MlirOp(op="trunc", kinds="f", text="math.trunc"),
    MlirOp(op="rint", kinds="f", text="math.roundeven"),
    MlirOp(op="copysign", kinds="f", text="math.copysign"),
    MlirOp(op="sqrt", kinds="f", text="math.sqrt"),
    MlirOp(op="cbrt", kinds="f", text="math.cbrt"),
    MlirOp(op="exp", kinds="f", text="math.exp"),
    MlirOp(op="exp2", kinds="f", text="math.exp2"),
    MlirOp(op="expm1", kinds="f", text="math.expm1"),
    MlirOp(op="log", kinds="f", text="math.log"),
    MlirOp(op="log2", kinds="f", text="math.log2"),
    MlirOp(op="log10", kinds="f", text="math.log10"),
    MlirOp(op="log1p", kinds="f", text="math.log1p"),
    MlirOp(op="sin", kinds="f", text="math.sin"),
    MlirOp(op="cos", kinds="f", text="math.cos"),
    MlirOp(op="tan", kinds="f", text="math.tan"),
    MlirOp(op="asin", kinds="f", text="math.asin"),
    MlirOp(op="acos", kinds="f", text="math.acos"),
    MlirOp(op="atan", kinds="f", text="math.atan"),
    MlirOp(op="atan2", kinds="f", text="math.atan2"),
    MlirOp(op="sinh", kinds="f", text="math.sinh"),
    MlirOp(op="cosh", kinds="f", text="math.cosh"),
    MlirOp(op="tanh", kinds="f", text="math.tanh"),
    MlirOp(op="asinh", kinds="f", text="math.asinh"),
    MlirOp(op="acosh", kinds="f", text="math.acosh"),
    MlirOp(op="atanh", kinds="f", text="math.atanh"),
    MlirOp(op="erf", kinds="f", text="math.erf"),
)

_TEXTS: dict[tuple[str, str], str] = {(r.op, kind): r.text for r in _ROWS for kind in r.kinds}
assert len(_TEXTS) == sum(len(r.kinds) for r in _ROWS), "an operation has two rows for one kind"

CASTS: dict[tuple[str, str], tuple[str, str]] = {
    # (from, to) kinds: the op if the result is not wider, and if it is wider
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
    """The text of the row for `op` on operands of `dtype`; None if there is none."""
    return _TEXTS.get((op, DTYPES[dtype].kind))


def instruction(op: str, dtype: str, args: tuple[str, ...], as_type: str = "") -> str | None:
    """`op` on operands of `dtype` as one instruction; its operand for an identity; None without a
    row.

    `as_type`: the operands' MLIR type, if it is not that of `dtype`.
    """
    text = mnemonic(op, dtype)
    if not text:
        return None if text is None else args[0]
    text = text.format(*args) if "{" in text else f"{text} {', '.join(args)}"
    return f"{text} : {as_type or element_type(dtype)}"


def element_type(dtype: str) -> str:
    """The MLIR type of `dtype`: ``f64``, ``i32`` also for u32, ``i1`` for bools."""
    d = DTYPES[dtype]
    match d.kind:
        case "b":
            return "i1"
        case "f":
            return f"f{d.bits}"
        case _:
            return f"i{d.bits}"
