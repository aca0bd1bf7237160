"""Scalar if-conversion: cheap, unpredictable branches of scalar loops become selects.

A branch on data is often mispredicted, which costs more than both sides if these are cheap.
`unpredictable_branches` decides; `flatten_branches` of the vectoriser's if-conversion rewrites.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...algebra.rewrite_rules import select_to_extremum
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, names_read
from ...ir_traversal import is_innermost, walk
from ...lazy_dataclass import replace
from ...nodes import Assign, Call, Const, Expr, If, Kernel, Load, Loop, Stmt, Yield
from ...op_table import OPS
from ...statement_blocks import map_statements
from ..vector.if_convert import flatten_branches

__all__ = [
    "MAX_OP_WEIGHT", "FLOAT_DTYPES", "if_convert_scalar", "unpredictable_branches",
    "depends_on_elements", "value_origins",
]

MAX_OP_WEIGHT = 3.0  # limit on the weight of an operation that is computed unconditionally
FLOAT_DTYPES = frozenset(("f64", "f32"))
MAX_BRANCH_WEIGHT = 8.0  # limit on the weight of both sides: half the cost of a misprediction


def if_convert_scalar(kernel: Kernel) -> Kernel:
    """Compute both sides of a cheap branch on array elements, and select.

    A branch on values that the loop itself computes remains: it is often predicted, and then takes
    the computation off the critical path. Before::

        def k(x: f64[::1], out: mut(f64[::1]), total: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0, h=0.0):
                v = x[i]
                if v > 0.0:
                    t = give(s + v)
                else:
                    t = give(s)
                if h > 1.0:
                    u = give(h - 1.0)
                else:
                    u = give(h)
                out[i] = sin(u)
                s = step(t)
                h = step(sin(u))
            total[()] = s

    after::

        def k(x: f64[::1], out: mut(f64[::1]), total: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0, h=0.0):
                v = x[i]
                m = v > 0.0
                t = s + select(m, v, -0.0)
                if h > 1.0:
                    u = give(h - 1.0)
                else:
                    u = give(h)
                out[i] = sin(u)
                s = step(t)
                h = step(sin(u))
            total[()] = s
    """
    fresh, memory = FreshNames(kernel), AliasInfo(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` with its unpredictable branches as selects, if it is an innermost loop."""
        if not isinstance(s, Loop) or not is_innermost(s):
            return s
        chosen = unpredictable_branches(s, memory)
        if chosen:
            body = [_as_selects(x, fresh) if x in chosen else (x,) for x in s.body]
            s = replace(s, body=tuple(statement for statements in body for statement in statements))
        return s

    return map_statements(kernel, edit, Loop)


def _as_selects(branch: Stmt, fresh: FreshNames) -> tuple[Stmt, ...]:
    """`branch` as straight-line code."""
    assert isinstance(branch, If)
    extrema = {
        y.name: e for y in branch.yields if (e := _extremum_of_branch(branch, y)) is not None
    }
    others = tuple(y for y in branch.yields if y.name not in extrema)
    flat = flatten_branches((replace(branch, yields=others),), fresh, *extrema.values())
    return (*flat, *(Assign(name, e, span=branch.span) for name, e in extrema.items()))


def _extremum_of_branch(branch: If, y: Yield) -> Expr | None:
    """The minimum or maximum that the yield `y` is, else None."""
    return select_to_extremum(Call("select", (branch.cond, y.then, y.orelse), y.then.dtype))


def unpredictable_branches(loop: Loop, memory: AliasInfo) -> list[Stmt]:
    """The branches of the scalar `loop` that should become selects: a processor could not predict
    them, and both sides are cheaper than a misprediction (`_is_cheap`).

        if x[i] > 0.0: t = s + x[i]      yes: the data decide
        if h > 1.0: h = h - 1.0          no: the condition needs the float that the branch gives. A
                                         select would make each iteration wait for the one before,
                                         where a predicted branch goes on

    An extremum (``if x[i] > m: m = x[i]``) is taken although its condition needs its own result: it
    is one fast operation. `if_convert_scalar` and `fusion_profit` ask this.
    """
    stores, unpredictable = arrays_written(loop.body), list[Stmt]()
    for s in loop.body:
        if not isinstance(s, If) or not _is_cheap(s):
            continue
        conditions = [n.cond for n in walk(s) if isinstance(n, If)]
        is_slow = {
            y.name: y.then.dtype in FLOAT_DTYPES and _extremum_of_branch(s, y) is None
            for y in s.yields
        }
        if depends_on_elements(loop, conditions, is_slow, stores, memory):
            unpredictable.append(s)
    return unpredictable


def depends_on_elements(
    loop: Loop, conditions: Sequence[Expr], is_slow: Mapping[str, bool], stores: frozenset[str],
    memory: AliasInfo,
) -> bool:
    """Whether `conditions` depend on array elements, which nobody can predict, but on none that the
    loop writes (`stores`), and do not wait for the names in `is_slow`.

    ``is_slow``: the names that the branch or select itself gives. Where the conditions depend on
    one of them, its computation is on the loop's critical path: too slow if it is marked True
    (floats, with a latency of several cycles), or if a subscript depends on it (a load).
    """
    code = value_origins(loop, conditions)
    elements = arrays_read(code)
    subscripts = [e for x in code for n in walk(x) if isinstance(n, Load) for e in n.index]
    slow_names = {name for name, slow in is_slow.items() if slow} & names_read(*code)
    slow_names |= is_slow.keys() & names_read(*value_origins(loop, subscripts))
    return bool(elements) and not memory.overlap(elements, stores) and not slow_names


def value_origins(loop: Loop, code: Sequence[Expr]) -> list[Expr]:
    """`code` and all expressions that its values depend on, in this iteration and those before."""
    definitions: dict[str, tuple[Expr, ...]] = {a.name: (a.step,) for a in loop.accs}
    for s in (n for x in loop.body for n in walk(x)):
        if isinstance(s, Assign):
            definitions[s.name] = (s.value,)
        elif isinstance(s, If):
            definitions |= {y.name: (s.cond, y.then, y.orelse) for y in s.yields}
    origins, worklist = list(code), list(names_read(*code))
    while worklist:
        operands = definitions.pop(worklist.pop(), ())
        origins += operands
        worklist += names_read(*operands)
    return origins


def _is_cheap(branch: If) -> bool:
    """Whether both sides have only assignments and branches, whose operations have a weight of at
    most `MAX_OP_WEIGHT` each and `MAX_BRANCH_WEIGHT` in all.
    """
    sides = [n for y in branch.yields for n in (y.then, y.orelse)]
    nodes = [n for x in (*branch.then, *branch.orelse, *sides) for n in walk(x)]
    weights = [_weight(n) for n in nodes if isinstance(n, Call)]
    only_computes = all(isinstance(n, (Assign, If)) for n in nodes if isinstance(n, Stmt))
    return (
        only_computes
        and max(weights, default=0) <= MAX_OP_WEIGHT
        and sum(weights) <= MAX_BRANCH_WEIGHT
    )


def _weight(call: Call) -> float:
    """The weight of one operation: 1 for ``n // 8``, ``n % 8``, whose divisor is a power of two, so
    that the quotient is a shift and the remainder a mask.
    """
    match call:
        case Call("floordiv" | "mod", (_, Const(value=int(n)))) if n > 0 and not n & (n - 1):
            return 1.0
    return OPS[call.op].weight
