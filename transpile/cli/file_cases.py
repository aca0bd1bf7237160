"""Cases of the command: the fused functions of a file, each under its call signatures.

The file is read without running it, or run as a script. Signatures come from calls that happened,
from ``--types``, from annotations, or are inferred.
"""
from __future__ import annotations

import ast
import asyncio
import contextlib
import dataclasses
import difflib
import inspect
import itertools
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

from loopir.lazy_dataclass import record

from ..diagnostics import Refused, Rejection
from ..frontend.source import read_source
from ..report.loop_report import Report
from ..runtime.fuse_decorator import AnyFused, Fused, fuse, recorded_functions
from ..types.value_types import ArgType
from .argument_types import ParameterTypes, given_signature, infer_signature, parse_type_spec
from .input_files import Cell, UnreadableFile, compiled_cells, has_loops
from .static import Modules, Unevaluated, WrongOption, module_location

__all__ = [
    "Case", "LoadedFile", "UnreadableFile", "as_module", "cases_of", "fused_functions",
    "import_file", "inferred_case", "modules_of", "plain_names", "read_file", "run_file",
    "run_script",
]


@record(frozen=True, slots=True)
class LoadedFile:
    """A file that was read or run."""

    path: str
    names: Mapping[str, Any]  # its namespace
    code_names: frozenset[str]  # the file names of its code: one, or one for each cell
    defined: tuple[Any, ...] = ()  # functions that may have no name in it
    inner: tuple[tuple[str, int], ...] = ()  # name and line of fused functions inside others
    status: int = 0  # the exit status of a script
    bad_cells: tuple[UnreadableFile, ...] = ()  # of a notebook, which were left out


def read_file(path: str, modules: Modules) -> LoadedFile:
    """The functions and constants of a file, read without running it. Raises UnreadableFile; cells
    of a notebook that are not Python are left out, as long as there are others.
    """
    bad_cells: list[UnreadableFile] = []
    cells = compiled_cells(path, bad_cells)
    if bad_cells and not cells:
        raise bad_cells[0]
    try:
        module = modules.read(path, cells)
    except WrongOption as error:
        raise UnreadableFile(f"{path}:{error.line}: {error}") from None
    inner = tuple((node.name, node.lineno) for node in module.inner)
    names = frozenset(cell.name for cell in cells)
    return LoadedFile(
        path, module.names, names, tuple(module.defined), inner, bad_cells=tuple(bad_cells)
    )


def run_script(path: str, args: Sequence[str], *, every: bool = False) -> LoadedFile:
    """The file, run as by `run_file`, with the functions of it that were decorated meanwhile, also
    inside other functions. With `every`, its functions with loops that have no decorator run with
    ``@fuse``, which takes the types of their calls. Raises UnreadableFile.
    """
    cells = compiled_cells(path, fuse_loops=every)
    with recorded_functions() as recorded:
        names, status = run_file(path, args, cells)
    file = LoadedFile(path, names, frozenset(cell.name for cell in cells), status=status)
    decorated = (
        f for functions in recorded.values() for f in functions
        if f.__wrapped__.__globals__ is names or _is_defined_in(f.__wrapped__, file)
    )
    return dataclasses.replace(file, defined=tuple(decorated))


def import_file(path: str) -> dict[str, Any]:
    """The namespace of the module in `path`, without running its ``if __name__ == "__main__"``
    part.

    Its output goes to stderr. Raises UnreadableFile.
    """
    (cell,) = compiled_cells(path)
    home, name = module_location(path)
    with _temporary_module(path, home, name) as module, contextlib.redirect_stdout(sys.stderr):
        try:
            exec(cell.code, vars(module))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise UnreadableFile(f"{path}{_error_location(error, path)}") from error
    return vars(module)


def run_file(
    path: str, args: Sequence[str], cells: Sequence[Cell] = ()
) -> tuple[dict[str, Any], int]:
    """Run `path` as a script with `args`; returns its namespace and its exit status. A notebook is
    run cell by cell, until one fails.

    An exception of the script is printed as Python would print it, with status 1. Raises
    UnreadableFile before anything has run.
    """
    cells = cells or compiled_cells(path)
    before, sys.argv = sys.argv, [path, *args]
    try:
        with _temporary_module(path, Path(path).resolve().parent, "__main__") as module:
            statuses = (_run_code(cell.code, vars(module)) for cell in cells)
            return vars(module), next((status for status in statuses if status), 0)
    finally:
        sys.argv = before


