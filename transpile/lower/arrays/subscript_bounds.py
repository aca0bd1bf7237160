"""Bounds of subscripts: negative ones wrap; others are proved in bounds, guarded or checked.

A subscript ``i`` of an axis of length ``n`` is in bounds if both *margins* are >= 0: ``i`` and
``n - 1 - i``. For an affine subscript both are linear forms. The docstring of `in_bounds_subscript`
lists the five ways to make sure; the most frequent are, from cheap to expensive::

    for i in range(n): x[i]         # proved, if n is the length of x: both margins are >= 0 in all
                                    # iterations; else guarded once at kernel entry: n <= len(x)
    if i + 1 < n: x[i + 1]          # proved by the condition; loaded at a clamped subscript, since
                                    # vector code also computes the lanes where it does not hold
    for i in range(n): x[i - 1]     # affine, but negative in the first iteration: wrapped and
                                    # checked at each use; `partition_loops` splits that iteration
                                    # off, so that the others have no test
    x[j[i]]                         # not affine: checked at each use, loaded at a clamped subscript

A guard or check that fails leaves the call to Python, which raises IndexError or wraps a negative
subscript. `in_bounds_subscript` decides; loads, stores, views and rows call it.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeAlias

from loopir.algebra.constant_folding import index_const
from loopir.analysis.integers.affine import LinearForm
from loopir.dtypes import DTYPES
from loopir.nodes import Call, Dim, Expr, Var

from ...frontend.ast_walk import subscript_items, walk_nodes
from ...frontend.core_nodes import source_text
from ...frontend.refusal import refuse
from ...types.typed_values import TRUE, Num, bool_op, cast
from ..state.guards_and_checks import add_guard, require
from ..state.ir_builder import IRBuilder
from ..state.path_conditions import follows_from_facts, is_nonnegative, loop_extremum, may_never_run
from ..state.symbol_values import ArrayRef
from ..state.value_ranges import integer_num, linear_num, max_value, min_value

__all__ = ["in_bounds_subscript", "require_python_int", "subscript_only_params"]


def subscript_only_params(tree: ast.FunctionDef) -> frozenset[str]:
    """The parameters of the function `tree` that occur only as subscripts, as ``i`` in ``x[i]``."""
    names, subscripts = list[ast.Name](), set[ast.expr]()
    for n in walk_nodes(tree):
        if isinstance(n, ast.Name):
            names.append(n)
        elif isinstance(n, ast.Subscript):
            subscripts.update(subscript_items(n))
    params = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    return frozenset(params - {n.id for n in names if n not in subscripts})


_Subscript: TypeAlias = "tuple[Num, Expr | None]"
"""A subscript that is safe to load from, and a bool: true where it is the element that the program
means, false where it is clamped to 0. None: it is in bounds wherever the kernel runs.
"""


def in_bounds_subscript(
    b: IRBuilder, array: ArrayRef, axis: int, n: Num, node: ast.AST
) -> _Subscript:
    """The subscript `n` of one axis, with a negative index wrapped, and the condition under which
    it is in bounds (None: it is in bounds wherever the kernel runs). Loads, stores, rows and views
    call it for each subscript.

        for i in range(n): y[i] = x[i]     →   guards n <= len(x), n <= len(y); no test in the loop

    The first of these that applies decides. 1 to 4 are for subscripts that are affine, of an axis
    whose length is affine, too. At run time 2 costs nothing, 1 and 4 a test before the loops, 3 a
    clamp at each use, 5 a check and a clamp there.

    1. It is a parameter used as a subscript only, and the length is known at kernel entry: wrapped
       there if it is negative, and guarded; no check.
    2. It depends on the accumulators of an enclosing ``while``, and the condition of that ``while``
       and the loops prove it in bounds: no check. (A guard is no alternative: how far the
       accumulators go is not known at kernel entry.)
    3. The conditions around it, such as ``if i + 1 < n``, imply that it is in bounds, provided that
       something else holds that is known at kernel entry, such as ``n <= len(x)``: that becomes the
       guard, or an alternative in it. The subscript is clamped, since vector code computes it also
       where those conditions do not hold.
    4. The ranges of the loops prove it in bounds in all iterations, or a guard at kernel entry
       does: no check. Not if such a guard would always or often fail, as for ``x[i - 1]`` with i
       from 0, which is case 5 (`_prove_or_guard_range`), or ``x[n - 1]`` after
       ``if n == 0: return`` (`_is_excluded_before`).
    5. Otherwise it is wrapped if it is negative, checked at the use, then clamped.

    Negative subscripts: 1 and 5 wrap them as Python does. One that is negative by its interval,
    such as ``x[-1]``, gets the length added before 2. 2 proves that there are none; 3 and 4 exclude
    them by the proof or the guard, and where the guard fails, Python runs the call.

    Raises Refused for a subscript that is no integer.
    """
    length = array.shape[axis]
    _require_integer(b, n, node)
    if n.linear is not None and length.linear is not None:
        affine = _affine_subscript(b, n.linear, length, length.linear, node)
        if affine is not None:
            return affine
    return _checked_subscript(b, n, length, node)


def require_python_int(b: IRBuilder, n: Num, node: ast.AST) -> None:
    """Requires that a subscript or a bound of a slice that is a Python int on some paths, and a
    NumPy bool or float on others, for which NumPy raises, is the int. No effect for other numbers.
    """
    if n.either and n.weak == "i64" and DTYPES[n.strong or "i64"].kind not in "iu":
        require(b, n.weak_now, "GUARD_RAISES", node)


def _require_integer(b: IRBuilder, n: Num, node: ast.AST) -> None:
    """Raises Refused for a subscript that is a bool or a float; on some paths only:
    `require_python_int`.
    """
    require_python_int(b, n, node)
    is_numpy_noninteger = n.weak is None and DTYPES[n.strong or "f64"].kind not in "iu"
    if is_numpy_noninteger or n.weak in ("bool", "f64"):
        refuse("LOWER_SUBSCRIPT", f"`{source_text(node)}` is not indexed by an integer", node)


def _affine_subscript(
    b: IRBuilder, subscript: LinearForm, length: Num, length_form: LinearForm, node: ast.AST
) -> _Subscript | None:
    """Cases 1 to 4 of `in_bounds_subscript`, which calls this, in their order; None where none of
    them applies, and the caller checks at the use (case 5). ``length_form`` is the linear form of
    `length`.

        x[i + 1], i in range(n - 1)    →    guard n <= len(x); (i + 1, None): no check   (case 4)
        x[-1]                          →    guard 1 <= len(x); (len(x) - 1, None)        (case 4)

    The margins are ``subscript`` and ``length - 1 - subscript``; the subscript is in bounds where
    both are >= 0. A margin is proved by the intervals, the loops, and in case 2 the condition of a
    ``while`` (`_is_proved_nonnegative`): of ``x[i + 1:][j]`` the length changes with i, too, so
    that the ends of the subscript alone would not tell. A subscript that is negative by its
    interval, such as ``x[-1]``, means ``length + subscript`` in Python, and the cases look at that
    sum. (That ``x[i - n]`` is negative follows from the loop only: it is left to case 5.)
    """
    wrapped = _wrapped_param(b, subscript, length_form)  # case 1
    if wrapped is not None:
        add_guard(b, Call("ge", (wrapped, index_const(0)), "bool"), "GUARD_BOUNDS", node)
        add_guard(b, Call("lt", (wrapped, length.ir), "bool"), "GUARD_BOUNDS", node)
        return linear_num(b, LinearForm.of(wrapped)), None
    if max_value(b, subscript) < 0:  # always negative, such as x[-1]
        subscript = subscript + length_form
    low_margin, high_margin = subscript, length_form + LinearForm({}, -1) - subscript
    low_proved = _is_proved_nonnegative(b, low_margin, subscript)
    high_proved = _is_proved_nonnegative(b, high_margin, subscript)
    if low_proved and high_proved:  # case 2, or case 4 without a guard
        return linear_num(b, subscript), None
    low, high = None if low_proved else low_margin, None if high_proved else high_margin
    under_conditions = _subscript_under_conditions(b, subscript, length, low, high, node)  # case 3
    if under_conditions is not None:
        return under_conditions
    if not low_proved and _is_excluded_before(b, subscript):
        return None
    if _prove_or_guard_range(b, subscript, length_form, node):  # case 4
        return linear_num(b, subscript), None
    return None


def _subscript_under_conditions(
    b: IRBuilder, subscript: LinearForm, length: Num, low_margin: LinearForm | None,
    high_margin: LinearForm | None, node: ast.AST,
) -> _Subscript | None:
    """Case 3 of `in_bounds_subscript`: the subscript clamped, where the conditions around it prove
    the given margins (None: proved without them), perhaps with guards, which are added. None where
    they do not prove them.

        for i in range(n):
            if i + 1 < n:            fact n - 2 - i >= 0; the high margin of x is len(x) - 2 - i
                y[i] = x[i + 1]      →    guard len(x) - n >= 0;  inside = i + 1 < len(x)
                                          x[select(inside, i + 1, 0)]
    """
    margins = [m for m in (low_margin, high_margin) if m is not None]
    guarded = _entry_margins(b, subscript, margins)
    if guarded is None:
        return None
    for alternatives in guarded:
        _guard_nonnegative(b, alternatives, node)
    at = b.bind_or_reuse(subscript.expr(), "at")
    low = TRUE if low_margin is None else Call("ge", (at, index_const(0)), "bool")
    high = TRUE if high_margin is None else Call("lt", (at, length.ir), "bool")
    in_bounds = b.bind_or_reuse(bool_op("and", low, high), "inside")
    return _clamped_subscript(b, at, in_bounds, length, node)


def _is_excluded_before(b: IRBuilder, subscript: LinearForm) -> bool:
    """Whether a condition that is no linear form may keep Python from using a `subscript` that is
    negative in some calls: it contains a number, and the code, which is in no loop, may never run.
    A guard at kernel entry would fail in those calls.

        if n == 0: return 0.0
        return x[n - 1]           →    check at the use (case 5), no guard n - 1 >= 0
    """
    has_number = any(not isinstance(atom, Dim) for atom in subscript.terms)
    return has_number and not b.path.frames and may_never_run(b)


def _guard_nonnegative(b: IRBuilder, margins: Sequence[LinearForm], node: ast.AST) -> None:
    """Adds a guard at kernel entry that one of the `margins` is >= 0."""
    holds: Expr | None = None
    for margin in margins:
        test = Call("ge", (margin.expr(), index_const(0)), "bool")
        holds = test if holds is None else bool_op("or", holds, test)
    assert holds is not None
    add_guard(b, holds, "GUARD_BOUNDS", node)


def _wrapped_param(b: IRBuilder, subscript: LinearForm, length: LinearForm) -> Expr | None:
    """Case 1 of `in_bounds_subscript`: ``i + length if i < 0 else i`` for the subscript of ``x[i]``
    with a parameter ``i``, computed once, at kernel entry. None, and another case applies, unless

    - the subscript is the parameter itself, and the length is known at kernel entry;
    - the parameter is used as a subscript only (`subscript_only_params`). In ``range(i)`` or
      ``x[i + k]`` it hardly is negative; the linear form ``i`` proves more than a ``select``.
    """
    (atom,) = subscript.terms if len(subscript.terms) == 1 else (None,)
    is_param = (
        isinstance(atom, Var)
        and atom.name in b.subscript_params
        and subscript == LinearForm.of(atom)
    )
    if not is_param or not b.known_at_entry(length.expr()) or atom is None:
        return None
    negative = Call("lt", (atom, index_const(0)), "bool")
    from_end = Call("add", (atom, length.expr()), "i64")
    return Call("select", (negative, from_end, atom), "i64")


def _is_proved_nonnegative(b: IRBuilder, margin: LinearForm, subscript: LinearForm) -> bool:
    """Whether `margin` is provably >= 0 in all iterations of the enclosing loops. For a `subscript`
    that depends on an accumulator of an enclosing ``while``, the facts of its condition are used.
    """
    facts = b.path.while_facts if b.path.while_names & subscript.terms.keys() else ()
    return is_nonnegative(b, margin) or any(is_nonnegative(b, margin - fact) for fact in facts)


def _entry_margins(
    b: IRBuilder, subscript: LinearForm, margins: Sequence[LinearForm]
) -> list[list[LinearForm]] | None:
    """The linear forms to guard at kernel entry, in groups: if in each group one is >= 0, then all
    `margins` of `subscript` are >= 0 wherever the conditions around the subscript hold.

        for i in range(n):
            if i + 1 < n: x[i + 1]              margin len(x) - 2 - i    →    [[len(x) - n]]
            if 0 <= i + k < n: x[i + k]    →    [[len(x) - n - k, len(x) - n]]

    Empty: nothing needs a guard. None, and case 3 of `in_bounds_subscript` does not apply, if

    - the conditions help with none of the margins, or not provably, and the subscript contains no
      number that is known at kernel entry, such as the k above (by such a number a subscript leaves
      the array in most calls, which is why there is a condition): case 4, without the conditions,
      needs no clamped subscript;
    - or there is a margin for which a guard is found neither with the conditions
      (`_margin_under_facts`) nor without them (`_margin_over_loops`).
    """
    needed = [_margin_under_facts(b, margin) for margin in margins]
    has_number = any(not isinstance(a, Dim) and b.known_at_entry(a) for a in subscript.terms)
    remainders = [
        _remainders_under_facts(b, m) if n is None else [n]
        for n, m in zip(needed, margins, strict=True)
    ]
    if not (any(remainders) if has_number else any(n is not None for n in needed)):
        return None
    groups: list[list[LinearForm]] = []
    for strict, margin, others in zip(needed, margins, remainders, strict=True):
        least = None if strict is not None else _margin_over_loops(b, margin)
        group = [*others] if least is None else [least, *others]
        if not group:
            return None
        if all(form.terms for form in group):
            groups.append(group)
    return groups


def _margin_over_loops(b: IRBuilder, margin: LinearForm) -> LinearForm | None:
    """The least value of `margin` over the enclosing loops, for a guard that it is >= 0. None if

    - it is not known at kernel entry, or is certainly negative;
    - or `margin` contains an expression such as ``k % n``, of which only bounds are known
      (`RangeState.linear_bounds`). The expression need not reach these bounds, so a guard on them
      would fail too often.
    """
    least = loop_extremum(b, margin, False)
    has_bounds = any(atom in b.ranges.linear_bounds for atom in margin.terms)
    known = all(map(b.known_at_entry, least.terms))
    return least if known and not has_bounds and max_value(b, least) >= 0 else None


def _margin_under_facts(b: IRBuilder, margin: LinearForm) -> LinearForm | None:
    """A linear form that is known at kernel entry. If it is >= 0, `margin` is >= 0 wherever the
    facts of the path hold. The constant 0: the facts alone prove `margin`.

        for i in range(n):
            if i + 1 < n: x[i + 1]     margin  len(x) - 2 - i
                                       fact    n - 2 - i
                                       result  len(x) - n, their difference

    Without the fact the guard would be on the least value of `margin` in the loop, which here is
    len(x) - n - 1. The result must be provably greater than that, so that its guard holds for more
    calls, and must not be negative always. None if no fact gives such a form.
    """
    if follows_from_facts(b, margin):
        return LinearForm()
    least = loop_extremum(b, margin, False)
    for remainder in _remainders_under_facts(b, margin):
        if min_value(b, remainder - least) > 0:  # a weaker condition than `least >= 0`
            return remainder
    return None


def _remainders_under_facts(b: IRBuilder, margin: LinearForm) -> list[LinearForm]:
    """Linear forms that are known at kernel entry and not always negative. If one of them is >= 0,
    `margin` is >= 0 wherever the facts of the path hold: each is the least value of the difference
    to a fact that has a term in common with `margin`.
    """
    facts = (f for f in b.path.facts if not f.terms.keys().isdisjoint(margin.terms))
    forms = (loop_extremum(b, margin - fact, False) for fact in facts)
    return [
        form for form in forms
        if max_value(b, form) >= 0 and all(map(b.known_at_entry, form.terms))
    ]


def _prove_or_guard_range(
    b: IRBuilder, subscript: LinearForm, length: LinearForm, node: ast.AST
) -> bool:
    """Case 4 of `in_bounds_subscript`: whether an affine subscript is in bounds in all iterations
    of the enclosing loops, proved, or guarded at kernel entry. Adds the guards if it returns True.

        for i in range(n): x[i + k]    lowest k, highest n - 1 + k    →   True, with the guards
                                       k >= 0 and len(x) - n - k >= 0

    False, so that each use is checked, where such a guard would always or often fail:

    - the subscript certainly leaves the array in some iteration, as ``x[i - 1]`` with i from 0;
    - it is never positive and may be negative: ``x[-i]`` is ``x[0]`` first and wraps after that;
    - it contains an expression such as ``k % n``, of which only the bounds 0 and n - 1 are known
      (`RangeState.linear_bounds`). A guard could only test these bounds, and would fail for calls
      in which no iteration reaches them;
    - a margin that is not proved is not known at kernel entry.
    """
    lowest, highest = loop_extremum(b, subscript, False), loop_extremum(b, subscript, True)
    high_margin = length + LinearForm({}, -1) - highest
    if max_value(b, lowest) < 0 or max_value(b, high_margin) < 0:
        return False
    if max_value(b, highest) <= 0 and not is_nonnegative(b, lowest):
        return False
    unproved = [margin for margin in (lowest, high_margin) if not is_nonnegative(b, margin)]
    if unproved and any(atom in b.ranges.linear_bounds for atom in subscript.terms):
        return False
    if not all(b.known_at_entry(atom) for margin in unproved for atom in margin.terms):
        return False
    for margin in unproved:
        _guard_nonnegative(b, [margin], node)
    return True


def _checked_subscript(b: IRBuilder, n: Num, length: Num, node: ast.AST) -> tuple[Num, Expr]:
    """Case 5 of `in_bounds_subscript`: a subscript of which nothing is proved.

        x[j]   →   at = j + len(x) if j < 0 else j
                   inside = j >= -len(x) and j < len(x)
                   check(inside)                            Python raises IndexError on replay
                   x[at if inside else 0]                   the load itself (`_clamped_subscript`)

    The load is clamped since it may run before the check, or in a lane whose check has failed. A
    subscript that is never negative (`Num.range`) gets no wrap and no lower bound; only a uint64
    gets the lower bound, since its cast to int64 may be negative.
    """
    raw = at = b.bind_or_reuse(cast(n.ir, "i64"), "at")
    in_bounds: Expr = Call("lt", (raw, length.ir), "bool")
    if n.range[0] < 0:
        minus_length = Call("sub", (index_const(0), length.ir), "i64")
        from_end = Call("add", (raw, length.ir), "i64")
        negative = Call("lt", (raw, index_const(0)), "bool")
        at = b.bind_or_reuse(Call("select", (negative, from_end, raw), "i64"), "at")
        in_bounds = bool_op("and", Call("ge", (raw, minus_length), "bool"), in_bounds)
    elif n.dtype == "u64":  # the cast makes a uint64 above the int64s negative
        in_bounds = bool_op("and", Call("ge", (raw, index_const(0)), "bool"), in_bounds)
    in_bounds = b.bind_or_reuse(in_bounds, "inside")
    require(b, in_bounds, "GUARD_BOUNDS", node)
    return _clamped_subscript(b, at, in_bounds, length, node)


def _clamped_subscript(
    b: IRBuilder, at: Expr, in_bounds: Expr, length: Num, node: ast.AST
) -> tuple[Num, Expr]:
    """`at` clamped to 0 where `in_bounds` is false, so that a load there is safe; and `in_bounds`.

        x[at]    →    x[select(inside, at, 0)]

    The value loaded there is not used. It is loaded all the same: vector code computes all lanes,
    and a pass may move the load before a check of ``inside``. Subscript 0 is safe only if the axis
    is not empty. For an axis that may be empty, the first of these applies:

    - its length is not known at kernel entry, or it is 0, as that of ``np.zeros(0)`` is:
      `element_access` loads the element in a branch, since `BufferState.empty_axis_conditions` has
      the condition;
    - the code may never run, and stays scalar (`may_never_run`): `element_access` uses a branch;
    - else a guard is added: ``len(x) >= 1``.
    """
    maybe_empty = length.linear is None or min_value(b, length.linear) < 1
    is_empty = length.linear is not None and max_value(b, length.linear) < 1
    if is_empty or (maybe_empty and not b.known_at_entry(length.ir)):
        b.buffers.empty_axis_conditions.add(in_bounds)
    elif maybe_empty and not may_never_run(b):
        add_guard(b, Call("ge", (length.ir, index_const(1)), "bool"), "GUARD_BOUNDS", node)
    clamped = Call("select", (in_bounds, at, index_const(0)), "i64")
    return integer_num(b, clamped), in_bounds
