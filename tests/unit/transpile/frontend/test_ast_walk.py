"""Comparison of trees, and walks over them."""
from __future__ import annotations

import ast

import pytest

from transpile.frontend.ast_walk import (
    all_blocks,
    breaks_of_loop,
    copy_tree,
    same_tree,
    tree_key,
)
from transpile.frontend.core_nodes import ReplayIf


def tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize("text", ["x[i + 1].T", "f(a, *b, k=1)", "nan", "'text'", "{1: (2, ...)}"])
def test_a_copy_is_the_same(text: str) -> None:
    one, other = tree(text), copy_tree(tree(f"(\n{text})"))
    assert same_tree(one, other)
    assert hash(tree_key(one)) == hash(tree_key(other))
    assert not same_tree(one, other, positions=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "True"), ("1", "1.0"), ("0.0", "-0.0"), ("x", "y"), ("x + y", "x - y"),
        ("f(x)", "f(x, y)"), ("'1'", "1"), ("[x]", "(x,)"), ("'a'", "b'a'"), ("None", "..."),
    ],
)
def test_others_are_not(one: str, other: str) -> None:
    assert not same_tree(tree(one), tree(other))


def test_contexts_and_kinds_of_nodes_count() -> None:
    assert not same_tree(ast.Name("x", ast.Load()), ast.Name("x", ast.Store()))
    plain = ast.If(ast.Constant(True), [ast.Pass()], [])
    assert not same_tree(plain, ReplayIf(ast.Constant(True), [ast.Pass()], []))
    assert same_tree(ast.Constant(float("nan")), ast.Constant(float("nan")))


@pytest.mark.parametrize("text", [
    "if a:\n 1\nelse:\n 2", "for a in b:\n 1\nelse:\n 2", "match a:\n case 1:\n  1\n case _:\n  2",
    "try:\n 1\nexcept A:\n 2\nexcept B:\n 3\nelse:\n 4\nfinally:\n 5", "with a:\n 1", "a = 0",
])
def test_blocks_are_in_the_order_of_the_source(text: str) -> None:
    (s,) = ast.parse(text).body
    numbers = [ast.unparse(line) for block in all_blocks(s) for line in block]
    assert numbers == [str(k + 1) for k in range(len(numbers))]
    assert len(numbers) == sum(isinstance(n, ast.Expr) for n in ast.walk(s))


LOOP = """
for i in x:
    try:
        match i:
            case 1:
                break  # 1
    except ValueError:
        break  # 2
    for j in x:
        while j:
            break
        else:
            break
    else:
        with x:
            break  # 3
"""


def test_breaks_of_a_loop_and_not_of_one_inside() -> None:
    (loop,) = ast.parse(LOOP).body
    assert isinstance(loop, ast.For)
    marked = [k for k, line in enumerate(LOOP.splitlines(), 1) if "# " in line]
    assert [b.lineno for b in breaks_of_loop(loop.body)] == marked
