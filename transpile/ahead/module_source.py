"""Module source: the source of a module in a package that is built, with the runtime's `fuse`.

It is on the same lines as the original; only imports of transpile are other ones.
"""
from __future__ import annotations

import ast
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from tokenize import detect_encoding

from .runtime_files import ENTRY, PROJECT, is_for_type_checkers

__all__ = ["PackageError", "imports_project", "module_source"]


class PackageError(Exception):
    """A file of which no package can be made, and why."""


def module_source(
    path: Path, runtime: str, decorated: Sequence[str] = (), *, alone: bool = False
) -> bytes:
    """The source of the file, on the same lines and in its own encoding, where what it imports from
    transpile is that of the package `runtime`, a relative name such as ``.._runtime``. Raises
    PackageError.

    ``decorated``: the names of functions that get a ``fuse``. ``alone``: the package has no other
    module of the user's.
    """
    text, encoding = _text(path)
    if not text.endswith(("\n", "\r")):
        text += "\n"
    # the parser's lines, which `splitlines` splits further; it counts columns in bytes of UTF-8
    lines = [line.encode() for line in io.StringIO(text, newline="")]
    tree = ast.parse(text)
    if alone:
        _refuse_relative_imports(tree)
    edits = sorted(_import_edits(tree, runtime), key=lambda e: (e[0].lineno, e[0].col_offset))
    for node, replacement in reversed(edits):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        rest = lines[last][node.end_col_offset:]
        lines_joined = replacement + " \\\n" * (last - first)
        lines[first] = lines[first][:node.col_offset] + lines_joined.encode() + rest
        lines[first + 1 : last + 1] = [b""] * (last - first)
    if decorated:
        lines.append(f"\nfrom {runtime}.{_ENTRY} import fuse as _fuse\n\n".encode())
        lines += [_decoration(name).encode() for name in decorated]
    return b"".join(lines).decode().encode(encoding)


def _decoration(name: str) -> str:
    """The line that puts a built function in the place of the function with this qualified name."""
    owner, _, own_name = name.rpartition(".")
    return f"{name} = _fuse({f'vars({owner})[{own_name!r}]' if owner else name})\n"


def _text(path: Path) -> tuple[str, str]:
    """The text of a file, and its encoding."""
    data = path.read_bytes()
    encoding, _ = detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding), encoding


def imports_project(path: Path) -> bool:
    """Whether the Python file at `path` imports a module of this project. Raises SyntaxError."""
    for node in _executed(ast.parse(_text(path)[0], str(path))):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        if any(map(_is_of_project, modules)):
            return True
    return False


def _refuse_relative_imports(tree: ast.Module) -> None:
    """Raise PackageError if the module imports from its own package."""
    for node in _executed(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise PackageError(
                f"line {node.lineno}: it imports from its own package, which is not built; "
                "transpile.build_hooks builds the modules of a library"
            )


_ENTRY = ENTRY.rpartition(".")[2]
_RUNTIME_NAMES = ("FuseError", "FuseWarning", "fuse")


def _import_edits(tree: ast.Module, runtime: str) -> Iterator[tuple[ast.stmt, str]]:
    """Each import of transpile, and the statements that take its place. Raises PackageError, also
    for uses of what the runtime has not.
    """
    modules: set[str] = set()
    nodes = list(_executed(tree))
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module), names=names, level=0) if (
                _is_of_project(module)
            ):
                if module != "transpile":
                    raise _has_not(node, module)
                for alias in names:
                    if alias.name not in _RUNTIME_NAMES:
                        raise _has_not(node, alias.name)
                listed = ", ".join(map(_alias_source, names))
                yield node, f"from {runtime}.{_ENTRY} import {listed}"
            case ast.Import(names=names) if any(_is_of_project(alias.name) for alias in names):
                statements = []
                for alias in names:
                    if alias.name == "transpile":
                        name = alias.asname or alias.name
                        modules.add(name)
                        statements.append(f"from {runtime} import {_ENTRY} as {name}")
                    elif _is_of_project(alias.name):
                        raise _has_not(node, alias.name)
                    else:
                        statements.append(f"import {_alias_source(alias)}")
                yield node, "; ".join(statements)
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in modules:
                if attribute not in _RUNTIME_NAMES:
                    raise _has_not(node, attribute)


def _has_not(node: ast.stmt | ast.expr, name: str) -> PackageError:
    """The error for a use of something that the runtime has not."""
    return PackageError(f"line {node.lineno}: a built package has no `{name}`")


def _is_of_project(module: str) -> bool:
    """Whether a module is one of this project."""
    return module.partition(".")[0] in PROJECT


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes in `node`, but not those that only type checkers read."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and is_for_type_checkers(child):
            for statement in child.orelse:
                yield statement
                yield from _executed(statement)
        else:
            yield child
            yield from _executed(child)


def _alias_source(alias: ast.alias) -> str:
    """An alias of an import, as source."""
    return alias.name + (f" as {alias.asname}" if alias.asname else "")
