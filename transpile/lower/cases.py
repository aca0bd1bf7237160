"""Values whose type depends on the data: what they may be, each with the condition that it is."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from loopir.nodes import Call, Const, Expr, Var
from loopir.types import DTYPES

from ..infer import FALSE, TRUE, Num, cast, logic
from ..join import choose
from .both import as_python
from .builder import Builder
from .implied import given, literals
from .values import Absent, ArrayRef, Case, Cases, Unbound, Value

__all__ = [
    "MOST", "Kind", "cases_of", "chosen", "kind_of", "narrowed", "possible", "split", "zero_of",
]

Kind: TypeAlias = "Absent | ArrayRef | tuple[str | None, str | None]"
"""What a case is of: the dtype of NumPy's number or of Python's; an array, or none of both."""

MOST = 4
"""Types that one value may have."""


def kind_of(value: Num | ArrayRef | Absent) -> Kind:
    """The type of a case."""
    return value.types if isinstance(value, Num) else value


def zero_of(kind: Kind) -> Num:
    """Some number of this type."""
    assert isinstance(kind, tuple), kind
    dtype = kind[0] or kind[1]
    assert dtype is not None
    return Num(Const(DTYPES[dtype].numpy.type(0).item(), dtype), *kind)


def cases_of(b: Builder, v: Value | None) -> tuple[Case, ...] | None:
    """The types that `v` may be of; None where it is no number, or it cannot be told."""
    match v:
        case None | Unbound(value=None):
            return (Case(Absent.UNBOUND, TRUE),)
        case Unbound(value=Num() as value, needed=needed) if needed is not None:
            cases = cases_of(b, value)
            if cases is None:
                return None
            there = (Case(c.value, logic("and", needed, c.when)) for c in cases)
            return (*there, Case(Absent.UNBOUND, logic("not", needed)))
        case Cases(cases) if not any(isinstance(c.value, ArrayRef) for c in cases):
            return cases
        case Num(boxed=False, either=False, exact=True, dtype=dtype) if dtype in v.types:
            return (Case(v, TRUE),)
        case Num(boxed=False, either=True):
            python = _constant(b, v.ir) or as_python(b, v)
            if v.exact and v.weak and python is None:
                python = Num(_held(v, v.weak_now, v.weak), weak=v.weak, interval=v.interval)
            if python is None or v.strong is None:
                return None
            is_numpy = logic("not", v.weak_now)
            numpy = Num(_held(v, is_numpy, v.strong), strong=v.strong)
            return (Case(python, v.weak_now), Case(numpy, is_numpy))
    return None


def _constant(b: Builder, e: Expr) -> Num | None:
    """The constant that a value is where it is Python's, if that is known."""
    while e not in b.constants and isinstance(e, Var) and e.name in b.values:
        e = b.values[e.name]
    return b.constants.get(e)


def _held(n: Num, here: Expr, dtype: str) -> Expr:
    """`n` as of `dtype`, which it is `here`: floats that it is elsewhere are not converted."""
    if DTYPES[n.dtype].kind == DTYPES[dtype].kind:
        return cast(n.ir, dtype)
    zero = Const(DTYPES[n.dtype].numpy.type(0).item(), n.dtype)
    return cast(Call("select", (here, n.ir, zero), n.dtype), dtype)


def split(
    b: Builder, x: Value | None, y: Value | None
) -> dict[Kind, tuple[Case, Case]] | None:
    """Each type that one of two values may be of, as both are of it; None where that cannot be
    told. Where one never is, it is some number.
    """
    first, second = cases_of(b, x), cases_of(b, y)
    if first is None or second is None:
        return None
    then, other = ({kind_of(c.value): c for c in side} for side in (first, second))
    kinds = tuple(dict.fromkeys((*then, *other)))
    none = {k: Case(zero_of(k) if isinstance(k, tuple) else k, FALSE) for k in kinds}
    return {k: (then.get(k, none[k]), other.get(k, none[k])) for k in kinds}


def chosen(b: Builder, cond: Expr, x: Value | None, y: Value | None) -> Num | Cases | None:
    """``x if cond else y``, where `cond` is at hand; None where that cannot be told apart."""
    sides = split(b, x, y)
    if sides is None or len(sides) > MOST:
        return None
    out = []
    for a, c in sides.values():
        here, there = logic("and", cond, a.when), logic("and", logic("not", cond), c.when)
        when = a.when if a.when == c.when else b.bind(logic("or", here, there), "holds")
        out.append(Case(_one(cond, a, c), when))
    got = Cases(tuple(out)) if len(out) > 1 else _only(out)
    assert not isinstance(got, ArrayRef)
    return got


def _only(cases: Iterable[Case]) -> Num | ArrayRef | Cases:
    (case,) = cases
    return Cases((case,)) if isinstance(case.value, Absent) else case.value


def _one(cond: Expr, a: Case, c: Case) -> Num | ArrayRef | Absent:
    """The value of a case that one of both may be."""
    x, y = a.value, c.value
    if FALSE in (a.when, c.when) or x == y or not (isinstance(x, Num) and isinstance(y, Num)):
        return x if c.when == FALSE else y
    ends = (*x.interval, *y.interval)
    return Num(choose(cond, x.ir, y.ir), *x.types, interval=(min(ends), max(ends)))


def possible(cases: Iterable[Case], *facts: Expr | None) -> list[Case]:
    """Those that are not ruled out where `facts` hold."""
    known = {e for fact in facts if fact is not None for e in literals(fact)}
    left = [replace(c, when=given(c.when, known)) for c in cases]
    sure = [c for c in left if c.when == TRUE]
    return sure or [c for c in left if c.when != FALSE]


def narrowed(env: dict[str, Value], cond: Expr) -> dict[str, Value]:
    """Names of `env` that are known better where `cond` holds, and what they are there."""
    out: dict[str, Value] = {}
    for name, v in env.items():
        if isinstance(v, Cases) and (left := possible(v.cases, cond)):
            out[name] = _only(left) if len(left) == 1 else Cases(tuple(left))
    return out
