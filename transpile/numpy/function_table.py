"""Function table: one row for each NumPy function and array method that the compiler knows.

A row holds the facts about the function (does it compute only, may its result share memory with an
argument, how does its rank follow from its arguments) and where its expansion stands. Analyses and
macros ask the table; they have no lists of functions of their own. What stands in no row is called
as it is. To add a function, add a row here and, if its calls become loops, a rule in the module
that the row names. ``tests/unit/transpile/numpy/test_function_table.py`` checks each row against
NumPy.

Ufuncs compute each element from the elements of the operands; they need no row
(``loopir.op_table`` has their meaning). The table imports nothing of this project but on first use
of a rule, so that every stage may ask it.
"""
from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

__all__ = [
    "ALLOCATING", "FUNCTIONS", "METHODS", "REDUCE_ARGUMENTS", "STATIC_PARAMETERS", "Expansion",
    "Fold", "Join", "Row", "expansion_rule", "function_row", "functions_where", "method_row",
    "named_function", "result_may_be_argument", "signatures",
]


class Expansion(NamedTuple):
    """The function ``rule`` of ``module`` expands the call; it may have these ``arguments``.

    The module is relative to this package. The text of the arguments is as `bind_arguments` takes
    it. What a rule takes and returns is said where its family is expanded.
    """

    module: str
    arguments: str
    rule: str


class Fold(NamedTuple):
    """The ufunc that takes in one element; ``start``, None: the first element.

    ``initial``: the call may have an argument of that name.
    """

    function: str
    start: int | None
    initial: bool = False


class Join(NamedTuple):
    """How a function joins arrays that are given in one list or tuple.

    ``parts``: `concatenate_arrays` expands it. ``rows``: so does `stack_comprehension`. ``axis`` of
    the result that counts the arrays of a list, None: such a list is not taken. ``existing``: that
    axis is one of the arrays. ``c_order``: of arrays in C order the result is in C order.
    """

    axis: int | None = None
    parts: bool = False
    rows: bool = False
    existing: bool = False
    c_order: bool = False


Result: TypeAlias = Literal["new", "view", "none"]
Rank: TypeAlias = Literal["", "shape", "like", "convert", "elementwise", "fold", "vector", "one"]
Fill: TypeAlias = Literal["", "zeros", "ones", "value", "nothing", "numpy"]
Family: TypeAlias = Literal["formula", "movement", "view", "loops", "pair"]


class Row(NamedTuple):
    """One function, as ``np.callee``; one method of arrays, as ``.callee``.

    Facts:
        pure: it computes its result and has no other effect.
        typed: NumPy is asked for the type of its result, by a call with small samples.
        result: "new" shares no memory with an argument, "view" may, "none" is no array.
        rank: of the result. "shape": of the shape that is the first argument; "like" and
            "convert": of the first argument, which may be a display for "convert";
            "elementwise": the highest; "fold": 0 for a vector and no keywords; "vector": 1 for a
            vector and no keywords; "one": 1; "": from the probe alone.
        arrays: so many of the first arguments are arrays, for which a display may stand.
        lists: a list that has a name may stand for an array, too.
        reads: so many positional arguments at most are read; the next may take the result.
        sized: an argument tells how many elements it makes, so a probe must not take it as it is.
        static: parameters whose values must be known, besides `STATIC_PARAMETERS`.
        fill: what the elements of a new array are; "numpy": NumPy computes them before the kernel.
        joins: how it joins arrays.
        library: who computes it, for reports; sorting is left to NumPy.
        warns: its warnings name it, and not the ufuncs of its formula.
    Expansions, tried by the macro of that family:
        reduction, moment, accumulator, same_as: `axis_reductions`; ``accumulator`` are the
            arguments with ``dtype``, ``same_as`` the function that a ufunc's ``reduce`` is.
        scan, search: `axis_scans`; ``search`` is the comparison that a better element fulfils.
        formula: `elementwise_formulas`, from elements to an element.
        movement: `data_movement`, elements in other places.
        view: `view_identities`, another expression.
        loops, pair: `function_loops`, statements that leave one result, or two.
    """

    callee: str
    pure: bool = True
    typed: bool = True
    result: Result = "new"
    rank: Rank = ""
    arrays: int = 0
    lists: bool = False
    reads: int = 2
    sized: bool = False
    static: str = ""
    fill: Fill = ""
    joins: Join | None = None
    library: str = ""
    warns: bool = False
    reduction: Fold | None = None
    moment: bool = False
    accumulator: str = ""
    same_as: str = ""
    scan: Fold | None = None
    search: str = ""
    formula: Expansion | None = None
    movement: Expansion | None = None
    view: Expansion | None = None
    loops: Expansion | None = None
    pair: Expansion | None = None


