"""Direct self calls: a refused recursive function calls itself without the dispatcher.

    return fib(n - 1) + fib(n - 2)
    → return (_tp_direct if fib is _tp_fused else fib)(n - 1) + …

The name is still looked up at each call, since it may be rebound during the recursion. If no other
code can run in the function (`closed_recursion`), the name cannot be rebound. Then only the first
call looks it and the builtins up: the calls inside go to a second copy, which calls itself and
costs no more than the plain function.

`dispatcher` uses this where no signature of the function is compiled. An outlined function, which
has compiled regions, also calls itself directly, but there is no second copy of it.
"""
from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from types import CellType, FunctionType, MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from loopir.process.signal_exceptions import suppress_failures
from targets.abi.inline_cache import CacheRow

from ..diagnostics import Refused
from ..frontend.ast_names import bound_names
from ..frontend.ast_walk import copy_tree, walk_nodes
from ..frontend.core_nodes import copy_location, fix_missing_locations
from ..types.value_types import ArgType, Constant, Opaque, ScalarType
from .closed_recursion import BUILTINS, is_call_of, names_in_codes, with_private_globals
from .kernel_call.stub_functions import function_from_tree
from .outline.region_tracebacks import TRACEBACK_CELLS, with_calls_untraced

if TYPE_CHECKING:
    from .installed_call import Keys
    from .refused.region_records import OutlinedFunction
    from .specialization import Specialization

__all__ = ["DirectSelfCalls", "PythonTargets", "is_python_number_or_str", "with_direct_self_calls"]

_FUSED, _DIRECT, _BUILTIN = "_tp_fused", "_tp_direct", "_tp_builtin_{}"


class PythonTargets:
    """What serves the calls of a function as Python: ``guarded`` those with any arguments;
    ``closed``, if the function is a `closed_recursion`, those with plain ones, in less time.
    """

    def __init__(self, guarded: FunctionType, closed: FunctionType | None = None) -> None:
        self.guarded, self.closed = guarded, closed

    def callee(self, types: Sequence[ArgType]) -> FunctionType:
        """The copy for arguments of these types."""
        is_closed = all(map(is_python_number_or_str, types))
        return self.closed if self.closed is not None and is_closed else self.guarded

    def rows(
        self, keys: Keys | None, types: Sequence[ArgType], counters: np.ndarray
    ) -> list[CacheRow]:
        """The rows for calls with these keys, which stand for these types (None: for all calls). If
        these alone do not tell that the arguments are plain, calls look at them.
        """
        callee = self.callee(types)
        if self.closed is None or (callee is not self.guarded and keys is not None):
            return [CacheRow(callee, keys, counters=counters)]
        limit = np.zeros(1, np.int64)
        return [
            CacheRow(copy, keys, counters=counters, asks_plain=asks_plain, limit=limit)
            for copy, asks_plain in ((self.closed, True), (self.guarded, False))
        ]


