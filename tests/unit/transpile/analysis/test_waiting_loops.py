"""Loops that wait for another thread run as Python, which sees the change; others do not wait."""
from __future__ import annotations

import ast
import builtins
import math
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.analysis.waiting_loops import names_waited_for

KNOWN = {"np": np, "math": math, "LIMIT": 3, **vars(builtins)}


def resolve(node: ast.expr) -> object | None:
    try:
        return eval(ast.unparse(node), dict(KNOWN))
    except Exception:  # of a local name
        return None


@pytest.mark.parametrize(
    ("names", "loop"),
    [
        ("flag", "while flag[0] == 0: pass"),
        ("flag", "while flag[0] == 0: n += 1"),
        ("flag", "while not flag[0] and n < 10: n += 1"),
        ("flag", "while True:\n if flag[0]: break\n n += 1"),
        ("flag", "while True:\n if flag[0]: return n\n n += 1"),
        ("flag", "go = True\nwhile go: go = flag[0] == 0"),
        ("flag", "while np.abs(flag[0]) < 1: out[n & 7] = n; n += 1"),
        ("flag", "while flag.sum() == 0: s += x[0]"),
        ("flag", "while flag[0] == 0:\n for i in range(n):\n  if x[i] > s: break\n  s += x[i]"),
        ("o", "while not o.done: n += 1"),
        ("LIMIT", "while not LIMIT: n += 1"),
        ("flag", "while True:\n s = 0\n for k in range(3): s += flag[k]\n if s: break"),
        ("flag", "while t == 0:\n t = 0\n for k in range(3): t = t + flag[k]"),
        ("flag x", "while t:\n y = np.empty(3)\n for k in range(3): y[k] = flag[k]\n t = x[y[0]]"),
        ("flag", "while True:\n try: n += 1\n except KeyError: return 0\n if flag[0]: break"),
        ("flag", "out = np.zeros(3)\nwhile np.abs(flag[0]) < 1: out[0] = n"),
        ("", "while t:\n y = np.empty(3)\n y[0] = n\n t = y[0]\n n += 1"),
        ("", "while t:\n y = np.empty(3)\n y[0] = x[0]\n t = y[0]\n x = y"),
        ("", "while t:\n y = np.empty(3)\n items.append(y)\n t = y[0]"),
        ("", "while True:\n for v in flag: s += v\n if s: break"),
        ("", "while flag[0] == 0: flag[0] = n"),
        ("", "view = flag[1:]\nwhile flag[1] == 0: view[0] += 1"),
        ("", "while flag[0] == 0: np.copyto(flag, n)"),
        ("", "while flag[0] == 0: np.add(flag, n, flag)"),
        ("", "while flag[n] == 0: n += 1"),
        ("", "while n < flag[0]: n += 1"),
        ("", "while n > 0: pass"),
        ("", "while True: n += 1"),
        ("", "while True:\n n += 1\n if n > LIMIT: break"),
        ("", "while y: x, y = y, x % y"),
        ("", "while s > 1:\n s = x[n]\n n -= 1"),
        ("", "while t:\n s, t = np.divmod(t, 2)"),
        ("", "while x.ndim > 0 and n > 0: n -= 1"),
        ("", "while n < x.shape[0] and x.shape[0] > 3: n += 1"),
        ("", "while items: items.pop()"),
        ("", "while np.random.random() < 0.5: n += 1"),
        ("", "while s < 1: s = draw(o)"),
        ("", "while n:\n if LIMIT:\n  raise ValueError\n n -= 1"),
        ("", "while n > 0:\n while s > 0: s -= 1\n n -= 1"),
    ],
)
def test_which_loops_wait(names: str, loop: str) -> None:
    body = "".join(f"    {line}\n" for line in loop.splitlines())
    tree = ast.parse(f"def f(flag, out, x, y, o, items, n, s, t):\n{body}").body[0]
    assert isinstance(tree, ast.FunctionDef)
    (node,) = (n for n in tree.body if isinstance(n, ast.While))
    assert " ".join(names_waited_for(node, tree, resolve)) == names


def next_smaller(x):
    stack, out = [], np.full(len(x), -1)
    for i in range(len(x)):
        while stack and x[stack[-1]] > x[i]:
            out[stack.pop()] = i
        stack.append(i)
    return out, len(stack)


def falling(x):
    n, stack = 0, []
    for v in x:
        while stack and stack[-1] > v:
            n += 1
            if n > 40:
                break
            stack.pop()
        stack.append(v)
    return n, len(stack)


def hull_size(x):
    points = []
    for i in range(len(x)):
        while len(points) > 1 and x[i] * (i - points[-1][0]) <= points[-1][1]:
            points.pop()
        points.append((i, x[i]))
    return len(points)


def grows_until(x):
    path = [x[0]]
    while path[-1] < 50:
        path.append(path[-1] * 1.5 + 1)
    return len(path), path[-1]


def halves(x):
    rest, n = [0.0], 0
    rest.extend(v + 1 for v in x)
    while rest and rest[0] < 100:
        rest.pop()
        n += 1
    return n, len(rest)


@pytest.mark.parametrize("function", [next_smaller, falling, hull_size, grows_until, halves])
def test_lists_that_an_iteration_makes_longer_or_shorter_are_not_waited_for(function: Any) -> None:
    fused = fuse(function, on_reject="raise")
    for x in ([3.0, 1.0, 2.0, 5.0, 4.0, 0.0, 7.0], [9.0] * 5, [1.0]):
        wanted, got = function(np.array(x)), fused(np.array(x))
        assert repr(got) == repr(wanted)
    assert fused.stats.compiled == 3


def spin(flag):
    n = 0
    while flag[0] == 0:
        n += 1
    return n


def spin_unless_too_long(flag):
    n = 0
    while flag[0] == 0 and n < 10**15:
        n += 1
    return n


def spin_on_attribute(box):
    n = 0
    while not box.done:
        n += 1
    return n


def work_until(flag):
    n = 0
    while flag[0] == 0:
        for i in range(1000):
            n += i & 3
    return n


def spin_until_any(flag):
    n = 0
    while not any(flag):
        n += 1
    return n


def spin_on_sum(flag):
    n = 0
    while True:
        s = 0
        for v in flag:
            s += v
        if s:
            return n
        n += 1


SPINNING = [spin, spin_unless_too_long, spin_on_attribute, work_until, spin_until_any, spin_on_sum]


@pytest.mark.parametrize("function", SPINNING)
def test_a_change_by_another_thread_is_seen(function: Any) -> None:
    fused = fuse(function, on_reject="silent")

    def run(is_set_later: bool) -> int:
        done = int(not is_set_later)
        if function is spin_on_attribute:
            box: Any = SimpleNamespace(done=bool(done))
            setting = threading.Timer(0.1, setattr, (box, "done", True))
        else:
            box = np.full(3, done)
            setting = threading.Timer(0.1, box.fill, (1,))
        if is_set_later:
            setting.start()
        return int(fused(box))

    assert run(False) == 0
    assert run(True) > 0
    assert run(True) > 0
    (rejection, *_) = fused.report().rejections
    assert "waits until another thread or a signal handler changes" in rejection.message
    assert fused.stats.compiled == 0 or function in (work_until, spin_on_sum)
