"""Binary search: ``np.searchsorted`` and ``np.digitize`` as loops.

In a sorted array every search finds the same index, so that a fast one is used: linear from the
index of the previous key if that is near, else a branchless bisection. In an unsorted array the
answer depends on the steps of the search; then the steps of NumPy's ``binsearch`` are repeated,
which are others from NumPy 2.5 on (`numpy_searches_by_halves`). Whether the array is sorted, and
has no NaN, is tested at run time (`IS_SORTED_CHECK`).

A `Search` makes the statements. Its templates have the holes A (the array), N (its length), KEY,
and LO, HI, MID …; after a search, HI is the index. Also used by `linear_interp` and `histogram`.
"""
from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from loopir.lazy_dataclass import record, replace

from ...frontend.ast_walk import walk_nodes
from ...frontend.core_nodes import mark_internal
from ...frontend.macros.bind_operands import bind_fresh, bind_operand
from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import guarded
from ...types.numpy_probes import numpy_searches_by_halves
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, dtype_expr, loop_nest, product_of
from ..array_views import View, element_at, view_of
from ..call_arguments import BoundArguments, constant_flag

__all__ = [
    "IS_SORTED_CHECK", "Search", "common_dtype", "search_for",
    "searchsorted_rule", "digitize_rule",
]

_MAX_LINEAR_STEPS = 8
"""A key whose index is at most so far above that of the previous key is searched linearly."""

_MAX_LINEAR_LENGTH = 16
"""Arrays with fewer elements are always bisected."""

IS_SORTED_CHECK = "0 < N <= 4 * COUNT and A[0] == A[0] and NP.all(A[:-1] <= A[1:])"
"""The run-time test for the fast search: sorted, and no NaN. COUNT is the number of keys: for few
keys in a long array the test would cost more than it saves.
"""


