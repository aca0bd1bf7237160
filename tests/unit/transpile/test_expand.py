"""Macros: what each docstring shows, and that Python gives the same answer before and after."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import math
import operator
import re
import textwrap
from typing import Any

import macro_programs
import numpy as np
import pytest
from agree import assert_same, outcome
from macro_programs import PROGRAMS, expanded, runnable
from worlds import World

from transpile import expand, ops
from transpile.analysis.type_inference import flow_facts
from transpile.expand import MACROS
from transpile.frontend import source
from transpile.frontend.ast_walk import walk_nodes
from transpile.frontend.core_nodes import obstacle, with_plain_nodes
from transpile.frontend.macros import macro_patterns
from transpile.frontend.unparse import print_python

pytestmark = pytest.mark.share(1)  # each row is met in a plain run

NAN = float("nan")


def test_what_is_below_a_tree_is_all_but_contexts_and_operators() -> None:
    tree = ast.parse(inspect.getsource(World))
    bare = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    assert set(walk_nodes(tree)) == {n for n in ast.walk(tree) if not isinstance(n, bare)}


# -- docstrings

MODULES = {"np": np, "ops": ops, "math": math, "operator": operator, "reduce": functools.reduce}
MODULES |= {name: getattr(itertools, name) for name in dir(itertools) if name[0] != "_"}
WORLD: dict[str, Any] = {n: np.zeros(3) for n in ("x", "y", "a", "out")}
WORLD |= {"k": np.zeros(3, int), "X": np.zeros((3, 3)), "s": 0.0, "t": 0.0, "e": 0.0}
WORLD |= {"i": 1, "j": 1, "n": 3}


@pytest.mark.parametrize("macro", MACROS, ids=lambda m: m.__name__)
def test_docstring(macro):
    _, _, example = inspect.getdoc(inspect.unwrap(macro)).partition("\n\n")
    before, _, after = example.partition("→\n")
    after = after.partition("\n\n")[0]
    text = f"def f({', '.join(WORLD)}):\n" + textwrap.indent(textwrap.dedent(before), "    ")
    tree = ast.parse(text).body[0]
    names: dict = {**MODULES, "MOVES": (1, 0, -1)}
    exec(text, names)
    got = expand.expand(tree, World(names["f"], tuple(WORLD.values())))
    shown = re.escape(textwrap.dedent(after).strip()).replace("…", ".*")
    printed = "\n".join(ast.unparse(with_plain_nodes(s)) for s in got.body)
    assert re.fullmatch(shown, printed, re.DOTALL)


# -- behaviour: each program on each of its arguments, before and after

CASES = [
    pytest.param(fn, args, id=f"{fn.__name__}-{k}")
    for fn, cases in PROGRAMS
    for k, args in enumerate(cases)
]


@pytest.mark.share(12)
@pytest.mark.parametrize(("fn", "args"), CASES)
def test_same_answer(fn, args):
    wanted = outcome(fn, args)
    tree = expanded(fn, *args)
    assert_same(outcome(runnable(tree, fn), args), wanted, print_python(tree))


@pytest.mark.share(26)
@pytest.mark.parametrize(("fn", "args"), CASES)
def test_names_and_positions(fn, args):
    before = source.read_source(fn).tree
    text = ast.dump(before, include_attributes=True)
    tree = expand.expand(before, World(fn, args))
    assert ast.dump(before, include_attributes=True) == text, "the tree given has been changed"
    names = {n.id for n in ast.walk(before) if isinstance(n, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            assert node.id in names or node.id[0] == "_" or node.id in BUILTINS
        if isinstance(node, (ast.expr, ast.stmt)):
            assert before.lineno <= node.lineno <= before.end_lineno
    again = expand.expand(tree, World(fn, args))
    assert print_python(again) == print_python(tree), "a second expansion finds more to do"


BUILTINS = {"len", "range", "min", "max", "bool", "ValueError", "int", "np"}


# -- what is core Python afterwards

CORE = [
    macro_programs.comprehension_over_list,
    macro_programs.nested_comprehensions,
    macro_programs.generator_over_generator,
    macro_programs.for_elements,
    macro_programs.loop_variable_changed,
    macro_programs.counted,
    macro_programs.zipped,
    macro_programs.zip_of_three_and_a_range,
    macro_programs.backwards,
    macro_programs.rows,
    macro_programs.rows_counted,
    macro_programs.row_elements,
    macro_programs.swap,
    macro_programs.shape,
    macro_programs.sums,
    macro_programs.sums_from,
    macro_programs.extremes,
    macro_programs.any_all,
    macro_programs.nested_any,
]


@pytest.mark.parametrize("fn", CORE, ids=lambda fn: fn.__name__)
def test_nothing_is_left_over(fn):
    args = next(cases[1] for program, cases in PROGRAMS if program is fn)
    tree = expanded(fn, *args)
    for node in ast.walk(tree):
        assert not isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.AugAssign))
        if isinstance(node, ast.For):
            assert isinstance(node.target, ast.Name)
            assert isinstance(node.iter, ast.Call)
            assert ast.unparse(node.iter.func) == "range"


def test_globals_and_closures():
    t = 2.0

    def f(x):
        return sum(v * t for v in x if v > LIMIT)

    x = np.arange(4.0)
    assert runnable(expanded(f, x), f)(x) == f(x) == 10.0


LIMIT = 1.0


def test_a_name_of_ones_own_is_not_taken():
    def f(x, _i, _v):
        _list = 1
        return [v + _i + _v + _list for v in x]

    x = np.arange(3.0)
    assert runnable(expanded(f, x, 1, 2), f)(x, 1, 2) == f(x, 1, 2)


def test_unknown_rank_is_left_alone():
    def f(x):
        s = 0
        for v in x:
            s += v
        return s, [v for v in x], min(x)

    text = ast.unparse(expanded(f, [1, 2]))
    assert "for v in x" in text
    assert "s = s + v" not in text
    assert "min(x)" in text


class TestRegister:
    @pytest.fixture(autouse=True)
    def _own_registry(self, monkeypatch):
        monkeypatch.setattr(macro_patterns, "_registered", [])

    def test_expression(self):
        @expand.register
        def twice(node, cx):
            match node:
                case ast.Call(func=ast.Name(id="twice"), args=[a]):
                    return cx.expr("A + A", A=a)
            return None

        def f(x):
            return [twice(v) for v in x]

        x = np.arange(3.0)
        assert runnable(expanded(f, x), f)(x) == [0.0, 2.0, 4.0]

    def test_statement_with_something_before(self):
        @expand.register
        def logged(node, cx):
            match node:
                case ast.Expr(value=ast.Call(func=ast.Name(id="fill"), args=[a, e])):
                    return cx.code("for I in range(len(A)): A[I] = E", I=cx.fresh("i"), A=a, E=e)
            return None

        def f(x):
            fill(x, max(v for v in x))  # noqa: F821
            return x

        x = np.arange(3.0)
        assert list(runnable(expanded(f, x), f)(x)) == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("part", range(3))
def test_each_macro_is_needed(part):
    """Without any one of them its own example stays as it was, or a reason is not noted."""
    def told(tree: ast.AST) -> tuple[str, list[Any]]:
        return ast.dump(tree), [note for n in ast.walk(tree) if (note := obstacle(n))]

    for macro in MACROS[part::3]:
        example = inspect.getdoc(inspect.unwrap(macro)).partition("\n\n")[2].partition("→\n")[0]
        head = f"def f({', '.join(WORLD)}):\n"
        text = head + textwrap.indent(textwrap.dedent(example), "    ")
        names: dict = {**MODULES, "MOVES": (1, 0, -1)}
        exec(text, names)
        world = World(names["f"], tuple(WORLD.values()))
        tree = ast.parse(text).body[0]
        others = tuple(m for m in MACROS if m is not macro)
        full = expand.expand_function(MACROS, tree, world)
        assert told(expand.expand_function(others, tree, world)) != told(full), macro


def test_deep_nests_are_gone_through_once_a_level(monkeypatch) -> None:
    depth, seen = 12, []
    loops = "".join(f"{'    ' * (k + 1)}for i{k} in range(n):\n" for k in range(depth))
    names: dict[str, Any] = {}
    text = f"def f(x, n):\n    s = 0.0\n{loops}{'    ' * (depth + 1)}s += x[i0]\n    return s\n"
    exec(text, names)
    record = flow_facts._record
    monkeypatch.setattr(
        flow_facts, "_record", lambda facts, s: seen.append(s) or record(facts, s)
    )
    expand.expand(ast.parse(text).body[0], World(names["f"], (np.ones(3), 1)))
    assert len(seen) < 10 * depth**2


DEEP = (
    "np.exp(1.0 / (1.0 + {}))", "np.dot({}, X)", "np.where({} > 0, x, 1)", "-{} * x + y",
    "np.add({}, x)[:]", "np.cumsum({})", "np.maximum({}, 0).sum() * x", "({} if n else x)",
)


@pytest.mark.share(12)
@pytest.mark.parametrize("form", DEEP)
def test_deep_expressions_are_not_asked_again_and_again(form, monkeypatch) -> None:
    """What is asked of an expression grows with its depth, and no faster than its square."""
    seen = []
    look = flow_facts.infer_fact
    monkeypatch.setattr(
        flow_facts, "infer_fact", lambda facts, e: seen.append(e) or look(facts, e)
    )
    counts = []
    for depth in (4, 12):
        e = "x"
        for _ in range(depth):
            e = form.format(e)
        names: dict[str, Any] = {"np": np}
        text = f"def f(x, y, X, n):\n    for i in range(n):\n        x -= {e}\n    return x\n"
        exec(text, names)
        world = World(names["f"], (np.ones(3), np.ones(3), np.ones((3, 3)), 3))
        seen.clear()
        expand.expand(ast.parse(text).body[0], world)
        counts.append(len(seen))
    assert counts[1] < 15 * counts[0]
