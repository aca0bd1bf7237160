"""The cause of a refusal: names that do not exist, calls that are not compiled, other arrays."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from transpile import FuseWarning, fuse
from transpile.codes import CODES

X = np.ones(3)
FAMILIES = ("LOWER_", "VECTOR_", "FUSE_")


class Frame:
    """As a Series of pandas, which is not imported."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int) -> float:
        return float(self.values[i])


Frame.__module__, Frame.__qualname__ = "pandas.core.series", "Series"


def misspelt(x):
    total = 0.0
    for v in x:
        totl += v  # noqa: F821, F841
    return total


def missing_import(x):
    return sum(mth.sqrt(v) for v in x)  # noqa: F821


def missing_function(x):
    return np.sqr(x) + 1


def missing_in_math(x):
    total = 0.0
    for v in x:
        total += math.sqroot(v)
    return total


def missing_constant(x):
    total = 0.0
    for v in x:
        total += v * SCALE_OF_ALL  # noqa: F821
    return total


def other_array(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


def of_text(x):
    n = 0
    for letter in x:
        n += letter == "a"
    return n


def statement(x):
    for v in x:
        print(v, end="")



@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(("function", "x", "code", "message"), [
    (misspelt, X, "LOWER_UNDEFINED", "`totl` is not defined; did you mean `total`?"),
    (missing_import, X, "LOWER_UNDEFINED", "`mth` is not defined; did you mean `math`?"),
    (missing_function, X, "LOWER_UNDEFINED", "NumPy has no `sqr`; did you mean `sqrt`?"),
    (missing_in_math, X, "LOWER_UNDEFINED",
     "the module `math` has no `sqroot`; did you mean `sqrt`?"),
    (missing_constant, X, "LOWER_UNDEFINED", "`SCALE_OF_ALL` is not defined"),
    (other_array, Frame(X), "LOWER_TYPE", "`x` is a pandas.Series"),
    (of_text, "banana", "LOWER_TYPE", "`x` is of type str"),
    (statement, X, "LOWER_CALL", "`print` is not a function that can be compiled"),
])
def test_the_cause_is_told(function: Any, x: Any, code: str, message: str) -> None:
    rejection, *_ = fuse(function).report(x).rejections
    assert (rejection.code, rejection.message) == (code, message)
    assert rejection.help


def test_an_array_of_another_library_is_converted_by_the_caller() -> None:
    rejection, *_ = fuse(other_array).report(Frame(X)).rejections
    assert rejection.help == "pass `x.to_numpy()`"


def test_the_help_fits_the_type_of_the_argument() -> None:
    rejection, *_ = fuse(of_text).report("banana").rejections
    assert "`np.frombuffer(x.encode(), np.uint8)`" in (rejection.help or "")
    rejection, *_ = fuse(of_text).report(memoryview(b"banana").cast("c")).rejections
    assert rejection.help == "pass `np.asarray(x)`"


def test_a_text_argument_is_named_by_its_name() -> None:
    f = fuse(of_text)
    with pytest.warns(FuseWarning) as given:
        f("banana")
    assert "banana" not in str(given[0].message)
    assert "of_text(str)" in str(given[0].message)


def test_a_name_of_an_inner_scope_is_defined() -> None:
    def sorted_down(xs):
        xs.sort(key=lambda v: -v)
        return [[v * w for w in xs] for v in xs]

    report = fuse(sorted_down).report([2, 1])
    rejections = (*report.rejections, *report.further)
    assert rejections
    assert "LOWER_UNDEFINED" not in {r.code for r in rejections}


@pytest.mark.parametrize("code", [code for code in CODES if code.startswith(FAMILIES)])
def test_each_code_of_a_refusal_has_a_help(code: str) -> None:
    help = CODES[code].help
    assert help
    assert not help.endswith(".")
    assert not help[0].isupper()


def test_a_known_function_with_other_arguments_is_told_so() -> None:
    def repeated(a, counts):
        n = int(counts[0])
        return np.repeat(a[:, None], n, axis=1)

    rejection, *_ = fuse(repeated).report(X, np.array([2])).rejections
    assert rejection.message == "`np.repeat` is not compiled with these arguments"
    assert "optional arguments" in (rejection.help or "")
