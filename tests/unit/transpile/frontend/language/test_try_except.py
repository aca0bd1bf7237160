"""``try`` around what may raise: the handler runs where Python's would, and is compiled."""
from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from staged import in_parts
from worlds import World
from written import written

from transpile import expand, fuse, ops
from transpile.frontend.source import read_source

RAISING = (
    "1 / v", "i // v", "w[i] % v", "math.log(v)", "math.sqrt(v) + 1 / i", "int(v)", "w[i + 2]",
    "l[i - 4]", "d[i]", "w[int(v)]", "-v / w[i]", "math.acos(1 / v)",
)
PLACES = (
    "s += {}", "t = {}\n    s += t", "w[i] = {}", "out.append({})", "return {}",
    "if {} > 0:\n        s += 1\n    else:\n        s -= 2", "s += 1\n    s *= {}",
)
HANDLERS = (
    "except ZeroDivisionError:\n    s -= 1",
    "except ValueError:\n    s -= 1\nexcept IndexError:\n    break",
    "except (ValueError, OverflowError):\n    continue",
    "except ArithmeticError:\n    s = -s\nelse:\n    s += 3",
    "except LookupError:\n    return s",
    "except Exception:\n    w[0] = 5\n    s += w[0]",
    "except:\n    pass",
)
HEAD = """
import math
import numpy as np
def f(x, w):
    s = 0.0
    out = []
    l = [3, 1, 2]
    d = {}
    d[0] = 4
    d[2] = 3
    for i, v in enumerate(x):
"""


def looped(attempt: str, head: str = HEAD, end: str = "s, out, w") -> str:
    lines = "".join(f"        {line}\n" for line in attempt.splitlines())
    return f"{head}{lines}    return {end}\n"


def alone(attempt: str) -> str:
    head = "import math\ndef f(x, w):\n    s = 0.0\n    for i, v in enumerate(x):\n"
    return looped(attempt, head, "s")


def given(kind: str) -> tuple[Any, ...]:
    values = [1.0, 0.0, -2.5, 0.5, 2.0, math.inf, math.nan, -1.0, 0.0]
    w = np.array([2.0, 0.0, -1.0, 4.0, 0.0])
    if kind == "list":
        return values, w.tolist()
    if kind == "ints":
        return [3, 0, -2, 1, 5, 0], w
    return np.array(values), w


KINDS = ("list", "array", "ints")


def agrees(text: str, folder: Path) -> Any:
    """What is compiled of `text`, which gave what Python does for arguments of each kind."""
    plain = written(folder, text).f
    fused = fuse(plain, on_reject="silent", reassociate=False)
    for kind in KINDS:
        args = given(kind)
        assert_same(outcome(fused, args), outcome(plain, args), (text, kind))
    return fused


@pytest.mark.share(301)
@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("raising", RAISING)
def test_in_a_loop(raising: str, place: str, handler: str, tmp_path: Path) -> None:
    agrees(looped(f"try:\n    {place.format(raising)}\n{handler}"), tmp_path)


COMPILED = {
    "reciprocals": alone("try:\n    s += 1 / v\nexcept ZeroDivisionError:\n    s -= 1"),
    "roots": alone("try:\n    s += math.sqrt(v)\nexcept ValueError:\n    continue"),
    "whole": alone("try:\n    t = int(v)\nexcept (ValueError, OverflowError):\n    t = 0\ns += t"),
    "out of range": alone("try:\n    t = w[i + 3]\nexcept IndexError:\n    break\ns += t"),
    "counted": """
def f(x, w):
    d = {}
    for v in [3, 1, 3, 2, 1]:
        try:
            d[v] += 1
        except KeyError:
            d[v] = 1
    return d
""",
    "helper": """
def safe(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return 0.0
def f(x, w):
    return [safe(v, i) for i, v in enumerate(x)]
""",
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fused = agrees(COMPILED[name], tmp_path)
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused(*given("list"))
    assert not fused.stats.replays.keys() - {"GUARD_FLOAT_STATUS", "LOWER_TYPE"}, fused.stats


def test_in_a_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside what stays Python's."""
    attempt = "try:\n    s += 1 / v\nexcept ZeroDivisionError:\n    s -= 1"
    fused = agrees(alone(attempt).replace("    return s", "    print(s)\n    return s"), tmp_path)
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused(*given("list"))
    assert in_parts(fused)


LEFT = (
    "try:\n    s += 1 / v\nexcept ZeroDivisionError as e:\n    out.append(str(e))",
    "try:\n    s += 1 / v\nexcept ZeroDivisionError:\n    s = 7\nfinally:\n    s += 1",
    "try:\n    s += 1 / v\nexcept ZeroDivisionError:\n    raise",
    "try:\n    s += 1 / v\nexcept ZeroDivisionError:\n    raise KeyError(i)",
    "try:\n    for j in range(3):\n        s += l[j + i]\nexcept IndexError:\n    s -= 1",
    "try:\n    s += v ** -1\nexcept ZeroDivisionError:\n    s -= 1",
    "try:\n    s += math.exp(v * 400)\nexcept OverflowError:\n    s -= 1",
    "try:\n    s += float('x')\nexcept ValueError:\n    s -= 1",
    "try:\n    s += zzz\nexcept NameError:\n    s -= 1",
    "try:\n    s += v.real + None\nexcept TypeError:\n    s -= 1",
    "try:\n    if v > 1:\n        late = 2\n    s += late\nexcept UnboundLocalError:\n    s -= 1",
    "try:\n    w[i] = int(v)\nexcept Exception:\n    s -= 1",
)


@pytest.mark.share(6)
@pytest.mark.parametrize("attempt", LEFT)
def test_of_others(attempt: str, tmp_path: Path) -> None:
    """What is known too little of stays Python's, or raises there."""
    agrees(looped(attempt), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("raising", RAISING)
def test_as_python(raising: str, kind: str, tmp_path: Path) -> None:
    """What the macro makes of it is Python that gives the same."""
    plain = written(tmp_path, looped(f"try:\n    s += {raising}\nexcept Exception:\n    s -= 1")).f
    args = given(kind)
    tree = expand.expand(read_source(plain).tree, World(plain, args))
    space: dict[str, Any] = plain.__globals__ | {"_np": np, "_ops": ops}
    exec(compile(ast.Module([tree], []), "<expanded>", "exec"), space)
    assert_same(outcome(space["f"], args), outcome(plain, args), raising)
