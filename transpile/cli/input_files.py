"""Input files of the command: Python files, those of directories, and cells of notebooks."""
from __future__ import annotations

import ast
import copy
import difflib
import io
import json
import linecache
import os
import re
import sys
import tokenize
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from loopir.lazy_dataclass import record

__all__ = [
    "FUSE_NAME", "Cell", "UnreadableFile", "compiled_cells", "decorate_functions", "find_files",
    "has_loops",
]

_SUFFIXES = (".py", ".ipynb")

_COMMANDS = ("bisect", "reduce")
"""The first words of the command that are no file."""

_PYTHON = f"the syntax is that of Python {sys.version_info.major}.{sys.version_info.minor}"

_MAGIC = re.compile(r"(\s*)(?:[%!?]|[\w\s,.]*=\s*[%!]|[\w.]+\?{1,2}\s*$)")
"""A line of a cell that is IPython's, not Python's."""

_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%fuse")
"""Magics of a whole cell whose other lines are Python."""


_FUSE_MAGIC = re.compile(r"\s*%%fuse\b(.*)")
"""The magic that decorates the functions of its cell; its group are the options."""

FUSE_NAME = "_transpile_fuse"
"""The name of the decorator in a cell with that magic."""

_CLASS_METHODS = ("__init_subclass__", "__class_getitem__")
"""Methods that Python makes class methods only if they are plain functions."""


class UnreadableFile(Exception):
    """A file that cannot be read, parsed or imported; the message is one line that names it."""


@record(frozen=True, slots=True)
class Cell:
    """The Python in a file, or in one code cell of a notebook."""

    name: str
    """The file name of its code: that of a notebook is followed by ``:`` and the cell's number,
    so that a line is written ``file.ipynb:CELL:LINE``."""
    tree: ast.Module
    code: CodeType


def find_files(paths: Sequence[str]) -> list[str]:
    """`paths`, with the Python files and notebooks in it in place of each directory.

    Hidden folders and virtual environments are left out. Raises UnreadableFile for a path that does
    not exist, and a directory without any.
    """
    files: list[str] = []
    for path in paths:
        found = [*_walk(path)] if os.path.isdir(path) else [path]
        if not os.path.exists(path):
            hint = _hint_for_missing(path)
            raise UnreadableFile(f"SOURCE_UNAVAILABLE {path}: No such file or directory{hint}")
        if not found:
            raise UnreadableFile(f"{path}: no Python file or notebook in this directory")
        files += found
    return list(dict.fromkeys(files))


def _hint_for_missing(path: str) -> str:
    """What may be meant by a path that does not exist: the end of a message, empty if that is not
    known.
    """
    file, separator, _ = path.partition("::")
    if separator and os.path.isfile(file):
        return f"; FILE::FUNCTION is for bisect and reduce, a report is on all functions of {file}"
    folder, name = os.path.split(path)
    if not folder and (command := difflib.get_close_matches(name, _COMMANDS, n=1)):
        return f"; did you mean transpile {command[0]} FILE?"
    known = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    files = [n for n in known if n.endswith(_SUFFIXES) and os.path.exists(os.path.join(folder, n))]
    close = difflib.get_close_matches(name, files, n=1)
    return f"; did you mean {os.path.join(folder, close[0])}?" if close else ""


def _walk(directory: str) -> Iterator[str]:
    """The Python files and notebooks in `directory`, also in its folders (`_is_searched`)."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(n for n in folders if _is_searched(Path(folder, n)))
        paths = (os.path.join(folder, n) for n in sorted(names) if n.endswith(_SUFFIXES))
        yield from filter(os.path.isfile, paths)  # no pipes


def _is_searched(folder: Path) -> bool:
    """Whether a folder is searched for files: not if it is hidden or a virtual environment."""
    hidden = folder.name.startswith(".") or folder.name in ("__pycache__", "node_modules")
    return not hidden and not os.path.exists(folder / "pyvenv.cfg")  # no error if unreadable


def compiled_cells(
    path: str, bad_cells: list[UnreadableFile] | None = None, *, fuse_loops: bool = False
) -> list[Cell]:
    """The Python of a file: one cell, or the code cells of a notebook.

    ``bad_cells``: takes the errors of cells that are not Python, so that the others are returned.
    Without it, and for all other errors, raises UnreadableFile. ``fuse_loops``: with ``@fuse`` on
    the functions with loops (`decorate_functions`).
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise UnreadableFile(f"SOURCE_UNAVAILABLE {path}: {error.strerror}") from error
    if not path.endswith(".ipynb"):
        return [_compiled(path, text, fuse_loops=fuse_loops)]
    cells = []
    for number, source in enumerate(_cell_sources(path, text), 1):
        name = f"{path}:{number}"
        lines = source.splitlines(keepends=True)
        linecache.cache[name] = len(source), None, lines, name
        try:
            code = source.encode()
            cells.append(_compiled(name, code, is_cell=True, fuse_loops=fuse_loops))
        except UnreadableFile as error:
            if bad_cells is None:
                raise
            bad_cells.append(error)
    return cells


