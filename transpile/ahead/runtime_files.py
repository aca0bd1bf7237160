"""Runtime files: the modules that a built package needs, copied from this project.

They are `built_functions` and all that it imports, each as it is, but for its imports: in the
package all are in one folder. So a call of a built function is made by the same code as one of a
function that was compiled just in time.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec, resolve_name
from pathlib import Path

__all__ = ["ENTRY", "PROJECT", "is_for_type_checkers", "runtime_files", "runtime_modules"]

ENTRY = "transpile.ahead.built_functions"
"""The module that a package imports `fuse` from."""

PROJECT = ("loopir", "targets", "transpile")
"""The packages of this project."""


def runtime_files() -> dict[str, str]:
    """The text of each file of the runtime, by its name."""
    modules = runtime_modules()
    return {f"{_short(name)}.py": _relocated(name, path) for name, path in modules.items()}


def runtime_modules() -> dict[str, Path]:
    """The file of each module of the runtime, by the module's name."""
    found: dict[str, Path] = {}
    waiting = [ENTRY]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _file_of(name)
            for _, modules, _ in _imports(name, ast.parse(found[name].read_text("utf-8"))):
                waiting += modules
    assert len({*map(_short, found)}) == len(found), "two modules have one name"
    return dict(sorted(found.items()))


def _file_of(module: str) -> Path:
    """The file of a module."""
    spec = find_spec(module)
    assert spec is not None
    return Path(spec.origin or "")


def _short(module: str) -> str:
    """The name of the module in the folder of the runtime."""
    return module.rpartition(".")[2]


def _imports(module: str, tree: ast.Module) -> Iterator[tuple[ast.ImportFrom, list[str], str]]:
    """Each import of modules of this project, also in functions, but not those for type checkers:
    with the names of the modules, and what stands behind the ``from`` in the runtime's folder.
    """
    for node in _statements(tree.body):
        if not isinstance(node, ast.ImportFrom):
            continue
        start = "." * node.level + (node.module or "")
        home = resolve_name(start, module.rpartition(".")[0]) if node.level else start
        if home.partition(".")[0] not in PROJECT:
            continue
        names = [f"{home}.{alias.name}" for alias in node.names]
        if _is_module(names[0]):
            yield node, names, "."
        else:
            yield node, [home], f".{_short(home)}"


def _is_module(name: str) -> bool:
    """Whether `name` is a module, and no name in one."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements in `body`, and in these; of ``if TYPE_CHECKING`` only the other branch."""
    for statement in body:
        yield statement
        if is_for_type_checkers(statement):
            yield from _statements(getattr(statement, "orelse", []))
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, field, []))
        for handler in getattr(statement, "handlers", []):
            yield from _statements(handler.body)


def is_for_type_checkers(node: ast.stmt) -> bool:
    """Whether `node` is ``if TYPE_CHECKING: …``."""
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    )


def _relocated(module: str, path: Path) -> str:
    """The text of a module, with imports from the folder that all are in."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    edits: dict[tuple[int, int], str] = {}
    for node, _, source in _imports(module, tree):
        names = ", ".join(
            alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in node.names
        )
        edit = f"{' ' * node.col_offset}from {source} import {names}\n"
        edits[node.lineno, node.end_lineno or node.lineno] = edit
    for statement in _statements(tree.body):
        if is_for_type_checkers(statement) and not getattr(statement, "orelse", None):
            edits[statement.lineno, statement.end_lineno or statement.lineno] = ""
    for (first, last), edit in sorted(edits.items(), reverse=True):
        lines[first - 1 : last] = [edit] if edit else []
    return "".join(lines)
