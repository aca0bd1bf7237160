"""Rematerialisation: which temporaries are computed again, which are stored, and the same bits."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fusing import fused, kernel

from loopir.ir_printer import parse, show
from loopir.nodes import Kernel
from targets.isa.target_registry import runnable_targets
from transpile import fuse

FOLD = """
for i in loop(0, n, q=0.0):
    t[i] = a[i] - m
    q = step(q + t[i] * t[i])
"""


def after_fold(text: str) -> str:
    """A sum of squares of ``t``, then `text`, which depends on it."""
    return FOLD + text.strip("\n")


def matrices(text: str) -> Kernel:
    """A kernel of the matrices `a` and `out`, which may be the same, a temporary `t` and a row."""
    arrays = "a: mut(f64[:, ::1]), t: own(f64[:, ::1]), out: mut(f64[:, ::1]), r: mut(f64[::1])"
    guards = ("disjoint_or_same(a, out)", "disjoint(a, r)", "disjoint(out, r)")
    lines = [*guards, *text.strip("\n").split("\n")]
    return parse(f"def k(n: i64, {arrays}):\n" + "\n".join("    " + x for x in lines) + "\n")


VECTORS_GO = {
    "a second loop that needs the sum": after_fold("for j in loop(0, n): out[j] = t[j] / q"),
    "three loops": after_fold("""
for j in loop(0, n, p=0.0):
    p = step(p + t[j] / q)
for j in loop(0, n):
    out[j] = t[j] / p
"""),
    "a step reads it": after_fold("""
for j in loop(0, n, p=q):
    p = step(p / 2.0 + t[j])
out[0] = p
"""),
    "operands with names": """
for i in loop(0, n, q=0.0):
    v = a[i]
    w = v * m
    t[i] = w
    q = step(q + w)
for j in loop(0, n): out[j] = t[j] / q
""",
    "an element is written where it was read": after_fold("for j in loop(0, n): a[j] = t[j] / q"),
    "three arrays, two of which are loaded anyway": """
for i in loop(0, n, q=0.0):
    t[i] = a[i] - b[i] + r[i]
    q = step(q + t[i])
for j in loop(0, n, p=0.0): p = step(p + t[j] * a[j] * b[j] / q)
for j in loop(0, n, o=0.0): o = step(o + t[j] * a[j] * b[j] / p)
out[0] = o
""",
    "one temporary of another": """
for i in loop(0, n, q=0.0):
    t[i] = a[i] - m
    q = step(q + t[i])
for i in loop(0, n, p=0.0):
    u[i] = t[i] - q
    p = step(p + u[i])
for j in loop(0, n): out[j] = u[j] / p
""",
    "neighbours of an element": FOLD.replace("a[i]", "a[i + 1] * a[i]")
    + "for j in loop(0, n, p=0.0): p = step(p + t[j] / q)\nout[0] = p",
}

LATER = "for j in loop(0, n, p=0.0): p = step(p + t[j] / q)\nout[0] = p"
"""A loop that needs the sum of `FOLD` and its terms, and writes nothing."""

VECTORS_STAY = {
    "expensive": after_fold(LATER).replace("- m", "/ m"),
    "two later loops would load three arrays": """
for i in loop(0, n, q=0.0):
    t[i] = a[i] - b[i] + u[i]
    q = step(q + t[i])
for j in loop(0, n, p=0.0): p = step(p + t[j] / q)
for j in loop(0, n, o=0.0): o = step(o + t[j] / p)
out[0] = o
""",
    "its operand is written between": after_fold("a[0] = 3.0\n" + LATER),
    "its operand is written before the load": after_fold("""
for j in loop(0, n, p=0.0):
    a[j] = q
    p = step(p + t[j])
"""),
    "another element is written": after_fold("for j in loop(0, n): a[j + 1] = t[j] / q"),
    "an operand of all elements is written": after_fold(
        "for j in loop(0, n): u[0] = t[j] / q"
    ).replace("- m", "- u[0]"),
    "another range": after_fold(LATER.replace("n,", "n + 1,")),
    "a range that was overwritten": after_fold("u[0] = 2.0\n" + LATER).replace("n,", "i64(u[0]),"),
    "a range that grows": """
for i in loop(0, 3, c=0):
    for j in loop(0, c, q=0.0):
        t[j] = a[j] - m
        q = step(q + t[j])
    append(u, c, q)
    for j in loop(0, c, p=0.0): p = step(p + t[j] / q)
    out[i] = p
    c = step(c)
""",
    "another element is read": after_fold(LATER.replace("t[j]", "t[j + 1]")),
    "an element is read repeatedly": after_fold("""
