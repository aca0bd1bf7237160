"""The floating-point flags of every operation, on every target: NumPy's, from partly filled
registers too.
"""
from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native import RUNNABLE, run_native
from op_cases import edges
from written import written

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.op_table import OPS, evaluate
from loopir.passes.canonical.promote_f16 import promote_f16
from loopir.passes.pass_list import optimise
from loopir.status_bits import STATUS
from targets.isa.target_registry import runnable_targets
from transpile import fuse

EXACT = [
    op.name
    for op in OPS.values()
    if "f" in op.kinds and not op.ulps and op.name not in (
        "cast", "select", "blend", "fma", "clamp", "remainder"  # the last: of `math`, without flags
    )
]
FLAGS = {
    "divide by zero": "divide",
    "overflow": "over",
    "underflow": "under",
    "invalid value": "invalid",
}
NATIVE = [t.name for t in runnable_targets()][::-1]
CASES = [(d, t) for d in ("f32", "f64") for t in NATIVE]
CASES += [("f16", t) for t in sorted({NATIVE[0], NATIVE[-1]})]  # without an instruction, and with


def kernel(op: str, dtype: str, vector: bool = True) -> ir.Kernel:
    """``r[i] = op(a[i], b[i])``"""
    row = OPS[op]
    lanes: ir.Lanes = "W" if vector else 1
    at = (ir.Var("i", "i64"),)
    result = "bool" if row.result == "m" else dtype
    args = tuple(ir.Load(x, at, dtype, lanes) for x in "ab"[: row.arity])
    body = (ir.Store("r", at, ir.Call(op, args, result, lanes)),)
    rng = ir.Interval(ir.Const(0, "i64"), ir.Dim("a", 0))
    loop = ir.VecLoop("i", rng, "W", body) if vector else ir.Loop("i", rng, body)
    params = [ir.Param(x, dtype, 1, 0) for x in "ab"] + [ir.Param("r", result, 1, 0, True)]
    return promote_f16(ir.Kernel(op, tuple(params), (loop,)))


def raised(op: str, a: Any, b: Any, dtype: str) -> int:
    """The status bits of NumPy's own scalar operation."""
    seen = set()
    with np.errstate(all="call", call=lambda kind, _: seen.add(FLAGS[kind])):
        evaluate(op, (a, b)[: OPS[op].arity], "bool" if OPS[op].result == "m" else dtype)
    return sum(STATUS[x] for x in seen)


def status(k: ir.Kernel, target: str, a: Any, b: Any, dtype: str, count: int) -> int:
    r = np.empty(count, DTYPES[k.params[2].dtype].numpy)
    args = {"a": np.full(count, a), "b": np.full(count, b), "r": r}
    return run_native(k, target, args, as_users=True)


@pytest.mark.share(12, each="op")
@pytest.mark.parametrize(("dtype", "target"), CASES)
@pytest.mark.parametrize("op", EXACT)
def test_flags(op: str, dtype: str, target: str) -> None:
    if not OPS[op].accepts(dtype):
        pytest.skip(f"{op} does not exist on {dtype}")
    k = kernel(op, dtype)
    values = np.array(edges(dtype), DTYPES[dtype].numpy)
    pairs = itertools.product(values, values if OPS[op].arity == 2 else values[:1])
    wrong = []
    for a, b in pairs:
        want = raised(op, a, b, dtype)
        for count in (1, 19):
            got = status(k, target, a, b, dtype, count)
            if got != want:
                wrong.append((a, b, count, got, want))
    assert not wrong, f"{len(wrong)} wrong; (a, b, count, got, want) = {wrong[:8]}"


ROW, COLUMN = ir.Var("i", "i64"), ir.Var("j", "i64")
PLACES = {"one": ir.Const(0, "i64"), "outer": ROW, "inner": COLUMN, "named": ir.Var("p", "i64")}


