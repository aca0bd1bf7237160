"""Which lists that are arguments become arrays: those of which a loop may read many items."""
from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse
from transpile.lower.lists.list_arguments import _moving_names

MANY: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "a step that is a variable": ("""
        i = 2
        while i * i < len(a):
            j = i * i
            while a[i] and j < len(a):
                a[j] = 0
                j += i
            i += 1
        return a
    """, [([1] * 30,), ([1] * 4,), ([],)]),
    "links": ("""
        i, c = 0, 0
        while a[i] != i and c < len(a):
            i = a[i]
            c += 1
        return i, c
    """, [([1, 2, 3, 3],), ([0],), ([5],), ([],)]),
    "steps that are items": ("""
        i, c = 0, 0
        while i < len(a):
            i += a[i]
            c += 1
        return i, c
    """, [([1, 1, 2, 1, 1],), ([7],), ([],)]),
    "a stack": ("""
        st, out = [0], []
        while st and len(out) < 20:
            v = st.pop()
            out.append(a[v])
            if v + 2 < len(a):
                st.append(v + 1)
                st.append(v + 2)
        return out
    """, [([1, 2, 3, 4],), ([],)]),
}
"""Bodies of a function of the list ``a``, and calls of it."""

FEW = {
    "bisection": "while lo < hi:\n m = (lo + hi) // 2\n if a[m] < v: lo = m + 1\n else: hi = m",
    "shrinking steps": "while n:\n half = n >> 1\n if a[lo + half] < v: lo += half + 1\n n -= half",
    "doubling": "while i < n and a[i] < v: i *= 2",
    "heap": "while 2 * i + 1 < n:\n c = 2 * i + 1\n if a[c] < a[i]: a[i], a[c] = 0, 1\n i = c",
}


