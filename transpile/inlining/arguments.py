"""Which parameter of a function takes which argument of a call."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ..lower.refusal import refuse
from .callees import Callee

__all__ = ["given", "names_of"]


def names_of(a: ast.arguments) -> list[str]:
    """The parameters that a call can fill, without ``*args`` and ``**kwargs``."""
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def given(
    callee: Callee, call: ast.Call, default: Callable[[Callee, str], ast.expr | None]
) -> Iterator[tuple[str, ast.expr]]:
    """Parameters and their values, in the order in which Python evaluates them.

    ``default`` knows those of parameters that the call leaves out.
    """
    a = callee.tree.args
    if a.kwarg is not None:
        refuse("LOWER_CALL", f"`{callee.name}` takes `**{a.kwarg.arg}`", call)
    named, rest = _named(callee, call), call.args
    positional = [p.arg for p in (*a.posonlyargs, *a.args)]
    yield from zip(positional, rest, strict=False)
    rest = rest[len(positional) :]
    if a.vararg is not None:
        yield a.vararg.arg, ast.copy_location(ast.Tuple(list(rest), ast.Load()), call)
    elif rest:
        _wrong(callee, call)
    yield from named.items()
    filled = {*positional[: len(call.args)], *named}
    for name in names_of(a):
        if name not in filled:
            value = default(callee, name)
            yield name, _wrong(callee, call) if value is None else value


def _named(callee: Callee, call: ast.Call) -> dict[str, ast.expr]:
    """Arguments by keyword."""
    a = callee.tree.args
    if any(isinstance(x, ast.Starred) for x in call.args) or any(not k.arg for k in call.keywords):
        refuse("LOWER_CALL", f"`{callee.name}` is called with `*`", call)
    named = {k.arg: k.value for k in call.keywords if k.arg}
    positional = [p.arg for p in (*a.posonlyargs, *a.args)][: len(call.args)]
    allowed = {p.arg for p in (*a.args, *a.kwonlyargs)} - set(positional)
    if not named.keys() <= allowed or len(named) < len(call.keywords):
        _wrong(callee, call)
    return named


def _wrong(callee: Callee, call: ast.Call) -> ast.expr:
    return refuse("LOWER_CALL", f"`{callee.name}` does not take these arguments", call)