@pytest.mark.share(6, each="place")
@pytest.mark.parametrize("target", NATIVE)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("count", [1, 4, None])
def test_overwritten(place: str, target: str, count: int | None) -> None:
    """``r[place] = a[i] / j`` divides each time, though the last value alone may be left."""
    zero, cast = ir.Const(0, "i64"), ir.Call("cast", (COLUMN,), "f64")
    named = ir.Assign("p", ir.Call("floordiv", (COLUMN, ir.Const(8, "i64")), "i64"))
    value = ir.Call("div", (ir.Var("h", "f64"), cast), "f64")
    times = ir.Dim("a", 0) if count is None else ir.Const(count, "i64")
    body = (named, ir.Store("r", (PLACES[place],), value))
    inner = ir.Loop("j", ir.Interval(zero, times), body)
    held = ir.Assign("h", ir.Load("a", (ROW,), "f64"))
    nest = ir.Loop("i", ir.Interval(zero, ir.Dim("a", 0)), (held, inner))
    params = (ir.Param("a", "f64", 1, 0), ir.Param("r", "f64", 1, 0, True))
    args = {"a": np.ones(6), "r": np.ones(6)}
    got = run_native(ir.Kernel("nest", params, (nest,)), target, args, as_users=True)
    assert got == STATUS["divide"]


CHOSEN = (
    "max(a, z[0])", "max(z[0], a)", "min(a, z[0])", "a if a < z[0] else z[0]",
    "z[0] if a < z[0] else a", "z[0] if a <= z[0] else x[1]", "np.maximum(a, z[0])",
)