def fused_functions(file: LoadedFile, *, every: bool = False) -> list[AnyFused]:
    """The fused functions that a file defines, in source order. If there are several function
    objects with one code object, as another function makes one in each call: those that were called
    with a signature that no earlier one was called with; if none was called, one of them.

    With `every`, plain functions with loops are fused, too.
    """
    found: dict[CodeType, list[AnyFused]] = {}
    values = [*_namespace_values(file.names, file.names["__name__"]), *file.defined]
    for value in values:
        if isinstance(value, Fused) and _belongs_to_file(value.__wrapped__, file):
            same_code = found.setdefault(value.__wrapped__.__code__, [])
            if not {*value.signatures} <= {types for f in same_code for types in f.signatures}:
                same_code[:] = [f for f in same_code if f.signatures] + [value]
            elif not same_code:
                same_code.append(value)
    for value in values if every else ():
        if (
            isinstance(value, FunctionType)
            and value.__code__ not in found
            and _is_defined_in(value, file)
            and _has_loops(value)
        ):
            found[value.__code__] = [fuse(value)]
    return sorted(itertools.chain.from_iterable(found.values()), key=_place)


def _place(function: AnyFused) -> tuple[int, int]:
    """The cell of a notebook and the line, to sort by."""
    code = function.__wrapped__.__code__
    cell = code.co_filename.rpartition(":")[2]
    return int(cell) if cell.isdecimal() else 0, code.co_firstlineno


@contextlib.contextmanager
def _temporary_module(path: str, home: Path, name: str) -> Iterator[ModuleType]:
    """A module of this name in ``sys.modules``, with `home` first in ``sys.path``."""
    module = ModuleType(name)
    module.__file__ = path
    module.__package__ = name.rpartition(".")[0]
    shadowed = sys.modules.get(name)
    sys.modules[name] = module
    sys.path.insert(0, str(home))
    try:
        yield module
    finally:
        del sys.path[0]
        if shadowed is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = shadowed


@contextlib.contextmanager
def as_module(file: LoadedFile) -> Iterator[None]:
    """The namespace of `file` as the module of its name in ``sys.modules``, as when it was read:
    classes are found there by their names.
    """
    name = file.names["__name__"]
    with _temporary_module(file.path, Path(file.path).resolve().parent, name) as module:
        vars(module).update(file.names)
        yield


