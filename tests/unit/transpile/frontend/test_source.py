"""Where a function's text comes from, its positions, and what its free names mean."""
from __future__ import annotations

import ast
import functools
import gc
import importlib.util
import linecache
import math
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopir.nodes import Span
from transpile import fuse
from transpile.diagnostics import Refused
from transpile.frontend.name_resolution import NameScope, Scope
from transpile.frontend.source import read_functions, read_source, read_text, span_of

HERE = Path(__file__).read_text(encoding="utf-8").splitlines()


def keep(*_args, **_options):
    return lambda fn: fn


def plain(x, y=1, *rest, z: int = 2, **more) -> float:
    """A docstring
on the left edge."""
    return x + math.sqrt(y)  # λ


@keep(
    1,
    option=[i for i in range(3)],
)
@keep()
def decorated(x):
    s = 0
    for i in range(len(x)):
        s = s + x[i]
    return s


def outer(n):
    k = n

    def inner(x):
        total = [k * v for v in x]
# a comment on the left edge
        return total if k else inner(x)

    return inner


class Holder:
    __hidden = 1

    @keep(2)
    def method(self, x):
        return self.__hidden * x

    @staticmethod
    def static(x):
        return x

    @property
    def prop(self):
        return self.__hidden


class TestRead:
    @pytest.mark.parametrize(
        "fn",
        [plain, decorated, outer, outer(2), Holder.method, Holder().method, Holder.static],
        ids=lambda fn: fn.__qualname__,
    )
    def test_positions_are_those_of_the_file(self, fn):
        s = read_source(fn)
        assert s.path == __file__
        assert s.lines == tuple(HERE)
        assert HERE[s.tree.lineno - 1][s.tree.col_offset :].startswith(f"def {fn.__name__}(")
        names = [n for n in ast.walk(s.tree) if isinstance(n, ast.Name)]
        assert names
        for n in names:
            line = HERE[n.lineno - 1].encode()  # columns count bytes, as in Python's own messages
            assert line[n.col_offset : n.end_col_offset].decode() == n.id

    def test_decorators_are_set_apart(self):
        s = read_source(decorated)
        assert s.tree.decorator_list == []
        assert [ast.unparse(d) for d in s.decorators] == [
            "keep(1, option=[i for i in range(3)])",
            "keep()",
        ]
        assert HERE[s.line - 1] == "@keep("

    def test_text_is_the_def_alone(self):
        assert (
            read_source(Holder.method).text
            == "def method(self, x):\n    return self.__hidden * x\n"
        )

    def test_staticmethod_object(self):
        assert read_source(Holder.__dict__["static"]).name == "static"

    def test_the_tree_is_ones_own(self):
        read_source(plain).tree.body.clear()
        assert len(read_source(plain).tree.body) == 2

    def test_conditional_definitions(self, tmp_path):
        text = "if {}:\n    def f(x):\n        return 1\nelse:\n    def f(x):\n        return 2\n"
        for flag, line in ((True, 2), (False, 5)):
            path = tmp_path / f"m{flag}.py"
            path.write_text(text.format(flag))
            assert read_source(_run(path)["f"]).line == line

    def test_two_functions_on_one_line_are_told_apart_by_name(self, tmp_path):
        path = tmp_path / "m.py"
        path.write_text("def f(x): return 1\ndef g(x): return 2\n")
        assert read_source(_run(path)["g"]).line == 2


def _run(path: Path) -> dict:
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names


