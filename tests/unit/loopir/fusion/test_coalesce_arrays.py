"""Array coalescing: which temporaries are kept in a result, and that all elements are the same."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from fusing import fused

from loopir.fusion import Fusion
from loopir.ir_printer import parse, show
from targets.isa.target_registry import runnable_targets
from transpile import fuse

VECTORS = (
    "n: i64, a: f64[::1], b: mut(f64[::1]), t: own(f64[::1]), w: own(f64[::1]), "
    "out: mut(f64[::1]), few: mut(f32[::1])"
)
MATRICES = (
    "n: i64, a: f64[:, ::1], b: mut(f64[::1]), t: own(f64[:, ::1]), out: mut(f64[:, ::1]), "
    "other: mut(f64[::1, :])"
)
FOLD = """
for i in loop(0, n, q=0.0):
    t[i] = exp(a[i])
    q = step(q + t[i])
"""
NORMED = "for j in loop(0, n): out[j] = t[j] / q"
ROWS = """
for i in loop(0, n):
    for j in loop(0, n, q=0.0):
        t[i, j] = exp(a[i, j])
        q = step(q + t[i, j])
    for k in loop(0, n): out[i, k] = t[i, k] / q
"""

GO = {
    "a sum, and a division by it": FOLD + NORMED,
    "several loads, the first one in a loop between": FOLD + """
for j in loop(0, n, p=0.0): p = step(p + t[j] / q)
for j in loop(0, n): out[j] = t[j] * (t[j] - p)
""",
}
STAY = {
    "the result is read": FOLD + NORMED + "\nb[0] = out[1]",
    "the result has other elements": FOLD + NORMED.replace("out[j]", "out[j + 1]"),
    "another element is read": FOLD + NORMED.replace("t[j]", "t[j + 1]"),
    "the result has fewer elements": FOLD + NORMED.replace("n)", "n - 1)"),
    "read after the result": FOLD + NORMED + """
for j in loop(0, n, p=0.0): p = step(p + t[j] / b[1])
b[0] = p
""",
    "read before it is stored": "b[0] = t[1]" + FOLD + NORMED,
    "read after the store, in the same iteration": FOLD + """
for j in loop(0, n, p=0.0):
    out[j] = q
    p = step(p + t[j])
b[0] = p
""",
    "its length is read": FOLD + "b[0] = f64(t.shape[0])\n" + NORMED,
    "a range that grows": """
for i in loop(0, 3, c=0):
    for j in loop(0, c, q=0.0):
        t[j] = exp(a[j])
        q = step(q + t[j])
    append(w, c, q)
    for j in loop(0, c): out[j] = t[j] / q
    c = step(c)
""",
    "another dtype": FOLD + "for j in loop(0, n): few[j] = f32(t[j] / q)",
    "the result is stored twice": FOLD + NORMED + "\nout[0] = 1.0",
    "stored twice": FOLD + "t[0] = 1.0\n" + NORMED,
    "in a branch": FOLD + """
for j in loop(0, n):
    if a[j] > 1.0:
        out[j] = t[j] / q
""",
    "the second loop may end early": FOLD + """
for j in loop(0, n, p=0.0):
    out[j] = t[j] / q
    p = step(p + a[j])
    until(p > 9.0)
""",
    "the first loop may end early": FOLD.strip("\n") + "\n    until(q > 9.0)\n" + NORMED,
    "left between": FOLD + "if q > 9.0:\n    return\n" + NORMED,
    "the result is stored repeatedly": FOLD + """
for k in loop(0, 2):
    for j in loop(0, n): out[j] = t[j] / q
""",
    "repeated while a number is less": FOLD + """
while loop(p < 3.0, p=0.0):
    for j in loop(0, n): out[j] = t[j] / q
    p = step(p + 1.0)
""",
}
ROWS_GO = {
    "rows": ROWS,
    "matrices": """
for i in loop(0, n, q=0.0):
    for j in loop(0, n): t[i, j] = exp(a[i, j])
    q = step(q + b[i])
for i in loop(0, n):
    for j in loop(0, n): out[i, j] = t[i, j] / q
""",
}
ROWS_STAY = {
    "transposed at the end": """
for i in loop(0, n, q=0.0):
    for j in loop(0, n): t[i, j] = exp(a[i, j])
    q = step(q + b[i])
for i in loop(0, n):
    for j in loop(0, n): out[j, i] = t[i, j] / q
""",
    "bounds of one name that differ": """
for i in loop(0, n, q=0.0):
    m = i64(abs(b[i]))
    for j in loop(0, m): t[i, j] = exp(a[i, j])
    q = step(q + b[i])
