"""Names that expressions bind, and names that are deleted."""

from __future__ import annotations

from .given import case, floats, ints
from .trap import trap

F, N = floats(9), ints(9)
NONE = floats(0)


@trap("an expression in a loop binds what was None", case(F, 0.0), case(N, 9), case(NONE, 0.0))
def seen_last(x, s):
    last, k = None, 0
    for v in x:
        if last is None:
            k += 1
        if (last := v) > s:
            k += 10
    return k, last


@trap("a condition of while binds what was None", case(F, -3.0), case(N, 9), case(NONE, 0.0))
def asked_while(x, s):
    last, i, k = None, 0, 0
    while i < len(x) and (last := x[i]) > s:
        if last is None:
            k += 1
        i += 1
    else:
        k += 100
    return k, last, i


@trap("all and any bind what was None", case(F, 0.0), case(N, -9), case(NONE, 0.0))
def found_last(x, s):
    a = b = None
    return all((a := v) > s for v in x), any((b := v) > s for v in x), a, b


@trap("a comprehension binds what it asks", case(F, 0.0), case(N, 2), case(NONE, 0.0))
def taken_while(x, s):
    last = None
    return [(last := v) for v in x if last is None or last < s], last


@trap("what comes later in an expression knows of it", case(F, 0.0), case(N, 2))
def asked_at_once(x, s):
    last = None
    t = (last := s), last is None, x[0]
    n = x[0]
    for v in x:
        n = n + (last := v) + (last is None)
    return t, n, last


def helper(v, w=None, mode=1):
    if (w := v) > 0:
        mode = 2
    elif w is None:
        return 7
    a = (w := v) + (0 if w is None else 1)
    return 1 if w is None else 2 if mode == 1 else a


@trap("a default that an expression binds anew", case(F), case(N), case(NONE))
def by_helper(x):
    t = 0
    for v in x:
        t += helper(v)
    return t


@trap("a name deleted in a branch", case(F, 9), case(F, 1), case(F, 2), case(NONE, 2))
def deleted_sometimes(x, n):
    t = 0
    for v in x:
        t += v
    if n < 3:
        del t
    if n == 1:
        t = 5
    return t


@trap("only what has a value is deleted", case(F), case(N), case(NONE))
def deleted_after(x):
    t = 0
    for v in x:
        t += v
    del v
    return t


@trap("a name deleted in a turn", case(F, 99.0), case(F, -2.0), case(F, 0.0), case(NONE, 0.0))
def deleted_in_turn(x, s):
    t = 0
    for v in x:
        w = v * 2
        t += w
        if v == s:
            del w
    return t, w


@trap("an array deleted", case(F, 1), case(F, 0), case(NONE, 1), compiled=False)
def deleted_array(x, n):
    y = x * 2
    z = y + 1
    if n:
        del y
    return z, y


@trap("deleted beside what stays Python's", case(F, 1), case(N, 0), compiled=False)
def deleted_beside(x, n):
    t, y = 0, x if n else x + 1
    for v in x:
        t += v
    print(t)
    out = {float(v) for v in y}
    del v, y
    return t, sorted(out)


def forgetful(v, k):
    t = v + 1
    if k == 1:
        del t
    u = v if k == 2 else t
    del k
    return u


@trap("a helper deletes", case(F, 0), case(F, 1), case(F, 2))
def by_forgetful(x, n):
    s = 0.0
    for v in x:
        s += forgetful(v, n)
    return s


@trap("a loop variable has the name of what a list becomes", case(F, 3), case(F, 0), case(N, 2))
def called_as_a_buffer(x, n):
    y = []
    for v in x:
        y.append(v)
        if len(y) > 3:
            y.pop()
    for y_items in range(n):  # noqa: B007
        x[0] = 1
    return y_items, y


@trap(
    "so has what only the other branch binds", case(F, 3), case(F, 0), case(N, -2), compiled=False,
)
def called_so_elsewhere(x, n):
    y = []
    for v in x:
        y.append(v)
        if len(y) > 3:
            y.pop()
    if n > 0:
        y_items = n * 2
        return y_items, y
    s = 0
    for _ in range(3):
        s += y_items
    return s, y


place = 5


@trap("a local that only a region binds is none of the globals", case(F, 9.0), case(F, -9.0),
      compiled=False)
def bound_by_a_region(x, s):
    if s > 0:
        for place, v in enumerate(x):
            x[place] = v * 2
    else:
        t = len(x)
        while t > 0 and x.ndim > 0:
            t = t - 1
            if s < max(x[0], t) <= place:
                break
    return x[0]


@trap("what a local function binds in a comprehension was another before", case(F, 2), case(N, 0))
def counted_by(x, n):
    c = n
    before = None

    def more(by=1):
        nonlocal c
        c += by
        return c

    def first(v):
        nonlocal before
        if before is None:
            before = v
        return v + before

    t = c, [more(k) for k in range(3)], c, c + sum(more(k) for k in range(4)) * c
    u = before is None, [first(v) for v in x], before is None, 1 if before is None else 2
    return t, u, c


@trap("what is added to is read first", case(F, 2), case(N, 0), case(NONE, 1), compiled=False)
def added_by(x, n):
    c = n

    def more(by=1):
        nonlocal c
        c += by
        return c

    def stored(v):
        x[0] = v + 1
        return v

    c += sum(more(k) for k in range(3))
    x[0] += sum(stored(k) for k in range(3))
    x[c % 2] += sum(more(k) for k in range(2))
    x[c % 2] = sum(more(k) for k in range(3))
    return c, x
