"""Function table: one row for each NumPy function and array method that the compiler knows.

A row holds the facts about the function (whether it has side effects, whether its result may share
memory with an argument, the rank of the result) and names the rule that expands its calls. For
example ::

    Row("cumsum", rank="vector", arrays=1, lists=True, scan=Fold("add", 0), without_axis="flatten",
        accumulator=_SCAN)

says that the cumsum of a vector is a vector, that its first argument is an array for which a list
may be passed, that ``axis_scans`` expands it to a loop that adds elements, starting at 0, and that
without an axis a matrix is flattened.

Analyses and macros query the table by object (`function_row`), by name (`FUNCTIONS`, `METHODS`) or
by a property (`functions_where`); they keep no lists of functions of their own. A call of a
function without a row stays as it is. Lowering then refuses it, so that Python runs it; but ufuncs
and some other functions have a rule there (`lower_calls.CALLS`).

To add a function, add a row here and, if no existing rule expands it, a rule in the module that the
row names (CONTRIBUTING.md has an example). ``tests/unit/transpile/numpy/test_function_table.py``
checks each row against NumPy.

Ufuncs need no row: ``loopir.op_table`` defines them element by element. The table imports no module
of this project until the first call of `expansion_rule`, so every stage may import it.
"""
from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from loopir.process.signal_exceptions import failures

from .function_row import Expansion, Family, Fold, Join, Row

__all__ = [
    "ALLOCATING", "FUNCTIONS", "METHODS", "REDUCE_ARGUMENTS", "STATIC_PARAMETERS",
    "expansion_rule", "function_row", "functions_where", "is_array_method",
    "method_row", "named_function", "result_may_be_argument", "signatures",
]


STATIC_PARAMETERS = frozenset((
    "axis", "axes", "axis1", "axis2", "source", "destination", "offset", "keepdims", "bias",
    "rowvar", "ord", "decimals", "repeats", "edge_order", "deg", "equal_nan", "copy", "increasing",
    "wrap",
))
"""Parameters of NumPy's functions whose values decide the rank or the layout of the result, so that
they must be known at compile time: ``axis`` in ``np.sum(x, axis=axis)``. An argument of the user's
that is passed on as one of them counts by value: there is a kernel for each of its values
(`specialized_parameters`). A parameter of such a name counts for every function; `Row.static` has
those that count for one function only.
"""

REDUCE_ARGUMENTS = "a axis dtype out keepdims initial where"
"""The parameters of ``np.add.reduce`` and of the functions, such as ``np.sum``, that call it."""

_MOMENT = "a axis dtype out ddof keepdims where"
_SCAN = "a axis dtype out"

_formula = partial(Expansion, "elementwise.elementwise_formulas")
_movement = partial(Expansion, "elementwise.data_movement")
_view = partial(Expansion, "functions.view_identities")
_array = partial(Expansion, "functions.array_identities")
_loops = partial(Expansion, "functions.function_loops")
_quantile = partial(Expansion, "functions.quantile")
_count = partial(Expansion, "functions.histogram")
_grid = partial(Expansion, "functions.index_grids")
_window = partial(Expansion, "functions.convolve_gradient")
_interp = partial(Expansion, "functions.linear_interp")
_search = partial(Expansion, "functions.searchsorted")
_polynomial = partial(Expansion, "functions.horner_scheme")

