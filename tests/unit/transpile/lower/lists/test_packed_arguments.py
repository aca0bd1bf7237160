"""memoryviews and array.arrays as arguments: arrays that share their memory, items of Python."""
from __future__ import annotations

import textwrap
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import same
from written import written

from transpile import fuse

FORMATS = "bBhHiIlqfd"
BODIES = {
    "read": """
        c, h = 0, 0.5
        for v in s: c += v * 3
        for i in range(len(s)): h += s[i] / (i + 1)
        for v, w in zip(s, s[1:]): c += v - w
        return c, h, s[-1], [-v for v in s]
    """,
    "read beyond the end": "c = 0\nfor i in range(6): c += s[i]\nreturn c",
    "written": "for i in range(len(s)): s[i] = s[i] // 2 + i\nreturn s[0]",
    "given floats": "for i in range(len(s)): s[i] = s[i] / 3\nreturn s[0]",
    "given what may not fit": "for i in range(len(s)): s[i] = s[i] * 100 - 90\nreturn s[0]",
    "given bools": "for i in range(len(s)): s[i] = s[i] > 1",
    "given NumPy's numbers": "for i in range(len(s)): s[i] = np.int64(i) * 2; s[0] = np.float64(2)",
    "given NumPy's bools": "for i in range(len(s)): s[i] = np.int64(i) > 2",
    "a slice that is read": "c = 0\nfor i in range(2):\n    for v in s[i:]: c += v\nreturn c",
    "a slice of what is written": """
        t = s[1:]
        for i in range(len(s)): s[i] = 2
        c = 0
        for v in t: c += v
        return c
    """,
    "joined, searched, summed": """
        c = 0
        for v in s: c += v
        return c, list(s + s), s.count(1), 3 in s, sum(s)
    """,
    "under another name": """
        t, c = s, 0
        for i in range(len(t)):
            t[i] = 1
            c += s[i]
        return c, t is s
    """,
}
LEFT = {"joined, searched, summed", "under another name", "read beyond the end"}


def of_packed(folder: Path, body: str) -> Any:
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return written(folder, f"import numpy as np\ndef f(s):\n{lines}\n").f


def arguments(code: str) -> list[Callable[[], Any]]:
    """What makes an argument with items of that format, each anew for each call."""
    values = [3, 1, 4, 1, 5]
    return [
        lambda: array(code, values),
        lambda: memoryview(array(code, values)),
        lambda: memoryview(array(code, values))[::-2],
        lambda: memoryview(array(code, values)).toreadonly(),
        lambda: array(code),
    ]


def result(f: Any, s: Any) -> Any:
    """The result or exception of ``f(s)``, and the memory afterwards."""
    try:
        value = f(s)
    except Exception as e:
        value = type(e), str(e)
    return value, s.tobytes()


@pytest.mark.share(26)
@pytest.mark.parametrize("code", FORMATS)
@pytest.mark.parametrize("name", BODIES)
def test_items_are_pythons_and_errors_too(name: str, code: str, tmp_path: Path) -> None:
    f = of_packed(tmp_path, BODIES[name])
    g = fuse(f, on_reject="silent")
    for make in arguments(code):
        got, wanted = result(g, make()), result(f, make())
        assert same(got, wanted), (make(), got, wanted)
    assert g.stats.compiled or name in LEFT or "given" in name, g.report()


def test_compiled_calls_share_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")

    @fuse
    def doubled(s, t):
        n = 0
        for i in range(len(s)):
            s[i] = s[i] * 2
            n += t[i]
        return n

    x = np.arange(5, dtype=np.int16)
    assert doubled(memoryview(x), array("d", range(5))) == 10.0
    assert x.tolist() == [0, 2, 4, 6, 8]
    a = array("i", range(5))
    assert doubled(a, a) == 20  # the one is written before the other is read
    a.append(3)  # nothing holds on to its memory
    assert doubled(np.arange(3), memoryview(np.array([True, False, True]))) == 2


def test_memory_that_overlaps_is_pythons() -> None:
    def chained(s, t):
        for i in range(1, len(s)):
            s[i] = t[i - 1] + 1

    g = fuse(chained, on_reject="silent")
    for f in (g, chained):
        a = array("q", [1, 9, 9, 9])
        f(a, memoryview(a))
        assert a.tolist() == [1, 2, 3, 4]
        b = np.array([1, 9, 9, 9])
        f(memoryview(b), b)
        assert b.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("native", [True, False])
def test_an_array_may_grow_where_an_exception_is_caught(
    native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The traceback keeps frames alive, and these must not keep the memory of the array."""
    if not native:
        monkeypatch.setattr("targets.abi.native_entry.opened_trampoline", lambda: None)

    def total(a, n):
        s = 0
        for i in range(n):
            s += a[i]
        return s

    g, a = fuse(total, on_reject="silent"), array("i", range(90))
    for _ in range(4):
        assert g(a, 90) == total(a, 90)
        try:
            g(a, 91)
        except IndexError:
            a.append(0)
            a.pop()
        else:
            raise AssertionError


OTHERS = {
    "array.array of type code 'Q'": lambda: array("Q", [1, 2, 1 << 63]),
    "memoryview of format '>i'": lambda: memoryview(np.arange(3, dtype=">i4")),
    "memoryview of format 'e'": lambda: memoryview(np.arange(3, dtype=np.float16)),
    "memoryview of 2 axes": lambda: memoryview(np.ones((2, 2))),
}


@pytest.mark.parametrize("reason", OTHERS)
def test_other_formats_are_pythons_and_the_report_says_why(reason: str) -> None:
    def total(s):
        n = 0
        for i in range(len(s)):
            n += s[i]
        return n

    g, s = fuse(total, on_reject="silent"), OTHERS[reason]()
    assert result(g, s) == result(total, s)
    assert g.report(s).rejections[0].message == f"`s` is of type {reason}"


def test_verified_calls_run_on_copies() -> None:
    @fuse(verify=1.0)
    def halved(s):
        for i in range(len(s)):
            s[i] = s[i] // 2
        return s

    for s in (array("i", [8, 6]), memoryview(array("i", [8, 6]))):
        assert halved(s) is s
        assert s.tolist() == [4, 3]
    assert halved.stats.compiled == 2
