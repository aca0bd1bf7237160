"""Bounds of subscripts: negative ones wrap; others are proved in bounds, guarded or checked."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.dtypes import DTYPES
from loopir.nodes import Call, Expr, Var

from ...frontend.refusal import refuse
from ...types.typed_values import TRUE, Num, bool_op, cast
from ..state.guards_and_checks import add_guard, require
from ..state.ir_builder import IRBuilder
from ..state.path_conditions import is_nonnegative, loop_extremum, may_never_run
from ..state.symbol_values import ArrayRef
from ..state.value_ranges import integer_num, linear_num, max_value, min_value

__all__ = ["axis_subscripts", "in_bounds_subscript", "subscript_only_params"]


def axis_subscripts(node: ast.Subscript) -> list[ast.expr]:
    """The subscripts in `node`, one for each axis."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def subscript_only_params(tree: ast.FunctionDef) -> frozenset[str]:
    """The parameters that are used as subscripts only."""
    loads = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    places = [p for n in ast.walk(tree) if isinstance(n, ast.Subscript) for p in axis_subscripts(n)]
    given = {a.arg for a in ast.walk(tree.args) if isinstance(a, ast.arg)}
    others = set(loads) - {p for p in places if isinstance(p, ast.Name)}
    return frozenset(given - {n.id for n in others})


def in_bounds_subscript(
    b: IRBuilder, array: ArrayRef, axis: int, n: Num, node: ast.AST
) -> tuple[Num, Expr | None]:
    """The subscript `n` of one axis, with a negative index wrapped, and the condition under which
    it is in bounds (None: it is in bounds wherever the kernel runs).

    The first of these that applies to the subscript decides; 1 to 4 are for affine ones:

    1. It is a parameter used as a subscript only: guards on the argument, of either sign; no check.
    2. It depends on a ``while`` around, whose condition helps to prove it in bounds: no check.
    3. Conditions around it prove it in bounds, given what is known before the loops: that is
       guarded, and the subscript clamped.
    4. It is in bounds in all iterations, proved or guarded before the loops: no check.
    5. Otherwise a check at the use, then the subscript clamped.

    Refuses a subscript that is no integer.
    """
    length = array.shape[axis]
    if n.either and n.weak == "i64" and DTYPES[n.strong or "i64"].kind not in "iu":
        require(b, n.weak_now, "GUARD_RAISES", node)  # a bool, or a float, is no place
    if n.weak is None and DTYPES[n.strong or "f64"].kind not in "iu":
        refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is not indexed by an integer", node)
    if n.weak in ("bool", "f64"):
        refuse("LOWER_SUBSCRIPT", f"`{ast.unparse(node)}` is not indexed by an integer", node)
    if n.linear is not None and length.linear is not None:
        linear = n.linear
        if (given := _caller_subscript(b, linear, length.linear)) is not None:
            add_guard(b, Call("ge", (given, index_const(0)), "bool"), "GUARD_BOUNDS", node)
            add_guard(b, Call("lt", (given, length.ir), "bool"), "GUARD_BOUNDS", node)
            return linear_num(b, LinearForm.of(given)), None
        if max_value(b, linear) < 0:  # a negative constant counts from the end
            linear = linear + length.linear
        margins = linear, length.linear + LinearForm({}, -1) - linear
        sure = [_is_nonnegative_in_turn(b, m, linear) for m in margins]
        if b.path.while_names & linear.terms.keys() and all(sure):
            return linear_num(b, linear), None
        needed = _margins_needed(
            b, [m for m, known in zip(margins, sure, strict=True) if not known]
        )
        if needed is not None and not all(sure):
            for margin in needed:
                add_guard(
                    b, Call("ge", (margin.expr(), index_const(0)), "bool"), "GUARD_BOUNDS", node
                )
            at = b.bind_or_reuse(linear.expr(), "at")
            low, high = (
                Call("ge", (at, index_const(0)), "bool"),
                Call("lt", (at, length.ir), "bool"),
            )
            ok = bool_op("and", TRUE if sure[0] else low, TRUE if sure[1] else high)
            return _clamped_subscript(b, at, b.bind_or_reuse(ok, "inside"), length, node)
        if _prove_or_guard_range(b, linear, length.linear, node):
            return linear_num(b, linear), None
    return _checked(b, n, length, node)


def _caller_subscript(b: IRBuilder, at: LinearForm, length: LinearForm) -> Expr | None:
    """The subscript `at` from the front, where it is what the caller gives, of whatever sign."""
    (atom,) = at.terms if len(at.terms) == 1 else (None,)
    known = isinstance(atom, Var) and atom.name in b.subscript_params and at == LinearForm.of(atom)
    if not known or not b.invariant(length.expr()) or atom is None:
        return None
    negative = Call("lt", (atom, index_const(0)), "bool")
    back = Call("add", (atom, length.expr()), "i64")
    return Call("select", (negative, back, atom), "i64")


