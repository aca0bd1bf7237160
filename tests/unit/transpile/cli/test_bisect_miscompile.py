"""Planted bugs are found and named: the stage, the pass invocation, the macro."""
from __future__ import annotations

import dataclasses
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_bugs import BUGS, PlantedBug

from loopir.passes import pass_list
from targets.isa.target_registry import runnable_targets
from transpile import knobs
from transpile.cli import bisect_miscompile, debug_commands
from transpile.cli.bisect_miscompile import NotCompiled, find_difference
from transpile.cli.call_outcomes import Outcome, compare, run_in_child
from transpile.cli.command_line import main
from transpile.cli.failing_call import FailingCall, load_calls
from transpile.options import Options, chosen_target


def total(x: Any, n: int) -> float:
    s = 0.0
    for i in range(n):
        s += x[i] * 2.0
    return s


CALL = FailingCall(total, Options(), (np.linspace(0.0, 1.0, 40), 40))


@pytest.mark.parametrize("bug", [pytest.param(b, id=name) for name, b in BUGS.items()])
def test_a_planted_bug_is_named(
    bug: PlantedBug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "program.py"
    path.write_text(bug.text)
    assert main(["bisect", str(path)]) == 0
    assert "the output of every stage agrees with Python" in capsys.readouterr().out
    bug.plant(monkeypatch)
    assert main(["bisect", str(path)]) == 1
    said = capsys.readouterr().out
    assert f"first wrong stage: {bug.stage} (" in said
    if bug.macro:
        assert f"first wrong macro: {bug.macro} (firing 3 of 3, line 12)" in said
        assert "-        a, b = b, a + b\n+        a = b\n+        b = a + b\n" in said
    elif bug.stage == "simplify@3":
        assert "-        d = x[i + 2] - x[i]\n+        d = x[i] - x[i + 2]\n" in said
    else:
        assert "before:\n" in said
        assert "int64_t tp_body(" in said


def _with_pass(name: str, run: Any) -> tuple[pass_list.Pass, ...]:
    run.__name__ = name
    return tuple(
        dataclasses.replace(step, run=run) if step.name == name else step
        for step in pass_list.PASS_LIST
    )


def test_the_target_is_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--target`` wins over the variable, and ``@fuse(target=…)`` over both."""
    monkeypatch.setenv("TRANSPILE_TARGET", "scalar")
    used: list[str] = []
    monkeypatch.setattr(debug_commands, "find_difference", lambda call, seconds: used.append(
        chosen_target(call.options, knobs.read()).name
    ))
    path = tmp_path / "program.py"
    for target, wanted in (("", "sse2"), ("target='avx2'", "avx2")):
        path.write_text(
            f"from transpile import fuse\n@fuse({target})\ndef f(x):\n    return x\nf(1)\n"
        )
        for command in ("bisect", "reduce"):
            assert main([command, str(path), "--target", "sse2"]) == 0
            assert used.pop() == wanted
    assert main(["bisect", str(path), "--target", "vax"]) == 2
    assert "--target vax: no such target" in capsys.readouterr().err


def test_a_stage_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise AssertionError("no such node")

    monkeypatch.setattr(pass_list, "PASS_LIST", _with_pass("vectorize", broken))
    found = find_difference(CALL)
    assert found is not None
    assert found.stage == "vectorize@1"
    assert found.key == ("vectorize", "", "raises AssertionError")


def test_ill_formed_ir_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets(kernel: Any) -> Any:
        return dataclasses.replace(kernel, body=kernel.body[-1:])

    monkeypatch.setattr(pass_list, "PASS_LIST", _with_pass("hoist", forgets))
    found = find_difference(CALL)
    assert found is not None
    assert found.key == ("hoist", "", "raises VerifyError")


def test_a_crash_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def emit_body(*args: Any, **kwargs: Any) -> str:
        start = "int64_t status = 0;"
        return right(*args, **kwargs).replace(start, f"{start} __builtin_trap();")

    from targets import kernel_selection

    right = kernel_selection.emit_body
    monkeypatch.setattr(kernel_selection, "emit_body", emit_body)
    call = dataclasses.replace(CALL, options=Options(target=runnable_targets()[0].name))
    found = find_difference(call)
    assert found is not None
    assert (found.stage, found.difference.kind) == ("emit", "crashes")


def test_skipping_a_wrong_pass_helps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(BUGS["pass"].text)
    BUGS["pass"].plant(monkeypatch)
    (call,) = load_calls(str(path))
    assert find_difference(call) is not None
    monkeypatch.setenv("TRANSPILE_SKIP", "simplify@3")
    monkeypatch.setattr(bisect_miscompile._Search, "_test_native", lambda *_: None)
    assert find_difference(call) is None


def test_what_is_refused_is_not_bisected() -> None:
    def refused(x: Any) -> str:
        return "".join(str(v) for v in x)

    with pytest.raises(NotCompiled):
        find_difference(FailingCall(refused, Options(), (np.ones(3),)))


def test_where_arguments_come_from(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "import numpy as np\nfrom transpile import fuse\n"
        "def g(x):\n    return x.sum()\n"
        "@fuse\ndef f(x, n=3):\n    return x * n\n"
        'if __name__ == "__main__":\n    f(np.arange(4.0))\n    f(np.arange(5.0))\n'
    )
    (call,) = load_calls(str(path))
    assert (call.function.__name__, call.args[0].tolist(), call.args[1]) == ("f", [0, 1, 2, 3], 3)
    assert load_calls(f"{path}::g", args="np.ones(2)")[0].args[0].tolist() == [1, 1]
    (x, n) = load_calls(str(path), types="f(f32[:], int)")[0].args
    assert (x.dtype, x.shape, n) == (np.float32, (33,), 5)
    (made,) = load_calls(str(path), types="f(list[float], list[tuple[int, ...]])")
    (xs, rows) = made.args
    assert (type(xs[0]), len(xs)) == (float, 33)
    assert (type(rows), type(rows[0]), type(rows[0][0]), len(rows)) == (list, tuple, int, 9)
    (made,) = load_calls(str(path), types="f(({x: f64, n: i32}[:], 'sum'))")
    ((records, mode), n) = made.args  # n is its default
    assert (records.dtype.names, records.shape, mode, n) == (("x", "n"), (33,), "sum", 3)
    assert load_calls(f"{path}::f", args="np.ones(2)")[0].args[1] == 3
    for wrong in ({"args": "np.ones(2), 1, 2"}, {"args": "1 +"}, {"types": "f(str)"}):
        with pytest.raises(ValueError, match=r"takes 2 arguments|--args|type"):
            load_calls(f"{path}::f", **wrong)
    with pytest.raises(ValueError, match="no function h"):
        load_calls(f"{path}::h", args="1")


def test_parameters_that_are_left_out_have_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "defaults.py"
    path.write_text(
        "from transpile import fuse\n"
        "@fuse\ndef f(x, n=3, w=(0.25, 0.5), mode='sum', table=None, *rest, scale: float = 2.5):\n"
        "    return x.sum() * n * w[0] * scale\n"
    )
    expected = (3, (0.25, 0.5), "sum", None)
    (given,) = load_calls(str(path), types="f(f64[:])")
    assert (given.args[1:5], sorted(map(str, given.args[5:]))) == (expected, ["()", "2.5"])
    (inferred,) = load_calls(str(path))
    assert inferred.args[1:4] == expected[:3]
    assert inferred.args[4:] in ((None, 2.5, ()), (None, (), 2.5))


def test_all_functions_of_a_file_are_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One call of each, also of those inside others."""
    path = tmp_path / "program.py"
    path.write_text(
        "import numpy as np\nfrom transpile import fuse\n"
        "@fuse\ndef first(x):\n    return x + 1\n"
        "def make(k):\n    @fuse\n    def inner(x):\n        return x * k\n    return inner\n"
        "@fuse\ndef text(x):\n    return str(x)\n"
        "for k in range(3):\n    make(k + 2.0)(first(np.ones(3)))\n    text(k)\n"
    )
    assert main(["bisect", str(path)]) == 0
    said = capsys.readouterr().out
    assert [line.partition(" ")[0] for line in said.splitlines()] == [
        "first:", "make.<locals>.inner:", "text",
    ]
    assert [call.args[0].tolist() for call in load_calls(str(path))[:2]] == [[1.0] * 3, [2.0] * 3]


def test_a_static_method_is_found(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "class C:\n    @staticmethod\n    def total(x: list[float]) -> float:\n"
        "        t = 0.0\n        for v in x: t += v\n        return t\n"
    )
    (call,) = load_calls(f"{path}::C.total")
    assert (call.function.__qualname__, len(call.args[0])) == ("C.total", 33)
    assert find_difference(call) is None


def test_outcomes_are_compared() -> None:
    def differ(a: Any, b: Any, exact: bool = False) -> str | None:
        found = compare(Outcome(a), Outcome(b), exact=exact)
        return None if found is None else found.text

    assert differ(1.0, 1.0 + 1e-15) is None
    assert differ(1.0, 1.0 + 1e-15, exact=True) is not None
    assert differ(0.0, -0.0, exact=True) is not None
    assert differ([1, (2.0, {3: 1j})], [1, (2.0, {3: 1j})], exact=True) is None
    assert differ(np.float32(1), np.float64(1)) is not None
    assert differ(np.array([1, 2]), np.array([1, 3])) == (
        "gives np.int64(2) at [1], where Python gives np.int64(3)"
    )
    raised = Outcome(error=IndexError("far"))
    found = compare(raised, Outcome(1), exact=True)
    assert found == ("raises IndexError", "raises IndexError: far, where Python returns")
    assert compare(raised, Outcome(error=IndexError("far")), exact=True) is None


class Model:
    def __init__(self, rate: Any) -> None:
        self.rate = rate


class Slots:
    __slots__ = ("rate",)

    def __init__(self, rate: float) -> None:
        self.rate = rate


def test_objects_are_compared_by_their_attributes() -> None:
    class Local(Model):
        pass

    def same(a: Any, b: Any) -> bool:
        return compare(Outcome(a), Outcome(b), exact=True) is None

    for kind in (Model, Slots, Local):
        assert same(kind(1.0), kind(1.0))
        assert not same(kind(1.0), kind(2.0))
    assert same([Model(np.ones(3))], [Model(np.ones(3))])
    assert not same(Model(Model(-0.0)), Model(Model(0.0)))
    for made in (np.random.default_rng(1), np.random.RandomState(1), random.Random(1)):
        copied = deepcopy(made)
        assert same(made, copied)
        copied.random()
        assert not same(made, copied)
    cycle, other = Model(1), Model(1)
    cycle.rate, other.rate = cycle, other
    assert same(cycle, other)
    found = compare(Outcome(Model(1.0)), Outcome(Model(2.0)), exact=True)
    assert found is not None
    assert found.text == "gives Model(rate=1.0), where Python gives Model(rate=2.0)"


def test_methods_are_bisected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "import numpy as np\nfrom transpile import fuse\nclass Model:\n    rate = 2.0\n    @fuse\n"
        "    def step(self, x):\n        for i in range(len(x)):\n            x[i] *= self.rate\n"
        "@fuse\ndef f(r):\n    s = 0.0\n    for i in range(len(r)):\n        s += r[i]['a']\n"
        "    return s\nModel().step(np.ones(40))\n"
    )
    assert main(["bisect", str(path)]) == 0
    assert capsys.readouterr().out == "Model.step: the output of every stage agrees with Python\n"
    for words, said in (
        ([f"{path}::f"], "the type of r is not known: call it in the script, or --types 'f({a: "),
        ([f"{path}::f", "--types", "g(f64[:])"], "--types is of g, and not of f"),
        ([f"{path}::f", "--types", "f(int)", "--args", "1"], "not both"),
        ([str(path), "--seconds", "0"], "--seconds 0: must be more than 0"),
        ([str(path), "--seconds", "nan"], "--seconds nan: must be more than 0"),
    ):
        assert main(["bisect", *words]) == 2
        assert said in capsys.readouterr().err


def test_a_child_process_may_fail() -> None:
    assert run_in_child(lambda: [1, 2], 60) == [1, 2]
    with pytest.raises(KeyError, match="k"):
        run_in_child(lambda: {}["k"], 60)
    with pytest.raises(TimeoutError):
        run_in_child(lambda: __import__("time").sleep(60), 0.2)
    with pytest.raises(RuntimeError, match="SIGABRT"):
        run_in_child(lambda: __import__("os").abort(), 60)


def test_no_stage_runs_after_the_last_that_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial of reduce then compiles no C where the bug is in a macro."""
    names: list[str] = []
    run = bisect_miscompile._Search.run

    def noted(self: Any, named: Any) -> Any:
        names.append(named.name)
        return run(self, named)

    monkeypatch.setattr(bisect_miscompile._Search, "run", noted)
    assert find_difference(CALL, watch={"inline", "expand"}) is None
    assert names[-1] == "expand"
