"""What is done to lists that grow and shrink: one, two or three statements by chance, in a loop."""
from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lowered import PY_INT, VECTOR, lowered
from written import written

from transpile import fuse
from transpile.lower import lower_function

STATEMENTS = (
    "s = u[-1] - u.pop()", "s = len(u) * u.pop()", "s = u.pop() - u[-1]", "s += u.pop()",
    "t[int(u.pop()) % 10] = u.pop()", "s = u[int(u.pop()) % 3]", "s = s < 5 and u.pop()",
    "s = s + max(u[0], u.pop(0), len(u))", "s = u.pop() if s < 3 else 0", "s = u.pop() * len(u)",
    "s = s + u.pop(0) * u[0]", "s = u[0] + u.pop(0) * u[0]", "s += u.pop(i) + u[-1]",
    "if u and u.pop() > 2: s += len(u)", "if u and u.pop(0) > 2: s += len(u)",
    "u.append(u.pop(0))", "u.append(u.pop(0) + u[0])", "u.append(u[0] + u.pop(0))",
    "u.insert(1, u.pop())", "u.insert(u.pop() > 2, s)", "u.insert(i, u[0])", "u.append(u[-1])",
    "u.insert(len(u) - 1, u.pop(0))", "del u[i]", "del u[-1]", "del u[len(u) // 2]",
    "s, r = u.pop(), u.pop(0)", "s, r = u[0], u.pop(0)", "r, s = u.pop(0), u[0]",
    "u[0], u[1] = u.pop(), u.pop()", "u[0] = u.pop()", "u[-1] = u.pop()", "u[-1] += u.pop()",
    "u[-1] += u.pop(0)", "u[u.pop() > 1] = u.pop()", "s += sum([u.pop(), u.pop(0)])",
    "u.remove(u[-1])", "u.remove(s)", "u.remove(u.pop())", "u.sort()", "u.sort(reverse=True)",
    "u = sorted(u)", "u = sorted(u)[::-1]", "s = sorted(u)[0]", "s = sorted(u)[i]",
    "s = sorted(u)[-1] - sorted(u, reverse=True)[-1]", "s = sum(sorted(u)[:2])",
    "u = sorted(u[1:] + [u[0]])", "s = u[0] + sorted(u)[0] * u.pop()",
    "for j, w in enumerate(sorted(u)): s = s * j + w", "w = sorted([u[0], u[-1]]); s = w[1]",
    "u = [q for q in u if q != s]; s += len(u)", "u = [q + 1 for q in u]", "u = u[1:]",
    "s = max(u) - min(u); u.pop(u.index(max(u)))", "u.reverse(); u.pop()", "s = u.pop(-1)",
    "while len(u) > 2 and u.pop(0) < 3: s += u[0]", "u.pop(-2)", "u.pop(i - 1)", "x[i] = u.pop()",
    "x[len(u) % 3] = u.pop()", "x[0] += u.pop(1)", "u.insert(-1, u[0])", "u.insert(100, u[0])",
    "assert u.pop(0) < 4", "s = (lambda a: a * 2)(u.pop())", "s = abs(u.pop(0)) if u else -1",
    "s = u.pop(0) < u[0] < u.pop()", "u = u[::-1]", "u.clear()", "u.extend([u[0], u.pop()])",
    "u += [len(u), u[-1], len(u)]", "u.extend([u[-1] + s, u[-2] - s])",
)
KINDS = ("i8", "f8", "f4", "ints", "floats", "zeros", "nan")


def program(rng: random.Random) -> str:
    lines = [
        f"        {line}" for s in rng.choices(STATEMENTS, k=rng.choice((1, 1, 2, 3)))
        for line in ([s] if ": " in s else s.split("; "))
    ]
    head = ["u = []", "for v in x:", "    u.append(v)", "s, r = 0, 0", "t = [0] * 10",
            "for i in range(k):"]
    return "\n".join(["def f(x, k):", *(f"    {h}" for h in head), *lines,
                      "    return s, r, u, t, len(u)\n"])


def values(kind: str, n: int, rng: np.random.Generator) -> Any:
    whole = rng.integers(0, 5, n)
    match kind:
        case "ints":
            return whole.tolist()
        case "floats":
            return whole.astype(float).tolist()
        case "zeros":
            return rng.choice([0.0, -0.0, 1.0], n)
        case "nan":
            return rng.choice([0.5, np.nan, 1.0, np.inf], n)
    return (whole + (kind == "f8") * rng.random(n)).astype(kind)


