"""Reports of all programs speak of the source: its names and loops, once, without contradictions.

The names that the compiler made are taken from its own stages: all names in core Python and in Loop
IR that neither the program nor a function that it calls has.
"""
from __future__ import annotations

import ast
import builtins
import contextlib
import heapq
import io
import keyword
import re
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from program_runs import PROGRAMS, arguments
from traps.trap import TRAPS, Trap

from loopir.ir_traversal import walk
from loopir.nodes import Var
from transpile import FuseWarning, fuse
from transpile.codes import CODES
from transpile.diagnostics import Refused, Rejection
from transpile.frontend.source import read_source
from transpile.options import Options
from transpile.pipeline import compile_stages
from transpile.report import Report
from transpile.report.user_terms import cited_names
from transpile.types.typeof import parameter_names

LANGUAGE = {*vars(builtins), *keyword.kwlist, *keyword.softkwlist}
FAMILIES = ("LOWER", "VECTOR", "FUSE")
FIRST = {p.function: p for p in reversed(PROGRAMS) if not p.long}

pytestmark = pytest.mark.filterwarnings("ignore")


SUGGESTED = {"np", "numpy", "text", "fuse"} | {
    name for code in CODES.values() for name in cited_names(code.help)
}
"""Names that only a help has, of the report or of a code's page."""


def called(function: Callable[..., Any], depth: int = 3) -> Iterator[Callable[..., Any]]:
    """The function, and the Python functions that it names, to some depth."""
    yield function
    names = function.__globals__ if isinstance(function, FunctionType) else {}
    code = getattr(function, "__code__", None)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True)) if code else {}
    for name in code.co_names + code.co_freevars if code and depth else ():
        value = cells[name].cell_contents if name in cells else names.get(name)
        value = getattr(value, "__wrapped__", value)
        modules = (m for m in map(names.get, code.co_names) if isinstance(m, ModuleType))
        values = [value, *(vars(m).get(name) for m in modules)]
        values += vars(value).values() if isinstance(value, type) else ()
        for each in values:
            if isinstance(each, FunctionType):
                yield from called(each, depth - 1)


def words_of(function: Callable[..., Any], report: Report) -> set[str]:
    """The identifiers of the function, and of those that it calls."""
    try:
        texts = [read_source(f).text for f in called(function)]
    except Refused:
        texts = [*report.source.values()]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    return words if words else {*report.signature.split()}


def made_names(function: Any, types: Mapping[str, Any]) -> set[str]:
    """All names in the stages of a function that compiles; nothing for others."""
    try:
        stages = compile_stages(function, types, Options())
    except Refused:
        return set()
    python = {n.id for n in ast.walk(stages.python) if isinstance(n, ast.Name)}
    kernels = (stages.scalar, stages.plan.kernel, stages.kernel)
    variables = {n.name for kernel in kernels for n in walk(kernel) if isinstance(n, Var)}
    return python | variables | {p.name for kernel in kernels for p in kernel.params}


def texts_of(rejection: Rejection) -> list[str]:
    labels = (label.text for label in rejection.labels)
    return [rejection.message, rejection.note or "", rejection.help or "", *labels]


def names_shown(report: Report) -> set[str]:
    """The names that a report in detail speaks of."""
    rejections = (*report.rejections, *report.further)
    texts = [text for r in rejections if r.code != "LOWER_UNDEFINED" for text in texts_of(r)]
    cited = {name for text in (*texts, *report.guards) for name in cited_names(text)}
    return cited | {*report.temporaries, *report.names}


def check(function: Any, report: Report, made: set[str]) -> None:
    words = words_of(function, report) | LANGUAGE
    assert names_shown(report) & (made - words) == set()
    assert names_shown(report) - words <= SUGGESTED
    notes = " ".join(re.sub("`[^`]*`", "", note) for loop in report.loops for note in loop.notes)
    assert not re.search("[a-z][A-Z]", notes), notes  # no class or constant of the compiler
    vectors = {loop.span for loop in report.loops if loop.lanes}
    scalar = {r.span for r in report.rejections if r.code.startswith("VECTOR")}
    assert not vectors & scalar
    assert report.accepted or report.rejections
    assert report.vectorized == len(vectors)
    assert not any(loop.span.internal for loop in report.loops)
    shown = [(r.code, r.message) for r in (*report.rejections, *report.further)]
    assert len(shown) == len(set(shown))
    assert len({loop.span for loop in report.loops}) == len(report.loops)
    for r in (*report.rejections, *report.further):
        assert r.help or r.code.split("_")[0] not in FAMILIES, r
        assert r.span is None or not r.code.startswith("FUSE") or r.first is None or (
            r.first.line != r.span.line
        )


@pytest.mark.share(150)
@pytest.mark.parametrize("program", [pytest.param(p, id=p.label) for p in FIRST.values()])
def test_programs(program: Any) -> None:
    f = fuse(program.function, on_reject="silent")
    args = arguments(program, 9)
    report = f.report(*args)
    types = dict(zip(parameter_names(program.function.__code__), f._types(args, {}), strict=True))
    check(program.function, report, made_names(program.function, types))


