"""Scalar if-conversion: cheap, unpredictable branches of scalar loops become selects.

A branch on data is often mispredicted, which costs more than both sides if these are cheap.
`unpredictable_branches` decides; `flatten_branches` of the vectoriser's if-conversion rewrites.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...algebra.may_raise import may_raise_flags
from ...algebra.rewrite_rules import select_to_extremum
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read
from ...ir_traversal import is_innermost, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    If,
    Kernel,
    Load,
    Loop,
    Stmt,
    Var,
    While,
    Yield,
)
from ...op_table import OPS
from ...statement_blocks import map_statements
from ..vector.if_convert import flatten_branches

__all__ = [
    "MAX_OP_WEIGHT", "FLOAT_DTYPES", "if_convert_scalar", "unpredictable_branches",
    "carried_values", "depends_on_elements", "value_origins",
]

MAX_OP_WEIGHT = 3.0  # limit on the weight of an operation that is computed unconditionally
FLOAT_DTYPES = frozenset(("f64", "f32"))
_MAX_CHOICE_WEIGHT = 24.0  # with the wrap-around and the checks of two subscripts
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

    In a ``while`` a branch that only chooses integers becomes selects, too, with its checks and the
    loads that it guards on both sides (`_choices_in`): a walk down a tree.
    """
    fresh, memory = FreshNames(kernel), AliasInfo(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` with its unpredictable branches as selects, if it is an innermost loop."""
        if isinstance(s, While) and is_innermost(s):
            flat = _choices_in(s.body, s, fresh)
            return s if flat == s.body else replace(s, body=flat)
        if not isinstance(s, Loop) or not is_innermost(s):
            return s
        chosen = unpredictable_branches(s, memory)
        if chosen:
            body = [_as_selects(x, fresh) if x in chosen else (x,) for x in s.body]
            s = replace(s, body=tuple(statement for statements in body for statement in statements))
        return s

    return map_statements(kernel, edit, Loop | While)


def _choices_in(stmts: tuple[Stmt, ...], loop: While, fresh: FreshNames) -> tuple[Stmt, ...]:
    """`stmts`, of the body of `loop`, without branches that choose integers (`_is_choice`)::

        if v < key[k]:                           less = v < key[k]
            at = give(left[k])              →    at = select(less, left[k], right[k])
        else:
            at = give(right[k])
    """
    new: list[Stmt] = []
    for s in stmts:
        if not isinstance(s, If):
            new.append(s)
        elif _is_choice(s, loop):
            less = Var(fresh.name("less"), "bool")
            new.append(Assign(less.name, s.cond, span=s.span))
            new += (_unless(x, Call("not", (less,), "bool")) for x in s.then)
            new += (_unless(x, less) for x in s.orelse)
            for y in s.yields:
                chosen = Call("select", (less, y.then, y.orelse), y.then.dtype)
                new.append(Assign(y.name, chosen, span=s.span))
        else:
            then, orelse = (_choices_in(side, loop, fresh) for side in (s.then, s.orelse))
            is_same = (then, orelse) == (s.then, s.orelse)
            new.append(s if is_same else replace(s, then=then, orelse=orelse))
    return tuple(new)


def _unless(s: Stmt, cond: Expr) -> Stmt:
    """`s`, as it is run where `cond` may be true, for which it was not meant: a check then holds,
    and a load is inside of its array, which may have been proved by the branch alone.
    """
    match s:
        case Check():
            return replace(s, cond=Call("or", (cond, s.cond), "bool"))
        case If(yields=(Yield(_, Load(array, index) as load) as y,)):
            places = [i.args[1] if isinstance(i, Call) and i.op == "select" else i for i in index]
            guard = s.cond
            for axis, place in enumerate(places):
                ends = Call("cast", (place,), "u64"), Call("cast", (Dim(array, axis),), "u64")
                guard = Call("and", (guard, Call("lt", ends, "bool")), "bool")
            load = replace(load, index=tuple(places))
            return replace(s, cond=guard, yields=(replace(y, then=load),))
    return s


def _is_choice(branch: If, loop: While) -> bool:
    """Whether `branch`, on integers of arrays, only chooses integers that `loop` carries: its sides
    assign, check, and load what a check guards (`_is_guarded_load`), one or two elements.

    A binary search, whose sides load nothing, keeps its branch: where the processor has learned it,
    the loads of later iterations do not wait, and a search of other data takes as long as without.
    So does a walk that compares floats, whose comparison takes longer.
    """
    statements = (*branch.then, *branch.orelse)
    loads = [s for s in statements if isinstance(s, If)]
    compared = [a for n in walk(branch.cond) if isinstance(n, Call) for a in n.args]
    if not loads or any(a.dtype in FLOAT_DTYPES for a in compared):
        return False
    if not all(isinstance(s, Assign | Check) or _is_guarded_load(s) for s in statements):
        return False
    nodes = [n for x in (*statements, *branch.yields) for n in walk(x)]
    calls = [n for n in nodes if isinstance(n, Call)]
    weights = [OPS[n.op].weight for n in calls]
    if max(weights, default=0) > MAX_OP_WEIGHT or sum(weights) > _MAX_CHOICE_WEIGHT:
        return False
    if len(loads) > 2 or sum(isinstance(n, Load) for n in nodes) > len(loads):
        return False
    if any(map(may_raise_flags, (*calls, branch.cond))):
        return False
    if not bound_names(*branch.then).isdisjoint(bound_names(*branch.orelse)):
        return False
    is_integer = all(y.then.dtype == INDEX and y.then.lanes == 1 for y in branch.yields)
    is_carried = {y.name for y in branch.yields} <= carried_values(loop)
    return is_integer and is_carried and bool(arrays_read(value_origins(loop, [branch.cond])))


def _is_guarded_load(s: Stmt) -> bool:
    """Whether `s` loads an element if its subscript is inside, and does nothing else. A select in a
    subscript is on that condition.
    """
    match s:
        case If(cond, (), (), (Yield(_, Load(dtype="i64", lanes=1, index=index), Const()),)):
            selects = [n for i in index for n in walk(i) if isinstance(n, Call)]
            return all(n.op != "select" or n.args[0] == cond for n in selects)
    return False


def carried_values(loop: While) -> set[str]:
    """The names whose values `loop` carries as they are to the next iteration, at least where a
    branch or a select chooses them: neither operands of other operations nor subscripts.
    """
    sources: dict[str, tuple[Expr, ...]] = {}
    for s in (n for x in loop.body for n in walk(x)):
        if isinstance(s, If):
            sources |= {y.name: (y.then, y.orelse) for y in s.yields}
        elif isinstance(s, Assign):
            sources[s.name] = (s.value,)
    carried, worklist = set[str](), [a.step for a in loop.accs]
    while worklist:
        e = worklist.pop()
        if isinstance(e, Var) and e.name not in carried:
            carried.add(e.name)
            worklist += sources.get(e.name, ())
        elif isinstance(e, Call) and e.op in ("select", "blend"):
            worklist += e.args[1:]
    return carried


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


def value_origins(loop: Loop | While, code: Sequence[Expr]) -> list[Expr]:
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
