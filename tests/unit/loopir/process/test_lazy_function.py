"""Lazy functions: imported at the first call, once, and again after an import that failed."""
from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

from loopir.process.lazy_function import LazyFunction, lazy_function


def test_the_module_is_imported_at_the_first_call() -> None:
    digest = lazy_function("loopir.process", "digests:hexdigest")
    assert digest.__name__ == "hexdigest"
    assert not digest.is_imported
    assert len(digest(b"")) > 8
    assert digest.is_imported
    assert inspect.unwrap(digest) is sys.modules["loopir.process.digests"].hexdigest


def test_a_function_may_have_the_name_of_its_module() -> None:
    simplify = lazy_function("loopir.passes", "canonical.simplify")
    assert repr(simplify) == "<lazy function loopir.passes.canonical.simplify:simplify>"
    assert simplify.__wrapped__.__module__ == "loopir.passes.canonical.simplify"


def test_an_import_that_fails_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "made_for_lazy_function.py"
    path.write_text("raise MemoryError")
    double = LazyFunction(path.stem, "double")
    with pytest.raises(MemoryError):
        double(2)
    assert not double.is_imported
    path.write_text("def double(n, *, more=0):\n    return 2 * n + more\n")
    assert double(2, more=1) == 5
