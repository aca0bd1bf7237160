"""Core Python nodes: origins travel with positions, and added nodes mean what their Python does."""
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


@pytest.mark.parametrize("kind", ["operation_part", "atomic", "fold"])
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
    core.mark_operation_part(node)
    core.mark_atomic(call)
    core.relocate(node, call, HELPER)
    assert core.inlined_at(node) == HELPER
    assert core.is_operation_part(node)
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


def test_what_ends_a_search_travels_with_the_location() -> None:
    old = statement("a")
    assert core.search_end(old) is None
    for end in (True, False):
        core.mark_search(old, end)
        assert core.search_end(core.copy_location(ast.Pass(), old)) is end
    core.relocate(new := statement("b"), old, HELPER)
    assert core.search_end(new) is False


def name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def number(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("node", "text", "value"),
    [
        (core.ListPush([name("a")], name("n"), [number("7")]), "(a.insert(n, 7), n + 1)[-1]", 3),
        (
            core.ListPush([name("a"), name("b")], name("n"), [number("7"), number("8")]),
            "(a.insert(n, 7), b.insert(n, 8), n + 1)[-1]", 3,
        ),
        (core.ListPop(name("n")), "n - 1", 1),
        (core.ComplexParts(name("z"), False), "(z.real, z.imag)", (1.5, -2.0)),
        (core.ComplexNumber(name("re"), name("im"), "z"), "complex(re, im)", 3 + 4j),
    ],
)
def test_an_added_expression_runs_and_prints_as_plain_python(
    node: ast.expr, text: str, value: object
) -> None:
    stack: dict[str, list[int]] = {"a": [1, 2], "b": [3, 4]}
    names = {**stack, "n": 2, "z": 1.5 - 2j, "re": 3.0, "im": 4.0}
    line = ast.Expr(copy_tree(node))
    assert print_python(line).strip().strip("()") == text.strip("()")
    plain = core.with_plain_nodes(line).value
    assert eval(compile(ast.Expression(plain), "core Python", "eval"), names) == value
    if isinstance(node, core.ListPush):
        assert stack["a"] == [1, 2, 7]
        assert stack["b"] == ([3, 4, 8] if len(node.buffers) == 2 else [3, 4])


def test_a_message_has_the_name_of_a_split_number() -> None:
    z = core.ComplexNumber(name("z_re"), name("z_im"), "z")
    line = ast.Assign([name("w")], core.ComplexParts(ast.BinOp(z, ast.Mod(), number("2")), True))
    assert core.source_text(core.fix_missing_locations(line)) == "w = z % 2"
    assert isinstance(line.value, core.ComplexParts)


@pytest.mark.parametrize("text", ["(x, y)", "f((x[0], x[1]), 2)", "[(x,), ((y, z), x)]"])
def test_a_message_of_nodes_without_a_place(text: str) -> None:
    """Macros make such tuples; of these none stands for a name."""
    tree = ast.parse(text, mode="eval").body
    for node in ast.walk(tree):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if name in node._attributes:
                delattr(node, name)
    assert core.source_text(tree) == text
