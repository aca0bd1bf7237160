"""What macros declare: the driver asks each macro wherever it would fire, and little more."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from macro_programs import PROGRAMS as WRITTEN
from run.arrays import PROGRAMS as ON_ARRAYS
from run.programs import PROGRAMS as IN_LOOPS
from worlds import World

from transpile import expand
from transpile.expand import MACROS
from transpile.frontend import source
from transpile.frontend.macros import macro_index
from transpile.frontend.macros.macro_context import Context
from transpile.frontend.macros.macro_index import MacroIndex, fires_on

FUNCTIONS: dict[Callable[..., Any], tuple[Any, ...]] = {
    **{p.function: p.make(9, np.random.default_rng(9)) for p in (*IN_LOOPS, *ON_ARRAYS)},
    **{function: cases[0] for function, cases in WRITTEN},
}
candidates_only = MacroIndex.candidates


def all_macros(self: MacroIndex, node: ast.AST, cx: Context) -> Iterator[Callable[..., Any]]:
    """All macros; asserts that none fires that is no candidate."""
    known = [*candidates_only(self, node, cx)]

    def told(macro: Callable[..., Any]) -> Callable[..., Any]:
        def ask(node: ast.AST, cx: Context) -> Any:
            new = macro(node, cx)
            assert macro in known or new is None, f"{macro} on {ast.unparse(node)}"
            return new

        return ask

    yield from map(told, (*self._on_every_node, *self._indexed))


def test_every_macro_declares_where_it_fires() -> None:
    assert all(macro_index.declarations_of(macro) for macro in MACROS)


@pytest.mark.share(52)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_macro_that_is_no_candidate_does_not_fire(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(function, FUNCTIONS[function])
    tree = source.read_source(function).tree
    # A macro that is asked for nothing may look at a global number, which then is guarded.
    monkeypatch.setattr(Context, "guard", lambda self, e: None)
    few = expand.expand(tree, world)
    monkeypatch.setattr(MacroIndex, "candidates", all_macros)
    assert ast.dump(expand.expand(tree, world)) == ast.dump(few)


def fired(macro: Callable[..., Any], text: str) -> list[str]:
    """The expressions of `text` on which `macro` is asked, beside names."""
    tree = ast.parse(f"def f(x, s):\n    {text}").body[0]
    assert isinstance(tree, ast.FunctionDef)
    cx = Context(tree, World(lambda x, s: None, (np.zeros(3), 0.0)), {})
    nodes = (n for n in ast.walk(tree) if isinstance(n, (ast.expr, ast.stmt)))
    found = [n for n in nodes if macro in [*MacroIndex([macro]).candidates(n, cx)]]
    return [ast.unparse(n) for n in found if not isinstance(n, (ast.Name, ast.FunctionDef))]


def plain(node: ast.AST, cx: Context) -> None:
    """Declares nothing."""


@fires_on(ast.Call, calls=[np.sum, ".sum"])
@fires_on(ast.Assign, targets=ast.Name, value=ast.BinOp)
def summed(node: ast.AST, cx: Context) -> None:
    """Declares two kinds of nodes."""


@fires_on(ast.Call, calls=[len], when=lambda node, _: len(node.args) == 1)
def counted(node: ast.AST, cx: Context) -> None:
    """Declares more than types."""


@pytest.mark.parametrize(
    ("macro", "text", "on"),
    [
        (plain, "s = 1", ["s = 1", "1"]),
        (summed, "s = _np.sum(x) * 2", ["s = _np.sum(x) * 2", "_np.sum(x)"]),
        (summed, "x[0] = x.sum() + s.sum", ["x.sum()"]),
        (summed, "s = t = _np.max(x) + s", []),
        (summed, "s += sum(x)", []),
        (counted, "s = len(x) + len()", ["len(x)"]),
    ],
)
def test_who_is_asked(macro: Callable[..., Any], text: str, on: list[str]) -> None:
    assert fired(macro, text) == on


def test_a_macro_that_is_imported_while_a_function_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It fires on the function of NumPy, and not on what a program has in its place."""
    original, mock = np.cross, lambda *_: None
    with monkeypatch.context() as replaced:
        replaced.setattr(np, "cross", mock)
        (callee,) = macro_index.on(ast.Call, calls=[np.cross]).calls or ()
    assert callee == id(original)
    assert macro_index._functions.get(id(mock)) is not mock


def test_a_field_that_is_not_looked_at_is_an_error() -> None:
    with pytest.raises(ValueError, match="Assign is not selected by its target"):
        fires_on(ast.Assign, target=ast.Name)
