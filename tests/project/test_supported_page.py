"""The examples of docs/supported.md: each is compiled as a whole, and gives what Python gives."""
from __future__ import annotations

import ast
import importlib.util
import re
import sys
from array import array
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from paths import ROOT

from transpile import fuse

TEXT = (ROOT / "docs" / "supported.md").read_text(encoding="utf-8")

PRELUDE = """\
import bisect
import functools
import heapq
import itertools
import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass

import numpy as np

from transpile import ops

@dataclass
class Pair:
    total: float
    n: int

class Model:
    def __init__(self):
        self.rate, self.bias, self.count, self.history = 0.5, np.ones(3), 0, [0.25, 1.5]
    def scaled(self, v):
        return v * self.rate
"""


def examples() -> Iterator[tuple[str, list[str]]]:
    """The feature and the lines of each example."""
    for row in re.findall(r"^\| (.*) \|$", TEXT, re.MULTILINE):
        cells = re.split(r"(?<!\\) \| ?", row)
        if len(cells) == 3 and cells[1].startswith("`"):
            code = re.findall(r"`(.+?)`", cells[1].replace("\\|", "|"))
            yield re.sub(r"\W+", " ", cells[0]).strip(), code


def values(module: ModuleType | None) -> dict[str, Any]:
    """The names that the page says what they are."""
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(2, 45))
    return {
        "x": x, "y": y, "w": np.sort(rng.normal(size=45)),
        "X": rng.normal(size=(6, 9)), "Y": rng.normal(size=(6, 9)),
        "out": np.zeros(45), "OUT": np.zeros((6, 9)),
        "m": x > 0.2, "ix": rng.integers(0, 45, 30),
        "a": rng.integers(0, 9, 45), "b": rng.integers(1, 9, 45),
        "z": x + 1j * y, "xs": x.tolist(), "ys": y.tolist(),
        "text": "ACGTA" * 9, "raw": b"ACGTA" * 9, "packed": array("i", range(45)),
        "ks": rng.integers(0, 9, 45).tolist(), "rows": rng.normal(size=(5, 4)).tolist(),
        "s": 0.5, "t": -0.25, "n": 9, "k": 4,
        "obj": module and module.Model(), "rng": np.random.default_rng(3),
        "rec": np.array(list(zip(x, y, strict=True)), [("p", float), ("q", float)]),
    }


def written(lines: list[str]) -> str:
    """A module with the example as the function ``example``; its last expression is the result."""
    body = ast.parse("\n".join(lines)).body
    at = body[-1].lineno - 1
    if isinstance(body[-1], ast.Expr):
        is_effect = lines[at].startswith("np.add.at")
        lines = [*lines[:at], ("" if is_effect else "return ") + lines[at], *lines[at + 1 :]]
    used = {n.id for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.Name)}
    bound = {
        n.id for n in ast.walk(ast.Module(body, []))
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    parameters = [name for name in values(None) if name in used - bound]
    text = "\n".join("    " + line for line in lines)
    return f"{PRELUDE}\n\ndef example({', '.join(parameters)}):\n{text}\n"


def plain(value: Any) -> Any:
    """`value` as nested lists and numbers, to compare."""
    if hasattr(value, "__dict__"):
        value = vars(value)
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, np.random.Generator):
        return value.random()
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value


def assert_close(got: Any, wanted: Any) -> None:
    assert type(got) is type(wanted)
    if isinstance(wanted, (list, tuple)):
        assert len(got) == len(wanted)
        for pair in zip(got, wanted, strict=True):
            assert_close(*pair)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        assert_close([*got.values()], [*wanted.values()])
    elif isinstance(wanted, (np.ndarray, np.generic, float, complex)):
        assert np.asarray(got).dtype == np.asarray(wanted).dtype
        exact = np.asarray(wanted).dtype.kind in "biu"
        np.testing.assert_allclose(got, wanted, rtol=0 if exact else 1e-9, atol=1e-12)
    else:
        assert got == wanted


CASES = dict(examples())


def test_there_are_examples() -> None:
    assert len(CASES) == len(list(examples())) > 80, "two features of one name"


@pytest.mark.share(10)
@pytest.mark.parametrize("feature", CASES)
def test_example(feature: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    path = tmp_path / "example_page.py"
    path.write_text(written(CASES[feature]), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("example_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "example_page", module)
    spec.loader.exec_module(module)
    function = module.example
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    mine = [values(module)[name] for name in names]
    theirs = deepcopy(mine)
    fused = fuse(function)
    wanted = function(*theirs)
    got = fused(*mine)
    assert_close(plain(got), plain(wanted))
    assert_close(plain(mine), plain(theirs))
    assert fused.stats.compiled >= 1
