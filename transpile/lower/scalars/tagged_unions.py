"""Tagged unions: values whose type depends on the data, each case with its condition.

    y = None                            y: None where `not c`, a float where `c`
    if c:
        y = x[i]
    z = y + 1.0                   →     require c (Python raises for None), then z = y_value + 1.0

A union (`UnionValue`) has a case for each type, with a bool that holds where it is the active one;
exactly one does. An operation on a union is lowered once for each case (`for_each_case`), and the
results are selected. A value that is a Python or a NumPy scalar (`Num.either`) is a lighter form of
it, with one variable for both types, and is converted where an operation needs the cases
(`union_cases`). A loop carries a union in several accumulators (`CarriedUnion`).
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias, overload

from loopir.analysis.integers.implied_conditions import conjuncts
from loopir.dtypes import DTYPES
from loopir.lazy_dataclass import record, replace
from loopir.nodes import Call, Const, Expr, Var

from ...codes.lowering_codes import HELP_FOR_NONE
from ...diagnostics import Refused
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse, refuse_no_value
from ...types.phi import join_values, make_select
from ...types.typed_values import FALSE, TRUE, ComplexPair, Num, bool_op, cast
from ..complex.complex_arithmetic import complex_truth, select_complex
from ..state.float_exceptions import note_speculative
from ..state.generated_names import union_flag_name, union_value_name
from ..state.guards_and_checks import require
from ..state.ir_builder import IRBuilder
from ..state.lowering_state import Lowering
from ..state.node_dispatch import lower_scalar
from ..state.path_conditions import simplify_given, used_only_where
from ..state.symbol_values import (
    Absent,
    ArrayRef,
    Scalar,
    Unbound,
    UnionCase,
    UnionValue,
    Value,
    conditions_of_flags,
)
from ..state.value_ranges import bind_num
from .dual_semantics import as_python_scalar
from .scalar_operands import as_int64, joined_words, truth_value

__all__ = [
    "MAX_CASES", "CarriedUnion", "CaseType", "NewCarriedTypes", "align_cases", "bind_scalar",
    "case_type", "cases_with_number", "feasible_cases", "for_each_case", "is_none_condition",
    "lower_number", "lower_real", "narrowed_unions", "operate_on_pair", "require_one_type",
    "select_scalar", "select_union", "truth_of_scalar", "union_cases", "zero_of_type",
]

CaseType: TypeAlias = "Absent | ArrayRef | tuple[str | None, str | None]"
"""The type of a case: the pair (NumPy dtype, Python dtype) of a number, of which one is None; an
array; None or unbound.
"""

MAX_CASES = 4
"""The largest number of types of one value; where there are more, the function is refused."""


def case_type(value: Num | ArrayRef | Absent) -> CaseType:
    """The type of a case."""
    return value.types if isinstance(value, Num) else value


def zero_of_type(kind: CaseType) -> Num:
    """The number 0 of this type, for a variable whose value is not used."""
    assert isinstance(kind, tuple), kind
    dtype = kind[0] or kind[1]
    assert dtype is not None
    return Num(Const(DTYPES[dtype].numpy.type(0).item(), dtype), *kind)


def union_cases(b: IRBuilder, v: Value | None) -> tuple[UnionCase, ...] | None:
    """`v` as the cases of a union, each with its condition:

        a number of one type                    itself, always
        Python's or NumPy's, by the path        the Python scalar where its flag holds, the NumPy
                                                scalar elsewhere, each in its own dtype
        a number that may be unbound            its cases where it is bound, unbound elsewhere
        no value (None)                         unbound, always

    None where that is not possible: `v` is an array, a complex number, a 0-d array, or was rounded
    to a dtype that does not hold both of its types exactly.
    """
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
            # The Python scalar: a known constant, the variable itself, or else a conversion.
            python = _python_constant(b, v.ir) or as_python_scalar(b, v)
            if v.exact and v.weak and python is None:
                ir = _converted_where(v, v.weak_now, v.weak)
                python = Num(ir, weak=v.weak, interval=v.interval)
            if python is None or v.strong is None:
                return None
            is_numpy = bool_op("not", v.weak_now)
            numpy = Num(_converted_where(v, is_numpy, v.strong), strong=v.strong)
            return (UnionCase(python, v.weak_now), UnionCase(numpy, is_numpy))
    return None


def _python_constant(b: IRBuilder, e: Expr) -> Num | None:
    """The constant that `e` is wherever it is a Python scalar; elsewhere it is a NumPy scalar. None
    if there is no such constant, or it is not known.
    """
    while e not in b.numbers.python_constants and isinstance(e, Var) and e.name in b.values:
        e = b.values[e.name]
    return b.numbers.python_constants.get(e)


def _converted_where(n: Num, cond: Expr, dtype: str) -> Expr:
    """`n` converted to `dtype` where `cond` holds. Elsewhere 0 is converted between kinds of
    dtypes, since `n` may be a float there that no int can hold.
    """
    if DTYPES[n.dtype].kind == DTYPES[dtype].kind:
        return cast(n.ir, dtype)
    zero = Const(DTYPES[n.dtype].numpy.type(0).item(), n.dtype)
    return cast(Call("select", (cond, n.ir, zero), n.dtype), dtype)


def align_cases(
    b: IRBuilder, x: Value | None, y: Value | None
) -> dict[CaseType, tuple[UnionCase, UnionCase]] | None:
    """For each type that `x` or `y` may have, the cases of that type of both; a value that never
    has the type gets a case that never holds. None where `union_cases` of `x` or `y` is None.
    """
    x_cases, y_cases = union_cases(b, x), union_cases(b, y)
    if x_cases is None or y_cases is None:
        return None
    x_by_type, y_by_type = ({case_type(c.value): c for c in side} for side in (x_cases, y_cases))
    kinds = tuple(dict.fromkeys((*x_by_type, *y_by_type)))
    never = {k: UnionCase(zero_of_type(k) if isinstance(k, tuple) else k, FALSE) for k in kinds}
    return {k: (x_by_type.get(k, never[k]), y_by_type.get(k, never[k])) for k in kinds}


def select_union(
    b: IRBuilder, cond: Expr, x: Value | None, y: Value | None
) -> Num | UnionValue | None:
    """``x if cond else y`` as a union, or as a number if there is one type; None where there are
    more types than `MAX_CASES` or they are not known.

        x: int or None (by p), y: None    →    int where cond and p, None elsewhere

    There is a case for each type of `x` or `y` (`align_cases`): its value and its condition are
    selected by `cond` from those of both. `cond` is used several times, so it should be a name.
    """
    pairs = align_cases(b, x, y)
    if pairs is None or len(pairs) > MAX_CASES:
        return None
    cases = []
    for a, c in pairs.values():
        from_x, from_y = bool_op("and", cond, a.when), bool_op("and", bool_op("not", cond), c.when)
        when = a.when if a.when == c.when else b.bind(bool_op("or", from_x, from_y), "holds")
        cases.append(UnionCase(_selected_value(cond, a, c), when))
    selected = UnionValue(tuple(cases)) if len(cases) > 1 else _single_case(cases)
    assert not isinstance(selected, ArrayRef)
    return selected


def _single_case(cases: Iterable[UnionCase]) -> Num | ArrayRef | UnionValue:
    """The value of the only one of `cases`; a union of one case if it is None or unbound."""
    (case,) = cases
    return UnionValue((case,)) if isinstance(case.value, Absent) else case.value


def _selected_value(cond: Expr, a: UnionCase, c: UnionCase) -> Num | ArrayRef | Absent:
    """The value of the case `a` where `cond` holds, else that of `c`, which has the same type. No
    select is needed where one of them never holds.
    """
    x, y = a.value, c.value
    if FALSE in (a.when, c.when) or x == y or not (isinstance(x, Num) and isinstance(y, Num)):
        return x if c.when == FALSE else y
    bounds = (*x.interval, *y.interval)
    return Num(make_select(cond, x.ir, y.ir), *x.types, interval=(min(bounds), max(bounds)))


def feasible_cases(cases: Iterable[UnionCase], *facts: Expr | None) -> list[UnionCase]:
    """Those of `cases` that are possible where the bools `facts` hold (None: no fact), with their
    conditions simplified; only the one that certainly holds, if there is one.
    """
    known = {e for fact in facts if fact is not None for e in conjuncts(fact)}
    simplified = [replace(c, when=simplify_given(c.when, known)) for c in cases]
    certain = [c for c in simplified if c.when == TRUE]
    return certain or [c for c in simplified if c.when != FALSE]


def narrowed_unions(env: dict[str, Value], cond: Expr) -> dict[str, Value]:
    """The unions in `env`, by name, narrowed to the cases that are possible where `cond` holds
    (flow typing); a single one is its value. They are put into ``env`` in a branch on `cond`.

        if y is not None:        cond: not y_is_none
            z = y + 1.0          y: the float alone, without a check

    A case is impossible if its ``when`` is false given the conjuncts of `cond`
    (`feasible_cases`). Names that are no union, or where no case is possible, are left out.
    """
    narrowed: dict[str, Value] = {}
    for name, v in env.items():
        if isinstance(v, UnionValue) and (cases := feasible_cases(v.cases, cond)):
            narrowed[name] = _single_case(cases) if len(cases) == 1 else UnionValue(tuple(cases))
    return narrowed


class NewCarriedTypes(Exception):
    """Raised where a loop must carry `name` as a union of the types `kinds`, and those that it is
    carried as already. Caught by `loop_types.lower_loop_body`.
    """

    def __init__(self, name: str, kinds: Iterable[CaseType]) -> None:
        super().__init__(name)
        self.name, self.kinds = name, tuple(kinds)


@record(frozen=True, slots=True)
class CarriedUnion:
    """How a loop carries a name with several types, ``kinds``: in one accumulator for the value of
    each type that is a number, and in bool accumulators that tell the active type. For n types
    there are n - 1 bools, of which the first that is true decides (`conditions_of_flags`).

        best = None                    for i in loop(0, n, best_is_none=True, best_f64=0.0):
        for i in range(n):        →        best_is_none = step(not x[i] > 0.0 and best_is_none)
            if x[i] > 0:                   best_f64 = step(x[i] if x[i] > 0.0 else best_f64)
                best = x[i]            after it: None where best_is_none, else the float best_f64
                                       (the conditions are simplified here)

    `loop_types._carried_groups` and `_widen_groups` make it. Before the loop, and at the end of an
    iteration, `spread` takes the union apart into the values of the accumulators; at the start of
    an iteration, and after the loop, `gather` makes the union of them. The accumulators have
    generated names (`generated_names.py`).
    """

    name: str
    kinds: tuple[CaseType, ...]

    @property
    def accumulators(self) -> list[str]:
        """The names of the accumulators: values first, then flags."""
        values = (self._value(k) for k in self.kinds if isinstance(k, tuple))
        return [*values, *map(self._flag, self.kinds[:-1])]

    def with_more(self, kinds: Iterable[CaseType]) -> CarriedUnion:
        """The same name with the types `kinds` in addition."""
        return CarriedUnion(self.name, tuple(dict.fromkeys((*self.kinds, *kinds))))

    def spread(self, b: IRBuilder, env: Mapping[str, Value]) -> dict[str, Num]:
        """The values of the accumulators where the name has its value in `env`. Raises
        NewCarriedTypes where that may have a type that is not carried, Refused where its types are
        not known.
        """
        value_cases = union_cases(b, env.get(self.name))
        if value_cases is None:
            refuse("LOWER_JOIN", f"the type of `{self.name}` depends on the data", None)
        cases = {case_type(c.value): c for c in value_cases}
        if not cases.keys() <= set(self.kinds):
            raise NewCarriedTypes(self.name, cases)
        out: dict[str, Num] = {}
        for kind in self.kinds:
            case = cases.get(kind)
            if isinstance(kind, tuple):
                value = case.value if case else None
                out[self._value(kind)] = value if isinstance(value, Num) else zero_of_type(kind)
            if kind != self.kinds[-1]:
                out[self._flag(kind)] = Num(case.when if case else FALSE, weak="bool")
        return out

    def gather(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """The value of the name where the accumulators have `values`; the inverse of `spread`."""
        numbers = [values[self._flag(kind)] for kind in self.kinds[:-1]]
        flags = [flag.ir for flag in numbers if isinstance(flag, Num)]
        cases: list[UnionCase] = []
        for kind, when in zip(self.kinds, conditions_of_flags(flags), strict=True):
            value = values[self._value(kind)] if isinstance(kind, tuple) else kind
            assert isinstance(value, (Num, Absent))
            cases.append(UnionCase(value, when))
        return {self.name: UnionValue(tuple(cases))}

    gather_after_loop = gather

    def _value(self, kind: CaseType) -> str:
        """The accumulator for the value of the type `kind`, a number."""
        return union_value_name(self.name, _type_suffix(kind))

    def _flag(self, kind: CaseType) -> str:
        """The bool accumulator that tells whether `kind` is the active type."""
        return union_flag_name(self.name, _type_suffix(kind))


def _type_suffix(kind: CaseType) -> str:
    """The type as a part of an accumulator's name: "none", "f64", "py_i64"."""
    if not isinstance(kind, tuple):
        return kind.name.lower()
    strong, weak = kind
    return strong or f"py_{weak}"


