"""Each row of the function table agrees with NumPy: names, arguments, purity, sharing, rank."""
from __future__ import annotations

import ast
import copy
import inspect
import random
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from for_each import for_each

from transpile.analysis.type_inference.shape_rules import rank_of_call
from transpile.analysis.type_inference.type_probe import may_be_probed
from transpile.numpy import function_table
from transpile.numpy.call_arguments import _parameter_names
from transpile.numpy.function_table import (
    FUNCTIONS,
    METHODS,
    STATIC_PARAMETERS,
    Row,
    expansion_rule,
    function_row,
    named_function,
)
from transpile.numpy.functions.identity_table import IDENTITIES

FAMILIES = ("formula", "movement", "view", "loops", "pair")
RENAMED = {  # the compiler's names of parameters that come first and have other names in NumPy
    "x", "z", "a", "b", "c", "h", "p", "q", "xp", "fp", "v", "f", "M", "N", "m", "dx", "dy", "y",
}

x, X, k = np.arange(3.0), np.arange(9.0).reshape(3, 3), np.arange(3)
mask = x > 0.5

CALLS: dict[str, tuple[Any, ...]] = {
    "arange": (3,), "bartlett": (3,), "bincount": (k,), "blackman": (3,), "block": ([x, x],),
    "broadcast_to": (x, (2, 3)), "clip": (x, 0.0, 1.0), "column_stack": ([x, x],),
    "compress": (mask, x), "concatenate": ([x, x],), "delete": (x, 0), "dstack": ([x, x],),
    "einsum": ("ii->i", X), "empty": (3,), "expand_dims": (x, 0), "extract": (mask, x),
    "eye": (3,), "fliplr": (X,), "flipud": (X,), "full": (3, 1.0), "full_like": (x, 1.0),
    "geomspace": (1.0, 2.0, 3), "hamming": (3,), "hanning": (3,), "hstack": ([x, x],),
    "identity": (3,), "indices": ((2, 2),), "insert": (x, 0, 1.0), "interp": (x, x, x),
    "linspace": (0, 1, 3), "logspace": (0, 1, 3), "matrix_transpose": (X,), "meshgrid": (x, x),
    "moveaxis": (X, 0, 1), "ones": (3,), "pad": (x, 1), "partition": (x, 1),
    "argpartition": (x, 1), "percentile": (x, 50), "polyval": (x, x), "quantile": (x, 0.5),
    "nanpercentile": (x, 50), "nanquantile": (x, 0.5), "repeat": (x, 2), "reshape": (x, (3, 1)),
    "roll": (x, 1), "rollaxis": (X, 1), "rot90": (X,), "select": ([mask], [x]), "stack": ([x, x],),
    "swapaxes": (X, 0, 1), "take": (x, k), "take_along_axis": (x, k, 0), "tensordot": (x, x, 1),
    "tile": (x, 2), "trace": (X,), "diagonal": (X,), "diag": (X,), "tri": (3,),
    "tril": (X,), "triu": (X,),
    "tril_indices": (3,), "triu_indices": (3,), "vstack": ([x, x],), "where": (mask, x, x),
    "zeros": (3,), "fill_diagonal": (X.copy(), 1.0), "place": (x.copy(), mask, [1.0]),
    "put": (x.copy(), 0, 1.0), "putmask": (x.copy(), mask, 1.0), "copyto": (x.copy(), x),
    "finfo": (float,), "iinfo": (int,), "fromiter": ([1.0], float), "lexsort": ((x,),),
    "astype": (x, float), "cov": (x,), "cross": (x, x), "searchsorted": (x, x),
    "digitize": (x, x), "isin": (x, x), "builtins.divmod": (7, 2), "vander": (x,),
    ".astype": (np.float32,), ".clip": (0.0, 1.0), ".dot": (x,), ".fill": (1.0,), ".repeat": (2,),
    ".partition": (1,), ".argpartition": (1,), ".reshape": (3, 1), ".searchsorted": (x,),
    ".swapaxes": (0, 1), ".take": (k,), ".item": (0,),
} | {
    name: (np.array([6, 5, 4]), [0, 1], [7, 3]) for name, row in FUNCTIONS.items() if row.scatter
}
"""What a function is called with, if not with as many vectors as it must have."""

ROWS = [*FUNCTIONS.values(), *METHODS.values()]
each_row = for_each(ROWS, lambda row: row.callee)


def function_of(row: Row) -> Callable[..., Any]:
    name = row.callee
    if name.startswith("builtins."):
        return divmod
    if name[0] == ".":
        return lambda array, *args: getattr(array, name[1:])(*args)
    found: Callable[..., Any] = named_function(name)
    return found


def samples(row: Row) -> Iterator[tuple[Any, ...]]:
    """Arguments for the function; of a method, the array first."""
    if row.callee[0] == ".":
        of = X if row.callee in (".diagonal", ".swapaxes", ".trace") else x
        yield (of.copy(), *CALLS.get(row.callee, ()))
    elif row.callee in CALLS:
        yield copy.deepcopy(CALLS[row.callee])  # some functions change their first argument
    elif isinstance(ufunc := named_function(row.callee), np.ufunc):
        yield (x,) * ufunc.nin
    elif "." in row.callee and row.callee != "linalg.norm":
        yield (mask, mask) if row.callee.endswith("outer") else (k,)
    else:
        parameters = inspect.signature(function_of(row)).parameters.values()
        needed = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        yield (x,) * max(1, len(needed))


