"""Binary search: ``np.searchsorted`` and ``np.digitize`` as loops.

In a sorted array every way to search finds the same index: a search starts from the index of the
key before, if that is near, and else bisects without a branch. In an array that is not sorted the
answer depends on the steps, so these are NumPy's own.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from loopir.lazy_dataclass import record

from ...frontend.macros.macro_context import Context, Part
from ...frontend.macros.replay_guards import bind_fresh, guarded
from ...types.value_types import ELEMENTS
from ..array_nests import allocate_array, dtype_expr, loop_nest, product_of
from ..array_views import View, element_at, view_of
from ..call_arguments import BoundArguments, constant_flag

__all__ = [
    "IS_SORTED_CHECK", "Search", "LoopExpansion", "common_dtype", "search_for", "bound_operand",
    "searchsorted_rule", "digitize_rule",
]

_MAX_LINEAR_STEPS = 8
"""So far from the place of the element before, one is looked for step by step."""

_MAX_LINEAR_LENGTH = 16
"""In an array of fewer elements none is near."""

IS_SORTED_CHECK = "0 < N <= 4 * COUNT and NP.all(A[:-1] <= A[1:])"
"""Whether it is sorted; one that has many more elements than are looked for is not asked."""


@record(frozen=True, slots=True)
class Search:
    """For the places of ``keys`` in ``array``, before what equals them or, on the ``right``, after
    it, all taken for elements of ``dtype``, which they are where it is ``plain``. ``place``: where
    the elements are that are looked at, one after the other.
    """

    array: ast.expr
    keys: View
    dtype: str
    right: bool
    names: dict[str, Part]
    cx: Context
    plain: bool
    place: str = "{}"

    def code(self, text: str, **parts: Part) -> list[ast.stmt]:
        """`text` about the array A of N elements, and the KEY."""
        own: dict[str, Part] = {"A": self.array, "T": dtype_expr(self.dtype, self.cx), **self.names}
        n = self.cx.expr("A.shape[0]", A=self.array)
        return self.cx.code(text, N=n, NP=self.cx.numpy, **own, **parts)

    def bisected(self) -> list[ast.stmt]:
        """The place as HI, which is from LO to HI."""
        return self.code(f"""
            while LO < HI:
                MID = LO + (HI - LO >> 1)
                if {self._less(self._at("MID"), "KEY")}:
                    LO = MID + 1
                else:
                    HI = MID
        """)

    def numpys_way(self) -> list[ast.stmt]:
        """Likewise, whether or not the array is sorted; with that of LAST, the element before."""
        return self.code(f"""
            if {self._less("LAST", "KEY")}:
                HI = N
            else:
                LO = 0
                HI = HI + 1 if HI < N else N
            LAST = KEY
            BISECTED
        """, BISECTED=self.bisected())

    def in_order(self) -> list[ast.stmt]:
        """Likewise in a sorted array, from LO, which is a place of it."""
        def reached(place: str) -> str:
            return f"{self._at(place)} {'>' if self.right else '>='} KEY"

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

    def one(self, name: str, text: str) -> list[ast.stmt]:
        """What `text` makes of the place of the only key, under `name`."""
        lines = f"LO = 0\nHI = N\nKEY = T(V)\nLINES\nNAME = NP.int64({text})"
        return self.code(lines, NAME=name, V=self.keys.at(()), LINES=self.bisected())

    def filled(self, name: str, text: str) -> list[ast.stmt]:
        """An array of what `text` makes of the places, each in what the array is in order."""
        into, bins = ast.Name(name, ast.Load()), ast.Name(self.cx.fresh("bins"), ast.Load())
        copied = replace(self, array=bins, place="{}", plain=True)
        return [
            *self.code(f"B = NP.empty(N, T)\nfor I in range(N):\n    B[I] = {self._at('I')}",
                       B=bins, I=self.cx.fresh("i")),
            allocate_array(name, self.keys.shape, "i64", self.cx),
            *copied.code("LO = 0\nif N > 0:\n    FAST\nelse:\n    NAME[...] = 0", NAME=into,
                         FAST=copied.each(copied.in_order(), into, text)),
        ]

    def each(
        self, lines: list[ast.stmt], into: ast.expr, text: str, **parts: Part
    ) -> list[ast.stmt]:
        """`lines` for each of the keys, then what `text` makes of it goes `into` its place."""
        def body(at: Sequence[ast.expr]) -> list[ast.stmt]:
            place, all_ = element_at(into, at, self.cx), f"KEY = T(V)\nLINES\nPLACE = {text}"
            return self.code(all_, V=self.keys.at(at), LINES=lines, PLACE=place,
                             **parts)

        return loop_nest(self.keys.shape, body, self.cx)

    def _at(self, place: str) -> str:
        of = f"A[{self.place.replace('{}', f'({place})')}]"
        return of if self.plain else f"T({of})"

    def _less(self, a: str, b: str) -> str:
        """As NumPy sorts: NaNs come last."""
        if ELEMENTS[self.dtype].kind != "f":
            return f"{a} <= {b}" if self.right else f"{a} < {b}"
        if self.right:
            return f"not ({b} < {a} or ({a} != {a} and {b} == {b}))"
        return f"{a} < {b} or ({b} != {b} and {a} == {a})"


def search_for(array: ast.expr, keys: ast.expr, right: bool, cx: Context) -> Search | None:
    """The search of `keys` in `array`; None where a dtype or rank is not known."""
    of, sought, to = cx.fact(array).array, view_of(keys, cx), common_dtype(cx, array, keys)
    if of is None or of.rank != 1 or sought is None or to is None:
        return None
    names: dict[str, Part] = {
        n.upper(): cx.fresh(n) for n in ("lo", "hi", "mid", "m", "half", "near", "key", "last")
    }
    return Search(bound_operand(array, cx), sought, to, right, names, cx, of.dtype == to)


def common_dtype(cx: Context, *operands: ast.expr) -> str | None:
    """The dtype that NumPy brings all to, as arrays; None where that is not known."""
    facts = [cx.fact(e) for e in operands]
    if not all(len(fact.types) == 1 for fact in facts):
        return None
    to = np.result_type(*(ELEMENTS[t.dtype].numpy for fact in facts for t in fact.types))
    return next((name for name, e in ELEMENTS.items() if e.numpy == to and e.kind in "iuf"), None)


def bound_operand(e: ast.expr, cx: Context) -> ast.expr:
    """A name for the value of `e`; `e` itself if it is one."""
    return e if isinstance(e, ast.Name) else bind_fresh(e, "a", cx)


def searchsorted_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.searchsorted(a, v, side)`` as loops; None where `side` is no constant."""
    side = bound.arguments.get("side", ast.Constant("left"))
    known = isinstance(side, ast.Constant) and side.value in ("left", "right")
    if not known or "v" not in bound.arguments:
        return None
    assert isinstance(side, ast.Constant)
    found = search_for(bound["a"], bound["v"], side.value == "right", cx)
    if found is None:
        return None
    if not found.keys.shape:
        return found.one(name, "HI")
    into, count = ast.Name(name, ast.Load()), product_of(found.keys.shape, cx)
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    return guarded(found.keys.checks, original, [
        allocate_array(name, found.keys.shape, "i64", cx),
        *found.code(f"""
            LO = 0
            HI = N
            LAST = T(0)
            if {IS_SORTED_CHECK}:
                FAST
            else:
                SLOW
        """, COUNT=count, FAST=found.each(found.in_order(), into, "HI"),
            SLOW=found.each(found.numpys_way(), into, "HI")),
    ], cx)  # fmt: skip


