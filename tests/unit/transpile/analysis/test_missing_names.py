"""Undefined names in helpers of helpers: found where they are near, searched for once a helper."""
from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from written import written

from transpile.analysis import missing_names
from transpile.analysis.missing_names import undefined_in_helper
from transpile.diagnostics import Rejection
from transpile.frontend.name_resolution import Scope
from transpile.frontend.source import read_source, span_of


def _missing(function: Any, cited: set[str]) -> Rejection | None:
    tree = read_source(function).tree
    span = span_of(tree.body[0].value)  # type: ignore[attr-defined]
    assert span is not None
    return undefined_in_helper(tree, Scope.of(function), span, cited)


def test_helpers_that_call_one_another_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them calls all others, as in large packages: the ways through them are many."""
    names = [f"h{k}" for k in range(60)]
    helpers = [f"def {n}(v):\n    return {' + '.join(f'{m}(v)' for m in names)}" for n in names]
    f = written(tmp_path, "\n".join((*helpers, "def f(v):\n    return h0(v)\n"))).f
    read = Counter[str]()

    def reading(function: Any) -> Any:
        read[function.__name__] += 1
        return read_source(function)

    monkeypatch.setattr(missing_names, "read_source", reading)
    assert _missing(f, {"absent"}) is None
    assert read["h0"] == 1
    assert len(read) == sum(read.values()) <= 32


def test_a_name_that_is_missing_in_a_helper_of_a_helper_is_found(tmp_path: Path) -> None:
    text = "def g(v):\n    return absent(v)\ndef h(v):\n    return g(v) + h(v)\n"
    f = written(tmp_path, f"{text}def f(v):\n    return h(v)\n").f
    found = _missing(f, {"absent"})
    assert found is not None
    assert found.message == "`absent` is not defined"
    assert _missing(f, {"other"}) is None
