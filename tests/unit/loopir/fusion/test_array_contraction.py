"""Small arrays: which live in registers, which stay in memory, and which are Python's."""
# ruff: noqa: PERF401 (programs as people write them)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from loopir.fusion.array_contraction import (
    contract_arrays,
    scalarize_arrays,
    without_dead_arrays,
)
from loopir.fusion.fuse_loops import fuse_kernel
from loopir.ir_printer import parse, show
from loopir.ir_verifier import verify
from loopir.nodes import Kernel
from transpile import fuse

TEXT = """
def k(x: f64[:], t: mut(f64[::1]), u: mut(f64[::1]), w: mut(f64[::1]), out: mut(f64[:])):
    guard(out.shape[0] >= x.shape[0], "GUARD_BOUNDS")
    disjoint(x, out)
    t[0] = 0.0
    w[1] = 1.0
    for i in loop(0, x.shape[0]):
        u[0] = x[i]
        if x[i] > 0.0:
            t[0] = t[0] + x[i]
        for j in loop(0, 2):
            w[j] = u[0] * 2.0
        out[i] = t[0] * w[1]
    out[0] = t[0] + w[i64(x[0])]
"""


def test_elements_become_names_that_loops_carry() -> None:
    kernel, gone = scalarize_arrays(parse(TEXT), {"t", "u", "w"})
    verify(kernel, "scalar")
    assert gone == ("t", "u")
    assert [p.name for p in kernel.params] == ["x", "w", "out"]
    assert "t_1 = step(t_3)" in show(kernel)


def test_what_may_not_be_set_or_is_left_early_stays() -> None:
    unset = TEXT.replace("    t[0] = 0.0\n", "")
    start = "        u[0] = x[i]\n"
    left = TEXT.replace(start, start + "        if x[i] < 0.0: break\n")
    assert scalarize_arrays(parse(unset), {"t", "u"})[1] == ("u",)
    assert scalarize_arrays(parse(left), {"t", "u"})[1] == ()
    kernel = parse(TEXT)
    assert scalarize_arrays(kernel, ()) == (kernel, ())


def distances(p, q, out):
    for i in range(len(p)):
        d = np.zeros(3)
        for k in range(3):
            d[k] = p[i, k] - q[i, k]
        out[i] = (d * d).sum()


def areas(p, q, out):
    for i in range(len(p)):
        n = np.cross(p[i], q[i])
        out[i] = np.sqrt(np.dot(n, n))


def kept(p, q, out):
    before = np.zeros(3)
    for i in range(len(p)):
        d = np.zeros(3)
        d[0] = p[i, 0]
        out[i] = before[0]
        before = d


def listed(p, q, out):
    rows = []
    for i in range(len(p)):
        rows.append(np.array([p[i, 0], q[i, 0]]))
    return rows


def viewed(p, q, out):
    for i in range(len(p)):
        d = np.zeros((2, 2))
        row = d[1]
        row[0] = p[i, 0]
        out[i] = d[1, 0]