_FUNCTION_ROWS = (
    Row("all", rank="fold", arrays=1, lists=True, reduction=Fold("logical_and", 1)),
    Row("allclose", warns=True),
    Row("amax", arrays=1, reduction=Fold("maximum", None, initial=True)),
    Row("amin", arrays=1, reduction=Fold("minimum", None, initial=True)),
    Row("angle", formula=_formula("z deg", "angle_rule")),
    Row("any", rank="fold", arrays=1, lists=True, reduction=Fold("logical_or", 0)),
    Row("append", joins=Join(parts=True)),
    Row("arange", rank="one", sized=True, fill="numpy"),
    Row("argmax", rank="fold", arrays=1, lists=True, search=">",
        view=_array("a axis out keepdims", "arg_reduction_keepdims_rule")),
    Row("argmin", rank="fold", arrays=1, lists=True, search="<",
        view=_array("a axis out keepdims", "arg_reduction_keepdims_rule")),
    Row("argpartition", library="NumPy"),
    Row("argsort", rank="vector", lists=True, library="NumPy"),
    Row("argwhere", view=_array("a", "nonzero_rule")),
    Row("around", formula=_formula("a decimals", "round_rule"), warns=True),
    Row("array", rank="convert", lists=True,
        joins=Join(axis=0, parts=True, rows=True, c_order=True),
        formula=_formula("x dtype copy", "array_copy_rule")),
    Row("array_equal"),
    Row("asanyarray", typed=False, result="view", view=_view("a dtype", "asarray_of_array_rule")),
    Row("asarray", result="view", rank="convert", lists=True,
        joins=Join(axis=0, rows=True, c_order=True), formula=_formula("x dtype", "asarray_rule"),
        view=_view("a dtype", "asarray_of_array_rule")),
    Row("ascontiguousarray", result="view", rank="convert",
        view=_view("a dtype", "contiguous_rule")),
    Row("asfortranarray", result="view", view=_view("a dtype", "contiguous_rule")),
    Row("astype", typed=False, formula=_formula("x dtype copy", "astype_rule")),
    Row("atleast_1d", result="view", view=_view("a", "at_least_1d_rule")),
    Row("atleast_2d", result="view", view=_view("a", "at_least_2d_rule")),
    Row("average", arrays=1, lists=True,
        view=_array("a axis weights returned keepdims", "weighted_average_rule")),
    Row("bartlett", view=_array("M", "bartlett_rule")),
    Row("bincount", lists=True, loops=_count("x weights minlength", "bincount_rule")),
    Row("blackman", view=_array("M", "blackman_rule")),
    Row("block", view=_array("arrays", "block_rule")),
    Row("broadcast_to", result="view"),
    Row("builtins.divmod", typed=False, pair=_loops("a b", "builtin_divmod_rule")),
    Row("clip", rank="elementwise", reads=3,
        formula=_formula("a a_min a_max out min max", "clip_rule")),
    Row("column_stack", joins=Join(axis=1, parts=True, rows=True)),
    Row("compress", view=_array("condition a axis", "compress_rule")),
    Row("concatenate", joins=Join(axis=0, parts=True, existing=True, c_order=True)),
    Row("conjugate", formula=_formula("x", "conjugate_rule")),
    Row("convolve", arrays=2, lists=True, loops=_window("a v mode", "convolve_rule")),
    Row("copy", rank="convert", view=_view("a order", "copy_rule")),
    Row("copyto", pure=False, typed=False, result="none"),
    Row("corrcoef", lists=True),
    Row("correlate", arrays=2, lists=True, loops=_window("a v mode", "correlate_rule")),
    Row("count_nonzero", rank="fold", arrays=1, lists=True, derived=True),
    Row("cov", lists=True),
    Row("cross", arrays=2, lists=True),
    Row("cumprod", rank="vector", arrays=1, lists=True, scan=Fold("multiply", 1),
        without_axis="flatten", accumulator=_SCAN),
    Row("cumsum", rank="vector", arrays=1, lists=True, scan=Fold("add", 0), without_axis="flatten",
        accumulator=_SCAN),
    Row("deg2rad", formula=_formula("x", "to_radians_rule"), warns=True),
    Row("degrees", formula=_formula("x", "to_degrees_rule"), warns=True),
    Row("delete", view=_array("arr obj axis", "delete_rule")),
    Row("diag", result="view", static="k", subscript=True),
    Row("diagflat", subscript=True),
    Row("diagonal", result="view"),
    Row("diff", rank="vector", arrays=1, lists=True, static="n",
        view=_array("a n axis prepend append", "diff_rule")),
    Row("digitize", arrays=2, loops=_search("x bins right", "digitize_rule")),
    Row("divmod", pair=_loops("a b", "divmod_rule")),
    Row("dot", arrays=2, lists=True),
    Row("dstack", joins=Join(parts=True)),
    Row("ediff1d", arrays=1, warns=True),
    Row("einsum", result="view"),
    Row("empty", rank="shape", sized=True, fill="nothing"),
    Row("empty_like", rank="like", fill="nothing"),
    Row("expand_dims", result="view", subscript=True, view=_view("a axis", "expand_dims_rule")),
    Row("extract", view=_array("condition a", "compress_rule")),
    Row("eye", sized=True, fill="numpy"),
    Row("fill_diagonal", pure=False, typed=False, result="none"),
    Row("finfo", typed=False),
    Row("fix", formula=_formula("x", "fix_rule")),
    Row("flatnonzero", typed=False),
    Row("flip", result="view", rank="vector", view=_view("m axis", "flip_rule")),
    Row("fliplr", result="view", view=_view("m", "fliplr_rule")),
    Row("flipud", result="view", view=_view("m", "flipud_rule")),
    Row("float_power", formula=_formula("a b", "float_power_rule"), warns=True),
    Row("fmax", formula=_formula("a b", "fmax_rule")),
    Row("fmin", formula=_formula("a b", "fmin_rule")),
    Row("fromiter", typed=False),
    Row("full", rank="shape", sized=True, fill="value"),
    Row("full_like", rank="like", fill="value"),
    Row("geomspace", sized=True, fill="numpy"),
    Row("gradient", rank="vector", lists=True,
        loops=_window("f dx dy axis edge_order", "gradient_rule"),
        pair=_window("f dx dy axis edge_order", "gradient_pair_rule")),
    Row("hamming", view=_array("M", "hamming_rule")),
    Row("hanning", view=_array("M", "hanning_rule")),
    Row("heaviside", formula=_formula("x h", "heaviside_rule")),
    Row("histogram", lists=True, pair=_count("a bins range density weights", "histogram_rule")),
    Row("hstack", joins=Join(axis=0, parts=True, existing=True)),
    Row("identity", sized=True, fill="numpy"),
    Row("iinfo", typed=False),
    Row("indices", sized=True, loops=_grid("dimensions dtype", "indices_rule")),
    Row("inner", arrays=2, lists=True),
    Row("insert", view=_array("arr obj values axis", "insert_rule")),
    Row("interp", arrays=3, lists=True, reads=3,
        loops=_interp("x xp fp left right", "interp_rule")),
    Row("isclose", formula=_formula("a b rtol atol equal_nan", "isclose_rule"), warns=True),
    Row("iscomplex", formula=_formula("x", "is_complex_element_rule")),
    Row("iscomplexobj", typed=False, view=_view("x", "is_complex_rule")),
    Row("isin", formula=_formula("x among", "isin_formula")),
    Row("isneginf", formula=_formula("x out", "is_negative_infinity_rule")),
    Row("isposinf", formula=_formula("x out", "is_positive_infinity_rule")),
    Row("isreal", formula=_formula("x", "is_real_element_rule")),
    Row("isrealobj", typed=False, view=_view("x", "is_complex_rule")),
    Row("kron", arrays=2, loops=_grid("a b", "kron_rule")),
    Row("lexsort", typed=False, library="NumPy"),
    Row("linalg.norm", rank="fold", arrays=1, lists=True, warns=True),
    Row("linalg.vector_norm", rank="fold", arrays=1, lists=True),
    Row("linspace", rank="one", sized=True, fill="numpy"),
    Row("logspace", sized=True, fill="numpy"),
    Row("matmul"),
    Row("matrix_transpose", result="view", view=_view("a", "matrix_transpose_rule")),
    Row("max", rank="fold", arrays=1, lists=True, reduction=Fold("maximum", None, initial=True)),
    Row("mean", rank="fold", arrays=1, lists=True, reduction=Fold("add", 0),
        accumulator="a axis dtype out keepdims where"),
    Row("median", rank="fold", lists=True, loops=_quantile("a axis", "median_rule")),
    Row("meshgrid", pair=_grid("x y indexing sparse", "meshgrid_rule")),
    Row("min", rank="fold", arrays=1, lists=True, reduction=Fold("minimum", None, initial=True)),
    Row("modf", pair=_loops("a", "modf_rule")),
    Row("moveaxis", result="view", view=_view("a source destination", "moveaxis_rule")),
    Row("nan_to_num", formula=_formula("x copy nan posinf neginf", "nan_to_num_rule")),
    Row("nanargmax"),
    Row("nanargmin"),
    Row("nancumprod"),
    Row("nancumsum"),
    Row("nanmax", arrays=1, lists=True),
    Row("nanmean", arrays=1, lists=True),
    Row("nanmedian", loops=_quantile("a axis", "nanmedian_rule")),
    Row("nanmin", arrays=1, lists=True),
    Row("nanpercentile", view=_array("a q axis", "several_quantiles_rule"),
        loops=_quantile("a q axis", "nanpercentile_rule")),
    Row("nanprod"),
    Row("nanquantile", view=_array("a q axis", "several_quantiles_rule"),
        loops=_quantile("a q axis", "nanquantile_rule")),
    Row("nanstd", lists=True),
    Row("nansum", arrays=1, lists=True),
    Row("nanvar"),
    Row("ndarray", rank="shape", sized=True),
    Row("ndim", typed=False, view=_view("a", "shape_query_rule")),
    Row("nonzero", typed=False, view=_array("a", "nonzero_rule")),
    Row("ones", rank="shape", sized=True, fill="ones"),
    Row("ones_like", rank="like", fill="ones"),
    Row("outer", arrays=2, lists=True),
    Row("pad", sized=True, movement=_movement("a pad_width mode constant_values", "pad_rule")),
    Row("partition", library="NumPy"),
    Row("percentile", lists=True, view=_array("a q axis", "several_quantiles_rule"),
        loops=_quantile("a q axis", "percentile_rule")),
    Row("permute_dims", result="view", view=_view("a axes", "transpose_rule")),
    Row("place", pure=False, typed=False, result="none"),
    Row("polymul", arrays=2),
    Row("polyval", formula=_formula("p x", "polyval_formula"),
        loops=_polynomial("p x", "polyval_rule")),
    Row("positive", formula=_formula("x", "positive_rule")),
    Row("prod", rank="fold", arrays=1, lists=True, reduction=Fold("multiply", 1, initial=True),
        accumulator=REDUCE_ARGUMENTS),
    Row("ptp", rank="fold", arrays=1, lists=True, derived=True),
    Row("put", pure=False, typed=False, result="none"),
    Row("putmask", pure=False, typed=False, result="none"),
    Row("quantile", lists=True, view=_array("a q axis", "several_quantiles_rule"),
        loops=_quantile("a q axis", "quantile_rule")),
    Row("rad2deg", formula=_formula("x", "to_degrees_rule"), warns=True),
    Row("radians", formula=_formula("x", "to_radians_rule"), warns=True),
    Row("ravel", result="view", subscript=True, view=_view("a order", "reshape_rule")),
    Row("reciprocal", formula=_formula("x", "reciprocal_rule"), warns=True),
    Row("repeat", sized=True, movement=_movement("a repeats axis", "repeat_rule"),
        view=_array("a repeats axis", "repeat_flat_rule"),
        loops=_grid("a repeats axis", "repeat_by_counts_rule")),
    Row("reshape", result="view", subscript=True, view=_view("a shape order", "reshape_rule")),
    Row("roll", rank="vector", movement=_movement("a shift axis", "roll_rule"),
        view=_array("a shift axis", "roll_axes_rule")),
    Row("rollaxis", result="view"),
    Row("rot90", result="view", static="k", view=_view("m k axes", "rot90_rule")),
    Row("round", rank="elementwise", formula=_formula("a decimals", "round_rule"), warns=True),
    Row("searchsorted", arrays=2, lists=True, library="NumPy",
        loops=_search("a v side", "searchsorted_rule")),
    Row("select"),
    Row("shape", typed=False, view=_view("a", "shape_query_rule")),
    Row("sinc", formula=_formula("x", "sinc_rule"), warns=True),
    Row("size", typed=False, view=_view("a axis", "shape_query_rule")),
    Row("sort", rank="vector", lists=True, library="NumPy"),
    Row("squeeze", result="view", subscript=True),
    Row("stack", joins=Join(axis=0, parts=True, rows=True, c_order=True)),
    Row("std", rank="fold", arrays=1, lists=True, derived=True, accumulator=_MOMENT),
    Row("sum", rank="fold", arrays=1, lists=True, reduction=Fold("add", 0, initial=True),
        accumulator=REDUCE_ARGUMENTS),
    Row("swapaxes", result="view", view=_view("a axis1 axis2", "swapaxes_rule")),
    Row("take", arrays=2, movement=_movement("a indices axis out mode", "take_rule"),
        view=_array("a indices axis mode", "take_one_rule")),
    Row("take_along_axis", movement=_movement("a indices axis", "take_along_axis_rule")),
    Row("tensordot"),
    Row("tile", sized=True, movement=_movement("a reps", "tile_rule")),
    Row("trace"),
    Row("transpose", result="view", view=_view("a axes", "transpose_rule")),
    Row("trapezoid", arrays=2, lists=True, view=_array("y x dx axis", "trapezoid_rule")),
    Row("tri", sized=True, fill="numpy"),
    Row("tril", movement=_movement("a k", "tril_rule")),
    Row("tril_indices", typed=False, pair=_grid("n k m", "tril_indices_rule")),
    Row("triu", movement=_movement("a k", "triu_rule")),
    Row("triu_indices", typed=False, pair=_grid("n k m", "triu_indices_rule")),
    Row("unique", lists=True, library="NumPy"),
    Row("unwrap", warns=True),
    Row("vander", loops=_grid("x N increasing", "vander_rule")),
    Row("var", rank="fold", arrays=1, lists=True, derived=True, accumulator=_MOMENT),
    Row("vdot", arrays=2, lists=True),
    Row("vstack", joins=Join(axis=0, parts=True, rows=True, existing=True, c_order=True)),
    Row("where", rank="elementwise", arrays=3, reads=3, view=_array("a b c", "nonzero_rule")),
    Row("zeros", rank="shape", sized=True, fill="zeros"),
    Row("zeros_like", rank="like", fill="zeros"),
)