class TestUnavailable:
    @staticmethod
    def refused(fn) -> str:
        with pytest.raises(Refused) as e:
            read_source(fn)
        assert e.value.rejection.code == "SOURCE_UNAVAILABLE"
        return e.value.rejection.message

    def test_lambda(self):
        assert "`lambda x: x`, a lambda," in self.refused(lambda x: x)

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="bytecode has no columns")
    def test_lambdas_of_one_line(self):
        one, other, outer = (lambda x: x + 1), (lambda x: x + 2), (lambda x: lambda y: y)
        assert "`lambda x: x + 1`" in self.refused(one)
        assert "`lambda x: x + 2`" in self.refused(other)
        assert "`lambda x: lambda y: y`" in self.refused(outer)
        assert "`lambda y: y`" in self.refused(outer(1))

    def test_exec(self):
        names: dict = {}
        exec("def f(x): return x", names)
        assert "`f`" in self.refused(names["f"])

    @pytest.mark.parametrize("fn", [len, functools.partial(plain, 1), Holder, 3])
    def test_not_a_function(self, fn):
        assert "is not a Python function" in self.refused(fn)

    def test_deleted_file(self, tmp_path):
        path = tmp_path / "m.py"
        path.write_text("def f(x): return x\n")
        f = _run(path)["f"]
        path.unlink()
        linecache.checkcache()
        self.refused(f)

    @pytest.mark.parametrize(
        "now",
        [
            "def f(x): return x - 1\n",
            "def f(x): return x + 2\n",
            "def f(y): return y + 1\n",
            "def g(x): return x + 1\n",
            "# moved\ndef f(x): return x + 1\n",
            "def f(x: return x\n",
            "",
        ],
    )
    def test_changed_file(self, tmp_path, now):
        path = tmp_path / "m.py"
        path.write_text("def f(x): return x + 1\n")
        f = _run(path)["f"]
        read_source(f)
        path.write_text(now + "#" * 40)  # another size: the cache must notice
        self.refused(f)

    def test_async(self):
        async def f(x):
            return x

        with pytest.raises(Refused) as e:
            read_source(f)
        assert e.value.rejection.code == "LOWER_UNSUPPORTED"


class TestText:
    TEXT = """\
import numpy as np

def f(x):
    def g(y):
        return y
    return g(x)

class A:
    @fuse(target="avx2")
    def f(self, x):
        return x
"""

    def test_every_function(self):
        found = read_functions(self.TEXT, "m.py")
        assert [s.qualname for s in found] == ["f", "f.<locals>.g", "A.f"]
        assert [s.line for s in found] == [3, 4, 9]
        assert found[2].tree.lineno == 10
        assert found[2].function is None

    def test_by_name(self):
        assert read_text(self.TEXT, "A.f", "m.py").line == 9
        assert read_text(self.TEXT, "g", "m.py").line == 4
        (decorator,) = read_text(self.TEXT, "A.f", "m.py").decorators
        assert ast.unparse(decorator) == "fuse(target='avx2')"

    def test_missing(self):
        with pytest.raises(Refused, match=r"m.py has no function called `h`"):
            read_text(self.TEXT, "h", "m.py")

    @pytest.mark.parametrize("text", ["def f(:\n", "def f():\nreturn\n", "x = '\n", "\0"])
    def test_unparsable(self, text):
        with pytest.raises(Refused) as e:
            read_functions(text, "m.py")
        assert e.value.rejection.code == "SOURCE_UNPARSABLE"
        assert "m.py is not valid Python" in e.value.rejection.message


def test_span():
    node = ast.parse("a = (b +\n     c)").body[0]
    assert span_of(node) == Span(1, 0, 2, 7)
    assert span_of(ast.Name("x", ast.Load())) is None


SHADE = 1


