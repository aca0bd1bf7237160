"""Wrappers from hand-made plans; the kernel is a Python function, so that each part shows alone."""
from __future__ import annotations

import ast
import os
import signal
import warnings
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numpy as np
import pytest

from loopir.nodes import Check, Const, Kernel, Param
from loopir.status_bits import STATUS
from transpile.call_plan import (
    Allocated,
    Argument,
    Captured,
    IdentityGuard,
    KernelInterface,
    Plan,
    ResultSlot,
    StatusSource,
    python_scalar_params,
    strided_params,
)
from transpile.host_nodes import HostExpr, from_ast
from transpile.lower.kernel_interface import make_interface
from transpile.result_spec import (
    ArrayResult,
    ConstantResult,
    ListResult,
    NoneResult,
    ObjectResult,
    ResultSpec,
    ScalarResult,
    TupleResult,
)
from transpile.runtime.kernel_call import float_errors
from transpile.runtime.kernel_call.python_wrapper import make_binding_test, make_wrapper
from transpile.types.value_types import ArrayType, ScalarType


def host(text: str) -> HostExpr:
    """The host expression for `text`."""
    return from_ast(ast.parse(text, mode="eval").body)


F64 = ArrayType("f64", 1, 0)
FLOAT = ScalarType("f64", weak=True)
K = 3.0


def original(x: Any, k: Any = 2.0) -> Any:
    raise AssertionError("the wrapper stands in for it")


class Call:
    """A wrapper around a kernel written in Python, and what came of it."""

    def __init__(
        self,
        interface: KernelInterface,
        kernel: Callable[..., int],
        function: FunctionType = original,
        why: str | None = "CODE",
    ) -> None:
        self.cold: list[tuple[str, Any]] = []
        self.judged: list[tuple[int, Any]] = []
        self.saved: list[Any] = []
        self.calls = CellType(0)
        self.call = make_wrapper(
            function, interface, kernel,
            fallback=self._other, judge=self._why, calls=self.calls,
        )
        self._code = why

    def _why(self, status: int, given: tuple[Any, ...], saved: Any) -> str | None:
        self.judged.append((status, given))
        self.saved.append(saved)
        return self._code

    def _other(self, code: str, values: tuple[Any, ...]) -> Callable[..., str]:
        self.cold.append((code, values))
        return lambda *args, **kwargs: "cold"


def param(b: Any) -> Param:
    if isinstance(b, ResultSlot):
        return Param(b.name, b.dtype, 0, written=True)
    rank = b.type.rank if isinstance(b.type, ArrayType) else None
    return Param(b.name, b.type.dtype, rank, 0 if rank else None)


def plan(*bindings: Any, returned: ResultSpec = NoneResult(), **rest: Any) -> KernelInterface:  # noqa: B008
    body = rest.pop("body", ())
    strict = rest.pop("strict", ())
    kernel = Kernel("k", tuple(map(param, bindings)), body, strict=strict)
    rest.setdefault("snapshot", bool(strict or body) and bool(rest.get("writes")))
    return make_interface(Plan(kernel, bindings, returned, **rest), kernel)


def given(call: Call, *args: Any, **kwargs: Any) -> Any:
    result = call.call(*args, **kwargs)
    assert (call.cold, call.calls.cell_contents) == ([], 1), "answered by the kernel"
    return result


X = Argument("x", F64)


# -- arguments

def test_arguments_come_in_the_order_of_the_kernel() -> None:
    got = []
    call = Call(plan(Argument("k", FLOAT), X), lambda *a: got.append(a) or 0)
    x = np.ones(3)
    assert given(call, x) is None
    call.call(k=1.0, x=x)
    assert [(k, a is x) for k, a in got] == [(2.0, True), (1.0, True)]


def test_a_call_that_does_not_fit() -> None:
    call = Call(plan(X), lambda x: 0)
    for args, kwargs in (((), {}), ((1, 2, 3), {}), ((1,), {"z": 1}), ((1,), {"x": 1})):
        with pytest.raises(TypeError) as ours:
            call.call(*args, **kwargs)
        with pytest.raises(TypeError) as theirs:
            original(*args, **kwargs)
        assert str(ours.value) == str(theirs.value)


