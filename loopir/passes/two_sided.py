"""Two-sided: where a loop looks for extrema of both kinds, one need not wait for the other."""
from __future__ import annotations

from dataclasses import replace

from ..nodes import Accum, Call, Expr, If, Kernel, Loop, Stmt, Var, Yield
from .blocks import map_stmts

__all__ = ["two_sided"]

_OTHER = {"gt": ("lt", "le", "min"), "lt": ("gt", "ge", "max")}
_TURNED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


def two_sided(kernel: Kernel) -> Kernel:
    """What is above the largest so far is not below the least, since both started as one value: of
    ``if v > high: high = v`` and ``elif v < low: low = v`` each is a fold. A NaN is neither; and if
    both started as one they stay it. Before::

        def k(x: f64[::1], top: mut(f64[()]), bottom: mut(f64[()])):
            for i in loop(0, x.shape[0], high=0.0, low=0.0):
                v = x[i]
                if v > high:
                    high_1 = give(v)
                    low_1 = give(low)
                else:
                    high_1 = give(high)
                    low_1 = give(min(low, v))
                high = step(high_1)
                low = step(low_1)
            top[()] = high
            bottom[()] = low

    after::

        def k(x: f64[::1], top: mut(f64[()]), bottom: mut(f64[()])):
            for i in loop(0, x.shape[0], high=0.0, low=0.0):
                v = x[i]
                if v > high:
                    high_1 = give(v)
                    low_1 = give(min(low, v))
                else:
                    high_1 = give(high)
                    low_1 = give(min(low, v))
                high = step(high_1)
                low = step(low_1)
            top[()] = high
            bottom[()] = low
    """

    def edit(s: Stmt) -> Stmt:
        if not isinstance(s, Loop):
            return s
        body = tuple(_freed(x, s) if isinstance(x, If) else x for x in s.body)
        return s if body == s.body else replace(s, body=body)

    return map_stmts(kernel, edit)


def _freed(s: If, loop: Loop) -> If:
    """`s`, whose second extremum looks at each value."""
    if s.then or s.orelse:
        return s
    accs = {a.step.name: a for a in loop.accs if isinstance(a.step, Var)}
    for taken in s.yields:
        acc = accs.get(taken.name)
        if acc and _is(taken.orelse, acc) and (op := _test(s.cond, taken.then, acc)):
            yields = tuple(_freely(y, taken, acc, accs.get(y.name), op) for y in s.yields)
            return s if yields == s.yields else replace(s, yields=yields)
    return s


def _test(cond: Expr, value: Expr, acc: Accum) -> str | None:
    """``"gt"`` where `cond` is ``value > acc``, ``"lt"`` where it is ``value < acc``."""
    match cond:
        case Call(op="gt" | "lt" as op, args=(a, b)) if a == value and _is(b, acc):
            return op
        case Call(op="gt" | "lt" as op, args=(a, b)) if b == value and _is(a, acc):
            return _TURNED[op]
        case _:
            return None


def _freely(y: Yield, taken: Yield, first: Accum, acc: Accum | None, op: str) -> Yield:
    """`y` without regard to the branch, where it is the other extremum of the same values."""
    together = acc is not None and acc is not first and acc.init == first.init
    if acc is None or not together or not _is(y.then, acc):
        return y
    strict, loose, fold = _OTHER[op]
    match y.orelse:
        case Call(op=found, args=(a, b)) if found == fold and _is(a, acc) and b == taken.then:
            return replace(y, then=y.orelse)
        case Call(op="select", args=(Call(op=test, args=(a, b)), v, old)) if (
            _is(old, acc) and v == taken.then
            and ((a == v and _is(b, acc) and test in (strict, loose))
                 or (b == v and _is(a, acc) and _TURNED.get(test) in (strict, loose)))
        ):
            return replace(y, then=y.orelse)
        case _:
            return y


def _is(e: Expr, acc: Accum) -> bool:
    return isinstance(e, Var) and e.name == acc.name
