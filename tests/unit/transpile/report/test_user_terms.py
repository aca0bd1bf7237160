"""Messages in the terms of the source: names that the compiler made become the user's."""
from __future__ import annotations

import pytest

from loopir.nodes import Span
from transpile.diagnostics import Label, Rejection
from transpile.frontend.source import read_text
from transpile.report.user_terms import cited_names, user_terms
from transpile.types.value_types import ObjectType

TEXT = """\
def f(groups, text, z):
    for key in text:
        groups[key].append(z % 2)
    return dot(z, "a")
"""
CALL = Span(3, 8, 3, 33)
TERMS = user_terms(read_text(TEXT, "f", "f.py"), renamed={"_w_1": "z", "_h": "hidden"})


@pytest.mark.parametrize(("text", "span", "wanted"), [
    ("`z` is one", CALL, "`z` is one"),
    ("`z_1` is one", CALL, "`z` is one"),
    ("`_groups_slot` is one", CALL, "`groups` is one"),
    ("`groups_slot_items[i]` is one", None, "`groups[i]` is one"),
    ("`_w_1` is one", CALL, "`z` is one"),
    ("`_dict_slot` is one", CALL, "`groups[key].append(z % 2)` is one"),
    ("`_np.add(z, 1)` is one", CALL, "`groups[key].append(z % 2)` is one"),
    ("`len('banana')` is one", Span(2, 15, 2, 19), "`text` is one"),
    ("`dot(z,  'a')` is one", Span(4, 11, 4, 22), '`dot(z, "a")` is one'),
    ("`_h` is one", CALL, "`groups[key].append(z % 2)` is one"),
    ("`groups[#groups - 1]` is one", None, "`groups[len(groups) - 1]` is one"),
    ("`dot(#z_1, '#z')` is one", None, "`dot(len(z), '#z')` is one"),
    ("an array has no attribute `insert`", CALL, "an array has no attribute `insert`"),
])
def test_citations(text: str, span: Span | None, wanted: str) -> None:
    assert TERMS.text(text, span) == wanted


GENERATOR = """\
def f(p, w):
    return len(set(p[i]  + i for i in range(3))) + w[0]
"""


@pytest.mark.parametrize(("text", "wanted"), [
    ("`set((p[i] + i for i in range(3)))`", "`set(p[i]  + i for i in range(3))`"),
    ("`len(set((p[i] + i for i in range(3))))`", "`len(set(p[i]  + i for i in range(3)))`"),
    ("`None` is", "`w` is"),
])
def test_what_is_cited_is_spelled_as_in_the_source(text: str, wanted: str) -> None:
    span = Span(2, 51, 2, 52)  # `w`
    assert user_terms(read_text(GENERATOR, "f", "f.py")).text(text, span) == wanted


@pytest.mark.parametrize(("text", "span", "wanted"), [
    ("`text[_i]` is one", Span(2, 4, 3, 33), "an item of `text` is one"),
    ("`text[_z_i]` is one", Span(2, 4, 3, 33), "`text[z]` is one"),
    ("`text[_i]` is one", CALL, "`groups[key].append(z % 2)` is one"),
])
def test_an_item_that_a_loop_binds(text: str, span: Span, wanted: str) -> None:
    """It is no statement: what is said of the item is not said of the loop."""
    assert TERMS.text(text, span) == wanted


METHOD = """\
def step(self, p, x):
    for i in range(self.grid.n):
        self.u_old[i] = p.w * x[i]
"""


@pytest.mark.parametrize(("made", "wanted"), [
    ("self_u_old", "self.u_old"), ("self_u_old_1", "self.u_old"), ("self_grid_n", "self.grid.n"),
    ("p_w", "p.w"), ("self_1", "self"), ("x_w", "x"), ("self_u_old[i]", "self.u_old[i]"),
])
def test_the_name_of_a_member_is_that_member(made: str, wanted: str) -> None:
    types = dict.fromkeys(("self", "p"), ObjectType(object, ()))
    terms = user_terms(read_text(METHOD, "step", "f.py"), types)
    assert terms.text(f"`{made}` is", None) == f"`{wanted}` is"


def test_all_texts_of_a_rejection_are_translated() -> None:
    r = Rejection(
        "VECTOR_CARRIED", "`z_1` is", CALL, (Label(CALL, "`_dict_slot`"),), "`z_2`", "use `z_3`",
    )
    new = TERMS.rejection(r)
    assert (new.message, new.note, new.help) == ("`z` is", "`z`", "use `z`")
    assert new.labels[0].text == "`groups[key].append(z % 2)`"


def test_a_function_is_no_value() -> None:
    r = Rejection("VECTOR_CARRIED", "`dot` is carried", Span(4, 11, 4, 22))
    assert TERMS.rejection(r).message == '`dot(z, "a")` is carried'
    refused = Rejection("LOWER_CALL", "`dot` is not compiled", Span(4, 11, 4, 22))
    assert TERMS.rejection(refused).message == refused.message


def test_which_rejections_are_about_the_source() -> None:
    assert TERMS.has(Rejection("FUSE_REJECT_DEPENDENCE", "`z_1` and `groups_slot`"))
    assert not TERMS.has(Rejection("FUSE_REJECT_DEPENDENCE", "`z_1` and `short`"))


def test_cited_names() -> None:
    assert cited_names("`a.b[c]` of `'d e'` and f") == {"a", "c"}
