"""Local imports: compiled where the module is loaded, else exactly as Python runs them."""

from __future__ import annotations

import builtins
import importlib
import math
import os
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from forked_programs import run_program

from transpile import Fused, fuse

X = np.array([0.5, 2.0, 3.0, 1.5])

HELPERS = """
SCALE = 2.0
def twice(v):
    return v * SCALE
def rooted(v):
    import math
    return math.sqrt(v)
def nested(v):
    def inner(w):
        from . import helping
        return helping.twice(w)
    return inner(v) + 1
def branching(v):
    if v > 1:
        import math
        return math.sqrt(v)
    return 0.5
"""

SPELLINGS = {
    "module": "import numpy\nreturn numpy.sqrt(x) + 1",
    "as": "import numpy as np\nreturn np.sqrt(x) + 1",
    "function": "from numpy import sqrt\nreturn sqrt(x) + 1",
    "function as": "from numpy import sqrt as root\nreturn root(x) + 1",
    "several": "from math import sqrt, pi as p\nreturn sum(sqrt(v) * p for v in x)",
    "two modules": "import math, numpy as np\nreturn np.sqrt(x) * math.pi",
    "in a loop": "import math\ns = 0.0\nfor v in x: s += math.sqrt(v)\nreturn s",
    "after code": "s = 0.0\nimport math\nfor v in x: s += math.sqrt(v)\nreturn s",
    "after a return": "if len(x) == 0: return 0.0\nimport math\nreturn x.sum() * math.pi",
    "submodule": "import numpy.linalg\nreturn numpy.linalg.norm(x)",
    "submodule as": "import numpy.linalg as la\nreturn la.norm(x)",
    "from a package": "from numpy import linalg\nreturn linalg.norm(x)",
    "unused": "import math\nreturn x + 1",
    "alone": "import math",
    "docstring": "'About it.'\nimport math\nreturn x * math.e",
    "own module": "from inside.helping import twice\nreturn sum(twice(v) for v in x)",
    "own module as": "import inside.helping as h\nreturn sum(h.twice(v) for v in x)",
    "relative": "from .helping import twice\nreturn sum(twice(v) for v in x)",
    "relative module": "from . import helping\nreturn sum(helping.twice(v) for v in x)",
    "a number": "from .helping import SCALE\nreturn x * SCALE",
    "local function":
        "import math\ndef g(v): return math.sqrt(v)\ns = 0.0\nfor v in x: s += g(v)\nreturn s",
    "local functions": "import numpy as np, math\ndef g(v): return math.sqrt(v)\n"
        "y = np.empty_like(x)\n"
        "for i in range(len(x)): y[i] = g(x[i]) + (lambda v: math.cos(v))(x[i])\nreturn y",
    "in a local function":
        "def g(v):\n    import math\n    return math.sqrt(v)\n"
        "s = 0.0\nfor v in x: s += g(v)\nreturn s",
    "own module in a local function": "def g(v):\n    from . import helping\n"
        "    return helping.twice(v)\nreturn sum(g(v) for v in x)",
    "own module in a branch": "s = 0.0\nif len(x) > 1:\n    from . import helping\n"
        "    for v in x: s += helping.twice(v)\nreturn s",
    "in local functions": "def g(v):\n    from math import sqrt as r, pi\n    return r(v) * pi\n"
        "def h(v):\n    import math\n    return g(v) + math.e\nreturn sum(h(v) for v in x)",
    "in a local function of a helper":
        "from .helping import nested\ns = 0.0\nfor v in x: s += nested(v)\nreturn s",
    "of arrays in a local function":
        "def g(v):\n    import numpy as np\n    return np.sqrt(v)\nreturn g(x) + 1",
    "in every iteration":
        "s = 0.0\nfor v in x:\n    import math\n    s += math.sqrt(v)\nreturn s",
    "in a branch": "s = 0.0\nfor v in x:\n    if v > 1:\n        from math import sqrt\n"
        "        s += sqrt(v)\n    else: s += 1\nreturn s",
    "in a branch of a helper":
        "from .helping import branching\nreturn sum(branching(v) for v in x)",
    "alone in a branch": "if len(x) > 99:\n    import math\nreturn x + 1",
    "in a try":
        "s = 0.0\ntry:\n    import math\n    for v in x: s += math.sqrt(v)\nfinally: s += 1\n"
        "return s",
    "in a helper": "from .helping import rooted\ns = 0.0\nfor v in x: s += rooted(v)\nreturn s",
}


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Makes the module of a function `f` of `x` with a body; a part of the package ``inside``."""
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "helping.py").write_text(HELPERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [n for n in sys.modules if n.partition(".")[0] == "inside"]:
        monkeypatch.delitem(sys.modules, name)

    def module(body: str, loaded: bool = True) -> Any:
        text = f"def f(x):\n{textwrap.indent(body, '    ')}\n"
        (folder / "program.py").write_text(text)
        importlib.invalidate_caches()
        if loaded:
            importlib.import_module("inside.helping")
        return importlib.import_module("inside.program")

    yield module
    for name in [n for n in sys.modules if n.partition(".")[0] == "inside"]:
        del sys.modules[name]


def check(fused: Fused, python: Callable[..., Any], told: str) -> None:
    assert_same(outcome(fused, (X.copy(),)), outcome(python, (X.copy(),)), told)


def compiled(f: Callable[..., Any]) -> Fused:
    """`f`, compiled for `X`, with Python's answer."""
    fused = fuse(f)
    check(fused, f, "compiled")
    check(fused, f, "again")
    assert fused.stats.compiled == 2, str(fused.report(X))
    return fused