@pytest.mark.share(38)
@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.parametrize("text", CHOSEN)
def test_chosen_in_a_loop(
    text: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a loop does not change gcc may choose ahead of it, by what signals on a NaN."""
    monkeypatch.setenv("TRANSPILE_FALLBACK", "error")
    fused = fuse(written(tmp_path, f"""
import numpy as np
def chosen(x, y, a):
    z = x * y
    s = None
    for v in y:
        if z[0] < 1:
            s = {text}
    return s
""").chosen, target=target)
    for dtype in (np.float32, np.float64):
        x = np.linspace(-1, 1, 9).astype(dtype)
        for a in (np.nan, dtype(np.nan)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                fused(x, np.arange(9), a)


def messages(who: Any, *args: Any) -> list[str]:
    """What a call warns of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        who(*args)
    return [str(w.message) for w in seen]


STORED = (
    "y[0] = 5\ny[0] = 4",
    "y[0] = y[0]",
    "y[0] = y[1] = 4",
    "y[1] = y[0]\ny[1] = 7",
    "y[0] = 5\nfor i in range(len(y)):\n    y[i] = 4",
    "y[:] = 4\ny[0] = y[1] = y[2] = 3",
    "y[0] = 5\nif y[1] > -1:\n    y[0] = 4\nelse:\n    y[0] = 3",
    "y[:2] = 5\ny[:2] = 4",
    "t[0] = 5",
    "t[0] = 5\nt[0] = 4\ny[0] = t[0]",
)
"""What a condition decides, and what comes after: nothing is left that it decides."""


@pytest.mark.share(20)
@pytest.mark.parametrize("target", [runnable_targets()[0].name, runnable_targets()[-1].name])
@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("stored", STORED)
def test_decides_nothing(stored: str, looped: bool, target: str, tmp_path: Path) -> None:
    """A condition is asked, and warns, where nothing that it decides is seen."""
    first, *after = stored.splitlines()
    lines = ["if x[0] / x[1] > y[0] or x[2] * s > y[1]:", f"    {first}", *after]
    lines = ["for k in range(len(x)):", *indented(lines)] if looped else lines
    lines = ["import numpy as np", "def f(x, y, s):", *indented(["t = np.ones(3)", *lines])]
    function = written(tmp_path, "\n".join(lines)).f
    fused = fuse(function, target=target, on_reject="raise")
    for dtype in (np.float16, np.float32, np.float64):
        for a, b in ((300, 0), (300, 1e300), (0, 1)):
            given = np.array([a, b, 3]).astype(dtype), dtype(6e4)
            kinds = [
                {m.split()[0] for m in messages(who, given[0], np.ones(3), given[1])}
                for who in (function, fused)
            ]
            assert kinds[0] == kinds[1], (dtype, a, b)
        assert not fused.stats.replays.keys() - {"GUARD_FLOAT_STATUS"}


HEADS = (
    "t = k\nwhile t > 0:\n    t -= 1",
    "t = -1\nwhile t < k - 1:\n    t += 1",
    "for t in range(k):\n    if x[t] == 77:\n        break",
    "for t in range(k):\n    y[t + 1] = y[t] * 2",
    "for t in range(k, 0, -1):\n    y[0] = t",
)
LAST = ("s = 3 / x[t]", "v = 3 / x[t]\ns = v", "s = r + 1\nr = 3 / x[t]", "s = np.sqrt(-x[t])",
        "s = r * 2 if x[t] > 1 else 1.0\nr = x[t] / x[t - 1]", "s = np.float32(x[t] * 1e200)")
"""What only the last iteration is asked for, and each may warn of."""


@pytest.mark.share(12)
@pytest.mark.parametrize("target", [runnable_targets()[0].name, runnable_targets()[-1].name])
@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("head", HEADS)
def test_only_the_last_is_read(head: str, last: str, target: str, tmp_path: Path) -> None:
    lines = ["s = r = 1.0", *head.splitlines(), *indented(last.splitlines()), "return s"]
    text = "\n".join(["import numpy as np", "def f(x, y, k):", *indented(lines)])
    function = written(tmp_path, text).f
    fused = fuse(function, target=target, on_reject="silent")
    for k in (4, 2, 0, 5):
        x = np.array([1.0, 0, 2, 0, 1e200, 5])
        assert messages(fused, x, np.ones(7), k) == messages(function, x, np.ones(7), k), k
    assert fused.stats.compiled or fused.stats.replays.keys() <= {"GUARD_FLOAT_STATUS"}


DECIDED = (
    "s = y[0] + t if {} else abs(t)",
    "s = y[0] + t if {} or abs(t) >= 0 else 1",
    "if {} or isinstance(k, int):\n    s = t",
    "if {} and isinstance(k, float):\n    s = t",
    "s = 1 if {} else 1",
    "if {}:\n    s = y[t] if t < len(y) else 0",
    "s = (0 if {} else k - k) * t",
    "if not ({} and t < 0):\n    y[0] = t",
    "s = y[t if {} else abs(t)]",
    "s = ({}) > -3",
    "s = t if min({}, 2) < 5 else 1",
    "if ({}) + 1 > 0:\n    s = t",
    "s = (2 if {} else k - k) % 3 >= 0",
    "if {}:\n    pass\nelif t >= 0.5:\n    pass",
    "if {}:\n    if t > 0.5:\n        q = 1\nelse:\n    q = 2",
    "if t >= 0.5:\n    if {}:\n        q = 1\n    elif t >= 1.5:\n        q = 3",
    "for j in range(3):\n    if {}:\n        continue\n    if 0.5 <= j:\n        continue",
    "for j in range(3):\n    if 0.5 <= j and {}:\n        break\n    if j > 1.5:\n        continue",
)
"""What is known without the condition that stands in it, or all of it but a check; or where no
side of a branch does anything.
"""


@pytest.mark.share(600)
@pytest.mark.parametrize("cond", ["t > 3 / x[t]", "x[t] - x[0] > t", "x[t] * 1e200 < y[t]"])
@pytest.mark.parametrize("target", [runnable_targets()[0].name, runnable_targets()[-1].name])
@pytest.mark.parametrize("text", DECIDED)
@pytest.mark.parametrize("head", HEADS)
def test_a_condition_is_asked(
    head: str, text: str, target: str, cond: str, tmp_path: Path
) -> None:
    lines = ["s = 1", *head.splitlines(), *indented(text.format(cond).splitlines()), "return s"]
    whole = "\n".join(["import numpy as np", "def f(x, y, k):", *indented(lines)])
    function = written(tmp_path, whole).f
    fused = fuse(function, target=target, on_reject="silent")
    for k in (4, 2, 0, 5):
        x = np.array([np.inf, 0, 2, np.inf, 1e200, 5])
        wanted = messages(function, x, np.ones(7), k)
        assert messages(fused, x, np.ones(7), k) == wanted, (cond, k)
    assert fused.stats.compiled or fused.stats.replays.keys() <= {"GUARD_FLOAT_STATUS"}


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


ALIKE = ("y[0] * -3", "y[0] * y[0]", "k / z[0]", "z[1] * z[1]", "z[1] + z[1]", "k // y[1]",
         "np.sqrt(z[2])", "z[2] ** 0.5", "abs(y[3]) + k", "-y[3]", "z[0] / z[0]")
UNDER = {
    "appended": "if {c}:\n            l.append({e} > 7)",
    "stored": "if {c}:\n            out[i] = {e}",
    "summed": "if {c}:\n            s += {e}",
    "counted": "if {c} and {e} > 7:\n            s += 1",
    "chosen": "out[i] = {e} if {c} else 0.0",
    "packed": "if {c}:\n            out[len(l)] = x[i] + ({e})\n            l.append(i)",
}


@pytest.mark.share(72, each="e")
@pytest.mark.parametrize("target", [runnable_targets()[0].name, runnable_targets()[-1].name])
@pytest.mark.parametrize("form", UNDER)
@pytest.mark.parametrize("c", ["z[3] < k", "x[i] > k", "x[i] > 5"])
@pytest.mark.parametrize("e", ALIKE)
def test_what_all_lanes_share_warns_only_where_it_is_computed(
    e: str, c: str, form: str, target: str, tmp_path: Path
) -> None:
    body = UNDER[form].format(c=c, e=e)
    text = (f"import numpy as np\ndef f(x, y, z, k):\n    out = np.zeros(len(x))\n"
            f"    s = 0.0\n    l = []\n    for i in range(len(x)):\n        {body}\n"
            "    return out, s, l\n")
    f = written(tmp_path, text).f
    g = fuse(f, on_reject="silent", target=target, reassociate=False)
    y = np.array([2**62, 0, 5, -(2**63)])
    z = np.array([0.0, 1.7e308, -1.0, 9.0])
    for n, k in itertools.product((0, 1, 9, 70), (3, 20)):
        args = np.arange(n) % 8.0, y, z, k
        wanted, got = _warned(f, args), _warned(g, args)
        assert got == wanted, (n, k, g.stats)


def _warned(f: Any, args: tuple[Any, ...]) -> list[str]:
    getattr(f, "__wrapped__", f).__globals__.pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        f(*args)
    return sorted({str(w.message) for w in caught})


BESIDE = (
    "t = np.{op}(x[0] + y[0], x[1] - y[1])",
    "u = x[1] - y[1]\nt = np.{op}(x[0], u)",
    "t = np.{op}(np.{op}(x[0], x[1] - y[1]), x[2] / y[2])",
    "t = x[0]\nfor i in range(len(x)):\n    t = np.{op}(t, x[i] - y[i])",
    "t = x[0]\nfor i in range(len(x)):\n    u = x[i] - y[i]\n    t = np.{op}(t, u)",
    "z[0] = np.{op}(x[0], x[1] - y[1])\nt = x[0]",
    "z[:] = np.{op}(x, x - y)\nt = z[0]",
    "t = x[0]\nif y[2] > 0:\n    z[1] = np.{op}(x[0], np.{op}(y[0], x[1] * y[1]))",
    "s = x[0]\nt = np.{op}(np.{op}(s, x[1] - y[1]), 2 * s)",
)


@pytest.mark.share(26)
@pytest.mark.parametrize("target", [runnable_targets()[0].name, runnable_targets()[-1].name])
@pytest.mark.parametrize("op", ["maximum", "minimum", "fmax", "fmin"])
@pytest.mark.parametrize("form", BESIDE)
def test_beside_a_nan_all_is_computed(form: str, op: str, target: str, tmp_path: Path) -> None:
    """Where one operand decides, a C compiler leaves out what the other is made of."""
    body = "".join(f"    {line}\n" for line in form.format(op=op).splitlines())
    plain = written(tmp_path, f"""
import numpy as np
def beside(x, y):
    z = np.zeros(len(x), x.dtype)
{body}    return t
""").beside
    fused = fuse(plain, target=target, on_reject="silent")
    for dtype in (np.float32, np.float64):
        for a, b, c, d in itertools.product((1.0, 0.0, np.inf, np.nan), repeat=4):
            x, y = np.array([a, b, c, 2.0], dtype), np.array([d, b, c, 1.0], dtype)
            assert messages(fused, x, y) == messages(plain, x, y), (x, y)
    assert fused.stats.compiled


UNREAD = (
    "any(v - v > 3 for v in x)", "all(not v - v == max(x[0], 3) for v in x)",
    "max(v - w for v, w in zip(x, y))", "min(v * w for v, w in zip(x, y))",
    "sum(v - w for v, w in zip(x, y))", "[v - w for v, w in zip(x, y)]", "np.any(x - x > 3)",
    "np.max(x - y)", "np.min(x * y)", "np.all(x * y < 1)", "np.sum(x - y)", "np.argmax(x - y)",
    "x - y", "np.count_nonzero(x - y)", "len([v for v in x if v - v > 1])", "np.mean(x * y)",
    "np.array([v * w for v, w in zip(x, y)])",
)


@pytest.mark.share(52)
@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.parametrize("form", UNREAD)
def test_what_nothing_reads_is_computed(form: str, target: str, tmp_path: Path) -> None:
    """Registers that a vector loop leaves behind are as good as names."""
    text = f"import numpy as np\ndef unread(x, y):\n    s = {form}\n    return len(x)\n"
    special = np.inf, np.inf if "-" in form else 0.0
    fused = assert_same_messages(written(tmp_path, text).unread, target, (1.0, 0.5), special)
    assert fused.stats.compiled


def assert_same_messages(
    plain: Any, target: str, usual: tuple[float, float], special: tuple[float, float]
) -> Any:
    """`plain` and its compiled form warn of the same, on two arrays of ``usual`` values, and with
    ``special`` ones at any place. Returns the compiled form.
    """
    fused = fuse(plain, target=target, on_reject="silent")
    for dtype, n in itertools.product((np.float32, np.float64), (3, 40, 131)):
        for place in (None, 0, n // 2, n - 1):
            x, y = (np.full(n, value, dtype) for value in usual)
            if place is not None:
                x[place], y[place] = special
            told, wanted = messages(fused, x, y), messages(plain, x, y)
            assert {*told} == {*wanted}, (dtype, n, place)
    return fused


UNSELECTED = (
    "np.where(x > 0, np.where(x > 0, x, 1 / y), 0)", "np.where(True, x, 1 / y)",
    "np.where(x > 0, 1, np.where(x > 0, 1 / y, x))", "np.where(False, np.sqrt(y - 1), x)",
    "np.where(1 / y > 0, x, x)",
    "np.where(1 / y > 0, x + 1, 1 + x)", "np.where(1 / y > 0, 2, 2)",
    "np.where(1 / y > 0, x + x, x * 2)", "np.where(x > 0, np.where(x <= 0, 1 / y, x), x)",
    "np.where(1 / y > 0, np.where(1 / y > 0, x, -x), -x)",
    "np.where((x > 0) | (1 / y > 5), np.where(x > 0, x, 1 / y), x)",
)


@pytest.mark.share(22)
@pytest.mark.parametrize("target", [t.name for t in runnable_targets()])
@pytest.mark.parametrize("form", UNSELECTED)
def test_what_nothing_selects_is_computed(form: str, target: str, tmp_path: Path) -> None:
    """NumPy computes the condition and both arms."""
    text = f"import numpy as np\ndef unselected(x, y):\n    return {form}\n"
    fused = assert_same_messages(written(tmp_path, text).unselected, target, (1, 2), (1, 0))
    assert fused.stats.compiled


# -- where the result is not used

# Comparisons of lengths are made after all masks, by `legalize`.
MAY_RAISE = [op for op in OPS.values() if "f" in op.kinds and op.raises and op.result == "a"]
ORDINARY = (0.5, 1.5, 1.0)


def masked_operands(op: str, dtype: str) -> dict[str, Any]:
    """Every combination of `edges`, where the result is not used; between them, so that every
    register has both, operands on which `op` raises nothing, where it is.
    """
    arity = OPS[op].arity
    values = np.array(edges(dtype), DTYPES[dtype].numpy)
    pairs = np.array(list(itertools.product(values, repeat=min(arity, 2))))
    columns = [np.repeat(c, 2) for c in (*pairs.T, *pairs.T[::-1])]
    ordinary = next(x for x in ORDINARY if not flags(op, np.full(arity, x, values.dtype), dtype))
    used = np.arange(len(columns[0])) % 2 == 0
    operands = [np.where(used, values.dtype.type(ordinary), c) for c in columns[:arity]]
    return dict(zip("abcd", operands, strict=False)) | {"m": used, "r": np.zeros_like(operands[0])}


def flags(op: str, operands: Any, dtype: str) -> int:
    """The status bits that the row's meaning raises on scalars."""
    seen = set()
    with np.errstate(all="call", call=lambda kind, _: seen.add(FLAGS[kind])):
        evaluate(op, tuple(operands), dtype)
    return sum(STATUS[x] for x in seen)


def branch_kernel(ops: tuple[str, ...], dtype: str) -> ir.Kernel:
    """``if m_op[i]: r_op[i] = op(a_op[i], b_op[i], c_op[i], d_op[i])``, a loop for each op."""
    at = (ir.Var("i", "i64"),)
    params, loops, disjoint = list[ir.Param](), list[ir.Stmt](), list[ir.Guard]()
    for op in ops:
        *names, mask, result = [f"{x}_{op}" for x in (*"abcd"[: OPS[op].arity], "m", "r")]
        value = ir.Call(op, tuple(ir.Load(x, at, dtype) for x in names), dtype)
        branch = ir.If(ir.Load(mask, at, "bool"), (ir.Store(result, at, value),))
        params += [ir.Param(x, dtype, 1, 0) for x in names]
        params += [ir.Param(mask, "bool", 1, 0), ir.Param(result, dtype, 1, 0, True)]
        until = ir.Dim(names[0], 0)
        loops.append(ir.Loop("i", ir.Interval(ir.Const(0, "i64"), until), (branch,)))
        disjoint += [ir.Disjoint(x, result) for x in (*names, mask)]
    kernel = ir.Kernel("branches", (*params,), (*loops,), (*disjoint,))
    return optimise(promote_f16(kernel))


def run_branches(ops: tuple[str, ...], dtype: str, target: str) -> tuple[int, dict[str, Any]]:
    """The status, and the arrays of the kernel."""
    args = {f"{x}_{op}": a for op in ops for x, a in masked_operands(op, dtype).items()}
    return run_native(branch_kernel(ops, dtype), target, args, as_users=True), args


@pytest.mark.share(10, each="ops")
@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(
    "ops", [tuple(op.name for op in MAY_RAISE[k::8]) for k in range(8)], ids=" ".join
)
def test_a_branch_raises_nothing_where_it_is_not_taken(
    ops: tuple[str, ...], dtype: str, target: str
) -> None:
    """But "under", which is silent, or replayed, in a loop (`may_only_underflow`)."""
    others = ~STATUS["under"]
    status, args = run_branches(ops, dtype, target)
    assert not status & others, [
        op for op in ops if run_branches((op,), dtype, target)[0] & others
    ]
    assert not any(args[f"r_{op}"][~args[f"m_{op}"]].any() for op in ops)
