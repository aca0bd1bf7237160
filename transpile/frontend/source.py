"""Source and AST of a function, with the line and column numbers of the user's own file.

`read_source` finds the ``def`` in the file of a function object and compares it with the function's
bytecode (`bytecode_check`), since the file may have changed. `read_text` and `read_functions` take
the text of a module, for the command line and tools.
"""
from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import textwrap
import tokenize
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from loopir.lazy_dataclass import record, replace
from loopir.nodes import Span
from loopir.process.signal_exceptions import failures, suppress_failures
from targets.file_kinds import is_file

from ..diagnostics import Refused, Rejection
from .ast_names import generator_yield, local_names, mangle_private_names
from .ast_walk import child_blocks, child_nodes, copy_tree, walk_nodes
from .bytecode_check import compiles_to
from .suppress_warnings import suppress_warnings

__all__ = [
    "Source", "read_source", "read_functions", "read_text", "remember_text", "is_within",
    "source_to_compile", "span_of", "lines_of",
]


@record(frozen=True, slots=True)
class Source:
    """A function in a file."""

    name: str
    qualname: str
    path: str
    line: int
    """Its first line: that of a decorator, if there is one."""
    lines: tuple[str, ...]
    """The whole file, for excerpts; ``lines[0]`` is line 1."""
    tree: ast.FunctionDef
    """Without decorators; positions are those of the file."""
    decorators: tuple[ast.expr, ...] = ()
    function: Callable[..., Any] | None = None
    """The function object; None for a function of a text."""
    whole: ast.FunctionDef | None = None
    """If this is a region of a function, the tree of that function."""

    @property
    def text(self) -> str:
        """The ``def`` alone, without decorators and not indented."""
        body = self.lines[self.tree.lineno - 1 : self.tree.end_lineno]
        return textwrap.dedent("\n".join(body)) + "\n"


_generated: weakref.WeakKeyDictionary[Callable[..., Any], Source] = weakref.WeakKeyDictionary()
"""The sources of generated functions, which are in no file."""


@record(frozen=True, slots=True)
class _ReadSource:
    """The source that `read_source` found for a function, with the text and the code in which it
    was found: it is valid as long as these are the same.
    """

    text: list[str]
    """The list that `linecache` has for the file: another one once the file has been edited."""
    code: types.CodeType
    source: Source
    """Without the function, which it would keep alive."""


_read: weakref.WeakKeyDictionary[types.FunctionType, _ReadSource] = weakref.WeakKeyDictionary()
"""The sources that were read, for the next signature of the same function, which gets a copy of the
tree."""


def remember_text(fn: types.FunctionType, source: Source) -> None:
    """Makes `read_source` return `source` for `fn`, a function that was compiled from a tree."""
    _generated[fn] = source


def source_to_compile(function: Callable[..., Any] | Source) -> Source:
    """The source of `function`, or `function` itself if it is one: what the pipeline begins with.

    Raises Refused for a generator, whose call returns an object that runs nothing yet. That is
    decided before branches are folded, as a ``yield`` that can never run counts, too. Else as
    `read_source`.
    """
    source = function if isinstance(function, Source) else read_source(function)
    node = generator_yield(source.tree)
    if node is not None:
        raise Refused(Rejection(
            "LOWER_UNSUPPORTED", "a generator is not compiled", span_of(node),
            help="append to a list and return it, or make the generator from compiled functions",
        ))
    return source