def for_each_case(
    ctx: Lowering, operate: Callable[..., Scalar], node: ast.AST, *operands: Scalar,
    takes_words: bool = False,
) -> Scalar:
    """``operate(*operands)``, lowered once for each combination of the types of the unions among
    the operands; the results are selected. ``operate`` takes numbers only; all operations on
    scalars go through this function.

        y * 2     y: an int where c, else a float    →    a union: y_i * 2 where c, else y_f * 2.0
        y < 2     the same                           →    select(c, y_i < 2, y_f < 2.0), one bool

    - A union that is None or unbound is no number: that case is required not to hold, since Python
      raises there (`cases_with_number`).
    - The operation of a case is computed also where another case holds. It must not raise there
      (`used_only_where`), and what it would warn of does not count (`_computed_everywhere`).
    - One union is resolved at a time; the recursion resolves the next one in each of its cases.
    - Unless ``operate`` ``takes_words``, it gets an int64 of a word (`Num.is_word`).

    Raises what `operate` raises, and Refused where the results cannot be selected.
    """
    union = next((n for n in operands if isinstance(n, UnionValue)), None)
    if union is None:
        if not takes_words:
            operands = tuple(_as_int64(ctx, n, node) for n in operands)
        return _operate_on_numbers(ctx, operate, node, operands)
    result: Scalar | None = None
    for case in reversed(cases_with_number(ctx, union, node)):
        assert isinstance(case.value, Num)
        case_operands = [case.value if n == union else n for n in operands]
        with _computed_everywhere(ctx, case.when):
            value = for_each_case(ctx, operate, node, *case_operands, takes_words=takes_words)
        result = value if result is None else select_scalar(ctx, case.when, value, result, node)
    assert result is not None
    return result