_UFUNC_ROWS = (
    Row("add.accumulate", typed=False, scan=Fold("add", 0), without_axis="first"),
    Row("add.reduce", typed=False, same_as="sum"),
    Row("logical_and.reduce", typed=False, same_as="all"),
    Row("logical_or.reduce", typed=False, same_as="any"),
    Row("maximum.accumulate", typed=False, scan=Fold("maximum", None), without_axis="first"),
    Row("maximum.reduce", typed=False, same_as="max"),
    Row("minimum.accumulate", typed=False, scan=Fold("minimum", None), without_axis="first"),
    Row("minimum.reduce", typed=False, same_as="min"),
    Row("multiply.accumulate", typed=False, scan=Fold("multiply", 1), without_axis="first"),
    Row("multiply.reduce", typed=False, same_as="prod"),
    *(Row(f"{name}.at", pure=False, typed=False, result="none", scatter=True) for name in (
        "add", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "maximum",
        "minimum", "multiply", "subtract",
    )),
    *(Row(f"{name}.outer", typed=False, view=_view("a b", "outer_rule")) for name in (
        "add", "arctan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "equal",
        "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logical_and",
        "logical_or", "maximum", "minimum", "multiply", "not_equal", "power", "remainder",
        "subtract",
    )),
    *(Row(f"{name}.{method}", typed=False, loops=_loops("a axis", f"ufunc_{method}_rule"))
      for method in ("reduce", "accumulate") for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "fmax", "fmin", "hypot",
        "logical_xor", "subtract",
    )),
)
"""Methods of ufuncs; `Row` explains the columns. A ``reduce`` for which there is a named function
(``np.add.reduce`` is ``np.sum``) has it in ``same_as``. An ``accumulate`` of an operation with an
identity, or of an extremum, is a ``scan``: the ufunc, and what it starts from (None: from the first
element). ``reduce`` and ``accumulate`` of any other ufunc become loops by
`function_loops.ufunc_reduce_rule` and `ufunc_accumulate_rule`: add its name to the last rows.
"""

