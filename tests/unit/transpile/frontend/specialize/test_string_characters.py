"""Strings that are read character by character: compiled as codes, or left to Python, never wrong.
"""
from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

STRINGS = (
    ("", ""), ("", "a"), ("a", ""), ("a", "b"), ("kitten", "sitting"), ("(()())", "aeiou"),
    ("a" * 40, "ab" * 20), ("é😀\ud800 a", "é😀\udfff b"), ("12 345", "x1y2"),
    ("aab" * 30, "aac" * 30),
)

READ = {
    "distance": """
        prev = list(range(len(t) + 1))
        for i in range(1, len(s) + 1):
            cur = [i] + [0] * len(t)
            for j in range(1, len(t) + 1):
                cost = 0 if s[i - 1] == t[j - 1] else 1
                cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + cost)
            prev = cur
        return prev[-1]
    """,
    "count": "return sum(1 for c in s if c in 'aeiou') + sum(c not in 'xyz' for c in t)",
    "hash": """
        h = 5381
        for c in s:
            h = ((h << 5) + h + ord(c)) & 0xFFFFFFFFFFFFFFFF
        return h
    """,
    "ends": """
        i, j = 0, len(s) - 1
        while i < j:
            if s[i] != s[j]:
                return False
            i += 1
            j -= 1
        return True
    """,
    "runs": """
        n, prev = 0, ""
        for c in s:
            if c != prev:
                n += 1
            prev = c
        return n
    """,
    "zipped": "return sum(x != y for x, y in zip(s, t)), [x < y for x, y in zip(s, t)]",
    "numbered": """
        depth = 0
        for i, c in enumerate(s):
            if c == "(":
                depth += 1
            elif c == ")":
                depth -= 1
                if depth < 0:
                    return i
        return depth
    """,
    "digits": """
        n = 0
        for c in s:
            if "0" <= c <= "9":
                n = n * 10 + ord(c) - ord("0")
        return n
    """,
    "array": """
        out = np.zeros(256, dtype=np.int64)
        for c in s:
            out[ord(c) % 256] += 1
        return out
    """,
    "reversed": "return [ord(c) for c in reversed(s)], [ord(x) for _, x in enumerate(t, 3)]",
    "pairs": "return sum(a == b for a, b in zip(s, s[1:])), [ord(c) for c in t[::-1]]",
    "parts": """
        n = 0
        for c in s[2:-1:2]:
            n += c in "ab("
        return n
    """,
    "failure": """
        table, k = [0] * len(s), 0
        for i in range(1, len(s)):
            while k > 0 and s[i] != s[k]:
                k = table[k - 1]
            if s[i] == s[k]:
                k += 1
            table[i] = k
        return table
    """,
    "raises": "return sum(s[i] == t[-i - 3] for i in range(3))",
}

OTHER = (
    "if not s or t == '':\n        return len(t) - len(s)\n    return 1 if s else 0",
    "return ord(s[0]) if s else -1", "return s[7] == t[-3]",
    "last = s[0]\n    for c in t:\n        if c > last: last = c\n    return ord(last)",
    "return s[0]", "return [c for c in s]", "return s[1:]", "return s + t", "return s == t",
    "return s[0] == 97", "return s[0] is None", "return max(s)", "return sorted(s)", "return s",
    "return s[0].upper() == 'A'", "return {c: 1 for c in s}", "return s[0] in t", "return str(s)",
    "s = t\n    return s[0] == 'a'", "return (lambda: s[0] == 'a')()", "return f'{s[0]}' == 'a'",
    "c = 5\n    for c in s: pass\n    return c == 5", "return s[0] == ('a' or t[0])",
    "c = ''\n    for c in s: pass\n    return ord(c)", "return s[0] == 'ab'", "return s[0] in ''",
    "out = []\n    for c in s: out.append(c)\n    return out", "return len(s + t)", "return s * 2",
    "return s[0] < 1", "del s\n    return t[0] == 'a'", "return isinstance(s, str)",
    "d = {}\n    for c in s: d[c] = d.get(c, 0) + 1\n    return d", "return [*s]", "return s < t",
    "for c in s:\n        if c.isdigit(): return 1\n    return 0", "return s[0] == t[0] == 1",
    "return int(s[0])", "return s[0] == np.str_('a')", "return len(s[0])",
    "return bytes(s, 'utf8')",
)


def made(body: str, folder: Path) -> Callable[..., Any]:
    text = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return written(folder, f"import numpy as np\n\ndef f(s, t):\n{text}\n").f


@pytest.mark.parametrize("name", READ)
def test_characters_are_compiled(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_SELECT", "compiled")
    plain = made(READ[name], tmp_path)
    compiled = fuse(plain, on_reject="raise")
    for args in STRINGS:
        assert_same(outcome(compiled, args), outcome(plain, args), f"{name}{args}")
    raising = sum(outcome(plain, args).error is not None for args in STRINGS)
    assert compiled.stats.compiled >= len(STRINGS) - raising
    assert len(compiled.signatures) == 1


@pytest.mark.parametrize("body", OTHER)
def test_what_else_is_done_with_strings_is_pythons(body: str, tmp_path: Path) -> None:
    plain = made(body.replace("\n    ", "\n"), tmp_path)
    compiled = fuse(plain, on_reject="silent")
    for args in STRINGS:
        for _ in range(2):
            assert_same(outcome(compiled, args), outcome(plain, args), f"{body}{args}")


def test_other_arguments_are_what_they_are(tmp_path: Path) -> None:
    plain = made("return sum(x == y for x, y in zip(s, t))", tmp_path)
    compiled = fuse(plain, on_reject="silent")

    class Text(str):
        __slots__ = ()

        def __iter__(self):
            return iter("zzz")

    for args in (
        ("abc", "abd"), ([1, 2], [1, 3]), ("abc", ["a", "b"]), (b"abc", b"abd"), ("abc", b"abc"),
        (Text("abc"), "zzz"), (np.array([1, 2]), np.array([1, 2])), ("12", [1, 2]), ("a", None),
    ):
        for _ in range(2):
            assert_same(outcome(compiled, args), outcome(plain, args), str(args))


def test_names_may_get_other_meanings(tmp_path: Path) -> None:
    module = written(tmp_path, "def f(s):\n    return [ord(c) for c in s]\n")
    compiled = fuse(module.f, on_reject="silent")
    assert compiled("abc") == [97, 98, 99]
    module.ord = lambda c: c + "!"
    assert compiled("abc") == module.f("abc") == ["a!", "b!", "c!"]
    del module.ord
    assert compiled("abc") == [97, 98, 99]
    other = written(tmp_path, "len = max\ndef f(s):\n    return len(s) == 'c', s[0] == 'a'\n")
    assert fuse(other.f, on_reject="silent")("abc") == other.f("abc")


def test_random_strings(tmp_path: Path) -> None:
    r = random.Random(5)
    functions = [(name, made(body, tmp_path)) for name, body in READ.items() if name != "digits"]
    fused = {name: fuse(f, on_reject="raise") for name, f in functions}
    for _ in range(10):
        args = tuple("".join(r.choices("ab(é😀\x00", k=r.randrange(30))) for _ in range(2))
        for name, f in functions:
            assert_same(outcome(fused[name], args), outcome(f, args), f"{name}{args}")
