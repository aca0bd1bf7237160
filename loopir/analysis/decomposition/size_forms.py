"""Size forms: integers of a kernel as affine forms in the lengths of chunk axes, for large arrays.

    max(x.shape[0] - 2, 0)  →  n - 2        i + 1  →  i + 1        x.shape[0] > 3  →  true

A chunk axis is a set of axes of arrays, which have the same length n: a loop runs over them
together, or a guard compares their lengths. Clamps and comparisons are decided as for large n.
`SizeForms.least` tells from which length on that is right.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from ...nodes import Call, Const, Dim, Expr, Interval, Range, Var
from ..integers.affine import AffineForm, constant_form, is_linear_call, linearize

__all__ = ["ArrayAxis", "SizeForm", "SizeForms"]

ArrayAxis: TypeAlias = "tuple[str, int]"
"""An axis of an array, by the array's name."""

SizeForm: TypeAlias = "AffineForm[Any]"
"""A form whose atoms are an `ArrayAxis`, which stands for the length of its chunk axis, or names of
loop variables."""


class SizeForms:
    """The chunk axes of a kernel, and the forms of its names."""

    def __init__(self) -> None:
        self._joined: dict[ArrayAxis, ArrayAxis] = {}
        self.least: dict[ArrayAxis, int] = {}
        """The lengths of chunk axes from which on the forms are right, where that is not 0."""
        self.has_joined = False
        """Whether axes were joined since this was last set to False: forms may be out of date."""
        self.forms: dict[str, SizeForm | None] = {}
        self.spans: dict[str, tuple[SizeForm, SizeForm]] = {}
        """The first and the last value of loop variables."""

    def axis(self, member: ArrayAxis) -> ArrayAxis:
        """The axis that represents the chunk axis of `member`."""
        self._joined.setdefault(member, member)
        while self._joined[member] != member:
            member = self._joined[member]
        return member

    def members(self, axis: ArrayAxis) -> tuple[ArrayAxis, ...]:
        """The axes of arrays that belong to the chunk axis of `axis`."""
        found = self.axis(axis)
        return tuple(m for m in self._joined if self.axis(m) == found)

    def join(self, a: ArrayAxis, b: ArrayAxis) -> None:
        """Make one chunk axis of those of `a` and `b`."""
        first, second = self.axis(a), self.axis(b)
        if first != second:
            self._joined[second] = first
            least = max(self.least.get(first, 0), self.least.pop(second, 0))
            self.least[first] = least
            self.has_joined = True

    def need(self, axis: ArrayAxis, length: int) -> None:
        """Note that the forms are right only from this length of a chunk axis on."""
        found = self.axis(axis)
        self.least[found] = max(self.least.get(found, 0), length)

    def bind(self, name: str, value: Expr) -> None:
        """Note the form of a name that is assigned."""
        self.forms[name] = self.of(value)

    def bind_variable(self, name: str, first: SizeForm, end: SizeForm) -> None:
        """Note a loop variable, which runs from `first` to before `end`."""
        self.forms[name] = AffineForm({name: 1})
        self.spans[name] = first, end + constant_form(-1)

    def range_of(self, r: Range) -> tuple[SizeForm, SizeForm] | None:
        """The first value and the end of the variable of a loop by steps of 1; else None."""
        if not isinstance(r, Interval):
            return None
        first, end = self.of(r.lo), self.of(r.hi)
        return None if first is None or end is None else (first, end)

    def of(self, e: Expr) -> SizeForm | None:
        """The form of the integer `e`; None if it has none."""
        return linearize(e, self._leaf, is_linear_call)

    def _leaf(self, e: Expr) -> SizeForm | None:
        match e:
            case Dim(array=array, axis=axis):
                return AffineForm({self.axis((array, axis)): 1})
            case Var(name=name):
                return self.forms.get(name)
            case Call("max" | "min", (a, b), "i64"):
                return self._extremum(e.op, self.of(a), self.of(b))
            case Call("select", (cond, a, b), "i64"):
                is_first = self.holds(cond)
                return None if is_first is None else self.of(a if is_first else b)
        return None

    def _extremum(self, op: str, a: SizeForm | None, b: SizeForm | None) -> SizeForm | None:
        if a is None or b is None:
            return None
        sign = self._sign(a - b, may_be_zero=True)
        if sign is None:
            return None
        return a if (sign >= 0) == (op == "max") else b

    def holds(self, cond: Expr) -> bool | None:
        """Whether `cond` is true for all large lengths, whatever the values of loop variables are;
        None if that depends, or is not about lengths.
        """
        match cond:
            case Const(value=value, dtype="bool"):
                return bool(value)
            case Call("not", (a,)):
                found = self.holds(a)
                return None if found is None else not found
            case Call("and" | "or" as op, (a, b)):
                decides = op == "or"
                first = self.holds(a)
                if first is decides:
                    return decides
                second = self.holds(b)
                if second is decides:
                    return decides
                return None if first is None or second is None else not decides
            case Call("lt" | "le" | "gt" | "ge" | "eq" | "ne" as op, (a, b)) if (
                a.dtype == b.dtype == "i64"
            ):
                left, right = self.of(a), self.of(b)
                return None if left is None or right is None else self._compares(op, left - right)
        return None

    def _compares(self, op: str, form: SizeForm) -> bool | None:
        """Whether ``form op 0`` holds."""
        match op:
            case "lt":
                return self._decided(form * -1, strict=True)
            case "gt":
                return self._decided(form, strict=True)
            case "le":
                return self._decided(form * -1, strict=False)
            case "ge":
                return self._decided(form, strict=False)
        if not form.terms:
            return (form.constant == 0) == (op == "eq")
        sign = self._sign(form)
        return None if not sign else op == "ne"

    def _decided(self, form: SizeForm, *, strict: bool) -> bool | None:
        """Whether the form is positive, or with ``strict=False`` not negative, for all values."""
        form = form + constant_form(0 if strict else 1)  # then: > 0
        least, greatest = self._extreme(form, highest=False), self._extreme(form, highest=True)
        if self._sign(least) == 1:
            return True
        sign = self._sign(greatest, may_be_zero=True)
        return False if sign is not None and sign <= 0 else None

    def extremes(self, form: SizeForm) -> tuple[SizeForm, SizeForm]:
        """The least and the greatest value of a form over the loop variables."""
        return self._extreme(form, highest=False), self._extreme(form, highest=True)

    def edge(self, form: SizeForm) -> tuple[str, int, ArrayAxis | None] | None:
        """The edge at which a subscript stays, while the loops run over a few elements: from the
        start, or from the end of which chunk axis, with the distance of the farthest.
        """
        first, last = self.extremes(form)
        if first.number is not None and last.number is not None:
            return "start", last.constant, None
        if first.terms == last.terms and [*first.terms.values()] == [1]:
            (atom,) = first.terms
            return "end", first.constant, atom
        return None

    def offsets(self, form: SizeForm, var: str) -> tuple[int, int] | None:
        """The least and the greatest offset of a form that is `var` plus an offset, over the other
        loop variables; None if it has another form.

            i - j  for j from 0 to 6  →  -6, 0
        """
        low, high = (self._extreme(form, highest=highest, but=var) for highest in (False, True))
        return (low.constant, high.constant) if low.terms == high.terms == {var: 1} else None

    def _extreme(self, form: SizeForm, *, highest: bool, but: str = "") -> SizeForm:
        """The greatest or the least value over the loop variables, but for one."""
        for name in reversed([*self.spans]):
            if name != but and (c := form.coefficient(name)):
                form = form.substitute(name, self.spans[name][(c > 0) == highest])
        return form

    def _sign(self, form: SizeForm, *, may_be_zero: bool = False) -> int | None:
        """The sign of a form without loop variables for large lengths, 1 or -1; 0 only of the
        number 0. None if it depends. ``may_be_zero``: 0 counts as the sign of either side.
        """
        lengths: dict[ArrayAxis, int] = {}
        for atom, c in form.terms.items():
            if isinstance(atom, str):
                return None
            axis = self.axis(atom)
            lengths[axis] = lengths.get(axis, 0) + c
        lengths = {axis: c for axis, c in lengths.items() if c}
        if not lengths:
            return (form.constant > 0) - (form.constant < 0)
        if len(lengths) == 2:
            (a, c), (b, d) = lengths.items()
            if c + d == 0:  # two lengths are compared: they are assumed to be equal
                self.join(a, b)
                return (form.constant > 0) - (form.constant < 0)
        if len(lengths) > 1:
            return None
        (axis, c), = lengths.items()
        sign = 1 if c > 0 else -1
        bound, factor = -sign * form.constant, abs(c)  # factor·n > bound, or >= bound
        self.need(axis, max(-(-bound // factor) if may_be_zero else bound // factor + 1, 0))
        return sign

    def lengths_in(self, forms: Iterable[SizeForm | None]) -> frozenset[ArrayAxis]:
        """The chunk axes whose lengths, or whose loop variables' ends, occur in the forms."""
        atoms = [atom for form in forms if form is not None for atom in form.terms]
        ends = [form for atom in atoms if isinstance(atom, str) for form in self.spans[atom]]
        found = frozenset(self.axis(a) for a in atoms if not isinstance(a, str))
        return found | (self.lengths_in(ends) if ends else frozenset())
