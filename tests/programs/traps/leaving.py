"""What a name is where loops are left, or go on, before their end."""

from __future__ import annotations

from .given import case, floats, ints, of
from .trap import trap

ARRAYS = case(of(1.0, 2.0, 5.0), -0.0), case(of(dtype=float), 1), case(of(4, 3), 1)
HITS = case(of(1.0, 3.0, 4.0)), case(of(1, 2)), case(of(3)), case(of(dtype=float))
NAN = float("nan")
ZERO = case(of(dtype="i4")), case(of(0, 1, dtype="i4")), case(of(dtype=bool)), case(of(True))


@trap("for … else", *HITS)
def none_unless_left(x):
    found = False
    for v in x:
        if v == 3:
            found = True
            break
    else:
        found = None
    return found, found is None


@trap("for … else", *HITS)
def none_if_left(x):
    a, b = 0.0, None
    for v in x:
        if v == 3:
            a = None
            break
    else:
        a = b = 1.0
    return a is None, a, 1 if b is None else 2


@trap("while … else", *HITS)
def none_unless_stopped(x):
    k, i = 1, 0
    while i < len(x):
        if x[i] == 3:
            break
        i += 1
    else:
        k = None
    return k, 0 if k is None else k + i


@trap("what a turn leaves undone", *HITS)
def none_where_skipped(x):
    a, n = 0.0, 0
    for v in x:
        if a is None:
            n += 1
        a = None
        if v == 3:
            continue
        a = 1.0
    return a is None, a, n


@trap("what a turn leaves undone", *HITS)
def none_where_stopped(x):
    a, i = 0.0, 0
    while i < len(x):
        a = None
        i += 1
        if x[i - 1] == 3:
            break
        a = 1.0
    return a is None, a, i


@trap("a loop around is left from an else", *HITS, case(ints(5)), case(floats(6)))
def none_of_inner(x):
    a, n = None, 0
    for v in x:
        for w in x:
            if v + w == 3:
                break
        else:
            a = None
            continue
        a = 1
        if v == 2:
            break
    else:
        n = None
    return a is None, a, n is None


@trap("a loop is left from what stays Python", *HITS, compiled=False)
def none_in_try(x):
    a, n = 0.0, 0
    for v in x:
        n = n + (a is None)
        a = None
        try:
            if v == 3:
                break
            if v == 4:
                continue
        except IndexError:
            n = 100
        a = 1.0
    return a is None, a, n


@trap("a zero keeps its sign where an int may follow", *ZERO)
def zero_before(x):
    last = -0.0
    for v in x:
        last = v
    return last, [last], -0.0 if len(x) > 1 else last


@trap("a zero keeps its sign where an int may follow", *ZERO)
def zero_until(x):
    last, k = -0.0, 0
    for i in range(len(x)):
        last = x[i] if x[i] == 1 else last
        if x[i] == 1:
            k = -0.0
    return last, k, all((last := v) > 2 for v in x), last


@trap("a NaN is no bool", *ZERO)
def nan_before(x):
    last = NAN
    for v in x:
        last = v
    return last



@trap("a number that becomes an array in a loop", *ARRAYS, compiled=False)
def array_after(x, s):
    c = s
    for _ in range(len(x)):
        c = x + 1
    return c + 1, c


@trap("a number that becomes an array in a loop", *ARRAYS, compiled=False)
def array_perhaps(x, s):
    c = d = s
    n = 0
    for i in range(len(x)):
        if x[i] > 2:
            c = x
        for _ in range(i):
            d = x[i:]
        n += 1
    return n, c, d


@trap("a number that becomes an array in a loop", *ARRAYS, compiled=False)
def array_until(x, s):
    c, n = s, 0
    while n < len(x) and x[n] < 4:
        n += 1
        if x[n - 1] > 1:
            c = x[n:]
            continue
        c = n
    else:
        n = -n
    return n, c


@trap("a name that is deleted in a loop has no value", *ARRAYS, compiled=False)
def deleted_in(x, s):
    c, n = s, 0
    for v in x:
        if v > 4:
            del c
        n += 1
    return n, c
