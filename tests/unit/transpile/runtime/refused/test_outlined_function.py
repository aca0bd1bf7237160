"""Functions with statements that stay Python: their loops are compiled all the same."""
from __future__ import annotations

import ast
import copy
import gc
import inspect
import random
import sys
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from types import CellType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from run.programs import PROGRAMS, Program
from written import written

from transpile import FuseError, FuseWarning, fuse
from transpile.frontend.source import read_source
from transpile.runtime.installed_call import InstalledCall
from transpile.runtime.refused import outlined_function
from transpile.runtime.refused.region_records import OutlinedFunction

X = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0])


def told(x: Any, out: Any) -> Any:
    print("so many:", len(x))
    total = 0.0
    for i in range(len(x)):
        total += x[i] * 2.0
    print("total", total)
    for i in range(len(x)):
        out[i] = x[i] - total
    return total


def sorted_gap(x: Any, out: Any) -> Any:
    y = np.sort(x)
    best = 0.0
    for i in range(1, len(y)):
        best = max(best, y[i] - y[i - 1])
    return best


def rounds(x: Any, out: Any) -> Any:
    """A loop that prints stays; the one in it does not."""
    seen = []
    for k in range(3):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * k
        print(k, s)
        seen.append(f"{s:.1f}")
        if s > 30:
            break
    else:
        print("never")
    return seen


def caught(x: Any, out: Any) -> Any:
    try:
        s = 0.0
        for v in x:
            s += v
        y = x[len(x) + int(s)]
    except IndexError as error:
        s = -1.0
        for v in x:
            s += v * v
        return s, str(error)
    return y


def half_done(x: Any, out: Any) -> Any:
    """What the handler sees is what had been done."""
    s = 0.0
    try:
        for i in range(len(x)):
            s = s + x[i]
            out[i] = x[i + 3]
    except IndexError:
        print("after", s)
    return s


def calm(x: Any, out: Any) -> Any:
    with np.errstate(divide="ignore"):
        s = 0.0
        for v in x:
            s += 1.0 / (v - 3.0)
    return s


def early(x: Any, out: Any) -> Any:
    kinds = dict.fromkeys(("big", "small"), 0)
    for v in x:
        if v > 100.0:
            return "huge"
    for i in range(len(x)):
        out[i] = x[i] * 0.5
    if out[0] > 1.0:
        kinds["big"] += 1
        t = 0.0
        for v in out:
            t += v
        return kinds, t
    return kinds, None


def by_keys(x: Any, out: Any) -> Any:
    results = {}
    for name, power in (("one", 1.0), ("two", 2.0)):
        s = 0.0
        for v in x:
            s += v * power
        results[name] = s
    return results


def shared(x: Any, out: Any) -> Any:
    """A name that an inner function sees is Python's to bind."""
    scale = 1.0
    say = lambda: print("scale", scale)  # noqa: E731
    for v in x:
        scale = max(scale, v)
    say()
    s = 0.0
    for v in x:
        s += v / scale
    say()
    return s


def generated(x: Any, out: Any) -> Any:
    s = 0.0
    for v in x:
        s += v
    yield s
    for i in range(len(x)):
        out[i] = x[i] + s
    yield out


def unbound(x: Any, out: Any) -> Any:
    print("go")
    for v in x:
        last = v * 2.0
    print("gone")
    return last


def deleted(x: Any, out: Any) -> Any:
    s = 0.0
    for v in x:
        s += v
    del s
    for v in x:
        out[0] = v
    return s  # noqa: F821


def in_falling_order(x: Any, out: Any) -> Any:
    """What a loop runs over is NumPy's; the loop is not."""
    s = 0.0
    for k, i in enumerate(np.argsort(x, kind="stable")[::-1]):
        s += x[i] * k
    for v, w in zip(np.unique(x), x, strict=False):
        s += v * w
    return s


def apart_from_sorts(x: Any, out: Any) -> Any:
    """Nor is what is computed of it."""
    if np.linalg.norm(np.linalg.inv(np.eye(3))) > 1:
        x = np.sort(x) * 2 + np.exp(x) * x
    out[:] = x
    return [out[i] + 1 for i in np.argsort(-x)]


def in_turn(x: Any, out: Any) -> Any:
    """What runs before such a call still does."""
    def saying(v: Any) -> Any:
        print(v)
        return v

    s = 0.0
    for v in zip(saying(x), np.sort(x, axis=x.ndim - saying(x.ndim)), strict=True):
        s += v[0] * v[1]
    s += len(x) * 2 / x[0] * np.sort(saying(x))[1] + np.sum(x * 2 + 1)
    return s and np.sort(x[3:])[2]