class TestScope:
    def test_origins(self):
        cell = 5

        def f(a):
            b = a
            return b, cell, SHADE, len, nowhere  # noqa: F821

        scope = Scope.of(f)
        assert scope.find("a") == scope.find("b") == (NameScope.LOCAL, None)
        assert scope.find("cell") == (NameScope.CLOSURE, 5)
        assert scope.find("SHADE") == (NameScope.GLOBAL, 1)
        assert scope.find("len") == (NameScope.BUILTIN, len)
        assert scope.find("nowhere") == (NameScope.UNBOUND, None)
        cell = 6
        assert scope.find("cell") == (NameScope.CLOSURE, 6)

    def test_is_read_each_time(self, monkeypatch):
        scope = Scope.of(plain)
        root = ast.parse("math.sqrt", mode="eval").body
        assert scope.resolve(root) is math.sqrt
        monkeypatch.setattr(math, "sqrt", abs)
        assert scope.resolve(root) is abs
        monkeypatch.setitem(globals(), "len", 3)
        assert scope.find("len") == (NameScope.GLOBAL, 3)

    def test_a_cell_not_filled_yet(self):
        def f():
            return late

        assert Scope.of(f).find("late") == (NameScope.UNBOUND, None)
        late = 1

    def test_attributes_of_objects_are_not_run(self):
        class Trap:
            @property
            def x(self):
                raise AssertionError

        trap = Trap()

        def f():
            return trap.x

        assert Scope.of(f).resolve(ast.parse("trap.x", mode="eval").body) is None


def test_a_constant_of_thousands_of_digits(tmp_path: Path) -> None:
    path = tmp_path / "digits.py"
    path.write_text(f"def f(x):\n    return x & {1 << 20000:#x}\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(Refused, match="`f` has an int of thousands of digits"):
        read_source(names["f"])


def test_what_was_read_is_read_again_only_after_an_edit(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    path.write_text("def f(x):\n    return x + 1\n")
    spec = importlib.util.spec_from_file_location("edited", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    first = read_source(module.f)
    first.tree.body.clear()  # the caller's own
    again = read_source(module.f)
    assert ast.unparse(again.tree) == "def f(x):\n    return x + 1"
    assert again.lines is first.lines
    path.write_text("def f(x):\n    return x + 2  # longer\n")
    with pytest.raises(Refused, match="does not match") as edited:
        read_source(module.f)
    told = edited.value.rejection
    del edited
    assert f"{path} has changed since it was imported" in (told.note or "")
    assert "start Python again" in (told.help or "")
    path.write_text("# moved down by a line\n\ndef f(x):\n    return x + 1\n")
    with pytest.raises(Refused, match=r"does not match|no function"):
        read_source(module.f)
    module.f.__code__ = (lambda x: x + 1).__code__
    with pytest.raises(Refused):
        read_source(module.f)
    kept = weakref.ref(module.f)
    del module.f, first, again
    gc.collect()
    assert kept() is None


Y = 5.0


def of_a_helper_without_a_value(v: Any) -> Any:
    Y: float
    return v * Y  # noqa: F821


def declares_in_a_helper(x: Any) -> Any:
    s: float
    s = 0.0
    for v in x:
        s += of_a_helper_without_a_value(v)
    return s


def declares_itself(x: Any) -> Any:
    Y: float
    s: float = 0.0
    for v in x:
        s += v * Y  # noqa: F821
    return s


def declares_in_a_local_function(x: Any) -> Any:
    def inner(v: Any) -> Any:
        Y: float
        return v * Y  # noqa: F821

    s: float = 0.0
    for v in x:
        s += inner(v)
    return s


@pytest.mark.parametrize(
    "function", [declares_in_a_helper, declares_itself, declares_in_a_local_function]
)
@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_a_name_that_is_only_declared_is_local(function: Callable[..., Any]) -> None:
    with pytest.raises(UnboundLocalError):
        function([1.0])
    with pytest.raises(UnboundLocalError):
        fuse(function)([1.0])


def test_annotations_are_dropped() -> None:
    def annotated(x: Any) -> Any:
        x: list[float]
        s: float
        s = 0.0
        out: list[float] = []
        for v in x:
            t: float = v * 2
            out.insert(0, t)
            s += t
        return s, out

    fused = fuse(annotated, on_reject="raise")
    assert fused([1.0, 2.0]) == annotated([1.0, 2.0])
    assert fused.stats.compiled == 1