def seen(function: Any, x: Any, k: int) -> tuple[str, str]:
    x = x.copy()
    with np.errstate(all="ignore"):
        try:
            out = repr(function(x, k))
        except (ArithmeticError, AssertionError, IndexError, ValueError, TypeError) as e:
            out = repr(e)
    return out, repr(x)


def test_what_is_done_to_lists(
    tmp_path: Path, start: int, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    rng, compiled = random.Random(start), 0
    count = 1000 if request.config.getoption("--long") else 4
    for _ in range(count):
        text = program(rng)
        function = written(tmp_path, text).f
        fused = fuse(function, on_reject="silent", reassociate=False)
        for kind in rng.sample(KINDS, 2):
            for n in rng.sample((0, 1, 2, 3, 5, 8, 40), 4):
                x = values(kind, n, np.random.default_rng(rng.randrange(1 << 30)))
                k = rng.choice((0, 1, 2, 5))
                wanted = seen(function, x, k)
                for _ in range(2):
                    assert seen(fused, x, k) == wanted, f"{text}\n{x!r}, {k}"
        compiled += fused.stats.compiled > 0
        assert not caplog.records, text
    assert compiled > 0.7 * count


TRUTHS = ("st", "not st", "st and v > 2", "v > 2 and st", "not st or v > 2", "st or v > 2",
          "(st or v > 4) and v < 6", "st and st[-1] > v", "not (st and v > 1)", "st and not v > 3")
ASKED = {
    "if": "if {t}:\n            n += 1\n        if len(st) > 3:\n            st.pop()\n"
          "        st.append(v)",
    "while": "while {t}:\n            n += 1\n            if n > 40 or not st:\n"
             "                break\n            st.pop()\n        st.append(v)",
    "chosen": "n += 1 if {t} else 3\n        if v < 3:\n            st.append(v)",
    "elif": "if v > 90:\n            n += 1\n        elif {t}:\n            n += 2\n"
            "        st.append(v)\n        if v < 1:\n            st.clear()",
}


@pytest.mark.share(30)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("form", ASKED)
@pytest.mark.parametrize("start", ["st = []", "st = [1.0, 2.0]"])
def test_truth_of_lists(form: str, start: str, part: int, tmp_path: Path) -> None:
    for truth in TRUTHS[part::3]:
        text = (f"def f(x):\n    n = 0\n    {start}\n    for v in x:\n"
                f"        {ASKED[form].format(t=truth)}\n    return n, len(st)\n")
        f = written(tmp_path, text).f
        g = fuse(f, on_reject="raise")
        for x in ([], [3.0], [3.0, 1.0, 2.0, 5.0, 4.0, 0.0, 7.0], [9.0] * 5):
            x = np.array(x)
            assert g(x) == f(x), (truth, x)
        assert g.stats.compiled == 4, (truth, g.stats)


READ_WHILE_CHANGED = (
    "w += [len(w), len(w)]", "w += [w[-1], w[-2]]", "w.extend([w[-1] + 1, w[-1], w[0]])",
    "w += [len(w), w[0] + 1, len(w)]", "v += [(len(v), 1), (len(v), 2)]",
    "v.extend([(v[-1][0] % 3, 1), (v[-1][1], len(v) % 3)])", "v[v[0][0]] = v[1]",
    "v[v[k % 2][0]] = v[v[k % 2][1]]", "v[v[0][0]] = (1, 2)", "v[v[1][1]] = (v[0][1], v[1][0])",
    "v[w[0]] = v[w[1]]", "v[w[0]] = (w[1], w[0])", "i, j = v[i]", "j, i = v[(i + j) % 3]",
    "t[v[0][0]], t[v[0][1]] = v[k % 3]", "i, t[i] = v[i]", "w.append(k); t[len(w) % 8] = w.pop()",
)


@pytest.mark.parametrize("statement", READ_WHILE_CHANGED)
def test_a_statement_reads_lists_as_they_were_before_it(statement: str, tmp_path: Path) -> None:
    head = (
        "v, w, t = [(0, 1), (1, 0), (2, 1)], [0, 1], [0] * 8", "i, j = 1, 0", "for k in range(n):",
        "    v.append((k % 3, (k + 1) % 3))", "    w.append(k % 2)",
        "    if len(v) > 6:", "        v.pop()", "        w.pop()", "for k in range(n):",
        f"    {statement}", "return v, w, t, i, j",
    )
    f = written(tmp_path, "\n".join(["def f(n):", *(f"    {h}" for h in head), ""])).f
    g = fuse(f, on_reject="raise")
    for n in range(8):
        assert g(n) == f(n), n
    assert g.stats.compiled == 8


def test_two_slices_of_a_list_of_tuples_are_no_columns(tmp_path: Path) -> None:
    text = (
        "def f(n):\n    v = [(5, 6), (7, 8), (9, 10)]\n    while len(v) < n:\n"
        "        v.append((n, 1))\n    a, b = v[1:3]\n    return a[0] + b[0]\n"
    )
    f = written(tmp_path, text).f
    g = fuse(f)
    assert [g(n) for n in (1, 5, 5)] == [f(n) for n in (1, 5, 5)]


@pytest.mark.parametrize("store", ["v[0][1] = n", "v[n % 2][0] += 1", "v[1][0], n = n, 2"])
def test_no_item_of_a_tuple_is_set(store: str, tmp_path: Path) -> None:
    text = (
        "def f(n):\n    v = [(5, 6), (7, 8)]\n    while len(v) < n:\n"
        f"        v.append((n, 1))\n    {store}\n    return v\n"
    )
    g = fuse(written(tmp_path, text).f)
    for n in (1, 5, 5):
        with pytest.raises(TypeError, match="'tuple' object does not support item assignment"):
            g(n)


MADE = ("[v for v in x]", "[v * 2 for v in x if v > 1]", "list(x)", "list(v for v in x)", "[*x]",
        "[0.0] * len(x)", "list(reversed(x))", "[0.5, *x]",
        "[float(i) for i in range(len(x))]")
RESIZED = {
    "pop": "while len(st) > 1:\n        n += 1\n        last = st.pop()",
    "append": "for v in x[:3]:\n        st.append(st[-1])",
    "del": "for k in range(2):\n        if len(st) > 3:\n            del st[1]",
    "clear": "for v in x:\n        if v > 3:\n            st.clear()\n            n += 1",
    "while": "while st:\n        n += 1\n        st.pop()",
}


@pytest.mark.parametrize("operation", RESIZED)
@pytest.mark.parametrize("made", MADE)
def test_lists_made_of_an_iterable_get_longer_and_shorter(
    made: str, operation: str, tmp_path: Path
) -> None:
    text = f"def f(x):\n    n, st = 0, {made}\n    {RESIZED[operation]}\n    return n, st\n"
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="raise")
    for kind in (np.array, list):
        for x in ([3.0, 1.0, 2.0, 5.0, 4.0, 0.0, 7.0], [9.0] * 5):
            assert repr(g(kind(x))) == repr(f(kind(x))), (kind, x)
    assert g.stats.compiled == 4


