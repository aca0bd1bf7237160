"""Aliasing and layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from .given import case, floats, ints
from .trap import trap

F, Z, N = floats(9), ints(9), floats(0)
SQUARE = lambda: floats(12)().reshape(3, 4)  # noqa: E731 (a maker like the others)


def views(*cuts: Any) -> Any:
    """Parts of one array."""

    def make() -> tuple[Any, ...]:
        x = floats(9)()
        return tuple(x[cut] for cut in cuts)

    return make


ALL, HEAD, TAIL, BACK = slice(None), slice(None, -1), slice(1, None), slice(None, None, -1)


@trap("same array twice", case(F, floats(9)), views(ALL, ALL), views(HEAD, TAIL), views(ALL, BACK))
def doubled(x, y):
    for i in range(len(x)):
        y[i] = x[i] * 2 + x[0]


@trap("overlapping views", views(slice(0, 4), slice(5, 9)), views(HEAD, TAIL), views(TAIL, HEAD),
      views(slice(0, 8, 2), slice(1, 9, 2)), views(BACK, ALL))
def shifted(x, y):
    for i in range(min(len(x), len(y))):
        y[i] = x[i] + 1
    return x


@trap("overlapping views", views(slice(0, 4), slice(5, 9)), views(HEAD, TAIL), views(TAIL, HEAD))
def copied_whole(x, y):
    y[:] = x
    return y


@trap("a[1:] = a[:-1] copies first", case(F), case(N), case(floats(1)), case(Z))
def moved_up(a):
    a[1:] = a[:-1]


@trap("a[1:] = a[:-1] copies first", case(F), case(N), case(Z))
def added_up(a):
    a[1:] += a[:-1]


@trap("for i: a[i] += a[i-1] is a recurrence", case(F), case(N), case(Z))
def summed_up(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]


def reread() -> tuple[Any, ...]:
    x = floats(9)()
    return x, x.view(np.int64)


@trap("overlapping views, also with other dtypes", case(F, ints(9)), reread)
def as_other(x, y):
    for i in range(len(x)):
        x[i] = y[i] + 1
    return x


@trap("zero and negative strides", case(F), case(lambda: floats(9)()[::-1]),
      case(lambda: np.broadcast_to(np.float64(2), 5)), case(lambda: floats(9)()[::3]))
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


@trap("zero strides", case(F, 1.5), case(
    lambda: np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,)), 1.0
))
def on_one(x, v):
    for i in range(len(x)):
        x[i] += v
    return x[0]


@trap("Fortran order", case(SQUARE), case(lambda: np.asfortranarray(SQUARE())),
      case(lambda: SQUARE().T))
def in_order(x):
    return x * 2 + 1


@trap("Fortran order", case(SQUARE), case(lambda: np.asfortranarray(SQUARE())),
      case(lambda: SQUARE()[:, ::-1]))
def like(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j]
    return out


@trap("byte-swapped, unaligned", case(F), case(lambda: floats(5)().astype(">f8")),
      case(lambda: np.zeros(41, np.uint8)[1:].view(np.float64)))
def strange(x):
    for i in range(len(x)):
        x[i] += 0.5
    return x


def locked() -> tuple[Any, ...]:
    x = floats(9)()
    x.flags.writeable = False
    return x, 1.0


@trap("read-only (raises at the write only)", case(F, 1.0), locked, case(F, 9.0))
def written_late(x, t):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        if s > t:
            x[i] = s
    return s


@trap("0-d in, scalar out", case(F), case(lambda: np.array(2.0)), case(2.0), case(np.float32(2)))
def plus_one(x):
    return x + 1


class Counted(np.ndarray):
    """A subclass that prints what is asked of it."""

    def __getitem__(self, key: Any) -> Any:
        print("item", key)
        return super().__getitem__(key)


@trap("subclasses, masked, object, datetime", case(F),
      case(lambda: floats(3)().view(Counted)), case(lambda: np.ma.array([1.0, 2.0], mask=[0, 1])),
      case(lambda: np.array([1, 2.5, 3], object)), case(lambda: np.array([1, 2], "m8[s]")),
      case(lambda: [1.0, 2.0]), case((1, 2)), case("ab"), case(None))
def any_kind(x):
    s = x[0]
    for i in range(1, len(x)):
        s = s + x[i]
    return s


@trap("x = x + y rebinds", case(F, floats(9)), case(F, 1.0), case(Z, ints(9)))
def rebound(x, y):
    x = x + y
    x[0] = 7
    return x


@trap("x += y does not", case(F, floats(9)), case(F, 1.0), case(Z, 0.5), case(Z, ints(9)))
def in_place(x, y):
    x += y
    return x


@trap("identity of what it returns", case(F, floats(9), True), case(F, floats(9), False))
def either(x, y, first):
    for i in range(len(x)):
        x[i] += y[i]
    return x if first else y


@trap("views", case(F), case(N), case(Z))
def viewed(x):
    y = x[1:]
    for i in range(len(y)):
        y[i] = 2
    return y


@trap("views", case(SQUARE), case(lambda: np.asfortranarray(SQUARE())))
def transposed(x):
    return x.T


@trap("reshape of what is not contiguous copies", case(SQUARE), case(lambda: SQUARE().T))
def raveled(x):
    y = x.ravel()
    return y.sum()


@trap("different shapes", case(F, floats(9)), case(F, floats(1)), case(F, floats(3)), case(N, N))
def stretched(x, y):
    return x + y


@trap("swapped rows", case(SQUARE, 0, 2), case(SQUARE, 1, 1), case(SQUARE, 0, 3))
def swapped(x, i, j):
    for k in range(x.shape[1]):
        x[i, k], x[j, k] = x[j, k], x[i, k]
    return x


@trap("what is changed in place keeps its type", case(F, ints(9)), case(floats(9, np.float32), Z),
      case(floats(9, np.float32), F), case(lambda: np.arange(9.0)[::2], lambda: np.arange(5)))
def type_of_sums(y, x):
    y += x
    if y.dtype == np.float64:
        s = 0.0
        for v in y:
            s += v
        return s, np.zeros(3, y.dtype)
    y *= 2.0
    return y[0], np.zeros(2, y.dtype), y.dtype == np.float32


CUBE = lambda: np.arange(60.0).reshape(3, 4, 5)  # noqa: E731
FLAT = lambda: np.arange(20.0).reshape(4, 5)  # noqa: E731
DEEP = lambda: np.asfortranarray(CUBE())  # noqa: E731
UPRIGHT = lambda: np.asfortranarray(FLAT())  # noqa: E731


@trap("what is computed lies as its operands do, two axes as in C where one of them has that",
      case(CUBE, FLAT), case(DEEP, FLAT), case(DEEP, UPRIGHT), case(CUBE, UPRIGHT))
def stacked(x, y):
    return x + y, y[None] - x, np.where(x > y, x, 0)


@trap("what is computed lies as its operands do, two axes as in C where one of them has that",
      case(CUBE, FLAT), case(DEEP, FLAT), case(DEEP, UPRIGHT), case(CUBE, UPRIGHT), compiled=False)
def stacked_on_end(x, y):
    return x.T + y.T[:, :, None], y.T[:, :, None] * x[0, 0, :4, None][:, :1].T, y.T[:, None] * 2
