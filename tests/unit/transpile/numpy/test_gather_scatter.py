"""Index arrays and masks in every place: the macros' loops give NumPy's elements and layout."""
from __future__ import annotations

import ast
import linecache
import random
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agree import assert_same, outcome
from for_each import for_each
from macro_programs import expanded, runnable
from written import written

from transpile import fuse
from transpile.frontend.unparse import print_python

PLAIN = (":", "1:", "::-1", ":2", "k:", "k", "-1", "None", "...")
ARRAYS = ("i", "j", "i % 3", "I")


def subscripts(rng: random.Random, rank: int, arrays: tuple[str, ...]) -> str:
    """As many as `rank` axes take, or fewer; at least one of them is an array."""
    items = [rng.choice(arrays)]
    while (taken := sum(s not in ("None", "...") for s in items)) < rank and rng.random() < 0.7:
        more = rng.choice((*PLAIN, *arrays))
        if more != "..." or "..." not in items:
            items.insert(rng.randrange(len(items) + 1), more)
    assert taken <= rank
    return ", ".join(items)


def sources(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        rank = rng.randrange(1, 4)
        read, write = (subscripts(rng, rank, ARRAYS) for _ in range(2))
        own = "= X[{0}] * 2", "= X[{0}][::-1]", "= Y", "= X"
        change = rng.choice(("= 7", "+= 2", "*= X.sum()", *own)).format(write)
        out.append(f"def f(X, i, j, I, k):\n    Y = X[{read}]\n    s = X[{read}].sum()\n"
                   f"    X[{write}] {change}\n    return Y, s, X, Y + 1\n# {rank}")
    return out


def arguments(rank: int, seed: int) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 9, (4, 5, 6)[:rank]).astype(float)
    i, j = (rng.integers(-4, 4, 3).astype(t) for t in (np.int64, np.int16))
    II = rng.integers(0, 4, (2, 3)).astype(np.uint8)
    return [(X, i, j, II, 1), (np.asfortranarray(X)[::-1], i, j[::-1], II.T[:, ::-1], 2),
            (X.astype(np.int32), i[:0], j[:0], II[:, :0], 0)]


def defined(source: str, folder: Path) -> Any:
    """The function of `source`, which stands in a file."""
    path = folder / "program.py"
    path.write_text(source)
    linecache.checkcache(str(path))
    space: dict[str, Any] = {"np": np}
    exec(compile(source, str(path), "exec"), space)
    return space["f"]


def layout(value: Any) -> Any:
    """Strides of arrays of which all elements have a place of their own."""
    if isinstance(value, tuple):
        return [layout(v) for v in value]
    if not isinstance(value, np.ndarray):
        return None
    return [s for s, n in zip(value.strides, value.shape, strict=True) if n > 1 and value.size]


SEEDS = [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, 30))]


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("seed", SEEDS)
def test_the_loops_give_what_numpy_gives(seed: int, part: int, tmp_path: Path) -> None:
    loops = 0
    for source in sources(20, seed)[part::3]:
        f = defined(source, tmp_path)
        for args in arguments(int(source[-1]), seed):
            wanted, tree = outcome(f, args), expanded(f, *args)
            if wanted.error is None:
                got = outcome(runnable(tree, f), args)
                assert_same(got, wanted, f"{source}\n{print_python(tree)}", 16)
                assert layout(got.value) == layout(wanted.value), print_python(tree)
                loops += any(isinstance(n, ast.For) for n in ast.walk(tree))
    assert loops > 3


def check_compiled(source: str, seed: int, folder: Path) -> bool:
    """Compares; whether it was compiled."""
    f = defined(source, folder)
    fused = fuse(f, on_reject="silent")
    for args in arguments(int(source[-1]), seed):
        wanted, got = outcome(f, args), outcome(fused, args)
        assert_same(got, wanted, source, 16)
    return bool(fused.stats.compiled)


def test_compiled(tmp_path: Path) -> None:
    assert all(check_compiled(s, 0, tmp_path) for s in sources(2, 104))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_compiled(seed: int, tmp_path: Path) -> None:
    assert sum(check_compiled(s, seed, tmp_path) for s in sources(30, seed)) > 10


def narrow(x, m, k):
    x[m] -= k
    x[m] = k
    return x


def a_list(x, m, k):
    x[m] = [k] * len(x[m])
    return x


@pytest.mark.parametrize("f", [narrow, a_list])
def test_what_converts_otherwise_is_numpys(f: Any) -> None:
    fused = fuse(f, on_reject="silent")
    for k in (1, 40000, 2.5):
        args = np.arange(5, dtype=np.int16), np.array([True, False, True, False, True]), k
        assert_same(outcome(fused, args), outcome(f, args), str(k))


