"""Owners of arrays: which expressions may share memory."""
from __future__ import annotations

import ast

import numpy as np
import pytest
from worlds import World

from transpile.analysis.alias_analysis import NEW_ARRAY, Owner, owners_may_alias
from transpile.analysis.type_inference.flow_facts import new_facts

X, Y, OF_X = Owner("x"), Owner("y"), Owner("x", ("grid",))


@pytest.mark.parametrize(("text", "owner"), [
    ("x", X), ("x[1:]", X), ("x.T", X),
    ("np.sqrt(x)", NEW_ARRAY), ("x + 1", None), ("x[x > 0]", NEW_ARRAY),
    ("np.ravel(y)", None), ("u", None),
])
def test_owner_of_an_expression(text: str, owner: Owner | None) -> None:
    def f(x: object) -> None:  # its body is not looked at
        return None

    tree = ast.parse("def f(x):\n    u = x\n    return u").body[0]
    assert isinstance(tree, ast.FunctionDef)
    env = World(f, (np.ones((2, 3)),))
    fact = new_facts(tree, env, env.resolve, lambda hint: f"_{hint}").of(
        ast.parse(text, mode="eval").body)
    assert fact.owner == owner
    assert fact.has_named_owner == (owner == X)


@pytest.mark.parametrize(("owner", "other", "may"), [
    (X, X, True), (X, Y, False), (X, OF_X, False), (None, X, True), (None, NEW_ARRAY, False),
    (NEW_ARRAY, NEW_ARRAY, True), (NEW_ARRAY, X, False),
])
def test_owners_may_alias(owner: Owner | None, other: Owner | None, may: bool) -> None:
    assert owners_may_alias(owner, other) == may
    assert owners_may_alias(other, owner) == may