def digitize_rule(
    bound: BoundArguments, name: str, node: ast.Call, cx: Context
) -> list[ast.stmt] | None:
    """``np.digitize(x, bins)`` → searches, in reversed bins where these descend. NumPy itself is
    called for bins that are not monotonic, which it refuses.
    """
    right = constant_flag(bound.get("right"), False)
    if right is None or "bins" not in bound.arguments:
        return None
    found = search_for(bound["bins"], bound["x"], not right, cx)
    if found is None:
        return None
    texts = "not NP.all(A[:-1] <= A[1:])", "not NP.all(A[:-1] >= A[1:])"
    back, up = (bind_fresh(cx.expr(t, A=found.array, NP=cx.numpy), "back", cx) for t in texts)
    checks = [*found.keys.checks, bind_fresh(cx.expr("A and B", A=back, B=up), "mixed", cx)]
    found = replace(found, names={**found.names, "BACK": back}, place="N - 1 - {} if BACK else {}")
    (original,) = cx.code("NAME = E", NAME=name, E=node)
    lines = found.filled(name, _FROM_ABOVE) if found.keys.shape else found.one(name, _FROM_ABOVE)
    return guarded(checks, original, lines, cx)


_FROM_ABOVE = "N - HI if BACK else HI"


LoopExpansion = Callable[[BoundArguments, str, ast.Call, Context], "list[ast.stmt] | None"]
