"""Calls that are one builtin do what the wrapper does; what is unusual is the wrapper's."""
from __future__ import annotations

import ctypes
import functools
import gc
import math
import platform
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import shifts
from numpy import sqrt

from targets.build.background_build import wait_for_builds
from transpile import fuse
from transpile.runtime.compiled_variant import Variant

K = 3.0
TABLE = np.arange(8.0)


@pytest.fixture(autouse=True, scope="module")
def _calls_are_not_provisional() -> None:
    """They are until the C code is built that all kernels share."""
    fuse(of_constants)(1.0)
    wait_for_builds()


@pytest.fixture(autouse=True)
def _no_other_road(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSPILE_FALLBACK", raising=False)


def whole(function: Callable[..., Any], *args: Any) -> Any:
    """`function` compiled for these arguments, as a builtin."""
    f = fuse(function)
    f(*args)
    assert type(vars(type(f))["__call__"].__func__) is BuiltinFunctionType
    return f


def axpy(a, x, y):
    for i in range(len(x)):
        y[i] = a * x[i] + y[i]


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def total_of_ints(x):
    s = 0
    for v in x:
        s += v
    return s


def positives(x):
    c = 0
    for v in x:
        if v > 0:
            c += 1
    return c


def any_large(x):
    for v in x:  # noqa: SIM110  # the loop is what is compiled
        if v > 1e3:
            return True
    return False


def first_large(x):
    for i in range(len(x)):
        if x[i] > 3:
            return i, x[i]
    return None


def ends(x):
    low = high = x[0]
    for v in x:
        low = min(low, v)
        high = max(high, v)
    return [low, (high, "ends")], x


def rooted(x, out):
    for i in range(len(x)):
        out[i] = np.sqrt(x[i]) * K
    return out


def looked_up(x):
    s = 0.0
    for i in range(len(x)):
        s += TABLE[i] * x[i]
    return s


def scaled(x, out, /, k=2.0, *, bias=0.0):
    for i in range(len(x)):
        out[i] = x[i] * k + bias


def shifted(x, out, k=2.0):
    for i in range(len(x)):
        out[i] = x[i] * k


# -- results

FOLDS = [total, total_of_ints, positives, any_large, first_large, ends]


@pytest.mark.share(4, each="function")
@pytest.mark.parametrize("function", FOLDS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_results_are_the_same_objects_or_alike(function: Any, dtype: str) -> None:
    """A sum of no elements is Python's, one of others is NumPy's; and so on."""
    f = whole(function, np.arange(9).astype(dtype))
    for n in (5, 1, 0, 9, 3, 22):
        x = np.arange(n).astype(dtype)
        if n or function is not ends:
            ours, theirs = f(x), function(x)
            assert (repr(ours), type(ours)) == (repr(theirs), type(theirs))
    assert f.stats.replays == {}


def test_an_argument_is_returned_as_it_is() -> None:
    x, out = np.ones(4), np.zeros(4)
    f = whole(rooted, x, out)
    assert f(x, out) is out
    assert f(x, x) is x


# -- arrays that are made for the call

def doubled(x, n):
    return x * 2.0 + 1.0


def listed(x, n):
    return [v * 2 for v in x]


def listed_some(x, n):
    return [v for v in x if v > 1]


def filled(x, n):
    return np.array([v * 2 for v in x])


def filled_some(x, n):
    return np.array([v for v in x if v > 1])


def zeros(x, n):
    out = np.zeros(len(x))
    for i in range(1, len(x)):
        out[i] = x[i]
    return out


def alike(x, n):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * 2
    return out


def of_rank_two(x, n):
    out = np.zeros((n, min(len(x), 2 * n + 1) - 0), dtype=x.dtype)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[j]
    return x, out


def differences(x, n):
    return x[1:] - x[:-1]


def masks(x, n):
    return x > 2


MADE = [doubled, listed, listed_some, filled, filled_some, zeros, alike, of_rank_two, differences,
        masks]


def described(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(described, result))
    if isinstance(result, list):
        return [(type(v), v) for v in result]
    flags = result.flags
    own = flags.owndata, flags.c_contiguous, result.base
    return result.tolist(), result.dtype, result.shape, own


@pytest.mark.share(4, each="function")
@pytest.mark.parametrize("function", MADE)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_arrays_are_made_alike(function: Any, dtype: str) -> None:
    x = np.arange(7).astype(dtype)
    f = whole(function, x, 3)
    for n, k in ((7, 3), (0, 0), (1, 1), (5, 9), (40, 2)):
        x = np.arange(n).astype(dtype)
        assert described(f(x, k)) == described(function(x, k))
        assert sys.getrefcount(f(x, k)) == sys.getrefcount(function(x, k))
    assert f.stats.replays == {}


def alike_zeros(x, n):
    out = np.zeros_like(x)
    for i in range(0, x.shape[0], 2):
        for j in range(x.shape[1]):
            out[i, j] += x[i, j] * 2
    return out


def alike_in_singles(x, n):
    out = np.empty_like(x, dtype=np.float32)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j]
    return out


@pytest.mark.parametrize("function", [alike_zeros, alike_in_singles])
def test_matrices_like_others_have_their_order_and_dtype(function: Any) -> None:
    """A call of one signature comes to the kernel of another one first."""
    block = (np.arange(240.0) % 7).reshape(12, 20)
    layouts = [block, block.T, block[:, ::2], block[::2], block[:, :7].T, block[:1], block[:, :1]]
    f = whole(function, block, 3)
    for dtype in ("f8", "u1", "f4", "i2", "f8"):
        for a in layouts:
            x = a.astype(dtype)[::1] if a.flags.owndata else np.asarray(a, dtype)
            for _ in range(2):
                got, wanted = f(x, 3), function(x, 3)
                assert described(got) == described(wanted)
                assert got.strides == wanted.strides
    assert f.stats.replays == {}


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_arrays_that_cannot_be_made() -> None:
    x = np.ones(4)
    f = whole(of_rank_two, x, 3)
    for n in (-1, 1 << 62, 1 << 70, 2.0):
        assert outcome(f, x, n) == outcome(of_rank_two, x, n)


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_what_an_array_is_made_like_has_its_rank() -> None:
    def ones_like(x, n):
        out = np.empty_like(x)
        for i in range(n):
            out[i] = 1.0
        return out

    f, g = (whole(h, np.zeros(3), 3) for h in (ones_like, zeros))
    for x in (np.zeros((3, 1)), np.zeros((3, 0)), np.zeros(3, "f4"), np.zeros(6)[::-2]):
        assert described(f(x, 3)) == described(ones_like(x, 3))
    for shape in ((3,), (3, 2)):
        x = np.zeros(shape)
        assert outcome(g, x, 3) == outcome(zeros, x, 3)


def test_what_is_spelled_otherwise_is_the_wrappers() -> None:
    def full(x, n):
        out = np.full(n, 2.0)
        for i in range(n):
            out[i] += x[i]
        return out

    f, x = fuse(full), np.ones(4)
    assert f(x, 3).tolist() == f(x, 3).tolist() == [3.0] * 3
    assert f.stats.compiled == 2


# -- why a call is left to the wrapper

def star_arguments(x, *more):
    return x.sum() + len(more)


def halved(x):
    out = np.zeros(len(x) // 2)
    for i in range(len(out)):
        out[i] = x[2 * i] + x[2 * i + 1]
    return out


def third(x):
    out = np.zeros(len(x) % 4)
    for i in range(len(out)):
        out[i] = x[i]
    return out


def product(z, x):
    for i in range(len(x)):
        x[i] = x[i] * z.real
    return x


def field_sum(r):
    s = 0.0
    for i in range(len(r)):
        s += r["v"][i]
    return s


def set_rows(rows):
    for row in rows:
        for k in range(len(row)):
            row[k] = row[k] + 1.0


def drawn(rng, x):
    for i in range(len(x)):
        x[i] = rng.random()


RECORDS = np.zeros(4, [("v", "f8"), ("n", "i8")])
WRAPPED = [
    (star_arguments, (np.ones(4), 1), "`*args` or `**kwargs`"),
    (third, (np.ones(6),), "only Python can evaluate `len(x) % 4`"),
    (product, (2j, np.ones(4)), "only Python unpacks the complex number `z`"),
    (field_sum, (RECORDS,), "only Python reads the field of records that `"),
    (set_rows, ([[1.0, 2.0], [3.0, 4.0]],), "rows of a list are distinct objects"),
    (drawn, (np.random.default_rng(3), np.ones(4)), "random number generator"),
]


def variant_of(function: Callable[..., Any], *args: Any) -> Variant:
    """The only variant of `function` after a call with these arguments."""
    f = fuse(function)
    f(*args)
    (case,) = f._specializations.values()
    (variant,) = case.variants
    return variant


@pytest.mark.parametrize(
    ("function", "args", "reason"), WRAPPED, ids=[f.__name__ for f, *_ in WRAPPED]
)
def test_the_reason_is_kept(function: Any, args: tuple[Any, ...], reason: str) -> None:
    variant = variant_of(function, *args)
    assert variant.not_native is not None
    assert reason in variant.not_native


def test_a_native_call_has_no_reason() -> None:
    assert variant_of(total, np.ones(4)).not_native is None


# -- arguments

def outcome(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return repr(call(*args, **kwargs))
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("function", [scaled, shifted])
@pytest.mark.parametrize(
    ("count", "kwargs"),
    [
        (2, {}), (3, {}), (2, {"k": 4.0}), (3, {"k": 4.0}), (4, {}), (1, {}), (0, {}),
        (1, {"out": 1}), (2, {"z": 1}), (2, {"bias": 1.0}), (2, {"x": 1}), (0, {"k": 1.0}),
    ],
)
def test_arguments_find_their_places(function: Any, count: int, kwargs: dict[str, Any]) -> None:
    def given(out: np.ndarray) -> dict[str, Any]:
        return kwargs | ({"out": out} if "out" in kwargs else {})

    out, wanted = np.zeros(3), np.zeros(3)
    f = fuse(function)
    f(np.ones(3), out)
    args: list[Any] = [np.ones(3), out, 5.0, 6.0]
    ours = outcome(f, *args[:count], **given(out))
    args[1] = wanted
    assert ours == outcome(function, *args[:count], **given(wanted))
    assert out.tolist() == (wanted.tolist() if wanted.any() else [2.0] * 3)


def test_keywords_and_defaults_need_no_wrapper() -> None:
    x, out = np.ones(3), np.zeros(3)
    f = whole(shifted, x, out)
    case, = f._specializations.values()
    before = case.calls.cell_contents
    f(out=out, x=x)
    f(x, out, k=3.0)
    f(x, k=4.0, out=out)
    assert (out.tolist(), case.calls.cell_contents) == ([4.0] * 3, before)
    f(**{"".join(["o", "ut"]): out, "x": x})
    assert out.tolist() == [2.0] * 3


def test_a_replay_is_given_keyword_only_arguments_by_name() -> None:
    def folded(xs, step=1, *, start=0):
        s = start
        for x in xs:
            s += x * step
        return s

    def demanding(xs, *, start):
        s = start
        for x in xs:
            s += x
        return s

    f, g = whole(folded, [1, 2]), fuse(demanding)
    large = [2**62, 2**62]  # the sum has 64 bits: Python computes it
    for _ in range(3):
        assert f(large) == f(xs=large) == f(large, 1) == 2**63
        assert f(large, start=5) == f(large, step=1, start=5) == 2**63 + 5
        assert g([1, 2], start=3) == 6
        assert g(large, start=5) == g(start=5, xs=large) == 2**63 + 5
    with pytest.raises(TypeError, match=r"takes from 1 to 2 positional arguments but 3"):
        f(large, 1, 2)


def test_methods_and_unusual_arguments() -> None:
    class Model:
        @fuse
        def step(self, x):
            s = 0.0
            for v in x:
                s += v
            return s

    model, x = Model(), np.arange(4.0)
    assert [model.step(x), model.step(x), Model.step(model, x=x)] == [6.0] * 3
    f = whole(total, x)
    assert [f(x[::2]), f(x.astype("f4")), f(x)] == [2.0, 6.0, 6.0]


# -- names

@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
def test_names_mean_what_they_mean_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = np.ones(4), np.zeros(4)
    f = whole(rooted, x, out)
    for name, place, value, wanted in (
        ("K", globals(), 5.0, 5.0), ("sqrt", vars(np), np.exp, 3 * np.e),
        ("len", globals(), lambda x: 2, 3.0), ("range", globals(), lambda n: [3], 3.0),
        ("np", globals(), None, None),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(place, name, value)
            out[:] = 0
            if wanted is None:
                with pytest.raises(AttributeError):
                    f(x, out)
            else:
                f(x, out)
                theirs = rooted(x, np.zeros(4))
                assert (out.tolist(), out.max()) == (theirs.tolist(), wanted), name
    assert f(x, out).tolist() == [3.0] * 4


def test_captured_arrays_and_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    k = 2.0

    def inner(x):
        s = 0.0
        for v in x:
            s += v * k  # noqa: F821  # it is deleted below
        return s

    x = np.ones(8)
    f, g = whole(looked_up, x), whole(inner, x)
    k = 3.0
    assert g(x) == 24.0
    assert f(x) == 28.0
    monkeypatch.setitem(globals(), "TABLE", np.ones(8))
    assert f(x) == 8.0
    del k
    with pytest.raises(NameError):
        g(x)


def of_constants(x):
    return C0 + x * (C1 + x * (C2 + x * (C3 + x * shifts.SHIFT))) * TABLE[1]


C0, C1, C2, C3 = 1.0, 2.0, 3.0, 4.0


def test_captured_numbers_are_those_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are looked up again only where a dict has changed that they are found in."""
    f = whole(of_constants, 0.5)
    places: list[tuple[dict[str, Any], str]] = [(globals(), f"C{k}") for k in range(4)]
    places += [(vars(shifts), "SHIFT"), (globals(), "TABLE")]
    for round_ in range(3):
        for place, name in places:
            old = place[name]
            monkeypatch.setitem(place, name, old + round_ + 1.25)
            assert [f(0.5), f(0.5)] == [of_constants(0.5)] * 2, name
            TABLE[1] += 1.0
            assert f(0.5) == of_constants(0.5)
    assert f.stats.compiled > 45
    for place, name in places:
        with monkeypatch.context() as patch:
            patch.delitem(place, name)
            for _ in range(2):
                with pytest.raises((NameError, AttributeError)):
                    f(0.5)
        assert f(0.5) == of_constants(0.5)


def scaled_by(v, k):
    return v * k * K


def plus_shift(v):
    return v + SHIFT


SHIFT = 1.0


def by_a_helper(x):
    s = 0.0
    for v in x:
        s += scaled_by(v, 2.0)
    return s


def by_one_of_another_module(x):
    s = 0.0
    for v in x:
        s += shifts.shifted(v)
    return s


SHIFTS = np.array([1.0, 2.0])


def with_defaults(v, k=2.0, n=3, *, a=SHIFTS, b=4.0):
    return v * k + n * a[1] + b


def by_defaults(x):
    s = 0.0
    for v in x:
        s += with_defaults(v)
    return s


fused_defaults = fuse(with_defaults)


def by_fused_defaults(x):
    s = 0.0
    for v in x:
        s += fused_defaults(v)
    return s


def in_a_comprehension(x):
    return [with_defaults(v, 5.0) for v in x]


def by_a_local_import(x):
    import math

    s = 0.0
    for v in x:
        s += math.sqrt(v)
    return s


def logs(x):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.log(x[i])
    return out


def of_names(x):
    return sqrt(x * x)


def of_its_size(x):
    out = np.zeros(x.size)
    for i in range(x.size):
        out[i] = sqrt(x[i])
    return out


def of_halves(x):
    out = np.zeros((len(x) - 9) // 4 + 4)
    for i in range(len(out)):
        out[i] = x[i]
    return out


def of_twice(x, n):
    out = np.zeros(2 * n - 3)
    for i in range(len(out)):
        out[i] = x[0] * i
    return out


@pytest.mark.parametrize("n", [6, np.int64(6)], ids=["int", "int64"])
def test_lengths_of_ints_and_of_numpys(n: Any) -> None:
    """C makes the result for both; where there can be none, Python says why."""
    f = whole(of_twice, np.ones(2), n)
    (spec,) = f._specializations.values()
    before = int(spec.native_calls[0]), spec.calls.cell_contents
    assert np.array_equal(f(np.ones(2), n), np.arange(9.0))
    assert (int(spec.native_calls[0]), spec.calls.cell_contents) == (before[0] + 1, before[1])
    for other in (type(n)(1), type(n)(-(1 << 61)), type(n)((1 << 62) + 9)):
        assert outcome_with_warnings(f, other) == outcome_with_warnings(of_twice, other)


def outcome_with_warnings(function: Any, n: Any) -> tuple[list[str], str]:
    """What a call with `n` warns of, and raises."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(np.ones(2), n)
        except (MemoryError, OverflowError, ValueError) as error:
            return [str(w.message) for w in caught], repr(error)
    raise AssertionError("it does not raise")


def sums_before_a_check(x, k):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        x[i] = s / x[k[i]]
    return x


@pytest.mark.parametrize(
    "function",
    [
        by_a_helper, by_one_of_another_module, by_defaults, by_fused_defaults, in_a_comprehension,
        by_a_local_import, of_halves, of_its_size, of_names,
    ],
)
def test_helpers_imports_and_halves_need_no_wrapper(function: Any) -> None:
    for n in (4, 9, 12):
        f = whole(function, np.arange(float(n)))
        assert np.array_equal(f(np.arange(float(n))), function(np.arange(float(n))))
        assert f.stats.compiled == 2
        assert python_frames(f, np.arange(float(n))) == []


def python_frames(f: Callable[..., Any], *args: Any) -> list[str]:
    """The names of the Python functions that run in a call."""
    names: list[str] = []

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        f(*args)
    finally:
        sys.setprofile(before)
    return names


def test_what_is_copied_before_each_call_needs_no_wrapper() -> None:
    """The copies are put back where a check fails after something was written."""
    x, k = np.ones(600), np.arange(600)
    f = whole(sums_before_a_check, x.copy(), k)
    for strided in (False, True):
        for bad in (None, 0, 299):
            places = k.copy()
            if bad is not None:
                places[bad] = 600
            results = []
            for g in (sums_before_a_check, f):
                given = np.arange(1.0, 1201.0)[::2] if strided else np.arange(1.0, 601.0)
                try:
                    g(given, places)
                    error = None
                except IndexError as e:
                    error = str(e)
                results.append((given.tolist(), error))
            assert results[0] == results[1]
    assert f.stats.compiled >= 3


REBOUND: dict[str, tuple[Any, Callable[[pytest.MonkeyPatch], None]]] = {
    "another function": (by_a_helper, lambda p: p.setitem(globals(), "scaled_by", pow)),
    "another code": (by_a_helper, lambda p: p.setattr(scaled_by, "__code__", plus.__code__)),
    "no function": (by_a_helper, lambda p: p.delitem(globals(), "scaled_by")),
    "a callable object": (
        by_a_helper, lambda p: p.setitem(globals(), "scaled_by", functools.partial(plus)),
    ),
    "a default": (by_defaults, lambda p: p.setattr(with_defaults, "__defaults__", (3.0, 3))),
    "one default more": (
        by_defaults, lambda p: p.setattr(with_defaults, "__defaults__", (1.0, 3.0, 3)),
    ),
    "no defaults": (by_defaults, lambda p: p.setattr(with_defaults, "__defaults__", None)),
    "a default array": (
        by_defaults, lambda p: p.setitem(with_defaults.__kwdefaults__, "a", np.array([5.0, 6.0])),
    ),
    "a default by name": (
        by_defaults, lambda p: p.setitem(with_defaults.__kwdefaults__, "b", 5.0),
    ),
    "no defaults by name": (
        by_defaults, lambda p: p.setattr(with_defaults, "__kwdefaults__", {"a": SHIFTS}),
    ),
    "a default of a fused one": (
        by_fused_defaults, lambda p: p.setattr(with_defaults, "__defaults__", (3.0, 3)),
    ),
    "a default array of a fused one": (
        by_fused_defaults,
        lambda p: p.setitem(with_defaults.__kwdefaults__, "a", np.array([5.0, 6.0])),
    ),
    "a fused one": (
        by_fused_defaults, lambda p: p.setitem(globals(), "fused_defaults", with_defaults_of_one),
    ),
    "another code in a comprehension": (
        in_a_comprehension, lambda p: p.setattr(with_defaults, "__code__", plus_all.__code__),
    ),
    "another function in a comprehension": (
        in_a_comprehension, lambda p: p.setitem(globals(), "with_defaults", pow),
    ),
    "a global of the helper": (by_a_helper, lambda p: p.setitem(globals(), "K", 7.0)),
    "a global of its module": (
        by_one_of_another_module, lambda p: p.setattr(shifts, "SHIFT", 20.0),
    ),
    "of another type": (
        by_one_of_another_module, lambda p: p.setattr(shifts, "SHIFT", np.float32(20)),
    ),
    "it is gone": (by_one_of_another_module, lambda p: p.delattr(shifts, "SHIFT")),
    "the same name elsewhere": (
        by_one_of_another_module, lambda p: p.setattr(shifts, "shifted", plus_shift),
    ),
    "another module": (
        by_one_of_another_module,
        lambda p: p.setitem(globals(), "shifts", SimpleNamespace(shifted=plus_shift)),
    ),
    "a function by its name": (of_names, lambda p: p.setitem(globals(), "sqrt", np.exp)),
    "an imported function": (by_a_local_import, lambda p: p.setattr("math.sqrt", math.exp)),
    "an imported module": (
        by_a_local_import,
        lambda p: p.setitem(sys.modules, "math", SimpleNamespace(sqrt=math.cos)),  # type: ignore[arg-type]
    ),
}


@fuse
def with_defaults_of_one(v, k=1.0):
    return v * k


def plus(v, k):
    return v + k


def plus_all(v, k, n, *, a, b):
    return v + k + n + a[0] + b


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize("change", REBOUND)
def test_a_helper_means_what_it_means_at_the_call(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, rebind = REBOUND[change]
    x = np.arange(5.0)
    f = whole(function, x)

    def outcome(g: Callable[..., Any]) -> Any:
        try:
            value = g(x)
        except Exception as error:
            return repr(error)
        return np.asarray(value).tolist(), type(value)

    before = outcome(f)
    assert before == outcome(function)
    with monkeypatch.context() as patch:
        rebind(patch)
        wanted = outcome(function)
        assert [outcome(f) for _ in range(3)] == [wanted] * 3
    assert wanted != before
    assert outcome(f) == before


# -- statuses

def test_what_the_kernel_turns_down_is_pythons() -> None:
    x, y = np.ones(5), np.ones(5)
    f = whole(axpy, 2.0, x, y)
    with pytest.raises(IndexError):
        f(2.0, x, y[:3])
    assert y.tolist() == [5.0] * 3 + [3.0] * 2
    f(2.0, x, y)
    assert (f.stats.compiled, f.stats.replays) == (2, {"GUARD_BOUNDS": 1})
    y = np.ones(5000)
    for action, count in (("default", 1), ("always", 5000)):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter(action)
            f(1e308, np.full(5000, 10.0), y)
        assert (len(shown), y.tolist()) == (count, [np.inf] * 5000)
        assert f.stats.compiled == 3


def test_the_error_state_is_that_of_the_call() -> None:
    """What may raise in mid-loop is the wrapper's, which keeps what is overwritten."""
    f = whole(axpy, 2.0, np.ones(3), np.ones(3))
    wanted = [3.0, 1e308, 1.0]
    for _ in range(2):
        y = np.array([1.0, 1e308, 1.0])
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            f(2.0, np.array([1.0, 1e308, 1.0]), y)
        assert y.tolist() == wanted
        y[0] = 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning):
                f(2.0, np.array([1.0, 1e308, 1.0]), y)
        assert y.tolist() == wanted
        f(2.0, np.ones(3), np.ones(3))


# -- objects

CALLS: dict[str, tuple[Any, Callable[[], tuple[Any, ...]], dict[str, Any]]] = {
    "result": (total, lambda: (np.ones(4),), {}),
    "tuple": (first_large, lambda: (np.arange(9.0),), {}),
    "nested": (ends, lambda: (np.arange(9.0),), {}),
    "captured": (looked_up, lambda: (np.ones(8),), {}),
    "written": (axpy, lambda: (2.0, np.ones(4), np.ones(4)), {}),
    "large": (total, lambda: (np.ones(400),), {}),
    "fresh": (doubled, lambda: (np.ones(4), 1), {}),
    "listed": (listed, lambda: (np.ones(4), 1), {}),
    "filled": (filled_some, lambda: (np.arange(4.0), 1), {}),
    "like": (alike, lambda: (np.arange(4.0), 1), {}),
    "keyword": (shifted, lambda: (np.ones(4), np.ones(4)), {"k": 3.0}),
    "helper": (by_a_helper, lambda: (np.arange(4.0),), {}),
    "elsewhere": (by_one_of_another_module, lambda: (np.arange(4.0),), {}),
    "import": (by_a_local_import, lambda: (np.arange(4.0),), {}),
    "copied": (sums_before_a_check, lambda: (np.ones(5), np.arange(5)), {}),
    "silent": (logs, lambda: (np.zeros(3),), {}),
}


@pytest.mark.share(38)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.plain) if n == "elsewhere" else n for n in CALLS]
)
def test_nothing_leaks(name: str) -> None:
    function, make, kwargs = CALLS[name]
    args = make()
    f = whole(function, *args)
    watched = [
        *args, None, True, False, TABLE, 0, "ends", np.dtype("f8"), f, scaled_by, shifts, math,
        sys.modules, shifts.shifted, shifts.shifted.__code__, shifts.SHIFT, K,
    ]

    def state() -> list[int]:
        gc.collect()
        return [*map(sys.getrefcount, watched), sys.getallocatedblocks()]

    def run(times: int) -> None:
        with np.errstate(all="ignore"):
            for _ in range(times):
                f(*args, **kwargs)

    run(100)
    before = state()
    run(4_000)
    assert max(abs(a - b) for a, b in zip(state(), before, strict=True)) < 100


def test_what_is_turned_down_does_not_leak_either(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.ones(8), np.ones(3)
    f = whole(axpy, 2.0, x, x.copy())
    g = whole(looked_up, x)

    def run(times: int) -> None:
        for _ in range(times):
            for call, args in ((f, (2.0, x, y)), (g, (np.ones(9),)), (f, (1,)), (g, (y, y))):
                with pytest.raises((IndexError, TypeError)):
                    call(*args)

    run(20)
    gc.collect()
    before = [sys.getrefcount(o) for o in (x, y, TABLE)]
    run(500)
    gc.collect()
    assert [sys.getrefcount(o) for o in (x, y, TABLE)] == before


def test_a_function_that_is_gone_leaves_nothing() -> None:
    def one(x):
        s = 0.0
        for v in x:
            s += v
        return s

    f = whole(one, np.ones(3))
    gone = weakref.ref(f)
    del f, one
    gc.collect()
    assert gone() is None


def test_threads_that_rebind_while_others_call() -> None:
    """The builtin that runs is let go in mid-call, with the names that it rests on."""
    x, y = np.ones(1000), np.ones(1000, "f4")
    f, wrong, over = whole(total, x), list[float](), threading.Event()

    def call() -> None:
        while not over.is_set():
            if f(x) != 1000.0:
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        f(y)
        f(y)
    over.set()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of the flags are another's")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u2", "i4", "i8", "?"])
def test_what_makes_a_result_raises_no_flags(dtype: str) -> None:
    """The next call would have to clear them, which takes as long as a small fold."""
    libm, harmful = ctypes.CDLL("libm.so.6"), 29
    x = np.ones(16, dtype)
    for function in (total, ends):
        fused = whole(function, x)
        libm.feclearexcept(harmful)
        got = fused(x)
        assert libm.fetestexcept(harmful) == 0, got
