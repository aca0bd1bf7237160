"""Programs that read strings character by character."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .programs import Make, Rng, program


def two_texts(n: int, rng: Rng) -> tuple[str, str]:
    letters = ["a", "b", "(", ")", "7", "é", "\U0001f600"]
    first, second = (rng.integers(0, len(letters), k) for k in (n, max(0, n - n % 3)))
    return "".join(letters[k] for k in first), "".join(letters[k] for k in second)


def texts(**makes: Make) -> Callable[..., Callable[..., Any]]:
    return program(sizes=(0, 1, 17, 40), **makes)


@texts(texts=two_texts)
def edit_distance(s, t):
    prev = list(range(len(t) + 1))
    for i in range(1, len(s) + 1):
        cur = [i] + [0] * len(t)
        for j in range(1, len(t) + 1):
            cost = 0 if s[i - 1] == t[j - 1] else 1
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + cost)
        prev = cur
    return prev[-1]


@texts(texts=two_texts)
def characters(s, t):
    depth, runs, prev, value = 0, 0, "", 0
    counts = np.zeros(8, dtype=np.int64)
    for i, c in enumerate(s):
        if c == "(":
            depth += 1
        elif c == ")" and depth > 0:
            depth -= 1
        if c != prev:
            runs += i
        prev = c
        if "0" <= c <= "9":
            value = value * 10 + 7
    for c in t:
        counts[ord(c) % 8] += 1
    return depth, runs, value, counts, sum(x != y for x, y in zip(s, t, strict=False))


@texts(texts=two_texts)
def from_both_ends(s, t):
    same = 0
    i, j = 0, len(s) - 1
    while i < j and s[i] in "ab(" and s[j] not in "7é":
        same += s[i] == s[j]
        i += 1
        j -= 1
    return same, [ord(c) for c in reversed(t)], not s, len(t)