def _operate_on_numbers(
    ctx: Lowering, operate: Callable[..., Scalar], node: ast.AST, operands: tuple[Scalar, ...]
) -> Scalar:
    """``operate(*operands)``, where no operand is a union. If it is refused (LOWER_JOIN), the first
    operand that is Python's or NumPy's, depending on the data, is made a union of two cases, and
    ``operate`` is lowered once for each. The refusal is raised where there is none, where
    `union_cases` of it is None, and where unions are not allowed (`IRBuilder.allows_unions`).
    """
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
    union = UnionValue(tuple(replace(c, when=ctx.b.bind(c.when, "py")) for c in cases))
    return for_each_case(ctx, operate, node, *(union if n == either else n for n in operands))


@contextmanager
def _computed_everywhere(ctx: Lowering, cond: Expr) -> Iterator[None]:
    """A context for lowering values that are used only where `cond` holds, but are computed, and
    may raise floating-point flags, everywhere.
    """
    b = ctx.b
    before = len(b.warnings.sources)
    with used_only_where(b, cond):
        yield
    note_speculative(b, before)


def cases_with_number(ctx: Lowering, union: UnionValue, node: ast.AST) -> list[UnionCase]:
    """The cases of `union` that are numbers and possible on the current path. The other possible
    cases, None and unbound, are required not to hold, since Python raises there. Raises NoValue
    where no case is a number.
    """
    cases = feasible_cases(union.cases, ctx.b.path.used_where)
    numbers = [c for c in cases if isinstance(c.value, Num)]
    if not numbers:
        is_none = all(c.value is Absent.NONE for c in cases)
        help = HELP_FOR_NONE if is_none else None
        refuse_no_value(f"`{source_text(node)}` is no number here", node, help=help)
    for c in cases:
        if c not in numbers:
            code = "GUARD_RAISES" if c.value is Absent.NONE else "GUARD_EMPTY"
            require(ctx.b, bool_op("not", c.when), code, node)
    return numbers


