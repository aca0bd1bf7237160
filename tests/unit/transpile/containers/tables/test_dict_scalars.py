"""Dicts with keys of the source: each value has a name, and what is returned is a dict."""
from __future__ import annotations

from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from written import written

from transpile import fuse

WHOLE = (
    'return {"mean": x.mean(), "n": len(x), 3: (x, [k]), None: {"k": k}}',
    'return dict(mean=x.mean(), n=len(x))',
    'best = {"err": np.inf, "j": -1}\n'
    'for j in range(len(x)):\n    if x[j] < best["err"]:\n        best = {"err": x[j], "j": j}\n'
    'return best',
    'best = {"err": np.inf, "j": -1}\n'
    'for j, v in enumerate(x):\n    if v < best["err"]:\n        best["err"], best["j"] = v, j\n'
    'return best["j"], best["err"]',
    'd = {}\nd["n"] = len(x)\nif k:\n    return d\nd["sum"] = x.sum()\nd["n"] += 1\nreturn d',
    'd = dict(n=0, total=0.0)\nfor v in x:\n    d["total"] += v\n    d["n"] -= k\n'
    'return d, d["n"]',
    'd = {"a": [], "b": []}\nfor v in x:\n    d["a"].append(v)\n    d["b"].append(v * 2)\nreturn d',
    'd = {"p": {"q": 1.0}, "r": x}\nd["p"]["q"] += k\nd["r"][1] = 5\nreturn d',
    'if k:\n    return {"price": 0.0, "delta": None}\nreturn {"price": x.sum(), "delta": x[0]}',
    'd = {"a": x[0], "b": x[1]}\nd["a"], d["b"] = d["b"], d["a"]\nreturn [d, k]',
    'd = {"a": x[0], "b": x[1]}\nd = {"a": d["b"], "b": d["a"]}\nreturn d',
    'd = {"a": x, "b": x * 2}\nreturn {"in": d, "out": d["b"].sum()}',
    'd = {"my key": 1.0, "": 2.0}\nd["my key"] += x[0]\nd[""] -= x[1]\nreturn d',
    'n, d_a = 3, 4.0\nd = {"a": 1.0, "n": n}\nd["a"] += d_a\nn += 1\nreturn d, n, d_a',
    'for v in x:\n    d = {"v": v, "w": v * k}\nreturn d["v"] + d["w"]',
    'd = {"v": x}\nd["v"] += 1\nd["v"] = d["v"] * 2\nreturn d',
    'd = {"k": k, "same": x, "again": x}\nreturn d',
    'd = {"a": x[0]}\nd["b"] = k\ne = d\ne["a"] += 1\nreturn e',
    'best = {"v": -np.inf, "i": 0}\nfor i, v in enumerate(x):\n    d = {"v": v, "i": i}\n'
    '    if d["v"] > best["v"]:\n        best = d\nreturn best',
    'a = told(x)\nb = told(x * 2)\na["m"] -= b["n"]\nreturn a["m"], b',
    'def inner(y):\n    return {"m": y.sum(), "k": k}\na = inner(x)\nreturn a["m"] * a["k"]',
)
NOT_WHOLE = (
    'd = {"a": x[0]}\nreturn d, d',
    'd = {"a": x[0]}\ne = d\ne["a"] = k\nreturn d',
    'd = {"a": 0}\nfor v in x:\n    e = d\n    e["a"] += v\nreturn e',
    'd = {"a": 0}\nif k:\n    e = d\nelse:\n    e = {"a": 2}\nreturn e',
    'd = e = {"a": 0}\ne["a"] = k\nreturn d',
    'd = {"b": 0, "a": 0}\nif k:\n    d = {"a": k, "b": 1}\nreturn d',
    'd = {"a": 1}\nif k:\n    d["b"] = x[0]\nreturn d',
    'd = {"a": 1}\nd["b"] = d["c"]\nreturn d',
    'd = {"a": 1}\nd["b"] = 2\nd = {"a": 3}\nreturn d',
    'd = {"a": 1, **{"b": k}}\nreturn d',
    'd = {"a": 1, "a": k}\nreturn d',
    'd = {k: 1}\nreturn d',
    'd = {"a": k}\ndel d["a"]\nreturn d',
    'd = {"a": k}\nreturn len(d), "a" in d, [*d], d.get("a")',
    'd = {"a": k}\nf = lambda: d["a"]\nd["a"] = 2\nreturn f()',
    'for v in x:\n    d = {}\n    d["v"] = v\n    if k:\n        d["w"] = k\nreturn d',
    'dict = lambda **given: given["a"]\nd = dict(a=k)\nreturn d',
    'return {**{"a": 1}}',
    'return {x[0]: 1}',
    'd = [{"a": 1}, {"a": k}]\nreturn d[0] is d[1], d',
    'd = {"a": k}\nglobal kept\nkept = d\nreturn d',
    'if k:\n    d = {"a": k}\nreturn d["a"]',
    'd = {}\nreturn d["a"]',
)
HELPER = """import numpy as np
def told(y):
    out = {}
    out["n"] = len(y)
    out["m"] = y.sum()
    return out
"""
CALLS = ((4, 0), (4, 1), (2, 2), (1, 0), (0, 1))