_METHOD_ROWS = (
    Row(".all", rank="fold"),
    Row(".any", rank="fold"),
    Row(".argmax", rank="fold"),
    Row(".argmin", rank="fold"),
    Row(".argpartition", typed=False, library="NumPy"),
    Row(".argsort", typed=False, library="NumPy"),
    Row(".astype", rank="like"),
    Row(".clip", rank="elementwise", formula=_formula("a min max out", "clip_rule")),
    Row(".conj", result="view", rank="like", formula=_formula("x", "conjugate_rule"),
        view=_view("a", "conjugate_of_real_rule")),
    Row(".conjugate", result="view", formula=_formula("x", "conjugate_rule"),
        view=_view("a", "conjugate_of_real_rule")),
    Row(".copy", rank="like"),
    Row(".cumprod"),
    Row(".cumsum"),
    Row(".diagonal", result="view"),
    Row(".dot", arrays=1),
    Row(".fill", pure=False, typed=False, result="none"),
    Row(".flatten", subscript=True, view=_view("a order", "reshape_rule")),
    Row(".item", typed=False, rank="fold"),
    Row(".max", rank="fold"),
    Row(".mean", rank="fold"),
    Row(".min", rank="fold"),
    Row(".nonzero", typed=False, view=_array("a", "nonzero_rule")),
    Row(".partition", pure=False, typed=False, result="none", library="NumPy"),
    Row(".prod", rank="fold"),
    Row(".ravel", result="view", subscript=True),
    Row(".repeat"),
    Row(".reshape", result="view", subscript=True, view=_view("a shape / * order", "reshape_rule")),
    Row(".round", rank="like"),
    Row(".searchsorted", arrays=1, library="NumPy"),
    Row(".sort", pure=False, typed=False, result="none", library="NumPy"),
    Row(".squeeze", result="view", subscript=True),
    Row(".std", rank="fold"),
    Row(".sum", rank="fold"),
    Row(".swapaxes", result="view"),
    Row(".take", arrays=1),
    Row(".tolist", typed=False),
    Row(".trace"),
    Row(".transpose", result="view"),
    Row(".var", rank="fold"),
)