FUNCTIONS = {
    in_falling_order: 2, apart_from_sorts: 2, in_turn: 0, told: 2, sorted_gap: 1, rounds: 1,
    caught: 1, half_done: 0, calm: 1, early: 2, by_keys: 1, shared: 1,
    generated: 2, unbound: 1, deleted: 1,
}
"""How many regions run in a call."""


def drained(fn: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        got = fn(*args)
        return [*got] if inspect.isgenerator(got) else got

    return call


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_loops_are_compiled(
    function: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    fused = fuse(function, on_reject="silent")
    for x in (X, X[:0], X[:1], X * 50):
        args = x.copy(), np.zeros(len(x))
        wanted, said = outcome(drained(function), args), capsys.readouterr()
        got = outcome(drained(fused), args)
        assert_same(got, wanted, function.__name__, ulps=8)
        assert capsys.readouterr() == said
        if x is X:
            assert fused.stats.compiled >= FUNCTIONS[function], fused.stats


@pytest.mark.parametrize("function", [told, sorted_gap, calm], ids=lambda f: f.__name__)
def test_no_loop_is_left_to_python(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FuseWarning)
        fused(X.copy(), np.zeros(len(X)))
    report = fused.report(X, np.zeros(len(X)))
    assert report.accepted
    assert report.regions == FUNCTIONS[function]
    assert len(report.loops) == report.vectorized == FUNCTIONS[function]
    assert not fused.stats.replays


def test_a_loop_that_stays_is_an_error_where_that_was_asked() -> None:
    with pytest.raises(FuseError, match="LOWER_CALL"):
        fuse(rounds, on_reject="raise")(X, X.copy())


def test_a_loop_that_stays_is_warned_of() -> None:
    fused = fuse(rounds)
    whole = r"rounds\(f64\[:\], f64\[:\]\) is compiled in part at most"
    with pytest.warns(FuseWarning, match=whole):
        fused(X, X.copy())
    report = fused.report(X, X)
    assert not report.accepted
    assert report.regions == 1
    assert "compiled in part" in str(report)


def test_a_report_needs_no_run() -> None:
    """What NumPy gives is known before it is called."""
    report = fuse(sorted_gap).report(X, X)
    assert report.accepted
    assert [loop.lanes is not None for loop in report.loops] == [True]
    assert report.stats is None


def test_types_that_only_a_run_tells() -> None:
    def opened(path: Any, out: Any) -> Any:
        x = np.load(path)
        s = 0.0
        for v in x:
            s += v
        return s

    report = fuse(opened).report("somewhere.npy", X)
    assert not report.accepted
    notes = [loop.notes for loop in report.loops]
    assert notes == [("has not run yet: it is compiled when it does",)]
    assert "scalar" not in str(report)


def test_the_python_is_shown() -> None:
    text = fuse(told).emit("python", X, X)
    module = ast.parse(text)
    assert [f.name.startswith("_tp_region") for f in module.body] == [True, True, False]
    names: dict[str, Any] = {}
    exec(compile(module, "told", "exec"), names)
    mine, theirs = X.copy(), X.copy()
    assert names["told"](X, mine) == told(X, theirs)
    assert (mine == theirs).all()
    assert "def told(" in fuse(told).emit("loopir", X, X)


# -- the programs of every stage, with statements in between that stay Python


class _Sprinkled(ast.NodeTransformer):
    """Statements that stay Python, anywhere: between, around, in loops."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._count = rng, 0

    def _odd(self, block: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in block:
            if self._rng.random() < 0.15:
                self._count += 1
                out += ast.parse(f"print({self._count})").body
            out.append(self._around(s))
        return out

    def _around(self, s: ast.stmt) -> ast.stmt:
        texts = (
            "try:\n    pass\nfinally:\n    print('at last')",
            "try:\n    pass\nexcept ZeroDivisionError as e:\n    print(e)\n    raise",
            "with np.errstate(all='ignore'):\n    pass",
            "if {'a': 1}['a']:\n    pass",
        )
        if self._rng.random() > 0.1:
            return s
        (around,) = ast.parse(self._rng.choice(texts)).body
        around.body = [s]  # type: ignore[attr-defined]
        return around

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.FunctionDef):
            node.body = self._odd(node.body)
        if isinstance(node, (ast.For, ast.If)) and self._rng.random() < 0.3:
            node.body = self._odd(node.body)
        return node


def sprinkled(program: Program, seed: int, folder: Path) -> FunctionType | None:
    """The program with such statements; None where it cannot stand by itself."""
    function = program.function
    assert isinstance(function, FunctionType)
    if function.__closure__:
        return None
    tree = copy.deepcopy(read_source(function).tree)
    tree.name = f"{tree.name}_{seed}"
    new = _Sprinkled(random.Random(f"{program.label} {seed}")).visit(tree)
    path = folder / f"{tree.name}.py"
    path.write_text(ast.unparse(ast.fix_missing_locations(new)))
    names = dict(function.__globals__) | {"np": np}
    exec(compile(path.read_text(), str(path), "exec"), names)
    made: FunctionType = names[tree.name]
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


def has_python_bits(fused: Any) -> bool:
    """Whether Python may serve its calls in place of regions: they claim to have the same bits."""
    outlined = [s.outlined for s in fused._specializations.values() if s.outlined]
    return bool(outlined) and all(o.has_python_bits for o in outlined)


def judge(program: Program, seed: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> int:
    function = sprinkled(program, seed, folder)
    if function is None:
        return 0
    fused = fuse(function, on_reject="silent", reassociate=False)
    for n in program.sizes[:9:4]:
        args = program.make(n, np.random.default_rng(n))
        wanted, said = outcome(function, args), capsys.readouterr()
        got = outcome(fused, args)
        ulps = 0 if has_python_bits(fused) else program.ulps
        assert_same(got, wanted, f"{program.label} {seed} at {n}", ulps=ulps)
        assert capsys.readouterr() == said
    report = fused.report(*program.make(3, np.random.default_rng(3)))
    assert "BUILD_FAILED" not in {r.code for r in report.rejections}, report
    return fused.stats.compiled


@pytest.mark.share(3)
@pytest.mark.parametrize("part", range(3))
def test_programs_with_python_in_between(
    part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], start: int
) -> None:
    chosen = random.Random(start).sample([p for p in PROGRAMS if not p.long], 6)[part::3]
    compiled = [judge(program, start, tmp_path, capsys) > 0 for program in chosen]
    assert any(compiled)


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.label)
def test_each_program_with_python_in_between(
    program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str], start: int
) -> None:
    for seed in range(start, start + 4):
        judge(program, seed, tmp_path, capsys)


@pytest.fixture
def _any_in_place(monkeypatch: pytest.MonkeyPatch, start: int) -> None:
    """Each region has its statements in place, too, and chance decides which of them run."""
    make, rng = outlined_function._with_regions, random.Random(start)

    def with_all_in_place(
        outlined: Any, regions: Any, function: FunctionType, wanted: Any
    ) -> OutlinedFunction:
        dropped, inlined = (wanted.dropped, wanted.inlined) if wanted else (frozenset(), {})
        in_place = frozenset(region.helper for region in regions)
        everything = SimpleNamespace(dropped=dropped, in_place=in_place, inlined=inlined)
        for region in regions:
            region.fused.original_test = CellType(lambda *args: rng.random() < 0.5)
        return make(outlined, regions, function, everything)  # type: ignore[arg-type]

    monkeypatch.setattr(outlined_function, "_with_regions", with_all_in_place)
    monkeypatch.setattr(InstalledCall, "_set_test", lambda self, cache: None)


@pytest.mark.usefixtures("_any_in_place")
@pytest.mark.share(3)
@pytest.mark.parametrize("part", range(3))
def test_statements_in_place_of_regions(
    part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], start: int
) -> None:
    for program in random.Random(-start).sample([p for p in PROGRAMS if not p.long], 6)[part::3]:
        judge(program, start, tmp_path, capsys)


LAZY = {
    "named": "g = (v * k for v in x)\nk = 2\nLOOP\nreturn list(g)",
    "handed on": "g = itertools.chain((k * v for v in x), [9])\nk = 2\nLOOP\nreturn list(g)",
    "filtered": "g = (v for v in x if v > k)\nk = 2\nLOOP\nreturn list(g)",
    "over an array": "g = (y[i] for i in range(3))\ny = np.zeros(4)\nLOOP\nreturn list(g)",
    "nested": "g = (w for v in (1, 2) for w in (v, k))\nk = 2\nLOOP\nreturn list(g)",
    "drained": "g = sum(v * k for v in x)\nk = 2\nLOOP\nreturn g, k",
    "shadowed": "sum = iter\ng = sum(v * k for v in x)\nk = 2\nLOOP\nreturn list(g)",
}


@pytest.mark.parametrize("form", LAZY)
def test_generators_see_what_regions_bind(form: str, tmp_path: Path) -> None:
    text = LAZY[form].replace("LOOP", "print(end='')\nfor i in range(len(x)):\n    y[i] = x[i] + 1")
    body = "\n    ".join(["k = 1", *text.split("\n")])
    f = written(tmp_path, f"import itertools\nimport numpy as np\ndef f(x, y):\n    {body}\n").f
    g = fuse(f, on_reject="silent")
    for _ in range(2):
        args = X[:4].copy(), np.arange(4.0)
        assert_same(outcome(g, args), outcome(f, args), form)
    assert g.stats.compiled, g.stats


def test_regions_read_a_declared_global_when_python_does(tmp_path: Path) -> None:
    """What a region calls may bind the name, too: its value before the region is no parameter."""
    f = written(tmp_path, (
        "G = 1.0\n"
        "def bump():\n    global G\n    G += 1\n"
        "def f(x):\n    global G\n    G = x[0]\n    s = t = 0.0\n"
        "    for v in x:\n        bump()\n        s += v * G\n"
        "    print(end='')\n"
        "    for v in x:\n        t += v * G\n    return s, t\n")).f
    g = fuse(f, on_reject="silent")
    for k in range(2):
        assert_same(outcome(g, (X + k,)), outcome(f, (X + k,)), "two loops")
    assert g.stats.compiled, g.stats


def test_errors_have_no_context_of_ours(tmp_path: Path) -> None:
    f = written(tmp_path, (
        "def f(x, mode, p):\n    for i in range(len(x)):\n        x[i] += 1\n"
        "    if mode != 'a':\n        raise ValueError(mode)\n    return p['k']\n")).f
    g = fuse(f, on_reject="silent")
    p = {"k": 1.0}
    assert g(X.copy(), "a", p) == f(X.copy(), "a", p)
    for args in ((X.copy(), "b", p), (X.copy(), "a", {}), ([1, "a"], "a", p)):
        with pytest.raises((ValueError, KeyError, TypeError)) as raised:
            g(*args)
        assert raised.value.__context__ is None, args
    assert g.stats.compiled


@pytest.mark.share(10)
@pytest.mark.parametrize("line", ["print(end='')", "d = {x[0]: 1}", "s = x.tolist()"])
def test_refused_calls_keep_nothing_alive(line: str, tmp_path: Path) -> None:
    text = f"def f(x):\n    {line}\n    s = 0.0\n    for v in x:\n        s += v\n    return s\n"
    g = fuse(written(tmp_path, text).f, on_reject="silent")
    for _ in range(2):
        x = X.copy()
        kept = weakref.ref(x)
        g(x)
        del x
        gc.collect()
        assert kept() is None


def test_a_try_that_leaves_a_loop_is_no_region(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for v in x:
            print(end="")
            try:
                for k in range(3):
                    s += v * k
                if s > 3.0:
                    continue
            finally:
                s += 1.0
        return s

    assert fuse(f, on_reject="silent")(X) == f(X)
    assert not caplog.records


TRIES_A_GROUP = """
def tries_a_group(x, show):
    y = 1.0
    s = 0.0
    for v in x:
        s += v * y
    try:
        y = show(x)
    except* ValueError:
        pass
    for v in x:
        s += v * y
    return s
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is newer")
def test_a_function_with_except_star_is_not_outlined(tmp_path: Path) -> None:
    def show(x):
        raise ValueError

    function = written(tmp_path, TRIES_A_GROUP).tries_a_group
    assert fuse(function, on_reject="silent")(X, show) == function(X, show)


def test_raise_is_about_loops() -> None:
    """A statement that stays Python beside compiled loops is no reason to raise; a loop is."""
    def with_statement(x):
        s = 0.0
        for v in x:
            s += v
        return s, str(s)

    def with_loop(x):
        s = 0.0
        for v in x:
            s += v
        t = ""
        for v in x:
            t += str(v)
        return s, t

    x = np.ones(9)
    assert fuse(with_statement, on_reject="raise")(x) == with_statement(x)
    with pytest.raises(FuseError, match="of type str"):
        fuse(with_loop, on_reject="raise")(x)
