"""Path conditions: the conditions of the branches and loops around the current expression.

They have two uses: facts for bounds and overflow checks, and operands that raise no floating-point
flag in an expression that Python would not evaluate.

A condition gives *facts*: linear forms that are >= 0 where the condition is true. `PathState` has
them while the branch or loop is lowered::

    for i in range(n):          # substituting the bounds of i: 0 <= i <= n - 1
        if i + 1 < n:           # fact: n - 2 - i >= 0
            y = x[i + 1]        # the margin n - 1 - (i + 1) is proved to be >= 0: in bounds

`is_nonnegative` proves that a margin is >= 0 in all iterations of the enclosing loops. It does not
look at facts: to use one, the caller asks for ``margin - fact``, as `follows_from_facts` does for
each fact. Users are the bounds of subscripts and slices, and ``x % n`` without a division.

Both sides of ``a if c else b``, and all operands of ``and`` and ``or``, are computed. While one is
lowered, `used_only_where` notes the condition under which Python evaluates it, and `apply_op` puts
a harmless operand where the condition is false. (In a branch of a vector loop `MaskedRewriter` in
``loopir/passes/vector/if_convert.py`` does so.)
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain

from loopir.analysis.integers.affine import LinearForm, extreme_form, nonnegative_margins
from loopir.analysis.integers.implied_conditions import implied_comparisons
from loopir.dtypes import DTYPES, INDEX
from loopir.nodes import Call, Const, Expr, Var
from loopir.op_table import OPS

from ...types.typed_values import FALSE, TRUE, bool_op
from .ir_builder import IRBuilder
from .symbol_values import LoopFrame
from .value_ranges import (
    interval_of,
    learn_equality,
    learn_from_guard,
    linear_form,
    max_value,
    min_value,
    narrow_ranges,
    unclamped,
    with_equal_atoms,
)

__all__ = [
    "apply_op", "assuming", "facts_from", "follows_from_facts", "holds_on_path", "in_iteration",
    "in_while_iteration", "is_nonnegative", "loop_extremum", "may_never_run", "simplify_given",
    "used_only_where",
]

_ZERO, _ONE, _MINUS_ONE = (LinearForm({}, k) for k in (0, 1, -1))


def facts_from(b: IRBuilder, cond: Expr) -> Iterator[LinearForm]:
    """The facts of a condition: linear forms that are >= 0 where `cond` is true. `assuming` puts
    them into `PathState.facts`, while it lowers the branch.

        i + 1 < n               →    n - 2 - i
        i >= 1 and n != 0       →    i - 1, n - 1        (a length n: n != 0 means n >= 1)

    Only the int64 comparisons that it implies give facts (`implied_comparisons`). ``p != q`` says
    nothing unless the sign of ``p - q`` is known, perhaps by another fact: then the difference is
    at least 1. So each ``!=`` is tried again after each new fact: a length that is not 0 and not 1
    is >= 2.
    """
    known, unequal = [*b.path.facts], list[list[LinearForm]]()
    refuted = partial(_contradicts, b, known)
    for op, left, right in implied_comparisons(cond, True, b.values.get, refuted):
        if left.dtype == INDEX:
            forms = linear_form(b, left), linear_form(b, right)
            margins = [*nonnegative_margins("eq" if op == "ne" else op, *forms)]
            if op == "ne":
                unequal.append(margins)  # p - q and q - p, of which one is >= 1
            else:
                known += margins
                yield from margins
    while (found := _first_of_known_sign(b, unequal, known)) is not None:
        k, margin = found
        del unequal[k]
        known.append(margin - _ONE)
        yield margin - _ONE


def _first_of_known_sign(
    b: IRBuilder, unequal: Sequence[Sequence[LinearForm]], known: Sequence[LinearForm]
) -> tuple[int, LinearForm] | None:
    """The first of the pairs ``p - q``, ``q - p`` in `unequal` of which one side is provably >= 0,
    by itself or by one of the facts `known`: its number, and that side. None if there is none.
    """
    for k, margins in enumerate(unequal):
        for margin in margins:
            if is_nonnegative(b, margin) or any(is_nonnegative(b, margin - f) for f in known):
                return k, margin
    return None


def _contradicts(
    b: IRBuilder, facts: Sequence[LinearForm], cond: Expr, holds: bool = True
) -> bool:
    """Whether one of `facts` refutes that `cond` is true (``holds=False``: that it is false)."""
    match cond:
        case Var(name) if (value := b.values.get(name)) is not None:
            return _contradicts(b, facts, value, holds)
        case Call("not", (inner,)):
            return _contradicts(b, facts, inner, not holds)
        case Call("and" | "or" as op, parts):
            combine = any if (op == "and") == holds else all
            return combine(_contradicts(b, facts, e, holds) for e in parts)
    return any(
        is_nonnegative(b, _MINUS_ONE - margin - fact)
        for op, left, right in implied_comparisons(cond, holds) if op != "ne"
        if left.dtype == INDEX
        for margin in nonnegative_margins(op, linear_form(b, left), linear_form(b, right))
        for fact in facts
    )


def is_nonnegative(b: IRBuilder, margin: LinearForm) -> bool:
    """Whether `margin` is provably >= 0 in all iterations of the enclosing loops.

        n - 1 - i    in a loop over i in range(n)    →    True: at least n - 1 - (n - 1)
        i - 1                                        →    False: -1 in the first iteration

    Its least value over the loops is computed (`loop_extremum`), then bounded by the intervals of
    the atoms that are left in that. No facts of branches are used: ask for ``margin - fact``, which
    is >= 0 if the fact is enough.
    """
    return _is_provably_nonnegative(b, loop_extremum(b, margin, False))


def follows_from_facts(b: IRBuilder, margin: LinearForm) -> bool:
    """Whether one fact of the path, or two that have a term in common, imply that `margin` is >= 0.
    """
    for fact in b.path.facts:
        rest = margin - fact
        if is_nonnegative(b, rest):
            return True
        if not fact.terms.keys().isdisjoint(margin.terms) and any(
            is_nonnegative(b, rest - other) for other in b.path.facts
            if other is not fact and not other.terms.keys().isdisjoint(rest.terms)
        ):
            return True
    return False


def _fails_in_some_iteration(b: IRBuilder, fact: LinearForm) -> bool:
    """Whether `fact` is certainly negative in some iteration of the enclosing loops."""
    return max_value(b, loop_extremum(b, fact, False)) < 0


def _is_provably_nonnegative(b: IRBuilder, margin: LinearForm) -> bool:
    """Whether `margin` is >= 0 by the intervals of its terms; a term ``-min(p, q)`` may be replaced
    by ``-p`` or ``-q``, neither of which is greater, and ``max(p, q)`` by ``p`` or ``q``.
    """
    if min_value(b, margin) >= 0:
        return True
    for atom, coefficient in margin.terms.items():
        match atom:
            case Call("min" | "max" as op, (p, q), "i64") if (coefficient < 0) == (op == "min"):
                if any(
                    _is_provably_nonnegative(b, margin.substitute(atom, linear_form(b, side)))
                    for side in (p, q)
                ):
                    return True
    return False


def loop_extremum(b: IRBuilder, linear: LinearForm, highest: bool) -> LinearForm:
    """The least value of `linear` over all iterations of the enclosing loops (``highest``: the
    greatest), as a linear form without the loops' variables and without expressions that have
    linear bounds (`RangeState.linear_bounds`).

        i + k        in a loop over i in range(n)    →    k; highest n - 1 + k
        j - i        in one over j in range(i) too   →    -i, then -(n - 1); highest -1

    Each variable is replaced by its bound, inner loops first, since their bounds may contain outer
    variables. That each loop has an iteration is assumed: where one has none, no code runs. Inside
    a product or a ``min`` variables may still occur. Of lengths that guards have found equal, one
    stands for all.
    """
    known = b.ranges.linear_bounds
    bounds = [(atom, known[atom]) for atom in linear.terms if atom in known]
    loops = ((f.var, (_ZERO, f.last)) for f in reversed(b.path.frames))
    extremum = extreme_form(linear, chain(bounds, loops), highest)
    assert extremum is not None
    return with_equal_atoms(b, extremum)


def simplify_given(cond: Expr, known: set[Expr]) -> Expr:
    """The bool `cond`, simplified under the assumption that all of `known` hold."""
    match cond:
        case _ if cond in known:
            return TRUE
        case _ if bool_op("not", cond) in known:
            return FALSE
        case Call("and" | "or" | "not" as op, args):
            return bool_op(op, *(simplify_given(e, known) for e in args))
        case _:
            return cond


@contextmanager
def used_only_where(b: IRBuilder, cond: Expr) -> Iterator[None]:
    """A context for expressions that are computed everywhere (speculatively), but whose values are
    used only where `cond` holds, as ``a`` in ``a if cond else b``::

        with used_only_where(b, cond):
            then = lower_scalar(ctx, node.body)

    It has three effects: operations must not raise where `cond` is false (`apply_op`); what they
    require need not hold there (`holds_on_path`); and `cond` gives facts, by which subscripts and
    sums are proved (`assuming`). Contexts nest: the conditions are combined. For code in a branch,
    which does not run where `cond` is false, use `assuming` alone.
    """
    outer = b.path.used_where
    b.path.used_where = cond if outer is None else bool_op("and", outer, cond)
    try:
        with assuming(b, cond):
            yield
    finally:
        b.path.used_where = outer


@contextmanager
def assuming(b: IRBuilder, cond: Expr) -> Iterator[None]:
    """A context for lowering code that runs, or whose values are used, only where `cond` holds: the
    facts of `cond` are assumed.
    """
    outer = b.path.facts
    b.path.facts = (*outer, *facts_from(b, cond))
    try:
        yield
    finally:
        b.path.facts = outer


@contextmanager
def in_iteration(b: IRBuilder, frame: LoopFrame) -> Iterator[None]:
    """A context for lowering an iteration of the loop `frame`.

    In an iteration the trip count is >= 1. That is recorded as a fact only if the trip count is
    certainly 0 in some iteration of the enclosing loops, as that of ``range(i)`` for i = 0; else it
    is known already, or guarded before the loops.

    Guards are added meanwhile. What such a guard implies is forgotten at the end if the guard also
    holds where this loop has no iteration (`Required.unless_empty`).
    """
    path = b.path
    outer = path.facts, path.equalities, path.guarded, path.requirements
    path.frames.append(frame)
    fact = frame.last
    if _fails_in_some_iteration(b, fact):
        path.facts = (*path.facts, fact)
    _learn_trip_count(b, frame)
    try:
        yield
    finally:
        inside = path.requirements[len(outer[-1]) :]
        path.facts, path.equalities, path.guarded, path.requirements = outer
        path.frames.pop()
        still_open = {f.trips for f in path.frames}
        for required in inside:
            if required.unless_empty <= still_open:
                learn_from_guard(b, required)


def _learn_trip_count(b: IRBuilder, frame: LoopFrame) -> None:
    """Records what equals the trip count of `frame`, in its iterations: a clamped length without
    its clamp, since it is positive there; and the same of each length that a guard compared.

        guard(max(n - 2, 0) == max(m - 2, 0));  for i in range(max(n - 2, 0))    →    n = m
    """
    trips, trip_form = with_equal_atoms(b, LinearForm.of(frame.trips)), frame.last + _ONE
    others = [LinearForm.of(e) for e in (frame.trips, *b.path.equalities)]
    for form in (trips, *(form for form in others if with_equal_atoms(b, form) == trips)):
        learn_equality(b, form, trip_form)
        learn_equality(b, unclamped(b, form), trip_form)


@contextmanager
def in_while_iteration(
    b: IRBuilder, facts: list[LinearForm], carried: frozenset[Expr]
) -> Iterator[None]:
    """A context for lowering an iteration of a ``while`` whose condition implies `facts`;
    ``carried`` are the accumulators of that loop.

    Only facts about accumulators are used. Values that depend on accumulators are computed in the
    loop only; a pass may hoist any other value out of the loop, where the facts do not hold.
    """
    outer = b.path.while_facts, b.path.while_names
    facts = [f for f in facts if carried & f.terms.keys()]
    b.path.while_facts = (*b.path.while_facts, *facts)
    b.path.while_names = b.path.while_names | carried
    intervals_outside = {a: interval_of(b, a) for f in facts for a in f.terms if a in carried}
    for fact in facts:
        narrow_ranges(b, fact, carried)
    try:
        yield
    finally:
        b.path.while_facts, b.path.while_names = outer
        b.ranges.intervals.update(intervals_outside)


def may_never_run(b: IRBuilder) -> bool:
    """Whether the code that is lowered now may never run and cannot be vectorized: it is in a
    ``while``; or outside of all loops, in a branch or in an operand that Python evaluates under a
    condition. An element that may be out of bounds is then loaded in a branch, rather than at a
    clamped subscript.
    """
    in_while = any(isinstance(f.node, ast.While) for f in b.path.frames)
    in_branch = b.path.branches > 0 or b.path.used_where is not None
    return in_while or (not b.path.frames and in_branch)


def holds_on_path(b: IRBuilder, cond: Expr) -> Expr:
    """The bool ``not used_where or cond``: `cond` is needed only where the value of the current
    expression is used (`PathState.used_where`). `cond` itself outside of such expressions.
    """
    if b.path.used_where is None:
        return cond
    return bool_op("or", bool_op("not", b.path.used_where), cond)


def apply_op(b: IRBuilder, op: str, *args: Expr, dtype: str | None = None) -> Expr:
    """``Call(op, args, dtype)``, by which lowering makes each operation that may raise a
    floating-point flag. ``dtype``: of the result; None: that of the last operand, or bool.

        a / b if c else 0.0    →    select(c, a / select(c, b, 1.0), 0.0)

    Python does not compute ``a / b`` where ``c`` is false, but the kernel does. If that raised a
    flag, the call would be replayed, since a flag means that NumPy may warn. So where the value is
    not used (`PathState.used_where` is false), `Op.masked_operands` are replaced by `Op.safe`, with
    which `op` raises nothing. They are left as they are if

    - the value is used everywhere, or `op` raises no flag, as integers divided by a constant;
    - `op` is plain arithmetic (`Op.masked_in_expressions`): a select for each operand would cost
      more than the rare replay. After such a replay a second kernel is compiled, a recording one
      (`float_errors.recording_helps`), in which they are replaced.
    """
    row = OPS[op]
    is_recording = b.warnings.raised_array is not None
    masks = row.masked_in_expressions or is_recording
    if b.path.used_where is not None and row.raises and masks:
        operand_dtype = args[-1].dtype
        is_float = DTYPES[operand_dtype].kind == "f"
        if not is_float and isinstance(args[-1], Const) and args[-1].value not in (0, -1):
            return Call(op, args, dtype or operand_dtype)
        safe = Const(row.safe if is_float else int(row.safe), operand_dtype)
        # An integer operation raises by its divisor alone, the last operand.
        masked = row.masked_operands if is_float else row.masked_operands[-1:]
        args = tuple(
            Call("select", (b.path.used_where, a, safe), operand_dtype) if k in masked else a
            for k, a in enumerate(args)
        )
    return Call(op, args, dtype or ("bool" if row.result == "m" else args[-1].dtype))