def _by_name(rows: Iterable[Row]) -> dict[str, Row]:
    """The rows by callee. Raises ValueError where a callee has two rows."""
    table: dict[str, Row] = {}
    for row in rows:
        if row.callee in table:
            raise ValueError(f"two rows for {row.callee}")
        table[row.callee] = row
    return table


_TABLE = _by_name((*_FUNCTION_ROWS, *_UFUNC_ROWS, *_METHOD_ROWS))

FUNCTIONS = {name: row for name, row in _TABLE.items() if name[0] != "."}
"""The rows of functions by name: "cumsum", "linalg.norm", "add.reduce". A macro takes the names of
the rows that have its column, and fires on calls of these functions and of their methods::

    @fires_on(ast.Call, calls=numpy_callees(n for n, row in FUNCTIONS.items() if row.scan))

A function is recognised as an object (`function_row`), whatever name the source has for it.
"""

METHODS = {name[1:]: row for name, row in _TABLE.items() if name[0] == "."}
"""The rows of array methods by name, without the dot: "sum". A method is recognised by its name, if
its object is surely an array.
"""

ARRAY_OF_LIST: tuple[Any, ...] = (np.array, np.asarray)
"""Functions that make an array of a list; elements are converted as item assignment does."""
ARRAY_OF_ITEMS = (*ARRAY_OF_LIST, np.fromiter)
"""Functions that make an array of an iterable."""

