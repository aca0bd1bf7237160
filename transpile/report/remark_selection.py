"""Remark selection: which missed-fusion remarks a report shows, and which only in detail.

One for each pair of loops that the source has, and no repetitions.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from loopir.nodes import Span

from ..diagnostics import Label, Rejection
from .user_terms import CITATION

__all__ = ["fusion_remarks", "merge_equal", "without_shown"]


def fusion_remarks(
    rejections: Iterable[Rejection], written: Collection[Span]
) -> tuple[list[Rejection], list[Rejection]]:
    """The rejections of fusion that a report shows, and those that it shows only in detail
    (`Report.further`).

    Shown is the first reason of each pair of loops that the source has (`written`), if one pass
    over both would move fewer bytes, or if one of them has an effect. Further are the other reasons
    of such pairs, and those of whole-array expressions in different statements. Loops of one
    line, and loops that implement one operation, are not the user's to change.
    """
    shown: dict[tuple[Span, Span], Rejection] = {}
    further: list[Rejection] = []
    for r in rejections:
        if r.span is None or r.first is None or r.first.line == r.span.line:
            continue
        if r.span.internal or r.first.internal:
            continue
        pair = r.first, r.span
        is_users = r.first in written and r.span in written
        pays = r.bytes_saved > 0 or "_EFFECTS_" in r.code
        if is_users and pays and pair not in shown:
            shown[pair] = r
        else:
            further.append(r)
    return [*shown.values()], further


def merge_equal(rejections: Iterable[Rejection]) -> tuple[Rejection, ...]:
    """`rejections`, where several with one code and message, or with messages in one line that only
    differ in what they cite, are one: the first, with labels at the places of the others.
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
    """Whether two rejections have one message, or in one line one apart from what they cite."""
    if a.code != b.code:
        return False
    if a.message == b.message:
        return True
    is_one_line = a.line is not None and a.line == b.line
    return is_one_line and CITATION.sub("", a.message) == CITATION.sub("", b.message)
