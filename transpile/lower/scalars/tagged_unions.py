"""Tagged unions: values whose type depends on the data, each case with its condition.

An operation on a union is lowered once for each case. A loop carries a union of n types as n
variables and n - 1 booleans that select the active one; generated names start with `#`, which
no Python name can.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias, overload

from loopir.analysis.conditions import conjuncts
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record
from loopir.nodes import Call, Const, Expr, Var

from ...diagnostics import Refused
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse, refuse_no_value
from ...types.phi import join_values, make_select
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, bool_op, cast
from ..complex.complex_arithmetic import complex_truth, select_complex
from ..state.dispatch import lower_scalar
from ..state.float_exceptions import note_in_vain
from ..state.generated_names import union_flag_name, union_value_name
from ..state.guards_and_checks import require
from ..state.ir_builder import IRBuilder
from ..state.lowering_state import Lowering
from ..state.path_conditions import simplify_given, under
from ..state.symbol_values import Absent, ArrayRef, Scalar, Unbound, UnionCase, UnionValue, Value
from ..state.value_ranges import bind_num
from .dual_semantics import as_python_scalar
from .scalar_operands import truth_value

__all__ = [
    "MAX_CASES", "CarriedUnion", "CaseType", "NewCarriedTypes", "align_cases", "bind_scalar",
    "case_type", "cases_with_number", "feasible_cases", "for_each_case", "is_none_condition",
    "lower_number", "lower_real", "narrowed_unions", "require_one_type", "select_scalar",
    "select_union", "truth_of_scalar", "union_cases", "zero_of_type",
]

CaseType: TypeAlias = "Absent | ArrayRef | tuple[str | None, str | None]"
"""What a case is of: the dtype of NumPy's number or of Python's; an array, or none of both."""

MAX_CASES = 4
"""Types that one value may have."""


def case_type(value: Num | ArrayRef | Absent) -> CaseType:
    """The type of a case."""
    return value.types if isinstance(value, Num) else value


def zero_of_type(kind: CaseType) -> Num:
    """Some number of this type."""
    assert isinstance(kind, tuple), kind
    dtype = kind[0] or kind[1]
    assert dtype is not None
    return Num(Const(DTYPES[dtype].numpy.type(0).item(), dtype), *kind)


def union_cases(b: IRBuilder, v: Value | None) -> tuple[UnionCase, ...] | None:
    """The types that `v` may be of; None where it is no number, or it cannot be told."""
    match v:
        case None | Unbound(value=None):
            return (UnionCase(Absent.UNBOUND, TRUE),)
        case Unbound(value=Num() as value, is_bound=is_bound) if is_bound is not None:
            cases = union_cases(b, value)
            if cases is None:
                return None
            bound = (UnionCase(c.value, bool_op("and", is_bound, c.when)) for c in cases)
            return (*bound, UnionCase(Absent.UNBOUND, bool_op("not", is_bound)))
        case UnionValue(cases) if not any(isinstance(c.value, ArrayRef) for c in cases):
            return cases
        case Num(boxed=False, either=False, exact=True, dtype=dtype) if dtype in v.types:
            return (UnionCase(v, TRUE),)
        case Num(boxed=False, either=True):
            python = _python_constant(b, v.ir) or as_python_scalar(b, v)
            if v.exact and v.weak and python is None:
                python = Num(
                    _converted_where(v, v.weak_now, v.weak), weak=v.weak, interval=v.interval
                )
            if python is None or v.strong is None:
                return None
            is_numpy = bool_op("not", v.weak_now)
            numpy = Num(_converted_where(v, is_numpy, v.strong), strong=v.strong)
            return (UnionCase(python, v.weak_now), UnionCase(numpy, is_numpy))
    return None


def _python_constant(b: IRBuilder, e: Expr) -> Num | None:
    """The constant that a value is where it is Python's, if that is known."""
    while e not in b.numbers.python_constants and isinstance(e, Var) and e.name in b.values:
        e = b.values[e.name]
    return b.numbers.python_constants.get(e)