STATIC_PARAMETERS = frozenset((
    "axis", "axes", "axis1", "axis2", "source", "destination", "offset", "keepdims", "ddof", "bias",
    "rowvar", "ord", "decimals", "repeats", "edge_order", "deg", "equal_nan", "copy", "increasing",
    "wrap",
))
"""Parameters of NumPy's functions whose values must be known, whichever the function."""

REDUCE_ARGUMENTS = "a axis dtype out keepdims initial where"
"""Arguments of ``reduce`` of a ufunc, and of NumPy's functions that are one."""

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

_FUNCTION_ROWS = (
    Row("all", rank="fold", arrays=1, lists=True, reduction=Fold("logical_and", 1)),
    Row("allclose"),
    Row("amax", arrays=1, reduction=Fold("maximum", None, initial=True)),
    Row("amin", arrays=1, reduction=Fold("minimum", None, initial=True)),
    Row("angle", formula=_formula("z deg", "angle_rule")),
    Row("any", rank="fold", arrays=1, lists=True, reduction=Fold("logical_or", 0)),
    Row("append", joins=Join(parts=True), view=_view("arr values", "append_rule")),
    Row("arange", rank="one", sized=True, fill="numpy"),
    Row("argmax", rank="fold", arrays=1, lists=True, search=">",
        view=_array("a axis out keepdims", "arg_reduction_keepdims_rule")),
    Row("argmin", rank="fold", arrays=1, lists=True, search="<",
        view=_array("a axis out keepdims", "arg_reduction_keepdims_rule")),
    Row("argpartition", library="NumPy"),
    Row("argsort", rank="vector", lists=True, library="NumPy"),
    Row("argwhere", view=_array("a", "nonzero_rule")),
    Row("around", formula=_formula("a decimals", "round_rule")),
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
    Row("count_nonzero", rank="fold", arrays=1, lists=True, moment=True),
    Row("cov", lists=True),
    Row("cross", arrays=2, lists=True),
    Row("cumprod", rank="vector", arrays=1, lists=True, scan=Fold("multiply", 1),
        accumulator=_SCAN),
    Row("cumsum", rank="vector", arrays=1, lists=True, scan=Fold("add", 0), accumulator=_SCAN),
    Row("deg2rad", formula=_formula("x", "to_radians_rule"), warns=True),
    Row("degrees", formula=_formula("x", "to_degrees_rule"), warns=True),
    Row("delete", view=_array("arr obj axis", "delete_rule")),
    Row("diag", result="view", static="k"),
    Row("diagflat"),
    Row("diagonal", result="view"),
    Row("diff", rank="vector", arrays=1, lists=True, static="n",
        view=_array("a n axis prepend append", "diff_rule")),
    Row("digitize", arrays=2, loops=_search("x bins right", "digitize_rule")),
    Row("divmod", pair=_loops("a b", "divmod_rule")),
    Row("dot", arrays=2, lists=True),
    Row("dstack", joins=Join(parts=True)),
    Row("ediff1d", arrays=1),
    Row("einsum", result="view"),
    Row("empty", rank="shape", sized=True, fill="nothing"),
    Row("empty_like", rank="like", fill="nothing"),
    Row("expand_dims", result="view", view=_view("a axis", "expand_dims_rule")),
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
    Row("isclose", formula=_formula("a b rtol atol equal_nan", "isclose_rule")),
    Row("iscomplex", formula=_formula("x", "is_complex_element_rule")),
    Row("iscomplexobj", typed=False, view=_view("x", "is_complex_rule")),
    Row("isin", formula=_formula("x among", "isin_formula")),
    Row("isneginf", formula=_formula("x out", "is_negative_infinity_rule")),
    Row("isposinf", formula=_formula("x out", "is_positive_infinity_rule")),
    Row("isreal", formula=_formula("x", "is_real_element_rule")),
    Row("isrealobj", typed=False, view=_view("x", "is_complex_rule")),
    Row("kron", arrays=2, loops=_grid("a b", "kron_rule")),
    Row("lexsort", typed=False, library="NumPy"),
    Row("linalg.norm", rank="fold", arrays=1, lists=True),
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
    Row("ndim", typed=False, view=_view("a", "shape_query_rule")),
    Row("nonzero", typed=False, view=_array("a", "nonzero_rule")),
    Row("ones", rank="shape", sized=True, fill="ones"),
    Row("ones_like", rank="like", fill="ones"),
    Row("outer", typed=False, arrays=2, lists=True),
    Row("pad", sized=True, movement=_movement("a pad_width mode constant_values", "pad_rule")),
    Row("partition", library="NumPy"),
    Row("percentile", lists=True, view=_array("a q axis", "several_quantiles_rule"),
        loops=_quantile("a q axis", "percentile_rule")),
    Row("permute_dims", result="view", view=_view("a axes", "transpose_rule")),
    Row("place", pure=False, typed=False, result="none"),
    Row("polyval", formula=_formula("p x", "polyval_formula")),
    Row("positive", formula=_formula("x", "positive_rule")),
    Row("prod", rank="fold", arrays=1, lists=True, reduction=Fold("multiply", 1, initial=True),
        accumulator=REDUCE_ARGUMENTS),
    Row("ptp", rank="fold", arrays=1, lists=True, moment=True),
    Row("put", pure=False, typed=False, result="none"),
    Row("putmask", pure=False, typed=False, result="none"),
    Row("quantile", lists=True, view=_array("a q axis", "several_quantiles_rule"),
        loops=_quantile("a q axis", "quantile_rule")),
    Row("rad2deg", formula=_formula("x", "to_degrees_rule"), warns=True),
    Row("radians", formula=_formula("x", "to_radians_rule"), warns=True),
    Row("ravel", result="view", view=_view("a order", "reshape_rule")),
    Row("reciprocal", formula=_formula("x", "reciprocal_rule"), warns=True),
    Row("repeat", sized=True, movement=_movement("a repeats axis", "repeat_rule"),
        view=_array("a repeats axis", "repeat_flat_rule"),
        loops=_grid("a repeats axis", "repeat_by_counts_rule")),
    Row("reshape", result="view", view=_view("a shape order", "reshape_rule")),
    Row("roll", rank="vector", movement=_movement("a shift axis", "roll_rule"),
        view=_array("a shift axis", "roll_rule")),
    Row("rollaxis", result="view"),
    Row("rot90", result="view", static="k", view=_view("m k axes", "rot90_rule")),
    Row("round", rank="elementwise", formula=_formula("a decimals", "round_rule")),
    Row("searchsorted", arrays=2, lists=True, library="NumPy",
        loops=_search("a v side", "searchsorted_rule")),
    Row("select"),
    Row("shape", typed=False, view=_view("a", "shape_query_rule")),
    Row("sinc", formula=_formula("x", "sinc_rule"), warns=True),
    Row("size", typed=False, view=_view("a axis", "shape_query_rule")),
    Row("sort", rank="vector", lists=True, library="NumPy"),
    Row("squeeze", result="view"),
    Row("stack", joins=Join(axis=0, parts=True, rows=True, c_order=True)),
    Row("std", rank="fold", arrays=1, lists=True, moment=True, accumulator=_MOMENT),
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
    Row("unwrap"),
    Row("vander", loops=_grid("x N increasing", "vander_rule")),
    Row("var", rank="fold", arrays=1, lists=True, moment=True, accumulator=_MOMENT),
    Row("vdot", arrays=2, lists=True),
    Row("vstack", joins=Join(axis=0, parts=True, rows=True, existing=True, c_order=True)),
    Row("where", rank="elementwise", arrays=3, reads=3, view=_array("a b c", "nonzero_rule")),
    Row("zeros", rank="shape", sized=True, fill="zeros"),
    Row("zeros_like", rank="like", fill="zeros"),
)

