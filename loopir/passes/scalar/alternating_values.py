"""Alternating values: accumulators of two values become functions of the iteration's number.

Such an accumulator is a recurrence that is no reduction, so that a loop with it is not vectorised.
"""
from __future__ import annotations

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import index_max, index_sub
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, substitute
from ...ir_traversal import advanced_accums, has_early_exit
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, Call, Const, Expr, Interval, Kernel, Loop, Stmt, Var
from ...statement_blocks import map_statements
from ..canonical.simplify import simplify
from ..pass_conditions import is_alternating

__all__ = ["alternating_values"]


def alternating_values(kernel: Kernel) -> Kernel:
    """Compute an accumulator that alternates between two values, as the sign of a series does, from
    the parity of the iteration's number.

    Its step is ``-a``, ``not a``, ``a * -1``, or ``c - a`` of a constant c, which gives the initial
    value again when it is done twice. Before::

        def k(x: f64[::1], out: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0, sign=1.0):
                s = step(s + sign * x[i])
                sign = step(-sign)
            out[()] = s

    after::

        def k(x: f64[::1], out: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0):
                s = step(s + select(i & 1 == 0, 1.0, -1.0) * x[i])
            out[()] = s
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` without accumulators that alternate, followed by their values after it."""
        if not isinstance(s, Loop) or not isinstance(s.range, Interval) or has_early_exit(s):
            return s
        found = [a for a in s.accs if _returns(a) and a.name not in advanced_accums(s)]
        if not found:
            return s
        lo, hi = s.range.lo, s.range.hi
        first, after = list[Stmt](), list[Stmt]()
        names: dict[str, Expr] = {}
        for a in found:
            name = fresh.name(a.name)
            names[a.name] = Var(name, a.init.dtype)
            first.append(Assign(name, _value_at(a, index_sub(Var(s.var, INDEX), lo))))
            trips = index_max(index_sub(hi, lo), index_const(0))
            after.append(Assign(a.name, _value_at(a, trips)))
        kept = replace(s, accs=tuple(a for a in s.accs if a not in found))
        loop: Loop = substitute(kept, names)
        return (replace(loop, body=(*first, *loop.body)), *after)

    edited: Kernel = map_statements(kernel, edit, Loop)
    return kernel if edited is kernel else simplify(edited)


def _returns(a: Accum) -> bool:
    """Whether two steps of `a`, whose form is one that alternates, give its initial value exactly.
    """
    if not is_alternating(a) or not isinstance(a.init, (Const, Var)):
        return False
    match a.step:
        case Call("sub", (Const(c), _)) if DTYPES[a.init.dtype].kind == "f":
            return isinstance(a.init, Const) and c - (c - a.init.value) == a.init.value != 0
    return True


def _value_at(a: Accum, iteration: Expr) -> Expr:
    """The value of the accumulator `a` at the start of the iteration of that number."""
    parity = Call("bitand", (iteration, index_const(1)), INDEX)
    is_even = Call("eq", (parity, index_const(0)), "bool")
    second = substitute(a.step, {a.name: a.init})
    return Call("select", (is_even, a.init, second), a.init.dtype)
