"""Regions that are refused in all calls: the function around them gets their statements."""
from __future__ import annotations

import ast
import traceback
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.runtime.outline.inline_refused_regions import with_refused_regions_inlined

REGION = "_tp_region_3_4"


def parsed(text: str) -> ast.FunctionDef:
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


@pytest.mark.parametrize(
    ("call", "body", "expected"),
    [
        ("s, t = R(s, x)", "show(x)\ns = t = 0\nreturn s, t", "show(x)\ns = t = 0"),
        ("t = R(s, x)", "show(x)\nreturn _tp_region_5_4(s)", "show(x)\nt = _tp_region_5_4(s)"),
        ("R(s, x)", "show(x)\n_tp_region_5_4(s)", "show(x)\n_tp_region_5_4(s)"),
        ("R(s, x)", "show(x)\nreturn None", "show(x)\nNone"),
        ("R(s, x)", "show(x)\nreturn", "show(x)"),
        ("return R(s, x)", "if s: return 1\nreturn 2", "if s: return 1\nreturn 2"),
        (
            "t = R(s, x)", "if test(s):\n    t = s\n    return t\nelse:\n    return q(s)",
            "if test(s):\n    t = s\nelse:\n    t = q(s)",
        ),
        ("t = R(s, x)", "if s: return 1\nreturn 2", None),  # it is left before its end
        ("t = R(s, x)", "while s:\n    return 1\nreturn 2", None),
        ("t = R(s, x)", "_tp_value = 1\nreturn _tp_value", None),  # a name that `f` has, too
        ("t = R(s, s)", "show(x)\nreturn s", None),  # not the names of the parameters
    ],
)
def test_the_statements_replace_the_call(call: str, body: str, expected: str | None) -> None:
    def around(lines: str) -> ast.FunctionDef:
        indented = lines.replace("\n", "\n        ")
        return parsed(f"def f(s, x):\n    _tp_value = 1\n    for k in x:\n        {indented}\n")

    tree = around(call.replace("R(", f"{REGION}("))
    region = parsed("def f(s, x):\n    " + body.replace("\n", "\n    "))
    before = ast.dump(tree), ast.dump(region)
    found, inlined = with_refused_regions_inlined(tree, {REGION: region})
    assert ast.unparse(found) == ast.unparse(tree if expected is None else around(expected))
    assert inlined == (set() if expected is None else {REGION})
    assert (ast.dump(tree), ast.dump(region)) == before, "the trees that are given stay"


def levels(x: Any, y: Any, seen: list[Any]) -> Any:
    seen.append(str(x))
    s = 0.0
    for v in y:
        s += v * v
    t = x[:1]  # a slice of a list is refused
    for v in y:
        s -= v
    seen.append(repr(t))
    for v in y:
        s += v / 2
    u = list(x)
    u[0] = s
    for v in y:
        s = s * 0.5 + v
    return s, t, u


def outlined(fused: Any) -> Any:
    (found,) = (s.outlined for s in fused._specializations.values() if s.outlined)
    return found


def is_refused(region: Any) -> bool:
    return any(s.rejection is not None for s in region._specializations.values())


def called_regions(fused: Any) -> list[Any]:
    """The fused functions that the outlined function calls itself."""
    return [cell.cell_contents for cell in outlined(fused).cells.values()]


def test_levels_of_refused_regions_become_one_function() -> None:
    fused = fuse(levels, on_reject="silent")
    x, y = [1.0, 2.0], np.arange(100.0)
    for _ in range(300):
        seen: tuple[list[Any], list[Any]] = [], []
        assert fused(x, y, seen[0]) == levels(x, y, seen[1])
        assert seen[0] == seen[1]
    regions = [region.fused for region in outlined(fused).regions]
    assert any(map(is_refused, regions)), "the example has a refused region"
    assert called_regions(fused)
    assert not any(map(is_refused, called_regions(fused)))
    compiled = fused.stats.compiled
    assert compiled > 300
    fused(x, y, [])
    assert fused.stats.compiled > compiled, "the regions in the refused one still run compiled"
    for other in ([1, 2], ["a", "b"], (1.0, 2.0)):  # other types than those that were refused
        for items in (np.arange(9), [1.5, 2.5], []):
            assert fused(other, items, []) == levels(other, items, [])


def test_an_exception_names_the_line_of_the_user() -> None:
    fused = fuse(levels, on_reject="silent")
    y = np.arange(100.0)
    for _ in range(300):
        fused([1.0, 2.0], y, [])
    lines = []
    for function in (fused, levels):
        with pytest.raises(IndexError) as caught:
            function([], y, [])
        lines.append(traceback.extract_tb(caught.value.__traceback__)[-1].lineno)
    assert lines[0] == lines[1]


def test_the_report_still_has_the_reasons() -> None:
    fused = fuse(levels, on_reject="silent")
    x, y = [1.0, 2.0], np.arange(100.0)
    fused(x, y, [])
    codes = {r.code for r in fused.report(x, y, []).rejections}
    for _ in range(300):
        fused(x, y, [])
    assert {r.code for r in fused.report(x, y, []).rejections} >= codes
