"""``finally``: its block runs on each way out, and the state is Python's after an exception."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

FUNCTIONS = {
    "falls through or raises": """
    n = 0
    try:
        for i in range(len(x)):
            out[i] = x[i] * 2
            n += 1
    finally:
        out[0] = n
    return n
""",
    "returns": """
    s = 0.0
    try:
        for v in x:
            if v > 3:
                return s, len(x)
            s += v
        return s, 0
    finally:
        s = 99.0
        out[0] += s
""",
    "breaks and continues": """
    n = 0
    for i in range(len(x)):
        try:
            if x[i] > 5:
                break
            if x[i] < 1:
                continue
            out[i] = x[i]
        finally:
            n += 1
            for _ in range(2):
                if n > 3:
                    break
                n += 1
    return n
""",
    "after handlers and else": """
    n = 0
    try:
        for i in range(len(x)):
            if x[i] > 6:
                raise ValueError("big")
            out[i] = x[i] * 2
            n += 1
    except ValueError:
        n = -1
    else:
        n += 100
    finally:
        out[0] = n
    return n
""",
    "before handlers around it": """
    s = 0.0
    k = 0
    for i in range(len(x)):
        try:
            try:
                if x[i] > 4:
                    raise ValueError
                s += x[i]
            finally:
                k += 1
            s += 1
        except ValueError:
            s -= 100 + k
    out[0] = k
    return s
""",
    "raises in place of another": """
    r = 1.0
    try:
        try:
            r += 1 / float(out[3])
        finally:
            if r > 1:
                out[1] = 7.0
                r += 2 / float(x[0])
                r += 0.5
            r *= 2
    except ZeroDivisionError:
        r = -r
    return r
""",
    "in finally, with handlers that return": """
    try:
        try:
            if x[0] > 0:
                return 1 / float(x[1])
        except ZeroDivisionError:
            return 0.5
        finally:
            out[0] += 1
        for i in range(len(x)):
            try:
                if x[i] > 3:
                    return 2.0
            finally:
                out[2] += x[i]
    finally:
        out[1] += out[0]
    return 3.0
""",
    "in a helper": """
    s = 0.0
    for v in x:
        s += doubled(v, out)
    return s
""",
    "of a returned array": """
    try:
        out += 1
        return out
    finally:
        out[:2] = 5.0
""",
}
PROGRAM = """
import numpy as np
def doubled(v, out):
    try:
        if v > 4:
            raise ValueError
        return v * 2
    finally:
        out[1] += 1
def f(x, out):
"""
ARRAYS = (np.arange(8.0), np.arange(1.0, 4.0), np.array([2.0, 0.0, 0.5]), np.zeros(1))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_block_runs_on_each_way_out(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = written(tmp_path, PROGRAM + FUNCTIONS[name]).f
    fused = fuse(plain, reassociate=False)
    for x in ARRAYS:
        for length in (9, 4, 0):
            args = x.copy(), np.ones(length)
            assert_same(outcome(fused, args), outcome(plain, args), (name, x, length))
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused(ARRAYS[1].copy(), np.ones(9))
    assert fused.report().accepted


LEFT = {
    "a return in the block": "try:\n        s = x[9]\n    finally:\n        return 3.0",
    "a helper in a try": (
        "try:\n        s = doubled(x[0], out)\n    except ValueError:\n        s = out[1]\n"
        "    return s"
    ),
    "a handler that reads the exception": (
        "try:\n        s = x[9]\n    except IndexError as e:\n        s = len(e.args)\n"
        "    finally:\n        out[0] = 1\n    return s"
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_stays_pythons(name: str, tmp_path: Path) -> None:
    plain = written(tmp_path, f"{PROGRAM}    {LEFT[name]}\n").f
    fused: Any = fuse(plain, on_reject="silent")
    for x in (np.arange(12.0), np.full(2, 9.0)):
        args = x, np.ones(2)
        assert_same(outcome(fused, args), outcome(plain, args), (name, x))
