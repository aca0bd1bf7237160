"""Programs for tests of macros, each with arguments; they are run as written and as expanded."""
# ruff: noqa: B007, B020, B905, PERF402, RET503, RET505, RUF007, SIM113 (programs as people write them)
from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from worlds import World

from transpile import core_functions, expand
from transpile.frontend import source

NAN = float("nan")


def expanded(fn: Callable[..., Any], *args: Any) -> ast.FunctionDef:
    return expand.expand(source.read_source(fn).tree, World(fn, args))


def runnable(tree: ast.FunctionDef, fn: Callable[..., Any]) -> Callable[..., Any]:
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    captured = {k: c.cell_contents for k, c in cells.items()}
    names = {"_core": core_functions, **fn.__globals__, **captured}
    exec(compile(ast.Module([tree], []), fn.__code__.co_filename, "exec"), names)
    return names[fn.__name__]


PROGRAMS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = []


def on(*cases: Any):
    """The program takes each case: a tuple of arguments, or one argument."""

    def keep(fn):
        PROGRAMS.append((fn, [c if isinstance(c, tuple) else (c,) for c in cases]))
        return fn

    return keep


_FLOATS = [], [2.0], [1.5, -2.0, 3.0, 0.25], [NAN, 1.0, 2.0], [3.0, NAN, -0.0, 0.0]
F = [np.array(v) for v in _FLOATS]
I8 = [np.array(v, np.int8) for v in ([], [7], [100, 27, 1, -128], [0, 0, 5])]
F32 = [np.array([0.1, 0.2, 0.7], np.float32)]
ONE = [*F, *I8, *F32]
TWO = [(a, b) for a in F for b in F[1:4]]
MATRIX = [np.arange(12.0).reshape(3, 4), np.zeros((0, 3)), np.zeros((3, 0)), np.ones((1, 1))]


@on(*ONE)
def for_elements(x):
    s = 0
    for v in x:
        s = s + v * 2
    return s


@on(*ONE)
def loop_variable_survives(x):
    for v in x:
        pass
    return v


@on(*ONE)
def loop_variable_changed(x):
    n = 0
    for v in x:
        v = v * 2
        v = v + 1
        n = n + v
    return n, v


@on(*ONE)
def iterated_name_rebound(x):
    s = 0
    for v in x:
        x = s
        s = s + v
    return s, x


@on(*ONE)
def later_mutation_is_seen(x):
    s = 0
    k = 0
    for v in x:
        k = k + 1
        if k < len(x):
            x[k] = x[k] + v
        s = s + v
    return s


@on(*ONE)
def bound_within(x):
    y = s = 0
    for i in range(len(x)):
        t = y + (y := x[i]) - y * (y := i + 2) + y
        if (y > 2 and (s := s + 1) > 1) or (u := i) == 0:
            t = t if (y := t) > 1 else -(y := s)
        s += (s := s + 1) * 2
        x[i] = t + (i := 0)
    return y, s, t, u, i


@on(*ONE)
def bound_in_tuples(x):
    y, k = 1, 0
    a, y = y, (y := 3) + len(x)
    z = [y, (y := 5), y]
    k, x[k] = (k := 1) - 1, 2 + (y := 7)
    x[k] += (j := 0) + k
    x[j] -= y
    return a, y, z, k, j


@on(*ONE)
def target_bound_after_it_is_read(x):
    k = 0
    x[k] += (k := 1)
    return k


@on(*ONE)
def bound_in_comprehensions(x):
    last = 0
    big = [y for v in x if (y := v * 2) > 1]
    sums = [last := last + v for v in x]
    some = any((hit := v) > 1.5 for v in x)
    low = min((w := v) * 2 for v in x)
    return big, sums, some, hit, low, w, sum((y := v) * y for v in x), y, last


@on(*ONE)
def break_and_continue(x):
    s = 0
    for v in x:
        if v > 2:
            break
        if v < 0:
            continue
        s = s + v
    else:
        s = s + 100
    return s


@on(*ONE)
def counted(x):
    s = 0
    for i, v in enumerate(x):
        s = s + i * v
        x[i] = s
    return s, i


@on(*ONE)
def counted_from(x):
    s = 0
    for i, v in enumerate(x, 3):
        s = s + i * v
    for i, v in enumerate(x, start=len(x)):
        s = s - i * v
    return s


@on(*ONE)
def counter_changed(x):
    s = 0
    for i, v in enumerate(x):
        i = i * 2
        s = s + i * v
    return s


@on(*TWO)
def zipped(x, y):
    s = 0
    for u, v in zip(x, y):
        s = s + u * v
    return s


@on(*TWO)
def zipped_names_swapped(x, y):
    s = 0
    for y, x in zip(x, y):
        s = s + x - 2 * y
    return s, x, y


@on(*TWO)
def zip_of_three_and_a_range(x, y):
    s = 0
    for i, (u, v), w in zip(range(2, 5), zip(x, y), reversed(x)):
        s = s + i * u - v * w
    return s