def require_one_type(
    ctx: Lowering, n: Scalar, node: ast.AST, *, takes_words: bool = False
) -> Num | ComplexPair:
    """`n` as a number of one type. The cases of a union that are None or unbound are required not
    to hold (`cases_with_number`). Raises Refused for a union of several numbers, and NoValue for
    one of none. A word (`Num.is_word`) is required to fit an int64, unless ``takes_words``.
    """
    if not isinstance(n, UnionValue):
        return n if takes_words or isinstance(n, ComplexPair) else as_int64(ctx.b, n, node)
    cases = cases_with_number(ctx, n, node)
    if len(cases) > 1 or not isinstance(cases[0].value, Num):
        message = f"the type of `{source_text(node)}` depends on the data"
        return refuse("LOWER_JOIN", message, node)
    return require_one_type(ctx, cases[0].value, node, takes_words=takes_words)


def _as_int64(ctx: Lowering, n: Scalar, node: ast.AST) -> Scalar:
    """`n`; a word is required to fit an int64."""
    return as_int64(ctx.b, n, node) if isinstance(n, Num) else n


def select_scalar(ctx: Lowering, cond: Expr, x: Scalar, y: Scalar, node: ast.AST) -> Scalar:
    """``x if cond else y`` for scalars of any types. The first that is possible:

    - two complex numbers: their parts are selected (a real number beside one is refused);
    - two numbers that one dtype holds: one value (`phi.join_values`), as ``select(c, x, 1.0)`` of
      a float64 ``x``;
    - a union of the types of both (`select_union`), as ``c: an int, not c: a float``; not in the
      guesses of `loop_types` that forbid unions.

    Raises Refused (LOWER_JOIN) where none is. Called for ``a if c else b``, ``and``, ``or``, and
    the results of `for_each_case`.
    """
    if isinstance(x, ComplexPair) or isinstance(y, ComplexPair):
        return select_complex(
            cond, require_one_type(ctx, x, node), require_one_type(ctx, y, node), node
        )
    selected: Scalar | None = None
    if isinstance(x, Num) and isinstance(y, Num):
        if x.is_word is not y.is_word:
            cond = ctx.b.bind(cond, "cond")
            x, y = joined_words(ctx.b, cond, x, y, node)
        selected = join_values(cond, x, y)
        selected = selected and ctx.b.note_constant(selected, x, y)
    if selected is None and ctx.b.allows_unions:
        selected = select_union(ctx.b, ctx.b.bind(cond, "cond"), x, y)
    if selected is None:
        message = f"`{source_text(node)}` gives values of two types"
        return refuse("LOWER_JOIN", message, node)
    return selected