def every_kind(a: Any, /, b: Any, *c: Any, d: Any, e: Any = 5, **f: Any) -> Any: ...
def keyword_only(a: Any, *, b: Any = 2) -> Any: ...


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "values"),
    [
        (every_kind, (1, 2, 3, 4), {"d": 5, "g": 6}, (1, 2, 5, 5, (3, 4), {"g": 6})),
        (every_kind, (1,), {"b": 2, "d": 0, "e": 1}, (1, 2, 0, 1, (), {})),
        (keyword_only, (1,), {}, (1, 2)),
        (keyword_only, (), {"a": 1, "b": 3}, (1, 3)),
    ],
)
def test_every_kind_of_parameter(
    function: FunctionType, args: Any, kwargs: Any, values: Any
) -> None:
    call = Call(plan(Argument("a", FLOAT)), lambda a: -1, function)
    assert call.call(*args, **kwargs) == "cold"
    assert call.cold == [("CODE", values)]


def test_it_looks_like_the_original() -> None:
    made = Call(plan(X), lambda x: 0).call
    assert (made.__name__, made.__qualname__) == ("original", "original")
    assert made.__module__ == __name__


def test_what_the_loader_is_told() -> None:
    p = plan(
        Argument("x", ArrayType("f64", 2, None)), Argument("k", FLOAT),
        Argument("n", ScalarType("i64")), Captured("K", FLOAT), X,
    )
    assert (python_scalar_params(p), strided_params(p)) == ({"k", "K"}, {"x"})


# -- names

def test_captured_names_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[float] = []
    call = Call(plan(Captured("K", FLOAT)), lambda k: got.append(k) or 0)
    call.call(None)
    monkeypatch.setitem(globals(), "K", 4.0)
    call.call(None)
    assert got == [3.0, 4.0]
    monkeypatch.delitem(globals(), "K")
    assert call.call(None) == "cold"


def test_closure_cells_too() -> None:
    k, unused = 1.0, 2.0

    def inner(x: Any) -> Any:
        return x, k, unused  # noqa: F821  # k is deleted below

    got: list[float] = []
    p = plan(Captured("k", FLOAT))
    call, holds = Call(p, lambda k: got.append(k) or 0, inner), make_binding_test(inner, p)
    call.call(0)
    assert holds((0,))
    k = 2.0
    call.call(0)
    assert got == [1.0, 2.0]
    k = np.float32(2)  # type: ignore[assignment]  # that is the point
    assert not holds((0,))
    del k
    assert call.call(0) == "cold"
    assert not holds((0,))


def test_a_rebound_name_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    guards = IdentityGuard(host("np.sqrt"), np.sqrt), IdentityGuard(host("len"), len)
    p = plan(X, identity_guards=guards)
    call, holds = Call(p, lambda x: 0), make_binding_test(original, p)
    given(call, 0)
    assert holds((0, 2.0))
    with monkeypatch.context() as patch:
        patch.setattr(np, "sqrt", np.exp)
        assert (call.call(0), holds((0, 2.0))) == ("cold", False)
    assert (call.call(0), holds((0, 2.0))) == (None, True)
    monkeypatch.setitem(globals(), "len", abs)
    assert (call.call(0), holds((0, 2.0))) == ("cold", False)
    monkeypatch.setitem(globals(), "np", None)
    assert (call.call(0), holds((0, 2.0))) == ("cold", False)


class Rings:
    """In place of NumPy: an alarm comes while the wrapper looks whether a name has been rebound."""

    @property
    def sqrt(self) -> Any:
        os.kill(os.getpid(), signal.SIGUSR1)
        return np.sqrt