def read_source(fn: Callable[..., Any]) -> Source:
    """The source of the function object `fn`; a method or a nested function has one, too. The stage
    `source` reads the function that is compiled, and `inline.callees.callee_of` the inlined ones.

        # geometry.py, line 12                 →   Source(name="area", path="geometry.py", line=12,
        @fuse                                             tree=<the def without @fuse>, …)
        def area(x): ...

    In this order:

    1. A function that the compiler generated is in no file: `remember_text` has kept its source.
    2. Refused are objects without a ``def`` of their own (builtins have no Python code, a lambda is
       a part of a line), and async functions, whose calls return coroutines.
    3. `lines_of` gives the text, anew where the file was edited. If the function was read from this
       same text before, the source found then is returned.
    4. `_definition_at` parses the ``def`` that begins at the first line of the code object.
    5. `compiles_to` compares that ``def`` with the bytecode, since the file may have been edited
       after `fn` was defined: what is compiled must be what Python would run.
    6. Class-private names of a method become those that Python uses (`mangle_private_names`).

    Raises Refused: LOWER_UNSUPPORTED for an async function, LOWER_TYPE where a constant has so many
    digits that `compiles_to` cannot compare it, else SOURCE_UNAVAILABLE.
    """
    fn = getattr(fn, "__func__", fn)
    if isinstance(fn, types.FunctionType) and fn in _generated:
        return _generated[fn]
    if not isinstance(fn, types.FunctionType):
        raise _unavailable(f"`{_name_of(fn)}` is not a Python function")
    code = fn.__code__
    if code.co_name == "<lambda>":
        cited = _text_of_lambda(fn)
        what = "a lambda" if cited is None else f"`{cited}`, a lambda,"
        raise _unavailable(f"{what} has no source of its own", help="write it as a `def`")
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Refused(Rejection(
            "LOWER_UNSUPPORTED",
            f"`{fn.__name__}` is an async function",
            help="move its loops to a `def` of their own, and decorate that",
        ))
    text = lines_of(fn)
    read = _read.get(fn)
    if read is not None and read.text is text and read.code is code:
        return replace(read.source, tree=copy_tree(read.source.tree), function=fn)
    lines = tuple(s.rstrip("\n") for s in text)
    if not lines:
        raise _unavailable(
            f"the source of `{fn.__name__}` is not available",
            note=f"it was defined in {code.co_filename}, which is not a file that can be read",
            help="put the function in a file",
        )
    tree = _definition_at(lines, code)
    try:
        is_source = tree is not None and compiles_to(tree, fn)
    except failures(ValueError):  # from `dis`, since Python does not print such an int
        message = f"`{fn.__name__}` has an int of thousands of digits"
        help = "make the int outside of the function, and pass what is computed from it"
        raise Refused(Rejection("LOWER_TYPE", message, help=help)) from None
    if tree is None or not is_source:
        raise _unavailable(
            f"the source of `{fn.__name__}` does not match the function",
            note=f"{code.co_filename} has changed since it was imported, or a tool has rewritten "
                 "the function",
            help="if the file was edited, start Python again, or reload the module",
        )
    *_, outer, _ = ("<locals>", *fn.__qualname__.split("."))
    if outer != "<locals>":
        mangle_private_names(tree, outer)
    source = _source(tree, fn.__qualname__, code.co_filename, lines)
    _read[fn] = _ReadSource(text, code, replace(source, tree=copy_tree(tree)))
    return replace(source, function=fn)


def lines_of(fn: types.FunctionType) -> list[str]:
    """The lines of the text from which `fn` was compiled, as they are now: of a file; of a cell of
    a notebook, which IPython registers in `linecache`; or what the ``__loader__`` of its globals
    gives. Empty for ``exec`` of a plain string. The same list as before, unless the file was
    edited.

    A file is read here, and put into the cache of `linecache`, whose own functions pass over each
    OSError: for lack of descriptors, or of a signal handler. Raises OSError or MemoryError if the
    file is there and cannot be read now.
    """
    path = fn.__code__.co_filename
    size, changed, lines, _ = _cached_lines(path)
    if size is not None and changed is None:  # from no file
        return lines
    with suppress_failures(PermissionError):
        if is_file(path):
            status = os.stat(path)
            if (size, changed) != (status.st_size, status.st_mtime):
                lines = _read_lines(path)
                linecache.cache[path] = status.st_size, status.st_mtime, lines, path
            return lines
    linecache.checkcache(path)
    return linecache.getlines(path, fn.__globals__)


def _cached_lines(path: str) -> tuple[int | None, float | None, list[str], str]:
    """What `linecache` has for a path: the size and time of the file, its lines, and where it is.
    Without a time: what is from no file, and stays. Without a size: nothing.
    """
    known: Any = linecache.cache.get(path, ())
    return known if len(known) == 4 else (None, None, [], path)  # else how to load it


def _read_lines(path: str) -> list[str]:
    """The lines of a Python file, each of which ends with a newline; empty if it is not in the
    encoding that it declares. Raises OSError.
    """
    with suppress_failures(SyntaxError, UnicodeDecodeError), tokenize.open(path) as file:
        return [line if line.endswith("\n") else line + "\n" for line in file]
    return []


def _text_of_lambda(fn: types.FunctionType) -> str | None:
    """The text of the lambda `fn`, if it is in one line; of several in the same line the one whose
    body has the positions of the bytecode, which Python has from 3.11 on. None where it is not
    found.
    """
    code = fn.__code__
    lines = lines_of(fn)
    try:
        with suppress_warnings():
            module = ast.parse("".join(lines))
    except failures(SyntaxError, ValueError):
        return None
    found = [
        n for n in walk_nodes(module) if isinstance(n, ast.Lambda)
        and n.lineno == n.end_lineno == code.co_firstlineno
    ]
    if len(found) > 1 and sys.version_info >= (3, 11):
        places = [(start, end) for _, _, start, end in code.co_positions() if start and end]
        body = min((p[0] for p in places), default=0), max((p[1] for p in places), default=0)
        found = [n for n in found if (n.body.col_offset, n.body.end_col_offset) == body]
    if len(found) != 1:
        return None
    (it,) = found
    return lines[it.lineno - 1].encode()[it.col_offset : it.end_col_offset].decode()


def read_text(text: str, name: str, path: str) -> Source:
    """The last function called `name`, or ``A.name`` in a class, in the text of a module.

    Raises Refused: SOURCE_UNPARSABLE, or SOURCE_UNAVAILABLE where there is no such function.
    """
    sources = [s for s in read_functions(text, path) if name in (s.qualname, s.name)]
    if not sources:
        raise _unavailable(f"{path} has no function called `{name}`")
    return sources[-1]


