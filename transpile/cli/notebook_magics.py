"""IPython extension: ``%load_ext transpile`` defines ``%%fuse`` and ``%fuse_annotate``.

`transpile.load_ipython_extension` calls `register_magics`. IPython is not imported: the shell, an
``InteractiveShell``, is an argument.
"""
from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any

from ..frontend.suppress_warnings import suppress_warnings
from ..report.loop_report import Report
from ..report.source_listing import Listing
from ..runtime.fuse_decorator import AnyFused, Fused, fuse
from .file_cases import Case, inferred_case
from .input_files import FUSE_NAME, decorate_functions

__all__ = ["register_magics"]

def register_magics(shell: Any) -> None:
    """Defines the magics of this extension in `shell`."""
    magics = _Magics(shell)
    shell.register_magic_function(magics.fuse, "cell", "fuse")
    shell.register_magic_function(magics.fuse_annotate, "line", "fuse_annotate")


class _Magics:
    """The magics; their docstrings are what ``%%fuse?`` shows."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def fuse(self, line: str, cell: str) -> Any:
        """``%%fuse [option=value, …]``: run the cell, with ``@fuse`` on its functions.

        Decorated are the functions without a decorator, at the top of the cell and in its classes.
        Options are those of ``fuse``: ``%%fuse target="avx2", threads=1``. A report on each
        function follows the cell: for the types of its calls in the cell; of one that was not
        called, for those of its annotations and uses. So nothing is warned of, unless
        ``on_reject`` is given.
        """
        names = self._shell.user_ns
        options = {"on_reject": "silent", **eval(f"dict({line})", names)}
        decorated: list[AnyFused] = []

        def decorate(function: Callable[..., Any]) -> AnyFused:
            decorated.append(fuse(**options)(function))
            return decorated[-1]

        fuse(**options)  # raises for a wrong option before the cell runs
        names[FUSE_NAME] = decorate
        try:
            result = self._run(cell)
        finally:
            names.pop(FUSE_NAME, None)
        for function in decorated:
            self._show(_report_on(function))
        return result

    def fuse_annotate(self, line: str) -> Listing:
        """``%fuse_annotate f`` or ``%fuse_annotate f(x, 2.0)``: Python beside Loop IR, C and
        assembly, line by line.

        The types are those of the arguments; ``f`` does not run. Without arguments: those of its
        first call, or if there was none, those of its annotations and uses.
        """
        try:
            wanted = ast.parse(line.strip(), mode="eval").body
        except SyntaxError:
            raise ValueError("want a function or a call: %fuse_annotate f(x, 2.0)") from None
        arguments: tuple[Any, ...] = ()
        keywords: dict[str, Any] = {}
        is_call = isinstance(wanted, ast.Call)
        if isinstance(wanted, ast.Call):
            call = ast.Call(ast.Name("dict", ast.Load()), [], wanted.keywords)
            arguments = self._value(ast.Tuple(wanted.args, ast.Load()))
            keywords = self._value(call)
            wanted = wanted.func
        value = self._value(wanted)
        plain, bound = getattr(value, "__func__", value), _self_of(value)
        function: AnyFused = plain if isinstance(plain, Fused) else fuse(on_reject="silent")(plain)
        if is_call:
            return function.listing(*bound, *arguments, **keywords)
        types = function.signatures or (_assumed(function).types,)
        return function.listing_for(types[0])

    def _value(self, node: ast.expr) -> Any:
        """The value of an expression in the notebook."""
        tree = ast.fix_missing_locations(ast.Expression(node))
        return eval(compile(tree, "<magic>", "eval"), self._shell.user_ns)

    def _run(self, cell: str) -> Any:
        """Run the cell with decorated functions; the value of its last expression is returned."""
        text = f"# the line of %%fuse\n{cell}"  # so that line numbers are those of the notebook
        code = self._shell.transform_cell(text)
        name = self._shell.compile.cache(code, self._cell_number(), raw_code=text)
        tree = ast.parse(code, name)
        with suppress_warnings():  # they are shown when the cell runs
            whole = compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        if whole.co_flags & inspect.CO_COROUTINE:
            raise SyntaxError(
                "a cell with %%fuse cannot `await` outside of a function: define the functions "
                "in it, and await in a cell of its own")
        decorate_functions(tree, ast.Name(FUSE_NAME, ast.Load()))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        names = self._shell.user_ns
        exec(self._shell.compile(tree, name, "exec"), names)
        if not isinstance(last, ast.Expr):
            return None
        value = eval(self._shell.compile(ast.Expression(last.value), name, "eval"), names)
        return None if cell.rstrip().endswith(";") else value

    def _cell_number(self) -> int:
        """The number of the cell that calls the magic, as tracebacks show it; its frame tells.
        (``execution_count`` may be that of the next one.)
        """
        frame = inspect.currentframe()
        while frame is not None:
            label = self._shell.compile.format_code_name(frame.f_code.co_filename)
            if label and (number := re.search(r"\d+", label[-1])):
                return int(number[0])
            frame = frame.f_back
        return int(self._shell.execution_count)

    def _show(self, shown: Report) -> None:
        """Display an object below the cell."""
        data, metadata = self._shell.display_formatter.format(shown)
        self._shell.display_pub.publish(data, metadata)


def _report_on(function: AnyFused) -> Report:
    """The report on its calls so far, or if there were none, for annotations and uses."""
    return function.report() if function.signatures else _assumed(function).report()


def _assumed(function: AnyFused) -> Case:
    """The case of a function that was not called yet."""
    return inferred_case(function, ran=True, in_notebook=True)


def _self_of(function: Any) -> tuple[Any, ...]:
    """The object of a bound method, as its first argument."""
    return (function.__self__,) if hasattr(function, "__func__") else ()
