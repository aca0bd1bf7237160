"""Loop exit values: a value used only after the loop is computed from its last iteration.

An accumulator that only remembers the last value would make the loop a recurrence. LLVM: exit value
rewriting in IndVarSimplify.
"""
from __future__ import annotations

import functools
from collections.abc import Iterator

from ...algebra.index_builder import (
    index_sub,
    is_nonempty,
    logical_and,
    logical_not,
    logical_or,
)
from ...algebra.may_raise import may_raise_flags
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, changed_names, names_read, rename_names, substitute
from ...ir_traversal import has_early_exit
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, Call, Const, Expr, If, Interval, Kernel, Loop, Stmt, Var, Yield
from ...statement_blocks import backward_slice, map_statements

__all__ = ["exit_values"]


def exit_values(kernel: Kernel) -> Kernel:
    """Compute an accumulator that only remembers a value of the last iteration (`_is_last_value`)
    after the loop, from that iteration. Without the accumulator the loop can often be vectorised:
    an accumulator that is no reduction prevents it.

    A step that may raise a floating-point flag is still computed in every iteration, for the flag.
    An accumulator that does not change after the first iteration is removed, too, such as ``all``
    in ``all = step(all & c)`` with an invariant ``c`` (`_invariant_conjunct`). Before::

        def k(x: f64[::1], out: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], last=0.0):
                v = abs(x[i])
                last = step(v)
            out[()] = last

    after::

        def k(x: f64[::1], out: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                v = abs(x[i])
            if 0 < x.shape[0]:
                v_1 = abs(x[x.shape[0] - 1])
                last = give(v_1)
            else:
                last = give(0.0)
            out[()] = last
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` without such accumulators, followed by what computes their values."""
        # which iteration is the last one is known only of a counted loop that runs to its end
        if not isinstance(s, Loop) or not isinstance(s.range, Interval) or has_early_exit(s):
            return s
        s, conjunctions = _without_conjunctions(s, memory)
        last_values = [a for a in s.accs if _is_last_value(a, s, memory)]
        loop = _with_values_after_loop(s, last_values, fresh) if last_values else (s,)
        return (*loop, *conjunctions) if last_values or conjunctions else s

    return map_statements(kernel, edit, Loop)


def _is_last_value(acc: Accum, loop: Loop, memory: AliasInfo) -> bool:
    """Whether `exit_values` may take the accumulator `acc` out of `loop`, and compute its last step
    after the loop instead. In ``last = step(x[i])``, which no iteration reads, only the value of
    the last iteration counts: ``last`` is ``x[n - 1]`` if there is one.

    - no iteration reads `acc`, so that only its last value matters;
    - the step depends on the iteration's number and on assignments of the body (its backward
      slice), not on other accumulators, nor on what branches, inner loops or appends bind: these
      cannot be computed for one iteration alone;
    - the loop writes no array that the step, its slice or the initial value read.
    """
    others = (a.step for a in loop.accs if a is not acc)
    if acc.name in names_read(*loop.body, *others):
        return False
    assigns = backward_slice(loop.body, acc.step)
    slice_names = {s.name for s in assigns}
    others_change = changed_names(*(s for s in loop.body if not isinstance(s, Assign)))
    changing = others_change.union(a.name for a in loop.accs)
    if names_read(acc.step, *assigns) & (changing - slice_names):
        return False
    return not memory.overlap(arrays_read((acc.step, acc.init, *assigns)), arrays_written((loop,)))


def _without_conjunctions(
    loop: Loop, memory: AliasInfo
) -> tuple[Loop, tuple[Assign, ...]]:
    """`loop` without the accumulators that `_invariant_conjunct` finds, and assignments of their
    values, for after it.
    """
    values: list[Assign] = []
    for a in loop.accs:
        if (conjunct := _invariant_conjunct(a, loop, memory)) is None:
            continue
        assert isinstance(loop.range, Interval)
        after_any = logical_or(logical_not(is_nonempty(loop.range)), conjunct)
        values.append(Assign(a.name, logical_and(a.init, after_any), span=a.span))
        unread = _assigns_reading(a, loop)
        loop = replace(
            loop,
            accs=tuple(x for x in loop.accs if x is not a),
            body=tuple(s for s in loop.body if s not in unread),
        )
    return loop, tuple(values)


