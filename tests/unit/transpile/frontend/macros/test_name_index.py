"""The index finds what a walk over the function finds, also while macros rewrite it."""
from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile.frontend.ast_names import names_used
from transpile.frontend.ast_walk import walk_nodes
from transpile.frontend.macros import name_index
from transpile.frontend.macros.name_index import NameIndex
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.types.typeof import type_of

TEXT = """
def f(x, n=3):
    s = 0.0
    for i, v in enumerate(x):
        if v > n:
            s += v
        else:
            try:
                t = [w for w in x]
            except ValueError as error:
                del error
            finally:
                u = i
    match n:
        case [first, *rest] if first:
            s = rest
    def g(a): return a + s
    with open(n) as z, z: k = lambda b: b
    return s
"""


def _uses(nodes: Any, name: str) -> set[ast.AST]:
    return {n for n in nodes if name in names_used_by(n)}


def names_used_by(n: ast.AST) -> set[str]:
    """The names of the node itself."""
    return names_used(n) if isinstance(n, (ast.Name, ast.arg)) else {
        value for field in ("name", "rest") if isinstance(value := getattr(n, field, None), str)
    }


def test_all_nodes_with_the_name_are_found() -> None:
    tree = ast.parse(TEXT).body[0]
    assert isinstance(tree, ast.FunctionDef)
    being_changed: set[ast.stmt] = set()
    index, names = NameIndex(tree, being_changed), names_used(tree) - {"f"}
    assert {"error", "first", "rest", "a", "b", "z", "w", "u"} <= names
    for is_open in (False, True):  # without and with what is remembered
        if is_open:
            being_changed.add(tree.body[0])
        for name in sorted(names) * 2:
            found = [*index.nodes(name)]
            assert len(found) == len({*found})
            assert _uses(found, name) == _uses(walk_nodes(tree), name), name
    assert not any(isinstance(n, ast.Try) for n in index.nodes("z"))
    inner = [s for block in index.blocks("t") if block is not tree.body for s in block]
    assert any(isinstance(s, ast.Assign) for s in inner)


def test_open_statements_may_change() -> None:
    tree = ast.parse("def f(x):\n    if x: y = 1\n    z = 2").body[0]
    assert isinstance(tree, ast.FunctionDef)
    branch, last = tree.body
    being_changed = {last}
    index = NameIndex(tree, being_changed)
    assert not _uses(index.nodes("w"), "w")
    assert isinstance(last, ast.Assign)
    last.targets = [ast.Name("w", ast.Store())]
    assert _uses(index.nodes("w"), "w")
    being_changed.clear()
    index.forget(last)
    assert _uses(index.nodes("w"), "w")
    being_changed.add(branch)
    assert isinstance(branch, ast.If)
    branch.body = [ast.Assign([ast.Name("v", ast.Store())], ast.Constant(1))]
    assert _uses(index.nodes("v"), "v")


REPEATED = {
    "class": "    t{k} = np.float64\n    s += t{k}(x[{k}])\n",
    "helper": "    s = helper(s, x)\n",
    "scalar": "    a{k} = s * {k}.5\n    s += a{k}\n",
    "branch": "    if s > {k}:\n        s -= 1.5\n    else:\n        s += x[0]\n",
    "tuple": "    p{k}, q{k} = s, s + 1.0\n    s += p{k} * q{k}\n",
}


def _repeated(folder: Path, kind: str, times: int) -> Any:
    lines = "".join(REPEATED[kind].format(k=k) for k in range(times))
    text = f"""
import numpy as np

def helper(a, b, to=np.float64):
    c = to(a)
    if c > 0:
        return c + b[0]
    return c * b[1]

def f(x):
    s = 0.5
{lines}    return s
"""
    return written(folder, text).f


def _calls(run: Callable[[], object]) -> int:
    """How many calls of Python functions `run` makes."""
    count = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", ["class", "helper"])
def test_the_work_grows_as_the_function(kind: str, tmp_path: Path) -> None:
    """Three times as many statements take about three times as many steps to expand."""
    types = {"x": type_of(np.ones(100))}

    def steps(times: int) -> int:
        function = _repeated(tmp_path, kind, times)
        return _calls(lambda: compile_stages(function, types, Options(), stop_after="expand"))

    steps(3)  # imports
    assert steps(120) < 3.4 * steps(40)


def test_nothing_that_is_remembered_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered = NameIndex._names_of
    compared = 0

    def names_of(index: NameIndex, s: ast.stmt) -> frozenset[str]:
        nonlocal compared
        if s in index._names and s not in index._open:
            kept, index._names = index._names, {}
            fresh = remembered(index, s)
            index._names = kept
            assert remembered(index, s) == fresh, ast.unparse(s)
            compared += 1
        return remembered(index, s)

    monkeypatch.setattr(name_index.NameIndex, "_names_of", names_of)
    for kind in REPEATED:
        function = _repeated(tmp_path, kind, 5)
        types = {"x": type_of(np.ones(100))}
        compile_stages(function, types, Options(), stop_after="expand")
    assert compared
