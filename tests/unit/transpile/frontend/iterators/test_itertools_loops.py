"""Functions of `itertools` in loops, comprehensions and folds: compiled, with Python's answers."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from written import written

from transpile import fuse

HEAD = "import itertools\nimport operator\nfrom itertools import *\nimport numpy as np\n\n\n"
LOOPS = {
    "pairs": "for a, b in itertools.pairwise(x): s = s * 0.5 + (b - a)",
    "numbered pairs": "for i, (a, b) in enumerate(pairwise(x)): s = s + i * (b - a)",
    "pairs into an array": "out = np.zeros(len(x))\n    for i, (a, b) in enumerate(pairwise(x)): "
                           "out[i] = b - a\n    s = out",
    "first": "for a in islice(x, 3): s = s * 0.5 + a",
    "from": "for a in islice(x, 2, None): s = s * 0.5 + a",
    "between": "for a in islice(x, 1, n): s = s * 0.5 + a",
    "stepped": "for a in islice(x, 1, None, 3): s = s * 0.5 + a",
    "stepped to": "for a in islice(x, None, 5, 2): s = s * 0.5 + a",
    "of a zip": "for i, (a, b) in enumerate(islice(zip(x, x), n)): s = s * 0.5 + i * a - b",
    "repeated": "for a, k in zip(x, repeat(n)): s = s * 0.5 + a * k",
    "repeated so often": "for k in repeat(2.5, n): s = s * 0.5 + k",
    "counted": "for a, k in zip(x, count()): s = s * 0.5 + a * k",
    "counted by two": "for k, a in zip(count(n, 2), x): s = s * 0.5 + a * k",
    "cycle": "for a, k in zip(x, cycle((1, -1, 2))): s = s * 0.5 + a * k",
    "chain": "for a in chain(x, x, x): s = s * 0.5 + a",
    "chain of a slice": "for i, a in enumerate(chain(x, islice(x, 2))): s = s * 0.5 + a * i",
    "product": "for a, b in product(x, x): s = s * 0.5 + a * b",
    "product of ranges": "for i, j in product(range(n), repeat=2): s = s * 0.5 + i - j",
    "product of three": "for i, a, j in product(range(n), x, range(2)): s = s * 0.5 + i * a - j",
    "combinations": "for a, b in combinations(x, 2): s = s * 0.5 + abs(a - b)",
    "combinations of three": "for i, j, k in combinations(range(n), 3): s = s * 0.5 + i - j * k",
    "combinations with": "for a, b in combinations_with_replacement(x, 2): s = s * 0.5 + a - b",
    "permutations": "for a, b in permutations(x, 2): s = s * 0.5 + a - 2 * b",
    "permutations of three": "for i, j, k in permutations(range(n), r=3): s = s * 0.5 + i - j * k",
    "next": "for i, j in combinations(range(n), 2):\n        if j - i == 2: continue\n"
            "        s = s * 0.5 + i - j",
    "compress": "for a in compress(x, [v > 2 for v in x]): s = s * 0.5 + a",
    "compress, else": "for a in compress(x, x): s = s * 0.5 + a\n    else:\n        s = s - 1",
    "takewhile": "for a in takewhile(lambda v: v < 4, x): s = s * 0.5 + a",
    "dropwhile": "for a in dropwhile(lambda v: v < 4, x): s = s * 0.5 + a",
    "accumulate": "for a in accumulate(x): s = s * 0.5 + a",
    "accumulate, stopped": "for a in accumulate(x):\n        if a > 6: break\n        s = s + a",
    "accumulate, numbered": "for i, a in enumerate(accumulate(x, max)): s = s * 0.5 + i * a",
}
VALUES = {
    "accumulated": "list(accumulate(x))", "func": "list(accumulate(x, func=operator.mul))",
    "max": "list(accumulate(x, max))", "lambda": "list(accumulate(x, lambda a, b: a * 0.5 + b))",
    "initial": "list(accumulate(x, initial=x[0]))", "sum": "sum(accumulate(x))",
    "min": "min(accumulate(x, lambda a, b: a - b))", "items": "[a * 2 for a in accumulate(x)]",
    "array": "np.array(list(accumulate(x)))",
    "accumulated products": "list(accumulate(a * b for a, b in zip(x, x)))",
    "starmap": "sum(starmap(operator.mul, zip(x, x)))",
    "starmap of pairs": "list(starmap(lambda a, b: b - a, pairwise(x)))",
    "starmap of combinations": "max(starmap(lambda a, b: abs(b - a), combinations(x, 2)))",
    "sliced": "list(islice(x, 1, n))", "sum of a slice": "sum(islice(x, n))",
    "pairs": "[b - a for a, b in pairwise(x)]", "all pairs": "sum(a * b for a, b in product(x, x))",
    "any": "any(a + b == 7 for a, b in combinations(x, 2))",
    "all": "all(a <= b for a, b in pairwise(x))", "most": "max(abs(a - b) for a, b in pairwise(x))",
    "sums": "[a + b for a, b in combinations(x, 2)]", "chained": "[v * 2 for v in chain(x, x)]",
    "chosen": "sum(compress(x, [v > 2 for v in x]))", "while": "sum(takewhile(lambda v: v < 4, x))",
    "tuple": "tuple(accumulate(x))",
}


def given(kind: str, size: int) -> Any:
    numbers = [(k * 7 + 3) % 8 for k in range(size)]
    match kind:
        case "f8" | "i8" | "f4":
            return np.array(numbers, kind)
        case "floats":
            return [v + 0.5 for v in numbers]
    return numbers


def same_as_python(fused: Any, function: Any, arguments: Callable[[], Any], where: str) -> None:
    """Two calls of `fused`, the second of code that is there, give what `function` gives."""
    for _ in range(2):
        assert_same(outcome(fused, arguments()), outcome(function, arguments()), where, 0)


def checked(function: Any, kinds: list[str], sizes: list[int], raising: set[int]) -> None:
    """It is compiled, but for sizes at which Python raises, or the first item is missing."""
    for kind in kinds:
        fused = fuse(function, reassociate=False, on_reject="raise")
        for size in sizes:
            arguments = lambda: (given(kind, size), 4)  # noqa: B023, E731
            assert_same(
                outcome(fused, arguments()), outcome(function, arguments()), f"{kind}, {size}", 0
            )
        assert fused.stats.compiled == len(sizes) - len(raising), (kind, fused.stats)


@pytest.mark.parametrize("kind", ["f8", "i8", "floats", "ints"])
@pytest.mark.parametrize("loop", LOOPS)
def test_loops(loop: str, kind: str, tmp_path: Path) -> None:
    text = f"{HEAD}def f(x, n):\n    s = 0.0\n    {LOOPS[loop]}\n    return s\n"
    missing = {0} if loop.startswith(("accumulate", "stepped")) else set()
    checked(written(tmp_path, text).f, [kind], [0, 1, 2, 7], missing)


@pytest.mark.parametrize("kind", ["f8", "i8", "floats", "ints"])
@pytest.mark.parametrize("value", VALUES)
def test_values(value: str, kind: str, tmp_path: Path) -> None:
    if (value, kind) == ("lambda", "i8"):
        pytest.skip("a list of ints and floats of NumPy's")
    text = f"{HEAD}def f(x, n):\n    out = {VALUES[value]}\n    return out\n"
    sizes = [2, 7]
    checked(written(tmp_path, text).f, [kind], sizes, set())
    function = written(tmp_path, text).f
    fused = fuse(function, on_reject="raise", reassociate=False)
    for size in (0, 1):
        same_as_python(fused, function, lambda: (given(kind, size), 4), f"{size}")  # noqa: B023


@pytest.mark.parametrize("value", ["np.array(list(accumulate(x)))", "sum(accumulate(x, max))"])
def test_the_list_of_accumulate_is_not_made_where_it_is_read_once(
    value: str, tmp_path: Path
) -> None:
    fused = fuse(written(tmp_path, f"{HEAD}def f(x):\n    return {value}\n").f, on_reject="raise")
    assert "own(" not in fused.emit("loopir", np.arange(9.0))


CHANGED = {
    "pairs": "for a, b in pairwise(x):\n        x[0] += 1\n        x[1] = a + b\n        s = s + a",
    "pairs, another array": "for i, (a, b) in enumerate(pairwise(x)): y[i + 1] = a + b",
    "pairs, by a ufunc":
        "for a, b in pairwise(x):\n        np.add(x, 1, x)\n        s = s + a * b",
    "pairs, copied to": "for a, b in pairwise(x):\n        np.copyto(x, 2)\n        s = s + a * b",
    "product, by a ufunc":
        "for a, b in product(x, x):\n        np.add(x, 1, x)\n        s = s + a * b",
    "product": "for a, b in product(x, x):\n        x[1] = a + 1\n        s = s + a * b",
    "product, another": "for a, b in product(x, range(2)):\n        y[b] = a\n        s = s + a",
    "rebound": "for a, k in zip(x, islice(x, len(y))):\n        s = s + a * k\n        y = []",
    "rebound, product": "for a, b in product(x, y):\n        s = s * 0.5 + a * b\n        y = []",
    "combinations": "for a, b in combinations(x, 2):\n        x += 1\n        s = s + a * b",
    "slice": "for a in islice(x, 1, None):\n        x[2] = a + 1\n        s = s + a",
    "chain": "for a in chain(x, x):\n        x[2] = a + 1\n        s = s + a",
    "accumulate": "for a in accumulate(x):\n        x[-1] = 7\n        s = s + a",
    "zip": "for (a, b), k in zip(pairwise(x), count()):\n        x[k] = a + 2 * b",
}


@pytest.mark.parametrize("loop", CHANGED)
def test_elements_that_the_body_changes(loop: str, tmp_path: Path) -> None:
    """``product`` and ``combinations`` copy the elements, ``pairwise`` reads one ahead."""
    text = f"{HEAD}def f(x, y):\n    s = 0.0\n    {CHANGED[loop]}\n    return s, x, y\n"
    function = written(tmp_path, text).f
    fused = fuse(function, on_reject="silent", reassociate=False)
    for kind in ("f8", "i8", "floats", "ints"):
        for shared in (False, True):
            def arguments() -> tuple[Any, Any]:
                x = given(kind, 6)  # noqa: B023
                return x, x if shared else given(kind, 6)  # noqa: B023

            same_as_python(fused, function, arguments, f"{kind}, {shared}")


@pytest.mark.parametrize("value", [
    "islice(x, -1)", "islice(x, 1, 2, 0)", "islice(x, n - 9)", "combinations(x, -1)",
    "product(x, repeat=-1)", "accumulate(x, None, 3)", "pairwise(x, x)", "reversed(pairwise(x))",
    "islice(x, 1.0)", "permutations(x, 2.0)", "compress(x)", "chain(1, x)", "chain(x, 1)",
    "enumerate(islice(x, n), n)", "repeat(x, 2)", "zip(x, count(0.5, 0.25))",
])
def test_what_python_raises_or_is_rare(value: str, tmp_path: Path) -> None:
    text = f"{HEAD}def f(x, n):\n    s = 0\n    for v in {value}:\n        s += 1\n    return s\n"
    function = written(tmp_path, text).f
    fused = fuse(function, on_reject="silent")
    for size in (0, 3):
        same_as_python(fused, function, lambda: (given("f8", size), 4), f"{size}")  # noqa: B023


def test_a_name_that_is_rebound(tmp_path: Path) -> None:
    text = f"{HEAD}def f(x):\n    s = 0.0\n    for v in islice(x, 2): s = s + v\n    return s\n"
    module = written(tmp_path, text)
    fused = fuse(module.f)
    assert fused(np.ones(5)) == 2
    module.islice = lambda x, n: x
    assert fused(np.ones(5)) == 5


BREAKS = {
    "product": "for u, v in product(x, y):",
    "permutations": "for u, v in permutations(x, 2):",
    "ndindex": "for u, v in np.ndindex(len(x), len(y)):",
    "ndenumerate": "for (u, w), v in np.ndenumerate(x.reshape(2, -1)):",
}


@pytest.mark.parametrize("header", BREAKS)
def test_a_handler_that_leaves_a_loop_that_is_a_nest(header: str, tmp_path: Path) -> None:
    """The ``break`` of the handler leaves all loops of the nest, not the innermost alone: such a
    loop runs as Python.
    """
    text = f"""{HEAD}def f(x, y):
    s = 0.0
    {BREAKS[header]}
        try:
            if v > 3:
                if u > 0:
                    raise ValueError
            s += v
        except ValueError:
            break
    return s
"""
    function = written(tmp_path, text).f
    fused = fuse(function, on_reject="silent")
    same_as_python(fused, function, lambda: (np.arange(6.0), np.arange(5.0)), header)
    assert fused.report(np.arange(6.0), np.arange(5.0)).rejections
