"""Which remarks are shown: one a pair of the user's loops, and equal ones once."""
from __future__ import annotations

from dataclasses import replace

from loopir.nodes import Span
from transpile.diagnostics import Rejection
from transpile.report.remark_selection import fusion_remarks, merge_equal

FIRST, SECOND, THIRD = Span(2, 4, 3, 9), Span(4, 4, 5, 9), Span(6, 4, 6, 20)
REMARK = Rejection(
    "FUSE_REJECT_DEPENDENCE", "too early", SECOND, first=FIRST, bytes_saved=8,
)


def test_one_reason_a_pair_of_loops_is_shown() -> None:
    other = replace(REMARK, message="too early, too")
    assert fusion_remarks([REMARK, other], {FIRST, SECOND}) == ([REMARK], [other])


def test_a_pair_that_several_things_keep_apart_is_for_who_asks() -> None:
    """The help of each of the reasons would not join them."""
    other = replace(REMARK, code="FUSE_REJECT_CONTROL_FLOW", message="it is left early")
    assert fusion_remarks([REMARK, other], {FIRST, SECOND}) == ([], [REMARK, other])
    elsewhere = replace(REMARK, code="FUSE_REJECT_MAY_RAISE", span=THIRD)
    found = fusion_remarks([REMARK, elsewhere], {FIRST, SECOND, THIRD})
    assert found == ([REMARK, elsewhere], [])


def test_what_saves_nothing_is_for_who_asks() -> None:
    saves_nothing = replace(REMARK, bytes_saved=0)
    assert fusion_remarks([saves_nothing], {FIRST, SECOND}) == ([], [saves_nothing])


def test_whole_arrays_are_for_who_asks() -> None:
    of_arrays = replace(REMARK, span=THIRD)
    assert fusion_remarks([of_arrays], {FIRST, SECOND}) == ([], [of_arrays])


def test_loops_that_the_source_has_not_are_not_spoken_of() -> None:
    internal = replace(SECOND, internal=True)
    beside = Span(2, 20, 2, 30)
    remarks = [replace(REMARK, span=span) for span in (internal, beside, None)]
    assert fusion_remarks(remarks, {FIRST, SECOND}) == ([], [])


def test_equal_remarks_are_merged() -> None:
    again = replace(REMARK, span=THIRD)
    (merged,) = merge_equal([REMARK, again, again])
    assert merged.span == SECOND
    assert [(label.span, label.text) for label in merged.labels] == [(THIRD, "and here")]


def test_remarks_of_one_line_that_differ_in_what_they_cite_are_merged() -> None:
    a = Rejection("VECTOR_SUBSCRIPT", "the place of `x[i]` is uneven", Span(2, 4, 2, 8))
    b = replace(a, message="the place of `y[j]` is uneven", span=Span(2, 12, 2, 16))
    assert len(merge_equal([a, b])) == 1
    assert len(merge_equal([a, replace(b, span=Span(3, 12, 3, 16))])) == 2
