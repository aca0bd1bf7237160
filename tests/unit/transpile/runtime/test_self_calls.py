"""Refused functions that call themselves: directly, as long as their name means them."""
from __future__ import annotations

import builtins
import linecache
import sys
import traceback
from typing import Any

import pytest

from targets.abi.vectorcall import attach_call
from transpile import fuse
from transpile.runtime.self_calls import with_direct_self_calls


def fib(n: Any) -> Any:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def depth_of(tree: Any, seen: Any) -> int:
    seen.append(len(seen))
    return 1 + max((depth_of(t, seen) for t in tree), default=0)


def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Each call that the dispatcher looks at."""
    from transpile.runtime import specialization

    found: list[Any] = []
    inner = specialization.argument_types

    def noted(values: Any, code: Any) -> Any:
        found.append(values)
        return inner(values, code)

    monkeypatch.setattr(specialization, "argument_types", noted)
    return found


def sorted_items(xs: Any) -> Any:
    """Its comprehensions are regions."""
    if len(xs) <= 1:
        return xs
    pivot = xs[len(xs) // 2]
    less, same = [x for x in xs if x < pivot], [x for x in xs if x == pivot]
    return sorted_items(less) + same + sorted_items([x for x in xs if x > pivot])


@pytest.mark.parametrize(
    ("name", "args"), [
        ("fib", (16,)), ("depth_of", ([[], [[]] * 3] * 20, [0])),
        ("sorted_items", ([*map(float, range(20)), 3.0] * 2,)),
    ],
)
def test_inner_calls_are_not_looked_at(
    name: str, args: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = globals()[name]
    fused = fuse(original, on_reject="silent")
    monkeypatch.setitem(globals(), name, fused)
    found = looks(monkeypatch)
    for _ in range(4):
        expected = original(*args)
        assert fused(*args) == expected
    assert len(found) < 30


@pytest.mark.parametrize("function", ["fib", "with_a_comprehension", "with_a_builtin"])
def test_what_it_reads_may_be_bound_anew(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a builtin's name, which then means a function of the user's that binds the own name."""
    original = globals()[function]
    fused = fuse(original, on_reject="silent")
    monkeypatch.setitem(globals(), function, fused)
    for _ in range(6):
        assert fused(6) == original(6)

    def other(*values: Any) -> Any:
        monkeypatch.setitem(globals(), function, lambda n: 1000)
        return 5

    monkeypatch.setitem(globals(), "abs", other)
    found = fused(6)
    monkeypatch.setitem(globals(), function, fused)
    assert found == original(6)


def with_a_comprehension(n: Any) -> Any:
    return 1 if n < 1 else with_a_comprehension(n - 1) + len([abs(v) for v in (n, -n)])


def with_a_builtin(n: Any) -> Any:
    return 1 if n < 1 else abs(-n) + with_a_builtin(n - 1) + with_a_builtin(n - 2)


RECURSIONS = {
    "steps": ("return 1 if n < 2 else max(f(n - 1), f(n - 2)) + 1", True),
    "text": ("return 0 if n < 1 else len(str(n)) + f(n - 1)", True),
    "generator": ("return 1 if n < 1 else sum(f(k) for k in range(n))", True),
    "key": ("return n if n < 1 else max([-n, n], key=lambda v: v + f(n - 1))", True),
    "attribute": ("return 1 if n < 1 else n.real + f(n - 1)", True),
    "method": ("xs = [n]\n    xs.append(-n)\n    return xs if n < 1 else f(n - 1) + xs", True),
    "raised": (
        "try: raise ValueError\n    except ValueError: return n if n < 1 else f(n - 1)", True),
    "sorted": ("xs = [n, -n]\n    xs.sort(key=lambda v: v * n)\n"
               "    return xs if n < 1 else f(n - 1)", True),
    "joined": ("return str(n) if n < 1 else ', '.join(f(k) for k in range(n))", True),
    "extended": ("xs = [n]\n    xs.extend(k + len(f(k)) for k in range(n))\n    return xs", True),
    "appended": ("xs = [n]\n    xs.append(f(k) for k in range(n))\n    return xs[:1]", False),
    "frame": ("return [n.__class__] if n < 1 else f(n - 1)", False),
    "kept_generator": ("return [] if n < 1 else [(f(k) for k in range(n)).__class__]", False),
    "kept_function": ("return [] if n < 1 else [len([lambda: f(n)])]", False),
    "inner_function": ("def g(): return f(n - 1)\n    return n if n < 1 else g()", False),
    "enumerated": ("return 0 if n < 1 else [*enumerate(f(k) for k in range(n))]", False),
    "local_consumer": (
        "sum = iter\n    return 0 if n < 1 else len([sum(f(k) for k in [0])])", False),
    "bound_globally": ("global other\n    other = 1\n    return 0 if n < 1 else f(n - 1)", False),
    "imported": ("import math\n    return 0 if n < 1 else math.gcd(n, f(n - 1))", False),
    "printed": ("print(end='')\n    return 1 if n < 1 else f(n - 1)", False),
    "global": ("return 1 if n < 1 else f(n - other)", False),
    "shadowed": ("return 1 if n < 1 else abs(n) + f(n - 1)", False),
    "inverted": ("return 1 if n < 1 else f(n - 1) + ~(n > 1)", False),
    "itself": ("return f if n < 1 else f(n - 1)", False),
    "in_a_list": ("return [n, f] if n < 1 else f(n - 1)", False),
    "passed": ("return [*map(f, [])] if n < 1 else f(n - 1)", False),
}