for j in loop(0, n, p=0.0):
    for k in loop(0, n, o=0.0): o = step(o + t[j] / q)
    p = step(p + o)
out[0] = p
"""),
    "an index that is loaded": after_fold(LATER).replace("a[i]", "a[i64(abs(r[i]))]"),
    "stored twice": after_fold("t[0] = 1.0\n" + LATER),
    "read before": "out[1] = t[1]" + after_fold(LATER),
    "a branch reads it": after_fold("""
for j in loop(0, n):
    if q > 1.0:
        u[j] = t[j] / q
"""),
    "a branch stores it": """
for i in loop(0, n, q=0.0):
    if a[i] > 0.0:
        t[i] = a[i] - m
    q = step(q + a[i])
""" + LATER,
    "the loop may end early": """
for i in loop(0, n, q=0.0):
    t[i] = a[i] - m
    q = step(q + a[i])
    until(q > 9.0)
""" + LATER,
    "the second loop may end early": after_fold("""
for j in loop(0, n, p=0.0):
    p = step(p + t[j] / q)
    until(p > 9.0)
out[0] = p
"""),
    "left between": after_fold("if q > 1.0:\n    return\n" + LATER),
    "the value is carried": """
for i in loop(0, n, q=0.0):
    t[i] = q - m
    q = step(q + a[i])
""" + LATER,
    "the element is the last of several": """
for i in loop(0, n, q=0.0):
    for k in loop(0, n): t[i] = a[k] - m
    q = step(q + 1.0)
""" + LATER,
}


def vectors(text: str) -> Kernel:
    """A kernel with the temporaries ``t`` and ``u``; other arrays may be the same."""
    return kernel(text, "a b out", more="t: own(f64[::1]), u: own(f64[::1]), r: f64[::1], m: f64")


@pytest.mark.parametrize("name", VECTORS_GO)
def test_cheap_elements_are_computed_again(name: str) -> None:
    temporaries = frozenset(("t", "u")) if "u[" in VECTORS_GO[name] else frozenset("t")
    f = fused(vectors(VECTORS_GO[name]), temporaries=temporaries)
    assert set(f.contracted) >= temporaries, show(f.kernel)


@pytest.mark.parametrize("name", VECTORS_STAY)
def test_what_stays_in_memory(name: str) -> None:
    f = fused(vectors(VECTORS_STAY[name]), temporaries=frozenset("t"))
    assert "t" not in f.contracted, show(f.kernel)


ROWS_FOLD = """
for i in loop(0, n):
    for j in loop(0, n, q=0.0):
        t[i, j] = a[i, j] - 1.0
        q = step(q + t[i, j] * t[i, j])
    for k in loop(0, n, p=0.0): p = step(p + t[i, k] / q)
    r[i] = p
"""

ROWS_GO = {
    "rows that are summed": ROWS_FOLD,
    "rows": """
for i in loop(0, n):
    for j in loop(0, n, q=0.0):
        t[i, j] = a[i, j] - r[i]
        q = step(q + t[i, j] * t[i, j])
    for k in loop(0, n): out[i, k] = t[i, k] / q
""",
    "rows of a matrix that is overwritten": """
for i in loop(0, n):
    for j in loop(0, n, q=0.0):
        t[i, j] = a[i, j] - r[i]
        q = step(q + t[i, j] * t[i, j])
    for k in loop(0, n): a[i, k] = t[i, k] / q
""",
    "a whole matrix": """
for i in loop(0, n):
    for j in loop(0, n):
        t[i, j] = a[i, j] - 1.0
for j in loop(0, n):
    for i in loop(0, n, q=0.0): q = step(q + t[i, j])
    r[j] = q
""",    "a triangle": """
for i in loop(0, n, q=0.0):
    for j in loop(0, i): t[i, j] = a[i, j] - 1.0
    q = step(q + a[i, i])
for k in loop(0, n):
    for j in loop(0, k): out[k, j] = t[k, j] / q
""",
}

ROWS_STAY = {
    "another triangle": ROWS_GO["a triangle"].replace("loop(0, k)", "loop(0, n)"),
    "another row": ROWS_GO["rows"].replace("t[i, k] / q", "t[n - i, k] / q"),
    "another stride": ROWS_FOLD.replace("a[i, j]", "a[j, i]"),
    "every second element": ROWS_FOLD.replace("a[i, j]", "a[i, 2 * j]"),
    "a diagonal": ROWS_FOLD.replace("a[i, j]", "a[j, j]"),
    "bounds of one name that differ": """
for i in loop(0, n, q=0.0):
    m = i64(r[i])
    for j in loop(0, m): t[i, j] = a[i, j] - 1.0
    q = step(q + a[i, 0])
