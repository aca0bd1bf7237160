"""Closed recursion: a function that calls only itself, and builtins that run no code of the user's.

    def depth(tree):
        return 0 if tree is None else 1 + max(depth(tree[0]), depth(tree[1]))

While a call with plain arguments runs (numbers, strs, None, and lists, tuples and dicts of them),
nothing can bind its name, or that of `max`, to another object. So it may run a copy that does not
look them up in the module, and calls itself as a function that is not decorated does
(`with_private_globals`). `self_calls` makes such copies.
"""
from __future__ import annotations

import ast
import builtins
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType, FunctionType
from typing import Any

from ..frontend.ast_names import bound_names
from ..frontend.ast_walk import walk_nodes
from ..frontend.bytecode_check import nested_codes
from .kernel_call.stub_functions import made_function

__all__ = ["BUILTINS", "is_call_of", "names_in_codes", "with_private_globals"]

BUILTINS: dict[str, object] = {f.__name__: f for f in (
    abs, all, any, bin, bool, chr, complex, dict, divmod, enumerate, filter, float, frozenset, hash,
    hex, int, isinstance, iter, len, list, map, max, min, next, oct, ord, pow, range, repr,
    reversed, round, set, slice, sorted, str, sum, tuple, type, zip, ArithmeticError,
    AssertionError, Exception, IndexError, KeyError, LookupError, OverflowError, RecursionError,
    RuntimeError, StopIteration, TypeError, ValueError, ZeroDivisionError,
)}
"""By name, builtins that run no user code if their arguments are plain: not ``print``, which writes
to an object of the user's."""

_CONSUMERS = (
    "all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple",
)
"""Those that have used up a generator, and forgotten the function `key`, when they return."""

_CONSUMING_METHODS = "extend", "join", "sort", "update"
"""Methods that do so, too."""

_METHODS = frozenset(
    name for of in (bool, complex, dict, float, frozenset, int, list, range, set, str, tuple)
    for name in dir(of) if not name.startswith("_")
)
"""Attributes of plain values, and of what builtins make of them; they run no user code either."""

_PLAIN_DEFAULTS = bool, complex, float, int, str, type(None)
_RESUMED = CO_ASYNC_GENERATOR | CO_COROUTINE | CO_GENERATOR


def with_private_globals(
    tree: ast.FunctionDef, names: set[str], function: FunctionType
) -> FunctionType | None:
    """`function`, for calls with plain arguments, with a namespace of its own, in which its name is
    bound to the result, so that calling itself looks up nothing else but `BUILTINS`.

    ``tree``: its source; ``names``: those by which it calls itself. None if other code could run in
    a call, and so rebind a name, or if its own code could run after the call has returned: if it

    - reads another global name, another attribute than `_METHODS`, or a default that is not plain;
    - may warn (``~`` of a bool), since a filter of warnings may call a function;
    - is a generator, or makes one, or a function, that is not used up at once (`_CONSUMERS`).

    Nor if it reads its name other than to call it: that is the fused function.
    """
    code, name = function.__code__, min(names)
    nodes = [*walk_nodes(*tree.body)]
    defaults = *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()
    if code.co_freevars or code.co_flags & _RESUMED:
        return None
    if any(type(value) not in _PLAIN_DEFAULTS for value in defaults):
        return None
    local = bound_names(*tree.body) | {a.arg for a in walk_nodes(tree) if isinstance(a, ast.arg)}
    if _may_run_other_code(nodes) or not _runs_at_once(nodes, local):
        return None
    in_codes = names_in_codes(code)
    read = {n.id for n in nodes if isinstance(n, ast.Name)} & in_codes
    attributes = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    if not {name} <= read <= {name, *BUILTINS} or not in_codes <= read | attributes:
        return None
    own = sum(isinstance(n, ast.Name) and n.id in names for n in nodes)
    if own != sum(is_call_of(n, names) for n in nodes) or not read.isdisjoint(_shadowed(function)):
        return None
    namespace: dict[str, Any] = {"__name__": function.__module__, "__builtins__": builtins}
    # code of its own: Python caches in it where the names of one namespace are
    private = made_function(
        code.replace(), namespace, (), function.__defaults__ or (), function.__kwdefaults__ or {}
    )
    private.__name__, private.__qualname__ = function.__name__, function.__qualname__
    namespace[name] = private
    return private


def is_call_of(node: ast.AST, names: set[str]) -> bool:
    """Whether it calls one of these names."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def names_in_codes(code: CodeType) -> set[str]:
    """The global names and the attributes in `code`, also in its generators and inner functions."""
    return {n for c in (code, *nested_codes(code)) for n in c.co_names}


def _may_run_other_code(nodes: list[ast.AST]) -> bool:
    """Whether one of these nodes may warn, binds a global name, or reads another attribute than
    `_METHODS`.
    """
    return any(
        isinstance(n, (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom))
        or (isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Invert))
        or (isinstance(n, ast.Attribute) and n.attr not in _METHODS)
        for n in nodes
    )


def _runs_at_once(nodes: list[ast.AST], local: set[str]) -> bool:
    """Whether no function or generator that these nodes make is used after the call that it is an
    argument of: ``sum(f(x) for x in xs)``, ``max(xs, key=lambda x: f(x))``.
    """
    used: set[ast.AST] = set()
    for call in nodes:
        if isinstance(call, ast.Call):
            f = call.func
            is_consumer = isinstance(f, ast.Name) and f.id in _CONSUMERS and f.id not in local
            if is_consumer or (isinstance(f, ast.Attribute) and f.attr in _CONSUMING_METHODS):
                used |= {a for a in call.args if isinstance(a, ast.GeneratorExp)}
                used |= {k.value for k in call.keywords if k.arg == "key"}
    later = ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.GeneratorExp, ast.Lambda
    return used.issuperset(n for n in nodes if isinstance(n, later))


def _shadowed(function: FunctionType) -> set[str]:
    """The names of `BUILTINS` that are bound to something else where `function` is."""
    bound = {**vars(builtins), **function.__globals__}
    return {n for n, f in BUILTINS.items() if bound.get(n) is not f}
