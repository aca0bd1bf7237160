"""Dicts and sets whose keys are data: each program's answer, by machine code and by Python."""
from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from random_tables import table_program
from staged import in_parts
from written import written

from transpile import fuse

HEAD = """import collections
from collections import Counter, defaultdict

import numpy as np


"""
WHOLE = {
    "counted": "d = {}\nfor v in x:\n    d[v] = d.get(v, 0) + 1\nreturn d",
    "counted by items": "d = Counter()\nfor v in x:\n    d[v] += 1\nreturn d, d[99], len(d)",
    "counted at once": "c = Counter(x)\nreturn c, max(c.values()) if c else 0",
    "summed":
        "d = {}\nfor k, v in zip(x, w):\n    if k not in d:\n        d[k] = 0.0\n    d[k] += v\n"
              "return d",
    "summed, either way":
        "d = {}\nfor i in range(len(x)):\n    if x[i] in d:\n        d[x[i]] += w[i]\n"
                          "    else:\n        d[x[i]] = w[i]\nreturn d",
    "a key that the value rebinds":
        "d = {}\nk = 1\nfor v in x:\n    if k not in d:\n        d[k] = 0\n"
        "    d[k] += (k := v)\nreturn d",
    "defaults that change the table":
        "d = {0: 1}\nfor v in x:\n    d[v] = 2\na = d.get(99, d.setdefault(99, 5) + 1)\n"
        "b = d.setdefault(98, d.setdefault(98, 3) + 1)\n"
        "c = d.pop(97, d.setdefault(97, 5) + 1)\nreturn a, b, c, d",
    "a default of no use that has an effect":
        "d = {0: 1}\nfor v in x:\n    d[v] = 2\nd.pop(99, d.pop(0))\nreturn len(d)",
    "a key that the value rebinds, of a defaultdict":
        "d = defaultdict(int)\nk = j = 1\nfor v in x:\n    d[k, j] += (k := v)\nreturn d",
    "a key that the value rebinds, set by default":
        "d = {}\nk = 1\nfor v in x:\n    d.setdefault(k, (k := v))\nreturn d",
    "begun": "d = {}\nfor i, v in enumerate(x):\n    d.setdefault(v, i)\n"
             "return list(d), list(d.values()), list(d.keys())",
    "a defaultdict":
        "d = defaultdict(float)\nfor i in range(len(x)):\n    d[x[i]] += w[i]\nreturn d",
    "a defaultdict, read": "d = collections.defaultdict(int)\nn = 0\nfor v in x:\n    n += d[v]\n"
                           "    d[v + 1] += 2\nreturn n, len(d)",
    "begins with a lambda": "d = defaultdict(lambda: 5)\nfor v in x:\n    d[v % 3] += 1\n"
                            "return d[0], d[77]",
    "the commonest": "d = {}\nfor v in x:\n    d[v] = d.get(v, 0) + 1\nreturn max(d, key=d.get), "
                     "min(d, key=d.get)",
    "what was seen": "s = set()\nout = []\nfor v in x:\n    if v not in s:\n        s.add(v)\n"
                     "        out.append(v)\nreturn out, s",
    "seen before": "s = set()\nfor i, v in enumerate(x):\n    if v in s:\n        return i, v\n"
                   "    s.add(v)\nreturn None",
    "two that make a sum": "at = {}\nfor i in range(len(x)):\n    r = 7 - x[i]\n    if r in at:\n"
                           "        return at[r], i\n    at[x[i]] = i\nreturn None",
    "sums of stretches": "seen = {0: 1}\ns = n = 0\nfor v in x:\n    s += int(v)\n"
                         "    n += seen.get(s - 5, 0)\n    seen[s] = seen.get(s, 0) + 1\nreturn n",
    "labels": "lab = {}\nout = np.empty(len(x), np.int64)\nfor i, v in enumerate(x):\n"
              "    if v not in lab:\n        lab[v] = len(lab)\n    out[i] = lab[v]\n"
              "return out, lab",
    "pairs": "d = {}\nfor i in range(len(x) - 1):\n    k = (x[i], x[i + 1] % 3)\n"
             "    d[k] = d.get(k, 0) + 1\nn = 0\nfor (a, b), v in d.items():\n"
             "    n = max(n, v + a * b)\n"
             "return n, d",
    "lists got by name":
        "d = {}\nfor i, v in enumerate(x):\n    d.setdefault(v, []).append(i)\nn = 0\nfor v in x:\n"
        "    a = d.get(v + 1, [])\n    for i in a:\n        n += i\n    n += len(a)\nreturn n",
    "means of groups": "d = {}\nfor k, v in zip(x, w):\n    s, n = d.get(k, (0.0, 0))\n"
                       "    d[k] = (s + v, n + 1)\nreturn {k: s / n for k, (s, n) in d.items()}",
    "tuples of keys": "d = {}\nfor k, v in zip(x, w):\n    if k not in d:\n"
                      "        d[k] = (0.0, 0)\n    s, n = d[k]\n"
                      "    d[k] = (s + v, n + 1)\nreturn d",
    "where the best are": "b = {}\nfor i, v in enumerate(w):\n    if x[i] not in b or "
                          "v > b[x[i]][0]:\n        b[x[i]] = (v, i)\nt = 0.0\n"
                          "for k, (v, i) in b.items():\n    t += v * i + k\nreturn t, len(b)",
    "ranges": "d = {}\nfor k, v in zip(x, w):\n    if k in d:\n        a, b = d[k]\n"
              "        d[k] = (min(a, v), max(b, v))\n    else:\n        d[k] = (v, v)\n"
              "return [d[k][1] - d[k][0] for k in sorted(d)]",
    "values apart": "d = {}\nfor i in range(len(x)):\n    d[x[i]] = (w[i], 3)\nt = 0.0\n"
                    "for v in d.values():\n    t += v[0] * v[1]\n"
                    "return t, sum(v[1] for v in d.values())",
    "pairs of pairs": "d = {}\nfor i in range(len(x) - 1):\n    d[x[i], x[i + 1]] = (i, w[i])\n"
                      "return d",
    "flood": "seen = {(0, 0)}\nst = [(0, 0)]\nn = 0\nwhile st:\n    i, j = st.pop()\n    n += 1\n"
             "    for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):\n"
             "        a, b = i + di, j + dj\n"
             "        if 0 <= a < 9 and 0 <= b < 9 and (a, b) not in seen:\n"
             "            seen.add((a, b))\n            st.append((a, b))\nreturn n",
    "a window": "s = set()\nbest = j = 0\nfor i in range(len(x)):\n    while x[i] in s:\n"
                "        s.remove(x[j])\n        j += 1\n    s.add(x[i])\n"
                "    best = max(best, i - j + 1)\n"
                "return best, len(s), sorted(s)",
    "taken out":
        "d = {}\nn = 0\nfor v in x:\n    n += d.pop(v, 0)\n    d[v + 1] = 1\n    if v in d:\n"
                 "        del d[v]\nreturn n, len(d), 3 in d, sorted(d)",
    "values of what is left":
        "d = {}\nfor i, v in enumerate(x):\n    d[v] = i\n    if i % 3 == 0:\n"
        "        d.pop(v - 1, 0)\n"
        "a = max(d.values())\nb = sorted(d.values(), reverse=True)\nreturn a, b",
    "emptied": "s = set()\nn = 0\nfor v in x:\n    if v in s:\n        s.clear()\n        n += 1\n"
               "    s.add(v)\nreturn n, len(s)",
    "shares": "d = {}\nfor v in x:\n    d[v] = d.get(v, 0.0) + 1.0\nt = sum(d.values())\n"
              "for k in d:\n    d[k] /= t\nreturn d",
    "remembered": "memo = {1: 1}\nbest = 0\nfor i in range(2, 60):\n    n = i\n    steps = 0\n"
                  "    while n not in memo:\n        n = n // 2 if n % 2 == 0 else 3 * n + 1\n"
                  "        steps += 1\n    memo[i] = memo[n] + steps\n"
                  "    best = max(best, memo[i])\n"
                  "return best, memo",
    "of each row":
        "n = 0\nfor i in range(0, len(x) - 3, 4):\n    s = set()\n    for j in range(i, i + 4):\n"
                   "        s.add(x[j])\n    n += len(s)\nreturn n",
    "without names": "return len(set(x)), len({v % 3 for v in x}), sorted(set(x))",
    "both":
        "a = set(x[: len(x) // 2])\n"
        "return sum(1 for v in x if v in a), [v for v in x if v not in a]",
    "perhaps": "d = {}\nn = 0\nfor i, v in enumerate(x):\n    p = d.get(v)\n    if p is not None:\n"
               "        n += i - p\n    d[v] = i\nreturn n",
    "of constants":
        "d = dict.fromkeys(range(20), 0)\nfor v in x:\n    d[abs(int(v))] += 1\nreturn d",
    "comprehensions": "d = {v: i for i, v in enumerate(x)}\n"
                      "return {k: v * 2 for k, v in d.items() if v > 2}, [k for k in d], "
                      "{k for k in d if d[k] > 1}",
    "zipped": "d = dict(zip(x, w))\nreturn sum([d[v] for v in x]), dict(d)",
    "arrays": "d = {}\nfor v in x:\n    d[v] = d.get(v, 0) + 1\n"
              "return np.array(list(d.keys())), np.array(list(d.values()))",
    "asked in all ways":
        "d, s = {}, set()\nn = 0\nfor v in x:\n    if v in d and d[v] > 2 or not d:\n"
                         "        n += 1\n    n += d[v] if v in d else -1\n"
                         "    d[v] = d.get(v, 0) + 1\n"
                         "    if d and len(s) < 3:\n        s.add(v)\n"
                         "while len(s) < 9 and n not in s:\n"
                         "    s.add(n)\n    n += 1\nreturn n, s",
    "annotated":
        "d: dict[int, int] = {}\nfor v in x:\n    d[v] = 1 if v not in d else d[v] + 1\nreturn d",
    "of another key": "d = {}\nfor i in range(len(x) - 1):\n"
                      "    d[x[i]] = d.get(x[i + 1], 0) + d.get(x[i], 1)\nreturn d",
    "of itself": "d = defaultdict(int)\nfor v in x:\n    d[v] += 1 + d[v - 1]\nreturn d",
    "turned round":
        "d = {}\nfor i, v in enumerate(x):\n    d[v] = i\nreturn {v: k for k, v in d.items()}",
    "far apart":
        "d = {}\nfor v in x:\n    k = int(v) * 10 ** 17\n    d[k] = d.get(k, 0) + 1\nreturn d",
    "grouped": "g = {}\nfor k, v in zip(x, w):\n    g.setdefault(k, []).append(v)\nreturn g",
    "grouped, begun":
        "g = {}\nfor i in range(len(x)):\n    if x[i] not in g:\n        g[x[i]] = []\n"
                      "    g[x[i]].append(i)\nn = 0\nfor k in g:\n    n = max(n, len(g[k]))\n"
                      "return n, g",
    "grouped, either way": "g = {}\nfor i in range(len(x)):\n    if x[i] in g:\n"
                           "        g[x[i]].append(w[i])\n    else:\n        g[x[i]] = [w[i]]\n"
                           "return {k: sum(v) / len(v) for k, v in g.items()}",
    "grouped by default": "g = defaultdict(list)\nfor i, v in enumerate(x):\n    g[v].append(i)\n"
                          "return g",
    "returned, then asked":
        "g = defaultdict(list)\nd = defaultdict(int)\nfor i, v in enumerate(x):\n"
                            "    g[v].append(i)\nn = len(g[100])\nd[7] += 1\nreturn g, d, n",
    "ranges of groups": "g = {}\nfor i, v in enumerate(x):\n    g.setdefault(v, []).append(w[i])\n"
                        "s = 0.0\nfor m in g.values():\n    s += max(m) - min(m)\n"
                        "return s, len(g.get(3, [])), sum(g.get(99, [])), 3 in g",
    "a graph": "g = defaultdict(list)\nfor i in range(len(x) - 1):\n    g[x[i]].append(x[i + 1])\n"
               "seen = set()\nst = [x[0]]\nn = 0\nwhile st:\n    u = st.pop()\n    if u in seen:\n"
               "        continue\n    seen.add(u)\n    n += 1\n    for v in g[u]:\n"
               "        if v not in seen:\n            st.append(v)\nreturn n",
}
"""What is compiled as a whole, for ints."""
IN_PARTS = {
    "told": "d = {}\nfor v in x:\n    d[v] = d.get(v, 0) + 1\nt = str(len(d))\nreturn d, t",
    "in order": "d = {}\nfor v in x:\n    d[v] = d.get(v, 0) + 1\n"
                "return sorted(d.items(), key=lambda kv: (-kv[1], kv[0]))[:3]",
    "the commonest of all": "d = Counter()\nfor i in range(len(x)):\n    d[x[i]] += 1\n"
                            "return d.most_common(3)",
    "the members of a set": "s = set()\nfor i in range(len(x)):\n    s.add(x[i] // 2)\nreturn [*s]",
}
NOT_WHOLE = {
    "another name": "d = {}\ne = d\nfor v in x:\n    e[v] = 1\nreturn len(d), d is e",
    "grows while it is walked": "d = {1: 1}\nfor k in d:\n    d[k + 1] = 2\nreturn len(d)",
    "the commonest of what is left":
        "d = {}\nfor i, v in enumerate(x):\n    d[v] = i\n    d.pop(v - 1, 0)\n"
        "return max(d, key=d.get), [k for k in d]",
    "grows under enumerate":
        "d = {5: 1, 6: 1}\nfor i, k in enumerate(d):\n    d[i] = 2\nreturn len(d)",
    "grows under its values": "d = {5: 1, 6: 1}\nfor v in d.values():\n    d[v] = 2\nreturn len(d)",
    "larger sets of constants": "s = {32, 64, 8, 16, 0, 1}\nfor v in x:\n    s.add(v)\nreturn s",
    "a Counter of a Counter": "c = Counter(x)\ne = Counter(c)\nn = 0\nfor v in x:\n    n += e[v]\n"
                              "return n",
    "of two lengths": "d = {}\nfor i in range(len(x)):\n    d[i % 3, x[i]] = i\nn = 0\n"
                      "for v in x:\n    n += 1 if v in d else 0\nreturn n, d.pop(1, 7)",
    "key by another name":
        "d = {}\nt = (1, 2)\nfor v in x:\n    t = (v, 1)\n    d[t] = v\nd[3] = 1\n"
                           "return len(d), 3 in d, sum([d[u] for u in d])",
    "of the other kind":
        "d, s = {}, set()\nfor v in x:\n    d[v] = 1\n    s.add(v)\nif len(x) > 5:\n    d.add(3)\n"
        "return len(d), len(s)",
    "a set by a subscript": "s = set()\nfor v in x:\n    s.add(v)\ns[3] = 1\nreturn len(s)",
    "a set asked for a value": "s = set()\nfor v in x:\n    s.add(v)\nreturn s.get(3, 4)",
    "a set by its methods":
        "s = set()\nfor v in x:\n    s.setdefault(v, []).append(1)\nreturn len(s)",
    "too many arguments":
        "d = {}\nfor v in x:\n    d[v] = 1\nn = d.get(3, 4)\nreturn n + d.pop(3, 4, 5)",
    "lists in a Counter":
        "c = Counter()\nfor i, v in enumerate(x):\n    c.setdefault(v, []).append(i)\n"
        "return c[77].append(1)",
    "a set is walked":
        "s = set()\nfor v in x:\n    s.add(v)\nout = []\nfor v in s:\n    out.append(v)\n"
                       "return out",
    "texts": "d = {}\nfor v in x:\n    d[str(v)] = v\nreturn d",
    "keys of two types": "d = {0: 0}\nfor v in x:\n    d[v] = d.get(v, 0) + 1\nreturn d",
    "floats": "d = {}\nfor v in w:\n    d[v] = d.get(v, 0) + 1\nreturn d",
    "arrays as values": "d = {}\nfor i in range(len(x)):\n    d[x[i]] = w[i:]\nreturn d",
    "lists that change": "g = {}\nfor i, v in enumerate(x):\n    g.setdefault(v, []).append(i)\n"
                         "for m in g.values():\n    m.append(-1)\nreturn g",
    "a list is kept": "g = {}\nfor i, v in enumerate(x):\n    g.setdefault(v, []).append(i)\n"
                      "a = g[x[0]]\na.append(-1)\nreturn g",
    "a list is got, and changed":
        "g = {}\nfor i, v in enumerate(x):\n    g.setdefault(v, []).append(i)\nn = 0\n"
        "for v in x:\n    a = g.get(v, [])\n    a.append(-1)\n    n += len(g.get(v, []))\nreturn n",
    "a list is got, and grown":
        "g = {}\nfor i, v in enumerate(x):\n    g.setdefault(v, []).append(i)\nn = 0\n"
        "for v in x:\n    g.get(v, []).append(-1)\n    n += len(g[v])\nreturn n",
    "grows under its loop":
        "g = defaultdict(list)\ng[0].append(1)\nn = 0\nfor v in g[0]:\n    n += 1\n"
                            "    if n < 10:\n        g[0].append(v)\nreturn n",
    "returned in two places": "d = {}\nfor v in x:\n    d[v] = 1\nreturn d, d",
    "returned and grown": "g = defaultdict(list)\nfor i, v in enumerate(x):\n    g[v].append(i)\n"
                          "return g, len(g[100])",
    "spread": "s = {*x}\nd = {**{1: 2}}\nfor v in x:\n    d[v] = 1\nreturn len(s), d",
    "of a closure": "d = {}\ndef add(v):\n    d[v] = 1\nfor v in x:\n    add(v)\nreturn d",
    "unbound": "if len(x) > 2:\n    d = {}\nfor v in x:\n    d[v] = 1\nreturn len(d)",
    "of sets": "a, b = set(x[:5]), set(x[3:])\nreturn len(a & b), a | b, a <= b",
}


