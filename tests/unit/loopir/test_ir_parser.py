"""The text of the IR: readable, and read back as exactly the kernel that was shown."""
from __future__ import annotations

import math
import re
import struct

import numpy as np
import pytest
from paths import ROOT

from loopir import nodes as ir
from loopir.dtypes import DTYPES
from loopir.ir_interpreter import run_kernel
from loopir.ir_printer import parse, show
from loopir.ir_verifier import verify

README = ROOT / "loopir" / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def kernel(body: str) -> ir.Kernel:
    head = "def k(a: f32, n: i64, b: bool, x: f64[:], y: mut(f64[:]), m: mut(f64[:, :]), u: u8[:]):"
    return parse("\n".join([head, *("    " + line for line in body.strip("\n").split("\n"))]))


def arguments(k: ir.Kernel) -> dict[str, object]:
    """Five elements along every axis, counting from -1."""
    args: dict[str, object] = {}
    for p in k.params:
        dtype = DTYPES[p.dtype].numpy
        shape = (5,) * (p.rank or 0)
        values = np.arange(math.prod(shape)).reshape(shape) - 1
        args[p.name] = dtype.type(3) if p.rank is None else np.asarray(values).astype(dtype)
    return args


@pytest.mark.parametrize("text", EXAMPLES)
def test_readme_prints_back_verifies_and_runs(text: str) -> None:
    k = parse(text)
    assert show(k) == text
    assert parse(show(k)) == k
    verify(k, "vector")
    assert run_kernel(k, arguments(k)).status < 1 << 8


@pytest.mark.parametrize(
    "line",
    [
        "t = x[0] + x[1] + x[2]",
        "t = x[0] + (x[1] + x[2])",
        "t = (x[0] - x[1]) * -x[2] / 2.0",
        "t = -(x[0] * x[1]) % (x[2] // x[3])",
        "t = (-x[0]) ** (2.0 ** 3.0)",
        "t = x[0] ** (x[1] ** x[2])",
        "t = neg(1.5) + -1.5 - neg(-1.5)",
        "t = (n < 3) & ~(n == 4) | b ^ (x[0] <= x[1])",
        "t = ~n & 7 | n ^ -8",
        "t = (n < 3) == (n > 4)",
        "t = ~-n",
        "t = select(b, min(x[0], 1.0), maximum(x[1], -0.0))",
        "t = f32(x[n + 1]) * a + f32(0.1)",
        "t = cast(3, f64) + f64(n) + f64(f32(0.5) + a)",
        "t = cast(True, i64) + i64(b)",
        "t = u8(255) + u[x.shape[0] - 1]",
        "t = u64(18446744073709551615)",
        "t = -9223372036854775808",
        "m[n, n - 1] = m[-1 + n, 0]",
        "m[n, 0] = where(b, x[n])",
        'check(isnan(x[0]), "invalid")',
        "return",
        "if b: break",
    ],
)
def test_lines_print_as_they_are_written(line: str) -> None:
    k = kernel(line)
    assert show(k).split("\n")[1].strip() == line
    assert parse(show(k)) == k
    assert show(k.body[0]) == line


BITS = [
    0x0000000000000000, 0x8000000000000000, 0x7FF0000000000000, 0xFFF0000000000000,
    0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, 0x7FF4000000000000,
    0x0000000000000001, 0x3FB999999999999A, 0x7FEFFFFFFFFFFFFF, 0x3FF0000000000000,
]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("bits", BITS, ids=hex)
def test_float_constants_keep_their_bits(bits: int, dtype: str) -> None:
    [value] = struct.unpack("<d", struct.pack("<Q", bits))
    c = ir.Const(value, dtype)
    k = ir.Kernel("k", (), (ir.Assign("t", c),))
    [assign] = parse(show(k)).body
    assert isinstance(assign, ir.Assign)
    assert assign.value == c
    assert parse(show(k)) == k


@pytest.mark.parametrize("dtype", [d for d in DTYPES if DTYPES[d].kind != "f"])
def test_integer_constants_keep_their_dtype(dtype: str) -> None:
    for value in (DTYPES[dtype].low, 0, 1, DTYPES[dtype].high):
        k = ir.Kernel("k", (), (ir.Assign("t", ir.Const(value, dtype)),))
        assert parse(show(k)) == k


