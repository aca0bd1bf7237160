"""Regions are not made of loops that can never do enough to outweigh a call of compiled code."""
from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from loopir.nodes import Span
from transpile import fuse
from transpile.frontend.ast_names import bound_names
from transpile.frontend.name_resolution import Scope
from transpile.runtime.outline.region_facts import RegionFacts
from transpile.types.typeof import type_of


def is_too_short(text: str, **values: Any) -> bool:
    """Of a loop with this body, in a function with parameters of these values."""
    body = "".join(f"    {line}\n" for line in text.splitlines())
    tree = ast.parse(f"def f({', '.join(values)}):\n    s = 0.0\n{body}").body[0]
    assert isinstance(tree, ast.FunctionDef)
    types = {name: type_of(value) for name, value in values.items()}
    names = {"np": np, "abs": abs, "sum": sum, "range": range, "min": min}
    local = frozenset(values) | bound_names(*tree.body)
    scope = Scope(local, globals=names)
    nowhere = Span(1000, 0, 1000, 1)
    return RegionFacts(tree, types, scope, nowhere).is_too_short(tree.body[1:])


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(3):\n    s = s + a\n    s = s * b",
        "for i in range(8):\n    s += a",
        "for i in range(4, 0, -2):\n    s = s + a if a > b else s",
        "for v in (1.0, 2.5):\n    s += b",
        "for i in range(2):\n    if a > b:\n        s += abs(a)\n    else:\n        s -= a",
        "for i in range(0):\n    s += np.sum(xs)",
        "for i in range(2):\n    for j in range(3):\n        s = s + a",
        "for i in range(4):\n    s += ys[i]",
    ],
)
def test_few_operations_of_scalars(text: str) -> None:
    assert is_too_short(text, a=1.5, b=0.5, n=3, xs=np.ones(3), ys=[1.0, 2.0])


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(n):\n    s = s + a",
        "for i in range(9):\n    s = s + a",
        "for i in range(3):\n    s = s + xs[i]\n    s = s * a",  # of NumPy: 3 times as long
        "for i in range(2):\n    zs = xs + xs",
        "for i in range(2):\n    s += np.sum(xs)",
        "for i in range(2):\n    s += sum(ys)",
        "for i in range(2):\n    zs = [v for v in ys]",
        "for i in range(2):\n    k = n ** n",
        "for i in range(2):\n    zs = ys + ys",
        "for i in range(2):\n    zs = ys[1:]",
        "for i in range(2):\n    t = a in ys",
        "for i in range(2):\n    s = s + unknown",
        "while s < 3:\n    s += 1.0",
        "for v in ys:\n    s += v",
    ],
)
def test_what_may_take_long(text: str) -> None:
    assert not is_too_short(text, a=1.5, b=0.5, n=3, xs=np.ones(3), ys=[1.0, 2.0])


def rows(things: Any, a: float, b: float, x: Any) -> Any:
    out = {}
    for thing in things:
        s = a
        for _ in range(3):
            s = s + b
            s = s * a
        out.setdefault(thing, []).append(s)
    total = 0.0
    for v in x:
        total += v
    return out, total


def test_no_region_is_made_and_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    fused, things, x = fuse(rows, on_reject="silent"), [object(), object()], np.arange(8.0)
    assert fused(things, 1.5, 0.5, x) == rows(things, 1.5, 0.5, x)
    (spec,) = fused._specializations.values()
    assert spec.outlined is not None
    assert [region.fused.stats.compiled for region in spec.outlined.regions] == [1]
    (short,) = [r for r in fused.report().rejections if r.code == "RUN_PYTHON_FASTER"]
    assert short.span is not None
    assert short.line == rows.__code__.co_firstlineno + 4