def called(row: Row, args: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):
        try:
            return function_of(row)(*args)
        except TypeError:  # a ufunc of ints or bools alone
            return function_of(row)(*(k for _ in args))


def arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from arrays(v)


@each_row
def test_the_callee_exists(row: Row) -> None:
    if row.callee[0] == ".":
        assert callable(getattr(np.ndarray, row.callee[1:]))
    else:
        assert callable(function_of(row))


def test_names_are_found_by_identity() -> None:
    assert function_row(np.cumsum) is FUNCTIONS["cumsum"]
    assert function_row(np.linalg.norm) is FUNCTIONS["linalg.norm"]
    assert function_row(len) is None


def test_two_rows_for_one_function_are_refused() -> None:
    with pytest.raises(ValueError, match="two rows for f"):
        function_table._by_name([Row("f"), Row("f")])


@each_row
def test_expansions_exist_and_know_the_arguments(row: Row) -> None:
    for family in FAMILIES:
        expansion = getattr(row, family)
        if expansion is None:
            continue
        assert callable(expansion_rule(family, row.callee))
        unnamed, either, named = _parameter_names(expansion.arguments)
        try:
            parameters = inspect.signature(named_function(row.callee.lstrip("."))).parameters
        except (TypeError, ValueError):
            continue
        known = [*parameters]
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            continue
        others = {*unnamed, *either, *named} - {*known}
        # what NumPy gives without a name, or under the name of a method, has one of ours
        assert {n for n in others if n not in RENAMED | {"among", "axis", "out", "copy"}} <= (
            {"min", "max", "ddof", "bias"} if row.callee == "clip" else set()
        )


@each_row
def test_static_parameters_are_parameters(row: Row) -> None:
    for name in row.static.split():
        assert name in inspect.signature(function_of(row)).parameters
        assert name not in STATIC_PARAMETERS


@each_row
def test_what_is_pure_changes_nothing_and_draws_nothing(row: Row) -> None:
    if not row.pure:
        return
    for args in samples(row):
        before = [a.copy() for a in arrays(args)]
        drawn = random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[union-attr]
        called(row, args)
        for a, b in zip(arrays(args), before, strict=True):
            np.testing.assert_array_equal(a, b)
        assert drawn == (random.getstate(), np.random.get_state()[1].tobytes())  # type: ignore[union-attr]


@each_row
def test_what_is_not_pure_changes_its_array(row: Row) -> None:
    if row.pure:
        return
    first = np.array([3.0, 1.0, 2.0]) if row.callee[0] == "." else next(samples(row))[0].copy()
    args = next(samples(row))[1:] if row.callee != "copyto" else (first[::-1].copy() + 1.0,)
    before = first.copy()
    assert called(row, (first, *args)) is None
    assert not np.array_equal(first, before)


@each_row
def test_what_is_new_shares_no_memory(row: Row) -> None:
    for args in samples(row):
        results = [*arrays(called(row, args))]
        shared = any(np.shares_memory(r, a) for r in results for a in arrays(args))
        if row.result == "new":
            assert not shared
        if row.result == "none":
            assert results == []


def test_views_share_memory() -> None:
    """On the samples, each function whose row says "view" gives one."""
    copied = []
    for row in ROWS:
        if row.result == "view":
            (args,) = samples(row)
            got = [*arrays(called(row, args))]
            if not any(np.shares_memory(r, a) for r in got for a in arrays(args)):
                copied.append(row.callee)
    assert copied == []


@each_row
def test_the_rank_is_that_of_the_result(row: Row) -> None:
    if not row.rank or row.callee[0] == ".":
        return
    for args in samples(row):
        text = ", ".join(f"a{n}" for n in range(len(args)))
        call = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        rank = rank_of_call(function_of(row), call, [np.ndim(a) for a in args])
        assert rank is None or rank == np.ndim(called(row, args))


@each_row
def test_typed_functions_are_pure(row: Row) -> None:
    assert row.pure or not row.typed
    if row.typed and "." not in row.callee:
        assert may_be_probed(function_of(row))


@each_row
def test_folds_are_ufuncs(row: Row) -> None:
    for fold in (row.reduction, row.scan):
        if fold is not None:
            assert isinstance(named_function(fold.function), np.ufunc)
    if row.same_as:
        assert FUNCTIONS[row.same_as].reduction is not None


SCANS = [row for row in FUNCTIONS.values() if row.scan]


@for_each(SCANS, lambda row: row.callee)
def test_scans_without_an_axis(row: Row) -> None:
    """`Row.without_axis` is what NumPy does with a matrix."""
    scan, matrix = function_of(row), np.arange(6.0).reshape(2, 3) + 1
    match row.without_axis:
        case "flatten":
            assert np.array_equal(scan(matrix), scan(matrix.ravel()))
        case "first":
            assert np.array_equal(scan(matrix), scan(matrix, axis=0))
        case "":
            with pytest.raises(ValueError, match="axis"):
                scan(matrix)


def test_the_identities_of_a_function_stand_together() -> None:
    names = [name for name, _ in groupby(row.function for row in IDENTITIES)]
    assert names == list(dict.fromkeys(names))


def test_identities_are_of_rows() -> None:
    assert {row.function for row in IDENTITIES} <= {*FUNCTIONS}
