"""Local imports: ``import`` statements in a function, of modules that are loaded already.

Python runs such a statement at each call: ``__import__`` finds the module in ``sys.modules``, and a
local name is bound. Where nothing else can happen, the name is a captured name like those of
`captured_names`, which the call plan reads before the kernel runs::

    def f(x):                                _np = sys.modules['numpy']    # a CapturedExpr
        import numpy as np          →
        return np.sqrt(x)                    return _np.sqrt(x)

Each call checks that ``sys.modules`` has the same modules and that ``__import__`` is Python's own;
otherwise Python runs the call. A module that is not loaded is not loaded here: the statement then
stays, and lowering refuses it.
"""
from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from loopir.lazy_dataclass import record

from ...host_nodes import HostAttribute, HostConst, HostExpr, HostHelper, HostItem, HostName
from ..ast_names import names_bound_by
from ..ast_walk import child_blocks, walk_nodes, walk_statements
from ..defining_modules import is_builtin
from ..name_resolution import NameScope, Scope

__all__ = ["ImportPlace", "ImportedName", "imports_in", "loaded_imports"]


@record(frozen=True, slots=True)
class ImportPlace:
    """The function that an import statement is in, and what the statement reads besides
    ``sys.modules``: ``__import__``, which it calls, and the package from which relative imports
    start.
    """

    tree: ast.FunctionDef
    importer: HostExpr
    """Evaluates to ``__import__`` at each call."""
    imports: object
    """What ``__import__`` is bound to now."""
    package: HostExpr
    """Evaluates to ``__package__`` at each call."""
    globals: Mapping[str, object]
    """The namespace of the function's module."""

    @classmethod
    def of_caller(cls, tree: ast.FunctionDef, scope: Scope) -> ImportPlace:
        """The place of the imports in the function that is compiled."""
        origin, found = scope.find("__import__")
        imports = found if origin is NameScope.BUILTIN else None
        has_package = scope.find("__package__")[0] is NameScope.GLOBAL
        package, importer = HostName("__package__"), HostName("__import__")
        return cls(tree, importer, imports, package, scope.globals if has_package else {})

    @classmethod
    def of_callee(
        cls, tree: ast.FunctionDef, function: FunctionType, expr: HostExpr
    ) -> ImportPlace:
        """The place of the imports in `function`, which is inlined; `expr` evaluates to it at each
        call.
        """
        own_builtins: Any = cast(Any, function).__builtins__
        importer = HostItem(HostAttribute(expr, "__builtins__"), HostConst("__import__"))
        package = HostItem(HostAttribute(expr, "__globals__"), HostConst("__package__"))
        imports = own_builtins.get("__import__")
        return cls(tree, importer, imports, package, function.__globals__)


@record(frozen=True, slots=True)
class ImportedName:
    """A local ``name`` that an import binds. ``value`` is the object now; ``expr`` evaluates to it
    at each call.

    ``guards``: expressions, and the objects that they must evaluate to at each call.
    """

    name: str
    expr: HostExpr
    value: object
    guards: Mapping[HostExpr, object]


class _NotLoaded(Exception):
    """A module or a name that the statement does not find without running code."""


def loaded_imports(s: ast.stmt, place: ImportPlace) -> list[ImportedName] | None:
    """What the import statement `s` of a function's body binds, if Python would only look it up.

        import numpy as np      →   [ImportedName("np", <sys.modules['numpy']>, np, guards)]
        from math import sqrt   →   [ImportedName("sqrt", <….__dict__['sqrt']>, math.sqrt, guards)]

    None, so that `s` stays and lowering refuses it, where

    - `s` is another statement;
    - ``__import__`` is not Python's own: it may do anything;
    - a name is also bound elsewhere, or occurs elsewhere than behind `s` in its block: the name is
      replaced in the whole body, and so must mean the imported object wherever it occurs
      (`_is_bound_once`);
    - a module is not loaded, or lacks the attribute: to find it would run code (`_found`).

    Used by the inliner for the caller and for each callee (`callee_body.capture_imports`), and by
    outlining (`runtime.outline.region_facts`), which asks which statements need no Python.
    """
    if not isinstance(s, (ast.Import, ast.ImportFrom)):
        return None
    imports = place.imports
    is_pythons = isinstance(imports, BuiltinFunctionType) and is_builtin(imports)
    names = [name for alias in s.names for name in names_bound_by(alias)]
    if not is_pythons or not all(_is_bound_once(name, s, place.tree) for name in names):
        return None
    guards: dict[HostExpr, object] = {place.importer: imports}
    try:
        return [
            ImportedName(name, expr, value, {**guards, **more})
            for name, (expr, value, more) in zip(names, _found(s, place), strict=True)
        ]
    except _NotLoaded:
        return None