def _assigns_reading(acc: Accum, loop: Loop) -> list[Assign]:
    """The assignments that the step of `acc` depends on and that depend on `acc`, in order."""
    found: list[Assign] = []
    for s in backward_slice(loop.body, acc.step):
        if {acc.name, *(x.name for x in found)} & names_read(s.value):
            found.append(s)
    return found


def _invariant_conjunct(acc: Accum, loop: Loop, memory: AliasInfo) -> Expr | None:
    """The condition ``c`` if `acc` is stepped to ``acc & c`` in each iteration of `loop`, ``c`` is
    invariant in it, and nothing else reads `acc`; else None. One iteration then decides, and `acc`
    is its initial value if there is none.

        for j in loop(0, n, none=True): none = step((m <= 0) & none)    →    m <= 0
    """
    if acc.init.dtype != "bool":
        return None
    through = _assigns_reading(acc, loop)
    hidden = {acc.name, *(s.name for s in through)}
    others = (s for s in loop.body if s not in through)
    if hidden & names_read(*others, *(a.step for a in loop.accs if a is not acc)):
        return None
    step = acc.step
    for s in reversed(through):
        step = substitute(step, {s.name: s.value})
    conjuncts = [*_conjuncts(step)]
    rest = [e for e in conjuncts if e != acc.current]
    names = names_read(*rest)
    is_invariant = names.isdisjoint(changed_names(loop))
    if len(rest) != len(conjuncts) - 1 or not is_invariant or any(map(may_raise_flags, rest)):
        return None
    if memory.overlap(arrays_read((*rest, acc.init)), arrays_written((loop,))):
        return None
    start: Expr = Const(True, "bool")
    return functools.reduce(logical_and, rest, start)


def _conjuncts(e: Expr) -> Iterator[Expr]:
    """The operands of the conjunction `e`, nested ones included; `e` itself if it is none."""
    match e:
        case Call("and", (a, b)):
            yield from _conjuncts(a)
            yield from _conjuncts(b)
        case _:
            yield e


def _with_values_after_loop(
    s: Loop, last_values: list[Accum], fresh: FreshNames
) -> tuple[Stmt, ...]:
    """`s` without the accumulators `last_values`, and their values after it.

    What may raise a flag is computed where Python computes it: an initial value before the loop, a
    step in each iteration.
    """
    accs = tuple(a for a in s.accs if a not in last_values)
    flag_raising_steps = (
        Assign(fresh.name(a.name), a.step) for a in last_values if may_raise_flags(a.step)
    )
    loop = replace(s, accs=accs, body=(*s.body, *flag_raising_steps))
    flag_raising_inits = {
        a.name: Assign(fresh.name(a.name), a.init) for a in last_values if may_raise_flags(a.init)
    }
    with_named_inits = (
        replace(a, init=Var(flag_raising_inits[a.name].name, a.init.dtype))
        if a.name in flag_raising_inits
        else a
        for a in last_values
    )
    values = (_value_after_loop(a, s, fresh) for a in with_named_inits)
    return *flag_raising_inits.values(), loop, *values


def _value_after_loop(acc: Accum, loop: Loop, fresh: FreshNames) -> If:
    """Bind the accumulator to its last step, or to its initial value if there was no iteration."""
    assert isinstance(loop.range, Interval)
    last = {loop.var: index_sub(loop.range.hi, 1)}
    assigns = backward_slice(loop.body, acc.step)
    names = {s.name: fresh.name(s.name) for s in assigns}
    body: tuple[Stmt, ...] = tuple(rename_names(substitute(s, last), names) for s in assigns)
    step = rename_names(substitute(acc.step, last), names)
    return If(is_nonempty(loop.range), body, (), (Yield(acc.name, step, acc.init),), span=acc.span)
