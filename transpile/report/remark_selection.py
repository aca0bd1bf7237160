"""Remark selection: which missed-fusion remarks a report shows, and which only in detail.

A report shows at most one remark for each pair of loops that the user wrote; remarks on loops that
the compiler has made are shown in detail or dropped, and equal ones are merged.
"""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from loopir.nodes import Span

from ..diagnostics import Label, Rejection
from ..frontend.ast_walk import walk_nodes
from ..frontend.source import span_of
from .user_terms import CITATION

__all__ = ["fusion_remarks", "list_copies", "merge_equal", "without_shown"]


_OF_EFFECTS = frozenset({"FUSE_REJECT_EFFECTS_RNG", "FUSE_REJECT_EFFECTS_UNKNOWN"})
"""The codes of pairs of loops that an effect such as ``print`` keeps apart."""


def fusion_remarks(
    rejections: Iterable[Rejection], written: Collection[Span]
) -> tuple[list[Rejection], list[Rejection]]:
    """Divides the rejections of fusion in two lists: those that a report shows, and those that it
    shows only in detail (`Report.further`). Others are dropped. For each, in this order:

    - dropped, if both loops are in one line (as those of ``a + b + c``, of arrays), or one of them
      has no place, or implements an operation (`Span.internal`): the user has no two loops there;
    - shown, if the user wrote both loops (``written``: the places of the ``for`` and ``while``
      statements), nothing of another kind keeps this pair apart, for which its help does nothing,
      and fusion would have moved fewer bytes, or is prevented by an effect such as ``print``. Of
      several reasons of one kind the first is shown;
    - else in detail: pairs with reasons of several kinds, and loops made from expressions on whole
      arrays in different statements.

    `report_compiled` calls this with all that `fuse_kernel` has rejected.
    """
    shown: dict[tuple[Span, Span], Rejection] = {}
    further: list[Rejection] = []
    rejections = list(rejections)
    kinds = {(r.first, r.span, r.code) for r in rejections}
    kinds_of_pair = Counter((first, second) for first, second, _ in kinds)
    for r in rejections:
        if r.span is None or r.first is None or r.first.line == r.span.line:
            continue
        if r.span.internal or r.first.internal:
            continue
        pair = r.first, r.span
        is_users = r.first in written and r.span in written
        pays = r.bytes_saved > 0 or r.code in _OF_EFFECTS
        if is_users and pays and pair not in shown and kinds_of_pair[pair] == 1:
            shown[pair] = r
        else:
            further.append(r)
    return [*shown.values()], further


def merge_equal(rejections: Iterable[Rejection]) -> tuple[Rejection, ...]:
    """`rejections` without repetitions. Two are equal if they have one code and either the same
    message, or are in one line and differ only in what they cite (the parts in backquotes). Of
    equal ones the first stays, and gets a label ``and here`` at the place of each other one::

        LOWER_CALL 4:8 "`print` is ..."; LOWER_CALL 9:8 "`print` is ..."
        →  LOWER_CALL 4:8 "`print` is ...", with a label at 9:8
    """
    merged: list[Rejection] = []
    for r in rejections:
        at = next((k for k, first in enumerate(merged) if _is_same_reason(first, r)), None)
        if at is None:
            merged.append(r)
            continue
        places = {merged[at].span, *(label.span for label in merged[at].labels)}
        if r.span is not None and r.span not in places:
            labels = (*merged[at].labels, Label(r.span, "and here"))
            merged[at] = replace(merged[at], labels=labels)
    return tuple(merged)


def without_shown(
    further: Iterable[Rejection], shown: Sequence[Rejection]
) -> tuple[Rejection, ...]:
    """`further`, merged, without what is among `shown` already."""
    return merge_equal(r for r in further if not any(_is_same_reason(s, r) for s in shown))


def _is_same_reason(a: Rejection, b: Rejection) -> bool:
    """Whether two rejections have one code and either the same message, or are in one line and
    differ only in what they cite.
    """
    if a.code != b.code:
        return False
    if a.message == b.message:
        return True
    is_one_line = a.line is not None and a.line == b.line
    return is_one_line and CITATION.sub("", a.message) == CITATION.sub("", b.message)


def list_copies(tree: ast.FunctionDef) -> set[Span]:
    """The spans of assignments that may copy a list, ``ys = list(xs)``, ``ys = xs[:]``, ``row =
    rows[-1]``, and of their values. They are found by their form alone, so some are of arrays.
    `report_compiled` calls a loop at such a place a copy, and does not complain that it is scalar:
    the user has not written it.
    """
    found = set[Span]()
    for n in walk_nodes(*tree.body):
        match n:
            case ast.Assign(
                targets=[ast.Name()],
                value=ast.Name() | ast.Subscript()
                | ast.Call(func=ast.Name(id="list"), args=[ast.Name()])
                | ast.Call(func=ast.Attribute(attr="copy"), args=[]),
            ):
                found |= {span for part in (n, n.value) if (span := span_of(part)) is not None}
    return found
