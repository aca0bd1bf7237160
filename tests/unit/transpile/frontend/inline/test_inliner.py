"""Inlined calls: what helpers know is read at each call, and what they raise is Python's own."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome

from transpile import Fused, fuse
from transpile.diagnostics import HelperLine
from transpile.errors import FuseError
from transpile.frontend.macros import macro_patterns

X = np.array([0.5, 2.0, -3.0, 1.5])
FACTOR = 2.0


def scaled(v):
    return v * FACTOR


def uses_it(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = scaled(x[i])
    return out


def tripled(v):
    return v * 3


def raised(fused: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(FuseError) as e:
        fused(*args)
    return str(e.value)


def same(function: Callable[..., Any], *cases: tuple[Any, ...]) -> Fused:
    """`function` gives Python's answer for each case."""
    fused = fuse(function)
    for k, args in enumerate(cases):
        copies = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
        assert_same(outcome(fused, args), outcome(function, copies), f"case {k}")
    return fused


# -- what helpers are

@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setitem(globals(), "scaled", tripled),
        lambda patch: patch.setitem(globals(), "FACTOR", 7),
        lambda patch: patch.setitem(globals(), "FACTOR", np.float32(0.5)),
        lambda patch: patch.setattr(scaled, "__code__", tripled.__code__),
        lambda patch: patch.delitem(globals(), "FACTOR"),
        lambda patch: patch.delitem(globals(), "scaled"),
        lambda patch: patch.setitem(globals(), "scaled", fuse(tripled)),
        lambda patch: patch.setitem(globals(), "scaled", abs),
    ],
    ids=["helper", "global", "its type", "code", "no global", "no helper", "fused", "builtin"],
)
def test_what_changes_between_calls_is_noticed(
    change: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = same(uses_it, (X,))
    with monkeypatch.context() as patch:
        change(patch)
        for _ in range(3):
            assert_same(outcome(fused, (X,)), outcome(uses_it, (X,)), "changed")
    assert_same(outcome(fused, (X,)), outcome(uses_it, (X,)), "as it was")
    assert fused.stats.compiled >= 2


def test_names_of_another_module_are_read_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from run import helped
    from run.helpers import names_of_another_module

    fused = fuse(names_of_another_module)
    fused(X, np.zeros(4))
    changes: list[tuple[str, Any]] = [
        ("SCALE", 4.0), ("FEW", 0.5), ("abs", math.floor), ("_inner", tripled), ("numpy", math)
    ]
    for name, value in changes:
        with monkeypatch.context() as patch:
            patch.setitem(vars(helped), name, value)
            for _ in range(2):
                wanted = outcome(names_of_another_module, (X, np.zeros(4)))
                assert_same(outcome(fused, (X, np.zeros(4))), wanted, name)
    assert fused.stats.compiled >= 4


def test_defaults_are_those_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def power_of(v, p=2, *, by=1.0):
        return v ** p * by

    def powers(x):
        return [power_of(v) for v in x]

    fused = same(powers, (X,))
    monkeypatch.setattr(power_of, "__defaults__", (3,))
    same(powers, (X,))
    assert_same(outcome(fused, (X,)), outcome(powers, (X,)), "defaults")
    power_of.__kwdefaults__["by"] = 5
    assert_same(outcome(fused, (X,)), outcome(powers, (X,)), "keyword defaults")
    monkeypatch.setattr(power_of, "__defaults__", ())
    assert outcome(fused, (X,)).error == outcome(powers, (X,)).error


def test_a_cell_is_read_at_each_call() -> None:
    k = 2.0

    def by_k(v):
        return v * k

    def times(x):
        return [by_k(v) for v in x]

    fused = same(times, (X,))
    for k in (3.0, 4, np.float32(0.1), 2.0):  # noqa: B007  # the cell's value
        assert_same(outcome(fused, (X,)), outcome(times, (X,)), "cell")
    assert fused.stats.compiled == 4


# -- functions as arguments

def applied(f, x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = f(x[i])
    return out


def _adds(k: float) -> Callable[[float], float]:
    return lambda v: v + k


def test_each_function_is_a_signature() -> None:
    functions = [tripled, scaled, np.sqrt, abs, math.floor, fuse(tripled), np.float32, len, "no"]
    fused = same(applied, *((f, np.abs(X)) for f in functions), (tripled, X), (np.sqrt, X[:2]))
    assert len(fused.signatures) == len(functions)
    assert fused.stats.compiled == 9


def test_closures_of_one_lambda_are_one_signature() -> None:
    fused = same(applied, *((_adds(k), X) for k in (1.0, 2.0, 3.0, 4, 5, np.float32(1), 7.0)))
    assert len(fused.signatures) == 1
    assert fused.stats.compiled >= 5


def test_lambdas_that_hold_lambdas() -> None:
    made = lambda: (lambda v: v * 3, X)  # noqa: E731
    outer = lambda v: (lambda v: v * 3)(v) + 1  # noqa: E731
    fused = same(applied, made(), (outer, X), ((lambda v: lambda v: v + 2)(0), X))
    assert fused.stats.compiled == 3


def test_many_functions_choose_no_code() -> None:
    texts = [f"def f(v): return v * {k} + {k % 7}" for k in range(40)]
    fused = fuse(applied, on_reject="silent")
    for k, text in enumerate(texts):
        names: dict[str, Any] = {}
        exec(text, names)
        assert fused(names["f"], X).tolist() == [v * k + k % 7 for v in X.tolist()]
    assert len(fused.signatures) < 40


# -- what they raise, and where

def checked(v, low):
    if v < low:
        raise ValueError(f"{v} is below {low}")
    assert v < 100, "too large"
    return v - low


def checks(x, low, out):
    for i in range(len(x)):
        out[i] = checked(x[i], low)
    return out


def test_exceptions_are_those_of_python() -> None:
    at = np.array([1.0, 2.0, 0.5, 3.0])
    large = np.array([1.0, 200.0])
    same(checks, (at, 0.0, np.zeros(4)), (at, 1.0, np.zeros(4)), (large, 0.0, np.zeros(2)))


def divided(a, b):
    t = a / b
    return t + 1


def warns(x, y, out):
    for i in range(len(x)):
        out[i] = divided(x[i], y[i])


@pytest.mark.parametrize("action", ["always", "default", "error", "module"])
def test_warnings_name_the_line_of_the_helper(action: str) -> None:
    y = np.array([1.0, 0.0, 2.0, 0.0])

    def seen(function: Callable[..., Any]) -> list[Any]:
        found = []
        for _ in range(3):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter(action)  # type: ignore[arg-type]  # one of them
                outcome(function, (X, y, np.zeros(4)))
            found.append([(w.filename, w.lineno, str(w.message), w.category) for w in caught])
        return found

    globals().pop("__warningregistry__", None)
    wanted = seen(warns)
    globals().pop("__warningregistry__", None)
    assert seen(fuse(warns)) == wanted


# -- what is refused

def countdown(n):
    return 0 if n <= 0 else 1 + countdown(n - 1)


def unset(v):
    if v > 0:
        t = v
    return t


def generated(v):
    yield v


def starred(*args):
    return args[0]


def keyed(**kwargs):
    return 1.0


def ten_sums(v):
    return v + v + v + v + v + v + v + v + v + v + v


def hundred_sums(v):
    v = ten_sums(ten_sums(ten_sums(ten_sums(ten_sums(v)))))
    return ten_sums(ten_sums(ten_sums(ten_sums(ten_sums(v)))))


def thousand_sums(v):
    v = hundred_sums(hundred_sums(hundred_sums(hundred_sums(hundred_sums(v)))))
    v = hundred_sums(hundred_sums(hundred_sums(hundred_sums(hundred_sums(v)))))
    return hundred_sums(hundred_sums(hundred_sums(hundred_sums(hundred_sums(v)))))


def wider(v, n):
    """Each call stands for three: 3**24 in all, were none of them too many."""
    if v > n:
        return v
    return wider(v + 1, n) + wider(v + 2, n) + wider(v + 3, n)


def _refused() -> Iterator[Any]:
    def recursion(x):
        for i in range(len(x)):
            x[i] = countdown(int(x[i]))

    yield recursion, "LOWER_RECURSION", "countdown"

    def endless(x):
        for i in range(len(x)):
            x[i] = wider(x[i], len(x))

    yield endless, "LOWER_RECURSION", "wider"

    def too_much_code(x):
        for i in range(len(x)):
            x[i] = thousand_sums(thousand_sums(thousand_sums(x[i])))

    yield too_much_code, "BUDGET_EXCEEDED", "exceeds its budget of inlined code"

    def stale(x):
        for i in range(len(x)):
            x[i] = unset(x[i])

    yield stale, "LOWER_CALL", "may have no value"

    def of_a_generator(x):
        for i in range(len(x)):
            x[i] = generated(x[i])

    yield of_a_generator, "LOWER_CALL", "is a generator or a coroutine"

    def wrong_arguments(x):
        for i in range(len(x)):
            x[i] = tripled(x[i], 2)

    yield wrong_arguments, "LOWER_CALL", "does not take these arguments"

    def with_keys(x):
        for i in range(len(x)):
            x[i] = keyed(a=x[i])

    yield with_keys, "LOWER_CALL", "takes `**kwargs`"

    compiled = types.SimpleNamespace(f=tripled)

    def of_an_object(x):
        for i in range(len(x)):
            x[i] = compiled.f(x[i])

    yield of_an_object, "LOWER_CALL", "the method `f` is not compiled here"


@pytest.mark.parametrize(("function", "code", "said"), [*_refused()], ids=lambda v: str(v)[:20])
def test_what_cannot_be_inlined_is_named(function: Any, code: str, said: str) -> None:
    message = raised(fuse(function, on_reject="raise"), X.copy())
    assert code in message
    assert said in message
    fused = fuse(function, on_reject="silent")
    x, y = np.array([2.0, 1.0]), np.array([2.0, 1.0])
    assert_same(outcome(fused, (x,)), outcome(function, (y,)), code)
    x, y = np.array([2.0, -1.0]), np.array([2.0, -1.0])
    assert_same(outcome(fused, (x,)), outcome(function, (y,)), code)


def test_a_refusal_tells_the_line_of_the_helper() -> None:
    def text_of(v):
        t = 1 + int(f"{v}")
        return t * 2

    def texts(x):
        total = 0
        for v in x:
            total += text_of(v)
        return total

    (rejection, *_) = fuse(texts, on_reject="silent").report(X).rejections
    assert rejection.line == texts.__code__.co_firstlineno + 3
    line = text_of.__code__.co_firstlineno + 1
    assert rejection.helper == HelperLine("text_of", __file__, line)
    assert rejection.note == f"in `text_of`, {__file__}:{line}"


def test_what_no_call_comes_to_is_not_refused() -> None:
    def told(v, why=None):
        if why is not None:
            print(why, keyed(a=v))
        return v

    def quiet(x):
        return [told(v) for v in x]

    assert same(quiet, (X,)).stats.compiled == 1


def test_a_macro_of_the_users_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    import ast

    def doubled_is_a_sum(node: ast.AST, cx: Any) -> ast.expr | None:
        match node:
            case ast.Call(func=ast.Name(id="tripled"), args=[a]):
                return cx.expr("A + A + A", A=a)
        return None

    def triples(x):
        return [tripled(v) for v in x]

    monkeypatch.setattr(macro_patterns, "_registered", [doubled_is_a_sum])
    fused = same(triples, (X,))
    assert "+" in fused.emit("python", X)


# -- order and names

def test_a_name_is_not_what_it_was_in_the_call_before() -> None:
    def maybe(v):
        t = 0.0
        for k in range(int(v)):
            t = t + k
        return t

    def sums(x):
        return [maybe(v) for v in x]

    assert same(sums, (np.array([3.0, 0.0, 2.0, 0.0]),)).stats.compiled == 1


def test_arguments_are_evaluated_once_and_in_order() -> None:
    def pair(b, a, c=1.0):
        return (a - b * 10) * c + a

    def pairs(x, log):
        total = 0.0
        k = 0
        for i in range(len(x)):
            total += pair(a=(k := k + 1), b=x[i] * k) + pair(k, (k := k + 2), c=k)
            log[i] = pair(log[i], k) * k
        return total, k

    same(pairs, (X.copy(), np.zeros(4)))


def test_locals_of_helpers_do_not_meet() -> None:
    def inner(x, i):
        out = x + i
        i = out * 2
        return i + 0

    def outer(i, x):
        out = inner(i, x)
        x = inner(out, i)
        return out + x + i

    def meets(x):
        out = np.zeros(len(x))
        _out, _x, _i = 1.0, 2.0, 3.0
        for i in range(len(x)):
            out[i] = outer(x[i], i) + inner(i, x[i]) + _out + _x + _i
        return out

    assert same(meets, (X,)).stats.compiled == 1


def test_a_closure_that_writes() -> None:
    def program(x):
        last = 0.0

        def note(v, w):
            nonlocal last
            last = v
            return v + w

        total = 0.0
        for v in x:
            total = total + note(v, last) * last + note(last * 2, last)
        return total, last

    assert same(program, (X,)).stats.compiled == 1


def test_functions_defined_twice_or_in_branches() -> None:
    def twice(x):
        def f(v):
            return v + 1

        a = f(x[0])

        def f(v):
            return v * 2

        return a + f(x[0])

    def branches(x, k):
        if k > 1:
            def f(v):
                return v + 1
        else:
            def f(v):
                return v * 2
        return f(x[0])

    def late(x, k):
        f = lambda v: v * k  # noqa: E731
        a = f(x[0])
        k = 10
        return a + f(x[0])

    same(twice, (X,))
    same(branches, (X, 0), (X, 3))
    assert same(late, (X, 2), (X, 2.5)).stats.compiled == 2


def test_a_constant_argument_that_is_changed() -> None:
    def shifted(a, b):
        if b > 1:
            a += b
        a -= b
        return a

    def shifts(x):
        return [shifted(-1, v) + shifted(3, 2) for v in x]

    assert same(shifts, (X,)).stats.compiled == 1


def test_an_augmented_name_is_read_before_the_call_that_changes_it() -> None:
    def program(x):
        total = 1.0

        def add(v):
            nonlocal total
            total = total + v
            return v

        for v in x:
            total -= add(v) * 2
            total *= add(v) + total
        return total

    same(program, (X,))


# -- fused helpers


@fuse(reassociate=False)
def in_order(x):
    s = 0.0
    for v in x:
        s += v
    return s


@fuse
def in_lanes(x):
    s = 0.0
    for v in x:
        s += v
    return s


def test_a_fused_helper_keeps_its_options():
    def twice_in_order(x):
        return in_order(x) * 2.0

    def twice_in_lanes(x):
        return in_lanes(x) * 2.0

    x = np.random.default_rng(1).standard_normal(1001)
    exact = twice_in_order(x)
    for function, said in ((twice_in_order, True), (twice_in_lanes, False)):
        report = fuse(function).report(x)
        refused = any("options of its own" in r.message for r in report.rejections)
        assert refused is said, report
    assert fuse(twice_in_order, on_reject="silent")(x) == exact
    assert fuse(twice_in_order, reassociate=False, on_reject="raise")(x) == exact


def depth_of(tree):
    return 1 + max((depth_of(t) for t in tree), default=0)


def total_of(tree):
    return sum([total_of(t) for t in tree])


def refined(v, k):
    return v if k == 0 else sum(refined(v, k - 1) * 0.5 for _ in range(2))


@pytest.mark.parametrize("function", [depth_of, total_of])
def test_recursion_in_a_comprehension_is_refused_soon(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its body is inlined before the calls in comprehensions are."""
    from transpile.frontend.inline import callee_body

    bodies, inner = [], callee_body._spend_nodes
    monkeypatch.setattr(callee_body, "_spend_nodes", lambda *args: (bodies.append(1), inner(*args)))
    tree = [[], [[]] * 3] * 20
    fused = fuse(function, on_reject="silent")
    assert fused(tree) == function(tree)
    (rejection,) = [s.rejection for s in fused._specializations.values()]
    assert rejection is not None
    assert rejection.code == "LOWER_RECURSION"
    assert len(bodies) < 10


def test_recursion_in_a_comprehension_that_ends_is_compiled() -> None:
    def refine_all(x):
        return [refined(v, 3) for v in x]

    same(refine_all, (X,))


# -- names of helpers and names of their caller

def same_or_python(function: Callable[..., Any], *args: Any) -> None:
    """`function` gives Python's answer, whether it is compiled or not."""
    fused = fuse(function, on_reject="silent")
    assert_same(outcome(fused, args), outcome(function, args), function.__name__)


def weighted(a):
    return sum(i * a for i in range(3))


def best_by(x, k):
    return max(x, key=lambda w: w * k)


def test_an_argument_is_not_taken_for_a_name_of_an_inner_scope() -> None:
    def with_index(x):
        s = 0.0
        for i in range(len(x)):
            s += weighted(i) * x[i]
        return s

    def with_key(x, w):
        return best_by(x, w)

    same(with_index, (X,))
    same(with_key, (X, 2.0), (X, -2.0))


def by_case(v, c):
    match c:
        case 1:
            y = v
        case 2:
            y = 2 * v
    return y


def by_handler(x, i):
    try:
        y = x[i]
    except IndexError:
        i = 0
    return y


def test_a_local_of_a_helper_has_no_value_of_the_iteration_before() -> None:
    def cases(x, k):
        s = 0.0
        for i in range(len(k)):
            s += by_case(x[i], k[i])
        return s

    def handlers(x, n):
        s = 0.0
        for i in range(n):
            s += by_handler(x, i)
        return s

    same_or_python(cases, X, np.array([1, 2, 3]))
    same_or_python(handlers, X, 5)


def in_cases(v, k, c):
    match c:
        case 1:
            k = k + 5
            y = k * v
        case 2 if (k := 9) > v:
            y = k * v
        case _:
            y = v
    return y + k


def counting(v, k):
    def step():
        nonlocal k
        k = k + 1
        return k

    a = step()
    return v * k + a


def test_constants_that_a_case_or_a_local_function_binds_again() -> None:
    def cases(v, c):
        return in_cases(v, 2, c)

    def counted(v):
        return counting(v, 2)

    same(cases, (1.5, 1), (1.5, 2), (1.5, 3))
    same(counted, (1.5,))


def along(x, axis):
    def turn():
        nonlocal axis
        axis = 1 - axis

    s = np.sum(x, axis=axis)
    turn()
    return s, axis


def test_an_axis_that_a_local_function_binds_again() -> None:
    same_or_python(along, np.arange(6.0).reshape(2, 3), 0)


def counted_up(a):
    a[3] += 1.0
    return int(a[3]) % 3


def test_targets_are_evaluated_one_after_the_other() -> None:
    def several(x):
        x[counted_up(x)], x[counted_up(x)] = counted_up(x), x[0]
        return x

    def chained(x):
        x[counted_up(x)] = x[counted_up(x)] = 50.0
        return x

    def walruses(x, i):
        x[(i := i + 1)], x[(i := i + 1)] = x[i], x[i - 1]
        return x, i

    def of_a_local_function(x, i):
        def step():
            nonlocal i
            i += 1
            return i

        x[step()], x[step()], j = step(), x[i - 3], step()
        x[i - 4] = x[step() - 4] = i
        return x, i, j

    x = np.arange(8.0)
    for function, args in (
        (several, (x,)), (chained, (x,)), (walruses, (x, 1)), (of_a_local_function, (x, 3)),
    ):
        fused = same(function, (x.copy(), *args[1:]))
        assert fused.stats.compiled == 1, function.__name__
