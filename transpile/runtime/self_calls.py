"""Direct self calls: a refused recursive function calls itself without the dispatcher.

    return fib(n - 1) + fib(n - 2)
    → return (_tp_direct if fib is _tp_fused else fib)(n - 1) + …

The name is still looked up at each call, since it may be rebound during the recursion. If no other
user code can run in it (the arguments are numbers and strs, everything else that is called is a
builtin), the name cannot be rebound, and only the first call looks it up: the calls inside go to a
second copy, which calls itself, at the cost of the plain function.

`dispatcher` uses this where no signature of the function is compiled.
"""
from __future__ import annotations

import ast
from contextlib import suppress
from types import CellType, FunctionType

from ..diagnostics import Refused
from ..frontend.ast_names import bound_names
from ..frontend.ast_walk import copy_tree, walk_nodes
from ..frontend.core_nodes import copy_location, fix_missing_locations
from ..frontend.source import read_source
from .stub_functions import function_from_tree

__all__ = ["with_direct_self_calls"]

_FUSED, _DIRECT = "_tp_fused", "_tp_direct"


_BUILTINS = frozenset({
    "abs", "bool", "chr", "divmod", "enumerate", "float", "int", "isinstance", "len", "list", "max",
    "min", "ord", "pow", "range", "reversed", "round", "sorted", "str", "sum", "tuple", "zip",
})
"""Builtins that call no user code with numbers, strs, and lists and tuples of them."""

_NODES_THAT_CALL = (
    ast.Attribute, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With,
    ast.AsyncWith, ast.AsyncFor, ast.Await, ast.Yield, ast.YieldFrom, ast.Import, ast.ImportFrom,
    ast.Global, ast.Nonlocal, ast.Match, ast.Try, ast.Raise,
)
"""Nodes that may run other user code, or bind names elsewhere."""


def with_direct_self_calls(
    function: FunctionType, fused: object, *, takes_builtins: bool
) -> FunctionType | None:
    """`function`, whose calls of `fused` by a global name or closure cell call the result itself;
    None if there are none, or its source is unknown. ``takes_builtins``: all arguments are numbers
    and strs.
    """
    names = _names_of(function, fused)
    if not names:
        return None
    try:
        tree = read_source(function).tree
    except Refused:
        return None
    names -= bound_names(*tree.body) | {a.arg for a in walk_nodes(tree) if isinstance(a, ast.arg)}
    if not any(_is_call_of(n, names) for n in walk_nodes(*tree.body)):
        return None
    direct = CellType()
    entry = _with_calls(tree, names, function, fused, direct, is_guarded=True)
    if takes_builtins and _runs_no_user_code(tree, names, function):
        direct.cell_contents = _alone(names, function) or _with_calls(
            tree, names, function, fused, direct, is_guarded=False
        )
    else:
        direct.cell_contents = entry
    return entry


def _with_calls(
    tree: ast.FunctionDef, names: set[str], function: FunctionType, fused: object,
    direct: CellType, *, is_guarded: bool,
) -> FunctionType:
    """A copy of `function` whose calls of `names` are of what the cell `direct` contains;
    ``is_guarded``: while the name is bound to `fused`.
    """
    copy = copy_tree(tree)
    for call in [n for n in walk_nodes(*copy.body) if _is_call_of(n, names)]:
        assert isinstance(call, ast.Call)
        name, target = call.func, ast.Name(_DIRECT, ast.Load())
        test = ast.Compare(name, [ast.Is()], [ast.Name(_FUSED, ast.Load())])
        call.func = ast.IfExp(test, target, copy_tree(name)) if is_guarded else target
        for node in walk_nodes(call.func):
            copy_location(node, name)
    cells = {_FUSED: CellType(fused), _DIRECT: direct}
    return function_from_tree(fix_missing_locations(copy), function, cells)


def _alone(names: set[str], function: FunctionType) -> FunctionType | None:
    """`function` with global names of its own, where only its name is bound; None if it reads
    others, or closure cells.
    """
    code, name = function.__code__, min(names)
    if code.co_freevars or set(code.co_names) != {name}:
        return None
    namespace: dict[str, object] = {"__name__": function.__module__}
    alone = FunctionType(code, namespace, function.__name__, function.__defaults__)
    alone.__kwdefaults__, alone.__qualname__ = function.__kwdefaults__, function.__qualname__
    namespace[name] = alone
    return alone


def _runs_no_user_code(tree: ast.FunctionDef, names: set[str], function: FunctionType) -> bool:
    """Whether the function calls only itself and builtins, given numbers and strs."""
    namespace = function.__globals__
    allowed = names | {n for n in _BUILTINS if n not in namespace}
    nodes = [*walk_nodes(*tree.body)]
    called = [n.func for n in nodes if isinstance(n, ast.Call)]
    is_known = all(isinstance(f, ast.Name) and f.id in allowed for f in called)
    bound = bound_names(*tree.body) | {a.arg for a in walk_nodes(tree) if isinstance(a, ast.arg)}
    read = {n.id for n in nodes if isinstance(n, ast.Name)} - bound - allowed
    reads_numbers = all(type(namespace.get(n)) in (int, float, bool, str) for n in read)
    return is_known and reads_numbers and not any(isinstance(n, _NODES_THAT_CALL) for n in nodes)


def _names_of(function: FunctionType, fused: object) -> set[str]:
    """The global names and free variables that are bound to `fused` now."""
    code, namespace = function.__code__, function.__globals__
    names = {n for n in code.co_names if namespace.get(n) is fused}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # an empty cell
            if cell.cell_contents is fused:
                names.add(name)
    return names


def _is_call_of(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