@contextlib.contextmanager
def modules_of(read: Modules) -> Iterator[list[ModuleType]]:
    """All modules that were read, which are in ``sys.modules`` meanwhile."""
    modules = [module for module in read.modules]
    shadowed = {m.__name__: sys.modules.get(m.__name__) for m in modules}
    sys.modules.update({m.__name__: m for m in modules})
    try:
        yield modules
    finally:
        for name, module in shadowed.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def _run_code(code: CodeType, names: dict[str, Any]) -> int:
    """Run the code of a script; returns its exit status. Exceptions are shown as Python shows them.
    """
    try:
        if code.co_flags & inspect.CO_COROUTINE:  # a cell with `await` at its top
            asyncio.run(eval(code, names))
        else:
            exec(code, names)
    except SystemExit as leaving:
        if not isinstance(leaving.code, (int, NoneType)):
            print(leaving.code, file=sys.stderr)
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException as error:
        traceback_ = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, traceback_)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _error_location(error: BaseException, path: str) -> str:
    """``:12: ValueError: …``, with the last line of `path` in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == path]
    position = f":{lines[-1]}" if lines else ""
    text = traceback.format_exception_only(type(error), error)[-1].strip().splitlines()[0]
    return f"{position}: cannot be imported: {text}"


def _namespace_values(names: Mapping[str, Any], module: str, inside: str = "") -> Iterator[Any]:
    """The values of a namespace, and those of the classes that it defines."""
    for value in list(names.values()):
        match value:
            case staticmethod() | classmethod() | MethodType():
                yield value.__func__
            case property():
                yield value.fget
            case type(__module__=home, __qualname__=name) if home == module:
                if name.startswith(inside):  # otherwise a reference to an outer class
                    yield from _namespace_values(vars(value), module, f"{name}.")
            case _:
                yield value


def plain_names(file: LoadedFile, functions: Sequence[FunctionType]) -> Iterator[str]:
    """The qualified names that are bound to one of the `functions` in a file, or a class of it."""
    yield from _names_bound_to(functions, file.names, file.names["__name__"])


def _names_bound_to(
    functions: Sequence[FunctionType], names: Mapping[str, Any], module: str, inside: str = ""
) -> Iterator[str]:
    """As `plain_names`, for the namespace of the class `inside`."""
    for name, value in list(names.items()):
        match value:
            case FunctionType() | staticmethod() | classmethod() if (
                getattr(value, "__func__", value) in functions
            ):
                yield inside + name
            case type(__module__=home, __qualname__=qualname) if home == module:
                if qualname == inside + name:
                    yield from _names_bound_to(functions, vars(value), module, f"{qualname}.")


def _is_defined_in(function: FunctionType, file: LoadedFile) -> bool:
    """Whether the code of `function` is that of the file, or of a cell of the notebook."""
    name = function.__code__.co_filename
    return name in file.code_names or Path(name).resolve() == Path(file.path).resolve()


def _belongs_to_file(function: FunctionType, file: LoadedFile) -> bool:
    """Whether `function` is defined in the file, or in no file (made by exec)."""
    name = function.__code__.co_filename
    return _is_defined_in(function, file) or not (
        Path(name).exists() or Path(name.rpartition(":")[0]).is_file()
    )


def _has_loops(function: FunctionType) -> bool:
    """Whether the function has a loop or comprehension; False without source."""
    try:
        return has_loops(read_source(function).tree)
    except Refused:
        return False


@record(frozen=True, slots=True)
class Case:
    """One function under one call signature."""

    function: AnyFused
    types: tuple[ArgType, ...]
    assumed: str | None = None  # which types are guesses, in a sentence; None: none are
    unknown: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Names of which the type is not known before the file runs: a sentence about each, and what to
    do about it."""

    @property
    def name(self) -> str:
        """The function's qualified name."""
        return self.function.__qualname__

    def report(self) -> Report:
        """The report on it. In place of a rejection that only stands because the type of a name is
        not known before the file runs, it has one that says so.
        """
        report = self.function.report_for(self.types)
        said = dict.fromkeys(map(self._explained, report.rejections))
        return dataclasses.replace(report, assumed=self.assumed, rejections=tuple(said))

    def counts(self, rejection: Rejection) -> bool:
        """Whether `rejection` counts for ``--check``: not if it may only stand because the type of
        a name is not known before the file runs.
        """
        return self._unknown_name(rejection) is None

    def _explained(self, rejection: Rejection) -> Rejection:
        """`rejection`, or the one that stands in its place if a name is not known (`report`)."""
        name = self._unknown_name(rejection)
        if name is None:
            return rejection
        message, help = self.unknown[name]
        return dataclasses.replace(rejection, message=message, note=None, help=help, labels=())

    def _unknown_name(self, rejection: Rejection) -> str | None:
        """The first name in what was refused that is not known before the file runs; None if there
        is none, or the place is not known.
        """
        span = rejection.span
        if span is None or not self.unknown:
            return None
        try:
            tree = read_source(self.function.__wrapped__).tree
        except Refused:
            return None
        first, last = (span.line, span.col), (span.end_line, span.end_col)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in self.unknown:
                end = node.end_lineno or node.lineno, node.end_col_offset or 0
                if first <= (node.lineno, node.col_offset) and end <= last:
                    return node.id
        return None

    def emit(self, stage: str) -> str:
        """The text of one stage. Raises FuseError where the function does not reach it."""
        return self.function.emit_for(stage, self.types)

    def text_after(self, stage: str) -> str:
        """The program after this stage of the pipeline. Raises FuseError and ValueError."""
        from ..runtime.inspection import text_after

        return text_after(stage, self.function.__wrapped__, self.types, self.function.options)


