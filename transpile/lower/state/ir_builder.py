"""The IR builder: the state that lowering writes to, and trials, which undo what they built."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any, TypeAlias

from loopir.analysis.affine import LinearForm
from loopir.analysis.intervals import Bounds
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
    Load,
    Loop,
    Node,
    Param,
    Span,
    Stmt,
    Store,
    Var,
)

from ...call_plan import Allocated, Binding, ListItems, StatusSource
from ...diagnostics import Refused
from ...types.typed_values import Num
from ...types.value_types import PARTS, ArrayType
from .symbol_values import ArrayRef, LoopFrame, Value

__all__ = [
    "BufferState", "BuilderSnapshot", "ComplexState", "IRBuilder", "NumberState", "PathState",
    "RangeState", "SilentException", "Trial", "WarningState", "kernel_param",
]

_Container: TypeAlias = "list[Any] | dict[Any, Any] | set[Any]"


@record
class Trial:
    """Whether what is built in it is kept."""

    holds: bool = False


@record
class RangeState:
    """What is known of integers.

    ``intervals``: noted for an expression. ``deltas``: that an accumulator is another expression
    and a summand in an interval. ``spans``: linear forms between which an expression lies.
    ``relied``: parameters whose interval was asked for.
    """

    intervals: dict[Expr, Bounds] = field(default_factory=dict)
    deltas: dict[Expr, tuple[Expr, Bounds]] = field(default_factory=dict)
    spans: dict[Expr, tuple[LinearForm, LinearForm]] = field(default_factory=dict)
    relied: set[str] = field(default_factory=set)


@record
class PathState:
    """The loops and branches around the current expression.

    ``frames``: the loops, the outermost first; ``branches``: the number of branches. ``condition``:
    where the value matters, if not everywhere. ``facts``: linear forms that are at least 0 there.
    ``while_facts``: those that the condition of a ``while`` implies; they are used of the names
    ``while_names`` alone, which that loop changes.
    """

    frames: list[LoopFrame] = field(default_factory=list)
    branches: int = 0
    condition: Expr | None = None
    facts: tuple[LinearForm, ...] = ()
    while_facts: tuple[LinearForm, ...] = ()
    while_names: frozenset[Expr] = frozenset()


@record(frozen=True, slots=True)
class SilentException:
    """An operation that warns of nothing, though it may raise `status`: where ``raised`` holds, if
    that is known. ``span``: the operation in the source.
    """

    status: str
    raised: Expr | None = None
    span: Span | None = None


@record
class WarningState:
    """Operations that may raise a floating-point exception.

    ``sources``: those of which NumPy warns. ``silent``: those that warn of nothing.
    ``raised_array``: the array in which a kernel records which of its sources have raised; None
    where it does not.
    """

    sources: list[StatusSource] = field(default_factory=list)
    silent: list[SilentException] = field(default_factory=list)
    raised_array: str | None = None


@record
class NumberState:
    """What is known of scalar values.

    ``accumulators``: the values that folds carry. ``starts``: what a value that may be a NumPy
    scalar is where it is Python's. ``constants``: the constants of Python that a value is where it
    is Python's. ``zero_trip``: conditions that hold where a loop had no iteration.
    ``upper_bounds``: expressions that are at least a length.
    """

    accumulators: set[Expr] = field(default_factory=set)
    starts: dict[Expr, Num] = field(default_factory=dict)
    constants: dict[Expr, Num] = field(default_factory=dict)
    zero_trip: set[Expr] = field(default_factory=set)
    upper_bounds: dict[Expr, Expr] = field(default_factory=dict)


@record
class ComplexState:
    """What is known of names of complex numbers, which are two names.

    ``varied``: names that have Python's numbers, not all of them simple ones. ``doubtful``: names
    whose values may be real. ``surely_complex``: imaginary parts of values that are not.
    """

    varied: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    surely_complex: set[Expr] = field(default_factory=set)


@record
class BufferState:
    """Arrays that the call makes, and views of arguments.

    ``fresh``: arrays made for each call. ``reshaped``: arguments in other shapes, and which they
    are. ``of_sibling_branch``: arrays that the branch beside this one has made, by their names.
    ``roomy``: arrays that may have more elements than they stand for; ``cut``: those that end with
    a length of their own. ``made``: the arrays that stand for what one call makes, which is lowered
    once for each path that leads to it. ``maybe_absent``: conditions of elements of views that may
    have no element at all. ``copied``: what is written must be restored where Python has to answer.
    """

    fresh: set[str] = field(default_factory=set)
    reshaped: dict[str, str] = field(default_factory=dict)
    of_sibling_branch: dict[str, ArrayRef] = field(default_factory=dict)
    roomy: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    made: dict[ast.Call, tuple[ArrayRef, ...]] = field(default_factory=dict)
    maybe_absent: set[Expr] = field(default_factory=set)
    copied: bool = False


@record(frozen=True, slots=True)
class BuilderSnapshot:
    """A builder at one moment: what `IRBuilder.restore` brings back.

    ``contents``: each container of the builder, with a copy of what was in it. The other fields
    are those of the builder, of its path and its buffers, that are no containers.
    """

    contents: tuple[tuple[_Container, _Container], ...]
    block: list[Stmt]
    of_sibling_branch: dict[str, ArrayRef]
    here: Span | None
    one_type: bool
    versions: int
    branches: int
    condition: Expr | None
    facts: tuple[LinearForm, ...]
    while_facts: tuple[LinearForm, ...]
    while_names: frozenset[Expr]
    raised_array: str | None
    copied: bool


@record
class IRBuilder:
    """The kernel that is being built: its statements, parameters and guards, and what names are.

    ``block``: the statements emitted so far, in the innermost block; ``names``: all names of the
    kernel; ``values``: the expressions that were bound to names. ``here``: the source of what is
    being lowered. ``env``: what Python's names stand for. ``params``, ``bindings``: the parameters,
    and where the caller gets each. ``guards``: what must hold before the kernel starts. ``strict``
    as in Kernel. ``subscript_params``: parameters that are used as subscripts only. ``one_type``:
    a value of several types is refused; ``one_type_mattered``: that has changed what was built, or
    refused something (see `allows_unions`), which a trial does not undo. ``versions``: how many
    statements around are lowered once for each array that a name may be. ``hoisted_loops``: loops
    whose checks stand before them, too. ``typed``: names, each with the types that it has had.
    """

    names: set[str] = field(default_factory=set)
    subscript_params: frozenset[str] = frozenset()
    block: list[Stmt] = field(default_factory=list)
    values: dict[str, Expr] = field(default_factory=dict)
    here: Span | None = None
    env: dict[str, Value] = field(default_factory=dict)
    params: dict[str, Param] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)
    guards: list[Guard | Disjoint] = field(default_factory=list)
    strict: set[str] = field(default_factory=set)
    one_type: bool = False
    one_type_mattered: bool = False
    versions: int = 0
    hoisted_loops: set[Loop] = field(default_factory=set)
    typed: dict[tuple[str, str], None] = field(default_factory=dict)
    ranges: RangeState = field(default_factory=RangeState)
    path: PathState = field(default_factory=PathState)
    warnings: WarningState = field(default_factory=WarningState)
    numbers: NumberState = field(default_factory=NumberState)
    complex: ComplexState = field(default_factory=ComplexState)
    buffers: BufferState = field(default_factory=BufferState)

    def _containers(self) -> tuple[_Container, ...]:
        """All that is changed in place."""
        ranges, numbers, buffers = self.ranges, self.numbers, self.buffers
        return (
            self.names, self.block, self.values, self.env, self.params, self.bindings,
            self.guards, self.strict, self.hoisted_loops, self.typed, self.path.frames,
            ranges.intervals, ranges.deltas, ranges.spans, ranges.relied,
            self.warnings.sources, self.warnings.silent,
            numbers.accumulators, numbers.starts, numbers.constants, numbers.zero_trip,
            numbers.upper_bounds, self.complex.varied, self.complex.doubtful,
            self.complex.surely_complex, buffers.fresh, buffers.reshaped,
            buffers.of_sibling_branch, buffers.roomy, buffers.cut, buffers.made,
            buffers.maybe_absent,
        )

    def snapshot(self) -> BuilderSnapshot:
        """The builder as it is now, for `restore`."""
        path = self.path
        return BuilderSnapshot(
            contents=tuple((c, c.copy()) for c in self._containers()),
            block=self.block,
            of_sibling_branch=self.buffers.of_sibling_branch,
            here=self.here,
            one_type=self.one_type,
            versions=self.versions,
            branches=path.branches,
            condition=path.condition,
            facts=path.facts,
            while_facts=path.while_facts,
            while_names=path.while_names,
            raised_array=self.warnings.raised_array,
            copied=self.buffers.copied,
        )

    def restore(self, before: BuilderSnapshot) -> None:
        """Brings back what the builder was at a snapshot; containers stay the same objects."""
        for container, contents in before.contents:
            if isinstance(container, list):
                container[:] = contents
            else:
                container.clear()
                container.update(contents)
        path = self.path
        self.block, self.here = before.block, before.here
        self.one_type, self.versions = before.one_type, before.versions
        path.branches, path.condition, path.facts = before.branches, before.condition, before.facts
        path.while_facts, path.while_names = before.while_facts, before.while_names
        self.warnings.raised_array = before.raised_array
        self.buffers.copied = before.copied
        self.buffers.of_sibling_branch = before.of_sibling_branch

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """What is built inside is dropped again, unless ``holds`` of the trial is set."""
        before, trial = self.snapshot(), Trial()
        try:
            yield trial
        finally:
            if not trial.holds:
                self.restore(before)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What is built inside is dropped again if it is refused."""
        before = self.snapshot()
        try:
            yield
        except Refused:
            self.restore(before)
            raise

    @contextmanager
    def into(self, block: list[Stmt]) -> Iterator[None]:
        """Statements go to `block`."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    def name(self, hint: str) -> str:
        """A name that the kernel does not have yet."""
        base = hint.lstrip("_#") or "t"
        base = base if base[0].isalpha() else f"v{base}"
        out, k = base, 0
        while out in self.names:
            k += 1
            out = f"{base}_{k}"
        self.names.add(out)
        return out

    @property
    def allows_unions(self) -> bool:
        """Whether a value of several types may be built. It is asked only where the answer decides
        what is built: where it never was, code built with ``one_type`` is the same without it.
        """
        self.one_type_mattered |= self.one_type
        return not self.one_type

    def emit(self, stmt: Stmt) -> None:
        self.block.append(stmt)

    def bind(self, e: Expr, hint: str = "t") -> Expr:
        """`e` under a name, so that using it twice does not compute it twice."""
        if isinstance(e, (Const, Var, Dim)):
            return e
        name = self.name(hint)
        value = replace(e, span=self.here) if isinstance(e, Call) and e.span is None else e
        self.emit(Assign(name, value, span=self.here))
        self.values[name] = e
        return Var(name, e.dtype)

    def once(self, e: Expr, hint: str) -> Expr:
        """`e` under the name that it has just been given, else under a new one."""
        for s in reversed(self.block if not any(isinstance(n, Load) for n in walk(e)) else []):
            match s:
                case Assign(name=name, value=value) if value == e:
                    return Var(name, e.dtype)
                case Assign() | Check() | Store():
                    continue
            break
        return self.bind(e, hint)

    def allocate(self, name: str, text: str, ty: ArrayType, *, blank: bool = True) -> None:
        """An array that the caller makes for each call by evaluating `text`. ``blank``: its
        elements are 0, or anything.
        """
        self.params[name] = replace(kernel_param(name, ty), owned=blank)
        self.bindings[name] = Allocated(name, text, ty)
        self.buffers.fresh.add(name)

    def take(self, binding: ListItems, ty: ArrayType) -> None:
        """An array of what a list holds."""
        self.params[binding.name] = kernel_param(binding.name, ty)
        self.bindings[binding.name] = binding

    def note_constant(self, n: Num, *of: Num) -> Num:
        """`n`, which is one `of` two numbers: the constant that it is wherever it is Python's is
        kept in mind.
        """
        python = [self.numbers.constants.get(m.ir, m) for m in of if m.weak is not None]
        if n.either and len({m.ir for m in python}) == 1 and isinstance(python[0].ir, Const):
            self.numbers.constants[n.ir] = python[0]
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


def kernel_param(name: str, ty: ArrayType) -> Param:
    """An array as the kernel has it: complex numbers are an axis of two floats."""
    if ty.dtype not in PARTS:
        return Param(name, ty.dtype, ty.rank, ty.unit, steps=ty.steps)
    whole = ty.steps or (None,) * ty.rank
    twice = tuple(1 if axis == ty.unit else step for axis, step in enumerate(whole))
    steps = (*(step and 2 * step for step in twice), None)
    return Param(name, PARTS[ty.dtype], ty.rank + 1, ty.rank, steps=steps if any(steps) else ())