@pytest.mark.share(10)
@pytest.mark.parametrize("text", [*WHOLE, *NOT_WHOLE])
def test_dicts(text: str, tmp_path: Path) -> None:
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    function = written(tmp_path, f"{HELPER}def f(x, k):\n{lines}\n").f
    fused = fuse(function, on_reject="silent")
    for n, k in CALLS:
        args = np.arange(n) * 0.5 - 1, k
        assert_same(outcome(fused, args), outcome(function, args), args)
    if text in WHOLE:
        assert fused.stats.compiled >= 2, fused.stats
        assert not in_parts(fused)


def test_a_handler_changes_a_dict_that_has_got_another_name(tmp_path: Path) -> None:
    text = """def f(x, k):
    d = {"a": 1.0}
    try:
        e = d
        t = 1 / k
    except ZeroDivisionError:
        d["a"] = 5.0
        t = 2.0
    s = 0.0
    for v in x:
        s += v * e["a"]
    return s + t
"""
    function = written(tmp_path, text).f
    fused = fuse(function, on_reject="silent")
    for k in (0, 2, 0):
        assert fused(np.arange(5.0), k) == function(np.arange(5.0), k)


def test_dict_is_another(tmp_path: Path) -> None:
    text = "def f(x, k):\n    d = dict(a=x[0], b=k)\n    d['a'] += 1\n    return d['a']\n"
    text += "def g(x, k):\n    return dict(a=x[0], b=k)\n"
    module = written(tmp_path, text)
    for function in (module.f, module.g):
        vars(module).pop("dict", None)
        fused, x = fuse(function, on_reject="silent"), np.ones(3)
        for _ in range(2):
            assert fused(x, 1) == function(x, 1)
        assert fused.stats.compiled == 2
        vars(module)["dict"] = lambda **given: {"a": len(given)}
        assert fused(x, 1) == function(x, 1) == ({"a": 2} if function is module.g else 3)


