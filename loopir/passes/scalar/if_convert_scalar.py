"""Scalar if-conversion: cheap branches that data decide become selects in scalar loops."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...algebra.rewrite_rules import select_to_extremum
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, names_read
from ...ir_traversal import is_innermost, walk
from ...nodes import Assign, Call, Expr, If, Kernel, Load, Loop, Stmt, Yield
from ...op_table import OPS
from ...statement_blocks import map_statements
from ..vector.if_convert import flatten_branches

__all__ = [
    "MAX_OP_WEIGHT", "FLOAT_DTYPES", "if_convert_scalar", "unpredictable_branches",
    "depends_on_elements", "value_origins",
]

MAX_OP_WEIGHT = 3.0  # weight up to which an operation may be done in vain
FLOAT_DTYPES = frozenset(("f64", "f32"))
MAX_BRANCH_WEIGHT = (
    8.0  # weight that a branch may have in all: about what half a misprediction costs
)


def if_convert_scalar(kernel: Kernel) -> Kernel:
    """What elements decide, and is cheap, is computed either way and chosen.

    A branch on what the loop itself has computed stays one: it is often foreseen, and then nothing
    waits for it. Before::

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
        if not isinstance(s, Loop) or not is_innermost(s):
            return s
        chosen = unpredictable_branches(s, memory)
        if chosen:
            body = [_as_selects(x, fresh) if x in chosen else (x,) for x in s.body]
            s = replace(s, body=tuple(new for made in body for new in made))
        return s

    return map_statements(kernel, edit)


def _as_selects(branch: Stmt, fresh: FreshNames) -> tuple[Stmt, ...]:
    """`branch` without a branch."""
    assert isinstance(branch, If)
    extrema = {
        y.name: e for y in branch.yields if (e := _extremum_of_branch(branch, y)) is not None
    }
    others = tuple(y for y in branch.yields if y.name not in extrema)
    flat = flatten_branches((replace(branch, yields=others),), fresh, *extrema.values())
    return (*flat, *(Assign(name, e, span=branch.span) for name, e in extrema.items()))


def _extremum_of_branch(branch: If, y: Yield) -> Expr | None:
    """What the branch gives `y`, if it is the lesser, or greater, of the two."""
    return select_to_extremum(Call("select", (branch.cond, y.then, y.orelse), y.then.dtype))


def unpredictable_branches(loop: Loop, memory: AliasInfo) -> list[Stmt]:
    """The branches of `loop` that are cheap, and that elements decide; floats in them not by what
    comes of the branch itself, for this takes long, unless it is an extremum.
    """
    stores, found = arrays_written(loop.body), list[Stmt]()
    for s in loop.body:
        if isinstance(s, If) and _is_cheap(s):
            conds = [n.cond for n in walk(s) if isinstance(n, If)]
            given = {
                y.name: y.then.dtype in FLOAT_DTYPES and _extremum_of_branch(s, y) is None
                for y in s.yields
            }
            if depends_on_elements(loop, conds, given, stores, memory):
                found.append(s)
    return found


def depends_on_elements(
    loop: Loop, conds: Sequence[Expr], given: Mapping[str, bool], stores: frozenset[str],
    memory: AliasInfo,
) -> bool:
    """Whether the `conds` come of elements that the loop does not write, and of what is `given` by
    them at most in little time: not by a subscript, nor (True) at all.
    """
    code = value_origins(loop, conds)
    elements = arrays_read(code)
    places = [e for x in code for n in walk(x) if isinstance(n, Load) for e in n.index]
    slow = {name for name, long in given.items() if long} & names_read(*code)
    slow |= given.keys() & names_read(*value_origins(loop, places))
    return bool(elements) and not memory.overlap(elements, stores) and not slow


def value_origins(loop: Loop, code: Sequence[Expr]) -> list[Expr]:
    """`code` with all that its values come of, in this iteration and those before."""
    made: dict[str, tuple[Expr, ...]] = {a.name: (a.step,) for a in loop.accs}
    for s in (n for x in loop.body for n in walk(x)):
        if isinstance(s, Assign):
            made[s.name] = (s.value,)
        elif isinstance(s, If):
            made |= {y.name: (s.cond, y.then, y.orelse) for y in s.yields}
    found, waiting = list(code), list(names_read(*code))
    while waiting:
        new = made.pop(waiting.pop(), ())
        found += new
        waiting += names_read(*new)
    return found


def _is_cheap(branch: If) -> bool:
    """Whether both sides do nothing but compute a little."""
    sides = [n for y in branch.yields for n in (y.then, y.orelse)]
    work = [n for x in (*branch.then, *branch.orelse, *sides) for n in walk(x)]
    weights = [OPS[n.op].weight for n in work if isinstance(n, Call)]
    plain = all(isinstance(n, (Assign, If)) for n in work if isinstance(n, Stmt))
    return plain and max(weights, default=0) <= MAX_OP_WEIGHT and sum(weights) <= MAX_BRANCH_WEIGHT
