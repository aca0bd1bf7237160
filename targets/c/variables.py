"""Variables of generated C: their types, and what keeps a compiler from leaving them out."""
from __future__ import annotations

from loopir import nodes as ir
from loopir.types import DTYPES

from ..target import Target, Vec, mask_type
from .scope import Scope

__all__ = ["computed", "held", "type_of"]


def type_of(e: ir.Expr, target: Target) -> str:
    """The C type of a value."""
    if not isinstance(e.lanes, int) or e.lanes == 1:
        return DTYPES[e.dtype].c
    return mask_type(target, e.lanes) if e.dtype == "bool" else Vec(e.dtype, e.lanes).name


def held(name: str, e: ir.Expr, s: Scope) -> str:
    """Keeps a loaded vector in its register: gcc would rather read memory again at each use."""
    if s.target.machine != "x86_64" or not _fills_register(e):
        return ""
    return f'__asm__("" : "+{s.target.register}"({name}));'


def computed(name: str, e: ir.Expr, s: Scope) -> str:
    """Has the variable of that name, whose value is `e`, computed whether or not it is read."""
    scalar = DTYPES[e.dtype].c in ("float", "double") and e.lanes == 1
    mask = e.dtype == "bool" and s.target.masks == "bits"
    vector = scalar or (_fills_register(e) and not mask)
    return f"TP_COMPUTED{'_V' if vector else ''}({name});"


def _fills_register(e: ir.Expr) -> bool:
    """Less than 128 bits are no register of clang's on x86-64."""
    assert isinstance(e.lanes, int)
    return e.lanes > 1 and (e.dtype == "bool" or e.lanes * DTYPES[e.dtype].bits >= 128)
