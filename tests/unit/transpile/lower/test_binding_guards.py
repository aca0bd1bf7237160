"""What compiled code owes to the value of a global, an attribute or a cell is guarded by it."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse

# An expression of the array X and of P, and values of P in turn. P is also read as a number, where
# it is one: such a name is passed to the kernel, and by that alone its value is not guarded.
USES: dict[str, tuple[Any, ...]] = {
    "np.linalg.norm(X[0], P) * P": (2, 1),
    "np.sum(X, axis=P) * P": (0, 1),
    "np.var(X, ddof=P) * P": (1, 0),
    "np.roll(X, P) * P": (3, 1),
    "np.diff(X, P) * P": (1, 2),
    "np.round(X, P) * P": (3, 1),
    "np.tril(X, P) * P": (1, -1),
    "np.quantile(X, P) * P": (0.5, 0.25),
    "np.repeat(X, P, axis=0).sum() * P": (2, 3),
    "np.histogram(X.ravel(), bins=P)[0].sum() * P": (4, 3),
    "np.sum(X, axis=0, keepdims=P) * P": (True, False),
    "X ** P * P": (2, 3, 0.5),
    "X.reshape(P, -1) * P": (4, 2),
    "X.astype(P)": ("f4", "i8"),
    "np.array([1, 2, 3], dtype=P)": ("f4", "i8"),
    "X.sum(dtype=P)": ("f4", "f8"),
    "np.zeros(3, P)": (np.float32, np.int64),
    "np.pad(X, 1, mode=P)": ("constant", "edge"),
    "np.meshgrid(X[0], X[1], indexing=P)[0]": ("ij", "xy"),
    "np.zeros(P)": ((2, 3), (3, 2), (4,)),
    "X[P]": (np.s_[1:], np.s_[:, 1]),
    "P(X)": (np.sqrt, np.square),
}

TEXT = """
import numpy as np
from types import ModuleType

P = None
settings = ModuleType("settings")

def by_global(x):
    return {of_global}

def by_attribute(x):
    return {of_attribute}

def closed_over(value):
    def by_cell(x):
        return {of_cell}

    def bind(new):
        nonlocal cell
        cell = new

    cell = value
    return by_cell, bind
"""


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.share(16)
@pytest.mark.parametrize(
    "text",
    [pytest.param(t, marks=pytest.mark.plain) if "type" in t or "norm" in t else t for t in USES],
)
def test_another_value_gives_another_result(text: str, tmp_path: Path) -> None:
    values = USES[text]
    expression = text.replace("X", "x")
    module = written(tmp_path, TEXT.format(
        of_global=expression, of_attribute=expression.replace("P", "settings.P"),
        of_cell=expression.replace("P", "cell"),
    ))
    by_cell, bind_cell = module.closed_over(values[0])

    def bind(value: Any) -> None:
        module.P = module.settings.P = value
        bind_cell(value)

    bind(values[0])
    plain = [module.by_global, module.by_attribute, by_cell]
    fused = [fuse(f) for f in plain]
    x = np.arange(1.0, 17.0).reshape(4, 4)
    for value in (*values, *values, *reversed(values)):
        bind(value)
        for f, g in zip(plain, fused, strict=True):
            wanted, got = np.asarray(f(x)), np.asarray(g(x))
            assert got.dtype == wanted.dtype
            assert got.shape == wanted.shape
            assert np.allclose(got, wanted, equal_nan=True), (f.__name__, value)


def test_a_number_that_is_only_computed_with_is_not_guarded(tmp_path: Path) -> None:
    module = written(tmp_path, "P = 0.0\ndef scaled(x):\n    return x * P + P\n")
    f, x = fuse(module.scaled), np.arange(5.0)
    for k in range(20):
        module.P = k / 2
        assert np.array_equal(f(x), module.scaled(x))
    assert f.stats.compiled == 20


BEYOND = """
from types import ModuleType

class Config:
    scale = 2

settings = ModuleType("settings")
settings.scale = 2

def of_a_class(x):
    return x * Config.scale

def of_a_module(x):
    return x * settings.scale

def alone(x):
    return Config.scale
"""


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("name", ["of_a_class", "of_a_module", "alone"])
@pytest.mark.parametrize("first", [2, 2**64 + 3])
def test_an_attribute_beyond_64_bits_is_pythons(name: str, first: int, tmp_path: Path) -> None:
    module = written(tmp_path, BEYOND)
    f, plain = fuse(getattr(module, name)), getattr(module, name)
    for value in (first, 3, 2**63, -(2**63), -(2**63) - 1, 2**2000, first):
        module.Config.scale = module.settings.scale = value
        for x in (1, 5, 0.5):
            if value == 2**2000 and x == 0.5 and name != "alone":
                continue  # OverflowError
            assert f(x) == plain(x), (value, x)


def test_the_variable_of_a_comprehension_is_no_global(tmp_path: Path) -> None:
    text = "k = 0\ndef rows(n):\n    return [[0] * n for k in range(n)]\n"
    module = written(tmp_path, f"{text}def again(n):\n    return [k for k in range(n)][0] + k\n")
    f, g = fuse(module.rows), fuse(module.again)
    for value in range(5):
        module.k = value
        assert f(3) == [[0] * 3] * 3
        assert g(3) == value
    (case,) = f._specializations.values()
    assert len(case.variants) == 1
