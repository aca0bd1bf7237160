"""What a call of a Python function runs: its parameters, its body, and where its names stand."""
from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any

from loopir.record import record

from ..bytecode import is_lambda
from ..macros.names import declared
from ..rejections import Refused
from ..source import read
from ..unwarned import unwarned

__all__ = ["Callee", "callee_of", "local_callee"]


@record(frozen=True, slots=True, eq=False)
class Callee:
    """A function that can be inlined.

    ``function`` is None for one that the caller itself defines: its ``tree`` then has the caller's
    names for what it captures, and ``defaults`` says under which names the values of defaults are.
    """

    name: str
    path: str
    tree: ast.FunctionDef | ast.Lambda
    function: Any = None
    defaults: tuple[ast.expr | None, ...] = ()

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements, without a docstring."""
        if isinstance(self.tree, ast.Lambda):
            return [ast.copy_location(ast.Return(self.tree.body), self.tree.body)]
        first, *rest = self.tree.body
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        kept = [s for s in (rest if is_text else self.tree.body) if not isinstance(s, ast.Nonlocal)]
        return kept or [ast.copy_location(ast.Pass(), first)]

    @property
    def key(self) -> object:
        """What tells calls of it from those of others."""
        return self.function.__code__ if self.function is not None else self.tree


def callee_of(function: FunctionType) -> Callee | str:
    """`function`, or why it cannot be inlined."""
    code = function.__code__
    if code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR):
        return "is no plain function"
    if code.co_name == "<lambda>":
        found = _lambda(function)
        if found is None:
            return "is a lambda whose source is not available"
        return Callee("<lambda>", code.co_filename, found, function)
    try:
        source = read(function)
    except Refused as refused:
        return f"cannot be read: {refused.rejection.message}"
    if declared(source.tree) - set(code.co_freevars):
        return "binds global names"
    private = {n for n in code.co_names if n.startswith("_") and "__" in n and n[-2:] != "__"}
    if private and "." in function.__qualname__:
        return "has names that its class mangles"
    if code.co_freevars and declared(source.tree) & set(code.co_freevars):
        return "binds names of its closure"
    return Callee(source.name, source.path, source.tree, function)


def local_callee(
    tree: ast.FunctionDef | ast.Lambda, path: str, defaults: tuple[ast.expr | None, ...]
) -> Callee:
    """A function that the caller defines."""
    return Callee(getattr(tree, "name", "<lambda>"), path, tree, None, defaults)


def _lambda(function: FunctionType) -> ast.Lambda | None:
    """The lambda that `function` was made of; of several that compile to it, one is as good."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    found = (n for n in _lambdas(text) if n.lineno == code.co_firstlineno)
    return next((n for n in found if is_lambda(n, function)), None)


@lru_cache(maxsize=8)
def _lambdas(text: str) -> tuple[ast.Lambda, ...]:
    try:
        with unwarned():
            module = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    return tuple(n for n in ast.walk(module) if isinstance(n, ast.Lambda))
