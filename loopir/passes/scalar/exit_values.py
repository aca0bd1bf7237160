"""Loop exit values: a value used only after the loop is computed from its last iteration.

An accumulator that only remembers the last value would make the loop a recurrence. LLVM: exit value
rewriting in IndVarSimplify.
"""
from __future__ import annotations

from ...algebra.index_builder import index_sub, is_nonempty
from ...algebra.may_raise import may_raise_flags
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, bound_names, names_read, rename_names, substitute
from ...ir_traversal import advanced_accums, has_early_exit
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, If, Interval, Kernel, Loop, Stmt, Var, Yield
from ...statement_blocks import backward_slice, map_statements

__all__ = ["exit_values"]


def exit_values(kernel: Kernel) -> Kernel:
    """Compute accumulators whose step reads no accumulator after the loop, from its last iteration.

    What may raise a floating-point flag is still computed in every iteration. Before::

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
        """`s` without such accumulators, followed by branches that compute their values."""
        if not isinstance(s, Loop) or not isinstance(s.range, Interval) or has_early_exit(s):
            return s
        last_values = [a for a in s.accs if _is_last_value(a, s, memory)]
        accs = tuple(a for a in s.accs if a not in last_values)
        flag_raising = (
            Assign(fresh.name(a.name), a.step) for a in last_values if may_raise_flags(a.step)
        )
        loop = replace(s, accs=accs, body=(*s.body, *flag_raising))
        named_inits = {
            a.name: Assign(fresh.name(a.name), a.init)
            for a in last_values
            if may_raise_flags(a.init)
        }
        restarted = (
            replace(a, init=Var(named_inits[a.name].name, a.init.dtype))
            if a.name in named_inits
            else a
            for a in last_values
        )
        return (
            (*named_inits.values(), loop, *(_value_after_loop(a, s, fresh) for a in restarted))
            if last_values
            else s
        )

    return map_statements(kernel, edit, Loop)


def _is_last_value(acc: Accum, loop: Loop, memory: AliasInfo) -> bool:
    """Whether the step of the last iteration can be computed again after the loop."""
    others = (a.step for a in loop.accs if a is not acc)
    if acc.name in names_read(*loop.body, *others):
        return False
    assigns = backward_slice(loop.body, acc.step)
    slice_names = {s.name for s in assigns}
    changing = (
        frozenset(a.name for a in loop.accs) | _bound_by_statements(loop) | advanced_accums(loop)
    )
    if names_read(acc.step, *assigns) & (changing - slice_names):
        return False
    return not memory.overlap(arrays_read((acc.step, acc.init, *assigns)), arrays_written((loop,)))


def _bound_by_statements(loop: Loop) -> frozenset[str]:
    """The names that statements other than assignments bind in the body."""
    return bound_names(*(s for s in loop.body if not isinstance(s, Assign)))


def _value_after_loop(acc: Accum, loop: Loop, fresh: FreshNames) -> If:
    """Bind the accumulator to its last step, or to its initial value if there was no iteration."""
    assert isinstance(loop.range, Interval)
    last = {loop.var: index_sub(loop.range.hi, 1)}
    assigns = backward_slice(loop.body, acc.step)
    names = {s.name: fresh.name(s.name) for s in assigns}
    body: tuple[Stmt, ...] = tuple(rename_names(substitute(s, last), names) for s in assigns)
    step = rename_names(substitute(acc.step, last), names)
    return If(is_nonempty(loop.range), body, (), (Yield(acc.name, step, acc.init),), span=acc.span)