@record(frozen=True, slots=True)
class Search:
    """The search for keys in one array; its methods return the statements of the steps."""

    array: ast.expr
    """The name of the vector that is searched."""
    keys: View
    """The keys; a scalar has rank 0."""
    dtype: str
    """The dtype in which keys and elements are compared."""
    right: bool
    """Whether the index is that after equal elements, and not before them."""
    names: dict[str, Part]
    """Fresh names for the holes LO, HI, KEY …"""
    cx: Context
    has_dtype: bool
    """Whether the array has ``dtype``, so that its elements are not converted."""
    element_index: str = "{}"
    """The subscript of the i-th element in search order, as a format string: another one reverses
    the array."""

    def code(self, text: str, **parts: Part) -> list[ast.stmt]:
        """The statements of the template `text`, with the holes of this search and `parts`."""
        dtype = dtype_expr(self.dtype, self.cx)
        holes: dict[str, Part] = {"A": self.array, "T": dtype, **self.names}
        n = self.cx.expr("A.shape[0]", A=self.array)
        return self.cx.code(text, N=n, NP=self.cx.numpy, **holes, **parts)

    def bisected(self) -> list[ast.stmt]:
        """Bisects the range from LO to HI."""
        return self.code(f"""
            while LO < HI:
                MID = LO + (HI - LO >> 1)
                if {self._less(self._element("MID"), "KEY")}:
                    LO = MID + 1
                else:
                    HI = MID
        """)

    def numpys_steps(self) -> list[ast.stmt]:
        """The steps of NumPy for the next of several keys, for arrays that may be unsorted. Before
        NumPy 2.5: a bisection of a range that starts or ends at the index of the previous key,
        LAST.
        """
        if numpy_searches_by_halves():
            return self.halved()
        return self.code(f"""
            if {self._less("LAST", "KEY")}:
                HI = N
            else:
                LO = 0
                HI = HI + 1 if HI < N else N
            LAST = KEY
            BISECTED
        """, BISECTED=self.bisected())

    def halved(self) -> list[ast.stmt]:
        """Halves the whole range: its first element is moved, and its length is halved."""
        return self.code(f"""
            HI = 0
            if N > 0:
                LO = 0
                M = N
                while M > 1:
                    HALF = M >> 1
                    if {self._less(self._element("LO + HALF"), "KEY")}:
                        LO = LO + HALF
                    M = M - HALF
                HI = LO + 1 if {self._less(self._element("LO"), "KEY")} else LO
        """)

    def in_order(self) -> list[ast.stmt]:
        """The fast search in a sorted array that is not empty: linear from LO, the index of the
        previous key, if the index of this one is at most `_MAX_LINEAR_STEPS` above, else a
        bisection without branches.
        """
        def reached(index: str) -> str:
            return f"{self._element(index)} {'>' if self.right else '>='} KEY"

        return self.code(f"""
            if N < {_MAX_LINEAR_LENGTH}:
                NEAR = False
            elif {reached("LO")}:
                NEAR = LO == 0 or not {reached("LO - 1")}
            else:
                NEAR = LO + {_MAX_LINEAR_STEPS} < N and {reached(f"LO + {_MAX_LINEAR_STEPS}")}
            if NEAR:
                while not {reached("LO")}:
                    LO = LO + 1
                HI = LO
            else:
                LO = 0
                M = N
                while M > 1:
                    HALF = M >> 1
                    if not {reached("LO + HALF - 1")}:
                        LO = LO + HALF
                    M = M - HALF
                HI = LO if {reached("LO")} else LO + 1
        """)

    def for_one_key(self, name: str, text: str) -> list[ast.stmt]:
        """Searches the only key, and binds `name` to the value of `text`, an expression of HI. The
        loop is one operation of the source.
        """
        lines = f"LO = 0\nHI = N\nKEY = T(V)\nLINES\nNAME = NP.int64({text})"
        steps = self.halved() if numpy_searches_by_halves() else self.bisected()
        for node in walk_nodes(*steps):
            if isinstance(node, ast.While):
                mark_internal(node)
        return self.code(lines, NAME=name, V=self.keys.at(()), LINES=steps)

    def in_sorted_copy(self, name: str, text: str) -> list[ast.stmt]:
        """Binds `name` to an array of the values of `text`, an expression of HI, for all keys. The
        elements are copied in search order, in which they are sorted, and converted first.
        """
        into, bins = ast.Name(name, ast.Load()), ast.Name(self.cx.fresh("bins"), ast.Load())
        copied = replace(self, array=bins, element_index="{}", has_dtype=True)
        return [
            *self.code(f"B = NP.empty(N, T)\nfor I in range(N):\n    B[I] = {self._element('I')}",
                       B=bins, I=self.cx.fresh("i")),
            allocate_array(name, self.keys.shape, "i64", self.cx),
            *copied.code("LO = 0\nif N > 0:\n    FAST\nelse:\n    NAME[...] = 0", NAME=into,
                         FAST=copied.for_each_key(copied.in_order(), into, text)),
        ]

    def for_each_key(
        self, lines: list[ast.stmt], into: ast.expr, text: str, **parts: Part
    ) -> list[ast.stmt]:
        """A loop nest that for each KEY runs `lines`, and then stores the value of `text` at the
        subscripts of the key in the array `into`.
        """
        def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
            place = element_at(into, at, self.cx)
            steps = f"KEY = T(V)\nLINES\nPLACE = {text}"
            return self.code(steps, V=self.keys.at(at), LINES=lines, PLACE=place, **parts)

        return loop_nest(self.keys.shape, body, self.cx)

    def _element(self, index: str) -> str:
        """The text of the element at `index` in search order, in the dtype of the comparisons."""
        element = f"A[{self.element_index.replace('{}', f'({index})')}]"
        return element if self.has_dtype else f"T({element})"

    def _less(self, a: str, b: str) -> str:
        """The text of ``a < b`` (``a <= b`` for `right`) in NumPy's sort order: NaNs come last."""
        if ELEMENTS[self.dtype].kind != "f":
            return f"{a} <= {b}" if self.right else f"{a} < {b}"
        if self.right:
            return f"not ({b} < {a} or ({a} != {a} and {b} == {b}))"
        return f"{a} < {b} or ({b} != {b} and {a} == {a})"


