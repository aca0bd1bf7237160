"""Comparison of trees, and walks over them."""
from __future__ import annotations

import ast
from typing import Any

import pytest
from paths import ROOT

from transpile.frontend.ast_walk import (
    NodeTransformer,
    all_blocks,
    breaks_of_loop,
    child_nodes,
    copy_tree,
    same_tree,
    tree_key,
    walk_nodes,
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


NO_CHILDREN = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)


MODULES = "transpile/frontend/ast_names.py", "targets/isa/avx512.py"


@pytest.mark.parametrize("name", MODULES)
def test_walks_are_those_of_python_without_contexts_and_operators(name: str) -> None:
    module = ast.parse((ROOT / name).read_text())
    nodes = [n for n in ast.walk(module) if not isinstance(n, NO_CHILDREN)]
    assert [*walk_nodes(module)] == nodes
    for n in nodes:
        children = [c for c in ast.iter_child_nodes(n) if not isinstance(c, NO_CHILDREN)]
        assert child_nodes(n) == children


class Rewrite:
    """Replaces, removes and multiplies nodes, in lists of nodes and in fields of one."""

    def visit_Name(self: Any, node: ast.Name) -> ast.AST:
        return ast.Constant(None) if node.id in ("self", "node") else node

    def visit_If(self: Any, node: ast.If) -> object:
        self.generic_visit(node)
        return [node, *node.body] if node.orelse else None

    def visit_arg(self: Any, node: ast.arg) -> ast.arg | None:
        return None if node.arg.startswith("n") else node


class Ours(Rewrite, NodeTransformer):
    pass


class Pythons(Rewrite, ast.NodeTransformer):
    pass


@pytest.mark.parametrize("name", MODULES)
def test_a_transformer_is_as_that_of_python(name: str) -> None:
    text = (ROOT / name).read_text()
    assert same_tree(Ours().visit(ast.parse(text)), Pythons().visit(ast.parse(text)))


def test_a_copy_shares_no_list() -> None:
    """Macros change lists of operators, as those of operands, in place."""
    comparison = ast.parse("a < b < c", mode="eval").body
    assert isinstance(comparison, ast.Compare)
    copied = copy_tree(comparison)
    copied.ops.pop()
    copied.comparators.pop()
    assert (len(comparison.ops), len(comparison.comparators)) == (2, 2)
