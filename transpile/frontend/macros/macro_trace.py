"""Trace of macro firings: which macros fired, in order; and a limit on how many may fire.

For ``TRANSPILE_DEBUG=macros`` and for the bisect tool, which finds the first wrong firing by
expanding a function with limits, as LLVM's ``-opt-bisect-limit`` does with passes. `MacroDriver`
calls `active_trace` once for each run.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

__all__ = ["MacroFiring", "MacroTrace", "active_trace", "tracing_macros"]


class MacroFiring(NamedTuple):
    """One replacement by a macro."""

    macro: str
    """The name of the macro."""
    line: int
    """The line of the node that it replaced; 0 if that has none."""
    before: str
    """Python text of the node."""
    after: str
    """Python text of the replacement."""


class MacroTrace:
    """The firings of one compilation. After ``limit`` of them no macro fires any more."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.firings: list[MacroFiring] = []

    @property
    def exhausted(self) -> bool:
        """Whether no more macros may fire."""
        return self.limit is not None and len(self.firings) >= self.limit

    def before(self, node: ast.AST) -> str:
        """The text of `node`, to be taken before a macro sees it."""
        return _text([node])

    def fired(self, macro: Any, node: ast.AST, before: str, after: Sequence[ast.AST]) -> None:
        """Notes that `macro` has replaced `node`, whose text was `before`, with `after`."""
        name = getattr(macro, "__name__", type(macro).__name__)
        self.firings.append(MacroFiring(name, getattr(node, "lineno", 0), before, _text(after)))


_active: ContextVar[MacroTrace | None] = ContextVar("_active", default=None)


def active_trace() -> MacroTrace | None:
    """The trace of the compilation that runs in this thread; None outside `tracing_macros`."""
    return _active.get()


@contextmanager
def tracing_macros(trace: MacroTrace | None) -> Iterator[None]:
    """A context in which the macros that fire in this thread are recorded in `trace`."""
    token = _active.set(trace)
    try:
        yield
    finally:
        _active.reset(token)


def _text(nodes: Sequence[ast.AST]) -> str:
    return "\n".join(map(ast.unparse, nodes)) or "pass"