def _converted_where(n: Num, here: Expr, dtype: str) -> Expr:
    """`n` as of `dtype`, which it is `here`: floats that it is elsewhere are not converted."""
    if DTYPES[n.dtype].kind == DTYPES[dtype].kind:
        return cast(n.ir, dtype)
    zero = Const(DTYPES[n.dtype].numpy.type(0).item(), n.dtype)
    return cast(Call("select", (here, n.ir, zero), n.dtype), dtype)


def align_cases(
    b: IRBuilder, x: Value | None, y: Value | None
) -> dict[CaseType, tuple[UnionCase, UnionCase]] | None:
    """Each type that one of two values may be of, as both are of it; None where that cannot be
    told. Where one never is, it is some number.
    """
    first, second = union_cases(b, x), union_cases(b, y)
    if first is None or second is None:
        return None
    then, other = ({case_type(c.value): c for c in side} for side in (first, second))
    kinds = tuple(dict.fromkeys((*then, *other)))
    none = {k: UnionCase(zero_of_type(k) if isinstance(k, tuple) else k, FALSE) for k in kinds}
    return {k: (then.get(k, none[k]), other.get(k, none[k])) for k in kinds}


def select_union(
    b: IRBuilder, cond: Expr, x: Value | None, y: Value | None
) -> Num | UnionValue | None:
    """``x if cond else y``, where `cond` is at hand; None where that cannot be told apart."""
    sides = align_cases(b, x, y)
    if sides is None or len(sides) > MAX_CASES:
        return None
    out = []
    for a, c in sides.values():
        here, there = bool_op("and", cond, a.when), bool_op("and", bool_op("not", cond), c.when)
        when = a.when if a.when == c.when else b.bind(bool_op("or", here, there), "holds")
        out.append(UnionCase(_selected_value(cond, a, c), when))
    got = UnionValue(tuple(out)) if len(out) > 1 else _single_case(out)
    assert not isinstance(got, ArrayRef)
    return got


def _single_case(cases: Iterable[UnionCase]) -> Num | ArrayRef | UnionValue:
    (case,) = cases
    return UnionValue((case,)) if isinstance(case.value, Absent) else case.value


def _selected_value(cond: Expr, a: UnionCase, c: UnionCase) -> Num | ArrayRef | Absent:
    """The value of a case that one of both may be."""
    x, y = a.value, c.value
    if FALSE in (a.when, c.when) or x == y or not (isinstance(x, Num) and isinstance(y, Num)):
        return x if c.when == FALSE else y
    ends = (*x.interval, *y.interval)
    return Num(make_select(cond, x.ir, y.ir), *x.types, interval=(min(ends), max(ends)))


def feasible_cases(cases: Iterable[UnionCase], *facts: Expr | None) -> list[UnionCase]:
    """Those that are not ruled out where `facts` hold."""
    known = {e for fact in facts if fact is not None for e in conjuncts(fact)}
    left = [replace(c, when=simplify_given(c.when, known)) for c in cases]
    sure = [c for c in left if c.when == TRUE]
    return sure or [c for c in left if c.when != FALSE]


def narrowed_unions(env: dict[str, Value], cond: Expr) -> dict[str, Value]:
    """Names of `env` that are known better where `cond` holds, and what they are there."""
    out: dict[str, Value] = {}
    for name, v in env.items():
        if isinstance(v, UnionValue) and (left := feasible_cases(v.cases, cond)):
            out[name] = _single_case(left) if len(left) == 1 else UnionValue(tuple(left))
    return out


class NewCarriedTypes(Exception):
    """The name has values of these types in a loop, too."""

    def __init__(self, name: str, kinds: Iterable[CaseType]) -> None:
        super().__init__(name)
        self.name, self.kinds = name, tuple(kinds)