def test_what_a_signal_handler_raises_is_not_taken_for_an_argument_that_does_not_fit(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    def alarm(*args: Any) -> None:
        raise ValueError("time is up")

    p = plan(X, identity_guards=(IdentityGuard(host("np.sqrt"), np.sqrt),))
    call, holds = Call(p, lambda x: 0), make_binding_test(original, p)
    monkeypatch.setitem(globals(), "np", Rings())
    before = signal.signal(signal.SIGUSR1, alarm)
    try:
        with pytest.raises(ValueError, match="time is up"):
            call.call(0)
        with pytest.raises(ValueError, match="time is up"):
            holds((0, 2.0))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert call.cold == []


def test_the_users_globals_stay_as_they_were() -> None:
    before = set(globals())
    Call(plan(X, identity_guards=(IdentityGuard(host("len"), len),)), lambda x: 0).call(0)
    assert set(globals()) == before


# -- arrays made for the call

def test_fresh_arrays() -> None:
    fresh = Allocated("out", host("_np.full(len(x), 7.0)"), F64)
    seen = []
    call = Call(plan(X, fresh, returned=ObjectResult("out")), lambda x, out: seen.append(out) or 0)
    result = given(call, np.ones(4))
    assert result is seen[0]
    assert result.tolist() == [7.0] * 4
    assert given(Call(plan(X, returned=ObjectResult("x")), lambda x: 0), result) is result


@pytest.mark.parametrize("x", [[1.0], "abc", np.ones(2).view(type("S", (np.ndarray,), {}))])
def test_nothing_is_made_for_what_is_no_array(x: Any) -> None:
    made: list[Any] = []
    fresh = Allocated("out", host("touch(x)"), F64)
    globals()["touch"] = made.append
    try:
        call = Call(plan(X, fresh), lambda x, out: 0)
        assert call.call(x) == "cold"
    finally:
        del globals()["touch"]
    assert made == []


@pytest.mark.parametrize("n", [np.int8(100), np.int64(2), True, 2.0, "ab"])
def test_no_length_is_computed_from_a_number_of_another_type(n: Any) -> None:
    """An int8 times 2 would warn of the overflow, before the kernel's entry sees the type."""
    def made_in_python(n: Any) -> Any:
        raise AssertionError

    n_argument = Argument("n", ScalarType("i64", weak=True))
    fresh = Allocated("out", host("_np.empty(n * 2)"), F64)
    call = Call(plan(n_argument, fresh), lambda n, out: 0, made_in_python)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call.call(n) == "cold"
    assert call.call(100) is None


def test_an_array_that_cannot_be_made() -> None:
    call = Call(plan(X, Allocated("out", host("_np.empty(-1)"), F64)), lambda x, out: 0)
    assert call.call(np.ones(1)) == "cold"


def test_no_two_calls_share_slots() -> None:
    """The second call comes while the first is in its kernel."""
    p = plan(X, ResultSlot("s", "f64"), returned=ScalarResult("s"))
    seen = []

    def kernel(x: np.ndarray, s: np.ndarray) -> int:
        seen.append(s)
        s[()] = x[0]
        if len(x) > 1:
            assert call.call(x[1:]) == x[1]
        return 0

    call = Call(p, kernel)
    assert call.call(np.array([5.0, 6.0])) == 5.0
    assert seen[0] is not seen[1]
    call.call(np.ones(1))
    assert seen[2] in (seen[0], seen[1]), "slots are used again"


# -- results

def fill(*values: Any) -> Callable[..., int]:
    """A kernel that puts these values into its last parameters."""

    def kernel(*args: Any) -> int:
        for array, value in zip(args[-len(values) :], values, strict=True):
            array[...] = value
        return 0

    return kernel


FRESH = Allocated("out", host("_np.empty(3)"), F64)
N = ResultSlot("n", "i64")
S = ResultSlot("s", "f64")
FLAG = ResultSlot("flag", "bool")


@pytest.mark.parametrize(
    ("bindings", "returned", "values", "expected"),
    [
        ((), NoneResult(), (), None),
        ((), ConstantResult(("a", 1)), (), ("a", 1)),
        ((S,), ScalarResult("s"), (1.5,), np.float64(1.5)),
        ((S,), ScalarResult("s", weak=True), (1.5,), 1.5),
        ((N,), ScalarResult("n", weak=True), (-3,), -3),
        ((N,), ScalarResult("n"), (-3,), np.int64(-3)),
        ((FLAG,), ScalarResult("flag", weak=True), (True,), True),
        ((FLAG,), ScalarResult("flag"), (True,), np.True_),
        ((S, FLAG), ScalarResult("s", flag="flag", weak_dtype="i64"), (0.0, True), 0),
        ((S, FLAG), ScalarResult("s", flag="flag", weak_dtype="bool"), (1.0, True), True),
        ((S, FLAG), ScalarResult("s", flag="flag", weak_dtype="f64"), (1.0, True), 1.0),
        ((S, FLAG), ScalarResult("s", flag="flag", weak_dtype="i64"), (2.0, False), np.float64(2)),
        ((S, FLAG), ScalarResult("s", False, "flag", "i64", "f32"), (2.0, False), np.float32(2)),
        ((FRESH,), ListResult("out"), ([1, 2, 3],), [np.float64(1), np.float64(2), np.float64(3)]),
        ((FRESH, N), ListResult("out", "n"), ([1, 2, 3], 2), [np.float64(1), np.float64(2)]),
        ((FRESH, N), ListResult("out", "n", weak=True), ([1, 2, 3], 2), [1.0, 2.0]),
        ((FRESH, N), ListResult("out", "n"), ([1, 2, 3], 0), []),
        ((S, N), TupleResult((ScalarResult("s"), ConstantResult(0))), (1.0, 2), (np.float64(1), 0)),
        ((S, N), TupleResult((TupleResult(()), ScalarResult("n"))), (1.0, 2), ((), np.int64(2))),
    ],
)
def test_results(bindings: Any, returned: ResultSpec, values: Any, expected: Any) -> None:
    call = Call(plan(*bindings, returned=returned), fill(*values) if values else lambda: 0)
    result = given(call, None)
    assert repr(result) == repr(expected), "types too"


@pytest.mark.parametrize("dtype", [None, "f32"])
@pytest.mark.parametrize("count", [0, 2, 3])
def test_filled(count: int, dtype: str | None) -> None:
    fresh = Allocated("out", host("_np.empty(3, _np.float32)"), ArrayType("f32", 1, 0))
    call = Call(plan(fresh, N, returned=ArrayResult("out", "n", dtype)), fill([1, 2, 3], count))
    result = given(call, None)
    wanted = np.array(list(np.float32([1, 2, 3])[:count]), dtype and np.dtype("f4"))
    assert (result.tolist(), result.dtype) == (wanted.tolist(), wanted.dtype)
    assert result.flags.owndata
    assert result.base is None


# -- statuses

@pytest.mark.parametrize("status", [-1, 1, 1 << 8])
def test_a_status_goes_to_the_cold_road(status: int) -> None:
    call = Call(plan(Argument("k", FLOAT), X), lambda k, x: status)
    assert call.call("x", k=5) == "cold"
    assert call.judged == [(status, (5, "x"))]
    assert (call.cold, call.calls.cell_contents) == ([("CODE", ("x", 5))], 0)


def test_unless_the_result_stands() -> None:
    call = Call(plan(X, returned=ObjectResult("x")), lambda x: 2, why=None)
    assert given(call, 5) == 5


SOURCE = StatusSource("over", "overflow encountered in scalar multiply", 7)


@pytest.mark.parametrize(
    ("what", "copies"),
    [
        ({}, False),
        ({"writes": ("x",)}, False),
        ({"writes": ("x",), "strict": ("invalid",)}, True),
        ({"writes": ("x",), "body": (Check(Const(True, "bool"), "replay"),)}, True),
        ({"strict": ("invalid",)}, False),
    ],
)
def test_what_python_may_have_to_write_again_is_copied(what: Any, copies: bool) -> None:
    call = Call(plan(X, **what), lambda x: 1)
    x = np.arange(3.0)
    call.call(x)
    assert bool(call.saved[0]) == copies
    if copies:
        ((array, copy),) = call.saved[0]
        assert array is x
        assert copy is not x
        assert (copy == x).all()


@pytest.mark.parametrize(
    ("modes", "action", "copies"),
    [
        ({}, "default", False),
        ({}, "error", True),
        ({"all": "ignore"}, "error", False),
        ({"over": "raise"}, "default", True),
        ({"invalid": "print"}, "default", True),
        ({"all": "warn"}, "always", True),
        ({"all": "warn"}, "once", False),
    ],
)
def test_the_error_state_decides_too(modes: Any, action: Any, copies: bool) -> None:
    call = Call(plan(X, writes=("x",), sources=(SOURCE,)), lambda x: 2)
    for _ in range(2):
        with warnings.catch_warnings(), np.errstate(**modes):
            warnings.simplefilter(action)
            call.call(np.ones(3))
    assert [bool(saved) for saved in call.saved] == [copies] * 2


@pytest.mark.parametrize("x", [2, None, [1.0], np.ones(3).view(type("S", (np.ndarray,), {}))])
def test_what_is_no_array_is_not_copied(x: Any) -> None:
    call = Call(plan(X, writes=("x",), strict=("invalid",)), lambda x: -1)
    assert call.call(x) == "cold"
    assert call.saved == [()]


def test_other_errors_do_not_matter() -> None:
    call = Call(plan(X, writes=("x",), sources=(SOURCE,)), lambda x: 2)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("error", DeprecationWarning)
        call.call(np.ones(3))
    assert call.saved == [()]


def judged(interface: Any, function: Any, status: int, *, can_replay: bool) -> str | None:
    known = float_errors.VerdictCache()
    return float_errors.judge_status(
        interface, function, status, can_replay=can_replay, known=known
    )


@pytest.mark.parametrize(
    ("status", "modes", "what", "code"),
    [
        ("replay", {}, {}, "GUARD_RAISES"),
        ("invalid", {}, {"strict": ("invalid",)}, "GUARD_FLOAT_STATUS"),
        ("under", {}, {}, None),
        ("over", {"over": "ignore"}, {}, None),
        ("over", {"over": "raise"}, {"sources": (SOURCE,)}, "GUARD_ERRSTATE"),
        ("over", {"over": "log"}, {"sources": (SOURCE,)}, "GUARD_ERRSTATE"),
        ("over", {"over": "raise"}, {}, None),  # by Python's own arithmetic, which has no state
        ("over", {}, {"sources": (SOURCE, SOURCE)}, None),
        ("over", {}, {"sources": (SOURCE, StatusSource("over", "add", 7))}, "GUARD_FLOAT_STATUS"),
    ],
)
def test_what_a_condition_means(status: str, modes: Any, what: Any, code: str | None) -> None:
    with np.errstate(**modes), warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        assert judged(plan(X, **what), original, STATUS[status], can_replay=True) == code
    told = [] if code or not what.get("sources") else [(SOURCE.message, SOURCE.line, __file__)]
    assert [(str(w.message), w.lineno, w.filename) for w in shown] == told


def test_what_cannot_run_again_is_told_from_here() -> None:
    """One warning a class, from the first place where it may have arisen."""
    sources = SOURCE, StatusSource("over", "add", 8), StatusSource("invalid", "nan", 9)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        status = STATUS["over"] | STATUS["invalid"]
        assert judged(plan(X, sources=sources), original, status, can_replay=False) is None
    assert sorted(w.lineno for w in shown) == [7, 9]


@pytest.mark.parametrize("action", ["default", "once", "module", "ignore", "always", "error"])
def test_one_warning_stands_for_many_only_where_it_looks_the_same(action: Any) -> None:
    with warnings.catch_warnings(record=True):
        warnings.simplefilter(action)
        code = judged(plan(X, sources=(SOURCE,)), original, STATUS["over"], can_replay=True)
    assert (code is None) == (action not in ("always", "error"))


def test_a_sum_that_may_overflow_only_in_our_order_runs_again() -> None:
    uncertain = StatusSource("over", "overflow encountered in scalar add", 7, certain=False)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        code = judged(plan(X, sources=(uncertain,)), original, STATUS["over"], can_replay=True)
    assert (code, shown) == ("GUARD_FLOAT_STATUS", [])
