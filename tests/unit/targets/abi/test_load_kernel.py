"""A kernel as a callable: what it is given, what it turns down, on the fast and the safe road."""
from __future__ import annotations

import ctypes
import itertools
import pickle
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopir.dtypes import DTYPES, MAX_PARAMS, MAX_RANK
from loopir.nodes import Kernel, Param
from loopir.status_bits import STATUS
from targets.abi import c_api, native_entry, object_layout, parameter_specs, trampoline
from targets.abi.load_kernel import MISMATCH, LoadedKernel, load_kernel
from targets.abi.parameter_specs import MemoryOrder, fits_order
from targets.build.build_kernel import BuildError, build_object
from targets.c.headers import read_header
from transpile.types.typeof import type_of
from transpile.types.value_types import ArrayType

HEAD = """\
#include <stdint.h>
typedef struct { char *data; int64_t dims[5], strides[5]; } tp_array;
typedef union {
    double f64; float f32; int64_t i64; int32_t i32; int16_t i16; int8_t i8;
    uint64_t u64; uint32_t u32; uint16_t u16, f16; uint8_t u8;
} tp_scalar;
"""

MEMBER = {name: "u8" if name == "bool" else name for name in DTYPES}

roads = pytest.mark.parametrize("native", [True, False], ids=["fast", "safe"])


def kernel(*params: Param) -> Kernel:
    return Kernel("k", params, ())


def loaded(body: str, *params: Param, native: bool = True, **options: Any) -> LoadedKernel:
    source = f"{HEAD}int64_t tp_kernel(const tp_array *a, const tp_scalar *s)\n{{ {body} }}\n"
    entry = load_kernel(build_object(source), kernel(*params), native=native, **options)
    assert entry.native == native
    return entry


AXPY = """
    double *x = (double *)a[0].data, *y = (double *)a[1].data, *out = (double *)a[2].data;
    for (int64_t i = 0; i < a[0].dims[0]; i++) out[i] = s[0].f64 * x[i] + y[i];
    return 0;
"""


def axpy(native: bool, **options: Any) -> LoadedKernel:
    out = Param("out", "f64", 1, 0, written=True)
    params = Param("x", "f64", 1, 0), Param("y", "f64", 1, 0), out, Param("k", "f64")
    return loaded(AXPY, *params, native=native, weak={"k"}, **options)


@roads
def test_a_call(native: bool) -> None:
    x, y, out = np.arange(100.0), np.ones(100), np.zeros(100)
    entry = axpy(native)
    assert entry.fast(x, y, out, 2.0) == 0
    assert (out == 2 * x + 1).all()
    assert entry.fast(x, y, out, 3.0) == 0
    assert (out == 3 * x + 1).all()


class Sub(np.ndarray):
    pass


GOOD = np.ones(6)

WRONG: dict[str, Any] = {
    "a list": [1.0] * 6,
    "None": None,
    "a scalar": 1.0,
    "float32": GOOD.astype("f4"),
    "int64": GOOD.astype("i8"),
    "byte-swapped": GOOD.astype(">f8"),
    "objects": GOOD.astype(object),
    "complex": GOOD.astype(complex),
    "a subclass": GOOD.view(Sub),
    "masked": np.ma.masked_array(GOOD),
    "two axes": GOOD.reshape(2, 3),
    "no axis": np.array(1.0),
    "unaligned": np.zeros(49, np.uint8)[1:].view("f8"),
    "strided": np.ones(12)[::2],
    "reversed": GOOD[::-1],
    "broadcast": np.broadcast_to(1.0, 6),
}


@roads
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_array(name: str, native: bool) -> None:
    out = np.zeros(6)
    assert axpy(native).fast(WRONG[name], GOOD, out, 2.0) == MISMATCH
    assert not out.any()


@roads
def test_an_unaligned_array_of_a_kernel_that_takes_one(native: bool) -> None:
    entry = loaded("return 0;", Param("x", "f64", 1, aligned=False), native=native)
    assert entry.fast(WRONG["unaligned"]) == 0


@roads
@pytest.mark.parametrize("number", [2, True, np.float64(2), np.float32(2), None, "2", 2j])
def test_a_wrong_number(number: object, native: bool) -> None:
    assert axpy(native).fast(GOOD, GOOD, np.zeros(6), number) == MISMATCH