def _compiled(
    name: str, text: bytes, *, is_cell: bool = False, fuse_loops: bool = False
) -> Cell:
    """The cell with its code. One of a notebook may have ``await`` at its top, and the magic
    ``%%fuse`` in its first line. Raises UnreadableFile.
    """
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if is_cell else 0
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
        readable = text.decode(encoding)  # `compile` does not look at comments
        magic = _FUSE_MAGIC.match(readable) if is_cell else None
        if magic is not None:
            text = text.replace(b"%%fuse", b"#%fuse", 1)
        tree: Any = compile(text, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        if magic is not None:
            _fuse_functions(tree, magic[1])
        elif fuse_loops:
            _fuse_functions(tree, "", has_loops)
        return Cell(name, tree, compile(tree, name, "exec", flags, dont_inherit=True))
    except UnicodeDecodeError as error:
        at = 1 + text.count(b"\n", 0, error.start)
        raise UnreadableFile(f"SOURCE_UNPARSABLE {name}:{at}: {error}") from error
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise UnreadableFile(f"SOURCE_UNPARSABLE {name}{line}: {error.msg} ({_PYTHON})") from error
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes, before Python 3.12
        raise UnreadableFile(f"SOURCE_UNPARSABLE {name}: {error}") from error


def _fuse_functions(
    tree: ast.Module, options: str, wanted: Callable[[ast.FunctionDef], bool] | None = None
) -> None:
    """What ``%%fuse`` does to a cell; with `wanted` only to these functions. Raises SyntaxError for
    options that are not Python.
    """
    decorator: Any = ast.parse(f"{FUSE_NAME}({options})", mode="eval").body
    if "on_reject" not in [keyword.arg for keyword in decorator.keywords]:
        decorator.keywords.append(ast.keyword("on_reject", ast.Constant("silent")))
    start = ast.parse(f"from transpile import fuse as {FUSE_NAME}").body
    decorate_functions(tree, decorator, wanted)
    first = int(ast.get_docstring(tree) is not None)
    for number, statement in enumerate(tree.body):  # these must stay before all others
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            first = number + 1
    tree.body[first:first] = start


def has_loops(tree: ast.AST) -> bool:
    """Whether there is a loop or a comprehension in `tree`."""
    return any(isinstance(node, (ast.For, ast.While, ast.comprehension)) for node in ast.walk(tree))


def decorate_functions(
    tree: ast.Module, decorator: ast.expr, wanted: Callable[[ast.FunctionDef], bool] | None = None
) -> None:
    """Put `decorator` on the functions without a decorator, at the top of a cell and in its
    classes; with `wanted` only on those for which it is true.
    """
    for node in tree.body:
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if not isinstance(function, ast.FunctionDef) or function.decorator_list:
                continue
            if function.name not in _CLASS_METHODS and (wanted is None or wanted(function)):
                placed = copy.deepcopy(decorator)
                for part in ast.walk(placed):
                    ast.copy_location(part, function)
                function.decorator_list.append(placed)


def _cell_sources(path: str, text: bytes) -> Iterator[str]:
    """The Python of each code cell of a notebook. Raises UnreadableFile."""
    try:
        notebook = json.loads(text)
        sheets: Any = notebook.get("worksheets") or [notebook]
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        codes = [cell for cell in cells if cell["cell_type"] == "code"]
        sources = ["".join(cell.get("source", cell.get("input", ""))) for cell in codes]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UnreadableFile(f"SOURCE_UNPARSABLE {path}: not a notebook") from None
    yield from map(_without_magics, sources)


def _without_magics(source: str) -> str:
    """The cell with ``pass`` in place of IPython's lines, but for ``%%fuse``; nothing of a cell in
    another language.
    """
    lines = source.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not first.startswith(_PYTHON_MAGICS):
        return ""
    return "".join(
        f"{match[1]}pass\n" if (match := _MAGIC.match(line)) and not _FUSE_MAGIC.match(line)
        else f"{line}\n" for line in lines
    )
