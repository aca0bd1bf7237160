"""``transpile reduce``: delta debugging of a call whose compiled result differs from Python's.

A smaller call is kept if it fails in the same way: at the same stage, pass or macro, with the same
kind of difference. It tries smaller arguments, fewer statements, operands or constants in place of
expressions, and fewer parameters, until none of this makes the call smaller.
"""
from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from types import FunctionType
from typing import Any

import numpy as np

from ..frontend.source import read_source
from ..frontend.suppress_warnings import suppress_warnings
from .bisect_miscompile import SECONDS, Finding, find_difference
from .call_outcomes import outcome_of, run_in_child
from .failing_call import FailingCall

__all__ = ["reduce_call", "show_reduced"]

_number = itertools.count(1)

_WATCHED = {"emit": "load", "build": "load", "select_kernel": "load"}
"""For a stage whose output cannot be run: the later stage whose output shows that it is wrong."""


def reduce_call(
    call: FailingCall, finding: Finding, *, seconds: float = SECONDS
) -> tuple[FailingCall, Finding]:
    """A smaller call that fails as `call` does, at the stage of `finding`, and the finding about
    it. This is delta debugging: reductions are tried in rounds (`_Reducer.improve`), and a smaller
    call is kept if it still fails in the same way (`Finding.key`), until a round changes nothing.
    The result is minimal for these reductions; there may be smaller programs that fail.

    ``seconds``: for one run of one program. ``transpile reduce`` calls this.
    """
    reducer = _Reducer(call, finding, seconds)
    while reducer.improve():
        pass
    final = find_difference(reducer.call, seconds=seconds)
    return reducer.call, finding if final is None else final


def show_reduced(call: FailingCall, finding: Finding) -> str:
    """The program as a file that can be run, and what is wrong with it."""
    headline = f"# {finding.stage}"
    if finding.firing is not None:
        headline += f", macro {finding.firing.macro}"
    options = [
        f"{name}={getattr(call.options, name)!r}"
        for name in ("reassociate", "contract", "fast", "portable", "fusion")
        if getattr(call.options, name) != getattr(type(call.options)(), name)
    ]
    decorator = f"@fuse({', '.join(options)})" if options else "@fuse"
    argument_texts = ", ".join(_argument_text(a) for a in call.args)
    has_names = re.search(r"\b(nan|inf)\b", argument_texts)  # as floats and arrays are printed
    names = "from math import inf, nan\n\n" if has_names else ""
    return (
        f"{headline}: {finding.difference.text}\n"
        f"{names}import numpy as np\n\nfrom transpile import fuse\n\n\n{decorator}\n"
        f"{ast.unparse(read_source(call.function).tree)}\n\n\n"
        f"print({call.function.__name__}({argument_texts}))\n"
    )


def _argument_text(value: Any) -> str:
    """Python that makes `value`, as far as it is arrays and numbers, in the names ``np``, ``inf``
    and ``nan``.
    """
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r}, {str(value.dtype)!r})"
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({value.item()!r})"
    return repr(value)


