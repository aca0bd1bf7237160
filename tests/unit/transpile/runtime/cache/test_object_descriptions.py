"""What a name is bound to is described for other processes, unless it may be another one there."""
from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np
import pytest

from transpile.frontend.inline.library_functions import LIBRARY_MODULES
from transpile.runtime.cache.object_descriptions import description


@pytest.mark.parametrize("name", ["ones", "full", "eye", "identity", "tri", "zeros", "sum", "exp"])
def test_functions_of_numpy_are_described_in_whatever_language_they_are(name: str) -> None:
    found = description(getattr(np, name))
    assert found is not None
    assert found[-1] == name


def test_a_function_in_the_place_of_one_of_numpy_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    @functools.wraps(np.ones)
    def ones(*args: Any) -> Any:
        return np.zeros(*args)

    assert description(ones) is None
    monkeypatch.setattr(np, "ones", ones)
    assert description(np.ones) is None
    monkeypatch.setattr(np.full, "__code__", ones.__wrapped__.__code__.replace(co_filename="a.py"))
    assert description(np.full) is None


def test_functions_of_the_user_are_not() -> None:
    assert description(test_functions_of_the_user_are_not) is None


@pytest.mark.parametrize("module", LIBRARY_MODULES)
def test_functions_that_are_compiled_from_python_forms_are_described(module: str) -> None:
    """Else their callers are compiled in each process, and not built into packages."""
    for name in LIBRARY_MODULES[module]:
        function = getattr(importlib.import_module(module), name)
        assert description(function) == ("builtin_function_or_method", module, name)
