"""Predictive commoning: a value the next iteration would compute again is carried to it.

Each iteration of ``while x * x < 4: x = step(y)`` computes ``x * x``. If the loop computes
``y * y`` anyway, that is the value of ``x * x`` in the next iteration. In general, the value of an
expression in the next iteration is that of the expression with each accumulator replaced by its
step (`_carried_accumulator`).
"""
from __future__ import annotations

from typing import Any

from ...algebra.may_raise import may_raise_flags
from ...ir_names import FreshNames, names_read, substitute
from ...ir_traversal import bottom_up, contains, map_children, walk
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, Call, Expr, Kernel, Load, Var, While

__all__ = ["predictive_commoning"]


def predictive_commoning(kernel: Kernel) -> Kernel:
    """Carry an expression over the accumulators of a ``while`` in an accumulator of its own, if the
    loop computes its value in the next iteration anyway. In the Mandelbrot set this saves one of
    two squares for each coordinate.

    The ``while`` must consist of assignments alone, so that each iteration computes everything.
    Before::

        def k(a: f64, out: mut(f64[()])):
            while loop(go, x=a, n=0.0, go=a * a < 4.0):
                y = x * x + a
                x = step(y)
                n = step(n + 1.0)
                go = step(y * y < 4.0)
            out[()] = n

    after::

        def k(a: f64, out: mut(f64[()])):
            while loop(go, x=a, n=0.0, go=a * a < 4.0, x_1=a * a):
                y = x_1 + a
                x = step(y)
                n = step(n + 1.0)
                go = step(y * y < 4.0)
                x_1 = step(y * y)
            out[()] = n
    """
    fresh = FreshNames(kernel)

    def edit(n: Any) -> Any:
        return _with_all_carried(n, fresh) if isinstance(n, While) else n

    return bottom_up(kernel, edit)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


def _with_all_carried(s: While, fresh: FreshNames) -> While:
    """`s` with an accumulator for each expression whose next value it computes anyway
    (`_carried_accumulator`), larger expressions first.
    """
    if not all(isinstance(x, Assign) for x in s.body):
        return s
    for e in dict.fromkeys(n for part in (*s.body, *s.accs) for n in walk(part)):
        if isinstance(e, Call) and (acc := _carried_accumulator(e, s, fresh)):
            name = Var(acc.name, e.dtype, e.lanes)
            return _with_all_carried(_with_name(s, e, name, acc), fresh)
    return s


def _carried_accumulator(e: Call, s: While, fresh: FreshNames) -> Accum | None:
    """An accumulator that carries the value of `e`; None unless

    - `e` reads accumulators of `s`, and no other names;
    - its next value differs from `e`, and the loop computes that value anyway;
    - its first value raises no flag and loads nothing, or is part of an initial value: it is
      computed even if the loop has no iteration, where Python would not compute it.
    """
    accs = {a.name: a for a in s.accs}
    if not names_read(e) or not names_read(e) <= set(accs):
        return None
    first_value = substitute(e, {a.name: a.init for a in s.accs})
    next_value = substitute(e, {a.name: a.step for a in s.accs})
    computed = {n for part in (*s.body, *(a.step for a in s.accs)) for n in walk(part)}
    initial = {n for a in s.accs for n in walk(a.init)}
    if (
        next_value == e
        or next_value not in computed
        or ((may_raise_flags(e) or contains(e, Load)) and first_value not in initial)
    ):
        return None
    return Accum(fresh.name(min(names_read(e))), first_value, next_value, span=e.span)


def _with_name(s: While, e: Expr, name: Var, acc: Accum) -> While:
    """`s` with `e` replaced by `name`, and the accumulator `acc`."""

    def renamed(n: Any) -> Any:
        return name if n == e else map_children(n, renamed)

    body = tuple(renamed(x) for x in s.body)
    accs = tuple(replace(a, step=renamed(a.step)) for a in s.accs)
    return replace(s, body=body, accs=(*accs, acc))
