"""Refusal warnings: one of each cause, of a function and of the regions that are cut out of it.

The causes that have been warned of are kept in one set (`RefusalWarnings.causes`), which a function
shares with its regions. The warning itself is issued by `errors.warn`.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field
from types import FunctionType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from loopir.lazy_dataclass import record

from ...errors import EMPTY_LIST, fallback_is_error, fallback_message, should_warn, warn
from ...frontend.ast_walk import walk_nodes

if TYPE_CHECKING:
    from ...diagnostics import Rejection
    from ...options import Options
    from ...types.value_types import ArgType

__all__ = [
    "RefusalWarnings", "Signature", "follows_from_outside", "names_of_refused_values",
    "shown_types",
]

Cause: TypeAlias = "tuple[str, int | str | None]"
"""The code of a rejection, with its line or with its message."""


class Signature(Protocol):
    """What messages say of a call signature: a `Specialization`."""

    @property
    def types(self) -> tuple[ArgType, ...]:
        """The types of the arguments."""

    @property
    def empty_at_first(self) -> tuple[int, ...]:
        """The places of the arguments that were empty lists in the first call."""


def shown_types(signature: Signature) -> tuple[ArgType, ...]:
    """The types of the arguments for messages: an empty list is called that, since it has no item
    whose type could be named.

        f(3, [])    →    f(int, empty list)
    """
    from ...types.value_types import Opaque

    empty = signature.empty_at_first
    return tuple(Opaque(EMPTY_LIST) if k in empty else t for k, t in enumerate(signature.types))


@record(frozen=True, slots=True)
class RefusalWarnings:
    """The warnings of one function, or of one region of it."""

    function: FunctionType
    causes: set[Cause] = field(default_factory=set)
    """What has been warned of; one set for a function and all of its regions."""
    is_region: bool = False
    outer_rejection: Rejection | None = None
    """Of a region: why the function that it is cut out of is refused."""
    has_loops: bool = True
    refused_values: frozenset[str] = frozenset()
    """Of a region: `names_of_refused_values` of the functions that it is cut out of."""

    def of_region(
        self, function: FunctionType, outer_rejection: Rejection, refused_values: frozenset[str], *,
        has_loops: bool,
    ) -> RefusalWarnings:
        """The warnings of a region, which is compiled as `function`."""
        return RefusalWarnings(
            function, self.causes, is_region=True, outer_rejection=outer_rejection,
            has_loops=has_loops, refused_values=self.refused_values | refused_values,
        )

    def cause(self, rejection: Rejection) -> Rejection:
        """The rejection of which the user is told: that of the function around the region, if the
        cause of `rejection` is outside of the region (`follows_from_outside`); else `rejection`.
        """
        if self.outer_rejection is None:
            return rejection
        follows = follows_from_outside(rejection, self.refused_values, has_loops=self.has_loops)
        return self.outer_rejection if follows else rejection

    def warn_of(
        self, rejection: Rejection, signature: Signature, options: Options, *,
        is_outlined: bool = False,
    ) -> None:
        """Issue a FuseWarning that the `signature` is refused, if ``on_reject`` is "warn" and
        the cause is new: no earlier rejection had its code and line, or its code and message. No
        warning if ``TRANSPILE_FALLBACK=error`` makes the call raise. ``is_outlined``: some of its
        loops may compile, as regions.
        """
        if fallback_is_error():
            return
        cause = self.cause(rejection)
        causes: set[Cause] = {(cause.code, cause.line), (cause.code, cause.message)}
        is_known = not causes.isdisjoint(self.causes)
        self.causes.update(causes)
        if options.on_reject == "warn" and not is_known and should_warn(cause.code):
            warn(fallback_message(
                self.function, shown_types(signature), cause.code, cause, part=is_outlined,
                region=self.is_region,
            ))


def follows_from_outside(
    rejection: Rejection, refused_values: Iterable[str], *, has_loops: bool
) -> bool:
    """Whether a refusal (LOWER_…) of a region has its cause outside of the region, so that the user
    can do nothing about it there. These are

    - all refusals of a region without loops: it is no loss if such a region runs as Python;
    - those whose message names one of `refused_values` (`names_of_refused_values`): such a value is
      an argument of the region, of a type that is not compiled. In a function that compiled as a
      whole it would be no argument, but a local value, and no obstacle;
    - those without a place in the source: they are about arguments of the region, too.
    """
    from ...report.user_terms import cited_names

    has_place = has_loops and rejection.span is not None
    follows = not has_place or not cited_names(rejection.message).isdisjoint(refused_values)
    return rejection.family == "LOWER" and follows


def names_of_refused_values(
    tree: ast.FunctionDef, rejections: Iterable[Rejection]
) -> Iterator[str]:
    """The names whose values, passed to a region of the outlined function `tree`, may be of types
    that are not compiled: names bound to lists, and names bound by a statement that contains the
    place of one of `rejections`.
    """
    from ...frontend.ast_names import name_bindings
    from ...frontend.source import is_within, span_of

    refused = [r.span for r in rejections if r.span is not None]
    for n in walk_nodes(tree):
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
    from ...frontend.ast_names import name_bindings

    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.With(items=items):
            yield from (i.optional_vars.id for i in items if isinstance(i.optional_vars, ast.Name))
        case _:
            yield from (to.id for to, _ in name_bindings(statement))