ATTEMPTS = (
    ("each list gets its type at its first append", 1, """
        def f(x, n):
            a = []
            b = []
            while len(a) < n:
                a.append(x[len(b)])
                b.append(len(a))
                if b[-1] > 3:
                    b.pop()
            return a, b
    """),
    ("ints are the guess for a list that is read before", 1, """
        def f(x, n):
            a = []
            for i in range(n):
                if a and a[-1] == i:
                    a.pop()
                a.append(i)
            return a
    """),
    ("the guess was wrong", 2, """
        def f(x, n):
            a = []
            for i in range(n):
                if a and a[-1] == i:
                    a.pop()
                a.append(x[i])
            return a
    """),
    ("a later append has a wider type", 2, """
        def f(x, n):
            a = [1]
            while len(a) < n:
                a.append(0.5)
                a[0] = a[-1]
            return a
    """),
)


@pytest.mark.parametrize(("attempts", "source"), [row[1:] for row in ATTEMPTS],
                         ids=[row[0] for row in ATTEMPTS])
def test_how_often_a_function_is_lowered(
    attempts: int, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = 0
    lower_to_plan = lower_function._lower_to_plan

    def count(*args: Any, **options: Any) -> Any:
        nonlocal counted
        counted += 1
        return lower_to_plan(*args, **options)

    monkeypatch.setattr(lower_function, "_lower_to_plan", count)
    lowered(source, x=VECTOR, n=PY_INT)
    assert counted == attempts


def test_the_items_of_a_display_are_pushed_together() -> None:
    """One test of the capacity for all of them, and the same items as if they came one by one."""
    ir = lowered("""
        def f(n):
            a = [-1, -1, -1, -1]
            while len(a) < n:
                a += [len(a), a[-1]]
            return a
    """, n=PY_INT)
    assert ir.count("check(fits") == 2
