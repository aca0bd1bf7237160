"""Rows of the table of NumPy's functions (`function_table`): what each column means."""
from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

__all__ = ["Expansion", "Family", "Fold", "Join", "Row"]


class Expansion(NamedTuple):
    """The rule that expands calls of a function: ``rule`` is a function of ``module``.

    What the rule takes and returns depends on its family; see the macro that expands the family.
    """

    module: str  # relative to this package, as "functions.histogram"
    arguments: str
    """The parameters that may be bound, in the format of `bind_arguments`. The rule may still
    refuse a call for what they are given.
    """
    rule: str


class Fold(NamedTuple):
    """How a reduction or a scan combines elements: ``accumulator = function(accumulator, x)``."""

    function: str  # the name of a binary ufunc
    start: int | None  # the first accumulator; None: the first element, so that 0 elements raise
    initial: bool = False  # whether the call accepts an argument ``initial``


class Join(NamedTuple):
    """How a function joins the arrays of one list or tuple, such as ``np.stack([a, b])``."""

    axis: int | None = None
    """The axis of the result along which the arrays of a list lie; None: a list that is built in a
    loop is not joined."""
    parts: bool = False
    """Whether `concatenate_arrays` expands a call with a display of arrays."""
    rows: bool = False
    """Whether `stack_comprehension` expands a call with a comprehension of arrays."""
    existing: bool = False
    """Whether ``axis`` is an axis of the arrays (concatenate), and not a new one (stack)."""
    c_order: bool = False
    """Whether arrays in C order give a result in C order."""


Result: TypeAlias = Literal["new", "view", "none"]
Rank: TypeAlias = Literal["", "shape", "like", "convert", "elementwise", "fold", "vector", "one"]
Fill: TypeAlias = Literal["", "zeros", "ones", "value", "nothing", "numpy"]
WithoutAxis: TypeAlias = Literal["", "flatten", "first"]
Family: TypeAlias = Literal["formula", "movement", "view", "loops", "pair"]


class Row(NamedTuple):
    """One function or method. ``callee`` is "cumsum" for ``np.cumsum``, "linalg.norm" for
    ``np.linalg.norm``, "add.reduce" for ``np.add.reduce``, and ".sum" for the method ``x.sum``.

    Facts:
        pure: whether it has no side effect, such as a store to an argument.
        typed: whether type inference may call it with small samples, to find the type of its
            result (`type_probe.may_be_probed`).
        result: "new": an array that shares no memory with an argument; "view": an array that may
            share it; "none": it returns None.
        rank: how the rank of the result follows from the arguments. "shape": the length of the
            first argument, a shape; "like": the rank of the first argument; "convert": the same,
            and the argument may be a display; "elementwise": the highest rank of an argument;
            "fold": 0, if called with a vector and no keywords; "vector": 1, if called with a
            vector and no keywords; "one": always 1; "": only probing tells.
        arrays: how many of the first arguments are array-like, so that each may be a display.
        lists: whether such an argument may also be a name that is bound to a list.
        reads: the number of positional arguments that it only reads; a further one may be ``out``,
            which it writes. `escape_analysis` asks.
        sized: whether the value of an argument sets the length of the result (``np.zeros(n)``), so
            that a probe replaces it by a small number.
        static: parameters, separated by spaces, whose values must be known at compile time, besides
            `STATIC_PARAMETERS`, which holds for every function. `specialized_parameters` reads it:
            an argument of the user's function that is passed on as one of these counts by value, so
            that there is a kernel for each of its values. Where the value is not known, the macros
            leave the call.
        fill: the initial elements, if it allocates; "nothing": uninitialised; "numpy": NumPy
            computes them before the kernel starts; "": it does not allocate by a shape.
        joins: how it joins a list of arrays; None: it does not.
        library: which library computes it, so that it stays a call of Python's, for reports; "":
            none, it is compiled.
        warns: whether its floating-point warnings name this function, a product of NumPy's own
            (``linalg.norm``), or a line of NumPy's (``isclose``), not the ufuncs to which it
            expands and their line.
    Expansions, by the module whose macro expands the call:
        reduction: `axis_reductions`; how a reduction over axes combines elements.
        derived: `axis_reductions.derived_reduction`; whether it is an expression of others, as var,
            std, ptp and count_nonzero, each of which has a branch there.
        accumulator: `axis_reductions`; of a reduction or scan whose parameter ``dtype`` chooses the
            dtype of the accumulator: the names of all its parameters, in NumPy's order, separated
            by spaces (they tell which argument is ``dtype``); "": there is no such parameter. A
            call with ``dtype`` becomes one without it, of converted elements
            (`reduction_identity`).
        same_as: `axis_reductions`; the function that equals this ``reduce`` of a ufunc.
        scan: `axis_scans`; how a prefix scan combines elements.
        without_axis: the axis of a scan where the call gives none. "first": axis 0; "flatten": that
            of the array as a vector (`shape_ops` puts ``ravel`` around it); "": the array must be a
            vector.
        search: `axis_scans`; of argmin and argmax: "<" or ">", by which a later element is better.
        formula: `elementwise_formulas`; an expression of the operands' elements.
        movement: `data_movement`; each element is an element of the first argument.
        view: `view_identities`; another expression with the same value.
        subscript: `shape_ops`; whether some of its calls are subscripts, as expand_dims.
        scatter: `gather_scatter`; whether it is ``at`` of a ufunc that becomes a loop.
        loops, pair: `function_loops`; statements that compute one result, or a tuple of two.
    A row without any of these, as ``Row("nancumsum")``, holds the facts only. A macro that names
    the function (``@fires_on(..., calls=...)``) expands its calls: `identity_table.IDENTITIES`
    (``nansum``, ``cov``), `matrix_products` (``dot``, ``matmul``), `einsum` (``einsum``,
    ``tensordot``) and others of `macro_table.MACROS`; or a view rule does (`VIEW_RULES` there). The
    macro that expands ``np.sum`` also expands the method of the same name, ``.sum``.
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
    derived: bool = False
    accumulator: str = ""
    same_as: str = ""
    scan: Fold | None = None
    without_axis: WithoutAxis = ""
    search: str = ""
    formula: Expansion | None = None
    movement: Expansion | None = None
    view: Expansion | None = None
    subscript: bool = False
    scatter: bool = False
    loops: Expansion | None = None
    pair: Expansion | None = None
