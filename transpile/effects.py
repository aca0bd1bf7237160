"""The effects of statements, read off the source, and the loops that they keep apart.

This looks at what cannot be lowered: loops that can have no effect but on arrays, and of those
``legality`` decides.
"""
from __future__ import annotations

import ast
import builtins
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np

from .rejections import Label, Rejection
from .scope import Scope
from .source import span_of
from .types import ArgType, Opaque

__all__ = ["Effect", "effects", "separations"]

_PURE_BUILTINS = tuple(
    getattr(builtins, name)
    for name in (
        "abs", "all", "any", "bool", "enumerate", "float", "int", "len", "list", "max", "min",
        "range", "reversed", "round", "sum", "tuple", "zip",
    )
)
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)


class Effect(Enum):
    """What a call does besides giving a value."""

    RANDOM = "draws random numbers"
    UNKNOWN = "may do anything"


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop and the ``with np.errstate`` around it, as text."""

    node: ast.For
    policy: str


def effects(
    node: ast.AST, scope: Scope, types: Mapping[str, ArgType]
) -> Iterator[tuple[Effect, ast.Call]]:
    """The calls in `node` that have an effect, or may have one."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            effect = _effect(call.func, scope, types)
            if effect is not None:
                yield effect, call


def separations(
    tree: ast.FunctionDef, scope: Scope, types: Mapping[str, ArgType]
) -> tuple[Rejection, ...]:
    """Why neighbouring loops of a function that stays Python could not have been joined."""
    found: list[Rejection] = []
    for block in _blocks(tree):
        loops = list(_loops(block, scope))
        for first, second in pairwise(loops):
            if first is not None and second is not None:
                found += _apart(first, second, scope, types)
    return tuple(found)


def _effect(func: ast.expr, scope: Scope, types: Mapping[str, ArgType]) -> Effect | None:
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        owner = types.get(func.value.id)
        if isinstance(owner, Opaque):
            drawn = owner.name.startswith(("numpy.random.", "random."))
            return Effect.RANDOM if drawn else Effect.UNKNOWN
        if func.attr == "append" and scope.resolve(func.value) is None:  # to a list made here
            return None
    return _effect_of(scope.resolve(func))


def _effect_of(function: object) -> Effect | None:
    if isinstance(getattr(function, "__self__", None), _GENERATORS):
        return Effect.RANDOM
    module = str(getattr(function, "__module__", None) or "")
    if module.split(".")[0] == "random" or module.startswith("numpy.random"):
        return Effect.RANDOM
    pure = isinstance(function, np.ufunc) or any(function is f for f in _PURE_BUILTINS)
    return None if pure or module.split(".")[0] in ("math", "numpy") else Effect.UNKNOWN


def _blocks(tree: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block: Any = getattr(node, name, None)
            if isinstance(block, list) and not isinstance(node, ast.With):
                yield block


def _loops(block: Sequence[ast.stmt], scope: Scope, policy: str = "") -> Iterator[_Loop | None]:
    """The loops of a block in order, None for anything else; an errstate is looked into."""
    for stmt in block:
        match stmt:
            case ast.For():
                yield _Loop(stmt, policy)
            case ast.With(items=items, body=body) if all(_is_errstate(i, scope) for i in items):
                yield from _loops(body, scope, ", ".join(ast.unparse(i) for i in items))
            case _:
                yield None


def _is_errstate(item: ast.withitem, scope: Scope) -> bool:
    call = item.context_expr
    return isinstance(call, ast.Call) and scope.resolve(call.func) is np.errstate


def _apart(
    first: _Loop, second: _Loop, scope: Scope, types: Mapping[str, ArgType]
) -> Iterator[Rejection]:
    code = {Effect.RANDOM: "FUSE_REJECT_EFFECTS_RNG", Effect.UNKNOWN: "FUSE_REJECT_EFFECTS_UNKNOWN"}
    for loop in (first, second):
        for effect, call in effects(loop.node, scope, types):
            name = ast.unparse(call.func)
            yield _rejection(code[effect], first, second, f"`{name}` {effect.value}", call)
    if first.policy != second.policy:
        here, there = (_policy_text(loop) for loop in (second, first))
        why = f"it runs under {here}, the other under {there}"
        yield _rejection("FUSE_REJECT_GUARD_POLICY", first, second, why, None)


def _rejection(
    code: str, first: _Loop, second: _Loop, why: str, at: ast.Call | None
) -> Rejection:
    span = span_of(at) if at is not None else None
    labels = (Label(span, "called here"),) if span is not None else ()
    message = f"cannot join the loop at line {first.node.lineno}: {why}"
    return Rejection(code, message, span_of(second.node), labels)


def _policy_text(loop: _Loop) -> str:
    return f"`{loop.policy}`" if loop.policy else "the caller's error state"
