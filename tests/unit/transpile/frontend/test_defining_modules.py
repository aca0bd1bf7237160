"""What defines a function, class or object, without running code of the user's."""
from __future__ import annotations

import enum
import functools
import math
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from for_each import for_each

from transpile.frontend.defining_modules import (
    is_builtin,
    is_installed,
    is_numpy_function,
    is_numpy_random,
    is_numpys,
    is_of_math,
    is_standard,
    module_of,
    package_of,
)


class Model:
    """Its attributes may not be read."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


class _Meta(type):
    """A metaclass of the user's."""


class Made(metaclass=_Meta):
    """A class of another metaclass."""


class Colour(enum.Enum):
    """A class whose metaclass is of the standard library."""

    RED = 1


ROWS: tuple[tuple[object, str], ...] = (
    (np.linalg.norm, "numpy.linalg"), (np.sum, "numpy"), (np.float64, "numpy"),
    (np.vectorize(abs), "numpy"), (int, "builtins"), (len, "builtins"), (math.sqrt, "math"),
    (os.path.join, os.path.__name__), (functools.partial(abs), "functools"), ([].append, ""),
    (list.append, ""), (5, ""), (None, ""), (np.zeros(1), ""), (Model, __name__),
    (Model(), __name__), (Made, __name__), (Made(), __name__), (Colour, __name__),
)


@for_each(ROWS, name=lambda row: row[1])
def test_module_of(row: tuple[object, str]) -> None:
    value, module = row
    assert module_of(value) == module
    assert package_of(value) == module.partition(".")[0]


def test_questions() -> None:
    assert is_numpys(np.sum)
    assert is_numpys(np.ndarray)
    assert not is_numpys(math.sqrt)
    assert is_numpy_function(np.add)
    assert not is_numpy_function(len)
    assert is_numpy_random(np.random.default_rng)
    assert not is_numpy_random(random.random)
    assert is_builtin(len)
    assert is_builtin(ValueError)
    assert not is_builtin(math.sqrt)
    assert is_of_math(math.hypot)
    assert not is_of_math(np.hypot)
    assert is_standard(os.path.join)
    assert not is_standard(np.sum)
    assert not is_standard(Model)


def test_a_module_whose_name_only_starts_like_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    def f() -> None:
        """A function of another library."""

    monkeypatch.setattr(f, "__module__", "numpydoc.validate")
    assert not is_numpys(f)
    monkeypatch.setattr(f, "__module__", "numpy.randomised")
    assert not is_numpy_random(f)
    monkeypatch.setattr(f, "__module__", "numpy.random.mtrand")
    assert is_numpy_random(f)


def test_installed_files_are_below_the_folders_of_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_installed(np.__file__)
    assert is_installed(Path(os.__file__))
    monkeypatch.setattr("sys.path", [str(tmp_path / "site-packages")])
    assert is_installed(tmp_path / "site-packages" / "module.py")
    assert not is_installed(tmp_path / "module.py")
    assert not is_installed(tmp_path / "site-packages-2" / "module.py")