def given(n: int, kind: str) -> tuple[Any, ...]:
    """Ints with many that are equal, and floats."""
    rng = np.random.default_rng(n)
    x, w = rng.integers(0, 9, n), rng.integers(0, 99, n) / 4
    if kind == "list":
        return x.tolist(), w.tolist()
    return x.astype(kind) if kind != "b1" else x > 4, w


def written_with(body: str, folder: Path) -> Any:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return written(folder, f"{HEAD}def f(x, w):\n{lines}\n").f


@pytest.mark.share(268)
@pytest.mark.parametrize("name", [*WHOLE, *IN_PARTS, *NOT_WHOLE])
def test_tables(name: str, tmp_path: Path) -> None:
    fused = agrees(name, "i8", (40, 3, 0), tmp_path)
    if name not in NOT_WHOLE:
        assert fused.stats.compiled, fused.stats
        assert in_parts(fused) == (name in IN_PARTS)


@pytest.mark.share(646)
@pytest.mark.parametrize("kind", ["i1", "u8", "b1", "list"])
@pytest.mark.parametrize("name", [*WHOLE, *IN_PARTS, *NOT_WHOLE])
def test_keys_of_other_types(name: str, kind: str, tmp_path: Path) -> None:
    agrees(name, kind, (40, 3), tmp_path)