@pytest.mark.parametrize("name", RECURSIONS)
def test_recursions_that_look_up_no_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recursion of numbers looks its name up once if it only calls itself and builtins; and has
    Python's result in any case, also if that is the function itself.
    """
    body, is_private = RECURSIONS[name]
    text = f"def f(n):\n    {body}\n"
    monkeypatch.setitem(linecache.cache, f"<{name}>", (
        len(text), None, text.splitlines(keepends=True), f"<{name}>"))
    namespace: dict[str, Any] = {"__name__": __name__, "other": 1, "abs": lambda v: -v}
    exec(compile(text, f"<{name}>", "exec"), namespace)
    original = namespace["f"]
    expected = original(5)
    fused = namespace["f"] = fuse(original, on_reject="silent")
    for _ in range(4):
        found = fused(5)
        assert repr(found).replace(repr(fused), repr(original)) == repr(expected)
    copies = with_direct_self_calls(original, fused)
    assert copies is not None
    assert (copies.closed is not None) == is_private


@pytest.mark.parametrize("where", ["module", "builtins"])
def test_a_builtin_is_bound_anew_between_calls(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = with_a_builtin
    fused = fuse(original, on_reject="silent")
    monkeypatch.setitem(globals(), "with_a_builtin", fused)
    for _ in range(5):
        assert fused(6) == original(6)
    before = fused(6)
    names = globals() if where == "module" else vars(builtins)
    monkeypatch.setitem(names, "abs", lambda v: 1000)
    assert fused(6) == original(6) != before


def test_calls_in_an_outlined_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not reach the object that the name is bound to, until it is bound to another one."""
    original, xs = sorted_items, [k * 7 % 11 / 2 for k in range(40)]
    fused: Any = fuse(original, on_reject="silent")
    monkeypatch.setitem(globals(), "sorted_items", fused)
    for _ in range(40):
        assert fused(xs) == original(xs)
    assert any(s.outlined for s in fused._specializations.values())
    counted = [0]
    call = type(fused).__call__

    def counting(*args: Any) -> Any:
        counted[0] += 1
        return call(*args)

    attach_call(fused, counting)
    assert fused(xs) == sorted(xs)
    assert counted == [1]
    monkeypatch.setitem(globals(), "sorted_items", lambda xs: [-1.0])
    assert fused(xs) == original(xs) == [-1.0, *(x for x in xs if x == xs[20]), -1.0]


def test_the_name_is_bound_anew_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    original = fib
    fused = fuse(fib, on_reject="silent")
    monkeypatch.setitem(globals(), "fib", fused)
    for _ in range(5):
        assert fused(10) == 55
    monkeypatch.setitem(globals(), "fib", lambda n: 1000 * n)
    assert fused(10) == original(10) == 17_000


def test_the_name_is_bound_anew_in_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(decorate: Any) -> Any:
        log: list[Any] = []
        namespace: dict[str, Any] = {"log": log}

        class Number(int):
            def __sub__(self, other: Any) -> Any:
                if int(self) == 3:
                    namespace["count"] = lambda n: log.append(("other", int(n)))
                return Number(int(self) - other)

        exec(compile(SOURCE, "<rebinds>", "exec"), namespace)
        namespace["count"] = decorate(namespace["count"])
        for _ in range(5):
            first = namespace["count"]
            first(Number(6))
        return log

    def counted(f: Any) -> Any:
        monkeypatch.setitem(sys.modules["linecache"].cache, "<rebinds>", (
            len(SOURCE), None, SOURCE.splitlines(keepends=True), "<rebinds>"))
        return fuse(f, on_reject="silent")

    assert run(counted) == run(lambda f: f)


