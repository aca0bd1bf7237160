"""What a report says of expressions that are not compiled: what they are, and what to write."""
from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transpile import fuse
from transpile.codes import CODES

X = np.linspace(0.5, 5.0, 10)
pytestmark = pytest.mark.filterwarnings("ignore::transpile.FuseWarning")


def of(body: str, tmp_path: Path) -> Any:
    """The function ``f(x)`` with that body, fused, from a file."""
    path = tmp_path / "source.py"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    path.write_text(f"def f(x):\n    s = 0.0\n{lines}\n    return s\n")
    names = {"np": np, "functools": functools}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return fuse(names["f"])


@pytest.mark.parametrize(("body", "message", "help"), [
    ("for v in x: s = (v, v)\ns += s[0]", "`(v, v)` is a tuple, which is compiled only where",
     "use a name for each of its items"),
    ("for v in x: s += [1, 2, 3][int(v) % 3]", "`[1, 2, 3]` is a list that has no name",
     "give it a name, in a statement before this one"),
    ("for v in x: s += {0: 1.0, 1: 2.0}[int(v) % 2]", "is a dict that has no name",
     "give it a name, in a statement before this one"),
    ("s = sum({int(v) for v in x})", "is a set that has no name",
     "give it a name, in a statement before this one"),
    ("s = ','.join(str(v) for v in x)", "the method `join` of a str is not compiled here",
     "make strings after the loops, from the numbers that these compute"),
    ("f = lambda v: v\ns = [f, f]", "`f` is a function, which is compiled only where it is called",
     "call it where its result is needed, or pass it to a function that calls it"),
    ("s, *rest = x", "`*rest` takes a number of items that is not known",
     "write a slice in its place, as in `first, rest = x[0], x[1:]`"),
    ("a, b = x[0], x[1], x[2]\ns = a", "`x[0], x[1], x[2]` has 3 items, not the 2",
     "as many names"),
    ("for v in x: s += v @ v", "`v` is a number, and `@` multiplies arrays",
     "multiply numbers by `*`"),
    ("s = x @ 2.0", "`2.0` is a number, and `@` multiplies arrays", "multiply numbers by `*`"),
    ("s = x.summ()", "an array has no attribute `summ`", "did you mean `sum`?"),
    ("s = x.shpae[0]", "an array has no attribute `shpae`", "did you mean `shape`?"),
    ("for v in x: s += x", "`s` is a number, and `s += x` makes an array of it",
     ": `s = s + np.zeros_like(x)`"),
    ("for v in x: s = x - s", "`s` is a number, and `s = x - s` makes an array of it",
     ": `s = s + np.zeros_like(x)`"),
    ("if x > 2: s = 1", "`x > 2` is not a number but an array with 1 axis", ""),
    ("m = {1: 1}\ndef g(k): return m.setdefault(k, [])\nfor v in x: s += len(g(int(v)))",
     "not all that is done with the dict `m` is compiled", "in the function itself, read and"),
    ("y = [0.0] * 5\nfor k in range(3): y[k] = [1.0]", "a whole list is stored in `y[k]`",
     "store its items one by one"),
    ("s = np.apply_along_axis(np.sum, 0, x)", "`np.apply_along_axis` is not a function that", ""),
    ("f = np.vectorize(lambda v: v + 1)\ns = f(x)", "`np.vectorize` is not a function that", ""),
    ("with open('f') as fh:\n    for line in fh: s += float(line)", "a `with` statement", ""),
    ("s = x.foo", "an array has no attribute `foo`", "correct the name"),
    ("s = []\nfor v in x: s.push(v)", "a list has no attribute `push`", "correct the name"),
    ("@functools.cache\ndef sq(k): return k * k\nfor v in x: s += sq(int(v))",
     "the decorator of `sq` is not compiled", "remove the decorator"),
    ("try:\n    for v in x: s += 1 / (v - x[3])\nexcept ZeroDivisionError as e: s = len(str(e))\n"
     "finally: s += 1",
     "a `try` with both `except` and `finally` is not compiled here", "after the `try`"),
    ("print(x.sum())", "`print` is not a function that can be compiled", "where it is called"),
    ("for v in x: print(v)", "`print` is not a function that can be compiled", "behind the loop"),
    ("ys = [v if v > 1 else 0.0 for v in x]\nfor v in ys: s += v",
     "the items of `ys` have several types", "give all items one type"),
])
def test_what_an_expression_is_and_what_to_write_instead(
    body: str, message: str, help: str, tmp_path: Path
) -> None:
    (told,) = of(body, tmp_path).report(X).rejections  # what follows from it is not listed
    assert message in told.message
    assert help in (told.help or "")
    assert told.span is not None
    assert "cannot be compiled" not in told.message


FOLLOWED = [
    "t = [1, 2, 3]\nfor v in x: s += t[int(v) % 3]",
    "t = {0: 1.0, 1: 2.0}\nfor v in x: s += t[int(v) % 2]",
    "t = {int(v) for v in x}\ns = sum(t)",
    "first, rest = x[0], x[1:]\ns = first + rest[0]",
    "try:\n    for v in x: s += 1 / (v - x[3])\nexcept ZeroDivisionError: s = 1.0\ns += 1",
    "ys = [float(v) if v > 1 else 0.0 for v in x]\nfor v in ys: s += v",
]