def search_for(array: ast.expr, keys: ast.expr, right: bool, cx: Context) -> Search | None:
    """The search for `keys` in `array`; None where `array` is not surely a vector, `keys` has no
    view, or the common dtype is not known or not real.
    """
    ty, dtype = cx.fact(array).array, common_dtype(cx, array, keys)
    if ty is None or ty.rank != 1 or dtype is None:
        return None
    array = bind_operand(array, cx)
    key_view = view_of(keys, cx)
    if key_view is None:
        return None
    names: dict[str, Part] = {
        n.upper(): cx.fresh(n) for n in ("lo", "hi", "mid", "m", "half", "near", "key", "last")
    }
    return Search(array, key_view, dtype, right, names, cx, ty.dtype == dtype)


def common_dtype(cx: Context, *operands: ast.expr) -> str | None:
    """The dtype to which NumPy promotes arrays of the operands' dtypes; None where an operand may
    have several types, and for bools and complex numbers.
    """
    facts = [cx.fact(e) for e in operands]
    if not all(len(fact.types) == 1 for fact in facts):
        return None
    dtype = np.result_type(*(ELEMENTS[t.dtype].numpy for fact in facts for t in fact.types))
    real = (name for name, e in ELEMENTS.items() if e.numpy == dtype and e.kind in "iuf")
    return next(real, None)


def searchsorted_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.searchsorted(a, v, side)`` → one bisection for a scalar `v`, else a loop over the keys.
    None where `side` is no constant, or `search_for` refuses the operands.
    """
    side = bound.arguments.get("side", ast.Constant("left"))
    valid = isinstance(side, ast.Constant) and side.value in ("left", "right")
    if not valid or "v" not in bound.arguments:
        return None
    assert isinstance(side, ast.Constant)
    search = search_for(bound["a"], bound["v"], side.value == "right", cx)
    if search is None:
        return None
    if not search.keys.shape:
        return search.for_one_key(name, "HI")
    result, count = ast.Name(name, ast.Load()), product_of(search.keys.shape, cx)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    return guarded(search.keys.checks, original, [
        allocate_array(name, search.keys.shape, "i64", cx),
        *search.code(f"""
            LO = 0
            HI = N
            LAST = T(0)
            if {IS_SORTED_CHECK}:
                FAST
            else:
                SLOW
        """, COUNT=count, FAST=search.for_each_key(search.in_order(), result, "HI"),
            SLOW=search.for_each_key(search.numpys_steps(), result, "HI")),
    ], cx)  # fmt: skip


def digitize_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.digitize(x, bins)`` → a search for each element, in reversed order where the bins
    descend. The call is replayed for bins that are not monotonic, for which NumPy raises, and for
    a single bin that is NaN.
    """
    right = constant_flag(bound.get("right"), False)
    if right is None or "bins" not in bound.arguments:
        return None
    search = search_for(bound["bins"], bound["x"], not right, cx)
    if search is None:
        return None
    texts = "not NP.all(A[:-1] <= A[1:])", "not NP.all(A[:-1] >= A[1:])"
    not_ascending, not_descending = (
        bind_fresh(cx.expr(t, A=search.array, NP=cx.numpy), "back", cx) for t in texts
    )
    neither = cx.expr(
        "A and B or X.shape[0] == 1 and X[0] != X[0]",  # one NaN is sorted, and never reached
        A=not_ascending, B=not_descending, X=search.array,
    )
    checks = [*search.keys.checks, bind_fresh(neither, "mixed", cx)]
    search = replace(
        search, names={**search.names, "BACK": not_ascending},
        element_index="N - 1 - {} if BACK else {}",
    )
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    result = "N - HI if BACK else HI"
    expand = search.in_sorted_copy if search.keys.shape else search.for_one_key
    return guarded(checks, original, expand(name, result), cx)