SET_IN_TWO_ORDERS = """
s = set()
for v in x:
    s.add(v * 37)
t = sorted(s)
y = 0
for v in s:
    y = (y * 3 + v) % 1000003
return y, t[0]
"""
"""A set of which one use has a known order, the sort, and another has not: the loop."""


def in_helper(body: str) -> str:
    """`body` in a helper, whose nodes all have the place of its call after inlining."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"def g(x, w):\n{lines}\nreturn g(x, w)"


def test_the_order_of_one_use_is_not_that_of_another(tmp_path: Path) -> None:
    x = np.array([100, 3, 50, 7, 1000, 64, 31])
    for text in SET_IN_TWO_ORDERS.strip(), in_helper(SET_IN_TWO_ORDERS):
        function, args = written_with(text, tmp_path), (x, x / 8)
        fused = fuse(function, on_reject="silent")
        assert_same(outcome(fused, args), outcome(function, args), text)


NOT_IN_A_HELPER = {
    "defaults that change the table", "in order", "seen before", "the commonest of all",
    "the members of a set", "told", "two that make a sum",
}
"""The functions that run as Python if their body is that of a helper."""


@pytest.mark.share(268)
@pytest.mark.parametrize("name", [*WHOLE, *IN_PARTS])
def test_tables_of_a_helper(name: str, tmp_path: Path) -> None:
    function = written_with(in_helper((WHOLE | IN_PARTS)[name]), tmp_path)
    fused = fuse(function, on_reject="silent", reassociate=False)
    for n in (40, 0):
        args = given(n, "i8")
        assert_same(outcome(fused, args), outcome(function, args), name)
    assert fused.stats.compiled or name in NOT_IN_A_HELPER


def agrees(name: str, kind: str, lengths: tuple[int, ...], folder: Path) -> Any:
    """What is compiled of that text."""
    function = written_with((WHOLE | IN_PARTS | NOT_WHOLE)[name], folder)
    fused = fuse(function, on_reject="silent", reassociate=False)
    for n in lengths:
        args = given(n, kind)
        assert_same(outcome(fused, args), outcome(function, args), (n, kind))
    return fused


LARGE = {
    "counted": WHOLE["counted"], "seen": WHOLE["what was seen"], "labels": WHOLE["labels"],
    "pairs": WHOLE["pairs"], "grouped": WHOLE["grouped"],
}


@pytest.mark.share(32)
@pytest.mark.parametrize("spread", ["near", "far", "steps", "negative"])
@pytest.mark.parametrize("name", LARGE)
def test_of_many_keys(name: str, spread: str, tmp_path: Path) -> None:
    """Keys that are near to one another, far, or alike in their low bits."""
    function = written_with(LARGE[name], tmp_path)
    fused = fuse(function, on_reject="raise", reassociate=False)
    n = np.arange(4000)
    x = {"near": n % 1999, "far": n * 2654435761 % 2**61, "steps": n % 997 * 2**20,
         "negative": -n % 1009 - 2**40}[spread]
    args = x, n / 8
    assert_same(outcome(fused, args), outcome(function, args), spread)
    assert fused.stats.compiled == 1


_SLOW = """
def dense(xs, n):                   # a run of filled slots, and keys that fall among them
    d = {}
    for i in range(n):
        d[i] = 1
    for x in xs:
        d[x] = d.get(x, 0) + 1
    return len(d)