@on(*TWO)
def counted_zip(x, y):
    out = np.zeros(len(x))
    for i, (u, v) in enumerate(zip(x, y)):
        out[i] = u - v
    return out


@on(*TWO)
def zip_with_count(x, y):
    out = np.zeros(len(x))
    for (i, u), v in zip(enumerate(x), y):
        out[i] = u - v
    return out


@on(*ONE)
def neighbours(x):
    return [b - a for a, b in zip(x, x[1:])], [a + b for a, b in zip(x[:-1], x[2:])]


@on(*ONE)
def slices(x):
    s = 0
    for v in x[1:3]:
        s = s + v
    for v in x[:-2]:
        s = s * 2 + v
    for v in x[:0]:
        s = s + 1000
    for v in x[-2:]:
        s = s + 7 * v
    for v in x[::2]:
        s = s + 11 * v
    return s


@on(*ONE)
def backwards(x):
    s = 0
    for v in reversed(x):
        s = s * 2 + v
    for i in reversed(range(len(x))):
        s = s + i * x[i]
    return s


@on(*[(a, b) for a in range(-2, 4) for b in range(-2, 4)])
def backward_ranges(a, b):
    out = []
    for i in reversed(range(a, b)):
        out.append(i)
    for i in reversed(range(a, b, 2)):
        out.append(i)
    for i in reversed(range(b, a, -3)):
        out.append(i)
    for i, j in zip(range(b, a, -1), range(a, b + 9, 2)):
        out.append(i * 100 + j)
    return out


@on(np.uint8(0), np.uint8(3), np.int64(2), 2.5, True)
def ranges_of_other_types(n):
    out = []
    for i in reversed(range(n)):
        out.append(i)
    for i, j in enumerate(range(n)):
        out.append(i + j)
    return out


@on(0, 1, 4)
def range_variable_changed(n):
    s = []
    for i in range(n):
        i = i * i
        s.append(i)
    for i in range(n):
        i += 1
        s.append(i)
    return s, i


@on(*MATRIX)
def rows(X):
    s = 0.0
    for row in X:
        for v in row:
            s = s * 0.5 + v
        row[0] = s
    return s


@on(*MATRIX)
def rows_counted(X):
    s = 0.0
    for i, row in enumerate(X):
        for j, v in enumerate(row):
            s += i * v - j
        for v in X[i]:
            s += v
    return s


@on(*MATRIX)
def row_elements(X):
    s = 0.0
    for i in range(X.shape[0]):
        for j in range(len(X[i])):
            X[i][j] += i
            s += X[i][j] * X[i][-1]
    return s


@on(*MATRIX)
def row_in_place(X):
    for row in X:
        row += 1
    for i in range(len(X)):
        X[i] += X[i]
    return X


@on(*MATRIX)
def whole_array_in_place(X):
    X += 1
    y = X
    y *= 2
    return y


@on(*ONE)
def augmented_forms(x):
    s = 1
    k = 0
    for v in x:
        s *= 3
        s -= v
        x[k] += s
        x[k - 1] *= 2
        k += 1
    return s


@on((np.array([1.0, 2.0]), np.array([1, 1, 0, 5])))
def augmented_indirect(x, k):
    for i in range(len(k)):
        x[k[i]] += i
    return x


@on(*ONE)
def swap(x):
    a, b = 0, 1
    for v in x:
        a, b = b, a + b * v
    if len(x) > 1:
        x[0], x[1] = x[1], x[0]
    i, x[i] = 0, b
    return a, b


@on((3.0,))
def chain(e):
    a = b = e * 2
    c = d = []
    c.append(a)
    a += 1
    return a, b, c, d


@on(*MATRIX)
def shape(X):
    m, n = X.shape
    k: int = m * n
    return m, n, k


@on(*ONE)
def unpack_elements(x):
    a, b = x
    return a, b


@on(*ONE)
def comprehensions(x):
    v = "kept"
    a = [v * 2 for v in x]
    b = [v for v in x if v > 1 if v < 3]
    c = [i for i, v in enumerate(x) if v]
    d = [[u * v for u in x] for v in x]
    return a, b, c, d, v


@on(*MATRIX)
def nested_comprehensions(X):
    return [v for row in X for v in row], [v for row in X if len(row) > 2 for v in row if v > 1]


@on(*ONE)
def scopes(x):
    v = [v for v in x if v > 0]
    w = [[v for v in x if v > w] for w in x]
    return v, w, [(lambda v: v)(v) for v in x]


@on(*ONE)
def comprehension_over_list(x):
    a = [v + 1 for v in x]
    b = [v * 2 for v in a if v > 0]
    s = 0
    for v in b:
        s += v
    return s, max([1, *b]), len(a)


@on(*ONE)
def to_containers(x):
    a = list(v for v in x if v > 0)
    b = tuple(v + 1 for v in x)
    c = np.array([v * v for v in x])
    d = np.fromiter((v for v in x), dtype=np.float64)
    return a, b, c, d, list(x)


@on(*ONE)
def sums(x):
    return sum(x), sum(v for v in x), sum([v * v for v in x if v > 0]), sum(1 for v in x if v)


