"""Modules of others as plain Python: each file is rewritten without the decorators that compile.

Statements run one by one, and one that fails is left out: a name that it would have bound is
missing, and a function that needs it fails as Python and is not counted.
"""
from __future__ import annotations

import ast
import builtins
import copy
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .packages import Package, files

__all__ = ["Modules", "compiled_by", "functions_of"]

_MARKS = ("jit", "vectorize", "stencil", "ndmove", "ndreduce", "ndfill", "ndquantile", "grouped")
_NOT = ("cuda", "overload", "pytest", "skip", "generated")


def compiled_by(node: ast.FunctionDef) -> bool:
    """Whether a decorator compiles the function, and for a processor."""
    words = [ast.unparse(d) for d in node.decorator_list]
    return any(m in w for w in words for m in _MARKS) and not any(
        n in w for w in words for n in _NOT
    )


class _Numba(types.ModuleType):
    """What is left of a compiler: decorators give the function back, its range is a range, its
    types of numbers are NumPy's.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        vars(self).update(
            {n: t for n, t in vars(np).items() if isinstance(t, type) and issubclass(t, np.number)},
            boolean=np.bool_, types=self, prange=range, literally=_same, literal_unroll=_same,
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {}) if name[0].isupper() else _decorator


def _same(value: Any) -> Any:
    return value


def _decorator(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], types.FunctionType):
        return args[0]
    return lambda f: f


def functions_of(
    package: Package, place: Path, scratch: Path
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of `package`, unpacked in `place`, that its authors compile, undecorated; each
    with its file and name. Rewritten modules go to `scratch`.
    """
    modules = Modules(place, scratch / package.requirement, package.nested)
    for path in files(package, place):
        for function in modules.functions(path):
            yield f"{path.relative_to(place)}:{function.__name__}", function


class Modules:
    """The modules of one unpacked wheel, `place`, rewritten into `into`."""

    def __init__(self, place: Path, into: Path, nested: bool) -> None:
        self._place, self._into, self._nested = place, into, nested
        self._done: dict[Path, dict[str, Any]] = {}

    def functions(self, path: Path) -> Iterator[Callable[..., Any]]:
        """The functions of one file that are compiled by their authors, undecorated."""
        names = self.names(path)
        for name in names.get("__compiled__", ()):
            if isinstance(names.get(name), types.FunctionType):
                yield names[name]

    def names(self, path: Path) -> dict[str, Any]:
        """The globals of the module in `path`."""
        if path not in self._done:
            self._done[path] = {}
            self._load(path, self._done[path])
        return self._done[path]

    def _load(self, path: Path, names: dict[str, Any]) -> None:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            return
        lifted = [*_lifted(tree)] if self._nested else []
        kept = [s for s in tree.body if not isinstance(s, ast.Expr)]
        marked = [f.name for f in _plain(kept) if compiled_by(f)] + [f.name for f in lifted]
        module = ast.Module([_bare(s) for s in (*kept, *lifted)], [])
        written = self._into / path.relative_to(self._place)
        written.parent.mkdir(parents=True, exist_ok=True)
        text = ast.unparse(ast.fix_missing_locations(module))
        written.write_text(text, encoding="utf-8")
        names |= {"__name__": "corpus." + path.stem, "__builtins__": builtins,
                  "__file__": str(written), "__compiled__": marked,
                  "__marks__": {f.name: f.decorator_list for f in _plain(kept)}}
        for statement in ast.parse(text).body:
            self._run(statement, path, str(written), names)

    def _run(self, statement: ast.stmt, path: Path, written: str, names: dict[str, Any]) -> None:
        match statement:
            case ast.Import(names=aliases):
                for alias in aliases:
                    self._import(alias, names)
            case ast.ImportFrom(module=module, names=aliases, level=level):
                for alias in aliases:
                    self._import_from(module or "", alias, level, path, names)
            case ast.FunctionDef() | ast.Assign() | ast.AnnAssign() | ast.ClassDef():
                code = compile(ast.Module([statement], []), written, "exec")
                try:
                    exec(code, names)
                except BaseException:
                    return
            case _:
                return

    def _import(self, alias: ast.alias, names: dict[str, Any]) -> None:
        module = _module(alias.name)
        if module is not None:
            top = alias.name.partition(".")[0]
            names[alias.asname or top] = module if alias.asname else sys.modules.get(top, module)

    def _import_from(
        self, module: str, alias: ast.alias, level: int, path: Path, names: dict[str, Any]
    ) -> None:
        folder = path.parents[level - 1] if level else self._place
        here = folder.joinpath(*module.split(".")) if module else folder
        files = here.with_suffix(".py"), here / "__init__.py"
        own = next((p for p in files if p.is_file()), None)
        numba = module.partition(".")[0] == "numba" and not level
        if own is not None and not numba:
            there = self.names(own)
            inner = here / f"{alias.name}.py"
            if alias.name == "*":
                names |= {k: v for k, v in there.items() if not k.startswith("_")}
            elif alias.name in there:
                names[alias.asname or alias.name] = there[alias.name]
            elif inner.is_file():
                names[alias.asname or alias.name] = types.SimpleNamespace(**self.names(inner))
            return
        found = _module(module)
        if alias.name == "*":
            public = getattr(found, "__all__", ())
            names |= {name: getattr(found, name) for name in public}
        elif found is not None and hasattr(found, alias.name):
            names[alias.asname or alias.name] = getattr(found, alias.name)


def _module(name: str) -> Any:
    if name.partition(".")[0] == "numba":
        return _Numba("numba")
    if name.partition(".")[0] not in {*sys.stdlib_module_names, "numpy"}:
        return None
    try:
        return importlib.import_module(name)
    except Exception:
        return None


def _plain(body: list[ast.stmt]) -> list[ast.FunctionDef]:
    return [s for s in body if isinstance(s, ast.FunctionDef)]


def _bare(statement: ast.stmt) -> ast.stmt:
    """The statement without decorators that compile, inside it too."""
    statement = copy.deepcopy(statement)
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
    return statement


def _lifted(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions within functions, and those at the top, each under a name of its own."""
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef) and outer.name.startswith(("test_", "check_")):
            for node in ast.walk(outer):
                if isinstance(node, ast.FunctionDef) and node is not outer:
                    found = copy.deepcopy(node)
                    found.name = f"{node.name}_{node.lineno}"
                    yield found
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found = copy.deepcopy(node)
            found.name = f"{node.name}_{node.lineno}"
            yield found
