"""Host expressions: to Python and back, what they mean, as keys, and pickled."""
from __future__ import annotations

import ast
import pickle

import numpy as np
import pytest

from loopir.nodes import Call, Const, Dim, Expr, Var
from transpile.diagnostics import Refused
from transpile.frontend.core_nodes import NUMPY_NAME
from transpile.host_nodes import (
    HostCapacity,
    HostConst,
    HostExpr,
    HostHelper,
    HostName,
    HostOp,
    NoHostExpression,
    from_ast,
    host_names,
    host_operand,
    host_source,
    to_ast,
)
from transpile.lower.arrays.host_expressions import (
    host_expression,
    host_product,
    host_sum,
    new_array,
)

TEXTS = (
    "n", "n + 1", "-n", "not n", "~n", "n - -1", "2.5", "-2.5", "1e309", "None", "'f8'",
    "x.shape[0]", "x.shape[-1]", "t['k'][0].a", "len(x)", "_np.empty((n, m + 1), '<f8', order='F')",
    "np.zeros([n, 2])", "max(n, 0) * (m + k)", "n if n > 0 else m", "n and m or k", "a is not b",
    "'x' in f.__globals__", "n ** 2 // m % k << 1 >> 1 & n | m ^ k", "a @ b", "x[1:n, ::2]",
    "f(x)(k=1)", "(n,)", "()", "n <= m", "n != m",
)
VALUES = {"n": 7, "m": 3, "k": 2, "len": len, "max": max, "x": np.ones((7, 4))}


def host(text: str) -> HostExpr:
    return from_ast(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("text", TEXTS)
def test_to_python_and_back(text: str) -> None:
    e = host(text)
    assert host_source(e) == text
    assert host(host_source(e)) == e
    assert ast.dump(to_ast(e)) == ast.dump(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_a_key_and_can_be_pickled(text: str) -> None:
    e = host(text)
    assert pickle.loads(pickle.dumps(e)) == e
    assert {e: 1}[host(text)] == 1


def test_a_chain_of_comparisons_becomes_a_conjunction() -> None:
    assert host_source(host("0 < n <= m")) == "0 < n and n <= m"


@pytest.mark.parametrize(
    "text", ["lambda: 1", "[*x]", "f(**k)", "f'{x}'", "[i for i in x]", "(n := 1)"]
)
def test_what_has_none(text: str) -> None:
    with pytest.raises(NoHostExpression):
        host(text)


def test_a_leaf_stands_for_a_node() -> None:
    def leaf(e: ast.expr) -> HostExpr | None:
        return HostConst(5) if isinstance(e, ast.Name) and e.id == "n" else None

    assert host_source(from_ast(ast.parse("f(n, m)", mode="eval").body, leaf)) == "f(5, m)"


def test_names_of_helpers_are_no_names() -> None:
    e = host(f"{NUMPY_NAME}.full(n, x[m].k, dtype=d)")
    assert [*host_names(e)] == ["n", "x", "m", "d"]
    assert host_source(HostHelper("max")) == "_max"


def test_an_operation_is_put_in_parentheses_beside_an_operator() -> None:
    assert host_operand(host("'x' in d")) == "('x' in d)"
    assert host_operand(host("d.x[0]")) == "d.x[0]"


I64, F64, BOOL, ZERO = "i64", "f64", "bool", Const(0, "i64")
N, M = Var("n", I64), Var("m", I64)


@pytest.mark.parametrize(
    ("e", "text", "value"),
    [
        (Const(3, I64), "3", 3),
        (Dim("x", 1), "x.shape[1]", 4),
        (Call("add", (N, Const(-1, I64)), I64), "n + -1", 6),
        (Call("max", (N, M), I64), "_max(n, m)", 7),
        (Call("abs", (Call("neg", (N,), I64),), I64), "_abs(-n)", 7),
        (Call("select", (Call("lt", (N, M), BOOL), N, M), I64), "n if n < m else m", 3),
        (Call("shl", (N, M), I64), "n << _min(m, 64)", 56),
        (Call("floor", (Call("div", (N, M), F64),), F64), "_float(_math.floor(n / m))", 2.0),
        (Call("select", (Call("eq", (N, ZERO), BOOL), Const(1, I64), N), I64), "n or 1", 7),
    ],
)
def test_loop_ir_before_the_kernel(e: Expr, text: str, value: object) -> None:
    found = host_expression(e)
    assert host_source(found) == text
    helpers = {"_max": max, "_min": min, "_abs": abs, "_float": float, "_math": __import__("math")}
    assert eval(host_source(found), VALUES | helpers) == value


def test_what_only_the_kernel_computes() -> None:
    with pytest.raises(Refused, match="a length is not known before the loop"):
        host_expression(Call("sin", (Var("a", F64),), F64))


def test_allocations() -> None:
    f8 = np.dtype("f8")
    terms = [HostName("n"), HostConst(64)]
    assert host_source(new_array([host_sum(terms)], f8)) == "_np.empty(n + 64, '<f8')"
    assert host_source(new_array(terms, f8, fortran=True)) == "_np.empty((n, 64), '<f8', order='F')"
    full = new_array([HostCapacity()], f8, function="full", fill=HostConst(1.5))
    assert host_source(full) == "_np.full(_tp_room[0], 1.5, '<f8')"
    assert host_product(terms) == HostOp("mul", (HostName("n"), HostConst(64)))
    assert host_product([]) == HostConst(1)
