"""Core Python nodes: origins travel with positions, and `ReplayIf` means what its ``if`` means."""
from __future__ import annotations

import ast

import pytest

from transpile.diagnostics import InlinedAt
from transpile.frontend import core_nodes as core
from transpile.frontend.ast_walk import copy_tree
from transpile.frontend.unparse import print_python

HELPER = InlinedAt("helper", "file.py", 7, None)


def statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


@pytest.mark.parametrize("kind", ["step", "atomic", "fold", "search"])
def test_marks_travel_with_the_location(kind: str) -> None:
    mark, is_marked = getattr(core, f"mark_{kind}"), getattr(core, f"is_{kind}")
    old = statement("a = b + c")
    assert not is_marked(old)
    mark(old)
    new = core.copy_location(ast.Pass(), old)
    assert is_marked(new)
    assert is_marked(copy_tree(new))
    assert (new.lineno, new.end_col_offset) == (1, 9)
    assert not is_marked(core.copy_location(new, statement("d")))


def test_nodes_without_a_position_inherit_origin_and_position() -> None:
    loop = statement("for i in x:\n    pass")
    core.mark_fold(loop)
    loop.body = [ast.Expr(ast.Name("y", ast.Load()))]
    core.fix_missing_locations(loop)
    assert core.is_fold(loop.body[0].value)
    assert not core.is_fold(loop.target)
    assert loop.body[0].end_lineno == 2


def test_an_inlined_node_keeps_its_marks_and_takes_those_of_the_call() -> None:
    call, node = statement("f(x)"), statement("return y * 2").value
    core.mark_step(node)
    core.mark_atomic(call)
    core.relocate(node, call, HELPER)
    assert core.inlined_at(node) == HELPER
    assert core.is_step(node)
    assert core.is_atomic(node)
    assert node.col_offset == 0
    assert core.inlined_at(call) is None


def test_a_replay_guard_runs_and_prints_as_an_if() -> None:
    plain = statement("if n < 0:\n    y = 1\nelse:\n    y = 2")
    guard = core.copy_location(core.ReplayIf(plain.test, plain.body, plain.orelse), plain)
    module = core.fix_missing_locations(ast.Module([guard], []))
    for n, y in ((-1, 1), (1, 2)):
        names = {"n": n}
        exec(compile(module, "core Python", "exec"), names)
        assert names["y"] == y
    shown = ast.parse(print_python(module)).body[0]
    assert isinstance(shown, ast.If)
    assert ast.unparse(shown.body[0]).strip("\"'") == "Python's to answer"
    assert ast.unparse(shown.body[1]) == "y = 1"
    assert isinstance(module.body[0], core.ReplayIf)
