"""Ints and bools that choose what is compiled: axes, degrees of freedom, steps, kept axes."""
from __future__ import annotations

import ast
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse
from transpile.frontend.specialize.value_specialization import specialized_parameters

AXES = {
    "keyword": "return x.sum(axis=k)",
    "in its place": "return np.mean(x, k)",
    "method": "return x.argmax(k)",
    "kept": "return x - np.max(x, axis=k, keepdims=flag)",
    "joined": "return np.concatenate((x, x), axis=k), np.stack([x, x], k)",
    "running": "return np.cumsum(x, k), np.maximum.accumulate(x, axis=k), np.add.reduce(x, k)",
    "moved": "return np.swapaxes(x, 0, k), np.moveaxis(x, k, 0).copy(), np.flip(x, k)",
    "expanded": "return x + np.expand_dims(x.sum(axis=k), k)",
    "length": "s = 0.0\nfor i in range(x.shape[k]):\n    s += i\nreturn s",
    "computed": "return np.sum(x, axis=-k), np.sum(x, axis=1 - k), x.sum(axis=(k, k - 1))",
    "made positive": "if k < 0:\n    k += x.ndim\nreturn np.sum(x, axis=k), k",
    "a default": "if k is None:\n    k = 0\nelif k == -1:\n    k = 1\nreturn np.sum(x, axis=k), k",
    "in a loop": "s = 0.0\nfor i in range(3):\n    s += x.min(axis=k)[0] * i\nreturn s",
    "in a function":
        "def g(y, axis=0):\n    return y.mean(axis=axis)\nreturn g(x, k), g(x, axis=k), g(x)",
    "captured": "def g(y):\n    return y.mean(axis=k)\nreturn g(x) + g(x * 2)",
    "in a lambda": "g = lambda y: np.sum(y, axis=k)\nreturn g(x) + 1.0",
    "in a comprehension": "return [np.sum(x, axis=k)[0] * j for j in range(3)]",
    "hidden in one": "return [np.sum(x, axis=0)[k] for k in range(3)], x.sum(axis=k)",
    "of a helper": "return spread(x, k) + centred(x, axis=k)",
}
AXIS = (0, 1, -1, -2, 2, -3, None, True, False, np.int64(1), 300, 10**30, 1.0, "a")

VECTORS = {
    "degrees of freedom": "return np.var(x, ddof=k), x.std(ddof=k)",
    "steps": "return x[::k], x[2::k].sum() if k != 0 else 0.0",
    "steps there": "x[::k] = 1.0\nreturn x",
    "differences": "return np.diff(x, k)",
    "repeated": "return np.repeat(x, k)",
    "rounded": "return np.round(x, k), x.round(decimals=k)",
    "norm": "return np.linalg.norm(x, k)",
}
NUMBER = (0, 1, 2, 3, -1, -2, 17, 400, True, np.int32(2), 1.0)

HELPERS = """import numpy as np


def spread(x, axis):
    return np.ptp(x, axis=axis)


def centred(x, *, axis=0):
    return deep(x, axis) - 1.0


def deep(x, axis):
    return x.std(axis=axis)


"""


def _function(folder: Path, text: str) -> Callable[..., Any]:
    body = "\n    ".join(text.split("\n"))
    function: Callable[..., Any] = written(
        folder, f"{HELPERS}def f(x, k, flag=False):\n    {body}\n").f
    return function


def _agrees(f: Callable[..., Any], values: tuple[Any, ...], x: np.ndarray) -> None:
    g = fuse(f, on_reject="silent")
    for _ in range(2):
        for value in values:
            for flag in (False, True):
                got, wanted = outcome(g, (x, value, flag)), outcome(f, (x, value, flag))
                assert_same(got, wanted, f"{value!r}, {flag}", ulps=8)


@pytest.mark.share(20)
@pytest.mark.parametrize("form", AXES)
def test_axes(form: str, tmp_path: Path) -> None:
    f = _function(tmp_path, AXES[form])
    x = np.random.default_rng(1).normal(size=(3, 4))
    _agrees(f, AXIS, x)
    g = fuse(f, on_reject="raise")
    sound = [axis for axis in (1, 0, -1) if outcome(f, (x, axis, True)).error is None]
    for axis in sound:
        g(x.copy(), axis, True)
    assert g.stats.compiled == len(sound) >= 2, g.stats


@pytest.mark.parametrize("form", VECTORS)
def test_numbers(form: str, tmp_path: Path) -> None:
    f = _function(tmp_path, VECTORS[form])
    x = np.random.default_rng(1).normal(size=17)
    _agrees(f, NUMBER, x)
    g = fuse(f, on_reject="raise")
    for number in (2, 1, 2):
        g(x.copy(), number)
    assert g.stats.compiled == 3, g.stats


def test_as_many_values_as_one_likes(tmp_path: Path) -> None:
    f = _function(tmp_path, "return np.repeat(x, k)")
    g = fuse(f, on_reject="silent")
    x = np.arange(3.0)
    for k in range(40):
        assert g(x, k).tolist() == f(x, k).tolist()
    assert g.stats.compiled >= 15
    assert len(g.signatures) < 20