def grid(xs, n):                    # rows of keys whose runs overlap
    seen = set()
    for i in range(n // 150):
        for j in range(150):
            seen.add((i, j))
    return len(seen)
"""


@pytest.mark.parametrize("name", ["dense", "grid"])
def test_clustered_keys_take_no_longer_searches(name: str, tmp_path: Path) -> None:
    """Compiled code is faster than Python for long runs of neighbouring keys (by ten times)."""
    module = written(tmp_path, _SLOW)
    f = getattr(module, name)
    compiled = fuse(f, on_reject="raise")
    arguments = np.random.default_rng(0).integers(0, 300_000, 30_000), 30_000
    assert compiled(*arguments) == f(*arguments)

    def shortest(g: Any) -> float:
        times = []
        for _ in range(3):
            start = time.process_time()
            g(*arguments)
            times.append(time.process_time() - start)
        return min(times)
    assert shortest(compiled) < shortest(f)


def test_a_name_that_is_bound_anew(tmp_path: Path) -> None:
    """Another function of that name, from one call to the next."""
    module = written(tmp_path, f"{HEAD}def f(x, w):\n    c = Counter(x)\n    return len(c), c[1]\n")
    fused, args = fuse(module.f, on_reject="silent"), given(40, "i8")
    for counter in (module.Counter, lambda x: {1: len(x)}, module.Counter):
        module.Counter = counter
        for _ in range(2):
            assert_same(outcome(fused, args), outcome(module.f, args), counter)
    assert fused.stats.compiled >= 2


@pytest.mark.parametrize("what", ["no key", "an index", "a division"])
def test_what_raises_is_raised(what: str, tmp_path: Path) -> None:
    """The exception is Python's, with its key; and what was written stays."""
    last = {"no key": "y[0] = d[77]", "an index": "y[0] = x[len(d) + 900]",
            "a division": "y[0] = 1 // (len(d) - len(d))"}[what]
    body = f"y[1] = 5\nd = {{}}\nfor v in x:\n    d[v] = 1\n    y[2] += 1\n{last}\nreturn y"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    function = written(tmp_path, f"def f(x, y):\n{lines}\n").f
    fused = fuse(function, on_reject="silent")
    for _ in range(2):
        args = np.arange(9) % 4, np.zeros(4)
        assert_same(outcome(fused, args), outcome(function, args), what)


SHORT = 11
"""A short program that is compiled as a whole: what a plain run takes."""


@pytest.mark.share(1024)
@pytest.mark.parametrize("seed", [
    pytest.param(seed, marks=[pytest.mark.plain] * (seed == SHORT)) for seed in range(160)
])
def test_random_programs(seed: int, tmp_path: Path) -> None:
    text = table_program(random.Random(f"tables {seed}"))
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    function = written(tmp_path, f"{HEAD}def f(x, w, k):\n{lines}\n").f
    fused = fuse(function, on_reject="silent", reassociate=False)
    kinds = ((40, "i8"), (0, "i8"), (23, "u1"), (30, "list"))
    for n, kind in kinds[2:] if seed == SHORT else kinds:
        args = *given(n, kind), 4
        assert_same(outcome(fused, args), outcome(function, args), text)
    hidden = {"BUILD_FAILED", "GUARD_REBOUND"}
    assert hidden.isdisjoint(fused.stats.replays), fused.stats
