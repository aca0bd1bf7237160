"""Which remarks a report shows: none of loops that the source has not, one a pair of loops, no
repetitions.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from loopir.nodes import Span

from ..diagnostics import Label, Rejection

__all__ = ["fusion_remarks", "merge_equal"]


def fusion_remarks(
    rejections: Iterable[Rejection], written: Collection[Span]
) -> tuple[list[Rejection], list[Rejection]]:
    """The rejections of fusion that a report shows, and further ones for who asks.

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
    """`rejections`, where several with one code and message are one: the first, with labels at the
    places of the others.
    """
    merged: dict[tuple[str, str], Rejection] = {}
    for r in rejections:
        first = merged.setdefault((r.code, r.message), r)
        places = {first.span, *(label.span for label in first.labels)}
        if first is not r and r.span is not None and r.span not in places:
            labels = (*first.labels, Label(r.span, "and here"))
            merged[r.code, r.message] = replace(first, labels=labels)
    return tuple(merged.values())
