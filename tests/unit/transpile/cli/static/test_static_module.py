"""Files are read without running them: names, values, classes, imports; what stays unknown."""
from __future__ import annotations

import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from transpile import Fused
from transpile.cli.command_line import main
from transpile.cli.input_files import compiled_cells
from transpile.cli.static import Modules, StaticModule, Unevaluated, WrongOption


def read(tmp_path: Path, text: str) -> StaticModule:
    path = tmp_path / "read.py"
    path.write_text(text)
    return Modules().read(str(path), compiled_cells(str(path)))


MARK = '__import__("pathlib").Path("{marker}").touch()'

EFFECTS = [
    "{mark}",
    "x = {mark}",
    "def f(x={mark}): pass",
    "def f(x: {mark}): pass",
    "def f(x: '''{mark}'''): pass",
    "def f(x: '''list[{mark}]''') -> None: pass",
    "from typing import Optional\ndef f(x: Optional['''{mark}''']): pass",
    "@{mark}\ndef f(x): pass",
    "def mark(f): {mark}\n@mark\ndef f(x): pass",
    "import functools\ndef mark(f): {mark}\n@functools.partial(mark)\ndef f(x): pass",
    "class A:\n    {mark}",
    "class A({mark}): pass",
    "class M(type):\n    def __new__(*a): {mark}\nclass A(metaclass=M): pass",
    "class M(type):\n    def __init__(*a): {mark}\nclass A(metaclass=M): pass",
    "class A:\n    def __init_subclass__(cls): {mark}\nclass B(A): pass",
    "class D:\n    def __set_name__(*a): {mark}\nclass A:\n    d = D()",
    "class D:\n    def __init__(self): {mark}\nd = D()",
    "import dataclasses\n@dataclasses.dataclass\nclass D:\n    x: int = 0\n"
    "    def __post_init__(self): {mark}\nd = D()",
    "import dataclasses\n@dataclasses.dataclass\nclass D:\n    x: int = 0\n"
    "    def __add__(self, other): {mark}\nd = D() + D()",
    "import dataclasses\n@dataclasses.dataclass\nclass D:\n"
    "    x: int = dataclasses.field(default_factory=lambda: {mark})\nd = D()",
    *(
        f"import dataclasses, enum\n@dataclasses.dataclass(eq=False)\nclass D:\n    x: int = 0\n"
        f"    {method}\nd = D(1)\n{use}"
        for method, use in (
            ("def __hash__(self): {mark}; return 1", "s = {{d}}"),
            ("def __hash__(self): {mark}; return 1", "s = {{d: 1}}"),
            ("def __eq__(self, other): {mark}", "s = [d].index(d)"),
            ("def __lt__(self, other): {mark}", "s = sorted([d, D(2)])"),
            ("def __bool__(self): {mark}", "s = 1 if d else 2"),
            ("def __getattr__(self, name): {mark}", "s = dataclasses.dataclass(d)"),
            ("def __getattribute__(self, name): {mark}", "s = d.x"),
            ("__class__ = property(lambda self: {mark})", "s = d"),
            ("def __set__(self, owner, v): {mark}",
             "@dataclasses.dataclass\nclass A:\n    y: int = d\na = A(3)"),
            ("def __get__(self, owner, kind): {mark}",
             "@dataclasses.dataclass\nclass A:\n    y: int = d\na = A(3)"),
            ("def __hash__(self): {mark}; return 1", "class E(enum.Enum):\n    A = d"),
            ("def __post_init__(self): {mark}",
             "import transpile\n@transpile.fuse\ndef f(q: D): return [q.x for i in range(q.x)]"),
        )
    ),
    "import enum\nclass E(enum.Enum):\n    def __init__(self, v): {mark}\n    A = 1",
    "import enum\nclass E(enum.Enum):\n    def _generate_next_value_(*a): {mark}\n"
    "    A = enum.auto()",
    "class A:\n    __module__ = 'builtins'\n    def __init__(self): {mark}\na = A()",
    "class P:\n    @property\n    def x(self): {mark}\ny = P.x.fget(0)",
    "f = lambda v: {mark}\nx = max([1, 2], key=f)",
    "f = lambda v: {mark}\nx = sorted([1, 2], key=f)",
    "x = [{mark} for _ in range(2)]",
    "x = f'''{{{mark}}}'''",
    "x = (lambda: {mark})()",
    "if {mark}: pass",
    "for x in [1]: {mark}",
    "while True: {mark}; break",
    "with open({mark}) as f: pass",
    "try: {mark}\nexcept Exception: pass",
    "try:\n    import no_such_module\nexcept ImportError:\n    {mark}",
    "import helper",
    "from helper import value",
    "from helper import *",
    "import helper\nx = helper.anything",
    "from transpile import macro\n@macro\ndef rule(node, context): {mark}",
    "from transpile import macro\n@macro('expit(A)')\ndef expit(A): {mark}",
    "import os\nx = os.system('touch {marker}')",
    "import numpy as np\nx = np.arange(3).tofile('{marker}')",
    "import numpy as np\nx = np.save('{marker}', 3)",
    "x = open('{marker}', 'w')",
    "x = exec('''{mark}''')",
    "assert {mark}",
    "del [][{mark}]",
    "match {mark}:\n    case _: pass",
    "x: int = {mark}",
    "x = 1\nx += {mark}",
    "if __name__ == '__main__':\n    {mark}",
]


