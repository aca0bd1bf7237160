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

from transpile import core_functions, expand, fuse
from transpile.frontend.source import read_source

RAISING = (
    "1 / v", "i // v", "w[i] % v", "math.log(v)", "math.sqrt(v) + 1 / i", "int(v)", "w[i + 2]",
    "l[i - 4]", "d[i]", "w[int(v)]", "-v / w[i]", "math.acos(1 / v)",
    "max(1 / v, i)", "math.floor(v)", "math.trunc(w[i])", "math.sin(v)", "np.sqrt(v)",
    "math.exp(v)", "(0 < 1 / v < w[i - 7])", "(v > 0 and 1 / w[i + 2])",
    "(i < 2 or 2 / v)", "(1 / v if v > -2 else w[i + 3])",
)
PLACES = (
    "s += {}", "t = {}\n    s += t", "w[i] = {}", "out.append({})", "return {}",
    "if {} > 0:\n        s += 1\n    else:\n        s -= 2", "s += 1\n    s *= {}",
    "assert {} > 0, i\n    s += 1", "a, b = s, {}\n    s = a + b",
)
HANDLERS = (
    "except ZeroDivisionError:\n    s -= 1",
    "except ValueError:\n    s -= 1\nexcept IndexError:\n    break",
    "except (ValueError, OverflowError):\n    continue",
    "except ArithmeticError:\n    s = -s\nelse:\n    s += 3",
    "except LookupError:\n    return s",
    "except Exception:\n    w[0] = 5\n    s += w[0]",
    "except:\n    pass",
    "except AssertionError:\n    s -= 3\nexcept ArithmeticError:\n    continue",
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


@pytest.mark.share(602)
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


@pytest.mark.share(12)
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
    space: dict[str, Any] = plain.__globals__ | {"_np": np, "_core": core_functions}
    exec(compile(ast.Module([tree], []), "<expanded>", "exec"), space)
    assert_same(outcome(space["f"], args), outcome(plain, args), raising)


RAISED_IN = """
import math
class Stop(Exception): pass
class Loud(Exception):
    made = 0
    def __init__(self, *args):
        Loud.made += 1
def doubled(v):
    if v > 5: raise ValueError(v)
    return v * 2
def limited(v):
    for i in range(3):
        if v > i + 3: raise Stop(i)
        v += 1
    return v
def f(x, xs, out, k):
    s = 0.0
"""
RAISED = {
    "in a loop": "for v in x:\n  try:\n    if v > 3: raise ValueError('big')\n    s += v\n"
        "  except ValueError: s -= 1\nreturn s",
    "around a loop": "try:\n  for v in x:\n    if v > 3: raise ValueError\n    s += v\n"
        "except ValueError: s = -s\nreturn s",
    "a text": "try:\n  for v in x:\n    if v > 3: raise ValueError(f'{v} of {k}')\n    s += v\n"
        "except ValueError: return -1.0\nelse: s += 100\nreturn s",
    "two loops": "try:\n  for i in range(len(x)):\n    for j in range(len(x)):\n"
        "      if x[i] * x[j] > 20: raise KeyError((i, j))\n      s += x[j]\n    s += 1\n"
        "except KeyError: s += 0.5\nreturn s",
    "with other exits": "for i in range(len(x)):\n  try:\n    for j in range(i):\n"
        "      if x[j] < -3: raise IndexError(j)\n      if x[j] > 8: break\n      s += x[j]\n"
        "    else: s += 0.25\n  except IndexError:\n    s -= 1\n    continue\n  s += 2\nreturn s",
    "in branches": "for v in x:\n  try:\n    if v < 0:\n      if v < -3: raise ValueError\n"
        "      s += 1\n    elif v > 5: raise TypeError\n    s += v\n"
        "  except ValueError: s += 10\n  except TypeError: s += 20\nreturn s",
    "own class": "for v in x:\n  try:\n    if v > 5: raise Stop(v)\n    out[0] += v\n"
        "  except Stop: break\nreturn s",
    "a base": "try:\n  for v in x:\n    if v > 5: raise Stop\n    s += v\n"
        "except (KeyError, Exception): pass\nreturn s",
    "a while": "n = 0\ntry:\n  while n < 100:\n    n += 3\n    if n == k: raise StopIteration\n"
        "except StopIteration: n = -n\nreturn n",
    "beside arithmetic": "try:\n  for v in xs:\n    s += 1 / v\n    if v > 6: raise ValueError\n"
        "    s += math.sqrt(v)\nexcept (ValueError, ZeroDivisionError): s += 2\nreturn s",
    "only arithmetic": "try:\n  for v in xs: s += math.sqrt(v)\n"
        "except ValueError: s += 2\nreturn s",
    "nested": "try:\n  for v in x:\n    try:\n      if v > 5: raise ValueError\n"
        "      if v < -2: raise KeyError\n      s += v\n    except KeyError: s += 1\n"
        "except ValueError: s = -1.0\nreturn s",
    "named": "try:\n  if len(x) > 2: raise ValueError('long')\n  out[0] = 3.0\n"
        "except ValueError as e: out[1] = 4.0\nreturn out",
    "not caught": "for v in x:\n  try:\n    if v > 9: raise OSError(v)\n"
        "    if v > 8: raise ValueError\n    s += v\n  except ValueError: s += 1\nreturn s",
    "an else": "for i in range(len(x)):\n  try:\n    if x[i] > 5: raise ValueError from None\n"
        "    out[i] = x[i]\n  except Exception: out[i] = -1\n  else: out[i] += 0.5\nreturn out",
    "in a helper": "for v in x:\n  try: s += doubled(v)\n  except ValueError: s += 1\nreturn s",
    "in helpers": "try:\n  for v in x: s += doubled(v) + limited(v)\n"
        "except ValueError: s += 1\nexcept Stop: s += 2\nreturn s",
    "an assert": "for v in x:\n  try:\n    assert v < 3, 'big'\n    s += v\n"
        "  except AssertionError: s -= 1\nreturn s",
    "asserts around a loop": "try:\n  for v in x:\n    if v > 0: assert v < 6, (v, k)\n"
        "    s = max(s, v)\nexcept (AssertionError, KeyError): return -1.0\nreturn s",
    "not caught inside": "try:\n  try:\n    for v in x:\n      if v > 8: raise KeyError\n"
        "      s = max(v, s)\n  except ValueError: return 1\nexcept KeyError: s += 2\nreturn s",
    "several conditions": "for v in x:\n  try:\n"
        "    if v < -4 or v > 8 and k > 2: raise ValueError\n"
        "    if not 0 <= v <= 5: raise KeyError\n    s += v if v > 1 else 1.0\n"
        "  except ValueError: s -= 1\n  except KeyError: s += 7\nreturn s",
    "items of a list": "try:\n  for i in range(len(xs)):\n    if xs[i] > 8: raise StopIteration\n"
        "    xs[i] *= 2\nexcept StopIteration: pass\nreturn xs",
    "two names": "a, b = 0.0, 1.0\ntry:\n  for v in x:\n    a, b = b, a + v\n"
        "    if b > 12: raise OverflowError\nexcept ArithmeticError: return a, b, 1\nreturn a, b",
    "then a return": "try:\n  for i in range(len(x)):\n    if x[i] > 8: raise StopIteration\n"
        "    if x[i] < -4: return i\nexcept StopIteration: pass\nreturn None",
}
PYTHONS = {
    "read": "try:\n  if len(x) > 2: raise ValueError('long')\n"
        "except ValueError as e:\n  return str(e)",
    "own code": "try:\n  for v in x:\n    if v > 5: raise Loud(v)\nexcept Loud: s = 1.0\n"
        "return s, Loud.made",
    "its argument raises": "try:\n  for v in xs:\n    if v > 3: raise ValueError(1 / (v - v))\n"
        "except ValueError: s = 1.0\nreturn s",
    "its argument is not defined": "try:\n  for v in xs:\n"
        "    if v > 3: raise ValueError((v, limit))\nexcept ValueError: s = 1.0\nreturn s",
    "its argument is not bound": "try:\n  for v in xs:\n"
        "    if v > 3: raise ValueError('after', w)\n    w = v\nexcept ValueError: s = 1.0\n"
        "return s",
    "caused": "try:\n  for v in x:\n    if v > 3: raise ValueError from KeyError(v)\n"
        "except ValueError: s = 1.0\nreturn s",
    "wrong arguments": "try:\n  for v in x:\n    if v > 3: raise UnicodeDecodeError(1)\n"
        "except ValueError: s = 1.0\nreturn s",
}
VECTORS = (
    [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0], [], [3.0, -1.0], [0.5] * 5, [0.0, 1.0, 2.0],
    [1.0, 2.0, -4.0, 7.0], [7.0],
)


def raised_as_python(fused: Any, python: Any, told: str) -> None:
    for values in VECTORS:
        args = np.array(values), values, np.zeros(8), len(values)
        assert_same(outcome(fused, args), outcome(python, args), f"{told} of {values}", ulps=4)


@pytest.mark.parametrize("name", RAISED)
def test_a_raise_with_its_handler_is_compiled(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "\n".join(f"    {line}" for line in RAISED[name].split("\n"))
    f = written(tmp_path, f"{RAISED_IN}{body}\n").f
    fused = fuse(f, on_reject="silent")
    raised_as_python(fused, f, name)
    assert fused.stats.compiled, fused.report()
    replays = {code for code in fused.stats.replays if code.startswith("LOWER")}
    assert not replays, fused.report()


@pytest.mark.parametrize("name", PYTHONS)
def test_other_raises_are_pythons(name: str, tmp_path: Path) -> None:
    body = "\n".join(f"    {line}" for line in PYTHONS[name].split("\n"))
    mine, theirs = (written(tmp_path, f"{RAISED_IN}{body}\n").f for _ in range(2))
    raised_as_python(fuse(mine, on_reject="silent"), theirs, name)


def test_a_class_that_is_bound_anew(tmp_path: Path) -> None:
    body = "\n".join(f"    {line}" for line in RAISED["own class"].split("\n"))
    module = written(tmp_path, f"{RAISED_IN}{body}\n")
    fused = fuse(module.f, on_reject="silent")
    raised_as_python(fused, module.f, "before")
    kept = module.Stop
    for new in (type("Stop", (KeyError,), {}), module.Loud, ValueError, int, kept):
        module.Stop = new
        raised_as_python(fused, module.f, f"{new}")
    module.Stop = kept
    module.ValueError = KeyError
    raised_as_python(fused, module.f, "a builtin")


def test_a_handler_that_needs_the_exception_is_named() -> None:
    def messages(x):
        out = 0
        for v in x:
            try:
                out += 10 // v
            except ZeroDivisionError as e:  # noqa: PERF203 (the handler is what is tested)
                raise ValueError(str(e)) from e
        else:
            out += 100
        return out

    (rejection,) = fuse(messages).report([1, 2]).rejections
    assert rejection.message == "the handler needs the exception, which compiled code does not make"