def test_steps_that_only_the_call_knows_are_any(tmp_path: Path) -> None:
    f = _function(tmp_path, "s = 0.0\nfor v in x[::k]:\n    s += v\nreturn s + x[::k].sum()")
    g = fuse(f, on_reject="raise", reassociate=False)
    x = np.arange(100.0)
    for k in range(1, 60):
        assert g(x, k) == f(x, k)
    assert len(g.signatures) == 1


def test_functions_that_call_each_other(tmp_path: Path) -> None:
    """Each is looked at once."""
    calls = "".join(f"        s += h{k}(x, axis)\n" for k in range(40))
    rest = "    return s + np.max(x, axis=axis)[0]\n"
    text = "import numpy as np\n" + "".join(
        f"def h{k}(x, axis):\n    s = 0.0\n    if x.size > 1e9:\n{calls}{rest}" for k in range(40))
    f = written(tmp_path, f"{text}def f(x, axis):\n    return h0(x, axis)\n").f
    assert specialized_parameters(f) == {"axis"}


def test_ints_that_decide_nothing_are_any(tmp_path: Path) -> None:
    f = _function(tmp_path, "s = 0.0\nfor i in range(k):\n    s += x[i] * k\nreturn s")
    g = fuse(f, on_reject="raise")
    for k in range(9):
        assert g(np.ones(9), k) == k * k
    assert len(g.signatures) == 1


def test_the_report_names_them(tmp_path: Path) -> None:
    g = fuse(_function(tmp_path, AXES["keyword"]))
    assert "k: -1" in str(g.report(np.ones((2, 3)), -1))
    tree = ast.parse(g.emit("python", np.ones((2, 3)), -1))
    assert "k" not in {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


FUNCTIONS = {
    "expression": "return sum([v if key is None else key(v) for v in x])",
    "loop": "s = 0.0\nfor v in x:\n    s += v if key is None else key(v)\nreturn s",
    "truth": "s = 0.0\nfor v in x:\n    s += key(v) if key else v\nreturn s",
    "not": "s = 0.0\nfor v in x:\n    s += v if not key else key(v)\nreturn s",
    "statement": "s = 0.0\nfor v in x:\n    if key is not None: s += key(v)\nreturn s",
    "default": "if key is None: key = abs\nreturn [key(v) for v in x]",
    "and": "if key is not None and len(x) > 2: return key(x[0])\nreturn [v * 2 for v in x]",
    "helper": "def g(v, f=None): return f(v) if f else v\n"
              "return [g(v, key) + g(v) + g(v, abs) for v in x]",
    "bound anew":
        "s = 0.0\nfor v in x:\n    s += key(v) if key else -v\n    key = None\nreturn s",
    "bound anew by a function":
        "def clear():\n    nonlocal key\n    key = None\n    return 1.0\n"
        "s = 0.0\nfor v in x:\n    s += (key(v) if key else -v) + clear()\nreturn s",
}


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("form", FUNCTIONS)
def test_functions_that_may_be_none(form: str, tmp_path: Path) -> None:
    text = "\n".join(["import numpy as np", "", "def f(x, key=None):", *(
        f"    {line}" for line in FUNCTIONS[form].split("\n"))])
    f = written(tmp_path, text).f
    fused = fuse(f)
    keys = (None, abs, np.sqrt, math.floor, lambda v: v + 1.0, abs)
    for key in keys:
        for x in ([1.0, 2.0], np.arange(3.0)):
            assert_same(outcome(fused, (x, key)), outcome(f, (x, key)), f"{key}")
    if "anew" not in form:
        served = fused.stats.compiled + sum(fused.stats.replays.values())
        assert fused.stats.compiled >= served - 2  # None is no number for the helper


@pytest.mark.parametrize("form", ["expression", "truth", "not", "called in a test", "unread"])
def test_a_function_that_is_made_anew_for_each_call_is_compiled_once(
    form: str, tmp_path: Path
) -> None:
    """Tests, also those that call it, do not depend on which object it is, but on its code."""
    forms = FUNCTIONS | {
        "called in a test": "if key(2.0) > 0.0: x = x * 2.0\nreturn key(x[0])",
        "unread": "s = 0.0\nfor v in x:\n    if key: s += v\nreturn s",
    }
    text = "\n".join(["def f(x, key=None):", *(
        f"    {line}" for line in forms[form].split("\n"))])
    f = written(tmp_path, text).f
    fused, x = fuse(f), np.arange(3.0)
    for k in range(5):
        key = lambda v: v + 1.0  # noqa: E731 (of one code object each time)
        assert_same(outcome(fused, (x, key)), outcome(f, (x, key)), f"call {k}")
    assert fused.stats.compiled == 5
    for other in (None, lambda v: v * 3.0, abs):
        if other is not None or "called" not in form:
            assert_same(outcome(fused, (x, other)), outcome(f, (x, other)), f"{other}")