@pytest.mark.share(6)
@pytest.mark.parametrize("text", EFFECTS)
def test_nothing_of_the_file_runs(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRANSPILE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRANSPILE_TARGET", "scalar")
    marker = tmp_path / "marker"
    mark = MARK.format(marker=marker)
    (tmp_path / "helper.py").write_text(f"{mark}\nvalue = 1\ndef __getattr__(name): {mark}\n")
    path = tmp_path / "effects.py"
    body = text.format(mark=mark, marker=marker)
    path.write_text(f"""\
import transpile
{body}
@transpile.fuse
def g(v, out):
    for i in range(len(v)):
        out[i] = v[i] * 2.0
""")
    compile(path.read_text(), str(path), "exec")
    status = main([str(path), "--all"])
    assert not marker.exists()
    assert status == 0
    assert "g(v: f64[:], out: f64[:])" in capsys.readouterr().out
    assert "helper" not in sys.modules


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("N = 4 * (2 + 1)\nx = N // 5", 2),
        ("a, (b, c) = 1, (2.5, 'x')\nx = b", 2.5),
        ("MOVES = ((0, 1), (1, 0))\nx = MOVES[1]", (1, 0)),
        ("x = [i * 0.5 for i in range(5) if i % 2]", [0.5, 1.5]),
        ("x = {k: v for k, v in zip('ab', (1, 2))}", {"a": 1, "b": 2}),
        ("import math\nx = math.sqrt(16) if math.pi > 3 else None", 4.0),
        ("from math import tau as T\nx = -T < 0 and not T == 3", True),
        ("x = dict(a=1, b=[2])", {"a": 1, "b": [2]}),
        ("x = None\nif x is None:\n    x = 5\nelse:\n    x = 6", 5),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import os\nx = 1", 1),
        ("from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    x = 1", 1),
        ("try:\n    import no_such_module\nexcept ImportError:\n    x = 2", 2),
        ("try:\n    import math\nexcept ImportError:\n    x = 2\nelse:\n    x = 3", 3),
        ("class C:\n    k = 3\nx = C.k", 3),
        ("import enum\nclass E(enum.IntEnum):\n    A = 1\n    B = 7\nx = E.B.value", 7),
        ("x = 1\nx += 2", 3),
        ("from helper import value\nx = value + 1", 42),
        ("import helper\nx = helper.value", 41),
        ("from helper import *\nx = value", 41),
        ("x = sum(range(10)) + len('abc') + max(1, 2)", 50),
        ("x = 'a,b'.split(',')", ["a", "b"]),
        ("print('shown')\nx = 8", 8),
    ],
)
def test_values(text: str, value: object, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("value = 41\n")
    got = read(tmp_path, text).names["x"]
    assert got == value
    assert type(got) is type(value)


def test_arrays(tmp_path: Path) -> None:
    names = read(tmp_path, """\
import numpy as np
a = np.linspace(0, 1, 5)
b = np.zeros((2, 3), dtype=np.float32).T
c = np.array([[1, 2], [3, 4]]) @ np.ones(2)
d = np.exp(a)[1:3]
e = np.finfo(np.float64).eps
rng = np.random.default_rng(3)
f = rng.normal(size=4)
""").names
    assert names["a"].shape == (5,)
    assert names["b"].shape == (3, 2)
    assert names["c"].tolist() == [3.0, 7.0]
    assert names["d"].shape == (2,)
    assert names["e"] == np.finfo(float).eps
    assert names["f"].shape == (4,)


@pytest.mark.parametrize(
    "text",
    [
        "import os\nx = os.environ.get('HOME')",
        "x = open('data.txt').read()",
        "x = input()",
        "def f(): return 1\nx = f()",
        "x = []\nx.append(1)",
        "x = []\ndef fill(): x.append(1)\nfill()",
        "x = 1\ndef fill():\n    global x\n    x = 2.0\nfill()",
        "x = 1\nfor i in range(3):\n    x = 2.0",
        "x = 1\nif input():\n    x = 2.0",
        "with open('f') as x: pass",
        "x = 2 ** 10 ** 10",
        "x = [0] * 10 ** 12",
        "a = (1,) * 100\n" + "a = (a,) * 100\n" * 6 + "x = list(a)",
        "x = [1]\n" + "x = x + x\n" * 40,
        "import numpy as np\na = np.zeros(10 ** 6)\nx = np.outer(a, a)",
        "import numpy as np\na = np.zeros(10 ** 6)\nx = a[:, None] * a",
        "import numpy as np\na = np.zeros(10 ** 6)\nx = np.add(a[:, None], a)",
        "import numpy as np\nx = np.arange(1e12)",
        "import numpy as np\nx = np.zeros((10 ** 5, 10 ** 6))",
        "import math\nx = math.factorial(10 ** 8)",
        "x = list(range(10 ** 10))",
        "x = [0 for i in range(10 ** 5) for j in range(10 ** 5)]",
        "import no_such_module as x",
        "from no_such_module import x",
        "from math import no_such_name as x",
        "x = no_such_name",
        "x = 1 / 0",
        "import antigravity as x",
        "class x(no_such_base): pass",
        "@no_such_decorator\ndef x(): pass",
    ],
)
def test_what_stays_unknown(text: str, tmp_path: Path) -> None:
    assert isinstance(read(tmp_path, text).names["x"], Unevaluated)


def test_functions(tmp_path: Path) -> None:
    module = read(tmp_path, """\
from __future__ import annotations
import functools
import numpy as np
from numpy.typing import NDArray
from transpile import fuse

FACTOR = 2.0
quick = fuse(target="sse2", threads=1)

@quick
def scale(x: NDArray[np.float64], by: float | None = FACTOR, *, k=(1, 2)):
    return [v * by for v in x]

def plain(x):
    return scale(x)

@functools.lru_cache
def cached(n): return n

fast = fuse(plain, fast=True)
square = lambda v: v * v

class Model:
    rate = 0.5
    @fuse
    def step(self, x): return __class__.rate
    @staticmethod
    @fuse
    def norm(x): return x
    @property
    def size(self): return 3

with open("none") as stream:
    def hidden(x): return stream
""")
    names: dict[str, Any] = module.names
    scale = names["scale"]
    assert isinstance(scale, Fused)
    assert (scale.options.target, scale.options.threads) == ("sse2", 1)
    assert (scale.__defaults__, scale.__kwdefaults__) == ((2.0,), {"k": (1, 2)})
    assert scale.__wrapped__.__globals__ is names
    assert scale([1.5]) == [3.0]
    assert names["fast"].options.fast
    assert names["square"](3) == 9
    assert names["cached"](4) == 4
    model = names["Model"]
    assert isinstance(model.step, Fused)
    assert model.step.__qualname__ == "Model.step"
    assert model.step.__wrapped__(None, None) == 0.5
    assert model.norm(5) == 5
    assert model().size == 3
    assert isinstance(names["hidden"], Unevaluated)
    found = {f.__qualname__ for f in module.defined if isinstance(f, FunctionType)}
    assert {"plain", "hidden", "Model.step", "Model.norm"} <= found


def test_records_are_made(tmp_path: Path) -> None:
    names = read(tmp_path, """\
from dataclasses import dataclass
from typing import NamedTuple

@dataclass(frozen=True)
class Params:
    a: float
    n: int = 3

class Pair(NamedTuple):
    left: int
    right: float = 0.5

p = Params(1.5)
q = Pair(4)
""").names
    assert (names["p"].a, names["p"].n) == (1.5, 3)
    assert names["q"] == (4, 0.5)


def test_options_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongOption, match=r"TypeError: fuse\(\) has no option 'speed'") as caught:
        read(tmp_path, "from transpile import fuse\n\n@fuse(speed=9)\ndef f(x): pass\n")
    assert caught.value.line == 3
    with pytest.raises(WrongOption, match="TypeError: fuse takes a Python function"):
        read(tmp_path, "from transpile import fuse\n@fuse\n@property\ndef f(x): pass\n")


