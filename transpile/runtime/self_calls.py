"""Direct self calls: a refused recursive function calls itself without the dispatcher.

    return fib(n - 1) + fib(n - 2)
    → return (_tp_direct if fib is _tp_fused else fib)(n - 1) + …

The name is still looked up at each call, since it may be rebound during the recursion. If no other
code can run in the function (the arguments are numbers and strs, and the only other names that it
reads are builtins such as `max`), the name cannot be rebound. Then only the first call looks it and
the builtins up: the calls inside go to a second copy, which calls itself and costs no more than the
plain function.

`dispatcher` uses this where no signature of the function is compiled. An outlined function, which
has compiled regions, also calls itself directly, but there is no second copy of it.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import TYPE_CHECKING

from loopir.process.signal_exceptions import suppress_failures

from ..diagnostics import Refused
from ..frontend.ast_names import bound_names
from ..frontend.ast_walk import copy_tree, walk_nodes
from ..frontend.bytecode_check import nested_codes
from ..frontend.core_nodes import copy_location, fix_missing_locations
from ..types.value_types import ArgType, Constant, Opaque, ScalarType
from .kernel_call.stub_functions import function_from_tree
from .outline.region_tracebacks import TRACEBACK_CELLS, with_calls_untraced

if TYPE_CHECKING:
    from .refused.region_records import OutlinedFunction
    from .specialization import Specialization

__all__ = ["DirectSelfCalls", "is_python_number_or_str", "with_direct_self_calls"]

_FUSED, _DIRECT, _BUILTIN = "_tp_fused", "_tp_direct", "_tp_builtin_{}"

_BUILTINS: dict[str, object] = {f.__name__: f for f in (
    abs, all, any, bool, chr, dict, divmod, enumerate, float, hash, int, isinstance, len, list, max,
    min, ord, pow, range, repr, reversed, round, set, sorted, str, sum, tuple, zip,
)}
"""By name, builtins that run no user code if their arguments are Python's numbers and strs, and
containers of them: not ``print``, which writes to an object of the user's."""


class DirectSelfCalls:
    """The original, calling itself without the dispatcher; made when it is asked for."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._made: dict[bool, FunctionType | None] = {}  # by ``takes_builtins``
        self._outlined: tuple[OutlinedFunction, FunctionType] | None = None  # the last one made

    def function(
        self, fused: object, specs: Collection[Specialization]
    ) -> FunctionType | None:
        """The copy of the function whose calls of `fused`, the fused function, go to the copy
        itself. None if it does not call itself, or if calls may be compiled, by the signatures so
        far (`specs`).
        """
        if any(s.rejection is None or s.outlined for s in specs):
            return None
        builtins = all(is_python_number_or_str(t) for s in specs for t in s.types)
        if builtins not in self._made:
            self._made[builtins] = with_direct_self_calls(
                self._function, fused, takes_builtins=builtins
            )
        return self._made[builtins]

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


def with_direct_self_calls(
    function: FunctionType, fused: object, *, takes_builtins: bool
) -> FunctionType | None:
    """A copy of `function`, which is refused and serves all calls as Python, whose recursive calls
    go to the copy itself and not through the dispatcher; see the module's docstring. None if there
    are no such calls, or if its source is unknown.

    - ``fused``: the fused function. The recursive calls name it, by a global or a closure cell.
    - ``takes_builtins``: all arguments are Python's numbers and strs (`is_python_number_or_str`).
      Their operators run no code that could rebind a name, so a second copy is made, which does
      not look names up (`_with_private_globals`).
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
    called_directly = CellType()  # what `guarded` calls, as long as the name is bound to `fused`
    private = _with_private_globals(tree, names, function) if takes_builtins else None
    read = [*_BUILTINS.keys() & private.__globals__.keys()] if private else []
    guarded = _with_guarded_calls(tree, names, function, fused, called_directly, builtin_names=read)
    called_directly.cell_contents = private or guarded
    return guarded


def _names_called(tree: ast.FunctionDef, function: FunctionType, fused: object) -> set[str]:
    """The names bound to `fused` if `tree`, a form of `function`, calls one of them; else none."""
    names = _names_bound_to(function, fused)
    names -= bound_names(*tree.body) | {a.arg for a in walk_nodes(tree) if isinstance(a, ast.arg)}
    return names if any(_is_call_of(n, names) for n in walk_nodes(*tree.body)) else set()


def _with_guarded_calls(
    tree: ast.FunctionDef, names: set[str], function: FunctionType, fused: object, direct: CellType,
    helpers: Mapping[str, CellType] = MappingProxyType({}), builtin_names: Collection[str] = (),
) -> FunctionType:
    """A copy of `function`, made of `tree`, whose calls of `names` are of what the cell `direct`
    contains, while the name is bound to `fused`, and ``builtin_names`` are bound to
    Python's builtins. ``helpers``: other cells that `tree` reads.
    """
    copy = copy_tree(tree)
    for call in [n for n in walk_nodes(*copy.body) if _is_call_of(n, names)]:
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
    originals = {_BUILTIN.format(n): CellType(_BUILTINS[n]) for n in builtin_names}
    cells = {**helpers, **originals, _FUSED: CellType(fused), _DIRECT: direct}
    return function_from_tree(fix_missing_locations(copy), function, cells)


def _with_private_globals(
    tree: ast.FunctionDef, names: set[str], function: FunctionType
) -> FunctionType | None:
    """`function`, which takes Python's numbers and strs, with a namespace of its own, in which its
    name is bound to the result, so that calling itself looks up nothing else but `_BUILTINS`.

    None if other code could run in it, and so rebind a name: if it reads another global name or
    an attribute, or may warn (``~`` of a bool), since a filter of warnings may call a function.
    Nor if it reads its name other than to call it: that is the fused function.
    """
    code, name = function.__code__, min(names)
    read = _names_read(code)
    nodes = [*walk_nodes(*tree.body)]
    may_warn = any(isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Invert) for n in nodes)
    has_attributes = any(isinstance(n, ast.Attribute) for n in nodes)
    calls = sum(_is_call_of(n, names) for n in nodes)
    only_called = calls == sum(isinstance(n, ast.Name) and n.id in names for n in nodes)
    if code.co_freevars or may_warn or has_attributes or not only_called:
        return None
    if not {name} <= read <= {name, *_BUILTINS} or not read.isdisjoint(_shadowed(function)):
        return None
    namespace: dict[str, object] = {n: _BUILTINS[n] for n in read - {name}}
    namespace["__name__"] = function.__module__
    private = FunctionType(code, namespace, function.__name__, function.__defaults__)
    private.__kwdefaults__, private.__qualname__ = function.__kwdefaults__, function.__qualname__
    namespace[name] = private
    return private


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
    names = {n for n in _names_read(code) if namespace.get(n) is fused}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress_failures(ValueError):  # an empty cell
            if cell.cell_contents is fused:
                names.add(name)
    return names


def _names_read(code: CodeType) -> set[str]:
    """The global names and the attributes in `code`, also in its generators and inner functions."""
    return {n for c in (code, *nested_codes(code)) for n in c.co_names}


def _shadowed(function: FunctionType) -> set[str]:
    """The names of `_BUILTINS` that are bound to something else where `function` is."""
    bound = {**vars(builtins), **function.__globals__}
    return {n for n, f in _BUILTINS.items() if bound.get(n) is not f}


def _is_call_of(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