class DirectSelfCalls:
    """The original, calling itself without the dispatcher; made when it is asked for."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._copies: list[PythonTargets | None] = []  # once they were made
        self._outlined: tuple[OutlinedFunction, FunctionType] | None = None  # the last one made

    def copies(self, fused: object, specs: Collection[Specialization]) -> PythonTargets | None:
        """The copies of the function whose calls of `fused`, the fused function, go to the copy
        itself. None if it does not call itself, or if calls may be compiled, by the signatures so
        far (`specs`).
        """
        if any(s.rejection is None or s.outlined for s in specs):
            return None
        if not self._copies:
            self._copies.append(with_direct_self_calls(self._function, fused))
        return self._copies[0]

    def outlined(
        self, fused: object, outlined: OutlinedFunction, specs: Collection[Specialization]
    ) -> FunctionType:
        """A copy of `outlined`, an outlined function of `fused`, whose calls of `fused` go to the
        copy itself, which serves arguments of all types. ``outlined.function`` if it does not call
        itself, or if calls of one of `specs` are compiled as a whole.
        """
        if any(s.rejection is None for s in specs):
            return outlined.function
        if self._outlined is None or self._outlined[0] is not outlined:
            self._outlined = outlined, _outlined_with_direct_calls(self._function, fused, outlined)
        return self._outlined[1]


def _outlined_with_direct_calls(
    function: FunctionType, fused: object, outlined: OutlinedFunction
) -> FunctionType:
    """``outlined.function``, or if `function` calls itself by a name bound to `fused`, a copy whose
    recursive calls go to the copy itself.
    """
    tree = outlined.calling_tree or outlined.tree
    names = _names_called(tree, function, fused)
    if not names:
        return outlined.function
    called_directly = CellType()
    tree = with_calls_untraced(tree, outlined.cells.keys())
    cells = {**outlined.cells, **TRACEBACK_CELLS}
    guarded = _with_guarded_calls(tree, names, function, fused, called_directly, cells)
    called_directly.cell_contents = guarded
    return guarded


def with_direct_self_calls(function: FunctionType, fused: object) -> PythonTargets | None:
    """Copies of `function`, which is refused and serves all calls as Python, whose recursive calls
    go to the copy itself and not through the dispatcher; see the module's docstring. None if there
    are no such calls, or if its source is unknown.

    ``fused``: the fused function. The recursive calls name it, by a global or a closure cell.
    """
    if not _names_bound_to(function, fused):
        return None
    from ..frontend.source import read_source

    try:
        tree = read_source(function).tree
    except Refused:
        return None
    names = _names_called(tree, function, fused)
    if not names:
        return None

    def guarded(inner: FunctionType | None, builtin_names: Collection[str] = ()) -> FunctionType:
        called = CellType(inner)  # as long as the name is bound to `fused`
        copy = _with_guarded_calls(
            tree, names, function, fused, called, builtin_names=builtin_names
        )
        called.cell_contents = inner or copy
        return copy

    private = with_private_globals(tree, names, function)
    read = sorted(BUILTINS.keys() & names_in_codes(function.__code__)) if private else []
    return PythonTargets(guarded(None), guarded(private, read) if private else None)


def _names_called(tree: ast.FunctionDef, function: FunctionType, fused: object) -> set[str]:
    """The names bound to `fused` if `tree`, a form of `function`, calls one of them; else none."""
    names = _names_bound_to(function, fused)
    names -= bound_names(*tree.body) | {a.arg for a in walk_nodes(tree) if isinstance(a, ast.arg)}
    return names if any(is_call_of(n, names) for n in walk_nodes(*tree.body)) else set()


def _with_guarded_calls(
    tree: ast.FunctionDef, names: set[str], function: FunctionType, fused: object, direct: CellType,
    helpers: Mapping[str, CellType] = MappingProxyType({}), builtin_names: Collection[str] = (),
) -> FunctionType:
    """A copy of `function`, made of `tree`, whose calls of `names` are of what the cell `direct`
    contains, while the name is bound to `fused`, and ``builtin_names`` are bound to
    Python's builtins. ``helpers``: other cells that `tree` reads.
    """
    copy = copy_tree(tree)
    for call in [n for n in walk_nodes(*copy.body) if is_call_of(n, names)]:
        assert isinstance(call, ast.Call)
        name = call.func
        wanted = [(name, _FUSED)]
        wanted += [(ast.Name(n, ast.Load()), _BUILTIN.format(n)) for n in builtin_names]
        tests: list[ast.expr] = [
            ast.Compare(e, [ast.Is()], [ast.Name(cell, ast.Load())]) for e, cell in wanted
        ]
        test = ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0]
        call.func = ast.IfExp(test, ast.Name(_DIRECT, ast.Load()), copy_tree(name))
        for node in walk_nodes(call.func):
            copy_location(node, name)
    originals = {_BUILTIN.format(n): CellType(BUILTINS[n]) for n in builtin_names}
    cells = {**helpers, **originals, _FUSED: CellType(fused), _DIRECT: direct}
    return function_from_tree(fix_missing_locations(copy), function, cells)


def is_python_number_or_str(ty: ArgType) -> bool:
    """Whether arguments of this type are Python's numbers, strs or None: their operators run no
    user code, and warn of nothing.
    """
    if isinstance(ty, Constant):
        return ty.kind in (int, bool, str, type(None))
    return (isinstance(ty, ScalarType) and ty.weak) or ty == Opaque("str")


def _names_bound_to(function: FunctionType, fused: object) -> set[str]:
    """The global names and free variables that are bound to `fused` now."""
    code, namespace = function.__code__, function.__globals__
    names = {n for n in names_in_codes(code) if namespace.get(n) is fused}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress_failures(ValueError):  # an empty cell
            if cell.cell_contents is fused:
                names.add(name)
    return names
