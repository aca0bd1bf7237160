"""Uses of ``fuse`` for the type checkers: `test_typing` runs mypy and pyright over this file.

Each ignore stands at a wrong use; one that no checker needs is an error, too.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

from transpile import Fused, FuseError, __version__, fuse

Vector = NDArray[np.float64]


@fuse
def scale(x: Vector, by: float = 2.0, *, shift: float = 0.0) -> Vector:
    return x * by + shift


@fuse(target="avx2", threads="auto", on_reject="raise", reassociate=False, verify=0.5)
def total(x: Vector) -> float:
    s = 0.0
    for v in x:
        s += float(v)
    return s


def count(n: int, /) -> list[int]:
    return [i * i for i in range(n)]


class Model:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    @fuse
    def step(self, x: Vector, times: int = 1) -> Vector:
        return x * self.rate * times

    @staticmethod
    @fuse
    def norm(x: Vector) -> float:
        return float(np.sqrt((x * x).sum()))


def right(x: Vector, model: Model) -> None:
    assert_type(scale(x, 3.0, shift=1.0), Vector)
    assert_type(total(x), float)
    assert_type(fuse(count), Fused[[int], list[int]])
    assert_type(fuse(count, cache=False)(3), list[int])
    assert_type(fuse(fast=True)(count)(3), list[int])
    assert_type(model.step(x, times=2), Vector)
    assert_type(Model.step(model, x), Vector)
    assert_type(Model.norm(x), float)
    assert_type(__version__, str)
    assert_type(scale.emit("c", x), str)
    assert_type(str(scale.report(x)), str)
    plain: Callable[[int], list[int]] = fuse(count)
    plain(3)
    total.__wrapped__(x)
    try:
        total(x)
    except FuseError as error:
        assert_type(str(error), str)


def wrong(x: Vector, model: Model) -> None:
    scale(x, "2")  # type: ignore[arg-type]
    scale()  # type: ignore[call-arg]
    scale(x, by=2.0, shifted=1.0)  # type: ignore[call-arg]
    total(x).upper()  # type: ignore[attr-defined]
    model.step()  # type: ignore[call-arg]
    model.step(x, times="2")  # type: ignore[arg-type]
    fuse(target="avx1024")  # type: ignore[call-overload]
    fuse(on_reject="ignore")  # type: ignore[call-overload]
    fuse(vectorize=True)  # type: ignore[call-overload]
    fuse(True)  # type: ignore[call-overload]
    fuse(3)  # type: ignore[call-overload]