@roads
@pytest.mark.parametrize("count", [0, 3, 5])
def test_a_wrong_count(count: int, native: bool) -> None:
    assert axpy(native).fast(*[GOOD] * count) == MISMATCH


@roads
def test_read_only(native: bool) -> None:
    frozen = np.ones(6)
    frozen.flags.writeable = False
    assert axpy(native).fast(frozen, GOOD, np.zeros(6), 1.0) == 0
    assert axpy(native).fast(GOOD, GOOD, frozen, 1.0) == MISMATCH


@roads
def test_an_unpickled_array_has_a_dtype_of_its_own(native: bool) -> None:
    x = pickle.loads(pickle.dumps(GOOD))
    assert x.dtype is not np.dtype("f8")
    assert axpy(native).fast(x, x, x, 1.0) == 0


@roads
def test_longlong_is_another_type(native: bool) -> None:
    entry = loaded("return 0;", Param("x", "i64", 1), native=native)
    (other,) = {"q", "l"} - {np.dtype("i8").char}
    assert entry.fast(np.ones(3, "i8")) == 0
    assert entry.fast(np.ones(3, other)) == MISMATCH or np.dtype(other).itemsize != 8


@roads
@pytest.mark.parametrize("shape", [(1,), (0,)])
def test_a_short_axis_has_any_stride(shape: tuple[int], native: bool) -> None:
    x = np.lib.stride_tricks.as_strided(np.ones(8), shape, (24,))
    assert axpy(native).fast(x, np.ones(1), np.ones(1), 1.0) == 0


@roads
def test_the_unit_axis(native: bool) -> None:
    params = Param("x", "f64", 2, 1), Param("y", "f64", 2, 0)
    entry = loaded("return 0;", *params, native=native)
    x = np.ones((3, 4))
    assert entry.fast(x, x.T) == 0
    assert entry.fast(x, x) == MISMATCH
    assert entry.fast(x.T, x.T) == MISMATCH


@roads
def test_where_there_is_faster_code(native: bool) -> None:
    """An array without a unit-stride axis, if so asked, must have none."""
    plain = loaded("return 0;", Param("x", "f64", 1), native=native)
    strict = loaded("return 0;", Param("x", "f64", 1), native=native, strided={"x"})
    x = np.ones(10)
    assert [plain.fast(x), plain.fast(x[::2])] == [0, 0]
    assert [strict.fast(x), strict.fast(x[::2]), strict.fast(x[:1])] == [MISMATCH, 0, 0]


@roads
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 1), (1, 3, 2)])
def test_axes_that_do_not_follow_in_order(shape: tuple[int, ...], native: bool) -> None:
    rank = len(shape)
    first, last, other = (
        loaded("return 0;", Param("x", "f64", rank, unit), native=native,
               strided={"x"} if unit is None else (), orders={"x": order} if order else {})
        for unit, order in ((0, "F"), (rank - 1, "C"), (None, None))
    )
    by_order: dict[MemoryOrder, Any] = {
        order: loaded("return 0;", Param("x", "f64", rank), native=native, strided={"x"},
                      orders={"x": order})
        for order in ("C", "F")
    }
    for axes in itertools.permutations(range(rank)):
        block = np.ones(shape).transpose(axes)
        stretched = np.broadcast_to(block[:1], block.shape)
        for x in (block, block[..., ::-1], block[::2], block[:, ::2], stretched):
            ty = type_of(x)
            assert isinstance(ty, ArrayType)
            status = [entry.fast(x) for entry in (first, last, other)]
            assert ty.unit != 0 or status[0] == 0
            assert ty.unit != rank - 1 or status[1] == (MISMATCH if ty.order == "?" else 0)
            assert ty.unit is not None or status == [MISMATCH, MISMATCH, 0]
            for order, entry in by_order.items():
                assert ty.order != order or entry.fast(x) == 0
                assert entry.fast(x) == MISMATCH or not x.size or fits_order(x, order)


@roads
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 5])
def test_what_the_kernel_sees(rank: int, native: bool) -> None:
    body = "int64_t *o = (int64_t *)a[1].data; *o++ = (int64_t)a[0].data;"
    body += f"for (int i = 0; i < {rank}; i++) *o++ = a[0].dims[i], *o++ = a[0].strides[i];"
    body += "return 0;"
    seen = np.zeros(11, np.int64)
    entry = loaded(body, Param("x", "i32", rank), Param("o", "i64", 1, 0, True), native=native)
    x = np.zeros((2, 3, 7, 8, 9), np.int32)[..., 1::2, ::-1, 2:][(1,) * (5 - rank)]
    x = x if isinstance(x, np.ndarray) else np.zeros((), np.int32)
    assert entry.fast(x, seen) == 0
    expected = [x.ctypes.data, *(v for pair in zip(x.shape, x.strides, strict=True) for v in pair)]
    assert seen[: len(expected)].tolist() == expected