for i in loop(0, n):
    m = i64(abs(b[i + 1]))
    for j in loop(0, m): out[i, j] = t[i, j] / q
""",
    "another order of axes": ROWS.replace("out[i, k]", "other[i, k]"),
    "transposed": ROWS.replace("out[i, k]", "out[k, i]"),
    "a row before": ROWS.replace("t[i, k] / q", "t[max(i - 1, 0), k] / q"),
    "the loop around reads another row": ROWS.replace("(q + t[i, j])", "(q + t[0, j])"),
    "read in a later loop of the nest": ROWS + "    b[i] = t[i, 1]",
}


RESULTS = frozenset(("out", "few", "other"))


def coalesced(params: str, text: str, results: frozenset[str] = RESULTS) -> Fusion:
    """The kernel after fusion; the function returns `results`."""
    lines = [f"def k({params}):", *("    " + x for x in text.strip("\n").split("\n"))]
    temporaries = frozenset("tw")
    kernel = parse("\n".join(lines) + "\n")
    return fused(kernel, temporaries=temporaries, private=temporaries | results)


@pytest.mark.parametrize("name", GO)
def test_a_temporary_is_kept_in_the_result(name: str) -> None:
    f = coalesced(VECTORS, GO[name])
    assert "t" in f.contracted, show(f.kernel)
    assert "exp" in show(f.kernel)


@pytest.mark.parametrize("name", STAY)
def test_a_temporary_has_its_own_memory(name: str) -> None:
    f = coalesced(VECTORS, STAY[name])
    assert "t" not in f.contracted, show(f.kernel)


@pytest.mark.parametrize("name", ROWS_GO)
def test_rows_are_kept_in_the_result(name: str) -> None:
    f = coalesced(MATRICES, ROWS_GO[name])
    assert "t" in f.contracted, show(f.kernel)


@pytest.mark.parametrize("name", ROWS_STAY)
def test_rows_have_their_own_memory(name: str) -> None:
    f = coalesced(MATRICES, ROWS_STAY[name])
    assert "t" not in f.contracted, show(f.kernel)


def test_not_where_memory_may_be_shared_or_packed() -> None:
    guarded = "guard(n > 0, \"GUARD_SHAPE\")\ndisjoint_or_same(b, out)" + FOLD + NORMED
    assert "t" not in coalesced(VECTORS, guarded).contracted
    guarded = "disjoint_or_same(b, t)" + FOLD + NORMED
    assert "t" not in coalesced(VECTORS, guarded).contracted
    bools = VECTORS.replace("t: own(f64", "t: own(bool").replace("out: mut(f64", "out: mut(bool")
    packed = FOLD.replace("exp(a[i])", "a[i] / 3.0 > 1.0").replace("q + t[i]", "q + f64(t[i])")
    text = packed + NORMED.replace("t[j] / q", "t[j] & (q > 2.0)")
    assert "t" not in coalesced(bools, text).contracted


def test_not_in_an_argument() -> None:
    """What an argument holds would be lost if the call is replayed, or it may be another one."""
    assert "t" not in coalesced(VECTORS, FOLD + NORMED, frozenset()).contracted


# -- as programs


def softmax(X):
    e = np.exp(X - X.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_of_columns(X):
    e = np.exp(X - X.max(axis=0))
    return e / e.sum(axis=0)


def of_a_vector(X):
    e = np.exp(X[0] - X[0].max())
    return e / e.sum()


def twice(X):
    e = np.exp(X)
    p = e / e.sum(axis=1, keepdims=True)
    return p, e * 2.0


@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.parametrize("program", [softmax, softmax_of_columns, of_a_vector, twice])
@pytest.mark.share(4, each="program")
def test_programs(
    program: Callable[..., Any], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    monkeypatch.setenv("TRANSPILE_TARGET", target)
    ours = fuse(program, on_reject="raise", cache=False)
    for dtype in ("f8", "f4"):
        for shape in ((1, 1), (3, 1), (1, 9), (5, 33), (17, 130)):
            X = np.random.default_rng(shape[1]).normal(size=shape).astype(dtype)
            X[0, 0] = np.nan if shape == (3, 1) else X[0, 0]
            got, wanted = outcome(ours, (X,)), outcome(program, (X,))
            assert_same(got, wanted, f"{dtype}, {shape}", ulps=256)


def test_exceptions_of_elements() -> None:
    for program in (twice, fuse(twice, on_reject="raise")):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow"):
            program(np.full((2, 40), 1e4))
