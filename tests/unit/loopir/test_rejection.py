"""Rejections as data: what is asked of them is a field or a property."""
from __future__ import annotations

import pytest

from loopir.nodes import Span
from loopir.rejection import HelperLine, Rejection, family_of
from transpile.codes import CODES


@pytest.mark.parametrize(("code", "family"), [
    ("LOWER_CALL", "LOWER"), ("FUSE_REJECT_EFFECTS_RNG", "FUSE"), ("VECTOR_SMALL", "VECTOR"),
])
def test_family(code: str, family: str) -> None:
    assert code in CODES
    assert family_of(code) == family
    assert Rejection(code, "a message").family == family


def test_line_of_a_rejection_and_of_its_helper() -> None:
    rejection = Rejection(
        "LOWER_CALL", "a message", Span(3, 4, 3, 9), helper=HelperLine("area", "geometry.py", 7)
    )
    assert rejection.line == 3
    assert str(rejection.helper) == "in `area`, geometry.py:7"
    assert Rejection("BUILD_FAILED", "a message").line is None
