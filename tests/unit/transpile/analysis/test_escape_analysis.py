"""Escape analysis of arrays: whether a name is the only reference to its array."""
from __future__ import annotations

import pytest
from parsed import function, resolve

from transpile.analysis.escape_analysis import EscapeAnalysis

ALONE = {
    "a = np.zeros(n)\na = np.zeros(n)": True,
    "a = np.zeros(n)\ns = a[0] + a.sum()\nreturn a": True,
    "a = x\na = np.zeros(n)": False,
    "a = x[1:]": False,
    "a = np.zeros(n)\nb = a": False,
    "a = np.zeros(n)\nb = a[1:]": False,
    "a = np.zeros(n)\ng(a)": False,
    "a = np.zeros(n)\nb = np.sqrt(a)": True,
    "a = np.zeros(n)\nb = [a]": False,
}


@pytest.mark.parametrize("body", ALONE)
def test_arrays(body: str) -> None:
    found = EscapeAnalysis(function(body), resolve, {"x"}, sliced=False)
    assert found.is_sole_reference("a", 1) == ALONE[body]
