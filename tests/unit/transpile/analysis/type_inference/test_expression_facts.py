"""Facts about expressions are cached; each thing that they depend on ends the cache."""
from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np
import pytest
from worlds import World

from transpile import fuse
from transpile.analysis.type_inference.binding_facts import set_fact
from transpile.analysis.type_inference.expression_facts import infer_fact
from transpile.analysis.type_inference.flow_facts import new_facts
from transpile.analysis.type_inference.type_facts import Facts
from transpile.analysis.type_inference.type_lattice import INT, SCALAR, UNKNOWN, Fact
from transpile.types.value_types import ScalarType

INTS = frozenset({ScalarType("i64", weak=True)})


def facts_of_function() -> Facts:
    def f(x):  # its body is not looked at
        u = w = x
        return u, w

    tree = ast.parse("def f(x):\n    u = w = x\n    return u, w").body[0]
    assert isinstance(tree, ast.FunctionDef)
    env = World(f, (np.ones((2, 3)),))
    return new_facts(tree, env, env.resolve, lambda hint: f"_{hint}")


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def test_a_fact_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    facts, e, asked = facts_of_function(), expression("x[0] * 2.0 + x[1]"), list[ast.expr]()
    monkeypatch.setattr(facts, "_infer", lambda facts, e: asked.append(e) or infer_fact(facts, e))
    first = facts.of(e)
    times = len(asked)
    assert times > 1
    assert (facts.of(e), len(asked)) == (first, times)
    assert first.rank == 1


CHANGES: dict[str, tuple[str, Callable[[Facts], object], Fact, Fact]] = {
    "a name gets another type": ("u", lambda f: f.known.update(u=SCALAR), UNKNOWN, SCALAR),
    "a list gets items": ("w[u]", lambda f: f.number_lists.update(w=INTS), UNKNOWN, INT),
    "items of another type": (
        "v[u]", lambda f: f.number_lists.update(v=INTS),
        Fact(0, frozenset({ScalarType("f64", weak=True)})), INT,
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(name: str) -> None:
    text, change, before, after = CHANGES[name]
    facts, e = facts_of_function(), expression(text)
    facts.number_lists["v"] = frozenset({ScalarType("f64", weak=True)})
    assert facts.of(e) == before
    change(facts)
    assert facts.of(e) == after


FORGET_U: dict[str, Callable[[Facts], object]] = {
    "set": lambda f: f.known.__setitem__("u", UNKNOWN),
    "deleted": lambda f: f.known.__delitem__("u"),
    "updated": lambda f: f.known.update(u=UNKNOWN),
    "joined": lambda f: f.known.__ior__({"u": UNKNOWN}),
    "popped": lambda f: f.known.pop("u"),
    "the last popped": lambda f: f.known.popitem(),
    "cleared": lambda f: f.known.clear(),
    "set anew": lambda f: (f.known.clear(), f.known.setdefault("u", UNKNOWN)),
    "replaced": lambda f: setattr(f, "known", {}),
    "forgotten": lambda f: f.forget(["u"]),
}


@pytest.mark.parametrize("way", FORGET_U)
def test_each_change_of_the_known_names_is_seen(way: str) -> None:
    facts, e = facts_of_function(), expression("u * 2.0")
    facts.known["u"] = SCALAR
    assert facts.of(e).rank == 0
    FORGET_U[way](facts)
    assert facts.of(e).rank is None


@pytest.mark.parametrize("names", ["local_names", "rebound", "scalarizable"])
def test_a_new_name_ends_the_cache(names: str) -> None:
    facts = facts_of_function()
    before = facts._premises()
    getattr(facts, names).add("new")
    assert facts._premises() != before


def test_what_a_comprehension_binds_is_not_seen_behind_it() -> None:
    facts, e = facts_of_function(), expression("[u for u in x[0]]")
    element = e.elt  # type: ignore[attr-defined]  # a comprehension
    facts.known["u"] = INT
    assert facts.of(element) == INT
    assert facts.of(e).rank == 1
    assert facts.of(element) == INT


def test_what_is_unpacked_has_the_facts_of_an_item() -> None:
    facts = facts_of_function()
    facts.known["m"] = facts.of(expression("x * 2"))
    row = facts.of(expression("x[0]"))
    assert (facts.known["m"].rank, row.rank) == (2, 1)
    before = {*facts.known}
    target = ast.parse("(p, q), *r, s = 0").body[0]
    assert isinstance(target, ast.Assign)
    set_fact(facts, target.targets[0], facts.known["m"])
    assert {name: facts.known[name].rank for name in facts.known.keys() - before} == {
        "p": 0, "q": 0, "r": None, "s": 1}


def test_sums_of_unpacked_numbers_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a tuple of them is stored in a row, item by item."""
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")

    def forces(pos, q, out):
        for i in range(len(pos)):
            ax = ay = 0.0
            for j in range(len(pos)):
                dx, dy = pos[j] - pos[i]
                ax += q[j] * dx
                ay += q[j] * dy
            out[i] = ax, ay
        total = 0.0
        for x, y in pos:
            total = total + x * y
        out[0] = total, total
        return out

    pos = np.arange(12.0).reshape(6, 2) ** 1.5
    args = pos, pos[:, 0] + 1, np.zeros((6, 2))
    wanted = forces(*args[:2], np.zeros((6, 2)))
    report = fuse(forces).report(*args)
    assert (report.accepted, report.rejections) == (True, ())
    assert np.allclose(fuse(forces)(*args), wanted, rtol=1e-14)


@pytest.mark.parametrize("text", [
    "divmod(7, 2)[1]", "divmod(7, 2)[0]", "(7).bit_length()", "divmod(5, 3)[1].bit_count()",
])  # fmt: skip
def test_facts_about_ints(text: str) -> None:
    assert facts_of_function().of(expression(text)) == INT


@pytest.mark.parametrize("text", ["divmod(7, 2)[u]", "divmod(u, 2)[1]", "u.bit_length()"])
def test_what_is_not_known_to_be_an_int(text: str) -> None:
    assert facts_of_function().of(expression(text)) != INT