def read_functions(text: str, path: str) -> tuple[Source, ...]:
    """Every function in the text of a module, in order, methods and nested functions included.

    Raises Refused(SOURCE_UNPARSABLE) where the text is not Python.
    """
    try:
        with suppress_warnings():
            module = ast.parse(text, path)
    except failures(SyntaxError, ValueError) as e:
        raise _unparsable(e, path) from None
    lines = tuple(text.splitlines())
    return tuple(_source(f, q, path, lines) for f, q in _functions(module, ""))


def span_of(node: ast.AST) -> Span | None:
    """The range of `node` in the user's file; None for a node without a position."""
    line = getattr(node, "lineno", None)
    if line is None:
        return None
    end_line, end_col = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
    col = getattr(node, "col_offset", 0)
    return Span(line, col, end_line or line, col if end_col is None else end_col)


def is_within(inner: Span, outer: Span) -> bool:
    """Whether `inner` is a part of `outer`."""
    start, end = (inner.line, inner.col), (inner.end_line, inner.end_col)
    return (outer.line, outer.col) <= start and end <= (outer.end_line, outer.end_col)


def _source(
    tree: ast.FunctionDef,
    qualname: str,
    path: str,
    lines: tuple[str, ...],
    fn: Callable[..., Any] | None = None,
) -> Source:
    """The source record of `tree`, from which the decorators are removed, and the annotations of
    local variables.
    """
    line = _first_line(tree)
    decorators, tree.decorator_list = tuple(tree.decorator_list), []
    _drop_annotations(tree)
    return Source(tree.name, qualname, path, line, lines, tree, decorators, fn)


def _drop_annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Makes ``s: float = 0.0`` in `function` ``s = 0.0``, and removes ``s: float``, in place:
    Python evaluates no annotation in a function. Those in a class stay. So does one without a value
    where nothing else makes the name local: to read the name raises then, and reads no global.
    """
    declared = [*_take_annotations(function)]
    local = local_names(function)
    for block, k, s in declared:
        if isinstance(s.target, ast.Name) and s.target.id not in local:
            block[k] = s


def _take_annotations(node: ast.AST) -> Iterator[tuple[list[ast.stmt], int, ast.AnnAssign]]:
    """Removes the annotations in `node`. Yields those of names without a value, each with its place
    in a block, where a ``pass`` stands for it.
    """
    for block in child_blocks(node):
        for k, s in enumerate(block):
            match s:
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    block[k] = ast.copy_location(ast.Assign([target], value), s)
                case ast.AnnAssign(target=ast.Name()):
                    block[k] = ast.copy_location(ast.Pass(), s)
                    yield block, k, s
    for child in child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _drop_annotations(child)
        elif not isinstance(child, (ast.ClassDef, ast.expr)):
            yield from _take_annotations(child)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Each function in `node` with its qualified name, which begins with `prefix`."""
    for child in child_nodes(node):
        match child:
            case ast.FunctionDef(name=name):
                yield child, prefix + name
                yield from _functions(child, f"{prefix}{name}.<locals>.")
            case ast.ClassDef(name=name):
                yield from _functions(child, f"{prefix}{name}.")
            case _:
                yield from _functions(child, prefix)


def _definition_at(lines: Sequence[str], code: types.CodeType) -> ast.FunctionDef | None:
    """The ``def`` in `lines` that begins at the first line of `code` and has its name; None if
    there is none, or the text does not parse.
    """
    first = code.co_firstlineno
    try:
        block = inspect.getblock([s + "\n" for s in lines[first - 1 :]])
        # an indented def is parsed inside an ``if``, so that its columns are those of the file
        indented = block[:1] != [] and block[0][:1].isspace()
        with suppress_warnings():
            before = "\n" * (first - 1 - indented) + "if 1:\n" * indented
            module = ast.parse(before + "".join(block))
    except failures(SyntaxError, ValueError, tokenize.TokenError):
        return None
    nodes = (n for n in walk_nodes(module) if isinstance(n, ast.FunctionDef))
    tree = next((n for n in nodes if n.name == code.co_name), None)
    return tree if tree is not None and _first_line(tree) == first else None


def _first_line(tree: ast.FunctionDef) -> int:
    """The first line of a definition, its decorators included."""
    return min([tree.lineno, *(d.lineno for d in tree.decorator_list)])


def _name_of(fn: object) -> str:
    return str(getattr(fn, "__name__", type(fn).__name__))


def _unavailable(message: str, *, note: str | None = None, help: str | None = None) -> Refused:
    return Refused(Rejection("SOURCE_UNAVAILABLE", message, note=note, help=help))


def _unparsable(error: Exception, path: str) -> Refused:
    """SOURCE_UNPARSABLE for an error of Python's parser, with its position."""
    line, col = getattr(error, "lineno", None), getattr(error, "offset", None) or 1
    span = Span(line, col - 1, line, col) if line else None
    why = getattr(error, "msg", None) or str(error)
    return Refused(Rejection("SOURCE_UNPARSABLE", f"{path} is not valid Python: {why}", span))
