"""Missed-fusion remarks for functions that stay Python: effects that prevent fusion of their loops.

They are found in the source, as such a function has no Loop IR: calls that print or draw random
numbers, and different error states. For loops that are lowered, whose only effects are on arrays,
`fusion_legality` decides.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from loopir.lazy_dataclass import record

from ..diagnostics import Label, Rejection
from ..frontend.ast_walk import child_blocks, walk_nodes
from ..frontend.name_resolution import Scope
from ..frontend.source import span_of
from ..types.effects import Effect, effectful_calls
from ..types.value_types import ArgType

__all__ = ["effect_rejections"]

_CODES = {
    Effect.RNG: "FUSE_REJECT_EFFECTS_RNG",
    Effect.IO: "FUSE_REJECT_EFFECTS_UNKNOWN",
    Effect.UNKNOWN: "FUSE_REJECT_EFFECTS_UNKNOWN",
}
"""The code for each effect that prevents fusion."""


@record(frozen=True, slots=True)
class _Loop:
    """A loop of the source."""

    node: ast.For
    policy: str  # the source text of the `with np.errstate` around it; empty: none


def effect_rejections(
    tree: ast.FunctionDef, scope: Scope, types: Mapping[str, ArgType]
) -> tuple[Rejection, ...]:
    """Why neighbouring ``for`` loops of a function that stays Python could not be fused even if it
    were compiled. Loops with a statement between them, such as a ``print``, are no neighbours.
    `report_refused` shows these in detail.
    """
    rejections: list[Rejection] = []
    for block in _blocks(tree):
        loops = list(_loops(block, scope))
        for first, second in pairwise(loops):
            if first is not None and second is not None:
                rejections += _blockers(first, second, scope, types)
    return tuple(rejections)


def _blocks(tree: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """The blocks of all statements but ``with``, whose body `_loops` looks into."""
    for node in walk_nodes(tree):
        if not isinstance(node, ast.With):
            yield from child_blocks(node)


def _loops(block: Sequence[ast.stmt], scope: Scope, policy: str = "") -> Iterator[_Loop | None]:
    """The loops of a block in order, None for any other statement; the body of an errstate is
    included.
    """
    for stmt in block:
        match stmt:
            case ast.For():
                yield _Loop(stmt, policy)
            case ast.With(items=items, body=body) if all(_is_errstate(i, scope) for i in items):
                yield from _loops(body, scope, ", ".join(ast.unparse(i) for i in items))
            case _:
                yield None


def _is_errstate(item: ast.withitem, scope: Scope) -> bool:
    """Whether a ``with`` item is a call of ``np.errstate``."""
    call = item.context_expr
    return isinstance(call, ast.Call) and scope.resolve(call.func) is np.errstate


def _blockers(
    first: _Loop, second: _Loop, scope: Scope, types: Mapping[str, ArgType]
) -> Iterator[Rejection]:
    """A rejection for each call with an effect in one of two neighbouring loops, and one if they
    run under different error states.
    """
    for loop in (first, second):
        for effect, call in effectful_calls(loop.node, scope, types):
            if effect in _CODES:
                reason = f"`{ast.unparse(call.func)}` {effect.value}"
                yield _rejection(_CODES[effect], first, second, reason, call)
    if first.policy != second.policy:
        second_policy, first_policy = (_policy_text(loop) for loop in (second, first))
        reason = f"it runs under {second_policy}, the other under {first_policy}"
        yield _rejection("FUSE_REJECT_GUARD_POLICY", first, second, reason, None)


def _rejection(
    code: str, first: _Loop, second: _Loop, reason: str, call: ast.Call | None
) -> Rejection:
    """The rejection of joining `second` to `first`, with a label at the call `call`."""
    span = span_of(call) if call is not None else None
    labels = (Label(span, "called here"),) if span is not None else ()
    message = f"cannot join the loop at line {first.node.lineno}: {reason}"
    return Rejection(code, message, span_of(second.node), labels)


def _policy_text(loop: _Loop) -> str:
    return f"`{loop.policy}`" if loop.policy else "the caller's error state"
