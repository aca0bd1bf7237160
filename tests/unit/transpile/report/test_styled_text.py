"""Texts of reports are printed, whatever the encoding of stdout."""
from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from transpile import fuse
from transpile.report.styled_text import printable


def shifted(a, t):
    for i in range(len(a)):
        t[i] = a[i] * 0.5
    for i in range(len(a) - 1):
        a[i] = t[i + 1] - t[i]


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_a_report_is_printed(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(9)
    f = fuse(shifted)
    report = f.report(x, x.copy())
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding))
    print(report)
    print(f.listing(x, x.copy()))
    sys.stdout.flush()
    text = out.getvalue().decode(encoding)
    assert "shifted(a: f64[:], t: f64[:])" in text
    assert ("│" in text) == (encoding == "utf-8")
    assert "t[i] = a[i] * 0.5" in text


def test_without_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a program of Windows without a console."""
    monkeypatch.setattr(sys, "stdout", None)
    assert printable("a → b") == "a → b"
