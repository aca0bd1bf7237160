"""Refusal warnings: one of each cause, of a function and of the regions that are cut out of it."""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field
from types import FunctionType
from typing import TYPE_CHECKING, TypeAlias

from loopir.lazy_dataclass import record

from ..errors import fallback_is_error, fallback_message, should_warn, warn

if TYPE_CHECKING:
    from ..diagnostics import Rejection
    from ..options import Options
    from ..types.value_types import ArgType

__all__ = ["RefusalWarnings", "follows_from_outside", "names_of_refused_values"]

Cause: TypeAlias = "tuple[str, int | str | None]"
"""The code of a reason to run as Python, with its line or with its message."""


@record(frozen=True, slots=True)
class RefusalWarnings:
    """What a function has warned of. A region shares ``causes`` with the function around it."""

    function: FunctionType
    causes: set[Cause] = field(default_factory=set)
    is_region: bool = False
    around: Rejection | None = None
    """Of a region: why the function around it is refused."""
    has_loops: bool = True
    values: frozenset[str] = frozenset()
    """Of a region: `names_of_refused_values`."""

    def of_region(
        self, function: FunctionType, around: Rejection, values: frozenset[str], *, has_loops: bool
    ) -> RefusalWarnings:
        """The warnings of a region, which is compiled as `function`."""
        return RefusalWarnings(
            function, self.causes, is_region=True, around=around, has_loops=has_loops,
            values=self.values | values,
        )

    def cause(self, rejection: Rejection) -> Rejection:
        """What the user is told of `rejection`: if it follows from something outside of the region,
        why the function around it is refused; else `rejection`.
        """
        if self.around is None:
            return rejection
        follows = follows_from_outside(rejection, self.values, has_loops=self.has_loops)
        return self.around if follows else rejection

    def warn_of(
        self, rejection: Rejection, types: tuple[ArgType, ...], options: Options, *,
        is_outlined: bool = False,
    ) -> None:
        """Warn of the rejection of the signature `types`, once of each cause (code and line, or
        code and message; `should_warn`), if ``on_reject`` is "warn". Not if the call raises anyway.
        ``is_outlined``: some of its loops may compile, as regions.
        """
        if fallback_is_error():
            return
        told = self.cause(rejection)
        causes: set[Cause] = {(told.code, told.line), (told.code, told.message)}
        is_known = not causes.isdisjoint(self.causes)
        self.causes.update(causes)
        if options.on_reject == "warn" and not is_known and should_warn(told.code):
            warn(fallback_message(
                self.function, types, told.code, told, part=is_outlined, region=self.is_region,
            ))


def follows_from_outside(
    rejection: Rejection, values: Iterable[str], *, has_loops: bool
) -> bool:
    """Whether a refusal (LOWER_…) of a region has no cause in it, so that the user can do nothing
    about it there. `values`: `names_of_refused_values`. So it is with

    - all refusals of a region without loops: it is no loss if such a region runs as Python;
    - those that name one of `values`, or a list that is made outside of the region: inside of the
      function that would be compiled, as an argument it has a type that is not;
    - those without a place, which are about values that come from outside of the region.
    """
    from ..report.user_terms import cited_names

    has_place = has_loops and rejection.span is not None
    follows = not has_place or not cited_names(rejection.message).isdisjoint(values)
    return rejection.code.startswith("LOWER_") and follows


def names_of_refused_values(
    tree: ast.FunctionDef, rejections: Iterable[Rejection]
) -> Iterator[str]:
    """The names that an outlined function, `tree`, binds to lists, and by statements that are
    refused by one of `rejections`.
    """
    from ..frontend.ast_names import name_bindings
    from ..frontend.source import is_within, span_of

    refused = [r.span for r in rejections if r.span is not None]
    for n in ast.walk(tree):
        for to, value in name_bindings(n):
            if isinstance(value, (ast.List, ast.ListComp)):
                yield to.id
        if isinstance(n, (ast.Assign, ast.FunctionDef, ast.ClassDef, ast.With)):
            own = span_of(n)
            if own is not None and any(is_within(span, own) for span in refused):
                yield from _names_defined(n)


def _names_defined(
    statement: ast.Assign | ast.FunctionDef | ast.ClassDef | ast.With,
) -> Iterator[str]:
    """The names that an assignment, a definition or the head of a ``with`` binds."""
    from ..frontend.ast_names import name_bindings

    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.With(items=items):
            yield from (i.optional_vars.id for i in items if isinstance(i.optional_vars, ast.Name))
        case _:
            yield from (to.id for to, _ in name_bindings(statement))
