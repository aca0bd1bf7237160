"""Carried indexed load: the element at a loop-carried index is carried along with the index."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...algebra.constant_folding import literal
from ...algebra.index_builder import is_nonempty
from ...analysis.mod_ref import AliasInfo
from ...ir_names import FreshNames, changed_names, names_read, substitute
from ...ir_traversal import bottom_up, contains, walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Accum,
    Assign,
    Break,
    Call,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Stmt,
    Var,
    Yield,
)
from ...statement_blocks import evaluated_by, map_statements

__all__ = ["carry_indexed"]


def carry_indexed(kernel: Kernel) -> Kernel:
    """Replace a load at a loop-carried index by an accumulator. An extremum that is tracked by its
    index alone thus becomes an ordinary arg-reduction.

    The element is loaded once before the loop; where the index changes, the accumulator takes the
    element at the new index, which the loop must load anyway (`_CarriedElement.follow`). Every
    iteration must execute the load, and the loop must not write the array. So the load before the
    loop is in bounds; its branch is for a loop without iterations. Before::

        def k(x: f64[::1], at: mut(i64[()])):
            disjoint(x, at)
            for i in loop(1, x.shape[0], b=0):
                m = x[i] > x[b]
                b = step(select(m, i, b))
            at[()] = b

    after::

        def k(x: f64[::1], at: mut(i64[()])):
            disjoint(x, at)
            if 1 < x.shape[0]:
                x_2 = give(x[0])
            else:
                x_2 = give(0.0)
            for i in loop(1, x.shape[0], b=0, x_1=x_2):
                m = x[i] > x_1
                b = step(select(m, i, b))
                x_1 = step(select(m, x[i], x_1))
            at[()] = b
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` with its carried indexed loads replaced, after the loads of their initial values."""
        starts: list[Stmt] = []
        while (
            isinstance(s, Loop)
            and (replaced := _without_indexed_load(s, memory, fresh)) is not None
        ):
            start, s = replaced
            starts.append(start)
        return (*starts, s) if starts else s

    return map_statements(kernel, edit, Loop)


def _without_indexed_load(
    loop: Loop, memory: AliasInfo, fresh: FreshNames
) -> tuple[If, Loop] | None:
    """The branch that loads the first element, and `loop` with one of its loads at a carried index
    replaced by an accumulator; None if no load can be. For that load and `loop` all of this holds:

    - each iteration executes the load, and no `Break` leaves the loop;
    - one subscript is an accumulator, the carried index; the others are invariant;
    - the loop does not write the array;
    - the loop loads the element at the new index anyway (`_CarriedElement.follow`).
    """
    if not isinstance(loop.range, Interval):
        return None
    if any(contains(s, Break) for s in loop.body):
        return None
    body_names = changed_names(loop)

    def is_fixed(e: Expr) -> bool:
        """Whether an iteration leaves what `e` loads as it is, so that `e` may be repeated in it.
        """
        return not memory.crosses(e, loop.body)

    unconditional = {n: e for n, e in _unconditional_loads(loop).items() if is_fixed(n)}
    for load in unconditional:
        carried = [a for a in loop.accs if a.current in load.index]
        other_subscripts = [e for e in load.index if not carried or e != carried[0].current]
        are_invariant = (
            len(other_subscripts) == len(load.index) - 1
            and not names_read(*other_subscripts) & body_names
        )
        if not carried or not are_invariant:
            continue
        acc = Var(fresh.name(load.array), load.dtype)
        names = {s.name: s.value for s in loop.body if isinstance(s, Assign)}
        element = _CarriedElement(carried[0], load, acc, unconditional, names, is_fixed, fresh)
        rewritten = element.follow(loop.body, carried[0].step)
        if rewritten is not None:
            return _with_accumulator(loop, *rewritten, carried[0], load, acc, fresh)
    return None


def _unconditional_loads(loop: Loop) -> dict[Load, Expr]:
    """The loads that every iteration executes, each with an expression for its value."""
    out: dict[Load, Expr] = {}
    for s in loop.body:
        if isinstance(s, Assign) and isinstance(s.value, Load):
            out[s.value] = Var(s.name, s.value.dtype)
    code = (*(e for s in loop.body for e in evaluated_by(s)), *(a.step for a in loop.accs))
    return out | {n: n for e in code for n in walk(e) if isinstance(n, Load) and n not in out}


def _with_accumulator(
    loop: Loop, body: tuple[Stmt, ...], step: Expr, index_acc: Accum, load: Load, acc: Var,
    fresh: FreshNames,
) -> tuple[If, Loop]:
    """The branch that loads the element at the initial value of the index `index_acc`; and `loop`,
    of the new `body`, with `load` replaced by the accumulator `acc`, whose step is `step`.
    """
    assert isinstance(loop.range, Interval)
    start = fresh.name(load.array)
    first = substitute(load, {index_acc.name: index_acc.init})
    yield_ = Yield(start, first, literal(0, load.dtype))

    def with_acc(n: Any) -> Any:
        """The accumulator, for the load."""
        return acc if n == load else n

    # `load` as init stands in until `with_acc` has replaced the others
    new = replace(loop, body=body, accs=(*loop.accs, Accum(acc.name, load, step, span=loop.span)))
    new = bottom_up(new, with_acc)
    new = replace(new, accs=(*new.accs[:-1], replace(new.accs[-1], init=Var(start, load.dtype))))
    return If(is_nonempty(loop.range), (), (), (yield_,), span=loop.span), new


@record(frozen=True, slots=True)
class _CarriedElement:
    """The search for the element at the new index, which the loop must load anyway."""

    index: Accum  # the carried index
    load: Load  # of the element at the carried index
    acc: Var  # the accumulator that replaces the load
    unconditional: Mapping[Load, Expr]  # loads that every iteration executes, with their values
    definitions: Mapping[str, Expr]  # the assignments of the loop body
    is_fixed: Callable[[Expr], bool]  # whether the loop body leaves what an expression loads as is
    fresh: FreshNames

    def follow(
        self, body: tuple[Stmt, ...], e: Expr, later: frozenset[str] = frozenset()
    ) -> tuple[tuple[Stmt, ...], Expr] | None:
        """Follow the new index `e` through `body`: the body, extended so that it also yields the
        element there, and the element's value. None where the loop does not load that element.

        Cases: the old index; an index at which an unconditional load exists; a select; a yield of a
        branch; an assigned name. ``later``: names that are assigned after the value is evaluated.
        The value of a load that such a name holds is the load itself, since the loop does not write
        the array.
        """
        if e == self.index.current:
            return body, self.acc
        load = replace(self.load, index=tuple(
            e if x == self.index.current else x for x in self.load.index
        ))
        if load in self.unconditional:
            value = self.unconditional[load]
            return body, load if names_read(value) & later else value
        match e:
            case Call("select", (cond, a, b)) if self.is_fixed(cond):
                then = self.follow(body, a, later)
                orelse = then and self.follow(then[0], b, later)
                if then is None or orelse is None:
                    return None
                return orelse[0], Call("select", (cond, then[1], orelse[1]), self.load.dtype)
            case Var(name=name):
                for k, s in enumerate(body):
                    if isinstance(s, Assign) and s.name == name:
                        return self.follow(body, s.value, later)
                    if isinstance(s, If) and (y := _yield_of(s, name)) is not None:
                        branch = self._branch(s, y, later | _assigned(body[k:]))
                        return branch and ((*body[:k], branch[0], *body[k + 1 :]), branch[1])
                if name in self.definitions:
                    return self.follow(body, self.definitions[name], later)
        return None

    def _branch(self, s: If, y: Yield, later: frozenset[str]) -> tuple[If, Expr] | None:
        """`s` with a yield of the element at the index that `y` gives, and its name. ``later``: as
        for `follow`, the names that are assigned after `s`.
        """
        then, orelse = (
            self.follow(side, e, later) for side, e in ((s.then, y.then), (s.orelse, y.orelse))
        )
        if then is None or orelse is None:
            return None
        new = Yield(self.fresh.name(self.load.array), then[1], orelse[1])
        s = replace(s, then=then[0], orelse=orelse[0], yields=(*s.yields, new))
        return s, Var(new.name, self.load.dtype)


def _assigned(body: tuple[Stmt, ...]) -> frozenset[str]:
    """The names that `body` assigns, but for those assigned in its branches."""
    return frozenset(s.name for s in body if isinstance(s, Assign))


def _yield_of(s: If, name: str) -> Yield | None:
    """The yield of `name` by `s`; None if there is none."""
    return next((y for y in s.yields if y.name == name), None)