def imports_in(s: ast.stmt) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports in a statement, itself or in its blocks, in the order of the source."""
    if isinstance(s, (ast.Import, ast.ImportFrom)):
        yield s
    elif not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        for block in child_blocks(s):
            for inner in block:
                yield from imports_in(inner)


def _is_bound_once(name: str, s: ast.stmt, tree: ast.FunctionDef) -> bool:
    """Whether the import `s` alone binds the local `name`, which occurs only behind `s` in its
    block: `s` runs before each use.
    """
    if name.startswith("__") and not name.endswith("__"):  # is mangled
        return False
    bindings = uses = 0
    for n in walk_nodes(tree.args, *tree.body):  # once: this is asked at each call of a callee
        if isinstance(n, ast.Name):
            uses += n.id == name
            bindings += n.id == name and not isinstance(n.ctx, ast.Load)
        elif isinstance(n, ast.arg):
            if n.arg == name:
                return False
        elif isinstance(n, (ast.Global, ast.Nonlocal)):
            if name in n.names:
                return False
        else:
            bindings += name in names_bound_by(n)
    behind = walk_nodes(*_rest_of_block(s, tree))
    is_behind = uses == sum(isinstance(n, ast.Name) and n.id == name for n in behind)
    return bindings == 1 and is_behind


def _rest_of_block(s: ast.stmt, tree: ast.FunctionDef) -> Sequence[ast.stmt]:
    """The statements behind `s` in its block."""
    for n in walk_statements(tree):
        for block in child_blocks(n):
            for index, each in enumerate(block):
                if each is s:
                    return block[index + 1 :]
    return ()


_Found = tuple[HostExpr, object, dict[HostExpr, object]]
"""The expression and the value of a name, and guards."""


def _found(s: ast.Import | ast.ImportFrom, place: ImportPlace) -> Iterator[_Found]:
    """For each name that `s` binds: the expression for its value, the value now, and the guards
    under which the expression gives it. Raises _NotLoaded.
    """
    if isinstance(s, ast.Import):
        for alias in s.names:
            yield _module_of_import(alias)
        return
    guards: dict[HostExpr, object] = {}
    path = s.module or ""
    if s.level:
        package = _package(place.globals)
        guards[place.package] = package
        parents = package.split(".")
        if s.level > len(parents):
            raise _NotLoaded
        path = ".".join([*parents[: len(parents) - s.level + 1], *([path] if path else [])])
    expr, module = _module(path)
    guards |= _guards_of_path(path)
    for alias in s.names:
        yield *_attribute(expr, module, alias.name), guards


def _module_of_import(alias: ast.alias) -> _Found:
    """``import a.b``: `a`; ``import a.b as name``: the attribute ``b`` of `a`."""
    root, *rest = alias.name.split(".")
    expr: HostExpr
    value: object
    expr, value = _module(root)
    for part in rest if alias.asname else []:
        expr, value = _attribute(expr, value, part)
    return expr, value, _guards_of_path(alias.name) | {expr: value}


def _guards_of_path(path: str) -> dict[HostExpr, object]:
    """The guards that the module `path`, and the package it is in, are what they are now.

    Python loads the packages first, unless the module itself is loaded.
    """
    root = path.partition(".")[0]
    return dict(_module(name) for name in dict.fromkeys((root, path)))


def _module(path: str) -> tuple[HostExpr, ModuleType]:
    """The loaded module `path`, and the expression for it. Raises _NotLoaded."""
    module = sys.modules.get(path)
    if module is None and path == "numpy.random":
        module = np.random  # NumPy imports it when it is first read
    if type(module) is not ModuleType:
        raise _NotLoaded
    if getattr(vars(module).get("__spec__"), "_initializing", False):
        raise _NotLoaded
    return HostItem(HostHelper("modules"), HostConst(path)), module


def _attribute(expr: HostExpr, module: object, name: str) -> tuple[HostExpr, object]:
    """The attribute `name` of `module` and the expression for it, both read from the module's
    namespace, so that no ``__getattr__`` of the module runs. ``expr`` evaluates to the module.
    Raises _NotLoaded where it has no such attribute.
    """
    if module is np and name == "random":
        _module("numpy.random")  # puts it into the namespace
    if type(module) is not ModuleType or name not in vars(module):
        raise _NotLoaded
    return HostItem(HostAttribute(expr, "__dict__"), HostConst(name)), vars(module)[name]


def _package(module: Mapping[str, object]) -> str:
    """The package from which relative imports start in a function with the namespace `module`: its
    ``__package__``. Raises _NotLoaded where that is missing or disagrees with ``__spec__``: Python
    then computes another.
    """
    package = module.get("__package__")
    parent = getattr(module.get("__spec__"), "parent", package)
    if type(package) is not str or not package or parent != package:
        raise _NotLoaded
    return package