@pytest.mark.share(60)
@pytest.mark.parametrize("trap", TRAPS, ids=lambda t: f"{t.line}: {t.function.__name__}")
def test_traps(trap: Trap) -> None:
    f = fuse(trap.function, on_reject="silent")
    with suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        f(*trap.cases[0]())
    report = f.report(*trap.cases[0]())
    check(trap.function, report, set())


# -- what newcomers write


def grouped(keys, values):
    groups = defaultdict(list)
    for k, v in zip(keys, values, strict=True):
        groups[k].append(v)
    return {k: sum(v) / len(v) for k, v in groups.items()}


def counted(words):
    counts = {}
    for w in words:
        counts[w] = counts.get(w, 0) + 1
    return max(counts, key=counts.get)


def pi(n):
    inside = 0
    for _ in range(n):
        x, y = np.random.rand(), np.random.rand()
        inside += x * x + y * y <= 1.0
    return 4.0 * inside / n


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def nearest(points, centres, labels):
    for i in range(len(points)):
        best, at = np.inf, 0
        for j in range(len(centres)):
            d = 0.0
            for k in range(points.shape[1]):
                d += (points[i, k] - centres[j, k]) ** 2
            if d < best:
                best, at = d, j
        labels[i] = at


def normalised(x):
    centred = x - x.mean(axis=0)
    return centred / np.sqrt((centred ** 2).mean(axis=0))


def first_repeated(xs):
    seen = set()
    for i, v in enumerate(xs):
        if v in seen:
            return i
        seen.add(v)
    return -1


def dijkstra(start, ends, weights, n):
    distance = np.full(n, np.inf)
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        for k in range(start[u], start[u + 1]):
            if d + weights[k] < distance[ends[k]]:
                distance[ends[k]] = d + weights[k]
                heapq.heappush(heap, (d + weights[k], ends[k]))
    return distance


def breadth_first(start, ends, n):
    distance = np.full(n, -1)
    distance[0] = 0
    queue = deque([0])
    while queue:
        u = queue.popleft()
        for k in range(start[u], start[u + 1]):
            if distance[ends[k]] < 0:
                distance[ends[k]] = distance[u] + 1
                queue.append(ends[k])
    return distance


def counted_arrivals(rng, x):
    for i in range(len(x)):
        x[i] = rng.poisson(3.0)


def filled_from_the_left(x):
    queue = deque([0.0])
    for v in x:
        queue.append(v)
        queue.appendleft(v)
    return queue.popleft()


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i in range(len(a)):
        last, row[0] = row[0], i + 1
        for j in range(len(b)):
            last, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, last + (a[i] != b[j]))
    return row[-1]


GRAPH = np.arange(0, 21, 2), np.arange(20) * 7 % 10
NEWCOMERS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (grouped, ([1, 2, 1, 3], [1.0, 2.0, 3.0, 4.0])),
    (counted, ([3, 1, 3, 2],)),
    (pi, (100,)),
    (product, (np.ones((3, 4)), np.ones((4, 5)), np.zeros((3, 5)))),
    (nearest, (np.ones((9, 2)), np.ones((3, 2)), np.zeros(9, int))),
    (normalised, (np.arange(12.0).reshape(4, 3),)),
    (first_repeated, ([1, 5, 7, 5],)),
    (dijkstra, (*GRAPH, np.ones(20), 10)),
    (breadth_first, (*GRAPH, 10)),
    (edit_distance, ("kitten", "sitting")),
)


@pytest.mark.share(8)
@pytest.mark.parametrize(("function", "args"), NEWCOMERS, ids=lambda v: getattr(v, "__name__", ""))
def test_what_newcomers_write(function: Any, args: tuple[Any, ...]) -> None:
    f = fuse(function)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        f(*args)
    causes = [str(w.message).partition(": ")[2] for w in given if w.category is FuseWarning]
    assert len(causes) == len(set(causes))
    report = f.report(*args)
    types = dict(zip(parameter_names(function.__code__), f._types(args, {}), strict=True))
    check(function, report, made_names(function, types))
    assert len(str(report).splitlines()) <= (15 if report.accepted else 20)


def test_the_cause_is_the_call_and_not_the_list() -> None:
    for function, cause, args in (
        (counted_arrivals, "`rng.poisson` is not a method that is compiled",
         (np.random.default_rng(1), np.ones(20))),
        (filled_from_the_left, "`deque` makes an object, which is not compiled here",
         (np.ones(20),)),
    ):
        report = fuse(function, on_reject="silent").report(*args)
        messages = {r.message for r in report.rejections}
        assert messages == {cause}


def test_all_loops_of_a_nest_are_counted() -> None:
    report = fuse(product).report(np.ones((3, 4)), np.ones((4, 5)), np.zeros((3, 5)))
    assert "3 loops, 1 vectorised" in str(report)
    (loop,) = report.loops
    assert len(loop.around) == 2