def given(n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    return rng.random((n, 3)), rng.random((n, 3)), np.zeros(n)


@pytest.mark.parametrize("function", [distances, areas])
def test_loops_around_are_vectorised(function: Callable[..., Any]) -> None:
    fused = fuse(function, on_reject="raise")
    report = fused.report(*given(40))
    assert report.vectorized == 1
    assert "never allocated" in str(report)
    (p, q, ours), (_, _, theirs) = given(40), given(40)
    fused(p, q, ours)
    function(p, q, theirs)
    assert np.allclose(ours, theirs, rtol=1e-15)


@pytest.mark.parametrize(("function", "python"), [(kept, 0), (listed, 1), (viewed, 0)])
def test_arrays_with_other_names(function: Callable[..., Any], python: int) -> None:
    fused = fuse(function, on_reject="silent")
    (p, q, ours), (_, _, theirs) = given(7), given(7)
    assert str(fused(p, q, ours)) == str(function(p, q, theirs))
    assert ours.tobytes() == theirs.tobytes()
    assert sum(fused.stats.replays.values()) == python


@pytest.mark.share(12)
@pytest.mark.parametrize(("a", "b"), [
    ((2,), (2,)), ((3,), (2,)), ((4, 3), (3,)), ((3,), (4, 3)), ((4, 3), (4, 3)), ((4, 3), (1, 3)),
    ((3, 3), (4, 3)), ((2, 4, 3), (3,)), ((3,), (3,)), ((0, 3), (3,)),
])
@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
def test_cross_products_of_any_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    def cross(x, y):
        return np.cross(x, y)

    rng = np.random.default_rng(3)
    for dtypes in (("f8", "f8"), ("f4", "f8"), ("i4", "i8"), ("u1", "u1")):
        x, y = ((100 * rng.random(s)).astype(d) for s, d in zip((a, b), dtypes, strict=True))
        got = outcome(fuse(cross, on_reject="silent"), (x, y))
        assert_same(got, outcome(cross, (x, y)), f"{dtypes}")


def reciprocal(x):
    v = [0.0] * 2
    for i in range(len(x)):
        v[i % 2] = v[i % 2] + x[i]
    return 1.0 / v[0], v[1]


def mixed(x):
    v = [0.0, 0.0]
    for i in range(len(x)):
        v[0] = x[i]
        v[1] = i
    return v[0], v[1]


def grown(x):
    v = [0.0, 0.0]
    for i in range(len(x)):
        v.append(x[i])
    return len(v)


@pytest.mark.parametrize("function", [reciprocal, mixed, grown])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_items_of_lists_keep_their_types(function: Callable[..., Any], n: int) -> None:
    x = np.arange(n) - 1.0
    assert_same(outcome(fuse(function, on_reject="silent"), (x,)), outcome(function, (x,)), "list")


def overwritten(x, y):
    t = x * 2.0
    s = t.sum()
    t[:] = x / y
    return s


def test_a_warning_of_what_is_stored_in_vain() -> None:
    text = """
def k(n: i64, x: f64[::1], t: own(f64[::1]), out: mut(f64[::1])):
    disjoint(x, out)
    for i in loop(0, n):
        t[i] = 1.0 / x[i]
        out[i] = x[i]
    for i in loop(0, n):
        t[i] = x[i]
"""
    kernel, gone = contract_arrays(parse(text), {"t"})
    verify(kernel, "scalar")
    assert gone == ("t",)
    assert "1.0 / x[i]" in show(kernel)
    assert len(kernel.body) == 1
    x = np.array([1.0, 2.0])
    ours = fuse(overwritten, on_reject="raise")
    for function in (overwritten, ours):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
            function(x, np.zeros(2))
        assert function(x, np.ones(2)) == 6.0


def length_of_list(x):
    return len([v for v in x if v > 0.5])


def length_of_appended(x):
    kept = []
    for v in x:
        if v > 0.5:
            kept.append(v)
        elif v < -0.5:
            kept.append(-v)
    return len(kept)


def length_of_selection(x):
    return len(x[x > 0.5])


def never_read(x):
    t = np.empty(len(x))
    s = 0.0
    for i in range(len(x)):
        t[i] = x[i] / 2.0
        s = max(s, x[i])
    return s


def read_backwards(x):
    kept = [v for v in x if v > 0.5]
    return len(kept), kept[-1] if kept else 0.0


NEVER_READ = [length_of_list, length_of_appended, length_of_selection, never_read]


@pytest.mark.parametrize("n", [0, 1, 7, 300])
@pytest.mark.parametrize("function", [*NEVER_READ, read_backwards])
def test_arrays_that_are_never_read_are_not_made(function: Callable[..., Any], n: int) -> None:
    x = np.random.default_rng(n).random(n) * 2 - 1
    ours = fuse(function, on_reject="raise")
    assert_same(outcome(ours, (x,)), outcome(function, (x,)), function.__name__)
    kernel = parse(ours.emit("loopir", x).partition("#")[0])
    assert sum(p.rank == 1 for p in kernel.params) == 1 + (function is read_backwards)


def shorter(x):
    t = np.zeros(len(x) - 3, np.float32)
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        if i > 2:
            t[i - 3] = x[i]
    return s


def shorter_and_joined(x):
    n = len(x) - 3
    t = np.empty(n)
    s = 0.0
    for i in range(n):
        t[i] = x[i] * 2.0
    for i in range(n):
        s += t[i]
    return s


def shorter_matrix(x):
    t = np.zeros((2, len(x) - 3))
    s = 0.0
    for i in range(len(x) - 3):
        t[1, i] = x[i]
        s += x[i]
    return s


@pytest.mark.parametrize("n", [0, 2, 3, 8])
@pytest.mark.parametrize("function", [shorter, shorter_and_joined, shorter_matrix])
def test_an_array_that_is_not_made_raises_if_its_length_is_negative(
    function: Callable[..., Any], n: int
) -> None:
    x = np.arange(float(n))
    ours = fuse(function, on_reject="raise", reassociate=False)
    assert_same(outcome(ours, (x,)), outcome(function, (x,)), function.__name__)
    kernel = parse(ours.emit("loopir", x).partition("#")[0])
    assert [p.name for p in kernel.params if p.rank] == ["x"]


def test_an_array_of_which_loads_are_not_used_is_removed() -> None:
    kernel = parse("""
def k(x: f64[::1], p: i64[::1], t: mut(f64[::1]), py: mut(bool[::1]), out: mut(f64[::1])):
    for i in loop(0, t.shape[0]):
        t[i] = 0.0
    for i_1 in loop(0, t.shape[0]):
        py[i_1] = True
    for i_2 in loop(0, x.shape[0]):
        t[p[i_2]] = x[i_2]
        py[p[i_2]] = False
    for i_3 in loop(0, out.shape[0]):
        unused = py[i_3]
        out[i_3] = t[i_3]
""")
    fused = fuse_kernel(kernel, temporaries=frozenset(("t", "py")))
    assert fused.contracted == ("py",)
    used = parse(show(kernel).replace("out[i_3] = t[i_3]", "out[i_3] = t[i_3] + f64(unused)"))
    assert fuse_kernel(used, temporaries=frozenset(("t", "py"))).contracted == ()


# -- arrays that nobody needs

UPDATED = """
def k(x: f64[:], at: i64[:], t: own(f64[::1]), u: own(bool[::1]), out: mut(f64[:])):
    for i in loop(0, x.shape[0], some=False):
        inside = at[i] >= 0
        check(inside, "replay")
        old = t[at[i]]
        if inside:
            u_at = give(u[at[i]])
        else:
            u_at = give(False)
        t[at[i]] = max(old, x[i])
        u[at[i]] = u_at | (at[i] > 3) | some
        some = step(some | u_at)
    for j in loop(0, out.shape[0]):
        u_j = u[j]
        out[j] = t[j]
"""


def arrays_left(text: str) -> tuple[Kernel, set[str]]:
    """The kernel without dead arrays, and the temporaries that its text still has."""
    kernel = without_dead_arrays(parse(text), {"t", "u"})
    verify(kernel, "scalar")
    body = show(kernel).partition("\n")[2]
    return kernel, {name for name in ("t", "u") if f"{name}[" in body}


def test_an_array_that_only_its_own_stores_load_is_dead() -> None:
    kernel, left = arrays_left(UPDATED)
    assert left == {"t"}
    assert "u_at" not in show(kernel)
    assert "some" not in show(kernel)
    assert 'check(inside, "replay")' in show(kernel)


@pytest.mark.parametrize("needed", [
    "    out[0] = f64(u[1])\n",
    '    check(u[1], "replay")\n',
    "    if u[1]:\n        out[0] = 1.0\n",
    "    for j in loop(0, i64(u[1])):\n        out[j] = 1.0\n",
    "    for j in loop(0, 9, s=False):\n        out[j] = 1.0\n        s = step(u[j])\n"
    "        until(s)\n",
    "    for j in loop(0, 9, s=False):\n        if s:\n            out[j] = 1.0\n"
    "        s = step(u[j])\n",
    "    while loop(go, go=u[0]):\n        out[0] = 1.0\n        go = step(False)\n",
    "    t[at[2]] = f64(u[2])\n    out[0] = t[0]\n",
])
def test_an_array_that_something_else_is_computed_from_is_needed(needed: str) -> None:
    assert arrays_left(UPDATED + needed)[1] == {"t", "u"}


def test_values_that_may_raise_flags_are_computed() -> None:
    divided = UPDATED.replace("(at[i] > 3)", "(f64(u_at) / x[i] > 3.0)")
    kernel, left = arrays_left(divided)
    assert left == {"t", "u"}
    assert "/ x[i]" in show(kernel)
    kernel, left = arrays_left(UPDATED.replace("(at[i] > 3)", "(1.0 / x[i] > 3.0)"))
    assert left == {"t", "u"}
    kernel, left = arrays_left(UPDATED.replace("old = t", "q = 1.0 / x[i]\n        old = t"))
    assert left == {"t"}
    assert "1.0 / x[i]" in show(kernel)


def test_values_of_arrays_that_nobody_needs_raise_their_flags() -> None:
    """The count of a temporary's elements is not read, nor is the temporary then."""
    kernel, left = arrays_left("""
def k(x: f64[:], y: f64[:], t: own(f64[::1]), u: own(f64[::1]), out: mut(f64[:])):
    for i in loop(0, x.shape[0]):
        t[i] = x[i] - y[i]
    for j in loop(0, x.shape[0], n=0):
        n = step(select(t[j] != 0.0, n + 1, n))
    out[0] = 1.0
""")
    assert left == {"t"}
    assert "x[i] - y[i]" in show(kernel)


def test_a_kernel_whose_arrays_are_needed_is_the_same_object() -> None:
    kernel = parse(UPDATED)
    assert without_dead_arrays(kernel, ()) is kernel
    assert without_dead_arrays(kernel, {"t"}) is kernel


def sums(a, x, k):
    t = [0.0] * k
    for key, v in zip(a, x, strict=False):
        t[key] += v
    return np.array(t)


def largest(a, x, k):
    t = [0.0] * k
    for i in range(len(a)):
        t[a[i]] = max(t[a[i]], x[i])
    return np.array(t)


def counts(a, x, k):
    t = [0] * k
    for key in a:
        t[key] += 1
    return np.array(t)


def pairs(a, x, k):
    t = [[0.0] * k for _ in range(k)]
    for i in range(len(a)):
        t[a[i]][a[i - 1]] += x[i]
    return np.array(t)


def last_of_each(a, x, k):
    seen = [-1] * k
    for key in a:
        seen[key] = key
    out = np.zeros(k)
    for j in range(k):
        if seen[j] >= 0:
            out[j] = seen[j]
    return out


def best(a, x, k):
    t = [0.0] * (k + 1)
    for w, v in zip(a, x, strict=False):
        for c in range(k, w - 1, -1):
            if t[c - w] + v > t[c]:
                t[c] = t[c - w] + v
    return np.array(t)


@pytest.mark.parametrize("f", [sums, largest, counts, pairs, last_of_each, best])
def test_whether_items_are_pythons_is_not_kept_where_they_become_an_array(
    f: Callable[..., Any],
) -> None:
    g = fuse(f, on_reject="raise")
    nan, inf = np.nan, np.inf
    for a, x in (
        ([1, 7, 1, 0], [0.5, 1.5, -2.0, 3.0]), ([1, 2, 3], [nan, -0.0, inf]), ([], []),
        ([2, 2, 2], [0.0, inf, -inf]), ([8], [1.0]),
    ):
        given = np.array(a, np.int64), np.array(x), 8
        assert_same(outcome(f, given), outcome(g, given), f"{f.__name__}{given}")
    assert g.stats.compiled >= 2
    assert "_py" not in g.emit("loopir", *given)