def test_an_array_without_axes_is_left_to_python() -> None:
    def f():
        a = np.empty(())
        a[()] = 42
        return a

    report = fuse(f, on_reject="silent").report()
    assert [r.code for r in report.rejections] == ["LOWER_UNSUPPORTED"]


def own_elements(x, y, k):
    x[k] = x - y


def elements_by_the_same_indices(x, y, k):
    x[k] = x[k] * 2 + y


def chosen_elements(x, y, k):
    x[k] = np.where(x < y, x, x[::-1])


def other_indices(x, y, k):
    x[k] = x[k[::-1]]


def one_element(x, y, k):
    x[k] = x[0] + y


def a_view(x, y, k):
    z = x[:]
    x[k] = z + 1


def exchanged(x, y, k):
    x[k], y[k] = y[k], x[k]


def updated(x, y, k):
    x[k] -= x[::-1]


def rows(x, y, k):
    X = np.zeros((len(x), 3))
    X[:, 0], X[:, 1] = x, y
    X[k] = X * 2
    X[:, [2, 0, 1]] = X
    X[k, 1] = X[:, 0]
    x[:] = X[:, 1] - X[:, 2]


OWN = (own_elements, elements_by_the_same_indices, chosen_elements, other_indices, one_element,
       a_view, exchanged, updated, rows)


@for_each(OWN)
def test_values_are_read_before_a_scatter_overwrites_them(f: Any) -> None:
    rng = np.random.default_rng(0)
    fused = fuse(f, on_reject="raise")
    for n in (1, 4, 17):
        for k in (rng.permutation(n), rng.integers(0, n, n)):
            args = rng.integers(0, 5, n) * 1.0, rng.integers(0, 9, n) * 1.0, k
            assert_same(outcome(fused, args), outcome(f, args), f"{f.__name__} of {args}")
    assert fused.stats.compiled
    assert not fused.stats.replays


MASKS = ("m", "x > 0", "x > y", "~m", "m & (x < 2)", "y != 0")
INDICES = ("i", "i % 3", "np.flatnonzero(m)", "np.where(x > 1)[0]", "i[::-1]")


def statement(rng: random.Random, k: int) -> str:
    """One that reads or writes under a mask or index array, or loops over such reads."""
    a, b, v = rng.choice("xy"), rng.choice("xy"), rng.choice(("2", "k", "s", "x.sum()", "-1"))
    m, i, op = rng.choice(MASKS), rng.choice(INDICES), rng.choice("+-*")
    return rng.choice((
        f"{a}[{m}] = {v}", f"{a}[{m}] {op}= {v}", f"{a}[{m}] = {b}[{m}] {op} {v}",
        f"{a}[{m}] {op}= {b}[{m}]", f"r[{k}] = {a}[{m}] {op} {v}", f"s = len({a}[{m}])",
        f"{a}[{i}] = {v}", f"{a}[{i}] {op}= {v}", f"s = ({a}[{i}] {op} {v}).sum()",
        f"for j in range(3):\n        t = {a}[{a} > j]\n        s = s + t.sum() + len(t)",
        f"if k > 1:\n        u = {a}[{m}]\n    else:\n        u = {b}[{m}]\n    s += u.sum()",
    )).replace(f"r[{k}]", f"r{k}")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 206))
def test_many_masks(seed: int, tmp_path: Path) -> None:
    rng, compiled = random.Random(seed), 0
    for _ in range(20):
        body = [statement(rng, k) for k in range(rng.randrange(1, 5))]
        made = "".join(f"{s[:2]}, " for s in body if s.startswith("r"))
        lines = "\n    ".join(("s = 0", *body, f"return s, {made}x, y"))
        source = f"def f(x, y, m, i, k):\n    {lines}\n"
        f = defined(source, tmp_path)
        fused = fuse(f, on_reject="silent")
        for dtype, size in ((float, 40), (np.int16, 5), (float, 0)):
            draw = np.random.default_rng(seed)
            x, y = (draw.integers(-4, 5, size).astype(dtype) for _ in range(2))
            at = draw.integers(-min(size, 5), max(size, 1), min(size, 4))
            args = (x, y, draw.random(size) < 0.5, at, 1 + size % 3)
            assert_same(outcome(fused, args), outcome(f, args), source, 64)
        compiled += bool(fused.stats.compiled)
    assert compiled > 10


EMPTY = ("X[[k, p], :k] = X[[p, k], :k]", "X[[p, 1], :k] += 1", "return X[[p, k], k:k]",
         "X[[p], :k] = 0", "return X[:, [p, 0]][:k]")