ALLOCATING = frozenset(("zeros", "ones", "value", "nothing"))
"""The values of ``fill`` (`Row`) of functions that only allocate: the kernel sets the elements, if
they need be set. Of the others ("numpy") NumPy computes them, before the kernel starts.
"""


def named_function(name: str) -> Any:
    """The object ``np.name``, where `name` may be dotted ("linalg.norm"); None if this version of
    NumPy lacks it.
    """
    function: Any = np
    for part in name.split("."):
        function = getattr(function, part, None)
    return function


_BY_ID = {
    id(f): (f, row) for name, row in FUNCTIONS.items() if (f := named_function(name)) is not None
}
"""The function and its row by ``id``: a callee that is looked up may be unhashable."""


def function_row(function: object) -> Row | None:
    """The row of the object `function`; None where it is no function of the table."""
    entry = _BY_ID.get(id(function))
    return entry[1] if entry is not None and entry[0] is function else None


def method_row(name: str) -> Row | None:
    """The row of the array method `name`; None where there is no row."""
    return METHODS.get(name)


def is_array_method(name: str) -> bool:
    """Whether arrays have a method `name`. Many functions of the table are none: ``x.append(1)``
    and ``x.ptp()`` raise AttributeError, ``x.ndim()`` raises TypeError. Such calls are not
    expanded, so that Python raises.
    """
    return callable(getattr(np.ndarray, name, None))


def functions_where(predicate: Callable[[Row], object]) -> tuple[Any, ...]:
    """The functions (objects, not names) whose rows satisfy `predicate`."""
    return tuple(f for f, row in _BY_ID.values() if predicate(row))


def signatures(family: Family) -> dict[str, str]:
    """For each callee with an expansion of `family`: the parameters that its rule handles."""
    expansions = ((name, getattr(row, family)) for name, row in _TABLE.items())
    return {name: expansion.arguments for name, expansion in expansions if expansion is not None}


@functools.cache
def expansion_rule(family: Family, callee: str) -> Callable[..., Any]:
    """The rule of `family` that expands calls of `callee`, which has one; imports its module on
    first use.
    """
    expansion: Expansion = getattr(_TABLE[callee], family)
    module = importlib.import_module(f"{__package__}.{expansion.module}")
    rule: Callable[..., Any] = getattr(module, expansion.rule)
    return rule


@functools.cache
def result_may_be_argument(name: str, count: int) -> bool:
    """Whether a call of ``np.name`` with `count` positional arguments passes ``out`` among them,
    so that the result is that argument.
    """
    try:
        parameters = [*inspect.signature(named_function(name)).parameters]
    except failures(TypeError, ValueError):
        return False
    return "out" in parameters[:count]