ASKED = (
    'y = np.empty_like(x)\nfor i in range(len(x)):\n    y[i] = p["a"] * x[i] ** p["b"]\nreturn y',
    'return x.sum() * p["a"] + p["b"]',
    'w = p["w"]\nfor i in range(len(x)):\n    w[i] += x[i]\n    x[i] = w[0]\nreturn w',
    'return p["in"]["k"] * x.sum()',
    'a, b = p["a"], p["b"]\nfor _ in range(3):\n    x = x * a + b\nreturn x',
    'return x.sum() * p.get("a", 2.0)',
    'q = p\nreturn x * q["a"]',
    'if p is None:\n    return x\nreturn x * p["a"]',
    'p["w"][0] = 7\nreturn x * 2',
)
LEFT = (
    'p["a"] = 3\nreturn x.sum() * p["a"]',
    'return x.sum() * p.get("zz", 2.0)',
    'return x.sum() * p.a',
    's = 0.0\nfor k in p:\n    s += len(k)\nreturn s + x[0]',
    'p["new"] = x.sum()\nreturn p',
    'del p["a"]\nreturn x * p["a"]',
    'return len(p), "a" in p, x * 2',
    'q = p\nq["a"] = 9.0\nreturn x * p["a"]',
    'p.update(a=5.0)\nreturn x * p["a"]',
    'return p, x * 2',
    'x[0] = p["w"][0]\nreturn p["zz"]',
    'return {"p": p, "a": p["a"]}',
)


def given(**changed: Any) -> dict[Any, Any]:
    whole = {"a": 0.5, "b": 2, "w": np.arange(4.0), "in": {"k": 2.5}, "mode": "same", 3: 4}
    return {k: v for k, v in (whole | changed).items() if v is not ...}


@pytest.mark.share(10)
@pytest.mark.parametrize("text", [*ASKED, *LEFT])
def test_dicts_that_are_given(text: str, tmp_path: Path) -> None:
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    function = written(tmp_path, f"{HELPER}def f(x, p):\n{lines}\n").f
    fused = fuse(function, on_reject="silent")
    shared = np.arange(4.0)
    calls = [
        given(), given(), given(a=np.float32(1.5)), given(a=3, b=0.5), given(zz=9.0),
        given(b=...), given(a=...), given(w=[1.0, 2.0, 3.0, 4.0]), given(a="text"),
        given(**{"in": None}), {},
        None, given(w=shared), OrderedDict(given()), defaultdict(float, given(a=...)),
    ]
    for p in calls:
        args = (shared if p and p.get("w") is shared else np.arange(1.0, 5.0)), p
        assert_same(outcome(fused, args), outcome(function, args), args, 4)
    if text in ASKED:
        assert fused.stats.compiled >= 3, fused.stats
        whole = fuse(function, on_reject="raise")
        whole(np.ones(4), given())
        assert whole.stats.compiled == 1
        assert not in_parts(whole)


def test_another_dict_is_another_call() -> None:
    def f(x, p):
        return x * p["a"] if p["b"] > 0 else x

    fused, x = fuse(f, on_reject="silent"), np.ones(3)
    for k in range(200):  # whatever else they hold
        p = {"a": 2.0, "b": k - 100, str(k): k, k: None}
        assert (fused(x, p) == f(x, p)).all()
    assert fused.stats.compiled == 200
    large = {str(k): float(k) for k in range(100_000)} | {"a": 2.0, "b": 1}
    assert (fused(x, large) == f(x, large)).all()
    assert fused.stats.compiled == 201


@pytest.mark.parametrize("body", [
    'd = {"a": 1.0}\nif k:\n    d["z"] = x[0]\nd["y"] = 2.0\nd["z"] = 3.0\nreturn d',
    'd = {"a": 1.0}\nfor v in x:\n    if v > k:\n        d["z"] = v\n        return d\n'
    'd["z"] = 3.0\nreturn d',
    'd = {"a": 1.0}\nd["z"] = 3.0\nfor v in x:\n    if v > k:\n        d["z"] = v\n'
    '        return d\nd["y"] = 2.0\nreturn d',
])
def test_keys_that_only_some_paths_add(body: str, tmp_path: Path) -> None:
    """Their order, and whether a returned dict has them, is Python's."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    function = written(tmp_path, f"def f(x, k):\n{lines}\n").f
    fused = fuse(function, on_reject="silent")
    for k in (0, 2, 9):
        args = np.arange(5.0), k
        assert_same(outcome(fused, args), outcome(function, args), f"k = {k}")
