"""What is done under a mask, of every dtype, on every target that runs here: built, and right; and
no operation raises a floating-point flag, so that Python replays the call, where it is not used.
"""
from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from agree import assert_same, outcome, same
from written import written

from loopir.ir_parser import parse
from loopir.ir_traversal import contains, walk
from loopir.nodes import Call, If, Kernel
from loopir.op_table import OPS, Op
from loopir.passes.vector.if_convert import MaskedRewriter, if_convert
from targets.isa.target_registry import runnable_targets
from transpile import fuse

FORMS = {
    "in place": "x[x >= a] -= a\nreturn x",
    "behind another": "y[0] = a\ny[:] += x[::-1]\ny[y >= a] -= a\nreturn y",
    "set": "x[x > a] = a\nreturn x",
    "chosen": "return np.where(x > y, x, y)",
    "two": "return np.where(x > a, x + y, x - y)",
    "in a loop": "for i in range(len(x)):\n    if x[i] > y[i]:\n        y[i] = x[i] + a\nreturn y",
    "filtered": "return x[x > a], y[x <= a]",
    "counted": "k = 0\nfor v in x:\n    if v > a:\n        k += 1\nreturn k",
    "clipped": "return np.clip(x, a, 3), np.minimum(x, y)",
    "appended": "l = []\nfor v in x:\n    if v != a:\n        l.append(v)\nreturn np.array(l)",
    "backwards": "return np.where(x[::-1] > a, x, y[::-1])",
    "every other": "return np.where(x[::2] > a, x[::2], y[::2])",
}
DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")


@pytest.mark.share(200)
@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", range(4))
def test_under_a_mask(part: int, form: str, target: str, tmp_path: Path) -> None:
    body = "\n    ".join(FORMS[form].split("\n"))
    f = written(tmp_path, f"import numpy as np\ndef f(x, y, a):\n    {body}\n").f
    g = fuse(f, on_reject="silent", target=target, reassociate=False)
    for dtype in DTYPES[part::4]:
        for n in (0, 1, 7, 16, 70):
            x = (np.arange(n) * 7 % 5).astype(dtype)
            y = (np.arange(n) * 3 % 7).astype(dtype)
            for a in (1, 2.0, True):
                assert_same(outcome(g, (x, y, a)), outcome(f, (x, y, a)), f"{dtype}, {n}, {a}")
    assert "BUILD_FAILED" not in g.stats.replays, g.report(x, y, a)
    assert g.stats.compiled >= (5 if part else 1), g.stats  # in part 0, "?", "u2" and "u8"


NOT_USED = {
    "statement": "for i in range(len(x)):\n    if m[i]:\n        r[i] = {call}\nreturn r",
    "expression": "for i in range(len(x)):\n    r[i] = {call} if m[i] else 0.5\nreturn r",
    "last operand of and":
        "for i in range(len(x)):\n    r[i] = 1 if m[i] and {call} < 9 else 0.5\nreturn r",
}
CASES = [
    (op, form)
    for op in OPS.values()
    for form in NOT_USED
    if "f" in op.kinds and op.raises and any("." in s for s in op.spellings)
    and (op.masked_in_expressions or form == "statement")
]


@pytest.mark.share(76)
@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.parametrize(("op", "form"), CASES, ids=[f"{op.name}-{form}" for op, form in CASES])
def test_compiled_code_serves_what_raises_only_where_it_is_not_used(
    op: Op, form: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    call = next(s for s in op.spellings if "." in s)
    call += "(" + ", ".join(("x[i]", "y[i]", "x[i]")[: op.arity]) + ")"
    body = "\n    ".join(NOT_USED[form].format(call=call).split("\n"))
    text = f"import math\nimport numpy\nimport transpile.ops\ndef f(x, y, m, r):\n    {body}\n"
    f = written(tmp_path, text).f
    g = fuse(f, target=target)
    under = "ignore" if {*op.raises} == {"under"} else "raise"  # lanes that are off may underflow
    harmful = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-310, 1e300, -1e300, -3.0)
    for dtype in (np.float64, np.float32):
        with np.errstate(all="ignore"):
            x = np.array([v for a in harmful for _ in harmful for v in (1.5, a)]).astype(dtype)
            y = np.array([v for _ in harmful for b in harmful for v in (1.5, b)]).astype(dtype)
        for used in (1.5, 0.5):
            x[::2] = y[::2] = used
            m = np.arange(len(x)) % 2 == 0
            with np.errstate(all="raise", under=under), warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    wanted = f(x, y, m, np.zeros_like(x))
                except (ArithmeticError, ValueError):
                    continue  # it is the operand that is used that raises
                assert same(g(x, y, m, np.zeros_like(x)), wanted, 8), (call, used)
    assert g.stats.compiled


def chain(count: int) -> Kernel:
    """A loop with a chain of so many ``elif``, each of which divides."""
    lines = ["def k(x: f64[::1], total: mut(f64[()])):", "    for i in loop(0, x.shape[0], s=0.0):",
             "        v = x[i]"]
    for n in range(count):
        deep = "    " * (n + 2)
        lines += [f"{deep}if v < {n}.0:", f"{deep}    t{n} = give(s + 1.5 / (v + {n}.0))",
                  f"{deep}else:"]
    for n in reversed(range(count)):
        inner = "s" if n == count - 1 else f"t{n + 1}"
        lines.append("    " * (n + 3) + f"t{n} = give({inner})")
    lines += ["        s = step(t0)", "    total[()] = s"]
    return parse("\n".join(lines) + "\n")


def test_masks_of_a_chain_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each division has its own mask alone, not also those of the branches around it."""
    visit, visits = MaskedRewriter.call_without_flags, list[Call]()

    def counted(self: MaskedRewriter, e: Call) -> object:
        visits.append(e)
        return visit(self, e)

    monkeypatch.setattr(MaskedRewriter, "call_without_flags", counted)
    numbers = {}
    for count in (5, 10, 20):
        visits.clear()
        flat = if_convert(chain(count))
        assert not contains(flat, If)
        assert sum(isinstance(n, Call) and n.op == "div" for n in walk(flat)) == count
        numbers[count] = len(visits)
    assert numbers[20] < 5 * numbers[10] < 25 * numbers[5]  # no more than with the square


def test_a_long_chain_keeps_its_branches() -> None:
    assert contains(if_convert(chain(25)), If)