VALUES = {"f": [0.0, -1.5, np.inf], "i": [0, -7, 100], "u": [0, 7, 200], "b": [False, True]}


@roads
@pytest.mark.parametrize("name", DTYPES)
def test_numpy_scalars(name: str, native: bool) -> None:
    dtype = DTYPES[name]
    body = f"*({dtype.c} *)a[0].data = s[0].{MEMBER[name]}; return 0;"
    entry = loaded(body, Param("o", name, 0, written=True), Param("v", name), native=native)
    out = np.zeros((), dtype.numpy)
    for value in VALUES[dtype.kind]:
        scalar = dtype.numpy.type(value)
        assert entry.fast(out, scalar) == 0
        assert out[()] == scalar
        assert entry.fast(out, value) == MISMATCH, "a Python scalar is weak, and another type"


@roads
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("f64", [0.0, -1.5, np.inf, 5e-324]),
        ("i64", [0, 1, -1, 2**30, -(2**30), 2**60 + 1, 2**63 - 1, -(2**63)]),
        ("bool", [False, True]),
    ],
)
def test_python_scalars(name: str, values: list[Any], native: bool) -> None:
    body = f"*({DTYPES[name].c} *)a[0].data = s[0].{MEMBER[name]}; return 0;"
    params = Param("o", name, 0, written=True), Param("v", name)
    entry = loaded(body, *params, native=native, weak={"v"})
    out = np.zeros((), DTYPES[name].numpy)
    for value in values:
        assert entry.fast(out, value) == 0
        assert out.item() == value
    assert entry.fast(out, DTYPES[name].numpy.type(1)) == MISMATCH


@roads
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**40])
def test_an_integer_that_does_not_fit(value: int, native: bool) -> None:
    entry = loaded("return 0;", Param("n", "i64"), native=native, weak={"n"})
    assert entry.fast(value) == MISMATCH


@roads
@pytest.mark.parametrize("status", [0, 1, 31, 1 << 8, 31 << 8, 1 << 40])
def test_the_status_comes_back(status: int, native: bool) -> None:
    assert loaded(f"return {status}LL;", native=native).fast() == status


def test_too_many_parameters() -> None:
    with pytest.raises(BuildError, match="at most 256"):
        loaded("return 0;", *(Param(f"x{i}", "f64") for i in range(MAX_PARAMS + 1)))
    assert loaded("return 0;", *(Param(f"x{i}", "f64") for i in range(MAX_PARAMS)), weak={"x0"})


def test_not_an_object(tmp_path: Path) -> None:
    path = tmp_path / "k.so"
    path.write_bytes(b"not an object")
    with pytest.raises(BuildError, match="damaged"):
        load_kernel(str(path), kernel())
    with pytest.raises(BuildError, match="tp_kernel"):
        load_kernel(build_object("int other(void) { return 0; }"), kernel())


def test_two_kernels_of_one_name() -> None:
    one, two = loaded("return 1;"), loaded("return 2;")
    assert [one.fast(), two.fast(), one.fast()] == [1, 2, 1]


@pytest.mark.parametrize(("size", "free"), [(10, False), (100, True)])
def test_other_threads_run_meanwhile(size: int, free: bool) -> None:
    """The kernel waits until another thread sets a flag; with few elements it keeps the GIL."""
    body = """
        volatile int64_t *flag = (int64_t *)a[0].data;
        for (int64_t i = 0; i < (1LL << (a[0].dims[0] > 50 ? 40 : 25)); i++) if (*flag) return 1;
        return 0;
    """
    entry = loaded(body, Param("flag", "i64", 1, 0))

    def seen() -> int:
        flag, is_called = np.zeros(size, np.int64), threading.Lock()

        def set_flag() -> None:
            with is_called:
                flag[0] = 1

        is_called.acquire()
        thread = threading.Thread(target=set_flag)
        thread.start()
        is_called.release()  # this thread keeps the GIL, for 10 s, until the kernel releases it
        try:
            return entry.fast(flag)
        finally:
            thread.join()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)
    try:
        assert [seen() for _ in range(3)] == [free] * 3
    finally:
        sys.setswitchinterval(interval)


