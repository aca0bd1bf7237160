"""Blends: a scalar loop that chooses what it carries on does so without a branch."""
from __future__ import annotations

from typing import Any

from ..analysis.memory import Memory, written
from ..names import reads
from ..nodes import Assign, Call, Expr, Kernel, Loop, Stmt, Var
from ..tree import innermost, map_children, walk
from .blocks import map_stmts
from .branchless import FLOATS, of_elements, origin

__all__ = ["blends"]

BLENDED = FLOATS | {"i64", "i32", "u64", "u32"}
_LESS = {
    "lt": ("lt", 0, 1), "le": ("le", 0, 1), "gt": ("lt", 1, 0), "ge": ("le", 1, 0),
    "eq": ("eq", 0, 1), "ne": ("ne", 0, 1),
}
"""Comparisons by one of four."""


def blends(kernel: Kernel) -> Kernel:
    """Of two values that come of an accumulator one is blended, if elements decide which: a C
    compiler would branch, for the sake of the one that is not waited for then, and mostly wait
    longer. Before::

        def k(x: f64[::1], n: mut(i64[()]), most: mut(i64[()])):
            for i in loop(0, x.shape[0], s=0, r=0):
                t = select(x[i] > 0.0, s + 1, 0)
                s = step(t)
                r = step(max(r, t))
            n[()] = s
            most[()] = r

    after::

        def k(x: f64[::1], n: mut(i64[()]), most: mut(i64[()])):
            for i in loop(0, x.shape[0], s=0, r=0):
                t = blend(0.0 < x[i], s + 1, 0)
                s = step(t)
                r = step(max(r, t))
            n[()] = s
            most[()] = r
    """
    memory = Memory(kernel)

    def edit(s: Stmt) -> Stmt:
        if not isinstance(s, Loop) or not innermost(s):
            return s
        return _blended(s, memory)

    return map_stmts(kernel, edit)


def _blended(loop: Loop, memory: Memory) -> Loop:
    found = {n for a in loop.accs for n in _carried(loop, a.name, a.step, memory)}
    tests = {s.name: s.value for s in loop.body if isinstance(s, Assign)}

    def edit(n: Any) -> Any:
        new = map_children(n, edit)
        if not isinstance(n, Call) or n not in found:
            return new
        cond, *values = new.args
        test = tests.get(cond.name) if isinstance(cond, Var) else cond
        if isinstance(test, Call) and test.op in _LESS and test.args[0].dtype in BLENDED:
            op, first, second = _LESS[test.op]  # is asked again: that takes less time
            cond = Call(op, (test.args[first], test.args[second]), "bool")
        return Call("blend", (cond, *values), n.dtype)

    return map_children(loop, edit) if found else loop


def _carried(loop: Loop, name: str, step: Expr, memory: Memory) -> set[Call]:
    """What is chosen by elements on the way from the accumulator `name` to its `step`; of floats
    not by what comes of it.
    """
    found, stores = set(), written(loop.body)
    for n in (n for e in origin(loop, [step]) for n in walk(e)):
        if isinstance(n, Call) and n.op == "select" and n.dtype in BLENDED:
            needs = name in reads(*origin(loop, n.args[1:]))
            own = {name: n.dtype in FLOATS}
            if needs and of_elements(loop, [n.args[0]], own, stores, memory):
                found.add(n)
    return found