for k in loop(0, n):
    m = i64(r[k + 1])
    for j in loop(0, m): out[k, j] = t[k, j] / q
""",
    "an element below is overwritten": ROWS_GO["rows"].replace("out[i, k]", "a[k, i]"),
}


@pytest.mark.parametrize("name", ROWS_GO)
def test_cheap_rows_are_computed_again(name: str) -> None:
    f = fused(matrices(ROWS_GO[name]), temporaries=frozenset("t"))
    assert "t" in f.contracted, show(f.kernel)


def test_what_only_the_store_needed_is_not_computed_for_it() -> None:
    named = "v = a[i, j]\n        t[i, j] = v -"
    text = ROWS_GO["a whole matrix"].replace("t[i, j] = a[i, j] -", named)
    f = fused(matrices(text), temporaries=frozenset("t"))
    assert len(f.kernel.body) == 1, show(f.kernel)


@pytest.mark.parametrize("name", ROWS_STAY)
def test_rows_that_stay_in_memory(name: str) -> None:
    f = fused(matrices(ROWS_STAY[name]), temporaries=frozenset("t"))
    assert "t" not in f.contracted, show(f.kernel)


# -- as programs: the same bits as with the temporaries, and Python's warnings


def layer_norm(X, s):
    d = X - X.mean(axis=1, keepdims=True)
    var = (d * d).mean(axis=1, keepdims=True)
    return d / np.sqrt(var + s)


def batch_norm(X, s):
    d = X - X.mean(axis=0)
    return d / np.sqrt((d * d).mean(axis=0) + s)


def clipped(X, s):
    d = X - X.mean(axis=1)[:, None]
    z = d / np.sqrt((d * d).mean(axis=1))[:, None]
    return np.clip(z, -s, s)


def in_place(X, s):
    d = X * s
    q = (d * d).sum(axis=1, keepdims=True)
    X[:] = d / q


def log_softmax(X, s):
    z = X * s - X.max(axis=1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=1, keepdims=True))


def vector(X, s):
    x = X[0]
    d = x - x.mean()
    return d * s / np.sqrt((d * d).mean())


PROGRAMS = (layer_norm, batch_norm, clipped, in_place, log_softmax, vector)
SHAPES = ((1, 1), (3, 1), (1, 9), (5, 33), (17, 130))


def given(shape: tuple[int, int], dtype: str, order: str = "C") -> np.ndarray:
    numbers = np.random.default_rng(shape[1]).normal(size=shape)
    return np.asarray(numbers, dtype, order=order)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.share(6, each="program")
def test_same_bits_as_with_the_temporary(
    program: Callable[..., Any], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    monkeypatch.setenv("TRANSPILE_TARGET", target)
    ours = fuse(program, on_reject="raise", cache=False)
    stored = fuse(program, on_reject="raise", cache=False)
    for dtype, order in (("f8", "C"), ("f4", "C"), ("f8", "F")):
        for shape in SHAPES:
            args = [given(shape, dtype, order) for _ in range(3)]
            with np.errstate(all="ignore"):
                results = [ours(args[0], 1.5)]
                with monkeypatch.context() as patched:
                    patched.setattr(
                        "loopir.fusion.fuse_loops.rematerialize", lambda kernel, *_: kernel
                    )
                    results.append(stored(args[1], 1.5))
                results.append(program(args[2], 1.5))
            got, kept, python = results if results[0] is not None else args
            assert got.tobytes() == kept.tobytes()
            assert np.allclose(got, python, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_array_is_never_allocated(program: Callable[..., Any]) -> None:
    report = fuse(program, on_reject="raise").report(given((9, 9), "f8"), 1.5)
    assert "never allocated" in str(report)


@pytest.mark.parametrize("program", [layer_norm, in_place, vector])
def test_exceptions_of_elements(program: Callable[..., Any]) -> None:
    ours = fuse(program, on_reject="raise")
    for bad in (np.inf, 1e200, np.nan, 0.0):
        X = given((3, 40), "f8")
        X[1, 7] = bad
        for state in ("raise", "warn"):
            outcomes = []
            for f in (program, ours):
                own = X.copy()
                with np.errstate(all=state), warnings.catch_warnings(record=True) as shown:
                    warnings.simplefilter("always")
                    try:
                        value = f(own, 1e200 if bad == 0.0 else 1.5)
                    except FloatingPointError as e:
                        value = str(e)
                outcomes.append((value, own, sorted({str(w.message) for w in shown})))
            (a, x, said), (b, y, told) = outcomes
            assert said == told
            assert a == b if isinstance(a, str) or a is None else np.allclose(a, b, equal_nan=True)
            assert np.allclose(x, y, equal_nan=True)