def test_arguments_are_not_kept() -> None:
    entry, x, k = axpy(True), np.ones(100), 2.5
    before = sys.getrefcount(x), sys.getrefcount(k)
    for _ in range(100):
        entry.fast(x, x, x, k)
        entry.fast(x, x, k, x)
    assert (sys.getrefcount(x), sys.getrefcount(k)) == before


def test_the_layout_is_proved_here() -> None:
    assert object_layout.layout_matches() == (sys.implementation.name == "cpython")


def test_a_layout_that_is_not_so_leaves_the_safe_road(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_layout, "_NDARRAY", struct.Struct("nPiiPPPPi"))
    assert not object_layout.layout_matches()
    monkeypatch.setattr(c_api, "opened", [])
    entry = load_kernel(build_object("long long tp_kernel(void) { return 5; }"), kernel())
    assert (entry.native, entry.fast()) == (False, 5)


def test_the_declarations_agree_with_the_proof(tmp_path: Path) -> None:
    """entry.c declares the fields where layout.py has looked for them."""
    text = Path(object_layout.__file__).with_name("entry.c").read_text()
    fields = [("ndarray", f) for f in ("data", "rank", "dims", "strides", "dtype", "flags")]
    fields += [("descr", f) for f in ("scalar", "byteorder", "number")]
    fields += [("numpy_scalar", "value")]
    lines = ", ".join(f"__builtin_offsetof({t}, {f})" for t, f in fields)
    library = ctypes.CDLL(build_object(f"{text}\nint64_t tp_offsets[] = {{ {lines} }};"))
    offsets = list((ctypes.c_int64 * len(fields)).in_dll(library, "tp_offsets"))
    def at(layout: struct.Struct, count: int) -> int:
        """Where the field after `count` codes of the layout begins."""
        codes = layout.format[: count + 1]
        return struct.calcsize(codes) - struct.calcsize(codes[-1])

    array = [at(object_layout._NDARRAY, n) for n in (2, 3, 4, 5, 7, 8)]
    descr = [at(object_layout._DESCR, n) for n in (2, 5, 7)]
    assert offsets == [*array, *descr, struct.calcsize("nP")]


def test_the_numbers_agree_with_the_declarations() -> None:
    """entry.c, values.c and abi.h have the numbers of parameters.py, whole.py and ops.py."""
    names = "ARRAY FLOAT INT BOOL NUMPY COMPLEX MAX_PARAMS MAX_RANK WRITEABLE "
    names += "LITERAL GIVEN PYTHON SCALAR CHOSEN TUPLE LIST CALLED MAX_GIVEN SLOT REPLAY "
    names += "NUMBER INTEGER EXTENT ADD SUB MUL LEAST MOST EMPTY ZEROS LIKE"
    house = Path(object_layout.__file__).parent
    text = "".join((house / name).read_text() for name in trampoline.SOURCES)
    numbers = f"int64_t tp_numbers[] = {{ {names.replace(' ', ', ')} }};"
    size = "int64_t tp_size = sizeof(tp_array);"
    ours = ctypes.CDLL(build_object(f"{text}\n{numbers}\n{size}"))
    kernels = ctypes.CDLL(build_object(f"{read_header('abi.h')}\n{size}"))
    words = names.split()
    found = (ctypes.c_int64 * len(words)).in_dll(ours, "tp_numbers")
    ours_too = vars(parameter_specs) | vars(native_entry) | {"REPLAY": STATUS["replay"]}
    assert dict(zip(words, found, strict=True)) == {w: ours_too[w] for w in words}
    sizes = [ctypes.c_int64.in_dll(which, "tp_size").value for which in (ours, kernels)]
    assert sizes == [8 * (1 + 2 * MAX_RANK)] * 2


def test_the_end_of_a_process_is_quiet() -> None:
    program = (
        "import numpy as np; from loopir.nodes import Kernel\n"
        "from targets.abi.load_kernel import load_kernel\n"
        "from targets.build.build_kernel import build_object\n"
        "path = build_object('long tp_kernel(void) { return 7; }')\n"
        "f = load_kernel(path, Kernel('k', (), ())).fast\n"
        "class Late:\n    def __del__(self, f=f): print(f())\n"
        "late = Late()"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "7", "")