@pytest.mark.parametrize("text", EMPTY)
def test_rows_of_nothing_are_asked_for(text: str, tmp_path: Path) -> None:
    function = written(tmp_path, f"def f(X, k, p):\n    {text}\n    return X").f
    fused = fuse(function, on_reject="silent")
    calls = [(k, p) for k in (0, 1, 4) for p in (0, 2, -1, 9, -6)]
    for k, p in calls:
        args = np.arange(20.0).reshape(5, 4), k, p
        assert_same(outcome(fused, args), outcome(function, args), args)
    assert fused.stats.compiled >= 9, fused.stats


# -- statements of index arrays are done wholly or not at all, as NumPy does; memory and errors are
# Python's, also in loops

STATEMENTS = (
    "y[:] = x[:3] * 2", "z[:] = x[p]", "z[p] = y[:3]", "y[:] = x[p] + 1", "w = x[p]", "w = y * 2",
    "y[0] = z[1]", "z[:] = np.sqrt(x[:3])[p[::-1]]", "y[:] = w = x[p]", "y[p] = 0.25",
    "z[1:] = y[p][1:]", "for i in range(3): z[i] = x[i] + 1", "for i in range(3): y[i] = x[p[i]]",
    "z += x[p]", "np.multiply(x[p], 2, out=z)", "y[y > 1] = x[p[0]]", "w = [x[i] for i in p]",
    "y[0] = x[p][1]", "z[:2] = (x[p] * 2)[:2]", "w = x[p][::-1]", "y[1] = x[p].sum()",
    "z[1] = x[p].shape[0]", "z[:1] = np.abs(x[p])[1:2]", "y[p] += 1", "np.add.at(z, p, 1)",
    "np.take(x, p, out=y)", "z[:] = np.where(p > 0, x[p], 0)", "z[x[p] > 2] = 5",
)
PLACES = ([0, 1, 2], [0, 1, 7], [1, -9, 0], [2, 1, -1], [3, 0, 1])


def program(rng: random.Random) -> str:
    lines = rng.choices(STATEMENTS, k=rng.choice((2, 3, 4)))
    if rng.random() < 0.3:
        lines = ["for k in range(2):", *(f"    {line}" for line in lines)]
    return "import numpy as np\n\ndef f(x, p, y, z):\n" + "".join(f"    {line}\n" for line in lines)


def seen(function: Any, places: list[int]) -> tuple[str | None, list[Any]]:
    x, y, z = np.arange(1.0, 5) ** 2, np.array([5.0, 6, 7]), np.array([0.5, 0.25, 2])
    error = None
    try:
        function(x, np.array(places), y, z)
    except IndexError as e:
        error = str(e)
    return error, [a.tolist() for a in (x, y, z)]


def test_nothing_is_half_done(
    tmp_path: Path, start: int, request: pytest.FixtureRequest
) -> None:
    rng, compiled = random.Random(start), 0
    count = 1000 if request.config.getoption("--long") else 5
    for _ in range(count):
        text = program(rng)
        function = written(tmp_path, text).f
        fused = fuse(function, on_reject="silent")
        for places in PLACES:
            wanted = seen(function, places)
            for _ in range(2):
                assert seen(fused, places) == wanted, f"{text}\n{places}"
        compiled += fused.stats.compiled > 0
    assert compiled > 0.6 * count


def to_elements(x, k, y):
    x[k] = y


def by_two_indices(x, k, y):
    X = np.zeros((3, 3))
    X[k, k] = y
    x[:] = X[0] + X[1] + X[2]


@pytest.mark.parametrize("shape", [(9,), (3, 4), (2, 3, 4)])
def test_of_equal_indices_the_last_value_in_numpys_order_stays(shape: tuple[int, ...]) -> None:
    """NumPy visits the elements in the order of memory: axes are exchanged, and an axis is taken
    backwards if all its strides are negative.
    """
    rng = np.random.default_rng(0)
    rank = len(shape)
    layouts = [(order, back) for order in permutations(range(rank)) for back in (False, True)]

    def in_memory(a: Any, order: tuple[int, ...], back: bool) -> Any:
        b = a.transpose(order).copy().transpose(np.argsort(order))
        return b[::-1].copy()[::-1] if back else b

    for f in (to_elements, *([by_two_indices] if rank == 1 else [])):
        fused = fuse(f, on_reject="silent")
        for of_index, of_value in product(layouts, layouts):
            k = in_memory(rng.integers(0, 3, shape), *of_index)
            args = np.zeros(3), k, in_memory(rng.random(shape), *of_value)
            assert_same(outcome(fused, args), outcome(f, args), f"{f.__name__} {args}")
        assert fused.stats.compiled