def _is_nonnegative_in_turn(b: IRBuilder, margin: LinearForm, at: LinearForm) -> bool:
    """Whether `margin` of the subscript `at` is provably >= 0: by the condition of a ``while``
    around it too, if it turns with that.
    """
    facts = b.path.while_facts if b.path.while_names & at.terms.keys() else ()
    return is_nonnegative(b, margin) or any(is_nonnegative(b, margin - fact) for fact in facts)


def _margins_needed(b: IRBuilder, doubtful: Sequence[LinearForm]) -> list[LinearForm] | None:
    """What must not be negative for the conditions around an affine subscript to prove that it is
    in bounds, on one side at least; None where they do not.
    """
    needed = [_margin_under_facts(b, margin) for margin in doubtful]
    if any(n is not None for n in needed):
        pairs = zip(needed, doubtful, strict=True)
        needed = [_margin_over_loops(b, m) if n is None else n for n, m in pairs]
    return [n for n in needed if n is not None and n.terms] if None not in needed else None


def _margin_over_loops(b: IRBuilder, margin: LinearForm) -> LinearForm | None:
    """What must not be negative, known before the loops, for `margin` never to be."""
    least = loop_extremum(b, margin, False)
    near = any(
        atom in b.ranges.spans for atom in margin.terms
    )  # it may not come to the end of its span
    known = all(map(b.invariant, least.terms))
    return least if known and not near and max_value(b, least) >= 0 else None


def _margin_under_facts(b: IRBuilder, margin: LinearForm) -> LinearForm | None:
    """What must not be negative, known before the loops, for a condition around to prove that
    `margin` is not; if that is less than for all of the loops' range to be in bounds.
    """
    if any(is_nonnegative(b, margin - fact) for fact in b.path.facts):
        return LinearForm()
    everywhere = loop_extremum(b, margin, False)
    for fact in b.path.facts:
        rest = loop_extremum(b, margin - fact, False)
        if min_value(b, rest - everywhere) > 0 <= max_value(b, rest) and all(
            map(b.invariant, rest.terms)
        ):
            return rest
    return None


def _prove_or_guard_range(
    b: IRBuilder, linear: LinearForm, length: LinearForm, node: ast.AST
) -> bool:
    """Whether all of an affine subscript's range is in bounds: proved, or guarded beforehand."""
    lowest, highest = loop_extremum(b, linear, False), loop_extremum(b, linear, True)
    room = length + LinearForm({}, -1) - highest
    if max_value(b, lowest) < 0 or max_value(b, room) < 0:  # it always leaves the array somewhere
        return False
    if max_value(b, highest) <= 0 and not is_nonnegative(
        b, lowest
    ):  # x[-i] is x[0] once, then from the end
        return False
    unproved = [margin for margin in (lowest, room) if not is_nonnegative(b, margin)]
    if unproved and any(atom in b.ranges.spans for atom in linear.terms):
        return False  # it may come nowhere near the end of its span
    if not all(b.invariant(atom) for margin in unproved for atom in margin.terms):
        return False
    for margin in unproved:
        add_guard(b, Call("ge", (margin.expr(), index_const(0)), "bool"), "GUARD_BOUNDS", node)
    return True


def _checked(b: IRBuilder, n: Num, length: Num, node: ast.AST) -> tuple[Num, Expr]:
    """A subscript known only at its use: negative ones wrap, others outside are Python's."""
    raw = at = b.bind_or_reuse(cast(n.ir, "i64"), "at")
    ok: Expr = Call("lt", (raw, length.ir), "bool")
    if n.range[0] < 0:
        first = Call("sub", (index_const(0), length.ir), "i64")
        wrapped = Call("add", (raw, length.ir), "i64")
        negative = Call("lt", (raw, index_const(0)), "bool")
        at = b.bind_or_reuse(Call("select", (negative, wrapped, raw), "i64"), "at")
        ok = bool_op("and", Call("ge", (raw, first), "bool"), ok)
    elif n.dtype == "u64":  # those that are no int64
        ok = bool_op("and", Call("ge", (raw, index_const(0)), "bool"), ok)
    ok = b.bind_or_reuse(ok, "inside")
    require(b, ok, "GUARD_BOUNDS", node)
    return _clamped_subscript(b, at, ok, length, node)


def _clamped_subscript(
    b: IRBuilder, at: Expr, ok: Expr, length: Num, node: ast.AST
) -> tuple[Num, Expr]:
    """Clamp `at` to 0 where `ok` is false, so that the load is always in bounds; returns (clamped
    subscript, `ok`).
    """
    maybe_empty = length.linear is None or min_value(b, length.linear) < 1
    if maybe_empty and not b.invariant(length.ir):
        b.buffers.empty_axis_conditions.add(ok)
    elif maybe_empty and not may_never_run(b):
        add_guard(b, Call("ge", (length.ir, index_const(1)), "bool"), "GUARD_BOUNDS", node)
    return integer_num(b, Call("select", (ok, at, index_const(0)), "i64")), ok