@pytest.mark.parametrize("op", ["neg", "cast", "abs", "invert", "not"])
def test_an_operation_on_a_constant_is_not_a_constant(op: str) -> None:
    dtype = "bool" if op == "not" else "i64"
    call = ir.Call(op, (ir.Const(1, dtype),), dtype)
    k = ir.Kernel("k", (), (ir.Assign("t", call),))
    assert parse(show(k)) == k


def test_an_option_and_an_accumulator_may_share_a_name() -> None:
    text = """\
def k(x: f64[:], n: i64):
    for i in vec(0, n, width=W, group=None, group=0):
        append(x, group, x[i:W])
    for i in vec(0, n, width=W, group=8, group=1.0, where=2.0):
        group = step(group + where)
"""
    k = parse(text)
    assert show(k) == text
    assert parse(show(k)) == k
    [_, second] = k.body
    assert isinstance(second, ir.VecLoop)
    assert (second.group, [a.name for a in second.accs]) == (8, ["group", "where"])


def test_an_accumulator_is_whole_after_its_vector_loop() -> None:
    k = kernel("""
for i in vec(0, n, width=4, group=16, s=0.0):
    s = step(s + x[i:4])
t = hreduce("add", s)
""")
    loop, fold = k.body
    assert isinstance(loop, ir.VecLoop)
    assert isinstance(fold, ir.Assign)
    assert loop.accs[0].step.lanes == 4
    assert fold.value == ir.HReduce("add", ir.Var("s", "f64", 16))


def test_a_register_of_one_lane_keeps_its_axis() -> None:
    load = ir.Load("m", (ir.Const(0, "i64"), ir.Var("n", "i64")), "f64", 1, 1, -1)
    assert show(load) == "m[0, n:1:-1]"
    k = kernel("t = 0")
    k = ir.Kernel(k.name, k.params, (ir.Assign("t", load),))
    assert parse(show(k)) == k


def test_nodes_below_statements_can_be_shown() -> None:
    one, x = ir.Const(1, "i64"), ir.Var("x", "f64")
    assert show(ir.Interval(one, one)) == "1, 1"
    assert show(ir.RangeDesc(one, one, -2)) == "range(1, 1, -2)"
    assert show(ir.Accum("s", x, x)) == "s=x"
    assert show(ir.Yield("t", x, x)) == "t = give(x | x)"
    assert show(ir.Stream("v", "x", "f64")) == "v in x"
    assert show(ir.Param("x", "f64", 2, 0, True)) == "x: mut(f64[::1, :])"
    assert show(ir.Param("x", "f64", 3, 2, False, (None, 4, None))) == "x: f64[:, ::4, ::1]"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("t = unknown + 1", "line 2: not an expression, or a name that is not bound here: unknown"),
        ("t = frobnicate(n)", "no such operation: frobnicate(n)"),
        ("t = n << 2", "no operator LShift"),
        ('t = i8("nan")', "not a constant"),
        ("t = b and b", "not an expression"),
        ("x.y = 3", "not a statement"),
        ("for i in range(n):\n    pass", "not a statement"),
        ("for i in loop(n):\n    pass", "a loop needs lo, hi"),
        ("for i in scan(0, n, s=0.0):\n    s = step(s)", "not a scan"),
        ("for i, v in zip(0, n, x, y):\n    pass", "not the names of a zip"),
        ("for i in vec(0, n, width=W):\n    pass\nelse:\n    return", "has no `else`"),
        ("if b:\n    t = give(n)", "the branches give different names"),
    ],
)
def test_what_is_no_kernel_is_refused_with_its_line(body: str, says: str) -> None:
    with pytest.raises(SyntaxError, match=re.escape(says)):
        kernel(body)


@pytest.mark.parametrize(
    "text", ["x = 3", "def k(x): pass", "def k(x: f128): pass", "@jit\ndef k(): pass"]
)
def test_what_is_no_function_of_arrays_is_refused(text: str) -> None:
    with pytest.raises(SyntaxError):
        parse(text)


def test_parameters_that_are_not_aligned() -> None:
    text = "def k(n: i64, x: unaligned(f64[:]), y: unaligned(mut(i16[:, :]))):\n    pass\n"
    k = parse(text)
    assert [(p.aligned, p.written, p.unit) for p in k.params] == [
        (True, False, None), (False, False, None), (False, True, None)
    ]
    assert show(k) == text