_UFUNC_ROWS = (
    Row("add.accumulate", typed=False, scan=Fold("add", 0)),
    Row("add.reduce", typed=False, same_as="sum"),
    Row("logical_and.reduce", typed=False, same_as="all"),
    Row("logical_or.reduce", typed=False, same_as="any"),
    Row("maximum.accumulate", typed=False, scan=Fold("maximum", None)),
    Row("maximum.reduce", typed=False, same_as="max"),
    Row("minimum.accumulate", typed=False, scan=Fold("minimum", None)),
    Row("minimum.reduce", typed=False, same_as="min"),
    Row("multiply.accumulate", typed=False, scan=Fold("multiply", 1)),
    Row("multiply.reduce", typed=False, same_as="prod"),
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
"""Methods of ufuncs."""

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
    Row(".flatten", view=_view("a order", "reshape_rule")),
    Row(".item", typed=False, rank="fold"),
    Row(".max", rank="fold"),
    Row(".mean", rank="fold"),
    Row(".min", rank="fold"),
    Row(".nonzero", typed=False),
    Row(".partition", pure=False, typed=False, result="none", library="NumPy"),
    Row(".prod", rank="fold"),
    Row(".ravel", result="view"),
    Row(".repeat"),
    Row(".reshape", result="view", view=_view("a shape / * order", "reshape_rule")),
    Row(".round", rank="like"),
    Row(".searchsorted", arrays=1, library="NumPy"),
    Row(".sort", pure=False, typed=False, result="none", library="NumPy"),
    Row(".squeeze", result="view"),
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
    found: dict[str, Row] = {}
    for row in rows:
        if row.callee in found:
            raise ValueError(f"two rows for {row.callee}")
        found[row.callee] = row
    return found


_TABLE = _by_name((*_FUNCTION_ROWS, *_UFUNC_ROWS, *_METHOD_ROWS))

FUNCTIONS = {name: row for name, row in _TABLE.items() if name[0] != "."}
"""By the name of the function: "cumsum", "linalg.norm", "add.reduce"."""

METHODS = {name[1:]: row for name, row in _TABLE.items() if name[0] == "."}
"""By the name of the method of arrays."""

ALLOCATING = frozenset(("zeros", "ones", "value", "nothing"))
"""The values of ``fill`` of functions that make an array in the kernel."""


def named_function(name: str) -> Any:
    """NumPy's function of that name, as ``np.linalg.norm``; None where there is none."""
    function: Any = np
    for part in name.split("."):
        function = getattr(function, part, None)
    return function


_BY_ID = {
    id(f): (f, row) for name, row in FUNCTIONS.items() if (f := named_function(name)) is not None
}
"""Functions by identity: others may have no hash, or an ``==`` of their own."""


def function_row(function: object) -> Row | None:
    """The row of a function of NumPy; None where it is another thing."""
    found = _BY_ID.get(id(function))
    return found[1] if found is not None and found[0] is function else None


def method_row(name: str) -> Row | None:
    """The row of a method of arrays."""
    return METHODS.get(name)


def functions_where(fits: Callable[[Row], object]) -> tuple[Any, ...]:
    """The functions of NumPy whose rows fit."""
    return tuple(f for f, row in _BY_ID.values() if fits(row))


def signatures(family: Family) -> dict[str, str]:
    """By the callee, the arguments that the expansion of that family may be given."""
    known = ((name, getattr(row, family)) for name, row in _TABLE.items())
    return {name: expansion.arguments for name, expansion in known if expansion is not None}


@functools.cache
def expansion_rule(family: Family, callee: str) -> Callable[..., Any]:
    """The function that expands calls of `callee`; its module is imported on first use."""
    expansion: Expansion = getattr(_TABLE[callee], family)
    module = importlib.import_module(f"{__package__}.{expansion.module}")
    rule: Callable[..., Any] = getattr(module, expansion.rule)
    return rule


@functools.cache
def result_may_be_argument(name: str, count: int) -> bool:
    """Whether one of `count` positional arguments of ``np.name`` takes the result, as ``out``."""
    try:
        parameters = [*inspect.signature(named_function(name)).parameters]
    except (TypeError, ValueError):
        return False
    return "out" in parameters[:count]
