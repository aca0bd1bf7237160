"""Memo of carried types: the types that a loop settled on, by the types of the values before it.

A loop inside a loop is lowered once in each round of the outer one. Without the memo each of these
takes several rounds, too, and the time grows exponentially with the depth of the nest::

    for i in range(n):          # each round of this loop lowers the inner loop
        for j in range(n):      # s is a Python int before it: several rounds, s becomes float64
            s += x[i, j]        # a later round: an int before it again; float64 is tried first

The types that a loop settles on depend on the types of the values that it reads, not on their
expressions: these have other names in each round, so that they are left out of the key.
"""
from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping

from loopir.lazy_dataclass import record, replace
from loopir.nodes import Const, Expr

from ...analysis.liveness import upward_exposed
from ...types.typed_values import ComplexPair, Num
from ..state.ir_builder import IRBuilder
from ..state.lowering_state import Lowering
from ..state.symbol_values import ArrayRef, LoopCarried, Unbound, UnionValue
from .loop_carried import CarriedLoop, largest_trip_count, progression_fits

__all__ = ["remember_settled", "settled_types"]

@record(frozen=True)
class _LoopKey:
    """What decides on which types a loop settles.

    ``forbids_unions``: as `IRBuilder.forbids_unions`. ``intervals``: whether the key has the
    intervals of ints. ``groups``: the names that need several accumulators each, as in
    `CarriedLoop.groups`. ``inits``: the types before the loop of the values that it carries;
    ``read``: the types of the other names that its body reads, except arguments, which have one
    type.
    """

    node: ast.AST
    forbids_unions: bool
    intervals: bool
    groups: tuple[Hashable, ...]
    inits: tuple[tuple[str, Hashable], ...]
    read: tuple[tuple[str, Hashable], ...]


def settled_types(
    ctx: Lowering, loop: CarriedLoop, *, forbids_unions: bool
) -> Mapping[str, LoopCarried] | None:
    """The types that the names of `loop` had in the end when it was lowered before, if the values
    before it had the same types as now; None if not. `loop_types._initial_guesses` tries them as
    its first guess, which is mostly right: that saves the rounds in which they were found.

    If the ints were also in the same intervals as now, the result is what the loop settled on then,
    unchanged. If not, the types are the same, without what depends on the intervals
    (`_without_ranges`).
    """
    same = ctx.settled_loops.get(_loop_key(ctx.b, loop, forbids_unions, intervals=True))
    if same is not None:
        return same
    similar = ctx.settled_loops.get(_loop_key(ctx.b, loop, forbids_unions, intervals=False))
    if similar is None:
        return None
    trips = largest_trip_count(loop.frame.node)
    return {name: _without_ranges(c, loop.inits[name], trips) for name, c in similar.items()}


def _without_ranges(carry: LoopCarried, init: Num | Unbound, max_trips: int) -> LoopCarried:
    """`carry` as a guess for another value `init` before the loop: an int stays in the safe range,
    and is an induction variable only if it cannot leave 64 bits from `init` on. The fixpoint
    corrects the guess where it is wrong.
    """
    step = carry.step
    grows = step is not None and isinstance(init, Num) and progression_fits(init, step, max_trips)
    return replace(carry, fits_safe_range=True, step=step if grows else None)


def remember_settled(
    ctx: Lowering, loop: CarriedLoop, carries: Mapping[str, LoopCarried], *, forbids_unions: bool
) -> None:
    """Remembers that `loop` settled on `carries`."""
    for intervals in (True, False):
        ctx.settled_loops[_loop_key(ctx.b, loop, forbids_unions, intervals=intervals)] = carries


def _loop_key(
    b: IRBuilder, loop: CarriedLoop, forbids_unions: bool, *, intervals: bool
) -> _LoopKey:
    """The key of `loop`, with or without the intervals of ints."""
    body, env = loop.frame.node.body, b.env
    read = upward_exposed(body) - loop.inits.keys()
    made_here = {n: env[n] for n in sorted(read) if n in env and not b.is_param(n, env[n])}

    def keys(values: Mapping[str, object]) -> tuple[tuple[str, Hashable], ...]:
        return tuple((name, _type_key(value, intervals)) for name, value in values.items())

    return _LoopKey(
        loop.frame.node, forbids_unions, intervals, (*loop.groups,), keys(loop.inits),
        keys(made_here),
    )


def _type_key(value: object, intervals: bool) -> Hashable:
    """The type of `value`, with the value of a constant, which decides what represents it, and with
    the interval of an int if the key has ``intervals``.
    """
    match value:
        case Num(ir=ir):
            return (
                value.strong, value.weak, ir.dtype, value.exact, value.boxed, _constant_key(ir),
                value.is_weak and _constant_key(value.is_weak),
                intervals and (value.interval, value.linear is None),
            )
        case ComplexPair(strong=strong):
            return "complex", strong
        case UnionValue(cases=cases):
            return "union", *(_type_key(case.value, intervals) for case in cases)
        case Unbound(value=last):
            return "unbound", _type_key(last, intervals)
        case ArrayRef():
            return value.name, value.dtype, value.rank, value.unit, value.weak, value.python_dtype
        case _:
            return type(value).__name__


def _constant_key(e: Expr) -> Hashable:
    """The digits of a constant, which tell -0.0 from 0.0; None for any other expression."""
    return repr(e.value) if isinstance(e, Const) else None