def test_a_package(tmp_path: Path) -> None:
    package = tmp_path / "outer" / "inner"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("raise SystemExit\n")
    (package / "constants.py").write_text("from .loops import N\nM = N\nK = 2\n")  # a cycle
    path = package / "loops.py"
    path.write_text(
        "N = 1\nfrom . import constants\nfrom .constants import K, M\n"
        "import outer.inner.constants as c\nfrom outer.inner import constants as d\n"
        "x = constants.K + c.K + d.K + K + M\n"
    )
    module = Modules().read(str(path), compiled_cells(str(path)))
    assert module.names["x"] == 9
    assert module.module.__name__ == "outer.inner.loops"
    assert "outer" not in sys.modules


def test_a_file_that_hides_an_installed_module(tmp_path: Path) -> None:
    (tmp_path / "colorsys.py").write_text("ONE_THIRD = 5\nraise SystemExit\n")
    assert read(tmp_path, "import colorsys\nx = colorsys.ONE_THIRD").names["x"] == 5


def test_star_imports_of_lazy_modules(tmp_path: Path) -> None:
    module = read(tmp_path, "from transpile import *\n@fuse\ndef f(x): return x\n")
    assert type(module.names["f"]).__name__ == "Fused"


def test_modules_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n")
    names = read(tmp_path, "import broken\nfrom broken import x\nimport nothing.at\n").names
    for name in ("broken", "x"):
        assert names[name].why.startswith("broken.py:2: ")
    assert names["nothing"].why == "there is no module nothing.at"


def test_functions_in_functions(tmp_path: Path) -> None:
    module = read(tmp_path, """\
import transpile as t
def make():
    @t.fuse
    def made(x): return x
    @t.fuse(fast=True)
    def other(x): return x
    def plain(x): return x
""")
    assert [(node.name, node.lineno) for node in module.inner] == [("made", 4), ("other", 6)]


def test_async_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They stay Python, and the command says so, wherever they are."""
    path = tmp_path / "tasks.py"
    path.write_text("""\
from transpile import fuse
@fuse
async def serve(x):
    for v in x: await v
class Task:
    @fuse
    async def run(self): ...
if undefined():
    @fuse
    async def maybe(x): ...
def make():
    @fuse
    async def made(x): ...
""")
    assert main([str(path), "--check"]) == 1
    out, err = capsys.readouterr()
    for name in ("serve", "run", "maybe"):
        assert f"`{name}` is an async function" in out
    assert "LOWER_UNSUPPORTED  tasks.py:2\n" in out
    assert "help: move its loops to a `def` of their own" in out
    assert "`made` is made when another function runs" in err