SOURCE = """
def count(n):
    log.append(int(n))
    if n > 0:
        count(n - 1)
"""


LATER = {
    "generator": "def f(n): return [(f(k) for k in [0]), f(n - 1)] if n else 0",
    "function": "def f(n): return [lambda: f(0), f(n - 1)] if n else 0",
    "default": "def f(n): return [lambda v=[f][0]: v(0), f(n - 1)] if n else 0",
    "own_generator": "def f(n):\n    yield n\n    yield from f(n - 1) if n else ()",
}


@pytest.mark.parametrize("name", LATER)
def test_what_runs_after_the_call_sees_what_the_name_is_bound_to_then(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the innermost call made, not the first: that one still looks the name up."""
    text, file = LATER[name] + "\n", f"<later {name}>"
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(True), file))

    def run(decorate: Any) -> Any:
        namespace: dict[str, Any] = {"__name__": __name__}
        exec(compile(text, file, "exec"), namespace)
        function = namespace["f"] = decorate(namespace["f"])
        for _ in range(40):
            found = function(4)
        if name == "own_generator":
            items = [next(found), next(found)]
            namespace["f"] = lambda n: ["another"]
            return [*items, *found]
        while found[1]:
            made, found = found
        namespace["f"] = lambda n: "another"
        return [*made] if name == "generator" else made()

    assert run(lambda f: fuse(f, on_reject="silent")) == run(lambda f: f)


class Rebinds:
    """Calls `action` when it is compared."""

    def __init__(self, action: Any) -> None:
        self.action = action

    def __eq__(self, other: object) -> bool:
        self.action()
        return False

    __hash__ = object.__hash__


def count_items(items: Any) -> Any:
    found = 0
    for item in items:
        found += count_items(item) if isinstance(item, (list, tuple, dict)) else item == None  # noqa: E711
    return found + 1


NESTED: list[Any] = [
    [[1, 2.5, "a"], [None, [True, ()]], {"k": 1}], ((1, 2), (3, (4, 5))), [], {}, [[[]]],
    [1, [2, [3, [4]]]], [{1: 2}, ({3: 4},)],
]


def test_a_closed_copy_serves_plain_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments with an object of a class, anywhere, go to the copy that looks the name up: code of
    the class may bind it to another function.
    """
    original = count_items
    fused: Any = fuse(original, on_reject="silent")
    monkeypatch.setitem(globals(), "count_items", fused)
    for _ in range(3000):
        for items in NESTED:
            assert fused(items) == original(items)
    rows = [row for of in fused._installed._rows.values() for row in of if row.asks_plain]
    assert rows
    closed = {row.target.__code__: 0 for row in rows}
    expected = [original(items) for items in NESTED]

    def bind_another() -> None:
        monkeypatch.setitem(globals(), "count_items", lambda items: 1000)

    def result(function: Any, items: Any) -> Any:
        monkeypatch.setitem(globals(), "count_items", function)
        return function(items)

    called = []
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code) if event == "call" else None)
    try:
        found = [fused(items) for items in NESTED]
    finally:
        sys.setprofile(None)
    assert found == expected
    assert closed.keys() & {*called}
    evil = Rebinds(bind_another)
    for items in (
        [evil, [1]], [[1, evil], [2, 3]], ((1, (evil,)), (2,)), [{"k": 1}, [[[evil]], [1]]],
        [[], evil, [3]], [{evil: 1}, [2]], [[[[[evil], 5], 6], 7], [8]],
    ):
        assert result(fused, items) == result(original, items)


def test_a_traceback_is_as_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines(f: Any) -> list[Any]:
        try:
            f([[[3]]], [])
        except TypeError as error:
            frames = traceback.extract_tb(error.__traceback__)
            return [(s.name, s.lineno, s.line) for s in frames if s.filename == __file__]
        raise AssertionError("it raises")

    original = depth_of
    expected = lines(original)
    fused = fuse(original, on_reject="silent")
    monkeypatch.setitem(globals(), "depth_of", fused)
    for _ in range(4):
        assert lines(fused) == expected


def test_recursion_is_as_deep_as_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    original = countdown
    fused = fuse(original, on_reject="silent")
    monkeypatch.setitem(globals(), "countdown", fused)
    room = sys.getrecursionlimit() - 150
    for _ in range(4):
        fused("x" * 5)
    assert fused("x" * room) == room
    with pytest.raises(RecursionError):
        fused("x" * 10 * room)


def countdown(text: str) -> int:
    return 0 if not text else 1 + countdown(text[1:])
