"""Pieces of C text: parentheses, parallel assignment, variable types, optimisation barriers.

The barriers keep a C compiler from dropping or moving the computation of a value that may raise a
floating-point flag (`force_computed`), and from loading a vector twice (`pin_register`).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from loopir import nodes as ir
from loopir.dtypes import DTYPES

from ..isa.target import Target, Vec, mask_type
from .c_scope import Scope

__all__ = [
    "parallel_assignment", "parenthesized", "strip_parens", "force_computed", "pin_register",
    "branch_on_number", "c_type", "fills_register", "indented",
]


def indented(lines: Iterable[str]) -> str:
    """C code with each line indented by the braces around it."""
    depth, out = 0, []
    for line in lines:
        depth -= line.startswith("}")
        if line:
            out.append("    " * depth + line)
        depth += line.endswith("{")
    return "\n".join(out) + "\n"


def strip_parens(text: str) -> str:
    """`text` without the parentheses that enclose all of it."""
    return text[1:-1] if _is_parenthesized(text) else text


def parenthesized(text: str) -> str:
    """`text` in exactly one pair of parentheses."""
    return text if _is_parenthesized(text) else f"({text})"


def _is_parenthesized(text: str) -> bool:
    """Whether the first parenthesis is closed by the last character."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return letter == ")" and at == len(text) - 1
    return False


def parallel_assignment(
    assignments: Iterable[tuple[str, str, str]], fresh: Callable[[str], str]
) -> Iterator[str]:
    """Assign triples (name, C type, value) simultaneously: every value reads the old ones."""
    changed = [x for x in assignments if x[0] != x[2]]
    if len(changed) == 1:
        yield f"{changed[0][0]} = {changed[0][2]};"
        return
    temporaries = [fresh("next") for _ in changed]
    for temporary, (_, kind, value) in zip(temporaries, changed, strict=True):
        yield f"const {kind} {temporary} = {value};"
    yield from (
        f"{name} = {temporary};"
        for temporary, (name, _, _) in zip(temporaries, changed, strict=True)
    )


def branch_on_number(number: str, texts: Sequence[str]) -> Iterator[str]:
    """A branch on `number`, from 0 on, to the statements for it, one of `texts`."""
    *others, last = texts
    yield f"switch ({number}) {{"
    yield from (f"case {k}: {text} break;" for k, text in enumerate(others))
    yield f"default: {last}"
    yield "}"


def c_type(e: ir.Expr, target: Target) -> str:
    """The C type of a variable that holds the value `e`: of a scalar, `DType.c` (a bool is a byte,
    a float16 its 16 bits); of a vector, a vector type such as ``f64x8``; of a vector of bools, the
    target's mask (`mask_type`). In memory a bool is a byte in vectors, too (`storage_type`).
    """
    if not isinstance(e.lanes, int) or e.lanes == 1:
        return DTYPES[e.dtype].c
    return mask_type(target, e.lanes) if e.dtype == "bool" else Vec(e.dtype, e.lanes).name


def pin_register(name: str, e: ir.Expr, s: Scope) -> str:
    """A barrier that keeps the C variable `name`, which has the loaded vector `e`, in its register:
    gcc would load it again at each use. Empty on other machines than x86-64, and for a vector of
    less than 128 bits.
    """
    if s.target.machine != "x86_64" or not fills_register(e):
        return ""
    return f'__asm__("" : "+{s.target.register}"({name}));'


def force_computed(name: str, e: ir.Expr, s: Scope) -> str:
    """A barrier that forces the C variable `name`, which has the value of `e`, to be computed even
    if nothing reads it: an empty assembly statement that takes it as an input. The value may raise
    a floating-point flag (`fp_exceptions` says which need this).

        TP_COMPUTED(name)      a value in a general register, or in memory
        TP_COMPUTED_V(name)    a value in a vector register: a scalar float, or a whole vector. In
                               another kind of register it would be moved first
    """
    is_scalar_float = DTYPES[e.dtype].c in ("float", "double") and e.lanes == 1
    is_bit_mask = e.dtype == "bool" and s.target.masks == "bits"
    in_vector_register = is_scalar_float or (fills_register(e) and not is_bit_mask)
    return f"TP_COMPUTED{'_V' if in_vector_register else ''}({name});"


def fills_register(e: ir.Expr) -> bool:
    """Whether the vector `e` is in a vector register: clang has none below 128 bits on x86-64."""
    assert isinstance(e.lanes, int)
    return e.lanes > 1 and (e.dtype == "bool" or e.lanes * DTYPES[e.dtype].bits >= 128)