def cases_of(
    functions: Sequence[AnyFused], specs: Sequence[str], files: Sequence[LoadedFile], *, ran: bool
) -> Iterator[Case]:
    """The cases of each of the `functions` of `files`. Its signatures are, the first that applies:

    - those that ``--types`` gives for it (`specs`);
    - those of its calls, if the file was run (``ran``), each once for one code object;
    - one, inferred from annotations, defaults and uses (`infer_signature`).

    Raises ValueError for wrong `specs`.
    """
    given_types = _given_types(functions, specs, files)
    given_codes = {function.__wrapped__.__code__ for function in given_types}
    seen = set[tuple[CodeType, tuple[ArgType, ...]]]()
    for function in functions:
        code = function.__wrapped__.__code__
        if function in given_types:
            yield from (_case_of(function, types) for types in given_types[function])
        elif code in given_codes:
            continue  # another function object, of which nothing more is asked
        elif ran and function.signatures:
            signatures = [types for types in function.signatures if (code, types) not in seen]
            seen.update((code, types) for types in signatures)
            yield from (Case(function, types) for types in signatures)
        else:
            yield inferred_case(function, ran=ran)


def _given_types(
    functions: Sequence[AnyFused], specs: Sequence[str], files: Sequence[LoadedFile]
) -> dict[AnyFused, list[ParameterTypes]]:
    """The signatures of ``--types``, by function. Raises ValueError."""
    given: dict[AnyFused, list[ParameterTypes]] = {}
    for spec in specs:
        name, texts = parse_type_spec(spec)
        for function in _functions_named(name, functions, files):
            given.setdefault(function, []).append(given_signature(texts, function.__wrapped__))
    return given


def _functions_named(
    name: str, functions: Sequence[AnyFused], files: Sequence[LoadedFile]
) -> list[AnyFused]:
    """The functions of this name or qualified name, of each code one: a name may be defined again.
    Raises ValueError, also if the name is that of functions with several qualified names; for a
    function of `files` that is none of `functions` the message says why.
    """
    matching = [f for f in functions if name == f.__qualname__] or [
        f for f in functions if name == f.__name__
    ]
    if len({f.__qualname__ for f in matching}) == 1:
        return [*{f.__wrapped__.__code__: f for f in reversed(matching)}.values()][::-1]
    if not matching and (reason := _reason_left_out(name, files)):
        raise ValueError(f"--types: {reason}")
    known = [f.__qualname__ for f in matching or functions]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near and not matching else ""
    known_text = f" ({', '.join(known)})" if known else ""
    quantity = "more than one" if matching else "no"
    raise ValueError(f"--types: {quantity} function {name}{known_text}{hint}")


def _reason_left_out(name: str, files: Sequence[LoadedFile]) -> str | None:
    """Why the function `name` of one of `files` is not reported on; None if there is none."""
    for file in files:
        if name in [inner for inner, _ in file.inner]:
            return f"{name} is made when another function runs; --run reports on it"
        for value in _namespace_values(file.names, file.names["__name__"]):
            is_own = isinstance(value, FunctionType) and _is_defined_in(value, file)
            if is_own and name in (value.__name__, value.__qualname__):
                if _has_loops(value):
                    return f"{name} has no @fuse; --all takes every function with loops"
                return f"{name} has neither @fuse nor a loop"
    return None


def inferred_case(function: AnyFused, *, ran: bool, in_notebook: bool = False) -> Case:
    """The case for types from annotations, defaults and uses. ``ran``: the file has run, and did
    not call it. ``in_notebook``: a magic asks.
    """
    try:
        tree = read_source(function.__wrapped__).tree
    except Refused:  # the report says why
        return Case(function, ())
    signature = infer_signature(function.__wrapped__, tree)
    return _case_of(function, dataclasses.replace(signature, ran=ran, in_notebook=in_notebook))


def _case_of(function: AnyFused, signature: ParameterTypes) -> Case:
    """The case for types that no call has told."""
    moment = f"`{function.__qualname__}` is called" if signature.ran else "the file runs"
    unknown = {
        name: (f"the type of `{name}` is not known before {moment}", signature.help)
        for name in signature.objects
    } | _unevaluated_globals(function.__wrapped__)
    return Case(function, tuple(signature.types.values()), signature.remark, unknown)


def _unevaluated_globals(function: FunctionType) -> dict[str, tuple[str, str]]:
    """The global names of a function that were not evaluated, as in `Case.unknown`."""
    try:
        tree = read_source(function).tree
    except Refused:
        return {}
    code = function.__code__
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names -= {*code.co_varnames, *code.co_cellvars}
    found = {name: function.__globals__.get(name) for name in sorted(names)}
    sentence = "the value of `{}` is not known before the file runs ({})"
    return {
        name: (sentence.format(name, value.why), value.help)
        for name, value in found.items()
        if isinstance(value, Unevaluated)
    }
