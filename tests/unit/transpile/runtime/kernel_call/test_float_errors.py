"""What is warned of is what Python warns of: in the same words, at the same lines."""
# ruff: noqa: SIM102, B007, B905, F841 (as people write them)
from __future__ import annotations

import contextlib
import itertools
import math
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import written

from loopir.status_bits import STATUS
from targets.isa.target_registry import runnable_targets
from transpile import fuse, ops
from transpile.call_plan import KernelInterface
from transpile.result_spec import NoneResult
from transpile.runtime.kernel_call.float_errors import VerdictCache, judge_recorded, judge_status

pytestmark = pytest.mark.users_flags  # flags raised depend on what GCC moves

TARGETS = [t.name for t in runnable_targets()]
FUNCTIONS: list[Callable[..., Any]] = []
BIG = 1e39


def listed(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(function)
    return function


# -- ufuncs on scalars have words of their own, and say nothing of integers that wrap


@listed
def by_ufunc(x, y):
    return [np.add(a, b) for a, b in zip(x, y)]


@listed
def negated(x, y):
    return [np.negative(v) for v in x], [np.abs(v) for v in y]


@listed
def divided(x, y):
    return [np.floor_divide(a, b) for a, b in zip(x, y)]


@listed
def by_operator(x, y):
    return [a * b for a, b in zip(x, y)]


@listed
def by_bools(x, y):
    return [w // (v > 0) for v, w in zip(x, y)], [2.5 / (v > 1) for v in x]


@listed
def of_bools(x, y):
    return [(v > 0) / w for v, w in zip(x, y)]


# -- what Python computes in the first iteration, and NumPy from then on


@listed
def in_the_first_only(x, y):
    s, t = 1e300, 1e30
    for a, b in zip(x, y):
        s = s * 1e10 + a
        t = t * 1e10 + b
    return s, t


@listed
def from_the_second_on(x, y):
    s, t = 0.1, 3
    for a, b in zip(x, y):
        s = s * 1e30 + a
        t = t * 1000 - b
    return s, t


# -- arithmetic that nothing reads, or not in all cases


@listed
def unread(x, y):
    for i in range(len(x)):
        product = x[i] * y[i]
    return len(x)


@listed
def unread_and_always_the_same(x, y):
    for i in range(2, len(x), 3):
        product = x[0] * y[1]
    return i


@listed
def unread_condition(x, y):
    for a, b in zip(x, y):
        if a <= b / a != a // b:
            pass
    return len(x)


@listed
def unread_branches(x, y):
    for a, b in zip(x, y):
        t = a / b
        if t > 3.0:
            t = -(2.0**2)
        if a * b - a > 0.0:
            u = 1 if np.sqrt(b) > a else 2
    return len(x)


@listed
def last_read(x, y):
    for a, b in zip(x, y):
        product = a * b
    return product


@listed
def read_in_a_branch(x, y):
    s = 0.0
    for a, b in zip(x, y):
        quotient = a / b
        if a > 1:
            s += quotient
    return s


@listed
def both_computed(x, y):
    return np.array([float(np.where(b != 0, a / b, 0.0)) for a, b in zip(x, y)])


@listed
def overwritten(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * y[i]
        out[i] = 1.0
    return out


@listed
def unread_recurrence(x, y):
    t = x[0] / 1.0
    for a in x:
        u = 2.0 - t
        t = u * u / a
    return len(y)


@listed
def unread_sum(x, y):
    s = 0.0
    for a in x:
        s += a * 2.0
    return len(y)


@listed
def returned_in_one_branch(x, y):
    halves = [v / 2 for v in y]
    s = 1.5
    if not len(x) < 60:
        return s
    for _ in range(3):
        for i in range(len(x)):
            s *= x[i]
    return halves


@listed
def returned_by_one_of_two_loops(x, y):
    s, t = 1.5, 0.5
    if y[0] > 3:
        for v in x:
            s = s * v - 0.5
    elif y[0] < 1e300:
        for v in x:
            t = t * v
    if y[0] > 3:
        return s
    return None


@listed
def left_by_what_nobody_asks(x, y):
    for v in y[::-1]:
        if 0.5 / v > len(x):
            break
    for i in range(len(x)):
        t = y[i] * 0.5
        if not t - x[i] < 1e300:
            break
    return len(x)


@listed
def counted_for_nobody(x, y):
    count, best = 0, None
    for v in y:
        if v * -3 >= 2 and (best is None or v / 2 < best):
            best = v
        if v > 0:
            if v - x[0] > 1:
                count += 1
    y[0] = 1
    return len(x)


@listed
def only_where_chosen(x, y):
    return np.array([a / b if b != 0 else 0.0 for a, b in zip(x, y)], dtype=np.float64)


# -- a double that is too large for a float32


@listed
def rounded(x, y):
    return [np.float32(v) for v in x]


@listed
def scaled(x, y):
    return [v * BIG for v in x], sum(v < BIG for v in y)


@listed
def written_then_read(x, y):
    s = 0.0
    for i in range(len(y)):
        y[i] = x[i] * 2
        s += y[i]
    return s


@listed
def recurrence(x, y):
    r = 0.0
    for v in x:
        r = r * v + 1.0
    return r


@listed
def in_place_by_our_functions(x, y):
    for i in range(len(x)):
        x[i] = ops.clamp(ops.sigmoid(y[i] * 1.0) + ops.rsqrt(y[i] * 1.0), 0, 9)
        y[i] = ops.clamp(ops.fma(x[i] * 1.0, 1e30, x[i] * 1.0), 0, 9)


def data(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    if dtype.startswith("f"):
        info = np.finfo(dtype)
        some = [1.0, 0.0, info.max, 2.0, -info.max, np.inf, 3.0, np.nan, 0.5, -0.0]
    else:
        bounds = np.iinfo(dtype)
        some = [1, 0, bounds.max, 2, bounds.min, 3, 5, bounds.max - 1, 1, 7]
    x = np.array(some * 5, dtype)
    return x, np.roll(x, 13)


def warned(function: Callable[..., Any], dtype: str, size: int) -> set[tuple[str, int]]:
    for names in (globals(), getattr(function, "__globals__", {})):
        names.pop("__warningregistry__", None)
    x, y = (a[:size].copy() for a in data(dtype))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            function(x, y)
        except Exception as error:
            return {(repr(error), 0)}
    return {(str(w.message), w.lineno) for w in caught}


@pytest.mark.share(140)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python_warns(function: Callable[..., Any], dtype: str, target: str) -> None:
    fused = fuse(function, target=target, reassociate=False, on_reject="raise")
    for size in (1, 3, 9, 50):
        assert warned(fused, dtype, size) == warned(function, dtype, size), size


def running_sums(x, y):
    s = 0.0
    for i in range(len(x)):
        y[i] = s
        s += x[i]


@pytest.mark.parametrize("target", TARGETS)
def test_running_sums_warn(target: str) -> None:
    """Also where the last of all is the only one to overflow, and nothing reads it."""
    fused = fuse(running_sums, target=target, on_reject="raise")
    for size in (3, 9, 50):
        x = np.zeros(size)
        x[-2:] = 1.5e308
        for function in (fused, running_sums):
            with pytest.warns(RuntimeWarning, match="overflow encountered"):
                function(x, np.zeros(size))


def counted(x, k):
    for i in range(len(k)):
        x[k[i]] += 1


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_full_counts_warn(dtype: str) -> None:
    fused = fuse(counted, on_reject="raise")
    for function in (fused, counted):
        x = np.array([np.iinfo(dtype).max - 1, 0], dtype)
        function(x, np.zeros(1, int))
        with pytest.warns(RuntimeWarning, match="overflow encountered"):
            function(x, np.array([1, 0, 1]))
        assert x.tolist() == [np.iinfo(dtype).min, 2]


# -- where one class of conditions has several sources


def either(x, y):
    for i in range(len(x)):
        y[i] = np.log(x[i]) - np.sqrt(x[i])


def quotients(x, y):
    for i in range(len(x)):
        t = x[i] / x[-1 - i]
        if t > 3.0:
            t = t * t
        y[i] = t * x[0] - t


def whole(x, y):
    y[:] = np.sqrt(x) / np.log(x) * x


def in_turn(function: Callable[..., Any], inputs: list[np.ndarray]) -> list[Any]:
    """The warnings of each call, in their order, and what it wrote."""
    shown: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for x in inputs:
            y = np.zeros_like(x)
            function(x, y)
            shown.append(([(str(w.message), w.lineno) for w in caught], y))
            caught.clear()
    return shown


def test_a_strict_condition_is_pythons_whoever_judges() -> None:
    """It may have raised an error, whatever ``np.errstate`` says."""
    interface = KernelInterface(
        params=(), guards=(), in_place=(), strict=("over",), bindings=(), returned=NoneResult(),
        identity_guards=(), constant_arguments=(), class_guards=(), writes=(), rewrites=False,
        snapshot=False, copied_up_to=0, sources=(),
        raised_order="told",
    )
    known = VerdictCache()
    with np.errstate(all="ignore"):
        for status in (STATUS["over"], STATUS["over"] | STATUS["invalid"]):
            code = judge_status(interface, either, status, can_replay=True, known=known)
            assert code == "GUARD_FLOAT_STATUS"
            code = judge_recorded(interface, either, status, np.zeros(1, int), known=known)
            assert code == "GUARD_FLOAT_STATUS"
        invalid = STATUS["invalid"]
        assert judge_status(interface, either, invalid, can_replay=True, known=known) is None
        assert judge_recorded(interface, either, invalid, np.zeros(1, int), known=known) is None


# -- what overwrites what it reads


def divergence(x, y):
    for i in range(len(x)):
        x[i] += 1e-11
        y[i] += 1e-11
    k = 0.0
    for i in range(len(x)):
        k += x[i] * np.log(x[i] / y[i])
    return k


def means_of_neighbours(x, y):
    for i in range(1, len(x)):
        n = 0
        for j in range(1, min(len(y), 9)):
            if y[j] < 3:
                n += 1
                x[i] += x[j - 1]
        x[i] /= n - 1


def softened(x, y):
    for i in range(len(x)):
        y[i] = np.exp(x[i]) / (1.0 - x[i] * x[i])


def scaled_and_moved(x, y):
    for i in range(len(x)):
        x[i] = x[i] * 1e200 / y[i] - y[i]


@pytest.mark.share(4, each="function")
@pytest.mark.parametrize("action", ["default", "once", "module", "always", "error"])
@pytest.mark.parametrize(
    "function", [divergence, means_of_neighbours, softened, scaled_and_moved],
    ids=lambda f: f.__name__,
)
def test_what_is_overwritten_is_copied_first(function: Callable[..., Any], action: Any) -> None:
    """Where many copies are dear, the words may be another operation's, unless each shows."""
    fused, rng = fuse(function), np.random.default_rng(5)
    nasty = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, -1e200, 1.0, 2.0, -3.0, 0.5]
    for n in (1, 9, 40, 5000, 40, 3):
        x, y = rng.choice(nasty, n), rng.choice(nasty, n)
        for same in (False, True):
            theirs = warned_of(function, action, x, x if same else y)
            ours = warned_of(fused, action, x, x if same else y)
            if function is not scaled_and_moved or n < 4000 or action in ("always", "error"):
                assert ours[:2] == theirs[:2]
            np.testing.assert_allclose(ours[2:], theirs[2:], rtol=1e-15)
    assert warned_of(fused, action, np.ones(3) / 2, np.ones(3))[0] == []
    assert fused.stats.compiled


def warned_of(function: Callable[..., Any], action: Any, x: Any, y: Any) -> Any:
    """The warnings of a call as if it were the first; its answer; what it leaves behind."""
    globals().pop("__warningregistry__", None)
    own = x.copy()
    x, y = own, own if y is x else y.copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        try:
            answer = function(x, y)
        except RuntimeWarning as e:
            answer = str(e)
    return [(str(w.message), w.lineno) for w in caught], repr(answer), x, y


@pytest.mark.share(12)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [either, quotients, whole], ids=lambda f: f.__name__)
def test_a_second_kernel_tells_what_raised(function: Callable[..., Any], target: str) -> None:
    rng = np.random.default_rng(3)
    nasty = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, -1e200, 1.0]
    inputs = [rng.choice([*nasty, 2.0, -3.0, 0.5], n) for n in (1, 7, 40, 3, 5, 60, 60, 60)]
    fused = fuse(function, target=target)
    in_turn(fused, inputs)  # what is compiled here does not start the filters anew below
    before = fused.stats.compiled
    globals().pop("__warningregistry__", None)
    ours = in_turn(fused, inputs)
    globals().pop("__warningregistry__", None)
    theirs = in_turn(function, inputs)
    assert [w for w, _ in ours] == [w for w, _ in theirs]
    for (_, mine), (_, yours) in zip(ours, theirs):
        np.testing.assert_allclose(mine, yours, rtol=1e-14)
    assert fused.stats.compiled - before >= len(inputs) - 2



def scaled_where_small(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 1e300 + x[i] * x[i] if x[i] < 5 else -x[i]


@pytest.mark.parametrize("mode", ["raise", "call"])
def test_a_value_that_is_not_used_raises_nothing(mode: Any) -> None:
    """Both sides of a conditional are computed: the second kernel tells that the other one raised.
    """
    fused, calls = fuse(scaled_where_small), list[Any]()
    x = np.array([1.0, 1e200, 3.0] * 40)
    with np.errstate(over=mode, invalid="ignore", call=lambda *given: calls.append(given)):
        for n in range(6):
            y, expected = np.zeros((2, 120))
            fused(x, y)
            scaled_where_small(x, expected)
            assert np.array_equal(y, expected)
            assert n < 1 or fused.stats.replays == {"GUARD_ERRSTATE": 1}
        assert not calls
        x[7], y[:] = -1e200, 0  # whose square overflows
        if mode == "raise":
            with pytest.raises(FloatingPointError, match="overflow encountered in scalar multiply"):
                fused(x, y)
            assert y[6]
            assert not y[7]  # it stays as Python leaves it
        else:
            fused(x, y)
            assert calls == [("overflow", 2)] * 2


def halved(x, y):
    for i in range(len(x)):
        y[i] = x[i] / x[-1 - i] * 0.5 + x[i] / x[0]


def test_underflow_is_python_s_to_tell() -> None:
    x = np.full(9, 1e-150)
    x[2] = 1e200
    fused = fuse(halved)
    for function in (fused, fused, fused, halved):
        with np.errstate(under="warn", over="ignore"), pytest.warns(RuntimeWarning) as caught:
            function(x, np.ones(9))
        assert {str(w.message) for w in caught} == {"underflow encountered in scalar divide"}


def halved_in_place(x, a, b):
    product = 0.0
    for i in range(len(x)):
        x[i] = x[i] * 0.5
        product = product + a * b  # Python's floats, of which nobody warns
    return product


def test_underflow_of_the_side_that_is_not_taken_is_silent() -> None:
    def scaled(x: Any, out: Any) -> None:
        for i in range(len(x)):
            if x[i] > 1e-300:
                out[i] = x[i] * 1e-10
            else:
                out[i] = (x[i] - 1.0) / 3.0

    fused = fuse(scaled, on_reject="raise")
    fused(np.ones(40), np.empty(40))
    for least in (1.0, 1e-305, 1e-299):    # neither side underflows; the other one; the one taken
        for mode in ("ignore", "warn", "raise"):
            outcomes = []
            for f in (scaled, fused):
                out = np.zeros(40)
                with np.errstate(under=mode), warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        f(np.full(40, least), out)
                    except FloatingPointError as error:
                        outcomes.append([str(error)])
                        continue
                outcomes.append([{str(w.message) for w in caught}, *out.tolist()])
            assert outcomes[0] == outcomes[1], (least, mode)


def test_underflow_of_python_s_floats_shows_no_warning() -> None:
    fused = fuse(halved_in_place)
    x = np.ones(100_000)  # more than is copied for other conditions
    for function in (fused, fused, fused, halved_in_place):
        with np.errstate(under="warn"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            assert function(x, 1e-200, 1e-200) == 0.0
        assert caught == []
    assert (x == 0.5**4).all()
    assert fused.stats.replays == {"GUARD_FLOAT_STATUS": 3}  # the kernel ran, and was replayed
    assert fused(x, 2.0, 3.0) == 6.0 * len(x)
    assert fused.stats.compiled == 1


def hashed(x: np.ndarray) -> Any:
    h = np.uint32(1)
    for v in x:
        h = (h ^ v) * np.uint32(16777619)
    return h


MOODS: tuple[Callable[[], None], ...] = (
    lambda: None,
    lambda: None,
    lambda: warnings.simplefilter("ignore"),
    lambda: warnings.simplefilter("default"),
    lambda: warnings.filterwarnings("ignore", "overflow .* scalar"),
    lambda: warnings.filters.pop(0),
    lambda: warnings.simplefilter("always"),
    lambda: warnings.resetwarnings(),
    lambda: warnings.simplefilter("error"),
    lambda: warnings.simplefilter("once"),
    lambda: warnings.simplefilter("module"),
    lambda: HERE.update(__name__="elsewhere"),
    lambda: warnings.filterwarnings("error", module="elsewhere"),
    lambda: HERE.update(__name__=__name__),
    lambda: HERE.update(__name__="elsewhere"),
)
HERE = globals()
STATES = ({}, {"over": "ignore"}, {"over": "raise"}, {"invalid": "raise"}, {"all": "warn"}, {})


def in_moods(function: Callable[..., Any]) -> list[Any]:
    """What each call comes to, and warns of, while filters and error states change."""
    seen: list[Any] = []
    name = HERE["__name__"]
    registry = HERE.setdefault("__warningregistry__", {})
    registry.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for change, (k, state) in itertools.product(MOODS, enumerate(STATES)):
            if k == 0:
                change()
            with np.errstate(**state) if state else contextlib.nullcontext():
                try:
                    got = function(np.arange(9, dtype=np.uint32))
                except (FloatingPointError, RuntimeWarning) as error:
                    got = repr(error)
            shown = [(str(w.message), w.lineno) for w in caught]
            seen.append((got, shown, sorted(repr(k) for k in registry if k != "version")))
            caught.clear()
    HERE["__name__"] = name
    return seen


def test_what_a_warning_comes_to_follows_filters_and_error_states() -> None:
    fused = fuse(hashed)
    with np.errstate(over="ignore"):
        fused(np.arange(9, dtype=np.uint32))
    assert in_moods(fused) == in_moods(hashed)
    assert fused.stats.compiled > 40


def accumulated(x):
    return np.add.accumulate(x)


def products_of_matrices(x):
    X = x.reshape(3, 3)
    return X @ X.T, np.dot(X, X[0]), np.einsum("ij,kj->ik", X, X)


def products_of_vectors(x):
    return np.dot(x, x), np.inner(x, x), np.vdot(x, x), np.outer(x, x), np.linalg.norm(x)


def slid(x):
    return np.convolve(x, x[:3]), np.correlate(x, x)


def weighed(x):
    return np.bincount(np.array([0, 1, 1, 0, 2, 2, 2, 1, 0]), weights=x, minlength=3)


def between(x):
    return np.interp(x, x[::-1], x)


FOLDS = (
    np.sum, np.prod, np.mean, np.cumsum, np.cumprod, accumulated, products_of_matrices,
    products_of_vectors, slid, weighed, between,
)


@pytest.mark.share(12)
@pytest.mark.parametrize("fold", FOLDS, ids=lambda f: f.__name__)
def test_folds_warn_in_their_own_words(fold: Callable[..., Any]) -> None:
    """Call after call, where each place warns once."""

    def folded(x):
        return fold(x)

    fused = fuse(folded, on_reject="silent")
    for x in (np.full(9, 1e308), np.array([np.inf, -np.inf] * 9)[:9]):
        told = []
        for f in (folded, fused, fused, fused):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("default")
                f(x)
            told.append([str(w.message) for w in seen])
            globals().pop("__warningregistry__", None)
        assert told == [told[0]] * 4
    assert fused.stats.replays.keys() <= {"GUARD_FLOAT_STATUS"}  # else compiled


def differences(x, a, b):
    return x[0] - 1.0, a - b, x[1] + (a - b > 1)


def products(x, a, b):
    s = 0.0
    for v in x:
        s += v * (a * b)
    return s, a * b


def quotients_of_python(x, a, b):
    big = [v for v in x if a // b >= 1]
    return len(big), [v // 2 for v in x]


def chosen(x, a, b):
    s = x[0] if a - b > 1 else x[1]
    return s - 2.0


def powers(x, a, b):
    return x[0] ** b if b < 400 else x[0] - b, a**2 if abs(a) < 1e100 else a - b


SILENT = (differences, products, quotients_of_python, chosen, powers)


@pytest.mark.parametrize("function", SILENT, ids=lambda f: f.__name__)
def test_what_python_s_floats_do_is_not_told_of_numpy_s(function: Callable[..., Any]) -> None:
    """Where both may raise the same status, and only Python's, which say nothing, have."""
    fused = fuse(function, on_reject="silent", reassociate=False)
    numbers = [math.inf, -math.inf, math.nan, 0.0, 2.0, 1e308, 5e-324]
    silently = 0
    for a, b in itertools.product(numbers, numbers):
        told = []
        for f in (function, fused):
            globals().pop("__warningregistry__", None)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("default")
                try:
                    got = repr(f(np.array([1.0, 2.0, -3.0]), a, b))
                except (ZeroDivisionError, OverflowError) as error:
                    got = repr(error)
            told.append((got, sorted((str(w.message), w.lineno) for w in seen)))
        assert told[0] == told[1], (a, b)
        silently += not told[0][1]
    assert silently
    assert fused.stats.compiled > 20


def chosen_and_converted(x, y):
    for i in range(len(y)):
        for j in range(len(x)):
            x[j] = max((y[i] + 1) * 0.5, y[1])


@pytest.mark.share(4, each="dtype")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["u1", "u4", "u8"])
def test_what_is_not_chosen_is_not_converted(dtype: str, target: str) -> None:
    """It would not fit: a C compiler must not convert first, and choose then."""
    y = np.array([-20, 100, -5, -7, -8, -9, -100], "i1")
    x = np.zeros(7, dtype)
    fused = fuse(chosen_and_converted, target=target, on_reject="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fused(x, y)
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert warned_of(fused, "default", x, y)[0] == []
    assert (x == 100).all()
    assert fused.stats.compiled == 2


UNCHOSEN = (
    "k % v", "v // w", "v / w", "v % k", "v ** 2", "v ** -1.5", "v ** 0.5", "v ** w", "v ** 3",
    "v * v", "v - w", "v + w", "np.sqrt(v)", "np.log(v)", "np.exp(v)", "1 / v",
    "np.float32(v * 1e30)", "np.arcsin(v)", "divmod(v, w)[0]", "np.hypot(v, w)", "np.square(v)",
    "np.reciprocal(v)", "np.expm1(v)", "np.power(v, w)", "np.floor_divide(w, v)", "np.tan(v)",
    "np.log1p(v)", "np.float16(v)", "np.fmod(v, w)", "np.remainder(w, v)", "np.sinh(v)",
    "round(v, 2)", "np.arctan2(v, w)", "v * w + v", "np.cbrt(v)", "np.maximum(v / w, v)",
)
CHOOSING = (
    "s = {} if y[i] > 5 else s", "if y[i] > 5:\n            s = {}",
    "x[i] = {} if y[i] > 5 else x[i]",
)


@pytest.mark.share(172)
@pytest.mark.parametrize("target", [TARGETS[0], TARGETS[-1]])
@pytest.mark.parametrize("choosing", CHOOSING)
@pytest.mark.parametrize("text", UNCHOSEN)
def test_what_is_not_chosen_warns_of_nothing(
    text: str, choosing: str, target: str, tmp_path: Path
) -> None:
    head = "import numpy as np\ndef f(x, y, k):\n    s = x[0]\n    for i in range(len(x)):\n"
    lines = f"        v, w = x[i], x[i - 1]\n        {choosing.format(text)}\n    return s\n"
    fused = fuse(written(tmp_path, head + lines).f, target=target)
    for dtype in ("f2", "f4", "f8"):
        most = np.finfo(dtype).max
        x = np.array([1, 0, np.inf, -1, np.nan, -np.inf, -0.0, most, 1e-7, most], dtype)
        for action in ("default", "error"):
            fused.__wrapped__.__globals__.pop("__warningregistry__", None)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter(action)
                fused(x.copy(), np.zeros(10), -5)
            assert not caught, (dtype, str(caught[0].message))
    assert fused.stats.compiled or fused.stats.replays.keys() <= {"GUARD_FLOAT_STATUS"}


SUMS = "s * -3|s * 3|s * -1|s + s|s * s|-s|s - t|s + t|s * t|s * 7 + s|abs(s)|s - (-5)|s + 1"


@pytest.mark.share(32)
@pytest.mark.parametrize("dtype", ["i8", "i4", "u1", "u8", "i1"])
@pytest.mark.parametrize("text", SUMS.split("|"))
def test_overflows_of_numbers_that_are_given(text: str, dtype: str, tmp_path: Path) -> None:
    """As arguments, as elements, and in the condition of a loop that does little."""
    functions = [
        written(tmp_path, f"def f(x, s, t):\n    {line}\n").f for line in (
            f"return {text}",
            f"s, t = x[0], x[1]\n    return {text}",
            f"k = 3\n    while k > 0 and 1 > ({text}):\n        k = k - 1\n    return k",
        )
    ]
    ends = np.iinfo(dtype)
    numbers = [ends.max, ends.min, ends.max // 2 + 1, ends.max // 3 + 1, 3]
    for function in functions:
        fused = fuse(function, on_reject="silent")
        for s, t in itertools.product(numbers, [ends.max, ends.min, 3]):
            told = []
            x = np.array([s, t], dtype)
            for f in (function, fused):
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    try:
                        got = repr(f(x, x[0], x[1]))
                    except OverflowError as error:
                        got = repr(error)
                told.append((got, [str(w.message) for w in seen]))
            assert told[0] == told[1], (s, t)
        refused = "(-" in text or "* -" in text
        assert fused.stats.compiled or (refused and dtype[0] == "u")


KINDS: tuple[Any, ...] = (
    int, float, np.int8, np.int32, np.uint8, np.uint64, np.float32, np.float64,
)
EXTREMES = (0, 1, -3, 1 << 40, 1e308)


@pytest.mark.share(12)
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("operator", ["+", "*", "/", "%", "**"])
def test_operators_of_two_types_warn_as_numpy_does(
    operator: str, part: int, tmp_path: Path, start: int, request: pytest.FixtureRequest
) -> None:
    """One that has to convert both numbers is that of arrays."""
    pairs = [*itertools.product(KINDS, KINDS)]
    if not request.config.getoption("--long"):
        pairs = random.Random(start).sample(pairs, 24)
    function = written(tmp_path, f"def f(a, b):\n    return a {operator} b\n").f
    fused = fuse(function, on_reject="silent")
    pairs = [(p, q) for p, q in pairs if not {p, q} <= {int, float}][part::2]
    for p, q in pairs:
        for a, b in itertools.product(EXTREMES, EXTREMES):
            with np.errstate(all="ignore"):
                numbers = [np.array([n]).astype(t)[0] if t not in (int, float) else t(n)
                           for t, n in ((p, a), (q, b))]
            told = []
            for f in (function, fused, fused, fused):
                function.__globals__.pop("__warningregistry__", None)
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("default")
                    try:
                        got = repr(f(*numbers))
                    except (OverflowError, ValueError, ZeroDivisionError) as error:
                        got = repr(error)
                told.append((got, sorted(str(w.message) for w in seen)))
            assert told == [told[0]] * 4, numbers
    assert fused.stats.compiled > len(pairs) / 2


NAMED = ("np.reciprocal(x)", "np.float_power(x, 0.3)", "np.degrees(x)", "np.rad2deg(x)", "x ** -1",
         "x ** -1.0", "x ** 2", "x ** 2.0", "x ** 0.5", "x ** -2", "np.square(x)", "np.sinc(x)",
         "np.radians(x)", "np.fmod(x, 0)", "np.power(x, -1)", "x ** 3", "np.deg2rad(x)")


@pytest.mark.share(6, each="e")
@pytest.mark.parametrize("form", ["return {e}", "return x + {e}",
                                  "y = np.zeros_like(x)\n    y[:] = {e}\n    return y"])
@pytest.mark.parametrize("e", NAMED)
def test_warnings_in_numpys_words(form: str, e: str, tmp_path: Path) -> None:
    """As it computes them: formulas of ours have others."""
    f = written(tmp_path, f"import numpy as np\ndef f(x):\n    {form.format(e=e)}\n").f
    g = fuse(f, on_reject="silent")
    for numbers in ([0.0, 1.0], [-1.0, 2.0], [1e308, 2.0], [5e-324, 1.0]):
        x = np.array(numbers)
        said = []
        for function in (f, g, g):
            f.__globals__.pop("__warningregistry__", None)
            with warnings.catch_warnings(record=True) as caught, np.errstate(under="ignore"):
                warnings.simplefilter("default")
                function(x)
            said.append([str(w.message) for w in caught])
        assert said[1] == said[0] == said[2], numbers


def shifted_logs(x, shift, out):
    for i in range(len(x)):
        out[i] = np.log(x[i] - shift) / x[i]
    return out


_FILTERS: tuple[tuple[Any, ...], ...] = (
    ("ignore",), ("ignore", ".* in log"), ("ignore", ".* in divide"), ("default",), ("always",),
    ("error",), ("error", ".* in divide"),
)
_STATES: tuple[dict[str, Any], ...] = (
    {}, {"all": "ignore"}, {"divide": "raise"}, {"invalid": "call"},
)


def outcome_in_place(function: Callable[..., Any], x: np.ndarray) -> tuple[Any, ...]:
    """The error that a call raises, what it writes, and the warnings that are shown, under the
    filters as they are.
    """
    out, shown, error = np.zeros(len(x)), list[tuple[str, int]](), None

    def note(message: Any, category: Any, path: str, line: int, *others: Any) -> None:
        shown.append((str(message), line))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warnings, "showwarning", note)
        try:
            function(x, 1.0, out)
        except (RuntimeWarning, FloatingPointError) as e:
            error = str(e)
    out[np.isnan(out)] = np.nan  # its sign is that of the C library, or of the vectors, at hand
    return error, out.tobytes(), shown


@pytest.mark.parametrize("seed", range(3))
def test_a_change_of_filters_and_states_is_noticed_at_the_next_call(seed: int) -> None:
    """Statuses without effect are not looked at in Python again, as long as both stay the same."""
    rng = np.random.default_rng(seed)
    fused = fuse(shifted_logs)
    inputs = [np.array([2.0, 3.0, 5.0]), np.array([0.5, 2.0, 0.0]), np.array([1.0, 1.0])]
    called: list[str] = []
    for _ in range(40):
        state = {"call": lambda kind, flag: called.append(kind)}
        kind, options = _FILTERS[rng.integers(len(_FILTERS))], _STATES[rng.integers(len(_STATES))]
        with warnings.catch_warnings(), np.errstate(**state, **options):
            warnings.filterwarnings(*kind)
            for k in rng.integers(len(inputs), size=4):
                results = []
                for f in (shifted_logs, fused):
                    called.clear()
                    globals().pop("__warningregistry__", None)
                    results.append((*outcome_in_place(f, inputs[k]), [*called]))
                assert results[0] == results[1], (kind, options, k)
    assert fused.stats.compiled > 40


def squared_floats(x):
    return [v * v for v in x]


def squared_where_small(x):
    return [v * v if abs(v) < 10 else 3.0 for v in x]


def squared_elements(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * x[i] if abs(x[i]) < 10 else 3.0
    return out


def sums_where_small(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * 1e20 - x[i] / 1e-20 if abs(x[i]) < 10 else x[i]
    return out


@pytest.mark.parametrize(
    ("function", "replays"),
    [(squared_floats, 0), (squared_where_small, 0), (squared_elements, 1), (sums_where_small, 1)],
)
@pytest.mark.parametrize("target", ["auto", "scalar"])
def test_flags_of_which_nobody_warns(function: Any, replays: int, target: Any) -> None:
    """Python's float arithmetic overflows silently, and so does a value that is not used. Of the
    latter a second kernel knows, which computes such values with other operands.
    """
    numbers = [1.0, -3.5, 1e300, -1e300, 2.0] * 9
    x = np.array(numbers) if replays else numbers
    f = fuse(function, target=target)
    for shown in ("default", "error"):
        for over in ("warn",) if replays else ("warn", "raise"):
            with np.errstate(over=over), warnings.catch_warnings():
                warnings.simplefilter(shown)  # type: ignore[arg-type]  # one of its words
                for _ in range(3):
                    assert np.array_equal(f(x), function(x))
    assert f.stats.compiled == (5 if replays else 12)
    assert sum(f.stats.replays.values()) == replays
