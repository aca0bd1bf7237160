"""Names and attributes: a list has no attributes of arrays, and an array no methods of lists."""
from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from transpile import fuse

LISTS = {
    "appended": "out = []\n    for v in x: out.append(v)",
    "comprehension": "out = [v * 2 for v in x]",
    "copy": "out = list(x)",
}
ARRAYS = {
    "new": "out = np.zeros(3)\n    for i in range(3): out[i] = x[i]",
    "argument": "out = x",
}
OF_ARRAYS = ("shape", "size", "ndim", "T", "dtype", "real", "shape[0]", "reshape(-1)", "sum()")
OF_LISTS = ("append(1.0)", "insert(0, 1.0)", "extend([1.0])", "pop()", "index(1.0)")
OF_NEITHER = ("delete(0)", "flip()", "median()", "unique()")
CASES = [
    (head, use)
    for heads, uses in ((LISTS, (*OF_ARRAYS, *OF_NEITHER)), (ARRAYS, (*OF_LISTS, *OF_NEITHER)))
    for head in heads.values() for use in uses
]


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("part", range(4))
def test_what_another_class_has_raises_as_in_python(part: int, tmp_path: Path) -> None:
    for k, (head, use) in enumerate(CASES[part::4]):
        path = tmp_path / f"source_{k}.py"
        path.write_text(f"def f(x):\n    {head}\n    used = out.{use}\n    return used\n")
        names: dict[str, Any] = {"np": np}
        exec(compile(path.read_text(), str(path), "exec"), names)
        with pytest.raises(AttributeError) as plain:
            names["f"](np.ones(4))
        with pytest.raises(AttributeError) as fused:
            fuse(names["f"])(np.ones(4))
        assert str(fused.value) == str(plain.value), (head, use)


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("head", LISTS.values())
def test_a_list_has_the_methods_of_lists(head: str, tmp_path: Path) -> None:
    """Where one is not compiled, the report does not say that Python raises AttributeError."""
    for k, use in enumerate(("index(out[1], 1)", "count('a')", "copy().append(1.0)", "__len__()")):
        path = tmp_path / f"source_{k}.py"
        path.write_text(f"def f(x):\n    {head}\n    return out.{use}\n")
        names: dict[str, Any] = {"np": np}
        exec(compile(path.read_text(), str(path), "exec"), names)
        fused = fuse(names["f"])
        given = [1.0, 2.0, 2.0, 4.0]
        assert fused(given) == names["f"](given)
        assert "LOWER_UNDEFINED" not in str(fused.report(verbose=True)), use


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("method", ["append", "pop", "sort"])
def test_a_method_of_a_list_as_a_value(method: str, tmp_path: Path) -> None:
    path = tmp_path / "source.py"
    path.write_text(
        f"def f(x):\n    h = []\n    a = h.{method}\n    for v in x: h.append(v)\n    return h\n"
    )
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    fused = fuse(names["f"])
    assert fused([1.0, 2.0]) == [1.0, 2.0]
    shown = str(fused.report(verbose=True))
    assert "LOWER_UNDEFINED" not in shown
    assert f"the method `h.{method}` is compiled only where it is called" in shown


class Settings:
    def __init__(self) -> None:
        self.name, self.scale, self.rows = "a", 2.0, [1j]
        self.root = math.sqrt
        self.table = {k: k for k in range(100)}
        self.inner = {"of": {"name": "b"}}

    @classmethod
    def made(cls, v):
        return v

    def half(self, v):
        return v / 2


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(("read", "member", "kind", "help"), [
    ("c.name == 'a'", "c.name", "str", "as a parameter of its own"),
    ("c.rows[0]", "c.rows", "list", "as a parameter of its own"),
    ("c.table[3]", "c.table", "dict", "if the keys of `c.table` are ints"),
    ("c.root(v)", "c.root", "builtin_function_or_method", "pass `c.root` as a parameter of its"),
    ("c.made(v)", "c.made", "classmethod", "make `c.made` a static method"),
    ("c.inner['of']['name'] == 'b'", "c.inner['of']['name']", "str", "as a parameter of its own"),
])
def test_the_member_whose_type_is_not_compiled_is_named(
    read: str, member: str, kind: str, help: str, tmp_path: Path
) -> None:
    text = f"def f(x, c):\n    s = 0.0\n    for v in x: s += v * c.scale * ({read})\n    return s\n"
    f = fuse(written(tmp_path, text).f)
    first, *_ = f.report(np.ones(4), Settings()).rejections
    only = "and only attributes that are numbers, arrays or lists of numbers are compiled"
    only = "and only dicts that the function makes are compiled" if kind == "dict" else only
    only = "which is not compiled" if member.endswith("]") else only
    assert first.message == f"`{member}` is of type {kind}, {only}"
    assert help in (first.help or "")
    assert first.span is not None
    line = text.splitlines()[2]
    assert line[first.span.col : first.span.end_col] == member


@pytest.mark.parametrize(("read", "message", "help"), [
    ("c.half", "`c.half` is a method, which is compiled only where it is called", "call it where"),
    ("c.zzz", "`c` is not known to have an attribute `zzz`", "correct the name"),
    ("c.haif(v)", "`c` is not known to have an attribute `haif`", "mean `half`?"),
])
def test_a_method_or_a_missing_attribute_is_named(
    read: str, message: str, help: str, tmp_path: Path
) -> None:
    text = f"def f(x, c):\n    s = 0.0\n    for v in x: s += v * {read}\n    return s\n"
    first, *_ = fuse(written(tmp_path, text).f).report(np.ones(4), Settings()).rejections
    assert first.message == message
    assert help in (first.help or "")