class _Reducer:
    """The smallest call so far, and how to make it smaller.

    ``key``: how it fails; ``watch``: the stage whose output shows the failure; ``tree``: of the
    function; ``_tried``: programs with arguments that were tested already.
    """

    def __init__(self, call: FailingCall, finding: Finding, seconds: float) -> None:
        self.call = call
        self.key = finding.key
        self.seconds = seconds
        self.watch = {_WATCHED.get(finding.key[0], finding.key[0])}
        self.tree = deepcopy(read_source(call.function).tree)
        self._tried: set[tuple[str, str]] = set()
        function = call.function
        self._names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}

    def improve(self) -> bool:
        """One round of all reductions; whether any made the call smaller."""
        steps: tuple[Callable[[], bool], ...] = (
            self._smaller_arguments, self._fewer_statements, self._simpler_expressions,
            self._fewer_parameters,
        )
        return any([step() for step in steps])

    def _accept(self, tree: ast.FunctionDef, args: tuple[Any, ...]) -> bool:
        """Whether the call of `tree` fails in the same way; then it is the smallest so far."""
        text = ast.unparse(ast.fix_missing_locations(tree))
        key = text, repr([(_argument_text(a), getattr(a, "strides", ())) for a in args])
        if key in self._tried:
            return False
        self._tried.add(key)
        try:
            with suppress_warnings():  # 1[i] is what Python warns about
                function = _function_of(text, self.call.function, self._names)
            call = FailingCall(function, self.call.options, args)
            failure = run_in_child(lambda: self._failure(call), self.seconds)
        except Exception:  # no program, or one that ends the process in another way
            return False
        if failure != self.key:
            return False
        self.call, self.tree = call, ast.parse(text).body[0]  # type: ignore[assignment]  # a def
        return True

    def _failure(self, call: FailingCall) -> tuple[str, str, str] | None:
        """How a call fails: the key of its finding; None if it does not. None also if Python itself
        raises, unless the failure is that compiled code does not.
        """
        expected = outcome_of(call.function, call.args, self.seconds / 4)
        if expected.error is not None and not self.key[2].startswith("does not raise"):
            return None
        finding = find_difference(call, watch=self.watch, seconds=self.seconds / 4)
        return None if finding is None else finding.key

    def _smaller_arguments(self) -> bool:
        """Try smaller arguments; whether the call became smaller."""
        changed = False
        for k in (None, *range(len(self.call.args))):  # None: all arrays, which share a length
            shrinks = True
            while shrinks:
                shrinks = any(self._accept(self.tree, args) for args in self._cut(k))
                changed = changed or shrinks
        return changed

    def _cut(self, only: int | None) -> Iterator[tuple[Any, ...]]:
        """Smaller arguments to try: with the one at position `only` made smaller; or, if that is
        None, with one length cut wherever it occurs, as axis of an array or as an int.
        """
        args = self.call.args
        if only is not None:
            for new in _smaller_values(args[only]):
                yield (*args[:only], new, *args[only + 1 :])
            return
        lengths = {a.shape[0] for a in args if isinstance(a, np.ndarray) and a.ndim}
        for n in sorted(lengths, reverse=True):
            for m in dict.fromkeys((0, 1, 2, n // 2, n - 1)):
                if 0 <= m < n:
                    yield tuple(_cut_argument(a, n, m) for a in args)

    def _fewer_statements(self) -> bool:
        """Try to delete runs of 8, 4, 2 and 1 statements; whether the call became smaller."""
        changed = False
        size = 8
        while size:
            k = 0
            while True:  # blocks are numbered anew after each success
                tree = deepcopy(self.tree)
                runs = [
                    (block, start)
                    for block in _blocks(tree)
                    for start in range(0, len(block), size)
                ]
                if k >= len(runs):
                    break
                block, start = runs[k]
                if self._without(tree, block, start, size):
                    changed = True
                else:
                    k += 1
            size //= 2
        return self._unwrapped() or changed

    def _without(
        self, tree: ast.FunctionDef, block: list[ast.stmt], start: int, size: int
    ) -> bool:
        """Try `tree` without these statements of one of its blocks."""
        remaining = [*block[:start], *block[start + size :]]
        if all(isinstance(s, ast.Pass) for s in block):
            return False
        block[:] = remaining or [ast.Pass()]
        return self._accept(tree, self.call.args)

    def _unwrapped(self) -> bool:
        """Try to replace compound statements by their bodies; whether the call became smaller."""
        changed, k = False, 0
        while True:
            positions = [
                (b, i) for b, block in enumerate(_blocks(self.tree)) for i in range(len(block))
            ]
            if k >= len(positions):
                return changed
            b, i = positions[k]
            for field in ("body", "orelse"):
                tree = deepcopy(self.tree)
                block = [*_blocks(tree)][b]
                inner = getattr(block[i], field, None)
                if inner and not isinstance(block[i], ast.FunctionDef):
                    block[i : i + 1] = inner
                    if self._accept(tree, self.call.args):
                        changed = True
                        break
            else:
                k += 1

    def _simpler_expressions(self) -> bool:
        """Try simpler expressions in each place; whether the call became smaller."""
        changed, k = False, 0
        while True:
            count = len([*_expressions(self.tree)])
            if k >= count:
                return changed
            _, _, _, old = [*_expressions(self.tree)][k]
            for new in _simpler(old):
                tree = deepcopy(self.tree)
                node, field, index, _ = [*_expressions(tree)][k]
                if index is None:
                    setattr(node, field, deepcopy(new))
                else:
                    getattr(node, field)[index] = deepcopy(new)
                if self._accept(tree, self.call.args):
                    changed = True
                    break
            else:
                k += 1

    def _fewer_parameters(self) -> bool:
        """Try to drop each parameter with its argument; whether the call became smaller."""
        changed = False
        for k in reversed(range(len(self.call.args))):
            tree = deepcopy(self.tree)
            arguments = tree.args
            parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            if len(parameters) != len(self.call.args):  # it has *args
                return changed
            arguments.posonlyargs, arguments.args = [], [*parameters[:k], *parameters[k + 1 :]]
            arguments.kwonlyargs, arguments.kw_defaults, arguments.defaults = [], [], []
            changed = self._accept(tree, (*self.call.args[:k], *self.call.args[k + 1 :])) or changed
        return changed


def _function_of(text: str, original: FunctionType, names: dict[str, Any]) -> FunctionType:
    """The function that `text` defines, in the namespace of `original`, with a source that can be
    read.
    """
    file = f"<reduced {next(_number)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    scope = dict(names)
    exec(compile(text, file, "exec"), scope)
    function: FunctionType = scope[original.__name__]
    return function


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a tree, the outer ones first."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                yield block


def _expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """The expressions that are read, the outer ones first: node, field, index there, expression."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(node, (ast.arguments, ast.arg)) or field in ("func", "decorator_list"):
                continue
            items = enumerate(value) if isinstance(value, list) else [(None, value)]
            for index, item in items:
                stored = isinstance(getattr(item, "ctx", None), (ast.Store, ast.Del))
                if isinstance(item, ast.expr) and not stored:
                    yield node, field, index, item


def _simpler(e: ast.expr) -> Iterator[ast.expr]:
    """Expressions to try in the place of `e`, each with fewer nodes; constants for names."""
    if isinstance(e, ast.Constant):
        if isinstance(e.value, (int, float)) and e.value not in (0, 1):
            yield ast.Constant(type(e.value)(1))
        return
    if not isinstance(e, ast.Name):
        children = (c for c in ast.iter_child_nodes(e) if isinstance(c, ast.expr))
        yield from (c for c in children if not isinstance(c, ast.Starred))
        comprehensions = (c for c in ast.iter_child_nodes(e) if isinstance(c, ast.comprehension))
        yield from (c.iter for c in comprehensions)
    if isinstance(e, (ast.Tuple, ast.List)) and len(e.elts) > 1:
        for k in range(len(e.elts)):
            remaining = [*e.elts[:k], *e.elts[k + 1 :]]
            yield type(e)(remaining, ast.Load())
    if isinstance(e, ast.BoolOp) and len(e.values) > 2:
        for k in range(len(e.values)):
            yield ast.BoolOp(e.op, [*e.values[:k], *e.values[k + 1 :]])
    if not isinstance(e, ast.Slice):
        yield from (ast.Constant(value) for value in (1, 1.0, True))


def _smaller_values(value: Any) -> Iterator[Any]:
    """Values to try in the place of an argument, each smaller or plainer."""
    if isinstance(value, (bool, np.generic)):
        return
    if isinstance(value, int):
        yield from (v for v in dict.fromkeys((0, 1, value // 2, value - 1)) if abs(v) < abs(value))
    elif isinstance(value, float) and value != 1.0:
        yield 1.0
    elif isinstance(value, list):
        n = len(value)
        yield from (value[:m] for m in dict.fromkeys((0, 1, n // 2, n - 1)) if 0 <= m < n)
    elif isinstance(value, np.ndarray):
        for axis, n in enumerate(value.shape):
            for m in dict.fromkeys((0, 1, 2, n // 2, n - 1)):
                if 0 <= m < n:
                    yield value[(slice(None),) * axis + (slice(m),)].copy()
        if not value.flags.c_contiguous:
            yield np.ascontiguousarray(value)
        if value.dtype.kind in "fiu" and value.size:
            plain = np.arange(1, value.size + 1).reshape(value.shape).astype(value.dtype)
            for new in (np.zeros_like(plain), np.ones_like(plain), plain):
                if _plainness(new) < _plainness(value):
                    yield new


def _plainness(array: np.ndarray) -> int:
    """Smaller for plainer values: zeros, ones, 1 2 3 …, then whole numbers, then others."""
    is_counting = np.array_equal(array.ravel(), np.arange(1, array.size + 1).astype(array.dtype))
    is_integral = np.array_equal(array, np.round(array))
    kinds = (not array.any(), bool((array == 1).all()), is_counting, is_integral, True)
    return kinds.index(True)


def _cut_axes(array: np.ndarray, n: int, m: int) -> np.ndarray:
    """`array` with axes of length `n` cut to `m`."""
    cut = tuple(slice(m) if length == n else slice(None) for length in array.shape)
    smaller: np.ndarray = array[cut].copy()
    return smaller


def _cut_argument(value: object, n: int, m: int) -> object:
    """`value`, an argument, with `m` in place of the length `n`: of the axes of an array, or as the
    int itself.
    """
    if isinstance(value, np.ndarray):
        return _cut_axes(value, n, m)
    return m if type(value) is int and value == n else value