@record(frozen=True, slots=True)
class CarriedUnion:
    """A name and its types. Each has a name of its own, and one more for whether it is the one,
    but for the last; all begin with what no name of Python's does.
    """

    name: str
    kinds: tuple[CaseType, ...]

    @property
    def accumulators(self) -> list[str]:
        """Those of its types."""
        values = (self._value(k) for k in self.kinds if isinstance(k, tuple))
        return [*values, *map(self._flag, self.kinds[:-1])]

    def with_more(self, kinds: Iterable[CaseType]) -> CarriedUnion:
        """The name with these types, too."""
        return CarriedUnion(self.name, tuple(dict.fromkeys((*self.kinds, *kinds))))

    def spread(self, b: IRBuilder, env: Mapping[str, Value]) -> dict[str, Num]:
        """What those names stand for where the name does for what it does in `env`. Raises
        NewCarriedTypes.
        """
        found = union_cases(b, env.get(self.name))
        if found is None:
            refuse("LOWER_JOIN", f"the type of `{self.name}` depends on the data", None)
        cases = {case_type(c.value): c for c in found}
        if not cases.keys() <= set(self.kinds):
            raise NewCarriedTypes(self.name, cases)
        out: dict[str, Num] = {}
        for kind in self.kinds:
            case = cases.get(kind)
            if isinstance(kind, tuple):
                held = case.value if case else None
                out[self._value(kind)] = held if isinstance(held, Num) else zero_of_type(kind)
            if kind != self.kinds[-1]:
                out[self._flag(kind)] = Num(case.when if case else FALSE, weak="bool")
        return out

    def gather(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The name with its value where those names have `values`."""
        out: list[UnionCase] = []
        rest: Expr = TRUE
        for kind in self.kinds:
            when = rest
            if kind != self.kinds[-1]:
                flag = values[self._flag(kind)]
                assert isinstance(flag, Num)
                when = bool_op("and", rest, flag.ir)
                rest = bool_op("and", rest, bool_op("not", flag.ir))
            value = values[self._value(kind)] if isinstance(kind, tuple) else kind
            assert isinstance(value, (Num, Absent))
            out.append(UnionCase(value, when))
        return {self.name: UnionValue(tuple(out))}

    def _value(self, kind: CaseType) -> str:
        return union_value_name(self.name, _type_suffix(kind))

    def _flag(self, kind: CaseType) -> str:
        return union_flag_name(self.name, _type_suffix(kind))


def _type_suffix(kind: CaseType) -> str:
    if not isinstance(kind, tuple):
        return kind.name.lower()
    strong, weak = kind
    return strong or f"py_{weak}"


def for_each_case(
    ctx: Lowering, operate: Callable[..., Scalar], node: ast.AST, *operands: Scalar
) -> Scalar:
    """``operate(*operands)`` for each type that they may have."""
    several = next((n for n in operands if isinstance(n, UnionValue)), None)
    if several is None:
        return _for_one_type(ctx, operate, node, operands)
    out: Scalar | None = None
    for case in reversed(cases_with_number(ctx, several, node)):
        assert isinstance(case.value, Num)
        given = [case.value if n == several else n for n in operands]
        with _computed_in_vain(ctx, case.when):
            got = for_each_case(ctx, operate, node, *given)
        out = got if out is None else select_scalar(ctx, case.when, got, out, node)
    assert out is not None
    return out


def _for_one_type(
    ctx: Lowering, operate: Callable[..., Scalar], node: ast.AST, operands: tuple[Scalar, ...]
) -> Scalar:
    """Numbers that are Python's or NumPy's are taken apart where the operation needs it."""
    either = next((n for n in operands if isinstance(n, Num) and n.either), None)
    if either is None:
        return operate(*operands)
    try:
        with ctx.b.attempt():
            return operate(*operands)
    except Refused as refused:
        cases = union_cases(ctx.b, either)
        if refused.rejection.code != "LOWER_JOIN" or cases is None or not ctx.b.allows_unions:
            raise
    apart = UnionValue(tuple(replace(c, when=ctx.b.bind(c.when, "py")) for c in cases))
    return for_each_case(ctx, operate, node, *(apart if n == either else n for n in operands))


@contextmanager
def _computed_in_vain(ctx: Lowering, cond: Expr) -> Iterator[None]:
    """What is computed inside is of use where `cond` holds, and may raise elsewhere, too."""
    b = ctx.b
    before = len(b.warnings.sources)
    with under(b, cond):
        yield
    note_in_vain(b, before)


def cases_with_number(ctx: Lowering, several: UnionValue, node: ast.AST) -> list[UnionCase]:
    """What `several` may be here; where it is no number, Python must answer."""
    cases = feasible_cases(several.cases, ctx.b.path.condition)
    there = [c for c in cases if isinstance(c.value, Num)]
    if not there:
        refuse_no_value(f"`{source_text(node)}` is of no number", node)
    for c in cases:
        if c not in there:
            code = "GUARD_RAISES" if c.value is Absent.NONE else "GUARD_EMPTY"
            require(ctx.b, bool_op("not", c.when), code, node)
    return there


def require_one_type(ctx: Lowering, n: Scalar, node: ast.AST) -> Num | ComplexPair:
    """`n`, which has to be of one type."""
    if not isinstance(n, UnionValue):
        return n
    cases = cases_with_number(ctx, n, node)
    if len(cases) > 1 or not isinstance(cases[0].value, Num):
        said = f"the type of `{source_text(node)}` depends on the data"
        return refuse("LOWER_JOIN", said, node)
    return cases[0].value


def select_scalar(ctx: Lowering, cond: Expr, x: Scalar, y: Scalar, node: ast.AST) -> Scalar:
    """``x if cond else y``, of whatever types."""
    if isinstance(x, ComplexPair) or isinstance(y, ComplexPair):
        return select_complex(
            ctx, cond, require_one_type(ctx, x, node), require_one_type(ctx, y, node), node
        )
    got: Scalar | None = None
    if isinstance(x, Num) and isinstance(y, Num):
        got = join_values(cond, x, y)
        got = got and ctx.b.note_constant(got, x, y)
    if got is None and ctx.b.allows_unions:
        got = select_union(ctx.b, ctx.b.bind(cond, "cond"), x, y)
    if got is None:
        said = f"`{source_text(node)}` gives values of two types"
        return refuse("LOWER_JOIN", said, node)
    return got


def truth_of_scalar(ctx: Lowering, x: Scalar, node: ast.AST) -> Expr:
    """``bool(x)``."""
    if isinstance(x, ComplexPair):
        return complex_truth(ctx, x)
    if isinstance(x, Num):
        return truth_value(x)
    out: Expr = FALSE
    for c in feasible_cases(x.cases, ctx.b.path.condition):
        if isinstance(c.value, Num):
            out = bool_op("or", out, bool_op("and", c.when, truth_value(c.value)))
        elif c.value is Absent.UNBOUND:
            require(ctx.b, bool_op("not", c.when), "GUARD_EMPTY", node)
    return out


def is_none_condition(ctx: Lowering, x: object, node: ast.AST) -> Expr:
    """``x is None``."""
    if not isinstance(x, UnionValue):
        return FALSE
    out: Expr = FALSE
    for c in feasible_cases(x.cases, ctx.b.path.condition):
        if c.value is Absent.NONE:
            out = bool_op("or", out, c.when)
        elif c.value is Absent.UNBOUND:
            require(ctx.b, bool_op("not", c.when), "GUARD_EMPTY", node)
    return out


@overload
def bind_scalar(ctx: Lowering, x: Num | ComplexPair, hint: str) -> Num | ComplexPair: ...


@overload
def bind_scalar(ctx: Lowering, x: Scalar, hint: str) -> Scalar: ...


def bind_scalar(ctx: Lowering, x: Scalar, hint: str) -> Scalar:
    """`x` under names of its own."""
    if isinstance(x, UnionValue):
        return UnionValue(tuple(
            replace(c, value=bind_num(ctx.b, c.value, hint)) if isinstance(c.value, Num) else c
            for c in x.cases
        ))
    if isinstance(x, Num):
        return bind_num(ctx.b, x, hint)
    return replace(x, re=bind_num(ctx.b, x.re, hint), im=bind_num(ctx.b, x.im, hint))


def lower_real(ctx: Lowering, node: ast.expr) -> Num:
    """`node` as a real scalar."""
    got = lower_number(ctx, node)
    if isinstance(got, ComplexPair):
        return refuse("LOWER_COMPLEX", f"`{source_text(node)}` is complex here", node)
    return got


def lower_number(ctx: Lowering, node: ast.expr) -> Num | ComplexPair:
    """`node` as a scalar of one type."""
    return require_one_type(ctx, lower_scalar(ctx, node), node)