@on(*ONE)
def sums_from(x):
    return sum((v for v in x), 0.5), sum(x, start=10), sum(i for i in range(len(x)))


@on(*ONE)
def empty_minimum(x):
    return min(x)


@on(*ONE)
def extremes(x):
    if len(x) > 0:
        a, b = min(x), max(x)
        c, d = max(v * v for v in x), min([abs(v) for v in x])
        return a, b, c, d, min(i * v for i, v in enumerate(x)), max(x[i] for i in range(len(x)))


@on(*ONE)
def filtered_maximum(x):
    return max(v for v in x if v > 0)


@on(*MATRIX)
def extremes_of_rows(X):
    return max(max(row) for row in X), min(v for row in X for v in row)


@on(*ONE)
def any_all(x):
    return any(x), all(x), any(v > 2 for v in x), all(v < 3 for v in x if v == v)


@on(*ONE)
def any_all_lists(x):
    return any([v > 1 for v in x]), all([v for v in x]), any(v for v in x if v < 0)


@on(*MATRIX)
def nested_any(X):
    return any(all(v > 2 for v in row) for row in X), all(any(v for v in row) for row in X)


@on(*ONE)
def search_stops(x):
    n = 6
    return any(1 // (n - i) > 0 for i in range(10)), all(math.sqrt(v) >= 0 for v in x)


@on(*ONE)
def list_does_not_stop(x):
    return any([1 // (2 - i) > 0 for i in range(len(x))])


@on(*ONE)
def generator_over_generator(x):
    return sum(v * v for v in (u + 1 for u in x if u > 0)), [w for w in (v for v in x) if w]


@on(*TWO)
def inside_expressions(x, y):
    a = x[0] + sum(v for v in y) * len(y)
    b = (a, sum(x) if a > 0 else max(y), a and sum(y), a < 0 or any(x) or min(x))
    return b if sum(y) > a > min(x) else [b]


@on(*TWO)
def order_of_errors(x, y):
    return x[3] + min(v for v in y if v > 9)


@on(*TWO)
def order_of_errors_reversed(x, y):
    return min(v for v in y if v > 9) + x[3]


@on(*ONE)
def conditions(x):
    if any(v > 2 for v in x):
        return 1
    elif sum(x) > 0:
        return 2
    while x.sum() > 100:
        x -= 1
    return np.sum([v for v in x])


@on(*ONE)
def shadowed(x, sum=max, zip=min, len=abs):
    return sum(x) if x.size else zip([3, 4]), len(-3), [v for v in x]


@on(*ONE)
def arithmetic_error_midway(x):
    out = np.zeros(9)
    for i, v in enumerate(x):
        out[i] = 1 // int(v - 3)
        x[i] = 0
    return out


@on(*ONE)
def left_alone(x):
    total = 0
    for k in {1: 2}:
        total += k
    for p in zip(x, x):
        total += len(p)
    a, *b = [1, 2, 3]
    for q in [5, 6]:
        total += q
    return total, a, b, [z for z in "ab"], {*(1, 2)}, (w := 3), w


@on(*ONE)
def list_grows_in_its_loop(x):
    a = [v for v in x]
    for v in a:
        if len(a) < 9:
            a.append(v + 1)
    return a


@on(*ONE)
def rank_changes(x):
    s = 0.0
    for _ in range(2):
        s += x.sum()
        s = x
        s = s + 1
    return s


@on(*ONE)
def in_a_try(x):
    out = []
    try:
        for v in x:
            out.append(v)
        m = min(v for v in x if v > 0)
    except ValueError as e:
        return str(e), out
    return m, out


# -- ranges under names, and asked

INTS = [(7,), (0,), (-2,), (1,), (2.0,), (np.int64(5),), (True,)]


@on(*INTS)
def range_under_a_name(n):
    r = range(1, n, 2)
    n = 3
    return [i for i in r], len(r), 3 in r, r, n


@on(*INTS)
def range_under_a_name_twice(n):
    r = range(n)
    for _ in r:
        r = range(2)
    return len(r), r


@on(*INTS)
def range_in_a_branch(n):
    if n > 1:
        r = range(n)
    return len(r)


@on(*INTS)
def range_seen_from_within(n):
    r = range(n)

    def inner():
        return len(r)

    return inner()


@on(*INTS)
def asked_of_a_range(n):
    found = [n in range(3), n not in range(9, 0, -2), n in range(1, 9, 3)]
    for i in range(n):
        found += [i in range(i, n, 2)]
    return found, 2.0 in range(5), n + 1 in range(9)


@on(*INTS)
def range_without_a_step(n):
    return n in range(1, 9, 0)


@on(*INTS)
def numpy_ranges(n):
    out = []
    for v in np.arange(n):
        out.append(v)
    for v, w in zip(np.arange(1, 9, 2), np.arange(n, 0, -3)):
        out.append(v * w)
    return out, [v for v in reversed(np.arange(n))]


@on(*INTS)
def shadowed_range(n):
    range = len
    return n in range([1, 2])