@pytest.mark.parametrize("body", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_each_spelling_is_compiled(body: str, make: Callable[[str], Any]) -> None:
    compiled(make(body).f)


IN_REGIONS = {
    "module": "import numpy\nprint()\nreturn numpy.sqrt(x) + numpy.abs(x) + 1",
    "as": "import numpy as np\nprint()\nreturn np.sqrt(x) + np.abs(x) + 1",
    "function": "from numpy import sqrt\nprint()\ny = sqrt(x) + sqrt(x + 1)\nprint()\nreturn y",
    "function as": "from math import sqrt as r\nprint()\ns = 0.0\nfor v in x: s += r(v)\nreturn s",
    "two regions": "import math\ns = 0.0\nfor v in x: s += math.sqrt(v)\nprint(s)\n"
        "for v in x: s += math.pi * v\nreturn s",
    "two modules": "import math, numpy as np\nprint()\ns = 0.0\n"
        "for v in np.sqrt(x) * 2: s += v * math.pi\nreturn s",
    "in branches": "print()\nif len(x):\n    import math\nelse:\n    import cmath as math\n"
        "s = 0.0\nfor v in x: s += math.sqrt(v)\nreturn s",
    "in a loop": "s = 0.0\nfor k in range(2):\n    import math\n"
        "    for v in x: s += math.sqrt(v)\nreturn s",
    "own function": "from .helping import twice\nprint()\ns = 0.0\n"
        "for v in x: s += twice(v)\nreturn s",
    "own module": "from . import helping\nprint()\ns = 0.0\nfor v in x: s += helping.twice(v)\n"
        "return s + helping.SCALE",
    "hoisted": "import numpy as np\ns = 0.0\nfor i in np.argsort(x): s += x[i] * i\nreturn s",
    "under errstate": "import numpy as np\nwith np.errstate(all='ignore'):\n    s = 0.0\n"
        "    for v in x: s += np.log(v - 3)\nreturn s",
}
"""Functions in which something stays Python."""


@pytest.mark.parametrize("body", IN_REGIONS.values(), ids=IN_REGIONS.keys())
def test_regions_that_use_an_import_are_compiled(body: str, make: Callable[[str], Any]) -> None:
    f = make(body).f
    fused = fuse(on_reject="silent")(f)
    check(fused, f, "first")
    check(fused, f, "second")
    assert fused.report(X).regions, str(fused.report(X))
    assert fused.stats.compiled >= 2, fused.stats


def test_a_region_notices_what_an_import_finds(
    make: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    changes = [*CHANGES.values()]
    for spelling in ("own function", "own module"):
        f = make(IN_REGIONS[spelling]).f
        fused = fuse(on_reject="silent")(f)
        check(fused, f, "before")
        for change in changes:
            with monkeypatch.context() as patch:
                change(patch)
                check(fused, f, "changed")
        check(fused, f, "as it was")


NOT_COMPILED = {
    "in a branch": "if len(x):\n    import math\nreturn x * math.pi",
    "in a loop": "for v in x:\n    import math\nreturn x * math.pi",
    "in another branch":
        "s = 0.0\nfor v in x:\n    if v > 1: import math\n    else: s += math.pi\nreturn s",
    "before it in a loop":
        "s = 0.0\nfor k in range(2):\n    if k: s += math.pi\n    import math\nreturn s",
    "behind it in a local function":
        "def g(v):\n    if v > 1:\n        import math\n    return math.pi\n"
        "return sum(g(v) for v in x)",
    "bound again": "import math\nmath = 2.0\nreturn x * math",
    "a parameter": "import numpy as x\nreturn x.sqrt(2.0)",
    "deleted": "import math\ny = x * math.pi\ndel math\nreturn y * math.pi",
    "read before": "y = x * math.pi\nimport math\nreturn y",
    "a loop's variable": "import math\nfor math in x: pass\nreturn math",
    "twice": "import math\nimport numpy as math\nreturn math.sqrt(x)",
    "global": "global math\nimport math\nreturn x * math.pi",
    "no such module": "y = x[7]\nimport no_such_module\nreturn y",
    "no such module first": "import no_such_module\ny = x[7]\nreturn y",
    "no such name": "from math import no_such_name\nreturn x",
    "no such submodule": "import math.no_such\nreturn x",
    "no such attribute": "import math\nreturn x * math.no_such",
    "beyond the top": "from ... import helping\nreturn x",
    "try": "try:\n    import no_such_module as m\nexcept ImportError:\n    m = None\nreturn x",
}


@pytest.mark.parametrize("body", NOT_COMPILED.values(), ids=NOT_COMPILED.keys())
def test_other_imports_are_pythons(
    body: str, make: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    f = make(body).f
    fused = fuse(on_reject="silent")(f)
    for k in range(3):
        check(fused, f, f"call {k}")


def _replaced(name: str, **values: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(values)
    return module


def _counting(*args: Any, **keywords: Any) -> Any:
    CALLS.append(args[0])
    return ORIGINAL(*args, **keywords)


CALLS: list[str] = []
ORIGINAL = builtins.__import__

CHANGES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "the module": lambda patch: patch.setitem(
        sys.modules, "inside.helping", _replaced("inside.helping", twice=lambda v: v * 5, SCALE=7)
    ),
    "no module": lambda patch: patch.delitem(sys.modules, "inside.helping"),
    "None": lambda patch: patch.setitem(sys.modules, "inside.helping", None),
    "the package": lambda patch: patch.setitem(sys.modules, "inside", _replaced("inside")),
    "the function": lambda patch: patch.setattr("inside.helping.twice", lambda v: v + 3),
    "no function": lambda patch: patch.delattr("inside.helping.twice"),
    "what it reads": lambda patch: patch.setattr("inside.helping.SCALE", 9),
    "__import__": lambda patch: patch.setattr(builtins, "__import__", _counting),
    "__package__": lambda patch: patch.setitem(
        vars(sys.modules["inside.program"]), "__package__", "elsewhere"
    ),
}


@pytest.mark.filterwarnings("ignore:__package__ != __spec__")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("spelling", [
    "own module", "own module as", "relative", "relative module", "own module in a local function",
    "own module in a branch",
])
def test_what_changes_between_calls_is_noticed(
    spelling: str, change: Callable[[pytest.MonkeyPatch], None], make: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    f = make(SPELLINGS[spelling]).f
    fused = fuse(on_reject="silent")(f)
    check(fused, f, "before")
    for _ in range(2):
        with monkeypatch.context() as patch:  # each starts from the same modules
            change(patch)
            got = outcome(fused, (X.copy(),))
        with monkeypatch.context() as patch:
            change(patch)
            want = outcome(f, (X.copy(),))
        assert_same(got, want, "changed")
    check(fused, f, "as it was")


def test_a_replaced_import_function_is_called(
    make: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    fused = fuse(on_reject="silent")(make(SPELLINGS["module"]).f)
    fused(X)
    CALLS.clear()
    monkeypatch.setattr(builtins, "__import__", _counting)
    fused(X)
    assert CALLS.count("numpy") == 1


def test_the_first_import_runs_where_python_runs_it(
    make: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    (tmp_path / "inside" / "effect.py").write_text("LOG = ['loaded']\n")
    module = make("x[0] = 7.0\ny = x[9]\nfrom . import effect\nreturn x * 2")
    x = X.copy()
    with pytest.raises(IndexError):
        fuse(on_reject="silent")(module.f)(x)
    assert x[0] == 7.0
    assert "inside.effect" not in sys.modules
    module = make("from . import effect\nreturn x * 2")
    importlib.reload(module)
    fused = fuse(on_reject="silent")(module.f)
    fused.report(X)
    assert "inside.effect" not in sys.modules, "nothing is imported at compile time"
    fused(X)
    assert "inside.effect" in sys.modules


def test_modules_are_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each module is a type of its own, known by what it is."""
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)

    def f(x: Any, m: Any) -> Any:
        s = m.pi
        for v in x:
            s += m.sqrt(v)
        return s

    fused = fuse(on_reject="silent")(f)
    own = _replaced("own", sqrt=lambda v: v + 1, pi=3)
    also_own = _replaced("own", sqrt=lambda v: v - 1, pi=3)
    for module in (np, math, own, also_own, np, math, _replaced("empty"), own):
        for _ in range(2):
            assert_same(
                outcome(lambda x, m=module: fused(x, m), (X,)),
                outcome(lambda x, m=module: f(x, m), (X,)), module.__name__, ulps=2,
            )
    assert fused.stats.compiled >= 14, fused.report()
    own.sqrt = lambda v: v * v
    assert fused(X, own) == f(X, own)


def test_a_later_process_finds_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "helping.py").write_text(HELPERS)
    (tmp_path / "program.py").write_text(PROGRAM)
    env = os.environ | {"TRANSPILE_CACHE": str(tmp_path / "cache")}
    env.pop("TRANSPILE_FALLBACK", None)

    def run(change: str = "") -> list[str]:
        return run_program(tmp_path / "program.py", change, env=env).stdout.split()

    assert run() == ["26.0", "26.0", "2", "True"]
    assert run() == ["26.0", "26.0", "2", "False"]
    assert run("helping.twice = lambda v: v - 1") == ["10.0", "10.0", "0", "True"]
    assert run("sys.modules['helping'] = None")[0] == "ModuleNotFoundError"


PROGRAM = """
import sys
import numpy as np
from transpile import fuse
import helping
exec(sys.argv[1])
@fuse(on_reject="silent")
def f(x):
    from helping import twice
    import math
    s = 0.0
    for v in x: s += math.floor(twice(v))
    return s
@fuse(on_reject="silent")
def g(x, module):
    s = 0.0
    for v in x: s += module.twice(v)
    return s
x = np.array([1.0, 4.0, 8.0])
try:
    print(float(f(x)), float(g(x, helping)))
except ImportError as e:
    print(type(e).__name__)
print(f.stats.compiled + g.stats.compiled, "transpile.pipeline" in sys.modules)
"""


@pytest.mark.parametrize("spelling", [
    "own module", "own module as", "relative", "relative module", "own module in a local function",
    "own module in a branch",
])
def test_a_module_that_the_first_call_loads(
    spelling: str, make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)
    f = make(SPELLINGS[spelling], loaded=False).f
    fused = fuse(on_reject="silent")(f)
    assert "inside.helping" not in sys.modules
    for k in range(100):
        check(fused, f, f"call {k}")
    assert fused.stats.compiled > 0
