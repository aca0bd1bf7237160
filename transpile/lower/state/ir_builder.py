"""The IR builder: the state that lowering writes to, and trials, which undo what they built."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import takewhile

from loopir.algebra.constant_folding import index_const
from loopir.analysis.affine import LinearForm
from loopir.ir_names import expand_names
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import record
from loopir.nodes import (
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Disjoint,
    Expr,
    Guard,
    Loop,
    Node,
    Param,
    Stmt,
    Var,
)
from loopir.op_table import OPS

from ...call_plan import Allocated, Binding, ListItems, StatusSource
from ...diagnostics import Refused
from ...frontend.source import span_of
from ...types.typed_values import TRUE, Num, bool_op
from ...types.value_types import PARTS, ArrayType
from .float_exceptions import SilentException, WarningSources, status_raised
from .symbol_values import ArrayRef, Value

__all__ = ["IRBuilder", "Trial", "kernel_param"]


@record
class Trial:
    """Whether what is built in it is kept."""

    holds: bool = False


@record
class IRBuilder(WarningSources):
    """Everything that lowering writes to.

    ``fresh``: arrays of ours. ``reshaped``: names of arguments in other shapes, and which they are.
    ``strict`` as in Kernel. ``accumulators``: the values that folds carry. ``starts``: what a
    value that may be a NumPy scalar is where it is Python's. Of complex names, ``varied`` are those
    with Python's numbers that are not simple, and ``doubtful`` as in Pair; ``sure`` are imaginary
    parts of numbers that are not. ``others``: arrays that the branch beside this one has made,
    by their names. ``roomy``: arrays of ours that may have more elements than they stand for;
    ``cut``: those that end with a length of their own. ``most``: what is at least such a length.
    ``placed``: parameters that are nothing but subscripts.
    ``one_type``: a value of several types is refused. ``constants``: those of Python that a value
    is where it is Python's. ``empty``: what holds where a loop had no iteration. ``made``: the
    arrays that stand for what one call makes, which is looked at for each way to come there.
    ``forks``: how often it is asked around here which of several arrays a name is. ``unsure``:
    conditions of elements of views that may have none at all, not even the first. ``copied``: what
    is written must be brought back where Python has to decide. ``asked``: loops whose checks stand
    before them, too. ``typed``: names, each with the types that it has had.
    """

    env: dict[str, Value] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    reshaped: dict[str, str] = field(default_factory=dict)
    guards: list[Guard | Disjoint] = field(default_factory=list)
    accumulators: set[Expr] = field(default_factory=set)
    starts: dict[Expr, Num] = field(default_factory=dict)
    strict: set[str] = field(default_factory=set)
    varied: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    sure: set[Expr] = field(default_factory=set)
    others: dict[str, ArrayRef] = field(default_factory=dict)
    roomy: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    most: dict[Expr, Expr] = field(default_factory=dict)
    placed: frozenset[str] = frozenset()
    one_type: bool = False
    constants: dict[Expr, Num] = field(default_factory=dict)
    empty: set[Expr] = field(default_factory=set)
    forks: int = 0
    copied: bool = False
    asked: set[Loop] = field(default_factory=set)
    unsure: set[Expr] = field(default_factory=set)
    made: dict[ast.Call, tuple[ArrayRef, ...]] = field(default_factory=dict)
    typed: dict[tuple[str, str], None] = field(default_factory=dict)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """What is built inside is dropped again, unless it turns out to hold."""
        undo, trial = self._undoing(), Trial()
        try:
            yield trial
        finally:
            if not trial.holds:
                undo()

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What is built inside is dropped again if it is refused."""
        undo = self._undoing()
        try:
            yield
        except Refused:
            undo()
            raise

    def _undoing(self) -> Callable[[], None]:
        """What brings back all that is built so far, and no more."""
        kept = [(k, v, copy.copy(v)) for k, v in vars(self).items()]

        def undo() -> None:
            for k, v, before in kept:
                if isinstance(v, list):
                    v[:] = before
                elif isinstance(v, (dict, set)):
                    v.clear()
                    v.update(before)
                setattr(self, k, v)

        return undo

    def allocate(self, name: str, text: str, ty: ArrayType, *, blank: bool = True) -> None:
        """An array that the caller makes for each call by evaluating `text`. ``blank``: its
        elements are 0, or anything.
        """
        self.params[name] = replace(kernel_param(name, ty), owned=blank)
        self.bindings[name] = Allocated(name, text, ty)
        self.fresh.add(name)

    def take(self, binding: ListItems, ty: ArrayType) -> None:
        """An array of what a list holds."""
        self.params[binding.name] = kernel_param(binding.name, ty)
        self.bindings[binding.name] = binding

    def note_constant(self, n: Num, *of: Num) -> Num:
        """`n`, which is one `of` two numbers: the constant that it is wherever it is Python's is
        kept in mind.
        """
        python = [self.constants.get(m.ir, m) for m in of if m.weak is not None]
        if n.either and len({m.ir for m in python}) == 1 and isinstance(python[0].ir, Const):
            self.constants[n.ir] = python[0]
        return n

    def invariant(self, e: Expr) -> bool:
        """Whether `e` can be evaluated before the first statement."""
        return all(map(self._is_known, walk(e)))

    def _is_known(self, n: Node) -> bool:
        plain = isinstance(n, (Const, Dim, Call))
        return plain or (isinstance(n, Var) and n.name in self.params)

    def is_param(self, name: str, value: Value) -> bool:
        """Whether it stands for the parameter of that name, and not for what only is called so."""
        return name in self.params and not (
            isinstance(value, Num) and value.ir != Var(name, value.dtype)
        )

    def foreseen(self, e: Expr) -> Expr | None:
        """What `e` is before the first statement; None where that is not known."""
        waiting, seen = [e], set[str]()
        while waiting:
            for n in walk(waiting.pop()):
                if isinstance(n, Var) and n.name in self.values:
                    waiting += [self.values[n.name]] if n.name not in seen else []
                    seen.add(n.name)
                elif not self._is_known(n):
                    return None
        return expand_names(e, self.values)

    def silently(
        self, op: str, operands: tuple[Expr, ...], value: Expr, node: ast.AST
    ) -> None:
        """Notes that `op` of Python's floats, which gave `value`, warns of nothing it may raise."""
        for status in OPS[op].raises:
            quiet = self.foreseen(bool_op("not", status_raised(status, op, operands, value)))
            guard = Guard(quiet, "GUARD_FLOAT_STATUS", span=span_of(node)) if quiet else None
            self.silent.append(SilentException(status, guard))

    def known_sources(self, *, rewrites: bool) -> tuple[tuple[StatusSource, ...], bool]:
        """The sources, as far as the status word tells them; and whether Python, where it does not,
        needs what a kernel that ``rewrites`` what it reads has overwritten.

        Such a kernel does not start where it can be foreseen that something raises in silence.
        """
        if self.told is not None:
            return tuple(self.sources), False
        classes = {s.status for s in self.sources}
        silent = [s for s in self.silent if s.status in classes]
        if rewrites:
            guards = dict.fromkeys(s.quiet for s in silent if s.quiet is not None)
            self.guards += (g for g in guards if g.cond != TRUE)
        mute = {s.status for s in silent if s.quiet is None or not rewrites}
        known = (replace(s, certain=s.certain and s.status not in mute) for s in self.sources)
        return tuple(dict.fromkeys(known)), rewrites and bool(mute - {"under"})

    def require(self, cond: Expr, code: str, node: ast.AST) -> None:
        """Python must decide unless `cond` holds here.

        If possible it is a guard before the first store, else a check on the spot.
        """
        cond = self.on_path(cond)
        if cond == TRUE:
            return
        if self.branches == 0 and self.invariant(cond):
            self.guard(cond, code, node)
        elif not self._has_checked(cond):
            self.emit(Check(cond, "replay", span=span_of(node)))

    def _has_checked(self, cond: Expr) -> bool:
        """Whether `cond`, a name, was checked in this block; or another, and only values since."""
        before: Iterable[Stmt] = reversed(self.block)
        if not isinstance(cond, Var):
            before = takewhile(lambda s: isinstance(s, Assign | Check), before)
        return any(isinstance(s, Check) and s.cond == cond for s in before)

    def guard(self, cond: Expr, code: str, node: ast.AST, *, anyway: bool = False) -> None:
        """`cond` must hold before the kernel starts, unless an enclosing loop has no iteration, or
        `anyway`.
        """
        for frame in self.frames if not anyway else ():
            if self.invariant(frame.trips) and self.low(LinearForm.of(frame.trips)) < 1:
                cond = bool_op("or", cond, Call("le", (frame.trips, index_const(0)), "bool"))
        if cond != TRUE and not any(isinstance(g, Guard) and g.cond == cond for g in self.guards):
            self.guards.append(Guard(cond, code, span=span_of(node)))
            self.learn(cond)


def kernel_param(name: str, ty: ArrayType) -> Param:
    """An array as the kernel has it: complex numbers are an axis of two floats."""
    if ty.dtype not in PARTS:
        return Param(name, ty.dtype, ty.rank, ty.unit, steps=ty.steps)
    whole = ty.steps or (None,) * ty.rank
    twice = tuple(1 if axis == ty.unit else step for axis, step in enumerate(whole))
    steps = (*(step and 2 * step for step in twice), None)
    return Param(name, PARTS[ty.dtype], ty.rank + 1, ty.rank, steps=steps if any(steps) else ())