@pytest.mark.parametrize("body", FOLLOWED)
def test_the_help_can_be_followed(body: str, tmp_path: Path) -> None:
    f = of(body, tmp_path)
    with np.errstate(all="ignore"):
        assert f(X) == f.__wrapped__(X)
    assert f.report(X).accepted


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the place of an exception is a line there")
@pytest.mark.parametrize(("body", "message"), [
    ("s = np.mean(x, axes=0)", "TypeError was raised here: mean() got an unexpected keyword"),
    ("s = np.concatenate([x, x], axis=3)", "AxisError was raised here: axis 3 is out of bounds"),
    ("s = np.add(x)", "TypeError was raised here: add() takes from 2 to 3 positional arguments"),
    ("for v in x:\n    for w in v: s += w", "TypeError was raised here: 'numpy.float64' object"),
    ("s = None\nfor v in x: s += v", "TypeError was raised here: unsupported operand type(s)"),
])
def test_what_python_raises_whatever_the_values_is_the_cause(
    body: str, message: str, tmp_path: Path
) -> None:
    f = of(body, tmp_path)
    with pytest.raises((TypeError, np.exceptions.AxisError)):
        f(X)
    (told,) = f.report().rejections
    assert told.message.startswith(message)
    assert told.help == "correct that first: the exception is Python's own"


def test_an_exception_that_depends_on_the_values_is_a_note(tmp_path: Path) -> None:
    f = of("for v in x: s += float(str(v))", tmp_path)
    f(["1.5"])
    with pytest.raises(ValueError, match="could not convert"):
        of("for v in x: s += float(str(v))", tmp_path)(["a"])
    told = f.report().rejections[0]
    assert "was raised" not in told.message + (told.note or "")


@pytest.mark.parametrize(("array", "help"), [
    (np.ones(3, ">f8"), "pass `x.astype(x.dtype.newbyteorder('='))`"),
    (np.array([1.0, 2], object), "pass `x.astype(float)`, if its items are numbers"),
    (np.array(["a", "b"]), "pass numbers in place of strings"),
    (np.ones(3, "M8[s]"), "pass `x.astype(np.int64)`, the times as numbers"),
    (np.ma.array([1.0, 2.0]), "pass `np.asarray(x)`, if the rules of its class do not matter"),
])
@pytest.mark.parametrize("body", ["for v in x: s = v", "s = x[:1].sum()"])
def test_an_unusual_array_is_named_with_a_conversion(
    body: str, array: Any, help: str, tmp_path: Path
) -> None:
    told, *_ = of(body, tmp_path).report(array).rejections
    assert (told.code, told.message.startswith("`x` is of type")) == ("GUARD_DTYPE", True)
    assert (told.help or "").startswith(help)


def test_a_loop_over_a_dict_names_it(tmp_path: Path) -> None:
    (told,) = of("for k, v in x.items(): s += v", tmp_path).report({1: 2.0}).rejections
    assert told.message == "a loop over `x.items()`, a method of a dict, is not compiled"
    assert told.help == "pass its keys and values as two arrays or lists, and loop over these"


def test_the_general_help_is_not_lost() -> None:
    assert all(code.help for code in CODES.values())


@pytest.mark.share(1)
@pytest.mark.parametrize(("body", "message"), [
    ("n = 3\nfor i in range(len(n)): s += i", "`n` is of type int, which has no length"),
    ("for i in range(len(x)): s += len(x[i])", "`x[i]` is of type float64, which has no length"),
    ("for v in x: s += s[0]", "`s` is of type float, which has no items"),
    ("for v in x: s += v[0]", "`v` is of type float64, which has no items"),
    ("for i in range(3): x[i][0] = 1.0", "`x[i]` is of type float64, which has no items"),
    ("n = len(x)\nfor i in n: s += x[i]", "`n` is of type int, which has no items"),
    ("n = len(x)\nfor i, v in enumerate(n): s += v", "`n` is of type int, which has no items"),
    ("for v, w in zip(x, s): s += v", "`s` is of type float, which has no items"),
    ("n = len(x)\ns = sum(n)", "`n` is of type int, which has no items"),
    ("n = len(x)\ns = max(n)", "`n` is of type int, which has no items"),
    ("n = len(x)\ns = sorted(n)", "`n` is of type int, which has no items"),
    ("n = len(x)\na, b = n", "`n` is of type int, which has no items to unpack"),
    ("n = len(x)\ns = 3 in n", "`n` is of type int, which has no items"),
    ("for v in x: s += s(v)", "`s` is of type float, which cannot be called"),
    ("for i in range(x.size()): s += i", "`x.size` is of type int, which cannot be called"),
    ("n = 3\nn(x)", "`n` is of type int, which cannot be called"),
])
def test_what_numbers_do_not_have_is_said(body: str, message: str, tmp_path: Path) -> None:
    """Before the call runs: Python raises TypeError, NumPy's numbers IndexError of subscripts."""
    f = of(body, tmp_path)
    (told,) = f.report(X).rejections
    with pytest.raises((TypeError, IndexError)) as raised:
        f.__wrapped__(X)
    assert told.message.startswith(message)
    assert told.message.endswith(f" raises {raised.type.__name__}")
