"""Callees: which function a call or method runs, and which parameter takes which argument."""
from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any, NamedTuple

from loopir.lazy_dataclass import record

from ...analysis.object_arguments import access_path_type
from ...diagnostics import Refused
from ...host_nodes import HostAttribute, HostConst, HostExpr, HostOp, call_helper, from_ast
from ...types.value_types import ArgType, ObjectType
from ..ast_names import declared_outer
from ..bytecode_check import is_lambda
from ..core_nodes import copy_location
from ..refusal import refuse
from ..source import read_source
from ..suppress_warnings import suppress_warnings

__all__ = [
    "Callee", "callee_of", "local_callee", "bind_arguments", "fillable_parameters", "Method",
    "is_property", "method_called", "object_type_of",
]


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
        """The statements of the function, without a docstring."""
        if isinstance(self.tree, ast.Lambda):
            return [copy_location(ast.Return(self.tree.body), self.tree.body)]
        first, *rest = self.tree.body
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        kept = [s for s in (rest if is_text else self.tree.body) if not isinstance(s, ast.Nonlocal)]
        return kept or [copy_location(ast.Pass(), first)]

    @property
    def key(self) -> object:
        """The key by which calls of the same function are recognised (recursion)."""
        return self.function.__code__ if self.function is not None else self.tree


def callee_of(function: FunctionType) -> Callee | str:
    """The callee that `function` is, or as text the reason why it cannot be inlined."""
    code = function.__code__
    if code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR):
        return "is no plain function"
    if code.co_name == "<lambda>":
        found = _lambda(function)
        if found is None:
            return "is a lambda whose source is not available"
        return Callee("<lambda>", code.co_filename, found, function)
    try:
        source = read_source(function)
    except Refused as refused:
        return f"cannot be read: {refused.rejection.message}"
    if declared_outer(source.tree) - set(code.co_freevars):
        return "binds global names"
    private = {n for n in code.co_names if n.startswith("_") and "__" in n and n[-2:] != "__"}
    if private and "." in function.__qualname__:
        return "has names that its class mangles"
    if code.co_freevars and declared_outer(source.tree) & set(code.co_freevars):
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
        with suppress_warnings():
            module = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    return tuple(n for n in ast.walk(module) if isinstance(n, ast.Lambda))


def fillable_parameters(a: ast.arguments) -> list[str]:
    """The parameters that a call can fill, without ``*args`` and ``**kwargs``."""
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def bind_arguments(
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
        yield a.vararg.arg, copy_location(ast.Tuple(list(rest), ast.Load()), call)
    elif rest:
        _wrong(callee, call)
    yield from named.items()
    filled = {*positional[: len(call.args)], *named}
    for name in fillable_parameters(a):
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


class Method(NamedTuple):
    """What ``expr`` stands for at each call, a function, unless an object has something else of its
    own, which ``own`` tells (None: it cannot). A static one takes no object; the getter of a
    ``property`` runs where the attribute is read.
    """

    runs: Any
    expr: HostExpr
    own: HostExpr | None = None
    static: bool = False
    is_property: bool = False


def object_type_of(e: ast.expr, types: Mapping[str, ArgType]) -> ObjectType | None:
    """The type of an object that is an argument, or that one holds."""
    found = types.get(e.id) if isinstance(e, ast.Name) else access_path_type(e, types)
    return found if isinstance(found, ObjectType) else None


def method_called(func: ast.expr, types: Mapping[str, ArgType]) -> Method | None:
    """The method that a call of `func` runs, or the property that reading it runs; None for others.
    """
    of = object_type_of(func.value, types) if isinstance(func, ast.Attribute) else None
    if of is None or of.is_tuple or not isinstance(func, ast.Attribute):
        return None
    found = next((vars(c)[func.attr] for c in of.kind.__mro__ if func.attr in vars(c)), None)
    whole = from_ast(func.value)
    expr = HostAttribute(call_helper("type", whole), func.attr)
    if isinstance(found, property):
        if not _is_function(found.fget):
            return None
        return Method(found.fget, HostAttribute(expr, "fget"), is_property=True)
    runs = found.__func__ if isinstance(found, staticmethod) else found
    if not _is_function(runs) or of.key(func.attr) is not None:
        return None
    there = HostOp("in", (HostConst(func.attr), HostAttribute(whole, "__dict__")))
    own = there if of.kind.__dictoffset__ else None
    return Method(runs, expr, own, isinstance(found, staticmethod))


def is_property(e: ast.expr, types: Mapping[str, ArgType]) -> bool:
    """Whether reading `e` runs the code of a property."""
    method = method_called(e, types) if isinstance(e, ast.Attribute) else None
    return method is not None and method.is_property


def _is_function(runs: object) -> bool:
    return isinstance(runs, FunctionType)