def truth_of_scalar(ctx: Lowering, x: Scalar, node: ast.AST) -> Expr:
    """``bool(x)``; false for None. `x` is required to be bound."""
    if isinstance(x, ComplexPair):
        return complex_truth(x)
    if isinstance(x, Num):
        return truth_value(x)
    out: Expr = FALSE
    for c in feasible_cases(x.cases, ctx.b.path.used_where):
        if isinstance(c.value, Num):
            out = bool_op("or", out, bool_op("and", c.when, truth_value(c.value)))
        elif c.value is Absent.UNBOUND:
            require(ctx.b, bool_op("not", c.when), "GUARD_EMPTY", node)
    return out


def is_none_condition(ctx: Lowering, x: object, node: ast.AST) -> Expr:
    """``x is None``: false for any `x` that is no union. A union is required to be bound."""
    if not isinstance(x, UnionValue):
        return FALSE
    out: Expr = FALSE
    for c in feasible_cases(x.cases, ctx.b.path.used_where):
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
    """`x` with each of its numbers bound to a name."""
    if isinstance(x, UnionValue):
        cases = tuple(
            replace(c, value=bind_num(ctx.b, c.value, hint)) if isinstance(c.value, Num) else c
            for c in x.cases
        )
        return UnionValue(cases, x.as_float and bind_num(ctx.b, x.as_float, hint))
    if isinstance(x, Num):
        return bind_num(ctx.b, x, hint)
    return replace(x, re=bind_num(ctx.b, x.re, hint), im=bind_num(ctx.b, x.im, hint))


def operate_on_pair(
    ctx: Lowering, operate: Callable[..., Scalar], node: ast.AST, x: Scalar, y: Scalar
) -> Scalar:
    """``operate(x, y)``, an arithmetic operation or a comparison, for each case of unions. A union
    of Python's int and float beside a float is one case (`_as_float_beside`).
    """
    pair = _as_float_beside(x, y), _as_float_beside(y, x)
    return for_each_case(ctx, operate, node, *pair, takes_words=True)


def _as_float_beside(x: Scalar, other: Scalar) -> Scalar:
    """`x` as it enters an arithmetic operation or a comparison with `other`. If `x` is a union of
    a Python int and a float whose number is known as a float (`UnionValue.as_float`), and `other`
    is a float: that float, to which Python and NumPy convert an int. Else `x` itself.
    """
    if not isinstance(x, UnionValue) or x.as_float is None or not isinstance(other, Num):
        return x
    floats = all(d is None or DTYPES[d].kind == "f" for d in other.types)
    return x.as_float if floats else x


def lower_real(ctx: Lowering, node: ast.expr, *, takes_words: bool = False) -> Num:
    """`node` as a real number of one type (`require_one_type`). Raises Refused for anything else.
    """
    number = require_one_type(ctx, lower_scalar(ctx, node), node, takes_words=takes_words)
    if isinstance(number, ComplexPair):
        return refuse("LOWER_COMPLEX", f"`{source_text(node)}` is complex here", node)
    return number


def lower_number(ctx: Lowering, node: ast.expr) -> Num | ComplexPair:
    """`node` as a real or complex number of one type. Raises Refused for anything else."""
    return require_one_type(ctx, lower_scalar(ctx, node), node)