@pytest.mark.parametrize(("body", "calls"), MANY.values(), ids=MANY)
def test_lists_of_which_many_items_may_be_read(
    body: str, calls: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    f = written(tmp_path, "def f(a):\n" + textwrap.indent(textwrap.dedent(body), "    ")).f
    g = fuse(f, on_reject="raise")
    for args in calls:
        assert_same(outcome(g, args), outcome(f, args), f"{args}")
    assert g.stats.compiled


@pytest.mark.parametrize("loop", FEW.values(), ids=FEW)
def test_loops_that_read_few_items(loop: str) -> None:
    (node,) = ast.parse(loop).body
    assert isinstance(node, ast.While)
    subscripts = [n.slice for n in ast.walk(node) if isinstance(n, ast.Subscript)]
    used = {n.id for s in subscripts for n in ast.walk(s) if isinstance(n, ast.Name)}
    assert not used & _moving_names(node)


READ = {
    "counted": "c = 0\nfor b in s:\n    if b == 65: c += 1\nreturn c",
    "a checksum": "c = 1\nfor i in range(len(s)): c = (c * 31 + s[i]) % 65521\nreturn c, s[-1]",
    "pairs": "c = 0\nfor a, b in zip(s, reversed(s)): c += a != b\nreturn c",
    "a histogram": "h = [0] * 256\nfor b in s: h[b] += 1\nreturn h",
    "a table": "d = {}\nfor b in s: d[b] = d.get(b, 0) + 1\nreturn d",
    "slices": "return [sum(s[i:i + 2]) for i in range(len(s))], s",
    "up to a byte": "i = 0\nwhile i < len(s) and s[i] != 10: i += 1\nreturn i",
    "arithmetic": "return [(~b, -b, b / 255, b // 2, b << 60 >> 60, b * b) for b in s]",
    "out of bounds": "c = 0\nfor i in range(min(9, len(s) + 1)): c += s[i]\nreturn c",
}
"""Bodies of a function of ``s``, which is bytes or a bytearray."""

LEFT_TO_PYTHON = {
    "joined": "c = 0\nfor b in s: c += b\nreturn s + s, s * 2, c",
    "an array": "c = 0\nfor b in s: c += b\nreturn np.array(s), c",
    "summed by NumPy": "c = 0\nfor b in s: c += b\nreturn np.sum(s)",
    "compared": "c = 0\nfor b in s: c += s == t\nreturn c, s < t",
    "searched": "c = 0\nfor b in range(300): c += b in s\nreturn c",
    "methods": "c = 0\nfor b in s: c += s.count(b) + s.index(s[0])\nreturn c",
    "a part": "c = 0\nfor b in s[1:]: c += b\nreturn s[1:], c",
    "of an array": "x = np.zeros(len(s))\nfor i in range(len(s)): x[i] = s[i]\nreturn x + s",
}

WRITTEN = {
    "in range": "for i in range(len(s)): s[i] = (s[i] * 3 + t[i]) & 255\nreturn s",
    "in place": "for i in range(len(s)): s[i] ^= t[i]\nreturn len(s)",
    "reversed": (
        "i, j = 0, len(s) - 1\nwhile i < j:\n    s[i], s[j] = s[j], s[i]\n    i, j = i + 1, j - 1"
    ),
    "too large": "for i in range(len(s)):\n    t[i] = 1\n    s[i] = s[i] * 3",
    "negative": "for i in range(len(s)): s[i] -= 90",
    "NumPy's ints and bools": "for i in range(len(s)): s[i] = np.int64(i); t[i] = s[i] > 3",
    "floats": "for i in range(len(s)): s[i] = s[i] / 2",
    "from the other": "for i in range(len(s)):\n    s[i] = t[i]\n    t[i] = 9",
}
"""Bodies of a function of two bytearrays, perhaps the same one."""

BYTES = (b"ACGTA-12\n", bytes(range(256)), b"\x00", b"")


def of_bytes(folder: Path, body: str) -> Any:
    lines = textwrap.indent(body, "    ")
    return written(folder, f"import numpy as np\ndef f(s, t=b''):\n{lines}\n").f


@pytest.mark.share(6)
@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_bytes_are_read(body: str, tmp_path: Path) -> None:
    f = of_bytes(tmp_path, body)
    g = fuse(f, on_reject="raise")
    for data in BYTES:
        for s in (data, bytearray(data)):
            assert_same(outcome(g, (s,)), outcome(f, (s,)), f"{s}")
    assert g.stats.compiled


@pytest.mark.share(6)
@pytest.mark.parametrize("body", LEFT_TO_PYTHON.values(), ids=LEFT_TO_PYTHON)
def test_bytes_are_no_list(body: str, tmp_path: Path) -> None:
    """What means another thing for bytes than for a list, or an array."""
    f = of_bytes(tmp_path, body)
    g = fuse(f, on_reject="silent")
    for args in ((b"ACGTA", b"AC"), (bytearray(b"ACGTA"), bytearray(b"ACGTA"))):
        assert_same(outcome(g, args), outcome(f, args), f"{args}")


@pytest.mark.share(6)
@pytest.mark.parametrize("body", WRITTEN.values(), ids=WRITTEN)
def test_bytearrays_are_written(body: str, tmp_path: Path) -> None:
    f = of_bytes(tmp_path, body)
    g = fuse(f, on_reject="silent")
    for data in (b"hello world", b"\x01\x02", b""):
        same = bytearray(data)
        for args in ((bytearray(data), bytearray(data[::-1])), (same, same)):
            assert_same(outcome(g, args), outcome(f, args), f"{args}")
    assert g.stats.compiled or "/" in body


def test_arrays_that_share_the_memory_of_a_bytearray() -> None:
    def chained(s, x):
        for i in range(1, len(s)):
            s[i] = (x[i - 1] + 1) & 255

    g = fuse(chained, on_reject="silent")
    for f in (g, chained):
        s = bytearray(b"aaaa")
        f(s, np.frombuffer(s, np.uint8))
        assert s == b"abcd"


def place(xs: Any, v: int) -> int:
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low


def test_the_help_for_a_list_that_is_read_at_few_places_can_be_followed() -> None:
    f, xs = fuse(place, on_reject="silent"), [1, 4, 9, 16]
    (rejection,) = f.report(xs, 9).rejections
    assert rejection.help is not None
    assert "`np.array(xs)`" in rejection.help
    assert (f(np.array(xs), 9), f.stats.compiled) == (2, 1)


def weighted(pairs: Any) -> float:
    s = 0.0
    for k, v in pairs:
        s += k * v
    return s


def test_lists_of_pairs_of_two_types_are_refused_before_they_are_compiled() -> None:
    """Each call would fail the guard on the types of items."""
    f = fuse(weighted, on_reject="silent", cache=False)
    for pairs in ([(1, 0.5), (2, 0.25)], [[1, 0.5], [2, 0.25]]):
        assert f(pairs) == 1.0
    assert set(f.stats.replays) == {"LOWER_TYPE"}
    assert (f([(1.0, 0.5)] * 2), f.stats.compiled) == (1.0, 1)
